/* The decompositions in one dtype: T and its real type R, the letter P before LAPACK's names, NAME(x) for ours.
 * LAPACK's matrices are column-major: each is transposed into scratch, and its results back. */
#define CALL(routine) FB_BLAS(LAPACK(routine))

/* dst[c][r] = src[r][c]: to columns, and, with rows and cols exchanged, back. */
static void NAME(flip)(T *dst, const T *src, int64_t rows, int64_t cols, int64_t dst_step)
{
    for (int64_t r0 = 0; r0 < rows; r0 += 16)
        for (int64_t c0 = 0; c0 < cols; c0 += 16)
            for (int64_t r = r0; r < FB_MIN(r0 + 16, rows); r++)
                for (int64_t c = c0; c < FB_MIN(c0 + 16, cols); c++) dst[c * dst_step + r] = src[r * cols + c];
}

/* From columns `step` apart to row-major. */
static void NAME(unflip)(T *dst, const T *src, int64_t rows, int64_t cols, int64_t step)
{
    for (int64_t r0 = 0; r0 < rows; r0 += 16)
        for (int64_t c0 = 0; c0 < cols; c0 += 16)
            for (int64_t r = r0; r < FB_MIN(r0 + 16, rows); r++)
                for (int64_t c = c0; c < FB_MIN(c0 + 16, cols); c++) dst[r * cols + c] = src[c * step + r];
}

/* What LAPACK asks for, as work arrays: elements of T, of R, ints. */
static void NAME(work)(const fb_la_job *j, int64_t *t, int64_t *r, int64_t *i)
{
    const int m = (int)j->m, n = (int)j->n, k = (int)j->k, q = (int)j->r, ask = -1, lda = m > 0 ? m : 1;
    T best[2] = {0, 0};
    int info = 0;

    *t = *r = *i = 0;
    if (!k) return;
    switch (j->kind) {
    case FB_LA_INV:
        CALL(getri_)(&n, NULL, &lda, NULL, best, &ask, &info);
        break;
    case FB_LA_QR: {
        T other[2] = {0, 0};
        CALL(geqrf_)(&m, &n, NULL, &lda, NULL, best, &ask, &info);
        if (j->flag) CALL(ORGQR)(&m, &q, &k, NULL, &lda, NULL, other, &ask, &info);
        if (REAL_OF(other[0]) > REAL_OF(best[0])) best[0] = other[0];
        break;
    }
    case FB_LA_SVD:
    case FB_LA_SVDVALS: {
        const char job = j->kind == FB_LA_SVDVALS ? 'N' : j->flag ? 'A' : 'S';
        const int ldv = j->flag ? n : k;
#ifdef COMPLEX
        /* LAPACK's documentation: rwork for job S and A, with the larger of its two cases */
        const int64_t mx = FB_MAX(m, n), mn = k;
        *r = job == 'N' ? 7 * mn : FB_MAX(5 * mn * mn + 5 * mn, 2 * mx * mn + 2 * mn * mn + mn);
        CALL(gesdd_)(&job, &m, &n, NULL, &lda, NULL, NULL, &lda, NULL, &ldv, best, &ask, NULL, NULL, &info, 1);
#else
        CALL(gesdd_)(&job, &m, &n, NULL, &lda, NULL, NULL, &lda, NULL, &ldv, best, &ask, NULL, &info, 1);
#endif
        *i = 8 * (int64_t)k;
        break;
    }
    case FB_LA_EIGH:
    case FB_LA_EIGVALSH: {
        const char job = j->kind == FB_LA_EIGH ? 'V' : 'N', uplo = 'L';
        int ints[1] = {0};
        R reals[1] = {0};
#ifdef COMPLEX
        CALL(heevd_)(&job, &uplo, &n, NULL, &lda, NULL, best, &ask, reals, &ask, ints, &ask, &info, 1, 1);
        *r = (int64_t)reals[0] + 1;
#else
        CALL(syevd_)(&job, &uplo, &n, NULL, &lda, NULL, best, &ask, ints, &ask, &info, 1, 1);
        (void)reals;
#endif
        *i = ints[0] + 1;
        break;
    }
    default: return;
    }
    /* A float counts exactly to 2^24 only: a little more than it says. */
    *t = (int64_t)(REAL_OF(best[0]) * (R)1.000001) + 2;
}

static int64_t NAME(scratch)(const fb_la_job *j)
{
    int64_t t, r, i;

    NAME(work)(j, &t, &r, &i);
    /* the matrix, more of them (right-hand sides, Q, U, Vh), vectors, the work arrays; 64 bytes to align each */
    t += j->m * FB_MAX(j->n, j->r) + j->n * j->r + j->k;
    if (j->kind == FB_LA_SVD) t += j->m * (j->flag ? j->m : j->k) + j->n * FB_MAX(j->flag ? j->n : j->k, 1);
    return t * (int64_t)sizeof(T) + r * (int64_t)sizeof(R) + (i + j->k) * (int64_t)sizeof(int) + 16 * 64;
}

static void *NAME(take)(char **scratch, int64_t bytes)
{
    void *p = *scratch;

    *scratch += (bytes + 63) / 64 * 64;
    return p;
}

static int NAME(lu)(const fb_la_job *j, int64_t at, char *s)
{
    const int m = (int)j->m, n = (int)j->n, lda = m > 0 ? m : 1;
    T *a = NAME(take)(&s, j->m * j->n * (int64_t)sizeof(T));
    int *pivots = NAME(take)(&s, j->k * (int64_t)sizeof(int)), info = 0, swaps = 0;

    NAME(flip)(a, (const T *)j->in[0] + at * j->m * j->n, j->m, j->n, lda);
    if (j->k) CALL(getrf_)(&m, &n, a, &lda, pivots, &info);
    if (j->kind == FB_LA_LU) {
        NAME(unflip)((T *)j->out[0] + at * j->m * j->n, a, j->m, j->n, lda);
        memcpy((int *)j->out[1] + at * j->k, pivots, (size_t)j->k * sizeof(int));
        return info;
    }
    for (int i = 0; i < n; i++) swaps += pivots[i] != i + 1;
    if (j->kind == FB_LA_DET) {
        T det = swaps % 2 ? -1 : 1;
        for (int64_t i = 0; i < n; i++) det *= a[i * n + i];
        ((T *)j->out[0])[at] = det;
    } else {
        T sign = swaps % 2 ? -1 : 1;
        R log_abs = 0;
        for (int64_t i = 0; i < n; i++) {
            const T d = a[i * n + i];
            const R size = ABS(d);
            sign = size == 0 ? 0 : sign * (d / size);
            log_abs += LOG(size);
        }
        ((T *)j->out[0])[at] = sign;
        ((R *)j->out[1])[at] = log_abs;
    }
    return 0;
}

static int NAME(inv)(const fb_la_job *j, int64_t at, char *s)
{
    const int n = (int)j->n, lda = n > 0 ? n : 1;
    T *a = NAME(take)(&s, j->n * j->n * (int64_t)sizeof(T)), *work;
    int *pivots = NAME(take)(&s, j->n * (int64_t)sizeof(int)), info = 0, lwork;
    int64_t t, r, i;

    NAME(flip)(a, (const T *)j->in[0] + at * j->n * j->n, j->n, j->n, lda);
    if (n) {
        NAME(work)(j, &t, &r, &i);
        work = NAME(take)(&s, t * (int64_t)sizeof(T));
        lwork = (int)t;
        CALL(getrf_)(&n, &n, a, &lda, pivots, &info);
        if (!info) CALL(getri_)(&n, a, &lda, pivots, work, &lwork, &info);
    }
    NAME(unflip)((T *)j->out[0] + at * j->n * j->n, a, j->n, j->n, lda);
    return info;
}

static int NAME(solve)(const fb_la_job *j, int64_t at, char *s)
{
    const int n = (int)j->n, nrhs = (int)j->r, lda = n > 0 ? n : 1;
    T *a = NAME(take)(&s, j->n * j->n * (int64_t)sizeof(T)), *b = NAME(take)(&s, j->n * j->r * (int64_t)sizeof(T));
    int *pivots = NAME(take)(&s, j->n * (int64_t)sizeof(int)), info = 0, ok;

    NAME(flip)(a, (const T *)j->in[0] + at * j->n * j->n, j->n, j->n, lda);
    NAME(flip)(b, (const T *)j->in[1] + at * j->n * j->r, j->n, j->r, lda);
    if (n && nrhs) {
        CALL(getrf_)(&n, &n, a, &lda, pivots, &info);
        CALL(getrs_)("N", &n, &nrhs, a, &lda, pivots, b, &lda, &ok, 1);
    }
    NAME(unflip)((T *)j->out[0] + at * j->n * j->r, b, j->n, j->r, lda);
    return info;
}

static int NAME(cholesky)(const fb_la_job *j, int64_t at, char *s)
{
    const int n = (int)j->n, lda = n > 0 ? n : 1;
    const char uplo = j->flag ? 'U' : 'L';
    T *a = NAME(take)(&s, j->n * j->n * (int64_t)sizeof(T)), *out = (T *)j->out[0] + at * j->n * j->n;
    int info = 0;

    NAME(flip)(a, (const T *)j->in[0] + at * j->n * j->n, j->n, j->n, lda);
    if (n) CALL(potrf_)(&uplo, &n, a, &lda, &info, 1);
    NAME(unflip)(out, a, j->n, j->n, lda);
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++)
            if (j->flag ? c < r : c > r) out[r * n + c] = 0;
    return info;
}

static int NAME(qr)(const fb_la_job *j, int64_t at, char *s)
{
    const int m = (int)j->m, n = (int)j->n, k = (int)j->k, q = (int)j->r, lda = m > 0 ? m : 1;
    const int64_t rows = j->flag ? j->r : j->k; /* of R */
    T *a = NAME(take)(&s, j->m * FB_MAX(j->n, j->r) * (int64_t)sizeof(T));
    T *tau = NAME(take)(&s, j->k * (int64_t)sizeof(T)), *work, *upper = (T *)j->out[1] + at * rows * j->n;
    int info = 0, lwork;
    int64_t t, r, i;

    NAME(flip)(a, (const T *)j->in[0] + at * j->m * j->n, j->m, j->n, lda);
    NAME(work)(j, &t, &r, &i);
    work = NAME(take)(&s, t * (int64_t)sizeof(T));
    lwork = (int)t;
    if (k) CALL(geqrf_)(&m, &n, a, &lda, tau, work, &lwork, &info);
    for (int64_t x = 0; x < rows; x++)
        for (int64_t y = 0; y < n; y++) upper[x * n + y] = y < x ? 0 : a[y * lda + x];
    if (!j->flag) return info;
    for (int64_t y = n; y < q; y++) memset(a + y * lda, 0, (size_t)m * sizeof(T)); /* columns that only Q has */
    if (k && !info) CALL(ORGQR)(&m, &q, &k, a, &lda, tau, work, &lwork, &info);
    if (!k) /* no reflections: Q is the identity */
        for (int64_t y = 0; y < q; y++) a[y * lda + y] = 1;
    NAME(unflip)((T *)j->out[0] + at * j->m * j->r, a, j->m, j->r, lda);
    return info;
}

static int NAME(svd)(const fb_la_job *j, int64_t at, char *s)
{
    const bool vectors = j->kind == FB_LA_SVD;
    const int m = (int)j->m, n = (int)j->n, k = (int)j->k, lda = m > 0 ? m : 1, ucols = j->flag ? m : k,
              ldv = FB_MAX(j->flag ? n : k, 1);
    const char job = !vectors ? 'N' : j->flag ? 'A' : 'S';
    T *a = NAME(take)(&s, j->m * j->n * (int64_t)sizeof(T)), *u = NULL, *v = NULL, *work;
    R *values = (R *)j->out[vectors ? 1 : 0] + at * j->k, *rwork;
    int info = 0, lwork, *iwork;
    int64_t t, r, i;

    NAME(flip)(a, (const T *)j->in[0] + at * j->m * j->n, j->m, j->n, lda);
    if (vectors) {
        u = NAME(take)(&s, j->m * ucols * (int64_t)sizeof(T));
        v = NAME(take)(&s, ldv * j->n * (int64_t)sizeof(T));
    }
    NAME(work)(j, &t, &r, &i);
    work = NAME(take)(&s, t * (int64_t)sizeof(T));
    rwork = NAME(take)(&s, r * (int64_t)sizeof(R));
    iwork = NAME(take)(&s, i * (int64_t)sizeof(int));
    lwork = (int)t;
    if (k) {
#ifdef COMPLEX
        CALL(gesdd_)(&job, &m, &n, a, &lda, values, u, &lda, v, &ldv, work, &lwork, rwork, iwork, &info, 1);
#else
        (void)rwork;
        CALL(gesdd_)(&job, &m, &n, a, &lda, values, u, &lda, v, &ldv, work, &lwork, iwork, &info, 1);
#endif
    } else if (vectors && j->flag) {
        memset(u, 0, (size_t)(j->m * j->m) * sizeof(T));
        memset(v, 0, (size_t)(j->n * j->n) * sizeof(T));
        for (int64_t y = 0; y < m; y++) u[y * m + y] = 1;
        for (int64_t y = 0; y < n; y++) v[y * n + y] = 1;
    }
    if (vectors) {
        NAME(unflip)((T *)j->out[0] + at * j->m * ucols, u, j->m, ucols, lda);
        NAME(unflip)((T *)j->out[2] + at * (j->flag ? j->n : j->k) * j->n, v, j->flag ? j->n : j->k, j->n, ldv);
    }
    return info;
}

static int NAME(eigh)(const fb_la_job *j, int64_t at, char *s)
{
    const bool vectors = j->kind == FB_LA_EIGH;
    const int n = (int)j->n;
    const char job = vectors ? 'V' : 'N', uplo = j->flag ? 'U' : 'L';
    T *a = NAME(take)(&s, j->n * j->n * (int64_t)sizeof(T)), *work;
    R *values = (R *)j->out[0] + at * j->n, *rwork;
    int info = 0, lwork, lrwork, liwork, *iwork;
    int64_t t, r, i;

    if (!n) return 0;
    NAME(flip)(a, (const T *)j->in[0] + at * j->n * j->n, j->n, j->n, n);
    NAME(work)(j, &t, &r, &i);
    work = NAME(take)(&s, t * (int64_t)sizeof(T));
    rwork = NAME(take)(&s, r * (int64_t)sizeof(R));
    iwork = NAME(take)(&s, i * (int64_t)sizeof(int));
    lwork = (int)t, lrwork = (int)r, liwork = (int)i;
#ifdef COMPLEX
    CALL(heevd_)(&job, &uplo, &n, a, &n, values, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, 1, 1);
#else
    (void)rwork, (void)lrwork;
    CALL(syevd_)(&job, &uplo, &n, a, &n, values, work, &lwork, iwork, &liwork, &info, 1, 1);
#endif
    if (vectors) NAME(unflip)((T *)j->out[1] + at * j->n * j->n, a, j->n, j->n, n);
    return info;
}

static int NAME(decompose)(const fb_la_job *j, int64_t i, char *scratch)
{
    switch (j->kind) {
    case FB_LA_LU:
    case FB_LA_DET:
    case FB_LA_SLOGDET: return NAME(lu)(j, i, scratch);
    case FB_LA_INV: return NAME(inv)(j, i, scratch);
    case FB_LA_SOLVE: return NAME(solve)(j, i, scratch);
    case FB_LA_CHOLESKY: return NAME(cholesky)(j, i, scratch);
    case FB_LA_QR: return NAME(qr)(j, i, scratch);
    case FB_LA_SVD:
    case FB_LA_SVDVALS: return NAME(svd)(j, i, scratch);
    default: return NAME(eigh)(j, i, scratch);
    }
}
#undef CALL
#undef T
#undef R
#undef NAME
#undef LAPACK
#undef ORGQR
#undef REAL_OF
#undef ABS
#undef LOG
#undef COMPLEX
