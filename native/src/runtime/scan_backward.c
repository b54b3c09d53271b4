/* Derivatives of cumulative operators that need a recurrence of their own, in double, a line at a time. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
#include "runtime/frame.h"
#include <math.h>

typedef _Complex double zdouble;

/* Three tensors of one shape as doubles (or complex doubles), and a result like them. */
typedef struct lines {
    fb_tensor *g, *x, *y, *r;
    int64_t outer, n, step;
} lines;

static void close_lines(lines *l)
{
    fb_release(l->g);
    fb_release(l->x);
    fb_release(l->y);
    fb_release(l->r);
}

static fb_status open_lines(const fb_frame *f, int64_t dim, lines *l)
{
    const fb_tensor *out = f->out[0];
    fb_dtype wide = fb_is_complex(out->dtype) ? FB_C128 : FB_F64;
    *l = (lines){.outer = 1, .n = 1, .step = 1};
    FB_TRY(fb_wrap_dim(dim, out->ndim, &dim));
    for (int64_t d = 0; d < out->ndim; d++) {
        if (d < dim) l->outer *= out->sizes[d];
        if (d == dim) l->n = out->sizes[d];
        if (d > dim) l->step *= out->sizes[d];
    }
    if ((l->g = fb_contiguous_as(f->in[0], wide)) && (l->x = fb_contiguous_as(f->in[1], wide)) &&
        (l->y = fb_contiguous_as(f->in[2], wide)) && (l->r = fb_new(out->ndim, out->sizes, NULL, wide, out->device)))
        return FB_OK;
    close_lines(l);
    return FB_FAIL;
}

static fb_status finish_lines(const fb_frame *f, lines *l)
{
    fb_status status = fb_copy_data(f->out[0], l->r);
    close_lines(l);
    return status;
}

fb_status fb_scan_backward_infer(fb_frame *f) { return fb_out_like(f, 0, f->in[1], (fb_dtype)f->in[1]->dtype); }

#define EACH_LINE(T)                                                                                       \
    for (int64_t o = 0; o < l.outer; o++)                                                                  \
        for (int64_t at = o * l.n * l.step; at < o * l.n * l.step + l.step; at++) {                        \
            const T *g = (const T *)fb_ptr(l.g) + at, *x = (const T *)fb_ptr(l.x) + at, *y = (const T *)fb_ptr(l.y) + at; \
            T *r = (T *)fb_ptr(l.r) + at;

/* r_i = sum over k >= i of g_k prod(x_j, j <= k, j != i). Before a line's first zero that is a reversed cumulative
 * sum of g y, divided by x; at the zero the products leave it out; after it every product holds it. */
#define CUMPROD_BACKWARD(T, CONJ)                                                                          \
    EACH_LINE(T)                                                                                           \
        int64_t zero = 0;                                                                                  \
        T sum = 0;                                                                                         \
        while (zero < n && x[zero * s] != 0) zero++;                                                       \
        for (int64_t i = zero + 1; i < n; i++) r[i * s] = 0;                                               \
        if (zero < n) {                                                                                    \
            T product = zero ? y[(zero - 1) * s] : 1;                                                      \
            for (int64_t k = zero; k < n; k++) {                                                           \
                if (k > zero) product *= x[k * s];                                                         \
                sum += g[k * s] * CONJ product;                                                            \
            }                                                                                              \
            r[zero * s] = sum;                                                                             \
        }                                                                                                  \
        sum = 0;                                                                                           \
        for (int64_t i = zero - 1; i >= 0; i--) {                                                          \
            sum += g[i * s] * CONJ y[i * s];                                                               \
            r[i * s] = sum / CONJ x[i * s];                                                                \
        }                                                                                                  \
    }

fb_status fb_cumprod_backward_kernel(fb_frame *f)
{
    lines l;
    if (f->out[0]->numel == 0) return FB_OK;
    FB_TRY(open_lines(f, ((const struct fb_p_cumprod_backward_scan *)f->params)->dim, &l));
    const int64_t n = l.n, s = l.step;
    if (l.r->dtype == FB_C128) {
        CUMPROD_BACKWARD(zdouble, ~)
    } else {
        CUMPROD_BACKWARD(double, )
    }
    return finish_lines(f, &l);
}

/* y_k = log(sum of exp(x_i), i <= k) never falls, so that every factor below is at most 1. */
static double ratio(double from, double to) { return from == to ? 1 : exp(from - to); }
static zdouble ratio_complex(zdouble from, zdouble to) { return from == to ? 1 : __builtin_cexp(from - to); }

#define LOGCUMSUMEXP_BACKWARD(T, RATIO, CONJ)                                                              \
    EACH_LINE(T)                                                                                           \
        T sum = 0;                                                                                         \
        for (int64_t i = n - 1; i >= 0; i--) {                                                             \
            sum = g[i * s] + (i + 1 < n ? sum * CONJ RATIO(y[i * s], y[(i + 1) * s]) : 0);                 \
            r[i * s] = sum * CONJ RATIO(x[i * s], y[i * s]);                                               \
        }                                                                                                  \
    }
#define LOGCUMSUMEXP_TANGENT(T, RATIO)                                                                     \
    EACH_LINE(T)                                                                                           \
        T sum = 0;                                                                                         \
        for (int64_t k = 0; k < n; k++) {                                                                  \
            sum = g[k * s] * RATIO(x[k * s], y[k * s]) + (k ? sum * RATIO(y[(k - 1) * s], y[k * s]) : 0);  \
            r[k * s] = sum;                                                                                \
        }                                                                                                  \
    }

/* r_i = sum over k >= i of g_k exp(x_i - y_k) */
fb_status fb_logcumsumexp_backward_kernel(fb_frame *f)
{
    lines l;
    if (f->out[0]->numel == 0) return FB_OK;
    FB_TRY(open_lines(f, ((const struct fb_p_logcumsumexp_backward *)f->params)->dim, &l));
    const int64_t n = l.n, s = l.step;
    if (l.r->dtype == FB_C128) {
        LOGCUMSUMEXP_BACKWARD(zdouble, ratio_complex, ~)
    } else {
        LOGCUMSUMEXP_BACKWARD(double, ratio, )
    }
    return finish_lines(f, &l);
}

/* r_k = sum over i <= k of g_i exp(x_i - y_k) */
fb_status fb_logcumsumexp_tangent_kernel(fb_frame *f)
{
    lines l;
    if (f->out[0]->numel == 0) return FB_OK;
    FB_TRY(open_lines(f, ((const struct fb_p_logcumsumexp_tangent *)f->params)->dim, &l));
    const int64_t n = l.n, s = l.step;
    if (l.r->dtype == FB_C128) {
        LOGCUMSUMEXP_TANGENT(zdouble, ratio_complex)
    } else {
        LOGCUMSUMEXP_TANGENT(double, ratio)
    }
    return finish_lines(f, &l);
}

/* ---- products with zeros ---------------------------------------------------------------------------- */
/* 1: some element of t is 0, 0: none, -1: error. Meta tensors have no elements to look at. */
static int has_zero(fb_tensor *t)
{
    int found = -1;
    fb_scalar v;
    if (t->device.type == FB_META) return 0;
    fb_tensor *z = fb_logical_not(t), *a = z ? fb_any(z, (fb_ints){-1, NULL}, false) : NULL;
    if (a && fb_item(a, &v) == FB_OK) found = fb_scalar_true(v);
    fb_release(z);
    fb_release(a);
    return found;
}

static bool recorded(const fb_frame *f)
{
    for (int i = 0; i < f->n_in; i++)
        if (f->in[i]->keys & FB_L_AUTOGRAD) return true;
    return false;
}

fb_status fb_c_cumprod_backward(fb_frame *f)
{
    int64_t dim = ((const struct fb_p_cumprod_backward *)f->params)->dim;
    fb_tensor *g = f->in[0], *x = f->in[1], *y = f->in[2], **parts = NULL, *r = NULL;
    int zero = recorded(f) ? has_zero(x) : 0;
    if (zero < 0) return FB_FAIL;
    if (!zero || x->ndim == 0) return fb_give(f, 0, fb_cumprod_backward_scan(g, x, y, dim));
    FB_TRY(fb_wrap_dim(dim, x->ndim, &dim));
    int64_t n = x->sizes[dim], made = 0;
    if (!(parts = fb_alloc(FB_MAX(n, 1) * (int64_t)sizeof *parts))) return FB_FAIL;
    while (made < n && (parts[made] = fb_cumprod_backward_at(g, x, dim, made))) made++;
    if (made == n) r = fb_cat(n, parts, dim);
    for (int64_t k = 0; k < made; k++) fb_release(parts[k]);
    fb_free(parts);
    return fb_give(f, 0, r);
}

/* The gradient of a product over the last dimension of t, where that is the only one reduced. */
static fb_tensor *over_last(fb_tensor *grad, fb_tensor *t) { return fb_prod_backward_along(grad, t, -1); }

fb_status fb_c_prod_backward(fb_frame *f)
{
    const struct fb_p_prod_backward *p = f->params;
    fb_tensor *x = f->in[1], *g = fb_expand_reduced(f->in[0], (fb_ints){x->ndim, x->sizes}, p->dim, p->keepdim), *r = NULL;
    int zero = g ? has_zero(x) : -1;
    if (zero < 0) {
        fb_release(g);
        return FB_FAIL;
    }
    if (!zero || x->ndim == 0) { /* grad result / x; a 0-d product is the identity */
        fb_tensor *y = fb_expand_reduced(f->in[2], (fb_ints){x->ndim, x->sizes}, p->dim, p->keepdim);
        fb_tensor *q = y && x->ndim ? fb_div(y, x) : NULL, *c = q ? fb_conj(q) : NULL;
        r = x->ndim == 0 ? fb_retain(g) : c ? fb_mul(g, c) : NULL;
        fb_release(y);
        fb_release(q);
        fb_release(c);
        fb_release(g);
        return fb_give(f, 0, r);
    }
    /* the reduced dimensions to the end, as one */
    uint64_t mask;
    int64_t order[FB_MAX_DIMS], back[FB_MAX_DIMS], sizes[FB_MAX_DIMS], n = 0, kept = 0, length = 1;
    fb_tensor *xm = NULL, *gm = NULL, *xf = NULL, *gf = NULL, *flat = NULL, *shaped = NULL;
    if (fb_dim_mask(p->dim, x->ndim, true, &mask) != FB_OK) goto done;
    for (int64_t d = 0; d < x->ndim; d++)
        if (!(mask >> d & 1)) order[n++] = d;
    kept = n;
    for (int64_t d = 0; d < x->ndim; d++)
        if (mask >> d & 1) order[n++] = d;
    for (int64_t k = 0; k < n; k++) {
        sizes[k] = x->sizes[order[k]];
        back[order[k]] = k;
        if (k >= kept) length *= sizes[k];
    }
    int64_t flat_sizes[FB_MAX_DIMS + 1];
    memcpy(flat_sizes, sizes, sizeof *sizes * (size_t)kept);
    flat_sizes[kept] = length;
    if ((xm = fb_permute(x, (fb_ints){n, order})) && (gm = fb_permute(g, (fb_ints){n, order})) &&
        (xf = fb_reshape(xm, (fb_ints){kept + 1, flat_sizes})) && (gf = fb_reshape(gm, (fb_ints){kept + 1, flat_sizes})) &&
        (flat = over_last(gf, xf)) && (shaped = fb_reshape(flat, (fb_ints){n, sizes})))
        r = fb_permute(shaped, (fb_ints){n, back});
done:
    fb_release(xm);
    fb_release(gm);
    fb_release(xf);
    fb_release(gf);
    fb_release(flat);
    fb_release(shaped);
    fb_release(g);
    return fb_give(f, 0, r);
}
