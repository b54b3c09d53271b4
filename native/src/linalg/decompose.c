/* Decompositions of matrices and of batches of them, by LAPACK: shapes, checks, and the loop over the batch. */
#include "linalg/decompose.h"
#include "flambeau/ops.gen.h"
#include "linalg/lapack.h"
#include "params.gen.h"
#include "runtime/frame.h"
#include <complex.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#ifdef FB_HAVE_BLAS
#define T float
#define R float
#define NAME(x) x##_s
#define LAPACK(x) s##x
#define ORGQR orgqr_
#define REAL_OF(x) (x)
#define ABS fabsf
#define LOG logf
#include "linalg/decompose_body.h"
#define T double
#define R double
#define NAME(x) x##_d
#define LAPACK(x) d##x
#define ORGQR orgqr_
#define REAL_OF(x) (x)
#define ABS fabs
#define LOG log
#include "linalg/decompose_body.h"
#define T float _Complex
#define R float
#define NAME(x) x##_c
#define LAPACK(x) c##x
#define ORGQR ungqr_
#define REAL_OF(x) crealf(x)
#define ABS cabsf
#define LOG logf
#define COMPLEX
#include "linalg/decompose_body.h"
#define T double _Complex
#define R double
#define NAME(x) x##_z
#define LAPACK(x) z##x
#define ORGQR ungqr_
#define REAL_OF(x) creal(x)
#define ABS cabs
#define LOG log
#define COMPLEX
#include "linalg/decompose_body.h"

static const struct { fb_la_fn run; fb_la_size_fn scratch; } of_dtype[FB_N_DTYPES] = {
    [FB_F32] = {decompose_s, scratch_s}, [FB_F64] = {decompose_d, scratch_d},
    [FB_C64] = {decompose_c, scratch_c}, [FB_C128] = {decompose_z, scratch_z},
};
#endif

/* ---- shapes -------------------------------------------------------------------------------------- */

/* "linalg_inv" -> "linalg.inv", as the user knows it. */
static const char *shown(const fb_frame *f)
{
    static _Thread_local char text[64];
    const char *name = f->op->name;

    snprintf(text, sizeof text, "%s%s", strncmp(name, "linalg_", 7) ? "" : "linalg.", strncmp(name, "linalg_", 7) ? name : name + 7);
    return text;
}

static fb_status check(const fb_frame *f, const fb_tensor *a, bool square)
{
    if (a->ndim < 2)
        return fb_fail(FB_ESHAPE, "%s: The input tensor A must have at least 2 dimensions.", shown(f));
    if (square && a->sizes[a->ndim - 2] != a->sizes[a->ndim - 1])
        return fb_fail(FB_ESHAPE, "%s: A must be batches of square matrices, but they are %lld by %lld matrices", shown(f),
                       (long long)a->sizes[a->ndim - 2], (long long)a->sizes[a->ndim - 1]);
    if (a->sizes[a->ndim - 2] > INT_MAX || a->sizes[a->ndim - 1] > INT_MAX)
        return fb_fail(FB_ESHAPE, "%s: LAPACK takes matrices of at most %d rows and columns, got %s", shown(f), INT_MAX,
                       fb_shape_text(a->ndim, a->sizes));
    if (fb_is(FB_HALVES, a->dtype))
        return fb_fail(FB_EDTYPE, "%s: Low precision dtypes not supported. Got %s", shown(f), fb_dtype_label((fb_dtype)a->dtype));
    if (!fb_is(FB_BIT(FB_F32) | FB_BIT(FB_F64) | FB_COMPLEXES, a->dtype))
        return fb_fail(FB_EDTYPE, "%s: Expected a floating point or complex tensor as input. Got %s", shown(f),
                       fb_dtype_label((fb_dtype)a->dtype));
    return FB_OK;
}

/* An output of the batch's sizes and up to two more. */
static fb_status give(fb_frame *f, int i, fb_dtype dtype, int extra, int64_t x, int64_t y)
{
    const fb_tensor *a = f->in[0];
    int64_t sizes[FB_MAX_DIMS];
    const int64_t more[2] = {x, y};

    memcpy(sizes, a->sizes, (size_t)(a->ndim - 2) * sizeof *sizes);
    for (int d = 0; d < extra; d++) sizes[a->ndim - 2 + d] = more[d];
    return fb_out(f, i, dtype, a->ndim - 2 + extra, sizes, NULL);
}

static int64_t rows(const fb_frame *f) { return f->in[0]->sizes[f->in[0]->ndim - 2]; }
static int64_t cols(const fb_frame *f) { return f->in[0]->sizes[f->in[0]->ndim - 1]; }
static int64_t smaller(const fb_frame *f) { return FB_MIN(rows(f), cols(f)); }

static void set_cost(fb_frame *f, double factor)
{
    const double m = (double)rows(f), n = (double)cols(f), k = (double)smaller(f);

    f->cost = 1000 + factor * (m && n ? (double)f->in[0]->numel * k : 0) / 8; /* about 8 flops a ns */
}

fb_status fb_i_linalg_lu(fb_frame *f)
{
    FB_TRY(check(f, f->in[0], false));
    set_cost(f, 1);
    FB_TRY(give(f, 0, (fb_dtype)f->in[0]->dtype, 2, rows(f), cols(f)));
    FB_TRY(give(f, 1, FB_I32, 1, smaller(f), 0));
    return give(f, 2, FB_I32, 0, 0, 0);
}

fb_status fb_i_linalg_det(fb_frame *f)
{
    FB_TRY(check(f, f->in[0], true));
    set_cost(f, 1);
    return give(f, 0, (fb_dtype)f->in[0]->dtype, 0, 0, 0);
}

fb_status fb_i_linalg_slogdet(fb_frame *f)
{
    FB_TRY(fb_i_linalg_det(f));
    return give(f, 1, fb_real_of((fb_dtype)f->in[0]->dtype), 0, 0, 0);
}

fb_status fb_i_linalg_inv(fb_frame *f)
{
    FB_TRY(check(f, f->in[0], true));
    set_cost(f, 3);
    FB_TRY(give(f, 0, (fb_dtype)f->in[0]->dtype, 2, rows(f), cols(f)));
    return give(f, 1, FB_I32, 0, 0, 0);
}

fb_status fb_i_linalg_cholesky(fb_frame *f) { return fb_i_linalg_inv(f); }

fb_status fb_i_linalg_solve(fb_frame *f)
{
    const fb_tensor *a = f->in[0], *b = f->in[1];

    FB_TRY(check(f, a, true));
    if (a->dtype != b->dtype)
        return fb_fail(FB_EDTYPE, "linalg.solve: Expected A and B to have the same dtype, but found A of type %s and B of type %s instead",
                       fb_dtype_label((fb_dtype)a->dtype), fb_dtype_label((fb_dtype)b->dtype));
    if (b->ndim != a->ndim || memcmp(a->sizes, b->sizes, (size_t)(a->ndim - 1) * sizeof *a->sizes))
        return fb_fail(FB_ESHAPE, "linalg.solve: Incompatible shapes of A and B for the equation AX = B (%s and %s)",
                       fb_shape_text(a->ndim, a->sizes), fb_shape_text(b->ndim, b->sizes));
    set_cost(f, 1);
    FB_TRY(give(f, 0, (fb_dtype)a->dtype, 2, rows(f), b->sizes[b->ndim - 1]));
    return give(f, 1, FB_I32, 0, 0, 0);
}

/* mode: 0 reduced, 1 complete, 2 R only (Q is then empty) */
fb_status fb_i_linalg_qr(fb_frame *f)
{
    const int64_t mode = ((const struct fb_p_linalg_qr *)f->params)->mode;

    FB_TRY(check(f, f->in[0], false));
    set_cost(f, 4);
    if (mode == 2) {
        const int64_t none[1] = {0};
        FB_TRY(fb_out(f, 0, (fb_dtype)f->in[0]->dtype, 1, none, NULL));
    } else {
        FB_TRY(give(f, 0, (fb_dtype)f->in[0]->dtype, 2, rows(f), mode == 1 ? rows(f) : smaller(f)));
    }
    return give(f, 1, (fb_dtype)f->in[0]->dtype, 2, mode == 1 ? rows(f) : smaller(f), cols(f));
}

fb_status fb_i_linalg_svd(fb_frame *f)
{
    const bool full = ((const struct fb_p_linalg_svd *)f->params)->full_matrices;
    const fb_dtype dtype = (fb_dtype)f->in[0]->dtype;

    FB_TRY(check(f, f->in[0], false));
    set_cost(f, 20);
    FB_TRY(give(f, 0, dtype, 2, rows(f), full ? rows(f) : smaller(f)));
    FB_TRY(give(f, 1, fb_real_of(dtype), 1, smaller(f), 0));
    return give(f, 2, dtype, 2, full ? cols(f) : smaller(f), cols(f));
}

fb_status fb_i_linalg_svdvals(fb_frame *f)
{
    FB_TRY(check(f, f->in[0], false));
    set_cost(f, 4);
    return give(f, 0, fb_real_of((fb_dtype)f->in[0]->dtype), 1, smaller(f), 0);
}

fb_status fb_i_linalg_eigh(fb_frame *f)
{
    FB_TRY(check(f, f->in[0], true));
    set_cost(f, 10);
    FB_TRY(give(f, 0, fb_real_of((fb_dtype)f->in[0]->dtype), 1, rows(f), 0));
    return f->n_out > 1 ? give(f, 1, (fb_dtype)f->in[0]->dtype, 2, rows(f), cols(f)) : FB_OK;
}

/* ---- the loop over the batch ------------------------------------------------------------------------ */

#ifdef FB_HAVE_BLAS
typedef struct batch_run { const fb_la_job *job; fb_la_fn run; _Atomic bool no_memory; } batch_run;

static void run_range(void *ctx, int64_t begin, int64_t end)
{
    batch_run *r = ctx;
    char *scratch = fb_alloc(r->job->scratch);

    if (!scratch) {
        atomic_store(&r->no_memory, true);
        return;
    }
    for (int64_t i = begin; i < end; i++) r->job->info[i] = r->run(r->job, i, scratch);
    fb_free(scratch);
}
#endif

/* Fills job's sizes and inputs from the frame and does every matrix. */
static fb_status run(fb_frame *f, fb_la_job *job)
{
#ifdef FB_HAVE_BLAS
    fb_tensor *a = NULL, *b = NULL;
    fb_status status = FB_FAIL;
    int64_t batch = 1;

    job->m = rows(f), job->n = cols(f), job->k = smaller(f);
    for (int d = 0; d < f->in[0]->ndim - 2; d++) batch *= f->in[0]->sizes[d];
    if (!batch) return FB_OK;
    if ((job->kind == FB_LA_SVD || job->kind == FB_LA_EIGH) && FB_MAX(job->m, job->n) > 16384 && job->k)
        return fb_fail(FB_ESHAPE, "%s: a matrix of %lld by %lld needs more work space than LAPACK's 32-bit sizes can say", shown(f),
                       (long long)job->m, (long long)job->n);
    fb_blas_init();
    if (!(a = fb_contiguous_as(f->in[0], FB_NONE)) || (f->n_in > 1 && !(b = fb_contiguous_as(f->in[1], FB_NONE)))) goto done;
    job->in[0] = fb_ptr(a);
    job->in[1] = b ? fb_ptr(b) : NULL;
    for (int i = 0; i < f->n_out && i < 4; i++) job->out[i] = fb_ptr(f->out[i]);
    if (!(job->info = fb_scratch(f, batch * (int64_t)sizeof(int)))) goto done;
    job->scratch = of_dtype[a->dtype].scratch(job);
    batch_run r = {.job = job, .run = of_dtype[a->dtype].run};
    fb_parallel_range(batch, f->cost / (double)batch, run_range, &r);
    status = atomic_load(&r.no_memory) ? fb_fail(FB_EMEMORY, "%s: not enough memory for a matrix of %lld by %lld", shown(f),
                                                 (long long)job->m, (long long)job->n)
                                       : FB_OK;
done:
    fb_release(a);
    fb_release(b);
    return status;
#else
    (void)job;
    return fb_fail(FB_ENOTIMPL, "%s: this build has no LAPACK", shown(f));
#endif
}

static int64_t batch_of(const fb_frame *f)
{
    int64_t n = 1;

    for (int d = 0; d < f->in[0]->ndim - 2; d++) n *= f->in[0]->sizes[d];
    return n;
}

/* The error of the first matrix that failed, if any; what is said of it has room for the number that LAPACK gave. */
static fb_status refuse(const fb_frame *f, const int *info, const char *what)
{
    for (int64_t i = 0, n = batch_of(f); i < n; i++)
        if (info[i]) {
            char where[64] = "", text[320];
            if (f->in[0]->ndim > 2) snprintf(where, sizeof where, "(Batch element %lld): ", (long long)i);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(text, sizeof text, what, info[i]);
#pragma GCC diagnostic pop
            return fb_fail(FB_ELINALG, "%s: %s%s", shown(f), where, text);
        }
    return FB_OK;
}

static fb_status put_info(fb_frame *f, int at, const fb_la_job *job)
{
    const int64_t n = batch_of(f);

    if (n) memcpy(fb_ptr(f->out[at]), job->info, (size_t)n * sizeof(int32_t));
    return FB_OK;
}

/* ---- kernels ---------------------------------------------------------------------------------------------- */

fb_status fb_k_linalg_lu(fb_frame *f)
{
    fb_la_job job = {.kind = FB_LA_LU};

    FB_TRY(run(f, &job));
    return put_info(f, 2, &job);
}

fb_status fb_k_linalg_det(fb_frame *f) { return run(f, &(fb_la_job){.kind = FB_LA_DET}); }
fb_status fb_k_linalg_slogdet(fb_frame *f) { return run(f, &(fb_la_job){.kind = FB_LA_SLOGDET}); }

fb_status fb_k_linalg_inv(fb_frame *f)
{
    fb_la_job job = {.kind = FB_LA_INV};

    FB_TRY(run(f, &job));
    FB_TRY(put_info(f, 1, &job));
    if (!((const struct fb_p_linalg_inv *)f->params)->check_errors) return FB_OK;
    return refuse(f, job.info, "The diagonal element %d is zero, the inversion could not be completed because the input matrix is singular.");
}

fb_status fb_k_linalg_solve(fb_frame *f)
{
    fb_la_job job = {.kind = FB_LA_SOLVE, .r = f->in[1]->sizes[f->in[1]->ndim - 1]};

    FB_TRY(run(f, &job));
    FB_TRY(put_info(f, 1, &job));
    if (!((const struct fb_p_linalg_solve *)f->params)->check_errors) return FB_OK;
    return refuse(f, job.info, "The solver failed because the input matrix is singular.");
}

fb_status fb_k_linalg_cholesky(fb_frame *f)
{
    const struct fb_p_linalg_cholesky *p = f->params;
    fb_la_job job = {.kind = FB_LA_CHOLESKY, .flag = p->upper};

    FB_TRY(run(f, &job));
    FB_TRY(put_info(f, 1, &job));
    if (!p->check_errors) return FB_OK;
    return refuse(f, job.info, "The factorization could not be completed because the input is not positive-definite (the leading minor of "
                               "order %d is not positive-definite).");
}

fb_status fb_k_linalg_qr(fb_frame *f)
{
    const int64_t mode = ((const struct fb_p_linalg_qr *)f->params)->mode;

    return run(f, &(fb_la_job){.kind = FB_LA_QR, .flag = mode != 2, .r = mode == 1 ? rows(f) : mode == 0 ? smaller(f) : 0});
}

static fb_status converged(const fb_frame *f, const fb_la_job *job, const char *what)
{
    const int64_t n = batch_of(f);

    for (int64_t i = 0; i < n; i++)
        if (job->info[i] == -4) return refuse(f, job->info, "The algorithm failed to converge because the input matrix contained non-finite values.");
    return n ? refuse(f, job->info, what) : FB_OK;
}

static const char svd_failed[] = "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
                                 "singular values (error code: %d).";
static const char eigh_failed[] = "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
                                  "eigenvalues (error code: %d).";

fb_status fb_k_linalg_svd(fb_frame *f)
{
    fb_la_job job = {.kind = FB_LA_SVD, .flag = ((const struct fb_p_linalg_svd *)f->params)->full_matrices};

    FB_TRY(run(f, &job));
    return converged(f, &job, svd_failed);
}

fb_status fb_k_linalg_svdvals(fb_frame *f)
{
    fb_la_job job = {.kind = FB_LA_SVDVALS};

    FB_TRY(run(f, &job));
    return converged(f, &job, svd_failed);
}

fb_status fb_k_linalg_eigh(fb_frame *f)
{
    fb_la_job job = {.kind = FB_LA_EIGH, .flag = ((const struct fb_p_linalg_eigh *)f->params)->upper};

    FB_TRY(run(f, &job));
    return converged(f, &job, eigh_failed);
}

fb_status fb_k_linalg_eigvalsh(fb_frame *f)
{
    fb_la_job job = {.kind = FB_LA_EIGVALSH, .flag = ((const struct fb_p_linalg_eigvalsh *)f->params)->upper};

    FB_TRY(run(f, &job));
    return converged(f, &job, eigh_failed);
}

/* ---- 1 / (x_j - x_i), 0 on the diagonal: what the derivatives of svd and eigh divide by ------------------------ */

fb_status fb_i_linalg_gaps(fb_frame *f)
{
    const fb_tensor *x = f->in[0];
    int64_t sizes[FB_MAX_DIMS + 1];

    if (x->ndim < 1 || x->ndim >= FB_MAX_DIMS) return fb_fail(FB_ESHAPE, "linalg_gaps: a vector is needed, got %d dimensions", (int)x->ndim);
    memcpy(sizes, x->sizes, (size_t)x->ndim * sizeof *sizes);
    sizes[x->ndim] = x->sizes[x->ndim - 1];
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim + 1, sizes, NULL);
}

fb_status fb_k_linalg_gaps(fb_frame *f)
{
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE);
    int64_t n, vectors;

    if (!x) return FB_FAIL;
    n = x->sizes[x->ndim - 1];
    vectors = n ? x->numel / n : 0;
#define GAPS(T)                                                                                                        \
    for (int64_t b = 0; b < vectors; b++)                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int64_t j = 0; j < n; j++) {                                                                          \
                const T *v = (const T *)fb_ptr(x) + b * n;                                                             \
                ((T *)fb_ptr(f->out[0]))[(b * n + i) * n + j] = i == j ? 0 : 1 / (v[j] - v[i]);                        \
            }
    if (x->dtype == FB_F32) {
        GAPS(float)
    } else {
        GAPS(double)
    }
    fb_release(x);
    return FB_OK;
}
