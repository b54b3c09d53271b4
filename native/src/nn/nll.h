/* Losses over classes: data as (batch, classes, inner), targets as (batch, inner). */
#ifndef FB_NN_NLL_H
#define FB_NN_NLL_H

#include "nn/dense.h"

typedef struct fb_classes {
    fb_tensor *target, *weight; /* contiguous int64, and of the compute type (NULL: all 1); owned */
    int64_t batch, classes, inner;
    int64_t reduction, ignore;
    fb_dtype compute;
} fb_classes;

/* Checks shapes and dtypes as PyTorch's nll_loss does, and makes outputs 0 (the loss) and 1 (the sum of weights). */
fb_status fb_classes_infer(fb_frame *f, int64_t reduction);
/* From inputs self's sizes, target and weight; close in any case. Every target is within range, or ignored. */
fb_status fb_classes_open(fb_classes *c, int64_t ndim, const int64_t *sizes, fb_tensor *target, fb_tensor *weight, int64_t reduction,
                          int64_t ignore, fb_dtype compute);
void fb_classes_close(fb_classes *c);
/* From each sample's loss (already weighted) to outputs 0 and 1. */
fb_status fb_classes_reduce(fb_frame *f, const fb_classes *c, const void *losses);
/* factor[i]: what sample i's class likelihood gets of the gradient: weight * grad, over the total for the mean; 0 where ignored. */
fb_status fb_classes_factors(const fb_classes *c, fb_tensor *grad, fb_tensor *total, void *factor);

#endif
