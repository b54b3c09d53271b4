/* Which dtype an operation between dtypes has. */
#include "runtime/core.h"

fb_dtype fb_real_of(fb_dtype d)
{
    return d == FB_C64 ? FB_F32 : d == FB_C128 ? FB_F64 : d;
}

fb_dtype fb_complex_of(fb_dtype d)
{
    if (fb_is_complex(d)) return d;
    return d == FB_F64 ? FB_C128 : FB_C64; /* there is no complex half: complex64 stands in for it */
}

fb_dtype fb_compute_type(fb_dtype d)
{
    return fb_is(FB_HALVES | FB_FLOAT8, d) ? FB_F32 : d;
}

/* 0 bool, 1 integer, 2 floating, 3 complex */
static int category(int d)
{
    return d == FB_BOOL ? 0 : fb_is_integral(d) ? 1 : fb_is_float(d) ? 2 : 3;
}

bool fb_can_cast(fb_dtype from, fb_dtype to)
{
    return category(from) <= category(to);
}

#define WIDE_UNSIGNED (FB_BIT(FB_U16) | FB_BIT(FB_U32) | FB_BIT(FB_U64))

fb_dtype fb_promote(fb_dtype a, fb_dtype b)
{
    if (a == b) return a;
    if (a > b) { /* the enum is ordered so that the larger one decides nearly always */
        fb_dtype t = a;
        a = b;
        b = t;
    }
    if (fb_is(FB_FLOAT8, b)) {
        fb_fail(FB_EDTYPE, "Promotion for Float8 Types is not supported, attempted to promote %s and %s",
                fb_dtype_label(a), fb_dtype_label(b));
        return FB_NONE;
    }
    if ((fb_is(WIDE_UNSIGNED, b)) || (fb_is(WIDE_UNSIGNED, a) && fb_is_complex(b))) {
        fb_fail(FB_EDTYPE, "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote %s and %s",
                fb_dtype_label(a), fb_dtype_label(b));
        return FB_NONE;
    }
    if (a == FB_U8 && b == FB_I8) return FB_I16;
    if (a == FB_F16 && b == FB_BF16) return FB_F32;
    if (a == FB_F64 && b == FB_C64) return FB_C128;
    return b;
}

/* PyTorch's categories: a lower one (0-d tensors, then Python numbers) counts only by its kind. */
static fb_dtype combine(int higher, int lower)
{
    if (higher == FB_NONE) return lower;
    if (lower == FB_NONE || higher == lower || fb_is_complex(higher)) return higher;
    if (fb_is_float(higher)) return fb_is_complex(lower) ? fb_complex_of(higher) : higher;
    if (fb_is_complex(lower)) return lower;
    if (higher == FB_BOOL || fb_is_float(lower)) return fb_promote(higher, lower);
    return higher;
}

fb_dtype fb_result_type(int n, fb_tensor *const *tensors)
{
    int kind[3] = {FB_NONE, FB_NONE, FB_NONE}; /* with dimensions, 0-d, wrapped numbers */
    for (int i = 0; i < n; i++) {
        const fb_tensor *t = tensors[i];
        if (!t) continue;
        int d = t->dtype, k = t->flags & FB_T_WRAPPED ? 2 : t->ndim == 0;
        if (k == 2 && d > FB_U64) d = fb_is_complex(d) ? fb_complex_of(fb_default_dtype()) : fb_default_dtype();
        if (kind[k] == d) continue;
        if (kind[k] == FB_NONE) {
            kind[k] = d;
        } else if ((kind[k] = fb_promote(kind[k], d)) == FB_NONE) {
            return FB_NONE;
        }
    }
    int low = combine(kind[1], kind[2]);
    if (low == FB_NONE && (kind[1] != FB_NONE || kind[2] != FB_NONE)) return FB_NONE; /* no common dtype */
    return combine(kind[0], low);
}
