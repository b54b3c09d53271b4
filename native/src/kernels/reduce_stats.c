/* Variance and logsumexp: accumulators of two numbers.
 *
 * Variance: mean and sum of squared deviations in double, joined by Chan, Golub and LeVeque's formula (Algorithms for
 * computing the sample variance, 1983). logsumexp: maximum and sum of exponentials relative to it. */
#include "kernels/reduce_body.h"

#define RED_ORDER(v) (T)(v)

/* ---- variance ----------------------------------------------------------------------------------- */
/* A step is at hand in L1: its mean first, then the deviations, whose own sum corrects for the mean's rounding. */
#define VARIANCE                                                                                           \
    FOLD_ROWS(total, T, 0, x, a + b)                                                                       \
    FOLD_ROWS(square, T, 0, (x - p) * (x - p), a + b)                                                      \
    FOLD_ROWS(deviation, T, 0, x - p, a + b)                                                               \
    static void RED(rows, var)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, \
                               const fb_fold_args *args)                                                   \
    {                                                                                                      \
        double *mean = acc, *m2 = mean + rows;                                                             \
        (void)first, (void)args, (void)RED(rows, total), (void)RED(rows, square), (void)RED(rows, deviation); \
        for (int64_t r = 0; r < rows; r++) {                                                               \
            const T *x = (const T *)src + r * stride;                                                      \
            T m = len ? RED(one, total)(len, x, 0) / (T)len : 0;                                           \
            double d = (double)RED(one, deviation)(len, x, m), n = (double)FB_MAX(len, 1);                 \
            mean[r] = (double)m + d / n;                                                                   \
            m2[r] = (double)RED(one, square)(len, x, m) - d * d / n;                                       \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(cols, var)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, \
                               const fb_fold_args *args)                                                   \
    {                                                                                                      \
        double *restrict mean = acc, *restrict m2 = mean + w;                                              \
        T m[FB_FOLD_WIDTH], d[FB_FOLD_WIDTH], q[FB_FOLD_WIDTH];                                            \
        const T *v = src;                                                                                  \
        const T share = 1 / (T)rows;                                                                       \
        (void)first, (void)args;                                                                           \
        for (int64_t j = 0; j < w; j++) m[j] = d[j] = q[j] = 0;                                            \
        for (int64_t r = 0; r < rows; r++)                                                                 \
            for (int64_t j = 0; j < w; j++) m[j] += v[r * stride + j];                                     \
        for (int64_t j = 0; j < w; j++) m[j] *= share;                                                     \
        for (int64_t r = 0; r < rows; r++)                                                                 \
            for (int64_t j = 0; j < w; j++) {                                                              \
                T e = v[r * stride + j] - m[j];                                                            \
                d[j] += e;                                                                                 \
                q[j] += e * e;                                                                             \
            }                                                                                              \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            double e = (double)d[j];                                                                       \
            mean[j] = (double)m[j] + e / (double)rows;                                                     \
            m2[j] = (double)q[j] - e * e / (double)rows;                                                   \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(finish, var)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args) \
    {                                                                                                      \
        const double *mean = acc, *m2 = mean + w;                                                          \
        double free = (double)n - args->correction;                                                        \
        free = free > 0 ? free : 0; /* none left: inf or NaN */                                            \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            double v = n ? (m2[j] < 0 ? 0 : m2[j]) / free : (double)NAN;                                   \
            ((T *)out[0])[j] = (T)(args->ord != 0 ? fbm_sqrt_f64(v) : v); /* ord marks the standard deviation */ \
            if (out[1]) ((T *)out[1])[j] = n ? (T)mean[j] : (T)NAN;                                        \
        }                                                                                                  \
    }                                                                                                      \
    static const fb_fold RED(fold, var) = {2 * sizeof(double), RED(rows, var), RED(cols, var), join_var, RED(finish, var), false};

static void join_var(int64_t w, void *a, int64_t na, const void *b, int64_t nb)
{
    double *mean = a, *m2 = mean + w, n = (double)(na + nb), share = (double)nb / n, both = (double)na * share;
    const double *mean_b = b, *m2_b = mean_b + w;
    for (int64_t j = 0; j < w; j++) {
        double d = mean_b[j] - mean[j];
        mean[j] += d * share;
        m2[j] += m2_b[j] + d * d * both;
    }
}

/* ---- logsumexp ---------------------------------------------------------------------------------- */
#define LSE_SHIFT(m) (fbm_abs(m) < (T)INFINITY ? (m) : (m) != (m) ? (m) : 0)
#define LOGSUMEXP                                                                                          \
    FOLD_ROWS(most, T, -(T)INFINITY, x, RED_LARGER(a, b))                                         \
    FOLD_ROWS(plain, T, 0, x, a + b)                                                                       \
    FB_INLINE T RED(one, exps)(int64_t len, const T *v, T p) /* in stretches that stay in L1 */            \
    {                                                                                                      \
        T t[256], sum = 0;                                                                                 \
        for (int64_t i = 0; i < len; i += 256) {                                                           \
            int64_t m = FB_MIN(len - i, 256);                                                              \
            for (int64_t j = 0; j < m; j++) t[j] = fbm_exp(v[i + j] - p);                                  \
            sum += RED(one, plain)(m, t, 0);                                                               \
        }                                                                                                  \
        return sum;                                                                                        \
    }                                                                                                      \
    static void RED(rows, logsumexp)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, \
                                     const fb_fold_args *args)                                             \
    {                                                                                                      \
        T *m = acc, *s = m + rows;                                                                         \
        (void)first, (void)args, (void)RED(rows, most), (void)RED(rows, plain);                             \
        for (int64_t r = 0; r < rows; r++) {                                                               \
            const T *x = (const T *)src + r * stride;                                                      \
            m[r] = RED(one, most)(len, x, 0);                                                              \
            s[r] = RED(one, exps)(len, x, LSE_SHIFT(m[r]));                                                \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(cols, logsumexp)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, \
                                     const fb_fold_args *args)                                             \
    {                                                                                                      \
        T *restrict m = acc, *restrict s = m + w;                                                          \
        const T *restrict v = src;                                                                         \
        (void)first, (void)args;                                                                           \
        for (int64_t j = 0; j < w; j++) m[j] = v[j];                                                       \
        for (int64_t r = 1; r < rows; r++)                                                                 \
            for (int64_t j = 0; j < w; j++) {                                                              \
                T a = m[j], b = v[r * stride + j];                                                         \
                m[j] = RED_LARGER(a, b);                                                            \
            }                                                                                              \
        for (int64_t j = 0; j < w; j++) s[j] = 0;                                                          \
        for (int64_t r = 0; r < rows; r++)                                                                 \
            for (int64_t j = 0; j < w; j++) s[j] += fbm_exp(v[r * stride + j] - LSE_SHIFT(m[j]));          \
    }                                                                                                      \
    static void RED(join, logsumexp)(int64_t w, void *a, int64_t na, const void *b, int64_t nb)            \
    {                                                                                                      \
        T *ma = a, *sa = ma + w;                                                                           \
        const T *mb = b, *sb = mb + w;                                                                     \
        (void)na, (void)nb;                                                                                \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            T m = ma[j] > mb[j] || ma[j] != ma[j] ? ma[j] : mb[j], to = LSE_SHIFT(m);                      \
            sa[j] = sa[j] * fbm_exp(LSE_SHIFT(ma[j]) - to) + sb[j] * fbm_exp(LSE_SHIFT(mb[j]) - to);       \
            ma[j] = m;                                                                                     \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(finish, logsumexp)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args) \
    {                                                                                                      \
        const T *m = acc, *s = m + w;                                                                      \
        (void)n, (void)args;                                                                               \
        for (int64_t j = 0; j < w; j++) ((T *)out[0])[j] = fbm_log(s[j]) + LSE_SHIFT(m[j]);                \
    }                                                                                                      \
    static const fb_fold RED(fold, logsumexp) = {2 * sizeof(T), RED(rows, logsumexp), RED(cols, logsumexp), \
                                                 RED(join, logsumexp), RED(finish, logsumexp), false};

#define T float
#define S f32
VARIANCE
LOGSUMEXP
#undef T
#undef S
#define T double
#define S f64
VARIANCE
LOGSUMEXP
#undef T
#undef S
/* ---- complex: a number at a time ------------------------------------------------------------------- */
/* Variance: planes of the mean's real and imaginary part, and of squared distances, in double. */
static void join_var_complex(int64_t w, void *a, int64_t na, const void *b, int64_t nb)
{
    double *re = a, *im = re + w, *m2 = im + w, n = (double)(na + nb), share = (double)nb / n, both = (double)na * share;
    const double *re_b = b, *im_b = re_b + w, *m2_b = im_b + w;
    for (int64_t j = 0; j < w; j++) {
        double d = re_b[j] - re[j], e = im_b[j] - im[j];
        re[j] += d * share;
        im[j] += e * share;
        m2[j] += m2_b[j] + (d * d + e * e) * both;
    }
}

/* logsumexp: plane of complex sums of exp(x - m), then plane of the real m. */
#define COMPLEX_STATS                                                                                      \
    static void RED(line, var)(int64_t n, const T *x, int64_t step, double *re, double *im, double *m2)    \
    {                                                                                                      \
        double a = 0, b = 0, q = 0;                                                                        \
        for (int64_t i = 0; i < n; i++) a += (double)x[i * step].re, b += (double)x[i * step].im;          \
        a /= (double)FB_MAX(n, 1), b /= (double)FB_MAX(n, 1);                                              \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            double d = (double)x[i * step].re - a, e = (double)x[i * step].im - b;                         \
            q += d * d + e * e;                                                                            \
        }                                                                                                  \
        *re = a, *im = b, *m2 = q;                                                                         \
    }                                                                                                      \
    static void RED(line, lse)(int64_t n, const T *x, int64_t step, T *sum, R *most)                       \
    {                                                                                                      \
        R m = -(R)INFINITY;                                                                                \
        T s = {0, 0};                                                                                      \
        for (int64_t i = 0; i < n; i++) m = (m > x[i * step].re) | (m != m) ? m : x[i * step].re;          \
        m = fbm_abs(m) < (R)INFINITY || m != m ? m : 0;                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            T e = fbm_cexp(((T){x[i * step].re - m, x[i * step].im}));                                     \
            s.re += e.re, s.im += e.im;                                                                    \
        }                                                                                                  \
        *sum = s, *most = m;                                                                               \
    }                                                                                                      \
    static void RED(rows, var)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, \
                               const fb_fold_args *args)                                                   \
    {                                                                                                      \
        double *p = acc;                                                                                   \
        (void)first, (void)args;                                                                           \
        for (int64_t r = 0; r < rows; r++)                                                                 \
            RED(line, var)(len, (const T *)src + r * stride, 1, p + r, p + rows + r, p + 2 * rows + r);    \
    }                                                                                                      \
    static void RED(cols, var)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, \
                               const fb_fold_args *args)                                                   \
    {                                                                                                      \
        double *p = acc;                                                                                   \
        (void)first, (void)args;                                                                           \
        for (int64_t j = 0; j < w; j++)                                                                    \
            RED(line, var)(rows, (const T *)src + j, stride, p + j, p + w + j, p + 2 * w + j);             \
    }                                                                                                      \
    static void RED(finish, var)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args) \
    {                                                                                                      \
        const double *re = acc, *im = re + w, *m2 = im + w;                                                \
        double free = (double)n - args->correction;                                                        \
        free = free > 0 ? free : 0;                                                                        \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            double v = n ? m2[j] / free : (double)NAN;                                                     \
            ((R *)out[0])[j] = (R)(args->ord != 0 ? fbm_sqrt_f64(v) : v);                                  \
            if (out[1]) ((T *)out[1])[j] = n ? (T){(R)re[j], (R)im[j]} : (T){(R)NAN, (R)NAN};              \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(rows, lse)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, \
                               const fb_fold_args *args)                                                   \
    {                                                                                                      \
        T *s = acc;                                                                                        \
        (void)first, (void)args;                                                                           \
        for (int64_t r = 0; r < rows; r++) RED(line, lse)(len, (const T *)src + r * stride, 1, s + r, (R *)(s + rows) + r); \
    }                                                                                                      \
    static void RED(cols, lse)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, \
                               const fb_fold_args *args)                                                   \
    {                                                                                                      \
        T *s = acc;                                                                                        \
        (void)first, (void)args;                                                                           \
        for (int64_t j = 0; j < w; j++) RED(line, lse)(rows, (const T *)src + j, stride, s + j, (R *)(s + w) + j); \
    }                                                                                                      \
    static void RED(join, lse)(int64_t w, void *a, int64_t na, const void *b, int64_t nb)                  \
    {                                                                                                      \
        T *s = a;                                                                                          \
        R *m = (R *)(s + w);                                                                               \
        const T *t = b;                                                                                    \
        const R *k = (const R *)(t + w);                                                                   \
        (void)na, (void)nb;                                                                                \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            R most = (m[j] > k[j]) | (m[j] != m[j]) ? m[j] : k[j];                                         \
            R p = fbm_exp(m[j] - most), q = fbm_exp(k[j] - most);                                          \
            s[j] = (T){s[j].re * p + t[j].re * q, s[j].im * p + t[j].im * q};                              \
            m[j] = most;                                                                                   \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(finish, lse)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args) \
    {                                                                                                      \
        const T *s = acc;                                                                                  \
        const R *m = (const R *)(s + w);                                                                   \
        (void)n, (void)args;                                                                               \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            T l = fbm_clog(s[j]);                                                                          \
            ((T *)out[0])[j] = (T){l.re + m[j], l.im};                                                     \
        }                                                                                                  \
    }                                                                                                      \
    static const fb_fold RED(fold, var) = {3 * sizeof(double), RED(rows, var), RED(cols, var), join_var_complex, RED(finish, var), false}; \
    static const fb_fold RED(fold, logsumexp) = {sizeof(T) + sizeof(R), RED(rows, lse), RED(cols, lse), RED(join, lse), RED(finish, lse), false};
#define T fb_c64
#define R float
#define S c64
COMPLEX_STATS
#undef T
#undef R
#undef S
#define T fb_c128
#define R double
#define S c128
COMPLEX_STATS

FOLD_TABLE(var, FOLD_FLOATS(var), FOLD_COMPLEXES(var))
FOLD_TABLE(logsumexp, FOLD_FLOATS(logsumexp), FOLD_COMPLEXES(logsumexp))
