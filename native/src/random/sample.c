/* normal (tensors as parameters), poisson, multinomial, randperm. */
#include "flambeau/ops.gen.h"
#include "params.gen.h"
#include "random/order.h"
#include "runtime/frame.h"
#include <math.h>

/* ---- normal ---- */

fb_status fb_i_normal(fb_frame *f)
{
    int64_t ndim, sizes[FB_MAX_DIMS];
    const fb_tensor *mean = f->in[0], *std = f->in[1];
    const fb_tensor *model = mean->flags & FB_T_WRAPPED ? std : mean;

    if (fb_is_complex(std->dtype))
        return fb_fail(FB_ERUNTIME, "normal expects standard deviation to be non-complex");
    if ((f->flags & FB_F_OUT_GIVEN) && f->out[0] && !fb_is_float(f->out[0]->dtype) && !fb_is_complex(f->out[0]->dtype))
        return fb_fail(FB_ENOTIMPL, "\"normal_kernel_cpu\" not implemented for '%s'", fb_dtype_label((fb_dtype)f->out[0]->dtype));
    FB_TRY(fb_broadcast_shape(2, f->in, &ndim, sizes));
    return fb_out(f, 0, (fb_dtype)model->dtype, ndim, sizes, NULL);
}

static fb_status no_negatives(fb_tensor *std)
{
    fb_tensor *wide = fb_contiguous_as(std, FB_F64);
    fb_status status = FB_OK;

    if (!wide) return FB_FAIL;
    const double *v = wide->numel ? fb_ptr(wide) : NULL;
    for (int64_t i = 0; i < wide->numel && status == FB_OK; i++)
        if (!(v[i] >= 0)) status = fb_fail(FB_ERUNTIME, "normal expects all elements of std >= 0.0");
    fb_release(wide);
    return status;
}

fb_status fb_k_normal(fb_frame *f)
{
    const struct fb_p_normal *p = f->params;
    fb_tensor *out = f->out[0], *scaled, *sum = NULL;

    FB_TRY(no_negatives(f->in[1]));
    if (!fb_is(FB_FLOATS | FB_COMPLEXES, out->dtype))
        return fb_fail(FB_ENOTIMPL, "\"normal_kernel_cpu\" not implemented for '%s'",
                       fb_dtype_label((fb_dtype)out->dtype));
    double std = fb_is_complex(out->dtype) ? sqrt(0.5) : 1;
    FB_TRY(fb_fill_random(out, &(fb_draw){.kind = FB_DRAW_NORMAL, .a = 0, .b = std}, p->generator));
    if ((scaled = fb_mul_out(out, f->in[1], out))) sum = fb_add_out(scaled, f->in[0], fb_int(1), out);
    fb_release(sum);
    fb_release(scaled);
    return sum ? FB_OK : FB_FAIL;
}

/* ---- poisson ---- */

/* Multiplication of uniform numbers until exp(-rate) is passed (Knuth), for small rates; for others the transformed
 * rejection PTRS of Hörmann, "The transformed rejection method for generating Poisson random variables",
 1993. */
static double poisson(fb_generator *g, double rate)
{
    if (rate == 0) return 0;
    if (rate < 10) {
        double limit = exp(-rate), product = 1;
        for (int64_t k = 0;; k++)
            if ((product *= fb_draw_double(g)) <= limit) return (double)k;
    }
    double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = fb_draw_double(g) - 0.5, v = fb_draw_double(g), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= v_r) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -rate + k * log_rate - lgamma(k + 1))
            return k;
    }
}

fb_status fb_i_poisson(fb_frame *f)
{
    const fb_tensor *t = f->in[0];

    if (!fb_is(FB_FLOATS, t->dtype))
        return fb_fail(FB_ENOTIMPL, "\"poisson_cpu\" not implemented for '%s'",
                       fb_dtype_label((fb_dtype)t->dtype));
    return fb_out_like(f, 0, t, (fb_dtype)t->dtype);
}

fb_status fb_k_poisson(fb_frame *f)
{
    const struct fb_p_poisson *p = f->params;
    fb_tensor *t = f->in[0], *rates = fb_contiguous_as(t, FB_F64), *counts = NULL;
    fb_generator *g = NULL;
    fb_status status = FB_FAIL;

    if (!rates || !(counts = fb_new(t->ndim, t->sizes, NULL, FB_F64, t->device))) goto done;
    const double *rate = fb_ptr(rates);
    double *count = fb_ptr(counts);
    for (int64_t i = 0; i < t->numel; i++)
        if (!(rate[i] >= 0)) {
            fb_fail(FB_ERUNTIME, "invalid Poisson rate, expected rate to be non-negative");
            goto done;
        }
    for (int64_t i = 0; i < t->numel; i++)
        if (isinf(rate[i])) {
            fb_fail(FB_ERUNTIME, "invalid Poisson rate, expected rate to be finite");
            goto done;
        }
    if (!(g = fb_generator_take(p->generator))) goto done;
    for (int64_t i = 0; i < t->numel; i++) count[i] = poisson(g, rate[i]);
    fb_generator_unlock(g);
    status = fb_copy_data(f->out[0], counts);
done:
    fb_release(counts);
    fb_release(rates);
    return status;
}

/* ---- multinomial ---- */

fb_status fb_i_multinomial(fb_frame *f)
{
    const struct fb_p_multinomial *p = f->params;
    const fb_tensor *t = f->in[0];

    if (t->ndim < 1 || t->ndim > 2) return fb_fail(FB_ERUNTIME, "prob_dist must be 1 or 2 dim");
    if (!fb_is(FB_FLOATS, t->dtype))
        return fb_fail(FB_ERUNTIME, "multinomial only supports floating-point dtypes for input, got: %s",
                       fb_dtype_label((fb_dtype)t->dtype));
    if (p->num_samples <= 0) return fb_fail(FB_ERUNTIME, "cannot sample n_sample <= 0 samples");
    int64_t n = t->sizes[t->ndim - 1];
    if (!p->replacement && p->num_samples > n)
        return fb_fail(FB_ERUNTIME,
                       "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    if (n > 1 << 24) return fb_fail(FB_ERUNTIME, "number of categories cannot exceed 2^24");
    int64_t sizes[2] = {t->ndim == 2 ? t->sizes[0] : p->num_samples, p->num_samples};
    return fb_out(f, 0, FB_I64, t->ndim, sizes, NULL);
}

/* The sum as PyTorch forms it: in the dtype of the weights, halves in float. */
static double sum_step(double sum, double v, bool is_double)
{
    return is_double ? sum + v : (double)((float)sum + (float)v);
}

/* Each sample looks up a uniform number among the row's cumulative weights. */
static fb_status with_replacement(const double *w, int64_t rows, int64_t n, int64_t samples, bool is_double,
                                  int64_t *out, fb_frame *f)
{
    const struct fb_p_multinomial *p = f->params;
    double *cumulative = fb_scratch(f, n * (int64_t)sizeof *cumulative);
    fb_generator *g;
    fb_status status = FB_OK;

    if (n && !cumulative) return FB_FAIL;
    if (!(g = fb_generator_take(p->generator))) return FB_FAIL;
    for (int64_t r = 0; r < rows && status == FB_OK; r++, w += n, out += samples) {
        double sum = 0;
        for (int64_t j = 0; j < n && status == FB_OK; j++) {
            if (!(w[j] >= 0))
                status = fb_fail(FB_ERUNTIME,
                                 "invalid multinomial distribution (encountering probability entry < 0)");
            else if (isinf(w[j]))
                status = fb_fail(FB_ERUNTIME,
                                 "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
            cumulative[j] = sum = sum_step(sum, w[j], is_double);
        }
        if (status == FB_OK && !(sum > 0))
            status = fb_fail(FB_ERUNTIME, "invalid multinomial distribution (sum of probabilities <= 0)");
        if (status != FB_OK) break;
        for (int64_t j = 0; j < n; j++) cumulative[j] = is_double ? cumulative[j] / sum : (double)((float)cumulative[j] / (float)sum);
        cumulative[n - 1] = 1;
        for (int64_t i = 0; i < samples; i++) {
            double u = fb_draw_double(g);
            int64_t low = 0, high = n;
            while (low < high) {
                int64_t middle = low + (high - low) / 2;
                if (cumulative[middle] < u)
                    low = middle + 1;
                else
                    high = middle;
            }
            out[i] = FB_MIN(low, n - 1);
        }
    }
    fb_generator_unlock(g);
    return status;
}

/* Keys that are NaN (0 / 0) count as the largest. */
static bool before(const double *key, int64_t a, int64_t b)
{
    if (key[a] != key[a] || key[b] != key[b]) return key[b] == key[b] || (key[a] != key[a] && a < b);
    return key[a] > key[b] || (key[a] == key[b] && a < b);
}

/* The `samples` first of n indices by key, in order: a heap whose root is the last of those kept. */
static void best(const double *key, int64_t n, int64_t samples, int64_t *heap)
{
    int64_t size = 0;

    for (int64_t j = 0; j < n; j++) {
        int64_t at;
        if (size < samples) { /* up */
            for (at = size++; at > 0 && before(key, heap[(at - 1) / 2],
                                               j); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
            heap[at] = j;
            continue;
        }
        if (!before(key, j, heap[0])) continue;
        for (at = 0;;) { /* the root goes, j comes in */
            int64_t child = 2 * at + 1;
            if (child + 1 < size && before(key, heap[child], heap[child + 1])) child++;
            if (child >= size || !before(key, j, heap[child])) break;
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = j;
    }
    while (size > 1) { /* sort: the last goes to the end */
        int64_t last = heap[0], moved = heap[--size], at = 0;
        for (;;) {
            int64_t child = 2 * at + 1;
            if (child + 1 < size && before(key, heap[child], heap[child + 1])) child++;
            if (child >= size || !before(key, moved, heap[child])) break;
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = moved;
        heap[size] = last;
    }
}

/* The largest weights after division by exponential numbers are a sample without replacement (Efraimidis and
 * Spirakis, Weighted random sampling with a reservoir, 2006). The quotients are rounded to the dtype. */
static fb_status by_keys(const double *w, int64_t rows, int64_t n, int64_t samples, int64_t *out, fb_frame *f)
{
    const struct fb_p_multinomial *p = f->params;
    fb_tensor *t = f->in[0], *q = NULL, *wide = NULL, *keys = NULL;
    int64_t strides[FB_MAX_DIMS];
    fb_status status = FB_FAIL;

    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            double v = w[r * n + j];
            if (!(v >= 0) || isinf(v))
                return fb_fail(FB_ERUNTIME, "probability tensor contains either `inf`, `nan` or element < 0");
            sum += v;
        }
        if (sum == 0)
            return fb_fail(FB_ERUNTIME, "invalid multinomial distribution (sum of probabilities <= 0)");
    }
    fb_packed_like(t, strides);
    if (!(q = fb_new(t->ndim, t->sizes, strides, (fb_dtype)t->dtype, t->device))) return FB_FAIL;
    if (fb_fill_random(q, &(fb_draw){.kind = FB_DRAW_EXPONENTIAL, .a = 1}, p->generator) == FB_OK
        && (wide = fb_contiguous_as(q, FB_F64))
        && (keys = fb_new(t->ndim, t->sizes, NULL, FB_F64, t->device))) {
        double *key = fb_ptr(keys);
        const double *e = fb_ptr(wide);
        for (int64_t i = 0; i < rows * n; i++) key[i] = t->dtype == FB_F64 ? w[i] / e[i] : (double)((float)w[i] / (float)e[i]);
        if (fb_is(FB_HALVES, t->dtype)) {
            status = fb_copy_data(q, keys);
            if (status == FB_OK) status = fb_copy_data(keys, q);
        } else {
            status = FB_OK;
        }
        for (int64_t r = 0; r < rows && status == FB_OK; r++) best(key + r * n, n, samples,
                                                                   out + r * samples);
    }
    fb_release(keys);
    fb_release(wide);
    fb_release(q);
    return status;
}

fb_status fb_k_multinomial(fb_frame *f)
{
    const struct fb_p_multinomial *p = f->params;
    fb_tensor *t = f->in[0], *weights;
    int64_t n = t->sizes[t->ndim - 1], rows = t->ndim == 2 ? t->sizes[0] : 1;
    fb_status status;

    if (f->out[0]->numel == 0) return FB_OK;
    if (n == 0) return fb_fail(FB_ERUNTIME, "invalid multinomial distribution (sum of probabilities <= 0)");
    if (!(weights = fb_contiguous_as(t, FB_F64))) return FB_FAIL;
    if (!p->replacement || p->num_samples == 1)
        status = by_keys(fb_ptr(weights), rows, n, p->num_samples, fb_ptr(f->out[0]), f);
    else
        status = with_replacement(fb_ptr(weights), rows, n, p->num_samples, t->dtype == FB_F64,
                                  fb_ptr(f->out[0]), f);
    fb_release(weights);
    return status;
}

/* ---- randperm ---- */

fb_status fb_i_randperm(fb_frame *f)
{
    const struct fb_p_randperm *p = f->params;
    fb_dtype dtype = p->dtype == FB_NONE ? FB_I64 : p->dtype;
    int64_t n = p->n;

    if (n < 0)
        return fb_fail(FB_ERUNTIME, "Trying to create tensor with negative dimension %lld: [%lld]",
                       (long long)n, (long long)n);
    if (!fb_is(FB_FLOATS | FB_INTS, dtype) || fb_is(FB_BIT(FB_U16) | FB_BIT(FB_U32) | FB_BIT(FB_U64), dtype))
        return fb_fail(FB_ENOTIMPL, "\"randperm\" not implemented for '%s'", fb_dtype_label(dtype));
    /* the largest element is n - 1; bfloat16 rounds, as in PyTorch */
    int64_t most = dtype == FB_U8    ? 256
                   : dtype == FB_I8  ? 128
                   : dtype == FB_I16 ? 32768
                   : dtype == FB_I32 ? INT64_C(1) << 31
                   : dtype == FB_F16 ? 2049
                   : dtype == FB_F32 ? (1 << 24) + 1
                   : dtype == FB_F64 ? (INT64_C(1) << 53) + 1
                                     : INT64_MAX;
    if (n > most)
        return fb_fail(FB_ERUNTIME, "n cannot be greater than %lld for %s type.", (long long)most,
                       fb_dtype_label(dtype));
    return fb_out(f, 0, dtype, 1, &n, NULL);
}

fb_status fb_k_randperm(fb_frame *f)
{
    const struct fb_p_randperm *p = f->params;
    fb_tensor *out = f->out[0], *plain = out->dtype == FB_I64 ? fb_retain(out) : fb_new(1, &p->n, NULL,
            FB_I64, out->device);
    fb_generator *g;
    fb_status status = FB_FAIL;

    if (!plain) return FB_FAIL;
    if (p->n == 0) {
        fb_release(plain);
        return FB_OK;
    }
    if ((g = fb_generator_take(p->generator))) {
        int64_t *r = fb_ptr(plain), n = p->n;
        bool wide = n >= UINT32_MAX / 20; /* from here on the remainder of 32 bits would favour small numbers by 5 % */
        for (int64_t i = 0; i < n; i++) r[i] = i;
        for (int64_t i = 0; i < n - 1; i++) { /* Fisher and Yates */
            int64_t z = i + (int64_t)(wide ? fb_draw64(g) % (uint64_t)(n - i) : fb_draw32(g) % (uint32_t)(n - i));
            int64_t kept = r[i];
            r[i] = r[z];
            r[z] = kept;
        }
        fb_generator_unlock(g);
        status = plain == out ? FB_OK : fb_copy_data(out, plain);
    }
    fb_release(plain);
    return status;
}
