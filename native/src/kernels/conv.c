/* Convolutions as matrix products whose right side is unfolded from the image while it is packed: no image of columns
 * is ever written to memory. Images go through in groups whose padded fields stay in cache. */
#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "kernels/vector.h"

#define FIELD_BYTES ((int64_t)8 << 20) /* of the padded images that are worked on together: a share of L3 */

typedef struct unfold {
    const fb_pass *pass;
    const void *field;
    int64_t batch_step, image_step; /* in the field */
    int64_t dst_image_step;
    const int64_t *koff; /* offset of each (channel, tap) */
} unfold;

typedef struct gradient {
    const void *gy;
    int64_t total, image_step;
} gradient;

#define T    float
#define NAME f32
#define MADD FMA_F32
#include "kernels/conv_field.h"

#define T    double
#define NAME f64
#define MADD FMA_F64
#include "kernels/conv_field.h"

/* The functions of one dtype. */
typedef struct kind {
    fb_gemm_type type;
    int64_t size;
    void (*unfold_b)(const fb_gemm *, int64_t, void *, int64_t, int64_t, int64_t, int64_t);
    void (*unfold_t)(const fb_gemm *, int64_t, void *, int64_t, int64_t, int64_t, int64_t);
    const void *(*panel_gy)(const fb_gemm *, int64_t, void *, int64_t, int64_t, int64_t, int64_t);
    void (*scatter)(const fb_gemm *, int64_t, int64_t, int64_t, int64_t, int64_t, const void *, int64_t);
    void (*plane)(const fb_pass *, const void *, const void *, const void *, void *);
    void (*plane_weight)(const fb_pass *, const void *, const void *, void *);
} kind;
static const kind kinds[2] = {
    {FB_GEMM_F32, 4, unfold_b_f32, unfold_t_f32, panel_gy_f32, scatter_f32, plane_f32, plane_weight_f32},
    {FB_GEMM_F64, 8, unfold_b_f64, unfold_t_f64, panel_gy_f64, scatter_f64, plane_f64, plane_weight_f64},
};

static int64_t volume(const int64_t e[3])
{
    return e[0] * e[1] * e[2];
}

/* ---- fields of a group of images ---- */

typedef struct fields {
    const kind *of;
    const fb_field *f;
    const int64_t *in;
    const char *src;
    char *dst;
    int64_t planes, per_chunk;
} fields;
static void fill_chunk(void *ctx, int64_t chunk)
{
    const fields *a = ctx;
    const int64_t end = FB_MIN((chunk + 1) * a->per_chunk, a->planes), in = volume(a->in);
    for (int64_t i = chunk * a->per_chunk; i < end; i++) {
        if (a->of->size == 4)
            fill_field_f32(a->f, a->in, (const float *)a->src + i * in, (float *)a->dst + i * a->f->vol);
        else
            fill_field_f64(a->f, a->in, (const double *)a->src + i * in, (double *)a->dst + i * a->f->vol);
    }
}
static void fill_fields(const kind *of, const fb_field *f, const int64_t in[3], const char *src, char *dst,
                        int64_t planes)
{
    fields a = {of, f, in, src, dst, planes, FB_MAX(65536 / FB_MAX(f->vol, 1), 1)};
    fb_parallel((planes + a.per_chunk - 1) / a.per_chunk, fill_chunk, &a);
}

/* ---- correlations: forward, and the gradient of the input ---- */

typedef struct correlation {
    const fb_conv *c;
    const kind *of;
    const fb_conv_plan *plan;
    const int64_t *src_size, *dst_size;
    int64_t src_channels, dst_channels; /* of a group */
    const char *src;
    const char *const *w; /* for each pass: weights (groups, dst channel, (src channel, tap)) */
    const char *bias;
    char *dst;
} correlation;

/* One channel to one or a few: a task is one plane of the source. */
typedef struct depthwise {
    const correlation *r;
    int64_t per_chunk;
    _Atomic bool failed;
} depthwise;
static void depthwise_chunk(void *ctx, int64_t chunk)
{
    depthwise *d = ctx;
    const correlation *r = d->r;
    const fb_field *f = &r->plan->field;
    const int64_t size = r->of->size, planes = r->c->n * r->c->groups, in = volume(r->src_size),
                  out = volume(r->dst_size);
    const int64_t weights = volume(r->c->k), end = FB_MIN((chunk + 1) * d->per_chunk, planes);
    char *field = fb_alloc((f->vol + FB_VECTOR) * size);
    if (!field) {
        d->failed = true;
        return;
    }
    memset(field + f->vol * size, 0, (size_t)(FB_VECTOR * size));
    fields fill = {r->of, f, r->src_size, NULL, field, 1, 1};
    for (int64_t i = chunk * d->per_chunk; i < end; i++) {
        fill.src = r->src + i * in * size;
        fill_chunk(&fill, 0);
        for (int64_t o = 0; o < r->dst_channels; o++) {
            const int64_t channel = i % r->c->groups * r->dst_channels + o;
            for (int64_t p = 0; p < r->plan->n_passes; p++)
                r->of->plane(&r->plan->pass[p], field, r->w[0] + channel * weights * size,
                             r->bias ? r->bias + channel * size : NULL,
                             r->dst + (i * r->dst_channels + o) * out * size);
        }
    }
    fb_free(field);
}
static fb_status run_depthwise(const correlation *r)
{
    const int64_t planes = r->c->n * r->c->groups,
                  work = volume(r->dst_size) * volume(r->c->k) * r->dst_channels;
    depthwise d = {r, FB_MAX(200000 / FB_MAX(work, 1), 1), false};
    fb_parallel((planes + d.per_chunk - 1) / d.per_chunk, depthwise_chunk, &d);
    return d.failed ? fb_fail(FB_EMEMORY, "convolution: out of memory") : FB_OK;
}

static fb_status run_correlation(const correlation *r)
{
    const fb_conv *c = r->c;
    const fb_field *f = &r->plan->field;
    const int64_t size = r->of->size, src_vol = volume(r->src_size), dst_vol = volume(r->dst_size);
    const int64_t channels = c->groups * r->src_channels, image = channels * f->vol;
    const int64_t together =
        f->direct ? c->n : FB_MIN(FB_MAX(FIELD_BYTES / FB_MAX(image * size, 1), 1), c->n);
    const int64_t taps = volume(c->k), cols = FB_K(gemm_cols)(r->of->type);
    char *field = f->direct ? NULL : fb_alloc(together * image * size);
    int64_t *koff = fb_alloc(r->src_channels * taps * 8), *offset = fb_alloc(together * c->groups * 8);
    fb_status status = (f->direct || field) && koff && offset ? FB_OK : FB_FAIL;
    struct fb_gemm_packer pack;
    fb_gemm_type type;
    FB_K(gemm_packer)(c->dtype, &type, &pack);

    for (int64_t n0 = 0; n0 < c->n && status == FB_OK; n0 += together) {
        const int64_t n = FB_MIN(together, c->n - n0);
        const char *src = r->src + n0 * channels * src_vol * size;
        if (!f->direct) fill_fields(r->of, f, r->src_size, src, field, n * channels);
        for (int64_t i = 0; i < r->plan->n_passes && status == FB_OK; i++) {
            const fb_pass *s = &r->plan->pass[i];
            if (s->total == 0) continue;
            for (int64_t ch = 0; ch < r->src_channels; ch++)
                for (int64_t t = 0; t < s->taps; t++) koff[ch * s->taps + t] = ch * f->vol + s->at[t];
            /* Few pixels would leave panels half empty: then the images' pixels make one long row. */
            const bool fold = n > 1 && s->total < 8 * cols && s->total % cols != 0;
            const bool dense = s->dst_step[2] == 1 && s->dst_step[1] == s->size[2] && s->total == dst_vol;
            const int64_t k = r->src_channels * s->taps;
            for (int64_t b = 0; b < n * c->groups; b++) offset[b] = b % c->groups * r->dst_channels * k;
            const unfold u = {s,
                              f->direct ? src : field,
                              r->src_channels * f->vol,
                              image,
                              c->groups * r->dst_channels * dst_vol,
                              koff};
            const fb_gemm_operand a = {r->w[i], k, 1, 0, offset};
            const fb_gemm g = {.type = type,
                               .m = r->dst_channels,
                               .n = fold ? n * s->total : s->total,
                               .k = k,
                               .batch = fold ? c->groups : n * c->groups,
                               .panel_a = pack.panel_a,
                               .pack_b = r->of->unfold_b,
                               .a_ctx = &a,
                               .b_ctx = &u,
                               .c = r->dst + n0 * c->groups * r->dst_channels * dst_vol * size,
                               .c_row = dst_vol,
                               .c_col = 1,
                               .c_step = r->dst_channels * dst_vol,
                               .alpha = fb_float(1),
                               .beta = fb_float(0),
                               .row_bias = r->bias,
                               .bias_groups = c->groups,
                               .finish = fold || !dense ? r->of->scatter : NULL,
                               .blas = FB_NONE};
            status = FB_K(gemm_run)(&g);
        }
    }
    fb_free(field);
    fb_free(koff);
    fb_free(offset);
    return status;
}

fb_status FB_K(conv_forward)(const fb_conv *c, const void *x, const void *w, const void *bias, void *y)
{
    fb_conv_plan plan;
    if (c->n == 0 || c->groups * c->oc == 0 || volume(c->out) == 0) return FB_OK;
    FB_TRY(fb_conv_plan_forward(c, &plan));
    const char *const weights = w;
    const correlation r = {
        c, &kinds[c->dtype == FB_F64], &plan, c->in, c->out, c->ic, c->oc, x, &weights, bias, y};
    const fb_status status = c->ic == 1 && c->oc <= 4 ? run_depthwise(&r) : run_correlation(&r);
    fb_conv_plan_free(&plan);
    return status;
}

/* to (group, ic, (oc, tap of the pass)) = from (group, oc, ic, tap) */
typedef struct turned {
    const fb_conv *c;
    const fb_pass *s;
    const char *from;
    char *to;
} turned;
static void turn_chunk(void *ctx, int64_t gi)
{
    const turned *t = ctx;
    const fb_conv *c = t->c;
    const int64_t taps = volume(c->k), group = gi / c->ic, i = gi % c->ic;
    for (int64_t o = 0; o < c->oc; o++) {
        const int64_t src = ((group * c->oc + o) * c->ic + i) * taps, dst = (gi * c->oc + o) * t->s->taps;
        if (c->dtype == FB_F64)
            for (int64_t k = 0; k < t->s->taps; k++)
                ((double *)t->to)[dst + k] = ((const double *)t->from)[src + t->s->tap[k]];
        else
            for (int64_t k = 0; k < t->s->taps; k++)
                ((float *)t->to)[dst + k] = ((const float *)t->from)[src + t->s->tap[k]];
    }
}

fb_status FB_K(conv_input_grad)(const fb_conv *c, const void *gy, const void *w, const void *bias, void *gx)
{
    fb_conv_plan plan;
    if (c->n == 0 || c->groups * c->ic == 0 || volume(c->in) == 0) return FB_OK;
    FB_TRY(fb_conv_plan_input_grad(c, &plan));
    const kind *of = &kinds[c->dtype == FB_F64];
    const int64_t weights = c->groups * c->oc * c->ic * volume(c->k);
    correlation r = {c, of, &plan, c->out, c->in, c->oc, c->ic, gy, NULL, bias, gx};
    fb_status status;
    if (c->ic == 1 && c->oc == 1) {
        const char *const same = w;
        r.w = &same;
        status = run_depthwise(&r);
    } else {
        char *room = fb_alloc(FB_MAX(weights * of->size, 1)), *next = room;
        const char **each = fb_alloc(plan.n_passes * (int64_t)sizeof *each);
        if (room && each) {
            for (int64_t i = 0; i < plan.n_passes;
                 i++) { /* each tap belongs to one pass of those that differ in it */
                turned t = {c, &plan.pass[i], w, next};
                each[i] = next;
                if (plan.pass[i].total == 0) continue;
                fb_parallel(c->groups * c->ic, turn_chunk, &t);
                next += c->groups * c->oc * c->ic * plan.pass[i].taps * of->size;
            }
            r.w = each;
            status = run_correlation(&r);
        } else {
            status = FB_FAIL;
        }
        fb_free(room);
        fb_free(each);
    }
    fb_conv_plan_free(&plan);
    return status;
}

/* ---- gradients of the weights and the bias ---- */

typedef struct depthwise_weight {
    const fb_conv *c;
    const kind *of;
    const fb_conv_plan *plan;
    const char *x, *gy;
    char *gw;
    _Atomic bool failed;
} depthwise_weight;
static void depthwise_weight_chunk(void *ctx, int64_t group)
{
    depthwise_weight *d = ctx;
    const fb_conv *c = d->c;
    const fb_field *f = &d->plan->field;
    const int64_t size = d->of->size, in = volume(c->in), out = volume(c->out), taps = volume(c->k);
    char *field = fb_alloc((f->vol + FB_VECTOR) * size);
    if (!field) {
        d->failed = true;
        return;
    }
    memset(field + f->vol * size, 0, (size_t)(FB_VECTOR * size));
    fields fill = {d->of, f, c->in, NULL, field, 1, 1};
    memset(d->gw + group * c->oc * taps * size, 0, (size_t)(c->oc * taps * size));
    for (int64_t n = 0; n < c->n; n++) {
        fill.src = d->x + (n * c->groups + group) * in * size;
        fill_chunk(&fill, 0);
        for (int64_t o = 0; o < c->oc; o++)
            d->of->plane_weight(d->plan->pass, field,
                                d->gy + ((n * c->groups + group) * c->oc + o) * out * size,
                                d->gw + (group * c->oc + o) * taps * size);
    }
    fb_free(field);
}

fb_status FB_K(conv_weight_grad)(const fb_conv *c, const void *x, const void *gy, void *gw)
{
    const kind *of = &kinds[c->dtype == FB_F64];
    const int64_t size = of->size, taps = volume(c->k), out = volume(c->out), in = volume(c->in);
    const int64_t weights = c->groups * c->oc * c->ic * taps;
    fb_conv_plan plan;
    if (weights == 0) return FB_OK;
    if (c->n == 0 || out == 0) {
        memset(gw, 0, (size_t)(weights * size));
        return FB_OK;
    }
    FB_TRY(fb_conv_plan_forward(c, &plan));
    fb_status status = FB_OK;
    if (c->ic == 1 && c->oc <= 4 && c->groups >= 8) {
        depthwise_weight d = {c, of, &plan, x, gy, gw, false};
        fb_parallel(c->groups, depthwise_weight_chunk, &d);
        if (d.failed) status = fb_fail(FB_EMEMORY, "convolution: out of memory");
        fb_conv_plan_free(&plan);
        return status;
    }
    const fb_field *f = &plan.field;
    const int64_t channels = c->groups * c->ic, image = channels * f->vol, k = c->ic * taps;
    const int64_t together = f->direct ? c->n : FB_MIN(FB_MAX(FIELD_BYTES / (image * size), 1), c->n);
    char *field = f->direct ? NULL : fb_alloc(together * image * size);
    int64_t *koff = fb_alloc(k * 8);
    if (!koff || (!field && !f->direct)) status = FB_FAIL;
    for (int64_t ch = 0; koff && ch < c->ic; ch++)
        for (int64_t t = 0; t < taps; t++) koff[ch * taps + t] = ch * f->vol + plan.pass->at[t];
    for (int64_t n0 = 0; n0 < c->n && status == FB_OK; n0 += together) {
        const int64_t n = FB_MIN(together, c->n - n0);
        const char *src = (const char *)x + n0 * channels * in * size;
        if (!f->direct) fill_fields(of, f, c->in, src, field, n * channels);
        const unfold u = {plan.pass, f->direct ? src : field, c->ic * f->vol, image, 0, koff};
        const gradient a = {(const char *)gy + n0 * c->groups * c->oc * out * size, out,
                            c->groups * c->oc * out};
        const fb_gemm g = {.type = of->type,
                           .m = c->oc,
                           .n = k,
                           .k = n * out,
                           .batch = c->groups,
                           .panel_a = of->panel_gy,
                           .pack_b = of->unfold_t,
                           .a_ctx = &a,
                           .b_ctx = &u,
                           .c = gw,
                           .c_row = k,
                           .c_col = 1,
                           .c_step = c->oc * k,
                           .alpha = fb_float(1),
                           .beta = fb_float(n0 ? 1 : 0),
                           .blas = FB_NONE};
        status = FB_K(gemm_run)(&g);
    }
    fb_free(field);
    fb_free(koff);
    fb_conv_plan_free(&plan);
    return status;
}

typedef struct bias_sum {
    const fb_conv *c;
    const char *gy;
    char *gb;
} bias_sum;
static void bias_chunk(void *ctx, int64_t channel)
{
    const bias_sum *s = ctx;
    const int64_t channels = s->c->groups * s->c->oc, out = volume(s->c->out);
    double sum = 0; /* of at most a few thousand row sums */
    for (int64_t n = 0; n < s->c->n; n++) {
        const int64_t at = (n * channels + channel) * out;
        sum += s->c->dtype == FB_F64 ? row_sum_f64(out, (const double *)s->gy + at)
                                     : (double)row_sum_f32(out, (const float *)s->gy + at);
    }
    if (s->c->dtype == FB_F64)
        ((double *)s->gb)[channel] = sum;
    else
        ((float *)s->gb)[channel] = (float)sum;
}
fb_status FB_K(conv_bias_grad)(const fb_conv *c, const void *gy, void *gb)
{
    bias_sum s = {c, gy, gb};
    const int64_t channels = c->groups * c->oc;
    if (c->n * volume(c->out) * channels < 32768)
        for (int64_t i = 0; i < channels; i++) bias_chunk(&s, i);
    else
        fb_parallel(channels, bias_chunk, &s);
    return FB_OK;
}
