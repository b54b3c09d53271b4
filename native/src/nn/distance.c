/* Cosines, and losses made of distances: checks with PyTorch's texts around ordinary operators; bilinear. */
#include "nn/terms.h"
#include "params.gen.h"

typedef long long ll;

static fb_tensor *norm_of(fb_terms *t, fb_tensor *a, int64_t dim, double least)
{
    fb_tensor *n = fb_none(t, a) ? NULL : fb_keep(t, fb_vector_norm(a, 2, (fb_ints){1, &dim}, true, FB_NONE));
    fb_tensor *bounded = fb_none(t, n) ? NULL : fb_keep(t, fb_maximum(n, fb_number_of(t, least)));
    fb_tensor *more = fb_minus(t, bounded, n); /* 0 but where the norm is less: a constant, so that the gradient passes */
    return fb_sum_of(t, n, fb_none(t, more) ? NULL : fb_keep(t, fb_detach(more)));
}

fb_status fb_c_cosine_similarity(fb_frame *f)
{
    const struct fb_p_cosine_similarity *p = f->params;
    const fb_dtype common = fb_result_type(2, f->in);
    fb_tensor *x[2] = {f->in[0], f->in[1]};
    int64_t sizes[FB_MAX_DIMS], ndim, d;
    fb_terms t = {.n = 0};

    if (common == FB_NONE) return FB_FAIL;
    if (!fb_is_float(common))
        return fb_fail(FB_ERUNTIME, "expected common dtype to be floating point, yet common dtype is %s", fb_dtype_label(common));
    FB_TRY(fb_broadcast_shape(2, f->in, &ndim, sizes));
    FB_TRY(fb_wrap_dim(p->dim, ndim, &d));
    for (int i = 0; i < 2; i++) {
        if (x[i]->dtype != common) x[i] = fb_keep(&t, fb_to_copy(x[i], common, FB_ABSENT));
        if (!fb_none(&t, x[i])) x[i] = fb_keep(&t, fb_expand(x[i], (fb_ints){ndim, sizes}, false));
        x[i] = fb_over(&t, x[i], norm_of(&t, x[i], d, p->eps));
    }
    return fb_give(f, 0, fb_terms_end(&t, fb_summed(&t, fb_times(&t, x[0], x[1]), 1, &d, false)));
}

fb_status fb_c_cosine_embedding_loss(fb_frame *f)
{
    const struct fb_p_cosine_embedding_loss *p = f->params;
    fb_tensor *a = f->in[0], *b = f->in[1], *y = f->in[2];
    const int64_t dim = y->ndim;
    fb_terms t = {.n = 0};

    if (y->ndim > 1) return fb_fail(FB_ERUNTIME, "0D or 1D target tensor expected, multi-target not supported");
    if (y->ndim == 1 && (a->ndim != 2 || b->ndim != 2))
        return fb_fail(FB_ERUNTIME, "1D target tensor expects 2D input tensors, but found inputs with sizes %s "
                       "and %s.", fb_shape_text(a->ndim, a->sizes),
                       fb_shape_text(b->ndim, b->sizes));
    if (y->ndim == 0 && (a->ndim != 1 || b->ndim != 1))
        return fb_fail(FB_ERUNTIME, "0D target tensor expects 1D input tensors, but found inputs with sizes %s "
                       "and %s.", fb_shape_text(a->ndim, a->sizes),
                       fb_shape_text(b->ndim, b->sizes));
    fb_tensor *least = fb_number_of(&t, 1e-12), *one = fb_number_of(&t, 1), *zero = fb_number_of(&t, 0);
    fb_tensor *aa = fb_sum_of(&t, fb_summed(&t, fb_times(&t, a, a), 1, &dim, false), least);
    fb_tensor *bb = fb_sum_of(&t, fb_summed(&t, fb_times(&t, b, b), 1, &dim, false), least), *product = fb_times(&t, aa, bb);
    fb_tensor *cosine = fb_over(&t, fb_summed(&t, fb_times(&t, a, b), 1, &dim, false), fb_none(&t, product) ? NULL : fb_keep(&t, fb_sqrt(product)));
    fb_tensor *above = fb_minus(&t, cosine, fb_number_of(&t, p->margin)), *minus = fb_number_of(&t, -1);
    fb_tensor *far = fb_none(&t, above) ? NULL : fb_keep(&t, fb_relu(above)), *near = fb_minus(&t, one, cosine);
    fb_tensor *same = fb_none(&t, near) ? NULL : fb_keep(&t, fb_eq(y, one)), *other = fb_none(&t, far) ? NULL : fb_keep(&t, fb_eq(y, minus));
    near = fb_none(&t, same) ? NULL : fb_keep(&t, fb_where(same, near, zero));
    far = fb_none(&t, other) ? NULL : fb_keep(&t, fb_where(other, far, zero));
    fb_tensor *loss = fb_sum_of(&t, near, far);
    return fb_give(f, 0, fb_terms_end(&t, fb_none(&t, loss) ? NULL : fb_keep(&t, fb_reduced_loss(loss, p->reduction))));
}

fb_status fb_c_triplet_margin_loss(fb_frame *f)
{
    const struct fb_p_triplet_margin_loss *p = f->params;
    fb_tensor *a = f->in[0], *b = f->in[1], *c = f->in[2];

    if (a->ndim != b->ndim || b->ndim != c->ndim)
        return fb_fail(FB_ERUNTIME, "The anchor, positive, and negative tensors are expected to have the same "
                       "number of dimensions, but got: anchor %dD, "
                       "positive %dD, and negative %dD inputs", (int)a->ndim, (int)b->ndim, (int)c->ndim);
    return fb_give(f, 0, fb_triplet_margin(a, b, c, p->margin, p->p, p->eps, p->swap, p->reduction));
}

/* out[n, k] = sum over j of (input1 @ weight[k])[n, j] * input2[n, j], all k in one matrix product. */
fb_status fb_c_bilinear(fb_frame *f)
{
    fb_tensor *a = f->in[0], *b = f->in[1], *w = f->in[2], *bias = f->in[3];
    int64_t sizes[FB_MAX_DIMS], rows = 1;
    fb_terms t = {.n = 0};

    if (a->ndim != b->ndim) return fb_fail(FB_ERUNTIME, "bilinear(): input dimensions do not match: got %d and %d", (int)a->ndim, (int)b->ndim);
    if (a->ndim == 0 || w->ndim != 3)
        return fb_fail(FB_ERUNTIME, "bilinear(): expected inputs of at least 1 dimension and a weight of 3, but "
                       "got %d and %d", (int)a->ndim, (int)w->ndim);
    for (int d = 0; d < a->ndim - 1; d++) {
        if (a->sizes[d] != b->sizes[d])
            return fb_fail(FB_ERUNTIME, "bilinear(): input batch dimensions do not match at dim %d: got %lld and "
                           "%lld", d, (ll)a->sizes[d], (ll)b->sizes[d]);
        rows *= sizes[d] = a->sizes[d];
    }
    const int64_t i = w->sizes[1], j = w->sizes[2], k = w->sizes[0], last = a->ndim - 1, two = 2;
    for (int n = 0; n < 2; n++) {
        const fb_tensor *x = n ? b : a;
        if (x->sizes[last] != w->sizes[1 + n])
            return fb_fail(FB_ERUNTIME, "bilinear(): input%d size does not match weight size: got %lld but "
                           "expected %lld", n + 1, (ll)x->sizes[last],
                           (ll)w->sizes[1 + n]);
    }
    if (bias && (bias->ndim != 1 || bias->sizes[0] != k))
        return fb_fail(FB_ERUNTIME, "bilinear(): bias size does not match weight size: got %lld but expected %lld",
                       (ll)(bias->ndim ? bias->sizes[0] : 1), (ll)k);
    sizes[last] = k;
    fb_tensor *side = fb_keep(&t, fb_transpose(w, 0, 1)), *flat = fb_shaped(&t, side, 2, (const int64_t[]){i, k * j});
    fb_tensor *left = fb_shaped(&t, a, 2, (const int64_t[]){rows, i});
    fb_tensor *all = fb_none(&t, left) || !flat ? NULL : fb_keep(&t, fb_mm(left, flat));
    all = fb_shaped(&t, all, 3, (const int64_t[]){rows, k, j});
    fb_tensor *y = fb_summed(&t, fb_times(&t, all, fb_shaped(&t, b, 3, (const int64_t[]){rows, 1, j})), 1, &two, false);
    return fb_give(f, 0, fb_terms_end(&t, fb_sum_of(&t, fb_shaped(&t, y, a->ndim, sizes), bias)));
}
