/* Element types: names, sizes, the default, and single values of them. */
#include "runtime/core.h"
#include <math.h>

const uint8_t fb_itemsizes[] = {1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1};
static const char *const names[] = {"bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
                                    "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"};
static const char *const labels[] = {"Bool", "Byte", "Char", "Short", "Int", "Long", "UInt16", "UInt32", "UInt64", "Half",
                                     "BFloat16", "Float", "Double", "ComplexFloat", "ComplexDouble", "Float8_e4m3fn", "Float8_e5m2"};
static _Atomic int default_dtype = FB_F32;

static bool known(fb_dtype d) { return d >= 0 && d < FB_N_DTYPES; }
int64_t fb_itemsize(fb_dtype d) { return known(d) ? fb_itemsizes[d] : 0; }
const char *fb_dtype_name(fb_dtype d) { return known(d) ? names[d] : "none"; }
const char *fb_dtype_label(fb_dtype d) { return known(d) ? labels[d] : "Undefined"; }
fb_dtype fb_default_dtype(void) { return (fb_dtype)atomic_load_explicit(&default_dtype, memory_order_relaxed); }

fb_status fb_set_default_dtype(fb_dtype d)
{
    if (!fb_is(FB_FLOATS, d))
        return fb_fail(FB_ETYPE, "only floating-point types are supported as the default type, not %s", fb_dtype_name(d));
    atomic_store(&default_dtype, d);
    return FB_OK;
}

double fb_scalar_double(fb_scalar s) { return s.kind == FB_S_BOOL || s.kind == FB_S_INT ? (double)s.i : s.re; }
bool fb_scalar_true(fb_scalar s) { return s.kind == FB_S_BOOL || s.kind == FB_S_INT ? s.i != 0 : s.re != 0 || s.im != 0; }

int64_t fb_scalar_int(fb_scalar s)
{
    if (s.kind == FB_S_BOOL || s.kind == FB_S_INT) return s.i;
    /* beyond int64 the conversion is undefined in C; x86 answers INT64_MIN, and so does PyTorch */
    return s.re >= -0x1p63 && s.re < 0x1p63 ? (int64_t)s.re : INT64_MIN;
}

void fb_scalar_store(fb_scalar s, fb_dtype dtype, void *dst)
{
    double re = fb_scalar_double(s), im = s.kind == FB_S_COMPLEX ? s.im : 0;
    int64_t i = fb_scalar_int(s);

    switch (dtype) {
    case FB_BOOL: *(uint8_t *)dst = fb_scalar_true(s); break;
    case FB_U8: case FB_I8: *(uint8_t *)dst = (uint8_t)i; break;
    case FB_I16: case FB_U16: *(uint16_t *)dst = (uint16_t)i; break;
    case FB_I32: case FB_U32: *(uint32_t *)dst = (uint32_t)i; break;
    case FB_I64: *(int64_t *)dst = i; break;
    case FB_U64: *(uint64_t *)dst = s.kind == FB_S_FLOAT && re >= 0x1p63 && re < 0x1p64 ? (uint64_t)re : (uint64_t)i; break;
    case FB_F16: *(uint16_t *)dst = fb_float_to_half((float)re); break;
    case FB_BF16: *(uint16_t *)dst = fb_float_to_bf16((float)re); break;
    case FB_F32: *(float *)dst = (float)re; break;
    case FB_F64: *(double *)dst = re; break;
    case FB_C64: ((float *)dst)[0] = (float)re; ((float *)dst)[1] = (float)im; break;
    case FB_C128: ((double *)dst)[0] = re; ((double *)dst)[1] = im; break;
    case FB_F8E4M3FN: *(uint8_t *)dst = fb_float_to_f8e4m3fn((float)re); break;
    case FB_F8E5M2: *(uint8_t *)dst = fb_float_to_f8e5m2((float)re); break;
    default: break;
    }
}

fb_scalar fb_scalar_load(const void *p, fb_dtype dtype)
{
    switch (dtype) {
    case FB_BOOL: return fb_boolean(*(const uint8_t *)p != 0);
    case FB_U8: return fb_int(*(const uint8_t *)p);
    case FB_I8: return fb_int(*(const int8_t *)p);
    case FB_I16: return fb_int(*(const int16_t *)p);
    case FB_I32: return fb_int(*(const int32_t *)p);
    case FB_I64: return fb_int(*(const int64_t *)p);
    case FB_U16: return fb_int(*(const uint16_t *)p);
    case FB_U32: return fb_int(*(const uint32_t *)p);
    case FB_U64: {
        fb_scalar s = fb_int((int64_t)*(const uint64_t *)p); /* the bits; who reads a uint64 knows */
        s.re = (double)*(const uint64_t *)p;
        return s;
    }
    case FB_F16: return fb_float(fb_half_to_float(*(const uint16_t *)p));
    case FB_BF16: return fb_float(fb_bf16_to_float(*(const uint16_t *)p));
    case FB_F32: return fb_float(*(const float *)p);
    case FB_F64: return fb_float(*(const double *)p);
    case FB_C64: return (fb_scalar){FB_S_COMPLEX, 0, ((const float *)p)[0], ((const float *)p)[1]};
    case FB_C128: return (fb_scalar){FB_S_COMPLEX, 0, ((const double *)p)[0], ((const double *)p)[1]};
    case FB_F8E4M3FN: return fb_float(fb_f8e4m3fn_to_float(*(const uint8_t *)p));
    case FB_F8E5M2: return fb_float(fb_f8e5m2_to_float(*(const uint8_t *)p));
    default: return fb_int(0);
    }
}

/* ---- small formats: by the bits, rounding to nearest even ------------------------------------- */

static uint32_t bits_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static float of_bits(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }

/* A format of `mantissa` bits and exponent bias `bias`, widened; inf/NaN codes are the caller's business. */
static float widen(uint32_t v, int bits, int mantissa, int bias)
{
    uint32_t sign = (v >> (bits - 1)) << 31, e = (v >> mantissa) & ((1u << (bits - 1 - mantissa)) - 1), m = v & ((1u << mantissa) - 1);

    if (e == 0) return of_bits(sign | bits_of((float)m * ldexpf(1, 1 - bias - mantissa)));
    return of_bits(sign | (e + 127 - bias) << 23 | m << (23 - mantissa));
}

/* |f| < inf rounded to the format, without its sign; a carry may run into the exponent's top: the caller compares. */
static uint32_t narrow(float f, int mantissa, int bias)
{
    uint32_t u = bits_of(f) & 0x7fffffff;
    int e = (int)(u >> 23) - 127;

    if (e < 1 - bias) { /* subnormal: let the adder round at the right place */
        float unit = ldexpf(1, 1 - bias - mantissa);
        return (uint32_t)nearbyintf(of_bits(u) / unit);
    }
    u += (1u << (22 - mantissa)) - 1 + (u >> (23 - mantissa) & 1);
    return (u >> (23 - mantissa)) - ((uint32_t)(127 - bias) << mantissa);
}

float fb_half_to_float(uint16_t h)
{
    if ((h & 0x7c00) == 0x7c00) return of_bits((uint32_t)(h >> 15) << 31 | 0x7f800000 | (uint32_t)(h & 0x3ff) << 13);
    return widen(h, 16, 10, 15);
}

uint16_t fb_float_to_half(float f)
{
    uint32_t u = bits_of(f), sign = u >> 31 << 15, r;

    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if ((u & 0x7fffffff) == 0x7f800000) return (uint16_t)(sign | 0x7c00);
    r = narrow(f, 10, 15);
    return (uint16_t)(sign | FB_MIN(r, 0x7c00));
}

float fb_bf16_to_float(uint16_t h) { return of_bits((uint32_t)h << 16); }

uint16_t fb_float_to_bf16(float f)
{
    uint32_t u = bits_of(f);

    if ((u & 0x7fffffff) > 0x7f800000) return 0x7fc0;
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float fb_f8e4m3fn_to_float(uint8_t v) { return (v & 0x7f) == 0x7f ? of_bits((uint32_t)(v >> 7) << 31 | 0x7fc00000) : widen(v, 8, 3, 7); }

uint8_t fb_float_to_f8e4m3fn(float f)
{
    uint32_t u = bits_of(f), sign = u >> 31 << 7;

    /* no infinities: what rounds beyond the largest finite value (448) becomes NaN */
    if ((u & 0x7fffffff) >= 0x7f800000) return (uint8_t)(sign | 0x7f);
    u = (bits_of(f) & 0x7fffffff) >= bits_of(0x1p20f) ? 0x7f : narrow(f, 3, 7);
    return (uint8_t)(sign | FB_MIN(u, 0x7f));
}

float fb_f8e5m2_to_float(uint8_t v) { return fb_half_to_float((uint16_t)(v << 8)); }

uint8_t fb_float_to_f8e5m2(float f)
{
    uint32_t u = bits_of(f), sign = u >> 31 << 7;

    if ((u & 0x7fffffff) > 0x7f800000) return (uint8_t)(sign | 0x7f);
    u = (u & 0x7fffffff) >= bits_of(0x1p20f) ? 0x7c : narrow(f, 2, 15);
    return (uint8_t)(sign | FB_MIN(u, 0x7c));
}
