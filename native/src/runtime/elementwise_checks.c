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

fb_status fb_where_infer(fb_frame *f)
{
    if (f->in[0]->dtype != FB_BOOL && f->in[0]->dtype != FB_U8)
        return fb_fail(FB_ERUNTIME, "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                       fb_dtype_label((fb_dtype)f->in[0]->dtype));
    return fb_ew_infer(f);
}

fb_status fb_masked_fill_infer(fb_frame *f)
{
    const fb_tensor *self = f->in[0], *mask = f->in[1], *value = f->in[2];
    if (mask->dtype != FB_BOOL)
        return fb_fail(FB_ERUNTIME, "masked_fill only supports boolean masks, but got mask with dtype %s",
                       fb_dtype_label((fb_dtype)mask->dtype));
    if (value->ndim != 0)
        return fb_fail(FB_ERUNTIME, "masked_fill only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
                       (int)value->ndim);
    if (fb_is_complex(value->dtype) && !fb_is_complex(self->dtype))
        return fb_fail(FB_ERUNTIME, "value cannot be converted to type %s without overflow", fb_dtype_name((fb_dtype)self->dtype));
    return fb_ew_infer(f);
}

fb_status fb_abs_infer(fb_frame *f)
{
    if ((f->flags & FB_F_IN_PLACE) && fb_is_complex(f->in[0]->dtype))
        return fb_fail(FB_ERUNTIME, "In-place abs is not supported for complex tensors.");
    return fb_ew_infer(f);
}

fb_status fb_sign_infer(fb_frame *f)
{
    if (fb_is_complex(f->in[0]->dtype))
        return fb_fail(FB_ENOTIMPL, "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.");
    return fb_ew_infer(f);
}

fb_status fb_floor_infer(fb_frame *f)
{
    if (fb_is_complex(f->in[0]->dtype)) return fb_fail(FB_ENOTIMPL, "%s is not supported for complex inputs", f->op->name);
    return fb_ew_infer(f);
}

fb_status fb_round_infer(fb_frame *f)
{
    const struct fb_p_round *p = f->params;
    if (p->decimals != 0 && f->in[0]->dtype <= FB_U64)
        return fb_fail(FB_ENOTIMPL, "\"round_cpu\" not implemented for '%s'", fb_dtype_label((fb_dtype)f->in[0]->dtype));
    return fb_floor_infer(f);
}

fb_status fb_pow_infer(fb_frame *f)
{
    const fb_tensor *base = f->in[0], *e = f->in[1];
    if ((e->flags & FB_T_WRAPPED) && fb_is_integral(e->dtype) && base->dtype <= FB_U64 && *(const int64_t *)fb_ptr(e) < 0)
        return fb_fail(FB_ERUNTIME, "Integers to negative integer powers are not allowed.");
    return fb_ew_infer(f);
}

fb_status fb_heaviside_infer(fb_frame *f)
{
    if (f->in[0]->dtype != f->in[1]->dtype)
        return fb_fail(FB_ERUNTIME, "heaviside is not yet implemented for tensors with different dtypes.");
    return fb_ew_infer(f);
}

fb_status fb_lerp_infer(fb_frame *f)
{
    const fb_tensor *self = f->in[0], *end = f->in[1], *weight = f->in[2];
    if (end->dtype != self->dtype)
        return fb_fail(FB_ERUNTIME, "expected dtype %s for `end` but got dtype %s", fb_dtype_name((fb_dtype)self->dtype),
                       fb_dtype_name((fb_dtype)end->dtype));
    if (!(weight->flags & FB_T_WRAPPED) && weight->dtype != self->dtype)
        return fb_fail(FB_ERUNTIME, "expected dtype %s for `weight` but got dtype %s", fb_dtype_name((fb_dtype)self->dtype),
                       fb_dtype_name((fb_dtype)weight->dtype));
    if (self->dtype <= FB_U64)
        return fb_fail(FB_ENOTIMPL, "\"lerp_kernel\" not implemented for '%s'", fb_dtype_label((fb_dtype)self->dtype));
    return fb_ew_infer(f);
}

fb_status fb_polar_infer(fb_frame *f) /* complex too */
{
    const fb_tensor *a = f->in[0], *b = f->in[1];
    if (!fb_is(FB_FLOATS, a->dtype) || !fb_is(FB_FLOATS, b->dtype))
        return fb_fail(FB_ERUNTIME, "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
                       fb_dtype_label((fb_dtype)a->dtype), fb_dtype_label((fb_dtype)b->dtype));
    if (a->dtype != b->dtype)
        return fb_fail(FB_ERUNTIME, "Expected object of scalar type %s but got scalar type %s for second argument",
                       fb_dtype_label((fb_dtype)a->dtype), fb_dtype_label((fb_dtype)b->dtype));
    fb_dtype result = fb_complex_of((fb_dtype)a->dtype);
    if ((f->flags & FB_F_OUT_GIVEN) && f->out[0]->dtype != result)
        return fb_fail(FB_ERUNTIME, "Expected object of scalar type %s but got scalar type %s for argument 'out'", fb_dtype_label(result),
                       fb_dtype_label((fb_dtype)f->out[0]->dtype));
    return fb_ew_infer(f);
}

fb_status fb_gelu_infer(fb_frame *f)
{
    const struct fb_p_gelu *p = f->params;
    if (strcmp(p->approximate, "none") != 0 && strcmp(p->approximate, "tanh") != 0)
        return fb_fail(FB_ERUNTIME, "approximate argument must be either none or tanh.");
    return fb_ew_infer(f);
}

fb_status fb_celu_infer(fb_frame *f)
{
    const struct fb_p_celu *p = f->params;
    if (p->alpha.re == 0) return fb_fail(FB_ERUNTIME, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return fb_ew_infer(f);
}

fb_status fb_softshrink_infer(fb_frame *f)
{
    const struct fb_p_softshrink *p = f->params;
    if (p->lambd.re < 0)
        return fb_fail(FB_ERUNTIME, "lambda must be greater or equal to 0, but found to be %g.", p->lambd.re);
    return fb_ew_infer(f);
}

fb_status fb_polygamma_infer(fb_frame *f)
{
    const struct fb_p_polygamma *p = f->params;
    if (p->n < 0) return fb_fail(FB_ERUNTIME, "polygamma(n, x) does not support negative n.");
    return fb_ew_infer(f);
}

fb_status fb_huber_infer(fb_frame *f)
{
    const struct fb_p_huber_elements *p = f->params;
    if (!(p->delta > 0)) return fb_fail(FB_ERUNTIME, "huber_loss does not support non-positive values for delta.");
    return fb_ew_infer(f);
}

fb_status fb_smooth_l1_infer(fb_frame *f)
{
    const struct fb_p_smooth_l1_elements *p = f->params;
    if (p->beta < 0) return fb_fail(FB_ERUNTIME, "smooth_l1_loss does not support negative values for beta.");
    return fb_ew_infer(f);
}
