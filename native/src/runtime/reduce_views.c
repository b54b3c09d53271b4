/* The shape of a reduction's input, got back from its result by views: what derivatives are written with. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
#include "runtime/frame.h"

/* t, a result of reducing dims `mask` of a tensor of shape size, expanded to that shape. */
static fb_tensor *expand_back(fb_tensor *t, fb_ints size, uint64_t mask, bool keepdim)
{
    fb_tensor *now = fb_retain(t), *next;

    if (!keepdim && t->ndim != 0) /* 0-d broadcasts as it is */
        for (int64_t d = 0; d < size.n && now; d++) {
            if (!(mask >> d & 1)) continue;
            next = fb_unsqueeze(now, d);
            fb_release(now);
            now = next;
        }
    if (!now) return NULL;
    next = fb_expand(now, size, false);
    fb_release(now);
    return next;
}

fb_status fb_c_expand_reduced(fb_frame *f)
{
    const struct fb_p_expand_reduced *p = f->params;
    uint64_t mask;
    FB_TRY(fb_dim_mask(p->dim, p->size.n, true, &mask));
    return fb_give(f, 0, expand_back(f->in[0], p->size, mask, p->keepdim));
}

fb_status fb_c_expand_one(fb_frame *f)
{
    const struct fb_p_expand_one *p = f->params;
    fb_ints dim = {p->dim == FB_ABSENT ? -1 : 1, &p->dim};
    uint64_t mask;
    FB_TRY(fb_dim_mask(dim, p->size.n, true, &mask));
    return fb_give(f, 0, expand_back(f->in[0], p->size, mask, p->keepdim));
}
