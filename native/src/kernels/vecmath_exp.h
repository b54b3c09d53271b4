/* exp, exp2, expm1, and what is made of them: sinh, cosh, tanh, sigmoid.
 *
 * exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 in two parts (Cody and Waite, Software Manual for
 * the Elementary Functions, 1980); exp(r) by a minimax polynomial of tools/vecmath_fit.py. Errors measured
 * by tests/test_vecmath.c are below 1 ulp for exp and exp2, below 2 for the others. */
#ifndef FBM_VECMATH_EXP_H
#define FBM_VECMATH_EXP_H

#include "vecmath_base.h"

/* exp(x + lo) 2^k for |lo| much smaller than 1; k is 0 or -1. `lo` carries what an argument lost in
 * rounding, `k` avoids the overflow of exp where half of it is a float. The mantissa y and n, with exp(x +
 * lo) = 2^n y, are of use where a factor should come in before the result may underflow: fbm_scale(y *
 * factor, n). */
FBM_FN float fbm_exp_mantissa_f32(float x, float lo, int32_t *n)
{
    x = x > 100.0f ? 100.0f : x; /* written so that NaN passes */
    x = x < -120.0f ? -120.0f : x;
    float t = fbm_fma_f32(x, (float)FBM_LOG2E, FBM_MAGIC_F32), k = t - FBM_MAGIC_F32;
    float r = fbm_fma_f32(k, -FBM_LN2_LO_F32, fbm_fma_f32(k, -FBM_LN2_HI_F32, x)) + lo;
    float p = fbm_p5_f32(r, 0.49999994f, 0.166665167f, 0.0416681059f, 0.00836913008f, 0.0013836422f);
    *n = (int32_t)(fbm_bits_f32(t) - fbm_bits_f32(FBM_MAGIC_F32));
    /* 1 + r in two parts: the sum then rounds once, where it is below 1 too */
    float h = 1 + r;
    return h + fbm_fma_f32(r * r, p, r - (h - 1));
}

FBM_FN double fbm_exp_mantissa_f64(double x, double lo, double *t)
{
    x = x > 720.0 ? 720.0 : x;
    x = x < -800.0 ? -800.0 : x;
    *t = fbm_fma_f64(x, FBM_LOG2E, FBM_MAGIC_F64);
    double k = *t - FBM_MAGIC_F64;
    double r = fbm_fma_f64(k, -FBM_LN2_LO_F64, fbm_fma_f64(k, -FBM_LN2_HI_F64, x)) + lo;
    double p = fbm_p10_f64(r, 0.50000000000000111, 0.1666666666666643, 0.041666666666525659,
                           0.0083333333334796762, 0.0013888888944925317, 0.00019841269546520091,
                           2.4801491654392117e-05, 2.7557543738434931e-06, 2.7630796364833515e-07,
                           2.5015720836069618e-08);
    double h = 1 + r;
    return h + fbm_fma_f64(r * r, p, r - (h - 1));
}

FBM_FN float fbm_exp_parts_f32(float x, float lo, int32_t k)
{
    int32_t n;
    float y = fbm_exp_mantissa_f32(x, lo, &n);
    return fbm_scale_f32(y, n + k);
}

FBM_FN double fbm_exp_parts_f64(double x, double lo, int32_t k)
{
    double t, y = fbm_exp_mantissa_f64(x, lo, &t);
    return fbm_scale_f64(y, t + k);
}

FBM_FN float fbm_exp_f32(float x) { return fbm_exp_parts_f32(x, 0, 0); }
FBM_FN double fbm_exp_f64(double x) { return fbm_exp_parts_f64(x, 0, 0); }

FBM_FN float fbm_exp2_f32(float x)
{
    x = x > 140.0f ? 140.0f : x;
    x = x < -170.0f ? -170.0f : x;
    float t = x + FBM_MAGIC_F32, r = x - (t - FBM_MAGIC_F32);
    float p = fbm_p6_f32(r, 0.693147182f, 0.240226448f, 0.0555035882f, 0.00961883739f, 0.00133913278f,
                         0.000152398628f);
    return fbm_scale_f32(fbm_fma_f32(r, p, 1), (int32_t)(fbm_bits_f32(t) - fbm_bits_f32(FBM_MAGIC_F32)));
}

FBM_FN double fbm_exp2_f64(double x)
{
    x = x > 1040.0 ? 1040.0 : x;
    x = x < -1140.0 ? -1140.0 : x;
    double t = x + FBM_MAGIC_F64, r = x - (t - FBM_MAGIC_F64);
    double p = fbm_p11_f64(r, 0.69314718055994529, 0.24022650695910133, 0.055504108664823408,
                           0.0096181291075970107, 0.001333355814615986, 0.00015403530451766953,
                           1.5252733949838241e-05, 1.3215438262062531e-06, 1.017804961950559e-07,
                           7.073255677438061e-09, 4.4529101261201544e-10);
    return fbm_scale_f64(fbm_fma_f64(r, p, 1), t);
}

/* expm1(x) = 2^n expm1(r) + (2^n - 1). Half of it is formed, so that 2^n is a float where the result still
 * is. */
FBM_FN float fbm_expm1_f32(float x)
{
    float a = x > 89.0f ? 89.0f : x;
    a = a < -40.0f ? -40.0f : a;
    float t = fbm_fma_f32(a, (float)FBM_LOG2E, FBM_MAGIC_F32), n = t - FBM_MAGIC_F32;
    float rh = fbm_fma_f32(n, -FBM_LN2_HI_F32, a), rl = n * -FBM_LN2_LO_F32;
    float r = rh + rl;
    rl += rh - r;
    float p = fbm_p6_f32(r, 0.5f, 0.166666657f, 0.0416664928f, 0.00833358243f, 0.00139323308f,
                         0.00019728925f);
    float s = fbm_from_bits_f32((fbm_bits_f32(t) - fbm_bits_f32(FBM_MAGIC_F32) + 126) << 23);
    /* head + tail = s - 1/2 + s r exactly enough: below n = 25, the larger of the two summands is first */
    float u = s - 0.5f, v = s * r, head = u + v, b = head - u, tail = (u - (head - b)) + (v - b);
    float y = head + (tail + s * fbm_fma_f32(r * r, p, rl));
    return x == 0 ? x : y + y;
}

FBM_FN double fbm_expm1_f64(double x)
{
    double a = x > 710.0 ? 710.0 : x;
    a = a < -80.0 ? -80.0 : a;
    double t = fbm_fma_f64(a, FBM_LOG2E, FBM_MAGIC_F64), n = t - FBM_MAGIC_F64;
    double rh = fbm_fma_f64(n, -FBM_LN2_HI_F64, a), rl = n * -FBM_LN2_LO_F64;
    double r = rh + rl;
    rl += rh - r;
    double p = fbm_p11_f64(r, 0.5, 0.16666666666666677, 0.041666666666666602, 0.0083333333333214434,
                           0.0013888888888928337, 0.00019841269886570426, 2.4801587227621047e-05,
                           2.7557243776384498e-06, 2.7557361780235769e-07, 2.5109185938735996e-08,
                           2.0886724241219357e-09);
    double s = fbm_from_bits_f64((fbm_bits_f64(t) + 1022) << 52);
    double u = s - 0.5, v = s * r, head = u + v, b = head - u, tail = (u - (head - b)) + (v - b);
    double y = head + (tail + s * fbm_fma_f64(r * r, p, rl));
    return x == 0 ? x : y + y;
}

/* tanh: an odd polynomial near 0, where 1 - 2 / (exp(2x) + 1) would cancel. */
FBM_FN float fbm_tanh_f32(float x)
{
    float a = __builtin_fabsf(x), z = a * a;
    float p = fbm_p6_f32(z, -0.333333313f, 0.133332223f, -0.0539484583f, 0.0217087045f, -0.00819492061f,
                         0.00215744134f);
    float near = fbm_fma_f32(a * z, p, a);
    float far = 1 - 2 / (fbm_exp_f32(a + a) + 1);
    return __builtin_copysignf(a < 0.625f ? near : far, x);
}

FBM_FN double fbm_tanh_f64(double x)
{
    double a = __builtin_fabs(x), z = a * a;
    double p = fbm_p11_f64(z, -0.33333333333332876, 0.13333333333264677, -0.053968253932369321,
                           0.02186948759933947, -0.0088632212844892873, 0.0035919912877674727,
                           -0.0014549690128273266, 0.00058634766035164292, -0.00022862342582671404,
                           7.7207947206299067e-05, -1.6102017989417345e-05);
    double near = fbm_fma_f64(a * z, p, a);
    double far = 1 - 2 / (fbm_exp_f64(a + a) + 1);
    return __builtin_copysign(a < 0.625 ? near : far, x);
}

/* With e = exp(-|x|), which can't overflow, and q = e / (1 + e): 1 - q, and for negative x q itself, as e -
 * e q because a small e then passes on its own error only. */
FBM_FN float fbm_sigmoid_f32(float x)
{
    float e = fbm_exp_f32(-__builtin_fabsf(x)), q = e / (1 + e), n = x < 0 ? e : 1;
    return fbm_fma_f32(-n, q, n);
}

FBM_FN double fbm_sigmoid_f64(double x)
{
    double e = fbm_exp_f64(-__builtin_fabs(x)), q = e / (1 + e), n = x < 0 ? e : 1;
    return fbm_fma_f64(-n, q, n);
}

/* cosh and sinh from h = exp(|x|) / 2: h + 1/(4h), h - 1/(4h); sinh below 1 by an odd polynomial. */
FBM_FN float fbm_cosh_f32(float x)
{
    float h = fbm_exp_parts_f32(__builtin_fabsf(x), 0, -1);
    return h + 0.25f / h;
}

FBM_FN double fbm_cosh_f64(double x)
{
    double h = fbm_exp_parts_f64(__builtin_fabs(x), 0, -1);
    return h + 0.25 / h;
}

FBM_FN float fbm_sinh_f32(float x)
{
    float a = __builtin_fabsf(x), z = a * a, h = fbm_exp_parts_f32(a, 0, -1);
    float p = fbm_p4_f32(z, 0.166666672f, 0.00833331142f, 0.000198426351f, 2.78392599e-06f);
    return __builtin_copysignf(a < 1 ? fbm_fma_f32(a * z, p, a) : h - 0.25f / h, x);
}

FBM_FN double fbm_sinh_f64(double x)
{
    double a = __builtin_fabs(x), z = a * a, h = fbm_exp_parts_f64(a, 0, -1);
    double p = fbm_p7_f64(z, 0.16666666666666669, 0.0083333333333329151, 0.00019841269841589226,
                          2.7557319108501353e-06, 2.5052130674488071e-08, 1.6056686755437722e-10,
                          7.7757236692077231e-13);
    return __builtin_copysign(a < 1 ? fbm_fma_f64(a * z, p, a) : h - 0.25 / h, x);
}

#endif
