/* The operators of conv.toml: checks with PyTorch's texts, output sizes, and how tensors reach the kernels. */
#include "flambeau/ops.gen.h"
#include "nn/conv.h"
#include "nn/matmul.h"
#include "params.gen.h"
#include "runtime/frame.h"
#include <stdio.h>

typedef struct fb_p_convolution params;

static int64_t at(fb_ints list, int64_t d)
{
    return list.v[list.n == 1 ? 0 : d];
}

/* ---- shapes ---- */

static fb_status check_count(fb_ints list, int64_t dims, const char *name)
{
    if (list.n == dims || list.n == 1) return FB_OK;
    return fb_fail(FB_ESHAPE,
                   "expected %s to be a single integer value or a list of %lld values to match the "
                   "convolution dimensions, but got "
                   "%s=%s",
                   name, (long long)dims, name, fb_shape_text(list.n, list.v));
}

static const char *by_product(int64_t n, const int64_t *v, char text[96]) /* (5 x 7) */
{
    int used = snprintf(text, 96, "(");
    for (int64_t i = 0; i < n; i++)
        used += snprintf(text + used, (size_t)(96 - used), i ? " x %lld" : "%lld", (long long)v[i]);
    snprintf(text + used, (size_t)(96 - used), ")");
    return text;
}

static const char *by_name(const char *what, fb_ints list, int64_t dims,
                           char text[160]) /* stride_height: 1 stride_width: 1 */
{
    static const char *const names[3] = {"depth", "height", "width"};
    int used = 0;
    text[0] = 0;
    for (int64_t d = 0; d < dims; d++)
        used += snprintf(text + used, (size_t)(160 - used), "%s%s_%s: %lld", d ? " " : "", what,
                         names[d + 3 - dims], (long long)at(list, d));
    return text;
}

static fb_status check_parameters(const params *p, int64_t dims)
{
    FB_TRY(check_count(p->stride, dims, "stride"));
    FB_TRY(check_count(p->padding, dims, "padding"));
    FB_TRY(check_count(p->dilation, dims, "dilation"));
    FB_TRY(check_count(p->output_padding, dims, "output_padding"));
    for (int64_t d = 0; d < dims; d++) {
        if (at(p->padding, d) < 0) return fb_fail(FB_ERUNTIME, "negative padding is not supported");
        if (at(p->output_padding, d) < 0)
            return fb_fail(FB_ERUNTIME, "negative output_padding is not supported");
        if (at(p->stride, d) <= 0) return fb_fail(FB_ERUNTIME, "non-positive stride is not supported");
        if (at(p->dilation, d) <= 0)
            return fb_fail(FB_ERUNTIME, "dilation should be greater than zero, but got %s",
                           fb_shape_text(p->dilation.n, p->dilation.v));
        /* the sizes computed from these, sums of products with a size, must stay within int64 */
        if (FB_MAX(FB_MAX(at(p->padding, d), at(p->output_padding, d)),
                   FB_MAX(at(p->stride, d), at(p->dilation, d))) > INT32_MAX)
            return fb_fail(FB_ERUNTIME, "stride, padding, output_padding and dilation must be below 2**31, but got %lld, "
                           "%lld, %lld and %lld", (long long)at(p->stride, d), (long long)at(p->padding, d),
                           (long long)at(p->output_padding, d), (long long)at(p->dilation, d));
    }
    if (p->groups <= 0) return fb_fail(FB_ERUNTIME, "non-positive groups is not supported");
    return FB_OK;
}

static fb_status check_tensors(const params *p, const fb_tensor *x, const fb_tensor *w, const fb_tensor *bias)
{
    const char *shape = fb_shape_text(w->ndim, w->sizes);
    if (x->ndim != w->ndim)
        return fb_fail(FB_ESHAPE,
                       "Expected %d-dimensional input for %d-dimensional weight %s, but got %d-dimensional "
                       "input of size %s instead",
                       (int)w->ndim, (int)w->ndim, shape, (int)x->ndim, fb_shape_text(x->ndim, x->sizes));
    if (w->sizes[0] < p->groups)
        return fb_fail(FB_ESHAPE,
                       "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got "
                       "weight of size %s instead",
                       (long long)p->groups, (long long)p->groups, shape);
    if (w->sizes[0] % p->groups)
        return fb_fail(FB_ESHAPE,
                       "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got "
                       "weight of size [%s] instead",
                       (long long)p->groups, (long long)p->groups, shape);
    const int64_t channels = p->transposed ? w->sizes[0] : w->sizes[1] * p->groups;
    const int64_t out = p->transposed ? w->sizes[1] * p->groups : w->sizes[0];
    if (x->sizes[1] != channels)
        return fb_fail(FB_ESHAPE,
                       "Given %s=%lld, weight of size %s, expected input%s to have %lld channels, but got "
                       "%lld channels instead",
                       p->transposed ? "transposed" : "groups", (long long)(p->transposed ? 1 : p->groups),
                       shape, fb_shape_text(x->ndim, x->sizes), (long long)channels, (long long)x->sizes[1]);
    if (bias && (bias->ndim != 1 || bias->sizes[0] != out))
        return fb_fail(FB_ESHAPE,
                       "Given %sweight of size %s, expected bias to be 1-dimensional with %lld elements, but "
                       "got bias of size %s instead",
                       p->transposed ? "transposed=1, " : "", shape, (long long)out,
                       fb_shape_text(bias->ndim, bias->sizes));
    if (x->dtype != w->dtype)
        return fb_fail(FB_EDTYPE, "expected scalar type %s but found %s", fb_dtype_label((fb_dtype)x->dtype),
                       fb_dtype_label((fb_dtype)w->dtype));
    if (bias && bias->dtype != x->dtype)
        return fb_fail(FB_EDTYPE, "Input type (%s) and bias type (%s) should be the same",
                       fb_dtype_c_name(x->dtype), fb_dtype_c_name(bias->dtype));
    return FB_OK;
}

static fb_status output_sizes(const params *p, const fb_tensor *x, const fb_tensor *w, int64_t *sizes)
{
    const int64_t dims = w->ndim - 2;
    int64_t padded[3];
    char a[160], b[160], c[160];
    bool fits = true;
    sizes[0] = x->sizes[0];
    sizes[1] = p->transposed ? w->sizes[1] * p->groups : w->sizes[0];
    for (int64_t d = 0; d < dims; d++) {
        const int64_t k = w->sizes[2 + d], reach = at(p->dilation, d) * (k - 1) + 1, in = x->sizes[2 + d];
        if (k <= 0)
            return fb_fail(FB_ESHAPE, "kernel size should be greater than zero, but got %s",
                           by_name("kernel", (fb_ints){dims, w->sizes + 2}, dims, a));
        padded[d] = in + 2 * at(p->padding, d);
        if (p->transposed) {
            if (at(p->output_padding, d) >= at(p->stride, d) &&
                at(p->output_padding, d) >= at(p->dilation, d))
                return fb_fail(
                    FB_ESHAPE,
                    "output padding must be smaller than either stride or dilation, but got %s %s %s",
                    by_name("output_padding", p->output_padding, dims, a),
                    by_name("stride", p->stride, dims, b), by_name("dilation", p->dilation, dims, c));
            sizes[2 + d] =
                (in - 1) * at(p->stride, d) - 2 * at(p->padding, d) + reach + at(p->output_padding, d);
        } else {
            fits &= padded[d] >= reach;
            sizes[2 + d] = (padded[d] - reach) / at(p->stride, d) + 1;
        }
    }
    if (!fits) {
        int64_t kernel[3];
        for (int64_t d = 0; d < dims; d++) kernel[d] = at(p->dilation, d) * (w->sizes[2 + d] - 1) + 1;
        return fb_fail(FB_ESHAPE,
                       "Calculated padded input size per channel: %s. Kernel size: %s. Kernel size can't be "
                       "greater than actual input size",
                       by_product(dims, padded, a), by_product(dims, kernel, b));
    }
    for (int64_t d = 0; d < dims; d++)
        if (sizes[2 + d] < 1)
            return fb_fail(FB_ESHAPE,
                           "Given input size per channel: %s. Calculated output size per channel: %s. Output "
                           "size is too small",
                           by_product(dims, x->sizes + 2, a), by_product(dims, sizes + 2, b));
    return FB_OK;
}

fb_status fb_i_convolution(fb_frame *f)
{
    const params *p = f->params;
    const fb_tensor *x = f->in[0], *w = f->in[1];
    int64_t sizes[5];
    if (w->ndim < 3 || w->ndim > 5)
        return fb_fail(FB_ESHAPE,
                       "weight should have at least three dimensions and at most five, but has shape %s",
                       fb_shape_text(w->ndim, w->sizes));
    FB_TRY(check_parameters(p, w->ndim - 2));
    FB_TRY(check_tensors(p, x, w, f->in[2]));
    FB_TRY(output_sizes(p, x, w, sizes));
    FB_TRY(fb_out(f, 0, (fb_dtype)x->dtype, x->ndim, sizes, NULL));
    const int64_t rows = w->sizes[0] ? w->numel / w->sizes[0] : 0;
    f->cost = 500 + (double)(p->transposed ? x->numel : f->out[0]->numel) * (double)rows / 40;
    return FB_OK;
}

/* conv_input_grad and conv_weight_grad: the size asked for. */
fb_status fb_i_conv_grad(fb_frame *f)
{
    const struct fb_p_conv_input_grad *p = f->params;
    const fb_tensor *g = f->in[0], *other = f->in[1];
    if (g->ndim < 3 || g->ndim > 5 || other->ndim != g->ndim || p->size.n != g->ndim)
        return fb_fail(FB_ESHAPE,
                       "%s: expected grad_output, its operand and size to have the same 3 to 5 dimensions, "
                       "but got %s, %s and %s",
                       f->op->name, fb_shape_text(g->ndim, g->sizes),
                       fb_shape_text(other->ndim, other->sizes), fb_shape_text(p->size.n, p->size.v));
    if (g->dtype != other->dtype)
        return fb_fail(FB_EDTYPE, "expected scalar type %s but found %s", fb_dtype_label((fb_dtype)g->dtype),
                       fb_dtype_label((fb_dtype)other->dtype));
    f->cost = 500 + (double)g->numel * (double)other->numel / (double)FB_MAX(other->sizes[0], 1) / 40;
    return fb_out(f, 0, (fb_dtype)g->dtype, g->ndim, p->size.v, NULL);
}

/* ---- kernels ---- */

typedef struct geometry {
    fb_ints stride, padding, dilation;
    int64_t groups;
} geometry;

static fb_conv describe(fb_dtype dtype, const geometry *p, int64_t ndim, const int64_t *big,
                        const int64_t *small, const int64_t *weight)
{
    fb_conv c = {
        .dtype = dtype, .n = big[0], .groups = p->groups, .ic = weight[1], .oc = weight[0] / p->groups};
    for (int64_t d = 0; d < 3; d++) {
        const int64_t i = d - (5 - ndim);
        c.in[d] = i < 0 ? 1 : big[2 + i];
        c.out[d] = i < 0 ? 1 : small[2 + i];
        c.k[d] = i < 0 ? 1 : weight[2 + i];
        c.stride[d] = i < 0 ? 1 : at(p->stride, i);
        c.pad[d] = i < 0 ? 0 : at(p->padding, i);
        c.dil[d] = i < 0 ? 1 : at(p->dilation, i);
    }
    return c;
}

/* Shapes that gradients got from outside must belong together before a kernel believes them. */
static fb_status check_geometry(const fb_conv *c, const char *op, int64_t ndim, const int64_t *big,
                                const int64_t *small)
{
    bool fits =
        big[0] == small[0] && big[1] == c->groups * c->ic && small[1] == c->groups * c->oc && c->groups > 0;
    for (int d = 0; d < 3 && fits; d++) {
        const int64_t room = c->in[d] + 2 * c->pad[d] - c->dil[d] * (c->k[d] - 1) - 1;
        fits = c->stride[d] > 0 && c->dil[d] > 0 && c->pad[d] >= 0 && c->k[d] > 0 && room >= 0 &&
               c->out[d] <= room / c->stride[d] + 1;
    }
    return fits ? FB_OK
                : fb_fail(FB_ESHAPE, "%s: sizes %s and %s do not belong to one convolution", op,
                          fb_shape_text(ndim, big), fb_shape_text(ndim, small));
}

static fb_status run(fb_frame *f, const geometry *p, fb_conv_wanted wanted, const fb_tensor *big,
                     const fb_tensor *small, const fb_tensor *weight, fb_tensor *bias)
{
    const int64_t nd = big->ndim;
    const fb_tensor *three[3] = {[FB_CONV_BIG] = big, [FB_CONV_SMALL] = small, [FB_CONV_WEIGHT] = weight};
    const fb_dtype given = (fb_dtype)big->dtype,
                   dtype = fb_is_integral(given) ? FB_F64 : given; /* integers: exact to 2^53 */
    const fb_conv c = describe(dtype, p, nd, big->sizes, small->sizes, weight->sizes);
    FB_TRY(check_geometry(&c, f->op->name, nd, big->sizes, small->sizes));
    fb_tensor *use[3] = {NULL, NULL, NULL}, *add = NULL;
    fb_status status = FB_OK;
    for (int i = 0; i < 3 && status == FB_OK; i++) {
        if (i == (int)wanted)
            use[i] = dtype == given ? fb_retain(f->out[0])
                                    : fb_new(three[i]->ndim, three[i]->sizes, NULL, dtype, three[i]->device);
        else
            use[i] = fb_contiguous_as((fb_tensor *)three[i], dtype);
        if (!use[i]) status = FB_FAIL;
    }
    if (status == FB_OK && bias && !(add = fb_contiguous_as(bias, dtype))) status = FB_FAIL;
    if (status == FB_OK)
        status = fb_conv_run(&c, wanted, fb_ptr(use[FB_CONV_BIG]), fb_ptr(use[FB_CONV_SMALL]),
                             fb_ptr(use[FB_CONV_WEIGHT]), add ? fb_ptr(add) : NULL);
    if (status == FB_OK && dtype != given) status = fb_copy_data(f->out[0], use[wanted]);
    for (int i = 0; i < 3; i++) fb_release(use[i]);
    fb_release(add);
    return status;
}

fb_status fb_k_convolution(fb_frame *f)
{
    const params *p = f->params;
    const geometry g = {p->stride, p->padding, p->dilation, p->groups};
    return p->transposed ? run(f, &g, FB_CONV_BIG, f->out[0], f->in[0], f->in[1], f->in[2])
                         : run(f, &g, FB_CONV_SMALL, f->in[0], f->out[0], f->in[1], f->in[2]);
}

fb_status fb_k_conv_input_grad(fb_frame *f)
{
    const struct fb_p_conv_input_grad *p = f->params;
    const geometry g = {p->stride, p->padding, p->dilation, p->groups};
    return p->transposed ? run(f, &g, FB_CONV_SMALL, f->in[0], f->out[0], f->in[1], NULL)
                         : run(f, &g, FB_CONV_BIG, f->out[0], f->in[0], f->in[1], NULL);
}

fb_status fb_k_conv_weight_grad(fb_frame *f)
{
    const struct fb_p_conv_weight_grad *p = f->params;
    const geometry g = {p->stride, p->padding, p->dilation, p->groups};
    return p->transposed ? run(f, &g, FB_CONV_WEIGHT, f->in[0], f->in[1], f->out[0], NULL)
                         : run(f, &g, FB_CONV_WEIGHT, f->in[1], f->in[0], f->out[0], NULL);
}

/* ---- conv1d .. conv_transpose3d ---- */

static fb_status convolve(fb_frame *f, int dims, fb_ints stride, fb_ints padding, fb_ints dilation,
                          bool transposed, fb_ints output_padding, int64_t groups)
{
    fb_tensor *x = f->in[0];
    const bool single = x->ndim == dims + 1;
    if (!single && x->ndim != dims + 2)
        return fb_fail(FB_ESHAPE,
                       "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s",
                       dims + 1, dims + 2, f->op->name, fb_shape_text(x->ndim, x->sizes));
    fb_tensor *batch = single ? fb_unsqueeze(x, 0) : fb_retain(x);
    fb_tensor *y = batch ? fb_convolution(batch, f->in[1], f->in[2], stride, padding, dilation, transposed,
                                          output_padding, groups)
                         : NULL;
    fb_release(batch);
    if (y && single) {
        fb_tensor *one = fb_select(y, 0, 0);
        fb_release(y);
        y = one;
    }
    return fb_give(f, 0, y);
}

#define CONV(D)                                                                                              \
    fb_status fb_c_conv##D##d(fb_frame *f)                                                                   \
    {                                                                                                        \
        const struct fb_p_conv##D##d *p = f->params;                                                         \
        return convolve(f, D, p->stride, p->padding, p->dilation, false, (fb_ints){1, (const int64_t[]){0}}, \
                        p->groups);                                                                          \
    }                                                                                                        \
    fb_status fb_c_conv_transpose##D##d(fb_frame *f)                                                         \
    {                                                                                                        \
        const struct fb_p_conv_transpose##D##d *p = f->params;                                               \
        return convolve(f, D, p->stride, p->padding, p->dilation, true, p->output_padding, p->groups);       \
    }
CONV(1)
CONV(2)
CONV(3)
