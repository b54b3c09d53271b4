/* Pooling windows: for each of up to three dimensions (fewer lie at the end, the others have extent 1) and each output
 * place, the input places that its window covers. */
#ifndef FB_NN_WINDOW_H
#define FB_NN_WINDOW_H

#include "runtime/core.h"

typedef struct fb_windows {
    int64_t planes, in[3], out[3];
    int64_t step[3];              /* between neighbours in a window (dilation) */
    const int64_t *lo[3], *hi[3]; /* covered places: lo, lo + step, ... < hi; inside the input */
    const int64_t *full[3];       /* the window's length with padding counted in */
} fb_windows;

/* Fixed windows. kernel .. dilation have one or `dims` values; stride.n <= 0: as kernel. Sizes of the input come from
 * its last dims sizes, out[] is to be set already. The tables are scratch of the frame. */
fb_status fb_windows_fixed(fb_frame *f, fb_windows *w, fb_ints kernel, fb_ints stride, fb_ints padding,
                           fb_ints dilation, int dims);
/* Windows that divide the input evenly: floor(i in / out) up to ceil((i + 1) in / out). */
fb_status fb_windows_adaptive(fb_frame *f, fb_windows *w);
/* planes, in and out from the sizes of an input and an output */
void fb_windows_sizes(fb_windows *w, int dims, int64_t ndim, const int64_t *in, const int64_t *out);

#endif
