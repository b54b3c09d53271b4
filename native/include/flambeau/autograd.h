/* Differentiation from C. Off until fb_autograd_enable(); from then on an operator with an input that requires a gradient
 * records what its derivative needs, on the thread that calls it and unless fb_ag_set_grad_enabled(false) was called there.
 * Ownership as in flambeau.h. */
#ifndef FLAMBEAU_AUTOGRAD_H
#define FLAMBEAU_AUTOGRAD_H

#include "flambeau/flambeau.h"

#ifdef __cplusplus
extern "C" {
#endif

FB_API fb_status fb_autograd_enable(void);

FB_API bool fb_ag_requires_grad(const fb_tensor *t);
FB_API fb_status fb_ag_set_requires_grad(fb_tensor *t, bool on);
FB_API fb_tensor *fb_ag_grad(const fb_tensor *t); /* borrowed; NULL: none yet */
FB_API fb_status fb_ag_set_grad(fb_tensor *t, fb_tensor *grad); /* NULL: none */
FB_API bool fb_ag_set_grad_enabled(bool on);      /* of this thread; returns what it was */

enum {
    FB_BACKWARD_RETAIN = 1, /* the graph can be used again */
    FB_BACKWARD_CREATE = 2, /* the gradients have a history themselves */
};
/* Gradients of the roots' sum, weighted by grads (entries may be NULL for one element: 1), with respect to inputs:
 * into captured[] (new references, NULL where unused), or, captured NULL, added to .grad of the inputs
 * (n_inputs < 0: of all leaves). */
FB_API fb_status fb_backward(int64_t n_roots, fb_tensor *const *roots, fb_tensor *const *grads, int64_t n_inputs,
                             fb_tensor *const *inputs, fb_tensor **captured, int flags);

#ifdef __cplusplus
}
#endif
#endif
