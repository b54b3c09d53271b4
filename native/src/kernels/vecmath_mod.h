/* fmod, and remainder with the sign of the divisor (Python's %, torch.remainder). Both are exact.
 *
 * q = trunc(|x| / |y|), r = |x| - q |y| is exact while the quotient is below FBM_MOD_LIMIT: the product is a
 * double, or is subtracted together with its rounding error. Larger quotients need a loop: there the inline
 * functions return NaN, fbm_fmod_any and fbm_remainder_any are right for all arguments, and a kernel picks
 * for a whole block: fbm_all_mod_within(x, y, n) ? fbm_fmod : fbm_fmod_any. */
#ifndef FBM_VECMATH_MOD_H
#define FBM_VECMATH_MOD_H

#include "vecmath_base.h"

#define FBM_MOD_LIMIT_F32 0x1p28
#define FBM_MOD_LIMIT_F64 0x1p52
#define FBM_MOD_TOP_F64 0x1p1020 /* above, q y may overflow before it is subtracted */

/* fmod of a = |x| and b = |y|; inf or NaN out of range, NaN where fmod is. */
FBM_FN float fbm_mod_abs_f32(float af, float bf)
{
    double a = (double)af, b = (double)bf, q = fbm_trunc_f64(a / b), r = a - q * b;
    /* |x| / |y| rounds up to an integer only if it is one: floats that are no multiples differ by 2^-24 at
     * least */
    r = q < FBM_MOD_LIMIT_F32 ? r : (double)NAN;
    float m = (float)r;
    return (bf == INFINITY) & (af < INFINITY) ? af : m;
}

FBM_FN double fbm_mod_abs_f64(double a, double b)
{
    double q = fbm_trunc_f64(a / b), e, p = fbm_two_prod_f64(q, b, &e), r = (a - p) - e;
    r = r < 0 ? r + b : r; /* the quotient had rounded up */
    r = (q < FBM_MOD_LIMIT_F64) & (a < FBM_MOD_TOP_F64) ? r : (double)NAN;
    return (b == (double)INFINITY) & (a < (double)INFINITY) ? a : r;
}

#define FBM_MODS(T, U, S, F, LIMIT, TOP)                                                                    \
    FBM_FN T fbm_fmod_##S(T x, T y)                                                                         \
    {                                                                                                       \
        return __builtin_copysign##F(fbm_mod_abs_##S(__builtin_fabs##F(x), __builtin_fabs##F(y)), x);       \
    }                                                                                                       \
    FBM_FN T fbm_mod_to_remainder_##S(T m, T y)                                                             \
    {                                                                                                       \
        return (m != 0) & ((m < 0) != (y < 0)) ? m + y : m;                                                 \
    }                                                                                                       \
    FBM_FN T fbm_remainder_##S(T x, T y) { return fbm_mod_to_remainder_##S(fbm_fmod_##S(x, y), y); }        \
    /* True when fbm_fmod and fbm_remainder are right for all pairs. */                                     \
    FBM_FN int fbm_all_mod_within_##S(const T *x, const T *y, int64_t n)                                    \
    {                                                                                                       \
        U beyond = 0;                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                   \
            T a = __builtin_fabs##F(x[i]), b = __builtin_fabs##F(y[i]), q = a / b;                          \
            T far = (q >= (T)LIMIT) | (a >= (T)TOP) ? a : 0;                                                \
            beyond |= fbm_bits_##S((a < (T)INFINITY) & (b > 0) ? far : 0);                                  \
        }                                                                                                   \
        return !beyond;                                                                                     \
    }                                                                                                       \
    static inline T fbm_fmod_any_##S(T x, T y)                                                              \
    {                                                                                                       \
        return fbm_all_mod_within_##S(&x, &y, 1) ? fbm_fmod_##S(x, y) : fmod##F(x, y);                      \
    }                                                                                                       \
    static inline T fbm_remainder_any_##S(T x, T y)                                                         \
    {                                                                                                       \
        return fbm_mod_to_remainder_##S(fbm_fmod_any_##S(x, y), y);                                         \
    }

FBM_MODS(float, uint32_t, f32, f, FBM_MOD_LIMIT_F32, INFINITY)
FBM_MODS(double, uint64_t, f64, , FBM_MOD_LIMIT_F64, FBM_MOD_TOP_F64)

#endif
