/* ctc_loss (Graves et al. 2006, Connectionist temporal classification): the probability of a target summed over all its
 * alignments. Notation as there: the target with blanks around each label, l' of length 2 * target length + 1; alpha(t, s)
 * and beta(t, s) in log space. */
#include "nn/terms.h"
#include "params.gen.h"
#include <math.h>

typedef long long ll;

/* ---- checks ---- */

static fb_status check_lengths(fb_ints v, const char *name, int64_t batch)
{
    if (v.n != batch) return fb_fail(FB_ERUNTIME, "%s must be of size batch_size", name);
    for (int64_t i = 0; i < v.n; i++)
        if (v.v[i] < 0)
            return fb_fail(FB_ERUNTIME, "Expected %s to have value at least 0, but got value %lld (while checking "
                           "arguments for "
                           "ctc_loss_allocate_outputs)", name, (ll)v.v[i]);
    return FB_OK;
}

fb_status fb_i_ctc_losses(fb_frame *f)
{
    const struct fb_p_ctc_losses *p = f->params;
    const fb_tensor *x = f->in[0], *y = f->in[1];
    int64_t most = 0, total = 0;

    if (x->ndim != 3) return fb_fail(FB_ERUNTIME, "ctc_loss: log_probs must have 3 dimensions (time, batch, "
                                     "classes), but has shape %s",
                                     fb_shape_text(x->ndim, x->sizes));
    const int64_t time = x->sizes[0], batch = x->sizes[1];
    if (x->dtype != FB_F32 && x->dtype != FB_F64) return fb_fail(FB_ENOTIMPL, "\"ctc_loss_cpu\" not implemented "
                                                                 "for '%s'", fb_dtype_label((fb_dtype)x->dtype));
    if (y->dtype != FB_I64 && y->dtype != FB_I32)
        return fb_fail(FB_ERUNTIME, "ctc_loss: targets must be int32 or int64, but are %s", fb_dtype_name((fb_dtype)y->dtype));
    if (p->blank < 0 || p->blank >= x->sizes[2]) return fb_fail(FB_ERUNTIME, "blank must be in label range");
    FB_TRY(check_lengths(p->input_lengths, "input_lengths", batch));
    FB_TRY(check_lengths(p->target_lengths, "target_lengths", batch));
    for (int64_t b = 0; b < batch; b++) {
        if (p->input_lengths.v[b] > time)
            return fb_fail(FB_ERUNTIME, "Expected input_lengths to have value at most %lld, but got value %lld "
                           "(while checking arguments for "
                           "ctc_loss_allocate_outputs)", (ll)time, (ll)p->input_lengths.v[b]);
        most = FB_MAX(most, p->target_lengths.v[b]);
        total += p->target_lengths.v[b];
    }
    if (y->ndim == 1 ? y->sizes[0] != total : y->ndim != 2 || y->sizes[0] != batch)
        return fb_fail(FB_ERUNTIME, "Expected tensor to have size %lld at dimension 0, but got size %lld for "
                       "argument #2 'targets' (while checking "
                       "arguments for ctc_loss_allocate_outputs)", (ll)(y->ndim == 1 ? total : batch), (ll)(y->ndim ? y->sizes[0] : 0));
    if (y->ndim == 2 && y->sizes[1] < most)
        return fb_fail(FB_ERUNTIME, "Expected tensor to have size at least %lld at dimension 1, but got size %lld "
                       "for argument #2 'targets' (while "
                       "checking arguments for ctc_loss_allocate_outputs)", (ll)most, (ll)y->sizes[1]);
    const int64_t alpha[3] = {batch, time, 2 * most + 1};
    FB_TRY(fb_out(f, 0, (fb_dtype)x->dtype, 1, &batch, NULL));
    return fb_out(f, 1, (fb_dtype)x->dtype, 3, alpha, NULL);
}

fb_status fb_i_ctc_losses_backward(fb_frame *f) { return fb_out_like(f, 0, f->in[1], (fb_dtype)f->in[1]->dtype); }

/* ---- the recursions, in double ---- */

typedef struct ctc {
    fb_tensor *x, *y, *alpha; /* contiguous: double, int64, double */
    int64_t time, batch, classes, width, blank;
    const int64_t *starts; /* of each sample's target within y */
    fb_ints input, target;
} ctc;

static double log_add(double a, double b)
{
    const double most = a > b ? a : b;
    return most == -INFINITY ? most : most + log1p(exp(-fabs(a - b)));
}

static int64_t label_at(const ctc *c, int64_t b, int64_t s) { return s % 2 ? ((const int64_t *)fb_ptr(c->y))[c->starts[b] + s / 2] : c->blank; }
static double log_prob(const ctc *c, int64_t t, int64_t b, int64_t label)
{
    return ((const double *)fb_ptr(c->x))[(t * c->batch + b) * c->classes + label];
}
static bool may_skip(const ctc *c, int64_t b, int64_t s) /* from s - 2 to s, over the blank between */
{
    return s >= 2 && s % 2 && label_at(c, b, s) != label_at(c, b, s - 2);
}

static void alphas(void *ctx, int64_t begin, int64_t end)
{
    const ctc *c = ctx;

    for (int64_t b = begin; b < end; b++) {
        const int64_t n = 2 * c->target.v[b] + 1;
        double *a = (double *)fb_ptr(c->alpha) + b * c->time * c->width;
        for (int64_t i = 0; i < c->time * c->width; i++) a[i] = -INFINITY;
        for (int64_t t = 0; t < c->input.v[b]; t++, a += c->width)
            for (int64_t s = 0; s < n; s++) {
                const double *before = a - c->width;
                double v = t == 0 ? (s < 2 ? 0 : -INFINITY) : before[s];
                if (t && s >= 1) v = log_add(v, before[s - 1]);
                if (t && may_skip(c, b, s)) v = log_add(v, before[s - 2]);
                a[s] = v + log_prob(c, t, b, label_at(c, b, s));
            }
    }
}

static double loss_of(const ctc *c, int64_t b)
{
    const int64_t last = 2 * c->target.v[b], t = c->input.v[b];

    if (t == 0) return last == 0 ? 0 : INFINITY;
    const double *a = (const double *)fb_ptr(c->alpha) + (b * c->time + t - 1) * c->width;
    return -(last ? log_add(a[last], a[last - 1]) : a[0]);
}

/* scale[b] * (exp(log prob) - the share of alignments that emit the class there) of each time and class. */
static fb_status gradients(fb_frame *f, const ctc *c, const double *loss, const double *scale, double *out)
{
    double *beta = fb_scratch(f, c->width * 16), *share = fb_scratch(f, c->classes * 8);

    if (!beta || !share) return FB_FAIL;
    memset(out, 0, (size_t)(c->time * c->batch * c->classes) * sizeof *out);
    for (int64_t b = 0; b < c->batch; b++) {
        const int64_t n = 2 * c->target.v[b] + 1;
        double *now = beta, *next = beta + c->width;
        for (int64_t t = c->input.v[b] - 1; t >= 0; t--) {
            const double *a = (const double *)fb_ptr(c->alpha) + (b * c->time + t) * c->width;
            for (int64_t k = 0; k < c->classes; k++) share[k] = -INFINITY;
            for (int64_t s = n - 1; s >= 0; s--) { /* now[s]: from here to the end, this step's own probability left out */
                double v = -INFINITY;
                if (t == c->input.v[b] - 1) {
                    v = s >= n - 2 ? 0 : -INFINITY;
                } else {
                    v = next[s];
                    if (s + 1 < n) v = log_add(v, next[s + 1]);
                    if (s + 2 < n && may_skip(c, b, s + 2)) v = log_add(v, next[s + 2]);
                }
                const int64_t label = label_at(c, b, s);
                share[label] = log_add(share[label], a[s] + v);
                now[s] = v + log_prob(c, t, b, label);
            }
            double *to = out + (t * c->batch + b) * c->classes;
            for (int64_t k = 0; k < c->classes && scale[b] != 0; k++)
                to[k] = scale[b] * (exp(log_prob(c, t, b, k)) - exp(share[k] + loss[b]));
            double *swap = now;
            now = next;
            next = swap;
        }
    }
    return FB_OK;
}

/* ---- operators ---- */

static fb_status open_ctc(fb_frame *f, ctc *c, fb_tensor *x, fb_tensor *y, fb_ints input, fb_ints target, int64_t blank, int64_t width)
{
    *c = (ctc){.time = x->sizes[0], .batch = x->sizes[1], .classes = x->sizes[2], .width = width, .blank = blank, .input = input, .target = target};
    int64_t *starts = fb_scratch(f, c->batch * 8), at = 0;

    if (!starts || !(c->x = fb_contiguous_as(x, FB_F64)) || !(c->y = fb_contiguous_as(y, FB_I64))) return FB_FAIL;
    for (int64_t b = 0; b < c->batch; b++) {
        starts[b] = y->ndim == 2 ? b * y->sizes[1] : at;
        at += target.v[b];
        for (int64_t i = 0; i < target.v[b]; i++) {
            const int64_t v = ((const int64_t *)fb_ptr(c->y))[starts[b] + i];
            if (v < 0 || v >= c->classes)
                return fb_fail(FB_EINDEX, "ctc_loss: target %lld of sample %lld is not one of %lld classes", (ll)v, (ll)b, (ll)c->classes);
        }
    }
    c->starts = starts;
    return FB_OK;
}
static void close_ctc(ctc *c)
{
    fb_release(c->x);
    fb_release(c->y);
    fb_release(c->alpha);
}

fb_status fb_k_ctc_losses(fb_frame *f)
{
    const struct fb_p_ctc_losses *p = f->params;
    ctc c = {.time = 0};
    fb_tensor *loss = NULL;
    fb_status status = FB_FAIL;

    if (open_ctc(f, &c, f->in[0], f->in[1], p->input_lengths, p->target_lengths, p->blank, f->out[1]->sizes[2]) == FB_OK &&
        (c.alpha = fb_new(3, f->out[1]->sizes, NULL, FB_F64, f->out[1]->device)) &&
        (loss = fb_new(1, f->out[0]->sizes, NULL, FB_F64, f->out[0]->device))) {
        fb_parallel_range(c.batch, 40 * (double)c.time * (double)c.width, alphas, &c);
        for (int64_t b = 0; b < c.batch; b++) {
            const double v = loss_of(&c, b);
            ((double *)fb_ptr(loss))[b] = p->zero_infinity && v == INFINITY ? 0 : v;
        }
        status = fb_copy_data(f->out[0], loss) == FB_OK ? fb_copy_data(f->out[1], c.alpha) : FB_FAIL;
    }
    fb_release(loss);
    close_ctc(&c);
    return status;
}

fb_status fb_k_ctc_losses_backward(fb_frame *f)
{
    const struct fb_p_ctc_losses_backward *p = f->params;
    ctc c = {.time = 0};
    fb_tensor *g = fb_contiguous_as(f->in[0], FB_F64), *out = NULL;
    double *loss = NULL;
    fb_status status = FB_FAIL;

    if (g && open_ctc(f, &c, f->in[1], f->in[2], p->input_lengths, p->target_lengths, p->blank, f->in[4]->sizes[2]) == FB_OK &&
        (c.alpha = fb_contiguous_as(f->in[4], FB_F64)) && (loss = fb_scratch(f, c.batch * 16)) &&
        (out = fb_new(3, f->out[0]->sizes, NULL, FB_F64, f->out[0]->device))) {
        double *scale = loss + c.batch;
        for (int64_t b = 0; b < c.batch; b++) {
            loss[b] = loss_of(&c, b);
            scale[b] = p->zero_infinity && loss[b] == INFINITY ? 0 : ((const double *)fb_ptr(g))[b];
        }
        status = !out->numel ? FB_OK : gradients(f, &c, loss, scale, fb_ptr(out));
        if (status == FB_OK) status = fb_copy_data(f->out[0], out);
    }
    fb_release(out);
    fb_release(g);
    close_ctc(&c);
    return status;
}

fb_status fb_c_ctc_loss(fb_frame *f)
{
    const struct fb_p_ctc_loss_lists *p = f->params;
    fb_tensor *x = f->in[0], *y = f->in[1], *losses = NULL, *alpha = NULL;
    const int64_t batch = x->ndim == 3 ? x->sizes[1] : 1;
    fb_terms t = {.n = 0};

    if (x->ndim == 2) x = fb_keep(&t, fb_unsqueeze(x, 1)); /* one sequence without the batch */
    if (fb_none(&t, x) || fb_ctc_losses(x, y, p->input_lengths, p->target_lengths, p->blank, p->zero_infinity, &losses, &alpha) != FB_OK) {
        fb_terms_end(&t, NULL);
        return FB_FAIL;
    }
    fb_release(alpha);
    losses = fb_keep(&t, losses);
    if (p->reduction == FB_REDUCE_MEAN) { /* of each target's loss per label */
        fb_tensor *lengths = fb_keep(&t, fb_new(1, &batch, NULL, (fb_dtype)x->dtype, x->device));
        for (int64_t b = 0; lengths && b < batch && x->device.type != FB_META; b++)
            fb_scalar_store(fb_int(FB_MAX(p->target_lengths.v[b], 1)), (fb_dtype)x->dtype,
                            (char *)fb_ptr(lengths) + b * fb_itemsize((fb_dtype)x->dtype));
        fb_tensor *each = fb_over(&t, losses, lengths);
        losses = fb_none(&t, each) ? NULL : fb_keep(&t, fb_mean(each, (fb_ints){-1, NULL}, false, FB_NONE));
    } else if (p->reduction == FB_REDUCE_SUM) {
        losses = fb_summed(&t, losses, -1, NULL, false);
    } else if (f->in[0]->ndim == 2) {
        losses = fb_shaped(&t, losses, 0, NULL);
    }
    return fb_give(f, 0, fb_terms_end(&t, losses));
}
