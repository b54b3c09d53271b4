/* Template: the parts of a convolution that touch elements, included once for float and double by conv.c with T, NAME,
 * and vectors VT of LANES elements, MADD, load_part and store_part as in gemm_tile.h. */

#define FN(name) FB_CAT(name, NAME)
#define LANES    ((int64_t)(FB_VECTOR / sizeof(T)))
#define COLS     (2 * LANES)
#define VT       FB_CAT(fb_conv_vec, NAME)
typedef T VT __attribute__((vector_size(FB_VECTOR), aligned(sizeof(T)), may_alias));

/* v with lanes [from, to) taken from p (which points where lane 0 would lie): memory of other lanes is not touched. */
FB_INLINE VT FN(load_lanes)(VT v, const T *p, int64_t from, int64_t to)
{
#if FB_VECTOR == 64
    const uint32_t mask = ((1u << (to - from)) - 1) << from;
    return sizeof(T) == 4 ? (VT)_mm512_mask_loadu_epi32((__m512i)v, (__mmask16)mask, p)
                          : (VT)_mm512_mask_loadu_epi64((__m512i)v, (__mmask8)mask, p);
#else
    for (int64_t i = from; i < to; i++) v[i] = p[i];
    return v;
#endif
}
FB_INLINE void FN(store_lanes)(T *p, VT v, int64_t n)
{
#if FB_VECTOR == 64
    if (sizeof(T) == 4)
        _mm512_mask_storeu_epi32(p, (__mmask16)((1u << n) - 1), (__m512i)v);
    else
        _mm512_mask_storeu_epi64(p, (__mmask8)((1u << n) - 1), (__m512i)v);
#else
    T part[FB_VECTOR / sizeof(T)];
    *(VT *)part = v;
    for (int64_t i = 0; i < n; i++) p[i] = part[i];
#endif
}

/* One source plane into its field. */
static void FN(fill_field)(const fb_field *f, const int64_t in[3], const T *src, T *dst)
{
    for (int64_t z = 0; z < f->len[0]; z++)
        for (int64_t y = 0; y < f->len[1]; y++, dst += f->pitch) {
            const int64_t iz = z + f->start[0], iy = y + f->start[1];
            if (iz < 0 || iz >= in[0] || iy < 0 || iy >= in[1]) {
                memset(dst, 0, (size_t)f->pitch * sizeof(T));
                continue;
            }
            const T *row = src + (iz * in[1] + iy) * in[2] + f->start[2];
            /* row[u] is real for u in [lo, hi) */
            const int64_t lo = FB_MIN(FB_MAX(-f->start[2], 0), f->len[2]);
            const int64_t hi = FB_MAX(FB_MIN(in[2] - f->start[2], f->len[2]), lo);
            if (f->phases == 1) {
                for (int64_t u = 0; u < lo; u++) dst[u] = 0;
                if (FB_VECTOR < 64 || hi - lo > 8 * LANES) {
                    memcpy(dst + lo, row + lo, (size_t)(hi - lo) * sizeof(T));
                } else { /* short rows: a call each would take most of the time */
                    int64_t u = lo;
                    for (; u + LANES <= hi; u += LANES) *(VT *)(dst + u) = *(const VT *)(row + u);
                    if (u < hi) FN(store_lanes)(dst + u, FN(load_lanes)((VT){0}, row + u, 0, hi - u), hi - u);
                }
                for (int64_t u = hi; u < f->pitch; u++) dst[u] = 0;
            } else if (f->phases == 2) {
                const int64_t first = (lo + 1) / 2,
                              last = FB_MAX(hi / 2, first); /* pairs that are real as a whole */
                T *even = dst, *odd = dst + f->phase_len;
                for (int64_t t = 0; t < first; t++) {
                    even[t] = 2 * t >= lo && 2 * t < hi ? row[2 * t] : 0;
                    odd[t] = 2 * t + 1 >= lo && 2 * t + 1 < hi ? row[2 * t + 1] : 0;
                }
                for (int64_t t = first; t < last; t++) even[t] = row[2 * t], odd[t] = row[2 * t + 1];
                for (int64_t t = last; t < f->phase_len; t++) {
                    even[t] = 2 * t >= lo && 2 * t < hi ? row[2 * t] : 0;
                    odd[t] = 2 * t + 1 >= lo && 2 * t + 1 < hi ? row[2 * t + 1] : 0;
                }
            } else {
                for (int64_t h = 0; h < f->phases; h++)
                    for (int64_t t = 0; t < f->phase_len; t++) {
                        const int64_t u = t * f->phases + h;
                        dst[h * f->phase_len + t] = u >= lo && u < hi ? row[u] : 0;
                    }
            }
        }
}

/* Where column j of a pass (counted through the images when they are folded into one product) lies in the source. */
FB_INLINE int64_t FN(source)(const unfold *u, int64_t j, int64_t *left_in_row)
{
    const fb_pass *s = u->pass;
    const int64_t image = j / s->total, in_image = j % s->total, x = in_image % s->size[2];
    const int64_t y = in_image / s->size[2] % s->size[1], z = in_image / s->size[2] / s->size[1];
    *left_in_row = s->size[2] - x;
    return image * u->image_step + z * s->src_step[0] + y * s->src_step[1] + x;
}

FB_INLINE const T *FN(base)(const unfold *u, int64_t batch)
{
    return (const T *)u->field + batch * u->batch_step;
}

/* Rows (channel, tap) p.., columns (image,) z, y, x j..: an image unfolded straight into panels. */
static void FN(unfold_b)(const fb_gemm *g, int64_t batch, void *room, int64_t p, int64_t depth, int64_t j,
                         int64_t cols)
{
    const unfold *u = g->b_ctx;
    const T *base = FN(base)(u, batch);
    T *dst = room;
    for (int64_t jp = j; jp < j + cols; jp += COLS, dst += depth * COLS)
        for (int half = 0; half < 2; half++) {
            /* a vector's lanes come from one or more rows of the source */
            int64_t from[FB_VECTOR / sizeof(T) + 1], at[FB_VECTOR / sizeof(T)], rows = 0, lane = 0;
            const int64_t first = jp + half * LANES, here = FB_MAX(FB_MIN(LANES, j + cols - first), 0);
            while (lane < here) {
                int64_t left;
                const int64_t where = FN(source)(u, first + lane, &left);
                from[rows] = lane;
                at[rows++] = where - lane;
                lane += left;
            }
            from[rows] = here;
            T *d = dst + half * LANES;
            const int64_t *koff = u->koff + p;
            if (rows == 1 && here == LANES) {
                const T *b = base + at[0];
                for (int64_t q = 0; q < depth; q++) *(VT *)(d + q * COLS) = *(const VT *)(b + koff[q]);
            } else if (rows == 2) {
                const T *b0 = base + at[0], *b1 = base + at[1];
                const int64_t cut = from[1];
                for (int64_t q = 0; q < depth; q++)
                    *(VT *)(d + q * COLS) = FN(load_lanes)(FN(load_lanes)((VT){0}, b0 + koff[q], 0, cut),
                                                           b1 + koff[q], cut, here);
            } else {
                for (int64_t q = 0; q < depth; q++) {
                    VT v = {0};
                    for (int64_t r = 0; r < rows; r++)
                        v = FN(load_lanes)(v, base + at[r] + koff[q], from[r], from[r + 1]);
                    *(VT *)(d + q * COLS) = v;
                }
            }
        }
}

/* The same, turned: rows are pixels, columns (channel, tap). For weight gradients. */
static void FN(unfold_t)(const fb_gemm *g, int64_t batch, void *room, int64_t p, int64_t depth, int64_t j,
                         int64_t cols)
{
    const unfold *u = g->b_ctx;
    const T *base = FN(base)(u, batch);
    for (int64_t q = 0, left; q < depth; q += left) {
        const T *src = base + FN(source)(u, p + q, &left);
        left = FB_MIN(left, depth - q);
        T *dst = (T *)room + q * COLS;
        for (int64_t jp = 0; jp < cols; jp += COLS, dst += depth * COLS) {
            const int64_t n = FB_MIN(cols - jp, COLS), *koff = u->koff + j + jp;
            int64_t x = 0;
            for (; x + 4 <= n; x += 4) {
                const T *s0 = src + koff[x], *s1 = src + koff[x + 1], *s2 = src + koff[x + 2],
                        *s3 = src + koff[x + 3];
                T *d = dst + x;
                int64_t i = 0;
                for (; i + 4 <= left; i += 4, d += 4 * COLS)
                    FN(fb_turn4)(d, COLS, s0 + i, s1 + i, s2 + i, s3 + i);
                for (; i < left; i++, d += COLS) d[0] = s0[i], d[1] = s1[i], d[2] = s2[i], d[3] = s3[i];
            }
            for (; x < n; x++)
                for (int64_t i = 0; i < left; i++) dst[i * COLS + x] = src[koff[x] + i];
            for (; x < COLS; x++)
                for (int64_t i = 0; i < left; i++) dst[i * COLS + x] = 0;
        }
    }
}

/* Rows are channels of gy, columns pixels counted through the images. */
static const void *FN(panel_gy)(const fb_gemm *g, int64_t batch, void *room, int64_t i, int64_t rows,
                                int64_t p, int64_t depth)
{
    const gradient *a = g->a_ctx;
    for (int64_t q = 0, left; q < depth; q += left) {
        const int64_t image = (p + q) / a->total, at = (p + q) % a->total;
        left = FB_MIN(a->total - at, depth - q);
        const T *src = (const T *)a->gy + image * a->image_step + (batch * g->m + i) * a->total + at;
        T *dst = (T *)room + q * FB_GEMM_ROWS;
        int64_t r = 0;
        for (; r + 4 <= rows; r += 4) {
            const T *s0 = src + r * a->total, *s1 = s0 + a->total, *s2 = s1 + a->total, *s3 = s2 + a->total;
            T *d = dst + r;
            int64_t z = 0;
            for (; z + 4 <= left; z += 4, d += 4 * FB_GEMM_ROWS)
                FN(fb_turn4)(d, FB_GEMM_ROWS, s0 + z, s1 + z, s2 + z, s3 + z);
            for (; z < left; z++, d += FB_GEMM_ROWS) d[0] = s0[z], d[1] = s1[z], d[2] = s2[z], d[3] = s3[z];
        }
        for (; r < rows; r++)
            for (int64_t z = 0; z < left; z++) dst[z * FB_GEMM_ROWS + r] = src[r * a->total + z];
    }
    return room;
}

/* Sums of rows i.. (channels) and columns j.. to where the pass puts them. */
static void FN(scatter)(const fb_gemm *g, int64_t batch, int64_t i, int64_t rows, int64_t j, int64_t cols,
                        const void *t_, int64_t ld)
{
    const unfold *u = g->b_ctx;
    const fb_pass *s = u->pass;
    const T *bias = g->row_bias;
    const int64_t group = g->bias_groups > 1 ? batch % g->bias_groups : 0;
    for (int64_t q = 0, left; q < cols; q += left) {
        const int64_t image = (j + q) / s->total, in_image = (j + q) % s->total, x = in_image % s->size[2];
        const int64_t y = in_image / s->size[2] % s->size[1], z = in_image / s->size[2] / s->size[1];
        const bool dense =
            s->dst_step[2] == 1 && s->dst_step[1] == s->size[2] && s->dst_step[0] == s->size[1] * s->size[2];
        left = FB_MIN(dense ? s->total - in_image : s->size[2] - x, cols - q);
        T *dst = (T *)g->c + batch * g->c_step + image * u->dst_image_step + s->dst_start +
                 z * s->dst_step[0] + y * s->dst_step[1] + x * s->dst_step[2] + i * g->c_row;
        const T *t = (const T *)t_ + q;
        for (int64_t r = 0; r < rows; r++, dst += g->c_row, t += ld) {
            const T add = bias ? bias[group * g->m + i + r] : 0;
            if (s->dst_step[2] == 1)
                for (int64_t k = 0; k < left; k++) dst[k] = t[k] + add;
            else
                for (int64_t k = 0; k < left; k++) dst[k * s->dst_step[2]] = t[k] + add;
        }
    }
}

/* ---- one channel in, one out: no product to speak of, so taps go over rows directly -------------------------- */

FB_INLINE void FN(plane_rows)(const int rows, const fb_pass *s, const T *field, const T *w, T add, T *dst)
{
    for (int64_t x = 0; x < s->size[2]; x += LANES) {
        VT acc[4];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) acc[r] = add - (VT){0};
        for (int64_t t = 0; t < s->taps; t++) {
            const VT weight = w[s->tap[t]] - (VT){0};
            const T *p = field + s->at[t] + x;
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                acc[r] = MADD(acc[r], weight, *(const VT *)(p + r * s->src_step[1]));
        }
        const int64_t n = FB_MIN(s->size[2] - x, LANES);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            T *d = dst + r * s->dst_step[1] + x * s->dst_step[2];
            if (s->dst_step[2] != 1)
                for (int64_t i = 0; i < n; i++) d[i * s->dst_step[2]] = acc[r][i];
            else if (n == LANES)
                *(VT *)d = acc[r];
            else
                FN(store_lanes)(d, acc[r], n);
        }
    }
}

/* field has LANES readable elements behind its end. */
static void FN(plane)(const fb_pass *s, const void *field_, const void *w_, const void *bias, void *dst_)
{
    const T add = bias ? *(const T *)bias : 0;
    for (int64_t z = 0; z < s->size[0]; z++) {
        const T *field = (const T *)field_ + z * s->src_step[0];
        T *dst = (T *)dst_ + s->dst_start + z * s->dst_step[0];
        int64_t y = 0;
        for (; y + 4 <= s->size[1]; y += 4)
            FN(plane_rows)(4, s, field + y * s->src_step[1], w_, add, dst + y * s->dst_step[1]);
        for (; y + 2 <= s->size[1]; y += 2)
            FN(plane_rows)(2, s, field + y * s->src_step[1], w_, add, dst + y * s->dst_step[1]);
        for (; y < s->size[1]; y++)
            FN(plane_rows)(1, s, field + y * s->src_step[1], w_, add, dst + y * s->dst_step[1]);
    }
}

/* gw[tap] += sum over pixels of gy * field */
static void FN(plane_weight)(const fb_pass *s, const void *field_, const void *gy_, void *gw_)
{
    T *gw = gw_;
    for (int64_t t = 0; t < s->taps; t += 9) { /* nine sums at a time: all of a 3 x 3 kernel */
        const int64_t taps = FB_MIN(s->taps - t, 9);
        int64_t at[9];
        for (int64_t k = 0; k < 9; k++) at[k] = s->at[t + FB_MIN(k, taps - 1)];
        VT acc[9] = {{0}};
        const T *gy = gy_;
        for (int64_t z = 0; z < s->size[0]; z++)
            for (int64_t y = 0; y < s->size[1]; y++, gy += s->size[2]) {
                const T *row = (const T *)field_ + z * s->src_step[0] + y * s->src_step[1];
                for (int64_t x = 0; x < s->size[2]; x += LANES) {
                    const int64_t n = FB_MIN(s->size[2] - x, LANES);
                    if (n == LANES) {
                        const VT d = *(const VT *)(gy + x);
#pragma GCC unroll 9
                        for (int k = 0; k < 9; k++) acc[k] = MADD(acc[k], d, *(const VT *)(row + x + at[k]));
                    } else {
                        const VT d = FN(load_lanes)((VT){0}, gy + x, 0, n);
#pragma GCC unroll 9
                        for (int k = 0; k < 9; k++)
                            acc[k] = MADD(acc[k], d, FN(load_lanes)((VT){0}, row + x + at[k], 0, n));
                    }
                }
            }
        for (int64_t k = 0; k < taps; k++) {
            T sum = 0;
            for (int64_t i = 0; i < LANES; i++) sum += acc[k][i];
            gw[s->tap[t + k]] += sum;
        }
    }
}

/* Sum of n elements; blocks keep the rounding error from growing with n. */
static T FN(row_sum)(int64_t n, const T *p)
{
    T total = 0;
    while (n > 0) {
        const int64_t here = FB_MIN(n, 16 * LANES);
        VT acc[4] = {{0}};
        int64_t i = 0;
        for (; i + 4 * LANES <= here; i += 4 * LANES)
            for (int k = 0; k < 4; k++) acc[k] += *(const VT *)(p + i + k * LANES);
        T sum = 0;
        for (; i < here; i++) sum += p[i];
        acc[0] = (acc[0] + acc[1]) + (acc[2] + acc[3]);
        for (int64_t k = 0; k < LANES; k++) sum += acc[0][k];
        total += sum;
        p += here;
        n -= here;
    }
    return total;
}

#undef FN
#undef LANES
#undef COLS
#undef VT
#undef T
#undef NAME
#undef MADD
