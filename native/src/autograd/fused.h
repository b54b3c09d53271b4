/* Derivatives made of elementwise arithmetic alone, as one loop each: written by tools/opgen/fused.py. */
#ifndef FB_FUSED_H
#define FB_FUSED_H

#include "runtime/core.h"

typedef void (*fb_fused_fn)(int64_t n, void *out, void *const *in, const double *numbers);

/* Runs functions[0] (float32) or [1] (float64) where nobody watches single operators and the inputs are contiguous, of one
 * such dtype and one shape. Else *out stays NULL, without an error, and the caller goes operator by operator: same bits. */
fb_status fb_fused_run(const fb_fused_fn *functions, int n_in, fb_tensor *const *in, const double *numbers, fb_tensor **out);

#endif
