#include "nn/window.h"

void fb_windows_sizes(fb_windows *w, int dims, int64_t ndim, const int64_t *in, const int64_t *out)
{
    *w = (fb_windows){.planes = 1};
    for (int64_t i = 0; i < ndim - dims; i++) w->planes *= in[i];
    for (int d = 0; d < 3; d++) {
        const int64_t i = ndim - 3 + d;
        w->in[d] = d < 3 - dims ? 1 : in[i];
        w->out[d] = d < 3 - dims ? 1 : out[i];
        w->step[d] = 1;
    }
}

static int64_t *tables(fb_frame *f, fb_windows *w)
{
    const int64_t n = w->out[0] + w->out[1] + w->out[2];
    int64_t *t = fb_scratch(f, 3 * FB_MAX(n, 1) * (int64_t)sizeof *t), *next = t;
    for (int d = 0; d < 3 && t; d++) {
        w->lo[d] = next, w->hi[d] = next + w->out[d], w->full[d] = next + 2 * w->out[d];
        next += 3 * w->out[d];
    }
    return t;
}

static int64_t at(fb_ints list, int d)
{
    return list.v[list.n == 1 ? 0 : d];
}

fb_status fb_windows_fixed(fb_frame *f, fb_windows *w, fb_ints kernel, fb_ints stride, fb_ints padding,
                           fb_ints dilation, int dims)
{
    if (!tables(f, w)) return FB_FAIL;
    for (int d = 0; d < 3; d++) {
        const int i = d - (3 - dims);
        const int64_t k = i < 0 ? 1 : at(kernel, i), s = i < 0 ? 1 : stride.n > 0 ? at(stride, i) : k;
        const int64_t pad = i < 0 ? 0 : at(padding, i), step = i < 0 ? 1 : at(dilation, i);
        int64_t *lo = (int64_t *)w->lo[d], *hi = (int64_t *)w->hi[d], *full = (int64_t *)w->full[d];
        w->step[d] = step;
        for (int64_t o = 0; o < w->out[d]; o++) {
            const int64_t start = o * s - pad, end = start + step * (k - 1) + 1;
            lo[o] = start < 0 ? start + (-start + step - 1) / step * step : start;
            hi[o] = FB_MIN(end, w->in[d]);
            full[o] = FB_MIN(end, w->in[d] + pad) - start;
        }
    }
    return FB_OK;
}

fb_status fb_windows_adaptive(fb_frame *f, fb_windows *w)
{
    if (!tables(f, w)) return FB_FAIL;
    for (int d = 0; d < 3; d++)
        for (int64_t o = 0; o < w->out[d]; o++) {
            const int64_t lo = o * w->in[d] / w->out[d],
                          hi = ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
            ((int64_t *)w->lo[d])[o] = lo;
            ((int64_t *)w->hi[d])[o] = hi;
            ((int64_t *)w->full[d])[o] = hi - lo;
        }
    return FB_OK;
}
