/* Complex functions on {re, im} structs. Products, quotients and absolute values are explicit and vectorise
 * (the compiler's complex product checks for NaN); the rest goes through libm's double functions, which have
 * C99 Annex G's special values and branch cuts. Single precision computes in double: right to half an ulp. */
#ifndef FBM_VECMATH_COMPLEX_H
#define FBM_VECMATH_COMPLEX_H

#include "vecmath_arc.h"
#include "vecmath_exp.h"
#include "vecmath_log.h"
#include "vecmath_pow.h"
#include "vecmath_trig.h"

#ifndef FB_COMPLEX_DEFINED
#define FB_COMPLEX_DEFINED
typedef struct fb_c64 { float re, im; } fb_c64;
typedef struct fb_c128 { double re, im; } fb_c128;
#endif

/* Smith's quotient (Algorithm 116, 1962) with selects for his branch: no overflow of |b|^2. A quotient by
 * zero has the infinities and NaN of the division by a real zero. */
#define FBM_COMPLEX_ARITHMETIC(C, T, S, R, F)                                                               \
    FBM_FN C fbm_cmul_##S(C a, C b)                                                                         \
    {                                                                                                       \
        C r = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};                                       \
        return r;                                                                                           \
    }                                                                                                       \
    FBM_FN C fbm_cdiv_##S(C a, C b)                                                                         \
    {                                                                                                       \
        T abs_re = __builtin_fabs##F(b.re), abs_im = __builtin_fabs##F(b.im);                               \
        T most = abs_re >= abs_im ? b.re : b.im, least = abs_re >= abs_im ? b.im : b.re;                    \
        T q = least / most;                                                                                 \
        most = most == 0 ? __builtin_fabs##F(most) : most;                                                  \
        q = most == 0 ? 0 : q;                                                                              \
        T den = most + least * q;                                                                           \
        T re = abs_re >= abs_im ? a.re + a.im * q : a.re * q + a.im;                                        \
        T im = abs_re >= abs_im ? a.im - a.re * q : a.im * q - a.re;                                        \
        C r = {re / den, im / den};                                                                         \
        return r;                                                                                           \
    }                                                                                                       \
    FBM_FN T fbm_cabs_##S(C a) { return fbm_hypot_##R(a.re, a.im); }                                        \
    FBM_FN T fbm_carg_##S(C a) { return fbm_atan2_##R(a.im, a.re); }

FBM_COMPLEX_ARITHMETIC(fb_c64, float, c64, f32, f)
FBM_COMPLEX_ARITHMETIC(fb_c128, double, c128, f64, )

FBM_FN fb_c128 fbm_c128_of(fb_c64 z) { return (fb_c128){(double)z.re, (double)z.im}; }
FBM_FN fb_c64 fbm_c64_of(fb_c128 z) { return (fb_c64){(float)z.re, (float)z.im}; }

/* fbm_<name>_c64 from fbm_<name>_c128 */
#define FBM_COMPLEX_NARROW(name)                                                                            \
    static inline fb_c64 fbm_##name##_c64(fb_c64 z) { return fbm_c64_of(fbm_##name##_c128(fbm_c128_of(z))); }

/* The builtin is libm's function; <complex.h> would define the macros I and complex for all who include
 * this. */
#define FBM_COMPLEX_LIBM(name)                                                                              \
    static inline fb_c128 fbm_##name##_c128(fb_c128 z)                                                      \
    {                                                                                                       \
        _Complex double r = __builtin_##name(__builtin_complex(z.re, z.im));                                \
        return (fb_c128){__real__ r, __imag__ r};                                                           \
    }                                                                                                       \
    FBM_COMPLEX_NARROW(name)

FBM_COMPLEX_LIBM(cexp)
FBM_COMPLEX_LIBM(clog)
FBM_COMPLEX_LIBM(csqrt)
FBM_COMPLEX_LIBM(csin)
FBM_COMPLEX_LIBM(ccos)
FBM_COMPLEX_LIBM(ctan)
FBM_COMPLEX_LIBM(csinh)
FBM_COMPLEX_LIBM(ccosh)
FBM_COMPLEX_LIBM(ctanh)
FBM_COMPLEX_LIBM(casin)
FBM_COMPLEX_LIBM(cacos)
FBM_COMPLEX_LIBM(catan)
FBM_COMPLEX_LIBM(casinh)
FBM_COMPLEX_LIBM(cacosh)
FBM_COMPLEX_LIBM(catanh)

static inline fb_c128 fbm_clog2_c128(fb_c128 z)
{
    fb_c128 r = fbm_clog_c128(z);
    return (fb_c128){r.re * FBM_LOG2E, r.im * FBM_LOG2E};
}

static inline fb_c128 fbm_clog10_c128(fb_c128 z)
{
    fb_c128 r = fbm_clog_c128(z);
    return (fb_c128){r.re * 0.43429448190325182, r.im * 0.43429448190325182};
}

static inline fb_c128 fbm_cexp2_c128(fb_c128 z)
{
    return fbm_cexp_c128((fb_c128){z.re * 0.69314718055994529, z.im * 0.69314718055994529});
}

static inline fb_c128 fbm_crsqrt_c128(fb_c128 z)
{
    return fbm_cdiv_c128((fb_c128){1, 0}, fbm_csqrt_c128(z));
}

/* exp(z) - 1: its real part is expm1(x) cos y - 2 sin^2(y/2), which doesn't cancel near 0. */
static inline fb_c128 fbm_cexpm1_c128(fb_c128 z)
{
    double half = fbm_sin_any_f64(0.5 * z.im), e = fbm_expm1_f64(z.re);
    if (!(__builtin_fabs(z.re) < 700 && __builtin_fabs(z.im) < (double)INFINITY)) {
        fb_c128 r = fbm_cexp_c128(z);
        return (fb_c128){r.re - 1, r.im};
    }
    return (fb_c128){e * fbm_cos_any_f64(z.im) - 2 * half * half, (e + 1) * fbm_sin_any_f64(z.im)};
}

/* log(1 + z): for small z, log|1 + z| = log1p(2x + x^2 + y^2) / 2 with the sum in two parts. */
static inline fb_c128 fbm_clog1p_c128(fb_c128 z)
{
    double x = z.re, y = z.im, arg = fbm_atan2_f64(y, 1 + x);
    if (!(__builtin_fabs(x) < 0.5 && __builtin_fabs(y) < 1))
        return (fb_c128){fbm_clog_c128((fb_c128){1 + x, y}).re, arg};
    double xe, xx = fbm_two_prod_f64(x, 2 + x, &xe), ye, yy = fbm_two_prod_f64(y, y, &ye);
    double t = 2 + x, te = x - (t - 2);
    double s = xx + yy, b = s - xx, lo = (xx - (s - b)) + (yy - b);
    return (fb_c128){0.5 * fbm_log1p_f64(s + (lo + (xe + ye + x * te))), arg};
}

/* 1 / (1 + exp(-z)), in the form whose exponential can't overflow. */
static inline fb_c128 fbm_csigmoid_c128(fb_c128 z)
{
    int left = z.re < 0;
    fb_c128 e = fbm_cexp_c128(left ? z : (fb_c128){-z.re, -z.im});
    return fbm_cdiv_c128(left ? e : (fb_c128){1, 0}, (fb_c128){1 + e.re, e.im});
}

FBM_COMPLEX_NARROW(clog2)
FBM_COMPLEX_NARROW(clog10)
FBM_COMPLEX_NARROW(cexp2)
FBM_COMPLEX_NARROW(crsqrt)
FBM_COMPLEX_NARROW(cexpm1)
FBM_COMPLEX_NARROW(clog1p)
FBM_COMPLEX_NARROW(csigmoid)

/* exp(w log z), with the limits at z = 0 or w = 0 that exp of NaN would miss. */
static inline fb_c128 fbm_cpow_c128(fb_c128 z, fb_c128 w)
{
    if (w.re == 0 && w.im == 0)
        return (fb_c128){1, 0};
    if (z.re == 0 && z.im == 0 && w.re > 0)
        return (fb_c128){0, 0};
    if (z.im == 0 && w.im == 0 && z.re > 0)
        return (fb_c128){fbm_pow_f64(z.re, w.re), 0};
    _Complex double r = __builtin_cpow(__builtin_complex(z.re, z.im), __builtin_complex(w.re, w.im));
    return (fb_c128){__real__ r, __imag__ r};
}

static inline fb_c64 fbm_cpow_c64(fb_c64 z, fb_c64 w)
{
    return fbm_c64_of(fbm_cpow_c128(fbm_c128_of(z), fbm_c128_of(w)));
}

#endif
