/* Bodies of the arithmetic operators, for every dtype but the complex ones (elementwise_complex.h). */
#include "kernels/elementwise_arith.h"
#include "kernels/elementwise_complex.h"

/* alpha is nearly always 1: then the loop is a plain sum, and memory sets its pace. */
#define BODY_SCALED(op, p, ...)                                                                            \
    EW_HEAD2(op, T) EW_PARAM(op, p)                                                                        \
    if (p == 1) {                                                                                          \
        EW_LOOP o[i] = EW(op)(a[i], b[i], (T)1);                                                           \
    } else {                                                                                               \
        EW_LOOP o[i] = EW(op)(a[i], b[i], p);                                                              \
    }                                                                                                      \
    }
/* A bound that is absent has no block. */
#define BODY_CLAMP                                                                                         \
    static void BODY(clamp)(EW_ARGS)                                                                       \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0], *lo = in[1], *hi = in[2];                                                      \
        (void)params;                                                                                      \
        if (lo && hi) {                                                                                    \
            EW_LOOP { T v = EW_LARGER(a[i], lo[i]); o[i] = EW_LESSER(v, hi[i]); }                          \
        } else if (lo) {                                                                                   \
            EW_LOOP o[i] = EW_LARGER(a[i], lo[i]);                                                         \
        } else {                                                                                           \
            EW_LOOP o[i] = EW_LESSER(a[i], hi[i]);                                                         \
        }                                                                                                  \
    }

/* The gradient of clamp for its input (which = 0) or a bound (1 the lower, 2 the upper). */
#define BODY_CLAMP_BACKWARD                                                                                \
    static void BODY(clamp_backward)(EW_ARGS)                                                              \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *g = in[0], *a = in[1], *lo = in[2], *hi = in[3];                                          \
        int64_t which = ((const struct fb_p_clamp_backward *)params)->which;                               \
        EW_LOOP {                                                                                          \
            T x = a[i], l = lo ? lo[i] : -(T)INFINITY, h = hi ? hi[i] : (T)INFINITY;                       \
            bool inside = (x >= l) & (x <= h), at_lo = (x < l) & (l < h), at_hi = (x > h) | (h < l);       \
            o[i] = (which == 0 ? inside : which == 1 ? at_lo : at_hi) ? g[i] : 0;                          \
        }                                                                                                  \
    }

#define FLOAT_TYPE                                                                                         \
    EW_FLOAT_UNARY(EW_FN1) EW_FLOAT_UNARY(EW_BODY1) EW_FLOAT_BINARY(EW_FN2) EW_FLOAT_BINARY(EW_BODY2)      \
    EW_SCALED(EW_FN2P1) EW_SCALED(BODY_SCALED) EW_FLOAT_TERNARY(EW_FN3P1) EW_FLOAT_TERNARY(EW_BODY3P1)     \
    EW_COMPARE_SIGNLESS(EW_TEST2) EW_COMPARE_SIGNLESS(EW_TESTS2)                                           \
    EW_COMPARE_ORDER(EW_TEST2) EW_COMPARE_ORDER(EW_TESTS2) BODY_CLAMP BODY_CLAMP_BACKWARD
#define WRAP_TYPE                                                                                          \
    EW_WRAP_UNARY(EW_FN1) EW_WRAP_UNARY(EW_BODY1) EW_WRAP_BINARY(EW_FN2) EW_WRAP_BINARY(EW_BODY2)          \
    EW_WRAP_SCALED(EW_FN2P1) EW_WRAP_SCALED(BODY_SCALED)                                                   \
    EW_COMPARE_SIGNLESS(EW_TEST2) EW_COMPARE_SIGNLESS(EW_TESTS2)
#define SIGNED_TYPE                                                                                        \
    EW_SIGNED_UNARY(EW_FN1) EW_SIGNED_UNARY(EW_BODY1) EW_SIGNED_BINARY(EW_FN2) EW_SIGNED_BINARY(EW_BODY2)  \
    EW_COMPARE_ORDER(EW_TEST2) EW_COMPARE_ORDER(EW_TESTS2) BODY_CLAMP

#define T float
#define S f32
FLOAT_TYPE
#undef T
#undef S
#define T double
#define S f64
FLOAT_TYPE
#undef T
#undef S

#define W uint32_t
#define T uint8_t
#define S u8
WRAP_TYPE
SIGNED_TYPE
#undef T
#undef S
#define T int8_t
#define S i8
SIGNED_TYPE
#undef T
#undef S
#define T uint16_t
#define S u16
WRAP_TYPE
SIGNED_TYPE
#undef T
#undef S
#define T int16_t
#define S i16
SIGNED_TYPE
#undef T
#undef S
#define T uint32_t
#define S u32
WRAP_TYPE
SIGNED_TYPE
#undef T
#undef S
#define T int32_t
#define S i32
SIGNED_TYPE
#undef T
#undef S
#undef W
#define W uint64_t
#define T uint64_t
#define S u64
WRAP_TYPE
SIGNED_TYPE
EW_WRAP_TERNARY(EW_FN3P1)
EW_WRAP_TERNARY(EW_BODY3P1)
#undef T
#undef S
#define T int64_t
#define S i64
SIGNED_TYPE
#undef T
#undef S
#undef W

/* ---- bool: 0 and 1 in a byte -------------------------------------------------------------------- */
#define BOOL_UNARY(OP) OP(square, x) OP(sign, x) OP(bitwise_not, !x)
#define BOOL_BINARY(OP)                                                                                    \
    OP(mul, x & y) OP(maximum, x | y) OP(minimum, x & y) OP(bitwise_and, x & y) OP(bitwise_or, x | y)      \
    OP(bitwise_xor, x ^ y) OP(eq, x == y) OP(ne, x != y) OP(lt, x < y) OP(le, x <= y) OP(gt, x > y)        \
    OP(ge, x >= y) OP(logical_and, x & y) OP(logical_or, x | y) OP(logical_xor, x ^ y)
#define T uint8_t
#define S b8
BOOL_UNARY(EW_FN1)
BOOL_UNARY(EW_BODY1)
BOOL_BINARY(EW_FN2)
BOOL_BINARY(EW_BODY2)
static void body_add_b8(EW_ARGS)
{
    uint8_t *o = out[0];
    const uint8_t *a = in[0], *b = in[1];
    const struct fb_p_add *p = params;
    uint8_t alpha = p->alpha.re != 0 || p->alpha.i != 0;
    EW_LOOP o[i] = a[i] | (alpha & b[i]);
}
#undef T
#undef S

/* ---- complex ------------------------------------------------------------------------------------ */
#define COMPLEX_TYPE                                                                                       \
    EWC_BODY1(neg, C, (C){-x.re, -x.im})                                                                   \
    EWC_BODY1(abs, T, fbm_cabs(x))                                                                         \
    EWC_BODY1(sgn, C, fbm_cabs(x) == 0 ? (C){0, 0} : (C){x.re / fbm_cabs(x), x.im / fbm_cabs(x)})          \
    EWC_BODY1(square, C, fbm_cmul(x, x))                                                                   \
    EWC_BODY1(reciprocal, C, fbm_cdiv(((C){1, 0}), x))                                                     \
    EWC_BODY2(mul, C, fbm_cmul(x, y))                                                                      \
    EWC_BODY2(div, C, fbm_cdiv(x, y))                                                                      \
    EWC_BODY2P(add, alpha, EWC_ADD(x, fbm_cmul(alpha, y)))                                                 \
    EWC_BODY2P(sub, alpha, EWC_SUB(x, fbm_cmul(alpha, y)))                                                 \
    EWC_BODY2P(rsub, alpha, EWC_SUB(y, fbm_cmul(alpha, x)))                                                \
    EWC_BODY3P(addcmul, value, EWC_ADD(x, fbm_cmul(value, fbm_cmul(y, z))))                                \
    EWC_BODY3P(addcdiv, value, EWC_ADD(x, fbm_cmul(value, fbm_cdiv(y, z))))                                \
    EWC_BODY2(eq, uint8_t, (x.re == y.re) & (x.im == y.im))                                                \
    EWC_BODY2(ne, uint8_t, (x.re != y.re) | (x.im != y.im))                                                \
    EWC_BODY2(logical_and, uint8_t, EWC_TRUE(x) & EWC_TRUE(y))                                             \
    EWC_BODY2(logical_or, uint8_t, EWC_TRUE(x) | EWC_TRUE(y))                                              \
    EWC_BODY2(logical_xor, uint8_t, EWC_TRUE(x) ^ EWC_TRUE(y))
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

/* ---- choosing: by the width of an element only -------------------------------------------------- */
typedef struct wide { uint64_t lo, hi; } wide;
#define CHOOSE(T, S)                                                                                       \
    static void body_where_##S(EW_ARGS)                                                                    \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const uint8_t *c = in[0];                                                                          \
        const T *a = in[1], *b = in[2];                                                                    \
        (void)params;                                                                                      \
        EW_LOOP o[i] = c[i] ? a[i] : b[i];                                                                 \
    }                                                                                                      \
    static void body_masked_fill_##S(EW_ARGS) /* self, mask, value */                                      \
    {                                                                                                      \
        void *const as_where[] = {in[1], in[2], in[0]};                                                    \
        body_where_##S(n, out, as_where, params);                                                          \
    }
CHOOSE(uint8_t, 1)
CHOOSE(uint16_t, 2)
CHOOSE(uint32_t, 4)
CHOOSE(uint64_t, 8)
CHOOSE(wide, 16)
#define TABLE_CHOICE(op)                                                                                   \
    EW_TABLE(op, [FB_BOOL] = body_##op##_1, [FB_U8] = body_##op##_1, [FB_I8] = body_##op##_1, [FB_I16] = body_##op##_2,  \
             [FB_U16] = body_##op##_2, [FB_F16] = body_##op##_2, [FB_BF16] = body_##op##_2, [FB_I32] = body_##op##_4,    \
             [FB_U32] = body_##op##_4, [FB_F32] = body_##op##_4, [FB_I64] = body_##op##_8, [FB_U64] = body_##op##_8,     \
             [FB_F64] = body_##op##_8, [FB_C64] = body_##op##_8, [FB_C128] = body_##op##_16,                             \
             [FB_F8E4M3FN] = body_##op##_1, [FB_F8E5M2] = body_##op##_1)
TABLE_CHOICE(where)
TABLE_CHOICE(masked_fill)

/* ---- tables ------------------------------------------------------------------------------------- */
EW_TABLE(neg, EW_FLOATS(neg), EW_WRAPS(neg), EW_COMPLEXES(neg))
EW_TABLE(abs, EW_FLOATS(abs), EW_INTS(abs), EW_COMPLEXES(abs))
EW_TABLE(square, EW_FLOATS(square), EW_WRAPS(square), EW_BOOL(square), EW_COMPLEXES(square))
EW_TABLE(sign, EW_FLOATS(sign), EW_INTS(sign), EW_BOOL(sign))
EW_TABLE(sgn, EW_FLOATS(sign), EW_INTS(sign), EW_BOOL(sign), EW_COMPLEXES(sgn))
EW_TABLE(relu, EW_FLOATS(relu), EW_INTS(relu))
EW_TABLE(reciprocal, EW_FLOATS(reciprocal), EW_COMPLEXES(reciprocal))
EW_TABLE(bitwise_not, EW_WRAPS(bitwise_not), EW_BOOL(bitwise_not))
EW_TABLE(add, EW_FLOATS(add), EW_WRAPS(add), EW_BOOL(add), EW_COMPLEXES(add))
EW_TABLE(sub, EW_FLOATS(sub), EW_WRAPS(sub), EW_COMPLEXES(sub))
EW_TABLE(rsub, EW_FLOATS(rsub), EW_WRAPS(rsub), EW_COMPLEXES(rsub))
EW_TABLE(mul, EW_FLOATS(mul), EW_WRAPS(mul), EW_BOOL(mul), EW_COMPLEXES(mul))
EW_TABLE(div, EW_FLOATS(div), EW_COMPLEXES(div))
EW_TABLE(addcmul, EW_FLOATS(addcmul), [FB_I64] = body_addcmul_u64, [FB_U64] = body_addcmul_u64, EW_COMPLEXES(addcmul))
EW_TABLE(addcdiv, EW_FLOATS(addcdiv), EW_COMPLEXES(addcdiv))
EW_TABLE(maximum, EW_FLOATS(maximum), EW_INTS(maximum), EW_BOOL(maximum))
EW_TABLE(minimum, EW_FLOATS(minimum), EW_INTS(minimum), EW_BOOL(minimum))
EW_TABLE(fmax, EW_FLOATS(fmax), [FB_U8] = body_maximum_u8, [FB_I8] = body_maximum_i8, [FB_I16] = body_maximum_i16,
         [FB_U16] = body_maximum_u16, [FB_I32] = body_maximum_i32, [FB_U32] = body_maximum_u32,
         [FB_I64] = body_maximum_i64, [FB_U64] = body_maximum_u64, [FB_BOOL] = body_maximum_b8)
EW_TABLE(fmin, EW_FLOATS(fmin), [FB_U8] = body_minimum_u8, [FB_I8] = body_minimum_i8, [FB_I16] = body_minimum_i16,
         [FB_U16] = body_minimum_u16, [FB_I32] = body_minimum_i32, [FB_U32] = body_minimum_u32,
         [FB_I64] = body_minimum_i64, [FB_U64] = body_minimum_u64, [FB_BOOL] = body_minimum_b8)
EW_TABLE(clamp, EW_FLOATS(clamp), EW_INTS(clamp))
EW_TABLE_F(clamp_backward)
EW_TABLE(bitwise_and, EW_WRAPS(bitwise_and), EW_BOOL(bitwise_and))
EW_TABLE(bitwise_or, EW_WRAPS(bitwise_or), EW_BOOL(bitwise_or))
EW_TABLE(bitwise_xor, EW_WRAPS(bitwise_xor), EW_BOOL(bitwise_xor))
#define TABLE_SIGNLESS(op, ...) EW_TABLE(op, EW_FLOATS(op), EW_WRAPS(op), EW_BOOL(op), EW_COMPLEXES(op))
EW_COMPARE_SIGNLESS(TABLE_SIGNLESS)
#define TABLE_ORDER(op, ...) EW_TABLE(op, EW_FLOATS(op), EW_INTS(op), EW_BOOL(op))
EW_COMPARE_ORDER(TABLE_ORDER)
