/* How a matrix product is cut: into tiles of c, by its shape alone, that the pool's threads take one by one. An
 * element of c is summed in the same order whatever tile it lies in; only products with few elements and a long
 * sum are cut along k as well, and then the pieces are added in the order of k. */
#include "kernels/gemm.h"

/* Columns of a packed block of b: it should fill half of an L2 cache (1 MB with AVX-512, 512 KB before). */
#define BLOCK_BYTES    ((int64_t)(FB_VECTOR == 64 ? 512 : 256) << 10)
#define PARALLEL_FLOPS 1e6 /* below about 20 us on one core a second one costs more than it saves */

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}
static int64_t pieces(int64_t n, int64_t unit)
{
    return n ? (n + unit - 1) / unit : 0;
}

typedef struct plan {
    const fb_gemm *g;
    const struct fb_gemm_instance *kind;
    int64_t mt, nt, kt;       /* a tile's extent */
    int64_t rows, cols, cuts; /* tiles along m, n and k */
    int64_t per_chunk, tiles; /* tiles that one task takes; all of them */
    int64_t room, sums;       /* bytes: packed panels; a tile of sums */
    char *partial;            /* cuts > 1: the sums of each piece, [batch][tile][cut][mt * nt] */
    _Atomic bool failed;
} plan;

static void make_plan(plan *p, const fb_gemm *g)
{
    const struct fb_gemm_instance *kind = &FB_K(gemm_instances)[g->type];
    const double flops = 2.0 * (double)g->m * (double)g->n * (double)FB_MAX(g->k, 1);
    const int64_t widest = BLOCK_BYTES / (FB_GEMM_DEPTH * kind->itemsize) / kind->cols * kind->cols;
    int64_t mt = g->m, nt = FB_MIN(g->n, widest), kt = g->k, count;

    /* Halve the longer side until the tiles are enough for a large machine or as small as packing allows. */
    for (;;) {
        count = g->batch * pieces(g->m, mt) * pieces(g->n, nt);
        const double each = 2.0 * (double)mt * (double)nt * (double)g->k;
        const bool enough = count >= 8 && (each < 3e8 || count >= 128);
        if (enough || each < PARALLEL_FLOPS || flops * (double)g->batch < PARALLEL_FLOPS) break;
        if (mt > nt && mt > 4 * FB_GEMM_ROWS)
            mt = round_up((mt + 1) / 2, FB_GEMM_ROWS);
        else if (nt > 2 * kind->cols)
            nt = round_up((nt + 1) / 2, kind->cols);
        else if (mt > 4 * FB_GEMM_ROWS)
            mt = round_up((mt + 1) / 2, FB_GEMM_ROWS);
        else
            break;
    }
    if (g->finish) mt = FB_MIN(mt, 64 * FB_GEMM_ROWS); /* its sums need room of their own */
    count = g->batch * pieces(g->m, mt) * pieces(g->n, nt);
    if (count < 8 && flops / (double)count >= 2 * PARALLEL_FLOPS && g->k >= 2 * FB_GEMM_DEPTH) {
        const int64_t most = FB_MIN(8 / count + 1, (int64_t)(flops / PARALLEL_FLOPS));
        const int64_t cuts = FB_MIN(most, g->k / FB_GEMM_DEPTH);
        /* the pieces' sums are written and read again: not worth it unless k is long beside m and n */
        if (cuts > 1 && g->k >= 8 * FB_MIN(mt, nt)) kt = round_up(pieces(g->k, cuts), FB_GEMM_DEPTH);
    }
    *p = (plan){.g = g, .kind = kind, .mt = mt, .nt = nt, .kt = kt};
    p->rows = pieces(g->m, mt);
    p->cols = pieces(g->n, nt);
    p->cuts = kt > 0 ? pieces(g->k, kt) : 1;
    p->tiles = g->batch * p->rows * p->cols * p->cuts;
    p->sums = round_up(mt * nt * kind->itemsize, 64);
    const int64_t depth = FB_MIN(FB_GEMM_DEPTH, FB_MAX(g->k, 1));
    p->room =
        round_up((FB_GEMM_ROWS * FB_GEMM_DEPTH + depth * round_up(nt, kind->cols)) * kind->itemsize, 64);
    const double tile_flops = 2.0 * (double)mt * (double)nt * (double)FB_MAX(kt, 1);
    p->per_chunk = tile_flops >= PARALLEL_FLOPS ? 1 : (int64_t)(PARALLEL_FLOPS / tile_flops) + 1;
}

static char *tile_c(const fb_gemm *g, int64_t batch, int64_t i, int64_t j, int64_t itemsize)
{
    const int64_t at = g->c_offset ? g->c_offset[batch] : batch * g->c_step;
    return (char *)g->c + (at + i * g->c_row + j * g->c_col) * itemsize;
}

/* The sums of one tile by the BLAS, contiguous at `sums`. g counts complex numbers as two reals each way. */
static void blas_tile(const fb_gemm *g, int64_t batch, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                      int64_t k0, int64_t k1, void *sums)
{
    const int64_t size = fb_itemsize(g->blas), parts = fb_is_complex(g->blas) ? 2 : 1;
    fb_gemm_operand a = *(const fb_gemm_operand *)g->a_ctx, b = *(const fb_gemm_operand *)g->b_ctx;
    j0 /= parts, j1 /= parts, k0 /= parts, k1 /= parts;
    a.data = (const char *)a.data +
             ((a.offset ? a.offset[batch] : batch * a.step) + i0 * a.row + k0 * a.col) * size;
    b.data = (const char *)b.data +
             ((b.offset ? b.offset[batch] : batch * b.step) + k0 * b.row + j0 * b.col) * size;
    FB_K(gemm_blas)(g->blas, i1 - i0, j1 - j0, k1 - k0, &a, &b, sums, j1 - j0, false);
}

static void run_chunk(void *ctx, int64_t chunk)
{
    plan *p = ctx;
    const fb_gemm *g = p->g;
    const int64_t end = FB_MIN((chunk + 1) * p->per_chunk, p->tiles), size = p->kind->itemsize;
    const bool blas = g->blas != FB_NONE;
    char *room = fb_alloc(p->room + (g->finish || blas ? p->sums : 0)), *sums = room + p->room;
    if (!room) {
        p->failed = true;
        return;
    }
    for (int64_t t = chunk * p->per_chunk; t < end; t++) {
        const int64_t cut = t % p->cuts, tile = t / p->cuts, batch = tile / (p->rows * p->cols);
        const int64_t i0 = tile % (p->rows * p->cols) / p->cols * p->mt, j0 = tile % p->cols * p->nt;
        const int64_t i1 = FB_MIN(i0 + p->mt, g->m), j1 = FB_MIN(j0 + p->nt, g->n), cols = j1 - j0;
        const int64_t k0 = cut * p->kt, k1 = FB_MIN(k0 + p->kt, g->k);
        if (blas) {
            char *to = p->cuts > 1 ? p->partial + t * p->sums : sums;
            blas_tile(g, batch, i0, i1, j0, j1, k0, k1, to);
            if (p->cuts == 1)
                p->kind->scale(g, i1 - i0, cols, tile_c(g, batch, i0, j0, size), g->c_row, g->c_col, sums,
                               batch, i0, j0);
        } else if (p->cuts > 1) {
            p->kind->block(g, batch, i0, i1, j0, j1, k0, k1, p->partial + t * p->sums, cols, 1, true, room);
        } else if (g->finish) {
            p->kind->block(g, batch, i0, i1, j0, j1, k0, k1, sums, cols, 1, true, room);
            g->finish(g, batch, i0, i1 - i0, j0, cols, sums, cols);
        } else {
            p->kind->block(g, batch, i0, i1, j0, j1, k0, k1, tile_c(g, batch, i0, j0, size), g->c_row,
                           g->c_col, false, room);
        }
    }
    fb_free(room);
}

/* Adds up the pieces of one tile. */
static void join_chunk(void *ctx, int64_t tile)
{
    plan *p = ctx;
    const fb_gemm *g = p->g;
    const int64_t batch = tile / (p->rows * p->cols), size = p->kind->itemsize;
    const int64_t i0 = tile % (p->rows * p->cols) / p->cols * p->mt, j0 = tile % p->cols * p->nt;
    const int64_t rows = FB_MIN(p->mt, g->m - i0), cols = FB_MIN(p->nt, g->n - j0);
    char *sum = p->partial + tile * p->cuts * p->sums;
    for (int64_t cut = 1; cut < p->cuts; cut++) p->kind->add(rows * cols, sum, sum + cut * p->sums);
    if (g->finish)
        g->finish(g, batch, i0, rows, j0, cols, sum, cols);
    else
        p->kind->scale(g, rows, cols, tile_c(g, batch, i0, j0, size), g->c_row, g->c_col, sum, batch, i0, j0);
}

fb_status FB_K(gemm_run)(const fb_gemm *g)
{
    if (g->m == 0 || g->n == 0 || g->batch == 0) return FB_OK;
    plan p;
    make_plan(&p, g);
    if (p.cuts > 1 && !(p.partial = fb_alloc(p.tiles * p.sums))) return FB_FAIL;
    const int64_t chunks = pieces(p.tiles, p.per_chunk);
    if (chunks == 1)
        run_chunk(&p, 0);
    else
        fb_parallel(chunks, run_chunk, &p);
    if (p.cuts > 1 && !p.failed) fb_parallel(p.tiles / p.cuts, join_chunk, &p);
    fb_free(p.partial);
    return p.failed ? fb_fail(FB_EMEMORY, "matrix product: out of memory for packing") : FB_OK;
}
