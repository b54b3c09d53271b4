/* Padding with the tensor's own elements. Where a dimension is padded, a map says which input index each output index takes. */
#include "flambeau/ops.gen.h"
#include "index/index.h"
#include <stdio.h>

typedef long long ll;
enum mode { REFLECT, REPLICATE, CIRCULAR };

static int64_t before(fb_ints pad, int64_t k) { return pad.v[2 * k]; } /* k: dimensions from the last one */
static int64_t after(fb_ints pad, int64_t k) { return pad.v[2 * k + 1]; }

/* ---- checks ---- */

static fb_status check_edges(const fb_tensor *x, fb_ints pad, const int64_t *out, enum mode mode)
{
    const int64_t k = pad.n / 2;
    bool empty = false, positive = false;
    char in_text[96] = "", out_text[96] = "";

    for (int64_t d = x->ndim - k - 1; d < x->ndim; d++) empty |= x->sizes[d] == 0;
    if (empty)
        return fb_fail(FB_ERUNTIME, "Expected %lldD or %lldD (batch mode) tensor with possibly 0 batch size and "
                       "other non-zero dimensions for input, but "
                       "got: %s", (ll)(k + 1), (ll)(k + 2), fb_shape_text(x->ndim, x->sizes));
    for (int64_t i = 0; i < k && mode == REFLECT; i++) {
        const int64_t d = x->ndim - 1 - i;
        if (before(pad, i) >= x->sizes[d] || after(pad, i) >= x->sizes[d])
            return fb_fail(FB_ERUNTIME, "Argument #%lld: Padding size should be less than the corresponding input "
                           "dimension, but got: padding (%lld, "
                           "%lld) at dimension %lld of input %s", (ll)(4 + 2 * i), (ll)before(pad, i), (ll)after(pad, i), (ll)d,
                           fb_shape_text(x->ndim, x->sizes));
    }
    for (int64_t i = k - 1, in_used = 0, out_used = 0; i >= 0; i--) {
        const int64_t d = x->ndim - 1 - i;
        positive |= out[d] >= 1;
        in_used += snprintf(in_text + in_used, sizeof in_text - (size_t)in_used, "%s%c: %lld", in_used ? ", " : "", "WHD"[i], (ll)x->sizes[d]);
        out_used += snprintf(out_text + out_used, sizeof out_text - (size_t)out_used, "%s%c: %lld", out_used ? " " : "", "WHD"[i], (ll)out[d]);
    }
    if (!positive) return fb_fail(FB_ERUNTIME, "input (%s) is too small. Calculated output %s", in_text, out_text);
    return FB_OK;
}

static fb_status check_circular(const fb_tensor *x, fb_ints pad, const int64_t *out)
{
    for (int64_t i = 0; i < pad.n / 2; i++) {
        const int64_t d = x->ndim - 1 - i;
        if (before(pad, i) > x->sizes[d] || after(pad, i) > x->sizes[d])
            return fb_fail(FB_ERUNTIME, "Padding value causes wrapping around more than once.");
        if (out[d] < 0) return fb_fail(FB_ERUNTIME, "Negative padding value is resulting in an empty dimension");
    }
    return FB_OK;
}

fb_status fb_i_pad_edges(fb_frame *f)
{
    const struct fb_p_pad_edges *p = f->params;
    const fb_tensor *x = f->in[0];
    int64_t sizes[FB_MAX_DIMS];

    memcpy(sizes, x->sizes, (size_t)x->ndim * sizeof *sizes);
    for (int64_t i = 0; i < p->padding.n / 2; i++) {
        int64_t *size = &sizes[x->ndim - 1 - i];
        if (__builtin_add_overflow(*size, before(p->padding, i), size) || __builtin_add_overflow(*size, after(p->padding, i), size))
            return fb_fail(FB_ERUNTIME, "pad: the padded size overflows int64");
    }
    FB_TRY(p->mode == CIRCULAR ? check_circular(x, p->padding, sizes) : check_edges(x, p->padding, sizes, (enum mode)p->mode));
    for (int i = 0; i < x->ndim; i++) sizes[i] = FB_MAX(sizes[i], 0);
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim, sizes, NULL);
}

fb_status fb_i_pad_edges_backward(fb_frame *f)
{
    const struct fb_p_pad_edges_backward *p = f->params;
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, p->sizes.n, p->sizes.v, NULL);
}

fb_status fb_c_pad(fb_frame *f)
{
    static const char *const names[3] = {"reflect", "replicate", "circular"};
    static const char *const labels[2] = {"reflection", "replication"};
    const struct fb_p_pad *p = f->params;
    const fb_tensor *x = f->in[0];
    const int64_t n = p->pad.n;
    int mode = 0;

    if (n % 2) return fb_fail(FB_ERUNTIME, "Padding length must be divisible by 2");
    if (n > 2 * x->ndim)
        return fb_fail(FB_ERUNTIME, "Padding length should be less than or equal to two times the input dimension "
                       "but got padding length %lld and input "
                       "of dimension %d", (ll)n, (int)x->ndim);
    if (strcmp(p->mode, "constant") == 0)
        return fb_give(f, 0, fb_constant_pad_nd(f->in[0], p->pad, p->value.kind == FB_S_NONE ? fb_int(0) : p->value));
    if (p->value.kind != FB_S_NONE && fb_scalar_double(p->value) != 0)
        return fb_fail(FB_ERUNTIME, "Padding mode \"%s\" doesn't take in value argument", p->mode);
    while (mode < 3 && strcmp(p->mode, names[mode])) mode++;
    if (n < 2 || n > 6 || (x->ndim != n / 2 + 1 && x->ndim != n / 2 + 2))
        return fb_fail(FB_ENOTIMPL, "Padding size %lld is not supported for %dD input tensor.\nSupported "
                       "combinations for non-constant padding:\n"
                       "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
                       "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
                       "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)", (ll)n, (int)x->ndim);
    if (mode == 3) return fb_fail(FB_ENOTIMPL, "Unrecognised padding mode %s", p->mode);
    if (x->dtype == FB_BOOL && mode != CIRCULAR) return fb_fail(FB_ENOTIMPL, "\"%s_pad%lldd\" not implemented for "
                                                                "'Bool'", labels[mode], (ll)(n / 2));
    return fb_give(f, 0, fb_pad_edges(f->in[0], p->pad, mode));
}

/* ---- kernels ---- */

/* from[j]: the input index that output index j of a dimension takes, times `step`. */
static void fill_map(int64_t *from, int64_t out, int64_t size, int64_t first, int64_t last, enum mode mode, int64_t step)
{
    const int64_t cut = FB_MAX(-first, 0), kept = FB_MAX(size - cut - FB_MAX(-last, 0), 1); /* circular: of what is left after cutting */

    for (int64_t j = 0; j < out; j++) {
        int64_t i = j - first;
        if (mode == REFLECT)
            i = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
        else if (mode == REPLICATE)
            i = i < 0 ? 0 : i >= size ? size - 1 : i;
        else
            i = (j - FB_MAX(first, 0) + kept) % kept + cut;
        from[j] = i * step;
    }
}

/* The padded side as rows of its last dimension; row r lies at element base[r] of the other side, whose last dimension has the
 * map `last`, which counts upwards in [plain, plain_end). */
typedef struct edges { int64_t rows, width, plain, plain_end; const int64_t *base, *last; } edges;

static fb_status open_edges(fb_frame *f, edges *e, int64_t ndim, const int64_t *small, const int64_t *large, fb_ints pad, enum mode mode)
{
    int64_t *maps[FB_MAX_DIMS], total = 0, step = 1, index[FB_MAX_DIMS] = {0};

    e->width = large[ndim - 1];
    e->rows = 1;
    for (int64_t d = 0; d < ndim; d++) total += large[d];
    for (int64_t d = 0; d < ndim - 1; d++) e->rows *= large[d];
    int64_t *room = fb_scratch(f, (total + e->rows) * (int64_t)sizeof *room), *base = room;
    if (!room) return FB_FAIL;
    room += e->rows;
    for (int64_t d = ndim - 1; d >= 0; d--) {
        const int64_t k = ndim - 1 - d;
        maps[d] = room;
        room += large[d];
        fill_map(maps[d], large[d], small[d], k < pad.n / 2 ? before(pad, k) : 0, k < pad.n / 2 ? after(pad, k) : 0, mode, step);
        step *= small[d];
    }
    for (int64_t r = 0; r < e->rows; r++) {
        base[r] = 0;
        for (int64_t d = 0; d < ndim - 1; d++) base[r] += maps[d][index[d]];
        for (int64_t d = ndim - 2; d >= 0 && ++index[d] == large[d]; d--) index[d] = 0;
    }
    e->base = base;
    e->last = maps[ndim - 1];
    e->plain = FB_MIN(FB_MAX(pad.n ? before(pad, 0) : 0, 0), e->width);
    e->plain_end = FB_MIN(e->plain + 1, e->width);
    while (e->plain_end < e->width && e->last[e->plain_end] == e->last[e->plain_end - 1] + 1) e->plain_end++;
    return FB_OK;
}

typedef struct pad_job { edges e; const void *from; void *to; int64_t item; } pad_job;

static void pad_rows(void *ctx, int64_t begin, int64_t end)
{
    const pad_job *j = ctx;
    for (int64_t r = begin; r < end; r++)
        FB_BY_SIZE(j->item, T, {
            const T *restrict from = (const T *)j->from + j->e.base[r];
            T *restrict to = (T *)j->to + r * j->e.width;
            const int64_t *last = j->e.last, a = j->e.plain, b = j->e.plain_end;
            for (int64_t i = 0; i < a; i++) to[i] = from[last[i]];
            if (b > a) memcpy(to + a, from + last[a], (size_t)(b - a) * sizeof *to);
            for (int64_t i = b; i < j->e.width; i++) to[i] = from[last[i]];
        })
}

fb_status fb_k_pad_edges(fb_frame *f)
{
    const struct fb_p_pad_edges *p = f->params;
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE), *out = f->out[0];
    pad_job j = {.item = fb_itemsize((fb_dtype)out->dtype)};
    fb_status status = x ? FB_OK : FB_FAIL;

    if (x && out->numel && (status = open_edges(f, &j.e, x->ndim, x->sizes, out->sizes, p->padding, (enum mode)p->mode)) == FB_OK) {
        j.from = fb_ptr(x);
        j.to = fb_ptr(out);
        fb_parallel_range(j.e.rows, 8 + 0.2 * (double)j.e.width, pad_rows, &j);
    }
    fb_release(x);
    return status;
}

fb_status fb_k_pad_edges_backward(fb_frame *f)
{
    const struct fb_p_pad_edges_backward *p = f->params;
    fb_tensor *g = fb_contiguous_as(f->in[0], FB_NONE), *out = f->out[0];
    const int64_t c = fb_is_complex(out->dtype) ? 2 : 1;
    edges e;
    fb_status status = FB_FAIL;

    if (!g) return FB_FAIL;
    if (out->numel) memset(fb_ptr(out), 0, (size_t)(out->numel * fb_itemsize((fb_dtype)out->dtype)));
    if (g->numel && open_edges(f, &e, g->ndim, out->sizes, g->sizes, p->padding, (enum mode)p->mode) != FB_OK) goto failed;
    if (g->numel)
        FB_BY_TYPE(out->dtype, T, {
            for (int64_t r = 0; r < e.rows; r++) {
                T *to = (T *)fb_ptr(out) + e.base[r] * c;
                const T *from = (const T *)fb_ptr(g) + r * e.width * c;
                for (int64_t i = 0; i < e.width; i++)
                    for (int64_t k = 0; k < c; k++) to[e.last[i] * c + k] = (T)(to[e.last[i] * c + k] + from[i * c + k]);
            }
        })
    status = FB_OK;
failed:
    fb_release(g);
    return status;
}
