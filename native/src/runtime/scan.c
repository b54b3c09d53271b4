/* Operators along one dimension that keep the shape: cumulative ones and softmax. Inputs are made dense and of the
 * kernel's dtype; work is split over lines, or over chunks of columns. */
#include "kernels/scan.h"
#include "params.gen.h"

extern const uint8_t fb_itemsizes[];

/* A tensor as (outer, n, inner) around dimension dim. */
typedef struct lines { int64_t outer, n, inner; } lines;

static lines lines_of(const fb_tensor *t, int64_t dim)
{
    lines l = {1, t->ndim ? t->sizes[dim] : 1, 1};
    for (int64_t d = 0; d < t->ndim; d++) {
        if (d < dim) l.outer *= t->sizes[d];
        if (d > dim) l.inner *= t->sizes[d];
    }
    return l;
}

typedef struct job {
    fb_scan_fn scan;
    fb_softmax_fn softmax;
    lines l;
    int64_t size, width, chunks;
    bool back;
    char *out;
    int64_t *index;
    const char *in, *grad;
} job;

static void run_lines(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t at = begin * j->l.n;
    if (j->scan)
        j->scan(end - begin, j->l.n, 1, 1, j->back, j->out + at * j->size, j->index ? j->index + at : NULL, j->in + at * j->size);
    else
        j->softmax(end - begin, j->l.n, 1, 1, j->out + at * j->size, j->in + at * j->size, j->grad ? j->grad + at * j->size : NULL);
}

static void run_columns(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i % j->chunks * j->width, w = FB_MIN(j->width, j->l.inner - first);
        int64_t at = i / j->chunks * j->l.n * j->l.inner + first;
        if (j->scan)
            j->scan(1, j->l.n, w, j->l.inner, j->back, j->out + at * j->size, j->index ? j->index + at : NULL, j->in + at * j->size);
        else
            j->softmax(1, j->l.n, w, j->l.inner, j->out + at * j->size, j->in + at * j->size, j->grad ? j->grad + at * j->size : NULL);
    }
}

static void run(job *j, double ns)
{
    if (j->l.inner == 1) {
        fb_parallel_range(j->l.outer, ns * (double)j->l.n, run_lines, j);
        return;
    }

    j->chunks = (j->l.inner + FB_SOFTMAX_WIDTH - 1) / FB_SOFTMAX_WIDTH;
    j->width = (j->l.inner + j->chunks - 1) / j->chunks;
    fb_parallel_range(j->l.outer * j->chunks, ns * (double)(j->l.n * j->width), run_columns, j);
}

/* t dense and of dtype, values passing through `via` if that is a dtype. */
static fb_tensor *prepared(fb_tensor *t, int via, int dtype)
{
    if (via == FB_NONE || via == t->dtype || via == dtype) return fb_contiguous_as(t, (fb_dtype)dtype);
    fb_tensor *rounded = fb_contiguous_as(t, (fb_dtype)via), *r = rounded ? fb_contiguous_as(rounded, (fb_dtype)dtype) : NULL;
    fb_release(rounded);
    return r;
}

/* ---- cumulative ---------------------------------------------------------------------------------- */
static fb_dtype scan_dtype(const fb_frame *f, fb_dtype asked)
{
    const fb_tensor *t = f->in[0];
    if (asked == FB_NONE && (f->flags & FB_F_OUT_GIVEN)) return (fb_dtype)f->out[0]->dtype;
    return asked != FB_NONE ? asked : t->dtype <= FB_U64 ? FB_I64 : (fb_dtype)t->dtype;
}

static fb_status scan(fb_frame *f, int kind, int64_t dim, fb_dtype dtype, bool back)
{
    static const fb_scan_fn(*const tables[FB_N_ISA])[FB_N_DTYPES] = FB_ISA_LIST(fb_scans);
    fb_tensor *t = f->in[0], *out = f->out[0];
    int compute = fb_compute_type(dtype);
    if (compute <= FB_U32) compute = FB_I64;
    job j = {.scan = tables[fb_isa()][kind][compute], .back = back, .size = fb_itemsizes[compute]};
    if (!j.scan) return fb_fail(FB_ENOTIMPL, "\"%s_cpu\" not implemented for '%s'", f->op->name, fb_dtype_label(dtype));
    if (t->numel == 0) return FB_OK;
    fb_tensor *x = prepared(t, dtype, compute), *r = NULL;
    fb_status status = FB_FAIL;
    if (!x) goto done;
    r = out->dtype == compute ? fb_retain(out) : fb_new(t->ndim, t->sizes, NULL, (fb_dtype)compute, t->device);
    if (!r) goto done;
    j.l = lines_of(t, dim);
    j.in = fb_ptr(x);
    j.out = fb_ptr(r);
    j.index = f->n_out > 1 ? fb_ptr(f->out[1]) : NULL;
    run(&j, kind == FB_SCAN_LOGSUMEXP ? 8 : 0.8);
    status = r == out ? FB_OK : fb_copy_data(out, r);
done:
    fb_release(x);
    fb_release(r);
    return status;
}

static fb_status infer_scan(fb_frame *f, int64_t dim, fb_dtype dtype)
{
    FB_TRY(fb_wrap_dim(dim, f->in[0]->ndim, &dim));
    return fb_out_like(f, 0, f->in[0], dtype);
}

#define SCAN_OP(name, kind, back)                                                                          \
    fb_status fb_##name##_infer(fb_frame *f)                                                               \
    {                                                                                                      \
        const struct fb_p_##name *p = f->params;                                                           \
        return infer_scan(f, p->dim, scan_dtype(f, p->dtype));                                      \
    }                                                                                                      \
    fb_status fb_##name##_kernel(fb_frame *f)                                                              \
    {                                                                                                      \
        const struct fb_p_##name *p = f->params;                                                           \
        int64_t dim;                                                                                       \
        FB_TRY(fb_wrap_dim(p->dim, f->in[0]->ndim, &dim));                                                 \
        return scan(f, kind, dim, scan_dtype(f, p->dtype), back);                                   \
    }
SCAN_OP(cumsum, FB_SCAN_SUM, false)
SCAN_OP(cumsum_reversed, FB_SCAN_SUM, true)
SCAN_OP(cumprod, FB_SCAN_PROD, false)

fb_status fb_logcumsumexp_infer(fb_frame *f)
{
    const struct fb_p_logcumsumexp *p = f->params;
    if (f->in[0]->dtype <= FB_U64)
        return fb_fail(FB_ENOTIMPL, "\"logcumsumexp_out_cpu\" not implemented for '%s'", fb_dtype_label((fb_dtype)f->in[0]->dtype));
    return infer_scan(f, p->dim, (fb_dtype)f->in[0]->dtype);
}

fb_status fb_logcumsumexp_kernel(fb_frame *f)
{
    int64_t dim;
    FB_TRY(fb_wrap_dim(((const struct fb_p_logcumsumexp *)f->params)->dim, f->in[0]->ndim, &dim));
    return scan(f, FB_SCAN_LOGSUMEXP, dim, (fb_dtype)f->in[0]->dtype, false);
}

fb_status fb_cummax_infer(fb_frame *f) /* cummin too */
{
    const struct fb_p_cummax *p = f->params;
    FB_TRY(infer_scan(f, p->dim, (fb_dtype)f->in[0]->dtype));
    return fb_out_like(f, 1, f->in[0], FB_I64);
}

static fb_status extreme(fb_frame *f, int kind)
{
    int64_t dim;
    FB_TRY(fb_wrap_dim(((const struct fb_p_cummax *)f->params)->dim, f->in[0]->ndim, &dim));
    return scan(f, kind, dim, (fb_dtype)f->in[0]->dtype, false);
}
fb_status fb_cummax_kernel(fb_frame *f) { return extreme(f, FB_SCAN_MAX); }
fb_status fb_cummin_kernel(fb_frame *f) { return extreme(f, FB_SCAN_MIN); }

/* ---- softmax --------------------------------------------------------------------------------------- */
/* in: the input, or the result for a derivative; dtype: what values are rounded to before and after. */
static fb_status softmax(fb_frame *f, int kind, fb_tensor *in, fb_tensor *grad, int64_t dim, fb_dtype dtype)
{
    static const fb_softmax_fn(*const tables[FB_N_ISA])[FB_N_DTYPES] = FB_ISA_LIST(fb_softmaxes);
    fb_tensor *out = f->out[0], *x = NULL, *g = NULL, *r = NULL;
    int compute = fb_compute_type(dtype);
    job j = {.softmax = tables[fb_isa()][kind][compute], .size = fb_itemsizes[compute]};
    fb_status status = FB_FAIL;
    FB_TRY(fb_wrap_dim(dim, in->ndim, &dim));
    if (in->numel == 0) return FB_OK;
    if (!(x = prepared(in, dtype, compute)) || (grad && !(g = prepared(grad, FB_NONE, compute)))) goto done;
    r = out->dtype == compute ? fb_retain(out) : fb_new(in->ndim, in->sizes, NULL, (fb_dtype)compute, in->device);
    if (!r) goto done;
    j.l = lines_of(in, dim);
    j.in = fb_ptr(x);
    j.grad = g ? fb_ptr(g) : NULL;
    j.out = fb_ptr(r);
    run(&j, kind == FB_SOFTMAX_BACK ? 0.4 : 0.8);
    status = r == out ? FB_OK : fb_copy_data(out, r);
done:
    fb_release(x);
    fb_release(g);
    fb_release(r);
    return status;
}

static fb_status infer_softmax(fb_frame *f, int64_t dim, fb_dtype dtype)
{
    const fb_tensor *t = f->in[0];
    if (dtype == FB_NONE) dtype = (fb_dtype)t->dtype;
    FB_TRY(fb_wrap_dim(dim, t->ndim, &dim));
    if (!fb_is(FB_FLOATS, dtype))
        return fb_fail(FB_ENOTIMPL, "\"%s_lastdim_kernel_impl\" not implemented for '%s'", f->op->name, fb_dtype_label(dtype));
    return fb_out_like(f, 0, t, dtype);
}

#define SOFTMAX_OP(name, kind)                                                                             \
    fb_status fb_##name##_infer(fb_frame *f)                                                               \
    {                                                                                                      \
        const struct fb_p_##name *p = f->params;                                                           \
        return infer_softmax(f, p->dim, p->dtype);                                                         \
    }                                                                                                      \
    fb_status fb_##name##_kernel(fb_frame *f)                                                              \
    {                                                                                                      \
        const struct fb_p_##name *p = f->params;                                                           \
        fb_tensor *t = f->in[0];                                                                           \
        return softmax(f, kind, t, NULL, p->dim, p->dtype == FB_NONE ? (fb_dtype)t->dtype : p->dtype);     \
    }                                                                                                      \
    /* gradient, result */                                                                                 \
    fb_status fb_##name##_backward_infer(fb_frame *f)                                                      \
    {                                                                                                      \
        return infer_softmax(f, ((const struct fb_p_##name##_backward *)f->params)->dim, (fb_dtype)f->in[1]->dtype); \
    }                                                                                                      \
    fb_status fb_##name##_backward_kernel(fb_frame *f)                                                     \
    {                                                                                                      \
        const struct fb_p_##name##_backward *p = f->params;                                                \
        return softmax(f, kind##_BACK, f->in[1], f->in[0], p->dim, (fb_dtype)f->in[1]->dtype);             \
    }
SOFTMAX_OP(softmax, FB_SOFTMAX)
SOFTMAX_OP(log_softmax, FB_LOG_SOFTMAX)
