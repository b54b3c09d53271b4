/* embedding_bag: sums, means and maxima of rows, without the rows in memory. */
#include "flambeau/ops.gen.h"
#include "nn/dense.h"
#include "params.gen.h"

typedef long long ll;
enum { SUM, MEAN, MAX };

/* ---- checks ---- */

static fb_status check_index_type(const fb_tensor *t)
{
    if (t->dtype == FB_I64 || t->dtype == FB_I32) return FB_OK;
    return fb_fail(FB_ERUNTIME, "Expected tensor for argument #1 'indices' to have one of the following scalar "
                   "types: Long, Int; but got "
                   "torch.%sTensor instead (while checking arguments for embedding_bag)", fb_dtype_label((fb_dtype)t->dtype));
}

static int64_t count_bags(const fb_tensor *offsets, bool include_last) { return offsets->numel - include_last; }

fb_status fb_i_embedding_bag(fb_frame *f)
{
    const struct fb_p_embedding_bag *p = f->params;
    const fb_tensor *w = f->in[0], *i = f->in[1], *o = f->in[2], *each = f->in[3];
    const int64_t none = 0;

    FB_TRY(check_index_type(i));
    FB_TRY(check_index_type(o));
    if (!fb_is(FB_FLOATS, w->dtype))
        return fb_fail(FB_ERUNTIME, "Expected tensor for argument #1 'weight' to have one of the following scalar "
                       "types: Half, BFloat16, Float, "
                       "Double; but got torch.%sTensor instead (while checking arguments for embedding_bag)", fb_dtype_label((fb_dtype)w->dtype));
    if (w->ndim != 2) return fb_fail(FB_ERUNTIME, "weight has to be a 2D Tensor, but got Tensor of dimension %d", (int)w->ndim);
    if (i->ndim != 1) return fb_fail(FB_ERUNTIME, "input has to be a 1D Tensor, but got Tensor of dimension %d", (int)i->ndim);
    if (o->ndim != 1) return fb_fail(FB_ERUNTIME, "offsets has to be a 1D Tensor, but got Tensor of dimension %d", (int)o->ndim);
    if (p->include_last_offset && !o->numel) return fb_fail(FB_ERUNTIME, "include_last_offset: number of offset "
                                                            "should be at least 1");
    if (p->mode < SUM || p->mode > MAX) return fb_fail(FB_ERUNTIME, "embedding_bag: mode=%lld is not 0 (sum), 1 "
                                                       "(mean) or 2 (max)", (ll)p->mode);
    if (each && p->mode != SUM) return fb_fail(FB_ERUNTIME, "embedding_bag: per_sample_weights only supported "
                                               "with mode='sum'");
    if (each && each->dtype != w->dtype)
        return fb_fail(FB_ERUNTIME, "Expected tensor for argument #1 'weight' to have the same type as tensor for "
                       "argument #1 "
                       "'per_sample_weights'; but type torch.%sTensor does not equal torch.%sTensor (while "
                       "checking arguments for "
                       "embedding_bag)", fb_dtype_label((fb_dtype)w->dtype), fb_dtype_label((fb_dtype)each->dtype));
    if (each && (each->ndim != 1 || each->numel != i->numel))
        return fb_fail(FB_ERUNTIME, "Expected per_sample_weights.value().numel() == indices.numel() to be true, "
                       "but got false.");
    if (p->padding_idx != FB_ABSENT && (p->padding_idx < -w->sizes[0] || p->padding_idx >= w->sizes[0]))
        return fb_fail(FB_ERUNTIME, "padding_idx must be within the number of embeddings, %lld through %lld but "
                       "got %lld", (ll)-w->sizes[0],
                       (ll)(w->sizes[0] - 1), (ll)p->padding_idx);
    const int64_t sizes[2] = {count_bags(o, p->include_last_offset), w->sizes[1]};
    FB_TRY(fb_out(f, 0, (fb_dtype)w->dtype, 2, sizes, NULL));
    FB_TRY(fb_out(f, 1, (fb_dtype)i->dtype, 1, p->mode == SUM ? &none : i->sizes, NULL));
    FB_TRY(fb_out(f, 2, (fb_dtype)i->dtype, 1, sizes, NULL));
    return fb_out(f, 3, (fb_dtype)i->dtype, p->mode == MAX ? 2 : 1, sizes, NULL);
}

/* ---- bags ---- */

typedef struct bags {
    fb_tensor *indices, *offsets;
    const int64_t *v, *first; /* bag b: indices [first[b], first[b + 1]) */
    int64_t n, count, padding; /* padding: -1 for none */
} bags;

static fb_status open_bags(fb_frame *f, bags *b, fb_tensor *indices, fb_tensor *offsets, int64_t rows, bool include_last, int64_t padding)
{
    *b = (bags){.n = indices->numel, .count = count_bags(offsets, include_last), .padding = -1};
    if (padding != FB_ABSENT) b->padding = padding < 0 ? padding + rows : padding;
    if (!(b->indices = fb_contiguous_as(indices, FB_I64)) || !(b->offsets = fb_contiguous_as(offsets, FB_I64))) return FB_FAIL;
    const int64_t *given = fb_ptr(b->offsets);
    int64_t *first = fb_scratch(f, (b->count + 1) * (int64_t)sizeof *first);
    if (!first) return FB_FAIL;
    b->v = fb_ptr(b->indices);
    for (int64_t i = 0; i < b->n; i++)
        if (b->v[i] < 0 || b->v[i] >= rows)
            return fb_fail(FB_ERUNTIME, "Index %lld of input takes value %lld which is not in the valid range [0, "
                           "%lld)", (ll)i, (ll)b->v[i], (ll)rows);
    if (offsets->numel && given[0] != 0)
        return fb_fail(FB_ERUNTIME, "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to "
                       "start from position 0. However, got %lld",
                       (ll)given[0]);
    if (offsets->numel && given[offsets->numel - 1] > b->n)
        return fb_fail(FB_ERUNTIME, "offsets[-1] can not be greater than input's length %lld but got offsets[-1] "
                       "of %lld", (ll)b->n,
                       (ll)given[offsets->numel - 1]);
    for (int64_t k = 1; k < offsets->numel; k++)
        if (given[k] < given[k - 1])
            return fb_fail(FB_ERUNTIME, "offsets have to be in ascending order, but offsets[%lld] is %lld after "
                           "%lld", (ll)k, (ll)given[k], (ll)given[k - 1]);
    for (int64_t k = 0; k < b->count; k++) first[k] = given[k];
    if (b->count >= 0) first[b->count] = include_last ? given[b->count] : b->n;
    b->first = first;
    return FB_OK;
}
static void close_bags(bags *b)
{
    fb_release(b->indices);
    fb_release(b->offsets);
}

/* ---- forward ---- */

typedef struct bag_job {
    bags b;
    const void *w, *each;
    void *out;
    int64_t *size, *most, width;
    int mode;
    bool wide;
} bag_job;

#define BAGS(T)                                                                                                        \
    for (int64_t k = begin; k < end; k++) {                                                                            \
        T *restrict to = (T *)j->out + k * d;                                                                          \
        int64_t count = 0;                                                                                             \
        for (int64_t c = 0; c < d; c++) to[c] = 0;                                                                     \
        for (int64_t i = j->b.first[k]; i < j->b.first[k + 1]; i++) {                                                  \
            const int64_t row = j->b.v[i];                                                                             \
            const T *restrict x = (const T *)j->w + row * d;                                                           \
            if (row == j->b.padding) continue;                                                                         \
            if (j->mode == MAX) {                                                                                      \
                for (int64_t c = 0; c < d; c++)                                                                        \
                    if (count == 0 || x[c] > to[c]) to[c] = x[c], j->most[k * d + c] = row;                            \
            } else if (j->each) {                                                                                      \
                const T s = ((const T *)j->each)[i];                                                                   \
                for (int64_t c = 0; c < d; c++) to[c] += s * x[c];                                                     \
            } else {                                                                                                   \
                for (int64_t c = 0; c < d; c++) to[c] += x[c];                                                         \
            }                                                                                                          \
            count++;                                                                                                   \
        }                                                                                                              \
        if (j->mode == MEAN && count)                                                                                  \
            for (int64_t c = 0; c < d; c++) to[c] /= (T)count;                                                         \
        j->size[k] = count;                                                                                            \
    }
static void sum_bags(void *ctx, int64_t begin, int64_t end)
{
    const bag_job *j = ctx;
    const int64_t d = j->width;
    if (j->wide) {
        BAGS(double)
    } else {
        BAGS(float)
    }
}

/* Integers into an output of the indices' dtype. */
static fb_status give_ints(fb_frame *f, int i, const int64_t *v)
{
    fb_tensor *o = f->out[i];
    if (!o->numel) return FB_OK;
    if (!v) return fb_fill_data(o, fb_int(0));
    for (int64_t k = 0; k < o->numel; k++) {
        if (o->dtype == FB_I64)
            ((int64_t *)fb_ptr(o))[k] = v[k];
        else
            ((int32_t *)fb_ptr(o))[k] = (int32_t)v[k];
    }
    return FB_OK;
}

fb_status fb_k_embedding_bag(fb_frame *f)
{
    const struct fb_p_embedding_bag *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    fb_tensor *w = NULL, *each = NULL, *out = NULL;
    bag_job j = {.width = f->in[0]->sizes[1], .mode = (int)p->mode, .wide = compute == FB_F64};
    int64_t *bag = NULL;
    fb_status status = FB_FAIL;

    if (open_bags(f, &j.b, f->in[1], f->in[2], f->in[0]->sizes[0], p->include_last_offset, p->padding_idx) != FB_OK ||
        !(w = fb_dense_in(f->in[0], compute)) || (f->in[3] && !(each = fb_dense_in(f->in[3], compute))) || !(out = fb_dense_out(f, 0, compute)) ||
        !(j.size = fb_scratch(f, j.b.count * 8)) || !(j.most = fb_scratch(f, (p->mode == MAX ? j.b.count * j.width : 0) * 8)) ||
        !(bag = fb_scratch(f, j.b.n * 8)))
        goto done;
    j.w = fb_ptr(w), j.each = each ? fb_ptr(each) : NULL, j.out = fb_ptr(out);
    if (p->mode == MAX) memset(j.most, 0, (size_t)(j.b.count * j.width) * 8);
    if (j.b.count) fb_parallel_range(j.b.count, 10 + 0.4 * (double)j.width * (double)j.b.n / (double)j.b.count, sum_bags, &j);
    for (int64_t k = 0; k < j.b.count; k++)
        for (int64_t i = j.b.first[k]; i < j.b.first[k + 1]; i++) bag[i] = k;
    for (int64_t i = j.b.count ? j.b.first[j.b.count] : 0; i < j.b.n; i++) bag[i] = j.b.count; /* behind the last offset */
    if (give_ints(f, 1, bag) == FB_OK && give_ints(f, 2, p->mode == SUM ? NULL : j.size) == FB_OK &&
        give_ints(f, 3, p->mode == MAX ? j.most : p->mode == MEAN ? j.size : NULL) == FB_OK)
        status = FB_OK;
done:
    close_bags(&j.b);
    fb_release(each);
    fb_release(w);
    return fb_dense_end(f, 0, out, status);
}

/* ---- backward ---- */

fb_status fb_i_embedding_bag_backward(fb_frame *f)
{
    const struct fb_p_embedding_bag_backward *p = f->params;
    const int64_t sizes[2] = {p->num_weights, f->in[0]->sizes[1]};
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, 2, sizes, NULL);
}

/* out[row] += share * from, of either type */
static void add_row(bool wide, void *out, int64_t row, const void *g, int64_t at, int64_t d, double share)
{
    if (wide) {
        for (int64_t c = 0; c < d; c++) ((double *)out)[row * d + c] += share * ((const double *)g)[at * d + c];
    } else {
        const float s = (float)share;
        for (int64_t c = 0; c < d; c++) ((float *)out)[row * d + c] += s * ((const float *)g)[at * d + c];
    }
}

fb_status fb_k_embedding_bag_backward(fb_frame *f)
{
    const struct fb_p_embedding_bag_backward *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    const int64_t d = f->in[0]->sizes[1];
    const bool wide = compute == FB_F64;
    fb_tensor *g = NULL, *each = NULL, *most = NULL, *out = NULL;
    int64_t *uses = NULL;
    bags b = {.n = 0};
    fb_status status = FB_FAIL;

    if (open_bags(f, &b, f->in[1], f->in[2], p->num_weights, p->include_last_offset, p->padding_idx) != FB_OK ||
        !(g = fb_dense_in(f->in[0], compute)) || (f->in[3] && !(each = fb_contiguous_as(f->in[3], FB_F64))) ||
        !(most = fb_contiguous_as(f->in[4], FB_I64)) || !(out = fb_dense_out(f, 0, compute)) || !(uses = fb_scratch(f, p->num_weights * 8)))
        goto done;
    if (out->numel) memset(fb_ptr(out), 0, (size_t)(out->numel * fb_itemsize(compute)));
    memset(uses, 0, (size_t)p->num_weights * 8);
    for (int64_t i = 0; i < b.n && p->scale_grad_by_freq; i++) uses[b.v[i]]++;
    for (int64_t k = 0; k < b.count && out->numel; k++) {
        int64_t count = 0;
        for (int64_t i = b.first[k]; i < b.first[k + 1]; i++) count += b.v[i] != b.padding;
        if (!count) continue;
        for (int64_t c = 0; c < d && p->mode == MAX; c++) {
            const int64_t to = ((const int64_t *)fb_ptr(most))[k * d + c] * d + c;
            if (wide)
                ((double *)fb_ptr(out))[to] += ((const double *)fb_ptr(g))[k * d + c];
            else
                ((float *)fb_ptr(out))[to] += ((const float *)fb_ptr(g))[k * d + c];
        }
        for (int64_t i = b.first[k]; i < b.first[k + 1] && p->mode != MAX; i++) {
            const int64_t row = b.v[i];
            double share = p->mode == MEAN ? 1 / (double)count : each ? ((const double *)fb_ptr(each))[i] : 1;
            if (row == b.padding) continue;
            if (p->scale_grad_by_freq) share /= (double)uses[row];
            add_row(wide, fb_ptr(out), row, fb_ptr(g), k, d, share);
        }
    }
    status = FB_OK;
done:
    close_bags(&b);
    fb_release(most);
    fb_release(each);
    fb_release(g);
    return fb_dense_end(f, 0, out, status);
}

fb_status fb_c_bag_again(fb_frame *f)
{
    const struct fb_p_bag_again *p = f->params;
    fb_tensor *y = NULL, *rest[3] = {NULL};

    if (p->mode == MAX || p->scale_grad_by_freq) return fb_fail(FB_ERUNTIME, "derivative for "
                                                                "embedding_bag_backward is not implemented");
    FB_TRY(fb_embedding_bag(f->in[0], f->in[1], f->in[2], false, p->mode, false, f->in[3], p->include_last_offset, p->padding_idx, &y, &rest[0],
                            &rest[1], &rest[2]));
    for (int i = 0; i < 3; i++) fb_release(rest[i]);
    return fb_give(f, 0, y);
}

fb_status fb_i_embedding_bag_weights_backward(fb_frame *f)
{
    return fb_out_like(f, 0, f->in[2], (fb_dtype)f->in[0]->dtype);
}

fb_status fb_k_embedding_bag_weights_backward(fb_frame *f)
{
    const struct fb_p_embedding_bag_weights_backward *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    const int64_t d = f->in[1]->sizes[1];
    fb_tensor *g = NULL, *w = NULL, *out = NULL;
    bags b = {.n = 0};
    fb_status status = FB_FAIL;

    if (open_bags(f, &b, f->in[2], f->in[3], f->in[1]->sizes[0], p->include_last_offset, p->padding_idx) != FB_OK ||
        !(g = fb_dense_in(f->in[0], compute)) || !(w = fb_dense_in(f->in[1], compute)) || !(out = fb_dense_out(f, 0, compute)))
        goto done;
    if (out->numel) memset(fb_ptr(out), 0, (size_t)(out->numel * fb_itemsize(compute)));
    for (int64_t k = 0; k < b.count; k++)
        for (int64_t i = b.first[k]; i < b.first[k + 1]; i++) {
            double dot = 0;
            if (b.v[i] == b.padding) continue;
            for (int64_t c = 0; c < d; c++)
                dot += compute == FB_F64 ? ((const double *)fb_ptr(g))[k * d + c] * ((const double *)fb_ptr(w))[b.v[i] * d + c]
                                         : (double)((const float *)fb_ptr(g))[k * d + c] * (double)((const float *)fb_ptr(w))[b.v[i] * d + c];
            if (compute == FB_F64)
                ((double *)fb_ptr(out))[i] = dot;
            else
                ((float *)fb_ptr(out))[i] = (float)dot;
        }
    status = FB_OK;
done:
    close_bags(&b);
    fb_release(w);
    fb_release(g);
    return fb_dense_end(f, 0, out, status);
}
