/* Activations and small compositions: softplus, log_sigmoid, silu, mish, tanh-gelu, logaddexp, xlogy.
 *
 * All from e = exp(-|x|), which can't overflow. At most 4 ulp, also where the result is subnormal: a factor
 * x comes in before the power of two. */
#ifndef FBM_VECMATH_ACT_H
#define FBM_VECMATH_ACT_H

#include "vecmath_exp.h"
#include "vecmath_log.h"

/* The exponent in the form that fbm_scale takes; and an x whose exp(x) x is 0, to replace those below it:
 * -inf then gives the limit -0, and factors stay in the range of fbm_scale. */
#define FBM_SCALE_INT_f32 int32_t
#define FBM_SCALE_INT_f64 double
#define FBM_FLAT_f32 -200.0f
#define FBM_FLAT_f64 -1000.0

#define FBM_ACTIVATIONS(T, S, F)                                                                            \
    /* log(1 + exp(x)) */                                                                                   \
    FBM_FN T fbm_softplus_##S(T x)                                                                          \
    {                                                                                                       \
        T y = fbm_log1p_unit_##S(fbm_exp_##S(-__builtin_fabs##F(x)));                                       \
        return x > 0 ? x + y : y;                                                                           \
    }                                                                                                       \
    FBM_FN T fbm_log_sigmoid_##S(T x) { return -fbm_softplus_##S(-x); }                                     \
    /* x sigmoid(x + lo): for negative x, x e / (1 + e) */                                                  \
    FBM_FN T fbm_gate_##S(T x, T arg, T lo)                                                                 \
    {                                                                                                       \
        FBM_SCALE_INT_##S n;                                                                                \
        T a = __builtin_fabs##F(arg), l = arg < 0 ? lo : -lo, c = x < FBM_FLAT_##S ? FBM_FLAT_##S : x;      \
        T m = fbm_exp_mantissa_##S(-a, l, &n), e = fbm_scale_##S(m, n), v = c / (1 + e);                    \
        return x < 0 ? fbm_scale_##S(v * m, n) : v;                                                         \
    }                                                                                                       \
    FBM_FN T fbm_silu_##S(T x) { return fbm_gate_##S(x, x, 0); }                                            \
    /* x tanh(log(1 + exp x)) = x ((1 + exp x)^2 - 1) / ((1 + exp x)^2 + 1): with e, x (1 - 2 e^2 / (1 + 2e +\
     * 2 e^2)) for positive x, else x e (1 - (e + e^2) / (2 + 2e + e^2)) */                                 \
    FBM_FN T fbm_mish_##S(T x)                                                                              \
    {                                                                                                       \
        FBM_SCALE_INT_##S n;                                                                                \
        T m = fbm_exp_mantissa_##S(-__builtin_fabs##F(x), 0, &n), e = fbm_scale_##S(m, n);                  \
        T num = x < 0 ? fbm_fma_##S(e, e, e) : 2 * e * e;                                                   \
        T den = num + (x < 0 ? e + 2 : fbm_fma_##S(2, e, 1));                                               \
        T c = x < FBM_FLAT_##S ? FBM_FLAT_##S : x, v = c * (1 - num / den);                                 \
        return x < 0 ? fbm_scale_##S(v * m, n) : v;                                                         \
    }                                                                                                       \
    /* log(exp(a) + exp(b)); where it is near 0, accurate to an ulp of max(|a|, |b|) only */                \
    FBM_FN T fbm_logaddexp_##S(T a, T b)                                                                    \
    {                                                                                                       \
        T most = a > b ? a : b, d = a == b ? 0 : __builtin_fabs##F(a - b);                                  \
        return most + fbm_log1p_unit_##S(fbm_exp_##S(-d));                                                  \
    }                                                                                                       \
    /* x log(y), and 0 for x = 0 unless y is NaN */                                                         \
    FBM_FN T fbm_xlogy_##S(T x, T y)                                                                        \
    {                                                                                                       \
        T r = x * fbm_log_##S(y);                                                                           \
        return (x == 0) & (y == y) ? 0 : r;                                                                 \
    }                                                                                                       \
    FBM_FN T fbm_xlog1py_##S(T x, T y)                                                                      \
    {                                                                                                       \
        T r = x * fbm_log1p_##S(y);                                                                         \
        return (x == 0) & (y == y) ? 0 : r;                                                                 \
    }

FBM_ACTIVATIONS(float, f32, f)
FBM_ACTIVATIONS(double, f64, )

/* x (1 + tanh u) / 2 = x sigmoid(2u), 2u = 2 sqrt(2/pi) (x + 0.044715 x^3). An error of 2u is multiplied by
 * 2u, which reaches 100 before the result vanishes: it is formed in double, or in two doubles. */
#define FBM_GELU_1 1.5957691216057308
#define FBM_GELU_1_LO -9.96930880911092e-17
#define FBM_GELU_3 0.07135481627260025
#define FBM_GELU_3_LO -6.175149918155315e-19

FBM_FN float fbm_gelu_tanh_f32(float x)
{
    float b = x > 15 ? 15 : x; /* beyond, the sigmoid is 0 or 1 */
    b = b < -15 ? -15 : b;
    double w = (double)b, u = w * fbm_fma_f64(w * w, FBM_GELU_3, FBM_GELU_1);
    float hi = (float)u;
    return fbm_gate_f32(x, hi, (float)(u - (double)hi));
}

FBM_FN double fbm_gelu_tanh_f64(double x)
{
    double b = x > 30 ? 30 : x;
    b = b < -30 ? -30 : b;
    double ze, z = fbm_two_prod_f64(b, b, &ze), ce, c = fbm_two_prod_f64(z, FBM_GELU_3, &ce);
    /* t = 1.59.. + 0.0713.. x^2 */
    double t = FBM_GELU_1 + c, s = t - FBM_GELU_1, te = (FBM_GELU_1 - (t - s)) + (c - s);
    te += fbm_fma_f64(ze, FBM_GELU_3, ce) + fbm_fma_f64(z, FBM_GELU_3_LO, FBM_GELU_1_LO);
    double ue, u = fbm_two_prod_f64(b, t, &ue);
    return fbm_gate_f64(x, u, fbm_fma_f64(b, te, ue));
}

#endif
