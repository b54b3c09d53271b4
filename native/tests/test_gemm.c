/* Matrix products against the definition, for every dtype, shape class and stride order, on every instruction set
 * that this machine has; and the same bits at any number of threads. */
#include "kernels/gemm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

fb_status product_run_base(const fb_product *g);
fb_status product_run_avx2(const fb_product *g);
fb_status product_run_avx512(const fb_product *g);

static int failures;
#define CHECK(cond, ...)                                                                                     \
    do {                                                                                                     \
        if (!(cond)) {                                                                                       \
            printf("%s:%d: ", __FILE__, __LINE__);                                                           \
            printf(__VA_ARGS__);                                                                             \
            puts("");                                                                                        \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

typedef fb_status (*run_fn)(const fb_product *);
static run_fn runs[3];
static int n_runs;

/* Small integers: every sum is exact in every dtype, so that results are compared with ==. */
static int value(int64_t i, int range)
{
    return (int)((i * 2654435761u >> 7) % (2 * range + 1)) - range;
}

static void put(void *p, fb_dtype d, int64_t i, double re, double im)
{
    switch ((int)d) {
    case FB_F32: ((float *)p)[i] = (float)re; break;
    case FB_F64: ((double *)p)[i] = re; break;
    case FB_C64: ((float *)p)[2 * i] = (float)re, ((float *)p)[2 * i + 1] = (float)im; break;
    case FB_C128: ((double *)p)[2 * i] = re, ((double *)p)[2 * i + 1] = im; break;
    case FB_F16: ((uint16_t *)p)[i] = fb_float_to_half((float)re); break;
    case FB_BF16: ((uint16_t *)p)[i] = fb_float_to_bf16((float)re); break;
    case FB_I8:
    case FB_U8: ((int8_t *)p)[i] = (int8_t)(int64_t)re; break;
    case FB_I16: ((int16_t *)p)[i] = (int16_t)(int64_t)re; break;
    case FB_I32: ((int32_t *)p)[i] = (int32_t)(int64_t)re; break;
    case FB_I64: ((int64_t *)p)[i] = (int64_t)re; break;
    }
}

/* -0 becomes 0: the sign of a zero sum is nobody's promise */
static void unsign(void *p, fb_dtype d, int64_t n)
{
    const int64_t parts = fb_is_complex(d) ? 2 * n : n;
    if (d == FB_F32 || d == FB_C64)
        for (int64_t i = 0; i < parts; i++) ((float *)p)[i] += 0.0f;
    else if (d == FB_F64 || d == FB_C128)
        for (int64_t i = 0; i < parts; i++) ((double *)p)[i] += 0.0;
}

typedef struct shape {
    int64_t batch, m, n, k;
} shape;
static const shape shapes[] = {
    {1, 1, 1, 1},      {1, 3, 5, 2},     {1, 8, 8, 8},      {4, 7, 9, 5},      {1, 1, 33, 40},
    {1, 1, 100, 70},   {1, 40, 1, 33},   {1, 5, 40, 64},    {2, 12, 32, 300},  {1, 13, 65, 31},
    {1, 100, 30, 50},  {1, 70, 130, 90}, {1, 200, 90, 600}, {1, 16, 16, 5000}, {3, 33, 17, 0},
    {1, 1, 1, 300000}, {300, 4, 4, 4},   {1, 129, 257, 65}, {1, 2, 3000, 40},
};

/* order bits: a, b transposed, columns of a, b with gaps (bits 2, 3), c transposed (4) */
static void one(fb_dtype d, shape s, int order, double alpha, double beta, bool bias, int run)
{
    const int64_t size = fb_itemsize(d), gap_a = order & 4 ? 2 : 1, gap_b = order & 8 ? 3 : 1;
    const int range = d == FB_BF16 || d == FB_F16 ? 1 : 3;
    const bool complex = fb_is_complex(d);
    char *a = calloc((size_t)(s.batch * s.m * s.k * gap_a + 1), (size_t)size);
    char *b = calloc((size_t)(s.batch * s.k * s.n * gap_b + 1), (size_t)size);
    char *c = calloc((size_t)(s.batch * s.m * s.n), (size_t)size),
         *want = calloc((size_t)(s.batch * s.m * s.n), (size_t)size);
    char *again = calloc((size_t)(s.batch * s.m * s.n), (size_t)size),
         *add = calloc((size_t)s.n, (size_t)size);
    for (int64_t i = 0; i < s.batch * s.m * s.k * gap_a; i++)
        put(a, d, i, value(i, range), value(i + 5, range));
    for (int64_t i = 0; i < s.batch * s.k * s.n * gap_b; i++)
        put(b, d, i, value(i + 9, range), value(i + 77, range));
    for (int64_t i = 0; i < s.n; i++) put(add, d, i, i % 3, 0);
    fb_product g = {.dtype = d,
                    .m = s.m,
                    .n = s.n,
                    .k = s.k,
                    .batch = s.batch,
                    .a = a,
                    .b = b,
                    .c = c,
                    .a_row = order & 1 ? gap_a : s.k * gap_a,
                    .a_col = order & 1 ? s.m * gap_a : gap_a,
                    .b_row = order & 2 ? gap_b : s.n * gap_b,
                    .b_col = order & 2 ? s.k * gap_b : gap_b,
                    .c_row = order & 16 ? 1 : s.n,
                    .c_col = order & 16 ? s.m : 1,
                    .a_step = s.m * s.k * gap_a,
                    .b_step = s.k * s.n * gap_b,
                    .c_step = s.m * s.n,
                    .alpha = complex || fb_is_float(d) ? fb_float(alpha) : fb_int((int64_t)alpha),
                    .beta = complex || fb_is_float(d) ? fb_float(beta) : fb_int((int64_t)beta),
                    .col_bias = bias ? add : NULL};
    for (int64_t i = 0; i < s.batch * s.m * s.n; i++) {
        if (beta == 0 && fb_is_float(d))
            put(c, d, i, NAN, NAN); /* beta = 0 must not read c */
        else
            put(c, d, i, i % 5, 0);
    }
    memcpy(again, c, (size_t)(s.batch * s.m * s.n * size));
    for (int64_t z = 0; z < s.batch; z++)
        for (int64_t i = 0; i < s.m; i++)
            for (int64_t j = 0; j < s.n; j++) {
                double re = 0, im = 0;
                for (int64_t p = 0; p < s.k; p++) {
                    const int64_t x = z * g.a_step + i * g.a_row + p * g.a_col,
                                  y = z * g.b_step + p * g.b_row + j * g.b_col;
                    const double ar = value(x, range), ai = complex ? value(x + 5, range) : 0;
                    const double br = value(y + 9, range), bi = complex ? value(y + 77, range) : 0;
                    re += ar * br - ai * bi;
                    im += ar * bi + ai * br;
                }
                const int64_t at = z * g.c_step + i * g.c_row + j * g.c_col;
                put(want, d, at,
                    alpha * re + (beta != 0 ? beta * (double)(at % 5) : 0) + (bias ? (double)(j % 3) : 0),
                    alpha * im);
            }
    fb_set_num_threads(1);
    CHECK(runs[run](&g) == FB_OK, "failed: %s", fb_error_message());
    unsign(c, d, s.batch * s.m * s.n);
    CHECK(!memcmp(c, want, (size_t)(s.batch * s.m * s.n * size)),
          "%s (%ld, %ld, %ld) x %ld order %d alpha %g beta %g bias %d isa %d: wrong", fb_dtype_name(d),
          (long)s.m, (long)s.n, (long)s.k, (long)s.batch, order, alpha, beta, bias, run);
    fb_set_num_threads(3);
    g.c = again;
    CHECK(runs[run](&g) == FB_OK, "failed: %s", fb_error_message());
    unsign(again, d, s.batch * s.m * s.n);
    CHECK(!memcmp(c, again, (size_t)(s.batch * s.m * s.n * size)), "three threads give other bits");
    free(a), free(b), free(c), free(want), free(again), free(add);
}

/* Sums that round: all bits must still agree between thread counts. */
static void same_bits(shape s, int run)
{
    float *a = malloc((size_t)(s.m * s.k) * 4), *b = malloc((size_t)(s.k * s.n) * 4), *c[3];
    for (int64_t i = 0; i < s.m * s.k; i++) a[i] = (float)sin((double)i);
    for (int64_t i = 0; i < s.k * s.n; i++) b[i] = (float)cos((double)i);
    for (int t = 0; t < 3; t++) {
        c[t] = malloc((size_t)(s.m * s.n) * 4);
        fb_product g = {.dtype = FB_F32,
                        .m = s.m,
                        .n = s.n,
                        .k = s.k,
                        .batch = 1,
                        .a = a,
                        .b = b,
                        .c = c[t],
                        .a_row = s.k,
                        .a_col = 1,
                        .b_row = s.n,
                        .b_col = 1,
                        .c_row = s.n,
                        .c_col = 1,
                        .alpha = fb_float(1),
                        .beta = fb_float(0)};
        fb_set_num_threads(t + 1);
        CHECK(runs[run](&g) == FB_OK, "failed");
        if (t)
            CHECK(!memcmp(c[0], c[t], (size_t)(s.m * s.n) * 4), "(%ld, %ld, %ld): %d threads differ",
                  (long)s.m, (long)s.n, (long)s.k, t + 1);
    }
    for (int t = 0; t < 3; t++) free(c[t]);
    free(a), free(b);
}

int main(void)
{
    static const fb_dtype dtypes[] = {FB_F32, FB_F64, FB_C64, FB_C128, FB_F16, FB_BF16,
                                      FB_I8,  FB_U8,  FB_I16, FB_I32,  FB_I64};
    runs[n_runs++] = product_run_base;
#ifdef FB_HAVE_ISA_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) runs[n_runs++] = product_run_avx2;
#endif
#ifdef FB_HAVE_ISA_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        runs[n_runs++] = product_run_avx512;
#endif
    for (int run = 0; run < n_runs; run++) {
        for (unsigned d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                const bool big = shapes[s].batch * shapes[s].m * shapes[s].n * shapes[s].k > 100000;
                /* the half types hold integers to 256 exactly: only short sums */
                if ((dtypes[d] == FB_BF16 || dtypes[d] == FB_F16) && shapes[s].k > 100) continue;
                for (int order = 0; order < 32; order += big ? 13 : 1) {
                    one(dtypes[d], shapes[s], order, 1, 0, false, run);
                    if (order % 3 == 0) one(dtypes[d], shapes[s], order, 2, 3, order % 2, run);
                    if (order % 5 == 0) one(dtypes[d], shapes[s], order, 1, 1, true, run);
                }
            }
        same_bits((shape){1, 300, 300, 300}, run);
        same_bits((shape){1, 64, 128, 6272}, run);
        same_bits((shape){1, 16, 16, 100000}, run);
        same_bits((shape){1, 1, 1, 1000000}, run);
        same_bits((shape){1, 1, 5000, 700}, run);
    }
    printf("test_gemm: %d instruction sets, %d failures\n", n_runs, failures);
    return failures != 0;
}
