/* Bodies of elementary and special functions, rounding and tests, for real and complex numbers. */
#include "kernels/elementwise_math.h"
#include "kernels/elementwise_complex.h"

/* A whole block takes the vector form where all its arguments allow that; a block is short, so that the look at
 * them costs no second trip to memory. */
#define EW_BODY_TRIG(op, ...)                                                                              \
    EW_HEAD1(op, T)                                                                                        \
    for (int64_t at = 0; at < n; at += 1024) {                                                             \
        int64_t m = FB_MIN(n - at, 1024);                                                                  \
        const T *x = a + at;                                                                               \
        T *y = o + at;                                                                                     \
        if (FB_CAT(fbm_all_within, S)(x, m, (T)FBM_TRIG_LIMIT)) {                                          \
            _Pragma("GCC ivdep") for (int64_t i = 0; i < m; i++) y[i] = fbm_##op(x[i]);                    \
        } else {                                                                                           \
            for (int64_t i = 0; i < m; i++) y[i] = EW(op)(x[i]);                                           \
        }                                                                                                  \
    }                                                                                                      \
    }

#define ROUND_BODY /* decimals: x is scaled by a power of ten around the rounding */                       \
    static void BODY(round)(EW_ARGS)                                                                       \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0];                                                                                \
        int64_t decimals = ((const struct fb_p_round *)params)->decimals;                                  \
        T ten = (T)pow(10, (double)(decimals < 0 ? -decimals : decimals));                                 \
        if (decimals == 0) {                                                                               \
            EW_LOOP o[i] = fbm_round(a[i]);                                                                \
        } else if (decimals > 0) {                                                                         \
            EW_LOOP o[i] = fbm_round(a[i] * ten) / ten;                                                    \
        } else {                                                                                           \
            EW_LOOP o[i] = fbm_round(a[i] / ten) * ten;                                                    \
        }                                                                                                  \
    }

#define ANGLE_BODY                                                                                         \
    static void BODY(angle)(EW_ARGS)                                                                       \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0];                                                                                \
        (void)params;                                                                                      \
        EW_LOOP { T x = a[i]; o[i] = x < 0 ? (T)FBM_PI : x == x ? 0 : x; }                                 \
    }

/* eps absent: no clamping */
#define LOGIT_BODY                                                                                         \
    static void BODY(logit)(EW_ARGS)                                                                       \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0];                                                                                \
        fb_scalar eps = ((const struct fb_p_logit *)params)->eps;                                          \
        bool bounded = eps.kind != FB_S_NONE && eps.re >= 0;                                               \
        T lo = bounded ? (T)eps.re : -(T)INFINITY, hi = bounded ? (T)(1 - eps.re) : (T)INFINITY;           \
        EW_LOOP {                                                                                          \
            T x = a[i];                                                                                    \
            x = x < lo ? lo : x > hi ? hi : x;                                                             \
            o[i] = x == 1 ? (T)INFINITY : fbm_log(x / (1 - x));                                            \
        }                                                                                                  \
    }

#define NAN_TO_NUM(T, S, most)                                                                             \
    FB_INLINE T nan_to_num_##S(T x, T nan, T hi, T lo)                                                     \
    {                                                                                                      \
        return x != x ? nan : x == (T)INFINITY ? hi : x == -(T)INFINITY ? lo : x;                          \
    }                                                                                                      \
    FB_INLINE void nan_to_num_of_##S(const struct fb_p_nan_to_num *p, T *nan, T *hi, T *lo)                \
    {                                                                                                      \
        *nan = p->nan.kind == FB_S_NONE ? 0 : (T)p->nan.re;                                                \
        *hi = p->posinf.kind == FB_S_NONE ? (T)most : (T)p->posinf.re;                                     \
        *lo = p->neginf.kind == FB_S_NONE ? (T)-most : (T)p->neginf.re;                                    \
    }
NAN_TO_NUM(float, f32, 3.40282346638528859812e+38)
NAN_TO_NUM(double, f64, 1.79769313486231570815e+308)
#define NAN_TO_NUM_BODY                                                                                    \
    static void BODY(nan_to_num)(EW_ARGS)                                                                  \
    {                                                                                                      \
        T *o = out[0], nan, hi, lo;                                                                        \
        const T *a = in[0];                                                                                \
        FB_CAT(nan_to_num_of, S)(params, &nan, &hi, &lo);                                                  \
        EW_LOOP o[i] = FB_CAT(nan_to_num, S)(a[i], nan, hi, lo);                                           \
    }

#define REAL_TYPE                                                                                          \
    EW_ELEMENTARY(EW_FN1) EW_ELEMENTARY(EW_BODY1) EW_TRIG(EW_FN1) EW_TRIG(EW_BODY_TRIG)                    \
    EW_ROUNDING(EW_FN1) EW_ROUNDING(EW_BODY1) EW_FLOAT_TESTS(EW_TEST1) EW_FLOAT_TESTS(EW_TESTS1)           \
    ROUND_BODY ANGLE_BODY LOGIT_BODY NAN_TO_NUM_BODY

#define T float
#define S f32
REAL_TYPE
static void body_signbit_f32(EW_ARGS)
{
    uint8_t *o = out[0];
    const uint32_t *a = in[0];
    (void)params;
    EW_LOOP o[i] = (uint8_t)(a[i] >> 31);
}
#undef T
#undef S
#define T double
#define S f64
REAL_TYPE
static void body_signbit_f64(EW_ARGS)
{
    uint8_t *o = out[0];
    const uint64_t *a = in[0];
    (void)params;
    EW_LOOP o[i] = (uint8_t)(a[i] >> 63);
}
#undef T
#undef S

/* ---- complex ------------------------------------------------------------------------------------ */
#define EWC_ELEMENTARY(OP)                                                                                 \
    OP(sqrt, C, fbm_csqrt(x)) OP(rsqrt, C, fbm_crsqrt(x)) OP(exp, C, fbm_cexp(x)) OP(exp2, C, fbm_cexp2(x)) \
    OP(expm1, C, fbm_cexpm1(x)) OP(log, C, fbm_clog(x)) OP(log2, C, fbm_clog2(x))                          \
    OP(log10, C, fbm_clog10(x)) OP(log1p, C, fbm_clog1p(x)) OP(asin, C, fbm_casin(x))                      \
    OP(acos, C, fbm_cacos(x)) OP(atan, C, fbm_catan(x)) OP(sinh, C, fbm_csinh(x))                          \
    OP(cosh, C, fbm_ccosh(x)) OP(tanh, C, fbm_ctanh(x)) OP(asinh, C, fbm_casinh(x))                        \
    OP(acosh, C, fbm_cacosh(x)) OP(atanh, C, fbm_catanh(x)) OP(sigmoid, C, fbm_csigmoid(x))                \
    OP(sin, C, fbm_csin(x)) OP(cos, C, fbm_ccos(x)) OP(tan, C, fbm_ctan(x))                                \
    OP(conj_physical, C, (C){x.re, -x.im}) OP(angle, T, fbm_carg(x))                                       \
    OP(isnan, uint8_t, (x.re != x.re) | (x.im != x.im))                                                    \
    OP(isinf, uint8_t, (fbm_abs(x.re) == (T)INFINITY) | (fbm_abs(x.im) == (T)INFINITY))                    \
    OP(isfinite, uint8_t, (fbm_abs(x.re) < (T)INFINITY) & (fbm_abs(x.im) < (T)INFINITY))                   \
    OP(logical_not, uint8_t, !EWC_TRUE(x))
#define COMPLEX_NAN_TO_NUM(R)                                                                              \
    static void BODY(nan_to_num)(EW_ARGS)                                                                  \
    {                                                                                                      \
        C *o = out[0];                                                                                     \
        const C *a = in[0];                                                                                \
        T nan, hi, lo;                                                                                     \
        nan_to_num_of_##R(params, &nan, &hi, &lo);                                                         \
        EW_LOOP {                                                                                          \
            T re = nan_to_num_##R(a[i].re, nan, hi, lo);                                                   \
            o[i] = (C){re, nan_to_num_##R(a[i].im, nan, hi, lo)};                                          \
        }                                                                                                  \
    }
#define T float
#define C fb_c64
#define S c64
EWC_ELEMENTARY(EWC_BODY1)
COMPLEX_NAN_TO_NUM(f32)
#undef T
#undef C
#undef S
#define T double
#define C fb_c128
#define S c128
EWC_ELEMENTARY(EWC_BODY1)
COMPLEX_NAN_TO_NUM(f64)
#undef T
#undef C
#undef S

/* ---- bool and integers: rounded and finite as they are ------------------------------------------ */
#define SAME(T, S)                                                                                         \
    static void body_same_##S(EW_ARGS)                                                                     \
    {                                                                                                      \
        (void)params;                                                                                      \
        if (out[0] != in[0]) memcpy(out[0], in[0], (size_t)n * sizeof(T));                                 \
    }
SAME(uint8_t, u8)
SAME(uint16_t, u16)
SAME(uint32_t, u32)
SAME(uint64_t, u64)
static void body_false(EW_ARGS)
{
    (void)in, (void)params;
    memset(out[0], 0, (size_t)n);
}
static void body_true(EW_ARGS)
{
    (void)in, (void)params;
    memset(out[0], 1, (size_t)n);
}
#define IS_ZERO(T, S)                                                                                      \
    static void body_logical_not_##S(EW_ARGS)                                                              \
    {                                                                                                      \
        uint8_t *o = out[0];                                                                               \
        const T *a = in[0];                                                                                \
        (void)params;                                                                                      \
        EW_LOOP o[i] = a[i] == 0;                                                                          \
    }
IS_ZERO(uint8_t, u8)
IS_ZERO(uint16_t, u16)
IS_ZERO(uint32_t, u32)
IS_ZERO(uint64_t, u64)
static void body_signbit_i64(EW_ARGS)
{
    uint8_t *o = out[0];
    const uint64_t *a = in[0];
    (void)params;
    EW_LOOP o[i] = (uint8_t)(a[i] >> 63);
}
/* the infinities of halves are replaced by their own largest numbers, which float can't know */
static void nan_to_num_half(int64_t n, uint16_t *o, const uint16_t *a, const struct fb_p_nan_to_num *p, uint16_t inf, uint16_t most,
                            uint16_t (*convert)(float))
{
    uint16_t nan = p->nan.kind == FB_S_NONE ? 0 : convert((float)p->nan.re);
    uint16_t hi = p->posinf.kind == FB_S_NONE ? most : convert((float)p->posinf.re);
    uint16_t lo = p->neginf.kind == FB_S_NONE ? most | 0x8000 : convert((float)p->neginf.re);
    EW_LOOP {
        uint16_t x = a[i], r = x & 0x7fff;
        o[i] = r > inf ? nan : r < inf ? x : x == inf ? hi : lo;
    }
}
static void body_nan_to_num_f16(EW_ARGS) { nan_to_num_half(n, out[0], in[0], params, 0x7c00, 0x7bff, fb_float_to_half); }
static void body_nan_to_num_bf16(EW_ARGS) { nan_to_num_half(n, out[0], in[0], params, 0x7f80, 0x7f7f, fb_float_to_bf16); }

/* ---- tables ------------------------------------------------------------------------------------- */
#define INTS_SAME                                                                                          \
    [FB_U8] = body_same_u8, [FB_I8] = body_same_u8, [FB_I16] = body_same_u16, [FB_U16] = body_same_u16,    \
    [FB_I32] = body_same_u32, [FB_U32] = body_same_u32, [FB_I64] = body_same_u64, [FB_U64] = body_same_u64
#define ALL_INTS(body)                                                                                     \
    [FB_BOOL] = body, [FB_U8] = body, [FB_I8] = body, [FB_I16] = body, [FB_U16] = body, [FB_I32] = body,    \
    [FB_U32] = body, [FB_I64] = body, [FB_U64] = body

#define FC(op) EW_TABLE(op, EW_FLOATS(op), EW_COMPLEXES(op))
FC(sqrt) FC(rsqrt) FC(exp) FC(exp2) FC(expm1) FC(log) FC(log2) FC(log10) FC(log1p) FC(asin) FC(acos) FC(atan)
FC(sinh) FC(cosh) FC(tanh) FC(asinh) FC(acosh) FC(atanh) FC(sigmoid) FC(sin) FC(cos) FC(tan) FC(angle)
#define F(op) EW_TABLE(op, EW_FLOATS(op))
F(erf) F(erfc) F(erfinv) F(lgamma) F(digamma) F(deg2rad) F(rad2deg) F(frac) F(logit)
EW_TABLE(floor, EW_FLOATS(floor), INTS_SAME)
EW_TABLE(ceil, EW_FLOATS(ceil), INTS_SAME)
EW_TABLE(trunc, EW_FLOATS(trunc), INTS_SAME)
EW_TABLE(round, EW_FLOATS(round), INTS_SAME)
EW_TABLE(conj_physical, INTS_SAME, [FB_BOOL] = body_same_u8, [FB_F16] = body_same_u16, [FB_BF16] = body_same_u16,
         [FB_F32] = body_same_u32, [FB_F64] = body_same_u64, EW_COMPLEXES(conj_physical))
EW_TABLE(nan_to_num, EW_FLOATS(nan_to_num), INTS_SAME, [FB_BOOL] = body_same_u8, [FB_F16] = body_nan_to_num_f16,
         [FB_BF16] = body_nan_to_num_bf16, EW_COMPLEXES(nan_to_num))
EW_TABLE(isnan, EW_FLOATS(isnan), EW_COMPLEXES(isnan), ALL_INTS(body_false))
EW_TABLE(isinf, EW_FLOATS(isinf), EW_COMPLEXES(isinf), ALL_INTS(body_false))
EW_TABLE(isfinite, EW_FLOATS(isfinite), EW_COMPLEXES(isfinite), ALL_INTS(body_true))
EW_TABLE(isposinf, EW_FLOATS(isposinf), ALL_INTS(body_false))
EW_TABLE(isneginf, EW_FLOATS(isneginf), ALL_INTS(body_false))
EW_TABLE(logical_not, EW_FLOATS(logical_not), EW_COMPLEXES(logical_not), EW_WRAPS(logical_not), [FB_BOOL] = body_logical_not_u8)
EW_TABLE(signbit, EW_FLOATS(signbit), [FB_I64] = body_signbit_i64, [FB_U8] = body_false, [FB_BOOL] = body_false,
         [FB_U16] = body_false, [FB_U32] = body_false, [FB_U64] = body_false)
