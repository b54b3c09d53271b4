/* conj, real and imag: the tensor itself, a view of its parts, or a conjugated copy. */
#include "flambeau/ops.gen.h"
#include "runtime/frame.h"

fb_status fb_c_conj(fb_frame *f)
{
    fb_tensor *t = f->in[0];
    return fb_give(f, 0, fb_is_complex(t->dtype) ? fb_conj_physical(t) : fb_retain(t));
}

static fb_tensor *part(fb_tensor *t, int64_t index)
{
    fb_tensor *parts = fb_view_as_real(t), *view = parts ? fb_select(parts, -1, index) : NULL;
    fb_release(parts);
    return view;
}

fb_status fb_c_real(fb_frame *f)
{
    fb_tensor *t = f->in[0];
    return fb_give(f, 0, fb_is_complex(t->dtype) ? part(t, 0) : fb_retain(t));
}

fb_status fb_c_imag(fb_frame *f)
{
    if (!fb_is_complex(f->in[0]->dtype)) return fb_fail(FB_ERUNTIME, "imag is not implemented for tensors with non-complex dtypes.");
    return fb_give(f, 0, part(f->in[0], 1));
}
