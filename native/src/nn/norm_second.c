/* Derivatives of the normalizations' backward operators, for gradients of gradients.
 *
 * Data that shares a mean is laid out as a row of n elements. With h = g * w, xhat = (x - mean) * rstd and its derivative J,
 * a symmetric matrix, backward gives gx = J h, gw = g * xhat and gb = g (the last two summed over what shares a weight).
 * For incoming gradients u of gx, a of gw and b of gb, using d rstd / dx = -rstd^2 xhat / n and d xhat / dx = J:
 *     dg = w * J u + a * xhat + b
 *     dw = g * J u
 *     dx = -rstd / n * (xhat * sum(u * J h) + sum(h * xhat) * J u + sum(u * xhat) * J h) + J (g * a) */
#include "autograd/autograd.h"
#include "flambeau/ops.gen.h"
#include "nn/terms.h"
#include "params.gen.h"

static fb_tensor *row_sums(fb_terms *t, fb_tensor *a) { return fb_summed(t, a, 1, (const int64_t[]){1}, true); }
static fb_tensor *swapped(fb_terms *t, fb_tensor *a) { return fb_none(t, a) ? NULL : fb_keep(t, fb_transpose(a, 0, 1)); }

enum layout { ROWS, GROUPS, BATCH };
typedef struct shape {
    enum layout layout;
    int64_t rows, n;               /* as rows */
    int64_t batch, channels, inner; /* as (batch, channels, inner), where it has channels */
} shape;

static fb_tensor *as_rows(fb_terms *t, const shape *s, fb_tensor *a)
{
    if (s->layout != BATCH) return fb_shaped(t, a, 2, (const int64_t[]){s->rows, s->n});
    return fb_shaped(t, swapped(t, fb_shaped(t, a, 3, (const int64_t[]){s->batch, s->channels, s->inner})), 2, (const int64_t[]){s->rows, s->n});
}
static fb_tensor *from_rows(fb_terms *t, const shape *s, fb_tensor *a, const fb_tensor *like)
{
    if (s->layout == BATCH) a = swapped(t, fb_shaped(t, a, 3, (const int64_t[]){s->channels, s->batch, s->inner}));
    return fb_shaped(t, a, like->ndim, like->sizes);
}
/* A weight so that it broadcasts to the rows. */
static fb_tensor *weight_rows(fb_terms *t, const shape *s, fb_tensor *w)
{
    if (s->layout == ROWS) return fb_shaped(t, w, 2, (const int64_t[]){1, s->n});
    if (s->layout == BATCH) return fb_shaped(t, w, 2, (const int64_t[]){s->channels, 1});
    fb_tensor *column = fb_shaped(t, w, 3, (const int64_t[]){1, s->channels, 1});
    if (fb_none(t, column)) return NULL;
    return fb_shaped(t, fb_keep(t, fb_expand(column, (fb_ints){3, (const int64_t[]){s->batch, s->channels, s->inner}}, false)), 2,
                  (const int64_t[]){s->rows, s->n});
}
static fb_tensor *weight_sums(fb_terms *t, const shape *s, fb_tensor *a, const fb_tensor *like)
{
    if (s->layout == ROWS)
        a = fb_summed(t, a, 1, (const int64_t[]){0}, false);
    else if (s->layout == BATCH)
        a = fb_summed(t, a, 1, (const int64_t[]){1}, false);
    else
        a = fb_summed(t, fb_shaped(t, a, 3, (const int64_t[]){s->batch, s->channels, s->inner}), 2, (const int64_t[]){0, 2}, false);
    return fb_shaped(t, a, like->ndim, like->sizes);
}

/* J v: the backward of the rows without a weight. */
static fb_tensor *jacobian(fb_terms *t, fb_tensor *v, fb_tensor *x, fb_tensor *mean, fb_tensor *rstd)
{
    fb_tensor *gx = NULL, *gw = NULL, *gb = NULL;

    if (fb_none(t, v)) return NULL;
    if (fb_norm_rows_backward(v, x, mean, rstd, NULL, 1, true, false, false, &gx, &gw, &gb) != FB_OK) {
        t->failed = true;
        return NULL;
    }
    fb_release(gw);
    fb_release(gb);
    return fb_keep(t, gx);
}

static fb_tensor *unit(fb_terms *t, fb_tensor *x, fb_tensor *mean, fb_tensor *rstd)
{
    if (mean && x) x = t->failed ? NULL : fb_keep(t, fb_sub(x, mean, fb_int(1)));
    return fb_times(t, x, rstd);
}

static fb_status second(fb_node *node, const shape *fixed, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    shape s = *fixed;
    fb_terms t = {.n = 0};
    fb_tensor *saved[5] = {NULL}; /* grad_output, input, mean, rstd, weight */
    fb_status status = FB_FAIL;

    for (int i = 0; i < 5; i++)
        if (fb_node_unpack(node, i, &saved[i]) != FB_OK) goto done;
    if (s.layout == ROWS) {
        s.rows = saved[3]->numel;
        s.n = s.rows ? saved[1]->numel / s.rows : 0;
    } else {
        const fb_tensor *x = saved[1];
        s.batch = x->sizes[0], s.channels = x->sizes[1], s.inner = 1;
        for (int i = 2; i < x->ndim; i++) s.inner *= x->sizes[i];
        s.rows = saved[3]->numel;
        s.n = s.rows ? x->numel / s.rows : 0;
    }
    const int64_t column[2] = {s.rows, 1};
    fb_tensor *x = as_rows(&t, &s, saved[1]), *g = as_rows(&t, &s, saved[0]);
    fb_tensor *mean = fb_shaped(&t, saved[2], 2, column), *rstd = fb_shaped(&t, saved[3], 2, column);
    fb_tensor *w = weight_rows(&t, &s, saved[4]);
    fb_tensor *u = as_rows(&t, &s, grads[0]), *a = weight_rows(&t, &s, grads[1]), *b = weight_rows(&t, &s, grads[2]);
    fb_tensor *xhat = unit(&t, x, mean, rstd), *ju = jacobian(&t, u, x, mean, rstd);

    if (needs & 1) { /* dg */
        fb_tensor *d = fb_sum_of(&t, w ? fb_times(&t, w, ju) : ju, fb_sum_of(&t, fb_times(&t, a, xhat), b));
        if (d && b && d == b && g) d = t.failed ? NULL : fb_keep(&t, fb_expand(b, (fb_ints){2, g->sizes}, false));
        d = from_rows(&t, &s, d, saved[0]);
        grad_inputs[0] = d && !t.failed ? fb_retain(d) : NULL;
    }
    if (needs & 2) { /* dx */
        fb_tensor *h = w ? fb_times(&t, g, w) : g, *jh = u ? jacobian(&t, h, x, mean, rstd) : NULL;
        fb_tensor *d = fb_sum_of(&t, fb_times(&t, xhat, row_sums(&t, fb_times(&t, u, jh))),
                            fb_sum_of(&t, fb_times(&t, ju, row_sums(&t, u ? fb_times(&t, h, xhat) : NULL)),
                                      fb_times(&t, jh, row_sums(&t, fb_times(&t, u, xhat)))));
        fb_tensor *share = d ? fb_keep(&t, fb_wrapped(fb_float(-1 / (double)s.n))) : NULL;
        d = fb_sum_of(&t, fb_times(&t, fb_times(&t, d, rstd), share), jacobian(&t, fb_times(&t, g, a), x, mean, rstd));
        d = from_rows(&t, &s, d, saved[1]);
        grad_inputs[1] = d && !t.failed ? fb_retain(d) : NULL;
    }
    if ((needs & 16) && saved[4]) { /* dw */
        fb_tensor *d = weight_sums(&t, &s, fb_times(&t, g, ju), saved[4]);
        grad_inputs[2] = d && !t.failed ? fb_retain(d) : NULL;
    }
    status = t.failed ? FB_FAIL : FB_OK;
done:
    fb_terms_end(&t, NULL);
    for (int i = 0; i < 5; i++) fb_release(saved[i]);
    return status;
}

fb_status fb_b_norm_rows_backward(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs);
fb_status fb_b_norm_rows_backward(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    return second(n, &(const shape){.layout = ROWS}, grads, grad_inputs, needs);
}

fb_status fb_b_group_norm_backward(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs);
fb_status fb_b_group_norm_backward(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    return second(n, &(const shape){.layout = GROUPS}, grads, grad_inputs, needs);
}

fb_status fb_b_batch_norm_backward(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs);
fb_status fb_b_batch_norm_backward(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    return second(n, &(const shape){.layout = BATCH}, grads, grad_inputs, needs);
}
