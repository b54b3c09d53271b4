/* sort, topk, kthvalue, median, mode: rows along a dimension, each sorted (as far as needed) with its places. */
#include "index/index.h"

#define FB_IS_NAN(v) __extension__({ __typeof__(v) v_ = (v), w_ = v_; v_ != w_; })

enum { SORT_ALL, SORT_FIRST, SORT_KTH, SORT_MEDIAN, SORT_NANMEDIAN, SORT_MODE };
typedef struct sort_job {
    int how, dtype;
    bool descending;
    int64_t k, n, inner, out_n; /* a row: n keys `inner` apart; the result: out_n of them, `inner` apart */
    int64_t item, item_struct;
    const char *x;
    char *values;
    int64_t *indices;
    _Atomic bool failed;
} sort_job;

/* x != x asks for NaN; of integers the compiler knows the answer, and would warn. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtautological-compare"
#define T uint8_t
#define NAME(x) x##_u8
#include "index/sort_rows.h"
#define T int8_t
#define NAME(x) x##_i8
#include "index/sort_rows.h"
#define T int16_t
#define NAME(x) x##_i16
#include "index/sort_rows.h"
#define T int32_t
#define NAME(x) x##_i32
#include "index/sort_rows.h"
#define T int64_t
#define NAME(x) x##_i64
#include "index/sort_rows.h"
#define T uint16_t
#define NAME(x) x##_u16
#include "index/sort_rows.h"
#define T uint32_t
#define NAME(x) x##_u32
#include "index/sort_rows.h"
#define T uint64_t
#define NAME(x) x##_u64
#include "index/sort_rows.h"
#define T float
#define NAME(x) x##_f32
#include "index/sort_rows.h"
#define T double
#define NAME(x) x##_f64
#include "index/sort_rows.h"

#pragma GCC diagnostic pop

typedef void (*row_fn)(const sort_job *, void *, const void *, int64_t, int64_t, void *, int64_t *, int64_t);
static const struct { row_fn fn; int64_t size; } rows[FB_N_DTYPES] = {
    [FB_BOOL] = {row_u8, sizeof(item_u8)}, [FB_U8] = {row_u8, sizeof(item_u8)}, [FB_I8] = {row_i8, sizeof(item_i8)},
    [FB_I16] = {row_i16, sizeof(item_i16)}, [FB_I32] = {row_i32, sizeof(item_i32)}, [FB_I64] = {row_i64, sizeof(item_i64)},
    [FB_U16] = {row_u16, sizeof(item_u16)}, [FB_U32] = {row_u32, sizeof(item_u32)}, [FB_U64] = {row_u64, sizeof(item_u64)},
    [FB_F32] = {row_f32, sizeof(item_f32)}, [FB_F64] = {row_f64, sizeof(item_f64)},
};

static void sort_range(void *ctx, int64_t begin, int64_t end)
{
    sort_job *j = ctx;
    void *scratch = fb_alloc(2 * FB_MAX(j->n, 1) * j->item_struct);

    if (!scratch) {
        atomic_store(&j->failed, true);
        return;
    }
    for (int64_t r = begin; r < end; r++) {
        int64_t outer = r / j->inner, in = r % j->inner, from = outer * j->n * j->inner + in, to = outer * j->out_n * j->inner + in;
        rows[j->dtype].fn(j, scratch, j->x + from * j->item, j->n, j->inner, j->values + to * j->item, j->indices + to, j->inner);
    }
    fb_free(scratch);
}

static fb_status run_sort(fb_frame *f, int64_t dim, int how, int64_t k, bool descending)
{
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE);
    int64_t d, outer, n, inner;
    sort_job j = {.how = how, .descending = descending};
    fb_status status = FB_FAIL;

    if (!x || fb_wrap_dim(dim, x->ndim, &d) != FB_OK) goto done;
    if (!rows[x->dtype].fn) {
        fb_fail(FB_ENOTIMPL, "\"%s\" not implemented for '%s'", f->op->name, fb_dtype_label((fb_dtype)x->dtype));
        goto done;
    }
    fb_three_parts(x, d, &outer, &n, &inner);
    j.dtype = x->dtype;
    j.k = how == SORT_ALL ? n : k;
    j.n = n;
    j.inner = inner;
    j.out_n = how == SORT_ALL ? n : how == SORT_FIRST ? k : 1;
    j.item = fb_itemsize((fb_dtype)x->dtype);
    j.item_struct = rows[x->dtype].size;
    j.x = fb_ptr(x);
    j.values = fb_ptr(f->out[0]);
    j.indices = fb_ptr(f->out[1]);
    if (x->numel || how != SORT_ALL) {
        if (n) fb_parallel_range(outer * inner, 10.0 * (double)n, sort_range, &j);
    }
    status = atomic_load(&j.failed) ? fb_fail(FB_EMEMORY, "%s: not enough memory for a row of %lld", f->op->name, (long long)n) : FB_OK;
done:
    fb_release(x);
    return status;
}

static fb_status two_outputs(fb_frame *f, int64_t ndim, const int64_t *sizes)
{
    FB_TRY(fb_out(f, 0, (fb_dtype)f->in[0]->dtype, ndim, sizes, NULL));
    return fb_out(f, 1, FB_I64, ndim, sizes, NULL);
}

fb_status fb_i_sort(fb_frame *f)
{
    int64_t d;

    FB_TRY(fb_wrap_dim(((const struct fb_p_sort *)f->params)->dim, f->in[0]->ndim, &d));
    return two_outputs(f, f->in[0]->ndim, f->in[0]->sizes);
}
fb_status fb_k_sort(fb_frame *f)
{
    const struct fb_p_sort *p = f->params;
    return run_sort(f, p->dim, SORT_ALL, 0, p->descending);
}

fb_status fb_i_topk(fb_frame *f)
{
    const struct fb_p_topk *p = f->params;
    const fb_tensor *x = f->in[0];
    int64_t d, sizes[FB_MAX_DIMS];

    FB_TRY(fb_wrap_dim(p->dim, x->ndim, &d));
    if (p->k < 0 || p->k > (x->ndim ? x->sizes[d] : 1)) return fb_fail(FB_ERUNTIME, "selected index k out of range");
    memcpy(sizes, x->sizes, (size_t)x->ndim * sizeof *sizes);
    if (x->ndim) sizes[d] = p->k;
    return two_outputs(f, x->ndim, sizes);
}
fb_status fb_k_topk(fb_frame *f)
{
    const struct fb_p_topk *p = f->params;
    return run_sort(f, p->dim, SORT_FIRST, p->k, p->largest);
}

static fb_status without_dim(fb_frame *f, int64_t dim, bool keepdim, const int64_t *k, bool nonempty)
{
    const fb_tensor *x = f->in[0];
    int64_t d, sizes[FB_MAX_DIMS];
    int n = 0;

    FB_TRY(fb_wrap_dim(dim, x->ndim, &d));
    if (k && (*k < 1 || *k > (x->ndim ? x->sizes[d] : 1)))
        return fb_fail(FB_ERUNTIME, "%s(): selected number k out of range for dimension %lld", f->op->name, (long long)d);
    if (nonempty && x->ndim && x->sizes[d] == 0)
        return fb_fail(FB_EINDEX, "%s(): Expected reduction dim %lld to have non-zero size.", f->op->name, (long long)d);
    for (int i = 0; i < x->ndim; i++) {
        if (i == d && !keepdim) continue;
        sizes[n++] = i == d ? 1 : x->sizes[i];
    }
    return two_outputs(f, n, sizes);
}

fb_status fb_i_kthvalue(fb_frame *f)
{
    const struct fb_p_kthvalue *p = f->params;
    return without_dim(f, p->dim, p->keepdim, &p->k, true);
}
fb_status fb_k_kthvalue(fb_frame *f)
{
    const struct fb_p_kthvalue *p = f->params;
    return run_sort(f, p->dim, SORT_KTH, p->k, false);
}

fb_status fb_i_median_dim(fb_frame *f)
{
    const struct fb_p_median_dim *p = f->params;
    return without_dim(f, p->dim, p->keepdim, NULL, true);
}
fb_status fb_k_median_dim(fb_frame *f)
{
    const struct fb_p_median_dim *p = f->params;
    return run_sort(f, p->dim, p->ignore_nan ? SORT_NANMEDIAN : SORT_MEDIAN, 0, false);
}

fb_status fb_i_mode(fb_frame *f)
{
    const struct fb_p_mode *p = f->params;
    return without_dim(f, p->dim, p->keepdim, NULL, true);
}
fb_status fb_k_mode(fb_frame *f)
{
    const struct fb_p_mode *p = f->params;
    return run_sort(f, p->dim, SORT_MODE, 0, false);
}

/* ---- searchsorted ------------------------------------------------------------------------------------- */

fb_status fb_i_searchsorted(fb_frame *f)
{
    const struct fb_p_searchsorted *p = f->params;
    const fb_tensor *s = f->in[0], *v = f->in[1];
    bool same = s->ndim == v->ndim;

    if (s->ndim == 0) return fb_fail(FB_ERUNTIME, "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension");
    for (int i = 0; same && i < s->ndim - 1; i++) same = s->sizes[i] == v->sizes[i];
    if (s->ndim > 1 && !same)
        return fb_fail(FB_ERUNTIME, "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
                                    "and input value tensor must match, but we got boundaries tensor %s and input value tensor %s",
                       fb_shape_text(s->ndim, s->sizes), fb_shape_text(v->ndim, v->sizes));
    return fb_out(f, 0, p->out_int32 ? FB_I32 : FB_I64, v->ndim, v->sizes, NULL);
}

fb_status fb_k_searchsorted(fb_frame *f)
{
    const struct fb_p_searchsorted *p = f->params;
    fb_dtype wide = fb_result_type(2, f->in);
    fb_status status = FB_FAIL;
    fb_tensor *s = NULL, *v = NULL;

    if (wide == FB_NONE) return FB_FAIL;
    if (fb_is(FB_HALVES, wide)) wide = FB_F32;
    if (!(s = fb_contiguous_as(f->in[0], wide)) || !(v = fb_contiguous_as(f->in[1], wide))) goto failed;
    int64_t n = s->sizes[s->ndim - 1], per_row = s->ndim == 1 ? FB_MAX(v->numel, 1) : FB_MAX(v->sizes[v->ndim - 1], 1);
    FB_BY_TYPE(wide, T, {
        const T *edges = fb_ptr(s);
        const T *x = fb_ptr(v);
        for (int64_t i = 0; i < v->numel; i++) {
            const T *row = edges + (i / per_row) * n;
            int64_t low = 0;
            for (int64_t high = n; low < high;) {
                int64_t mid = low + (high - low) / 2;
                bool before = p->right ? !(row[mid] > x[i]) : !(row[mid] >= x[i]); /* NaN goes last */
                if (FB_IS_NAN(row[mid])) before = p->right && FB_IS_NAN(x[i]);
                if (before) low = mid + 1; else high = mid;
            }
            if (p->out_int32) ((int32_t *)fb_ptr(f->out[0]))[i] = (int32_t)low; else ((int64_t *)fb_ptr(f->out[0]))[i] = low;
        }
    })
    status = FB_OK;
failed:
    fb_release(v);
    fb_release(s);
    return status;
}

/* The gradient of what selects values along a dimension: put where they came from. */
fb_tensor *fb_zeros_of(fb_ints sizes, fb_tensor *like), *fb_scatter_src(fb_tensor *self, int64_t dim, fb_tensor *index, fb_tensor *src);
fb_tensor *fb_unsqueeze(fb_tensor *self, int64_t dim);
fb_status fb_c_value_selecting_backward(fb_frame *f)
{
    const struct fb_p_value_selecting_backward *p = f->params;
    fb_tensor *zeros = fb_zeros_of(p->sizes, f->in[0]), *g = NULL, *i = NULL, *r = NULL;

    if (zeros && p->sizes.n && !p->keepdim) {
        int64_t d;
        if (fb_wrap_dim(p->dim, p->sizes.n, &d) == FB_OK && (g = fb_unsqueeze(f->in[0], d))) i = fb_unsqueeze(f->in[1], d);
    } else {
        g = fb_retain(f->in[0]);
        i = fb_retain(f->in[1]);
    }
    if (zeros && g && i) r = fb_scatter_src(zeros, p->dim, i, g);
    fb_release(i);
    fb_release(g);
    fb_release(zeros);
    return fb_give(f, 0, r);
}
