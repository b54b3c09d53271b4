/* The rows of the reduce family: how each operator's parameters read, what dtype its results have, which folds it
 * uses. */
#include "kernels/reduce.h"
#include "params.gen.h"
#include <math.h>

#define FOLDS(name)                                                                                        \
    extern const fb_fold *const fb_folds_##name##_base[], *const fb_folds_##name##_avx2[], *const fb_folds_##name##_avx512[];

/* ---- parameters ---------------------------------------------------------------------------------- */
static void one_dim(fb_reduce_call *c, int64_t dim)
{
    if (dim == FB_ABSENT) return;
    c->one = dim;
    c->dim = (fb_ints){1, &c->one};
}

static fb_status read_sum(const fb_frame *f, fb_reduce_call *c) /* nansum, mean and prod too: their params agree */
{
    const struct fb_p_sum *p = f->params;
    c->dim = p->dim;
    c->keepdim = p->keepdim;
    c->dtype = p->dtype;
    c->empty_is_all = true;
    return FB_OK;
}

static fb_status read_amax(const fb_frame *f, fb_reduce_call *c) /* amin, any, all, logsumexp */
{
    const struct fb_p_amax *p = f->params;
    c->dim = p->dim;
    c->keepdim = p->keepdim;
    c->empty_is_all = true;
    return FB_OK;
}

static fb_status read_count(const fb_frame *f, fb_reduce_call *c)
{
    const struct fb_p_count_nonzero *p = f->params;
    c->dim = p->dim;
    c->empty_is_all = true;
    return FB_OK;
}

static fb_status read_argmax(const fb_frame *f, fb_reduce_call *c) /* argmin, aminmax, max_dim, min_dim */
{
    const struct fb_p_argmax *p = f->params;
    one_dim(c, p->dim);
    c->keepdim = p->keepdim;
    return FB_OK;
}

static fb_status read_none(const fb_frame *f, fb_reduce_call *c)
{
    (void)f, (void)c;
    return FB_OK;
}

static fb_status read_var(const fb_frame *f, fb_reduce_call *c) /* var_mean */
{
    const struct fb_p_var *p = f->params;
    c->dim = p->dim;
    c->keepdim = p->keepdim;
    c->empty_is_all = true;
    c->args.correction = p->correction.kind == FB_S_NONE ? 1 : fb_scalar_double(p->correction);
    return FB_OK;
}

static fb_status read_std(const fb_frame *f, fb_reduce_call *c) /* std_mean */
{
    c->args.ord = 1;
    return read_var(f, c);
}

static fb_status check_var(const fb_frame *f, const fb_reduce_call *c)
{
    (void)c;
    if (f->in[0]->dtype <= FB_U64) return fb_fail(FB_ERUNTIME, "std and var only support floating point and complex dtypes");
    return FB_OK;
}

static fb_status check_nansum(const fb_frame *f, const fb_reduce_call *c)
{
    fb_dtype to = c->dtype != FB_NONE ? c->dtype : f->flags & FB_F_OUT_GIVEN ? (fb_dtype)f->out[0]->dtype : FB_NONE;
    if (fb_is_complex(f->in[0]->dtype)) return fb_fail(FB_ERUNTIME, "nansum does not support complex inputs");
    if (to != FB_NONE && to <= FB_U64 && fb_is_float(f->in[0]->dtype))
        return fb_fail(FB_ENOTIMPL, "\"nansum_cpu\" not implemented for '%s'", fb_dtype_label(to));
    return FB_OK;
}

static fb_status check_aminmax(const fb_frame *f, const fb_reduce_call *c)
{
    (void)c;
    for (int i = 0; i < 2 && (f->flags & FB_F_OUT_GIVEN); i++)
        if (f->out[i]->dtype != f->in[0]->dtype)
            return fb_fail(FB_ERUNTIME, "Expected out tensor to have dtype %s, but got %s instead", fb_dtype_name((fb_dtype)f->in[0]->dtype),
                           fb_dtype_name((fb_dtype)f->out[i]->dtype));
    return FB_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------- */
#define FAMILY(name, fold, ...)                                                                            \
    extern const fb_reduce fb_reduce_##name;                                                               \
    const fb_reduce fb_reduce_##name = {.folds = FB_ISA_LIST(fb_folds_##fold), __VA_ARGS__};
FOLDS(sum) FOLDS(nansum) FOLDS(mean) FOLDS(prod) FOLDS(amax) FOLDS(amin) FOLDS(any) FOLDS(all) FOLDS(count_nonzero)
FOLDS(argmax) FOLDS(argmin) FOLDS(max_dim) FOLDS(min_dim) FOLDS(aminmax) FOLDS(var) FOLDS(logsumexp)
FOLDS(norm0) FOLDS(norm1) FOLDS(norm2) FOLDS(norm_max) FOLDS(norm_min) FOLDS(normp)

FAMILY(count_nonzero, count_nonzero, .n_out = 1, .rule = FB_RED_LONG, .truth = true, .slots = "i", .read = read_count)
FAMILY(sum, sum, .n_out = 1, .rule = FB_RED_SUM, .slots = "c", .read = read_sum, .of_bool = &fb_reduce_count_nonzero)
FAMILY(nansum, nansum, .n_out = 1, .rule = FB_RED_SUM, .check = check_nansum, .slots = "c", .read = read_sum, .of_bool = &fb_reduce_count_nonzero)
FAMILY(mean, mean, .n_out = 1, .rule = FB_RED_FLOAT, .slots = "c", .read = read_sum)
FAMILY(prod, prod, .n_out = 1, .rule = FB_RED_SUM, .slots = "c", .read = read_sum)
FAMILY(amax, amax, .n_out = 1, .rule = FB_RED_SAME, .slots = "c", .read = read_amax, .no_identity = true)
FAMILY(amin, amin, .n_out = 1, .rule = FB_RED_SAME, .slots = "c", .read = read_amax, .no_identity = true)
FAMILY(max_all, amax, .n_out = 1, .rule = FB_RED_SAME, .slots = "c", .read = read_none, .no_identity = true, .label = "max")
FAMILY(min_all, amin, .n_out = 1, .rule = FB_RED_SAME, .slots = "c", .read = read_none, .no_identity = true, .label = "min")
FAMILY(any, any, .n_out = 1, .rule = FB_RED_BOOL, .truth = true, .slots = "b", .read = read_amax)
FAMILY(all, all, .n_out = 1, .rule = FB_RED_BOOL, .truth = true, .slots = "b", .read = read_amax)
FAMILY(argmax, argmax, .n_out = 1, .rule = FB_RED_LONG, .index = true, .slots = "i", .read = read_argmax, .no_identity = true)
FAMILY(argmin, argmin, .n_out = 1, .rule = FB_RED_LONG, .index = true, .slots = "i", .read = read_argmax, .no_identity = true)
FAMILY(max_dim, max_dim, .n_out = 2, .rule = FB_RED_SAME, .index = true, .slots = "ci", .read = read_argmax, .no_identity = true, .label = "max")
FAMILY(min_dim, min_dim, .n_out = 2, .rule = FB_RED_SAME, .index = true, .slots = "ci", .read = read_argmax, .no_identity = true, .label = "min")
FAMILY(aminmax, aminmax, .check = check_aminmax, .n_out = 2, .rule = FB_RED_SAME, .slots = "cc", .read = read_argmax, .no_identity = true)
FAMILY(var, var, .n_out = 1, .rule = FB_RED_SAME, .slots = "r", .read = read_var, .check = check_var)
FAMILY(std, var, .n_out = 1, .rule = FB_RED_SAME, .slots = "r", .read = read_std, .check = check_var)
FAMILY(var_mean, var, .n_out = 2, .rule = FB_RED_SAME, .slots = "rc", .read = read_var, .check = check_var)
FAMILY(std_mean, var, .n_out = 2, .rule = FB_RED_SAME, .slots = "rc", .read = read_std, .check = check_var)
FAMILY(logsumexp, logsumexp, .n_out = 1, .rule = FB_RED_TO_FLOAT, .slots = "c", .read = read_amax)

/* ---- norms: the fold depends on the order ---------------------------------------------------------- */
static fb_status read_norm(const fb_frame *f, fb_reduce_call *c)
{
    const struct fb_p_vector_norm *p = f->params;
    c->dim = p->dim;
    c->keepdim = p->keepdim;
    c->dtype = p->dtype;
    c->empty_is_all = true;
    c->args.ord = p->ord;
    return FB_OK;
}
#define NORM(name) FAMILY(name, name, .n_out = 1, .rule = FB_RED_REAL, .slots = "r", .read = read_norm, .label = "linalg.vector_norm")
NORM(norm0) NORM(norm1) NORM(norm2) NORM(norm_max) NORM(normp)
FAMILY(norm_min, norm_min, .n_out = 1, .rule = FB_RED_REAL, .slots = "r", .read = read_norm, .label = "linalg.vector_norm", .no_identity = true)

static const fb_reduce *norm_of(const fb_frame *f)
{
    double ord = ((const struct fb_p_vector_norm *)f->params)->ord;
    if (ord == 2) return &fb_reduce_norm2;
    if (ord == 1) return &fb_reduce_norm1;
    if (ord == 0) return &fb_reduce_norm0;
    if (isinf(ord)) return ord > 0 ? &fb_reduce_norm_max : &fb_reduce_norm_min;
    return &fb_reduce_normp;
}

fb_status fb_norm_infer(fb_frame *f) { return fb_reduce_infer_as(f, norm_of(f)); }
fb_status fb_norm_kernel(fb_frame *f) { return fb_reduce_kernel_as(f, norm_of(f)); }
