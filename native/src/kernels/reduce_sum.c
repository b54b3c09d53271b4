/* Sums, products, means, norms, extrema, any and all: one number an accumulator. */
#include "kernels/reduce_body.h"

#define LARGER RED_LARGER(a, b)
#define LESSER RED_LESSER(a, b)

#define RED_ORDER(v) (T)(v)
#define REAL_FOLDS                                                                                         \
    FOLD(sum, T, 0, x, a + b, T, a)                                                                        \
    FOLD_AS(mean, sum, T, T, a / (T)n)                                                                     \
    FOLD(nansum, T, 0, x == x ? x : 0, a + b, T, a)                                                        \
    FOLD(prod, T, 1, x, a * b, T, a)                                                                       \
    FOLD(amax, T, -(T)INFINITY, x, LARGER, T, a)                                                           \
    FOLD(amin, T, (T)INFINITY, x, LESSER, T, a)                                                            \
    /* norms by order: 2, 1, inf, -inf, 0, any other */                                                    \
    FOLD(norm2, T, 0, x * x, a + b, T, fbm_sqrt(a))                                                        \
    FOLD(norm1, T, 0, fbm_abs(x), a + b, T, a)                                                             \
    FOLD(norm_max, T, 0, fbm_abs(x), LARGER, T, a)                                                         \
    FOLD(norm_min, T, (T)INFINITY, fbm_abs(x), LESSER, T, a)                                               \
    FOLD(norm0, T, 0, x != 0, a + b, T, a)

#define T float
#define S f32
REAL_FOLDS
FOLD_MAPPED(normp, T, f32, sum, fbm_pow(fbm_abs(x), p), fbm_pow(a, 1 / p))
#undef T
#undef S
#define T double
#define S f64
REAL_FOLDS
FOLD_MAPPED(normp, T, f64, sum, fbm_pow(fbm_abs(x), p), fbm_pow(a, 1 / p))
#undef T
#undef S
#undef RED_ORDER

#define RED_ORDER(v) (T)(v) /* no norms of integers: 0 */
/* Sums wrap: in uint64, whose bits are int64's. */
#define T uint64_t
#define S i64
FOLD(sum, T, 0, x, a + b, T, a)
FOLD(prod, T, 1, x, a * b, T, a)
#undef T
#undef S
#define T int64_t
#define S s64
FOLD(amax, T, INT64_MIN, x, a > b ? a : b, T, a)
FOLD(amin, T, INT64_MAX, x, a < b ? a : b, T, a)
#undef T
#undef S
#define T uint64_t
#define S u64
FOLD(amax, T, 0, x, a > b ? a : b, T, a)
FOLD(amin, T, UINT64_MAX, x, a < b ? a : b, T, a)
#undef T
#undef S
#define T uint8_t
#define S u8
FOLD(amax, T, 0, x, a > b ? a : b, T, a)
FOLD(amin, T, UINT8_MAX, x, a < b ? a : b, T, a)
FOLD(any, T, 0, x, a | b, T, a)
FOLD(all, T, 1, x, a & b, T, a)
#undef T
#undef S
#undef RED_ORDER

/* Counting ones of a bool tensor: a step's sum fits a narrow integer. */
static void rows_count(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, const fb_fold_args *args)
{
    (void)first, (void)args;
    for (int64_t r = 0; r < rows; r++) {
        const uint8_t *x = (const uint8_t *)src + r * stride;
        uint32_t sum = 0;
        for (int64_t i = 0; i < len; i++) sum += x[i];
        ((int64_t *)acc)[r] = sum;
    }
}
static void cols_count(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, const fb_fold_args *args)
{
    (void)first, (void)args;
    uint8_t sum[FB_FOLD_WIDTH] = {0};
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < w; j++) sum[j] += ((const uint8_t *)src)[r * stride + j];
    for (int64_t j = 0; j < w; j++) ((int64_t *)acc)[j] = sum[j];
}
static void join_count(int64_t w, void *a, int64_t na, const void *b, int64_t nb)
{
    (void)na, (void)nb;
    for (int64_t j = 0; j < w; j++) ((int64_t *)a)[j] += ((const int64_t *)b)[j];
}
static void finish_count(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args)
{
    (void)n, (void)args;
    memcpy(out[0], acc, (size_t)w * sizeof(int64_t));
}
static const fb_fold fold_count = {sizeof(int64_t), rows_count, cols_count, join_count, finish_count, true};

/* ---- complex ------------------------------------------------------------------------------------ */
#define COMPLEX_FOLDS                                                                                      \
    FOLD(sum, T, ((T){0, 0}), x, ((T){a.re + b.re, a.im + b.im}), T, a)                                    \
    FOLD_AS(mean, sum, T, T, (T){a.re / (R)n, a.im / (R)n})                                                \
    FOLD(prod, T, ((T){1, 0}), x, fbm_cmul(a, b), T, a)                                                                       \
    COMPLEX_NORMS(R, RS)
#define COMPLEX_NORMS(R, RS)                                                                               \
    FOLD_MAPPED(norm2, R, RS, sum, x.re * x.re + x.im * x.im, fbm_sqrt(a))                                 \
    FOLD_MAPPED(norm1, R, RS, sum, fbm_cabs(x), a)                                                         \
    FOLD_MAPPED(norm_max, R, RS, amax, fbm_cabs(x), a)                                                     \
    FOLD_MAPPED(norm_min, R, RS, amin, fbm_cabs(x), a)                                                     \
    FOLD_MAPPED(norm0, R, RS, sum, (x.re != 0) | (x.im != 0), a)                                           \
    FOLD_MAPPED(normp, R, RS, sum, fbm_pow(fbm_cabs(x), p.re), fbm_pow(a, 1 / p.re))
#define RED_ORDER(v) ((T){(R)(v), 0})
#define T fb_c64
#define R float
#define RS f32
#define S c64
COMPLEX_FOLDS
#undef T
#undef R
#undef RS
#undef S
#define T fb_c128
#define R double
#define RS f64
#define S c128
COMPLEX_FOLDS
#undef T
#undef R
#undef RS
#undef S

FOLD_TABLE(sum, FOLD_FLOATS(sum), FOLD_COMPLEXES(sum), [FB_I64] = &fold_sum_i64, [FB_U64] = &fold_sum_i64)
FOLD_TABLE(mean, FOLD_FLOATS(mean), FOLD_COMPLEXES(mean))
FOLD_TABLE(nansum, FOLD_FLOATS(nansum), [FB_I64] = &fold_sum_i64)
FOLD_TABLE(prod, FOLD_FLOATS(prod), FOLD_COMPLEXES(prod), [FB_I64] = &fold_prod_i64, [FB_U64] = &fold_prod_i64)
FOLD_TABLE(amax, FOLD_FLOATS(amax), [FB_I64] = &fold_amax_s64, [FB_U64] = &fold_amax_u64, [FB_U8] = &fold_amax_u8,
           [FB_BOOL] = &fold_amax_u8)
FOLD_TABLE(amin, FOLD_FLOATS(amin), [FB_I64] = &fold_amin_s64, [FB_U64] = &fold_amin_u64, [FB_U8] = &fold_amin_u8,
           [FB_BOOL] = &fold_amin_u8)
FOLD_TABLE(any, [FB_BOOL] = &fold_any_u8)
FOLD_TABLE(all, [FB_BOOL] = &fold_all_u8)
FOLD_TABLE(count_nonzero, [FB_BOOL] = &fold_count)
#define NORM(op) FOLD_TABLE(op, FOLD_FLOATS(op), FOLD_COMPLEXES(op))
NORM(norm2) NORM(norm1) NORM(norm_max) NORM(norm_min) NORM(norm0) NORM(normp)
