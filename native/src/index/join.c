/* cat and stack. */
#include "flambeau/ops.gen.h"
#include "index/index.h"

static bool legacy_empty(const fb_tensor *t) { return t->ndim == 1 && t->sizes[0] == 0; } /* skipped whatever the others' shape */

static fb_status check_cast(const fb_frame *f, fb_dtype dtype)
{
    if ((f->flags & FB_F_OUT_GIVEN) && f->out[0] && !fb_can_cast(dtype, (fb_dtype)f->out[0]->dtype))
        return fb_fail(FB_ETYPE, "torch.cat(): input types can't be cast to the desired output type %s",
                       fb_dtype_label((fb_dtype)f->out[0]->dtype));
    return FB_OK;
}

/* cat(tensors, dim): without the tensors that PyTorch skips, and with the sizes that the derivative cuts at. */
fb_status fb_c_cat(fb_frame *f)
{
    const struct fb_p_cat *p = f->params;
    fb_tensor *few[16], **parts = few;
    int64_t few_sizes[16], *sizes = few_sizes, n = 0, d = 0;
    void *block = NULL;
    const fb_tensor *first = NULL;
    fb_status status;

    if (f->n_in == 0) return fb_fail(FB_EVALUE, "expected a non-empty list of Tensors");
    if (f->n_in > 16) {
        if (!(block = fb_alloc(f->n_in * 16))) return FB_FAIL;
        parts = block;
        sizes = (int64_t *)block + f->n_in;
    }
    for (int i = 0; i < f->n_in; i++) {
        if (!f->in[i]) {
            fb_free(block);
            return fb_fail(FB_ETYPE, "cat(): tensor %d is missing", i);
        }
        if (f->in[i]->ndim == 0) {
            fb_free(block);
            return fb_fail(FB_ERUNTIME, "zero-dimensional tensor (at position %d) cannot be concatenated", i);
        }
        if (!legacy_empty(f->in[i]) && !first) first = f->in[i];
    }
    if (!first) first = f->in[0];
    if (fb_wrap_dim(p->dim, first->ndim, &d) != FB_OK) {
        fb_free(block);
        return FB_FAIL;
    }
    for (int i = 0; i < f->n_in; i++) {
        if (legacy_empty(f->in[i]) && first->ndim != 1) continue;
        sizes[n] = d < f->in[i]->ndim ? f->in[i]->sizes[d] : 0;
        parts[n++] = f->in[i];
    }
    const fb_ints pieces = {n, sizes};
    fb_dtype dtype = fb_result_type(f->n_in, f->in);
    if (dtype == FB_NONE || check_cast(f, dtype) != FB_OK)
        status = FB_FAIL;
    else if (f->flags & FB_F_OUT_GIVEN)
        status = (f->out[0] = fb_cat_parts_out(n, parts, pieces, d, dtype, f->out[0])) ? FB_OK : FB_FAIL;
    else
        status = (f->out[0] = fb_cat_parts(n, parts, pieces, d, dtype)) ? FB_OK : FB_FAIL;
    fb_free(block);
    return status;
}

fb_status fb_i_cat_parts(fb_frame *f)
{
    const struct fb_p_cat_parts *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], total = 0;

    memcpy(sizes, t->sizes, (size_t)t->ndim * sizeof *sizes);
    for (int i = 0; i < f->n_in; i++) {
        if (f->in[i]->ndim != t->ndim)
            return fb_fail(FB_ERUNTIME, "Tensors must have same number of dimensions: got %d and %d", t->ndim, f->in[i]->ndim);
        for (int k = 0; k < t->ndim; k++)
            if (k != p->dim && f->in[i]->sizes[k] != t->sizes[k])
                return fb_fail(FB_ERUNTIME, "Sizes of tensors must match except in dimension %lld. Expected size %lld but got size %lld for tensor "
                                            "number %d in the list.", (long long)p->dim, (long long)t->sizes[k], (long long)f->in[i]->sizes[k], i);
        if (__builtin_add_overflow(total, f->in[i]->sizes[p->dim], &total)) return fb_fail(FB_ERUNTIME, "cat(): the sizes add up beyond int64");
    }
    sizes[p->dim] = total;
    return fb_out(f, 0, p->dtype, t->ndim, sizes, NULL);
}

/* Copies each input into its place: blocks of memory where it can, else through a view of the output. */
static fb_status join(fb_frame *f, int64_t d, bool stacked)
{
    fb_tensor *o = f->out[0];
    int64_t outer, size, inner, at = 0, item = fb_itemsize((fb_dtype)o->dtype), sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS];

    fb_three_parts(o, d, &outer, &size, &inner);
    for (int i = 0; i < f->n_in; i++) {
        fb_tensor *t = f->in[i];
        int64_t length = stacked ? 1 : t->sizes[d], bytes = length * inner * item;
        if (t->numel == 0) continue;
        if (t->dtype == o->dtype && fb_contig(t) && t->numel < 65536) {
            char *to = (char *)fb_ptr(o) + at * inner * item;
            const char *from = fb_ptr(t);
            for (int64_t a = 0; a < outer; a++) memcpy(to + a * size * inner * item, from + a * bytes, (size_t)bytes);
        } else {
            int n = 0;
            for (int k = 0; k < o->ndim; k++)
                if (k != d || !stacked) {
                    sizes[n] = k == d ? length : o->sizes[k];
                    strides[n++] = o->strides[k];
                }
            fb_tensor *v = fb_view_of(o, n, sizes, strides, o->offset + at * o->strides[d]);
            if (!v) return FB_FAIL;
            fb_status status = fb_copy_data(v, t);
            fb_release(v);
            FB_TRY(status);
        }
        at += length;
    }
    return FB_OK;
}

fb_status fb_k_cat_parts(fb_frame *f) { return join(f, ((const struct fb_p_cat_parts *)f->params)->dim, false); }

fb_status fb_i_stack(fb_frame *f)
{
    const struct fb_p_stack *p = f->params;
    const fb_tensor *t = f->n_in ? f->in[0] : NULL;
    int64_t sizes[FB_MAX_DIMS], d;
    fb_dtype dtype;

    if (!t) return fb_fail(FB_ERUNTIME, "stack expects a non-empty TensorList");
    if (t->ndim >= FB_MAX_DIMS) return fb_fail(FB_EVALUE, "stack: more than %d dimensions", FB_MAX_DIMS);
    FB_TRY(fb_wrap_dim(p->dim, t->ndim + 1, &d));
    for (int i = 1; i < f->n_in; i++)
        if (!f->in[i] || f->in[i]->ndim != t->ndim || memcmp(f->in[i]->sizes, t->sizes, (size_t)t->ndim * sizeof *sizes))
            return fb_fail(FB_ERUNTIME, "stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d",
                           fb_shape_text(t->ndim, t->sizes), f->in[i] ? fb_shape_text(f->in[i]->ndim, f->in[i]->sizes) : "nothing", i);
    for (int i = 0, n = 0; i <= t->ndim; i++) sizes[i] = i == d ? f->n_in : t->sizes[n++];
    if ((dtype = fb_result_type(f->n_in, f->in)) == FB_NONE) return FB_FAIL;
    FB_TRY(check_cast(f, dtype));
    return fb_out(f, 0, dtype, t->ndim + 1, sizes, NULL);
}

fb_status fb_k_stack(fb_frame *f)
{
    const struct fb_p_stack *p = f->params;
    int64_t d;

    FB_TRY(fb_wrap_dim(p->dim, f->out[0]->ndim, &d));
    return join(f, d, true);
}
