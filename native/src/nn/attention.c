/* scaled_dot_product_attention, made of matrix products and softmax. */
#include "nn/terms.h"
#include "params.gen.h"
#include <math.h>

typedef long long ll;

static const char *dtype_word(int dtype) /* as error texts write it here */
{
    static const char *const words[FB_N_DTYPES] = {
        [FB_BOOL] = "bool", [FB_U8] = "unsigned char", [FB_I8] = "signed char", [FB_I16] = "short int", [FB_I32] = "int", [FB_I64] = "long int",
        [FB_F16] = "c10::Half", [FB_BF16] = "c10::BFloat16", [FB_F32] = "float", [FB_F64] = "double"};
    return words[dtype] ? words[dtype] : fb_dtype_label((fb_dtype)dtype);
}

static fb_status check(const fb_frame *f)
{
    const struct fb_p_scaled_dot_product_attention *p = f->params;
    const fb_tensor *q = f->in[0], *k = f->in[1], *v = f->in[2], *mask = f->in[3];

    if (q->dtype != k->dtype || q->dtype != v->dtype)
        return fb_fail(FB_ERUNTIME, "Expected query, key, and value to have the same dtype, but got query.dtype: "
                       "%s key.dtype: %s and value.dtype: %s instead.",
                       dtype_word(q->dtype), dtype_word(k->dtype), dtype_word(v->dtype));
    if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2)
        return fb_fail(FB_ERUNTIME, "Expected query, key, and value to all be  at least 2 dimensional, but got "
                       "query.dim: %d key.dim: %d and value.dim: %d "
                       "instead.", (int)q->ndim, (int)k->ndim, (int)v->ndim);
    if (mask && mask->dtype != FB_BOOL && mask->dtype != q->dtype && !(mask->dtype == FB_F32 && fb_is(FB_HALVES, q->dtype)))
        return fb_fail(FB_ERUNTIME, "Expected attn_mask dtype to be bool or float or to match query dtype, but "
                       "got attn_mask.dtype: %s and  query.dtype: %s "
                       "instead.", dtype_word(mask->dtype), dtype_word(q->dtype));
    if (mask && p->is_causal) return fb_fail(FB_ERUNTIME, "_scaled_dot_product_attention: Explicit attn_mask "
                                             "should not be set when is_causal=True");
    if (p->dropout_p < 0 || p->dropout_p > 1) return fb_fail(FB_ERUNTIME, "dropout probability has to be between "
                                                             "0 and 1, but got %g", p->dropout_p);
    if (p->enable_gqa && q->ndim >= 3 && k->ndim >= 3 && v->ndim >= 3) {
        const int64_t heads = q->sizes[q->ndim - 3];
        if (!k->sizes[k->ndim - 3] || !v->sizes[v->ndim - 3] || heads % k->sizes[k->ndim - 3] || heads % v->sizes[v->ndim - 3])
            return fb_fail(FB_ERUNTIME, "Number of heads in key and value must divide the number of heads in "
                           "query: enable_gqa with %lld, %lld and %lld",
                           (ll)k->sizes[k->ndim - 3], (ll)v->sizes[v->ndim - 3], (ll)heads);
    }
    return FB_OK;
}

/* Each head of t several times in a row, until there are `heads`. */
static fb_tensor *repeat_heads(fb_terms *t, fb_tensor *a, int64_t heads)
{
    const int64_t n = a->ndim, at = n - 3;
    int64_t sizes[FB_MAX_DIMS + 1];

    if (a->sizes[at] == heads || n >= FB_MAX_DIMS) return a;
    fb_tensor *wide = fb_keep(t, fb_unsqueeze(a, at + 1));
    memcpy(sizes, a->sizes, (size_t)(at + 1) * sizeof *sizes);
    sizes[at + 1] = heads / a->sizes[at];
    memcpy(sizes + at + 2, a->sizes + at + 1, 2 * sizeof *sizes);
    wide = fb_none(t, wide) ? NULL : fb_keep(t, fb_expand(wide, (fb_ints){n + 1, sizes}, false));
    sizes[at] = heads;
    memcpy(sizes + at + 1, a->sizes + at + 1, 2 * sizeof *sizes);
    return fb_shaped(t, wide, n, sizes);
}

/* True where a query may not look: what comes after it. */
static fb_tensor *later(fb_terms *t, const fb_tensor *q, const fb_tensor *k)
{
    const int64_t sizes[2] = {q->sizes[q->ndim - 2], k->sizes[k->ndim - 2]};
    fb_tensor *mask = t->failed ? NULL : fb_keep(t, fb_new(2, sizes, NULL, FB_BOOL, q->device));

    if (!mask || q->device.type == FB_META) return mask;
    uint8_t *to = mask->numel ? fb_ptr(mask) : NULL;
    for (int64_t i = 0; i < sizes[0]; i++)
        for (int64_t j = 0; j < sizes[1]; j++) to[i * sizes[1] + j] = j > i;
    return mask;
}

fb_status fb_c_scaled_dot_product_attention(fb_frame *f)
{
    const struct fb_p_scaled_dot_product_attention *p = f->params;
    fb_tensor *q = f->in[0], *k = f->in[1], *v = f->in[2], *mask = f->in[3];
    const int64_t last = -1;
    fb_terms t = {.n = 0};

    FB_TRY(check(f));
    const fb_dtype own = (fb_dtype)q->dtype;
    if (fb_is(FB_HALVES, own)) { /* scores of 8 or 11 bits would make poor weights */
        q = fb_keep(&t, fb_to_copy(q, FB_F32, FB_ABSENT));
        k = fb_keep(&t, fb_to_copy(k, FB_F32, FB_ABSENT));
        v = fb_keep(&t, fb_to_copy(v, FB_F32, FB_ABSENT));
        if (t.failed) return fb_give(f, 0, fb_terms_end(&t, NULL));
    }
    if (p->enable_gqa && q->ndim >= 3 && k->ndim >= 3 && v->ndim >= 3) {
        k = repeat_heads(&t, k, q->sizes[q->ndim - 3]);
        v = repeat_heads(&t, v, q->sizes[q->ndim - 3]);
    }
    const double scale = p->scale.kind != FB_S_NONE ? fb_scalar_double(p->scale) : 1 / sqrt((double)q->sizes[q->ndim - 1]);
    fb_tensor *turned = fb_none(&t, k) ? NULL : fb_keep(&t, fb_transpose(k, -2, -1)), *scaled = fb_times(&t, q, fb_number_of(&t, scale));
    fb_tensor *scores = fb_none(&t, scaled) || !turned ? NULL : fb_keep(&t, fb_matmul(scaled, turned)), *hidden = NULL, *weights = NULL;

    if (p->is_causal)
        hidden = later(&t, q, f->in[1]);
    else if (mask && mask->dtype == FB_BOOL)
        hidden = t.failed ? NULL : fb_keep(&t, fb_logical_not(mask));
    else if (mask)
        scores = fb_sum_of(&t, scores, mask);
    if (hidden && !fb_none(&t, scores)) scores = fb_keep(&t, fb_masked_fill(scores, hidden, fb_number_of(&t, -INFINITY)));
    weights = fb_none(&t, scores) ? NULL : fb_keep(&t, fb_softmax(scores, -1, FB_NONE));
    if (mask && !fb_none(&t, weights)) { /* a row without any finite score is NaN so far */
        fb_tensor *gone = fb_keep(&t, fb_eq(scores, fb_number_of(&t, -INFINITY)));
        gone = fb_none(&t, gone) ? NULL : fb_keep(&t, fb_all(gone, (fb_ints){1, &last}, true));
        weights = fb_none(&t, gone) ? NULL : fb_keep(&t, fb_masked_fill(weights, gone, fb_number_of(&t, 0)));
    }
    if (weights && weights->dtype != v->dtype && !t.failed) weights = fb_keep(&t, fb_to_copy(weights, (fb_dtype)v->dtype, FB_ABSENT));
    if (p->dropout_p > 0 && !fb_none(&t, weights)) weights = fb_keep(&t, fb_dropout(weights, p->dropout_p, true));
    fb_tensor *result = fb_none(&t, weights) || !v ? NULL : fb_keep(&t, fb_matmul(weights, v));
    if (fb_is(FB_HALVES, own)) result = fb_none(&t, result) ? NULL : fb_keep(&t, fb_to_copy(result, own, FB_ABSENT));
    return fb_give(f, 0, fb_terms_end(&t, result));
}
