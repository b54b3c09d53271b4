/* Advanced indexing: x[i, :, j] with index tensors, read (index) and written (index_put).
 *
 * The index tensors broadcast to one shape of P positions. Each position is an offset into x; what remains of x at a
 * position is a slice. The result lies as (before, P, after): if the indexed dimensions are neighbours, P stands in
 * their place, else in front. */
#include "index/index.h"

typedef struct plan {
    int64_t positions, *offsets;       /* elements of x; scratch of the frame */
    int pos_ndim, n_before, n_after;
    int64_t pos_sizes[FB_MAX_DIMS];
    int64_t before_sizes[FB_MAX_DIMS], before_strides[FB_MAX_DIMS], after_sizes[FB_MAX_DIMS], after_strides[FB_MAX_DIMS];
    int64_t before, after;             /* numbers of elements */
    int ndim;                          /* of the result */
    int64_t sizes[FB_MAX_DIMS];
} plan;

static bool is_index_dtype(int d) { return d == FB_I64 || d == FB_I32 || d == FB_I16 || d == FB_I8; }

/* Shapes only: what infer needs. */
static fb_status plan_shape(plan *p, const fb_frame *f, const fb_tensor *x, int n, fb_tensor *const *indices)
{
    fb_tensor *present[FB_MAX_DIMS];
    int k = 0, first = -1, last = -1;
    int64_t ndim;

    if (n > x->ndim) return fb_fail(FB_EINDEX, "too many indices for tensor of dimension %d (got %d)", x->ndim, n);
    for (int i = 0; i < n; i++) {
        if (!indices[i]) continue;
        if (!is_index_dtype(indices[i]->dtype))
            return fb_fail(FB_EINDEX, "tensors used as indices must be long, int, byte or bool tensors");
        if (first < 0) first = i;
        last = i;
        present[k++] = indices[i];
    }
    if (!k) return fb_fail(FB_EINDEX, "%s: no index was given", f->op->name);
    if (fb_broadcast_shape(k, present, &ndim, p->pos_sizes) != FB_OK) {
        fb_error_clear();
        char text[512] = "";
        size_t at = 0;
        for (int i = 0; i < k && at < sizeof text - 80; i++) {
            const char *s = fb_shape_text(present[i]->ndim, present[i]->sizes);
            size_t len = FB_MIN(strlen(s), (size_t)60);
            memcpy(text + at, s, len);
            at += len;
            if (i + 1 < k) memcpy(text + at, ", ", 3), at += 2;
        }
        return fb_fail(FB_EINDEX, "shape mismatch: indexing tensors could not be broadcast together with shapes %s", text);
    }
    p->pos_ndim = (int)ndim;
    p->positions = 1;
    for (int i = 0; i < ndim; i++) p->positions *= p->pos_sizes[i];
    bool neighbours = true;
    for (int i = first; i <= last; i++) neighbours &= indices[i] != NULL;
    p->n_before = p->n_after = 0;
    p->before = p->after = 1;
    for (int i = 0; i < x->ndim; i++) {
        if (i < n && indices[i]) continue;
        if (neighbours && i < first) {
            p->before_sizes[p->n_before] = x->sizes[i];
            p->before_strides[p->n_before++] = x->strides[i];
            p->before *= x->sizes[i];
        } else {
            p->after_sizes[p->n_after] = x->sizes[i];
            p->after_strides[p->n_after++] = x->strides[i];
            p->after *= x->sizes[i];
        }
    }
    if (p->n_before + p->pos_ndim + p->n_after > FB_MAX_DIMS) return fb_fail(FB_EINDEX, "%s: more than %d dimensions", f->op->name, FB_MAX_DIMS);
    p->ndim = 0;
    for (int i = 0; i < p->n_before; i++) p->sizes[p->ndim++] = p->before_sizes[i];
    for (int i = 0; i < p->pos_ndim; i++) p->sizes[p->ndim++] = p->pos_sizes[i];
    for (int i = 0; i < p->n_after; i++) p->sizes[p->ndim++] = p->after_sizes[i];
    for (int i = 0; i < n; i++)
        if (indices[i] && x->sizes[i] == 0 && p->positions > 0 && p->before && p->after)
            return fb_fail(FB_EINDEX, "index is out of bounds for dimension with size 0");
    return FB_OK;
}

/* The offset of each position, from all index tensors. */
static fb_status plan_offsets(plan *p, fb_frame *f, const fb_tensor *x, int n, fb_tensor *const *indices)
{
    if (!(p->offsets = fb_scratch(f, FB_MAX(p->positions, 1) * (int64_t)sizeof *p->offsets))) return FB_FAIL;
    memset(p->offsets, 0, (size_t)p->positions * sizeof *p->offsets);
    for (int i = 0; i < n; i++) {
        if (!indices[i]) continue;
        fb_tensor *v64 = fb_contiguous_as(indices[i], FB_I64);
        if (!v64) return FB_FAIL;
        const int64_t *v = fb_ptr(v64), size = x->sizes[i], stride = x->strides[i];
        int64_t step[FB_MAX_DIMS], counter[FB_MAX_DIMS] = {0}, at = 0;
        for (int k = 0; k < p->pos_ndim; k++) {
            int own = k - (p->pos_ndim - v64->ndim);
            step[k] = own < 0 || v64->sizes[own] == 1 ? 0 : v64->strides[own];
        }
        for (int64_t j = 0; j < p->positions; j++) {
            int64_t index = v[at];
            if (index < -size || index >= size) {
                fb_release(v64);
                return fb_fail(FB_EINDEX, "index %lld is out of bounds for dimension %d with size %lld", (long long)index, i, (long long)size);
            }
            p->offsets[j] += (index < 0 ? index + size : index) * stride;
            for (int k = p->pos_ndim - 1; k >= 0; k--) {
                at += step[k];
                if (++counter[k] < p->pos_sizes[k]) break;
                at -= step[k] * counter[k];
                counter[k] = 0;
            }
        }
        fb_release(v64);
    }
    return FB_OK;
}

/* Elements of the slice that lie side by side in x, from the last dimension on. */
static int64_t run_length(const plan *p)
{
    int64_t run = 1;

    for (int i = p->n_after - 1; i >= 0 && (p->after_strides[i] == run || p->after_sizes[i] == 1); i--) run *= p->after_sizes[i];
    return run;
}

static int64_t strided_offset(int64_t k, int n, const int64_t *sizes, const int64_t *strides)
{
    int64_t at = 0;

    for (int i = n - 1; i >= 0; i--) {
        at += k % sizes[i] * strides[i];
        k /= sizes[i];
    }
    return at;
}

/* ---- read --------------------------------------------------------------------------------------- */

fb_status fb_i_index(fb_frame *f)
{
    plan p;

    FB_TRY(plan_shape(&p, f, f->in[0], f->n_in - 1, f->in + 1));
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, p.ndim, p.sizes, NULL);
}

typedef struct index_job { plan *p; char *x; char *values; int64_t item, run, vstep; } index_job;

static void read_positions(void *ctx, int64_t begin, int64_t end)
{
    const index_job *j = ctx;
    const plan *p = j->p;
    int64_t runs = j->run ? p->after / j->run : 0;

    for (int64_t k = begin; k < end; k++) { /* over (before, position) */
        int64_t base = p->offsets[k % p->positions] + strided_offset(k / p->positions, p->n_before, p->before_sizes, p->before_strides);
        char *to = j->values + k * p->after * j->item;
        if (j->run == 1 && runs == 1) {
            FB_BY_SIZE(j->item, T, *(T *)to = ((T *)j->x)[base])
            continue;
        }
        for (int64_t r = 0; r < runs; r++, to += j->run * j->item) {
            int64_t at = base + strided_offset(r * j->run, p->n_after, p->after_sizes, p->after_strides);
            memcpy(to, j->x + at * j->item, (size_t)(j->run * j->item));
        }
    }
}

fb_status fb_k_index(fb_frame *f)
{
    fb_tensor *x = f->in[0];
    plan p;

    FB_TRY(plan_shape(&p, f, x, f->n_in - 1, f->in + 1));
    FB_TRY(plan_offsets(&p, f, x, f->n_in - 1, f->in + 1));
    if (!f->out[0]->numel) return FB_OK;
    index_job j = {&p, fb_ptr(x), fb_ptr(f->out[0]), fb_itemsize((fb_dtype)x->dtype), run_length(&p), 0};
    fb_parallel_range(p.before * p.positions, 2.0 + 0.3 * (double)p.after, read_positions, &j);
    return FB_OK;
}

/* ---- written -------------------------------------------------------------------------------------- */

#define FOR_EACH_WRITTEN(body)                                                                                          \
    for (int64_t k = 0; k < p.before * p.positions; k++) {                                                             \
        int64_t base = p.offsets[k % p.positions] + strided_offset(k / p.positions, p.n_before, p.before_sizes, p.before_strides); \
        for (int64_t r = 0; r < p.after; r++) {                                                                        \
            int64_t at = base + strided_offset(r, p.n_after, p.after_sizes, p.after_strides), from = one ? 0 : k * p.after + r; \
            body;                                                                                                      \
        }                                                                                                              \
    }

/* to (contiguous) [indices] = values, or += */
static fb_status write_values(fb_frame *f, fb_tensor *to, int n, fb_tensor *const *indices, fb_tensor *values, bool accumulate)
{
    plan p;
    fb_tensor *wide = NULL, *v = NULL;
    fb_status status = FB_FAIL;
    int64_t strides[FB_MAX_DIMS];
    bool one = values->numel == 1;

    FB_TRY(plan_shape(&p, f, to, n, indices));
    FB_TRY(plan_offsets(&p, f, to, n, indices));
    if (values->ndim > p.ndim || !one) {
        int lead = p.ndim - values->ndim;
        for (int i = 0; i < p.ndim; i++) {
            int64_t have = i < lead ? 1 : values->sizes[i - lead];
            if (lead < 0 || (have != 1 && have != p.sizes[i]))
                return fb_fail(FB_ERUNTIME, "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
                               fb_shape_text(values->ndim, values->sizes), fb_shape_text(p.ndim, p.sizes));
            strides[i] = have == 1 && p.sizes[i] != 1 ? 0 : i < lead ? 0 : values->strides[i - lead];
        }
        if (!(wide = fb_view_of(values, p.ndim, p.sizes, strides, values->offset))) return FB_FAIL;
    }
    if (!(v = fb_contiguous_as(wide ? wide : values, (fb_dtype)to->dtype))) goto failed;
    char *x = fb_ptr(to), *src = fb_ptr(v);
    if (!accumulate) {
        int64_t item = fb_itemsize((fb_dtype)to->dtype), run = run_length(&p);
        if (run > 1 && !one) {
            for (int64_t k = 0; k < p.before * p.positions; k++) {
                int64_t base = p.offsets[k % p.positions] + strided_offset(k / p.positions, p.n_before, p.before_sizes, p.before_strides);
                for (int64_t r = 0; r < p.after; r += run)
                    memcpy(x + (base + strided_offset(r, p.n_after, p.after_sizes, p.after_strides)) * item, src + (k * p.after + r) * item,
                           (size_t)(run * item));
            }
        } else {
            FB_BY_SIZE(item, T, FOR_EACH_WRITTEN(((T *)x)[at] = ((T *)src)[from]))
        }
    } else if (to->dtype == FB_BOOL) {
        FOR_EACH_WRITTEN(((uint8_t *)x)[at] |= ((uint8_t *)src)[from])
    } else {
        int64_t c = fb_is_complex(to->dtype) ? 2 : 1;
        FB_BY_TYPE(to->dtype, T, FOR_EACH_WRITTEN(for (int64_t q = 0; q < c; q++)((T *)x)[at * c + q] += ((T *)src)[from * c + q]))
    }
    status = FB_OK;
failed:
    fb_release(v);
    fb_release(wide);
    return status;
}

fb_status fb_i_index_put(fb_frame *f)
{
    plan p;
    const fb_tensor *values = f->in[f->n_in - 1];

    FB_TRY(plan_shape(&p, f, f->in[0], f->n_in - 2, f->in + 1));
    if (values->dtype != f->in[0]->dtype)
        return fb_fail(FB_ERUNTIME, "Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
                       fb_dtype_label((fb_dtype)f->in[0]->dtype), fb_dtype_label((fb_dtype)values->dtype));
    FB_TRY(fb_refuse_overlap(f));
    return fb_out_like(f, 0, f->in[0], (fb_dtype)f->in[0]->dtype);
}

fb_status fb_k_index_put(fb_frame *f)
{
    const struct fb_p_index_put *p = f->params;

    FB_TRY(fb_start_from_input(f));
    return write_values(f, f->out[0], f->n_in - 2, f->in + 1, f->in[f->n_in - 1], p->accumulate == 1);
}

fb_status fb_i_index_backward(fb_frame *f)
{
    const struct fb_p_index_backward *p = f->params;
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, p->input_sizes.n, p->input_sizes.v, NULL);
}

fb_status fb_k_index_backward(fb_frame *f)
{
    FB_TRY(fb_fill_data(f->out[0], fb_int(0)));
    return write_values(f, f->out[0], f->n_in - 1, f->in + 1, f->in[0], true);
}
