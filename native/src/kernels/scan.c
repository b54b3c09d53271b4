/* Cumulative sums, products, extrema and logsumexp. */
#include "kernels/isa.h"
#include "kernels/scan.h"
#include "kernels/vecmath.h"

#define NAME(f, op) FB_CAT(FB_CAT(f, op), S)
enum { TOGETHER = 4 }; /* lines scanned at a time: a single one waits for its own last sum */
/* Vectors across lines would be gathers and scatters. */
#if defined(__GNUC__) && !defined(__clang__)
#define SCALAR_CODE __attribute__((optimize("no-tree-vectorize", "no-tree-slp-vectorize")))
#else
#define SCALAR_CODE
#endif

/* T element, A accumulator; first: the accumulator before anything; NEXT: of accumulator a and element x. */
#define SCAN(op, A, first, NEXT, RESULT)                                                                   \
    SCALAR_CODE static void NAME(lines, op)(int64_t lines, int64_t n, int64_t from, int64_t go, void *out, const void *in) \
    {                                                                                                      \
        for (int64_t l = 0; l < lines; l += TOGETHER) {                                                    \
            const T *v = (const T *)in + l * n + from;                                                     \
            T *o = (T *)out + l * n + from;                                                                \
            A acc[TOGETHER];                                                                               \
            for (int k = 0; k < TOGETHER; k++) acc[k] = first;                                             \
            if (lines - l >= TOGETHER) {                                                                   \
                for (int64_t i = 0; i < n; i++)                                                            \
                    for (int k = 0; k < TOGETHER; k++) {                                                   \
                        T x = v[i * go + k * n];                                                           \
                        A a = acc[k];                                                                      \
                        a = acc[k] = NEXT;                                                                 \
                        o[i * go + k * n] = RESULT;                                                        \
                    }                                                                                      \
            } else {                                                                                       \
                for (int64_t k = 0; k < lines - l; k++)                                                    \
                    for (int64_t i = 0; i < n; i++) {                                                      \
                        T x = v[i * go + k * n];                                                           \
                        A a = acc[k];                                                                      \
                        a = acc[k] = NEXT;                                                                 \
                        o[i * go + k * n] = RESULT;                                                        \
                    }                                                                                      \
            }                                                                                              \
        }                                                                                                  \
    }                                                                                                      \
    static void NAME(scan, op)(int64_t lines, int64_t n, int64_t w, int64_t step, bool back, void *out, int64_t *index, const void *in) \
    {                                                                                                      \
        (void)index;                                                                                       \
        int64_t from = back ? n - 1 : 0, go = back ? -1 : 1;                                               \
        if (step == 1) {                                                                                   \
            NAME(lines, op)(lines, n, from, go, out, in);                                                  \
            return;                                                                                        \
        }                                                                                                  \
        for (int64_t at = 0; at < w; at += 256) {                                                          \
            A acc[256];                                                                                    \
            int64_t m = FB_MIN(w - at, 256);                                                               \
            for (int64_t j = 0; j < m; j++) acc[j] = first;                                                \
            for (int64_t i = 0; i < n; i++) {                                                              \
                const T *v = (const T *)in + (from + i * go) * step + at;                                  \
                T *o = (T *)out + (from + i * go) * step + at;                                             \
                _Pragma("GCC ivdep") for (int64_t j = 0; j < m; j++) {                                     \
                    T x = v[j];                                                                            \
                    A a = acc[j];                                                                          \
                    a = acc[j] = NEXT;                                                                     \
                    o[j] = RESULT;                                                                         \
                }                                                                                          \
            }                                                                                              \
        }                                                                                                  \
    }

/* The last of equals counts, and NaN stays once it is met. */
#define SCAN_EXTREME(op, TAKES)                                                                            \
    static void NAME(scan, op)(int64_t lines, int64_t n, int64_t w, int64_t step, bool back, void *out, int64_t *index, const void *in) \
    {                                                                                                      \
        (void)back;                                                                                        \
        for (int64_t l = 0; l < lines; l++)                                                                \
            for (int64_t j = 0; j < w; j++) {                                                              \
                const T *v = (const T *)in + l * n + j;                                                    \
                T *o = (T *)out + l * n + j;                                                               \
                int64_t *p = index + l * n + j, best = 0;                                                  \
                T a = v[0];                                                                                \
                for (int64_t i = 0; i < n; i++) {                                                          \
                    T x = v[i * step];                                                                     \
                    bool takes = TAKES;                                                                    \
                    a = takes ? x : a;                                                                     \
                    best = takes ? i : best;                                                               \
                    o[i * step] = a;                                                                       \
                    p[i * step] = best;                                                                    \
                }                                                                                          \
            }                                                                                              \
    }

#define T float
#define S f32
SCAN(sum, double, 0, a + (double)x, (float)a)
SCAN(prod, double, 1, a * (double)x, (float)a)
SCAN(logsumexp, float, -INFINITY, fbm_logaddexp(a, x), a)
SCAN_EXTREME(max, x != x || (a == a && x >= a))
SCAN_EXTREME(min, x != x || (a == a && x <= a))
#undef T
#undef S
#define T double
#define S f64
SCAN(sum, T, 0, a + x, a)
SCAN(prod, T, 1, a * x, a)
SCAN(logsumexp, T, -(T)INFINITY, fbm_logaddexp(a, x), a)
SCAN_EXTREME(max, x != x || (a == a && x >= a))
SCAN_EXTREME(min, x != x || (a == a && x <= a))
#undef T
#undef S
#define T uint64_t
#define S u64
SCAN(sum, T, 0, a + x, a)
SCAN(prod, T, 1, a * x, a)
SCAN_EXTREME(max, x >= a)
SCAN_EXTREME(min, x <= a)
#undef T
#undef S
#define T int64_t
#define S i64
SCAN_EXTREME(max, x >= a)
SCAN_EXTREME(min, x <= a)
#undef T
#undef S
#define T fb_c64
#define S c64
SCAN(sum, fb_c128, ((fb_c128){0, 0}), ((fb_c128){a.re + (double)x.re, a.im + (double)x.im}), ((T){(float)a.re, (float)a.im}))
FBM_FN fb_c128 log_sum(fb_c128 x, fb_c128 y)
{
    bool first = x.re >= y.re;
    fb_c128 most = first ? x : y, least = first ? y : x;
    if (least.re == -(double)INFINITY || most.re == (double)INFINITY) return most;
    fb_c128 l = fbm_clog1p_c128(fbm_cexp_c128((fb_c128){least.re - most.re, least.im - most.im}));
    return (fb_c128){most.re + l.re, most.im + l.im};
}
SCAN(logsumexp, fb_c128, ((fb_c128){-(double)INFINITY, 0}), log_sum(a, fbm_c128_of(x)), fbm_c64_of(a))
SCAN(prod, fb_c128, ((fb_c128){1, 0}), fbm_cmul_c128(a, fbm_c128_of(x)), fbm_c64_of(a))
#undef T
#undef S
#define T fb_c128
#define S c128
SCAN(sum, T, ((T){0, 0}), ((T){a.re + x.re, a.im + x.im}), a)
SCAN(prod, T, ((T){1, 0}), fbm_cmul(a, x), a)
SCAN(logsumexp, T, ((T){-(double)INFINITY, 0}), log_sum(a, x), a)

#define ALL(op) [FB_F32] = scan_##op##_f32, [FB_F64] = scan_##op##_f64
#define COMPLEX(op) [FB_C64] = scan_##op##_c64, [FB_C128] = scan_##op##_c128
#define LONGS(op) [FB_I64] = scan_##op##_i64, [FB_U64] = scan_##op##_u64
#define WRAPS(op) [FB_I64] = scan_##op##_u64, [FB_U64] = scan_##op##_u64
const fb_scan_fn FB_K(fb_scans)[FB_N_SCANS][FB_N_DTYPES] = {
    [FB_SCAN_SUM] = {ALL(sum), COMPLEX(sum), WRAPS(sum)},
    [FB_SCAN_PROD] = {ALL(prod), COMPLEX(prod), WRAPS(prod)},
    [FB_SCAN_MAX] = {ALL(max), LONGS(max)},
    [FB_SCAN_MIN] = {ALL(min), LONGS(min)},
    [FB_SCAN_LOGSUMEXP] = {ALL(logsumexp), COMPLEX(logsumexp)},
};
