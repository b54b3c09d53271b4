/* flip, roll, repeat, tril/triu, constant_pad_nd, diag_embed, repeat_interleave: elements in another arrangement. */
#include "index/index.h"

/* ---- flip and roll: runs of the last dimension ---------------------------------------------------- */

fb_status fb_i_like(fb_frame *f) { return fb_out_like(f, 0, f->in[0], (fb_dtype)f->in[0]->dtype); }

fb_status fb_k_flip(fb_frame *f)
{
    const struct fb_p_flip *p = f->params;
    const fb_tensor *x = f->in[0];
    fb_tensor *o = f->out[0];
    uint64_t mask;
    int64_t item = fb_itemsize((fb_dtype)x->dtype), last = x->ndim - 1, length = x->ndim ? x->sizes[last] : 1, index[FB_MAX_DIMS] = {0};

    FB_TRY(fb_dim_mask(p->dims, x->ndim, false, &mask));
    if (p->dims.n == 0) mask = 0;
    if (!x->numel) return FB_OK;
    for (int64_t row = 0; row < o->numel / length; row++) {
        int64_t at = 0, step = x->ndim ? x->strides[last] : 1;
        for (int d = 0; d < last; d++) at += (mask >> d & 1 ? x->sizes[d] - 1 - index[d] : index[d]) * x->strides[d];
        if (x->ndim && mask >> last & 1) {
            at += (length - 1) * step;
            step = -step;
        }
        FB_BY_SIZE(item, T, {
            const T *from = (const T *)fb_ptr(x) + at;
            T *to = (T *)fb_ptr(o) + row * length;
            for (int64_t j = 0; j < length; j++) to[j] = from[j * step];
        })
        for (int64_t d = last - 1; d >= 0 && ++index[d] == x->sizes[d]; d--) index[d] = 0;
    }
    return FB_OK;
}

fb_status fb_k_roll_one(fb_frame *f) /* along one dimension */
{
    const struct fb_p_roll_one *p = f->params;
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE);
    int64_t d, outer, size, inner, item = fb_itemsize((fb_dtype)f->in[0]->dtype), shift;

    if (!x) return FB_FAIL;
    if (fb_wrap_dim(p->dim, x->ndim, &d) != FB_OK) {
        fb_release(x);
        return FB_FAIL;
    }
    fb_three_parts(x, d, &outer, &size, &inner);
    if (x->numel) {
        shift = p->shift % size;
        if (shift < 0) shift += size;
        for (int64_t a = 0; a < outer; a++) {
            const char *from = (char *)fb_ptr(x) + a * size * inner * item;
            char *to = (char *)fb_ptr(f->out[0]) + a * size * inner * item;
            memcpy(to + shift * inner * item, from, (size_t)((size - shift) * inner * item));
            memcpy(to, from + (size - shift) * inner * item, (size_t)(shift * inner * item));
        }
    }
    fb_release(x);
    return FB_OK;
}

/* ---- repeat ------------------------------------------------------------------------------------------ */

fb_status fb_i_repeat(fb_frame *f)
{
    const struct fb_p_repeat *p = f->params;
    const fb_tensor *x = f->in[0];
    int64_t sizes[FB_MAX_DIMS], lead = p->repeats.n - x->ndim;

    if (lead < 0)
        return fb_fail(FB_ERUNTIME, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
    if (p->repeats.n > FB_MAX_DIMS) return fb_fail(FB_EVALUE, "repeat: more than %d dimensions", FB_MAX_DIMS);
    for (int64_t i = 0; i < p->repeats.n; i++) {
        int64_t have = i < lead ? 1 : x->sizes[i - lead];
        if (p->repeats.v[i] < 0)
            return fb_fail(FB_ERUNTIME, "Trying to create tensor with negative dimension %lld: %s", (long long)p->repeats.v[i],
                           fb_shape_text(p->repeats.n, p->repeats.v));
        if (__builtin_mul_overflow(have, p->repeats.v[i], &sizes[i])) return fb_fail(FB_ERUNTIME, "repeat: the result's size overflows int64");
    }
    return fb_out(f, 0, (fb_dtype)x->dtype, p->repeats.n, sizes, NULL);
}

/* The output seen as (r0, s0, r1, s1, ...): the input is broadcast over the r dimensions. */
fb_status fb_k_repeat(fb_frame *f)
{
    const struct fb_p_repeat *p = f->params;
    fb_tensor *o = f->out[0], *x = f->in[0], *view;
    int64_t sizes[2 * FB_MAX_DIMS], strides[2 * FB_MAX_DIMS], lead = o->ndim - x->ndim;
    int n = 0;

    if (!o->numel) return FB_OK;
    if (2 * o->ndim <= FB_MAX_DIMS) {
        int64_t from_sizes[FB_MAX_DIMS], from_strides[FB_MAX_DIMS];
        for (int i = 0; i < o->ndim; i++) {
            int64_t have = i < lead ? 1 : x->sizes[i - lead], have_stride = i < lead ? 0 : x->strides[i - lead];
            sizes[n] = from_sizes[n] = p->repeats.v[i];
            strides[n] = have * o->strides[i];
            from_strides[n++] = 0;
            sizes[n] = from_sizes[n] = have;
            strides[n] = o->strides[i];
            from_strides[n++] = have_stride;
        }
        fb_tensor *source = fb_view_of(x, n, from_sizes, from_strides, x->offset);
        if (!source || !(view = fb_view_of(o, n, sizes, strides, o->offset))) {
            fb_release(source);
            return FB_FAIL;
        }
        fb_status status = fb_copy_data(view, source);
        fb_release(view);
        fb_release(source);
        return status;
    }
    return fb_fail(FB_EVALUE, "repeat: more than %d dimensions", FB_MAX_DIMS / 2);
}

/* ---- triangles ------------------------------------------------------------------------------------------ */

fb_status fb_i_triangle(fb_frame *f)
{
    if (f->in[0]->ndim < 2) return fb_fail(FB_ERUNTIME, "%s: input tensor must have at least 2 dimensions", f->op->name);
    return fb_out_like(f, 0, f->in[0], (fb_dtype)f->in[0]->dtype);
}

static fb_status triangle(fb_frame *f, int64_t diagonal, bool lower)
{
    fb_tensor *o = f->out[0];
    int64_t rows, columns, item = fb_itemsize((fb_dtype)o->dtype);

    FB_TRY(fb_start_from_input(f));
    if (!o->numel) return FB_OK;
    rows = o->sizes[o->ndim - 2];
    columns = o->sizes[o->ndim - 1];
    for (int64_t r = 0; r < o->numel / columns; r++) {
        int64_t i = r % rows, cut = diagonal > columns ? columns : diagonal < -rows ? -rows : diagonal;
        int64_t edge = lower ? i + cut + 1 : i + cut; /* lower keeps [0, edge), upper [edge, columns) */
        edge = FB_MAX(0, FB_MIN(edge, columns));
        char *row = (char *)fb_ptr(o) + r * columns * item;
        if (lower)
            memset(row + edge * item, 0, (size_t)((columns - edge) * item));
        else
            memset(row, 0, (size_t)(edge * item));
    }
    return FB_OK;
}

fb_status fb_k_tril(fb_frame *f) { return triangle(f, ((const struct fb_p_tril *)f->params)->diagonal, true); }
fb_status fb_k_triu(fb_frame *f) { return triangle(f, ((const struct fb_p_triu *)f->params)->diagonal, false); }

/* ---- padding with a constant; negative amounts cut ---------------------------------------------------------- */

fb_status fb_i_constant_pad(fb_frame *f)
{
    const struct fb_p_constant_pad_nd *p = f->params;
    const fb_tensor *x = f->in[0];
    int64_t sizes[FB_MAX_DIMS];

    if (p->pad.n % 2) return fb_fail(FB_ERUNTIME, "Length of pad must be even but instead it equals %lld", (long long)p->pad.n);
    if (p->pad.n > 2 * x->ndim)
        return fb_fail(FB_ERUNTIME, "Length of pad should be no more than twice the number of dimensions of the input. Pad length is %lld while the "
                                    "input has %d dimensions.", (long long)p->pad.n, x->ndim);
    memcpy(sizes, x->sizes, (size_t)x->ndim * sizeof *sizes);
    for (int64_t k = 0; k < p->pad.n / 2; k++) {
        int64_t d = x->ndim - 1 - k;
        if (__builtin_add_overflow(sizes[d], p->pad.v[2 * k], &sizes[d]) || __builtin_add_overflow(sizes[d], p->pad.v[2 * k + 1], &sizes[d]))
            return fb_fail(FB_ERUNTIME, "constant_pad_nd: the padded size overflows int64");
        if (sizes[d] < 0)
            return fb_fail(FB_ERUNTIME, "The input size %lld, plus negative padding %lld and %lld, resulted in a negative output size, "
                                        "which is invalid. Check dimension %lld of your input.", (long long)x->sizes[d], (long long)p->pad.v[2 * k],
                           (long long)p->pad.v[2 * k + 1], (long long)d);
    }
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim, sizes, NULL);
}

fb_status fb_k_constant_pad(fb_frame *f)
{
    const struct fb_p_constant_pad_nd *p = f->params;
    fb_tensor *x = f->in[0], *o = f->out[0], *from, *to;
    int64_t sizes[FB_MAX_DIMS], from_at = x->offset, to_at = o->offset;
    fb_status status = FB_FAIL;

    FB_TRY(fb_fill_data(o, p->value));
    for (int d = 0; d < x->ndim; d++) {
        int64_t k = x->ndim - 1 - d, before = 2 * k < p->pad.n ? p->pad.v[2 * k] : 0, after = 2 * k < p->pad.n ? p->pad.v[2 * k + 1] : 0;
        int64_t cut = FB_MAX(-before, 0), cut_end = FB_MAX(-after, 0);
        sizes[d] = x->sizes[d] - cut - cut_end;
        if (sizes[d] <= 0) return FB_OK;
        from_at += cut * x->strides[d];
        to_at += FB_MAX(before, 0) * o->strides[d];
    }
    if (!(from = fb_view_of(x, x->ndim, sizes, x->strides, from_at))) return FB_FAIL;
    if ((to = fb_view_of(o, x->ndim, sizes, o->strides, to_at))) status = fb_copy_data(to, from);
    fb_release(to);
    fb_release(from);
    return status;
}

/* ---- diag_embed ------------------------------------------------------------------------------------------------ */

fb_status fb_i_diag_embed(fb_frame *f)
{
    const struct fb_p_diag_embed *p = f->params;
    const fb_tensor *x = f->in[0];
    int64_t sizes[FB_MAX_DIMS], a, b, n, k = 0;

    if (x->ndim == 0) return fb_fail(FB_EINDEX, "diag_embed: the input must have at least one dimension");
    FB_TRY(fb_wrap_dim(p->dim1, x->ndim + 1, &a));
    FB_TRY(fb_wrap_dim(p->dim2, x->ndim + 1, &b));
    if (a == b) return fb_fail(FB_ERUNTIME, "diagonal dimensions cannot be identical %lld, %lld", (long long)p->dim1, (long long)p->dim2);
    n = x->sizes[x->ndim - 1] + (p->offset < 0 ? -p->offset : p->offset);
    for (int i = 0; i <= x->ndim; i++) sizes[i] = i == a || i == b ? n : x->sizes[k++];
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim + 1, sizes, NULL);
}

fb_status fb_k_diag_embed(fb_frame *f)
{
    const struct fb_p_diag_embed *p = f->params;
    fb_tensor *o = f->out[0], *view, *in[1] = {o};
    struct fb_p_diagonal q = {p->offset, p->dim1, p->dim2};
    fb_frame v = {.op = &fb_op_diagonal, .in = in, .params = &q, .below = FB_L_ALL, .n_in = 1, .n_out = 1};
    fb_status status;

    FB_TRY(fb_fill_data(o, fb_int(0)));
    v.out = v.out_small;
    FB_TRY(fb_op_diagonal.infer(&v));
    view = v.out[0];
    status = fb_copy_data(view, f->in[0]);
    fb_release(view);
    return status;
}

fb_status fb_i_flip(fb_frame *f)
{
    uint64_t mask;

    FB_TRY(fb_dim_mask(((const struct fb_p_flip *)f->params)->dims, f->in[0]->ndim, false, &mask));
    return fb_i_like(f);
}

/* Padding's derivative is padding by the negative amounts. */
fb_tensor *fb_constant_pad_nd(fb_tensor *self, fb_ints pad, fb_scalar value);
fb_status fb_c_constant_pad_backward(fb_frame *f)
{
    const struct fb_p_constant_pad_backward *p = f->params;
    int64_t negative[2 * FB_MAX_DIMS];

    if (p->pad.n > 2 * FB_MAX_DIMS) return fb_fail(FB_EVALUE, "pad: more than %d dimensions", FB_MAX_DIMS);
    for (int64_t i = 0; i < p->pad.n; i++) negative[i] = -p->pad.v[i];
    return fb_give(f, 0, fb_constant_pad_nd(f->in[0], (fb_ints){p->pad.n, negative}, fb_int(0)));
}

/* repeat's derivative: view the gradient as (r0, s0, r1, s1, ...) and sum over the r dimensions. */
fb_tensor *fb_reshape(fb_tensor *self, fb_ints shape);
fb_tensor *fb_sum(fb_tensor *self, fb_ints dim, bool keepdim, fb_dtype dtype);
fb_status fb_c_repeat_backward(fb_frame *f)
{
    const struct fb_p_repeat_backward *p = f->params;
    int64_t sizes[2 * FB_MAX_DIMS], dims[FB_MAX_DIMS], n = p->repeats.n, lead = n - p->sizes.n;
    fb_tensor *g, *s;

    if (2 * n > FB_MAX_DIMS || lead < 0) return fb_fail(FB_EVALUE, "repeat: more than %d dimensions", FB_MAX_DIMS / 2);
    for (int64_t i = 0; i < n; i++) {
        sizes[2 * i] = p->repeats.v[i];
        sizes[2 * i + 1] = i < lead ? 1 : p->sizes.v[i - lead];
        dims[i] = 2 * i;
    }
    if (n == 0) return fb_give(f, 0, fb_retain(f->in[0]));
    if (!(g = fb_reshape(f->in[0], (fb_ints){2 * n, sizes}))) return FB_FAIL;
    s = fb_sum(g, (fb_ints){n, dims}, false, FB_NONE);
    fb_release(g);
    if (s && lead > 0) { /* the leading dimensions of size 1 go */
        g = fb_reshape(s, p->sizes);
        fb_release(s);
        s = g;
    }
    return fb_give(f, 0, s);
}
