/* Complex numbers for the elementwise bodies: real and imaginary part written out, because C's own _Complex
 * multiplication tests for NaN. C is the struct, T its component, S the suffix.
 *
 * Products, quotients and absolute values follow the textbook; quotients are scaled by the larger component of the
 * divisor (R. L. Smith, "Algorithm 116: Complex division", 1962), so that they overflow only where they must. */
#ifndef FB_KERNELS_ELEMENTWISE_COMPLEX_H
#define FB_KERNELS_ELEMENTWISE_COMPLEX_H

#include "kernels/elementwise_body.h"

typedef struct ew_c64 { float re, im; } ew_c64;
typedef struct ew_c128 { double re, im; } ew_c128;

FB_INLINE ew_c64 ew_number_c64(fb_scalar s) { return (ew_c64){(float)s.re, (float)s.im}; }
FB_INLINE ew_c128 ew_number_c128(fb_scalar s) { return (ew_c128){s.re, s.im}; }

#define EW_COMPLEX_BASICS(T, C, S)                                                                         \
    FB_INLINE C ewc_add_##S(C x, C y) { return (C){x.re + y.re, x.im + y.im}; }                            \
    FB_INLINE C ewc_sub_##S(C x, C y) { return (C){x.re - y.re, x.im - y.im}; }                            \
    FB_INLINE C ewc_mul_##S(C x, C y) { return (C){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; } \
    FB_INLINE C ewc_scale_##S(C x, T k) { return (C){x.re * k, x.im * k}; }                                \
    FB_INLINE C ewc_div_##S(C x, C y)                                                                      \
    {                                                                                                      \
        T ar = fbm_abs(y.re), ai = fbm_abs(y.im);                                                          \
        bool wide = ar >= ai;                                                                              \
        T big = wide ? y.re : y.im, small = wide ? y.im : y.re;                                            \
        T r = small / big;                                                                                 \
        bool zero = (ar == 0) & (ai == 0);                                                                 \
        T scale = zero ? 1 / ar : 1 / (big + small * r);                                                   \
        T p = zero ? x.re : wide ? x.re + x.im * r : x.re * r + x.im;                                      \
        T q = zero ? x.im : wide ? x.im - x.re * r : x.im * r - x.re;                                      \
        return (C){p * scale, q * scale};                                                                  \
    }                                                                                                      \
    FB_INLINE T ewc_abs_##S(C x)                                                                           \
    {                                                                                                      \
        T a = fbm_abs(x.re), b = fbm_abs(x.im), hi = a > b ? a : b, lo = a > b ? b : a;                    \
        bool special = (hi == 0) | (hi - hi != 0) | (b != b) | (a != a);                                   \
        T r = lo / hi, h = hi * fbm_sqrt(1 + r * r), inf = (T)INFINITY;                                    \
        return special ? ((a == inf) | (b == inf) ? inf : a + b) : h;                                      \
    }
EW_COMPLEX_BASICS(float, ew_c64, c64)
EW_COMPLEX_BASICS(double, ew_c128, c128)
#define EWC(f) FB_CAT(FB_CAT(ewc, f), S)

/* A body of complex operands: x, y, z are the elements; R the type of the result. */
#define EWC_BODY1(op, R, ...)                                                                              \
    static void BODY(op)(EW_ARGS)                                                                          \
    {                                                                                                      \
        R *o = out[0];                                                                                     \
        const C *a = in[0];                                                                                \
        (void)params;                                                                                      \
        EW_LOOP { C x = a[i]; o[i] = __VA_ARGS__; }                                                        \
    }
#define EWC_BODY2(op, R, ...)                                                                              \
    static void BODY(op)(EW_ARGS)                                                                          \
    {                                                                                                      \
        R *o = out[0];                                                                                     \
        const C *a = in[0], *b = in[1];                                                                    \
        (void)params;                                                                                      \
        EW_LOOP { C x = a[i], y = b[i]; o[i] = __VA_ARGS__; }                                              \
    }
#define EWC_BODY2P(op, p, ...)                                                                             \
    static void BODY(op)(EW_ARGS)                                                                          \
    {                                                                                                      \
        C *o = out[0];                                                                                     \
        const C *a = in[0], *b = in[1], p = EW_P(op, p);                                                   \
        EW_LOOP { C x = a[i], y = b[i]; o[i] = __VA_ARGS__; }                                              \
    }
#define EWC_BODY3P(op, p, ...)                                                                             \
    static void BODY(op)(EW_ARGS)                                                                          \
    {                                                                                                      \
        C *o = out[0];                                                                                     \
        const C *a = in[0], *b = in[1], *c = in[2], p = EW_P(op, p);                                       \
        EW_LOOP { C x = a[i], y = b[i], z = c[i]; o[i] = __VA_ARGS__; }                                    \
    }

#define EWC_TRUE(x) (((x).re != 0) | ((x).im != 0))
#define EW_COMPLEX_ARITH                                                                                   \
    EWC_BODY1(neg, C, (C){-x.re, -x.im})                                                                   \
    EWC_BODY1(abs, T, EWC(abs)(x))                                                                         \
    EWC_BODY1(square, C, EWC(mul)(x, x))                                                                   \
    EWC_BODY1(reciprocal, C, EWC(div)((C){1, 0}, x))                                                       \
    EWC_BODY2(mul, C, EWC(mul)(x, y))                                                                      \
    EWC_BODY2(div, C, EWC(div)(x, y))                                                                      \
    EWC_BODY2P(add, alpha, EWC(add)(x, EWC(mul)(alpha, y)))                                                \
    EWC_BODY2P(sub, alpha, EWC(sub)(x, EWC(mul)(alpha, y)))                                                \
    EWC_BODY2P(rsub, alpha, EWC(sub)(y, EWC(mul)(alpha, x)))                                               \
    EWC_BODY3P(addcmul, value, EWC(add)(x, EWC(mul)(value, EWC(mul)(y, z))))                               \
    EWC_BODY3P(addcdiv, value, EWC(add)(x, EWC(mul)(value, EWC(div)(y, z))))                               \
    EWC_BODY2(eq, uint8_t, (x.re == y.re) & (x.im == y.im))                                                \
    EWC_BODY2(ne, uint8_t, (x.re != y.re) | (x.im != y.im))                                                \
    EWC_BODY2(logical_and, uint8_t, EWC_TRUE(x) & EWC_TRUE(y))                                             \
    EWC_BODY2(logical_or, uint8_t, EWC_TRUE(x) | EWC_TRUE(y))                                              \
    EWC_BODY2(logical_xor, uint8_t, EWC_TRUE(x) ^ EWC_TRUE(y))

#endif
