/* Extrema and where they are: the first of equals, NaN before any number. Also the smallest and largest at once.
 *
 * Accumulator: plane of int64 positions, then a plane of values. */
#include "kernels/reduce_body.h"

#define RED_ORDER(v) (T)(v)

/* A row: its extremum by vectors, then the first element that has it. BETTER: b comes before a, which is earlier. */
#define INDEXED(op, init, JOIN, BETTER)                                                                    \
    FOLD_ROWS(op, T, init, x, JOIN)                                                                        \
    static void RED(rows_index, op)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, \
                                    const fb_fold_args *args)                                              \
    {                                                                                                      \
        int64_t *index = acc;                                                                              \
        T *value = (T *)(index + rows);                                                                    \
        (void)args, (void)RED(rows, op);                                                                   \
        for (int64_t r = 0; r < rows; r++) {                                                               \
            const T *x = (const T *)src + r * stride;                                                      \
            T v = RED(one, op)(len, x, 0);                                                                 \
            int64_t i = 0;                                                                                 \
            if (v != v) {                                                                                  \
                while (i < len && x[i] == x[i]) i++;                                                       \
            } else {                                                                                       \
                for (; i + 32 <= len; i += 32) {                                                           \
                    int found = 0;                                                                         \
                    for (int j = 0; j < 32; j++) found |= x[i + j] == v;                                   \
                    if (found) break;                                                                      \
                }                                                                                          \
                while (i < len && x[i] != v) i++;                                                          \
            }                                                                                              \
            index[r] = first + i;                                                                          \
            value[r] = v;                                                                                  \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(cols_index, op)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, \
                                    const fb_fold_args *args)                                              \
    {                                                                                                      \
        int64_t *restrict index = acc;                                                                     \
        T *restrict value = (T *)(index + w);                                                              \
        const T *restrict v = src;                                                                         \
        N at[FB_FOLD_WIDTH]; /* as wide as T, so that both are compared in one vector */                   \
        (void)args;                                                                                        \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            value[j] = v[j];                                                                               \
            at[j] = 0;                                                                                     \
        }                                                                                                  \
        for (int64_t r = 1; r < rows; r++)                                                                 \
            for (int64_t j = 0; j < w; j++) {                                                              \
                T a = value[j], b = v[r * stride + j];                                                     \
                bool better = BETTER;                                                                      \
                value[j] = better ? b : a;                                                                 \
                at[j] = better ? (N)r : at[j];                                                             \
            }                                                                                              \
        for (int64_t j = 0; j < w; j++) index[j] = first + (int64_t)at[j];                                 \
    }                                                                                                      \
    static void RED(join_index, op)(int64_t w, void *left, int64_t na, const void *right, int64_t nb)      \
    {                                                                                                      \
        int64_t *index = left;                                                                             \
        T *value = (T *)(index + w);                                                                       \
        const int64_t *index_b = right;                                                                    \
        const T *value_b = (const T *)(index_b + w);                                                       \
        (void)na, (void)nb;                                                                                \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            T a = value[j], b = value_b[j];                                                                \
            bool better = BETTER;                                                                          \
            value[j] = better ? b : a;                                                                     \
            index[j] = better ? index_b[j] : index[j];                                                     \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(finish_arg, op)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args) \
    {                                                                                                      \
        (void)n, (void)args;                                                                               \
        memcpy(out[0], acc, (size_t)w * sizeof(int64_t));                                                  \
    }                                                                                                      \
    static void RED(finish_both, op)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args) \
    {                                                                                                      \
        (void)n, (void)args;                                                                               \
        memcpy(out[1], acc, (size_t)w * sizeof(int64_t));                                                  \
        memcpy(out[0], (const int64_t *)acc + w, (size_t)w * sizeof(T));                                   \
    }                                                                                                      \
    static const fb_fold RED(fold_arg, op) = {8 + sizeof(T), RED(rows_index, op), RED(cols_index, op),      \
                                              RED(join_index, op), RED(finish_arg, op), false};                   \
    static const fb_fold RED(fold_both, op) = {8 + sizeof(T), RED(rows_index, op), RED(cols_index, op),     \
                                               RED(join_index, op), RED(finish_both, op), false};

/* smallest and largest: planes lo, hi */
#define AMINMAX                                                                                            \
    static void RED(rows, aminmax)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, \
                                   const fb_fold_args *args)                                               \
    {                                                                                                      \
        T *lo = acc, *hi = lo + rows;                                                                      \
        (void)first, (void)args;                                                                           \
        for (int64_t r = 0; r < rows; r++) {                                                               \
            lo[r] = RED(one, min)(len, (const T *)src + r * stride, 0);                                    \
            hi[r] = RED(one, max)(len, (const T *)src + r * stride, 0);                                    \
        }                                                                                                  \
    }                                                                                                      \
    FB_INLINE T RED(lesser, aminmax)(T a, T b) { return RED_LESSER(a, b); }                         \
    FB_INLINE T RED(larger, aminmax)(T a, T b) { return RED_LARGER(a, b); }                         \
    static void RED(cols, aminmax)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, \
                                   const fb_fold_args *args)                                               \
    {                                                                                                      \
        T *restrict lo = acc, *restrict hi = lo + w;                                                       \
        const T *restrict v = src;                                                                         \
        (void)first, (void)args;                                                                           \
        for (int64_t j = 0; j < w; j++) lo[j] = hi[j] = v[j];                                              \
        for (int64_t r = 1; r < rows; r++)                                                                 \
            for (int64_t j = 0; j < w; j++) {                                                              \
                lo[j] = RED(lesser, aminmax)(lo[j], v[r * stride + j]);                                    \
                hi[j] = RED(larger, aminmax)(hi[j], v[r * stride + j]);                                    \
            }                                                                                              \
    }                                                                                                      \
    static void RED(join, aminmax)(int64_t w, void *a, int64_t na, const void *b, int64_t nb)              \
    {                                                                                                      \
        T *lo = a, *hi = lo + w;                                                                           \
        const T *lo_b = b, *hi_b = lo_b + w;                                                               \
        (void)na, (void)nb;                                                                                \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            lo[j] = RED(lesser, aminmax)(lo[j], lo_b[j]);                                                  \
            hi[j] = RED(larger, aminmax)(hi[j], hi_b[j]);                                                  \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(finish, aminmax)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args) \
    {                                                                                                      \
        (void)n, (void)args;                                                                               \
        memcpy(out[0], acc, (size_t)w * sizeof(T));                                                        \
        memcpy(out[1], (const T *)acc + w, (size_t)w * sizeof(T));                                         \
    }                                                                                                      \
    static const fb_fold RED(fold, aminmax) = {2 * sizeof(T), RED(rows, aminmax), RED(cols, aminmax), RED(join, aminmax), \
                                               RED(finish, aminmax), false};

#define BOTH_ENDS(most, least)                                                                             \
    INDEXED(max, least, RED_LARGER(a, b), ((b > a) | (b != b)) & (a == a))                            \
    INDEXED(min, most, RED_LESSER(a, b), ((b < a) | (b != b)) & (a == a))                             \
    AMINMAX

#define T float
#define N int32_t
#define S f32
BOTH_ENDS((T)INFINITY, -(T)INFINITY)
#undef T
#undef N
#undef S
#define T double
#define N int64_t
#define S f64
BOTH_ENDS((T)INFINITY, -(T)INFINITY)
#undef T
#undef S
#define T int64_t
#define S i64
BOTH_ENDS(INT64_MAX, INT64_MIN)
#undef T
#undef S
#define T uint64_t
#define S u64
BOTH_ENDS(UINT64_MAX, 0)
#undef T
#undef N
#undef S
#define T uint8_t
#define N uint8_t
#define S u8
BOTH_ENDS(UINT8_MAX, 0)

#define ALL_TYPES(op)                                                                                      \
    FOLD_FLOATS(op), [FB_I64] = &fold_##op##_i64, [FB_U64] = &fold_##op##_u64, [FB_U8] = &fold_##op##_u8,  \
    [FB_BOOL] = &fold_##op##_u8
FOLD_TABLE(argmax, ALL_TYPES(arg_max))
FOLD_TABLE(argmin, ALL_TYPES(arg_min))
FOLD_TABLE(max_dim, ALL_TYPES(both_max))
FOLD_TABLE(min_dim, ALL_TYPES(both_min))
FOLD_TABLE(aminmax, ALL_TYPES(aminmax))
