/* index_select, index_add, index_copy, index_fill; take and put: one list of indices for a dimension, or for all. */
#include "index/index.h"

static fb_status check_list(const fb_frame *f, const fb_tensor *index)
{
    if (index->ndim > 1)
        return fb_fail(FB_EINDEX, "%s(): Index is supposed to be a vector", f->op->name);
    if (index->dtype != FB_I64 && index->dtype != FB_I32)
        return fb_fail(FB_ERUNTIME, "%s(): Expected dtype int32 or int64 for index", f->op->name);
    return FB_OK;
}

static fb_status check_range(const fb_frame *f, const int64_t *v, int64_t n, int64_t size)
{
    for (int64_t i = 0; i < n; i++)
        if (v[i] < 0 || v[i] >= size)
            return fb_fail(FB_EINDEX, "%s(): index %lld out of range for a dimension of size %lld", f->op->name, (long long)v[i], (long long)size);
    return FB_OK;
}

fb_status fb_i_index_select(fb_frame *f)
{
    const struct fb_p_index_select *p = f->params;
    const fb_tensor *x = f->in[0];
    int64_t sizes[FB_MAX_DIMS], d;

    FB_TRY(fb_wrap_dim(p->dim, x->ndim, &d));
    FB_TRY(check_list(f, f->in[1]));
    if (x->ndim == 0 && f->in[1]->numel != 1)
        return fb_fail(FB_ERUNTIME, "index_select(): Index to scalar can have only 1 value, got %lld value(s)", (long long)f->in[1]->numel);
    memcpy(sizes, x->sizes, (size_t)x->ndim * sizeof *sizes);
    if (x->ndim) sizes[d] = f->in[1]->numel;
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim, sizes, NULL);
}

typedef struct select_job { const char *x; char *out; const int64_t *v; int64_t n, size, bytes; } select_job;

static void select_blocks(void *ctx, int64_t begin, int64_t end)
{
    const select_job *j = ctx;

    for (int64_t k = begin; k < end; k++) {
        int64_t outer = k / j->n, i = k % j->n;
        memcpy(j->out + k * j->bytes, j->x + (outer * j->size + j->v[i]) * j->bytes, (size_t)j->bytes);
    }
}

static void select_elements(void *ctx, int64_t begin, int64_t end) /* the last dimension: element by element */
{
    const select_job *j = ctx;

    for (int64_t outer = begin; outer < end; outer++)
        FB_BY_SIZE(j->bytes, T, {
            const T *x = (const T *)j->x + outer * j->size;
            T *out = (T *)j->out + outer * j->n;
            for (int64_t i = 0; i < j->n; i++) out[i] = x[j->v[i]];
        })
}

fb_status fb_k_index_select(fb_frame *f)
{
    const struct fb_p_index_select *p = f->params;
    fb_tensor *x = NULL, *index = NULL;
    fb_status status = FB_FAIL;
    int64_t d, outer, size, inner, item = fb_itemsize((fb_dtype)f->in[0]->dtype);

    if (fb_wrap_dim(p->dim, f->in[0]->ndim, &d) == FB_OK && (x = fb_contiguous_as(f->in[0], FB_NONE)) && (index = fb_index_values(f, f->in[1]))) {
        fb_three_parts(x, d, &outer, &size, &inner);
        status = check_range(f, fb_ptr(index), index->numel, size);
        if (status == FB_OK && f->out[0]->numel) {
            select_job j = {fb_ptr(x), fb_ptr(f->out[0]), fb_ptr(index), index->numel, size, inner * item};
            if (inner == 1)
                fb_parallel_range(outer, (double)index->numel, select_elements, &j);
            else
                fb_parallel_range(outer * j.n, 2 + 0.05 * (double)j.bytes, select_blocks, &j);
        }
    }
    fb_release(index);
    fb_release(x);
    return status;
}

/* ---- out = input, then out[index] op= source ---------------------------------------------------------- */

static fb_status source_infer(fb_frame *f, int64_t dim)
{
    const fb_tensor *x = f->in[0], *index = f->in[1], *s = f->in[2];
    int64_t d;

    FB_TRY(fb_wrap_dim(dim, x->ndim, &d));
    FB_TRY(check_list(f, index));
    if (s->dtype != x->dtype)
        return fb_fail(FB_ERUNTIME, "%s(): self (%s) and source (%s) must have the same scalar type", f->op->name,
                       fb_dtype_label((fb_dtype)x->dtype), fb_dtype_label((fb_dtype)s->dtype));
    if (s->ndim > 1 && s->ndim != x->ndim)
        return fb_fail(f->op->name[6] == 'c' ? FB_EINDEX : FB_ERUNTIME,
                       "%s(): source tensor shape %s must match self tensor shape %s, excluding dimension %lld", f->op->name,
                       fb_shape_text(s->ndim, s->sizes), fb_shape_text(x->ndim, x->sizes), (long long)d);
    if (index->numel != (s->ndim ? s->sizes[FB_MIN(d, s->ndim - 1)] : 1))
        return fb_fail(f->op->name[6] == 'c' ? FB_EINDEX : FB_ERUNTIME,
                       "%s(): Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %lld", f->op->name,
                       (long long)index->numel, (long long)(s->ndim ? s->sizes[FB_MIN(d, s->ndim - 1)] : 1), (long long)d);
    for (int i = 0; s->ndim == x->ndim && i < x->ndim; i++)
        if (i != d && s->sizes[i] != x->sizes[i])
            return fb_fail(f->op->name[6] == 'c' ? FB_EINDEX : FB_ERUNTIME,
                           "%s(): source tensor shape %s must match self tensor shape %s, excluding dimension %lld", f->op->name,
                           fb_shape_text(s->ndim, s->sizes), fb_shape_text(x->ndim, x->sizes), (long long)d);
    FB_TRY(fb_refuse_overlap(f));
    return fb_out_like(f, 0, x, (fb_dtype)x->dtype);
}

enum { COPY, ADD, FILL };

static fb_status source_kernel(fb_frame *f, int64_t dim, fb_tensor *source, fb_scalar number, int how)
{
    fb_tensor *out = f->out[0], *index = NULL, *s = NULL;
    fb_status status = FB_FAIL;
    int64_t d, outer, size, inner, n, item = fb_itemsize((fb_dtype)out->dtype), c = fb_is_complex(out->dtype) ? 2 : 1;
    char value[16];

    if (fb_wrap_dim(dim, out->ndim, &d) != FB_OK || fb_start_from_input(f) != FB_OK) return FB_FAIL;
    if (!(index = fb_index_values(f, f->in[1])) || (source && !(s = fb_contiguous_as(source, FB_NONE)))) goto failed;
    fb_three_parts(out, d, &outer, &size, &inner);
    n = index->numel;
    const int64_t *v = fb_ptr(index);
    if (how == FILL) { /* negative ones count from the end, as PyTorch has it */
        for (int64_t i = 0; i < n; i++)
            if (v[i] < -size || v[i] >= size) {
                fb_fail(FB_EINDEX, "index_fill_(): index %lld is out of bounds for dimension %lld with size %lld", (long long)v[i],
                        (long long)d, (long long)size);
                goto failed;
            }
    } else if (check_range(f, v, n, size) != FB_OK) {
        goto failed;
    }
    fb_scalar_store(number, (fb_dtype)out->dtype, value);
    if (how == ADD) {
        FB_BY_TYPE(out->dtype, T, {
            T alpha;
            if (c == 1) memcpy(&alpha, value, sizeof alpha); else alpha = (T)fb_scalar_double(number);
            T *o = fb_ptr(out);
            const T *x = fb_ptr(s);
            for (int64_t a = 0; a < outer; a++)
                for (int64_t i = 0; i < n; i++) {
                    T *to = o + (a * size + v[i]) * inner * c;
                    const T *from = x + (a * n + i) * inner * c;
                    if (out->dtype == FB_BOOL)
                        for (int64_t k = 0; k < inner; k++) to[k] = to[k] || (from[k] && alpha);
                    else
                        for (int64_t k = 0; k < inner * c; k++) to[k] = (T)(to[k] + alpha * from[k]);
                }
        })
    } else {
        for (int64_t a = 0; a < outer; a++)
            for (int64_t i = 0; i < n; i++) {
                char *to = (char *)fb_ptr(out) + (a * size + (v[i] < 0 ? v[i] + size : v[i])) * inner * item;
                if (how == COPY)
                    memcpy(to, (const char *)fb_ptr(s) + (a * n + i) * inner * item, (size_t)(inner * item));
                else
                    for (int64_t k = 0; k < inner; k++) memcpy(to + k * item, value, (size_t)item);
            }
    }
    status = FB_OK;
failed:
    fb_release(s);
    fb_release(index);
    return status;
}

fb_status fb_i_index_add(fb_frame *f) { return source_infer(f, ((const struct fb_p_index_add *)f->params)->dim); }
fb_status fb_k_index_add(fb_frame *f)
{
    const struct fb_p_index_add *p = f->params;
    return source_kernel(f, p->dim, f->in[2], p->alpha, ADD);
}

fb_status fb_i_index_copy(fb_frame *f) { return source_infer(f, ((const struct fb_p_index_copy *)f->params)->dim); }
fb_status fb_k_index_copy(fb_frame *f) { return source_kernel(f, ((const struct fb_p_index_copy *)f->params)->dim, f->in[2], fb_int(0), COPY); }

fb_status fb_i_index_fill(fb_frame *f)
{
    const struct fb_p_index_fill_value *p = f->params;
    int64_t d;

    FB_TRY(fb_wrap_dim(p->dim, f->in[0]->ndim, &d));
    if (f->in[1]->dtype != FB_I64) return fb_fail(FB_EINDEX, "index_fill_(): Expected dtype int64 for index.");
    if (f->in[1]->ndim > 1) return fb_fail(FB_EINDEX, "Index has to be a vector/scalar");
    if (p->value.kind == FB_S_COMPLEX && !fb_is_complex(f->in[0]->dtype))
        return fb_fail(FB_ERUNTIME, "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    FB_TRY(fb_refuse_overlap(f));
    return fb_out_like(f, 0, f->in[0], (fb_dtype)f->in[0]->dtype);
}
fb_status fb_k_index_fill(fb_frame *f)
{
    const struct fb_p_index_fill_value *p = f->params;
    return source_kernel(f, p->dim, NULL, p->value, FILL);
}

/* ---- the tensor as one row ------------------------------------------------------------------------------ */

fb_status fb_i_take(fb_frame *f)
{
    if (f->in[1]->dtype != FB_I64)
        return fb_fail(FB_ERUNTIME, "take(): Expected a long tensor for index, but got %s", fb_dtype_label((fb_dtype)f->in[1]->dtype));
    if (f->in[0]->numel == 0 && f->in[1]->numel) return fb_fail(FB_EINDEX, "take(): tried to take from an empty tensor");
    return fb_out_like(f, 0, f->in[1], (fb_dtype)f->in[0]->dtype);
}

fb_status fb_k_take(fb_frame *f)
{
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE), *index = x ? fb_index_values(f, f->in[1]) : NULL;
    fb_status status = index ? FB_OK : FB_FAIL;

    if (index) {
        const int64_t *v = fb_ptr(index), size = x->numel;
        for (int64_t i = 0; i < index->numel && status == FB_OK; i++)
            if (v[i] < -size || v[i] >= size)
                status = fb_fail(FB_EINDEX, "out of range: tried to access index %lld on a tensor of %lld elements.", (long long)v[i],
                                 (long long)size);
        if (status == FB_OK)
            FB_BY_SIZE(fb_itemsize((fb_dtype)x->dtype), T, {
                const T *from = fb_ptr(x);
                T *to = fb_ptr(f->out[0]);
                for (int64_t i = 0; i < index->numel; i++) to[i] = from[v[i] < 0 ? v[i] + size : v[i]];
            })
    }
    fb_release(index);
    fb_release(x);
    return status;
}

fb_status fb_i_put(fb_frame *f)
{
    if (f->in[1]->dtype != FB_I64)
        return fb_fail(FB_ERUNTIME, "put_(): Expected a long tensor for index, but got %s", fb_dtype_label((fb_dtype)f->in[1]->dtype));
    if (f->in[0]->dtype != f->in[2]->dtype)
        return fb_fail(FB_ERUNTIME, "put_(): self and source expected to have the same dtype, but got self.dtype = %s and source.dtype = %s",
                       fb_dtype_label((fb_dtype)f->in[0]->dtype), fb_dtype_label((fb_dtype)f->in[2]->dtype));
    if (f->in[1]->numel != f->in[2]->numel)
        return fb_fail(FB_ERUNTIME, "put_(): Expected source and index to have the same number of elements, but got source.numel() = %lld, "
                                    "index.numel() = %lld", (long long)f->in[2]->numel, (long long)f->in[1]->numel);
    if (f->in[0]->numel == 0 && f->in[1]->numel) return fb_fail(FB_EINDEX, "put_(): Tried to put elements into an empty tensor");
    FB_TRY(fb_refuse_overlap(f));
    return fb_out_like(f, 0, f->in[0], (fb_dtype)f->in[0]->dtype);
}

fb_status fb_k_put(fb_frame *f)
{
    const struct fb_p_put *p = f->params;
    fb_tensor *out = f->out[0], *index = NULL, *s = NULL;
    fb_status status = FB_FAIL;
    int64_t size = out->numel, c = fb_is_complex(out->dtype) ? 2 : 1;

    FB_TRY(fb_start_from_input(f));
    if (!(index = fb_index_values(f, f->in[1])) || !(s = fb_contiguous_as(f->in[2], FB_NONE))) goto failed;
    const int64_t *v = fb_ptr(index);
    for (int64_t i = 0; i < index->numel; i++)
        if (v[i] < -size || v[i] >= size) {
            fb_fail(FB_EINDEX, "out of range: tried to access index %lld on a tensor of %lld elements.", (long long)v[i], (long long)size);
            goto failed;
        }
    if (p->accumulate) {
        FB_BY_TYPE(out->dtype, T, {
            T *to = fb_ptr(out);
            const T *from = fb_ptr(s);
            for (int64_t i = 0; i < index->numel; i++)
                for (int64_t k = 0; k < c; k++) to[(v[i] < 0 ? v[i] + size : v[i]) * c + k] += from[i * c + k];
        })
    } else {
        FB_BY_SIZE(fb_itemsize((fb_dtype)out->dtype), T, {
            T *to = fb_ptr(out);
            const T *from = fb_ptr(s);
            for (int64_t i = 0; i < index->numel; i++) to[v[i] < 0 ? v[i] + size : v[i]] = from[i];
        })
    }
    status = FB_OK;
failed:
    fb_release(s);
    fb_release(index);
    return status;
}
