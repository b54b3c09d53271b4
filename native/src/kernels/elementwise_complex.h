/* Bodies over complex elements. C is the struct, T its component, S the suffix; x, y, z are the elements. */
#ifndef FB_KERNELS_ELEMENTWISE_COMPLEX_H
#define FB_KERNELS_ELEMENTWISE_COMPLEX_H

#include "kernels/elementwise_body.h"

FB_INLINE fb_c64 ew_number_c64(fb_scalar s) { return (fb_c64){(float)s.re, (float)s.im}; }
FB_INLINE fb_c128 ew_number_c128(fb_scalar s) { return (fb_c128){s.re, s.im}; }

#define EWC_TRUE(x) (((x).re != 0) | ((x).im != 0))
#define EWC_ADD(x, y) ((C){(x).re + (y).re, (x).im + (y).im})
#define EWC_SUB(x, y) ((C){(x).re - (y).re, (x).im - (y).im})
#define EWC_SCALE(x, k) ((C){(x).re * (k), (x).im * (k)})

/* R: the type of the result */
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
#define EWC_BODY3(op, ...)                                                                                 \
    static void BODY(op)(EW_ARGS)                                                                          \
    {                                                                                                      \
        C *o = out[0];                                                                                     \
        const C *a = in[0], *b = in[1], *c = in[2];                                                        \
        (void)params;                                                                                      \
        EW_LOOP { C x = a[i], y = b[i], z = c[i]; o[i] = __VA_ARGS__; }                                    \
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

#endif
