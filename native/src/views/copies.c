/* Copies, conversions and filling as operators. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
#include "runtime/frame.h"

/* Memory formats, in PyTorch's order; absent: preserve. */
enum { CONTIGUOUS = 0, PRESERVE = 1, CHANNELS_LAST = 2, CHANNELS_LAST_3D = 3 };

/* Strides of a copy that keeps t's order of dimensions without its gaps. */
static void packed_strides(const fb_tensor *t, int64_t *strides)
{
    int order[FB_MAX_DIMS];
    int64_t step = 1;

    for (int i = 0; i < t->ndim; i++) { /* insertion sort by stride; equal ones keep their order */
        int k = i;
        for (; k > 0 && t->strides[order[k - 1]] < t->strides[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    for (int k = t->ndim - 1; k >= 0; k--) {
        strides[order[k]] = step;
        step *= FB_MAX(t->sizes[order[k]], 1);
    }
}

static void channels_last(int64_t ndim, const int64_t *sizes, int64_t *strides)
{
    strides[1] = 1;
    int64_t step = sizes[1] ? sizes[1] : 1;
    for (int64_t i = ndim - 1; i >= 2; i--) {
        strides[i] = step;
        step *= FB_MAX(sizes[i], 1);
    }
    strides[0] = step;
}

static fb_status out_in_format(fb_frame *f, fb_dtype dtype, int64_t format)
{
    const fb_tensor *t = f->in[0];
    int64_t strides[FB_MAX_DIMS];

    if (format == CONTIGUOUS || fb_contig(t)) {
        if (format != CHANNELS_LAST && format != CHANNELS_LAST_3D) return fb_out(f, 0, dtype, t->ndim, t->sizes, NULL);
    }
    if (format == CHANNELS_LAST || format == CHANNELS_LAST_3D) {
        int want = format == CHANNELS_LAST ? 4 : 5;
        if (t->ndim != want) return fb_fail(FB_ERUNTIME, "required rank %d tensor to use channels_last%s format", want, want == 5 ? "_3d" : "");
        channels_last(t->ndim, t->sizes, strides);
        return fb_out(f, 0, dtype, t->ndim, t->sizes, strides);
    }
    if (fb_is_dense(t)) return fb_out(f, 0, dtype, t->ndim, t->sizes, t->strides);
    packed_strides(t, strides);
    return fb_out(f, 0, dtype, t->ndim, t->sizes, strides);
}

fb_status fb_i_clone(fb_frame *f)
{
    return out_in_format(f, (fb_dtype)f->in[0]->dtype, ((const struct fb_p_clone *)f->params)->memory_format);
}

fb_status fb_i_to_copy(fb_frame *f)
{
    const struct fb_p_to_copy *p = f->params;
    return out_in_format(f, p->dtype == FB_NONE ? (fb_dtype)f->in[0]->dtype : p->dtype, p->memory_format);
}

fb_status fb_k_clone(fb_frame *f) { return fb_copy_data(f->out[0], f->in[0]); }

fb_status fb_c_contiguous(fb_frame *f)
{
    return fb_give(f, 0, fb_contig(f->in[0]) ? fb_retain(f->in[0]) : fb_clone(f->in[0], CONTIGUOUS));
}

static fb_status check_writable(const fb_tensor *t)
{
    if (fb_overlaps_itself(t))
        return fb_fail(FB_ERUNTIME, "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                                    "Please clone() the tensor before performing the operation.");
    return FB_OK;
}

/* The checks of copy_, which hold on meta too. */
fb_status fb_i_copy_(fb_frame *f)
{
    fb_tensor *both[2] = {f->in[0], f->in[1]}, *src = f->in[1];
    int64_t ndim, sizes[FB_MAX_DIMS];

    if (src->device.type == FB_META && both[0]->device.type != FB_META) return fb_fail(FB_ENOTIMPL, "Cannot copy out of meta tensor; no data!");
    if (fb_broadcast_shape(2, both, &ndim, sizes) != FB_OK || ndim != both[0]->ndim ||
        memcmp(sizes, both[0]->sizes, (size_t)ndim * sizeof *sizes) != 0) {
        for (int i = 1; i <= FB_MIN(src->ndim, both[0]->ndim); i++) {
            int64_t want = both[0]->sizes[both[0]->ndim - i], have = src->sizes[src->ndim - i];
            if (want != have && have != 1)
                return fb_fail(FB_ERUNTIME, "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
                               (long long)want, (long long)have, both[0]->ndim - i);
        }
        return fb_fail(FB_ERUNTIME, "output with shape %s doesn't match the broadcast shape %s", fb_shape_text(both[0]->ndim, both[0]->sizes),
                       fb_shape_text(src->ndim, src->sizes));
    }
    return FB_OK;
}

fb_status fb_k_copy_(fb_frame *f)
{
    fb_tensor *to = f->in[0], *src = f->in[1], *copy = NULL;
    fb_status status = FB_OK;

    FB_TRY(check_writable(to));
    if (to == src) return FB_OK;
    if (fb_overlap_of(to, src) != FB_OVERLAP_NONE) { /* through memory of its own */
        if (!(copy = fb_new(src->ndim, src->sizes, NULL, (fb_dtype)src->dtype, src->device))) return FB_FAIL;
        status = fb_copy_data(copy, src);
    }
    if (status == FB_OK) status = fb_copy_data(to, copy ? copy : src);
    fb_release(copy);
    return status;
}

fb_status fb_k_fill_(fb_frame *f)
{
    const struct fb_p_fill_ *p = f->params;

    FB_TRY(check_writable(f->in[0]));
    return fb_fill_data(f->in[0], p->value);
}

fb_status fb_k_zero_(fb_frame *f) { return fb_fill_data(f->in[0], fb_int(0)); }
fb_status fb_i_zeros_like(fb_frame *f) { return fb_out_like(f, 0, f->in[0], (fb_dtype)f->in[0]->dtype); }
fb_status fb_k_fill_out(fb_frame *f) { return fb_fill_data(f->out[0], fb_int(0)); }
