/* The derivatives of views: a gradient goes back to where the view took its elements from. */
#include "params.gen.h"
#include "runtime/frame.h"

static fb_status zeros(fb_frame *f, fb_dtype dtype, fb_ints sizes)
{
    return fb_out(f, 0, dtype, sizes.n, sizes.v, NULL);
}

static fb_dtype first_dtype(const fb_frame *f) { return (fb_dtype)f->in[0]->dtype; }

/* Runs a view operator's infer on out[0] and gives that view of it. */
static fb_tensor *view_of_out(fb_frame *f, const fb_op *op, const void *params)
{
    fb_tensor *in[1] = {f->out[0]};
    fb_frame v = {.op = op, .in = in, .params = params, .below = FB_L_ALL, .n_in = 1, .n_out = 1};

    v.out = v.out_small;
    return op->infer(&v) == FB_OK ? v.out[0] : NULL;
}

static fb_status put(fb_frame *f, const fb_op *op, const void *params)
{
    fb_tensor *v;
    fb_status status;

    FB_TRY(fb_fill_data(f->out[0], fb_int(0)));
    if (!(v = view_of_out(f, op, params))) return FB_FAIL;
    status = fb_copy_data(v, f->in[0]);
    fb_release(v);
    return status;
}

fb_status fb_i_select_backward(fb_frame *f) { return zeros(f, first_dtype(f), ((const struct fb_p_select_backward *)f->params)->input_sizes); }
fb_status fb_k_select_backward(fb_frame *f)
{
    const struct fb_p_select_backward *p = f->params;
    return put(f, &fb_op_select, &(struct fb_p_select){p->dim, p->index});
}

fb_status fb_i_slice_backward(fb_frame *f) { return zeros(f, first_dtype(f), ((const struct fb_p_slice_backward *)f->params)->input_sizes); }
fb_status fb_k_slice_backward(fb_frame *f)
{
    const struct fb_p_slice_backward *p = f->params;
    return put(f, &fb_op_slice, &(struct fb_p_slice){p->dim, p->start, p->end, p->step});
}

fb_status fb_i_diagonal_backward(fb_frame *f) { return zeros(f, first_dtype(f), ((const struct fb_p_diagonal_backward *)f->params)->input_sizes); }
fb_status fb_k_diagonal_backward(fb_frame *f)
{
    const struct fb_p_diagonal_backward *p = f->params;
    return put(f, &fb_op_diagonal, &(struct fb_p_diagonal){p->offset, p->dim1, p->dim2});
}

/* ---- overlapping windows add up: through an index walk ------------------------------------------- */

/* dst (a view that may overlap itself) += src, element by element in row-major order; both of one floating dtype. */
static fb_status add_strided(fb_tensor *dst, fb_tensor *src)
{
    int64_t index[FB_MAX_DIMS] = {0}, at = 0, ndim = dst->ndim;
    fb_tensor *s = fb_contiguous_as(src, FB_NONE);
    char *d = fb_ptr(dst);

    if (!s) return FB_FAIL;
    if (s->numel != dst->numel) {
        fb_release(s);
        return fb_fail(FB_ERUNTIME, "as_strided_backward: %lld gradients for %lld elements", (long long)s->numel, (long long)dst->numel);
    }
    for (int64_t k = 0; k < s->numel; k++) {
        switch ((fb_dtype)dst->dtype) {
        case FB_F32: ((float *)d)[at] += ((float *)fb_ptr(s))[k]; break;
        case FB_F64: ((double *)d)[at] += ((double *)fb_ptr(s))[k]; break;
        case FB_C64: ((float *)d)[2 * at] += ((float *)fb_ptr(s))[2 * k]; ((float *)d)[2 * at + 1] += ((float *)fb_ptr(s))[2 * k + 1]; break;
        case FB_C128: ((double *)d)[2 * at] += ((double *)fb_ptr(s))[2 * k]; ((double *)d)[2 * at + 1] += ((double *)fb_ptr(s))[2 * k + 1]; break;
        case FB_F16:
            ((uint16_t *)d)[at] = fb_float_to_half(fb_half_to_float(((uint16_t *)d)[at]) + fb_half_to_float(((uint16_t *)fb_ptr(s))[k]));
            break;
        case FB_BF16:
            ((uint16_t *)d)[at] = fb_float_to_bf16(fb_bf16_to_float(((uint16_t *)d)[at]) + fb_bf16_to_float(((uint16_t *)fb_ptr(s))[k]));
            break;
        default:
            fb_release(s);
            return fb_fail(FB_EDTYPE, "as_strided_backward: gradients are floating or complex, not %s", fb_dtype_name((fb_dtype)dst->dtype));
        }
        for (int64_t i = ndim - 1; i >= 0; i--) {
            at += dst->strides[i];
            if (++index[i] < dst->sizes[i]) break;
            at -= index[i] * dst->strides[i];
            index[i] = 0;
        }
    }
    fb_release(s);
    return FB_OK;
}

fb_status fb_i_unfold_backward(fb_frame *f) { return zeros(f, first_dtype(f), ((const struct fb_p_unfold_backward *)f->params)->input_sizes); }
fb_status fb_k_unfold_backward(fb_frame *f)
{
    const struct fb_p_unfold_backward *p = f->params;
    fb_tensor *v;
    fb_status status;

    FB_TRY(fb_fill_data(f->out[0], fb_int(0)));
    if (!(v = view_of_out(f, &fb_op_unfold, &(struct fb_p_unfold){p->dim, p->size, p->step}))) return FB_FAIL;
    status = add_strided(v, f->in[0]);
    fb_release(v);
    return status;
}

/* Gradients of as_strided live on the storage that the input's own geometry spans: they are added there, and read back through it. */
static fb_tensor *span_of(const fb_tensor *like, fb_dtype dtype, int64_t *first)
{
    int64_t last = 0;

    for (int i = 0; i < like->ndim; i++) last += (FB_MAX(like->sizes[i], 1) - 1) * like->strides[i];
    *first = like->offset;
    int64_t count = like->storage->bytes / fb_itemsize((fb_dtype)like->dtype);
    count = FB_MAX(count, like->offset + last + 1);
    return fb_new_zeros(1, &count, dtype, (fb_device){FB_CPU, -1});
}

fb_status fb_i_as_strided_backward(fb_frame *f) { return fb_out_like(f, 0, f->in[1], first_dtype(f)); }
fb_status fb_k_as_strided_backward(fb_frame *f)
{
    const struct fb_p_as_strided_backward *p = f->params;
    int64_t offset;
    fb_tensor *span = span_of(f->in[1], first_dtype(f), &offset), *to = NULL, *from = NULL;
    fb_status status = FB_FAIL;

    if (span && (to = fb_view_of(span, p->size.n, p->size.v, p->stride.v, p->storage_offset == FB_ABSENT ? offset : p->storage_offset)) &&
        add_strided(to, f->in[0]) == FB_OK && (from = fb_view_of(span, f->in[1]->ndim, f->in[1]->sizes, f->in[1]->strides, offset)))
        status = fb_copy_data(f->out[0], from);
    fb_release(from);
    fb_release(to);
    fb_release(span);
    return status;
}

fb_status fb_i_as_strided_like(fb_frame *f)
{
    const struct fb_p_as_strided_like *p = f->params;
    return fb_out(f, 0, first_dtype(f), p->size.n, p->size.v, NULL);
}

fb_status fb_k_as_strided_like(fb_frame *f)
{
    const struct fb_p_as_strided_like *p = f->params;
    int64_t offset;
    fb_tensor *span = span_of(f->in[1], first_dtype(f), &offset), *to = NULL, *from = NULL;
    fb_status status = FB_FAIL;

    if (span && (to = fb_view_of(span, f->in[1]->ndim, f->in[1]->sizes, f->in[1]->strides, offset)) && fb_copy_data(to, f->in[0]) == FB_OK &&
        (from = fb_view_of(span, p->size.n, p->size.v, p->stride.v, p->storage_offset == FB_ABSENT ? offset : p->storage_offset)))
        status = fb_copy_data(f->out[0], from);
    fb_release(from);
    fb_release(to);
    fb_release(span);
    return status;
}

/* ---- lists of gradients, some of them absent -------------------------------------------------------- */

static fb_status put_pieces(fb_frame *f, int64_t d, const int64_t *lengths, int64_t each, bool squeezed)
{
    fb_tensor *o = f->out[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], at = 0;
    bool missing = false;

    for (int i = 0; i < f->n_in; i++) missing |= !f->in[i];
    if (missing) FB_TRY(fb_fill_data(o, fb_int(0)));
    for (int i = 0; i < f->n_in; i++) {
        int64_t length = lengths ? lengths[i] : FB_MIN(each, o->sizes[d] - at);
        int n = 0;
        if (f->in[i]) {
            for (int k = 0; k < o->ndim; k++)
                if (k != d || !squeezed) {
                    sizes[n] = k == d ? length : o->sizes[k];
                    strides[n++] = o->strides[k];
                }
            fb_tensor *v = fb_view_of(o, n, sizes, strides, o->offset + at * o->strides[d]);
            if (!v) return FB_FAIL;
            fb_status status = fb_copy_data(v, f->in[i]);
            fb_release(v);
            FB_TRY(status);
        }
        at += length;
    }
    return FB_OK;
}

static fb_dtype list_dtype(const fb_frame *f, fb_dtype declared)
{
    for (int i = 0; i < f->n_in; i++)
        if (f->in[i]) return (fb_dtype)f->in[i]->dtype;
    return declared;
}

fb_status fb_i_split_backward(fb_frame *f)
{
    const struct fb_p_split_backward *p = f->params;
    return zeros(f, list_dtype(f, p->dtype), p->input_sizes);
}
fb_status fb_k_split_backward(fb_frame *f)
{
    const struct fb_p_split_backward *p = f->params;
    int64_t d;
    FB_TRY(fb_wrap_dim(p->dim, p->input_sizes.n, &d));
    return put_pieces(f, d, NULL, p->split_size, false);
}

fb_status fb_i_split_with_sizes_backward(fb_frame *f)
{
    const struct fb_p_split_with_sizes_backward *p = f->params;
    return zeros(f, list_dtype(f, p->dtype), p->input_sizes);
}
fb_status fb_k_split_with_sizes_backward(fb_frame *f)
{
    const struct fb_p_split_with_sizes_backward *p = f->params;
    int64_t d;
    FB_TRY(fb_wrap_dim(p->dim, p->input_sizes.n, &d));
    if (p->split_sizes.n != f->n_in)
        return fb_fail(FB_ERUNTIME, "split_with_sizes_backward: %d gradients for %lld pieces", f->n_in, (long long)p->split_sizes.n);
    return put_pieces(f, d, p->split_sizes.v, 0, false);
}

fb_status fb_i_unbind_backward(fb_frame *f)
{
    const struct fb_p_unbind_backward *p = f->params;
    return zeros(f, list_dtype(f, p->dtype), p->input_sizes);
}
fb_status fb_k_unbind_backward(fb_frame *f)
{
    const struct fb_p_unbind_backward *p = f->params;
    int64_t d;
    FB_TRY(fb_wrap_dim(p->dim, p->input_sizes.n, &d));
    return put_pieces(f, d, NULL, 1, true);
}
