/* Shuffles of pixels and channels: made of views. */
#include "nn/terms.h"
#include "params.gen.h"

typedef long long ll;

static fb_tensor *permuted(fb_terms *t, fb_tensor *a, int64_t n, const int64_t *dims)
{
    return fb_none(t, a) ? NULL : fb_keep(t, fb_permute(a, (fb_ints){n, dims}));
}

/* The leading dimensions as one, then those of `split`; permuted by `order`; then `out` behind the leading dimensions. */
static fb_status rearrange(fb_frame *f, const int64_t split[5], const int64_t order[6], const int64_t out[3])
{
    fb_tensor *x = f->in[0];
    int64_t sizes[FB_MAX_DIMS], six[6] = {1};
    fb_terms t = {.n = 0};

    for (int d = 0; d < x->ndim - 3; d++) six[0] *= sizes[d] = x->sizes[d];
    memcpy(six + 1, split, 5 * sizeof *six);
    memcpy(sizes + x->ndim - 3, out, 3 * sizeof *sizes);
    fb_tensor *y = fb_shaped(&t, permuted(&t, fb_shaped(&t, x, 6, six), 6, order), x->ndim, sizes);
    return fb_give(f, 0, fb_terms_end(&t, y));
}

fb_status fb_c_pixel_shuffle(fb_frame *f)
{
    const int64_t r = ((const struct fb_p_pixel_shuffle *)f->params)->upscale_factor;
    const fb_tensor *x = f->in[0];

    if (x->ndim < 3) return fb_fail(FB_ERUNTIME, "pixel_shuffle expects input to have at least 3 dimensions, but "
                                    "got input with %d dimension(s)", (int)x->ndim);
    if (r <= 0) return fb_fail(FB_ERUNTIME, "pixel_shuffle expects a positive upscale_factor, but got %lld", (ll)r);
    const int64_t *s = x->sizes + x->ndim - 3;
    if (r > INT32_MAX || s[0] % (r * r))
        return fb_fail(FB_ERUNTIME, "pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                       "square of upscale_factor, but "
                       "input.size(-3)=%lld is not divisible by %lld", (ll)s[0], (ll)(r > INT32_MAX ? r : r * r));
    return rearrange(f, (const int64_t[]){s[0] / (r * r), r, r, s[1], s[2]}, (const int64_t[]){0, 1, 4, 2, 5, 3},
                     (const int64_t[]){s[0] / (r * r), s[1] * r, s[2] * r});
}

fb_status fb_c_pixel_unshuffle(fb_frame *f)
{
    const int64_t r = ((const struct fb_p_pixel_unshuffle *)f->params)->downscale_factor;
    const fb_tensor *x = f->in[0];

    if (x->ndim < 3)
        return fb_fail(FB_ERUNTIME, "pixel_unshuffle expects input to have at least 3 dimensions, but got input "
                       "with %d dimension(s)", (int)x->ndim);
    if (r <= 0) return fb_fail(FB_ERUNTIME, "pixel_unshuffle expects a positive downscale_factor, but got %lld", (ll)r);
    const int64_t *s = x->sizes + x->ndim - 3;
    for (int d = 1; d < 3; d++)
        if (s[d] % r)
            return fb_fail(FB_ERUNTIME, "pixel_unshuffle expects %s to be divisible by downscale_factor, but "
                           "input.size(-%d)=%lld is not divisible by %lld",
                           d == 1 ? "height" : "width", 3 - d, (ll)s[d], (ll)r);
    return rearrange(f, (const int64_t[]){s[0], s[1] / r, r, s[2] / r, r}, (const int64_t[]){0, 1, 3, 5, 2, 4},
                     (const int64_t[]){s[0] * r * r, s[1] / r, s[2] / r});
}

fb_status fb_c_channel_shuffle(fb_frame *f)
{
    const int64_t groups = ((const struct fb_p_channel_shuffle *)f->params)->groups;
    fb_tensor *x = f->in[0];
    fb_terms t = {.n = 0};

    if (x->ndim <= 2)
        return fb_fail(FB_ERUNTIME, "channel_shuffle expects input with > 2 dims, but got input with sizes %s", fb_shape_text(x->ndim, x->sizes));
    if (groups <= 0) return fb_fail(FB_ERUNTIME, "Number of groups to divide channels in must be positive. Value "
                                    "of groups:%lld", (ll)groups);
    if (x->sizes[1] % groups)
        return fb_fail(FB_ERUNTIME, "Number of channels must be divisible by groups. Got %lld channels and %lld "
                       "groups.", (ll)x->sizes[1], (ll)groups);
    int64_t inner = 1;
    for (int d = 2; d < x->ndim; d++) inner *= x->sizes[d];
    fb_tensor *y = fb_shaped(&t, x, 4, (const int64_t[]){x->sizes[0], groups, x->sizes[1] / groups, inner});
    y = fb_none(&t, y) ? NULL : fb_keep(&t, fb_transpose(y, 1, 2));
    return fb_give(f, 0, fb_terms_end(&t, fb_shaped(&t, y, x->ndim, x->sizes)));
}
