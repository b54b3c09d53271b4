/* Bodies of the functions of two and three numbers. */
#include "kernels/elementwise_binary.h"
#include "kernels/elementwise_complex.h"

enum { SHORT = 1024 }; /* elements looked at before they are computed: they stay in L1 */

/* pow: a block with one exponent throughout needs no general power where that is a usual one. */
#define BODY_POW                                                                                           \
    static void BODY(pow)(EW_ARGS)                                                                         \
    {                                                                                                      \
        (void)params;                                                                                      \
        for (int64_t at = 0; at < n; at += SHORT) {                                                        \
            int64_t m = FB_MIN(n - at, SHORT);                                                             \
            T *o = (T *)out[0] + at;                                                                       \
            const T *a = (const T *)in[0] + at, *b = (const T *)in[1] + at, y = b[0];                      \
            int differ = 0;                                                                                \
            for (int64_t i = 0; i < m; i++) differ |= b[i] != y;                                           \
            bool same = !differ;                                                                           \
            if (same && y == 2) {                                                                          \
                POW_LOOP o[i] = a[i] * a[i];                                                               \
            } else if (same && y == 3) {                                                                   \
                POW_LOOP o[i] = a[i] * a[i] * a[i];                                                        \
            } else if (same && y == (T)0.5) {                                                              \
                POW_LOOP o[i] = fbm_sqrt(a[i]);                                                            \
            } else if (same && y == -(T)0.5) {                                                             \
                POW_LOOP o[i] = fbm_rsqrt(a[i]);                                                           \
            } else if (same && y == -1) {                                                                  \
                POW_LOOP o[i] = 1 / a[i];                                                                  \
            } else if (same && y != 1) {                                                                   \
                POW_LOOP o[i] = fbm_pow(a[i], y);                                                          \
            } else {                                                                                       \
                POW_LOOP o[i] = EW(power)(a[i], b[i]);                                                     \
            }                                                                                              \
        }                                                                                                  \
    }
#define POW_LOOP _Pragma("GCC ivdep") for (int64_t i = 0; i < m; i++)

#define EW_FN_MOD(op, mod, ...) EW_FN2(op, __VA_ARGS__)
#define EW_BODY_MOD(op, mod, ...)                                                                          \
    static void BODY(op)(EW_ARGS)                                                                          \
    {                                                                                                      \
        (void)params;                                                                                      \
        for (int64_t at = 0; at < n; at += SHORT) {                                                        \
            int64_t m = FB_MIN(n - at, SHORT);                                                             \
            T *o = (T *)out[0] + at;                                                                       \
            const T *a = (const T *)in[0] + at, *b = (const T *)in[1] + at;                                \
            if (FB_CAT(fbm_all_mod_within, S)(a, b, m)) {                                                  \
                POW_LOOP { T x = a[i], y = b[i], r = fbm_##mod(x, y); o[i] = MOD_##op(x, y, r); }          \
            } else {                                                                                       \
                for (int64_t i = 0; i < m; i++) o[i] = EW(op)(a[i], b[i]);                                 \
            }                                                                                              \
        }                                                                                                  \
    }
#define MOD_fmod(x, y, r) r
#define MOD_remainder(x, y, r) r
#define MOD_floor_divide(x, y, r) EW(floor_quotient)(x, y, r)

#define BODY_SIMPLE(op, ...) EW_BODY2(op, __VA_ARGS__)
#define EW_SIMPLE(OP) /* EW_BINARY without pow */                                                          \
    OP(atan2, ) OP(hypot, ) OP(copysign, ) OP(div_trunc, ) OP(logaddexp, ) OP(logaddexp2, ) OP(xlogy, )    \
    OP(xlog1py, ) OP(heaviside, ) OP(sigmoid_backward, ) OP(tanh_backward, ) OP(angle_backward, )

/* x: gradient, y: base, z: exponent, w: the power itself */
#define BODY_POW_EXPONENT                                                                                  \
    static void BODY(pow_backward_exponent)(EW_ARGS)                                                       \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *g = in[0], *a = in[1], *b = in[2], *p = in[3];                                            \
        (void)params;                                                                                      \
        EW_LOOP { T r = g[i] * (p[i] * fbm_log(a[i])); o[i] = (a[i] == 0) & (b[i] >= 0) ? 0 : r; }         \
    }
/* With eps, nothing flows where the input was clamped; without, NaN outside [0, 1]. */
#define BODY_LOGIT_BACKWARD                                                                                \
    static void BODY(logit_backward)(EW_ARGS)                                                              \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *g = in[0], *a = in[1];                                                                    \
        fb_scalar eps = ((const struct fb_p_logit_backward *)params)->eps;                                 \
        bool bounded = eps.kind != FB_S_NONE && eps.re >= 0;                                               \
        T lo = bounded ? (T)eps.re : 0, hi = bounded ? 1 - (T)eps.re : 1, outside = bounded ? 0 : (T)NAN;  \
        EW_LOOP { T x = a[i], r = g[i] / (x * (1 - x)); o[i] = (x < lo) | (x > hi) ? outside : r; }        \
    }

#define REAL_TYPE                                                                                          \
    EW_BINARY(EW_FN2) BODY_POW EW_SIMPLE(BODY_SIMPLE) EW_MOD(EW_FN_MOD) EW_MOD(EW_BODY_MOD)                \
    EW_TERNARY(EW_FN3) EW_TERNARY(EW_BODY3) BODY_POW_EXPONENT BODY_LOGIT_BACKWARD                          \
    static void BODY(nextafter)(EW_ARGS)                                                                   \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0], *b = in[1];                                                                    \
        (void)params;                                                                                      \
        EW_LOOP o[i] = EW(next)(a[i], b[i]);                                                               \
    }                                                                                                      \
    static void BODY(polar)(EW_ARGS) /* absolute value, angle */                                           \
    {                                                                                                      \
        C *o = out[0];                                                                                     \
        const T *a = in[0], *b = in[1];                                                                    \
        (void)params;                                                                                      \
        for (int64_t i = 0; i < n; i++) o[i] = (C){a[i] * fbm_cos_any(b[i]), a[i] * fbm_sin_any(b[i])};    \
    }                                                                                                      \
    static void BODY(complex)(EW_ARGS)                                                                     \
    {                                                                                                      \
        C *o = out[0];                                                                                     \
        const T *a = in[0], *b = in[1];                                                                    \
        (void)params;                                                                                      \
        for (int64_t i = 0; i < n; i++) o[i] = (C){a[i], b[i]};                                            \
    }
#define T float
#define C fb_c64
#define S f32
REAL_TYPE
#undef T
#undef C
#undef S
#define T double
#define C fb_c128
#define S f64
REAL_TYPE
#undef T
#undef C
#undef S

/* ---- complex ------------------------------------------------------------------------------------ */
#define EWC_ONE ((C){1, 0})
#define EWC_CONJ(x) ((C){(x).re, -(x).im})
#define COMPLEX_TYPE                                                                                       \
    FB_INLINE C EW(power)(C x, C y)                                                                        \
    {                                                                                                      \
        if (y.im == 0) {                                                                                   \
            if (y.re == 2) return fbm_cmul(x, x);                                                          \
            if (y.re == 3) return fbm_cmul(fbm_cmul(x, x), x);                                             \
            if (y.re == 1) return x;                                                                       \
            if (y.re == 0) return EWC_ONE;                                                                 \
            if (y.re == -1) return fbm_cdiv(EWC_ONE, x);                                                   \
            if (y.re == 0.5) return fbm_csqrt(x);                                                          \
        }                                                                                                  \
        return fbm_cpow(x, y);                                                                             \
    }                                                                                                      \
    FB_INLINE C EW(scaled)(C x, T k) { return EWC_SCALE(x, k); }                                           \
    FB_INLINE C EW(log_sum)(C x, C y) /* log(exp(x) + exp(y)) */                                           \
    {                                                                                                      \
        bool first = x.re >= y.re;                                                                         \
        C most = first ? x : y, least = first ? y : x;                                                     \
        if (least.re == -(T)INFINITY || most.re == (T)INFINITY) return most;                               \
        return EWC_ADD(most, fbm_clog1p(fbm_cexp(EWC_SUB(least, most))));                                  \
    }                                                                                                      \
    EWC_BODY2(logaddexp, C, EW(log_sum)(x, y))                                                             \
    EWC_BODY2(pow, C, EW(power)(x, y))                                                                     \
    EWC_BODY2(sigmoid_backward, C, fbm_cmul(x, EWC_CONJ(fbm_cmul(EWC_SUB(EWC_ONE, y), y))))                \
    EWC_BODY2(tanh_backward, C, fbm_cmul(x, EWC_CONJ(EWC_SUB(EWC_ONE, fbm_cmul(y, y)))))                   \
    EWC_BODY3(lerp, fbm_cabs(z) < (T)0.5 ? EWC_ADD(x, fbm_cmul(z, EWC_SUB(y, x)))                          \
                                         : EWC_SUB(y, fbm_cmul(EWC_SUB(y, x), EWC_SUB(EWC_ONE, z))))       \
    EWC_BODY3(pow_backward_self, !EWC_TRUE(z) ? (C){0, 0}                                                  \
              : fbm_cmul(x, EWC_CONJ(fbm_cmul(z, EW(power)(y, EWC_SUB(z, EWC_ONE))))))                     \
    static void BODY(pow_backward_exponent)(EW_ARGS)                                                       \
    {                                                                                                      \
        C *o = out[0];                                                                                     \
        const C *g = in[0], *a = in[1], *b = in[2], *p = in[3];                                            \
        (void)params;                                                                                      \
        for (int64_t i = 0; i < n; i++)                                                                    \
            o[i] = !EWC_TRUE(a[i]) && b[i].re >= 0 ? (C){0, 0}                                             \
                                                   : fbm_cmul(g[i], EWC_CONJ(fbm_cmul(p[i], fbm_clog(a[i])))); \
    }                                                                                                      \
    /* slots cc->c; the gradient's real part counts: x is real promoted, y the input */                    \
    EWC_BODY2(angle_backward, C, !EWC_TRUE(y) ? (C){0, 0}                                                  \
              : (C){x.re * (-y.im / (y.re * y.re + y.im * y.im)), x.re * (y.re / (y.re * y.re + y.im * y.im))}) \
    /* x: input, y: gradient, z: its sgn */                                                                \
    EWC_BODY3(sgn_backward, fbm_cabs(x) == 0 ? (C){0, 0}                                                   \
              : EW(scaled)(EWC_SUB(y, EWC_SCALE(z, y.re * z.re + y.im * z.im)), 1 / fbm_cabs(x)))
#define T float
#define C fb_c64
#define S c64
COMPLEX_TYPE
#undef T
#undef C
#undef S
#define T double
#define C fb_c128
#define S c128
COMPLEX_TYPE
#undef T
#undef C
#undef S
#define ZERO_OF(T, S)                                                                                      \
    static void body_sgn_backward_##S(EW_ARGS)                                                             \
    {                                                                                                      \
        (void)in, (void)params;                                                                            \
        memset(out[0], 0, (size_t)n * sizeof(T));                                                          \
    }
ZERO_OF(float, f32)
ZERO_OF(double, f64)

/* ---- integers: int64 and uint64; narrower ones are widened -------------------------------------- */
/* -1 apart, because the least number has no quotient by it. */
FB_INLINE int64_t trunc_i64(int64_t x, int64_t y) { return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y; }
FB_INLINE int64_t fmod_i64(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }
FB_INLINE int64_t remainder_i64(int64_t x, int64_t y)
{
    int64_t r = fmod_i64(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
FB_INLINE int64_t floor_i64(int64_t x, int64_t y)
{
    int64_t q = trunc_i64(x, y);
    return fmod_i64(x, y) != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}
FB_INLINE uint64_t power_u64(uint64_t x, uint64_t y)
{
    uint64_t r = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) r *= x;
    return r;
}
FB_INLINE int64_t power_i64(int64_t x, int64_t y)
{
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0; /* the fraction is cut off */
    return (int64_t)power_u64((uint64_t)x, (uint64_t)y);
}
FB_INLINE uint64_t gcd_u64(uint64_t x, uint64_t y)
{
    while (y) {
        uint64_t t = x % y;
        x = y;
        y = t;
    }
    return x;
}
FB_INLINE uint64_t magnitude(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }
FB_INLINE int64_t gcd_i64(int64_t x, int64_t y) { return (int64_t)gcd_u64(magnitude(x), magnitude(y)); }
FB_INLINE uint64_t lcm_u64(uint64_t x, uint64_t y) { return x == 0 || y == 0 ? 0 : x / gcd_u64(x, y) * y; }
FB_INLINE int64_t lcm_i64(int64_t x, int64_t y) { return (int64_t)magnitude((int64_t)lcm_u64(magnitude(x), magnitude(y))); }

#define INT_BINARY(T, S, op, ...)                                                                          \
    static void body_##op##_##S(EW_ARGS)                                                                   \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0], *b = in[1];                                                                    \
        (void)params;                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            T x = a[i], y = b[i];                                                                          \
            o[i] = (T)(__VA_ARGS__);                                                                       \
        }                                                                                                  \
    }
INT_BINARY(int64_t, i64, div_trunc, trunc_i64(x, y))
INT_BINARY(int64_t, i64, floor_divide, floor_i64(x, y))
INT_BINARY(int64_t, i64, fmod, fmod_i64(x, y))
INT_BINARY(int64_t, i64, remainder, remainder_i64(x, y))
INT_BINARY(int64_t, i64, pow, power_i64(x, y))
INT_BINARY(int64_t, i64, gcd, gcd_i64(x, y))
INT_BINARY(int64_t, i64, lcm, lcm_i64(x, y))
INT_BINARY(int64_t, i64, heaviside, x == 0 ? y : x > 0)
/* a distance outside the width shifts everything out */
INT_BINARY(int64_t, i64, bitwise_left_shift, y < 0 || y > 63 ? 0 : (uint64_t)x << y)
INT_BINARY(int64_t, i64, bitwise_right_shift, x >> (y < 0 || y > 63 ? 63 : y))
INT_BINARY(uint64_t, u64, div_trunc, x / y)
INT_BINARY(uint64_t, u64, fmod, x % y)
INT_BINARY(uint64_t, u64, pow, power_u64(x, y))
INT_BINARY(uint64_t, u64, gcd, gcd_u64(x, y))
INT_BINARY(uint64_t, u64, lcm, lcm_u64(x, y))
INT_BINARY(uint64_t, u64, heaviside, x == 0 ? y : 1)
INT_BINARY(uint64_t, u64, bitwise_left_shift, y > 63 ? 0 : x << y)
INT_BINARY(uint64_t, u64, bitwise_right_shift, y > 63 ? 0 : x >> y)
INT_BINARY(uint8_t, b8, heaviside, x ? 1 : y)

/* ---- tables ------------------------------------------------------------------------------------- */
EW_TABLE(pow, EW_FLOATS(pow), EW_COMPLEXES(pow), EW_LONGS(pow))
EW_TABLE(pow_backward_self, EW_FLOATS(pow_backward_self), EW_COMPLEXES(pow_backward_self))
EW_TABLE(pow_backward_exponent, EW_FLOATS(pow_backward_exponent), EW_COMPLEXES(pow_backward_exponent))
EW_TABLE_F(atan2)
EW_TABLE_F(hypot)
EW_TABLE_F(copysign)
EW_TABLE_FC(logaddexp)
EW_TABLE_F(logaddexp2)
EW_TABLE_F(xlogy)
EW_TABLE_F(xlog1py)
EW_TABLE_F(nextafter)
EW_TABLE_F(logit_backward)
EW_TABLE(polar, EW_FLOATS(polar))
EW_TABLE(complex, EW_FLOATS(complex))
EW_TABLE_FC(lerp)
EW_TABLE_FC(sigmoid_backward)
EW_TABLE_FC(tanh_backward)
EW_TABLE_FC(angle_backward)
EW_TABLE_FC(sgn_backward)
EW_TABLE(div_trunc, EW_FLOATS(div_trunc), EW_LONGS(div_trunc))
EW_TABLE(fmod, EW_FLOATS(fmod), EW_LONGS(fmod))
EW_TABLE(remainder, EW_FLOATS(remainder), [FB_I64] = body_remainder_i64, [FB_U64] = body_fmod_u64)
EW_TABLE(floor_divide, EW_FLOATS(floor_divide), [FB_I64] = body_floor_divide_i64, [FB_U64] = body_div_trunc_u64)
EW_TABLE(heaviside, EW_FLOATS(heaviside), EW_LONGS(heaviside), EW_BOOL(heaviside))
EW_TABLE(gcd, EW_LONGS(gcd))
EW_TABLE(lcm, EW_LONGS(lcm))
EW_TABLE(bitwise_left_shift, EW_LONGS(bitwise_left_shift))
EW_TABLE(bitwise_right_shift, EW_LONGS(bitwise_right_shift))
