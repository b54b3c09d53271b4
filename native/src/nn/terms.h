/* Formulas over tensors in C, for composites and derivatives too long for the table. Each step takes tensors that may be
 * absent (NULL: zeros) and gives one that `terms` owns; after a failure all further steps give NULL, so that one question
 * at the end is enough. */
#ifndef FB_NN_TERMS_H
#define FB_NN_TERMS_H

#include "flambeau/ops.gen.h"
#include "runtime/frame.h"

enum { FB_TERMS = 80 };
typedef struct fb_terms {
    fb_tensor *made[FB_TERMS];
    int n;
    bool failed;
} fb_terms;

/* Takes over what a step made; NULL there is a failure. */
static inline fb_tensor *fb_keep(fb_terms *t, fb_tensor *made)
{
    if (!made || t->n == FB_TERMS) {
        t->failed = true;
        fb_release(made);
        return NULL;
    }
    return t->made[t->n++] = made;
}
static inline bool fb_none(const fb_terms *t, const fb_tensor *a) { return t->failed || !a; }
static inline fb_tensor *fb_times(fb_terms *t, fb_tensor *a, fb_tensor *b)
{
    return fb_none(t, a) || !b ? NULL : fb_keep(t, fb_mul(a, b));
}
static inline fb_tensor *fb_sum_of(fb_terms *t, fb_tensor *a, fb_tensor *b)
{
    if (t->failed) return NULL;
    return !a ? b : !b ? a : fb_keep(t, fb_add(a, b, fb_int(1)));
}
static inline fb_tensor *fb_minus(fb_terms *t, fb_tensor *a, fb_tensor *b)
{
    return fb_none(t, a) || !b ? NULL : fb_keep(t, fb_sub(a, b, fb_int(1)));
}
static inline fb_tensor *fb_over(fb_terms *t, fb_tensor *a, fb_tensor *b)
{
    return fb_none(t, a) || !b ? NULL : fb_keep(t, fb_div(a, b));
}
static inline fb_tensor *fb_number_of(fb_terms *t, double v) { return t->failed ? NULL : fb_keep(t, fb_wrapped(fb_float(v))); }
static inline fb_tensor *fb_shaped(fb_terms *t, fb_tensor *a, int64_t n, const int64_t *sizes)
{
    return fb_none(t, a) ? NULL : fb_keep(t, fb_reshape(a, (fb_ints){n, sizes}));
}
static inline fb_tensor *fb_summed(fb_terms *t, fb_tensor *a, int64_t n, const int64_t *dims, bool keepdim) /* n = -1: all */
{
    return fb_none(t, a) ? NULL : fb_keep(t, fb_sum(a, (fb_ints){n, dims}, keepdim, FB_NONE));
}

/* Lets go of everything; `result` (one of the terms, or an input) survives as a new reference, NULL after a failure. */
static inline fb_tensor *fb_terms_end(fb_terms *t, fb_tensor *result)
{
    fb_tensor *kept = t->failed || !result ? NULL : fb_retain(result);
    while (t->n > 0) fb_release(t->made[--t->n]);
    return kept;
}

/* Of a composite: what PyTorch calls a reduction. */
enum { FB_REDUCE_NONE = 0, FB_REDUCE_MEAN = 1, FB_REDUCE_SUM = 2 };

#endif
