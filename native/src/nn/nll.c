/* nll_loss: checks with PyTorch's texts, and the kernels, which only pick elements. */
#include "nn/nll.h"
#include "flambeau/ops.gen.h"
#include "params.gen.h"

typedef long long ll;

/* ---- checks ---- */

static fb_status check_shapes(const fb_tensor *x, const fb_tensor *y)
{
    const char *xs = fb_shape_text(x->ndim, x->sizes), *ys = fb_shape_text(y->ndim, y->sizes);

    if (x->ndim < 1) return fb_fail(FB_EVALUE, "Expected 1 or more dimensions (got 0)");
    if (x->ndim == 1 && y->ndim == 1 && y->sizes[0] != 1)
        return fb_fail(FB_EVALUE, "For 1D input, 1D target must have size 1, but got target size: %lld", (ll)y->sizes[0]);
    if (x->ndim != 1 && (y->ndim == 0 || x->sizes[0] != y->sizes[0]))
        return fb_fail(FB_EVALUE, "Expected input batch_size (%lld) to match target batch_size (%lld).", (ll)x->sizes[0],
                       (ll)(y->ndim ? y->sizes[0] : 1));
    if (x->ndim <= 2)
        return y->ndim <= 1 ? FB_OK : fb_fail(FB_ERUNTIME, "0D or 1D target tensor expected, multi-target not "
                                              "supported");
    const bool fits = y->ndim == x->ndim - 1 && !memcmp(x->sizes + 2, y->sizes + 1, (size_t)(x->ndim - 2) * sizeof *x->sizes);
    if (fits) return FB_OK;
    if (x->ndim == 4 && y->ndim != 3)
        return fb_fail(FB_ERUNTIME, "only batches of spatial targets supported (3D tensors) but got targets of "
                       "dimension: %d", (int)y->ndim);
    if (x->ndim == 4) return fb_fail(FB_ERUNTIME, "size mismatch (got input: %s , target: %s", xs, ys);
    int64_t want[FB_MAX_DIMS];
    want[0] = x->sizes[0];
    memcpy(want + 1, x->sizes + 2, (size_t)(x->ndim - 2) * sizeof *want);
    return fb_fail(FB_ERUNTIME, "Expected target size %s, got %s", fb_shape_text(x->ndim - 1, want), ys);
}

fb_status fb_classes_infer(fb_frame *f, int64_t reduction)
{
    const fb_tensor *x = f->in[0], *y = f->in[1], *w = f->in[2];
    const int64_t classes = x->ndim == 0 ? 0 : x->sizes[x->ndim == 1 ? 0 : 1];

    FB_TRY(check_shapes(x, y));
    if (w && (w->ndim != 1 || w->numel != classes))
        return fb_fail(FB_ERUNTIME, "weight tensor should be defined either for all %lld classes or no classes "
                       "but got weight tensor of shape: %s",
                       (ll)classes, fb_shape_text(w->ndim, w->sizes));
    if (y->dtype != FB_I64 && y->dtype != FB_U8)
        return fb_fail(FB_ERUNTIME, "expected target dtype to be Long or Byte, but got %s", fb_dtype_label((fb_dtype)y->dtype));
    if (!fb_is(FB_FLOATS, x->dtype))
        return fb_fail(FB_ENOTIMPL, "\"nll_loss_out_frame\" not implemented for '%s'", fb_dtype_label((fb_dtype)x->dtype));
    if (w && w->dtype != x->dtype)
        return fb_fail(FB_ERUNTIME, "expected scalar type %s but found %s", fb_dtype_label((fb_dtype)x->dtype), fb_dtype_label((fb_dtype)w->dtype));
    if (reduction == 0 && x->ndim > 1)
        FB_TRY(fb_out_like(f, 0, y, (fb_dtype)x->dtype));
    else
        FB_TRY(fb_out(f, 0, (fb_dtype)x->dtype, 0, NULL, NULL));
    return fb_out(f, 1, fb_dense_compute(x), 0, NULL, NULL);
}

fb_status fb_i_nll_loss(fb_frame *f) { return fb_classes_infer(f, ((const struct fb_p_nll_loss_nd *)f->params)->reduction); }

fb_status fb_i_nll_loss_backward(fb_frame *f)
{
    const struct fb_p_nll_loss_backward *p = f->params;
    return fb_out(f, 0, (fb_dtype)f->in[0]->dtype, p->sizes.n, p->sizes.v, NULL);
}

/* ---- what the kernels share ---- */

fb_status fb_classes_open(fb_classes *c, int64_t ndim, const int64_t *sizes, fb_tensor *target, fb_tensor *weight, int64_t reduction,
                          int64_t ignore, fb_dtype compute)
{
    *c = (fb_classes){.batch = ndim == 1 ? 1 : sizes[0], .classes = sizes[ndim == 1 ? 0 : 1], .inner = 1, .reduction = reduction,
                      .ignore = ignore, .compute = compute};
    for (int64_t d = 2; d < ndim; d++) c->inner *= sizes[d];
    if (!(c->target = fb_contiguous_as(target, FB_I64)) || (weight && !(c->weight = fb_contiguous_as(weight, compute)))) return FB_FAIL;
    const int64_t *y = fb_ptr(c->target);
    for (int64_t i = 0; i < c->target->numel; i++)
        if ((y[i] < 0 || y[i] >= c->classes) && y[i] != ignore) return fb_fail(FB_EINDEX, "Target %lld is out of "
                                                                               "bounds.", (ll)y[i]);
    return FB_OK;
}

void fb_classes_close(fb_classes *c)
{
    fb_release(c->target);
    fb_release(c->weight);
}

static double weight_of(const fb_classes *c, int64_t target)
{
    if (target == c->ignore) return 0;
    if (!c->weight) return 1;
    return c->compute == FB_F64 ? ((const double *)fb_ptr(c->weight))[target] : (double)((const float *)fb_ptr(c->weight))[target];
}

fb_status fb_classes_reduce(fb_frame *f, const fb_classes *c, const void *losses)
{
    const int64_t n = c->target->numel, *y = n ? fb_ptr(c->target) : NULL;
    double sum = 0, total = 0;

    for (int64_t i = 0; i < n; i++) total += weight_of(c, y[i]);
    if (c->reduction == 0) {
        fb_tensor *out = fb_dense_out(f, 0, c->compute);
        if (out && n) memcpy(fb_ptr(out), losses, (size_t)(n * fb_itemsize(c->compute)));
        FB_TRY(fb_dense_end(f, 0, out, out ? FB_OK : FB_FAIL));
    } else {
        for (int64_t i = 0; i < n; i++) sum += c->compute == FB_F64 ? ((const double *)losses)[i] : (double)((const float *)losses)[i];
        FB_TRY(fb_fill_data(f->out[0], fb_float(c->reduction == 1 ? sum / total : sum)));
    }
    return fb_fill_data(f->out[1], fb_float(total));
}

fb_status fb_classes_factors(const fb_classes *c, fb_tensor *grad, fb_tensor *total, void *factor)
{
    const int64_t n = c->target->numel, *y = n ? fb_ptr(c->target) : NULL;
    fb_tensor *g = fb_contiguous_as(grad, FB_F64), *t = g ? fb_contiguous_as(total, FB_F64) : NULL;
    fb_status status = t ? FB_OK : FB_FAIL;

    if (t && n) {
        const double *from = fb_ptr(g), share = c->reduction == 1 ? 1 / *(const double *)fb_ptr(t) : 1;
        for (int64_t i = 0; i < n; i++) {
            const double w = weight_of(c, y[i]), v = w == 0 ? 0 : w * share * from[g->numel == 1 ? 0 : i];
            if (c->compute == FB_F64)
                ((double *)factor)[i] = v;
            else
                ((float *)factor)[i] = (float)v;
        }
    }
    fb_release(t);
    fb_release(g);
    return status;
}

/* ---- kernels ---- */

/* Where sample i's class lies among (batch, classes, inner). */
static int64_t place(const fb_classes *c, int64_t i, int64_t target) { return (i / c->inner * c->classes + target) * c->inner + i % c->inner; }

fb_status fb_k_nll_loss(fb_frame *f)
{
    const struct fb_p_nll_loss_nd *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    fb_tensor *x = NULL;
    fb_classes c = {.compute = compute};
    void *losses = NULL;
    fb_status status = FB_FAIL;

    if (fb_classes_open(&c, f->in[0]->ndim, f->in[0]->sizes, f->in[1], f->in[2], p->reduction, p->ignore_index, compute) == FB_OK &&
        (x = fb_dense_in(f->in[0], compute)) && (losses = fb_scratch(f, c.target->numel * fb_itemsize(compute)))) {
        const int64_t *y = fb_ptr(c.target);
        for (int64_t i = 0; i < c.target->numel; i++) {
            const double w = weight_of(&c, y[i]);
            const int64_t at = y[i] == c.ignore ? 0 : place(&c, i, y[i]);
            if (compute == FB_F64)
                ((double *)losses)[i] = y[i] == c.ignore ? 0 : -w * ((const double *)fb_ptr(x))[at];
            else
                ((float *)losses)[i] = y[i] == c.ignore ? 0 : (float)-w * ((const float *)fb_ptr(x))[at];
        }
        status = fb_classes_reduce(f, &c, losses);
    }
    fb_classes_close(&c);
    fb_release(x);
    return status;
}

fb_status fb_k_nll_loss_backward(fb_frame *f)
{
    const struct fb_p_nll_loss_backward *p = f->params;
    const fb_dtype compute = f->in[3]->dtype == FB_F64 ? FB_F64 : FB_F32;
    fb_tensor *out = NULL;
    fb_classes c = {.compute = compute};
    void *factor = NULL;
    fb_status status = FB_FAIL;

    if (fb_classes_open(&c, p->sizes.n, p->sizes.v, f->in[1], f->in[2], p->reduction, p->ignore_index, compute) == FB_OK &&
        (out = fb_dense_out(f, 0, compute)) && (factor = fb_scratch(f, c.target->numel * fb_itemsize(compute))) &&
        fb_classes_factors(&c, f->in[0], f->in[3], factor) == FB_OK) {
        const int64_t *y = fb_ptr(c.target);
        if (out->numel) memset(fb_ptr(out), 0, (size_t)(out->numel * fb_itemsize(compute)));
        for (int64_t i = 0; i < c.target->numel; i++) {
            if (y[i] == c.ignore) continue;
            if (compute == FB_F64)
                ((double *)fb_ptr(out))[place(&c, i, y[i])] = -((const double *)factor)[i];
            else
                ((float *)fb_ptr(out))[place(&c, i, y[i])] = -((const float *)factor)[i];
        }
        status = FB_OK;
    }
    fb_classes_close(&c);
    return fb_dense_end(f, 0, out, status);
}
