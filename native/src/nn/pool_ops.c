/* The operators of pool.toml. Every pooling of one to three dimensions is one of four generic operators (max_pool,
 * avg_pool, adaptive_max_pool, adaptive_avg_pool) with `dims`; what users call are composites that check as PyTorch does. */
#include "flambeau/ops.gen.h"
#include "nn/window.h"
#include "params.gen.h"
#include "runtime/frame.h"
#include <math.h>
#include <stdio.h>

typedef struct pool_job {
    fb_windows w;
    const void *in;
    void *out;
    int64_t *index, divisor; /* divisor 0: the window's own */
    bool count_padding;
} pool_job;

typedef struct index_job {
    const void *in;
    void *out;
    const int64_t *index;
    int64_t places, plane;
    bool add;
    _Atomic int64_t *bad;
    _Atomic bool *any_bad;
} index_job;

#define FB_POOL_CAT_(a, b) a##_##b
#define FB_POOL_CAT(a, b)  FB_POOL_CAT_(a, b)
#define T                  float
#define NAME               f32
#define LOWEST             (-INFINITY)
#include "nn/pool_kernels.h"
#define T      double
#define NAME   f64
#define LOWEST (-INFINITY)
#include "nn/pool_kernels.h"
#define T      int64_t
#define NAME   i64
#define LOWEST INT64_MIN
#include "nn/pool_kernels.h"

#define PICK(dtype, name) ((dtype) == FB_F32 ? name##_f32 : (dtype) == FB_F64 ? name##_f64 : name##_i64)

/* ---- kernels ---- */

/* The kernel's view of in[0] and out[0] where their dtype has no instance: int64 stands in for smaller integers. */
typedef struct staged {
    fb_tensor *in, *out;
} staged;
static fb_status stage(fb_frame *f, staged *s)
{
    const fb_dtype given = (fb_dtype)f->in[0]->dtype, dtype = fb_is_integral(given) ? FB_I64 : given;
    s->in = fb_contiguous_as(f->in[0], dtype);
    s->out = dtype == given ? fb_retain(f->out[0])
                            : fb_new(f->out[0]->ndim, f->out[0]->sizes, NULL, dtype, f->out[0]->device);
    return s->in && s->out ? FB_OK : FB_FAIL;
}
static fb_status unstage(fb_frame *f, staged *s, fb_status status)
{
    if (status == FB_OK && s->out->dtype != f->out[0]->dtype) status = fb_copy_data(f->out[0], s->out);
    fb_release(s->in);
    fb_release(s->out);
    return status;
}

static void run_rows(pool_job *p, fb_range_fn body)
{
    const int64_t rows = p->w.planes * p->w.out[0] * p->w.out[1];
    double window = 1;
    for (int d = 0; d < 3; d++)
        window *= p->w.out[d] ? (double)(p->w.hi[d][0] - p->w.lo[d][0]) / (double)p->w.step[d] + 1 : 1;
    if (rows && p->w.out[2]) fb_parallel_range(rows, window * (double)p->w.out[2], body, p);
}

static fb_status run_max(fb_frame *f, pool_job *p)
{
    staged s;
    fb_status status = stage(f, &s);
    if (status == FB_OK) {
        p->in = fb_ptr(s.in), p->out = fb_ptr(s.out), p->index = fb_ptr(f->out[1]);
        run_rows(p, PICK(s.in->dtype, max));
    }
    return unstage(f, &s, status);
}

fb_status fb_k_max_pool(fb_frame *f)
{
    const struct fb_p_max_pool *p = f->params;
    pool_job job = {0};
    fb_windows_sizes(&job.w, (int)p->dims, f->in[0]->ndim, f->in[0]->sizes, f->out[0]->sizes);
    FB_TRY(fb_windows_fixed(f, &job.w, p->kernel_size, p->stride, p->padding, p->dilation, (int)p->dims));
    return run_max(f, &job);
}

fb_status fb_k_adaptive_max_pool(fb_frame *f)
{
    const struct fb_p_adaptive_max_pool *p = f->params;
    pool_job job = {0};
    fb_windows_sizes(&job.w, (int)p->dims, f->in[0]->ndim, f->in[0]->sizes, f->out[0]->sizes);
    FB_TRY(fb_windows_adaptive(f, &job.w));
    return run_max(f, &job);
}

static fb_status run_mean(fb_frame *f, pool_job *p, bool back)
{
    staged s;
    fb_status status = stage(f, &s);
    if (status == FB_OK) {
        p->in = fb_ptr(s.in), p->out = fb_ptr(s.out);
        if (!back)
            run_rows(p, PICK(s.in->dtype, mean));
        else if (s.out->numel)
            fb_parallel_range(p->w.planes, (double)(s.out->numel + s.in->numel) / (double)p->w.planes * 2,
                              PICK(s.in->dtype, mean_back), p);
    }
    return unstage(f, &s, status);
}

/* avg_pool and its adjoint; the parameters of both begin alike */
static fb_status run_avg(fb_frame *f, const fb_tensor *in, const fb_tensor *out, int dims, fb_ints kernel,
                         fb_ints stride, fb_ints padding, bool count_include_pad, int64_t divisor, bool back)
{
    pool_job job = {.count_padding = count_include_pad, .divisor = divisor == FB_ABSENT ? 0 : divisor};
    fb_windows_sizes(&job.w, dims, in->ndim, in->sizes, out->sizes);
    FB_TRY(fb_windows_fixed(f, &job.w, kernel, stride, padding, (fb_ints){1, (const int64_t[]){1}}, dims));
    return run_mean(f, &job, back);
}
fb_status fb_k_avg_pool(fb_frame *f)
{
    const struct fb_p_avg_pool *p = f->params;
    return run_avg(f, f->in[0], f->out[0], (int)p->dims, p->kernel_size, p->stride, p->padding,
                   p->count_include_pad, p->divisor_override, false);
}
fb_status fb_k_avg_pool_backward(fb_frame *f)
{
    const struct fb_p_avg_pool_backward *p = f->params;
    return run_avg(f, f->out[0], f->in[0], (int)p->dims, p->kernel_size, p->stride, p->padding,
                   p->count_include_pad, p->divisor_override, true);
}

fb_status fb_k_adaptive_avg_pool(fb_frame *f)
{
    const struct fb_p_adaptive_avg_pool *p = f->params;
    pool_job job = {0};
    fb_windows_sizes(&job.w, (int)p->dims, f->in[0]->ndim, f->in[0]->sizes, f->out[0]->sizes);
    FB_TRY(fb_windows_adaptive(f, &job.w));
    return run_mean(f, &job, false);
}
fb_status fb_k_adaptive_avg_pool_backward(fb_frame *f)
{
    const struct fb_p_adaptive_avg_pool_backward *p = f->params;
    pool_job job = {0};
    fb_windows_sizes(&job.w, (int)p->dims, f->in[0]->ndim, f->out[0]->sizes, f->in[0]->sizes);
    FB_TRY(fb_windows_adaptive(f, &job.w));
    return run_mean(f, &job, true);
}

static fb_status by_index(fb_frame *f, int64_t dims, bool scatter, bool add)
{
    _Atomic int64_t bad = 0;
    _Atomic bool any_bad = false;
    const fb_tensor *places = f->in[1], *planes = scatter ? f->out[0] : f->in[0];
    index_job job = {.places = 1, .plane = 1, .add = add, .bad = &bad, .any_bad = &any_bad};
    int64_t n = 1;
    for (int i = 0; i < places->ndim; i++) {
        if (i < places->ndim - dims)
            n *= places->sizes[i];
        else
            job.places *= places->sizes[i], job.plane *= planes->sizes[i];
    }
    staged s;
    fb_tensor *index = fb_contiguous_as(f->in[1], FB_I64);
    fb_status status = stage(f, &s);
    if (!index) status = FB_FAIL;
    if (status == FB_OK && f->out[0]->numel) {
        job.in = fb_ptr(s.in), job.out = fb_ptr(s.out), job.index = fb_ptr(index);
        fb_parallel_range(n, (double)(job.places + job.plane),
                          scatter ? PICK(s.in->dtype, scatter) : PICK(s.in->dtype, gather), &job);
        if (any_bad)
            status =
                fb_fail(FB_ERUNTIME, "%s: Found an invalid max index: %lld (output volumes are of size %lld)",
                        f->op->name, (long long)bad, (long long)job.plane);
    }
    fb_release(index);
    return unstage(f, &s, status);
}
fb_status fb_k_max_pool_backward(fb_frame *f)
{
    return by_index(f, ((const struct fb_p_max_pool_backward *)f->params)->dims, true, true);
}
fb_status fb_k_max_unpool(fb_frame *f)
{
    return by_index(f, ((const struct fb_p_max_unpool *)f->params)->dims, true, false);
}
fb_status fb_k_max_pool_gather(fb_frame *f)
{
    return by_index(f, ((const struct fb_p_max_pool_gather *)f->params)->dims, false, false);
}

/* ---- infer ---- */

static int64_t at(fb_ints list, int64_t d)
{
    return list.v[list.n == 1 ? 0 : d];
}
static int64_t stride_at(fb_ints stride, fb_ints kernel, int64_t d)
{
    return stride.n > 0 ? at(stride, d) : at(kernel, d);
}

/* The number of windows. Those that start in the right padding do not count. */
static int64_t windows(int64_t in, int64_t k, int64_t stride, int64_t pad, int64_t dil, bool ceil_mode)
{
    const int64_t room = in + 2 * pad - dil * (k - 1) - 1 + (ceil_mode ? stride - 1 : 0);
    int64_t n = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
    if (ceil_mode && (n - 1) * stride >= in + pad) n--;
    return n;
}

static const char *shape_x(const fb_tensor *t, int64_t dims, const int64_t *sizes,
                           char text[96]) /* (1x4x4): channels and extents */
{
    int used = snprintf(text, 96, "(%lld", (long long)(t->ndim > dims ? t->sizes[t->ndim - dims - 1] : 1));
    for (int64_t d = 0; d < dims; d++)
        used += snprintf(text + used, (size_t)(96 - used), "x%lld", (long long)sizes[d]);
    snprintf(text + used, (size_t)(96 - used), ")");
    return text;
}

static fb_status pooled_sizes(const fb_tensor *x, int64_t dims, fb_ints kernel, fb_ints stride,
                              fb_ints padding, fb_ints dilation, bool ceil_mode, int64_t *sizes)
{
    char a[96], b[96];
    bool fits = true;
    if (x->ndim < dims || dims < 1 || dims > 3 || kernel.n < 1)
        return fb_fail(FB_ESHAPE, "pooling over %lld dimensions of a tensor of shape %s", (long long)dims,
                       fb_shape_text(x->ndim, x->sizes));
    for (int i = 0; i < x->ndim; i++) sizes[i] = x->sizes[i];
    for (int64_t d = 0; d < dims; d++) {
        const int64_t i = x->ndim - dims + d, k = at(kernel, d), s = stride_at(stride, kernel, d),
                      pad = at(padding, d), dil = at(dilation, d);
        if (k <= 0 || s <= 0 || dil <= 0 || pad < 0 || pad > (dil * (k - 1) + 1) / 2)
            return fb_fail(
                FB_ESHAPE,
                "pooling: kernel_size=%lld, stride=%lld, padding=%lld, dilation=%lld do not make windows",
                (long long)k, (long long)s, (long long)pad, (long long)dil);
        sizes[i] = windows(x->sizes[i], k, s, pad, dil, ceil_mode);
        fits &= sizes[i] >= 1;
    }
    if (!fits)
        return fb_fail(
            FB_ESHAPE, "Given input size: %s. Calculated output size: %s. Output size is too small",
            shape_x(x, dims, x->sizes + x->ndim - dims, a), shape_x(x, dims, sizes + x->ndim - dims, b));
    return FB_OK;
}

fb_status fb_i_max_pool(fb_frame *f)
{
    const struct fb_p_max_pool *p = f->params;
    int64_t sizes[FB_MAX_DIMS];
    FB_TRY(pooled_sizes(f->in[0], p->dims, p->kernel_size, p->stride, p->padding, p->dilation, p->ceil_mode,
                        sizes));
    FB_TRY(fb_out(f, 0, (fb_dtype)f->in[0]->dtype, f->in[0]->ndim, sizes, NULL));
    return fb_out(f, 1, FB_I64, f->in[0]->ndim, sizes, NULL);
}

fb_status fb_i_avg_pool(fb_frame *f)
{
    const struct fb_p_avg_pool *p = f->params;
    int64_t sizes[FB_MAX_DIMS];
    FB_TRY(pooled_sizes(f->in[0], p->dims, p->kernel_size, p->stride, p->padding,
                        (fb_ints){1, (const int64_t[]){1}}, p->ceil_mode, sizes));
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, f->in[0]->ndim, sizes, NULL);
}

static fb_status adaptive_sizes(const fb_tensor *x, int64_t dims, fb_ints output, int64_t *sizes)
{
    if (dims < 1 || dims > 3 || x->ndim < dims || output.n < 1)
        return fb_fail(FB_ESHAPE, "pooling over %lld dimensions of a tensor of shape %s", (long long)dims,
                       fb_shape_text(x->ndim, x->sizes));
    for (int i = 0; i < x->ndim; i++)
        sizes[i] = i < x->ndim - dims ? x->sizes[i] : at(output, i - (x->ndim - dims));
    return FB_OK;
}
fb_status fb_i_adaptive_max_pool(fb_frame *f)
{
    const struct fb_p_adaptive_max_pool *p = f->params;
    int64_t sizes[FB_MAX_DIMS];
    FB_TRY(adaptive_sizes(f->in[0], p->dims, p->output_size, sizes));
    FB_TRY(fb_out(f, 0, (fb_dtype)f->in[0]->dtype, f->in[0]->ndim, sizes, NULL));
    return fb_out(f, 1, FB_I64, f->in[0]->ndim, sizes, NULL);
}
fb_status fb_i_adaptive_avg_pool(fb_frame *f)
{
    const struct fb_p_adaptive_avg_pool *p = f->params;
    int64_t sizes[FB_MAX_DIMS];
    FB_TRY(adaptive_sizes(f->in[0], p->dims, p->output_size, sizes));
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, f->in[0]->ndim, sizes, NULL);
}

/* Adjoints: the size asked for, alike in all but the pooled dimensions. */
static fb_status infer_like(fb_frame *f, int64_t dims, fb_ints size)
{
    const fb_tensor *g = f->in[0];
    bool fits = size.n == g->ndim && dims >= 1 && dims <= 3 && dims <= g->ndim;
    for (int i = 0; fits && i < g->ndim - dims; i++) fits = size.v[i] == g->sizes[i];
    if (!fits)
        return fb_fail(FB_ESHAPE, "%s: size %s does not fit an input of shape %s", f->op->name,
                       fb_shape_text(FB_MAX(size.n, 0), size.v), fb_shape_text(g->ndim, g->sizes));
    return fb_out(f, 0, (fb_dtype)g->dtype, g->ndim, size.v, NULL);
}
static fb_status check_indices(const fb_frame *f)
{
    const fb_tensor *x = f->in[0], *index = f->in[1];
    if (index->dtype != FB_I64)
        return fb_fail(FB_EDTYPE, "elements in indices should be type int64 but got: %s",
                       fb_dtype_label((fb_dtype)index->dtype));
    return x->ndim == index->ndim
               ? FB_OK
               : fb_fail(FB_ESHAPE, "Expected shape of indices to be: %s but got: %s",
                         fb_shape_text(x->ndim, x->sizes), fb_shape_text(index->ndim, index->sizes));
}
static fb_status infer_scatter(fb_frame *f, int64_t dims, fb_ints size)
{
    const fb_tensor *x = f->in[0], *index = f->in[1];
    FB_TRY(check_indices(f));
    if (memcmp(x->sizes, index->sizes, (size_t)x->ndim * sizeof *x->sizes))
        return fb_fail(FB_ESHAPE, "Expected shape of indices to be: %s but got: %s",
                       fb_shape_text(x->ndim, x->sizes), fb_shape_text(index->ndim, index->sizes));
    return infer_like(f, dims, size);
}
fb_status fb_i_max_pool_backward(fb_frame *f)
{
    const struct fb_p_max_pool_backward *p = f->params;
    return infer_scatter(f, p->dims, p->size);
}
fb_status fb_i_max_unpool(fb_frame *f)
{
    const struct fb_p_max_unpool *p = f->params;
    return infer_scatter(f, p->dims, p->size);
}
fb_status fb_i_max_pool_gather(fb_frame *f)
{
    const struct fb_p_max_pool_gather *p = f->params;
    FB_TRY(check_indices(f));
    return infer_like(f, p->dims, (fb_ints){f->in[1]->ndim, f->in[1]->sizes});
}
fb_status fb_i_avg_pool_backward(fb_frame *f)
{
    const struct fb_p_avg_pool_backward *p = f->params;
    int64_t sizes[FB_MAX_DIMS];
    FB_TRY(infer_like(f, p->dims, p->size));
    FB_TRY(pooled_sizes(f->out[0], p->dims, p->kernel_size, p->stride, p->padding,
                        (fb_ints){1, (const int64_t[]){1}}, p->ceil_mode, sizes));
    return memcmp(sizes, f->in[0]->sizes, (size_t)f->in[0]->ndim * sizeof *sizes)
               ? fb_fail(FB_ESHAPE, "avg_pool_backward: expected grad_output of shape %s, but got %s",
                         fb_shape_text(f->in[0]->ndim, sizes), fb_shape_text(f->in[0]->ndim, f->in[0]->sizes))
               : FB_OK;
}
fb_status fb_i_adaptive_avg_pool_backward(fb_frame *f)
{
    const struct fb_p_adaptive_avg_pool_backward *p = f->params;
    return infer_like(f, p->dims, p->size);
}
