/* Template, beside gemm_tile.h: products with few rows, which only read b once and are bound by memory.
 * Where k is contiguous in b, lanes run along k (dot products); where n is, along n. */

FB_INLINE T FN(lanes_sum)(VT v)
{
    T part[FB_VECTOR / sizeof(T)];
    *(VT *)part = v;
    for (int64_t w = LANES / 2; w; w /= 2)
        for (int64_t i = 0; i < w; i++) part[i] += part[i + w];
    return part[0];
}

/* out[r * 8 + j] = a row r . b column j, each contiguous along k. */
FB_INLINE void FN(dots)(const int rows, const int cols, int64_t k, const T *a, int64_t ars, const T *b,
                        int64_t bcs, T *out)
{
    VT acc[4][8];
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < cols; j++) acc[r][j] = (VT){0};
    int64_t p = 0;
    for (; p + LANES <= k; p += LANES) {
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++) {
            const VT y = *(const VT *)(b + j * bcs + p);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) acc[r][j] = MADD(acc[r][j], *(const VT *)(a + r * ars + p), y);
        }
    }
    if (p < k) {
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++) {
            const VT y = FN(load_part)(b + j * bcs + p, k - p);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                acc[r][j] = MADD(acc[r][j], FN(load_part)(a + r * ars + p, k - p), y);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int j = 0; j < cols; j++) out[r * 8 + j] = FN(lanes_sum)(acc[r][j]);
}

/* One long dot product: eight chains hide the latency of the adds. */
static T FN(dot)(int64_t k, const T *a, const T *b)
{
    VT acc[8] = {{0}};
    int64_t p = 0;
    for (; p + 8 * LANES <= k; p += 8 * LANES)
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            acc[i] = MADD(acc[i], *(const VT *)(a + p + i * LANES), *(const VT *)(b + p + i * LANES));
    for (; p + LANES <= k; p += LANES) acc[0] = MADD(acc[0], *(const VT *)(a + p), *(const VT *)(b + p));
    if (p < k) acc[1] = MADD(acc[1], FN(load_part)(a + p, k - p), FN(load_part)(b + p, k - p));
    for (int w = 4; w; w /= 2)
        for (int i = 0; i < w; i++) acc[i] += acc[i + w];
    return FN(lanes_sum)(acc[0]);
}

static void FN(dots_1_8)(int64_t k, const T *a, int64_t ars, const T *b, int64_t bcs, T *out)
{
    FN(dots)(1, 8, k, a, ars, b, bcs, out);
}
static void FN(dots_2_4)(int64_t k, const T *a, int64_t ars, const T *b, int64_t bcs, T *out)
{
    FN(dots)(2, 4, k, a, ars, b, bcs, out);
}
static void FN(dots_4_4)(int64_t k, const T *a, int64_t ars, const T *b, int64_t bcs, T *out)
{
#if FB_VECTOR == 64
    FN(dots)(4, 4, k, a, ars, b, bcs, out);
#else
    FN(dots)(2, 4, k, a, ars, b, bcs, out);
    FN(dots)(2, 4, k, a + 2 * ars, ars, b, bcs, out + 16);
#endif
}
static void FN(dots_1_4)(int64_t k, const T *a, int64_t ars, const T *b, int64_t bcs, T *out)
{
    FN(dots)(1, 4, k, a, ars, b, bcs, out);
}

/* out[0..n) = sum over p of a[p * acs] * b[p][0..n): eight rows of b at a time, each read from end to end, which
 * is how memory delivers them; a register tile would touch a few lines of every page. n <= ROW_WIDTH. */
#define ROW_WIDTH 1024
static void FN(row)(int64_t k, const T *a, int64_t acs, const T *b, int64_t brs, T *restrict out, int64_t n)
{
    const int64_t whole = n / LANES * LANES;
    for (int64_t j = 0; j < n; j++) out[j] = 0;
    int64_t p = 0;
    for (; p + 8 <= k; p += 8, a += 8 * acs, b += 8 * brs) {
        VT x[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) x[i] = a[i * acs] - (VT){0};
        for (int64_t j = 0; j < whole; j += LANES) {
            VT sum = *(VT *)(out + j);
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) sum = MADD(sum, x[i], *(const VT *)(b + i * brs + j));
            *(VT *)(out + j) = sum;
        }
        if (whole < n) {
            VT sum = FN(load_part)(out + whole, n - whole);
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) sum = MADD(sum, x[i], FN(load_part)(b + i * brs + whole, n - whole));
            FN(store_part)(out + whole, sum, n - whole);
        }
    }
    for (; p < k; p++, a += acs, b += brs) {
        const VT x = *a - (VT){0};
        for (int64_t j = 0; j < whole; j += LANES)
            *(VT *)(out + j) = MADD(*(VT *)(out + j), x, *(const VT *)(b + j));
        if (whole < n)
            FN(store_part)(
                out + whole,
                MADD(FN(load_part)(out + whole, n - whole), x, FN(load_part)(b + whole, n - whole)),
                n - whole);
    }
}

/* A few rows, and k or (for one row) n contiguous in b; false: another case. */
static bool FN(thin)(const fb_product *g, const void *a_, const void *b_, void *c_)
{
    const int64_t m = g->m, n = g->n, k = g->k;
    const T *a = a_, *b = b_;
    const FN(epilogue) e = {FN(number)(g->alpha), FN(number)(g->beta), g->row_bias, g->col_bias};
    T *c = c_;
    if ((g->b_row == 1 || k == 1) && (g->a_col == 1 || k == 1)) {
        for (int64_t j = 0, w; j < n; j += w) { /* columns outside: b is read once, a stays in cache */
            w = n - j >= 8 ? 8 : n - j >= 4 ? 4 : 1;
            for (int64_t i = 0, h; i < m; i += h) {
                T out[4 * 8];
                const T *ai = a + i * g->a_row, *bj = b + j * g->b_col;
                h = w == 1 ? 1 : m - i >= 4 ? 4 : m - i >= 2 ? 2 : 1;
                if (w == 1) {
                    out[0] = FN(dot)(k, ai, bj);
                } else if (h == 1) {
                    if (w == 8)
                        FN(dots_1_8)(k, ai, g->a_row, bj, g->b_col, out);
                    else
                        FN(dots_1_4)(k, ai, g->a_row, bj, g->b_col, out);
                } else {
                    for (int64_t x = 0; x < w; x += 4)
                        (h == 4 ? FN(dots_4_4) : FN(dots_2_4))(k, ai, g->a_row, bj + x * g->b_col, g->b_col,
                                                               out + x);
                }
                for (int64_t r = 0; r < h; r++)
                    for (int64_t x = 0; x < w; x++) {
                        T *at = c + (i + r) * g->c_row + (j + x) * g->c_col, v = e.alpha * out[r * 8 + x];
                        if (e.beta != 0) v += e.beta * *at;
                        if (e.col_bias) v += e.col_bias[j + x];
                        if (e.row_bias) v += e.row_bias[i + r];
                        *at = v;
                    }
            }
        }
        return true;
    }
    if (m == 1 && g->b_col == 1) {
        for (int64_t j = 0, w; j < n; j += w) {
            T out[ROW_WIDTH];
            w = FB_MIN(n - j, ROW_WIDTH);
            FN(row)(k, a, g->a_col, b + j, g->b_row, out, w);
            for (int64_t x = 0; x < w; x++) {
                T *at = c + (j + x) * g->c_col, v = e.alpha * out[x];
                if (e.beta != 0) v += e.beta * *at;
                if (e.col_bias) v += e.col_bias[j + x];
                if (e.row_bias) v += e.row_bias[0];
                *at = v;
            }
        }
        return true;
    }
    return false;
}

#undef ROW_WIDTH
#undef VT
#undef LANES
#undef COLS
#undef FN
#undef T
#undef NAME
#undef MADD
