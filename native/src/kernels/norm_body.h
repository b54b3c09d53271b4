/* The loops of kernels/norm.c, for one type: defined are T and S, its suffix. Sums run in vector registers within blocks
 * that stay in L1, and in double over blocks: the rounding error doesn't grow with the length. */
#define FN(name) FB_CAT(name, S)

typedef T FN(vec) __attribute__((vector_size(FB_VECTOR), aligned(sizeof(T)), may_alias));
enum { FN(LANES) = FB_VECTOR / (int)sizeof(T) };

static double FN(fold)(FN(vec) a, FN(vec) b, FN(vec) c, FN(vec) d)
{
    const FN(vec) v = (a + b) + (c + d);
    T s = 0;
    for (int j = 0; j < FN(LANES); j++) s += v[j];
    return (double)s;
}

/* Sums over one block of two expressions of x[i] and g[i], each written once for vectors and for elements alike. */
#define BLOCK_SUMS(name, FIRST, SECOND)                                                                                \
    FB_INLINE void FN(name)(const T *x, const T *g, int64_t n, T m, double *first, double *second)                     \
    {                                                                                                                  \
        enum { L = FN(LANES) };                                                                                        \
        typedef FN(vec) V;                                                                                             \
        V a[4] = {{0}}, b[4] = {{0}};                                                                                  \
        double s = 0, t = 0;                                                                                           \
        int64_t i = 0;                                                                                                 \
        (void)g, (void)m;                                                                                              \
        if (n >= 4 * L) {                                                                                              \
            for (; i + 4 * L <= n; i += 4 * L)                                                                         \
                for (int k = 0; k < 4; k++) {                                                                          \
                    const V X = *(const V *)(x + i + k * L), G = *(const V *)(g + i + k * L);                          \
                    (void)X, (void)G;                                                                                  \
                    a[k] += FIRST;                                                                                     \
                    b[k] += SECOND;                                                                                    \
                }                                                                                                      \
            s = FN(fold)(a[0], a[1], a[2], a[3]), t = FN(fold)(b[0], b[1], b[2], b[3]);                                \
        }                                                                                                              \
        T u = 0, v = 0;                                                                                                \
        for (; i < n; i++) {                                                                                           \
            const T X = x[i], G = g[i];                                                                                \
            (void)X, (void)G;                                                                                          \
            u += FIRST;                                                                                                \
            v += SECOND;                                                                                               \
        }                                                                                                              \
        *first += s + (double)u;                                                                                       \
        *second += t + (double)v;                                                                                      \
    }
BLOCK_SUMS(block_sum, X, X * 0)
BLOCK_SUMS(block_square, X, X * X)
BLOCK_SUMS(block_spread, X - m, (X - m) * (X - m))
BLOCK_SUMS(block_dots, G, G * (X - m))
#undef BLOCK_SUMS

/* Mean and sum of squared deviations of a run: of each block, joined by Chan, Golub and LeVeque's formula (Algorithms for
 * computing the sample variance, 1983). *count elements have been seen. */
static void FN(add_moments)(const T *x, int64_t n, double *count, double *mean, double *m2)
{
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t len = FB_MIN(n - i, BLOCK);
        double sum = 0, none = 0, d = 0, q = 0;
        FN(block_sum)(x + i, x + i, len, 0, &sum, &none);
        const T m = (T)(sum / (double)len);
        FN(block_spread)(x + i, x + i, len, m, &d, &q);
        join_moments(count, mean, m2, (double)len, (double)m + d / (double)len, FB_MAX(q - d * d / (double)len, 0));
    }
}

static void FN(add_dots)(const T *x, const T *g, int64_t n, T m, double *sum, double *dot)
{
    for (int64_t i = 0; i < n; i += BLOCK) FN(block_dots)(x + i, g + i, FB_MIN(n - i, BLOCK), m, sum, dot);
}

/* y = (x - m) * r * w + b; w and b one number a run. */
FB_INLINE void FN(scale_run)(T *y, const T *x, int64_t n, T m, T r, T b)
{
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * r + b;
}

/* ---- rows: layer_norm and, not centered, rms_norm ---------------------------------------------------- */

static void FN(norm_rows)(void *ctx, int64_t begin, int64_t end)
{
    const norm_job *j = ctx;
    const int64_t n = j->inner;
    const T *restrict w = j->w, *restrict b = j->b;

    for (int64_t r = begin; r < end; r++) {
        const T *restrict x = (const T *)j->x + r * n;
        T *restrict y = (T *)j->y + r * n;
        double count = 0, mean = 0, m2 = 0, none = 0;
        if (j->centered)
            FN(add_moments)(x, n, &count, &mean, &m2);
        else
            for (int64_t i = 0; i < n; i += BLOCK) FN(block_square)(x + i, x + i, FB_MIN(n - i, BLOCK), 0, &none, &m2);
        const T m = (T)mean, s = (T)(1 / sqrt(m2 / (double)n + j->eps));
        if (j->mean) ((T *)j->mean)[r] = m;
        ((T *)j->rstd)[r] = s;
        if (w && b)
            for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * s * w[i] + b[i];
        else if (w)
            for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * s * w[i];
        else if (b)
            for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * s + b[i];
        else
            for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * s;
    }
}

/* Chunk c of rows: their part of gx, and its share of gw and gb in partial sums of its own. */
static void FN(norm_rows_backward)(void *ctx, int64_t begin, int64_t end)
{
    const norm_job *j = ctx;
    const int64_t n = j->inner;
    const T *restrict w = j->w;

    for (int64_t c = begin; c < end; c++) {
        T *restrict gw = j->gw ? (T *)j->gw + c * n : NULL, *restrict gb = j->gb ? (T *)j->gb + c * n : NULL;
        if (gw) memset(gw, 0, (size_t)n * sizeof *gw);
        if (gb) memset(gb, 0, (size_t)n * sizeof *gb);
        for (int64_t r = c * j->per_chunk; r < FB_MIN((c + 1) * j->per_chunk, j->rows); r++) {
            const T *restrict x = (const T *)j->x + r * n, *restrict g = (const T *)j->g + r * n;
            const T m = j->mean ? ((const T *)j->mean)[r] : 0, s = ((const T *)j->rstd)[r];
            if (gw)
                for (int64_t i = 0; i < n; i++) gw[i] += g[i] * ((x[i] - m) * s);
            if (gb)
                for (int64_t i = 0; i < n; i++) gb[i] += g[i];
            if (!j->gx) continue;
            T *gx = (T *)j->gx + r * n, *h = gx; /* h = g * w: lies where the result will be */
            double sum = 0, dot = 0;
            if (w)
                for (int64_t i = 0; i < n; i++) h[i] = g[i] * w[i];
            FN(add_dots)(x, w ? h : g, n, m, &sum, &dot);
            const T a = j->centered ? (T)(sum / (double)n) : 0, b = (T)(dot * (double)s * (double)s / (double)n);
            if (w)
                for (int64_t i = 0; i < n; i++) gx[i] = s * (h[i] - a - (x[i] - m) * b);
            else
                for (int64_t i = 0; i < n; i++) gx[i] = s * (g[i] - a - (x[i] - m) * b);
        }
    }
}

/* out[j] = the sum over chunks of part[chunk][j]. */
static void FN(join_parts)(T *out, const T *part, int64_t chunks, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double s = 0;
        for (int64_t c = 0; c < chunks; c++) s += (double)part[c * n + i];
        out[i] = (T)s;
    }
}

/* ---- groups of channels: group_norm. A row is one group of one sample ----------------------------------- */

static void FN(norm_groups)(void *ctx, int64_t begin, int64_t end)
{
    const norm_job *j = ctx;
    const int64_t k = j->channels / j->groups, n = k * j->inner;

    for (int64_t r = begin; r < end; r++) {
        const T *x = (const T *)j->x + r * n;
        double count = 0, mean = 0, m2 = 0;
        FN(add_moments)(x, n, &count, &mean, &m2);
        const T m = (T)mean, s = (T)(1 / sqrt(m2 / (double)n + j->eps));
        ((T *)j->mean)[r] = m;
        ((T *)j->rstd)[r] = s;
        for (int64_t c = 0; c < k; c++) {
            const int64_t channel = r % j->groups * k + c;
            const T w = j->w ? ((const T *)j->w)[channel] : 1, b = j->b ? ((const T *)j->b)[channel] : 0;
            FN(scale_run)((T *)j->y + r * n + c * j->inner, x + c * j->inner, j->inner, m, s * w, b);
        }
    }
}

/* gw and gb: one number a channel of each sample, summed over samples afterwards. */
static void FN(norm_groups_backward)(void *ctx, int64_t begin, int64_t end)
{
    const norm_job *j = ctx;
    const int64_t k = j->channels / j->groups, n = k * j->inner;

    for (int64_t r = begin; r < end; r++) {
        const T *x = (const T *)j->x + r * n, *g = (const T *)j->g + r * n;
        const T m = ((const T *)j->mean)[r], s = ((const T *)j->rstd)[r];
        double sum = 0, dot = 0;
        for (int64_t c = 0; c < k; c++) {
            const int64_t channel = r % j->groups * k + c;
            const double w = j->w ? (double)((const T *)j->w)[channel] : 1;
            double u = 0, v = 0;
            FN(add_dots)(x + c * j->inner, g + c * j->inner, j->inner, m, &u, &v);
            sum += w * u;
            dot += w * v;
            if (j->gw) ((T *)j->gw)[r * k + c] = (T)(v * (double)s);
            if (j->gb) ((T *)j->gb)[r * k + c] = (T)u;
        }
        if (!j->gx) continue;
        const T a = (T)(sum / (double)n), b = (T)(dot * (double)s * (double)s / (double)n);
        for (int64_t c = 0; c < k; c++) {
            const int64_t at = c * j->inner;
            const T w = j->w ? ((const T *)j->w)[r % j->groups * k + c] : 1;
            const T *restrict xc = x + at, *restrict gc = g + at;
            T *restrict to = (T *)j->gx + r * n + at;
            for (int64_t i = 0; i < j->inner; i++) to[i] = s * (gc[i] * w - a - (xc[i] - m) * b);
        }
    }
}

/* ---- channels of a batch: batch_norm ----------------------------------------------------------------------- */

/* Statistics of columns [begin, end) of `rows` rows, `width` apart: blocks of rows, as many columns as stay in L1. */
static void FN(columns_moments)(const T *x, int64_t rows, int64_t width, int64_t w, double *mean, double *m2)
{
    double count = 0;
    for (int64_t j = 0; j < w; j++) mean[j] = m2[j] = 0;
    for (int64_t r0 = 0; r0 < rows; r0 += STRIP) {
        const int64_t k = FB_MIN(rows - r0, STRIP);
        const double share = (double)k / (count + (double)k), both = count * share;
        T m[COLUMNS] = {0}, q[COLUMNS] = {0};
        const T *v = x + r0 * width;
        for (int64_t r = 0; r < k; r++)
            for (int64_t j = 0; j < w; j++) m[j] += v[r * width + j];
        for (int64_t j = 0; j < w; j++) m[j] /= (T)k;
        for (int64_t r = 0; r < k; r++)
            for (int64_t j = 0; j < w; j++) q[j] += (v[r * width + j] - m[j]) * (v[r * width + j] - m[j]);
        for (int64_t j = 0; j < w; j++) {
            const double d = (double)m[j] - mean[j];
            mean[j] += d * share;
            m2[j] += (double)q[j] + d * d * both;
        }
        count += (double)k;
    }
}

static void FN(columns_dots)(const T *x, const T *g, int64_t rows, int64_t width, int64_t w, const T *m, double *sum, double *dot)
{
    for (int64_t j = 0; j < w; j++) sum[j] = dot[j] = 0;
    for (int64_t r0 = 0; r0 < rows; r0 += STRIP) {
        T a[COLUMNS] = {0}, b[COLUMNS] = {0};
        for (int64_t r = r0; r < FB_MIN(rows, r0 + STRIP); r++)
            for (int64_t j = 0; j < w; j++) {
                a[j] += g[r * width + j];
                b[j] += g[r * width + j] * (x[r * width + j] - m[j]);
            }
        for (int64_t j = 0; j < w; j++) sum[j] += (double)a[j], dot[j] += (double)b[j];
    }
}

/* Channels [begin, end): where a channel's run is short, columns of (channel, place) side by side. */
static void FN(batch_stats)(const norm_job *j, int64_t begin, int64_t end)
{
    const int64_t run = j->inner, width = j->channels * run;
    const T *x = j->x;

    if (run >= SHORT_RUN) {
        for (int64_t c = begin; c < end; c++) {
            double count = 0, mean = 0, m2 = 0;
            for (int64_t i = 0; i < j->rows; i++) FN(add_moments)(x + i * width + c * run, run, &count, &mean, &m2);
            batch_finish(j, c, mean, m2);
        }
        return;
    }
    for (int64_t c0 = begin; c0 < end; c0 += COLUMNS / run) {
        const int64_t k = FB_MIN(end - c0, COLUMNS / run);
        double mean[COLUMNS], m2[COLUMNS];
        FN(columns_moments)(x + c0 * run, j->rows, width, k * run, mean, m2);
        for (int64_t c = 0; c < k; c++) {
            double count = 0, all = 0, all2 = 0;
            for (int64_t i = c * run; i < (c + 1) * run; i++) join_moments(&count, &all, &all2, (double)j->rows, mean[i], m2[i]);
            batch_finish(j, c0 + c, all, all2);
        }
    }
}

static void FN(batch_norm)(void *ctx, int64_t begin, int64_t end)
{
    const norm_job *j = ctx;
    const int64_t run = j->inner, width = j->channels * run;
    T *mean = j->mean, *rstd = j->rstd;

    if (j->centered) FN(batch_stats)(j, begin, end); /* else the statistics are given */
    for (int64_t c0 = begin; c0 < end; c0 += COLUMNS) {
        const int64_t k = FB_MIN(end - c0, COLUMNS);
        T scale[COLUMNS], shift[COLUMNS];
        for (int64_t c = 0; c < k; c++) {
            scale[c] = rstd[c0 + c] * (j->w ? ((const T *)j->w)[c0 + c] : 1);
            shift[c] = j->b ? ((const T *)j->b)[c0 + c] : 0;
        }
        for (int64_t i = 0; i < j->rows; i++) {
            const T *restrict x = (const T *)j->x + i * width + c0 * run;
            T *restrict y = (T *)j->y + i * width + c0 * run;
            if (run == 1)
                for (int64_t c = 0; c < k; c++) y[c] = (x[c] - mean[c0 + c]) * scale[c] + shift[c];
            else
                for (int64_t c = 0; c < k; c++) FN(scale_run)(y + c * run, x + c * run, run, mean[c0 + c], scale[c], shift[c]);
        }
    }
}

static void FN(batch_norm_backward)(void *ctx, int64_t begin, int64_t end)
{
    const norm_job *j = ctx;
    const int64_t run = j->inner, width = j->channels * run, each = COLUMNS / FB_MIN(run, SHORT_RUN);
    const double n = (double)j->rows * (double)run;
    const T *x = j->x, *g = j->g, *mean = j->mean, *rstd = j->rstd;

    for (int64_t c0 = begin; c0 < end; c0 += each) {
        const int64_t k = FB_MIN(end - c0, each);
        double sums[COLUMNS], dots[COLUMNS];
        T a[COLUMNS], b[COLUMNS], scale[COLUMNS];
        if (run >= SHORT_RUN) {
            for (int64_t c = 0; c < k; c++) {
                sums[c] = dots[c] = 0;
                for (int64_t i = 0; i < j->rows; i++)
                    FN(add_dots)(x + i * width + (c0 + c) * run, g + i * width + (c0 + c) * run, run, mean[c0 + c], &sums[c], &dots[c]);
            }
        } else {
            double s[COLUMNS], d[COLUMNS];
            T m[COLUMNS];
            for (int64_t c = 0; c < k * run; c++) m[c] = mean[c0 + c / run];
            FN(columns_dots)(x + c0 * run, g + c0 * run, j->rows, width, k * run, m, s, d);
            for (int64_t c = 0; c < k; c++) {
                sums[c] = dots[c] = 0;
                for (int64_t i = c * run; i < (c + 1) * run; i++) sums[c] += s[i], dots[c] += d[i];
            }
        }
        for (int64_t c = 0; c < k; c++) {
            const double r = (double)rstd[c0 + c];
            if (j->gw) ((T *)j->gw)[c0 + c] = (T)(dots[c] * r);
            if (j->gb) ((T *)j->gb)[c0 + c] = (T)sums[c];
            a[c] = (T)(sums[c] / n);
            b[c] = (T)(dots[c] * r * r / n);
            scale[c] = rstd[c0 + c] * (j->w ? ((const T *)j->w)[c0 + c] : 1);
        }
        if (!j->gx) continue;
        for (int64_t i = 0; i < j->rows && run == 1; i++) {
            const T *restrict xr = x + i * width + c0, *restrict gr = g + i * width + c0, *restrict m = mean + c0;
            T *restrict to = (T *)j->gx + i * width + c0;
            for (int64_t c = 0; c < k; c++) to[c] = scale[c] * (gr[c] - a[c] - (xr[c] - m[c]) * b[c]);
        }
        for (int64_t i = 0; i < j->rows && run > 1; i++)
            for (int64_t c = 0; c < k; c++) {
                const int64_t at = i * width + (c0 + c) * run;
                const T m = mean[c0 + c];
                const T *restrict xc = x + at, *restrict gc = g + at;
                T *restrict to = (T *)j->gx + at;
                for (int64_t p = 0; p < run; p++) to[p] = scale[c] * (gc[p] - a[c] - (xc[p] - m) * b[c]);
            }
    }
}
#undef FN
