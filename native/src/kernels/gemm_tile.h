/* Template: the register tiles of a matrix product and the loops around them, for one element type. gemm_own.c
 * includes it once a type, with
 *   T     element of the packed panels, the accumulators and (but for narrow types) of c
 *   NAME  suffix of what is defined here
 *   MADD  acc + a * b on vectors VT of T
 *
 * Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), with the roles turned: a
 * block of b (DEPTH x a few hundred columns, packed into panels two vectors wide) stays in L2, a panel of a
 * (FB_GEMM_ROWS x DEPTH) in L1. 12 x 2 accumulators of AVX-512 reach 117 GFLOP/s on one Zen 4 core, OpenBLAS's
 * sgemm 105. How an element of c is summed depends on k alone: never on the tile it lies in. */

#define VT       FB_CAT(fb_vec, NAME)
#define LANES    ((int64_t)(FB_VECTOR / sizeof(T)))
#define COLS     (2 * LANES)
#define FN(name) FB_CAT(name, NAME)

typedef T VT __attribute__((vector_size(FB_VECTOR), aligned(sizeof(T)), may_alias));

/* out[r * os + 0..nv * LANES) = sum over p of a[r * rs + p * cs] * b[p * ps + ...], rows and nv known when inlined. */
FB_INLINE void FN(tile)(const int rows, const int nv, int64_t k, const T *restrict a, int64_t rs, int64_t cs,
                        const T *restrict b, int64_t ps, T *restrict out, int64_t os)
{
    VT acc[FB_GEMM_ROWS][2];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) acc[r][0] = acc[r][1] = (VT){0};
    /* every fourth row has a pointer of its own, so that addresses need few registers and no arithmetic */
    const T *a0 = a, *a4 = a + 4 * rs, *a8 = a4 + 4 * rs;
    for (; k > 0; k--) {
        const VT b0 = *(const VT *)b, b1 = nv == 2 ? *(const VT *)(b + LANES) : b0;
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            const T *ar = r < 4 ? a0 : r < 8 ? a4 : a8;
            const VT x = ar[r % 4 * rs] - (VT){0};
            acc[r][0] = MADD(acc[r][0], x, b0);
            if (nv == 2) acc[r][1] = MADD(acc[r][1], x, b1);
            FB_GEMM_KEEP(acc[r][0]);
            if (nv == 2) FB_GEMM_KEEP(acc[r][1]);
        }
        b += ps, a0 += cs, a4 += cs, a8 += cs;
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
        *(VT *)(out + r * os) = acc[r][0];
        if (nv == 2) *(VT *)(out + r * os + LANES) = acc[r][1];
    }
}

typedef void (*FN(tile_fn))(int64_t k, const T *a, int64_t rs, int64_t cs, const T *b, int64_t ps, T *out,
                            int64_t os);
#define TILE(R, NV)                                                                                          \
    static __attribute__((noinline)) void FN(tile_##R##_##NV)(int64_t k, const T *a, int64_t rs, int64_t cs, \
                                                              const T *b, int64_t ps, T *out, int64_t os)    \
    {                                                                                                        \
        FN(tile)(R, NV, k, a, rs, cs, b, ps, out, os);                                                       \
    }
TILE(1, 1)
TILE(1, 2) TILE(2, 1) TILE(2, 2) TILE(3, 1) TILE(3, 2) TILE(4, 1) TILE(4, 2)
#if FB_GEMM_ROWS >= 6
    TILE(6, 1) TILE(6, 2)
#endif
#if FB_GEMM_ROWS >= 12
        TILE(8, 1) TILE(8, 2) TILE(12, 1) TILE(12, 2)
#endif
#undef TILE

    /* The tallest tile that fits into `rows` rows, and its height. */
    FB_INLINE FN(tile_fn) FN(pick)(int64_t rows, bool wide, int64_t *height)
{
#define CASE(R)                                                                                              \
    if (rows >= R) return *height = R, wide ? FN(tile_##R##_2) : FN(tile_##R##_1);
#if FB_GEMM_ROWS >= 12
    CASE(12)
    CASE(8)
#endif
#if FB_GEMM_ROWS >= 6
    CASE(6)
#endif
    CASE(4)
    CASE(3)
    CASE(2)
#undef CASE
    *height = 1;
    return wide ? FN(tile_1_2) : FN(tile_1_1);
}

/* The first n < LANES elements of a vector. */
FB_INLINE VT FN(load_part)(const T *p, int64_t n)
{
#if FB_VECTOR == 64
    if (sizeof(T) == 4) return (VT)_mm512_maskz_loadu_epi32((__mmask16)((1u << n) - 1), p);
    if (sizeof(T) == 8) return (VT)_mm512_maskz_loadu_epi64((__mmask8)((1u << n) - 1), p);
    return (VT)_mm512_maskz_loadu_epi16((__mmask32)((1u << n) - 1), p);
#else
    VT v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
#endif
}
FB_INLINE void FN(store_part)(T *p, VT v, int64_t n)
{
#if FB_VECTOR == 64
    if (sizeof(T) == 4)
        _mm512_mask_storeu_epi32(p, (__mmask16)((1u << n) - 1), (__m512i)v);
    else if (sizeof(T) == 8)
        _mm512_mask_storeu_epi64(p, (__mmask8)((1u << n) - 1), (__m512i)v);
    else
        _mm512_mask_storeu_epi16(p, (__mmask32)((1u << n) - 1), (__m512i)v);
#else
    T part[FB_VECTOR / sizeof(T)];
    *(VT *)part = v;
    for (int64_t i = 0; i < n; i++) p[i] = part[i];
#endif
}

typedef struct FN(epilogue) {
    T alpha, beta;
    const T *row_bias, *col_bias; /* NULL: none; indexed from the tile's corner */
} FN(epilogue);

FB_INLINE T FN(number)(fb_scalar s)
{
    return s.kind == FB_S_FLOAT ? (T)s.re : (T)s.i;
}

FB_INLINE FN(epilogue) FN(epilogue_of)(const fb_gemm *g, int64_t batch, int64_t i, int64_t j)
{
    const int64_t group = g->bias_groups > 1 ? batch % g->bias_groups : 0;
    const T *rb = g->row_bias, *cb = g->col_bias;
    return (FN(epilogue)){FN(number)(g->alpha), FN(number)(g->beta), rb ? rb + group * g->m + i : NULL,
                          cb ? cb + group * g->n + j : NULL};
}

/* May a tile be written straight to c? */
FB_INLINE bool FN(plain)(const FN(epilogue) * e)
{
    return e->alpha == 1 && e->beta == 0 && !e->row_bias && !e->col_bias;
}

static __attribute__((noinline)) void FN(store_strided)(T *c, int64_t crs, int64_t ccs, const T *tile,
                                                        int64_t rows, int64_t cols, const FN(epilogue) * e)
{
    const T alpha = e->alpha, beta = e->beta;
    for (int64_t j = 0; j < cols; j++, tile++) {
        T *at = c + j * ccs;
        for (int64_t r = 0; r < rows; r++, at += crs) {
            T v = alpha * tile[r * COLS];
            if (beta != 0) v += beta * *at;
            if (e->row_bias) v += e->row_bias[r];
            if (e->col_bias) v += e->col_bias[j];
            *at = v;
        }
    }
}

/* c = alpha * tile + beta * c + biases. With beta = 0 what c held is not read. */
static __attribute__((noinline)) void FN(store)(T *c, int64_t crs, int64_t ccs, const T *tile, int64_t rows,
                                                int64_t cols, const FN(epilogue) * e)
{
    const T alpha = e->alpha, beta = e->beta;
    if (ccs != 1) {
        FN(store_strided)(c, crs, ccs, tile, rows, cols, e);
        return;
    }
    for (int64_t r = 0; r < rows; r++, tile += COLS, c += crs) {
        const T rb = e->row_bias ? e->row_bias[r] : 0;
        for (int64_t j = 0; j < cols; j += LANES) {
            const int64_t n = cols - j;
            VT v = *(const VT *)(tile + j);
            if (alpha != 1) v *= alpha;
            if (beta != 0) {
                VT old = n >= LANES ? *(const VT *)(c + j) : FN(load_part)(c + j, n);
                if (beta != 1) old *= beta;
                v += old;
            }
            if (e->row_bias) v += rb;
            if (e->col_bias)
                v += n >= LANES ? *(const VT *)(e->col_bias + j) : FN(load_part)(e->col_bias + j, n);
            if (n >= LANES)
                *(VT *)(c + j) = v;
            else
                FN(store_part)(c + j, v, n);
        }
    }
}

/* One product without allocation, a and b of type T where they lie: panels of b are packed on the stack unless
 * their rows are contiguous and used once. */
static void FN(small)(int64_t m, int64_t n, int64_t k, const T *a, int64_t ars, int64_t acs, const T *b,
                      int64_t brs, int64_t bcs, T *c, int64_t crs, int64_t ccs, const FN(epilogue) * given)
{
    _Alignas(64) T panel[FB_GEMM_SMALL_DEPTH * COLS], tile[FB_GEMM_ROWS * COLS];
    for (int64_t j = 0; j < n; j += COLS) {
        const int64_t cols = FB_MIN(n - j, COLS);
        const bool wide = cols > LANES, direct = bcs == 1 && m <= FB_GEMM_ROWS && cols % LANES == 0;
        const bool straight = cols % LANES == 0 && ccs == 1 && FN(plain)(given);
        const int64_t width = wide ? COLS : LANES;
        int64_t p = 0;
        do { /* once even for k = 0, which stores beta * c */
            const int64_t depth = FB_MIN(k - p, FB_GEMM_SMALL_DEPTH);
            const T *src = b + p * brs + j * bcs, *pb = panel;
            int64_t ps = width;
            if (direct) {
                pb = src;
                ps = brs;
            } else if (bcs == 1) {
                for (int64_t q = 0; q < depth; q++, src += brs)
                    for (int64_t v = 0; v < width; v += LANES)
                        *(VT *)(panel + q * width + v) =
                            cols - v >= LANES ? *(const VT *)(src + v) : FN(load_part)(src + v, cols - v);
            } else {
                for (int64_t q = 0; q < depth; q++, src += brs) {
                    for (int64_t x = 0; x < cols; x++) panel[q * width + x] = src[x * bcs];
                    for (int64_t x = cols; x < width; x++) panel[q * width + x] = 0;
                }
            }
            FN(epilogue) e = *given;
            if (p) {
                e.beta = 1;
                e.row_bias = e.col_bias = NULL;
            }
            if (e.col_bias) e.col_bias += j;
            for (int64_t i = 0, height; i < m; i += height) {
                FN(tile_fn) f = FN(pick)(m - i, wide, &height);
                T *at = c + i * crs + j * ccs;
                if (straight && !p) {
                    f(depth, a + i * ars, ars, acs, pb, ps, at, crs);
                    continue;
                }
                f(depth, a + i * ars + p * acs, ars, acs, pb, ps, tile, COLS);
                FN(epilogue) row = e;
                if (row.row_bias) row.row_bias += i;
                FN(store)(at, crs, ccs, tile, height, cols, &row);
            }
            p += depth;
        } while (p < k);
    }
}

/* Rows i0..i1 and columns j0..j1 of batch `batch` of the product that g describes, over k0..k1, into c (its
 * element (i0, j0)), with room for packed panels at `room`; plain: alpha, beta and biases are left to others. */
static void FN(block)(const fb_gemm *g, int64_t batch, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                      int64_t k0, int64_t k1, void *c_, int64_t crs, int64_t ccs, bool plain, void *room)
{
    _Alignas(64) T tile[FB_GEMM_ROWS * COLS];
    T *const c = c_, *const apanel = room, *const bpanels = apanel + FB_GEMM_ROWS * FB_GEMM_DEPTH;
    const FN(epilogue) whole = plain ? (FN(epilogue)){1, 0, NULL, NULL} : FN(epilogue_of)(g, batch, i0, j0);
    int64_t p = k0;
    do { /* once even for k = 0, which stores beta * c */
        const int64_t depth = FB_MIN(k1 - p, FB_GEMM_DEPTH);
        if (depth > 0) g->pack_b(g, batch, bpanels, p, depth, j0, j1 - j0);
        FN(epilogue) e = whole;
        if (p > k0) {
            e.beta = 1;
            e.row_bias = e.col_bias = NULL;
        }
        for (int64_t i = i0; i < i1; i += FB_GEMM_ROWS) {
            const int64_t rows = FB_MIN(i1 - i, FB_GEMM_ROWS);
            const T *pa = depth > 0 ? g->panel_a(g, batch, apanel, i, rows, p, depth) : apanel;
            for (int64_t j = j0; j < j1; j += COLS) {
                const int64_t cols = FB_MIN(j1 - j, COLS);
                const T *pb = bpanels + (j - j0) * depth;
                const bool straight = cols % LANES == 0 && ccs == 1 && FN(plain)(&e);
                for (int64_t r = 0, height; r < rows; r += height) {
                    T *at = c + (i - i0 + r) * crs + (j - j0) * ccs, *out = straight ? at : tile;
                    const int64_t os = straight ? crs : COLS;
                    if (rows == FB_GEMM_ROWS && cols > LANES) {
                        height = rows;
                        FN(tile)(FB_GEMM_ROWS, 2, depth, pa, 1, FB_GEMM_ROWS, pb, COLS, out, os);
                    } else {
                        FN(tile_fn) f = FN(pick)(rows - r, cols > LANES, &height);
                        f(depth, pa + r, 1, FB_GEMM_ROWS, pb, COLS, out, os);
                    }
                    if (straight) continue;
                    FN(epilogue) here = e;
                    if (here.row_bias) here.row_bias += i - i0 + r;
                    if (here.col_bias) here.col_bias += j - j0;
                    FN(store)(at, crs, ccs, tile, height, cols, &here);
                }
            }
        }
        p += FB_MAX(depth, 1);
    } while (p < k1);
}

static void FN(add)(int64_t n, void *sum_, const void *x_)
{
    T *restrict sum = sum_;
    const T *restrict x = x_;
    for (int64_t i = 0; i < n; i++) sum[i] += x[i];
}

/* The epilogue alone, for a tile that was summed elsewhere; t is rows x cols. */
static void FN(scale)(const fb_gemm *g, int64_t rows, int64_t cols, void *c_, int64_t crs, int64_t ccs,
                      const void *t_, int64_t batch, int64_t i, int64_t j)
{
    const FN(epilogue) e = FN(epilogue_of)(g, batch, i, j);
    T *c = c_;
    const T *t = t_;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t x = 0; x < cols; x++) {
            T v = e.alpha * t[r * cols + x];
            if (e.beta != 0) v += e.beta * c[r * crs + x * ccs];
            if (e.row_bias) v += e.row_bias[r];
            if (e.col_bias) v += e.col_bias[x];
            c[r * crs + x * ccs] = v;
        }
}

static void FN(small_entry)(const fb_product *g, const void *a, const void *b, void *c)
{
    const FN(epilogue) e = {FN(number)(g->alpha), FN(number)(g->beta), g->row_bias, g->col_bias};
    FN(small)(g->m, g->n, g->k, a, g->a_row, g->a_col, b, g->b_row, g->b_col, c, g->c_row, g->c_col, &e);
}
