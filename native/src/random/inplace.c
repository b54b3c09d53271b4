/* Operators that fill a tensor with draws of one law: uniform_, normal_, ... They check their arguments also where
 * there is nothing to fill. */
#include "params.gen.h"
#include "random/order.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static fb_status unsupported(const char *what, const fb_tensor *t)
{
    return fb_fail(FB_ENOTIMPL, "\"%s\" not implemented for '%s'", what, fb_dtype_label((fb_dtype)t->dtype));
}

/* C++'s name of an element type, as PyTorch's texts have it. */
static const char *c_name(int dtype)
{
    switch (dtype) {
    case FB_BOOL: return "bool";
    case FB_U8: return "unsigned char";
    case FB_I8: return "signed char";
    case FB_I16: return "short int";
    case FB_I32: return "int";
    case FB_I64: return "long int";
    case FB_U16: return "short unsigned int";
    case FB_U32: return "unsigned int";
    case FB_U64: return "long unsigned int";
    case FB_F16: return "c10::Half";
    case FB_BF16: return "c10::BFloat16";
    case FB_F32: return "float";
    case FB_F64: return "double";
    case FB_C64: return "c10::complex<float>";
    case FB_C128: return "c10::complex<double>";
    default: return fb_dtype_label((fb_dtype)dtype);
    }
}

static fb_status needs_floats(const char *law, const fb_tensor *t, bool by_label)
{
    if (fb_is(FB_FLOATS, t->dtype)) return FB_OK;
    return fb_fail(FB_ERUNTIME,
                   "%s distribution is a continuous probability distribution. dtype must be a floating point but you specified %s",
                   law, by_label ? fb_dtype_label((fb_dtype)t->dtype) : c_name(t->dtype));
}

/* The largest finite number of a floating dtype. */
static double largest(int dtype)
{
    return dtype == FB_F16 ? 65504.0 : dtype == FB_BF16 ? 0x1.fep127 : dtype == FB_F32 ? FLT_MAX : DBL_MAX;
}

fb_status fb_k_uniform_(fb_frame *f)
{
    const struct fb_p_uniform_ *p = f->params;
    fb_tensor *t = f->in[0];
    int real = fb_real_of((fb_dtype)t->dtype);

    if (!fb_is(FB_FLOATS | FB_COMPLEXES, t->dtype)) return unsupported("check_uniform_bounds", t);
    double most = largest(real);
    if (!(p->from_ >= -most && p->from_ <= most))
        return fb_fail(FB_ERUNTIME, "from is out of bounds for %s", c_name(real));
    if (!(p->to >= -most && p->to <= most))
        return fb_fail(FB_ERUNTIME, "to is out of bounds for %s", c_name(real));
    if (p->from_ > p->to)
        return fb_fail(FB_ERUNTIME,
                       "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", p->from_,
                       p->to);
    if (!(p->to - p->from_ <= most))
        return fb_fail(FB_ERUNTIME,
                       "uniform_ expects to-from <= std::numeric_limits<%s>::max(), but found to=%g and from=%g which "
                                    "result in to-from to exceed the limit", fb_dtype_label((fb_dtype)real),
                                    p->to, p->from_);
    return fb_fill_random(t, &(fb_draw){.kind = FB_DRAW_UNIFORM, .a = p->from_, .b = p->to}, p->generator);
}

fb_status fb_k_normal_(fb_frame *f)
{
    const struct fb_p_normal_ *p = f->params;
    fb_tensor *t = f->in[0];

    if (!(p->std >= 0)) return fb_fail(FB_ERUNTIME, "normal expects std >= 0.0, but found std %g", p->std);
    if (t->numel == 0) return FB_OK;
    if (!fb_is(FB_FLOATS | FB_COMPLEXES, t->dtype)) return unsupported("normal_kernel_cpu", t);
    /* The variance of a complex number is that of both parts together. */
    double std = fb_is_complex(t->dtype) ? p->std / sqrt(2.0) : p->std;
    return fb_fill_random(t, &(fb_draw){.kind = FB_DRAW_NORMAL, .a = p->mean, .b = std}, p->generator);
}

fb_status fb_k_log_normal_(fb_frame *f)
{
    const struct fb_p_log_normal_ *p = f->params;

    if (!(p->std > 0)) return fb_fail(FB_ERUNTIME, "log_normal_ expects std > 0.0, but found std=%g", p->std);
    if (f->in[0]->numel == 0) return FB_OK;
    if (!fb_is(FB_FLOATS, f->in[0]->dtype)) return unsupported("log_normal_cpu", f->in[0]);
    return fb_fill_random(f->in[0], &(fb_draw){.kind = FB_DRAW_LOG_NORMAL, .a = p->mean, .b = p->std},
                          p->generator);
}

fb_status fb_k_exponential_(fb_frame *f)
{
    const struct fb_p_exponential_ *p = f->params;

    if (!(p->lambd > 0))
        return fb_fail(FB_ERUNTIME, "exponential_ expects lambda > 0.0, but found lambda=%g", p->lambd);
    if (f->in[0]->numel == 0) return FB_OK;
    FB_TRY(needs_floats("Exponential", f->in[0], true));
    return fb_fill_random(f->in[0], &(fb_draw){.kind = FB_DRAW_EXPONENTIAL, .a = p->lambd}, p->generator);
}

fb_status fb_k_geometric_(fb_frame *f)
{
    const struct fb_p_geometric_ *p = f->params;
    int dtype = f->in[0]->dtype;

    if (!(p->p > 0 && p->p < 1))
        return fb_fail(FB_ERUNTIME, "geometric_ expects p to be in (0, 1), but got p=%g", p->p);
    if (f->in[0]->numel == 0) return FB_OK;
    if (!fb_is(FB_FLOATS | FB_INTS, dtype) || fb_is(FB_BIT(FB_U16) | FB_BIT(FB_U32) | FB_BIT(FB_U64), dtype))
        return unsupported("geometric_cpu", f->in[0]);
    return fb_fill_random(f->in[0], &(fb_draw){.kind = FB_DRAW_GEOMETRIC, .a = p->p}, p->generator);
}

fb_status fb_k_cauchy_(fb_frame *f)
{
    const struct fb_p_cauchy_ *p = f->params;

    if (!(p->sigma > 0))
        return fb_fail(FB_ERUNTIME, "cauchy_ expects sigma > 0.0, but found sigma=%g", p->sigma);
    FB_TRY(needs_floats("Cauchy", f->in[0], false));
    return fb_fill_random(f->in[0], &(fb_draw){.kind = FB_DRAW_CAUCHY, .a = p->median, .b = p->sigma},
                          p->generator);
}

/* ---- random_: integers ---- */

/* Below 2^28 numbers one draw of 32 bits is taken modulo their count, from there on one of 64 bits. */
static fb_draw integers(int64_t from, uint64_t count)
{
    bool wide = count == 0 || count >= UINT64_C(1) << 28;

    return (fb_draw){.kind = FB_DRAW_INTEGER, .range = count, .base = from, .wide = wide};
}

static int digits(int dtype) /* of a float's significand: integers to 2^digits are exact */
{
    return dtype == FB_F16 ? 11 : dtype == FB_BF16 ? 8 : dtype == FB_F32 ? 24 : 53;
}

static int64_t rounded(int dtype, int64_t v) /* v as a number of a floating dtype holds it */
{
    double x = dtype == FB_F16    ? fb_half_to_float(fb_float_to_half((float)v))
               : dtype == FB_BF16 ? fb_bf16_to_float(fb_float_to_bf16((float)v))
               : dtype == FB_F32  ? (float)v
                                  : (double)v;
    return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

static int log2_floor(uint64_t v) { return v ? 63 - __builtin_clzll(v) : 0; }

/* Ends of a range that rounding would carry outside it move inwards by one step of the float's grid. */
static int64_t inner_from(int dtype, int64_t from)
{
    int64_t next = from == INT64_MAX ? from : rounded(dtype, from + 1);

    if (next >= from) return from;
    return next + (INT64_C(1) << (log2_floor((uint64_t)llabs(from + 1)) - digits(dtype) + 1));
}

static int64_t inner_to(int dtype, int64_t to)
{
    int64_t last = rounded(dtype, to - 1);

    if (last < to) return to;
    return last - (INT64_C(1) << (log2_floor((uint64_t)llabs(to - 1)) - digits(dtype) + 1));
}

static void int_range(int dtype, int64_t *least, int64_t *most)
{
    int bits = dtype == FB_BOOL ? 1 : 8 * (int)fb_itemsize((fb_dtype)dtype);
    bool is_signed = fb_is(FB_BIT(FB_I8) | FB_BIT(FB_I16) | FB_BIT(FB_I32) | FB_BIT(FB_I64), dtype);

    *most = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - is_signed)) - 1;
    *least = is_signed ? -*most - 1 : 0;
}

static fb_status check_end(const char *name, int dtype, int64_t v)
{
    int64_t least, most;

    if (fb_is(FB_FLOATS, dtype)) {
        if (!((double)v >= -largest(dtype) && (double)v <= largest(dtype)))
            return fb_fail(FB_ERUNTIME, "%s is out of bounds for %s", name, c_name(dtype));
        int64_t exact = INT64_C(1) << digits(dtype);
        if (v < -exact || v > exact)
            fb_warn("%s is out of bounds [-(2^%d), 2^%d]. Due to precision limitations %s can support discrete uniform "
                    "distribution only within this range.", name, digits(dtype), digits(dtype),
                    c_name(dtype));
        return FB_OK;
    }
    int_range(dtype, &least, &most);
    if (v < least || v > most) return fb_fail(FB_ERUNTIME, "%s is out of bounds for %s", name, c_name(dtype));
    return FB_OK;
}

fb_status fb_k_random_(fb_frame *f)
{
    const struct fb_p_random_ *p = f->params;
    fb_tensor *t = f->in[0];
    int dtype = t->dtype;
    bool is_float = fb_is(FB_FLOATS, dtype);
    int64_t from = p->low, to = p->high, least, most;
    fb_draw d;

    if (p->all_bits) {
        if (!fb_is(FB_BIT(FB_I64) | FB_BIT(FB_F64) | FB_BIT(FB_F32) | FB_BIT(FB_BF16), dtype))
            return fb_fail(FB_ERUNTIME, "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
        d = integers(0, 0);
        return fb_fill_random(t, &d, p->generator);
    }
    if (from == FB_ABSENT && to == FB_ABSENT) { /* all numbers from 0 that the dtype holds exactly */
        if (t->numel == 0) return FB_OK;
        uint32_t unsigned_wide = FB_BIT(FB_U16) | FB_BIT(FB_U32) | FB_BIT(FB_U64);
        if (!is_float && !fb_is((FB_INTS & ~unsigned_wide) | FB_BIT(FB_BOOL), dtype))
            return unsupported("random_kernel_cpu", t);
        int_range(dtype, &least, &most);
        d = integers(0, is_float ? (UINT64_C(1) << digits(dtype)) + 1 : (uint64_t)most + 1);
        d.wide = dtype == FB_I64 || dtype == FB_F64; /* here by the dtype, not by the count */
        return fb_fill_random(t, &d, p->generator);
    }
    if (to != FB_ABSENT && from >= to)
        return fb_fail(FB_ERUNTIME,
                       "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                       (long long)from, (long long)to);
    if (!is_float && !fb_is(FB_INTS | FB_BIT(FB_BOOL), dtype))
        return fb_fail(FB_ERUNTIME, "%s handles only integral, floating-point and boolean types",
                       to != FB_ABSENT ? "check_random_bounds" : "random_from_to_impl");
    if (to != FB_ABSENT) { /* an absent from is the least integer: it has the same number */
        if (is_float) {
            from = inner_from(dtype, from);
            to = inner_to(dtype, to);
            if (from >= to)
                return fb_fail(FB_ERUNTIME,
                               "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=%lld >= to=%lld",
                               (long long)from, (long long)to);
        }
        FB_TRY(check_end("from", dtype, from));
        FB_TRY(check_end("to - 1", dtype, to - 1));
        d = integers(from, (uint64_t)to - (uint64_t)from);
        return fb_fill_random(t, &d, p->generator);
    }
    int_range(dtype, &least, &most);
    if (is_float) {
        most = INT64_C(1) << digits(dtype);
        from = inner_from(dtype, from);
    }
    FB_TRY(check_end("from", dtype, from));
    if (is_float ? from >= most : from > most)
        return fb_fail(FB_ERUNTIME,
                       "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got "
                                    "from=%lld > to_inc=%lld", (long long)from, (long long)most);
    d = integers(from, (uint64_t)most - (uint64_t)from + 1);
    return fb_fill_random(t, &d, p->generator);
}
