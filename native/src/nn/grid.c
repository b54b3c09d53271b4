/* grid_sampler and affine_grid_generator (Jaderberg et al. 2015). */
#include "nn/terms.h"
#include "params.gen.h"
#include <math.h>

typedef long long ll;
enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct grid_job {
    const void *x, *grid, *g;
    void *y, *gx, *gg;
    int64_t batch, channels, size[3], area, points; /* size: depth (1 in two dimensions), height, width */
    int dims, mode, padding;
    bool align;
} grid_job;

#define T float
#define S f32
#include "nn/grid_body.h"
#undef T
#undef S
#define T double
#define S f64
#include "nn/grid_body.h"
#undef T
#undef S

static fb_status check_grid(const fb_tensor *x, const fb_tensor *grid, int64_t mode, int64_t padding)
{
    const char *xs = fb_shape_text(x->ndim, x->sizes), *gs = fb_shape_text(grid->ndim, grid->sizes);

    if (x->ndim < 2 || grid->ndim < 1 || x->sizes[0] != grid->sizes[0])
        return fb_fail(FB_ERUNTIME, "grid_sampler(): expected grid and input to have same batch size, but got "
                       "input with sizes %s and grid with sizes %s",
                       xs, gs);
    if (grid->sizes[grid->ndim - 1] != x->ndim - 2)
        return fb_fail(FB_ERUNTIME, "grid_sampler(): expected grid to have size %d in last dimension, but got "
                       "grid with sizes %s", (int)x->ndim - 2, gs);
    for (int d = 2; d < x->ndim; d++)
        if (!x->sizes[d])
            return fb_fail(FB_ERUNTIME, "grid_sampler(): expected input to have non-empty spatial dimensions, but "
                           "input has sizes %s with dimension %d "
                           "being empty", xs, d);
    if ((x->ndim != 4 && x->ndim != 5) || grid->ndim != x->ndim)
        return fb_fail(FB_ERUNTIME, "grid_sampler(): expected 4D or 5D input and grid with same number of "
                       "dimensions, but got input with sizes %s and "
                       "grid with sizes %s", xs, gs);
    if (x->ndim == 5 && mode == BICUBIC) return fb_fail(FB_ERUNTIME, "grid_sampler(): bicubic interpolation only "
                                                        "supports 4D input");
    if (mode < BILINEAR || mode > BICUBIC || padding < ZEROS || padding > REFLECTION)
        return fb_fail(FB_ERUNTIME, "grid_sampler(): interpolation_mode=%lld and padding_mode=%lld must be 0, 1 "
                       "or 2", (ll)mode, (ll)padding);
    if (!fb_is(FB_FLOATS, x->dtype))
        return fb_fail(FB_ENOTIMPL, "\"grid_sampler_2d_cpu_kernel_impl\" not implemented for '%s'", fb_dtype_label((fb_dtype)x->dtype));
    if (x->dtype != grid->dtype)
        return fb_fail(FB_ERUNTIME, "expected scalar type %s but found %s", fb_dtype_label((fb_dtype)x->dtype),
                       fb_dtype_label((fb_dtype)grid->dtype));
    return FB_OK;
}

fb_status fb_i_grid_sampler(fb_frame *f)
{
    const struct fb_p_grid_sampler *p = f->params;
    const fb_tensor *x = f->in[0], *grid = f->in[1];
    int64_t sizes[5];

    FB_TRY(check_grid(x, grid, p->interpolation_mode, p->padding_mode));
    sizes[0] = x->sizes[0], sizes[1] = x->sizes[1];
    for (int d = 2; d < x->ndim; d++) sizes[d] = grid->sizes[d - 1];
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim, sizes, NULL);
}

fb_status fb_i_grid_sampler_backward(fb_frame *f)
{
    const struct fb_p_grid_sampler_backward *p = f->params;
    const fb_tensor *x = f->in[1], *grid = f->in[2];
    const int64_t none = 0;

    FB_TRY(p->needs_input ? fb_out_like(f, 0, x, (fb_dtype)x->dtype) : fb_out(f, 0, (fb_dtype)x->dtype, 1, &none, NULL));
    return p->needs_grid ? fb_out_like(f, 1, grid, (fb_dtype)x->dtype) : fb_out(f, 1, (fb_dtype)x->dtype, 1, &none, NULL);
}

static void shape_job(grid_job *j, const fb_tensor *x, const fb_tensor *grid)
{
    j->dims = (int)x->ndim - 2;
    j->batch = x->sizes[0], j->channels = x->sizes[1];
    j->size[0] = j->dims == 3 ? x->sizes[2] : 1;
    j->size[1] = x->sizes[x->ndim - 2], j->size[2] = x->sizes[x->ndim - 1];
    j->area = j->size[0] * j->size[1] * j->size[2];
    j->points = 1;
    for (int d = 1; d < grid->ndim - 1; d++) j->points *= grid->sizes[d];
}

fb_status fb_k_grid_sampler(fb_frame *f)
{
    const struct fb_p_grid_sampler *p = f->params;
    fb_tensor *x = fb_contiguous_as(f->in[0], FB_NONE), *grid = x ? fb_contiguous_as(f->in[1], FB_NONE) : NULL;
    grid_job j = {.mode = (int)p->interpolation_mode, .padding = (int)p->padding_mode, .align = p->align_corners};

    if (grid && f->out[0]->numel) {
        shape_job(&j, x, grid);
        j.x = fb_ptr(x), j.grid = fb_ptr(grid), j.y = fb_ptr(f->out[0]);
        fb_parallel_range(j.batch * j.points, 60 + 12 * (double)j.channels, x->dtype == FB_F64 ? sample_points_f64 : sample_points_f32, &j);
    }
    const fb_status status = grid ? FB_OK : FB_FAIL;
    fb_release(grid);
    fb_release(x);
    return status;
}

fb_status fb_k_grid_sampler_backward(fb_frame *f)
{
    const struct fb_p_grid_sampler_backward *p = f->params;
    fb_tensor *g = fb_contiguous_as(f->in[0], FB_NONE), *x = g ? fb_contiguous_as(f->in[1], FB_NONE) : NULL;
    fb_tensor *grid = x ? fb_contiguous_as(f->in[2], FB_NONE) : NULL;
    grid_job j = {.mode = (int)p->interpolation_mode, .padding = (int)p->padding_mode, .align = p->align_corners};

    if (grid) {
        for (int i = 0; i < 2; i++)
            if (f->out[i]->numel) memset(fb_ptr(f->out[i]), 0, (size_t)(f->out[i]->numel * fb_itemsize((fb_dtype)f->out[i]->dtype)));
        shape_job(&j, x, grid);
        j.x = fb_ptr(x), j.grid = fb_ptr(grid), j.g = fb_ptr(g);
        j.gx = p->needs_input ? fb_ptr(f->out[0]) : NULL;
        j.gg = p->needs_grid ? fb_ptr(f->out[1]) : NULL;
        if (g->numel)
            fb_parallel_range(j.batch, (double)j.points * (80 + 25 * (double)j.channels),
                              x->dtype == FB_F64 ? sample_backward_f64 : sample_backward_f32, &j);
    }
    const fb_status status = grid ? FB_OK : FB_FAIL;
    fb_release(grid);
    fb_release(x);
    fb_release(g);
    return status;
}

/* ---- affine_grid_generator: (x, y, 1) of each place of the output times theta ---- */

static double coordinate(int64_t i, int64_t n, bool align)
{
    if (n <= 1) return 0;
    return align ? -1 + 2 * (double)i / (double)(n - 1) : (2 * (double)i + 1) / (double)n - 1;
}

static fb_tensor *base_grid(fb_ints size, bool align)
{
    const int64_t dims = size.n - 2, depth = dims == 3 ? size.v[2] : 1, height = size.v[size.n - 2], width = size.v[size.n - 1];
    const int64_t sizes[2] = {depth * height * width, dims + 1};
    fb_tensor *grid = fb_new(2, sizes, NULL, FB_F64, (fb_device){FB_CPU, 0});
    double *to = grid && grid->numel ? fb_ptr(grid) : NULL;

    for (int64_t z = 0; to && z < depth; z++)
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++, to += dims + 1) {
                to[0] = coordinate(x, width, align);
                to[1] = coordinate(y, height, align);
                if (dims == 3) to[2] = coordinate(z, depth, align);
                to[dims] = 1;
            }
    return grid;
}

fb_status fb_c_affine_grid_generator(fb_frame *f)
{
    const struct fb_p_affine_grid_generator *p = f->params;
    fb_tensor *theta = f->in[0];
    const int64_t dims = p->size.n - 2;
    int64_t sizes[5], count;
    fb_terms t = {.n = 0};

    if (dims != 2 && dims != 3) return fb_fail(FB_ERUNTIME, "AffineGridGenerator needs 4d (spatial) or 5d "
                                               "(volumetric) inputs.");
    FB_TRY(fb_count(p->size.n, p->size.v, &count));
    if (theta->ndim < 3) return fb_wrap_dim(2, theta->ndim, &count);
    if (theta->ndim > 3)
        return fb_fail(FB_ERUNTIME, "affine_grid_generator(): theta has shape %s, not (n, %lld, %lld)", fb_shape_text(theta->ndim, theta->sizes),
                       (ll)dims, (ll)dims + 1);
    if (theta->sizes[0] != p->size.v[0] || theta->sizes[1] != dims || theta->sizes[2] != dims + 1)
        return fb_fail(FB_ERUNTIME, "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] "
                       "but got: [%lld, %lld].", (ll)p->size.v[0],
                       (ll)(dims + 1), (ll)theta->sizes[0], (ll)theta->sizes[2]);
    fb_tensor *base = fb_keep(&t, base_grid(p->size, p->align_corners));
    if (base && base->dtype != theta->dtype) base = fb_keep(&t, fb_to_copy(base, (fb_dtype)theta->dtype, FB_ABSENT));
    fb_tensor *turned = fb_none(&t, base) ? NULL : fb_keep(&t, fb_transpose(theta, 1, 2));
    fb_tensor *grid = fb_none(&t, turned) ? NULL : fb_keep(&t, fb_matmul(base, turned));
    sizes[0] = p->size.v[0];
    for (int64_t d = 0; d < dims; d++) sizes[1 + d] = p->size.v[2 + d];
    sizes[1 + dims] = dims;
    return fb_give(f, 0, fb_terms_end(&t, fb_shaped(&t, grid, dims + 2, sizes)));
}
