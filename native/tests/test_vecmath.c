/* Every function of vecmath*.h against libm's long double, in units in the last place of the exact result:
 * dense in each binade, random bit patterns, and the special values. Compile it for each instruction set
 * that kernels use. */
#include "kernels/vecmath.h"

#include <stdio.h>
#include <stdlib.h>

static int failures;
static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double random_unit(void) { return (double)(random_bits() >> 11) * 0x1p-53; }

/* Distance of got from the exact value in ulps, with `digits` bits in a significand and a least exponent.
 * Zeros must have the right sign; an overflow may be missed by what the bound allows just below it. */
static double ulps(double got, long double want, int digits, int least, double biggest)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : HUGE_VAL;
    if (isinf(want) || isinf(got)) {
        int same_side = !signbit(got) == !signbit(want);
        if ((long double)got == want || (isinf(got) && fabsl(want) > biggest && same_side))
            return 0;
        long double gap = ldexpl(1, ilogbl(biggest) - digits + 1); /* treat an infinity as the next binade */
        long double g = isinf(got) ? copysignl(biggest + gap, got) : got;
        long double w = isinf(want) ? copysignl(biggest + gap, want) : want;
        return (double)(fabsl(g - w) / gap);
    }
    if (got == 0 && want == 0)
        return !signbit(got) == !signbit(want) ? 0 : HUGE_VAL;
    int e = want == 0 ? least : ilogbl(want);
    e = e < least ? least : e;
    return (double)(fabsl(got - want) / ldexpl(1, e - digits + 1));
}

static double ulps_f32(float got, long double want)
{
    return ulps((double)got, want, 24, -126, 0x1.fffffep127);
}
static double ulps_f64(double got, long double want)
{
    return ulps(got, want, 53, -1022, 0x1.fffffffffffffp1023);
}

typedef struct {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    long double (*exact)(long double);
    double bound, limit; /* |x| beyond limit isn't tried */
    void (*loop32)(float *, const float *);
    void (*loop64)(double *, const double *);
} unary;

enum { LOOP = 203 }; /* a vector body and a tail, whatever the vector's width */

#define OF(name)                                                                                            \
    static float name##_32(float x) { return fbm_##name##_f32(x); }                                         \
    static double name##_64(double x) { return fbm_##name##_f64(x); }                                       \
    static void name##_loop32(float *y, const float *x)                                                     \
    {                                                                                                       \
        for (int i = 0; i < LOOP; i++)                                                                      \
            y[i] = fbm_##name##_f32(x[i]);                                                                  \
    }                                                                                                       \
    static void name##_loop64(double *y, const double *x)                                                   \
    {                                                                                                       \
        for (int i = 0; i < LOOP; i++)                                                                      \
            y[i] = fbm_##name##_f64(x[i]);                                                                  \
    }
#define OF2(name)                                                                                           \
    static float name##_32(float x, float y) { return fbm_##name##_f32(x, y); }                             \
    static double name##_64(double x, double y) { return fbm_##name##_f64(x, y); }

OF(exp) OF(exp2) OF(expm1) OF(log) OF(log2) OF(log10) OF(log1p) OF(sin) OF(cos) OF(tan)
OF(sin_any) OF(cos_any) OF(tan_any) OF(asin) OF(acos) OF(atan)
OF(sinh) OF(cosh) OF(tanh) OF(asinh) OF(acosh) OF(atanh) OF(sigmoid) OF(erf) OF(erfc) OF(erfinv) OF(lgamma)
OF(digamma) OF(softplus) OF(log_sigmoid) OF(silu) OF(mish) OF(gelu) OF(gelu_tanh)
OF(floor) OF(ceil) OF(trunc) OF(round) OF(frac) OF(sqrt) OF(rsqrt) OF(abs)
OF2(pow) OF2(atan2) OF2(hypot) OF2(fmod_any) OF2(remainder_any) OF2(logaddexp) OF2(xlogy) OF2(xlog1py)

static long double sigmoid_l(long double x) { return 1 / (1 + expl(-x)); }
static long double rsqrt_l(long double x) { return 1 / sqrtl(x); }
static long double frac_l(long double x) { return x - truncl(x); }
static long double softplus_l(long double x) { return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)); }
static long double log_sigmoid_l(long double x) { return -softplus_l(-x); }
static long double silu_l(long double x)
{
    x = x < -1e6L ? -1e6L : x;
    return x / (1 + expl(-x));
}
static long double mish_l(long double x)
{
    x = x < -1e4L ? -1e4L : x;
    long double e = expl(-fabsl(x));
    return x < 0 ? x * e * ((e + 2) / (e * (e + 2) + 2)) : x * ((1 + 2 * e) / (1 + 2 * e + 2 * e * e));
}
static const long double SQRT_HALF = 0.70710678118654752440084436210485L;
static long double gelu_l(long double x)
{
    x = x < -1e6L ? -1e6L : x; /* -inf: the limit */
    return x * (0.5L * erfcl(-x * SQRT_HALF));
}
static long double gelu_tanh_l(long double x)
{
    x = x < -1e4L ? -1e4L : x;
    long double u = 1.59576912160573071175978423973752L * (x + 0.044715L * x * x * x);
    return x / (1 + expl(-u));
}
/* One Newton step from erfinv itself: quadratic, so wrong only where erfinv is */
static long double erfinv_l(long double x)
{
    long double a = fabsl(x);
    if (!(a < 1))
        return a == 1 ? copysignl(INFINITY, x) : NAN;
    long double y = fbm_erfinv_f64((double)a);
    long double miss = a < 0.5L ? erfl(y) - a : (1 - a) - erfcl(y);
    return copysignl(y - miss * 0.88622692545275801364908374167057L * expl(y * y), x);
}
static long double digamma_l(long double x)
{
    /* around its root, the recurrence below would cancel: the Taylor series there */
    static const long double t[] = {0.9676722454476211704274448L,   -0.4427631689835921060928653L,
                                    0.2584997609556510106244014L,   -0.1639427054424065275042513L,
                                    0.1078240506912623657571829L,   -0.07219956125645471092612178L,
                                    0.04880428816414310722509253L,  -0.0331611264748473592922584L,
                                    0.02259764823221810465962483L,  -0.01542476590494895913880032L,
                                    0.01053879161661217538812405L,  -0.007204534386356868240970474L};
    long double d = (x - 1.4616321449683622L) - 1.4126265954232572e-16L;
    if (fabsl(d) < 0.02L) {
        long double p = 0;
        for (int i = 11; i >= 0; i--)
            p = (p + t[i]) * d;
        return p;
    }
    if (x == 0)
        return copysignl(INFINITY, -x);
    if (!(x > 0)) /* tried at special values only */
        return NAN;
    long double sum = 0;
    for (; x < 40; x++)
        sum += 1 / x;
    if (isinf(x) || isnan(x))
        return x;
    long double z = 1 / (x * x);
    long double s = 1 / 240.0L - z * (1 / 132.0L - z * 691 / 32760.0L);
    s = z * (1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L - z * s)));
    return logl(x) - 0.5L / x - s - sum;
}

#define ROW(name, exact, bound, limit)                                                                      \
    {#name, name##_32, name##_64, exact, bound, limit, name##_loop32, name##_loop64}
static const unary unaries[] = {
    ROW(exp, expl, 1, INFINITY), ROW(exp2, exp2l, 1.5, INFINITY), ROW(expm1, expm1l, 1.5, INFINITY),
    ROW(log, logl, 1, INFINITY), ROW(log2, log2l, 1.5, INFINITY), ROW(log10, log10l, 1.5, INFINITY),
    ROW(log1p, log1pl, 1.5, INFINITY), ROW(sin, sinl, 1.6, FBM_TRIG_LIMIT),
    ROW(cos, cosl, 1.6, FBM_TRIG_LIMIT), ROW(tan, tanl, 3.5, FBM_TRIG_LIMIT),
    ROW(sin_any, sinl, 1.6, INFINITY), ROW(cos_any, cosl, 1.6, INFINITY),
    ROW(tan_any, tanl, 3.5, INFINITY), ROW(asin, asinl, 2.5, INFINITY), ROW(acos, acosl, 2, INFINITY),
    ROW(atan, atanl, 2, INFINITY), ROW(sinh, sinhl, 2, INFINITY), ROW(cosh, coshl, 1.5, INFINITY),
    ROW(tanh, tanhl, 1.5, INFINITY), ROW(asinh, asinhl, 2.5, INFINITY), ROW(acosh, acoshl, 2.5, INFINITY),
    ROW(atanh, atanhl, 2.5, INFINITY), ROW(sigmoid, sigmoid_l, 2, INFINITY), ROW(erf, erfl, 1.5, INFINITY),
    ROW(erfc, erfcl, 4, INFINITY), ROW(erfinv, erfinv_l, 3, INFINITY), ROW(lgamma, lgammal, 4, INFINITY),
    ROW(softplus, softplus_l, 3, INFINITY), ROW(log_sigmoid, log_sigmoid_l, 3, INFINITY),
    ROW(silu, silu_l, 3, INFINITY), ROW(mish, mish_l, 4, INFINITY), ROW(gelu, gelu_l, 4.5, INFINITY),
    ROW(gelu_tanh, gelu_tanh_l, 4, INFINITY), ROW(floor, floorl, 0, INFINITY), ROW(ceil, ceill, 0, INFINITY),
    ROW(trunc, truncl, 0, INFINITY), ROW(round, rintl, 0, INFINITY), ROW(frac, frac_l, 0, INFINITY),
    ROW(sqrt, sqrtl, 0.5, INFINITY), ROW(rsqrt, rsqrt_l, 1.5, INFINITY), ROW(abs, fabsl, 0, INFINITY),
    ROW(digamma, digamma_l, 6, INFINITY),
};

typedef struct { double worst, at, at2; } record;

static void note(record *r, double u, double x, double y)
{
    if (u > r->worst)
        *r = (record){u, x, y};
}

static void report(const char *name, const char *type, double bound, record r)
{
    if (getenv("VECMATH_VERBOSE"))
        fprintf(stderr, "%-14s %s %.3f at (%a, %a)\n", name, type, r.worst, r.at, r.at2);
    if (r.worst > bound) {
        printf("%s %s: %g ulp at (%a, %a), the bound is %g\n", name, type, r.worst, r.at, r.at2, bound);
        failures++;
    }
}

static const double specials[] = {
    0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1.5, -1.5, 2.5, -2.5, INFINITY, -INFINITY, NAN,
    0x1p-126, 0x1p-149, -0x1p-149, 0x1.fffffep127, -0x1.fffffep127, 0x1p-1022, 0x1p-1074, -0x1p-1074,
    0x1.fffffffffffffp1023, 0x1p23, 0x1p24, 0x1p52, 0x1p53, 0x1.000002p0, 0x1.fffffep-1, 1e-30, 88.72283,
    88.72284, 709.7827128933840, -103.2, -103.98, -745.13, -87.34, -708.4, 0.6931472, 0x1.921fb6p0, 11.0, 1e8,
    1e20};

/* NaN for an integer below zero: only what is defined is compared */
static int tried(const unary *t, double x)
{
    int poles = t->f64 == digamma_64 && x < 0;
    return !poles && (isnan(x) || fabs(x) <= t->limit);
}

static void check_unary(const unary *t)
{
    record a = {0, 0, 0}, b = {0, 0, 0};
    int n32 = 256 * 2 * 96, n64 = 40000;
    for (int i = 0; i < n32; i++) { /* each binade and sign: 96 values */
        uint32_t u = (uint32_t)(i / 96) << 23 | (uint32_t)(random_bits() & 0x7fffff);
        if (i & 1)
            u = (u & 0x007fffff) | (uint32_t)(127 - 12 + random_bits() % 20) << 23 | (u & 0x80000000);
        float x = fbm_from_bits_f32(u);
        if (tried(t, (double)x))
            note(&a, ulps_f32(t->f32(x), t->exact(x)), (double)x, 0);
    }
    for (int i = 0; i < n64; i++) {
        uint64_t u = random_bits();
        if (i & 1) /* binades around 1 */
            u = (u & 0x800fffffffffffffu) | (uint64_t)(1023 - 20 + random_bits() % 30) << 52;
        if ((i & 3) == 2) /* every binade, near a float */
            u = (u & 0x800fffffe0000000u) | (uint64_t)(i / 4 % 2048) << 52;
        double x = fbm_from_bits_f64(u);
        if (tried(t, x))
            note(&b, ulps_f64(t->f64(x), t->exact(x)), x, 0);
    }
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        double x = specials[i];
        float y = (float)x;
        if (tried(t, (double)y))
            note(&a, ulps_f32(t->f32(y), t->exact(y)), (double)y, 0);
        if (tried(t, x))
            note(&b, ulps_f64(t->f64(x), t->exact(x)), x, 0);
    }
    report(t->name, "f32", t->bound, a);
    report(t->name, "f64", t->bound, b);
}

/* A loop's vector body gives the bits of the scalar function. */
static void check_loop(const unary *t)
{
    float x[LOOP], y[LOOP];
    double u[LOOP], v[LOOP];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < LOOP; i++) {
            double wide = round & 1 ? 40 * random_unit() - 20 : fbm_from_bits_f64(random_bits());
            u[i] = i + 1 < (int)(sizeof specials / sizeof *specials) ? specials[i] : wide;
            x[i] = i + 1 < (int)(sizeof specials / sizeof *specials) || round & 1
                       ? (float)u[i] : fbm_from_bits_f32((uint32_t)random_bits());
        }
        t->loop32(y, x);
        t->loop64(v, u);
        for (int i = 0; i < LOOP; i++) {
            float a = t->f32(x[i]);
            double b = t->f64(u[i]);
            if (!(fbm_bits_f32(a) == fbm_bits_f32(y[i]) || (isnan(a) && isnan(y[i]))) ||
                !(fbm_bits_f64(b) == fbm_bits_f64(v[i]) || (isnan(b) && isnan(v[i])))) {
                printf("%s: a loop gives other bits at %a or %a\n", t->name, (double)x[i], u[i]);
                failures++;
                return;
            }
        }
    }
}

typedef struct {
    const char *name;
    float (*f32)(float, float);
    double (*f64)(double, double);
    long double (*exact)(long double, long double);
    double bound32, bound64;
} binary;

static long double remainder_l(long double x, long double y)
{
    long double m = fmodl(x, y);
    return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}
static long double xlogy_l(long double x, long double y) { return x == 0 && !isnan(y) ? 0 : x * logl(y); }
static long double xlog1py_l(long double x, long double y) { return x == 0 && !isnan(y) ? 0 : x * log1pl(y); }

#define ROW2(name, exact, b32, b64) {#name, name##_32, name##_64, exact, b32, b64}
static const binary binaries[] = {
    ROW2(pow, powl, 1, 2), ROW2(atan2, atan2l, 3, 3), ROW2(hypot, hypotl, 1, 1.5),
    ROW2(fmod_any, fmodl, 0, 0), ROW2(remainder_any, remainder_l, 0.5, 0.5), ROW2(xlogy, xlogy_l, 2, 2),
    ROW2(xlog1py, xlog1py_l, 2.5, 2.5),
};

static void compare(const binary *t, double x, double y, record *a, record *b)
{
    float fx = (float)x, fy = (float)y;
    note(a, ulps_f32(t->f32(fx, fy), t->exact(fx, fy)), (double)fx, (double)fy);
    note(b, ulps_f64(t->f64(x, y), t->exact(x, y)), x, y);
}

static void check_binary(const binary *t)
{
    record a = {0, 0, 0}, b = {0, 0, 0};
    for (int i = 0; i < 60000; i++) {
        double x = fbm_from_bits_f64(random_bits()), y = fbm_from_bits_f64(random_bits()), r = random_unit();
        switch (i % 6) { /* 1, 2 and 3: where pow neither overflows nor underflows */
        case 0: x = 20 * r - 10, y = 20 * random_unit() - 10; break;
        case 1: x = exp(170 * r - 85), y = (176 * random_unit() - 88) / log(x); break;
        case 2: x = exp(1400 * r - 700), y = (1420 * random_unit() - 710) / log(x); break;
        case 3:
            x = 1 + (r - 0.5) * exp2(-20 * random_unit()), y = (1420 * random_unit() - 710) / log(x);
            break;
        case 4: x = rint(200 * r - 100), y = rint(40 * random_unit() - 20); break;
        }
        compare(t, x, y, &a, &b);
    }
    size_t n = sizeof specials / sizeof *specials;
    for (size_t i = 0; i < n * n; i++)
        compare(t, specials[i / n], specials[i % n], &a, &b);
    report(t->name, "f32", t->bound32, a);
    report(t->name, "f64", t->bound64, b);
}

/* Absolute errors, relative to the larger operand: the sum cancels near 0. */
static void check_logaddexp(void)
{
    for (int i = 0; i < 100000; i++) {
        double a = 200 * random_unit() - 100, b = a + 40 * random_unit() - 20;
        long double want = logl(expl(a) + expl(b));
        if (fabsl(logaddexp_64(a, b) - want) > 3e-16 * (1 + fabs(a) + fabs(b))) {
            printf("logaddexp f64 at (%a, %a)\n", a, b);
            failures++;
            return;
        }
        float fa = (float)a, fb = (float)b;
        want = logl(expl(fa) + expl(fb));
        if (fabsl(logaddexp_32(fa, fb) - want) > 1.2e-7 * (1 + fabs(a) + fabs(b))) {
            printf("logaddexp f32 at (%a, %a)\n", a, b);
            failures++;
            return;
        }
    }
    const double inf = INFINITY;
    if (logaddexp_64(inf, inf) != inf || logaddexp_64(-inf, -inf) != -inf || logaddexp_64(-inf, 3) != 3 ||
        logaddexp_64(inf, -inf) != inf || !isnan(logaddexp_64(NAN, inf)) || !isnan(logaddexp_32(1, NAN))) {
        printf("logaddexp at infinities\n");
        failures++;
    }
}

/* The branch-free versions agree with the full ones where they claim to, and are NaN beyond. */
static void check_limits(void)
{
    int bad = 0;
    for (int i = 0; i < 200000; i++) {
        double x = ldexp(random_unit(), (int)(random_bits() % 80));
        double y = ldexp(random_unit(), (int)(random_bits() % 60));
        float fx = (float)x, fy = (float)y;
        double f = fbm_fmod_f64(x, y), r = fbm_remainder_f64(-x, y);
        float g = fbm_fmod_f32(fx, fy), s = fbm_remainder_f32(fx, -fy);
        if (fbm_all_mod_within_f64(&x, &y, 1))
            bad += f != fmod(x, y) || r != (f == 0 ? -f : y - f);
        else
            bad += !isnan(f);
        if (fbm_all_mod_within_f32(&fx, &fy, 1))
            bad += g != fmodf(fx, fy) || s != (g == 0 ? g : g - fy);
        bad += !(isnan(g) || g == fmodf(fx, fy));
    }
    float far32[] = {1, 0x1.000002p28f}, near32[] = {0x1p28f, INFINITY};
    double far64[] = {-0x1.1p28, NAN}, near64[] = {-0x1p28, NAN};
    bad += fbm_all_within_f32(far32, 2, FBM_TRIG_LIMIT) || !fbm_all_within_f32(near32, 2, FBM_TRIG_LIMIT);
    bad += fbm_all_within_f64(far64, 2, FBM_TRIG_LIMIT) || !fbm_all_within_f64(near64, 2, FBM_TRIG_LIMIT);
    bad += !isnan(fbm_sin_f32(far32[1])) || !isnan(fbm_cos_f64(far64[0])) || !isnan(fbm_tan_f64(far64[0]));
    double y[2];
    FBM_BLOCK_FIXUP(sin, f64, 2, y, far64);
    bad += fabs(y[0] - sin(far64[0])) > 1e-15 || !isnan(y[1]);
    FBM_BLOCK_FIXUP(sin, f64, 1, y, near64);
    bad += fabs(y[0] - sin(near64[0])) > 1e-15;
    if (bad) {
        printf("limits of fmod, remainder or the trigonometric functions: %d wrong\n", bad);
        failures++;
    }
}

/* digamma below 0, from the recurrence. */
static void check_digamma_reflection(void)
{
    for (int i = 0; i < 20000; i++) {
        double x = -20 * random_unit();
        long double y = x, sum = 0;
        for (; y < 0; y++)
            sum += 1 / y;
        long double want = digamma_l(y) - sum;
        double pole = (1 + fabs(x)) / fabs(x - rint(x)); /* where the reference itself loses */
        if (fabsl(fbm_digamma_f64(x) - want) > 2e-15 * (5 + fabsl(want) + pole)) {
            printf("digamma f64 at %a: %.17g\n", x, fbm_digamma_f64(x));
            failures++;
            return;
        }
    }
    if (!isnan(fbm_digamma_f64(-3)) || !isnan(fbm_digamma_f32(-INFINITY)) ||
        fbm_digamma_f64(0.0) != -INFINITY || fbm_digamma_f64(-0.0) != INFINITY) {
        printf("digamma at its poles\n");
        failures++;
    }
}

static double complex_error(fb_c128 got, long double re, long double im)
{
    long double size = hypotl(re, im);
    return (double)(hypotl(got.re - re, got.im - im) / (size + 0x1p-1000L));
}

static void complex_bound(const char *name, double error, fb_c128 z)
{
    if (!(error <= 2e-15)) {
        printf("%s at %a %a: relative error %g\n", name, z.re, z.im, error);
        failures++;
    }
}

/* Products and quotients by their definition, functions by identities that don't use libm's same function. */
static void check_complex(void)
{
    for (int i = 0; i < 20000 && failures < 20; i++) {
        fb_c128 z = {10 * random_unit() - 5, 10 * random_unit() - 5};
        fb_c128 w = {ldexp(random_unit() - 0.5, (int)(random_bits() % 300)),
                     ldexp(random_unit() - 0.5, (int)(random_bits() % 300))};
        long double x = z.re, y = z.im, u = w.re, v = w.im, d = u * u + v * v;
        complex_bound("cmul", complex_error(fbm_cmul(z, w), x * u - y * v, x * v + y * u), z);
        complex_bound("cdiv", complex_error(fbm_cdiv(z, w), (x * u + y * v) / d, (y * u - x * v) / d), z);
        complex_bound("cexp", complex_error(fbm_cexp(z), expl(x) * cosl(y), expl(x) * sinl(y)), z);
        complex_bound("csin", complex_error(fbm_csin(z), sinl(x) * coshl(y), cosl(x) * sinhl(y)), z);
        complex_bound("ccosh", complex_error(fbm_ccosh(z), coshl(x) * cosl(y), sinhl(x) * sinl(y)), z);
        complex_bound("clog", complex_error(fbm_clog(z), logl(x * x + y * y) / 2, atan2l(y, x)), z);
        long double p = expl(-x) * cosl(y) + 1, q = -expl(-x) * sinl(y), e = p * p + q * q;
        double pole = fmin(1, sqrt((double)e)); /* 1 + exp(-z) cancels where it is small */
        complex_bound("csigmoid", pole * complex_error(fbm_csigmoid(z), p / e, -q / e), z);
        fb_c128 s = {ldexp(z.re, -(int)(random_bits() % 40)), ldexp(z.im, -(int)(random_bits() % 40))};
        x = s.re, y = s.im;
        long double h = sinl(y / 2);
        long double er = expm1l(x) * cosl(y) - 2 * h * h;
        complex_bound("cexpm1", complex_error(fbm_cexpm1(s), er, expl(x) * sinl(y)), s);
        long double lr = fabsl(x) < 0.5L ? log1pl(x * (2 + x) + y * y) / 2 : logl(hypotl(1 + x, y));
        complex_bound("clog1p", complex_error(fbm_clog1p(s), lr, atan2l(y, 1 + x)), s);
        fb_c64 z32 = {(float)z.re, (float)z.im}, r32 = fbm_cexp(z32);
        fb_c128 wide = fbm_cexp(fbm_c128_of(z32));
        if (r32.re != (float)wide.re || r32.im != (float)wide.im)
            complex_bound("cexp f32", 1, z);
    }
    fb_c128 zero = {0, 0}, one = {1, 0};
    fb_c128 q = fbm_cdiv(one, zero), p = fbm_cpow(zero, zero), r = fbm_cpow(zero, one);
    if (q.re != INFINITY || !isnan(q.im) || p.re != 1 || p.im != 0 || r.re != 0 || r.im != 0 ||
        fbm_cabs(((fb_c128){NAN, -INFINITY})) != INFINITY ||
        fbm_carg(((fb_c64){-1, -0.0f})) != -(float)FBM_PI ||
        signbit(fbm_csqrt(((fb_c128){-4, -0.0})).im) == 0) {
        printf("special values of a complex function\n");
        failures++;
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
        check_unary(&unaries[i]), check_loop(&unaries[i]);
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        check_binary(&binaries[i]);
    check_logaddexp();
    check_limits();
    check_digamma_reflection();
    check_complex();
    printf("%s vecmath: %d failures\n", failures ? "FAIL" : "ok  ", failures);
    return failures != 0;
}
