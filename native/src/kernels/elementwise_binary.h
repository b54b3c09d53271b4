/* Functions of two and three real numbers beyond arithmetic, a line an operator. */
#ifndef FB_KERNELS_ELEMENTWISE_BINARY_H
#define FB_KERNELS_ELEMENTWISE_BINARY_H

#include "kernels/elementwise_body.h"

#define EW_BINARY(OP)                                                                                      \
    OP(pow, EW(power)(x, y))                                                                               \
    OP(atan2, fbm_atan2(x, y))                                                                             \
    OP(hypot, fbm_hypot(x, y))                                                                             \
    OP(copysign, EW(with_sign)(x, y))                                                                      \
    OP(div_trunc, fbm_trunc(x / y))                                                                        \
    OP(logaddexp, EW(log_sum)(x, y))                                                                       \
    OP(logaddexp2, EW(log2_sum)(x, y))                                                                     \
    OP(xlogy, fbm_xlogy(x, y))                                                                             \
    OP(xlog1py, fbm_xlog1py(x, y))                                                                         \
    OP(heaviside, x == 0 ? y : (T)(x > 0))                                                                 \
    OP(sigmoid_backward, x * ((1 - y) * y)) /* of the gradient and the result */                           \
    OP(tanh_backward, x * (1 - y * y))                                                                     \
    OP(angle_backward, (void)x, (void)y, 0)

/* Right for all pairs; a block whose quotients are moderate takes the vector form (EW_BODY_MOD). */
#define EW_MOD(OP)                                                                                         \
    OP(fmod, fmod, fbm_fmod_any(x, y))                                                                     \
    OP(remainder, remainder, fbm_remainder_any(x, y))                                                      \
    OP(floor_divide, fmod, EW(floor_quotient)(x, y, fbm_fmod_any(x, y)))

#define EW_TERNARY(OP)                                                                                     \
    OP(lerp, fbm_abs(z) < (T)0.5 ? x + z * (y - x) : y - (y - x) * (1 - z))                                \
    /* x: gradient, y: base, z: exponent */                                                                \
    OP(pow_backward_self, z == 0 ? 0 : x * (z * EW(power)(y, z - 1)))

/* Helpers that the lines above and other files use. */
#define EW_BINARY_HELPERS(T, S, F, U, SIGN)                                                                \
    /* The usual exponents exactly, wherever they stand: a block of them is then nothing but products. */  \
    FB_INLINE T ew_power_##S(T x, T y)                                                                     \
    {                                                                                                      \
        T r = fbm_pow_##S(x, y);                                                                           \
        r = y == 2 ? x * x : r;                                                                            \
        r = y == 3 ? x * x * x : r;                                                                        \
        r = y == (T)0.5 ? fbm_sqrt_##S(x) : r;                                                             \
        r = y == -(T)0.5 ? fbm_rsqrt_##S(x) : r;                                                           \
        r = y == -1 ? 1 / x : r;                                                                           \
        return y == 1 ? x : r;                                                                             \
    }                                                                                                      \
    FB_INLINE T ew_with_sign_##S(T x, T y) { return __builtin_copysign##F(x, y); }                         \
    /* Of two equal infinities: that infinity. */                                                          \
    FB_INLINE T ew_log_sum_##S(T x, T y) { return fbm_logaddexp_##S(x, y); }                               \
    FB_INLINE T ew_log2_sum_##S(T x, T y)                                                                  \
    {                                                                                                      \
        T most = x > y || x != x ? x : y, d = x == y ? 0 : -fbm_abs_##S(x - y);                            \
        return most + fbm_log1p_##S(fbm_exp2_##S(d)) * (T)FBM_LOG2E;                                       \
    }                                                                                                      \
    /* Python's rule: the floor of the exact quotient, from the remainder m with the sign of x */          \
    FB_INLINE T ew_floor_quotient_##S(T x, T y, T m)                                                       \
    {                                                                                                      \
        T q = (x - m) / y;                                                                                 \
        q = (m != 0) & ((m < 0) != (y < 0)) ? q - 1 : q;                                                   \
        T f = fbm_floor_##S(q);                                                                            \
        f = q - f > (T)0.5 ? f + 1 : f;                                                                    \
        f = q == 0 ? __builtin_copysign##F((T)0, x / y) : f;                                               \
        return y == 0 ? x / y : f;                                                                         \
    }                                                                                                      \
    /* The next number after x towards y: one step of its bits */                                          \
    FB_INLINE T ew_next_##S(T x, T y)                                                                      \
    {                                                                                                      \
        U u;                                                                                               \
        memcpy(&u, &x, sizeof u);                                                                          \
        u += (x < y) == (x > 0) ? 1 : (U)-1;                                                               \
        if (x == 0) u = (y < 0 ? SIGN : 0) | 1;                                                            \
        T r;                                                                                               \
        memcpy(&r, &u, sizeof r);                                                                          \
        return x != x || y != y ? x + y : x == y ? y : r;                                                  \
    }
EW_BINARY_HELPERS(float, f32, f, uint32_t, 0x80000000u)
EW_BINARY_HELPERS(double, f64, , uint64_t, 0x8000000000000000u)

#endif
