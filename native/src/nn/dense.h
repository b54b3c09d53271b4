/* How operators of this folder meet half precision: their kernels compute in float32 or float64 on contiguous memory,
 * and keep statistics in float32 although the data is half. (The flag stage_half would make those half as well.) */
#ifndef FB_NN_DENSE_H
#define FB_NN_DENSE_H

#include "runtime/frame.h"

/* An input as the kernel takes it: contiguous, of dtype `compute`. New reference; NULL with the error set. */
static inline fb_tensor *fb_dense_in(fb_tensor *t, fb_dtype compute) { return fb_contiguous_as(t, compute); }

/* Output i, or a temporary of its shape where it has another dtype. New reference; NULL with the error set. */
static inline fb_tensor *fb_dense_out(const fb_frame *f, int i, fb_dtype compute)
{
    fb_tensor *o = f->out[i];
    return o->dtype == compute ? fb_retain(o) : fb_new(o->ndim, o->sizes, NULL, compute, o->device);
}

/* Moves a temporary into its output and lets go of it. t may be NULL: then status is a failure already. */
static inline fb_status fb_dense_end(const fb_frame *f, int i, fb_tensor *t, fb_status status)
{
    if (status == FB_OK && t != f->out[i]) status = fb_copy_data(f->out[i], t);
    fb_release(t);
    return status;
}

/* What half, float and double tensors are computed in: float32, but float64 for float64. */
static inline fb_dtype fb_dense_compute(const fb_tensor *t) { return t->dtype == FB_F64 ? FB_F64 : FB_F32; }

#endif
