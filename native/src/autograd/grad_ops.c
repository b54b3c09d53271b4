/* Gradients as values: sums over broadcast dimensions, casts, zeros, accumulation. */
#include "autograd/grad_ops.h"
#include "runtime/frame.h"
#include <complex.h>
#include <math.h>

/* ---- numbers ------------------------------------------------------------------------------------ */

fb_tensor *fb_number(fb_scalar v)
{
    static _Atomic(fb_tensor *) kept[2][5]; /* int and float -1, 0, 1, 2, 3: never written to */
    fb_tensor *t, *none = NULL;
    double x = v.kind == FB_S_INT ? (double)v.i : v.re;

    if ((v.kind == FB_S_INT || v.kind == FB_S_FLOAT) && x >= -1 && x <= 3 && x == floor(x) && !(x == 0 && signbit(x))) {
        _Atomic(fb_tensor *) *slot = &kept[v.kind == FB_S_FLOAT][(int)x + 1];
        if ((t = atomic_load(slot))) return fb_retain(t);
        if (fb_inference_mode() || !(t = fb_wrapped(v))) return fb_wrapped(v);
        if (!atomic_compare_exchange_strong(slot, &none, t)) {
            fb_release(t);
            t = none;
        }
        return fb_retain(t);
    }
    return fb_wrapped(v);
}

static fb_scalar complex_scalar(double complex z) { return (fb_scalar){FB_S_COMPLEX, 0, creal(z), cimag(z)}; }
static double complex complex_of(fb_scalar s) { return s.re + s.im * I; }
static bool integers(fb_scalar a, fb_scalar b) { return a.kind <= FB_S_INT && b.kind <= FB_S_INT; }
static bool complexes(fb_scalar a, fb_scalar b) { return a.kind == FB_S_COMPLEX || b.kind == FB_S_COMPLEX; }

fb_scalar fb_scalar_add(fb_scalar a, fb_scalar b)
{
    int64_t i;
    if (integers(a, b) && !__builtin_add_overflow(a.i, b.i, &i)) return fb_int(i);
    return complexes(a, b) ? complex_scalar(complex_of(a) + complex_of(b)) : fb_float(a.re + b.re);
}

fb_scalar fb_scalar_sub(fb_scalar a, fb_scalar b)
{
    int64_t i;
    if (integers(a, b) && !__builtin_sub_overflow(a.i, b.i, &i)) return fb_int(i);
    return complexes(a, b) ? complex_scalar(complex_of(a) - complex_of(b)) : fb_float(a.re - b.re);
}

fb_scalar fb_scalar_mul(fb_scalar a, fb_scalar b)
{
    int64_t i;
    if (integers(a, b) && !__builtin_mul_overflow(a.i, b.i, &i)) return fb_int(i);
    return complexes(a, b) ? complex_scalar(complex_of(a) * complex_of(b)) : fb_float(a.re * b.re);
}

fb_scalar fb_scalar_div(fb_scalar a, fb_scalar b)
{
    return complexes(a, b) ? complex_scalar(complex_of(a) / complex_of(b)) : fb_float(a.re / b.re);
}

fb_scalar fb_scalar_pow(fb_scalar a, fb_scalar b)
{
    return complexes(a, b) ? complex_scalar(cpow(complex_of(a), complex_of(b))) : fb_float(pow(a.re, b.re));
}

fb_scalar fb_scalar_conj(fb_scalar a)
{
    a.im = -a.im;
    return a;
}

fb_tensor *fb_scaled(fb_tensor *t, fb_scalar by)
{
    fb_tensor *number, *r;

    if (by.kind == FB_S_INT && by.i == 1) return fb_retain(t);
    if (!(number = fb_number(by))) return NULL;
    r = fb_mul(t, number);
    fb_release(number);
    return r;
}

/* ---- lists of integers --------------------------------------------------------------------------- */

fb_status fb_ints_at(fb_ints list, int64_t i, int64_t *out)
{
    if (i < -list.n || i >= list.n)
        return fb_fail(FB_EINDEX, "index %lld is out of range for a list of %lld", (long long)i, (long long)list.n);
    *out = list.v[i < 0 ? i + list.n : i];
    return FB_OK;
}

fb_ints fb_ints_slice(fb_ints list, int64_t begin, int64_t end)
{
    if (begin < 0) begin = FB_MAX(begin + list.n, 0);
    if (end < 0) end += list.n;
    begin = FB_MIN(begin, list.n);
    end = FB_MAX(FB_MIN(end, list.n), begin);
    return (fb_ints){end - begin, list.v + begin};
}

fb_status fb_ints_join(int64_t *buffer, fb_ints a, fb_ints b, fb_ints *out)
{
    if (a.n + b.n > FB_MAX_DIMS)
        return fb_fail(FB_EVALUE, "a list of %lld integers is longer than a tensor has dimensions", (long long)(a.n + b.n));
    for (int64_t i = 0; i < a.n; i++) buffer[i] = a.v[i];
    for (int64_t i = 0; i < b.n; i++) buffer[a.n + i] = b.v[i];
    *out = (fb_ints){a.n + b.n, buffer};
    return FB_OK;
}

/* ---- copies and parts ----------------------------------------------------------------------------- */

bool fb_gradient_unshared(const fb_tensor *t)
{
    return atomic_load(&t->refs) == 1 && atomic_load(&t->storage->refs) == 1 && !t->base && !(t->flags & FB_T_WRAPPED);
}

fb_tensor *fb_gradient_copy(fb_tensor *t)
{
    fb_tensor *c = fb_new(t->ndim, t->sizes, NULL, (fb_dtype)t->dtype, t->device);

    if (c && fb_copy_data(c, t) != FB_OK) {
        fb_release(c);
        return NULL;
    }
    return c;
}

fb_tensor *fb_gradient_zeros(const fb_meta *m)
{
    fb_tensor *z = fb_new(m->ndim, m->sizes, NULL, (fb_dtype)m->dtype, m->device);

    if (z && fb_fill_data(z, fb_int(0)) != FB_OK) {
        fb_release(z);
        return NULL;
    }
    return z;
}

/* dst[...] = src, recorded where gradients are on. */
static fb_status assign(fb_tensor *dst, fb_tensor *src)
{
    fb_tensor *r;

    if (!fb_grad_enabled()) return fb_copy_data(dst, src);
    if (!(r = fb_copy_(dst, src, false))) return FB_FAIL;
    fb_release(r);
    return FB_OK;
}

fb_tensor *fb_gradient_dense_copy(fb_tensor *grad, const fb_meta *g)
{
    fb_tensor *c = fb_new(g->ndim, g->sizes, g->strides, (fb_dtype)grad->dtype, grad->device);

    if (c && assign(c, grad) != FB_OK) {
        fb_release(c);
        return NULL;
    }
    return c;
}

fb_tensor *fb_gradient_part(fb_tensor *whole, const fb_meta *base, const fb_meta *view)
{
    /* Under create_graph the view finds its node by itself, as any view of a tensor with a history does; an as_strided that is
     * recorded would save `whole`, which is about to be written to. */
    return fb_view_of(whole, view->ndim, view->sizes, view->strides, whole->offset + view->offset - base->offset);
}

fb_status fb_gradient_overwrite(fb_tensor *part, fb_tensor *value)
{
    fb_tensor *zero;
    fb_status status;

    if (value) return assign(part, value);
    if (!fb_grad_enabled()) return fb_fill_data(part, fb_int(0));
    if (!(zero = fb_number(fb_int(0)))) return FB_FAIL;
    status = assign(part, zero);
    fb_release(zero);
    return status;
}

/* The gradient of a base from that of a view of it, whatever the view's strides. */
fb_tensor *fb_as_strided_grad(fb_tensor *grad, const fb_meta *base, const fb_meta *view)
{
    /* the operator reads the geometry of its second argument only, never its elements */
    fb_tensor *like = fb_new(base->ndim, base->sizes, base->strides, (fb_dtype)grad->dtype, grad->device), *r;

    if (!like) return NULL;
    r = fb_as_strided_backward(grad, like, fb_meta_shape(view), fb_meta_strides(view), view->offset - base->offset);
    fb_release(like);
    return r;
}

/* ---- fitting and adding ---------------------------------------------------------------------------- */

static fb_tensor *sum_to(fb_tensor *g, const fb_meta *want)
{
    int64_t dims[FB_MAX_DIMS], n = 0, lead = g->ndim - want->ndim;
    fb_tensor *s, *v;

    for (int64_t i = 0; i < g->ndim; i++)
        if (i < lead || (want->sizes[i - lead] == 1 && g->sizes[i] != 1)) dims[n++] = i;
    if (!(s = n ? fb_sum(g, (fb_ints){n, dims}, true, FB_NONE) : fb_retain(g)) || !lead) return s;
    if (!fb_grad_enabled() && fb_gradient_unshared(s) && fb_contig(s)) {
        if (fb_resize(s, want->ndim, want->sizes) == FB_OK) return s;
        fb_release(s);
        return NULL;
    }
    v = fb_reshape(s, fb_meta_shape(want));
    fb_release(s);
    return v;
}

static bool sums_to(const fb_tensor *g, const fb_meta *want)
{
    int64_t lead = g->ndim - want->ndim;

    if (lead < 0) return false;
    for (int64_t i = lead; i < g->ndim; i++)
        if (g->sizes[i] != want->sizes[i - lead] && want->sizes[i - lead] != 1) return false;
    return true;
}

fb_tensor *fb_gradient_fit(const fb_node *n, int64_t index, fb_tensor *g, const fb_meta *want)
{
    fb_tensor *r;

    if (g->ndim != want->ndim || memcmp(g->sizes, want->sizes, (size_t)want->ndim * sizeof *want->sizes)) {
        if (!sums_to(g, want)) {
            fb_fail(FB_ERUNTIME, "Function %s returned an invalid gradient at index %lld - got %s but expected shape compatible with %s",
                    n->rule->name, (long long)index, fb_shape_text(g->ndim, g->sizes), fb_shape_text(want->ndim, want->sizes));
            fb_release(g);
            return NULL;
        }
        r = sum_to(g, want);
        fb_release(g);
        if (!(g = r)) return NULL;
    }
    if (FB_LIKELY(g->dtype == want->dtype)) return g;
    if (fb_is_complex(g->dtype) && !fb_is_complex(want->dtype)) {
        r = fb_real(g);
        fb_release(g);
        if (!(g = r)) return NULL;
    }
    if (g->dtype == want->dtype) return g;
    r = fb_grad_enabled() ? fb_to_copy(g, (fb_dtype)want->dtype, FB_ABSENT) : fb_contiguous_as(g, (fb_dtype)want->dtype);
    fb_release(g);
    return r;
}

fb_tensor *fb_gradient_add(fb_tensor *a, fb_tensor *b)
{
    fb_tensor *r;
    bool same = a->dtype == b->dtype && a->ndim == b->ndim && !memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof *a->sizes);

    if (!fb_grad_enabled() && same && fb_gradient_unshared(a) && fb_contig(a))
        r = fb_add_out(a, b, fb_int(1), a);
    else
        r = fb_add(a, b, fb_int(1));
    fb_release(a);
    fb_release(b);
    return r;
}

fb_tensor *fb_plus(fb_tensor *a, fb_tensor *b)
{
    if (!a || !b) return fb_retain(a ? a : b);
    return fb_add(a, b, fb_int(1));
}

/* May grad become leaf.grad as it is? It must look like the leaf: its strides where they are dense, else row-major. */
static bool fits_leaf(const fb_tensor *leaf, const fb_tensor *grad)
{
    if (fb_contig(leaf)) return fb_contig(grad);
    int64_t dense = 1;
    for (int i = 0; i < leaf->ndim; i++)
        if (leaf->sizes[i] > 1) dense += (leaf->sizes[i] - 1) * leaf->strides[i];
    if (dense != leaf->numel || fb_overlaps_itself(leaf)) return fb_contig(grad);
    for (int i = 0; i < leaf->ndim; i++)
        if (leaf->sizes[i] > 1 && leaf->strides[i] != grad->strides[i]) return false;
    return true;
}

fb_status fb_accumulate(fb_tensor *leaf, fb_tensor *grad)
{
    fb_autograd *ag = fb_autograd_of(leaf);
    fb_tensor *old, *sum;

    if (!ag) goto failed;
    if (!(old = ag->grad)) {
        if (fb_grad_enabled()) {
            sum = fb_clone(grad, FB_ABSENT);
            fb_release(grad);
        } else if (atomic_load(&grad->refs) <= 2 && atomic_load(&grad->storage->refs) == 1 && !grad->base &&
                   !(grad->flags & FB_T_WRAPPED) && fits_leaf(leaf, grad)) {
            sum = grad; /* two references: the engine's, which it is about to drop, and ours */
        } else {
            fb_meta like = {.ndim = leaf->ndim, .sizes = leaf->sizes, .strides = NULL};
            if (!fb_contig(leaf) && !fb_overlaps_itself(leaf)) like.strides = leaf->strides;
            sum = fb_gradient_dense_copy(grad, &like);
            fb_release(grad);
        }
    } else if (fb_grad_enabled()) {
        sum = fb_add(old, grad, fb_int(1));
        fb_release(grad);
    } else {
        sum = fb_add_out(old, grad, fb_int(1), old);
        fb_release(grad);
    }
    if (!sum) return FB_FAIL;
    ag->grad = sum;
    fb_release(old);
    return FB_OK;
failed:
    fb_release(grad);
    return FB_FAIL;
}
