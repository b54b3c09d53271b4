/* gather and the scatter family: an index for every element, along one dimension. */
#include "index/index.h"

/* A walk over the index tensor in rows along its last dimension. `data` is the tensor that is indexed. */
typedef struct walk {
    int ndim;
    int64_t d, rows, length;
    const int64_t *sizes;  /* of the index */
    int64_t strides[FB_MAX_DIMS]; /* of data, 0 at d */
    int64_t step, along;   /* of data: per element of a row, per unit of index */
} walk;

static void walk_init(walk *w, const fb_tensor *index, const fb_tensor *data, int64_t d)
{
    w->ndim = index->ndim;
    w->d = d;
    w->sizes = index->sizes;
    w->length = index->ndim ? index->sizes[index->ndim - 1] : 1;
    w->rows = w->length ? index->numel / w->length : 0;
    for (int i = 0; i < index->ndim; i++) w->strides[i] = i == d ? 0 : data->strides[i];
    w->step = index->ndim ? w->strides[index->ndim - 1] : 0;
    w->along = data->ndim ? data->strides[d] : 1;
}

static int64_t row_base(const walk *w, int64_t row)
{
    int64_t base = 0;

    for (int i = w->ndim - 2; i >= 0; i--) {
        base += row % w->sizes[i] * w->strides[i];
        row /= w->sizes[i];
    }
    return base;
}

/* everywhere: dimension d counts too (a source must cover the index) */
static fb_status check_shapes(const fb_frame *f, const fb_tensor *index, const fb_tensor *t, int64_t d, bool everywhere, const char *what)
{
    if (FB_MAX(index->ndim, 1) != FB_MAX(t->ndim, 1))
        return fb_fail(FB_ERUNTIME, "Index tensor must have the same number of dimensions as %s tensor", what);
    for (int i = 0; i < index->ndim; i++)
        if ((i != d || everywhere) && index->sizes[i] > (t->ndim ? t->sizes[i] : 1))
            return fb_fail(FB_ERUNTIME, "%s(): Expected index %s to be smaller than %s %s apart from dimension %lld", f->op->name,
                           fb_shape_text(index->ndim, index->sizes), what, fb_shape_text(t->ndim, t->sizes), (long long)d);
    return FB_OK;
}

/* ---- gather ------------------------------------------------------------------------------------ */

fb_status fb_i_gather(fb_frame *f)
{
    const struct fb_p_gather *p = f->params;
    const fb_tensor *x = f->in[0], *index = f->in[1];
    int64_t d;

    FB_TRY(fb_wrap_dim(p->dim, x->ndim, &d));
    if (index->numel && index->dtype != FB_I64 && index->dtype != FB_I32)
        return fb_fail(FB_ERUNTIME, "gather(): Expected dtype int64 for index");
    if (index->numel) FB_TRY(check_shapes(f, index, x, d, false, "input"));
    return fb_out(f, 0, (fb_dtype)x->dtype, index->ndim, index->sizes, NULL);
}

typedef struct gather_job { walk w; const int64_t *index; const char *x; char *out; int64_t item; } gather_job;

static void gather_rows(void *ctx, int64_t begin, int64_t end)
{
    const gather_job *g = ctx;
    const walk *w = &g->w;

    for (int64_t row = begin; row < end; row++) {
        int64_t base = row_base(w, row), at = row * w->length, step = w->step, along = w->along;
        const int64_t *v = g->index + at;
        FB_BY_SIZE(g->item, T, {
            const T *x = (const T *)g->x + base;
            T *out = (T *)g->out + at;
            for (int64_t j = 0; j < w->length; j++) out[j] = x[j * step + v[j] * along];
        })
    }
}

fb_status fb_k_gather(fb_frame *f)
{
    const struct fb_p_gather *p = f->params;
    fb_tensor *x = f->in[0], *index = fb_index_values(f, f->in[1]);
    gather_job g = {.x = fb_ptr(x), .out = fb_ptr(f->out[0]), .item = fb_itemsize((fb_dtype)x->dtype)};
    fb_status status = FB_FAIL;
    int64_t d;

    if (!index) return FB_FAIL;
    g.index = fb_ptr(index);
    if (fb_wrap_dim(p->dim, x->ndim, &d) == FB_OK && fb_index_check(f, g.index, index->numel, x->ndim ? x->sizes[d] : 1, d) == FB_OK) {
        walk_init(&g.w, index, x, d);
        fb_parallel_range(g.w.rows, 1.0 * (double)g.w.length, gather_rows, &g);
        status = FB_OK;
    }
    fb_release(index);
    return status;
}

/* ---- scatter: out = input; out[index] = or += source ------------------------------------------------ */

enum { PUT, ADD, MULTIPLY, MEAN, AMAX, AMIN };

static fb_status scatter_infer(fb_frame *f, int64_t dim, const fb_tensor *src)
{
    const fb_tensor *x = f->in[0], *index = f->in[1];
    int64_t d;

    FB_TRY(fb_wrap_dim(dim, x->ndim, &d));
    if (index->numel && index->dtype != FB_I64 && index->dtype != FB_I32)
        return fb_fail(FB_ERUNTIME, "scatter(): Expected dtype int32/int64 for index");
    if ((f->flags & FB_F_OUT_GIVEN) && f->out[0] && f->out[0]->dtype != x->dtype)
        return fb_fail(FB_EDTYPE, "Expected out tensor to have dtype %s, but got %s instead", fb_dtype_name((fb_dtype)x->dtype),
                       fb_dtype_name((fb_dtype)f->out[0]->dtype));
    if (src && src->dtype != x->dtype)
        return fb_fail(FB_ERUNTIME, "scatter(): Expected self.dtype to be equal to src.dtype");
    if (index->numel) {
        FB_TRY(check_shapes(f, index, x, d, false, "self"));
        if (src) FB_TRY(check_shapes(f, index, src, d, true, "src"));
    }
    FB_TRY(fb_refuse_overlap(f));
    return fb_out_like(f, 0, x, (fb_dtype)x->dtype);
}

#define SCATTER_LOOP(T, expression)                                                                                    \
    for (int64_t row = 0; row < w.rows; row++) {                                                                       \
        T *o = (T *)fb_ptr(out) + row_base(&w, row) * c;                                                                \
        const T *s = src ? (const T *)fb_ptr(src) + row_base(&ws, row) * c : (const T *)value;                          \
        const int64_t *v = index_data + row * w.length;                                                                \
        for (int64_t j = 0; j < w.length; j++)                                                                         \
            for (int64_t k = 0; k < c; k++) {                                                                          \
                T *dst = o + (j * w.step + v[j] * w.along) * c + k;                                                    \
                const T x = s[src ? (j * ws.step) * c + k : k];                                                        \
                expression;                                                                                            \
            }                                                                                                          \
    }

/* src NULL: the value. With include_self false, the touched elements start from the reduction's identity. */
static fb_status scatter(fb_frame *f, int64_t dim, fb_tensor *src, fb_scalar number, int how, bool include_self)
{
    fb_tensor *out = f->out[0], *index = fb_index_values(f, f->in[1]);
    const int64_t *index_data;
    int64_t d, c = 1, *counts = NULL;
    walk w, ws = {0};
    char value[16];

    if (!index) return FB_FAIL;
    if (fb_wrap_dim(dim, out->ndim, &d) != FB_OK || fb_start_from_input(f) != FB_OK ||
        fb_index_check(f, fb_ptr(index), index->numel, out->ndim ? out->sizes[d] : 1, d) != FB_OK)
        goto failed;
    index_data = fb_ptr(index);
    walk_init(&w, index, out, d);
    if (src) {
        walk_init(&ws, index, src, d);
        for (int i = 0; i < index->ndim; i++) ws.strides[i] = src->ndim ? src->strides[i] : 0; /* src is read at the index's own place */
        ws.step = index->ndim ? ws.strides[index->ndim - 1] : 0;
    }
    fb_scalar_store(number, (fb_dtype)out->dtype, value);
    if (how == PUT) {
        int64_t item = fb_itemsize((fb_dtype)out->dtype);
        FB_BY_SIZE(item, T, SCATTER_LOOP(T, *dst = x))
    } else {
        if (fb_is_complex(out->dtype)) c = 2;
        if (c == 2 && how != ADD) {
            fb_fail(FB_ENOTIMPL, "\"%s\" not implemented for '%s'", f->op->name, fb_dtype_label((fb_dtype)out->dtype));
            goto failed;
        }
        if (!include_self || how == MEAN) {
            if (!(counts = fb_scratch(f, out->numel * (int64_t)sizeof *counts))) goto failed;
            for (int64_t i = 0; i < out->numel; i++) counts[i] = include_self ? 1 : 0;
        }
#define FIRST(T) (counts && !include_self && counts[dst - (T *)fb_ptr(out)] == 0)
#define COUNT(T) if (counts) counts[dst - (T *)fb_ptr(out)]++
        switch (how) {
        case ADD:
            FB_BY_TYPE(out->dtype, T, SCATTER_LOOP(T, { *dst = (T)(FIRST(T) ? x : out->dtype == FB_BOOL ? (*dst || x) : *dst + x); COUNT(T); }))
            break;
        case MEAN: FB_BY_TYPE(out->dtype, T, SCATTER_LOOP(T, { *dst = (T)(FIRST(T) ? x : *dst + x); COUNT(T); })) break;
        case MULTIPLY: FB_BY_TYPE(out->dtype, T, SCATTER_LOOP(T, { *dst = (T)(FIRST(T) ? x : *dst * x); COUNT(T); })) break;
        case AMAX: FB_BY_TYPE(out->dtype, T, SCATTER_LOOP(T, { *dst = FIRST(T) || x > *dst || x != x ? x : *dst; COUNT(T); })) break;
        case AMIN: FB_BY_TYPE(out->dtype, T, SCATTER_LOOP(T, { *dst = FIRST(T) || x < *dst || x != x ? x : *dst; COUNT(T); })) break;
        }
        if (how == MEAN)
            FB_BY_TYPE(out->dtype, T, {
                T *o = fb_ptr(out);
                for (int64_t i = 0; i < out->numel; i++)
                    if (counts[i] > 1) {
                        T q = (T)(o[i] / (T)counts[i]);
                        if ((T)0.5 == 0 && (double)o[i] < 0 && (T)(q * (T)counts[i]) != o[i]) q--; /* integers: floor */
                        o[i] = q;
                    }
            })
    }
    fb_release(index);
    return FB_OK;
failed:
    fb_release(index);
    return FB_FAIL;
}

fb_status fb_i_scatter_src(fb_frame *f) { return scatter_infer(f, ((const struct fb_p_scatter_src *)f->params)->dim, f->in[2]); }
fb_status fb_k_scatter_src(fb_frame *f)
{
    return scatter(f, ((const struct fb_p_scatter_src *)f->params)->dim, f->in[2], fb_int(0), PUT, true);
}

fb_status fb_i_scatter_value(fb_frame *f) { return scatter_infer(f, ((const struct fb_p_scatter_value *)f->params)->dim, NULL); }
fb_status fb_k_scatter_value(fb_frame *f)
{
    const struct fb_p_scatter_value *p = f->params;
    return scatter(f, p->dim, NULL, p->value, PUT, true);
}

fb_status fb_i_scatter_add(fb_frame *f) { return scatter_infer(f, ((const struct fb_p_scatter_add *)f->params)->dim, f->in[2]); }
fb_status fb_k_scatter_add(fb_frame *f)
{
    return scatter(f, ((const struct fb_p_scatter_add *)f->params)->dim, f->in[2], fb_int(0), ADD, true);
}

static int reduction(const char *name)
{
    static const char *const names[] = {"", "sum", "prod", "mean", "amax", "amin"};

    for (int i = 1; name && i < 6; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

fb_status fb_i_scatter_reduce(fb_frame *f)
{
    const struct fb_p_scatter_reduce *p = f->params;

    if (reduction(p->reduce) < 0)
        return fb_fail(FB_ERUNTIME, "reduce argument must be either sum, prod, mean, amax or amin, got %s", p->reduce);
    return scatter_infer(f, p->dim, f->in[2]);
}
fb_status fb_k_scatter_reduce(fb_frame *f)
{
    const struct fb_p_scatter_reduce *p = f->params;
    return scatter(f, p->dim, f->in[2], fb_int(0), reduction(p->reduce), p->include_self);
}

/* ---- gather for a source that is larger than the index (its other elements got nothing: 0) ------------ */

fb_status fb_i_gather_like(fb_frame *f)
{
    const struct fb_p_gather_like *p = f->params;
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, p->sizes.n, p->sizes.v, NULL);
}

fb_status fb_k_gather_like(fb_frame *f)
{
    const struct fb_p_gather_like *p = f->params;
    fb_tensor *x = f->in[0], *index = fb_index_values(f, f->in[1]), *part = NULL;
    fb_status status = FB_FAIL;
    gather_job g = {.x = fb_ptr(x), .item = fb_itemsize((fb_dtype)x->dtype)};
    int64_t d;

    if (!index) return FB_FAIL;
    g.index = fb_ptr(index);
    if (fb_wrap_dim(p->dim, x->ndim, &d) != FB_OK || !(part = fb_new(index->ndim, index->sizes, NULL, (fb_dtype)x->dtype, x->device))) goto done;
    g.out = fb_ptr(part);
    walk_init(&g.w, index, x, d);
    fb_parallel_range(g.w.rows, (double)g.w.length, gather_rows, &g);
    if (part->numel == f->out[0]->numel) {
        status = fb_copy_data(f->out[0], part);
    } else {
        fb_tensor *corner = fb_view_of(f->out[0], index->ndim, index->sizes, f->out[0]->strides, f->out[0]->offset);
        if (corner && fb_fill_data(f->out[0], fb_int(0)) == FB_OK) status = fb_copy_data(corner, part);
        fb_release(corner);
    }
done:
    fb_release(part);
    fb_release(index);
    return status;
}

fb_status fb_i_zeros_of(fb_frame *f)
{
    const struct fb_p_zeros_of *p = f->params;
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, p->sizes.n, p->sizes.v, NULL);
}
fb_status fb_k_zeros_of(fb_frame *f) { return fb_fill_data(f->out[0], fb_int(0)); }
fb_status fb_i_zero_of(fb_frame *f) { return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, 0, NULL, NULL); }
