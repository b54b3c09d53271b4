/* Convolutions for code that is compiled once, over any dtype that products have. `big` is the side that the padding
 * belongs to (a convolution's input, a transposed one's output), `small` the other. */
#ifndef FB_NN_CONV_H
#define FB_NN_CONV_H

#include "kernels/conv.h"

typedef enum { FB_CONV_SMALL, FB_CONV_BIG, FB_CONV_WEIGHT } fb_conv_wanted;

/* Computes the wanted one of the three from the other two; all contiguous, of dtype c->dtype (any). bias: for the
 * channels of the wanted side, or NULL. */
fb_status fb_conv_run(const fb_conv *c, fb_conv_wanted wanted, void *big, void *small, void *weight,
                      const void *bias);

#endif
