/* Copies and fills over any strides and dtypes: the elementwise executor with memcpy or a cast for a body. */
#include "kernels/elementwise.h"

extern const uint8_t fb_itemsizes[];

typedef struct copy_params { fb_cast_fn cast; int from, to; int64_t size; } copy_params;

static void copy_block(int64_t n, void *const *out, void *const *in, const void *params)
{
    const copy_params *p = params;
    p->cast(p->from, p->to, n, out[0], in[0]);
}

static void zero_block(int64_t n, void *const *out, void *const *in, const void *params)
{
    (void)in;
    memset(out[0], 0, (size_t)(n * ((const copy_params *)params)->size));
}

static fb_status check_broadcast(const fb_tensor *dst, const fb_tensor *src)
{
    bool fits = src->ndim <= dst->ndim;
    for (int d = 1; fits && d <= src->ndim; d++) {
        int64_t s = src->sizes[src->ndim - d];
        fits = s == 1 || s == dst->sizes[dst->ndim - d];
    }
    if (fits) return FB_OK;
    return fb_fail(FB_ESHAPE, "output with shape %s doesn't match the broadcast shape %s", fb_shape_text(dst->ndim, dst->sizes),
                   fb_shape_text(src->ndim, src->sizes));
}

static void start(fb_ew_plan *plan, copy_params *p, const fb_tensor *dst, int from)
{
    *p = (copy_params){fb_cast_for_isa(), from, dst->dtype, fb_itemsizes[dst->dtype]};
    plan->n_out = plan->n_in = 1;
    plan->ndim = dst->ndim;
    memcpy(plan->sizes, dst->sizes, sizeof *dst->sizes * (size_t)dst->ndim);
    plan->fn = copy_block;
    plan->params = p;
    plan->ns = 0.05 + 0.03 * (double)(fb_itemsizes[from] + p->size);
    fb_ew_bind(plan, 0, dst, dst->dtype, dst->dtype);
}

fb_status fb_copy_data(fb_tensor *dst, const fb_tensor *src)
{
    FB_TRY(check_broadcast(dst, src));
    if (dst->numel == 0 || dst == src) return FB_OK;
    if (dst->dtype == src->dtype && fb_contig(dst) && fb_contig(src) && dst->numel == src->numel && dst->numel <= 256) {
        memmove(fb_ptr(dst), fb_ptr(src), (size_t)(dst->numel * fb_itemsizes[dst->dtype]));
        return FB_OK;
    }
    fb_tensor *own = NULL; /* a copy of what would be overwritten before it is read */
    fb_overlap overlap = fb_overlap_of(dst, src);
    if (overlap == FB_OVERLAP_FULL && dst->dtype == src->dtype) return FB_OK;
    if (overlap != FB_OVERLAP_NONE) {
        own = fb_new(src->ndim, src->sizes, NULL, (fb_dtype)src->dtype, src->device);
        if (!own) return FB_FAIL;
        if (fb_copy_data(own, src) != FB_OK) {
            fb_release(own);
            return FB_FAIL;
        }
        src = own;
    }
    fb_ew_plan plan;
    copy_params p;
    start(&plan, &p, dst, src->dtype);
    fb_ew_bind(&plan, 1, src, src->dtype, src->dtype);
    fb_status status = fb_ew_execute(&plan);
    fb_release(own);
    return status;
}

fb_status fb_fill_data(fb_tensor *dst, fb_scalar value)
{
    if (dst->numel == 0) return FB_OK;
    _Alignas(16) char one[16] = {0}, zero[16] = {0};
    fb_scalar_store(value, (fb_dtype)dst->dtype, one);
    fb_ew_plan plan;
    copy_params p;
    start(&plan, &p, dst, dst->dtype);
    if (memcmp(one, zero, sizeof one) == 0) {
        plan.fn = zero_block;
        plan.n_in = 0;
    } else {
        fb_ew_operand *o = &plan.ops[1];
        o->data = one;
        o->dtype = o->mid = o->slot = dst->dtype;
        memset(o->strides, 0, sizeof *o->strides * (size_t)plan.ndim);
    }
    return fb_ew_execute(&plan);
}

fb_tensor *fb_contiguous_as(fb_tensor *t, fb_dtype dtype)
{
    if (dtype == FB_NONE) dtype = (fb_dtype)t->dtype;
    if (fb_contig(t) && t->dtype == dtype) return fb_retain(t);
    fb_tensor *copy = fb_new(t->ndim, t->sizes, NULL, dtype, t->device);
    if (!copy) return NULL;
    if (t->device.type == FB_META || fb_copy_data(copy, t) == FB_OK) return copy;
    fb_release(copy);
    return NULL;
}
