/* The loops of nn/grid.c, for one type: T, its suffix S. */
#define FN_(name, s) name##_##s
#define FNX(name, s) FN_(name, s)
#define FN(name) FNX(name, S)

/* Mirrors v at low / 2 and high / 2 until it lies between; *slope gets the sign of what it did. */
static T FN(reflected)(T v, int64_t low, int64_t high, T *slope)
{
    if (low == high) {
        *slope = 0;
        return 0;
    }
    const T least = (T)low / 2, span = (T)(high - low) / 2;
    T in = v - least, sign = in < 0 ? -1 : 1;
    in = in < 0 ? -in : in;
    const T extra = (T)fmod((double)in, (double)span), flips = (T)floor((double)(in / span));
    const bool even = (int64_t)flips % 2 == 0;
    *slope *= even ? sign : -sign;
    return even ? extra + least : span - extra + least;
}

/* A coordinate moved into the image, as the padding says. */
static T FN(moved)(const grid_job *j, T v, int64_t size, T *slope)
{
    if (j->padding == REFLECTION) v = j->align ? FN(reflected)(v, 0, 2 * (size - 1), slope) : FN(reflected)(v, -1, 2 * size - 1, slope);
    if (j->padding != ZEROS) {
        if (!(v > 0)) {
            *slope = 0;
            v = 0;
        } else if (v >= (T)(size - 1)) {
            *slope = 0;
            v = (T)(size - 1);
        }
    }
    return v > -(T)1e9 && v < (T)1e9 ? v : -100; /* also NaN: nowhere */
}

/* What one coordinate reads along its dimension: indices (-1: outside), weights, and their derivatives. */
typedef struct FN(taps) { int n; int64_t at[4]; T w[4], dw[4]; } FN(taps);

static void FN(read_taps)(const grid_job *j, T v, int64_t size, FN(taps) *t)
{
    T slope = j->align ? (T)(size - 1) / 2 : (T)size / 2, place = j->align ? (v + 1) / 2 * (T)(size - 1) : ((v + 1) * (T)size - 1) / 2;

    if (j->mode == BICUBIC) { /* Keys's kernel with a = -3/4 (Cubic convolution interpolation, 1981) */
        const T base = (T)floor((double)place), f = place - base, a = (T)-0.75;
        for (int k = 0; k < 4; k++) {
            T none = 1;
            const T x = k == 0 ? f + 1 : k == 1 ? f : k == 2 ? 1 - f : 2 - f, sign = k < 2 ? 1 : -1;
            const T c = FN(moved)(j, base - 1 + (T)k, size, &none);
            t->at[k] = c >= 0 && c < (T)size ? (int64_t)c : -1;
            t->w[k] = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
            t->dw[k] = sign * slope * (x <= 1 ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
        }
        t->n = 4;
        return;
    }
    place = FN(moved)(j, place, size, &slope);
    if (j->mode == NEAREST) {
        const T c = (T)nearbyint((double)place);
        t->n = 1;
        t->at[0] = c >= 0 && c < (T)size ? (int64_t)c : -1;
        t->w[0] = 1, t->dw[0] = 0;
        return;
    }
    const T base = (T)floor((double)place);
    t->n = 2;
    for (int k = 0; k < 2; k++) {
        const T c = base + (T)k;
        t->at[k] = c >= 0 && c < (T)size ? (int64_t)c : -1;
        t->w[k] = k ? place - base : 1 - (place - base);
        t->dw[k] = k ? slope : -slope;
    }
}

/* All elements that point p of sample n reads: how many, their places, weights, and derivatives by dimension (x first). */
static int FN(read_point)(const grid_job *j, int64_t n, int64_t p, int64_t *at, T *w, T (*dw)[3])
{
    FN(taps) t[3] = {{.n = 1, .w = {1}}, {.n = 1, .w = {1}}, {.n = 1, .w = {1}}};
    const T *where = (const T *)j->grid + (n * j->points + p) * j->dims;
    int count = 0;

    for (int d = 0; d < j->dims; d++) FN(read_taps)(j, where[d], j->size[2 - d], &t[2 - d]);
    for (int z = 0; z < t[0].n; z++)
        for (int y = 0; y < t[1].n; y++)
            for (int x = 0; x < t[2].n; x++) {
                if (t[0].at[z] < 0 || t[1].at[y] < 0 || t[2].at[x] < 0) continue;
                at[count] = (t[0].at[z] * j->size[1] + t[1].at[y]) * j->size[2] + t[2].at[x];
                w[count] = t[0].w[z] * t[1].w[y] * t[2].w[x];
                dw[count][0] = t[0].w[z] * t[1].w[y] * t[2].dw[x];
                dw[count][1] = t[0].w[z] * t[1].dw[y] * t[2].w[x];
                dw[count][2] = t[0].dw[z] * t[1].w[y] * t[2].w[x];
                count++;
            }
    return count;
}

static void FN(sample_points)(void *ctx, int64_t begin, int64_t end)
{
    const grid_job *j = ctx;
    int64_t at[16];
    T w[16], dw[16][3];

    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / j->points, p = i % j->points;
        const int k = FN(read_point)(j, n, p, at, w, dw);
        for (int64_t c = 0; c < j->channels; c++) {
            const T *x = (const T *)j->x + (n * j->channels + c) * j->area;
            T sum = 0;
            for (int q = 0; q < k; q++) sum += x[at[q]] * w[q];
            ((T *)j->y)[(n * j->channels + c) * j->points + p] = sum;
        }
    }
}

static void FN(sample_backward)(void *ctx, int64_t begin, int64_t end)
{
    const grid_job *j = ctx;
    int64_t at[16];
    T w[16], dw[16][3];

    for (int64_t n = begin; n < end; n++)
        for (int64_t p = 0; p < j->points; p++) {
            const int k = FN(read_point)(j, n, p, at, w, dw);
            T slope[3] = {0};
            for (int64_t c = 0; c < j->channels; c++) {
                const T g = ((const T *)j->g)[(n * j->channels + c) * j->points + p];
                const T *x = (const T *)j->x + (n * j->channels + c) * j->area;
                T *gx = j->gx ? (T *)j->gx + (n * j->channels + c) * j->area : NULL;
                for (int q = 0; q < k; q++) {
                    if (gx) gx[at[q]] += g * w[q];
                    for (int d = 0; d < 3; d++) slope[d] += g * x[at[q]] * dw[q][d];
                }
            }
            for (int d = 0; d < j->dims && j->gg; d++) ((T *)j->gg)[(n * j->points + p) * j->dims + d] = slope[d];
        }
}
#undef FN
#undef FN_
#undef FNX
