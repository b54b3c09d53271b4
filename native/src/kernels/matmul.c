/* fb_product: which way of multiplying suits a shape. */
#include "kernels/gemm.h"

#define PARALLEL_THIN  4e5 /* flops worth another thread, about 20 us: of a product bound by memory, */
#define PARALLEL_SMALL 1e6 /* and of one in L1 */

typedef struct small_ctx {
    const fb_product *g;
    const struct fb_gemm_instance *kind;
    int64_t per_chunk, nt, pieces; /* a piece: one batch, or nt columns of one */
} small_ctx;

static const char *at(const void *p, const int64_t *offset, int64_t step, int64_t batch, int64_t size)
{
    return (const char *)p + (offset ? offset[batch] : batch * step) * size;
}

static void small_chunk(void *ctx, int64_t chunk)
{
    const small_ctx *s = ctx;
    const fb_product *g = s->g;
    const int64_t size = s->kind->itemsize, end = FB_MIN((chunk + 1) * s->per_chunk, s->pieces);
    for (int64_t b = chunk * s->per_chunk; b < end; b++)
        s->kind->small(g, at(g->a, g->a_offset, g->a_step, b, size),
                       at(g->b, g->b_offset, g->b_step, b, size), (char *)g->c + b * g->c_step * size);
}

static void thin_chunk(void *ctx, int64_t chunk)
{
    const small_ctx *s = ctx;
    const int64_t size = s->kind->itemsize, per_batch = (s->g->n + s->nt - 1) / s->nt;
    const int64_t end = FB_MIN((chunk + 1) * s->per_chunk, s->pieces);
    fb_product g = *s->g;
    for (int64_t i = chunk * s->per_chunk; i < end; i++) {
        const int64_t b = i / per_batch, j = i % per_batch * s->nt;
        g.n = FB_MIN(s->nt, s->g->n - j);
        if (g.col_bias) g.col_bias = (const char *)s->g->col_bias + j * size;
        s->kind->thin(&g, at(g.a, g.a_offset, g.a_step, b, size),
                      at(g.b, g.b_offset, g.b_step, b, size) + j * g.b_col * size,
                      (char *)g.c + (b * g.c_step + j * g.c_col) * size);
    }
}

static void run_pieces(small_ctx *s, fb_task task)
{
    const int64_t chunks = (s->pieces + s->per_chunk - 1) / s->per_chunk;
    if (chunks == 1)
        task(s, 0);
    else
        fb_parallel(chunks, task, s);
}

/* One long dot product, cut along k into fixed pieces. */
typedef struct dot_ctx {
    const fb_product *g;
    const struct fb_gemm_instance *kind;
    int64_t kt;
    char *sums;
} dot_ctx;
static void dot_chunk(void *ctx, int64_t chunk)
{
    const dot_ctx *s = ctx;
    fb_product g = *s->g;
    const int64_t size = s->kind->itemsize, p = chunk * s->kt;
    g.k = FB_MIN(s->kt, g.k - p);
    g.alpha = fb_int(1);
    g.beta = fb_int(0);
    g.col_bias = g.row_bias = NULL;
    g.c_row = g.c_col = 1;
    s->kind->thin(&g, (const char *)g.a + p * g.a_col * size, (const char *)g.b + p * g.b_row * size,
                  s->sums + chunk * size);
}
static fb_status long_dot(const fb_product *g, const struct fb_gemm_instance *kind)
{
    dot_ctx s = {g, kind, 1 << 16, NULL};
    const int64_t n = (g->k + s.kt - 1) / s.kt, size = kind->itemsize;
    if (!(s.sums = fb_alloc(n * size))) return FB_FAIL;
    fb_parallel(n, dot_chunk, &s);
    for (int64_t width = 1; width < n; width *= 2) /* a fixed tree */
        for (int64_t i = 0; i + width < n; i += 2 * width)
            kind->add(1, s.sums + i * size, s.sums + (i + width) * size);
    const fb_gemm e = {
        .alpha = g->alpha, .beta = g->beta, .col_bias = g->col_bias, .row_bias = g->row_bias, .m = 1, .n = 1};
    kind->scale(&e, 1, 1, g->c, 1, 1, s.sums, 0, 0, 0);
    fb_free(s.sums);
    return FB_OK;
}

/* c = alpha * t + beta * c for complex numbers, whose engine only knows real factors. */
#define COMPLEX_AXPBY(NAME, T)                                                                               \
    static void NAME(const fb_product *g, T *c, const T *t)                                                  \
    {                                                                                                        \
        const T ar = (T)g->alpha.re, ai = (T)g->alpha.im, br = (T)g->beta.re, bi = (T)g->beta.im;            \
        const T *bias = g->col_bias;                                                                         \
        const bool read = br != 0 || bi != 0;                                                                \
        for (int64_t i = 0; i < g->m; i++, c += 2 * g->c_row)                                                \
            for (int64_t j = 0; j < g->n; j++, t += 2) {                                                     \
                T re = ar * t[0] - ai * t[1], im = ar * t[1] + ai * t[0], *o = c + 2 * j * g->c_col;         \
                if (read) {                                                                                  \
                    const T r = o[0], x = o[1];                                                              \
                    re += br * r - bi * x;                                                                   \
                    im += br * x + bi * r;                                                                   \
                }                                                                                            \
                if (bias) {                                                                                  \
                    re += bias[2 * j];                                                                       \
                    im += bias[2 * j + 1];                                                                   \
                }                                                                                            \
                o[0] = re;                                                                                   \
                o[1] = im;                                                                                   \
            }                                                                                                \
    }
COMPLEX_AXPBY(axpby_c64, float)
COMPLEX_AXPBY(axpby_c128, double)

static bool is_one(fb_scalar s)
{
    return s.re == 1 && s.im == 0;
}
static bool is_zero(fb_scalar s)
{
    return s.re == 0 && s.im == 0;
}

static fb_status complex_run(const fb_product *g, fb_gemm *e)
{
    const int64_t size = fb_itemsize(g->dtype);
    const bool direct = g->c_col == 1 && is_one(g->alpha) && (is_zero(g->beta) || is_one(g->beta));
    char *t = direct ? NULL : fb_alloc(FB_MAX(g->batch * g->m * g->n * size, 1));
    if (!direct && !t) return FB_FAIL;
    e->n *= 2;
    e->k *= 2;
    e->alpha = fb_float(1);
    e->beta = fb_float(direct ? g->beta.re : 0);
    e->c = direct ? g->c : t;
    e->c_row = 2 * (direct ? g->c_row : g->n);
    e->c_step = 2 * (direct ? g->c_step : g->m * g->n);
    e->c_col = 1;
    e->col_bias = direct ? g->col_bias : NULL;
    const fb_status status = FB_K(gemm_run)(e);
    if (!direct && status == FB_OK)
        for (int64_t b = 0; b < g->batch; b++) {
            char *c = (char *)g->c + b * g->c_step * size;
            const void *from = t + b * g->m * g->n * size;
            if (g->dtype == FB_C64)
                axpby_c64(g, (float *)c, from);
            else
                axpby_c128(g, (double *)c, from);
        }
    fb_free(t);
    return status;
}

/* The same product as c^T = b^T a^T. */
static void transpose(fb_product *g)
{
    const fb_product was = *g;
    g->m = was.n;
    g->n = was.m;
    g->a = was.b;
    g->b = was.a;
    g->a_row = was.b_col, g->a_col = was.b_row, g->a_step = was.b_step, g->a_offset = was.b_offset;
    g->b_row = was.a_col, g->b_col = was.a_row, g->b_step = was.a_step, g->b_offset = was.a_offset;
    g->c_row = was.c_col, g->c_col = was.c_row;
    g->row_bias = was.col_bias, g->col_bias = was.row_bias;
}

fb_status FB_K(product_run)(const fb_product *given)
{
    fb_product g = *given;
    fb_gemm_type type;
    struct fb_gemm_packer pack;
    if (!FB_K(gemm_packer)(g.dtype, &type, &pack))
        return fb_fail(FB_EDTYPE, "matrix product: dtype %s is not supported", fb_dtype_name(g.dtype));
    if (g.m == 0 || g.n == 0 || g.batch == 0) return FB_OK;
    if (g.m == 1)
        g.a_row = g.c_row = 1; /* strides of sides of length 1 mean nothing: take the useful value */
    if (g.n == 1) g.b_col = g.c_col = 1;
    const struct fb_gemm_instance *kind = &FB_K(gemm_instances)[type];
    const bool own_type = kind->itemsize == fb_itemsize(g.dtype) && !fb_is_complex(g.dtype) && !pack.finish;
    const double flops = 2.0 * (double)g.m * (double)g.n * (double)FB_MAX(g.k, 1);

    if (own_type) {
        /* Few columns waste the lanes: let the rows lie along them. Weights stored (n, k) are read where they lie
         * when they take the place of a. */
        const int64_t lanes = kind->cols / 2;
        if ((g.n <= 4 && g.m > g.n) || (g.n < lanes && g.m >= 2 * g.n && g.a_row == 1) ||
            (g.m <= kind->cols && g.m > 12 && g.n > g.m && g.b_row == 1 && g.b_col != 1))
            transpose(&g);
    }
    if (own_type && g.m <= 12) {
        if (g.m == 1 && g.n == 1 && g.batch == 1 && g.k >= 1 << 17 && g.a_col == 1 && g.b_row == 1)
            return long_dot(&g, kind);
        const bool dots = (g.b_row == 1 || g.k == 1) && (g.a_col == 1 || g.k == 1);
        const bool row = g.m == 1 && g.b_col == 1;
        if (((dots && (g.m <= 4 || g.k >= 2 * kind->cols)) || row) && g.k > 0) {
            /* pieces of about 20 us: whole blocks of columns, or several batches */
            const int64_t unit = dots ? 8 : 8 * kind->cols;
            const double column = 2.0 * (double)g.m * (double)g.k;
            small_ctx s = {&g, kind, 1,
                           FB_MIN(g.n, unit * ((int64_t)(PARALLEL_THIN / column / (double)unit) + 1)), 0};
            s.pieces = g.batch * ((g.n + s.nt - 1) / s.nt);
            s.per_chunk = FB_MAX((int64_t)(PARALLEL_THIN / flops), 1);
            run_pieces(&s, thin_chunk);
            return FB_OK;
        }
    }
    /* Small enough that packing a is not worth its time: its rows stay in L1 or L2 while they are used. */
    const int64_t a_bytes = g.m * g.k * kind->itemsize;
    if (own_type && flops < (g.batch == 1 ? 3e6 : 1e6) && a_bytes <= 64 << 10) {
        small_ctx s = {&g, kind, FB_MAX((int64_t)(PARALLEL_SMALL / flops), 1), 0, g.batch};
        run_pieces(&s, small_chunk);
        return FB_OK;
    }
    const fb_gemm_operand a = {g.a, g.a_row, g.a_col, g.a_step, g.a_offset},
                          b = {g.b, g.b_row, g.b_col, g.b_step, g.b_offset};
    fb_gemm e = {.type = type,
                 .m = g.m,
                 .n = g.n,
                 .k = g.k,
                 .batch = g.batch,
                 .panel_a = pack.panel_a,
                 .pack_b = pack.pack_b,
                 .a_ctx = &a,
                 .b_ctx = &b,
                 .c = g.c,
                 .c_row = g.c_row,
                 .c_col = g.c_col,
                 .c_step = g.c_step,
                 .alpha = g.alpha,
                 .beta = g.beta,
                 .col_bias = g.col_bias,
                 .row_bias = g.row_bias,
                 .finish = pack.finish};
    e.blas = FB_K(gemm_blas)(g.dtype, g.m, g.n, g.k, &a, &b, NULL, g.n, true) ? g.dtype : FB_NONE;
    return fb_is_complex(g.dtype) ? complex_run(&g, &e) : FB_K(gemm_run)(&e);
}
