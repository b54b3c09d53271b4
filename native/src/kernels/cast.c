/* Conversion between dtypes, on contiguous memory: fb_cast_<isa>(from, to, n, dst, src).
 *
 * A pair that is common has a loop of its own. Any other goes through the wide type of its source (int64,
 * uint64, double or complex double, each exact): 17 loads and 4 * 17 stores instead of 17 * 17 loops.
 *
 * A float outside the range of an integer has no value in C; what an x86 CPU answers, and PyTorch there, is the
 * least number of the 32-bit (to int32 and narrower) or 64-bit register, cut to the width of the result. It
 * is written out so that it is defined and the same on every machine. */
#include "kernels/isa.h"
#include "runtime/core.h"
#include <math.h>

#if defined(__F16C__)
#include <immintrin.h>
#endif

typedef struct c64 { float re, im; } c64;
typedef struct c128 { double re, im; } c128;
typedef void (*convert_fn)(int64_t n, void *dst, const void *src);

FB_INLINE int32_t f64_i32(double x) { return (int32_t)(x > -2147483649.0 && x < 2147483648.0 ? x : -2147483648.0); }
FB_INLINE int32_t f32_i32(float x) { return (int32_t)(x >= -2147483648.0f && x < 2147483648.0f ? x : -2147483648.0f); }
FB_INLINE int64_t f64_i64(double x)
{
    return (int64_t)(x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? x : -9223372036854775808.0);
}
FB_INLINE int64_t f32_i64(float x)
{
    return (int64_t)(x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? x : -9223372036854775808.0f);
}
FB_INLINE uint64_t f64_u64(double x)
{
    return x < 9223372036854775808.0 || x != x ? (uint64_t)f64_i64(x)
                                               : (uint64_t)f64_i64(x - 9223372036854775808.0) ^ (1ull << 63);
}

FB_INLINE float bits_f32(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
FB_INLINE uint32_t f32_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
FB_INLINE float bf16_f32(uint16_t h) { return bits_f32((uint32_t)h << 16); }
FB_INLINE uint16_t f32_bf16(float f)
{
    uint32_t u = f32_bits(f);
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return f != f ? 0x7fc0 : (uint16_t)rounded;
}

#if defined(__F16C__)
FB_INLINE float f16_f32(uint16_t h) { return _cvtsh_ss(h); }
FB_INLINE uint16_t f32_f16(float f) { return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT); }
#else
FB_INLINE float f16_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    uint32_t special = rest >= 0x7c00u << 13 ? 0x7f800000u | rest : 0; /* inf and NaN keep their payload */
    float value = bits_f32(rest) * 0x1p112f;                           /* exact, subnormals too */
    return bits_f32(sign | (special ? special : f32_bits(value)));
}
FB_INLINE uint16_t f32_f16(float f)
{
    uint32_t u = f32_bits(f), sign = u >> 16 & 0x8000;
    u &= 0x7fffffffu;
    /* Below 2^-14 the sum with 0.5 leaves exactly the subnormal's 10 bits, rounded to nearest even. */
    uint32_t small = f32_bits(bits_f32(u) + 0.5f) - f32_bits(0.5f);
    uint32_t normal = (u - (112u << 23) + 0xfff + (u >> 13 & 1)) >> 13;
    uint32_t r = u < 113u << 23 ? small : u >= 0x47800000u ? 0x7c00u : normal;
    if (u > 0x7f800000u) r = 0x7e00u;
    return (uint16_t)(sign | r);
}
#endif

/* ---- load: any dtype -> its wide type ---------------------------------------------------------- */
#define LOAD(name, SRC, WIDE, expr)                                                                        \
    static void load_##name(int64_t n, void *dst, const void *src)                                         \
    {                                                                                                      \
        WIDE *restrict d = dst;                                                                            \
        const SRC *restrict s = src;                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            SRC x = s[i];                                                                                  \
            d[i] = expr;                                                                                   \
        }                                                                                                  \
    }
LOAD(u8, uint8_t, int64_t, x)
LOAD(i8, int8_t, int64_t, x)
LOAD(i16, int16_t, int64_t, x)
LOAD(i32, int32_t, int64_t, x)
LOAD(u16, uint16_t, int64_t, x)
LOAD(u32, uint32_t, int64_t, x)
LOAD(f16, uint16_t, double, f16_f32(x))
LOAD(bf16, uint16_t, double, bf16_f32(x))
LOAD(f32, float, double, x)
LOAD(c64, c64, c128, ((c128){x.re, x.im}))
LOAD(f8e4m3fn, uint8_t, double, fb_f8e4m3fn_to_float(x))
LOAD(f8e5m2, uint8_t, double, fb_f8e5m2_to_float(x))

enum { W_I64, W_U64, W_F64, W_C128, N_WIDE };
static const struct { uint8_t wide, size; convert_fn load; /* NULL: it is the wide type */ } sources[FB_N_DTYPES] = {
    [FB_BOOL] = {W_I64, 1, load_u8}, [FB_U8] = {W_I64, 1, load_u8},    [FB_I8] = {W_I64, 1, load_i8},
    [FB_I16] = {W_I64, 2, load_i16}, [FB_I32] = {W_I64, 4, load_i32},  [FB_I64] = {W_I64, 8, NULL},
    [FB_U16] = {W_I64, 2, load_u16}, [FB_U32] = {W_I64, 4, load_u32},  [FB_U64] = {W_U64, 8, NULL},
    [FB_F16] = {W_F64, 2, load_f16}, [FB_BF16] = {W_F64, 2, load_bf16}, [FB_F32] = {W_F64, 4, load_f32},
    [FB_F64] = {W_F64, 8, NULL},     [FB_C64] = {W_C128, 8, load_c64}, [FB_C128] = {W_C128, 16, NULL},
    [FB_F8E4M3FN] = {W_F64, 1, load_f8e4m3fn}, [FB_F8E5M2] = {W_F64, 1, load_f8e5m2},
};

/* ---- store: wide type -> any dtype ------------------------------------------------------------- */
#define STORE(W, WIDE, name, DST, expr)                                                                    \
    static void store_##W##_##name(int64_t n, void *dst, const void *src)                                  \
    {                                                                                                      \
        DST *restrict d = dst;                                                                             \
        const WIDE *restrict s = src;                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            WIDE x = s[i];                                                                                 \
            d[i] = expr;                                                                                   \
        }                                                                                                  \
    }
/* B: truth, I: to a narrow integer, L: to 64 bits signed, U: unsigned, F: to float, D: to double, C: complex */
#define STORES(W, WIDE, B, I, L, U, F, D, IM)                                                              \
    STORE(W, WIDE, bool, uint8_t, B) STORE(W, WIDE, u8, uint8_t, (uint8_t)(I))                             \
    STORE(W, WIDE, i16, uint16_t, (uint16_t)(I)) STORE(W, WIDE, i32, int32_t, I)                           \
    STORE(W, WIDE, i64, int64_t, L) STORE(W, WIDE, u32, uint32_t, (uint32_t)(L))                           \
    STORE(W, WIDE, u64, uint64_t, U) STORE(W, WIDE, f16, uint16_t, f32_f16(F))                             \
    STORE(W, WIDE, bf16, uint16_t, f32_bf16(F)) STORE(W, WIDE, f32, float, F) STORE(W, WIDE, f64, double, D) \
    STORE(W, WIDE, c64, c64, ((c64){F, (float)(IM)})) STORE(W, WIDE, c128, c128, ((c128){D, IM}))           \
    STORE(W, WIDE, f8e4m3fn, uint8_t, fb_float_to_f8e4m3fn(F))                                             \
    STORE(W, WIDE, f8e5m2, uint8_t, fb_float_to_f8e5m2(F))

STORES(i64, int64_t, x != 0, (int32_t)x, x, (uint64_t)x, (float)x, (double)x, 0)
STORES(u64, uint64_t, x != 0, (int32_t)x, (int64_t)x, x, (float)x, (double)x, 0)
STORES(f64, double, x != 0, f64_i32(x), f64_i64(x), f64_u64(x), (float)x, x, 0)
STORES(c128, c128, (x.re != 0) | (x.im != 0), f64_i32(x.re), f64_i64(x.re), f64_u64(x.re), (float)x.re, x.re, x.im)

#define STORE_ROW(W)                                                                                       \
    {                                                                                                      \
        [FB_BOOL] = store_##W##_bool, [FB_U8] = store_##W##_u8, [FB_I8] = store_##W##_u8,                  \
        [FB_I16] = store_##W##_i16, [FB_I32] = store_##W##_i32, [FB_I64] = store_##W##_i64,                \
        [FB_U16] = store_##W##_i16, [FB_U32] = store_##W##_u32, [FB_U64] = store_##W##_u64,                \
        [FB_F16] = store_##W##_f16, [FB_BF16] = store_##W##_bf16, [FB_F32] = store_##W##_f32,              \
        [FB_F64] = store_##W##_f64, [FB_C64] = store_##W##_c64, [FB_C128] = store_##W##_c128,              \
        [FB_F8E4M3FN] = store_##W##_f8e4m3fn, [FB_F8E5M2] = store_##W##_f8e5m2,                            \
    }
static const convert_fn stores[N_WIDE][FB_N_DTYPES] = {STORE_ROW(i64), STORE_ROW(u64), STORE_ROW(f64), STORE_ROW(c128)};

/* ---- common pairs ------------------------------------------------------------------------------- */
#define DIRECT(name, SRC, DST, expr)                                                                       \
    static void direct_##name(int64_t n, void *dst, const void *src)                                       \
    {                                                                                                      \
        DST *restrict d = dst;                                                                             \
        const SRC *restrict s = src;                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            SRC x = s[i];                                                                                  \
            d[i] = expr;                                                                                   \
        }                                                                                                  \
    }
DIRECT(bf16_f32, uint16_t, float, bf16_f32(x))
DIRECT(f32_bf16, float, uint16_t, f32_bf16(x))
DIRECT(f32_f64, float, double, x)
DIRECT(f64_f32, double, float, (float)x)
DIRECT(f32_i64, float, int64_t, f32_i64(x))
DIRECT(i64_f32, int64_t, float, (float)x)
DIRECT(f32_i32, float, int32_t, f32_i32(x))
DIRECT(i32_f32, int32_t, float, (float)x)
DIRECT(i32_i64, int32_t, int64_t, x)
DIRECT(i64_i32, int64_t, int32_t, (int32_t)x)
DIRECT(u8_f32, uint8_t, float, x)
DIRECT(i8_f32, int8_t, float, x)
DIRECT(f32_u8, float, uint8_t, (uint8_t)f32_i32(x))
DIRECT(f32_bool, float, uint8_t, x != 0)
DIRECT(u8_bool, uint8_t, uint8_t, x != 0)
DIRECT(f32_c64, float, c64, ((c64){x, 0}))
DIRECT(f64_c128, double, c128, ((c128){x, 0}))

#if defined(__F16C__)
/* The compiler doesn't vectorize the scalar conversions. */
static void direct_f16_f32(int64_t n, void *dst, const void *src)
{
    float *d = dst;
    const uint16_t *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + i))));
    for (; i < n; i++) d[i] = f16_f32(s[i]);
}
static void direct_f32_f16(int64_t n, void *dst, const void *src)
{
    uint16_t *d = dst;
    const float *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(d + i), _mm256_cvtps_ph(_mm256_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) d[i] = f32_f16(s[i]);
}
#else
DIRECT(f16_f32, uint16_t, float, f16_f32(x))
DIRECT(f32_f16, float, uint16_t, f32_f16(x))
#endif

static const convert_fn direct[FB_N_DTYPES][FB_N_DTYPES] = {
    [FB_F16] = {[FB_F32] = direct_f16_f32},
    [FB_BF16] = {[FB_F32] = direct_bf16_f32},
    [FB_F32] = {[FB_F16] = direct_f32_f16, [FB_BF16] = direct_f32_bf16, [FB_F64] = direct_f32_f64, [FB_I64] = direct_f32_i64,
                [FB_I32] = direct_f32_i32, [FB_U8] = direct_f32_u8, [FB_I8] = direct_f32_u8, [FB_BOOL] = direct_f32_bool,
                [FB_C64] = direct_f32_c64},
    [FB_F64] = {[FB_F32] = direct_f64_f32, [FB_C128] = direct_f64_c128},
    [FB_I64] = {[FB_F32] = direct_i64_f32, [FB_I32] = direct_i64_i32, [FB_U32] = direct_i64_i32},
    [FB_I32] = {[FB_F32] = direct_i32_f32, [FB_I64] = direct_i32_i64, [FB_U64] = direct_i32_i64},
    [FB_U8] = {[FB_F32] = direct_u8_f32, [FB_BOOL] = direct_u8_bool},
    [FB_I8] = {[FB_F32] = direct_i8_f32, [FB_BOOL] = direct_u8_bool},
    [FB_BOOL] = {[FB_F32] = direct_u8_f32},
};

/* The bits stay: integers of one width, bool as a byte. */
static bool same_bits(int from, int to)
{
    if (from == to) return true;
    if (from == FB_BOOL) return to == FB_U8 || to == FB_I8;
    return fb_is_integral(from) && fb_is_integral(to) && sources[from].size == sources[to].size;
}

void FB_K(fb_cast)(int from, int to, int64_t n, void *dst, const void *src)
{
    if (same_bits(from, to)) {
        if (dst != src) memcpy(dst, src, (size_t)n * sources[from].size);
        return;
    }
    if (direct[from][to]) {
        direct[from][to](n, dst, src);
        return;
    }
    convert_fn load = sources[from].load, store = stores[sources[from].wide][to];
    if (!load) {
        store(n, dst, src);
        return;
    }
    enum { BLOCK = 256 };
    _Alignas(64) char wide[BLOCK * 16];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = FB_MIN(n - i, BLOCK);
        load(m, wide, (const char *)src + i * sources[from].size);
        store(m, (char *)dst + i * sources[to].size, wide);
    }
}
