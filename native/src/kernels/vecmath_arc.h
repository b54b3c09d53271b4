/* asin, acos, atan, atan2, hypot. At most 4 ulp, atan 2. Coefficients: tools/vecmath_fit.py. */
#ifndef FBM_VECMATH_ARC_H
#define FBM_VECMATH_ARC_H

#include "vecmath_base.h"

#define FBM_PIO2_HI_F32 1.57079637f
#define FBM_PIO2_LO_F32 -4.37113883e-08f
#define FBM_PIO2_HI_F64 1.5707963267948966
#define FBM_PIO2_LO_F64 6.123233995736766e-17

/* asin(s) - s for s = sqrt(z) <= 1/2 */
FBM_FN float fbm_asin_tail_f32(float s, float z)
{
    return s * z * fbm_p5_f32(z, 0.166667536f, 0.0749525204f, 0.0454760529f, 0.0241519772f, 0.0422120839f);
}

FBM_FN double fbm_asin_tail_f64(double s, double z)
{
    double hi = fbm_p6_f64(z, 0.013884600610336559, 0.012173266181287907, 0.0065109079405668083,
                           0.01957375882411682, -0.016293840912972184, 0.031958802630608865);
    return s * z * fbm_p7_f64(z, 0.16666666666665383, 0.075000000003429726, 0.044642856823517478,
                              0.030381959330256815, 0.02237175354197141, 0.017359770866731756, hi);
}

/* atan(t) - t for 0 <= t <= 1 */
FBM_FN float fbm_atan_tail_f32(float t)
{
    float z = t * t;
    return t * z * fbm_p9_f32(z, -0.333332986f, 0.199985296f, -0.142640427f, 0.109511778f, -0.0840060338f,
                              0.0579102114f, -0.0311316438f, 0.0108901914f, -0.00178822468f);
}

FBM_FN double fbm_atan_tail_f64(double t)
{
    double z = t * t, w = z * z; /* even and odd powers side by side: shorter chains */
    double p = fbm_p10_f64(w, -0.33333333333333071, -0.14285714282588419, -0.090909070080086432,
                           -0.066664044440251091, -0.052535273213667938, -0.042192482747205051,
                           -0.029905895108216028, -0.013902741195495213, -0.00288566375469268,
                           -0.0001522148369992566);
    double q = fbm_p10_f64(w, 0.19999999999951754, 0.11111111007353155, 0.076922798914304022,
                           0.058805299305780635, 0.047223501755212789, 0.03664325447185561,
                           0.021987255992192457, 0.0071979963985795677, 0.0008315776724653125,
                           1.3230349837411559e-05);
    return t * z * fbm_fma_f64(z, q, p);
}

/* Above 1/2, acos(a) = 2 asin(sqrt((1 - a) / 2)). atan2 takes pi/2 or pi plus or minus atan(min / max). */
#define FBM_ARCS(T, S, F)                                                                                   \
    FBM_FN T fbm_asin_##S(T x)                                                                              \
    {                                                                                                       \
        T a = __builtin_fabs##F(x), z = a > (T)0.5 ? (1 - a) * (T)0.5 : a * a;                              \
        T s = a > (T)0.5 ? __builtin_sqrt##F(z) : a, w = fbm_asin_tail_##S(s, z);                           \
        T far = FBM_PIO2_HI_##S - 2 * s + (FBM_PIO2_LO_##S - 2 * w);                                        \
        return __builtin_copysign##F(a > (T)0.5 ? far : s + w, x);                                          \
    }                                                                                                       \
    FBM_FN T fbm_acos_##S(T x)                                                                              \
    {                                                                                                       \
        T a = __builtin_fabs##F(x), z = a > (T)0.5 ? (1 - a) * (T)0.5 : a * a;                              \
        T s = a > (T)0.5 ? __builtin_sqrt##F(z) : a, w = fbm_asin_tail_##S(s, z);                           \
        T near = FBM_PIO2_HI_##S - (x + (__builtin_copysign##F(w, x) - FBM_PIO2_LO_##S));                   \
        T far = x < 0 ? 2 * FBM_PIO2_HI_##S - 2 * (s + (w - FBM_PIO2_LO_##S)) : 2 * (s + w);                \
        return a > (T)0.5 ? far : near;                                                                     \
    }                                                                                                       \
    FBM_FN T fbm_atan_##S(T x)                                                                              \
    {                                                                                                       \
        T a = __builtin_fabs##F(x), t = a > 1 ? 1 / a : a, w = fbm_atan_tail_##S(t);                        \
        T far = FBM_PIO2_HI_##S - (t + (w - FBM_PIO2_LO_##S));                                              \
        return __builtin_copysign##F(a > 1 ? far : t + w, x);                                               \
    }                                                                                                       \
    FBM_FN T fbm_atan2_##S(T y, T x)                                                                        \
    {                                                                                                       \
        T ay = __builtin_fabs##F(y), ax = __builtin_fabs##F(x);                                             \
        T least = ay > ax ? ax : ay, most = ay > ax ? ay : ax, t = least / most;                            \
        t = (least == 0) & (most == 0) ? 0 : t;                                                             \
        t = (least == (T)INFINITY) & (most == (T)INFINITY) ? 1 : t;                                         \
        T p = t + fbm_atan_tail_##S(t), side = __builtin_copysign##F(1, x);                                 \
        T left_hi = side < 0 ? 2 * FBM_PIO2_HI_##S : 0, left_lo = side < 0 ? 2 * FBM_PIO2_LO_##S : 0;       \
        T hi = ay > ax ? FBM_PIO2_HI_##S : left_hi, lo = ay > ax ? FBM_PIO2_LO_##S : left_lo;               \
        T signed_p = ay > ax ? -p * side : p * side;                                                        \
        return __builtin_copysign##F(hi + (signed_p + lo), y);                                              \
    }

#define FBM_PIO2_HI_f32 FBM_PIO2_HI_F32
#define FBM_PIO2_LO_f32 FBM_PIO2_LO_F32
#define FBM_PIO2_HI_f64 FBM_PIO2_HI_F64
#define FBM_PIO2_LO_f64 FBM_PIO2_LO_F64
FBM_ARCS(float, f32, f)
FBM_ARCS(double, f64, )

/* hypot: in double, squares of floats neither overflow nor underflow; squares of doubles are kept from it by
 * a power of two. An infinity wins over NaN. */
FBM_FN float fbm_hypot_f32(float x, float y)
{
    double dx = (double)x, dy = (double)y;
    float h = (float)__builtin_sqrt(fbm_fma_f64(dx, dx, dy * dy));
    float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y);
    return (ax == INFINITY) | (ay == INFINITY) ? INFINITY : h;
}

FBM_FN double fbm_hypot_f64(double x, double y)
{
    double ax = __builtin_fabs(x), ay = __builtin_fabs(y), most = ax > ay ? ax : ay;
    double down = most > 0x1p500 ? 0x1p-600 : 1, up = most > 0x1p500 ? 0x1p600 : 1;
    down = most < 0x1p-480 ? 0x1p600 : down;
    up = most < 0x1p-480 ? 0x1p-600 : up;
    double u = ax * down, v = ay * down, h = __builtin_sqrt(fbm_fma_f64(u, u, v * v)) * up;
    return (ax == (double)INFINITY) | (ay == (double)INFINITY) ? (double)INFINITY : h;
}

#endif
