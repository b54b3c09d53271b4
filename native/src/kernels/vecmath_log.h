/* log, log2, log10, log1p, and the inverse hyperbolic functions made of log1p.
 *
 * x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1. In single precision log(1 + f) = f - f^2/2 + f^3
 * P(f); in double log(1 + f) = f - (f^2/2 - s (f^2/2 + R(s^2))), s = f / (2 + f), 2 atanh(s) = 2s + s R
 * (Tang, Table-driven implementation of the logarithm, 1990). Coefficients: tools/vecmath_fit.py. */
#ifndef FBM_VECMATH_LOG_H
#define FBM_VECMATH_LOG_H

#include "vecmath_base.h"

/* Writes m and k of a positive finite x, subnormals included; other arguments give some finite m. */
FBM_FN void fbm_split_f32(float x, float *m, float *k)
{
    int tiny = x < 0x1p-126f;
    float xs = tiny ? x * 0x1p23f : x;
    uint32_t u = fbm_bits_f32(xs) + (0x3f800000u - 0x3f3504f3u); /* 0x3f3504f3 is sqrt(1/2) */
    *m = fbm_from_bits_f32((u & 0x007fffffu) + 0x3f3504f3u);
    *k = (float)(int32_t)(u >> 23) - (tiny ? 150.0f : 127.0f);
}

FBM_FN void fbm_split_f64(double x, double *m, double *k)
{
    int tiny = x < 0x1p-1022;
    double xs = tiny ? x * 0x1p54 : x;
    uint64_t u = fbm_bits_f64(xs) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    *m = fbm_from_bits_f64((u & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    /* An integer below 2^52 in the low bits of 2^52 is converted by one subtraction. */
    *k = fbm_from_bits_f64((u >> 52) | 0x4330000000000000u) - (tiny ? 0x1p52 + 1077 : 0x1p52 + 1023);
}

/* y with log(1 + f) = f + y, for f of a split m. */
FBM_FN float fbm_log_tail_f32(float f)
{
    float z = f * f; /* even and odd powers side by side: shorter chains */
    float p = fbm_p5_f32(z, 0.333333135f, 0.200020671f, 0.142200172f, 0.11896953f, 0.0664569661f);
    float q = fbm_p4_f32(z, -0.250000209f, -0.166673243f, -0.124176309f, -0.116082005f);
    return fbm_fma_f32(f * z, fbm_fma_f32(f, q, p), -0.5f * z);
}

FBM_FN double fbm_log_tail_f64(double f)
{
    double s = f / (2 + f), z = s * s, h = 0.5 * f * f;
    double r = z * fbm_p7_f64(z, 0.66666666666667351, 0.39999999999409352, 0.28571428743688737,
                              0.22222198430974344, 0.18183572037653292, 0.15313847280890946,
                              0.14798028347869233);
    return fbm_fma_f64(s, h + r, -h);
}

/* The values of any logarithm where the formula doesn't hold: NaN, +inf, zeros, negative numbers. */
FBM_FN float fbm_log_ends_f32(float x, float y)
{
    y = x < INFINITY ? y : x;
    return x > 0 ? y : (x == 0 ? -INFINITY : NAN);
}

FBM_FN double fbm_log_ends_f64(double x, double y)
{
    y = x < (double)INFINITY ? y : x;
    return x > 0 ? y : (x == 0 ? -(double)INFINITY : (double)NAN);
}

FBM_FN float fbm_log_f32(float x)
{
    float m, k;
    fbm_split_f32(x, &m, &k);
    float f = m - 1, y = fbm_log_tail_f32(f);
    return fbm_log_ends_f32(x, fbm_fma_f32(k, FBM_LN2_HI_F32, f + fbm_fma_f32(k, FBM_LN2_LO_F32, y)));
}

FBM_FN double fbm_log_f64(double x)
{
    double m, k;
    fbm_split_f64(x, &m, &k);
    double f = m - 1, y = fbm_log_tail_f64(f);
    return fbm_log_ends_f64(x, fbm_fma_f64(k, FBM_LN2_HI_F64, f + fbm_fma_f64(k, FBM_LN2_LO_F64, y)));
}

/* k (kh + kl) + (f + y) (ch + cl): the logarithm to another base, c = 1/ln(base), kh + kl = log_base(2). f +
 * y is kept in two parts, so that only the product rounds. */
FBM_FN float fbm_log_base_f32(float x, float ch, float cl, float kh, float kl)
{
    float m, k;
    fbm_split_f32(x, &m, &k);
    float f = m - 1, y = fbm_log_tail_f32(f), v = f + y, w = y - (v - f);
    float low = fbm_fma_f32(k, kl, fbm_fma_f32(v, cl, w * ch));
    return fbm_log_ends_f32(x, fbm_fma_f32(k, kh, fbm_fma_f32(v, ch, low)));
}

FBM_FN double fbm_log_base_f64(double x, double ch, double cl, double kh, double kl)
{
    double m, k;
    fbm_split_f64(x, &m, &k);
    double f = m - 1, y = fbm_log_tail_f64(f), v = f + y, w = y - (v - f);
    double low = fbm_fma_f64(k, kl, fbm_fma_f64(v, cl, w * ch));
    return fbm_log_ends_f64(x, fbm_fma_f64(k, kh, fbm_fma_f64(v, ch, low)));
}

FBM_FN float fbm_log2_f32(float x) { return fbm_log_base_f32(x, 1.44269502f, 1.92596303e-08f, 1, 0); }
FBM_FN double fbm_log2_f64(double x)
{
    return fbm_log_base_f64(x, FBM_LOG2E, 2.0355273740931033e-17, 1, 0);
}

FBM_FN float fbm_log10_f32(float x)
{
    return fbm_log_base_f32(x, 0.434294492f, -1.01030053e-08f, 0.301025390625f, 4.60503898e-06f);
}

FBM_FN double fbm_log10_f64(double x)
{
    return fbm_log_base_f64(x, 0.43429448190325182, 1.0983196502167651e-17, 0.30102999566406652,
                            -8.5323443170571066e-14);
}

/* log1p: u = 1 + x and what it lost, c; f = (m - 1) + c / 2^k. */
FBM_FN float fbm_log1p_f32(float x)
{
    float u = 1 + x, b = u - 1, c = (1 - (u - b)) + (x - b), m, k;
    fbm_split_f32(u, &m, &k);
    /* 2^-k, also for k = 128: twice 2^-(k+1) would be subnormal, and c is 0 there */
    float s = fbm_from_bits_f32((uint32_t)(int32_t)(127 - (k < 120 ? k : 120)) << 23);
    float f = fbm_fma_f32(c, s, m - 1), y = fbm_log_tail_f32(f);
    float r = fbm_log_ends_f32(u, fbm_fma_f32(k, FBM_LN2_HI_F32, f + fbm_fma_f32(k, FBM_LN2_LO_F32, y)));
    return x == 0 ? x : r;
}

FBM_FN double fbm_log1p_f64(double x)
{
    double u = 1 + x, b = u - 1, c = (1 - (u - b)) + (x - b), m, k;
    fbm_split_f64(u, &m, &k);
    double s = fbm_from_bits_f64(fbm_bits_f64(FBM_MAGIC_F64 + (1023 - (k < 1000 ? k : 1000))) << 52);
    double f = fbm_fma_f64(c, s, m - 1), y = fbm_log_tail_f64(f);
    double r = fbm_log_ends_f64(u, fbm_fma_f64(k, FBM_LN2_HI_F64, f + fbm_fma_f64(k, FBM_LN2_LO_F64, y)));
    return x == 0 ? x : r;
}

/* log1p on [0, 1], which needs no split: 2 atanh(s), s = e / (2 + e), with 2s = e - s e. */
FBM_FN float fbm_log1p_unit_f32(float e)
{
    float s = e / (2 + e), z = s * s;
    float p = fbm_p5_f32(z, 0.666666746f, 0.399989486f, 0.286152124f, 0.214438841f, 0.242452711f);
    return fbm_fma_f32(s, fbm_fma_f32(z, p, -e), e);
}

FBM_FN double fbm_log1p_unit_f64(double e)
{
    double s = e / (2 + e), z = s * s;
    double p = fbm_p10_f64(z, 0.66666666666666308, 0.40000000000156211, 0.28571428547957711,
                           0.22222223964321419, 0.1818174409004249, 0.15386556805473739,
                           0.13301010482245196, 0.12105819707997464, 0.083411762439737802,
                           0.17016721462022888);
    return fbm_fma_f64(s, fbm_fma_f64(z, p, -e), e);
}

/* asinh x = log1p(|x| + x^2 / (1 + sqrt(1 + x^2))); where x^2 would overflow, log(|x|) + log 2. */
FBM_FN float fbm_asinh_f32(float x)
{
    float a = __builtin_fabsf(x), z = a * a;
    int big = a > 0x1p30f;
    float w = big ? a : a + z / (1 + __builtin_sqrtf(1 + z));
    float y = fbm_log1p_f32(w);
    return __builtin_copysignf(y + (big ? 0.693147182f : 0), x);
}

FBM_FN double fbm_asinh_f64(double x)
{
    double a = __builtin_fabs(x), z = a * a;
    int big = a > 0x1p60;
    double w = big ? a : a + z / (1 + __builtin_sqrt(1 + z));
    double y = fbm_log1p_f64(w);
    return __builtin_copysign(y + (big ? 0.69314718055994529 : 0), x);
}

/* acosh x = log1p(t + sqrt(2t + t^2)), t = x - 1. */
FBM_FN float fbm_acosh_f32(float x)
{
    float t = x - 1;
    int big = x > 0x1p30f;
    float y = fbm_log1p_f32(big ? x : t + __builtin_sqrtf(fbm_fma_f32(t, t, 2 * t)));
    return x < 1 ? NAN : y + (big ? 0.693147182f : 0);
}

FBM_FN double fbm_acosh_f64(double x)
{
    double t = x - 1;
    int big = x > 0x1p60;
    double y = fbm_log1p_f64(big ? x : t + __builtin_sqrt(fbm_fma_f64(t, t, 2 * t)));
    return x < 1 ? (double)NAN : y + (big ? 0.69314718055994529 : 0);
}

/* atanh x = log1p(2x / (1 - x)) / 2. */
FBM_FN float fbm_atanh_f32(float x)
{
    float a = __builtin_fabsf(x);
    return __builtin_copysignf(0.5f * fbm_log1p_f32((a + a) / (1 - a)), x);
}

FBM_FN double fbm_atanh_f64(double x)
{
    double a = __builtin_fabs(x);
    return __builtin_copysign(0.5 * fbm_log1p_f64((a + a) / (1 - a)), x);
}

#endif
