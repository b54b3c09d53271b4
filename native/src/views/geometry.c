/* Views: operators whose result is the input's memory under other sizes and strides. Each is an infer function alone. */
#include "params.gen.h"
#include "runtime/frame.h"

static fb_status give(fb_frame *f, int i, int64_t ndim, const int64_t *sizes, const int64_t *strides, int64_t offset)
{
    return (f->out[i] = fb_view_of(f->in[0], ndim, sizes, strides, offset)) ? FB_OK : FB_FAIL;
}

/* Strides under which t's memory reads as `sizes` (same number of elements), or false where that needs a copy: each
 * run of new dimensions must lie in a run of old ones that is contiguous within itself. */
static bool view_strides(const fb_tensor *t, int64_t ndim, const int64_t *sizes, int64_t *strides)
{
    int64_t old = t->ndim - 1, have, base, need;

    if (t->numel == 0) {
        int64_t step = 1;
        for (int64_t i = ndim - 1; i >= 0; i--, step *= FB_MAX(sizes[i + 1], 1)) {
            strides[i] = step;
            if (i == 0) break;
        }
        return true;
    }
    if (t->ndim == 0) {
        for (int64_t i = 0; i < ndim; i++) strides[i] = 1;
        return true;
    }
    int64_t view = ndim - 1;
    have = need = 1;
    base = t->strides[old];
    for (; old >= 0; old--) {
        have *= t->sizes[old];
        if (old > 0 && (t->sizes[old - 1] == 1 || t->strides[old - 1] == have * base)) continue; /* the run goes on */
        while (view >= 0 && (need < have || sizes[view] == 1)) {
            strides[view] = need * base;
            need *= sizes[view];
            view--;
        }
        if (need != have) return false;
        if (old > 0) {
            base = t->strides[old - 1];
            have = need = 1;
        }
    }
    return view == -1;
}

/* sizes with one -1 replaced by what numel leaves for it. */
static fb_status resolve_sizes(fb_ints given, int64_t numel, int64_t *sizes)
{
    int64_t known = 1, infer = -1;

    if (given.n > FB_MAX_DIMS) return fb_fail(FB_EVALUE, "a tensor has at most %d dimensions, not %lld", FB_MAX_DIMS, (long long)given.n);
    for (int64_t i = 0; i < given.n; i++) {
        sizes[i] = given.v[i];
        if (sizes[i] == -1) {
            if (infer >= 0) return fb_fail(FB_ERUNTIME, "only one dimension can be inferred");
            infer = i;
        } else if (sizes[i] < 0) {
            return fb_fail(FB_ERUNTIME, "invalid shape dimension %lld", (long long)sizes[i]);
        } else if (__builtin_mul_overflow(known, sizes[i], &known)) {
            return fb_fail(FB_ERUNTIME, "shape '%s' is invalid for input of size %lld", fb_shape_text(given.n, given.v), (long long)numel);
        }
    }
    if (infer >= 0 && known == 0)
        return fb_fail(FB_ERUNTIME, "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be any "
                                    "value and is ambiguous", fb_shape_text(given.n, given.v));
    if (infer >= 0) sizes[infer] = numel / known;
    if ((infer >= 0 ? known * sizes[infer] : known) != numel)
        return fb_fail(FB_ERUNTIME, "shape '%s' is invalid for input of size %lld", fb_shape_text(given.n, given.v), (long long)numel);
    return FB_OK;
}

fb_status fb_v_view(fb_frame *f)
{
    const struct fb_p_view *p = f->params;
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS + 1];

    FB_TRY(resolve_sizes(p->size, f->in[0]->numel, sizes));
    if (!view_strides(f->in[0], p->size.n, sizes, strides))
        return fb_fail(FB_ERUNTIME, "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                                    "two contiguous subspaces). Use .reshape(...) instead.");
    return give(f, 0, p->size.n, sizes, strides, f->in[0]->offset);
}

/* reshape: the view where there is one, else a view of a contiguous copy. Composite, so that each part has its history. */
fb_tensor *fb_contiguous(fb_tensor *self), *fb_view(fb_tensor *self, fb_ints size);
fb_status fb_c_reshape(fb_frame *f)
{
    const struct fb_p_reshape *p = f->params;
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS + 1];
    fb_ints resolved = {p->shape.n, sizes};
    fb_tensor *c;

    FB_TRY(resolve_sizes(p->shape, f->in[0]->numel, sizes));
    if (view_strides(f->in[0], p->shape.n, sizes, strides)) {
        f->out[0] = fb_view(f->in[0], resolved);
    } else {
        if (!(c = fb_contiguous(f->in[0]))) return FB_FAIL;
        f->out[0] = fb_view(c, resolved);
        fb_release(c);
    }
    return f->out[0] ? FB_OK : FB_FAIL;
}

fb_status fb_v_permute(fb_frame *f)
{
    const struct fb_p_permute *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], d;
    uint64_t seen = 0;

    if (p->dims.n != t->ndim)
        return fb_fail(FB_ERUNTIME, "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                                    "ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %lld", t->ndim, (long long)p->dims.n);
    for (int64_t i = 0; i < p->dims.n; i++) {
        FB_TRY(fb_wrap_dim(p->dims.v[i], t->ndim, &d));
        if (seen >> d & 1) return fb_fail(FB_ERUNTIME, "permute(): duplicate dims are not allowed.");
        seen |= 1ull << d;
        sizes[i] = t->sizes[d];
        strides[i] = t->strides[d];
    }
    return give(f, 0, t->ndim, sizes, strides, t->offset);
}

fb_status fb_v_permute_inverse(fb_frame *f) /* of permute(dims): the derivative's view */
{
    const struct fb_p_permute_inverse *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], d;

    if (p->dims.n != t->ndim) return fb_fail(FB_ERUNTIME, "permute_inverse: %lld dims for %d dimensions", (long long)p->dims.n, t->ndim);
    for (int64_t i = 0; i < p->dims.n; i++) {
        FB_TRY(fb_wrap_dim(p->dims.v[i], t->ndim, &d));
        sizes[d] = t->sizes[i];
        strides[d] = t->strides[i];
    }
    return give(f, 0, t->ndim, sizes, strides, t->offset);
}

static fb_status swap(fb_frame *f, int64_t dim0, int64_t dim1)
{
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], a, b, s;

    FB_TRY(fb_wrap_dim(dim0, t->ndim, &a));
    FB_TRY(fb_wrap_dim(dim1, t->ndim, &b));
    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = t->sizes[i];
        strides[i] = t->strides[i];
    }
    if (t->ndim) {
        s = sizes[a], sizes[a] = sizes[b], sizes[b] = s;
        s = strides[a], strides[a] = strides[b], strides[b] = s;
    }
    return give(f, 0, t->ndim, sizes, strides, t->offset);
}

fb_status fb_v_transpose(fb_frame *f)
{
    const struct fb_p_transpose *p = f->params;
    return swap(f, p->dim0, p->dim1);
}

fb_status fb_v_t(fb_frame *f)
{
    if (f->in[0]->ndim > 2)
        return fb_fail(FB_ERUNTIME, "t() expects a tensor with <= 2 dimensions, but self is %dD", f->in[0]->ndim);
    return f->in[0]->ndim < 2 ? swap(f, 0, 0) : swap(f, 0, 1);
}

fb_status fb_v_expand(fb_frame *f)
{
    const struct fb_p_expand *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], lead = p->size.n - t->ndim, count;

    if (lead < 0 || p->size.n > FB_MAX_DIMS)
        return fb_fail(FB_ERUNTIME, "expand(%s, size=%s): the number of sizes provided (%lld) must be greater or equal to the number of "
                                    "dimensions in the tensor (%d)", fb_shape_text(t->ndim, t->sizes), fb_shape_text(p->size.n, p->size.v),
                       (long long)p->size.n, t->ndim);
    for (int64_t i = 0; i < p->size.n; i++) {
        int64_t want = p->size.v[i], have = i < lead ? 1 : t->sizes[i - lead];
        if (want == -1) {
            if (i < lead)
                return fb_fail(FB_ERUNTIME, "expand(%s, size=%s): the expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                                            "dimension %lld", fb_shape_text(t->ndim, t->sizes), fb_shape_text(p->size.n, p->size.v), (long long)i);
            want = have;
        }
        if (want < 0) return fb_fail(FB_ERUNTIME, "expand: size %lld at dimension %lld is negative", (long long)want, (long long)i);
        if (have != want && have != 1)
            return fb_fail(FB_ERUNTIME, "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton dimension "
                                        "%lld.  Target sizes: %s.  Tensor sizes: %s", (long long)want, (long long)have, (long long)i,
                           fb_shape_text(p->size.n, p->size.v), fb_shape_text(t->ndim, t->sizes));
        sizes[i] = want;
        strides[i] = have == want && i >= lead ? t->strides[i - lead] : 0;
        if (i < lead && want == 1) strides[i] = 0;
    }
    /* A new leading dimension of size 1 gets the stride that a row-major tensor would have there. */
    for (int64_t i = lead - 1; i >= 0; i--)
        if (sizes[i] == 1) strides[i] = i + 1 < p->size.n ? sizes[i + 1] * strides[i + 1] : 1;
    FB_TRY(fb_count(p->size.n, sizes, &count));
    return give(f, 0, p->size.n, sizes, strides, t->offset);
}

fb_status fb_v_as_strided(fb_frame *f)
{
    const struct fb_p_as_strided *p = f->params;

    if (p->size.n != p->stride.n)
        return fb_fail(FB_ERUNTIME, "mismatch in length of strides and shape: size=%s, stride=%s", fb_shape_text(p->size.n, p->size.v),
                       fb_shape_text(p->stride.n, p->stride.v));
    return give(f, 0, p->size.n, p->size.v, p->stride.v, p->storage_offset == FB_ABSENT ? f->in[0]->offset : p->storage_offset);
}

fb_status fb_v_diagonal(fb_frame *f)
{
    const struct fb_p_diagonal *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], a, b, n = 0, length, offset = t->offset;

    FB_TRY(fb_wrap_dim(p->dim1, t->ndim, &a));
    FB_TRY(fb_wrap_dim(p->dim2, t->ndim, &b));
    if (a == b || t->ndim < 2)
        return fb_fail(FB_ERUNTIME, "diagonal dimensions cannot be identical %lld, %lld", (long long)p->dim1, (long long)p->dim2);
    length = p->offset >= 0 ? FB_MIN(t->sizes[a], t->sizes[b] - FB_MIN(p->offset, t->sizes[b]))
                            : FB_MIN(t->sizes[a] + FB_MAX(p->offset, -t->sizes[a]), t->sizes[b]);
    length = FB_MAX(length, 0);
    if (length) offset += p->offset >= 0 ? p->offset * t->strides[b] : -p->offset * t->strides[a];
    for (int i = 0; i < t->ndim; i++)
        if (i != a && i != b) {
            sizes[n] = t->sizes[i];
            strides[n++] = t->strides[i];
        }
    sizes[n] = length;
    strides[n++] = t->strides[a] + t->strides[b];
    return give(f, 0, n, sizes, strides, offset);
}

fb_status fb_v_unfold(fb_frame *f)
{
    const struct fb_p_unfold *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], d, have;

    FB_TRY(fb_wrap_dim(p->dimension, t->ndim, &d));
    have = t->ndim ? t->sizes[d] : 1;
    if (p->size < 0) return fb_fail(FB_ERUNTIME, "size is %lld but must be >= 0", (long long)p->size);
    if (p->size > have)
        return fb_fail(FB_ERUNTIME, "maximum size for tensor at dimension %lld is %lld but size is %lld", (long long)d, (long long)have,
                       (long long)p->size);
    if (p->step <= 0) return fb_fail(FB_ERUNTIME, "step is %lld but must be > 0", (long long)p->step);
    if (t->ndim + 1 > FB_MAX_DIMS) return fb_fail(FB_EVALUE, "unfold: more than %d dimensions", FB_MAX_DIMS);
    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = t->sizes[i];
        strides[i] = t->strides[i];
    }
    sizes[t->ndim] = p->size;
    strides[t->ndim] = t->ndim ? t->strides[d] : 1;
    if (t->ndim) {
        sizes[d] = (have - p->size) / p->step + 1;
        strides[d] *= p->step;
    }
    return give(f, 0, t->ndim + 1, sizes, strides, t->offset);
}

/* ---- one dimension at a time -------------------------------------------------------------------- */

fb_status fb_v_select(fb_frame *f)
{
    const struct fb_p_select *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], d, i = p->index;

    if (t->ndim == 0) return fb_fail(FB_EINDEX, "select() cannot be applied to a 0-dim tensor.");
    FB_TRY(fb_wrap_dim(p->dim, t->ndim, &d));
    if (i < -t->sizes[d] || i >= t->sizes[d])
        return fb_fail(FB_EINDEX, "select(): index %lld out of range for tensor of size %s at dimension %lld", (long long)i,
                       fb_shape_text(t->ndim, t->sizes), (long long)p->dim);
    if (i < 0) i += t->sizes[d];
    for (int k = 0, n = 0; k < t->ndim; k++)
        if (k != d) {
            sizes[n] = t->sizes[k];
            strides[n++] = t->strides[k];
        }
    return give(f, 0, t->ndim - 1, sizes, strides, t->offset + i * t->strides[d]);
}

/* Python's clamping of a slice's ends. */
static int64_t clamp_end(int64_t v, int64_t n)
{
    if (v < 0) v += n;
    return FB_MAX(0, FB_MIN(v, n));
}

fb_status fb_v_slice(fb_frame *f)
{
    const struct fb_p_slice *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], d, start, end;

    if (t->ndim == 0) return fb_fail(FB_ERUNTIME, "slice() cannot be applied to a 0-dim tensor.");
    FB_TRY(fb_wrap_dim(p->dim, t->ndim, &d));
    if (p->step <= 0) return fb_fail(FB_ERUNTIME, "slice step must be positive");
    start = p->start == FB_ABSENT ? 0 : clamp_end(p->start, t->sizes[d]);
    end = p->end == FB_ABSENT ? t->sizes[d] : clamp_end(p->end, t->sizes[d]);
    end = FB_MAX(end, start);
    for (int k = 0; k < t->ndim; k++) {
        sizes[k] = t->sizes[k];
        strides[k] = t->strides[k];
    }
    sizes[d] = (end - start) / p->step + ((end - start) % p->step != 0);
    if (sizes[d] > 1 || p->step < INT64_MAX / FB_MAX(strides[d], 1)) strides[d] *= p->step;
    return give(f, 0, t->ndim, sizes, strides, t->offset + start * t->strides[d]);
}

fb_status fb_v_unsqueeze(fb_frame *f)
{
    const struct fb_p_unsqueeze *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], d;

    if (t->ndim >= FB_MAX_DIMS) return fb_fail(FB_EVALUE, "unsqueeze: more than %d dimensions", FB_MAX_DIMS);
    FB_TRY(fb_wrap_dim(p->dim, t->ndim + 1, &d));
    for (int i = 0, n = 0; i <= t->ndim; i++) {
        sizes[i] = i == d ? 1 : t->sizes[n];
        strides[i] = i == d ? (n < t->ndim ? t->sizes[n] * t->strides[n] : 1) : t->strides[n];
        n += i != d;
    }
    return give(f, 0, t->ndim + 1, sizes, strides, t->offset);
}

fb_status fb_v_squeeze(fb_frame *f)
{
    const struct fb_p_squeeze *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS];
    uint64_t mask;
    int n = 0;

    FB_TRY(fb_dim_mask(p->dim, t->ndim, false, &mask));
    for (int i = 0; i < t->ndim; i++)
        if (!(mask >> i & 1) || t->sizes[i] != 1) {
            sizes[n] = t->sizes[i];
            strides[n++] = t->strides[i];
        }
    return give(f, 0, n, sizes, strides, t->offset);
}

/* ---- several views of one tensor ----------------------------------------------------------------- */

static fb_status pieces(fb_frame *f, int64_t n, int64_t d, const int64_t *lengths, int64_t each)
{
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], offset = t->offset, left = t->sizes[d];

    if (n > INT32_MAX) return fb_fail(FB_EVALUE, "split: %lld pieces are too many", (long long)n);
    memcpy(sizes, t->sizes, (size_t)t->ndim * sizeof *sizes);
    FB_TRY(fb_out_count(f, (int32_t)n));
    for (int32_t i = 0; i < n; i++) {
        sizes[d] = lengths ? lengths[i] : FB_MIN(each, left);
        FB_TRY(give(f, i, t->ndim, sizes, t->strides, offset));
        f->out[i]->flags |= FB_T_MULTI_VIEW;
        offset += sizes[d] * t->strides[d];
        left -= sizes[d];
    }
    return FB_OK;
}

fb_status fb_v_split(fb_frame *f)
{
    const struct fb_p_split *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t d;

    if (t->ndim == 0) return fb_fail(FB_ERUNTIME, "split expects at least a 1-dimensional tensor");
    FB_TRY(fb_wrap_dim(p->dim, t->ndim, &d));
    if (p->split_size < 0) return fb_fail(FB_ERUNTIME, "split expects split_size be non-negative, but got split_size=%lld", (long long)p->split_size);
    if (p->split_size == 0 && t->sizes[d] != 0)
        return fb_fail(FB_ERUNTIME, "split_size can only be 0 if dimension size is 0, but got dimension size of %lld", (long long)t->sizes[d]);
    return pieces(f, p->split_size ? FB_MAX((t->sizes[d] - 1) / p->split_size + 1, 1) : 1, d, NULL, p->split_size);
}

fb_status fb_v_split_with_sizes(fb_frame *f)
{
    const struct fb_p_split_with_sizes *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t d, sum = 0;

    if (t->ndim == 0) return fb_fail(FB_ERUNTIME, "split expects at least a 1-dimensional tensor");
    FB_TRY(fb_wrap_dim(p->dim, t->ndim, &d));
    for (int64_t i = 0; i < p->split_sizes.n; i++) {
        if (p->split_sizes.v[i] < 0)
            return fb_fail(FB_ERUNTIME, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
                           fb_shape_text(p->split_sizes.n, p->split_sizes.v));
        if (__builtin_add_overflow(sum, p->split_sizes.v[i], &sum)) sum = INT64_MAX;
    }
    if (sum != t->sizes[d])
        return fb_fail(FB_ERUNTIME, "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension %lld), but got "
                                    "split_sizes=%s", (long long)t->sizes[d], (long long)d, fb_shape_text(p->split_sizes.n, p->split_sizes.v));
    return pieces(f, p->split_sizes.n, d, p->split_sizes.v, 0);
}

fb_status fb_v_unbind(fb_frame *f)
{
    const struct fb_p_unbind *p = f->params;
    const fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS], d;

    if (t->ndim == 0) return fb_fail(FB_EINDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)p->dim);
    FB_TRY(fb_wrap_dim(p->dim, t->ndim, &d));
    if (t->sizes[d] > INT32_MAX) return fb_fail(FB_EVALUE, "unbind: %lld pieces are too many", (long long)t->sizes[d]);
    for (int k = 0, n = 0; k < t->ndim; k++)
        if (k != d) {
            sizes[n] = t->sizes[k];
            strides[n++] = t->strides[k];
        }
    FB_TRY(fb_out_count(f, (int32_t)t->sizes[d]));
    for (int32_t i = 0; i < f->n_out; i++) {
        FB_TRY(give(f, i, t->ndim - 1, sizes, strides, t->offset + i * t->strides[d]));
        f->out[i]->flags |= FB_T_MULTI_VIEW;
    }
    return FB_OK;
}

/* ---- complex numbers as pairs ---------------------------------------------------------------------- */

fb_status fb_v_view_as_real(fb_frame *f)
{
    fb_tensor *t = f->in[0];
    int64_t sizes[FB_MAX_DIMS + 1], strides[FB_MAX_DIMS + 1];

    if (!fb_is_complex(t->dtype)) return fb_fail(FB_ERUNTIME, "view_as_real is only supported for complex tensors");
    if (t->ndim >= FB_MAX_DIMS) return fb_fail(FB_EVALUE, "view_as_real: more than %d dimensions", FB_MAX_DIMS);
    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = t->sizes[i];
        strides[i] = 2 * t->strides[i];
    }
    sizes[t->ndim] = 2;
    strides[t->ndim] = 1;
    f->out[0] = fb_reinterpret(t, fb_real_of((fb_dtype)t->dtype), t->ndim + 1, sizes, strides, 2 * t->offset);
    return f->out[0] ? FB_OK : FB_FAIL;
}

fb_status fb_v_view_as_complex(fb_frame *f)
{
    fb_tensor *t = f->in[0];
    int64_t strides[FB_MAX_DIMS];

    if (t->dtype != FB_F32 && t->dtype != FB_F64)
        return fb_fail(FB_ERUNTIME, "view_as_complex is only supported for floating point tensors, but got a tensor of scalar type: %s",
                       fb_dtype_label((fb_dtype)t->dtype));
    if (t->ndim == 0) return fb_fail(FB_ERUNTIME, "Input tensor must have one or more dimensions");
    if (t->sizes[t->ndim - 1] != 2) return fb_fail(FB_ERUNTIME, "Tensor must have a last dimension of size 2");
    if (t->strides[t->ndim - 1] != 1) return fb_fail(FB_ERUNTIME, "Tensor must have a last dimension with stride 1");
    for (int i = 0; i < t->ndim - 1; i++) {
        if (t->strides[i] % 2 && t->sizes[i] > 1)
            return fb_fail(FB_ERUNTIME, "Tensor must have a stride divisible by 2 for all but last dimension");
        strides[i] = t->strides[i] / 2;
    }
    if (t->offset % 2) return fb_fail(FB_ERUNTIME, "Tensor must have a storage_offset divisible by 2");
    f->out[0] = fb_reinterpret(t, fb_complex_of((fb_dtype)t->dtype), t->ndim - 1, t->sizes, strides, t->offset / 2);
    return f->out[0] ? FB_OK : FB_FAIL;
}

fb_status fb_v_detach(fb_frame *f) { return (f->out[0] = fb_alias(f->in[0])) ? FB_OK : FB_FAIL; }

fb_status fb_v_alias(fb_frame *f) { return give(f, 0, f->in[0]->ndim, f->in[0]->sizes, f->in[0]->strides, f->in[0]->offset); }
