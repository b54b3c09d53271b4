/* im2col and its adjoint col2im: the blocks that a kernel sliding over two dimensions sees. */
#include "flambeau/ops.gen.h"
#include "index/index.h"

typedef long long ll;

typedef struct blocks {
    int64_t batch, channels, size[2], kernel[2], dilation[2], padding[2], stride[2], out[2];
} blocks;

static fb_status two(fb_ints v, const char *name, int64_t to[2])
{
    if (v.n != 2) return fb_fail(FB_ERUNTIME, "It is expected %s equals to 2, but got size %lld", name, (ll)v.n);
    to[0] = v.v[0], to[1] = v.v[1];
    return FB_OK;
}

static fb_status read_blocks(blocks *b, fb_ints kernel, fb_ints dilation, fb_ints padding, fb_ints stride)
{
    FB_TRY(two(kernel, "kernel_size", b->kernel));
    FB_TRY(two(dilation, "dilation", b->dilation));
    FB_TRY(two(padding, "padding", b->padding));
    FB_TRY(two(stride, "stride", b->stride));
    if (b->kernel[0] <= 0 || b->kernel[1] <= 0)
        return fb_fail(FB_ERUNTIME, "kernel size should be greater than zero, but got kernel_height: %lld "
                       "kernel_width: %lld", (ll)b->kernel[0],
                       (ll)b->kernel[1]);
    if (b->dilation[0] <= 0 || b->dilation[1] <= 0)
        return fb_fail(FB_ERUNTIME, "dilation should be greater than zero, but got dilation_height: %lld "
                       "dilation_width: %lld", (ll)b->dilation[0],
                       (ll)b->dilation[1]);
    if (b->padding[0] < 0 || b->padding[1] < 0)
        return fb_fail(FB_ERUNTIME, "padding should be non-negative, but got pad_height: %lld pad_width: %lld", (ll)b->padding[0], (ll)b->padding[1]);
    if (b->stride[0] <= 0 || b->stride[1] <= 0)
        return fb_fail(FB_ERUNTIME, "stride should be greater than zero, but got stride_height: %lld "
                       "stride_width: %lld", (ll)b->stride[0],
                       (ll)b->stride[1]);
    for (int d = 0; d < 2; d++) /* the sizes computed from these must stay within int64 */
        if (FB_MAX(FB_MAX(b->kernel[d], b->dilation[d]), FB_MAX(b->padding[d], b->stride[d])) > INT32_MAX)
            return fb_fail(FB_ERUNTIME, "kernel_size, dilation, padding and stride must be below 2**31, but got %lld, %lld, %lld and %lld",
                           (ll)b->kernel[d], (ll)b->dilation[d], (ll)b->padding[d], (ll)b->stride[d]);
    return FB_OK;
}

static void count_blocks(blocks *b)
{
    for (int d = 0; d < 2; d++) {
        const int64_t room = b->size[d] + 2 * b->padding[d] - b->dilation[d] * (b->kernel[d] - 1) - 1;
        b->out[d] = room < 0 ? (room - b->stride[d] + 1) / b->stride[d] + 1 : room / b->stride[d] + 1;
    }
}

static fb_status im2col_blocks(const fb_frame *f, blocks *b)
{
    const struct fb_p_im2col *p = f->params;
    const fb_tensor *x = f->in[0];
    const int64_t lead = x->ndim - 3;
    int64_t d;

    FB_TRY(read_blocks(b, p->kernel_size, p->dilation, p->padding, p->stride));
    if (x->ndim < 3) return fb_wrap_dim(2, x->ndim, &d);
    if (x->ndim > 4 || x->sizes[lead] == 0 || x->sizes[lead + 1] == 0 || x->sizes[lead + 2] == 0)
        return fb_fail(FB_ERUNTIME, "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
                       "non-zero dimensions for input, but got: %s",
                       fb_shape_text(x->ndim, x->sizes));
    b->batch = lead ? x->sizes[0] : 1;
    b->channels = x->sizes[lead];
    b->size[0] = x->sizes[lead + 1], b->size[1] = x->sizes[lead + 2];
    count_blocks(b);
    if (b->out[0] < 1 || b->out[1] < 1)
        return fb_fail(FB_ERUNTIME, "Given input with spatial size (%lld, %lld), kernel_size=(%lld, %lld), "
                       "dilation=(%lld, %lld), padding=(%lld, %lld), "
                       "calculated shape of the array of sliding blocks as (%lld, %lld), but its components must "
                       "be at least one.", (ll)b->size[0],
                       (ll)b->size[1], (ll)b->kernel[0], (ll)b->kernel[1], (ll)b->dilation[0], (ll)b->dilation[1], (ll)b->padding[0],
                       (ll)b->padding[1], (ll)b->out[0], (ll)b->out[1]);
    return FB_OK;
}

fb_status fb_i_im2col(fb_frame *f)
{
    const fb_tensor *x = f->in[0];
    blocks b;

    FB_TRY(im2col_blocks(f, &b));
    const int64_t sizes[3] = {b.batch, b.channels * b.kernel[0] * b.kernel[1], b.out[0] * b.out[1]};
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim - 1, x->ndim == 4 ? sizes : sizes + 1, NULL);
}

static fb_status col2im_blocks(const fb_frame *f, blocks *b)
{
    const struct fb_p_col2im *p = f->params;
    const fb_tensor *x = f->in[0];
    const int64_t lead = x->ndim - 2;

    FB_TRY(two(p->output_size, "output_size", b->size));
    FB_TRY(read_blocks(b, p->kernel_size, p->dilation, p->padding, p->stride));
    if (lead < 0 || lead > 1 || x->sizes[lead] == 0 || x->sizes[lead + 1] == 0)
        return fb_fail(FB_ERUNTIME, "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size "
                       "and non-zero dimensions for input, but got: "
                       "%s", fb_shape_text(x->ndim, x->sizes));
    const int64_t block = b->kernel[0] * b->kernel[1];
    if (x->sizes[lead] % block)
        return fb_fail(FB_ERUNTIME, "Expected size of input's dimension 1 to be divisible by the product of "
                       "kernel_size, but got input.size(1)=%lld and "
                       "kernel_size=(%lld, %lld).", (ll)x->sizes[lead], (ll)b->kernel[0], (ll)b->kernel[1]);
    count_blocks(b);
    b->batch = lead ? x->sizes[0] : 1;
    b->channels = x->sizes[lead] / block;
    if (x->sizes[lead + 1] != b->out[0] * b->out[1] || b->out[0] < 1 || b->out[1] < 1)
        return fb_fail(FB_ERUNTIME, "Given output_size=(%lld, %lld), kernel_size=(%lld, %lld), dilation=(%lld, "
                       "%lld), padding=(%lld, %lld), stride=(%lld, "
                       "%lld), expected size of input's dimension 2 to match the calculated number of sliding "
                       "blocks %lld * %lld = %lld, but got "
                       "input.size(2)=%lld.", (ll)b->size[0], (ll)b->size[1], (ll)b->kernel[0], (ll)b->kernel[1], (ll)b->dilation[0],
                       (ll)b->dilation[1], (ll)b->padding[0], (ll)b->padding[1], (ll)b->stride[0], (ll)b->stride[1], (ll)b->out[0], (ll)b->out[1],
                       (ll)(b->out[0] * b->out[1]), (ll)x->sizes[lead + 1]);
    return FB_OK;
}

fb_status fb_i_col2im(fb_frame *f)
{
    const fb_tensor *x = f->in[0];
    blocks b;

    FB_TRY(col2im_blocks(f, &b));
    const int64_t sizes[4] = {b.batch, b.channels, b.size[0], b.size[1]};
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim + 1, x->ndim == 3 ? sizes : sizes + 1, NULL);
}

/* Runs a statement for each row of blocks within the image: image element `at + ox * stride[1]` is column element `col + ox`, for ox in
 * [from, to). (n is an image of one channel, k the place in the kernel.) */
#define EACH_ROW(b, n, ...)                                                                                            \
    for (int64_t k = 0; k < (b)->kernel[0] * (b)->kernel[1]; k++) {                                                    \
        const int64_t x0 = k % (b)->kernel[1] * (b)->dilation[1] - (b)->padding[1], s = (b)->stride[1];                \
        const int64_t from = x0 < 0 ? FB_MIN((-x0 + s - 1) / s, (b)->out[1]) : 0;                                      \
        const int64_t room = (b)->size[1] - x0, to = FB_MAX(from, room <= 0 ? 0 : FB_MIN((room + s - 1) / s, (b)->out[1])); \
        for (int64_t oy = 0; oy < (b)->out[0]; oy++) {                                                                 \
            const int64_t y = k / (b)->kernel[1] * (b)->dilation[0] - (b)->padding[0] + oy * (b)->stride[0];           \
            const int64_t col = (((n) * (b)->kernel[0] * (b)->kernel[1] + k) * (b)->out[0] + oy) * (b)->out[1];        \
            const bool inside = y >= 0 && y < (b)->size[0];                                                            \
            const int64_t at = ((n) * (b)->size[0] + y) * (b)->size[1] + x0;                                           \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

typedef struct fold_job { blocks b; const void *from; void *to; int64_t item; } fold_job;

static void gather_images(void *ctx, int64_t begin, int64_t end)
{
    const fold_job *j = ctx;
    for (int64_t n = begin; n < end; n++)
        FB_BY_SIZE(j->item, T, {
            const T *image = j->from;
            EACH_ROW(&j->b, n, {
                T *out = (T *)j->to + col;
                if (!inside) {
                    memset(out, 0, (size_t)j->b.out[1] * sizeof *out);
                } else {
                    memset(out, 0, (size_t)from * sizeof *out);
                    for (int64_t ox = from; ox < to; ox++) out[ox] = image[at + ox * s];
                    memset(out + to, 0, (size_t)(j->b.out[1] - to) * sizeof *out);
                }
            })
        })
}

fb_status fb_k_im2col(fb_frame *f)
{
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE);
    fold_job j = {.item = fb_itemsize((fb_dtype)f->in[0]->dtype)};
    fb_status status = x ? im2col_blocks(f, &j.b) : FB_FAIL;

    if (status == FB_OK && f->out[0]->numel) {
        j.from = fb_ptr(x);
        j.to = fb_ptr(f->out[0]);
        fb_parallel_range(j.b.batch * j.b.channels, (double)f->out[0]->numel / (double)(j.b.batch * j.b.channels), gather_images, &j);
    }
    fb_release(x);
    return status;
}

typedef struct add_job { blocks b; const void *from; void *to; fb_dtype dtype; int64_t components; } add_job;

static void add_images(void *ctx, int64_t begin, int64_t end)
{
    const add_job *j = ctx;
    const int64_t c = j->components;

#define ADD(T)                                                                                                         \
    for (int64_t n = begin; n < end; n++)                                                                              \
        EACH_ROW(&j->b, n, {                                                                                           \
            const T *in = (const T *)j->from + col * c;                                                                \
            T *image = (T *)j->to + at * c;                                                                            \
            for (int64_t ox = from; ox < to && inside; ox++)                                                           \
                for (int64_t q = 0; q < c; q++) image[ox * s * c + q] += in[ox * c + q];                               \
        })
    if (j->dtype == FB_F64 || j->dtype == FB_C128) {
        ADD(double)
    } else if (j->dtype == FB_BOOL) {
        for (int64_t n = begin; n < end; n++)
            EACH_ROW(&j->b, n, {
                for (int64_t ox = from; ox < to && inside; ox++) ((uint8_t *)j->to)[at + ox * s] |= ((const uint8_t *)j->from)[col + ox];
            })
    } else {
        ADD(float)
    }
#undef ADD
}

fb_status fb_k_col2im(fb_frame *f)
{
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE), *out = f->out[0];
    add_job j = {.dtype = (fb_dtype)out->dtype, .components = fb_is_complex(out->dtype) ? 2 : 1};
    fb_status status = x ? col2im_blocks(f, &j.b) : FB_FAIL;

    if (status == FB_OK && out->numel) {
        memset(fb_ptr(out), 0, (size_t)(out->numel * fb_itemsize((fb_dtype)out->dtype)));
        j.from = fb_ptr(x);
        j.to = fb_ptr(out);
        fb_parallel_range(j.b.batch * j.b.channels, (double)x->numel / (double)(j.b.batch * j.b.channels), add_images, &j);
    }
    fb_release(x);
    return status;
}
