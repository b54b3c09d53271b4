#include "nn/conv.h"

#define DECLARE(isa)                                                                                         \
    fb_status conv_forward_##isa(const fb_conv *, const void *, const void *, const void *, void *);         \
    fb_status conv_input_grad_##isa(const fb_conv *, const void *, const void *, const void *, void *);      \
    fb_status conv_weight_grad_##isa(const fb_conv *, const void *, const void *, void *);
DECLARE(base)
DECLARE(avx2)
DECLARE(avx512)

#define RUN(isa)                                                                                             \
    return wanted == FB_CONV_SMALL ? conv_forward_##isa(c, big, w, bias, small)                              \
           : wanted == FB_CONV_BIG ? conv_input_grad_##isa(c, small, w, bias, big)                           \
                                   : conv_weight_grad_##isa(c, big, small, w)

static fb_status run_real(const fb_conv *c, fb_conv_wanted wanted, void *big, void *small, void *w,
                          const void *bias)
{
    switch (fb_isa()) {
#ifdef FB_HAVE_ISA_avx512
    case 2: RUN(avx512);
#endif
#ifdef FB_HAVE_ISA_avx2
    case 1: RUN(avx2);
#endif
    default: RUN(base);
    }
}

/* ---- complex: a real convolution of twice the channels --------------------------------------------------------
 * (yr, yi) = ((wr, -wi), (wi, wr)) (xr, xi), the parts being channels of their own. Transposed, that matrix belongs to
 * conj(w), so that the weight is conjugated on the way in where the product is to be without conjugation. */

/* n images of groups * channels planes: interleaved <-> (n, group, part, channel, plane). */
#define SPLIT(NAME, T)                                                                                         \
    static void split_##NAME(int64_t blocks, int64_t length, T *planar, T *mixed, bool back)                   \
    {                                                                                                          \
        for (int64_t b = 0; b < blocks; b++)                                                                   \
            for (int64_t part = 0; part < 2; part++) {                                                         \
                T *p = planar + (2 * b + part) * length, *q = mixed + 2 * b * length + part;                   \
                if (back)                                                                                      \
                    for (int64_t i = 0; i < length; i++) q[2 * i] = p[i];                                      \
                else                                                                                           \
                    for (int64_t i = 0; i < length; i++) p[i] = q[2 * i];                                      \
            }                                                                                                  \
    }                                                                                                          \
    /* weights (group * oc, ic * taps) <-> (group, part, oc, part, ic * taps); back: w = (rr - ii, ri + ir) */ \
    static void split_weight_##NAME(int64_t groups, int64_t oc, int64_t length, T *planar, T *mixed,           \
                                    bool back, T sign)                                                         \
    {                                                                                                          \
        for (int64_t g = 0; g < groups; g++)                                                                   \
            for (int64_t o = 0; o < oc; o++) {                                                                 \
                T *r = planar + (2 * g * oc + o) * 2 * length, *i = r + 2 * oc * length;                       \
                T *w = mixed + 2 * (g * oc + o) * length;                                                      \
                for (int64_t k = 0; k < length; k++) {                                                         \
                    if (back) {                                                                                \
                        w[2 * k] = r[k] - i[length + k];                                                       \
                        w[2 * k + 1] = r[length + k] + i[k];                                                   \
                    } else {                                                                                   \
                        r[k] = i[length + k] = w[2 * k];                                                       \
                        i[k] = sign * w[2 * k + 1];                                                            \
                        r[length + k] = -i[k];                                                                 \
                    }                                                                                          \
                }                                                                                              \
            }                                                                                                  \
    }
SPLIT(f32, float)
SPLIT(f64, double)

static int64_t volume(const int64_t e[3])
{
    return e[0] * e[1] * e[2];
}

static fb_status run_complex(const fb_conv *c, fb_conv_wanted wanted, void *big, void *small, void *w,
                             const void *bias)
{
    const bool wide = c->dtype == FB_C128;
    const int64_t size = wide ? 8 : 4, taps = c->ic * volume(c->k);
    const int64_t images = c->n * c->groups, lb = c->ic * volume(c->in), ls = c->oc * volume(c->out);
    fb_conv real = *c;
    real.dtype = wide ? FB_F64 : FB_F32;
    real.ic *= 2;
    real.oc *= 2;
    char *b = fb_alloc(FB_MAX(2 * images * lb * size, 1)), *s = fb_alloc(FB_MAX(2 * images * ls * size, 1));
    char *p = fb_alloc(FB_MAX(4 * c->groups * c->oc * taps * size, 1));
    const int64_t out_channels = wanted == FB_CONV_BIG ? c->ic : c->oc;
    char *a = bias ? fb_alloc(2 * c->groups * out_channels * size) : NULL;
    fb_status status = b && s && p && (a || !bias) ? FB_OK : FB_FAIL;
#define EACH(NAME, T)                                                                                        \
    if (status == FB_OK) {                                                                                   \
        if (wanted != FB_CONV_BIG) split_##NAME(images, lb, (T *)b, big, false);                             \
        if (wanted != FB_CONV_SMALL) split_##NAME(images, ls, (T *)s, small, false);                         \
        if (wanted != FB_CONV_WEIGHT)                                                                        \
            split_weight_##NAME(c->groups, c->oc, taps, (T *)p, w, false, wanted == FB_CONV_BIG ? -1 : 1);   \
        if (bias) split_##NAME(c->groups, out_channels, (T *)a, (T *)bias, false);                           \
        status = run_real(&real, wanted, b, s, p, a);                                                        \
        if (status == FB_OK && wanted == FB_CONV_BIG) split_##NAME(images, lb, (T *)b, big, true);           \
        if (status == FB_OK && wanted == FB_CONV_SMALL) split_##NAME(images, ls, (T *)s, small, true);       \
        if (status == FB_OK && wanted == FB_CONV_WEIGHT)                                                     \
            split_weight_##NAME(c->groups, c->oc, taps, (T *)p, w, true, 1);                                 \
    }
    if (wide) {
        EACH(f64, double)
    } else {
        EACH(f32, float)
    }
    fb_free(b), fb_free(s), fb_free(p), fb_free(a);
    return status;
}

fb_status fb_conv_run(const fb_conv *c, fb_conv_wanted wanted, void *big, void *small, void *weight,
                      const void *bias)
{
    return fb_is_complex(c->dtype) ? run_complex(c, wanted, big, small, weight, bias)
                                   : run_real(c, wanted, big, small, weight, bias);
}
