/* The loops of kernels/cross_entropy.c, for one type: T, its suffix S. */
#define FN(name) FB_CAT(name, S)

/* Maximum and log of the sum of exp(x - maximum) of a row. NaN anywhere gives a NaN sum. */
static void FN(row_lse)(const T *restrict x, int64_t n, T *restrict most, T *restrict logsum)
{
    enum { L = 64 / (int)sizeof(T) };
    T m[L], s[L], part[STRETCH];
    T top = -(T)INFINITY, sum = 0;
    int64_t i = 0;

    if (n >= L) {
        for (int j = 0; j < L; j++) m[j] = x[j];
        for (i = L; i + L <= n; i += L)
            for (int j = 0; j < L; j++) m[j] = x[i + j] > m[j] ? x[i + j] : m[j];
        for (int j = 0; j < L; j++) top = m[j] > top ? m[j] : top;
    }
    for (; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int j = 0; j < L; j++) s[j] = 0;
    for (int64_t from = 0; from < n; from += STRETCH) { /* in stretches, so that exp is a loop of its own */
        const int64_t len = FB_MIN(n - from, STRETCH);
        for (int64_t k = 0; k < len; k++) part[k] = fbm_exp(x[from + k] - top);
        int64_t k = 0;
        for (; k + L <= len; k += L)
            for (int j = 0; j < L; j++) s[j] += part[k + j];
        for (; k < len; k++) sum += part[k];
    }
    for (int j = 0; j < L; j++) sum += s[j];
    *most = top;
    *logsum = fbm_log(sum);
}

/* The same for `w` columns, `step` apart. */
static void FN(columns_lse)(const T *restrict x, int64_t n, int64_t step, int64_t w, T *restrict most, T *restrict logsum)
{
    T sum[WIDTH];

    for (int64_t j = 0; j < w; j++) most[j] = x[j], sum[j] = 0;
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = 0; j < w; j++) most[j] = x[i * step + j] > most[j] ? x[i * step + j] : most[j];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < w; j++) sum[j] += fbm_exp(x[i * step + j] - most[j]);
    for (int64_t j = 0; j < w; j++) logsum[j] = fbm_log(sum[j]);
}

static void FN(forward)(void *ctx, int64_t begin, int64_t end)
{
    const class_job *j = ctx;
    const int64_t n = j->c.classes, inner = j->c.inner, *y = fb_ptr(j->c.target);
    const T *w = j->weight;
    T *most = j->lse, *logsum = most + j->samples, *loss = j->loss;

    for (int64_t b = begin; b < end; b++) { /* a block of WIDTH columns of one of the batch, or a row */
        const int64_t at = b / j->blocks, k = b % j->blocks * WIDTH, first = at * inner + k, count = FB_MIN(inner - k, WIDTH);
        const T *x = (const T *)j->x + at * n * inner + k;
        if (inner == 1)
            FN(row_lse)(x, n, most + first, logsum + first);
        else
            FN(columns_lse)(x, n, inner, count, most + first, logsum + first);
        for (int64_t i = 0; i < count; i++) {
            const int64_t t = y[first + i];
            loss[first + i] = t == j->c.ignore ? 0 : (logsum[first + i] - (x[t * inner + i] - most[first + i])) * (w ? w[t] : 1);
        }
    }
}

/* gx = factor * (exp(x - maximum - logsum) - onehot) */
static void FN(backward)(void *ctx, int64_t begin, int64_t end)
{
    const class_job *j = ctx;
    const int64_t n = j->c.classes, inner = j->c.inner, *y = fb_ptr(j->c.target);
    const T *most = j->lse, *logsum = most + j->samples, *factor = j->loss;

    for (int64_t b = begin; b < end; b++) {
        const int64_t at = b / j->blocks, k = b % j->blocks * WIDTH, first = at * inner + k, count = FB_MIN(inner - k, WIDTH);
        const T *restrict x = (const T *)j->x + at * n * inner + k;
        T *restrict to = (T *)j->out + at * n * inner + k;
        if (inner == 1) {
            const T m = most[first], s = logsum[first], r = factor[first];
            for (int64_t i = 0; i < n; i++) to[i] = r * fbm_exp(x[i] - m - s);
        } else {
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < count; c++)
                    to[i * inner + c] = factor[first + c] * fbm_exp(x[i * inner + c] - most[first + c] - logsum[first + c]);
        }
        for (int64_t i = 0; i < count; i++)
            if (y[first + i] != j->c.ignore) to[y[first + i] * inner + i] -= factor[first + i];
            else
                for (int64_t c = 0; c < n; c++) to[c * inner + i] = 0; /* also where its own values are NaN or infinite */
    }
}
#undef FN
