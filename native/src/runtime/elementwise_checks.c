/* Infer functions of elementwise operators that refuse more than their bodies do. */
#include "kernels/elementwise.h"
#include "params.gen.h"

static fb_dtype result_of(const fb_frame *f)
{
    return fb_result_type(f->n_in, f->in);
}

/* A float factor for integers, or a complex one for reals, would be cut silently. */
static fb_status check_factor(const char *name, fb_scalar v, fb_dtype dtype)
{
    if (v.kind == FB_S_COMPLEX && !fb_is_complex(dtype))
        return fb_fail(FB_ERUNTIME, "For non-complex input tensors, argument %s must not be a complex number.", name);
    if (v.kind == FB_S_FLOAT && dtype <= FB_U64)
        return fb_fail(FB_ERUNTIME, "For integral input tensors, argument %s must not be a floating point number.", name);
    if (v.kind == FB_S_BOOL && dtype != FB_BOOL)
        return fb_fail(FB_ERUNTIME, "Boolean %s only supported for Boolean results.", name);
    return FB_OK;
}

static bool plain_one(fb_scalar s)
{
    return s.kind == FB_S_INT && s.i == 1;
}

fb_status fb_add_infer(fb_frame *f)
{
    const struct fb_p_add *p = f->params;
    if (FB_UNLIKELY(!plain_one(p->alpha))) FB_TRY(check_factor("alpha", p->alpha, result_of(f)));
    return fb_ew_infer(f);
}

fb_status fb_sub_infer(fb_frame *f) /* rsub too: the params agree */
{
    const struct fb_p_sub *p = f->params;
    if (FB_UNLIKELY(f->in[0]->dtype == FB_BOOL || f->in[1]->dtype == FB_BOOL)) {
        if (f->in[0]->dtype == FB_BOOL && f->in[1]->dtype == FB_BOOL)
            return fb_fail(FB_ERUNTIME, "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                                        "`logical_xor()` operator instead.");
        return fb_fail(FB_ERUNTIME, "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
                                    "a mask, use the `~` or `logical_not()` operator instead.");
    }
    if (FB_UNLIKELY(!plain_one(p->alpha))) FB_TRY(check_factor("alpha", p->alpha, result_of(f)));
    return fb_ew_infer(f);
}

fb_status fb_neg_infer(fb_frame *f)
{
    if (f->in[0]->dtype == FB_BOOL)
        return fb_fail(FB_ERUNTIME, "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                                    "use the `~` or `logical_not()` operator instead.");
    return fb_ew_infer(f);
}

fb_status fb_clamp_infer(fb_frame *f)
{
    if (!f->in[1] && !f->in[2]) return fb_fail(FB_ERUNTIME, "clamp: At least one of 'min' or 'max' must not be None");
    for (int i = 0; i < 3; i++)
        if (f->in[i] && fb_is_complex(f->in[i]->dtype))
            return fb_fail(FB_ENOTIMPL, "clamp is not supported for complex types");
    return fb_ew_infer(f);
}

fb_status fb_addcmul_infer(fb_frame *f)
{
    const struct fb_p_addcmul *p = f->params;
    FB_TRY(check_factor("value", p->value, result_of(f)));
    return fb_ew_infer(f);
}

fb_status fb_addcdiv_infer(fb_frame *f)
{
    if (f->in[1]->dtype <= FB_U64 && f->in[2]->dtype <= FB_U64)
        return fb_fail(FB_ERUNTIME, "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform "
                                    "a true division of tensor1 and tensor2.");
    return fb_ew_infer(f);
}
