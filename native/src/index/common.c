/* What the index kernels share. */
#include "index/index.h"

fb_tensor *fb_index_values(const fb_frame *f, fb_tensor *index)
{
    if (index->dtype != FB_I64 && index->dtype != FB_I32 && index->numel)
        return fb_fail_null(FB_ERUNTIME, "%s(): Expected dtype int64 for index, got %s", f->op->name, fb_dtype_name((fb_dtype)index->dtype));
    return fb_contiguous_as(index, FB_I64);
}

fb_status fb_index_check(const fb_frame *f, const int64_t *v, int64_t n, int64_t size, int64_t dim)
{
    for (int64_t i = 0; i < n; i++)
        if (v[i] < 0 || v[i] >= size)
            return fb_fail(FB_ERUNTIME, "%s(): index %lld is out of bounds for dimension %lld with size %lld", f->op->name, (long long)v[i],
                           (long long)dim, (long long)size);
    return FB_OK;
}

void fb_three_parts(const fb_tensor *t, int64_t dim, int64_t *outer, int64_t *size, int64_t *inner)
{
    *outer = *inner = 1;
    *size = t->ndim ? t->sizes[dim] : 1;
    for (int64_t i = 0; i < dim; i++) *outer *= t->sizes[i];
    for (int64_t i = dim + 1; i < t->ndim; i++) *inner *= t->sizes[i];
}

fb_status fb_refuse_overlap(const fb_frame *f)
{
    if (!f->out[0] || !(f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE))) return FB_OK;
    for (int k = 1; k < f->n_in; k++) {
        if (!f->in[k]) continue;
        fb_overlap overlap = fb_overlap_of(f->out[0], f->in[k]);
        if (f->in[k]->numel && (overlap == FB_OVERLAP_FULL || overlap == FB_OVERLAP_PARTIAL))
            return fb_fail(FB_ERUNTIME, "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                                        "single memory location. Please clone() the tensor before performing the operation.");
    }
    return FB_OK;
}

fb_status fb_start_from_input(fb_frame *f)
{
    return f->out[0] == f->in[0] ? FB_OK : fb_copy_data(f->out[0], f->in[0]);
}
