/* Coin flips: bernoulli, bernoulli_ and the dropouts. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
#include "random/order.h"
#include "runtime/frame.h"
#include <math.h>

/* ---- bernoulli ---- */

#define NO_FLIPS (FB_COMPLEXES | FB_FLOAT8 | FB_BIT(FB_U16) | FB_BIT(FB_U32) | FB_BIT(FB_U64))

static fb_status fill_by_number(fb_tensor *t, double p, fb_generator *g)
{
    if (!(p >= 0 && p <= 1))
        return fb_fail(FB_ERUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    if (t->numel && fb_is(NO_FLIPS, t->dtype))
        return fb_fail(FB_ENOTIMPL, "\"bernoulli_scalar_cpu_\" not implemented for '%s'",
                       fb_dtype_label((fb_dtype)t->dtype));
    return fb_fill_random(t, &(fb_draw){.kind = FB_DRAW_BERNOULLI, .a = p}, g);
}

struct flips {
    fb_generator *g;
    const fb_tensor *p; /* contiguous, in the order of the writes */
    uint8_t *bits;
};

static void flip(void *ctx, int dtype, void *out, int64_t n)
{
    struct flips *c = ctx;

    (void)dtype, (void)out;
    fb_random_belower()(c->g, c->p->dtype, fb_ptr(c->p), c->bits, n);
}

/* All of p in [0, 1]? (NaN is not.) */
static bool are_probabilities(const fb_tensor *p)
{
    const char *at = fb_ptr(p);
    int64_t step = fb_itemsize((fb_dtype)p->dtype);

    for (int64_t i = 0; i < p->numel; i++) {
        double v = fb_scalar_load(at + i * step, (fb_dtype)p->dtype).re;
        if (!(v >= 0 && v <= 1)) return false;
    }
    return true;
}

/* t[...] = 1 with probability p[...], where p has t's shape. The numbers are drawn in t's memory order. */
static fb_status fill_by_tensor(fb_tensor *t, fb_tensor *p, fb_generator *g)
{
    struct flips c = {0};
    int order[FB_MAX_DIMS];
    fb_tensor *ordered_p = NULL, *ordered_t = NULL, *packed = NULL, *bits = NULL;
    fb_status status = FB_FAIL;

    if (t->numel == 0) return FB_OK;
    if (!fb_is(FB_FLOATS, p->dtype))
        return fb_fail(FB_ENOTIMPL, "\"bernoulli_tensor_cpu_p_\" not implemented for '%s'",
                       fb_dtype_label((fb_dtype)p->dtype));
    if (fb_is(NO_FLIPS, t->dtype))
        return fb_fail(FB_ENOTIMPL, "\"bernoulli_tensor_cpu_self_\" not implemented for '%s'",
                       fb_dtype_label((fb_dtype)t->dtype));
    if (fb_overlaps_itself(t))
        return fb_fail(FB_ERUNTIME,
                       "unsupported operation: more than one element of the written-to tensor refers to a single "
                                    "memory location. Please clone() the tensor before performing the operation.");
    fb_memory_order(t, order);
    if (!(ordered_p = fb_reordered(p, order)) || !(packed = fb_contiguous_as(ordered_p, FB_NONE))) goto done;
    if (!are_probabilities(packed)) {
        fb_fail(FB_ERUNTIME, "bernoulli: every element of p must be in [0, 1]");
        goto done;
    }
    if (!(bits = fb_new(packed->ndim, packed->sizes, NULL, FB_BOOL, t->device))
        || !(ordered_t = fb_reordered(t, order)))
        goto done;
    c.p = packed;
    c.bits = fb_ptr(bits);
    if (!(c.g = fb_generator_take(g))) goto done;
    flip(&c, FB_BOOL, NULL, packed->numel);
    fb_generator_unlock(c.g);
    status = fb_copy_data(ordered_t, bits);
done:
    fb_release(ordered_t);
    fb_release(bits);
    fb_release(packed);
    fb_release(ordered_p);
    return status;
}

/* p, broadcast to t's shape: a view. */
static fb_tensor *expanded(fb_tensor *p, const fb_tensor *t)
{
    int64_t strides[FB_MAX_DIMS];
    int lead = t->ndim - p->ndim;

    if (lead < 0)
        return fb_fail_null(FB_ERUNTIME,
                            "expand(p of shape %s, size=%s): the number of sizes provided (%d) must be greater or equal to the "
                                         "number of dimensions in the tensor (%d)",
                            fb_shape_text(p->ndim, p->sizes), fb_shape_text(t->ndim, t->sizes), t->ndim,
                            p->ndim);
    for (int d = 0; d < t->ndim; d++) {
        int64_t size = d < lead ? 1 : p->sizes[d - lead];
        if (size != 1 && size != t->sizes[d])
            return fb_fail_null(FB_ERUNTIME,
                                "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton "
                                             "dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                                (long long)t->sizes[d], (long long)size, d, fb_shape_text(t->ndim, t->sizes),
                                fb_shape_text(p->ndim, p->sizes));
        strides[d] = size == 1 ? 0 : p->strides[d - lead];
    }
    return fb_view_of(p, t->ndim, t->sizes, strides, p->offset);
}

fb_status fb_k_bernoulli_(fb_frame *f)
{
    const struct fb_p_bernoulli_ *q = f->params;
    fb_tensor *t = f->in[0], *p = f->in[1], *view;
    fb_status status;

    if (!p) return fill_by_number(t, 0.5, q->generator);
    if (p->flags & FB_T_WRAPPED)
        return fill_by_number(t, fb_scalar_load(fb_ptr(p), (fb_dtype)p->dtype).re, q->generator);
    if (!(view = expanded(p, t))) return FB_FAIL;
    status = fill_by_tensor(t, view, q->generator);
    fb_release(view);
    return status;
}

/* An output that is given keeps its dtype: ones and zeros fit into any. */
fb_status fb_i_bernoulli(fb_frame *f)
{
    bool given = (f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE)) && f->out[0];
    return fb_out_like(f, 0, f->in[0], (fb_dtype)(given ? f->out[0] : f->in[0])->dtype);
}

fb_status fb_k_bernoulli(fb_frame *f)
{
    const struct fb_p_bernoulli *q = f->params;

    if (q->p.kind != FB_S_NONE) return fill_by_number(f->out[0], fb_scalar_double(q->p), q->generator);
    return fill_by_tensor(f->out[0], f->in[0], q->generator);
}

/* ---- dropout ---- */

static fb_status check_dropout(double p)
{
    if (p >= 0 && p <= 1) return FB_OK;
    return fb_fail(FB_ERUNTIME, "dropout probability has to be between 0 and 1, but got %g", p);
}

static fb_status check_float(const fb_tensor *t)
{
    if (!fb_is(FB_INTS | FB_BIT(FB_BOOL), t->dtype)) return FB_OK;
    return fb_fail(FB_ERUNTIME, "result type Float can't be cast to the desired output type %s",
                   fb_dtype_label((fb_dtype)t->dtype));
}

/* v as a number of that dtype. */
static double rounded(double v, int dtype)
{
    double room[2]; /* of any dtype */

    fb_scalar_store(fb_float(v), (fb_dtype)dtype, room);
    return fb_scalar_load(room, (fb_dtype)dtype).re;
}

/* 1 / (1 - p) as PyTorch's noise tensor of that dtype has it: the divisor is a float unless the dtype is double. */
static double noise_scale(double p, int dtype)
{
    return dtype == FB_F64 ? 1 / (1 - p) : rounded(1.0f / (float)(1 - p), dtype);
}

/* Noise in the layout of `like`, without its gaps: 1 with probability keep, else 0. */
static fb_tensor *flips_like(const fb_tensor *like, fb_dtype dtype, double keep)
{
    int64_t strides[FB_MAX_DIMS];
    fb_tensor *noise;

    fb_packed_like(like, strides);
    if (!(noise = fb_new(like->ndim, like->sizes, strides, dtype, like->device))) return NULL;
    if (like->device.type == FB_META || fill_by_number(noise, keep, NULL) == FB_OK) return noise;
    fb_release(noise);
    return NULL;
}

fb_status fb_i_dropout_scaled(fb_frame *f)
{
    int64_t strides[FB_MAX_DIMS];
    const fb_tensor *t = f->in[0];

    fb_packed_like(t, strides);
    FB_TRY(fb_out(f, 0, (fb_dtype)t->dtype, t->ndim, t->sizes, strides));
    return fb_out(f, 1, FB_BOOL, t->ndim, t->sizes, strides);
}

struct dropped {
    const void *in;
    void *out;
    const uint8_t *mask;
    double scale;
    int dtype;
};

/* Multiplies, so that a dropped infinity or NaN gives NaN. */
static void drop(void *ctx, int64_t begin, int64_t end)
{
    const struct dropped *c = ctx;

#define DROP(TYPE, LOAD, STORE)                                                                                        \
    do {                                                                                                               \
        const TYPE *in = c->in;                                                                                        \
        TYPE *out = c->out;                                                                                            \
        for (int64_t i = begin; i < end; i++) out[i] = STORE(LOAD(in[i]) * (c->mask[i] ? scale : 0));                  \
    } while (0)
    if (c->dtype == FB_F64) {
        double scale = c->scale;
        DROP(double, , );
        return;
    }
    float scale = (float)c->scale;
    if (c->dtype == FB_F32)
        DROP(float, , );
    else if (c->dtype == FB_F16)
        DROP(uint16_t, fb_half_to_float, fb_float_to_half);
    else
        DROP(uint16_t, fb_bf16_to_float, fb_float_to_bf16);
#undef DROP
}

fb_status fb_k_dropout_scaled(fb_frame *f)
{
    const struct fb_p_dropout_scaled *p = f->params;
    fb_tensor *in = f->in[0], *out = f->out[0], *mask = f->out[1], *view = NULL, *packed = NULL;
    struct dropped c = {.scale = p->scale, .dtype = in->dtype};
    int order[FB_MAX_DIMS];
    fb_status status = FB_FAIL;

    if (!fb_is(FB_FLOATS, in->dtype))
        return fb_fail(FB_ENOTIMPL, "\"bernoulli_scalar_cpu_\" not implemented for '%s'",
                       fb_dtype_label((fb_dtype)in->dtype));
    FB_TRY(fill_by_number(mask, p->keep, NULL));
    if (in->numel == 0) return FB_OK;
    fb_memory_order(out, order); /* out and mask are dense in this order */
    if ((view = fb_reordered(in, order)) && (packed = fb_contiguous_as(view, FB_NONE))) {
        c.in = fb_ptr(packed);
        c.out = fb_ptr(out);
        c.mask = fb_ptr(mask);
        fb_parallel_range(in->numel, 0.5, drop, &c);
        status = FB_OK;
    }
    fb_release(packed);
    fb_release(view);
    return status;
}

static fb_tensor *times_number(fb_tensor *t, fb_scalar v, fb_tensor *out)
{
    fb_tensor *number = fb_wrapped(v), *result = NULL;

    if (number) result = fb_mul_out(t, number, out);
    fb_release(number);
    return result;
}

fb_status fb_c_dropout(fb_frame *f)
{
    const struct fb_p_dropout *p = f->params;
    fb_tensor *t = f->in[0], *result = NULL, *mask = NULL;

    FB_TRY(check_dropout(p->p));
    if (!p->train || p->p == 0 || t->numel == 0) return fb_give(f, 0, fb_retain(t));
    if (p->p == 1) return fb_give(f, 0, times_number(t, fb_int(0), NULL));
    FB_TRY(check_float(t));
    if (fb_dropout_scaled(t, 1 - p->p, noise_scale(p->p, t->dtype), &result, &mask) != FB_OK) return FB_FAIL;
    fb_release(mask);
    return fb_give(f, 0, result);
}

fb_status fb_c_native_dropout(fb_frame *f)
{
    const struct fb_p_native_dropout *p = f->params;
    fb_tensor *t = f->in[0], *result = NULL, *mask = NULL;

    if (p->train == 0 || t->numel == 0) { /* a copy, and nothing dropped */
        int64_t strides[FB_MAX_DIMS];
        fb_packed_like(t, strides);
        if (!(mask = fb_new(t->ndim, t->sizes, strides, t->numel ? FB_BOOL : (fb_dtype)t->dtype, t->device))
            || fb_fill_data(mask, fb_boolean(true)) != FB_OK
            || !(result = times_number(t, fb_int(1), NULL))) {
            fb_release(mask);
            return FB_FAIL;
        }
    } else {
        double scale = p->p == 1 ? 0 : rounded(1 / (1 - p->p), t->dtype);
        FB_TRY(check_float(t));
        FB_TRY(fb_dropout_scaled(t, 1 - p->p, scale, &result, &mask));
    }
    if (fb_give(f, 0, result) != FB_OK) {
        fb_release(mask);
        return FB_FAIL;
    }
    return fb_give(f, 1, mask);
}

/* ---- dropouts that multiply and perhaps add: in place, by feature, and the ones that keep mean and variance ---- */

/* Per feature: one flip for each element of the first two dimensions. */
static fb_tensor *flips_for(fb_tensor *t, bool by_feature, double keep)
{
    int64_t sizes[FB_MAX_DIMS];
    fb_tensor *noise;

    if (!by_feature) return flips_like(t, (fb_dtype)t->dtype, keep);
    for (int d = 0; d < t->ndim; d++) sizes[d] = d < 2 ? t->sizes[d] : 1;
    if (!(noise = fb_new(t->ndim, sizes, NULL, (fb_dtype)t->dtype, t->device))) return NULL;
    if (t->device.type == FB_META || fill_by_number(noise, keep, NULL) == FB_OK) return noise;
    fb_release(noise);
    return NULL;
}

/* noise = noise * scale + shift, in its dtype */
static fb_status affine(fb_tensor *noise, double scale, double shift)
{
    fb_tensor *r = times_number(noise, fb_float(scale), noise), *number = NULL;
    fb_status status = FB_FAIL;

    if (r && shift == 0) {
        status = FB_OK;
    } else if (r && (number = fb_wrapped(fb_float(shift)))) {
        fb_tensor *s = fb_add_out(noise, number, fb_int(1), noise);
        status = s ? FB_OK : FB_FAIL;
        fb_release(s);
    }
    fb_release(number);
    fb_release(r);
    return status;
}

/* The result, new or t itself. Alpha dropout (Klambauer et al., Self-Normalizing Neural Networks, 2017) puts dropped
 * units at SELU's negative limit and then restores mean and variance by an affine map. */
static fb_tensor *dropped(fb_tensor *t, double p, bool train, bool by_feature, bool alpha, bool in_place)
{
    const double limit = 1.7580993408473766; /* SELU's scale times its alpha */
    fb_tensor *noise = NULL, *shift = NULL, *result = NULL, *out = in_place ? t : NULL;

    if (check_dropout(p) != FB_OK) return NULL;
    if (!train || p == 0 || t->numel == 0) return fb_retain(t);
    if (p == 1) return times_number(t, fb_int(0), out);
    if (by_feature && t->ndim < 2)
        return fb_fail_null(FB_ERUNTIME, "Feature dropout requires at least 2 dimensions in the input");
    if (check_float(t) != FB_OK || !(noise = flips_for(t, by_feature, 1 - p))) return NULL;
    if (alpha) {
        double a = 1 / sqrt((limit * limit * p + 1) * (1 - p));
        fb_tensor *number = fb_wrapped(fb_float(-1)); /* shift = (noise - 1) * limit * a + limit * a * p */
        if (number && (shift = fb_add(noise, number, fb_int(1)))
            && affine(shift, limit * a, limit * a * p) == FB_OK && affine(noise, a, 0) == FB_OK && (result = fb_mul_out(t, noise, out))) {
            fb_tensor *sum = fb_add_out(result, shift, fb_int(1), out);
            fb_release(result);
            result = sum;
        }
        fb_release(number);
    } else if (affine(noise, noise_scale(p, t->dtype), 0) == FB_OK) {
        result = fb_mul_out(t, noise, out);
    }
    fb_release(shift);
    fb_release(noise);
    return result;
}

#define DROPOUT(name, by_feature, alpha, in_place)                                                                     \
    fb_status fb_c_##name(fb_frame *f)                                                                                 \
    {                                                                                                                  \
        const struct fb_p_##name *p = f->params;                                                                       \
        return fb_give(f, 0, dropped(f->in[0], p->p, p->train, by_feature, alpha, in_place));                          \
    }
DROPOUT(dropout_, false, false, true)
DROPOUT(feature_dropout, true, false, false)
DROPOUT(feature_dropout_, true, false, true)
DROPOUT(alpha_dropout, false, true, false)
DROPOUT(alpha_dropout_, false, true, true)
DROPOUT(feature_alpha_dropout, true, true, false)
DROPOUT(feature_alpha_dropout_, true, true, true)
