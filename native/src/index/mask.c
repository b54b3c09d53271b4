/* nonzero, masked_select, masked_scatter: results whose size depends on the values. */
#include "index/index.h"

static bool is_set(const void *p, int dtype)
{
    switch (dtype) {
    case FB_BOOL: case FB_U8: case FB_I8: return *(const uint8_t *)p != 0;
    case FB_I16: case FB_U16: return *(const uint16_t *)p != 0;
    case FB_F16: case FB_BF16: return (*(const uint16_t *)p & 0x7fff) != 0;
    case FB_I32: case FB_U32: return *(const uint32_t *)p != 0;
    case FB_F32: return *(const float *)p != 0;
    case FB_F64: return *(const double *)p != 0;
    case FB_C64: return ((const float *)p)[0] != 0 || ((const float *)p)[1] != 0;
    case FB_C128: return ((const double *)p)[0] != 0 || ((const double *)p)[1] != 0;
    case FB_F8E4M3FN: case FB_F8E5M2: return (*(const uint8_t *)p & 0x7f) != 0;
    default: return *(const uint64_t *)p != 0;
    }
}

static int64_t count_set(const fb_tensor *t) /* contiguous */
{
    int64_t n = 0, item = fb_itemsize((fb_dtype)t->dtype);
    const char *p = fb_ptr(t);

    if (t->dtype == FB_BOOL)
        for (int64_t i = 0; i < t->numel; i++) n += p[i] != 0;
    else
        for (int64_t i = 0; i < t->numel; i++) n += is_set(p + i * item, t->dtype);
    return n;
}

/* (n, ndim) indices of the elements that are not zero, in row-major order. Its kernel makes the output: infer knows no n. */
fb_status fb_k_nonzero(fb_frame *f)
{
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE);
    int64_t sizes[2], index[FB_MAX_DIMS] = {0}, item, *out;

    if (!x) return FB_FAIL;
    sizes[0] = count_set(x);
    sizes[1] = x->ndim;
    if (fb_out(f, 0, FB_I64, 2, sizes, NULL) != FB_OK) {
        fb_release(x);
        return FB_FAIL;
    }
    out = fb_ptr(f->out[0]);
    item = fb_itemsize((fb_dtype)x->dtype);
    if (sizes[0] && x->ndim)
        for (int64_t i = 0; i < x->numel; i++) {
            if (is_set((char *)fb_ptr(x) + i * item, x->dtype))
                for (int d = 0; d < x->ndim; d++) *out++ = index[d];
            for (int d = x->ndim - 1; d >= 0 && ++index[d] == x->sizes[d]; d--) index[d] = 0;
        }
    fb_release(x);
    return FB_OK;
}

/* t as a contiguous tensor of the given shape (broadcast), of its own dtype. */
static fb_tensor *broadcast(fb_tensor *t, int64_t ndim, const int64_t *sizes)
{
    int64_t strides[FB_MAX_DIMS], lead = ndim - t->ndim;
    fb_tensor *v, *c;

    if (lead == 0 && memcmp(sizes, t->sizes, (size_t)ndim * sizeof *sizes) == 0) return fb_contiguous_as(t, FB_NONE);
    for (int64_t i = 0; i < ndim; i++) strides[i] = i < lead || t->sizes[i - lead] != sizes[i] ? 0 : t->strides[i - lead];
    if (!(v = fb_view_of(t, ndim, sizes, strides, t->offset))) return NULL;
    c = fb_contiguous_as(v, FB_NONE);
    fb_release(v);
    return c;
}

static fb_status check_mask(const fb_frame *f, const fb_tensor *mask)
{
    if (mask->dtype != FB_BOOL)
        return fb_fail(FB_ERUNTIME, "%s: expected BoolTensor for mask, but got %s", f->op->name, fb_dtype_label((fb_dtype)mask->dtype));
    return FB_OK;
}

fb_status fb_k_masked_select(fb_frame *f)
{
    int64_t ndim, sizes[FB_MAX_DIMS], n;
    fb_tensor *x = NULL, *m = NULL;
    fb_status status = FB_FAIL;

    FB_TRY(check_mask(f, f->in[1]));
    FB_TRY(fb_broadcast_shape(2, f->in, &ndim, sizes));
    if (!(x = broadcast(f->in[0], ndim, sizes)) || !(m = broadcast(f->in[1], ndim, sizes))) goto failed;
    n = count_set(m);
    if (fb_out(f, 0, (fb_dtype)x->dtype, 1, &n, NULL) != FB_OK) goto failed;
    const uint8_t *set = fb_ptr(m);
    if (n)
        FB_BY_SIZE(fb_itemsize((fb_dtype)x->dtype), T, {
            const T *from = fb_ptr(x);
            T *to = fb_ptr(f->out[0]);
            for (int64_t i = 0, k = 0; k < n; i++) {
                to[k] = from[i]; /* branch-free: overwritten unless it counts */
                k += set[i] != 0;
            }
        })
    status = FB_OK;
failed:
    fb_release(m);
    fb_release(x);
    return status;
}

fb_status fb_i_masked_scatter(fb_frame *f)
{
    int64_t ndim, sizes[FB_MAX_DIMS];

    FB_TRY(check_mask(f, f->in[1]));
    if (f->in[0]->dtype != f->in[2]->dtype)
        return fb_fail(FB_ERUNTIME, "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                       fb_dtype_label((fb_dtype)f->in[0]->dtype), fb_dtype_label((fb_dtype)f->in[2]->dtype));
    FB_TRY(fb_broadcast_shape(2, f->in, &ndim, sizes));
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, ndim, sizes, NULL);
}

fb_status fb_k_masked_scatter(fb_frame *f)
{
    fb_tensor *o = f->out[0], *m = broadcast(f->in[1], o->ndim, o->sizes), *s = m ? fb_contiguous_as(f->in[2], FB_NONE) : NULL;
    fb_status status = FB_FAIL;

    if (s && fb_start_from_input(f) == FB_OK) {
        const uint8_t *set = fb_ptr(m);
        if (count_set(m) > s->numel)
            fb_fail(FB_ERUNTIME, "masked_scatter: expected self and source to have enough elements: the mask has %lld ones, the source %lld elements",
                    (long long)count_set(m), (long long)s->numel);
        else {
            FB_BY_SIZE(fb_itemsize((fb_dtype)o->dtype), T, {
                const T *from = fb_ptr(s);
                T *to = fb_ptr(o);
                for (int64_t i = 0; i < o->numel; i++)
                    if (set[i]) to[i] = *from++;
            })
            status = FB_OK;
        }
    }
    fb_release(s);
    fb_release(m);
    return status;
}

/* The gradient of masked_select: the selected places get it, in order; the others 0. */
fb_status fb_i_masked_select_backward(fb_frame *f)
{
    const struct fb_p_masked_select_backward *p = f->params;
    const fb_tensor *mask = f->in[1];
    int64_t sizes[FB_MAX_DIMS], ndim = FB_MAX(p->sizes.n, mask->ndim); /* of both together; the engine sums to the input's own */

    for (int64_t i = 1; i <= ndim; i++) {
        int64_t a = i <= p->sizes.n ? p->sizes.v[p->sizes.n - i] : 1, b = i <= mask->ndim ? mask->sizes[mask->ndim - i] : 1;
        sizes[ndim - i] = a == 1 ? b : a;
    }
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, ndim, sizes, NULL);
}

fb_status fb_k_masked_select_backward(fb_frame *f)
{
    fb_tensor *o = f->out[0], *m = broadcast(f->in[1], o->ndim, o->sizes), *s = m ? fb_contiguous_as(f->in[0], FB_NONE) : NULL;
    fb_status status = FB_FAIL;

    if (s && fb_fill_data(o, fb_int(0)) == FB_OK) {
        const uint8_t *set = fb_ptr(m);
        FB_BY_SIZE(fb_itemsize((fb_dtype)o->dtype), T, {
            const T *from = fb_ptr(s);
            T *to = fb_ptr(o);
            for (int64_t i = 0; i < o->numel; i++)
                if (set[i]) to[i] = *from++;
        })
        status = FB_OK;
    }
    fb_release(s);
    fb_release(m);
    return status;
}

/* Operators that make their output in the kernel have nothing to infer. */
fb_status fb_i_later(fb_frame *f)
{
    (void)f;
    return FB_OK;
}

/* The gradient of masked_scatter's source: the masked gradients first, zeros for elements that were not used. */
fb_status fb_i_masked_scatter_backward(fb_frame *f)
{
    const struct fb_p_masked_scatter_backward *p = f->params;
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, p->sizes.n, p->sizes.v, NULL);
}

fb_status fb_k_masked_scatter_backward(fb_frame *f)
{
    fb_tensor *g = fb_contiguous_as(f->in[0], FB_NONE), *m = g ? broadcast(f->in[1], g->ndim, g->sizes) : NULL;
    fb_status status = FB_FAIL;

    if (m && fb_fill_data(f->out[0], fb_int(0)) == FB_OK) {
        const uint8_t *set = fb_ptr(m);
        int64_t room = f->out[0]->numel;
        FB_BY_SIZE(fb_itemsize((fb_dtype)g->dtype), T, {
            const T *from = fb_ptr(g);
            T *to = fb_ptr(f->out[0]);
            for (int64_t i = 0, k = 0; i < g->numel && k < room; i++)
                if (set[i]) to[k++] = from[i];
        })
        status = FB_OK;
    }
    fb_release(m);
    fb_release(g);
    return status;
}
