/* Composites in C: conj, real and imag (the tensor itself, a view of its parts, or a conjugated copy), prelu, glu. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
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

fb_status fb_c_prelu(fb_frame *f)
{
    fb_tensor *x = f->in[0], *w = f->in[1], *shaped = NULL, *r = NULL;
    int64_t sizes[FB_MAX_DIMS], channels = x->ndim >= 2 ? x->sizes[1] : 1;
    if (x->dtype != w->dtype)
        return fb_fail(FB_ERUNTIME, "prelu: Type promoting not supported. Got %s and %s", fb_dtype_name((fb_dtype)x->dtype),
                       fb_dtype_name((fb_dtype)w->dtype));
    if (w->numel != 1) {
        if (x->ndim == 0) return fb_fail(FB_ERUNTIME, "Not allow zero-dim input tensor.");
        if (channels != w->numel)
            return fb_fail(FB_ERUNTIME, "Mismatch of parameter numbers and input channel size. Found parameter numbers = %lld and channel "
                                        "size = %lld.", (long long)w->numel, (long long)channels);
    }
    if (w->ndim > 1)
        return fb_fail(FB_ERUNTIME, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d", (int)w->ndim);
    if (w->ndim == 1) {
        for (int64_t d = 0; d < x->ndim; d++) sizes[d] = d == 1 || x->ndim == 1 ? w->numel : 1;
        shaped = fb_reshape(w, (fb_ints){x->ndim, sizes});
    } else {
        shaped = fb_retain(w);
    }
    if (shaped) r = fb_prelu_kernel(x, shaped);
    fb_release(shaped);
    return fb_give(f, 0, r);
}

fb_status fb_c_glu(fb_frame *f)
{
    fb_tensor *x = f->in[0], *a = NULL, *b = NULL, *s = NULL, *r = NULL;
    int64_t dim, n;
    if (x->ndim == 0) return fb_fail(FB_ERUNTIME, "glu does not support 0-dimensional tensors");
    FB_TRY(fb_wrap_dim(((const struct fb_p_glu *)f->params)->dim, x->ndim, &dim));
    n = x->sizes[dim];
    if (n % 2) return fb_fail(FB_ERUNTIME, "Halving dimension must be even, but dimension %lld is size %lld", (long long)dim, (long long)n);
    if ((a = fb_slice(x, dim, 0, n / 2, 1)) && (b = fb_slice(x, dim, n / 2, n, 1)) && (s = fb_sigmoid(b))) r = fb_mul(a, s);
    fb_release(a);
    fb_release(b);
    fb_release(s);
    return fb_give(f, 0, r);
}
