/* softmax, log_softmax and their derivatives, along lines or down columns.
 *
 * y = exp(x - max x) / sum; the derivative of softmax is y (g - sum(g y)), of log_softmax g - exp(y) sum(g). */
#include "kernels/reduce_body.h"
#include "kernels/scan.h"

#define RED_ORDER(v) (T)(v)
#define COLUMN_LOOP _Pragma("GCC ivdep") for (int64_t j = 0; j < w; j++)
#define ROW(base, i) ((base) + (i) * step)

/* A line that has a NaN or inf gives NaN; one of -inf only as well, as 0 / 0. */
#define SOFTMAXES                                                                                          \
    FOLD_ROWS(most, T, -(T)INFINITY, x, RED_LARGER(a, b))                                         \
    FOLD_ROWS(total, T, 0, x, a + b)                                                                       \
    FB_INLINE T RED(exps, line)(int64_t n, const T *x, T shift, T *keep)                                   \
    {                                                                                                      \
        T t[256], sum = 0;                                                                                 \
        for (int64_t i = 0; i < n; i += 256) {                                                             \
            int64_t m = FB_MIN(n - i, 256);                                                                \
            T *to = keep ? keep + i : t;                                                                   \
            _Pragma("GCC ivdep") for (int64_t j = 0; j < m; j++) to[j] = fbm_exp(x[i + j] - shift);        \
            sum += RED(one, total)(m, to, 0);                                                              \
        }                                                                                                  \
        return sum;                                                                                        \
    }                                                                                                      \
    static void RED(softmax, of)(int64_t lines, int64_t n, int64_t w, int64_t step, void *out, const void *in, const void *grad) \
    {                                                                                                      \
        (void)grad, (void)RED(rows, most), (void)RED(rows, total);                                         \
        if (step == 1) {                                                                                    \
            for (int64_t l = 0; l < lines; l++) {                                                          \
                const T *x = (const T *)in + l * n;                                                        \
                T *o = (T *)out + l * n, r = 1 / RED(exps, line)(n, x, RED(one, most)(n, x, 0), o);        \
                _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) o[i] *= r;                            \
            }                                                                                              \
            return;                                                                                        \
        }                                                                                                  \
        T m[FB_SOFTMAX_WIDTH], s[FB_SOFTMAX_WIDTH];                                                        \
        const T *x = in;                                                                                   \
        T *o = out;                                                                                        \
        COLUMN_LOOP m[j] = x[j];                                                                           \
        for (int64_t i = 1; i < n; i++) COLUMN_LOOP {                                                      \
            T a = m[j], b = ROW(x, i)[j];                                                                  \
            m[j] = RED_LARGER(a, b);                                                                \
        }                                                                                                  \
        COLUMN_LOOP s[j] = 0;                                                                              \
        for (int64_t i = 0; i < n; i++) COLUMN_LOOP s[j] += ROW(o, i)[j] = fbm_exp(ROW(x, i)[j] - m[j]);    \
        COLUMN_LOOP s[j] = 1 / s[j];                                                                       \
        for (int64_t i = 0; i < n; i++) COLUMN_LOOP ROW(o, i)[j] *= s[j];                                  \
    }                                                                                                      \
    static void RED(softmax, log_of)(int64_t lines, int64_t n, int64_t w, int64_t step, void *out, const void *in, const void *grad) \
    {                                                                                                      \
        (void)grad;                                                                                        \
        if (step == 1) {                                                                                    \
            for (int64_t l = 0; l < lines; l++) {                                                          \
                const T *x = (const T *)in + l * n;                                                        \
                T *o = (T *)out + l * n, m = RED(one, most)(n, x, 0);                                      \
                T s = fbm_log(RED(exps, line)(n, x, m, NULL));                                             \
                _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) o[i] = x[i] - m - s;                  \
            }                                                                                              \
            return;                                                                                        \
        }                                                                                                  \
        T m[FB_SOFTMAX_WIDTH], s[FB_SOFTMAX_WIDTH];                                                        \
        const T *x = in;                                                                                   \
        T *o = out;                                                                                        \
        COLUMN_LOOP m[j] = x[j];                                                                           \
        for (int64_t i = 1; i < n; i++) COLUMN_LOOP {                                                      \
            T a = m[j], b = ROW(x, i)[j];                                                                  \
            m[j] = RED_LARGER(a, b);                                                                \
        }                                                                                                  \
        COLUMN_LOOP s[j] = 0;                                                                              \
        for (int64_t i = 0; i < n; i++) COLUMN_LOOP s[j] += fbm_exp(ROW(x, i)[j] - m[j]);                  \
        COLUMN_LOOP s[j] = fbm_log(s[j]);                                                                  \
        for (int64_t i = 0; i < n; i++) COLUMN_LOOP ROW(o, i)[j] = ROW(x, i)[j] - m[j] - s[j];             \
    }                                                                                                      \
    static void RED(softmax, back)(int64_t lines, int64_t n, int64_t w, int64_t step, void *out, const void *in, const void *grad) \
    {                                                                                                      \
        if (step == 1) {                                                                                    \
            for (int64_t l = 0; l < lines; l++) {                                                          \
                const T *y = (const T *)in + l * n, *g = (const T *)grad + l * n;                          \
                T *o = (T *)out + l * n, t[256], sum = 0;                                                  \
                for (int64_t i = 0; i < n; i += 256) {                                                     \
                    int64_t m = FB_MIN(n - i, 256);                                                        \
                    for (int64_t j = 0; j < m; j++) t[j] = g[i + j] * y[i + j];                            \
                    sum += RED(one, total)(m, t, 0);                                                       \
                }                                                                                          \
                _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) o[i] = (g[i] - sum) * y[i];           \
            }                                                                                              \
            return;                                                                                        \
        }                                                                                                  \
        T s[FB_SOFTMAX_WIDTH];                                                                             \
        const T *y = in, *g = grad;                                                                        \
        T *o = out;                                                                                        \
        COLUMN_LOOP s[j] = 0;                                                                              \
        for (int64_t i = 0; i < n; i++) COLUMN_LOOP s[j] += ROW(g, i)[j] * ROW(y, i)[j];                   \
        for (int64_t i = 0; i < n; i++) COLUMN_LOOP ROW(o, i)[j] = (ROW(g, i)[j] - s[j]) * ROW(y, i)[j];   \
    }                                                                                                      \
    static void RED(softmax, log_back)(int64_t lines, int64_t n, int64_t w, int64_t step, void *out, const void *in, const void *grad) \
    {                                                                                                      \
        if (step == 1) {                                                                                    \
            for (int64_t l = 0; l < lines; l++) {                                                          \
                const T *y = (const T *)in + l * n, *g = (const T *)grad + l * n;                          \
                T *o = (T *)out + l * n, sum = 0;                                                          \
                for (int64_t i = 0; i < n; i += 4096) sum += RED(one, total)(FB_MIN(n - i, 4096), g + i, 0); \
                _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) o[i] = g[i] - fbm_exp(y[i]) * sum;    \
            }                                                                                              \
            return;                                                                                        \
        }                                                                                                  \
        T s[FB_SOFTMAX_WIDTH];                                                                             \
        const T *y = in, *g = grad;                                                                        \
        T *o = out;                                                                                        \
        COLUMN_LOOP s[j] = 0;                                                                              \
        for (int64_t i = 0; i < n; i++) COLUMN_LOOP s[j] += ROW(g, i)[j];                                  \
        for (int64_t i = 0; i < n; i++) COLUMN_LOOP ROW(o, i)[j] = ROW(g, i)[j] - fbm_exp(ROW(y, i)[j]) * s[j]; \
    }

#define T float
#define S f32
SOFTMAXES
#undef T
#undef S
#define T double
#define S f64
SOFTMAXES
#undef T
#undef S

#define BOTH(f) {[FB_F32] = softmax_##f##_f32, [FB_F64] = softmax_##f##_f64}
const fb_softmax_fn FB_K(fb_softmaxes)[FB_N_SOFTMAXES][FB_N_DTYPES] = {
    [FB_SOFTMAX] = BOTH(of),
    [FB_LOG_SOFTMAX] = BOTH(log_of),
    [FB_SOFTMAX_BACK] = BOTH(back),
    [FB_LOG_SOFTMAX_BACK] = BOTH(log_back),
};
