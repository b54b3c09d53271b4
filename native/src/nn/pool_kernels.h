/* Template: pooling over windows, included once a type by pool_kernels.c with T and NAME. */

#define FN(name) FB_POOL_CAT(name, NAME)

/* Rows [begin, end) of the output, counted through planes and the first two dimensions. A NaN wins over all; among
 * equals the first does. */
static void FN(max)(void *ctx, int64_t begin, int64_t end)
{
    const pool_job *p = ctx;
    const fb_windows *w = &p->w;
    const int64_t plane = w->in[0] * w->in[1] * w->in[2];
    for (int64_t row = begin; row < end; row++) {
        const int64_t oy = row % w->out[1], oz = row / w->out[1] % w->out[0];
        const T *in = (const T *)p->in + row / (w->out[0] * w->out[1]) * plane;
        T *out = (T *)p->out + row * w->out[2];
        int64_t *index = p->index + row * w->out[2];
        const int64_t z0 = w->lo[0][oz], z1 = w->hi[0][oz], y0 = w->lo[1][oy], y1 = w->hi[1][oy];
        for (int64_t ox = 0; ox < w->out[2]; ox++) {
            const int64_t x0 = w->lo[2][ox], x1 = w->hi[2][ox];
            int64_t best = (z0 * w->in[1] + y0) * w->in[2] + x0;
            T top = LOWEST;
            for (int64_t z = z0; z < z1; z += w->step[0])
                for (int64_t y = y0; y < y1; y += w->step[1]) {
                    const int64_t at = (z * w->in[1] + y) * w->in[2];
                    for (int64_t x = x0; x < x1; x += w->step[2]) {
                        const T v = in[at + x];
                        const bool take = v > top || v != v;
                        top = take ? v : top;
                        best = take ? at + x : best;
                    }
                }
            out[ox] = top;
            index[ox] = best;
        }
    }
}

static T FN(divisor)(const pool_job *p, int64_t oz, int64_t oy, int64_t ox)
{
    const fb_windows *w = &p->w;
    if (p->divisor) return (T)p->divisor;
    if (p->count_padding) return (T)(w->full[0][oz] * w->full[1][oy] * w->full[2][ox]);
    return (T)((w->hi[0][oz] - w->lo[0][oz]) * (w->hi[1][oy] - w->lo[1][oy]) * (w->hi[2][ox] - w->lo[2][ox]));
}

/* Sixteen running sums: a vector's worth at any width, and less rounding than one. */
static T FN(run_sum)(const T *p, int64_t n)
{
    T part[16] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++) part[k] += p[i + k];
    for (; i < n; i++) sum += p[i];
    for (int w = 8; w; w /= 2)
        for (int k = 0; k < w; k++) part[k] += part[k + w];
    return sum + part[0];
}

static void FN(mean)(void *ctx, int64_t begin, int64_t end)
{
    const pool_job *p = ctx;
    const fb_windows *w = &p->w;
    const int64_t plane = w->in[0] * w->in[1] * w->in[2];
    for (int64_t row = begin; row < end; row++) {
        const int64_t oy = row % w->out[1], oz = row / w->out[1] % w->out[0];
        const T *in = (const T *)p->in + row / (w->out[0] * w->out[1]) * plane;
        T *out = (T *)p->out + row * w->out[2];
        for (int64_t ox = 0; ox < w->out[2]; ox++) {
            const int64_t x0 = w->lo[2][ox], x1 = w->hi[2][ox];
            T sum = 0;
            const int64_t y0 = w->lo[1][oy], y1 = w->hi[1][oy];
            const bool any = w->hi[0][oz] > w->lo[0][oz] && y1 > y0, whole = x1 - x0 == w->in[2];
            for (int64_t z = w->lo[0][oz]; z < w->hi[0][oz]; z++) {
                const T *line = in + (z * w->in[1] + y0) * w->in[2];
                if (whole && (y1 - y0) * w->in[2] >= 16) { /* whole rows lie one after another */
                    sum += FN(run_sum)(line, FB_MAX(y1 - y0, 0) * w->in[2]);
                    continue;
                }
                for (int64_t y = y0; y < y1; y++, line += w->in[2])
                    for (int64_t x = x0; x < x1; x++) sum += line[x];
            }
            out[ox] = any && x1 > x0 ? sum / FN(divisor)(p, oz, oy, ox) : 0;
        }
    }
}

/* Planes [begin, end): each gradient spread over its window. */
static void FN(mean_back)(void *ctx, int64_t begin, int64_t end)
{
    const pool_job *p = ctx;
    const fb_windows *w = &p->w;
    const int64_t plane = w->in[0] * w->in[1] * w->in[2], places = w->out[0] * w->out[1] * w->out[2];
    for (int64_t i = begin; i < end; i++) {
        const T *g = (const T *)p->in + i * places;
        T *out = (T *)p->out + i * plane;
        memset(out, 0, (size_t)plane * sizeof(T));
        for (int64_t oz = 0; oz < w->out[0]; oz++)
            for (int64_t oy = 0; oy < w->out[1]; oy++)
                for (int64_t ox = 0; ox < w->out[2]; ox++) {
                    const int64_t x0 = w->lo[2][ox], x1 = w->hi[2][ox];
                    const T share = *g++ / FN(divisor)(p, oz, oy, ox);
                    for (int64_t z = w->lo[0][oz]; z < w->hi[0][oz]; z++)
                        for (int64_t y = w->lo[1][oy]; y < w->hi[1][oy]; y++) {
                            T *line = out + (z * w->in[1] + y) * w->in[2];
                            for (int64_t x = x0; x < x1; x++) line[x] += share;
                        }
                }
    }
}

/* Planes [begin, end): values to the places their indices name; p->add: summed where several meet. */
static void FN(scatter)(void *ctx, int64_t begin, int64_t end)
{
    const index_job *p = ctx;
    for (int64_t i = begin; i < end; i++) {
        const T *v = (const T *)p->in + i * p->places;
        const int64_t *index = p->index + i * p->places;
        T *out = (T *)p->out + i * p->plane;
        memset(out, 0, (size_t)p->plane * sizeof(T));
        for (int64_t k = 0; k < p->places; k++) {
            if (index[k] < 0 || index[k] >= p->plane) {
                atomic_store(p->bad, index[k]);
                atomic_store(p->any_bad, true);
            } else if (p->add)
                out[index[k]] += v[k];
            else
                out[index[k]] = v[k];
        }
    }
}

static void FN(gather)(void *ctx, int64_t begin, int64_t end)
{
    const index_job *p = ctx;
    for (int64_t i = begin; i < end; i++) {
        const T *in = (const T *)p->in + i * p->plane;
        const int64_t *index = p->index + i * p->places;
        T *out = (T *)p->out + i * p->places;
        for (int64_t k = 0; k < p->places; k++) {
            if (index[k] < 0 || index[k] >= p->plane) {
                atomic_store(p->bad, index[k]);
                atomic_store(p->any_bad, true);
            } else
                out[k] = in[index[k]];
        }
    }
}

#undef FN
#undef T
#undef NAME
#undef LOWEST
