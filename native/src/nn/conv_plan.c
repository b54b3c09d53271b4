/* Convolutions as correlations without strides over a padded field: where each tap looks. */
#include "kernels/conv.h"

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a ^ b) < 0);
}

void fb_conv_plan_free(fb_conv_plan *p)
{
    fb_free(p->pass);
    fb_free(p->store);
    p->pass = NULL;
    p->store = NULL;
}

static void lay_out(fb_field *f, const int64_t in[3])
{
    f->direct = f->phases == 1;
    for (int d = 0; d < 3; d++) f->direct &= f->start[d] == 0 && f->len[d] <= in[d];
    if (f->direct)
        for (int d = 0; d < 3; d++) f->len[d] = in[d];
    f->phase_len = (f->len[2] + f->phases - 1) / f->phases;
    f->pitch = f->phases * f->phase_len;
    f->plane = f->len[1] * f->pitch;
    f->vol = f->len[0] * f->plane;
}

static fb_status make_room(fb_conv_plan *p, const fb_conv *c, int64_t passes)
{
    const int64_t taps = c->k[0] * c->k[1] * c->k[2];
    *p = (fb_conv_plan){.n_passes = passes};
    p->pass = fb_alloc(passes * (int64_t)sizeof(fb_pass));
    p->store = fb_alloc(2 * passes * taps * (int64_t)sizeof(int64_t));
    if (p->pass && p->store) {
        for (int64_t i = 0; i < passes; i++)
            p->pass[i] = (fb_pass){.tap = p->store + 2 * i * taps, .at = p->store + (2 * i + 1) * taps};
        return FB_OK;
    }
    fb_conv_plan_free(p);
    return FB_FAIL;
}

fb_status fb_conv_plan_forward(const fb_conv *c, fb_conv_plan *p)
{
    FB_TRY(make_room(p, c, 1));
    fb_field *f = &p->field;
    fb_pass *s = p->pass;
    f->phases = c->stride[2];
    for (int d = 0; d < 3; d++) {
        f->start[d] = -c->pad[d];
        f->len[d] = (c->out[d] - 1) * c->stride[d] + c->dil[d] * (c->k[d] - 1) + 1;
        s->size[d] = c->out[d];
    }
    lay_out(f, c->in);
    s->total = c->out[0] * c->out[1] * c->out[2];
    s->src_step[0] = c->stride[0] * f->plane;
    s->src_step[1] = c->stride[1] * f->pitch;
    s->dst_step[0] = c->out[1] * c->out[2], s->dst_step[1] = c->out[2], s->dst_step[2] = 1;
    for (int64_t z = 0; z < c->k[0]; z++)
        for (int64_t y = 0; y < c->k[1]; y++)
            for (int64_t x = 0; x < c->k[2]; x++) {
                const int64_t ix = x * c->dil[2];
                s->tap[s->taps] = s->taps;
                s->at[s->taps++] = z * c->dil[0] * f->plane + y * c->dil[1] * f->pitch +
                                   ix % f->phases * f->phase_len + ix / f->phases;
            }
    return FB_OK;
}

/* gx[i] sums w[k] gy[(i + pad - k dil) / stride] over the k for which that divides: for the i of one residue a
 * correlation without strides over the taps of that residue. */
fb_status fb_conv_plan_input_grad(const fb_conv *c, fb_conv_plan *p)
{
    int64_t end[3];
    FB_TRY(make_room(p, c, c->stride[0] * c->stride[1] * c->stride[2]));
    fb_field *f = &p->field;
    f->phases = 1;
    for (int d = 0; d < 3; d++) {
        f->start[d] = INT64_MAX;
        end[d] = INT64_MIN;
        for (int64_t r = 0; r < c->stride[d] && r < c->in[d]; r++)
            for (int64_t k = 0; k < c->k[d]; k++) {
                const int64_t e = r + c->pad[d] - k * c->dil[d];
                if (e % c->stride[d]) continue;
                const int64_t o = floor_div(e, c->stride[d]), count = (c->in[d] - r - 1) / c->stride[d] + 1;
                f->start[d] = FB_MIN(f->start[d], o);
                end[d] = FB_MAX(end[d], o + count);
            }
        if (f->start[d] > end[d]) f->start[d] = end[d] = 0; /* no tap reaches anything */
        f->len[d] = FB_MAX(end[d] - f->start[d], 1);
    }
    lay_out(f, c->out);
    for (int64_t i = 0; i < p->n_passes; i++) {
        fb_pass *s = &p->pass[i];
        const int64_t r[3] = {i / (c->stride[1] * c->stride[2]), i / c->stride[2] % c->stride[1],
                              i % c->stride[2]};
        const int64_t dst[3] = {c->in[1] * c->in[2], c->in[2], 1};
        s->total = 1;
        for (int d = 0; d < 3; d++) {
            s->size[d] = r[d] < c->in[d] ? (c->in[d] - r[d] - 1) / c->stride[d] + 1 : 0;
            s->total *= s->size[d];
            s->dst_step[d] = c->stride[d] * dst[d];
            s->dst_start += r[d] * dst[d];
        }
        s->src_step[0] = f->plane;
        s->src_step[1] = f->pitch;
        for (int64_t z = 0; z < c->k[0]; z++)
            for (int64_t y = 0; y < c->k[1]; y++)
                for (int64_t x = 0; x < c->k[2]; x++) {
                    const int64_t e[3] = {r[0] + c->pad[0] - z * c->dil[0], r[1] + c->pad[1] - y * c->dil[1],
                                          r[2] + c->pad[2] - x * c->dil[2]};
                    if (e[0] % c->stride[0] || e[1] % c->stride[1] || e[2] % c->stride[2]) continue;
                    s->tap[s->taps] = (z * c->k[1] + y) * c->k[2] + x;
                    s->at[s->taps++] = (floor_div(e[0], c->stride[0]) - f->start[0]) * f->plane +
                                       (floor_div(e[1], c->stride[1]) - f->start[1]) * f->pitch +
                                       floor_div(e[2], c->stride[2]) - f->start[2];
                }
    }
    return FB_OK;
}
