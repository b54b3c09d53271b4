/* What nodes and the engine do to gradients. With gradients off (the usual backward) it is done below all layers; under
 * create_graph by operators, which record. */
#ifndef FB_GRAD_OPS_H
#define FB_GRAD_OPS_H

#include "autograd/autograd.h"
#include "flambeau/ops.gen.h"

fb_tensor *fb_gradient_copy(fb_tensor *t);
fb_tensor *fb_gradient_dense_copy(fb_tensor *grad, const fb_meta *geometry);                  /* with base's sizes and strides */
fb_tensor *fb_gradient_part(fb_tensor *whole, const fb_meta *base, const fb_meta *view);      /* the view's place in it */
fb_status fb_gradient_overwrite(fb_tensor *part, fb_tensor *value);                           /* NULL: zeros */
bool fb_gradient_unshared(const fb_tensor *t); /* one reference, memory of its own: may be changed or kept */

/* For generated functions: what costs nothing where it changes nothing. */
static inline fb_tensor *fb_conj_of(fb_tensor *t) { return fb_is_complex(t->dtype) ? fb_conj(t) : fb_retain(t); }
fb_tensor *fb_scaled(fb_tensor *t, fb_scalar by);

#endif
