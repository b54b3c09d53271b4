/* How a line "operator, formula" becomes a scalar function, a body and a table of bodies.
 *
 * A file defines T (the C type) and S (its suffix), expands its lists of lines with the macros below, and does so
 * again for the next type. EW(op) is the scalar function ew_<op>_<S>, BODY(op) the body body_<op>_<S>.
 *
 * Loops carry "ivdep": an output may be exactly an input, which is no dependence between iterations, but keeps
 * restrict from being true. */
#ifndef FB_KERNELS_ELEMENTWISE_BODY_H
#define FB_KERNELS_ELEMENTWISE_BODY_H

#include "kernels/elementwise.h"
#include "kernels/isa.h"
#include "kernels/vecmath.h"
#include "params.gen.h"

#define EW(op) FB_CAT(FB_CAT(ew, op), S)
#define BODY(op) FB_CAT(FB_CAT(body, op), S)
#define EW_LOOP _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#define EW_ARGS int64_t n, void *const *out, void *const *in, const void *params

/* A parameter as a number of type T: EW_P(add, alpha) */
#define EW_P(op, field) FB_CAT(ew_number, S)(EW_AS_SCALAR(((const struct fb_p_##op *)params)->field))
#define EW_AS_SCALAR(v) _Generic((v), fb_scalar: ew_same, double: fb_float, int64_t: fb_int, bool: fb_boolean)(v)
FB_INLINE fb_scalar ew_same(fb_scalar s) { return s; }
FB_INLINE float ew_number_f32(fb_scalar s) { return (float)s.re; }
FB_INLINE double ew_number_f64(fb_scalar s) { return s.re; }
#define EW_NUMBER_INT(T, S) \
    FB_INLINE T ew_number_##S(fb_scalar s) { return (T)(s.kind == FB_S_FLOAT ? (int64_t)s.re : s.i); }
EW_NUMBER_INT(uint8_t, u8)
EW_NUMBER_INT(int8_t, i8)
EW_NUMBER_INT(uint16_t, u16)
EW_NUMBER_INT(int16_t, i16)
EW_NUMBER_INT(uint32_t, u32)
EW_NUMBER_INT(int32_t, i32)
EW_NUMBER_INT(uint64_t, u64)
EW_NUMBER_INT(int64_t, i64)

/* ---- scalar functions: of x; x and y; x, y and z; with parameters after them ------------------------ */
#define EW_FN1(op, ...) FB_INLINE T EW(op)(T x) { return (T)(__VA_ARGS__); }
#define EW_FN2(op, ...) FB_INLINE T EW(op)(T x, T y) { return (T)(__VA_ARGS__); }
#define EW_FN3(op, ...) FB_INLINE T EW(op)(T x, T y, T z) { return (T)(__VA_ARGS__); }
#define EW_FN1P1(op, p, ...) FB_INLINE T EW(op)(T x, T p) { return (T)(__VA_ARGS__); }
#define EW_FN1P2(op, p, q, ...) FB_INLINE T EW(op)(T x, T p, T q) { return (T)(__VA_ARGS__); }
#define EW_FN1P3(op, p, q, r, ...) FB_INLINE T EW(op)(T x, T p, T q, T r) { return (T)(__VA_ARGS__); }
#define EW_FN2P1(op, p, ...) FB_INLINE T EW(op)(T x, T y, T p) { return (T)(__VA_ARGS__); }
#define EW_FN2P2(op, p, q, ...) FB_INLINE T EW(op)(T x, T y, T p, T q) { return (T)(__VA_ARGS__); }
#define EW_FN3P1(op, p, ...) FB_INLINE T EW(op)(T x, T y, T z, T p) { return (T)(__VA_ARGS__); }
#define EW_TEST1(op, ...) FB_INLINE uint8_t EW(op)(T x) { return (__VA_ARGS__); }
#define EW_TEST2(op, ...) FB_INLINE uint8_t EW(op)(T x, T y) { return (__VA_ARGS__); }

/* ---- bodies ----------------------------------------------------------------------------------------- */
#define EW_HEAD1(op, R)                                                                                    \
    static void BODY(op)(EW_ARGS)                                                                          \
    {                                                                                                      \
        R *o = out[0];                                                                                     \
        const T *a = in[0];                                                                                \
        (void)params;
#define EW_HEAD2(op, R) EW_HEAD1(op, R) const T *b = in[1];
#define EW_HEAD3(op, R) EW_HEAD2(op, R) const T *c = in[2];
#define EW_PARAM(op, p) const T p = EW_P(op, p);

#define EW_BODY1(op, ...) EW_HEAD1(op, T) EW_LOOP o[i] = EW(op)(a[i]); }
#define EW_BODY2(op, ...) EW_HEAD2(op, T) EW_LOOP o[i] = EW(op)(a[i], b[i]); }
#define EW_BODY3(op, ...) EW_HEAD3(op, T) EW_LOOP o[i] = EW(op)(a[i], b[i], c[i]); }
#define EW_BODY1P1(op, p, ...) EW_HEAD1(op, T) EW_PARAM(op, p) EW_LOOP o[i] = EW(op)(a[i], p); }
#define EW_BODY1P2(op, p, q, ...) EW_HEAD1(op, T) EW_PARAM(op, p) EW_PARAM(op, q) EW_LOOP o[i] = EW(op)(a[i], p, q); }
#define EW_BODY1P3(op, p, q, r, ...)                                                                       \
    EW_HEAD1(op, T) EW_PARAM(op, p) EW_PARAM(op, q) EW_PARAM(op, r) EW_LOOP o[i] = EW(op)(a[i], p, q, r); }
#define EW_BODY2P1(op, p, ...) EW_HEAD2(op, T) EW_PARAM(op, p) EW_LOOP o[i] = EW(op)(a[i], b[i], p); }
#define EW_BODY2P2(op, p, q, ...)                                                                          \
    EW_HEAD2(op, T) EW_PARAM(op, p) EW_PARAM(op, q) EW_LOOP o[i] = EW(op)(a[i], b[i], p, q); }
#define EW_BODY3P1(op, p, ...) EW_HEAD3(op, T) EW_PARAM(op, p) EW_LOOP o[i] = EW(op)(a[i], b[i], c[i], p); }
#define EW_TESTS1(op, ...) EW_HEAD1(op, uint8_t) EW_LOOP o[i] = EW(op)(a[i]); }
#define EW_TESTS2(op, ...) EW_HEAD2(op, uint8_t) EW_LOOP o[i] = EW(op)(a[i], b[i]); }

/* ---- tables ----------------------------------------------------------------------------------------- */
#define EW_TABLE(op, ...) extern const fb_block_fn FB_K(fb_bodies_##op)[]; \
    const fb_block_fn FB_K(fb_bodies_##op)[FB_N_DTYPES] = {__VA_ARGS__};
#define EW_FLOATS(op) [FB_F32] = body_##op##_f32, [FB_F64] = body_##op##_f64
#define EW_COMPLEXES(op) [FB_C64] = body_##op##_c64, [FB_C128] = body_##op##_c128
#define EW_BOOL(op) [FB_BOOL] = body_##op##_b8
/* where the sign of an integer makes no difference: the unsigned bodies serve both */
#define EW_WRAPS(op)                                                                                       \
    [FB_U8] = body_##op##_u8, [FB_I8] = body_##op##_u8, [FB_I16] = body_##op##_u16, [FB_U16] = body_##op##_u16,      \
    [FB_I32] = body_##op##_u32, [FB_U32] = body_##op##_u32, [FB_I64] = body_##op##_u64, [FB_U64] = body_##op##_u64
#define EW_INTS(op)                                                                                        \
    [FB_U8] = body_##op##_u8, [FB_I8] = body_##op##_i8, [FB_I16] = body_##op##_i16, [FB_U16] = body_##op##_u16,      \
    [FB_I32] = body_##op##_i32, [FB_U32] = body_##op##_u32, [FB_I64] = body_##op##_i64, [FB_U64] = body_##op##_u64
/* rare operators: the narrower integers run in int64 (staged) */
#define EW_LONGS(op) [FB_I64] = body_##op##_i64, [FB_U64] = body_##op##_u64
#define EW_TABLE_F(op, ...) EW_TABLE(op, EW_FLOATS(op))
#define EW_TABLE_FC(op, ...) EW_TABLE(op, EW_FLOATS(op), EW_COMPLEXES(op))

#endif
