/* Resampling (nearest, linear, cubic, with or without antialiasing): separable, so that along each of up to three
 * dimensions an output place is a short weighted sum of input places. The tables of those sums are made once a call; the
 * gradient walks them the other way.
 *
 * Coordinates are PyTorch's. Scales: input extent / output extent, or 1 / scale where the caller gave one; align_corners:
 * (in - 1) / (out - 1). Cubic: Keys, "Cubic convolution interpolation for digital image processing" (1981), with
 * A = -0.75, and -0.5 when antialiasing as Pillow has it. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
#include "runtime/frame.h"
#include <math.h>
#include <stdio.h>

typedef enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC } mode;

typedef struct axis {
    int64_t in, out, taps; /* taps: room for each place */
    int64_t *n, *at;       /* [out], [out * taps] */
    double *weight;        /* [out * taps] */
} axis;

static double cubic(double x, double a)
{
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Single precision where PyTorch computes coordinates in it: floor() must fall the same way. */
static double rounded(double v, bool single)
{
    return single ? (double)(float)v : v;
}

static void plain_taps(axis *a, mode m, bool align, double given, bool single)
{
    double scale = given > 0 ? 1 / given : (double)a->in / (double)a->out;
    if (align && m >= LINEAR)
        scale = a->out > 1 ? rounded((double)(a->in - 1), single) / (double)(a->out - 1) : 0;
    scale = rounded(scale, single);
    for (int64_t o = 0; o < a->out; o++) {
        int64_t *at = a->at + o * a->taps;
        double *w = a->weight + o * a->taps;
        if (m <= NEAREST_EXACT) {
            const double x = m == NEAREST ? rounded((double)o * scale, single)
                                          : rounded(rounded((double)o + 0.5, single) * scale, single);
            a->n[o] = 1;
            at[0] = FB_MIN((int64_t)floor(x), a->in - 1);
            w[0] = 1;
            continue;
        }
        double x = align ? rounded(scale * (double)o, single)
                         : rounded(rounded(scale * ((double)o + 0.5), single) - 0.5, single);
        if (m == LINEAR && !align && x < 0) x = 0;
        const int64_t first = (int64_t)floor(x);
        if (m == LINEAR) {
            const int64_t left = FB_MIN(first, a->in - 1);
            const double t = FB_MIN(FB_MAX(rounded(x - (double)left, single), 0), 1);
            a->n[o] = 2;
            at[0] = left;
            at[1] = FB_MIN(left + 1, a->in - 1);
            w[0] = 1 - t;
            w[1] = t;
        } else {
            const double t = rounded(x - (double)first, single);
            a->n[o] = 4;
            for (int k = 0; k < 4; k++) {
                at[k] = FB_MIN(FB_MAX(first + k - 1, 0), a->in - 1);
                w[k] = cubic(t - (double)(k - 1), -0.75);
            }
        }
    }
}

static double antialias_scale(const axis *a, bool align, double given)
{
    if (align) return a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 0;
    return given > 0 ? 1 / given : (double)a->in / (double)a->out;
}

/* Weights of a triangle or cubic as wide as the shrinking asks for, normalised to sum 1. */
static void smooth_taps(axis *a, mode m, double scale)
{
    const double support = (m == LINEAR ? 1 : 2) * FB_MAX(scale, 1), inverse = scale >= 1 ? 1 / scale : 1;
    for (int64_t o = 0; o < a->out; o++) {
        const double center = scale * ((double)o + 0.5);
        const int64_t lo = FB_MAX((int64_t)(center - support + 0.5), 0),
                      hi = FB_MIN((int64_t)(center + support + 0.5), a->in);
        double total = 0, *w = a->weight + o * a->taps;
        a->n[o] = FB_MIN(hi - lo, a->taps);
        for (int64_t k = 0; k < a->n[o]; k++) {
            const double x = ((double)(lo + k) - center + 0.5) * inverse;
            a->at[o * a->taps + k] = lo + k;
            total += w[k] = m == LINEAR ? FB_MAX(1 - fabs(x), 0) : cubic(x, -0.5);
        }
        for (int64_t k = 0; k < a->n[o]; k++) w[k] = total != 0 ? w[k] / total : 0;
    }
}

static fb_status make_axis(fb_frame *f, axis *a, mode m, bool align, bool antialias, double given,
                           bool single)
{
    const double scale = antialias_scale(a, align, given);
    a->taps = m <= NEAREST_EXACT ? 1
              : antialias        ? (int64_t)ceil((m == LINEAR ? 1 : 2) * FB_MAX(scale, 1)) * 2 + 1
              : m == LINEAR      ? 2
                                 : 4;
    a->n = fb_scratch(f, a->out * 8);
    a->at = fb_scratch(f, a->out * a->taps * 8);
    a->weight = fb_scratch(f, a->out * a->taps * (int64_t)sizeof(double));
    if (!a->n || !a->at || !a->weight) return FB_FAIL;
    if (antialias && m >= LINEAR)
        smooth_taps(a, m, scale);
    else
        plain_taps(a, m, align, given, single);
    return FB_OK;
}

typedef struct job {
    axis a[3];
    const void *in;
    void *out;
    _Atomic bool failed;
} job;

/* Rows of the output (through planes, z and y): first the input rows it needs, summed; then along x. */
#define RESAMPLE(NAME, T)                                                                                    \
    static void rows_##NAME(void *ctx, int64_t begin, int64_t end)                                           \
    {                                                                                                        \
        job *j = ctx;                                                                                        \
        const axis *az = &j->a[0], *ay = &j->a[1], *ax = &j->a[2];                                           \
        const int64_t plane = az->in * ay->in * ax->in;                                                      \
        T *sum = fb_alloc(ax->in * (int64_t)sizeof(T));                                                      \
        if (!sum) {                                                                                          \
            j->failed = true;                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t row = begin; row < end; row++) {                                                        \
            const int64_t oy = row % ay->out, oz = row / ay->out % az->out, p = row / (ay->out * az->out);   \
            const T *in = (const T *)j->in + p * plane, *line = sum;                                         \
            T *out = (T *)j->out + row * ax->out;                                                            \
            if (ay->n[oy] == 1 && az->n[oz] == 1 && ay->weight[oy * ay->taps] == 1 &&                        \
                az->weight[oz * az->taps] == 1) {                                                            \
                line = in + (az->at[oz * az->taps] * ay->in + ay->at[oy * ay->taps]) * ax->in;               \
            } else {                                                                                         \
                memset(sum, 0, (size_t)ax->in * sizeof(T));                                                  \
                for (int64_t z = 0; z < az->n[oz]; z++)                                                      \
                    for (int64_t y = 0; y < ay->n[oy]; y++) {                                                \
                        const T w = (T)(az->weight[oz * az->taps + z] * ay->weight[oy * ay->taps + y]);      \
                        const T *src =                                                                       \
                            in + (az->at[oz * az->taps + z] * ay->in + ay->at[oy * ay->taps + y]) * ax->in;  \
                        if (w == 0) continue;                                                                \
                        for (int64_t x = 0; x < ax->in; x++) sum[x] += w * src[x];                           \
                    }                                                                                        \
            }                                                                                                \
            if (ax->taps == 1)                                                                               \
                for (int64_t x = 0; x < ax->out; x++) out[x] = line[ax->at[x]];                              \
            else if (ax->taps == 2)                                                                          \
                for (int64_t x = 0; x < ax->out; x++)                                                        \
                    out[x] = (T)ax->weight[2 * x] * line[ax->at[2 * x]] +                                    \
                             (T)ax->weight[2 * x + 1] * line[ax->at[2 * x + 1]];                             \
            else                                                                                             \
                for (int64_t x = 0; x < ax->out; x++) {                                                      \
                    T v = 0;                                                                                 \
                    for (int64_t k = 0; k < ax->n[x]; k++)                                                   \
                        v += (T)ax->weight[x * ax->taps + k] * line[ax->at[x * ax->taps + k]];               \
                    out[x] = v;                                                                              \
                }                                                                                            \
        }                                                                                                    \
        fb_free(sum);                                                                                        \
    }                                                                                                        \
    /* Planes of the gradient: the same walk, backwards. in: gradient of the output. */                      \
    static void planes_##NAME(void *ctx, int64_t begin, int64_t end)                                         \
    {                                                                                                        \
        job *j = ctx;                                                                                        \
        const axis *az = &j->a[0], *ay = &j->a[1], *ax = &j->a[2];                                           \
        const int64_t plane = az->in * ay->in * ax->in;                                                      \
        T *sum = fb_alloc(ax->in * (int64_t)sizeof(T));                                                      \
        if (!sum) {                                                                                          \
            j->failed = true;                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t p = begin; p < end; p++) {                                                              \
            T *out = (T *)j->out + p * plane;                                                                \
            memset(out, 0, (size_t)plane * sizeof(T));                                                       \
            for (int64_t oz = 0; oz < az->out; oz++)                                                         \
                for (int64_t oy = 0; oy < ay->out; oy++) {                                                   \
                    const T *g = (const T *)j->in + ((p * az->out + oz) * ay->out + oy) * ax->out;           \
                    memset(sum, 0, (size_t)ax->in * sizeof(T));                                              \
                    for (int64_t x = 0; x < ax->out; x++)                                                    \
                        for (int64_t k = 0; k < ax->n[x]; k++)                                               \
                            sum[ax->at[x * ax->taps + k]] += (T)ax->weight[x * ax->taps + k] * g[x];         \
                    for (int64_t z = 0; z < az->n[oz]; z++)                                                  \
                        for (int64_t y = 0; y < ay->n[oy]; y++) {                                            \
                            const T w = (T)(az->weight[oz * az->taps + z] * ay->weight[oy * ay->taps + y]);  \
                            T *dst =                                                                         \
                                out +                                                                        \
                                (az->at[oz * az->taps + z] * ay->in + ay->at[oy * ay->taps + y]) * ax->in;   \
                            for (int64_t x = 0; x < ax->in; x++) dst[x] += w * sum[x];                       \
                        }                                                                                    \
                }                                                                                            \
        }                                                                                                    \
        fb_free(sum);                                                                                        \
    }
RESAMPLE(f32, float)
RESAMPLE(f64, double)

/* Both directions; the parameters of resample and resample_backward begin alike but for size. */
static fb_status run(fb_frame *f, const fb_tensor *in, const fb_tensor *out, int64_t which, bool align,
                     bool antialias, fb_floats scales, bool back)
{
    const bool bytes = f->in[0]->dtype == FB_U8;
    const fb_dtype dtype = bytes ? FB_F32 : (fb_dtype)f->in[0]->dtype;
    const int64_t dims = in->ndim - 2;
    job j = {.failed = false};
    fb_tensor *src = NULL, *dst = NULL;
    for (int d = 0; d < 3; d++) {
        const int64_t i = d - (3 - dims);
        j.a[d].in = i < 0 ? 1 : in->sizes[2 + i];
        j.a[d].out = i < 0 ? 1 : out->sizes[2 + i];
        const mode m = i < 0 ? NEAREST : (mode)which;
        FB_TRY(make_axis(f, &j.a[d], m, align, antialias, i >= 0 && scales.n > i ? scales.v[i] : 0,
                         dtype != FB_F64));
    }
    fb_status status = FB_FAIL;
    if ((src = fb_contiguous_as(f->in[0], dtype)) &&
        (dst = bytes ? fb_new(f->out[0]->ndim, f->out[0]->sizes, NULL, dtype, f->out[0]->device)
                     : fb_retain(f->out[0]))) {
        const int64_t planes = in->sizes[0] * in->sizes[1], rows = planes * j.a[0].out * j.a[1].out;
        const double per_row = (double)(j.a[2].in * j.a[1].taps * j.a[0].taps + j.a[2].out * j.a[2].taps) / 2;
        j.in = fb_ptr(src), j.out = fb_ptr(dst);
        if (planes && back)
            fb_parallel_range(planes, per_row * (double)(j.a[0].out * j.a[1].out),
                              dtype == FB_F64 ? planes_f64 : planes_f32, &j);
        else if (planes)
            fb_parallel_range(rows, per_row, dtype == FB_F64 ? rows_f64 : rows_f32, &j);
        status = j.failed ? fb_fail(FB_EMEMORY, "%s: out of memory", f->op->name) : FB_OK;
        if (status == FB_OK && bytes) {
            const float *v = fb_ptr(dst);
            uint8_t *u = fb_ptr(f->out[0]);
            for (int64_t i = 0; i < dst->numel; i++)
                u[i] = (uint8_t)FB_MIN(FB_MAX(floorf(v[i] + 0.5f), 0), 255);
        }
    }
    fb_release(src);
    fb_release(dst);
    return status;
}

fb_status fb_k_resample(fb_frame *f)
{
    const struct fb_p_resample *p = f->params;
    return run(f, f->in[0], f->out[0], p->mode, p->align_corners, p->antialias, p->scale_factors, false);
}
fb_status fb_k_resample_backward(fb_frame *f)
{
    const struct fb_p_resample_backward *p = f->params;
    return run(f, f->out[0], f->in[0], p->mode, p->align_corners, p->antialias, p->scale_factors, true);
}

static fb_status infer_size(fb_frame *f, fb_ints size)
{
    const fb_tensor *x = f->in[0];
    if (x->ndim < 3 || x->ndim > 5 || size.n != x->ndim)
        return fb_fail(FB_ESHAPE, "%s: an input of shape %s and size %s do not fit", f->op->name,
                       fb_shape_text(x->ndim, x->sizes), fb_shape_text(FB_MAX(size.n, 0), size.v));
    for (int i = 0; i < x->ndim; i++)
        if (i < 2 ? size.v[i] != x->sizes[i] : size.v[i] <= 0 || x->sizes[i] <= 0)
            return fb_fail(FB_ESHAPE, "%s: an input of shape %s and size %s do not fit", f->op->name,
                           fb_shape_text(x->ndim, x->sizes), fb_shape_text(size.n, size.v));
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim, size.v, NULL);
}
fb_status fb_i_resample(fb_frame *f)
{
    return infer_size(f, ((const struct fb_p_resample *)f->params)->size);
}
fb_status fb_i_resample_backward(fb_frame *f)
{
    return infer_size(f, ((const struct fb_p_resample_backward *)f->params)->size);
}

/* ---- upsample_nearest1d and its family ---- */

static fb_status upsample(fb_frame *f, int dims, mode m, fb_ints size, bool align, fb_floats scales,
                          bool antialias)
{
    static const char *const labels[3] = {"D", "H", "W"};
    const fb_tensor *x = f->in[0];
    int64_t sizes[5];
    if ((size.n >= 0) == (scales.n >= 0))
        return fb_fail(FB_ERUNTIME, "Must specify exactly one of output_size and scale_factors");
    if (x->ndim != dims + 2)
        return fb_fail(FB_ESHAPE, "It is expected input_size equals to %d, but got size %d", dims + 2,
                       (int)x->ndim);
    if (FB_MAX(size.n, scales.n) != dims)
        return fb_fail(FB_ESHAPE, "It is expected output_size equals to %d, but got size %lld", dims,
                       (long long)FB_MAX(size.n, scales.n));
    sizes[0] = x->sizes[0], sizes[1] = x->sizes[1];
    bool positive = true;
    for (int d = 0; d < dims; d++) {
        sizes[2 + d] = size.n >= 0 ? size.v[d] : (int64_t)((double)x->sizes[2 + d] * scales.v[d]);
        positive &= sizes[2 + d] > 0 && x->sizes[2 + d] > 0;
    }
    if (!positive) {
        char in[96], out[96];
        for (int side = 0, used = 0; side < 2; side++, used = 0)
            for (int d = 0; d < dims; d++)
                used += snprintf((side ? out : in) + used, (size_t)(96 - used), "%s%s: %lld", d ? ", " : "",
                                 labels[3 - dims + d], (long long)(side ? sizes : x->sizes)[2 + d]);
        return fb_fail(FB_ESHAPE,
                       "Input and output sizes should be greater than 0, but got input (%s) output (%s)", in,
                       out);
    }
    if (x->sizes[1] == 0)
        return fb_fail(FB_ESHAPE, "Non-empty %dD data tensor expected but got a tensor with sizes %s",
                       dims + 2, fb_shape_text(x->ndim, x->sizes));
    return fb_give(f, 0, fb_resample(f->in[0], (fb_ints){dims + 2, sizes}, m, align, antialias, scales));
}

#define PLAIN(NAME, D, MODE)                                                                                 \
    fb_status fb_c_##NAME(fb_frame *f)                                                                       \
    {                                                                                                        \
        const struct fb_p_##NAME *p = f->params;                                                             \
        return upsample(f, D, MODE, p->output_size, false, p->scale_factors, false);                         \
    }
#define ALIGNED(NAME, D, MODE, ANTIALIAS)                                                                    \
    fb_status fb_c_##NAME(fb_frame *f)                                                                       \
    {                                                                                                        \
        const struct fb_p_##NAME *p = f->params;                                                             \
        return upsample(f, D, MODE, p->output_size, p->align_corners, p->scale_factors, ANTIALIAS);          \
    }
PLAIN(upsample_nearest1d, 1, NEAREST)
PLAIN(upsample_nearest2d, 2, NEAREST)
PLAIN(upsample_nearest3d, 3, NEAREST)
PLAIN(_upsample_nearest_exact1d, 1, NEAREST_EXACT)
PLAIN(_upsample_nearest_exact2d, 2, NEAREST_EXACT)
PLAIN(_upsample_nearest_exact3d, 3, NEAREST_EXACT)
ALIGNED(upsample_linear1d, 1, LINEAR, false)
ALIGNED(upsample_bilinear2d, 2, LINEAR, false)
ALIGNED(upsample_trilinear3d, 3, LINEAR, false)
ALIGNED(upsample_bicubic2d, 2, CUBIC, false)
ALIGNED(_upsample_bilinear2d_aa, 2, LINEAR, true)
ALIGNED(_upsample_bicubic2d_aa, 2, CUBIC, true)
