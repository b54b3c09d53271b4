/* The elementwise family: shapes, dtypes and strides of results, and the way from a frame to its body. */
#include "kernels/elementwise.h"

extern const uint8_t fb_itemsizes[];

void fb_cast_base(int, int, int64_t, void *, const void *);
void fb_cast_avx2(int, int, int64_t, void *, const void *);
void fb_cast_avx512(int, int, int64_t, void *, const void *);

fb_cast_fn fb_cast_for_isa(void)
{
    static const fb_cast_fn casts[FB_N_ISA] = FB_ISA_LIST(fb_cast);
    return casts[fb_isa()];
}

/* ---- dtypes -------------------------------------------------------------------------------------- */
/* The operator's dtype, before halves are computed in float; FB_NONE with the error set. */
static fb_dtype common_dtype(const fb_frame *f, const fb_ew *ew)
{
    const char *slots = ew->slots + ew->n_out;
    fb_tensor *counted[FB_EW_MAX];
    int n = 0, first = FB_NONE;
    bool same = true, wrapped = false;

    for (int i = 0; i < ew->n_in; i++) {
        fb_tensor *t = f->in[i];
        if (!t || slots[i] == 'b' || slots[i] == 'i') continue;
        if (first == FB_NONE) first = t->dtype;
        if (ew->rule == FB_RULE_NONE) break;
        same &= t->dtype == first;
        wrapped |= t->flags & FB_T_WRAPPED;
        counted[n++] = t;
    }
    if (ew->rule != FB_RULE_NONE && (!same || wrapped)) first = fb_result_type(n, counted);
    if (first == FB_NONE) return n ? FB_NONE : FB_BOOL; /* no c slot: only b and i */
    if (ew->rule == FB_RULE_FLOAT && first <= FB_U64) return fb_default_dtype();
    if (ew->rule == FB_RULE_LONG && first == FB_BOOL) return FB_I64;
    return (fb_dtype)first;
}

/* The dtype that bodies run in: halves in float (unless the operator only moves bits), an integer without a body of
 * its own in int64. */
static int compute_dtype(const fb_block_fn *bodies, int common)
{
    if (bodies[common]) return common;
    int ct = fb_compute_type((fb_dtype)common);
    if (!bodies[ct] && fb_is_integral(ct) && ct != FB_U64) ct = FB_I64;
    return bodies[ct] ? ct : FB_NONE;
}

static int slot_dtype(char slot, int of)
{
    switch (slot) {
    case 'b': return FB_BOOL;
    case 'i': return FB_I64;
    case 'r': return (int)fb_real_of((fb_dtype)of);
    case 'z': return (int)fb_complex_of((fb_dtype)of);
    default: return of;
    }
}

/* ---- strides of a new result: the layout of the inputs, as PyTorch keeps it ---------------------- */
/* > 0: dimension a lies inside b for the inputs, < 0: outside, 0: no opinion. */
static int order_of(int n, const int64_t *const *strides, const int64_t *sizes, int a, int b)
{
    for (int k = 0; k < n; k++) {
        int64_t sa = strides[k][a], sb = strides[k][b];
        if (sa == 0 || sb == 0) continue;
        if (sa != sb) return sa < sb ? -1 : 1;
        if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
}

/* False: row-major. Else the strides of the result are written. */
static bool result_strides(const fb_frame *f, int64_t ndim, const int64_t *sizes, int64_t *out)
{
    bool row_major = true;
    for (int i = 0; i < f->n_in; i++) {
        const fb_tensor *t = f->in[i];
        if (t && t->ndim > 1 && !fb_contig(t)) row_major = false;
    }
    if (row_major) return false;

    int64_t space[FB_EW_MAX][FB_MAX_DIMS];
    const int64_t *strides[FB_EW_MAX];
    int n = 0;
    bool equal = true; /* all inputs of the full shape with one and the same strides */
    for (int i = 0; i < f->n_in; i++) {
        const fb_tensor *t = f->in[i];
        if (!t || t->ndim == 0) continue;
        int64_t lead = ndim - t->ndim;
        for (int64_t d = 0; d < ndim; d++)
            space[n][d] = d < lead || (t->sizes[d - lead] == 1 && sizes[d] != 1) ? 0 : t->strides[d - lead];
        equal &= lead == 0 && memcmp(t->sizes, sizes, sizeof *sizes * (size_t)ndim) == 0 &&
                 (n == 0 || memcmp(space[n], space[0], sizeof *sizes * (size_t)ndim) == 0);
        strides[n] = space[n];
        n++;
    }
    int perm[FB_MAX_DIMS]; /* innermost first */
    for (int i = 0; i < ndim; i++) perm[i] = (int)ndim - 1 - i;
    for (int i = 1; i < ndim; i++) {
        int moving = i;
        for (int d = i - 1; d >= 0; d--) {
            int c = order_of(n, strides, sizes, perm[d], perm[moving]);
            if (c < 0) break;
            if (c > 0) {
                int t = perm[d];
                perm[d] = perm[moving];
                perm[moving] = t;
                moving = d;
            }
        }
    }
    int64_t stride = 1;
    bool dense = true;
    for (int i = 0; i < ndim; i++) {
        out[perm[i]] = stride;
        dense &= sizes[perm[i]] == 1 || strides[0][perm[i]] == stride;
        stride *= FB_MAX(sizes[perm[i]], 1);
    }
    if (equal && dense) memcpy(out, strides[0], sizeof *out * (size_t)ndim);
    return true;
}

/* ---- infer --------------------------------------------------------------------------------------- */
static fb_status no_body(const fb_frame *f, int dtype)
{
    return fb_fail(FB_ENOTIMPL, "\"%s_cpu\" not implemented for '%s'", f->op->name, fb_dtype_label((fb_dtype)dtype));
}

fb_status fb_ew_infer(fb_frame *f)
{
    const fb_ew *ew = f->op->family;
    int64_t ndim, sizes[FB_MAX_DIMS], strides[FB_MAX_DIMS];
    const fb_tensor *a = f->in[0];
    bool alike = a != NULL && fb_contig(a); /* every input contiguous and of one shape: nothing to work out */

    for (int i = 1; i < f->n_in && alike; i++) {
        const fb_tensor *t = f->in[i];
        if (!t || t->ndim == 0) continue;
        alike = t->ndim == a->ndim && fb_contig(t) && memcmp(t->sizes, a->sizes, sizeof *a->sizes * (size_t)a->ndim) == 0;
    }
    int common = common_dtype(f, ew);
    if (common == FB_NONE) return FB_FAIL;
    int ct = compute_dtype(ew->bodies[0], common);
    if (ct == FB_NONE) return no_body(f, common);
    if (!alike) FB_TRY(fb_broadcast_shape(f->n_in, f->in, &ndim, sizes));
    bool presets = f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE);
    bool laid_out = !alike && !presets && result_strides(f, ndim, sizes, strides);
    for (int i = 0; i < ew->n_out; i++) {
        int dtype = slot_dtype(ew->slots[i], common);
        if (alike)
            FB_TRY(fb_out(f, i, (fb_dtype)dtype, a->ndim, a->sizes, NULL));
        else
            FB_TRY(fb_out(f, i, (fb_dtype)dtype, ndim, sizes, laid_out ? strides : NULL));
    }
    return FB_OK;
}

/* ---- kernel -------------------------------------------------------------------------------------- */
static fb_status check_overlap(const fb_frame *f)
{
    for (int i = 0; i < f->n_out; i++) {
        const fb_tensor *o = f->out[i];
        for (int k = 0; k < f->n_in; k++)
            if (f->in[k] && fb_overlap_of(o, f->in[k]) == FB_OVERLAP_PARTIAL)
                return fb_fail(FB_ERUNTIME,
                               "unsupported operation: some elements of the input tensor and the written-to tensor "
                               "refer to a single memory location. Please clone() the tensor before performing the "
                               "operation.");
        for (int k = 0; k < i; k++)
            if (fb_overlap_of(o, f->out[k]) != FB_OVERLAP_NONE)
                return fb_fail(FB_ERUNTIME, "unsupported operation: some elements of two outputs refer to a single "
                                            "memory location. Please clone() one of them first.");
    }
    return FB_OK;
}

enum { TINY = 64 };

typedef struct tiny_scalars { _Alignas(16) char block[2][TINY * 16]; } tiny_scalars;

/* Few elements, all contiguous and of their slots' dtypes; a 0-d operand is spread here. False: not such a case. */
static bool run_tiny(const fb_frame *f, const fb_ew *ew, int ct, fb_block_fn fn)
{
    void *at[FB_EW_MAX];
    int64_t n = f->out[0]->numel;
    tiny_scalars scalars;
    int used = 0;

    for (int i = 0; i < ew->n_out; i++) {
        const fb_tensor *t = f->out[i];
        if (!fb_contig(t) || t->dtype != slot_dtype(ew->slots[i], ct)) return false;
        at[i] = fb_ptr(t);
    }
    for (int i = 0; i < ew->n_in; i++) {
        const fb_tensor *t = f->in[i];
        int k = ew->n_out + i, slot = slot_dtype(ew->slots[k], ct);
        if (!t) {
            at[k] = NULL;
        } else if (t->numel == n && fb_contig(t) && t->dtype == slot) {
            at[k] = fb_ptr(t);
        } else if (t->numel == 1 && (slot == FB_F32 || slot == FB_F64) && used < 2 &&
                   (t->dtype == slot || t->dtype == FB_F64 || t->dtype == FB_I64)) {
            const void *p = fb_ptr(t);
            double v = t->dtype == FB_F64 ? *(const double *)p : t->dtype == FB_I64 ? (double)*(const int64_t *)p : *(const float *)p;
            at[k] = scalars.block[used++];
            if (slot == FB_F32) {
                float w = t->dtype == FB_I64 ? (float)*(const int64_t *)p : (float)v;
                for (int64_t j = 0; j < n; j++) ((float *)at[k])[j] = w;
            } else {
                for (int64_t j = 0; j < n; j++) ((double *)at[k])[j] = v;
            }
        } else {
            return false;
        }
    }
    fn(n, at, at + ew->n_out, f->params);
    return true;
}

static void look_for_zero(int64_t n, void *const *out, void *const *in, const void *params)
{
    (void)out;
    const uint64_t *v = in[0]; /* int64 or uint64 */
    int found = 0;
    for (int64_t i = 0; i < n; i++) found |= v[i] == 0;
    if (found) atomic_store_explicit(*(_Atomic int *const *)params, 1, memory_order_relaxed);
}

/* Integers have no answer to a division by zero, and bodies can't fail: the divisor is looked at first. */
static fb_status check_divisor(const fb_tensor *t, int common)
{
    _Atomic int found = 0, *at = &found;
    fb_ew_plan plan = {.n_out = 0, .n_in = 1, .ndim = t->ndim, .fn = look_for_zero, .params = &at, .ns = 0.3};
    memcpy(plan.sizes, t->sizes, sizeof *t->sizes * (size_t)t->ndim);
    fb_ew_bind(&plan, 0, t, common, common == FB_U64 ? FB_U64 : FB_I64);
    FB_TRY(fb_ew_execute(&plan));
    return found ? fb_fail(FB_ERUNTIME, "ZeroDivisionError") : FB_OK;
}

fb_status fb_ew_kernel(fb_frame *f)
{
    const fb_ew *ew = f->op->family;
    const fb_block_fn *bodies = ew->bodies[fb_isa()];
    int common = common_dtype(f, ew);
    if (common == FB_NONE) return FB_FAIL;
    int ct = compute_dtype(bodies, common);
    if (ct == FB_NONE) return no_body(f, common);

    if (f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE)) FB_TRY(check_overlap(f));
    const fb_tensor *o = f->out[0];
    if (o->numel == 0) return FB_OK;
    for (int i = 0; i < ew->n_in && fb_is_integral(common); i++)
        if (ew->slots[ew->n_out + i] == 'd') FB_TRY(check_divisor(f->in[i], common));
    if (o->numel <= TINY && run_tiny(f, ew, ct, bodies[ct])) return FB_OK;

    fb_ew_plan plan;
    plan.n_out = ew->n_out;
    plan.n_in = ew->n_in;
    plan.ndim = o->ndim;
    memcpy(plan.sizes, o->sizes, sizeof *o->sizes * (size_t)o->ndim);
    plan.fn = bodies[ct];
    plan.params = f->params;
    plan.ns = ew->rule == FB_RULE_FLOAT ? 1.0 : 0.1 + 0.03 * fb_itemsizes[ct]; /* by memory, or by arithmetic */
    for (int k = 0; k < plan.n_out + plan.n_in; k++) {
        bool in = k >= plan.n_out;
        const fb_tensor *t = in ? f->in[k - plan.n_out] : f->out[k];
        int slot = slot_dtype(ew->slots[k], ct), mid = slot_dtype(ew->slots[k], common);
        /* A Python number meets halves in full precision; anything else is rounded to the operator's dtype first. */
        if (in && t && (t->flags & FB_T_WRAPPED) && fb_is_float(common)) mid = slot;
        fb_ew_bind(&plan, k, t, mid, slot);
    }
    return fb_ew_execute(&plan);
}
