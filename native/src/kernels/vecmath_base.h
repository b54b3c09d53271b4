/* Shared by the vecmath_*.h parts: bits of a float, fused or plain multiply-add, polynomials, exact
 * products, rounding.
 *
 * Everything is branch-free and made of operations that gcc vectorises for SSE2 already: no 64-bit
 * arithmetic shifts, compares or conversions (they come with AVX-512), no floor (SSE4.1). */
#ifndef FBM_VECMATH_BASE_H
#define FBM_VECMATH_BASE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define FBM_FN static inline __attribute__((always_inline, unused))

/* The same source gives the same bits in a loop's vector body and in its scalar tail: fused where the
 * instruction set has it, in both; else rounded twice, in both (with -ffp-contract=off). */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
#define FBM_HAS_FMA 1
FBM_FN float fbm_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FBM_FN double fbm_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
#define FBM_HAS_FMA 0
FBM_FN float fbm_fma_f32(float a, float b, float c) { return a * b + c; }
FBM_FN double fbm_fma_f64(double a, double b, double c) { return a * b + c; }
#endif
#define FBM_FMA(a, b, c) _Generic((a) * (b), float: fbm_fma_f32, default: fbm_fma_f64)(a, b, c)

FBM_FN uint32_t fbm_bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

FBM_FN uint64_t fbm_bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

FBM_FN float fbm_from_bits_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

FBM_FN double fbm_from_bits_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Adding 1.5 * 2^23 (2^52) leaves the nearest integer, ties to even, in the low bits of the sum. */
#define FBM_MAGIC_F32 12582912.0f
#define FBM_MAGIC_F64 6755399441055744.0

#define FBM_LOG2E 1.4426950408889634074
#define FBM_LN2_HI_F32 0.693145751953125f /* 16 bits: a multiple by an exponent is exact */
#define FBM_LN2_LO_F32 1.42860682030941723212e-06f
#define FBM_LN2_HI_F64 0.69314718036912381649 /* 32 bits */
#define FBM_LN2_LO_F64 1.9082149292705877000e-10
#define FBM_PI 3.14159265358979323846

/* Horner's rule, lowest power first: fbm_p3(x, a, b, c) = a + b x + c x^2. */
#define FBM_POLYNOMIALS(T, S)                                                                               \
    FBM_FN T fbm_p2_##S(T x, T a, T b) { return fbm_fma_##S(x, b, a); }                                     \
    FBM_FN T fbm_p3_##S(T x, T a, T b, T c) { return fbm_fma_##S(x, fbm_p2_##S(x, b, c), a); }              \
    FBM_FN T fbm_p4_##S(T x, T a, T b, T c, T d)                                                            \
    {                                                                                                       \
        return fbm_fma_##S(x, fbm_p3_##S(x, b, c, d), a);                                                   \
    }                                                                                                       \
    FBM_FN T fbm_p5_##S(T x, T a, T b, T c, T d, T e)                                                       \
    {                                                                                                       \
        return fbm_fma_##S(x, fbm_p4_##S(x, b, c, d, e), a);                                                \
    }                                                                                                       \
    FBM_FN T fbm_p6_##S(T x, T a, T b, T c, T d, T e, T f)                                                  \
    {                                                                                                       \
        return fbm_fma_##S(x, fbm_p5_##S(x, b, c, d, e, f), a);                                             \
    }                                                                                                       \
    FBM_FN T fbm_p7_##S(T x, T a, T b, T c, T d, T e, T f, T g)                                             \
    {                                                                                                       \
        return fbm_fma_##S(x, fbm_p6_##S(x, b, c, d, e, f, g), a);                                          \
    }                                                                                                       \
    FBM_FN T fbm_p8_##S(T x, T a, T b, T c, T d, T e, T f, T g, T h)                                        \
    {                                                                                                       \
        return fbm_fma_##S(x, fbm_p7_##S(x, b, c, d, e, f, g, h), a);                                       \
    }                                                                                                       \
    FBM_FN T fbm_p9_##S(T x, T a, T b, T c, T d, T e, T f, T g, T h, T i)                                   \
    {                                                                                                       \
        return fbm_fma_##S(x, fbm_p8_##S(x, b, c, d, e, f, g, h, i), a);                                    \
    }                                                                                                       \
    FBM_FN T fbm_p10_##S(T x, T a, T b, T c, T d, T e, T f, T g, T h, T i, T j)                             \
    {                                                                                                       \
        return fbm_fma_##S(x, fbm_p9_##S(x, b, c, d, e, f, g, h, i, j), a);                                 \
    }                                                                                                       \
    FBM_FN T fbm_p11_##S(T x, T a, T b, T c, T d, T e, T f, T g, T h, T i, T j, T k)                        \
    {                                                                                                       \
        return fbm_fma_##S(x, fbm_p10_##S(x, b, c, d, e, f, g, h, i, j, k), a);                             \
    }

FBM_POLYNOMIALS(float, f32)
FBM_POLYNOMIALS(double, f64)

/* a * b = product + error, exactly (the error of the double version without fma: to 2^-107). Dekker's
 * scheme, but halves are cut by masking, which can't overflow as Veltkamp's multiplication can. */
FBM_FN float fbm_two_prod_f32(float a, float b, float *error)
{
    float p = a * b;
#if FBM_HAS_FMA
    *error = fbm_fma_f32(a, b, -p);
#else
    float ah = fbm_from_bits_f32(fbm_bits_f32(a) & 0xfffff000u), al = a - ah;
    float bh = fbm_from_bits_f32(fbm_bits_f32(b) & 0xfffff000u), bl = b - bh;
    *error = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
    return p;
}

FBM_FN double fbm_two_prod_f64(double a, double b, double *error)
{
    double p = a * b;
#if FBM_HAS_FMA
    *error = fbm_fma_f64(a, b, -p);
#else
    double ah = fbm_from_bits_f64(fbm_bits_f64(a) & 0xfffffffff8000000u), al = a - ah;
    double bh = fbm_from_bits_f64(fbm_bits_f64(b) & 0xfffffffff8000000u), bl = b - bh;
    *error = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
    return p;
}

/* y * 2^n with gradual underflow and overflow to infinity; y between 2^-20 and 2^20, |n| < 220. In two
 * steps, because 2^n alone may not be a float when the product is. */
FBM_FN float fbm_scale_f32(float y, int32_t n)
{
    int32_t h = n >> 1;
    float first = fbm_from_bits_f32((uint32_t)(h + 127) << 23);
    return y * first * fbm_from_bits_f32((uint32_t)(n - h + 127) << 23);
}

/* The same for n = the integer of t = n + FBM_MAGIC_F64; |n| < 2000. */
FBM_FN double fbm_scale_f64(double y, double t)
{
    double t2 = (t - FBM_MAGIC_F64) * 0.5 + FBM_MAGIC_F64;
    uint64_t h = fbm_bits_f64(t2), l = fbm_bits_f64(t) - h;
    return y * fbm_from_bits_f64((h + 1023) << 52) * fbm_from_bits_f64((l + 1023) << 52);
}

/* Rounding to integers. With SSE4.1 (in every build but the baseline) it is one instruction. */
#if defined(__SSE4_1__) || defined(__aarch64__)
FBM_FN float fbm_floor_f32(float x) { return __builtin_floorf(x); }
FBM_FN float fbm_ceil_f32(float x) { return __builtin_ceilf(x); }
FBM_FN float fbm_trunc_f32(float x) { return __builtin_truncf(x); }
FBM_FN float fbm_round_f32(float x) { return __builtin_rintf(x); }
FBM_FN double fbm_floor_f64(double x) { return __builtin_floor(x); }
FBM_FN double fbm_ceil_f64(double x) { return __builtin_ceil(x); }
FBM_FN double fbm_trunc_f64(double x) { return __builtin_trunc(x); }
FBM_FN double fbm_round_f64(double x) { return __builtin_rint(x); }
#else
#define FBM_ROUNDING(T, S, F, BIG)                                                                          \
    FBM_FN T fbm_round_##S(T x) /* ties to even */                                                          \
    {                                                                                                       \
        T a = __builtin_fabs##F(x);                                                                         \
        T r = (a + BIG) - BIG;                                                                              \
        return __builtin_copysign##F(a < BIG ? r : a, x);                                                   \
    }                                                                                                       \
    FBM_FN T fbm_floor_##S(T x)                                                                             \
    {                                                                                                       \
        T r = fbm_round_##S(x);                                                                             \
        return __builtin_copysign##F(r > x ? r - 1 : r, x);                                                 \
    }                                                                                                       \
    FBM_FN T fbm_ceil_##S(T x)                                                                              \
    {                                                                                                       \
        T r = fbm_round_##S(x);                                                                             \
        return __builtin_copysign##F(r < x ? r + 1 : r, x);                                                 \
    }                                                                                                       \
    FBM_FN T fbm_trunc_##S(T x)                                                                             \
    {                                                                                                       \
        T a = __builtin_fabs##F(x);                                                                         \
        T r = fbm_round_##S(a);                                                                             \
        return __builtin_copysign##F(r > a ? r - 1 : r, x);                                                 \
    }

FBM_ROUNDING(float, f32, f, 8388608.0f)
FBM_ROUNDING(double, f64, , 4503599627370496.0)
#endif

/* The fraction has its number's sign; that of an integer is +0. */
FBM_FN float fbm_frac_f32(float x) { return x - fbm_trunc_f32(x); }
FBM_FN double fbm_frac_f64(double x) { return x - fbm_trunc_f64(x); }

FBM_FN float fbm_sqrt_f32(float x) { return __builtin_sqrtf(x); }
FBM_FN double fbm_sqrt_f64(double x) { return __builtin_sqrt(x); }
FBM_FN float fbm_rsqrt_f32(float x) { return 1 / __builtin_sqrtf(x); }
FBM_FN double fbm_rsqrt_f64(double x) { return 1 / __builtin_sqrt(x); }
FBM_FN float fbm_abs_f32(float x) { return __builtin_fabsf(x); }
FBM_FN double fbm_abs_f64(double x) { return __builtin_fabs(x); }

#endif
