/* Normalizations over rows (layer_norm, rms_norm), groups of channels and batches; their derivatives.
 *
 * With xhat = (x - mean) * rstd and h = gradient * weight, all have dx = rstd * (h - mean(h) - xhat * mean(h * xhat)), the
 * means over what shares a mean (Ioffe and Szegedy 2015); rms_norm has no mean and no mean(h). */
#include "flambeau/ops.gen.h"
#include "kernels/isa.h"
#include "nn/dense.h"
#include "params.gen.h"
#include <math.h>

enum {
    BLOCK = 4096,   /* elements that stay in L1 */
    STRIP = 32,     /* rows of a column summed before they go to double */
    COLUMNS = 64,   /* side by side: a power of two above SHORT_RUN */
    SHORT_RUN = 16, /* from here on a channel's run is worth vectors of its own */
};

typedef struct norm_job {
    const void *x, *g, *w, *b;
    void *y, *mean, *rstd, *var, *gx, *gw, *gb; /* gw, gb: partial sums; NULL: not wanted */
    int64_t rows, channels, groups, inner, per_chunk;
    double eps;
    bool centered, wide; /* wide: double */
} norm_job;

static void join_moments(double *count, double *mean, double *m2, double n, double mean_b, double m2_b)
{
    const double total = *count + n, share = n / total, d = mean_b - *mean;
    *mean += d * share;
    *m2 += m2_b + d * d * *count * share;
    *count = total;
}

static void batch_finish(const norm_job *j, int64_t c, double mean, double m2)
{
    const double var = m2 / ((double)j->rows * (double)j->inner), rstd = 1 / sqrt(var + j->eps);
    if (j->wide) {
        ((double *)j->mean)[c] = mean, ((double *)j->rstd)[c] = rstd, ((double *)j->var)[c] = var;
    } else {
        ((float *)j->mean)[c] = (float)mean, ((float *)j->rstd)[c] = (float)rstd, ((float *)j->var)[c] = (float)var;
    }
}

#define T float
#define S f32
#include "kernels/norm_body.h"
#undef T
#undef S
#define T double
#define S f64
#include "kernels/norm_body.h"
#undef T
#undef S

#define BOTH(name) (j.wide ? name##_f64 : name##_f32)

/* Optional tensors as contiguous ones of the compute type: NULL stays NULL, and is no failure. */
static fb_status optional_in(fb_tensor *t, fb_dtype compute, fb_tensor **out)
{
    *out = t ? fb_dense_in(t, compute) : NULL;
    return t && !*out ? FB_FAIL : FB_OK;
}
static void *data(fb_tensor *t) { return t && t->numel ? fb_ptr(t) : NULL; }

/* ---- rows ---- */

static fb_status rows_forward(fb_frame *f, int rstd_at, fb_tensor *weight, fb_tensor *bias, double eps)
{
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    fb_tensor *x = NULL, *w = NULL, *b = NULL, *y = NULL;
    fb_status status = FB_FAIL;

    if (!(x = fb_dense_in(f->in[0], compute)) || optional_in(weight, compute, &w) != FB_OK || optional_in(bias, compute, &b) != FB_OK ||
        !(y = fb_dense_out(f, 0, compute)))
        goto done;
    const int64_t rows = f->out[rstd_at]->numel;
    norm_job j = {.x = data(x), .w = data(w), .b = data(b), .y = data(y), .rstd = data(f->out[rstd_at]), .rows = rows, .eps = eps,
                  .inner = rows ? x->numel / rows : 0, .centered = rstd_at == 2, .wide = compute == FB_F64};
    if (j.centered) j.mean = data(f->out[1]);
    if (rows) fb_parallel_range(rows, 15 + 0.6 * (double)j.inner, BOTH(norm_rows), &j);
    status = FB_OK;
done:
    status = fb_dense_end(f, 0, y, status);
    fb_release(b);
    fb_release(w);
    fb_release(x);
    return status;
}

fb_status FB_K(fb_k_layer_norm)(fb_frame *f)
{
    return rows_forward(f, 2, f->in[1], f->in[2], ((const struct fb_p_layer_norm *)f->params)->eps);
}

fb_status FB_K(fb_k_rms_norm)(fb_frame *f)
{
    const struct fb_p_rms_norm_rows *p = f->params;
    return rows_forward(f, 1, f->in[1], NULL, p->eps);
}

/* gx, gw and gb that are not wanted are empty. */
fb_status FB_K(fb_k_norm_rows_backward)(fb_frame *f)
{
    const struct fb_p_norm_rows_backward *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[1]);
    fb_tensor *g = NULL, *x = NULL, *mean = NULL, *rstd = NULL, *w = NULL, *out[3] = {NULL, NULL, NULL};
    fb_status status = FB_FAIL;

    if (!(g = fb_dense_in(f->in[0], compute)) || !(x = fb_dense_in(f->in[1], compute)) || optional_in(f->in[2], compute, &mean) != FB_OK ||
        !(rstd = fb_dense_in(f->in[3], compute)) || optional_in(f->in[4], compute, &w) != FB_OK)
        goto done;
    for (int i = 0; i < 3; i++)
        if (!(out[i] = fb_dense_out(f, i, compute))) goto done;
    const int64_t rows = rstd->numel, n = rows ? x->numel / rows : 0, item = fb_itemsize(compute);
    norm_job j = {.x = data(x), .g = data(g), .w = data(w), .mean = data(mean), .rstd = data(rstd), .rows = rows, .inner = n,
                  .gx = p->needs_input ? data(out[0]) : NULL, .centered = mean != NULL, .wide = compute == FB_F64};
    j.per_chunk = FB_MAX(32, (rows + 63) / 64);
    const int64_t chunks = (rows + j.per_chunk - 1) / j.per_chunk;
    void *parts[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        if (!(i ? p->needs_bias : p->needs_weight)) continue;
        if (chunks == 1)
            parts[i] = data(out[1 + i]);
        else if (chunks > 1 && !(parts[i] = fb_scratch(f, chunks * n * item)))
            goto done;
        else if (chunks == 0 && out[1 + i]->numel)
            memset(fb_ptr(out[1 + i]), 0, (size_t)(out[1 + i]->numel * item));
    }
    j.gw = parts[0], j.gb = parts[1];
    if (chunks && n) {
        fb_parallel_range(chunks, (double)j.per_chunk * (20 + 1.5 * (double)n), BOTH(norm_rows_backward), &j);
        for (int i = 0; i < 2 && chunks > 1; i++) {
            if (!parts[i]) continue;
            if (j.wide)
                join_parts_f64(fb_ptr(out[1 + i]), parts[i], chunks, n);
            else
                join_parts_f32(fb_ptr(out[1 + i]), parts[i], chunks, n);
        }
    }
    status = FB_OK;
done:
    for (int i = 0; i < 3; i++) status = fb_dense_end(f, i, out[i], status);
    fb_release(w);
    fb_release(rstd);
    fb_release(mean);
    fb_release(x);
    fb_release(g);
    return status;
}

/* ---- groups and batches: (rows, channels, inner) ---- */

static void three_parts(norm_job *j, const fb_tensor *x)
{
    j->rows = x->sizes[0];
    j->channels = x->sizes[1];
    j->inner = 1;
    for (int d = 2; d < x->ndim; d++) j->inner *= x->sizes[d];
}

static fb_status channels_forward(fb_frame *f, norm_job j, void (*body)(void *, int64_t, int64_t), fb_tensor *weight, fb_tensor *bias,
                                  int64_t items, fb_dtype compute)
{
    fb_tensor *x = NULL, *w = NULL, *b = NULL, *y = NULL;
    fb_status status = FB_FAIL;

    if (!(x = fb_dense_in(f->in[0], compute)) || optional_in(weight, compute, &w) != FB_OK || optional_in(bias, compute, &b) != FB_OK ||
        !(y = fb_dense_out(f, 0, compute)))
        goto done;
    j.x = data(x), j.w = data(w), j.b = data(b), j.y = data(y);
    if (x->numel) fb_parallel_range(items, 20 + 0.8 * (double)x->numel / (double)items, body, &j);
    status = FB_OK;
done:
    status = fb_dense_end(f, 0, y, status);
    fb_release(b);
    fb_release(w);
    fb_release(x);
    return status;
}

fb_status FB_K(fb_k_group_norm)(fb_frame *f)
{
    const struct fb_p_group_norm_core *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    norm_job j = {.mean = data(f->out[1]), .rstd = data(f->out[2]), .groups = p->num_groups, .eps = p->eps, .centered = true,
                  .wide = compute == FB_F64};
    three_parts(&j, f->in[0]);
    if (f->in[0]->numel == 0 && f->out[1]->numel) /* nothing to average */
        return fb_fill_data(f->out[1], fb_int(0)) == FB_OK ? fb_fill_data(f->out[2], fb_float((double)NAN)) : FB_FAIL;
    return channels_forward(f, j, BOTH(norm_groups), f->in[1], f->in[2], j.rows * j.groups, compute);
}

fb_status FB_K(fb_k_batch_norm_train)(fb_frame *f)
{
    const struct fb_p_batch_norm_train *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    norm_job j = {.var = data(f->out[1]), .mean = data(f->out[2]), .rstd = data(f->out[3]), .eps = p->eps, .centered = true,
                  .wide = compute == FB_F64};
    three_parts(&j, f->in[0]);
    if (f->in[0]->numel == 0) {
        for (int i = 1; i < 4; i++) FB_TRY(fb_fill_data(f->out[i], fb_int(0)));
        return FB_OK;
    }
    return channels_forward(f, j, BOTH(batch_norm), f->in[1], f->in[2], j.channels, compute);
}

fb_status FB_K(fb_k_batch_norm_eval)(fb_frame *f)
{
    const struct fb_p_batch_norm_eval *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    const int64_t c = f->in[0]->sizes[1];
    fb_tensor *mean = NULL, *var = NULL;
    void *rstd = NULL;
    fb_status status = FB_FAIL;

    if ((mean = fb_dense_in(f->in[1], compute)) && (var = fb_dense_in(f->in[2], compute)) && (rstd = fb_scratch(f, c * fb_itemsize(compute)))) {
        norm_job j = {.mean = data(mean), .rstd = rstd, .wide = compute == FB_F64};
        three_parts(&j, f->in[0]);
        for (int64_t i = 0; i < c; i++) {
            if (j.wide)
                ((double *)rstd)[i] = 1 / sqrt(((const double *)fb_ptr(var))[i] + p->eps);
            else
                ((float *)rstd)[i] = (float)(1 / sqrt((double)((const float *)fb_ptr(var))[i] + p->eps));
        }
        status = channels_forward(f, j, BOTH(batch_norm), f->in[3], f->in[4], j.channels, compute);
    }
    fb_release(var);
    fb_release(mean);
    return status;
}

static fb_status channels_backward(fb_frame *f, bool grouped, int64_t groups, bool needs_input, bool needs_weight, bool needs_bias)
{
    const fb_dtype compute = fb_dense_compute(f->in[1]);
    const bool needs[2] = {needs_weight, needs_bias};
    fb_tensor *g = NULL, *x = NULL, *mean = NULL, *rstd = NULL, *w = NULL, *out[3] = {NULL, NULL, NULL};
    fb_status status = FB_FAIL;

    if (!(g = fb_dense_in(f->in[0], compute)) || !(x = fb_dense_in(f->in[1], compute)) || !(mean = fb_dense_in(f->in[2], compute)) ||
        !(rstd = fb_dense_in(f->in[3], compute)) || optional_in(f->in[4], compute, &w) != FB_OK)
        goto done;
    for (int i = 0; i < 3; i++)
        if (!(out[i] = fb_dense_out(f, i, compute))) goto done;
    norm_job j = {.x = data(x), .g = data(g), .w = data(w), .mean = data(mean), .rstd = data(rstd), .groups = groups,
                  .gx = needs_input ? data(out[0]) : NULL, .centered = true, .wide = compute == FB_F64};
    three_parts(&j, x);
    void *parts[2] = {needs_weight ? data(out[1]) : NULL, needs_bias ? data(out[2]) : NULL};
    if (x->numel == 0) {
        for (int i = 0; i < 2; i++)
            if (parts[i]) memset(parts[i], 0, (size_t)(out[1 + i]->numel * fb_itemsize(compute)));
    } else if (grouped) {
        for (int i = 0; i < 2; i++)
            if (needs[i] && j.rows > 1 && !(parts[i] = fb_scratch(f, j.rows * j.channels * fb_itemsize(compute)))) goto done;
        j.gw = parts[0], j.gb = parts[1];
        fb_parallel_range(j.rows * groups, 20 + (double)x->numel / (double)(j.rows * groups), BOTH(norm_groups_backward), &j);
        for (int i = 0; i < 2 && j.rows > 1; i++) {
            if (!parts[i]) continue;
            if (j.wide)
                join_parts_f64(fb_ptr(out[1 + i]), parts[i], j.rows, j.channels);
            else
                join_parts_f32(fb_ptr(out[1 + i]), parts[i], j.rows, j.channels);
        }
    } else {
        j.gw = parts[0], j.gb = parts[1];
        fb_parallel_range(j.channels, 20 + (double)x->numel / (double)j.channels, BOTH(batch_norm_backward), &j);
    }
    status = FB_OK;
done:
    for (int i = 0; i < 3; i++) status = fb_dense_end(f, i, out[i], status);
    fb_release(w);
    fb_release(rstd);
    fb_release(mean);
    fb_release(x);
    fb_release(g);
    return status;
}

fb_status FB_K(fb_k_group_norm_backward)(fb_frame *f)
{
    const struct fb_p_group_norm_backward *p = f->params;
    return channels_backward(f, true, p->num_groups, p->needs_input, p->needs_weight, p->needs_bias);
}

fb_status FB_K(fb_k_batch_norm_backward)(fb_frame *f)
{
    const struct fb_p_batch_norm_backward *p = f->params;
    return channels_backward(f, false, 1, p->needs_input, p->needs_weight, p->needs_bias);
}
