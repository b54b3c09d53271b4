#include "random/order.h"
#include "kernels/elementwise.h"

void fb_random_fill_base(fb_generator *, const fb_draw *, int, void *, int64_t);
void fb_random_fill_avx2(fb_generator *, const fb_draw *, int, void *, int64_t);
void fb_random_fill_avx512(fb_generator *, const fb_draw *, int, void *, int64_t);
void fb_random_below_base(fb_generator *, int, const void *, uint8_t *, int64_t);
void fb_random_below_avx2(fb_generator *, int, const void *, uint8_t *, int64_t);
void fb_random_below_avx512(fb_generator *, int, const void *, uint8_t *, int64_t);

fb_random_fill_fn fb_random_filler(void)
{
    static const fb_random_fill_fn fill[FB_N_ISA] = FB_ISA_LIST(fb_random_fill);
    return fill[fb_isa()];
}

fb_random_below_fn fb_random_belower(void)
{
    static const fb_random_below_fn below[FB_N_ISA] = FB_ISA_LIST(fb_random_below);
    return below[fb_isa()];
}

void fb_memory_order(const fb_tensor *t, int order[FB_MAX_DIMS])
{
    for (int d = 0; d < t->ndim; d++) {
        int at = d;
        for (; at > 0 && t->strides[order[at - 1]] < t->strides[d]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
}

fb_tensor *fb_reordered(fb_tensor *t, const int order[FB_MAX_DIMS])
{
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS];

    for (int i = 0; i < t->ndim; i++) {
        sizes[i] = t->sizes[order[i]];
        strides[i] = t->strides[order[i]];
    }
    return fb_view_of(t, t->ndim, sizes, strides, t->offset);
}

void fb_packed_like(const fb_tensor *t, int64_t strides[FB_MAX_DIMS])
{
    int order[FB_MAX_DIMS];
    int64_t step = 1;

    fb_memory_order(t, order);
    for (int i = t->ndim - 1; i >= 0; i--) {
        strides[order[i]] = step;
        step *= FB_MAX(t->sizes[order[i]], 1);
    }
}

fb_status fb_write_in_order(fb_tensor *t, const int order[FB_MAX_DIMS], fb_writer write, void *ctx)
{
    fb_tensor *view, *packed = NULL;
    fb_status status = FB_FAIL;

    if (t->numel == 0) return FB_OK;
    if (fb_overlaps_itself(t))
        return fb_fail(FB_ERUNTIME,
                       "unsupported operation: more than one element of the written-to tensor refers to a single "
                                    "memory location. Please clone() the tensor before performing the operation.");
    if (fb_contig(t)) {
        write(ctx, t->dtype, fb_ptr(t), t->numel);
        return FB_OK;
    }
    if (!(view = fb_reordered(t, order))) return FB_FAIL;
    if (fb_contig(view)) { /* dense, with its dimensions exchanged */
        write(ctx, t->dtype, fb_ptr(view), t->numel);
        status = FB_OK;
    } else if ((packed = fb_new(view->ndim, view->sizes, NULL, (fb_dtype)t->dtype, t->device))) {
        write(ctx, t->dtype, fb_ptr(packed), t->numel);
        status = fb_copy_data(view, packed);
    }
    fb_release(packed);
    fb_release(view);
    return status;
}

fb_generator *fb_generator_take(fb_generator *g)
{
    if (!g && !(g = fb_generator_default())) return NULL;
    fb_generator_lock(g);
    return g;
}

struct fill {
    fb_draw draw;
    fb_generator *g;
    bool rows; /* NORMAL: contiguous memory of at least 16 numbers is drawn in rows */
};

static void fill(void *ctx, int dtype, void *out, int64_t n)
{
    struct fill *c = ctx;
    fb_draw d = c->draw;

    if (d.kind == FB_DRAW_NORMAL && c->rows && n >= 16) d.kind = FB_DRAW_NORMAL_ROWS;
    fb_random_filler()(c->g, &d, dtype, out, n);
}

/* A complex tensor as a real one with a last dimension of 2. */
static fb_tensor *as_real(fb_tensor *t)
{
    int64_t sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS];

    if (t->ndim == FB_MAX_DIMS)
        return fb_fail_null(FB_ESHAPE, "a complex tensor of %d dimensions has too many", t->ndim);
    for (int d = 0; d < t->ndim; d++) {
        sizes[d] = t->sizes[d];
        strides[d] = 2 * t->strides[d];
    }
    sizes[t->ndim] = 2;
    strides[t->ndim] = 1;
    return fb_reinterpret(t, fb_real_of((fb_dtype)t->dtype), t->ndim + 1, sizes, strides, 2 * t->offset);
}

fb_status fb_fill_random(fb_tensor *t, const fb_draw *d, fb_generator *g)
{
    fb_tensor *real = fb_is_complex(t->dtype) ? as_real(t) : fb_retain(t);
    struct fill c = {*d, NULL, false};
    int order[FB_MAX_DIMS];
    fb_status status = FB_FAIL;

    if (real && (c.g = fb_generator_take(g))) {
        c.rows = fb_contig(real);
        fb_memory_order(real, order);
        status = fb_write_in_order(real, order, fill, &c);
        fb_generator_unlock(c.g);
    }
    fb_release(real);
    return status;
}
