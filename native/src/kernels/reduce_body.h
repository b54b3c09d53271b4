/* How a line "operator, accumulator, formulas" becomes the functions of an fb_fold.
 *
 * T is the element, A the accumulator, S the suffix; in formulas x is an element, a and b are accumulators, n is the
 * number of elements, p the norm's order. A row is folded in LANES interleaved parts, which are vector registers. */
#ifndef FB_KERNELS_REDUCE_BODY_H
#define FB_KERNELS_REDUCE_BODY_H

#include "kernels/isa.h"
#include "kernels/reduce.h"
#include "kernels/vecmath.h"

/* The larger and the smaller of two, NaN if either is, in two steps that compilers turn into vector code. */
#define RED_LARGER(a, b) ({ __typeof__(a) most_ = (a) > (b) ? (a) : (b); (a) != (a) ? (a) : most_; })
#define RED_LESSER(a, b) ({ __typeof__(a) least_ = (a) < (b) ? (a) : (b); (a) != (a) ? (a) : least_; })

#define RED(f, op) FB_CAT(FB_CAT(f, op), S)
#define LANES(A) (256 / (int)sizeof(A))

#define FOLD_ROWS(op, A, init, MAP, JOIN)                                                                  \
    FB_INLINE A RED(one, op)(int64_t len, const T *v, T p)                                                 \
    {                                                                                                      \
        (void)p;                                                                                           \
        enum { L = LANES(A) };                                                                             \
        int64_t i = 0;                                                                                     \
        if (len < L / 4) {                                                                                 \
            A a = init;                                                                                    \
            for (; i < len; i++) {                                                                         \
                T x = v[i];                                                                                \
                A b = MAP;                                                                                 \
                a = JOIN;                                                                                  \
            }                                                                                              \
            return a;                                                                                      \
        }                                                                                                  \
        if (len < 8 * L) { /* a register's worth */                                                        \
            enum { K = L / 4 };                                                                            \
            A k[K];                                                                                        \
            for (int j = 0; j < K; j++) k[j] = init;                                                       \
            for (; i + K <= len; i += K)                                                                   \
                for (int j = 0; j < K; j++) {                                                              \
                    T x = v[i + j];                                                                        \
                    A a = k[j], b = MAP;                                                                   \
                    k[j] = JOIN;                                                                           \
                }                                                                                          \
            for (int64_t j = 0; j < len - i; j++) {                                                        \
                T x = v[i + j];                                                                            \
                A a = k[j], b = MAP;                                                                       \
                k[j] = JOIN;                                                                               \
            }                                                                                              \
            for (int w = K / 2; w; w /= 2)                                                                 \
                for (int j = 0; j < w; j++) {                                                              \
                    A a = k[j], b = k[j + w];                                                              \
                    k[j] = JOIN;                                                                           \
                }                                                                                          \
            return k[0];                                                                                   \
        }                                                                                                  \
        A l[L];                                                                                            \
        for (int j = 0; j < L; j++) l[j] = init;                                                           \
        for (; i + L <= len; i += L)                                                                       \
            for (int j = 0; j < L; j++) {                                                                  \
                T x = v[i + j];                                                                            \
                A a = l[j], b = MAP;                                                                       \
                l[j] = JOIN;                                                                               \
            }                                                                                              \
        for (int64_t j = 0; j < len % L; j++) {                                                            \
            T x = v[i + j];                                                                                \
            A a = l[j], b = MAP;                                                                           \
            l[j] = JOIN;                                                                                   \
        }                                                                                                  \
        for (int w = L / 2; w; w /= 2)                                                                     \
            for (int j = 0; j < w; j++) {                                                                  \
                A a = l[j], b = l[j + w];                                                                  \
                l[j] = JOIN;                                                                               \
            }                                                                                              \
        return l[0];                                                                                       \
    }                                                                                                      \
    static __attribute__((noinline)) void RED(rows, op)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, \
                                                        void *acc, const fb_fold_args *args)               \
    {                                                                                                      \
        (void)first;                                                                                       \
        A *o = acc;                                                                                        \
        T p = RED_ORDER(args->ord);                                                                        \
        for (int64_t r = 0; r < rows; r++) o[r] = RED(one, op)(len, (const T *)src + r * stride, p);       \
    }

#define FOLD_COLS(op, A, init, MAP, JOIN)                                                                  \
    FB_INLINE A RED(map, op)(T x, T p) { (void)p; return MAP; }                                            \
    FB_INLINE A RED(both, op)(A a, A b) { return JOIN; }                                                   \
    static void RED(cols, op)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, \
                              const fb_fold_args *args)                                                    \
    {                                                                                                      \
        (void)first;                                                                                       \
        A *restrict o = acc;                                                                               \
        const T *restrict v = src;                                                                         \
        T p = RED_ORDER(args->ord);                                                                        \
        int64_t r = 1;                                                                                     \
        for (int64_t j = 0; j < w; j++) o[j] = RED(map, op)(v[j], p);                                      \
        for (; r + 4 <= rows; r += 4) {                                                                    \
            const T *restrict s = v + r * stride, *restrict t = s + stride, *restrict u = t + stride, *restrict z = u + stride; \
            for (int64_t j = 0; j < w; j++) {                                                              \
                A a = RED(both, op)(RED(map, op)(s[j], p), RED(map, op)(t[j], p));                         \
                A b = RED(both, op)(RED(map, op)(u[j], p), RED(map, op)(z[j], p));                         \
                o[j] = RED(both, op)(o[j], RED(both, op)(a, b));                                           \
            }                                                                                              \
        }                                                                                                  \
        for (; r < rows; r++)                                                                              \
            for (int64_t j = 0; j < w; j++) o[j] = RED(both, op)(o[j], RED(map, op)(v[r * stride + j], p)); \
    }                                                                                                      \
    static void RED(join, op)(int64_t w, void *a, int64_t na, const void *b, int64_t nb)                   \
    {                                                                                                      \
        (void)na, (void)nb;                                                                                \
        A *restrict o = a;                                                                                 \
        const A *restrict c = b;                                                                           \
        for (int64_t j = 0; j < w; j++) o[j] = RED(both, op)(o[j], c[j]);                                  \
    }

/* A costly MAP (of x, to R) in a loop of its own, over a stretch that stays in L1, then the fold `by` of type R and
 * suffix BY. */
#define FOLD_MAPPED(op, R, BY, by, MAP, ...)                                                               \
    static void RED(rows, op)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, \
                              const fb_fold_args *args)                                                    \
    {                                                                                                      \
        R t[256], part;                                                                                    \
        T p = RED_ORDER(args->ord);                                                                        \
        (void)p;                                                                                           \
        for (int64_t r = 0; r < rows; r++) {                                                               \
            const T *v = (const T *)src + r * stride;                                                      \
            R *o = (R *)acc + r;                                                                           \
            rows_##by##_##BY(1, 0, v, 0, first, o, args);                                                  \
            for (int64_t i = 0; i < len; i += 256) {                                                       \
                int64_t m = FB_MIN(len - i, 256);                                                          \
                for (int64_t j = 0; j < m; j++) {                                                          \
                    T x = v[i + j];                                                                        \
                    t[j] = MAP;                                                                            \
                }                                                                                          \
                rows_##by##_##BY(1, m, t, 0, first, &part, args);                                          \
                join_##by##_##BY(1, o, 1, &part, 1);                                                       \
            }                                                                                              \
        }                                                                                                  \
    }                                                                                                      \
    static void RED(cols, op)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, \
                              const fb_fold_args *args)                                                    \
    {                                                                                                      \
        R t[FB_FOLD_WIDTH];                                                                                \
        T p = RED_ORDER(args->ord);                                                                        \
        (void)p, (void)first;                                                                              \
        for (int64_t r = 0; r < rows; r++) {                                                               \
            R *o = r ? t : acc;                                                                            \
            for (int64_t j = 0; j < w; j++) {                                                              \
                T x = ((const T *)src)[r * stride + j];                                                    \
                o[j] = MAP;                                                                                \
            }                                                                                              \
            if (r) join_##by##_##BY(w, acc, 1, t, 1);                                                      \
        }                                                                                                  \
    }                                                                                                      \
    FOLD_FINISH(op, R, R, __VA_ARGS__)                                                                     \
    static const fb_fold RED(fold, op) = {(int)sizeof(R), RED(rows, op), RED(cols, op), join_##by##_##BY, RED(finish, op), true};

/* R: the type of the result */
#define FOLD_FINISH(op, A, R, ...)                                                                         \
    static void RED(finish, op)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args) \
    {                                                                                                      \
        (void)n;                                                                                           \
        T p = RED_ORDER(args->ord);                                                                        \
        (void)p;                                                                                           \
        R *o = out[0];                                                                                     \
        const A *v = acc;                                                                                  \
        for (int64_t j = 0; j < w; j++) {                                                                  \
            A a = v[j];                                                                                    \
            o[j] = __VA_ARGS__;                                                                            \
        }                                                                                                  \
    }
#define FOLD_ROW(op, how, A)                                                                               \
    static const fb_fold RED(fold, op) = {(int)sizeof(A), RED(rows, how), RED(cols, how), RED(join, how), RED(finish, op), true};

/* all of it */
#define FOLD(op, A, init, MAP, JOIN, R, ...)                                                               \
    FOLD_ROWS(op, A, init, MAP, JOIN) FOLD_COLS(op, A, init, MAP, JOIN) FOLD_FINISH(op, A, R, __VA_ARGS__) FOLD_ROW(op, op, A)
/* the folding of `how` with another end */
#define FOLD_AS(op, how, A, R, ...) FOLD_FINISH(op, A, R, __VA_ARGS__) FOLD_ROW(op, how, A)

#define FOLD_TABLE(op, ...) extern const fb_fold *const FB_K(fb_folds_##op)[]; \
    const fb_fold *const FB_K(fb_folds_##op)[FB_N_DTYPES] = {__VA_ARGS__};
#define FOLD_FLOATS(op) [FB_F32] = &fold_##op##_f32, [FB_F64] = &fold_##op##_f64
#define FOLD_COMPLEXES(op) [FB_C64] = &fold_##op##_c64, [FB_C128] = &fold_##op##_c128

#endif
