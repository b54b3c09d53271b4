/* cross_entropy_loss: which operators make it. */
#include "nn/nll.h"
#include "nn/terms.h"
#include "params.gen.h"

fb_status fb_i_cross_entropy(fb_frame *f)
{
    const fb_tensor *x = f->in[0];
    int64_t sizes[2] = {2, 1};

    FB_TRY(fb_classes_infer(f, ((const struct fb_p_cross_entropy_index *)f->params)->reduction));
    sizes[1] = f->in[1]->numel;
    f->cost = 500 + 2.5 * (double)x->numel;
    return fb_out(f, 2, fb_dense_compute(x), 2, sizes, NULL); /* maxima and log sums */
}

fb_status fb_i_cross_entropy_backward(fb_frame *f)
{
    f->cost = 500 + 1.5 * (double)f->in[1]->numel;
    return fb_out_like(f, 0, f->in[1], (fb_dtype)f->in[1]->dtype);
}

/* A weight of classes so that it broadcasts to the logits. */
static fb_tensor *class_weight(fb_terms *t, fb_tensor *weight, int64_t ndim)
{
    int64_t sizes[FB_MAX_DIMS];

    for (int64_t d = 0; d < ndim; d++) sizes[d] = 1;
    if (!weight || ndim < 2) return weight;
    sizes[0] = weight->numel;
    return fb_shaped(t, weight, ndim - 1, sizes);
}

static fb_tensor *negative(fb_terms *t, fb_tensor *a) { return fb_none(t, a) ? NULL : fb_keep(t, fb_neg(a)); }

static fb_status with_probabilities(fb_frame *f, int64_t dim)
{
    const struct fb_p_cross_entropy_loss *p = f->params;
    fb_tensor *x = f->in[0], *y = f->in[1], *w = f->in[2];
    fb_terms t = {.n = 0};

    if (!fb_is(FB_FLOATS, y->dtype))
        return fb_fail(FB_ERUNTIME, "Expected floating point type for target with class probabilities, got %s", fb_dtype_label((fb_dtype)y->dtype));
    if (p->ignore_index >= 0) return fb_fail(FB_ERUNTIME, "ignore_index is not supported for floating point target");
    const int64_t classes = x->ndim ? x->sizes[dim] : 1;
    if (w && (w->ndim != 1 || w->numel != classes))
        return fb_fail(FB_ERUNTIME, "cross_entropy: weight tensor should be defined either for all %lld classes "
                       "or no classes but got weight tensor "
                       "of shape: %s", (long long)classes, fb_shape_text(w->ndim, w->sizes));
    fb_tensor *logp = fb_keep(&t, fb_log_softmax(x, dim, FB_NONE));
    if (p->label_smoothing > 0)
        y = fb_sum_of(&t, fb_times(&t, y, fb_number_of(&t, 1 - p->label_smoothing)), fb_number_of(&t, p->label_smoothing / (double)classes));
    fb_tensor *loss = fb_times(&t, logp, y);
    if (w) loss = fb_times(&t, loss, class_weight(&t, w, x->ndim));
    loss = negative(&t, p->reduction == 0 ? fb_summed(&t, loss, x->ndim ? 1 : -1, &dim, false) : fb_summed(&t, loss, -1, NULL, false));
    if (p->reduction == 1) loss = fb_over(&t, loss, fb_number_of(&t, (double)x->numel / (double)classes));
    return fb_give(f, 0, fb_terms_end(&t, loss));
}

/* The part of a smoothed target that is spread over all classes: -(log p * weight) summed over classes. */
static fb_tensor *spread_loss(fb_terms *t, fb_frame *f, fb_tensor *logp, int64_t dim)
{
    const struct fb_p_cross_entropy_loss *p = f->params;
    fb_tensor *x = f->in[0], *y = f->in[1], *w = f->in[2], *total;
    fb_tensor *weighted = w ? fb_times(t, logp, class_weight(t, w, x->ndim)) : logp;
    fb_tensor *loss = negative(t, fb_summed(t, weighted, 1, &dim, false));
    fb_tensor *ignore = t->failed ? NULL : fb_keep(t, fb_wrapped(fb_int(p->ignore_index)));
    fb_tensor *skip = fb_none(t, ignore) ? NULL : fb_keep(t, fb_eq(y, ignore));

    if (fb_none(t, skip) || !loss) return NULL;
    if (x->ndim == 1) skip = fb_shaped(t, skip, 0, NULL);
    loss = t->failed ? NULL : fb_keep(t, fb_masked_fill(loss, skip, fb_keep(t, fb_wrapped(fb_int(0)))));
    if (p->reduction == 0 || t->failed) return loss;
    loss = fb_summed(t, loss, -1, NULL, false);
    if (p->reduction == 2) return loss;
    fb_tensor *count = t->failed ? NULL : fb_keep(t, fb_logical_not(skip));
    if (w) { /* the mean is over the weights of the targets that count */
        fb_tensor *at = t->failed ? NULL : fb_keep(t, fb_masked_fill(y, fb_shaped(t, skip, y->ndim, y->sizes), fb_keep(t, fb_wrapped(fb_int(0)))));
        at = fb_shaped(t, at, 1, (const int64_t[]){-1});
        at = fb_none(t, at) ? NULL : fb_keep(t, fb_to_copy(at, FB_I64, FB_ABSENT));
        fb_tensor *each = fb_none(t, at) ? NULL : fb_keep(t, fb_index_select(w, 0, at));
        total = fb_summed(t, fb_times(t, each, fb_shaped(t, count, 1, (const int64_t[]){-1})), -1, NULL, false);
    } else {
        total = fb_summed(t, count, -1, NULL, false);
    }
    return fb_over(t, loss, total);
}

fb_status fb_c_cross_entropy_loss(fb_frame *f)
{
    const struct fb_p_cross_entropy_loss *p = f->params;
    fb_tensor *x = f->in[0], *y = f->in[1], *w = f->in[2], *loss = NULL, *total = NULL, *lse = NULL;
    const int64_t dim = x->ndim <= 1 ? 0 : 1;

    if (p->label_smoothing < 0 || p->label_smoothing > 1)
        return fb_fail(FB_ERUNTIME, "label_smoothing must be between 0.0 and 1.0. Got: %g", p->label_smoothing);
    if (y->ndim == x->ndim && !memcmp(x->sizes, y->sizes, (size_t)x->ndim * sizeof *x->sizes))
        return with_probabilities(f, dim);
    if (!fb_is(FB_FLOATS, x->dtype))
        return fb_fail(FB_ENOTIMPL, "\"log_softmax_lastdim_kernel_impl\" not implemented for '%s'", fb_dtype_label((fb_dtype)x->dtype));
    if (p->label_smoothing == 0) {
        FB_TRY(fb_cross_entropy_index(x, y, w, p->reduction, p->ignore_index, &loss, &total, &lse));
        fb_release(total);
        fb_release(lse);
        return fb_give(f, 0, loss);
    }
    fb_terms t = {.n = 0};
    fb_tensor *logp = x->ndim ? fb_keep(&t, fb_log_softmax(x, dim, FB_NONE)) : x;
    fb_tensor *nll = t.failed ? NULL : fb_keep(&t, fb_nll_loss_nd_only(logp, y, w, p->reduction, p->ignore_index));
    fb_tensor *spread = fb_none(&t, nll) ? NULL : spread_loss(&t, f, logp, dim);
    const double share = p->label_smoothing / (double)(x->ndim ? x->sizes[dim] : 1);
    loss = fb_sum_of(&t, fb_times(&t, nll, fb_number_of(&t, 1 - p->label_smoothing)), fb_times(&t, spread, fb_number_of(&t, share)));
    return fb_give(f, 0, fb_terms_end(&t, loss));
}
