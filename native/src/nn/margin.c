/* multi_margin_loss, made of other operators, and multilabel_margin_loss. */
#include "nn/terms.h"
#include "params.gen.h"

typedef long long ll;

static fb_status check_matrix(const fb_tensor *x)
{
    if (x->ndim <= 2 && (x->ndim == 0 || x->sizes[x->ndim - 1] != 0)) return FB_OK;
    return fb_fail(FB_ERUNTIME, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s",
                   fb_shape_text(x->ndim, x->sizes));
}

static fb_status check_long(const fb_tensor *y)
{
    return y->dtype == FB_I64 ? FB_OK
                              : fb_fail(FB_ERUNTIME, "expected scalar type Long but found %s", fb_dtype_label((fb_dtype)y->dtype));
}

static fb_status check_margins(const fb_frame *f, double p, int64_t n, int64_t classes)
{
    const fb_tensor *x = f->in[0], *y = f->in[1], *w = f->in[2];

    FB_TRY(check_matrix(x));
    if (y->ndim > 1 || y->numel != n)
        return fb_fail(FB_ERUNTIME, "multi_margin_loss: target tensor should be 1-D with size equal to the number "
                       "of input samples (batch size). "
                       "Expected target size [%lld], but got %s. Input has shape %s.", (ll)n, fb_shape_text(y->ndim, y->sizes),
                       fb_shape_text(x->ndim, x->sizes));
    FB_TRY(check_long(y));
    if (p != 1 && p != 2) return fb_fail(FB_ERUNTIME, "only p == 1 and p == 2 supported");
    if (w && (w->ndim > 1 || w->numel != classes))
        return fb_fail(FB_ERUNTIME, "inconsistent weight size, expected %lld but got %s", (ll)classes, fb_shape_text(w->ndim, w->sizes));
    if (w && w->dtype != x->dtype)
        return fb_fail(FB_ERUNTIME, "expected scalar type %s but found %s", fb_dtype_label((fb_dtype)x->dtype),
                       fb_dtype_label((fb_dtype)w->dtype));
    if (!fb_is(FB_FLOATS, x->dtype))
        return fb_fail(FB_ENOTIMPL, "\"multi_margin_loss_cpu_kernel\" not implemented for '%s'", fb_dtype_label((fb_dtype)x->dtype));
    if (y->device.type == FB_META || !n) return FB_OK;
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = ((const int64_t *)fb_ptr(y))[i * (y->ndim ? y->strides[0] : 1)];
        if (v < 0 || v >= classes) return fb_fail(FB_ERUNTIME, "target out of range");
    }
    return FB_OK;
}

fb_status fb_c_multi_margin_loss(fb_frame *f)
{
    const struct fb_p_multi_margin_loss *p = f->params;
    fb_tensor *x = f->in[0], *y = f->in[1], *w = f->in[2];
    const int64_t n = x->ndim == 2 ? x->sizes[0] : 1, classes = x->ndim ? x->sizes[x->ndim - 1] : 1, one = 1;
    const double power = fb_scalar_double(p->p);
    fb_terms t = {.n = 0};

    FB_TRY(check_margins(f, power, n, classes));
    fb_tensor *rows = fb_shaped(&t, x, 2, (const int64_t[]){n, classes}), *at = fb_shaped(&t, y, 2, (const int64_t[]){n, 1});
    fb_tensor *own = fb_none(&t, at) ? NULL : fb_keep(&t, fb_gather(rows, 1, at, false));
    fb_tensor *gap = fb_sum_of(&t, fb_minus(&t, rows, own), fb_number_of(&t, fb_scalar_double(p->margin)));
    fb_tensor *each = fb_none(&t, gap) ? NULL : fb_keep(&t, fb_relu(gap));
    if (power == 2) each = fb_times(&t, each, each);
    each = fb_none(&t, each) ? NULL : fb_keep(&t, fb_scatter_value(each, 1, at, fb_int(0)));
    fb_tensor *loss = fb_over(&t, fb_summed(&t, each, 1, &one, false), fb_number_of(&t, (double)classes));
    if (w) {
        fb_tensor *flat = fb_shaped(&t, y, 1, &n), *all = fb_shaped(&t, w, 1, &classes);
        loss = fb_times(&t, loss, fb_none(&t, all) || !flat ? NULL : fb_keep(&t, fb_index_select(all, 0, flat)));
    }
    if (x->ndim < 2) loss = fb_shaped(&t, loss, 0, NULL);
    return fb_give(f, 0, fb_terms_end(&t, fb_none(&t, loss) ? NULL : fb_keep(&t, fb_reduced_loss(loss, p->reduction))));
}

/* ---- multilabel_margin_loss ---- */

fb_status fb_i_multilabel_margin(fb_frame *f)
{
    const fb_tensor *x = f->in[0], *y = f->in[1];

    FB_TRY(check_matrix(x));
    const bool same = x->ndim == y->ndim && !memcmp(x->sizes, y->sizes, (size_t)x->ndim * sizeof *x->sizes);
    if (!same && !(x->ndim <= 1 && y->ndim <= 1 && x->numel == y->numel))
        return fb_fail(FB_ERUNTIME, "inconsistent target size: %s for input of size: %s", fb_shape_text(y->ndim, y->sizes),
                       fb_shape_text(x->ndim, x->sizes));
    FB_TRY(check_long(y));
    if (x->dtype != FB_F32 && x->dtype != FB_F64)
        return fb_fail(FB_ENOTIMPL, "\"multilabel_margin_loss_forward_out_frame\" not implemented for '%s'", fb_dtype_label((fb_dtype)x->dtype));
    return fb_out(f, 0, (fb_dtype)x->dtype, x->ndim == 2 ? 1 : 0, x->sizes, NULL);
}

fb_status fb_i_multilabel_margin_backward(fb_frame *f) { return fb_out_like(f, 0, f->in[1], (fb_dtype)f->in[1]->dtype); }

/* Runs a statement for each label y of sample r and each class i that is no label, with gap = 1 - x[y] + x[i]. */
#define EACH_PAIR(T, x, ...)                                                                                           \
    for (int64_t r = 0; r < n; r++) {                                                                                  \
        const T *row = (x) + r * classes;                                                                              \
        const int64_t *labels = v + r * classes;                                                                       \
        memset(label, 0, (size_t)classes);                                                                             \
        for (int64_t k = 0; k < classes && labels[k] >= 0; k++) label[labels[k]] = 1;                                  \
        for (int64_t k = 0; k < classes && labels[k] >= 0; k++)                                                        \
            for (int64_t i = 0; i < classes; i++) {                                                                    \
                const int64_t y = labels[k];                                                                           \
                const T gap = 1 - row[y] + row[i];                                                                     \
                if (label[i] || !(gap > 0)) continue;                                                                  \
                __VA_ARGS__;                                                                                           \
            }                                                                                                          \
    }

static fb_status multilabel(fb_frame *f, fb_tensor *grad, fb_tensor *self, fb_tensor *target)
{
    fb_tensor *x = fb_contiguous_as(self, FB_NONE), *y = x ? fb_contiguous_as(target, FB_I64) : NULL, *out = f->out[0];
    fb_tensor *g = grad && y ? fb_contiguous_as(grad, FB_NONE) : NULL;
    const int64_t classes = self->ndim ? self->sizes[self->ndim - 1] : 1, n = classes ? self->numel / classes : 0;
    uint8_t *label = y && (g || !grad) ? fb_scratch(f, classes) : NULL;
    fb_status status = FB_FAIL;

    if (!label) goto done;
    const int64_t *v = fb_ptr(y);
    for (int64_t i = 0; i < y->numel; i++)
        if (v[i] < -1 || v[i] >= classes) {
            fb_fail(FB_ERUNTIME, "argument #2 'target' is out of range");
            goto done;
        }
    if (out->numel) memset(fb_ptr(out), 0, (size_t)(out->numel * fb_itemsize((fb_dtype)out->dtype)));
    if (out->dtype == FB_F64) {
        double *to = fb_ptr(out);
        const double *from = g ? fb_ptr(g) : NULL;
        if (g)
            EACH_PAIR(double, (const double *)fb_ptr(x), to[r * classes + i] += from[r] / (double)classes;
                      to[r * classes + y] -= from[r] / (double)classes)
        else
            EACH_PAIR(double, (const double *)fb_ptr(x), to[r] += gap / (double)classes)
    } else {
        float *to = fb_ptr(out);
        const float *from = g ? fb_ptr(g) : NULL;
        if (g)
            EACH_PAIR(float, (const float *)fb_ptr(x), to[r * classes + i] += from[r] / (float)classes;
                      to[r * classes + y] -= from[r] / (float)classes)
        else
            EACH_PAIR(float, (const float *)fb_ptr(x), to[r] += gap / (float)classes)
    }
    status = FB_OK;
done:
    fb_release(g);
    fb_release(y);
    fb_release(x);
    return status;
}

fb_status fb_k_multilabel_margin(fb_frame *f) { return multilabel(f, NULL, f->in[0], f->in[1]); }
fb_status fb_k_multilabel_margin_backward(fb_frame *f) { return multilabel(f, f->in[0], f->in[1], f->in[2]); }
