/* Matrix products on raw memory. fb_product describes one (or a batch) on strided operands of one dtype;
 * fb_gemm is the engine below, whose operands are packed by functions, so that a convolution can unfold an image
 * straight into panels. Strides count elements. Results have the same bits at any thread count. */
#ifndef FB_KERNELS_GEMM_H
#define FB_KERNELS_GEMM_H

#include "kernels/isa.h"
#include "runtime/core.h"

#if FB_VECTOR == 64
#define FB_GEMM_ROWS 12 /* 24 accumulators of 32 registers */
#elif FB_VECTOR == 32
#define FB_GEMM_ROWS 6 /* 12 of 16 */
#else
#define FB_GEMM_ROWS 4 /* 8 of 16 */
#endif
#define FB_GEMM_DEPTH       256
#define FB_GEMM_SMALL_DEPTH 256

/* What panels hold and products are summed in. Integers wrap, so that 16 bits serve the 8-bit types. */
typedef enum { FB_GEMM_F32, FB_GEMM_F64, FB_GEMM_U16, FB_GEMM_U32, FB_GEMM_U64 } fb_gemm_type;
int64_t FB_K(gemm_itemsize)(fb_gemm_type type);
int64_t FB_K(gemm_cols)(fb_gemm_type type); /* width of a panel of b */

typedef struct fb_gemm fb_gemm;
struct fb_gemm {
    fb_gemm_type type;
    int64_t m, n, k, batch;
    /* Gives rows i..i+rows of a (rows <= FB_GEMM_ROWS), columns p..p+depth: element (r, q) at [q * FB_GEMM_ROWS + r],
     * in `room` or in memory prepared before. */
    const void *(*panel_a)(const fb_gemm *g, int64_t batch, void *room, int64_t i, int64_t rows, int64_t p,
                           int64_t depth);
    /* Writes rows p..p+depth, columns j..j+cols of b: panels of gemm_cols columns one after another, each row by
     * row, the last one filled up with zeros. */
    void (*pack_b)(const fb_gemm *g, int64_t batch, void *room, int64_t p, int64_t depth, int64_t j,
                   int64_t cols);
    const void *a_ctx, *b_ctx;
    void *c; /* of the engine's type, unless finish is given */
    int64_t c_row, c_col, c_step;
    const int64_t *c_offset;         /* where the batches of c are not c_step apart */
    fb_scalar alpha, beta;           /* c = alpha * a b + beta * c + biases; beta = 0 does not read c */
    const void *row_bias, *col_bias; /* NULL: none */
    int64_t bias_groups; /* batch b takes the biases of b % bias_groups, m (or n) apart; 0 counts as 1 */
    /* Where c has another dtype: stores rows x cols of alpha * a b (rows `ld` apart) at (i, j), beta * c added. */
    void (*finish)(const fb_gemm *g, int64_t batch, int64_t i, int64_t rows, int64_t j, int64_t cols,
                   const void *t, int64_t ld);
    fb_dtype
        blas; /* both contexts are fb_gemm_operands of this dtype, and FB_K(gemm_blas) takes them; else FB_NONE */
};
fb_status FB_K(gemm_run)(const fb_gemm *g);

/* c = alpha * a b + beta * c (+ bias), for every batch. */
typedef struct fb_product {
    fb_dtype dtype;
    int64_t m, n, k, batch;
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, a_step, b_row, b_col, b_step, c_row, c_col, c_step;
    const int64_t *a_offset, *b_offset; /* element offsets of the batches, where one step does not do */
    fb_scalar alpha, beta;
    const void *col_bias, *row_bias; /* n (m) contiguous elements added to every row (column), or NULL */
} fb_product;
fb_status FB_K(product_run)(const fb_product *g);

/* Below: one file's private business with another. */
struct fb_gemm_instance {
    int64_t itemsize, cols;
    void (*block)(const fb_gemm *g, int64_t batch, int64_t i0, int64_t i1, int64_t j0, int64_t j1, int64_t k0,
                  int64_t k1, void *c, int64_t crs, int64_t ccs, bool plain, void *room);
    void (*small)(const fb_product *g, const void *a, const void *b, void *c);
    bool (*thin)(const fb_product *g, const void *a, const void *b,
                 void *c); /* few rows; false: not its case */
    void (*add)(int64_t n, void *sum, const void *x);
    void (*scale)(const fb_gemm *g, int64_t rows, int64_t cols, void *c, int64_t crs, int64_t ccs,
                  const void *t, int64_t batch, int64_t i, int64_t j);
};
extern const struct fb_gemm_instance FB_K(gemm_instances)[];

/* A strided operand, for the packing functions of gemm_pack.c. */
typedef struct fb_gemm_operand {
    const void *data;
    int64_t row, col, step;
    const int64_t *offset;
} fb_gemm_operand;
struct fb_gemm_packer {
    const void *(*panel_a)(const fb_gemm *, int64_t, void *, int64_t, int64_t, int64_t, int64_t);
    void (*pack_b)(const fb_gemm *, int64_t, void *, int64_t, int64_t, int64_t, int64_t);
    void (*finish)(const fb_gemm *, int64_t, int64_t, int64_t, int64_t, int64_t, const void *, int64_t);
};
/* c (m, n), of contiguous columns, = a b by one call of the BLAS; false where there is none or the strides do not suit
 * it. dry: only answers. */
bool FB_K(gemm_blas)(fb_dtype dtype, int64_t m, int64_t n, int64_t k, const fb_gemm_operand *a,
                     const fb_gemm_operand *b, void *c, int64_t c_row, bool dry);
/* How operands of dtype are packed, and the engine that multiplies them; false: dtype has no products. */
bool FB_K(gemm_packer)(fb_dtype dtype, fb_gemm_type *type, struct fb_gemm_packer *out);

#endif
