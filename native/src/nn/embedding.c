/* Rows of a table by index, and one_hot. */
#include "flambeau/ops.gen.h"
#include "index/index.h"
#include "nn/dense.h"
#include <math.h>

typedef long long ll;

/* ---- embedding ---- */

static fb_status check_indices(const fb_tensor *t, const char *op)
{
    if (t->dtype == FB_I64 || t->dtype == FB_I32) return FB_OK;
    return fb_fail(FB_ERUNTIME, "Expected tensor for argument #1 'indices' to have one of the following scalar "
                   "types: Long, Int; but got "
                   "torch.%sTensor instead (while checking arguments for %s)", fb_dtype_label((fb_dtype)t->dtype), op);
}

static fb_status check_rows(const int64_t *v, int64_t n, int64_t rows)
{
    for (int64_t i = 0; i < n; i++)
        if (v[i] < 0 || v[i] >= rows) return fb_fail(FB_EINDEX, "index out of range in self");
    return FB_OK;
}

fb_status fb_i_embedding(fb_frame *f)
{
    const fb_tensor *w = f->in[0], *i = f->in[1];
    int64_t sizes[FB_MAX_DIMS + 1];

    if (w->ndim != 2) return fb_fail(FB_ERUNTIME, "'weight' must be 2-D");
    FB_TRY(check_indices(i, "embedding"));
    if (i->ndim >= FB_MAX_DIMS) return fb_fail(FB_ESHAPE, "embedding(): indices have %d dimensions, the result "
                                               "would have one more", (int)i->ndim);
    memcpy(sizes, i->sizes, (size_t)i->ndim * sizeof *sizes);
    sizes[i->ndim] = w->sizes[1];
    return fb_out(f, 0, (fb_dtype)w->dtype, i->ndim + 1, sizes, NULL);
}

typedef struct row_job { const char *from; char *to; const int64_t *v; int64_t bytes; } row_job;
static void copy_rows(void *ctx, int64_t begin, int64_t end)
{
    const row_job *j = ctx;
    for (int64_t i = begin; i < end; i++) memcpy(j->to + i * j->bytes, j->from + j->v[i] * j->bytes, (size_t)j->bytes);
}

fb_status fb_k_embedding(fb_frame *f)
{
    fb_tensor *w = fb_contiguous_as(f->in[0], FB_NONE), *i = w ? fb_contiguous_as(f->in[1], FB_I64) : NULL;
    fb_status status = FB_FAIL;

    if (i && check_rows(fb_ptr(i), i->numel, w->sizes[0]) == FB_OK) {
        row_job j = {fb_ptr(w), fb_ptr(f->out[0]), fb_ptr(i), w->sizes[1] * fb_itemsize((fb_dtype)w->dtype)};
        if (f->out[0]->numel) fb_parallel_range(i->numel, 4 + 0.06 * (double)j.bytes, copy_rows, &j);
        status = FB_OK;
    }
    fb_release(i);
    fb_release(w);
    return status;
}

/* ---- its gradient ---- */

fb_status fb_i_embedding_dense_backward(fb_frame *f)
{
    const struct fb_p_embedding_dense_backward *p = f->params;
    const fb_tensor *g = f->in[0], *i = f->in[1];
    const int64_t sizes[2] = {p->num_weights, g->ndim ? g->sizes[g->ndim - 1] : 1};

    FB_TRY(check_indices(i, "embedding_backward"));
    if (g->numel != i->numel * sizes[1])
        return fb_fail(FB_ESHAPE, "embedding_backward(): grad_output of shape %s does not fit indices of shape %s", fb_shape_text(g->ndim, g->sizes),
                       fb_shape_text(i->ndim, i->sizes));
    return fb_out(f, 0, (fb_dtype)g->dtype, 2, sizes, NULL);
}

typedef struct add_job {
    const void *g;
    void *out;
    const int64_t *v, *uses; /* uses of each row; NULL: rows are not scaled */
    int64_t n, rows, width, padding;
    bool wide;
} add_job;

/* Columns [begin, end) of all rows: each column is summed by one thread, in the indices' order. */
#define ADD_COLUMNS(T)                                                                                                 \
    for (int64_t i = 0; i < j->n; i++) {                                                                               \
        if (j->v[i] == j->padding) continue;                                                                           \
        const T *restrict from = (const T *)j->g + i * j->width;                                                       \
        T *restrict to = (T *)j->out + j->v[i] * j->width;                                                             \
        if (j->uses) {                                                                                                 \
            const T share = 1 / (T)j->uses[j->v[i]];                                                                   \
            for (int64_t k = begin; k < end; k++) to[k] += from[k] * share;                                            \
        } else {                                                                                                       \
            for (int64_t k = begin; k < end; k++) to[k] += from[k];                                                    \
        }                                                                                                              \
    }
static void add_columns(void *ctx, int64_t begin, int64_t end)
{
    const add_job *j = ctx;
    if (j->wide) {
        ADD_COLUMNS(double)
    } else {
        ADD_COLUMNS(float)
    }
}

fb_status fb_k_embedding_dense_backward(fb_frame *f)
{
    const struct fb_p_embedding_dense_backward *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    fb_tensor *g = fb_dense_in(f->in[0], compute), *i = g ? fb_contiguous_as(f->in[1], FB_I64) : NULL, *out = NULL;
    int64_t *uses = NULL;
    fb_status status = FB_FAIL;

    if (!i || check_rows(fb_ptr(i), i->numel, p->num_weights) != FB_OK || !(out = fb_dense_out(f, 0, compute))) goto done;
    const int64_t *v = fb_ptr(i), n = i->numel;
    if (p->scale_grad_by_freq) {
        if (!(uses = fb_scratch(f, p->num_weights * (int64_t)sizeof *uses))) goto done;
        memset(uses, 0, (size_t)p->num_weights * sizeof *uses);
        for (int64_t k = 0; k < n; k++) uses[v[k]]++;
    }
    if (out->numel) {
        add_job j = {fb_ptr(g), fb_ptr(out), v, uses, n, p->num_weights, out->sizes[1], p->padding_idx, compute == FB_F64};
        memset(fb_ptr(out), 0, (size_t)(out->numel * fb_itemsize(compute)));
        if (n) fb_parallel_range(j.width, 1 + 0.5 * (double)n, add_columns, &j);
    }
    status = FB_OK;
done:
    status = fb_dense_end(f, 0, out, status);
    fb_release(i);
    fb_release(g);
    return status;
}

/* How often each row is used, as a column of weight's dtype. */
fb_status fb_i_embedding_counts(fb_frame *f)
{
    const int64_t sizes[2] = {f->in[0]->sizes[0], 1};
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, 2, sizes, NULL);
}
fb_status fb_k_embedding_counts(fb_frame *f)
{
    const int64_t sizes[2] = {f->in[0]->sizes[0], 1};
    fb_tensor *i = fb_contiguous_as(f->in[1], FB_I64), *counts = i ? fb_new_zeros(2, sizes, FB_F64, f->out[0]->device) : NULL;
    fb_status status = FB_FAIL;

    if (counts && check_rows(fb_ptr(i), i->numel, sizes[0]) == FB_OK) {
        for (int64_t k = 0; k < i->numel; k++) ((double *)fb_ptr(counts))[((const int64_t *)fb_ptr(i))[k]]++;
        status = fb_copy_data(f->out[0], counts);
    }
    fb_release(counts);
    fb_release(i);
    return status;
}

/* ---- embedding_renorm_ ---- */

fb_status fb_i_embedding_renorm(fb_frame *f)
{
    const fb_tensor *w = f->in[0];

    if (w->ndim != 2)
        return fb_fail(FB_ERUNTIME, "Expected 2-dimensional tensor, but got %d-dimensional tensor for argument #1 "
                       "'self' "
                       "(while checking arguments for embedding_renorm_)", (int)w->ndim);
    if (!fb_is(FB_FLOATS, w->dtype))
        return fb_fail(FB_ENOTIMPL, "\"embedding_renorm_\" not implemented for '%s'", fb_dtype_label((fb_dtype)w->dtype));
    return check_indices(f->in[1], "embedding_renorm_");
}

static double row_norm(const double *x, int64_t n, double order)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        const double a = fabs(x[i]);
        if (order == INFINITY)
            sum = a > sum ? a : sum;
        else
            sum += order == 2 ? a * a : order == 1 ? a : pow(a, order);
    }
    return order == INFINITY || order == 1 ? sum : order == 2 ? sqrt(sum) : pow(sum, 1 / order);
}

/* As a number of the dtype: what PyTorch's norm of the row gives. */
static double rounded(double x, fb_dtype dtype)
{
    double at[2]; /* aligned for any */

    fb_scalar_store(fb_float(x), dtype, at);
    return fb_scalar_double(fb_scalar_load(at, dtype));
}

fb_status fb_k_embedding_renorm(fb_frame *f)
{
    const struct fb_p_embedding_renorm_ *p = f->params;
    fb_tensor *w = f->in[0], *i = fb_contiguous_as(f->in[1], FB_I64);
    const int64_t n = w->sizes[1];
    double *row = i ? fb_scratch(f, n * (int64_t)sizeof *row) : NULL;
    fb_status status = FB_FAIL;

    if (!row) goto done;
    const int64_t *v = fb_ptr(i);
    for (int64_t k = 0; k < i->numel; k++) /* before anything is written */
        if (v[k] < 0 || v[k] >= w->sizes[0]) {
            fb_fail(FB_EINDEX, "select(): index %lld out of range for tensor of size %s at dimension 0", (ll)v[k], fb_shape_text(2, w->sizes));
            goto done;
        }
    const int64_t view[1] = {n}, stride[1] = {w->strides[1]};
    for (int64_t k = 0; k < i->numel; k++) { /* a row met again is within the norm by then */
        fb_tensor *mine = fb_view_of(w, 1, view, stride, w->offset + v[k] * w->strides[0]), *wide = mine ? fb_contiguous_as(mine, FB_F64) : NULL;
        fb_status ok = wide ? FB_OK : FB_FAIL;
        if (wide && n) {
            memcpy(row, fb_ptr(wide), (size_t)n * sizeof *row);
            const double norm = rounded(row_norm(row, n, p->norm_type), (fb_dtype)w->dtype);
            if (norm > p->max_norm) {
                for (int64_t c = 0; c < n; c++) row[c] *= p->max_norm / (norm + 1e-7);
                fb_tensor *scaled = fb_new(1, view, NULL, FB_F64, w->device);
                ok = scaled ? (memcpy(fb_ptr(scaled), row, (size_t)n * sizeof *row), fb_copy_data(mine, scaled)) : FB_FAIL;
                fb_release(scaled);
            }
        }
        fb_release(wide);
        fb_release(mine);
        if (ok != FB_OK) goto done;
    }
    status = FB_OK;
done:
    fb_release(i);
    return status;
}

/* ---- one_hot ---- */

fb_status fb_i_one_hot(fb_frame *f)
{
    const struct fb_p_one_hot *p = f->params;

    if (f->in[0]->dtype != FB_I64) return fb_fail(FB_ERUNTIME, "one_hot is only applicable to index tensor of "
                                                  "type LongTensor.");
    if (f->in[0]->numel == 0 && p->num_classes <= 0) return fb_fail(FB_ERUNTIME, "Can not infer total number of "
                                                                    "classes from empty tensor.");
    if (f->in[0]->ndim >= FB_MAX_DIMS) return fb_fail(FB_ESHAPE, "one_hot(): the input has %d dimensions already", (int)f->in[0]->ndim);
    return FB_OK;
}

fb_status fb_k_one_hot(fb_frame *f)
{
    const struct fb_p_one_hot *p = f->params;
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE);
    int64_t sizes[FB_MAX_DIMS], most = -1;
    fb_status status = FB_FAIL;

    if (!x) return FB_FAIL;
    const int64_t *v = fb_ptr(x);
    for (int64_t i = 0; i < x->numel; i++) {
        if (v[i] < 0) {
            fb_fail(FB_ERUNTIME, "Class values must be non-negative.");
            goto done;
        }
        most = FB_MAX(most, v[i]);
    }
    if (p->num_classes != -1 && most >= p->num_classes) {
        fb_fail(FB_ERUNTIME, "Class values must be smaller than num_classes.");
        goto done;
    }
    const int64_t n = p->num_classes == -1 ? most + 1 : p->num_classes;
    memcpy(sizes, x->sizes, (size_t)x->ndim * sizeof *sizes);
    sizes[x->ndim] = n;
    if (fb_out(f, 0, FB_I64, x->ndim + 1, sizes, NULL) != FB_OK) goto done;
    if (f->out[0]->numel) memset(fb_ptr(f->out[0]), 0, (size_t)f->out[0]->numel * 8);
    for (int64_t i = 0; i < x->numel; i++) ((int64_t *)fb_ptr(f->out[0]))[i * n + v[i]] = 1;
    status = FB_OK;
done:
    fb_release(x);
    return status;
}
