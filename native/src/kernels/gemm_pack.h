/* Template: how strided operands of one dtype become panels, included once a dtype by gemm_pack.c with
 *   S, T   element in memory and in panels            NAME   suffix
 *   LOAD(x)  S -> T         RUN(dst, src, n)  n contiguous elements, where a loop over LOAD does not vectorize */

#define FN(name) FB_CAT(name, NAME)
#define COLS     ((int64_t)(2 * FB_VECTOR / sizeof(T)))

FB_INLINE const S *FN(batch)(const fb_gemm_operand *o, int64_t batch)
{
    return (const S *)o->data + (o->offset ? o->offset[batch] : batch * o->step);
}

/* dst[p * width + x] = src[x * xs + p * ps] for x < n, zeros up to width: square pieces, so that neither side
 * walks memory by large steps. */
static __attribute__((noinline)) void FN(turn)(T *restrict dst, const S *restrict src, int64_t xs, int64_t ps,
                                               int64_t n, int64_t width, int64_t depth)
{
    int64_t x = 0;
    for (; x + 4 <= n; x += 4) {
        const S *s0 = src + x * xs, *s1 = s0 + xs, *s2 = s1 + xs, *s3 = s2 + xs;
        T *d = dst + x;
        int64_t p = 0;
#ifdef TURN
        if (ps == 1)
            for (; p + 4 <= depth; p += 4, d += 4 * width) TURN(d, width, s0 + p, s1 + p, s2 + p, s3 + p);
#endif
        for (; p < depth; p++, d += width) {
            d[0] = LOAD(s0[p * ps]);
            d[1] = LOAD(s1[p * ps]);
            d[2] = LOAD(s2[p * ps]);
            d[3] = LOAD(s3[p * ps]);
        }
    }
    for (; x < n; x++)
        for (int64_t p = 0; p < depth; p++) dst[p * width + x] = LOAD(src[x * xs + p * ps]);
    if (n < width)
        for (int64_t p = 0; p < depth; p++)
            for (int64_t z = n; z < width; z++) dst[p * width + z] = 0;
}

static const void *FN(panel_a)(const fb_gemm *g, int64_t batch, void *room, int64_t i, int64_t rows,
                               int64_t p, int64_t depth)
{
    const fb_gemm_operand *o = g->a_ctx;
    const S *src = FN(batch)(o, batch) + i * o->row + p * o->col;
    T *dst = room;
    if (o->row == 1 && rows == FB_GEMM_ROWS) {
        for (int64_t q = 0; q < depth; q++, src += o->col, dst += FB_GEMM_ROWS) RUN(dst, src, FB_GEMM_ROWS);
    } else if (o->col == 1 && rows == FB_GEMM_ROWS) {
        FN(turn)(dst, src, o->row, 1, FB_GEMM_ROWS, FB_GEMM_ROWS, depth);
    } else {
        FN(turn)(dst, src, o->row, o->col, rows, FB_GEMM_ROWS, depth);
    }
    return room;
}

static void FN(pack_b)(const fb_gemm *g, int64_t batch, void *room, int64_t p, int64_t depth, int64_t j,
                       int64_t cols)
{
    const fb_gemm_operand *o = g->b_ctx;
    const S *src = FN(batch)(o, batch) + p * o->row + j * o->col;
    T *dst = room;
    for (int64_t x = 0; x < cols; x += COLS, dst += depth * COLS) {
        const S *s = src + x * o->col;
        const int64_t n = FB_MIN(cols - x, COLS);
        if (o->col == 1 && n == COLS) {
            for (int64_t q = 0; q < depth; q++, s += o->row) RUN(dst + q * COLS, s, COLS);
        } else if (o->row == 1) {
            FN(turn)(dst, s, o->col, 1, n, COLS, depth);
        } else {
            for (int64_t q = 0; q < depth; q++, s += o->row) {
                T *d = dst + q * COLS;
                for (int64_t y = 0; y < n; y++) d[y] = LOAD(s[y * o->col]);
                for (int64_t y = n; y < COLS; y++) d[y] = 0;
            }
        }
    }
}
