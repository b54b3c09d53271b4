/* matmul, outer and addr: made of other operators, so that their derivatives are too. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
#include "runtime/frame.h"

/* Each step consumes its argument: NULL in, NULL out. */
static fb_tensor *then_release(fb_tensor *result, fb_tensor *a, fb_tensor *b)
{
    fb_release(a);
    fb_release(b);
    return result;
}

static fb_tensor *outer(fb_tensor *a, fb_tensor *b)
{
    fb_tensor *column = fb_unsqueeze(a, 1);
    return column ? then_release(fb_mul(column, b), column, NULL) : NULL;
}

static fb_status check_vector(const char *op, const char *name, const fb_tensor *t)
{
    return t->ndim == 1
               ? FB_OK
               : fb_fail(FB_ESHAPE, "%s: Expected 1-D argument %s, but got %d-D", op, name, (int)t->ndim);
}

fb_status fb_c_outer(fb_frame *f)
{
    FB_TRY(check_vector("outer", "self", f->in[0]));
    FB_TRY(check_vector("outer", "vec2", f->in[1]));
    return fb_give(f, 0, outer(f->in[0], f->in[1]));
}

static fb_tensor *times(fb_tensor *t, fb_scalar s) /* consumes t */
{
    if (!t || (s.re == 1 && s.im == 0)) return t;
    fb_tensor *number = fb_wrapped(s);
    return number ? then_release(fb_mul(t, number), t, number) : then_release(NULL, t, NULL);
}

fb_status fb_c_addr(fb_frame *f)
{
    const struct fb_p_addr *p = f->params;
    FB_TRY(check_vector("addr", "vec1", f->in[1]));
    FB_TRY(check_vector("addr", "vec2", f->in[2]));
    const int64_t sizes[2] = {f->in[1]->sizes[0], f->in[2]->sizes[0]};
    fb_tensor *product = times(outer(f->in[1], f->in[2]), p->alpha);
    fb_tensor *self = product ? fb_expand(f->in[0], (fb_ints){2, sizes}, false) : NULL;
    if (!self) return fb_give(f, 0, then_release(NULL, product, NULL));
    if (p->beta.re == 0 && p->beta.im == 0)
        return fb_give(f, 0, then_release(product, self, NULL)); /* NaN in self stays out */
    self = times(self, p->beta);
    return fb_give(f, 0,
                   self ? then_release(fb_add(self, product, fb_int(1)), self, product)
                        : then_release(NULL, product, NULL));
}

/* (..., k) with its leading dimensions as one: rows; a matrix product; the dimensions back. */
static fb_tensor *folded(fb_tensor *a, fb_tensor *b)
{
    const int64_t k = a->sizes[a->ndim - 1], nd = a->ndim - (b->ndim == 1);
    int64_t rows = 1, sizes[FB_MAX_DIMS];
    for (int i = 0; i < a->ndim - 1; i++) rows *= sizes[i] = a->sizes[i];
    if (b->ndim == 2) sizes[nd - 1] = b->sizes[1];
    fb_tensor *flat = fb_reshape(a, (fb_ints){2, (int64_t[]){rows, k}});
    fb_tensor *product = !flat ? NULL : b->ndim == 1 ? fb_mv(flat, b) : fb_mm(flat, b);
    fb_release(flat);
    return product ? then_release(fb_reshape(product, (fb_ints){nd, sizes}), product, NULL) : NULL;
}

static bool any_batches(const fb_tensor *t)
{
    for (int i = 0; i < t->ndim - 2; i++)
        if (t->sizes[i] != 1) return true;
    return false;
}

fb_status fb_c_matmul(fb_frame *f)
{
    fb_tensor *a = f->in[0], *b = f->in[1], *x = NULL, *y = NULL;
    if (a->ndim == 0 || b->ndim == 0)
        return fb_fail(FB_ESHAPE, "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                       (int)a->ndim, (int)b->ndim);
    if (a->ndim <= 2 && b->ndim <= 2) {
        if (a->ndim == 1 && b->ndim == 1) return fb_give(f, 0, fb_dot(a, b));
        if (b->ndim == 1) return fb_give(f, 0, fb_mv(a, b));
        if (a->ndim == 2) return fb_give(f, 0, fb_mm(a, b));
        if ((x = fb_unsqueeze(a, 0))) y = fb_mm(x, b);
        return fb_give(f, 0, y ? then_release(fb_select(y, 0, 0), x, y) : then_release(NULL, x, NULL));
    }
    /* One matrix on the right serves all rows of the left: one product, and one for its gradient. */
    if (b->ndim <= 2 && a->ndim > 2 && any_batches(a)) return fb_give(f, 0, folded(a, b));
    x = a->ndim == 1 ? fb_unsqueeze(a, 0) : fb_retain(a);
    y = x ? (b->ndim == 1 ? fb_unsqueeze(b, 1) : fb_retain(b)) : NULL;
    fb_tensor *product = y ? fb_matmul_batches(x, y) : NULL;
    fb_release(x);
    fb_release(y);
    if (product && a->ndim == 1) product = then_release(fb_select(product, -2, 0), product, NULL);
    if (product && b->ndim == 1) product = then_release(fb_select(product, -1, 0), product, NULL);
    return fb_give(f, 0, product);
}
