/* Normalizations: checks with PyTorch's texts, shapes, and what batch_norm does around its kernel. */
#include "autograd/autograd.h"
#include "flambeau/ops.gen.h"
#include "nn/dense.h"
#include "params.gen.h"

typedef long long ll;

/* ---- rows ---- */

static fb_status check_rows(const fb_tensor *x, fb_ints shape, const fb_tensor *weight, const fb_tensor *bias, const char *star)
{
    bool fits = shape.n <= x->ndim;

    if (shape.n < 1)
        return fb_fail(FB_ESHAPE, "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
                       "least one element, but got "
                       "normalized_shape = %s", fb_shape_text(shape.n, shape.v));
    for (int i = 0; i < 2; i++) {
        const fb_tensor *t = i ? bias : weight;
        if (t && (t->ndim != shape.n || memcmp(t->sizes, shape.v, (size_t)shape.n * sizeof *shape.v)))
            return fb_fail(FB_ESHAPE, "Expected %s to be of same shape as normalized_shape, but got %s of shape "
                           "%s and normalized_shape = %s",
                           i ? "bias" : "weight", i ? "bias" : "weight", fb_shape_text(t->ndim, t->sizes), fb_shape_text(shape.n, shape.v));
    }
    for (int64_t i = 0; i < shape.n && fits; i++) fits = x->sizes[x->ndim - shape.n + i] == shape.v[i];
    if (!fits) {
        const char *text = fb_shape_text(shape.n, shape.v);
        return fb_fail(FB_ESHAPE, "Given normalized_shape=%s, expected input with shape [*%s%s, but got input of "
                       "size%s", text, star, text + 1,
                       fb_shape_text(x->ndim, x->sizes));
    }
    return FB_OK;
}

static fb_status check_float(const fb_tensor *x, const char *name)
{
    if (fb_is(FB_FLOATS, x->dtype)) return FB_OK;
    return fb_fail(FB_ENOTIMPL, "\"%s\" not implemented for '%s'", name, fb_dtype_label((fb_dtype)x->dtype));
}

/* Parameters have the input's dtype, or are float32 for half data. */
static fb_status check_mixed(const fb_tensor *x, const fb_tensor *t)
{
    if (!t || t->dtype == x->dtype || (fb_is(FB_HALVES, x->dtype) && t->dtype == FB_F32)) return FB_OK;
    return fb_fail(FB_EDTYPE, fb_is_float(t->dtype) && x->dtype != FB_F64 ? "mixed dtype (CPU): expect parameter "
                   "to have scalar type of Float"
                                                                          : "mixed dtype (CPU): all inputs must "
                                                                          "share same datatype.");
}

/* One number for each row. */
static fb_status stat_out(fb_frame *f, int i, const fb_tensor *x, int64_t dims)
{
    int64_t sizes[FB_MAX_DIMS];

    for (int d = 0; d < x->ndim; d++) sizes[d] = d < x->ndim - dims ? x->sizes[d] : 1;
    return fb_out(f, i, fb_dense_compute(x), x->ndim, sizes, NULL);
}

static fb_status layer_norm_shapes(fb_frame *f, fb_ints shape)
{
    const fb_tensor *x = f->in[0];

    FB_TRY(check_rows(x, shape, f->in[1], f->in[2], ", "));
    FB_TRY(check_float(x, "LayerNormKernelImpl"));
    FB_TRY(check_mixed(x, f->in[1]));
    FB_TRY(check_mixed(x, f->in[2]));
    FB_TRY(fb_out_like(f, 0, x, (fb_dtype)x->dtype));
    FB_TRY(stat_out(f, 1, x, shape.n));
    return stat_out(f, 2, x, shape.n);
}
fb_status fb_i_layer_norm(fb_frame *f) { return layer_norm_shapes(f, ((const struct fb_p_layer_norm *)f->params)->normalized_shape); }
fb_status fb_i_native_layer_norm(fb_frame *f) { return layer_norm_shapes(f, ((const struct fb_p_native_layer_norm *)f->params)->normalized_shape); }

fb_status fb_i_rms_norm(fb_frame *f)
{
    const struct fb_p_rms_norm_rows *p = f->params;

    FB_TRY(fb_out_like(f, 0, f->in[0], (fb_dtype)f->in[0]->dtype));
    return stat_out(f, 1, f->in[0], p->dims);
}

fb_status fb_c_rms_norm(fb_frame *f)
{
    const struct fb_p_rms_norm *p = f->params;
    fb_tensor *x = f->in[0], *w = f->in[1], *y = NULL, *rstd = NULL;
    const double eps = p->eps.kind != FB_S_NONE ? fb_scalar_double(p->eps) : x->dtype == FB_F64 ? 0x1p-52 : 0x1p-23;

    FB_TRY(check_rows(x, p->normalized_shape, w, NULL, ""));
    FB_TRY(check_float(x, "rms_norm"));
    if (w && w->dtype != x->dtype) { /* the product has the dtype of both */
        FB_TRY(fb_rms_norm_rows(x, NULL, p->normalized_shape.n, eps, &y, &rstd));
        fb_tensor *product = fb_mul(y, w), *cast = product ? fb_to_copy(product, (fb_dtype)x->dtype, FB_ABSENT) : NULL;
        fb_release(product);
        fb_release(y);
        y = cast;
    } else {
        FB_TRY(fb_rms_norm_rows(x, w, p->normalized_shape.n, eps, &y, &rstd));
    }
    fb_release(rstd);
    return fb_give(f, 0, y);
}

static fb_status empty_out(fb_frame *f, int i, fb_dtype dtype)
{
    const int64_t none = 0;
    return fb_out(f, i, dtype, 1, &none, NULL);
}

fb_status fb_i_norm_rows_backward(fb_frame *f)
{
    const struct fb_p_norm_rows_backward *p = f->params;
    const fb_tensor *x = f->in[1], *w = f->in[4];
    const fb_dtype dtype = (fb_dtype)(w ? w->dtype : x->dtype);
    const int64_t skip = x->ndim - p->dims;

    FB_TRY(p->needs_input ? fb_out_like(f, 0, x, (fb_dtype)x->dtype) : empty_out(f, 0, (fb_dtype)x->dtype));
    FB_TRY(p->needs_weight ? fb_out(f, 1, dtype, p->dims, x->sizes + skip, NULL) : empty_out(f, 1, dtype));
    return p->needs_bias ? fb_out(f, 2, dtype, p->dims, x->sizes + skip, NULL) : empty_out(f, 2, dtype);
}

/* ---- channels ---- */

static fb_status need_channels(const fb_tensor *x)
{
    if (x->ndim >= 2) return FB_OK;
    int64_t d;
    if (x->ndim == 0) return fb_wrap_dim(1, 0, &d);
    return fb_wrap_dim(1, x->ndim, &d);
}

fb_status fb_i_group_norm(fb_frame *f)
{
    const struct fb_p_group_norm_core *p = f->params;
    const fb_tensor *x = f->in[0];
    const int64_t stats[2] = {x->sizes[0], p->num_groups};

    FB_TRY(check_float(x, "GroupNormKernelImpl"));
    FB_TRY(check_mixed(x, f->in[1]));
    FB_TRY(check_mixed(x, f->in[2]));
    FB_TRY(fb_out_like(f, 0, x, (fb_dtype)x->dtype));
    FB_TRY(fb_out(f, 1, fb_dense_compute(x), 2, stats, NULL));
    return fb_out(f, 2, fb_dense_compute(x), 2, stats, NULL);
}

static fb_status check_groups(const fb_tensor *x, int64_t groups, const fb_tensor *weight, const fb_tensor *bias)
{
    const char *shape = fb_shape_text(x->ndim, x->sizes);

    FB_TRY(need_channels(x));
    if (groups <= 0) return fb_fail(FB_ERUNTIME, "Expected num groups to be greater than 0, got %lld", (ll)groups);
    if (x->sizes[1] % groups)
        return fb_fail(FB_ESHAPE, "Expected number of channels in input to be divisible by num_groups, but got "
                       "input of shape %s and num_groups=%lld",
                       shape, (ll)groups);
    for (int i = 0; i < 2; i++) {
        const fb_tensor *t = i ? bias : weight;
        if (t && (t->ndim != 1 || t->numel != x->sizes[1]))
            return fb_fail(FB_ESHAPE, "Expected %s to be a vector of size equal to the number of channels in "
                           "input, but got %s of shape %s and "
                           "input of shape %s", i ? "bias" : "weight", i ? "bias" : "weight", fb_shape_text(t->ndim, t->sizes), shape);
    }
    return FB_OK;
}

fb_status fb_c_group_norm(fb_frame *f)
{
    const struct fb_p_group_norm *p = f->params;
    fb_tensor *y = NULL, *mean = NULL, *rstd = NULL;

    FB_TRY(check_groups(f->in[0], p->num_groups, f->in[1], f->in[2]));
    FB_TRY(fb_group_norm_core(f->in[0], f->in[1], f->in[2], p->num_groups, p->eps, &y, &mean, &rstd));
    fb_release(mean);
    fb_release(rstd);
    return fb_give(f, 0, y);
}

fb_status fb_c_native_group_norm(fb_frame *f)
{
    const struct fb_p_native_group_norm *p = f->params;
    fb_tensor *y = NULL, *mean = NULL, *rstd = NULL;

    FB_TRY(check_groups(f->in[0], p->group, f->in[1], f->in[2]));
    FB_TRY(fb_group_norm_core(f->in[0], f->in[1], f->in[2], p->group, p->eps, &y, &mean, &rstd));
    f->out[0] = y, f->out[1] = mean, f->out[2] = rstd;
    return FB_OK;
}

fb_status fb_i_channels_backward(fb_frame *f)
{
    const struct fb_p_batch_norm_backward *b = f->params;
    const struct fb_p_group_norm_backward *g = f->params;
    const bool batch = f->op == &fb_op_batch_norm_backward;
    const fb_tensor *x = f->in[1], *w = f->in[4];
    const fb_dtype dtype = (fb_dtype)(w ? w->dtype : x->dtype);

    FB_TRY((batch ? b->needs_input : g->needs_input) ? fb_out_like(f, 0, x, (fb_dtype)x->dtype) : empty_out(f, 0, (fb_dtype)x->dtype));
    FB_TRY((batch ? b->needs_weight : g->needs_weight) ? fb_out(f, 1, dtype, 1, x->sizes + 1, NULL) : empty_out(f, 1, dtype));
    return (batch ? b->needs_bias : g->needs_bias) ? fb_out(f, 2, dtype, 1, x->sizes + 1, NULL) : empty_out(f, 2, dtype);
}

fb_status fb_i_batch_norm_train(fb_frame *f)
{
    const fb_tensor *x = f->in[0];

    FB_TRY(fb_out_like(f, 0, x, (fb_dtype)x->dtype));
    for (int i = 1; i < 4; i++) FB_TRY(fb_out(f, i, fb_dense_compute(x), 1, x->sizes + 1, NULL));
    return FB_OK;
}

fb_status fb_i_batch_norm_eval(fb_frame *f) { return fb_out_like(f, 0, f->in[0], (fb_dtype)f->in[0]->dtype); }

/* ---- batch_norm ---- */

typedef struct batch_args {
    fb_tensor *x, *weight, *bias, *mean, *var; /* mean, var: the running ones */
    bool training;
    double momentum, eps;
} batch_args;

static fb_status check_channels(const fb_tensor *t, const char *name, int64_t n)
{
    if (t && t->numel != n) return fb_fail(FB_ESHAPE, "%s should contain %lld elements not %lld", name, (ll)n, (ll)t->numel);
    return FB_OK;
}

static fb_status check_batch(const batch_args *a)
{
    static const char *const names[2] = {"running_mean", "running_var"};
    FB_TRY(need_channels(a->x));
    const int64_t n = a->x->sizes[1];

    for (int i = 0; i < 2; i++) {
        fb_tensor *t = i ? a->var : a->mean;
        if (!t && !a->training) return fb_fail(FB_ERUNTIME, "%s must be defined in evaluation mode", names[i]);
        FB_TRY(check_channels(t, names[i], n));
        if (t && fb_grad_enabled() && fb_tracked(t))
            return fb_fail(FB_ERUNTIME, "The function 'native_batch_norm' is not differentiable with respect to "
                           "argument '%s'. This input cannot "
                           "have requires_grad True.", names[i]);
    }
    FB_TRY(check_channels(a->weight, "weight", n));
    FB_TRY(check_channels(a->bias, "bias", n));
    FB_TRY(check_float(a->x, "batch_norm"));
    fb_tensor *const all[4] = {a->weight, a->bias, a->mean, a->var};
    for (int i = 0; i < 4; i++) FB_TRY(check_mixed(a->x, all[i]));
    return FB_OK;
}

/* running = (1 - momentum) * running + momentum * factor * batch, in place. */
static fb_status average(fb_tensor *running, const fb_tensor *batch, double momentum, double factor)
{
    const int64_t n = batch->numel, step = running->ndim ? running->strides[running->ndim - 1] : 1;
    const int64_t item = fb_itemsize((fb_dtype)running->dtype);
    char *to = fb_ptr(running);

    for (int64_t i = 0; i < n; i++) {
        char *at = to + i * step * item;
        const double value = batch->dtype == FB_F64 ? ((const double *)fb_ptr(batch))[i] : (double)((const float *)fb_ptr(batch))[i];
        const double old = fb_scalar_double(fb_scalar_load(at, (fb_dtype)running->dtype));
        fb_scalar_store(fb_float((1 - momentum) * old + momentum * factor * value), (fb_dtype)running->dtype, at);
    }
    return fb_bump_version(running);
}

/* The normalized batch; with mean and rstd (may be NULL: unwanted) what normalized it, in training. */
static fb_tensor *batch_norm(const batch_args *a, fb_tensor **mean, fb_tensor **rstd)
{
    fb_tensor *y = NULL, *m = NULL, *v = NULL, *s = NULL;

    if (!a->training) return fb_batch_norm_eval(a->x, a->mean, a->var, a->weight, a->bias, a->eps);
    if (fb_batch_norm_train(a->x, a->weight, a->bias, a->eps, &y, &v, &m, &s) != FB_OK) return NULL;
    if (a->x->numel && a->x->device.type != FB_META) {
        const double n = (double)(a->x->numel / a->x->sizes[1]);
        if ((a->mean && average(a->mean, m, a->momentum, 1) != FB_OK) || (a->var && average(a->var, v, a->momentum, n / (n - 1)) != FB_OK)) {
            fb_release(y);
            y = NULL;
        }
    }
    fb_release(v);
    if (y && mean) {
        *mean = m, *rstd = s;
        return y;
    }
    fb_release(m);
    fb_release(s);
    return y;
}

fb_status fb_c_batch_norm(fb_frame *f)
{
    const struct fb_p_batch_norm *p = f->params;
    const batch_args a = {f->in[0], f->in[1], f->in[2], f->in[3], f->in[4], p->training, p->momentum, p->eps};

    /* As in PyTorch, a vector of nothing passes; any other has no channels. */
    if (a.x->ndim == 1 && a.x->numel == 0) return fb_give(f, 0, fb_clone(a.x, FB_ABSENT));
    FB_TRY(check_batch(&a));
    return fb_give(f, 0, batch_norm(&a, NULL, NULL));
}

fb_status fb_c_native_batch_norm(fb_frame *f)
{
    const struct fb_p_native_batch_norm *p = f->params;
    const batch_args a = {f->in[0], f->in[1], f->in[2], f->in[3], f->in[4], p->training, p->momentum, p->eps};
    const int64_t none = 0;
    fb_tensor *mean = NULL, *rstd = NULL;

    FB_TRY(check_batch(&a));
    FB_TRY(fb_give(f, 0, batch_norm(&a, &mean, &rstd)));
    if (!a.training) {
        mean = fb_new(1, &none, NULL, fb_dense_compute(a.x), a.x->device);
        rstd = fb_new(1, &none, NULL, fb_dense_compute(a.x), a.x->device);
    }
    f->out[1] = mean, f->out[2] = rstd;
    return mean && rstd ? FB_OK : FB_FAIL;
}

/* ---- instance_norm: batch_norm of (1, n * channels, ...) ---- */

static fb_tensor *repeated(fb_tensor *t, int64_t n) { return t ? fb_repeat(t, (fb_ints){1, &n}) : NULL; }

/* Running statistics of a batch of samples: the mean over samples of what each would leave. */
static fb_status back_from_repeated(fb_tensor *running, fb_tensor *each, int64_t n)
{
    const int64_t sizes[2] = {n, running->numel}, zero = 0;
    fb_tensor *rows = fb_view(each, (fb_ints){2, sizes}), *mean = rows ? fb_mean(rows, (fb_ints){1, &zero}, false, FB_NONE) : NULL;
    fb_status status = mean ? fb_copy_data(running, mean) : FB_FAIL;

    fb_release(mean);
    fb_release(rows);
    return status == FB_OK ? fb_bump_version(running) : FB_FAIL;
}

fb_status fb_c_instance_norm(fb_frame *f)
{
    const struct fb_p_instance_norm *p = f->params;
    fb_tensor *x = f->in[0], *parts[5] = {NULL}, *y = NULL, *out = NULL;
    int64_t sizes[FB_MAX_DIMS];
    fb_status status = FB_FAIL;

    if (!p->use_input_stats && (!f->in[3] || !f->in[4]))
        return fb_fail(FB_ERUNTIME, "Expected running_mean and running_var to be defined when use_input_stats is "
                       "false");
    FB_TRY(need_channels(x));
    memcpy(sizes, x->sizes, (size_t)x->ndim * sizeof *sizes);
    const int64_t n = sizes[0];
    sizes[0] = 1;
    sizes[1] *= n;
    if (!(parts[0] = fb_reshape(x, (fb_ints){x->ndim, sizes}))) goto done;
    for (int i = 1; i < 5; i++)
        if (f->in[i] && !(parts[i] = repeated(f->in[i], n))) goto done;
    const batch_args a = {parts[0], parts[1], parts[2], parts[3], parts[4], p->use_input_stats, p->momentum, p->eps};
    if (check_batch(&a) != FB_OK || !(y = batch_norm(&a, NULL, NULL))) goto done;
    if (p->use_input_stats && x->device.type != FB_META)
        for (int i = 3; i < 5; i++)
            if (f->in[i] && back_from_repeated(f->in[i], parts[i], n) != FB_OK) goto done;
    out = fb_reshape(y, (fb_ints){x->ndim, x->sizes});
    status = FB_OK;
done:
    for (int i = 0; i < 5; i++) fb_release(parts[i]);
    fb_release(y);
    return status == FB_OK ? fb_give(f, 0, out) : FB_FAIL;
}

/* ---- (channels) against (n, channels, ...) ---- */

fb_status fb_c_channels_as(fb_frame *f)
{
    int64_t sizes[FB_MAX_DIMS], n = f->in[1]->ndim - 1;

    for (int64_t i = 1; i < n; i++) sizes[i] = 1;
    sizes[0] = f->in[0]->numel;
    return fb_give(f, 0, fb_reshape(f->in[0], (fb_ints){n, sizes}));
}

fb_status fb_c_channel_sums(fb_frame *f)
{
    int64_t dims[FB_MAX_DIMS], n = 0;

    for (int i = 0; i < f->in[0]->ndim; i++)
        if (i != 1) dims[n++] = i;
    return fb_give(f, 0, fb_sum(f->in[0], (fb_ints){n, dims}, false, FB_NONE));
}
