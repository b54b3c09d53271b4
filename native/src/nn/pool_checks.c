/* What users call: pooling over a fixed number of dimensions, checked with PyTorch's texts, then the generic operators. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
#include "runtime/frame.h"

static const fb_ints ones = {1, (const int64_t[]){1}};
static int64_t at(fb_ints list, int64_t d)
{
    return list.v[list.n == 1 ? 0 : d];
}

typedef struct windows {
    fb_ints kernel, stride, padding, dilation;
} windows;

static fb_status check_lengths(const char *op, int dims, const windows *w)
{
    static const char *const words[4] = {"", "one", "two", "three"};
    const struct {
        fb_ints list;
        const char *text;
        bool omit;
    } each[4] = {{w->kernel, "kernel_size must either be a single int, or a tuple of", false},
                 {w->stride, "stride must either be omitted, a single int, or a tuple of", true},
                 {w->padding, "padding must either be a single int, or a tuple of", false},
                 {w->dilation, "dilation must be either a single int, or a tuple of", false}};
    for (int i = 0; i < 4; i++)
        if (each[i].list.n != dims && each[i].list.n != 1 && !(each[i].omit && each[i].list.n <= 0))
            return fb_fail(FB_ERUNTIME, "%s: %s %s ints", op, each[i].text, words[dims]);
    return FB_OK;
}

/* The sizes computed from these, a product and sums, must stay within int64. */
static fb_status check_magnitude(int64_t k, int64_t stride, int64_t dil)
{
    if (k > INT32_MAX || stride > INT32_MAX || dil > INT32_MAX)
        return fb_fail(FB_ERUNTIME, "kernel_size, stride and dilation must be below 2**31, but got %lld, %lld and %lld",
                       (long long)k, (long long)stride, (long long)dil);
    return FB_OK;
}

static fb_status check_windows(int dims, const windows *w)
{
    for (int d = 0; d < dims; d++) {
        const int64_t k = at(w->kernel, d), stride = w->stride.n > 0 ? at(w->stride, d) : k,
                      pad = at(w->padding, d), dil = at(w->dilation, d);
        if (stride == 0) return fb_fail(FB_ERUNTIME, "stride should not be zero");
        if (k <= 0 || stride < 0)
            return fb_fail(FB_ERUNTIME, "%s should be greater than zero, but got %lld",
                           k <= 0 ? "kernel size" : "stride", (long long)(k <= 0 ? k : stride));
        FB_TRY(check_magnitude(k, stride, dil));
        if (pad < 0)
            return fb_fail(FB_ERUNTIME, "pad must be non-negative, but got pad: %lld", (long long)pad);
        if (dil <= 0) {
            if (dims == 2)
                return fb_fail(
                    FB_ERUNTIME,
                    "dilation should be greater than zero, but got dilationH: %lld dilationW: %lld",
                    (long long)at(w->dilation, 0), (long long)at(w->dilation, 1));
            return fb_fail(FB_ERUNTIME,
                           "dilation should be greater than zero, but got dilationT: %lld dilationH: %lld "
                           "dilationW: %lld",
                           (long long)at(w->dilation, 0), (long long)at(w->dilation, 1),
                           (long long)at(w->dilation, 2));
        }
        if (pad > ((k - 1) * dil + 1) / 2)
            return fb_fail(FB_ERUNTIME,
                           "pad should be at most half of effective kernel size, but got pad=%lld, "
                           "kernel_size=%lld and dilation=%lld",
                           (long long)pad, (long long)k, (long long)dil);
    }
    return FB_OK;
}

static fb_status check_input(const fb_tensor *x, int dims)
{
    if (x->ndim != dims + 1 && x->ndim != dims + 2)
        return fb_fail(FB_ESHAPE, "non-empty %dD or %dD (batch mode) tensor expected for input", dims + 1,
                       dims + 2);
    for (int i = x->ndim - dims - 1; i < x->ndim; i++)
        if (x->sizes[i] == 0)
            return fb_fail(FB_ESHAPE,
                           "Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for "
                           "input, but got:%s",
                           dims + 1, dims + 2, fb_shape_text(x->ndim, x->sizes));
    return FB_OK;
}

static fb_status check_1d(const fb_tensor *x, const windows *w)
{
    bool empty = false;
    for (int i = x->ndim == 3; i < x->ndim; i++) empty |= x->sizes[i] == 0;
    if ((x->ndim != 2 && x->ndim != 3) || empty)
        return fb_fail(FB_ESHAPE,
                       "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                       "input, but got:%s",
                       fb_shape_text(x->ndim, x->sizes));
    const int64_t k = at(w->kernel, 0), stride = w->stride.n > 0 ? at(w->stride, 0) : k,
                  pad = at(w->padding, 0), dil = at(w->dilation, 0);
    if (k <= 0)
        return fb_fail(FB_ERUNTIME, "max_pool1d() kernel_size must be greater than zero, but got %lld",
                       (long long)k);
    if (stride <= 0)
        return fb_fail(FB_ERUNTIME, "max_pool1d() stride must be greater than zero, but got %lld",
                       (long long)stride);
    if (pad < 0)
        return fb_fail(FB_ERUNTIME, "max_pool1d() padding must be non-negative, but got %lld",
                       (long long)pad);
    if (dil <= 0)
        return fb_fail(FB_ERUNTIME, "max_pool1d() dilation must be greater than zero, but got %lld",
                       (long long)dil);
    FB_TRY(check_magnitude(k, stride, dil));
    if (pad > k / 2)
        return fb_fail(FB_ERUNTIME,
                       "max_pool1d() padding should be at most half of kernel size, but got padding=%lld and "
                       "kernel_size=%lld",
                       (long long)pad, (long long)k);
    const int64_t room = x->sizes[x->ndim - 1] + 2 * pad - dil * (k - 1) - 1;
    if (room < 0)
        return fb_fail(FB_ESHAPE, "max_pool1d() Invalid computed output size: %lld",
                       (long long)(-((-room + stride - 1) / stride) + 1));
    return FB_OK;
}

static fb_status max_pool(fb_frame *f, int dims, const windows *w, bool ceil_mode)
{
    char name[] = "max_pool0d";
    fb_tensor *values = NULL, *indices = NULL;
    name[8] = (char)('0' + dims);
    FB_TRY(check_lengths(name, dims, w));
    if (dims == 1)
        FB_TRY(check_1d(f->in[0], w));
    else {
        FB_TRY(check_windows(dims, w));
        FB_TRY(check_input(f->in[0], dims));
    }
    FB_TRY(fb_max_pool(f->in[0], dims, w->kernel, w->stride, w->padding, w->dilation, ceil_mode, &values,
                       &indices));
    if (f->n_out == 1) {
        fb_release(indices);
        return fb_give(f, 0, values);
    }
    const fb_status status = fb_give(f, 0, values);
    if (status != FB_OK) fb_release(indices);
    return status == FB_OK ? fb_give(f, 1, indices) : status;
}

static fb_status avg_pool(fb_frame *f, int dims, const windows *w, bool ceil_mode, bool count_include_pad,
                          int64_t divisor)
{
    char name[] = "avg_pool0d";
    const fb_tensor *x = f->in[0];
    name[8] = (char)('0' + dims);
    if (dims == 1 && x->ndim != 2 && x->ndim != 3)
        return fb_fail(FB_ESHAPE,
                       "Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 'self' "
                       "(while checking arguments for avg_pool1d)",
                       (int)x->ndim);
    if (dims == 2 && x->ndim < 3)
        return fb_fail(FB_EINDEX, "Dimension out of range (expected to be in range of [-%d, %d], but got -3)",
                       (int)FB_MAX(x->ndim, 1), (int)FB_MAX(x->ndim, 1) - 1);
    FB_TRY(check_lengths(name, dims, w));
    if (divisor == 0) return fb_fail(FB_ERUNTIME, "divisor must be not zero");
    FB_TRY(check_windows(dims, w));
    FB_TRY(check_input(x, dims));
    if (dims == 3)
        for (int d = 0; d < 3; d++)
            if (x->sizes[x->ndim - 3 + d] + 2 * at(w->padding, d) < at(w->kernel, d))
                return fb_fail(FB_ESHAPE,
                               "input image (T: %lld H: %lld W: %lld) smaller than kernel size (kT: %lld kH: "
                               "%lld kW: %lld)",
                               (long long)x->sizes[x->ndim - 3], (long long)x->sizes[x->ndim - 2],
                               (long long)x->sizes[x->ndim - 1], (long long)at(w->kernel, 0),
                               (long long)at(w->kernel, 1), (long long)at(w->kernel, 2));
    return fb_give(
        f, 0,
        fb_avg_pool(f->in[0], dims, w->kernel, w->stride, w->padding, ceil_mode, count_include_pad, divisor));
}

static fb_status check_adaptive(const fb_tensor *x, int dims, fb_ints output, bool max)
{
    const char *name = max ? "adaptive_max_pool" : "adaptive_avg_pool";
    if (dims == 1) {
        if (x->ndim != 2 && x->ndim != 3)
            return fb_fail(FB_ESHAPE,
                           "Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 'self' "
                           "(while checking arguments for %s1d)",
                           (int)x->ndim, name);
    } else if (x->ndim != dims + 1 && x->ndim != dims + 2) {
        return fb_fail(FB_ESHAPE, "%s%dd(): Expected %dD or %dD tensor, but got%s %s", name, dims, dims + 1,
                       dims + 2, max ? ":" : "", fb_shape_text(x->ndim, x->sizes));
    }
    if (output.n != dims && output.n != 1)
        return fb_fail(FB_ERUNTIME, "%s%dd: output_size must be %d", name, dims, dims);
    for (int d = 0; d < dims; d++)
        if (at(output, d) < 0)
            return fb_fail(
                FB_ERUNTIME,
                "%s%dd: elements of output_size must be greater than or equal to 0 but received %s", name,
                dims, fb_shape_text(output.n, output.v));
    for (int i = x->ndim - dims; i < x->ndim; i++)
        if (x->sizes[i] == 0)
            return fb_fail(FB_ESHAPE,
                           "%s%dd(): Expected input to have non-zero size for non-batch dimensions, but "
                           "input has sizes %s with dimension %d "
                           "being empty",
                           name, dims, fb_shape_text(x->ndim, x->sizes), i);
    return FB_OK;
}

#define POOLS(D)                                                                                             \
    fb_status fb_c_max_pool##D##d(fb_frame *f)                                                               \
    {                                                                                                        \
        const struct fb_p_max_pool##D##d *p = f->params;                                                     \
        return max_pool(f, D, &(windows){p->kernel_size, p->stride, p->padding, p->dilation}, p->ceil_mode); \
    }                                                                                                        \
    fb_status fb_c_max_pool##D##d_with_indices(fb_frame *f)                                                  \
    {                                                                                                        \
        const struct fb_p_max_pool##D##d_with_indices *p = f->params;                                        \
        return max_pool(f, D, &(windows){p->kernel_size, p->stride, p->padding, p->dilation}, p->ceil_mode); \
    }                                                                                                        \
    fb_status fb_c_adaptive_avg_pool##D##d(fb_frame *f)                                                      \
    {                                                                                                        \
        const struct fb_p_adaptive_avg_pool##D##d *p = f->params;                                            \
        FB_TRY(check_adaptive(f->in[0], D, p->output_size, false));                                          \
        return fb_give(f, 0, fb_adaptive_avg_pool(f->in[0], D, p->output_size));                             \
    }                                                                                                        \
    fb_status fb_c_adaptive_max_pool##D##d(fb_frame *f)                                                      \
    {                                                                                                        \
        const struct fb_p_adaptive_max_pool##D##d *p = f->params;                                            \
        fb_tensor *values = NULL, *indices = NULL;                                                           \
        FB_TRY(check_adaptive(f->in[0], D, p->output_size, true));                                           \
        FB_TRY(fb_adaptive_max_pool(f->in[0], D, p->output_size, &values, &indices));                        \
        const fb_status status = fb_give(f, 0, values);                                                      \
        if (status != FB_OK) fb_release(indices);                                                            \
        return status == FB_OK ? fb_give(f, 1, indices) : status;                                            \
    }
POOLS(1)
POOLS(2)
POOLS(3)

fb_status fb_c_avg_pool1d(fb_frame *f)
{
    const struct fb_p_avg_pool1d *p = f->params;
    return avg_pool(f, 1, &(windows){p->kernel_size, p->stride, p->padding, ones}, p->ceil_mode,
                    p->count_include_pad, FB_ABSENT);
}
fb_status fb_c_avg_pool2d(fb_frame *f)
{
    const struct fb_p_avg_pool2d *p = f->params;
    return avg_pool(f, 2, &(windows){p->kernel_size, p->stride, p->padding, ones}, p->ceil_mode,
                    p->count_include_pad, p->divisor_override);
}
fb_status fb_c_avg_pool3d(fb_frame *f)
{
    const struct fb_p_avg_pool3d *p = f->params;
    return avg_pool(f, 3, &(windows){p->kernel_size, p->stride, p->padding, ones}, p->ceil_mode,
                    p->count_include_pad, p->divisor_override);
}

/* Values go back to where max_pool took them from; output_size counts the pooled dimensions only. */
static fb_status unpool(fb_frame *f, int dims, fb_ints output)
{
    const fb_tensor *x = f->in[0];
    int64_t sizes[FB_MAX_DIMS];
    if (output.n != dims)
        return fb_fail(FB_ERUNTIME,
                       "There should be exactly %s elements (%s) in output_size, but got %lld elements.",
                       dims == 2 ? "two" : "three", dims == 2 ? "height, width" : "depth, height, width",
                       (long long)output.n);
    if (x->ndim != dims + 1 && x->ndim != dims + 2)
        return fb_fail(
            FB_ESHAPE,
            "Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor with %d dimensions.",
            dims, dims + 1, dims + 2, (int)x->ndim);
    for (int i = 0; i < x->ndim; i++)
        sizes[i] = i < x->ndim - dims ? x->sizes[i] : output.v[i - (x->ndim - dims)];
    return fb_give(f, 0, fb_max_unpool(f->in[0], f->in[1], (fb_ints){x->ndim, sizes}, dims));
}
fb_status fb_c_max_unpool2d(fb_frame *f)
{
    return unpool(f, 2, ((const struct fb_p_max_unpool2d *)f->params)->output_size);
}
fb_status fb_c_max_unpool3d(fb_frame *f)
{
    return unpool(f, 3, ((const struct fb_p_max_unpool3d *)f->params)->output_size);
}
