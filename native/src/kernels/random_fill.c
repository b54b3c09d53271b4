/* Random numbers in bulk. Which bits of which draw make which element equals PyTorch 2.13's CPU code, found by
 * experiment (tools/record_random.py keeps the outcome); logarithms and sines may differ in the last places. */
#include "kernels/random_fill.h"
#include "kernels/isa.h"
#include "kernels/vecmath.h"

void FB_K(fb_cast)(int from, int to, int64_t n, void *dst, const void *src);

enum { BLOCK = 1024 };

/* Fused where PyTorch's compiler fused; without the instruction libm's exact one is called. */
#define FMA32(a, b, c) __builtin_fmaf(a, b, c)
#define FMA64(a, b, c) __builtin_fma(a, b, c)

/* ---- uniform numbers ---- */

static void unit_f32(fb_generator *g, float *out, int64_t n) /* [0, 1), 24 bits */
{
    uint32_t raw[BLOCK];

    for (int64_t k; n > 0; n -= k, out += k) {
        k = FB_MIN(n, BLOCK);
        fb_mt_fill(&g->mt, raw, k);
        for (int64_t i = 0; i < k; i++) out[i] = (float)(int32_t)(raw[i] & 0xffffff) * 0x1p-24f;
    }
}

FB_INLINE double exact_double(uint32_t u) /* by way of 2^52 + u: there is no vector conversion for unsigned */
{
    uint64_t bits = UINT64_C(0x4330000000000000) | u;
    double x;
    memcpy(&x, &bits, 8);
    return x - 0x1p52;
}

/* [0, 1), 53 bits; the high word is drawn first */
static void unit_f64(fb_generator *g, double *out, int64_t n)
{
    uint32_t raw[2 * BLOCK];

    for (int64_t k; n > 0; n -= k, out += k) {
        k = FB_MIN(n, BLOCK);
        fb_mt_fill(&g->mt, raw, 2 * k);
        for (int64_t i = 0; i < k; i++) {
            double high = exact_double(raw[2 * i] & 0x1fffff), low = exact_double(raw[2 * i + 1]);
            out[i] = (high * 0x1p32 + low) * 0x1p-53;
        }
    }
}

static void uniform_f32(fb_generator *g, float *out, int64_t n, float from, float to)
{
    float width = to - from;

    unit_f32(g, out, n);
    if (from == 0 && to == 1) return;
    for (int64_t i = 0; i < n; i++) {
        float x = FMA32(out[i], width, from);
        out[i] = x == to ? from : x; /* rounding may reach the end, which is excluded */
    }
}

static void uniform_f64(fb_generator *g, double *out, int64_t n, double from, double to)
{
    double width = to - from;

    unit_f64(g, out, n);
    if (from == 0 && to == 1) return;
    for (int64_t i = 0; i < n; i++) {
        double x = FMA64(out[i], width, from);
        out[i] = x == to ? from : x;
    }
}

/* Halves are drawn as floats and rounded. */
static void uniform_half(fb_generator *g, int dtype, uint16_t *out, int64_t n, float from, float to)
{
    float wide[BLOCK], ends[2] = {from, to};
    uint16_t half_ends[2];

    FB_K(fb_cast)(FB_F32, dtype, 2, half_ends, ends);
    for (int64_t k; n > 0; n -= k, out += k) {
        k = FB_MIN(n, BLOCK);
        uniform_f32(g, wide, k, from, to);
        FB_K(fb_cast)(FB_F32, dtype, k, out, wide);
        for (int64_t i = 0; i < k; i++) out[i] = out[i] == half_ends[1] ? half_ends[0] : out[i];
    }
}

/* ---- normal numbers ---- */

#define T float
#define S f32
#define UNIFORM unit_f32
#define FMA FMA32
#include "kernels/random_rows.h"
#define T double
#define S f64
#define UNIFORM unit_f64
#define FMA FMA64
#include "kernels/random_rows.h"

/* Here every row is drawn when its turn comes, and the last, incomplete one only as the last 16 elements. */
static void normal_rows_half(fb_generator *g, int dtype, uint16_t *out, int64_t n, float mean, float std)
{
    float wide[BLOCK];
    int64_t left = n / 16 * 16;

    for (int64_t k, at = 0; left > 0; left -= k, at += k) {
        k = FB_MIN(left, BLOCK);
        unit_f32(g, wide, k);
        rows_f32(wide, k / 16, mean, std);
        FB_K(fb_cast)(FB_F32, dtype, k, out + at, wide);
    }
    if (n % 16) {
        unit_f32(g, wide, 16);
        rows_f32(wide, 1, mean, std);
        FB_K(fb_cast)(FB_F32, dtype, 16, out + n - 16, wide);
    }
}

/* n <= BLOCK standard normal numbers in pairs; the second of a pair whose first is the last asked for is kept. */
static void normal_pairs(fb_generator *g, double *out, int64_t n)
{
    double unit[BLOCK], first[BLOCK / 2], second[BLOCK / 2];
    int64_t pairs;

    if (n > 0 && g->has_normal) {
        *out++ = g->normal;
        n--;
        g->has_normal = false;
    }
    pairs = (n + 1) / 2;
    unit_f64(g, unit, 2 * pairs);
    for (int64_t i = 0; i < pairs; i++) {
        first[i] = fbm_sqrt(-2 * fbm_log1p(-unit[2 * i + 1]));
        second[i] = 6.283185307179586476925 * unit[2 * i];
    }
    for (int64_t i = 0; i < pairs; i++) {
        double radius = first[i], angle = second[i];
        first[i] = radius * fbm_cos(angle);
        second[i] = radius * fbm_sin(angle);
    }
    for (int64_t i = 0; i < n / 2; i++) {
        out[2 * i] = first[i];
        out[2 * i + 1] = second[i];
    }
    if (n % 2) {
        out[n - 1] = first[pairs - 1];
        g->normal = second[pairs - 1];
        g->has_normal = true;
    }
}

/* ---- laws made of one double an element ---- */

static void draw_doubles(fb_generator *g, const fb_draw *d, double *x, int64_t n) /* n <= BLOCK */
{
    double a = d->a, b = d->b;

    switch (d->kind) {
    case FB_DRAW_NORMAL:
    case FB_DRAW_LOG_NORMAL:
        normal_pairs(g, x, n);
        if (a != 0 || b != 1)
            for (int64_t i = 0; i < n; i++) x[i] = FMA64(x[i], b, a);
        if (d->kind == FB_DRAW_LOG_NORMAL)
            for (int64_t i = 0; i < n; i++) x[i] = fbm_exp(x[i]);
        return;
    case FB_DRAW_EXPONENTIAL:
        unit_f64(g, x, n);
        a = -1 / a;
        for (int64_t i = 0; i < n; i++) x[i] = a * fbm_log1p(-x[i]);
        return;
    case FB_DRAW_GEOMETRIC:
        unit_f64(g, x, n);
        a = fbm_log1p(-a);
        for (int64_t i = 0; i < n; i++) x[i] = fbm_ceil(fbm_log(x[i]) / a);
        return;
    case FB_DRAW_CAUCHY:
        unit_f64(g, x, n);
        for (int64_t i = 0; i < n; i++) x[i] = FMA64(fbm_tan(3.141592653589793238463 * (x[i] - 0.5)), b, a);
        return;
    default: return;
    }
}

static void fill_doubles(fb_generator *g, const fb_draw *d, int dtype, char *out, int64_t n, int64_t itemsize)
{
    double x[BLOCK];
    float y[BLOCK];

    for (int64_t k; n > 0; n -= k, out += k * itemsize) {
        k = FB_MIN(n, BLOCK);
        if (dtype == FB_F64) {
            draw_doubles(g, d, (double *)(void *)out, k);
            continue;
        }
        draw_doubles(g, d, x, k);
        if (fb_is(FB_HALVES, dtype)) { /* PyTorch rounds twice here */
            FB_K(fb_cast)(FB_F64, FB_F32, k, y, x);
            FB_K(fb_cast)(FB_F32, dtype, k, out, y);
        } else {
            FB_K(fb_cast)(FB_F64, dtype, k, out, x);
        }
    }
}

/* ---- integers ---- */

static void draw_integers(fb_generator *g, const fb_draw *d, int64_t *x, int64_t n) /* n <= BLOCK */
{
    uint32_t raw[2 * BLOCK];
    uint64_t range = d->range, base = (uint64_t)d->base;

    fb_mt_fill(&g->mt, raw, d->wide ? 2 * n : n);
    if (d->wide) {
        for (int64_t i = 0; i < n; i++) {
            uint64_t v = (uint64_t)raw[2 * i] << 32 | raw[2 * i + 1];
            x[i] = (int64_t)((range ? v % range : v) + base);
        }
        return;
    }
    /* v % range by two multiplications (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019). */
    uint64_t inverse = UINT64_MAX / range + 1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t low = inverse * raw[i];
        x[i] = (int64_t)((uint64_t)((unsigned __int128)low * range >> 64) + base);
    }
}

static void fill_integers(fb_generator *g, const fb_draw *d, int dtype, char *out, int64_t n,
                          int64_t itemsize)
{
    int64_t x[BLOCK];
    float y[BLOCK];

    for (int64_t k; n > 0; n -= k, out += k * itemsize) {
        k = FB_MIN(n, BLOCK);
        if (dtype == FB_I64) {
            draw_integers(g, d, (int64_t *)(void *)out, k);
            continue;
        }
        draw_integers(g, d, x, k);
        if (fb_is(FB_HALVES, dtype)) { /* by way of float, which rounds large ones twice */
            FB_K(fb_cast)(FB_I64, FB_F32, k, y, x);
            FB_K(fb_cast)(FB_F32, dtype, k, out, y);
        } else {
            FB_K(fb_cast)(FB_I64, dtype, k, out, x);
        }
    }
}

/* ---- zeros and ones ---- */

static void fill_bernoulli(fb_generator *g, double p, int dtype, char *out, int64_t n, int64_t itemsize)
{
    double x[BLOCK];
    uint8_t bits[BLOCK];

    for (int64_t k; n > 0; n -= k, out += k * itemsize) {
        k = FB_MIN(n, BLOCK);
        unit_f64(g, x, k);
        for (int64_t i = 0; i < k; i++) bits[i] = x[i] < p;
        FB_K(fb_cast)(FB_U8, dtype, k, out, bits);
    }
}

void FB_K(fb_random_below)(fb_generator *g, int dtype, const void *p, uint8_t *out, int64_t n)
{
    double x[BLOCK];
    float y[BLOCK], q[BLOCK];
    const char *at = p;
    int64_t itemsize = fb_itemsize((fb_dtype)dtype);

    for (int64_t k; n > 0; n -= k, out += k, at += k * itemsize) {
        k = FB_MIN(n, BLOCK);
        if (dtype == FB_F64) {
            const double *chance = (const double *)(const void *)at;
            unit_f64(g, x, k);
            for (int64_t i = 0; i < k; i++) out[i] = x[i] < chance[i];
        } else {
            FB_K(fb_cast)(dtype, FB_F32, k, q, at);
            unit_f32(g, y, k);
            for (int64_t i = 0; i < k; i++) out[i] = y[i] < q[i];
        }
    }
}

void FB_K(fb_random_fill)(fb_generator *g, const fb_draw *d, int dtype, void *out, int64_t n)
{
    int64_t itemsize = fb_itemsize((fb_dtype)dtype);

    switch (d->kind) {
    case FB_DRAW_UNIFORM:
        if (dtype == FB_F64)
            uniform_f64(g, out, n, d->a, d->b);
        else if (dtype == FB_F32)
            uniform_f32(g, out, n, (float)d->a, (float)d->b);
        else
            uniform_half(g, dtype, out, n, (float)d->a, (float)d->b);
        return;
    case FB_DRAW_NORMAL_ROWS:
        if (dtype == FB_F64)
            normal_rows_f64(g, out, n, d->a, d->b);
        else if (dtype == FB_F32)
            normal_rows_f32(g, out, n, (float)d->a, (float)d->b);
        else
            normal_rows_half(g, dtype, out, n, (float)d->a, (float)d->b);
        return;
    case FB_DRAW_INTEGER: fill_integers(g, d, dtype, out, n, itemsize); return;
    case FB_DRAW_BERNOULLI: fill_bernoulli(g, d->a, dtype, out, n, itemsize); return;
    default: fill_doubles(g, d, dtype, out, n, itemsize); return;
    }
}
