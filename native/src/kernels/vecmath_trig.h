/* sin, cos, tan of |x| <= FBM_TRIG_LIMIT, and of any x with a fix-up for a block.
 *
 * n = round(x 2/pi), r = x - n pi/2 with pi/2 in parts of 24 bits, whose multiples by n are exact (Cody and
 * Waite); sin r and cos r by minimax polynomials on [-pi/4, pi/4] (tools/vecmath_fit.py).
 *
 * Larger arguments need some 1100 bits of pi, hence tables and branches. The inline functions return NaN for
 * them; fbm_sin_any, fbm_cos_any, fbm_tan_any are right for every x (libm beyond the limit) and give the same
 * bits within the limit, so that a kernel picks one of the two for a whole block:
 *
 *     if (fbm_all_within_f64(x, n, FBM_TRIG_LIMIT))
 *         for (i = 0; i < n; i++) y[i] = fbm_sin_f64(x[i]);
 *     else
 *         for (i = 0; i < n; i++) y[i] = fbm_sin_any_f64(x[i]);
 *
 * FBM_BLOCK_FIXUP writes these four lines. */
#ifndef FBM_VECMATH_TRIG_H
#define FBM_VECMATH_TRIG_H

#include "vecmath_base.h"

#define FBM_TRIG_LIMIT 0x1p28 /* n keeps below 2^28: 24 more bits fit in a double */

/* True when |x[i]| <= limit, or x[i] is infinite or NaN, for all i < n: the inline functions will do. */
#define FBM_ALL_WITHIN(T, U, S, F)                                                                          \
    FBM_FN int fbm_all_within_##S(const T *x, int64_t n, T limit)                                           \
    {                                                                                                       \
        U beyond = 0; /* an or of bits is a reduction that vectorises; a maximum isn't */    \
        for (int64_t i = 0; i < n; i++) {                                                                   \
            T a = __builtin_fabs##F(x[i]);                                                                  \
            T far = a > limit ? a : 0;                                                                      \
            beyond |= fbm_bits_##S(a < (T)INFINITY ? far : 0);                                              \
        }                                                                                                   \
        return !beyond;                                                                                     \
    }

FBM_ALL_WITHIN(float, uint32_t, f32, f)
FBM_ALL_WITHIN(double, uint64_t, f64, )

/* y[i] = f(x[i]) for i < n, where f is sin, cos or tan and S is f32 or f64; y may be x. */
#define FBM_BLOCK_FIXUP(f, S, n, y, x)                                                                      \
    do {                                                                                                    \
        if (fbm_all_within_##S(x, n, FBM_TRIG_LIMIT))                                                       \
            for (int64_t fixup_i = 0; fixup_i < (n); fixup_i++)                                             \
                (y)[fixup_i] = fbm_##f##_##S((x)[fixup_i]);                                                 \
        else                                                                                                \
            for (int64_t fixup_i = 0; fixup_i < (n); fixup_i++)                                             \
                (y)[fixup_i] = fbm_##f##_any_##S((x)[fixup_i]);                                             \
    } while (0)

#define FBM_2_PI 0.63661977236758134308
#define FBM_PIO2_1 0x1.921fb4p+0
#define FBM_PIO2_2 0x1.4442dp-24
#define FBM_PIO2_3 0x1.846988p-48
#define FBM_PIO2_4 0x1.8cc516p-72
#define FBM_PIO2_5 0x1.01b839a252049p-96

/* Reduces a = |x| in double; gives sin r, cos r and the quadrant n (its low bits count). */
FBM_FN uint32_t fbm_sincos_f32(float x, float *s, float *c)
{
    double a = (double)__builtin_fabsf(x);
    double t = fbm_fma_f64(a, FBM_2_PI, FBM_MAGIC_F64), n = t - FBM_MAGIC_F64;
    double rd = fbm_fma_f64(n, -FBM_PIO2_2, fbm_fma_f64(n, -FBM_PIO2_1, a));
    rd = fbm_fma_f64(n, -(FBM_PIO2_3 + FBM_PIO2_4), rd);
    float r = (float)rd, z = r * r;
    *s = fbm_fma_f32(r * z, fbm_p3_f32(z, -0.166666552f, 0.00833219104f, -0.000195186061f), r);
    *c = fbm_fma_f32(z * z, fbm_p3_f32(z, 0.0416666456f, -0.00138873013f, 2.44306684e-05f),
                     fbm_fma_f32(-0.5f, z, 1));
    return (uint32_t)fbm_bits_f64(t);
}

FBM_FN float fbm_sin_f32(float x)
{
    float s, c;
    uint32_t q = fbm_sincos_f32(x, &s, &c);
    uint32_t y = fbm_bits_f32(q & 1 ? c : s) ^ (q << 30 & 0x80000000u) ^ (fbm_bits_f32(x) & 0x80000000u);
    return __builtin_fabsf(x) <= (float)FBM_TRIG_LIMIT ? fbm_from_bits_f32(y) : NAN;
}

FBM_FN float fbm_cos_f32(float x)
{
    float s, c;
    uint32_t q = fbm_sincos_f32(x, &s, &c);
    uint32_t y = fbm_bits_f32(q & 1 ? s : c) ^ ((q + 1) << 30 & 0x80000000u);
    return __builtin_fabsf(x) <= (float)FBM_TRIG_LIMIT ? fbm_from_bits_f32(y) : NAN;
}

FBM_FN float fbm_tan_f32(float x)
{
    float s, c;
    uint32_t q = fbm_sincos_f32(x, &s, &c);
    float y = (q & 1 ? -c : s) / (q & 1 ? s : c);
    y = fbm_from_bits_f32(fbm_bits_f32(y) ^ (fbm_bits_f32(x) & 0x80000000u));
    return __builtin_fabsf(x) <= (float)FBM_TRIG_LIMIT ? y : NAN;
}

/* r = head + tail. The first two subtractions are exact, the third is corrected; the tail of pi/2 is known to
 * 2^-149, so that even the multiple of pi/2 that comes closest to a double below 2^28 leaves 53 good bits. */
FBM_FN uint64_t fbm_sincos_f64(double x, double *s, double *c)
{
    double a = __builtin_fabs(x);
    double t = fbm_fma_f64(a, FBM_2_PI, FBM_MAGIC_F64), n = t - FBM_MAGIC_F64;
    double u = fbm_fma_f64(n, -FBM_PIO2_2, fbm_fma_f64(n, -FBM_PIO2_1, a));
    double v = n * -FBM_PIO2_3, w = u + v, b = w - u, wl = (u - (w - b)) + (v - b);
    v = fbm_fma_f64(n, -FBM_PIO2_4, wl); /* both about 2^-44 or less: the sum is good to 2^-97 */
    v = fbm_fma_f64(n, -FBM_PIO2_5, v);
    double r = w + v, rl = v - (r - w), z = r * r, hz = 0.5 * z, one = 1 - hz;
    double p = fbm_p6_f64(z, -0.16666666666666632, 0.0083333333333224877, -0.00019841269829855109,
                          2.755731370569964e-06, -2.5050759989505477e-08, 1.5896892252836927e-10);
    double q = fbm_p6_f64(z, 0.041666666666666602, -0.001388888888887447, 2.4801587289666848e-05,
                          -2.7557314399235393e-07, 2.0875728989047084e-09, -1.1359917036099696e-11);
    *s = r + fbm_fma_f64(r * z, p, rl * one);
    *c = one + (((1 - one) - hz) + fbm_fma_f64(z * z, q, -r * rl));
    return fbm_bits_f64(t);
}

/* Selecting by a mask of bits: SSE2 has no compare of 64-bit integers. */
FBM_FN double fbm_pick_f64(uint64_t odd, double yes, double no)
{
    uint64_t mask = 0 - (odd & 1);
    return fbm_from_bits_f64((fbm_bits_f64(yes) & mask) | (fbm_bits_f64(no) & ~mask));
}

#define FBM_SIGN_F64 0x8000000000000000u

FBM_FN double fbm_sin_f64(double x)
{
    double s, c;
    uint64_t q = fbm_sincos_f64(x, &s, &c);
    uint64_t sign = ((q << 62) ^ fbm_bits_f64(x)) & FBM_SIGN_F64;
    uint64_t y = fbm_bits_f64(fbm_pick_f64(q, c, s)) ^ sign;
    return __builtin_fabs(x) <= FBM_TRIG_LIMIT ? fbm_from_bits_f64(y) : (double)NAN;
}

FBM_FN double fbm_cos_f64(double x)
{
    double s, c;
    uint64_t q = fbm_sincos_f64(x, &s, &c);
    uint64_t y = fbm_bits_f64(fbm_pick_f64(q, s, c)) ^ ((q + 1) << 62 & FBM_SIGN_F64);
    return __builtin_fabs(x) <= FBM_TRIG_LIMIT ? fbm_from_bits_f64(y) : (double)NAN;
}

FBM_FN double fbm_tan_f64(double x)
{
    double s, c;
    uint64_t q = fbm_sincos_f64(x, &s, &c);
    double y = fbm_pick_f64(q, -c, s) / fbm_pick_f64(q, s, c);
    y = fbm_from_bits_f64(fbm_bits_f64(y) ^ (fbm_bits_f64(x) & FBM_SIGN_F64));
    return __builtin_fabs(x) <= FBM_TRIG_LIMIT ? y : (double)NAN;
}

#define FBM_TRIG_ANY(name)                                                                                  \
    static inline float fbm_##name##_any_f32(float x)                                                       \
    {                                                                                                       \
        return __builtin_fabsf(x) <= (float)FBM_TRIG_LIMIT ? fbm_##name##_f32(x) : (float)name((double)x);  \
    }                                                                                                       \
    static inline double fbm_##name##_any_f64(double x)                                                     \
    {                                                                                                       \
        return __builtin_fabs(x) <= FBM_TRIG_LIMIT ? fbm_##name##_f64(x) : name(x);                         \
    }

FBM_TRIG_ANY(sin)
FBM_TRIG_ANY(cos)
FBM_TRIG_ANY(tan)

#endif
