/* Convolutions and their gradients against the definition: strides, padding, dilation, groups, one to three dimensions,
 * every instruction set of this machine; and the same bits at any number of threads. */
#include "kernels/conv.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DECLARE(isa)                                                                                         \
    fb_status conv_forward_##isa(const fb_conv *, const void *, const void *, const void *, void *);         \
    fb_status conv_input_grad_##isa(const fb_conv *, const void *, const void *, const void *, void *);      \
    fb_status conv_weight_grad_##isa(const fb_conv *, const void *, const void *, void *);                   \
    fb_status conv_bias_grad_##isa(const fb_conv *, const void *, void *);
DECLARE(base)
DECLARE(avx2)
DECLARE(avx512)
static struct {
    fb_status (*forward)(const fb_conv *, const void *, const void *, const void *, void *);
    fb_status (*input_grad)(const fb_conv *, const void *, const void *, const void *, void *);
    fb_status (*weight_grad)(const fb_conv *, const void *, const void *, void *);
    fb_status (*bias_grad)(const fb_conv *, const void *, void *);
} isas[3];
static int n_isas, failures;

static void check(bool ok, const char *what, const fb_conv *c, int isa)
{
    if (ok) return;
    failures++;
    printf("%s wrong: %s n %ld groups %ld ic %ld oc %ld in %ld %ld %ld k %ld %ld %ld stride %ld %ld %ld pad "
           "%ld %ld %ld dil %ld %ld %ld isa %d\n",
           what, fb_dtype_name(c->dtype), (long)c->n, (long)c->groups, (long)c->ic, (long)c->oc,
           (long)c->in[0], (long)c->in[1], (long)c->in[2], (long)c->k[0], (long)c->k[1], (long)c->k[2],
           (long)c->stride[0], (long)c->stride[1], (long)c->stride[2], (long)c->pad[0], (long)c->pad[1],
           (long)c->pad[2], (long)c->dil[0], (long)c->dil[1], (long)c->dil[2], isa);
}

static int64_t vol(const int64_t e[3])
{
    return e[0] * e[1] * e[2];
}
static double value(int64_t i)
{
    return (double)((i * 2654435761u >> 9) % 5) - 2;
} /* exact sums in any order */

/* The definition: y[n, o, z] += x[n, i, z * stride - pad + k * dil] * w[o, i, k], told to each of three accumulators. */
static void define(const fb_conv *c, const double *x, const double *w, const double *gy, double *y,
                   double *gx, double *gw)
{
    const int64_t taps = vol(c->k), in = vol(c->in), out = vol(c->out);
    for (int64_t n = 0; n < c->n; n++)
        for (int64_t o = 0; o < c->groups * c->oc; o++)
            for (int64_t p = 0; p < out; p++)
                for (int64_t i = 0; i < c->ic; i++)
                    for (int64_t t = 0; t < taps; t++) {
                        const int64_t op[3] = {p / (c->out[1] * c->out[2]), p / c->out[2] % c->out[1],
                                               p % c->out[2]};
                        const int64_t kp[3] = {t / (c->k[1] * c->k[2]), t / c->k[2] % c->k[1], t % c->k[2]};
                        int64_t at = 0;
                        bool inside = true;
                        for (int d = 0; d < 3; d++) {
                            const int64_t q = op[d] * c->stride[d] - c->pad[d] + kp[d] * c->dil[d];
                            inside &= q >= 0 && q < c->in[d];
                            at = at * c->in[d] + q;
                        }
                        if (!inside) continue;
                        const int64_t xi = (n * c->groups * c->ic + o / c->oc * c->ic + i) * in + at,
                                      wi = (o * c->ic + i) * taps + t;
                        const int64_t yi = (n * c->groups * c->oc + o) * out + p;
                        y[yi] += x[xi] * w[wi];
                        gx[xi] += gy[yi] * w[wi];
                        gw[wi] += gy[yi] * x[xi];
                    }
}

static double get(const void *p, fb_dtype d, int64_t i)
{
    return d == FB_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static void *array(fb_dtype d, int64_t n, int64_t seed, double *out)
{
    void *p = malloc((size_t)(n + 1) * 8);
    for (int64_t i = 0; i < n; i++) {
        out[i] = value(i + seed);
        if (d == FB_F64)
            ((double *)p)[i] = out[i];
        else
            ((float *)p)[i] = (float)out[i];
    }
    return p;
}
static bool same(const void *p, fb_dtype d, const double *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (get(p, d, i) != want[i]) return false;
    return true;
}

static void one(fb_conv c)
{
    for (int d = 0; d < 3; d++)
        c.out[d] = (c.in[d] + 2 * c.pad[d] - c.dil[d] * (c.k[d] - 1) - 1) / c.stride[d] + 1;
    const int64_t nx = c.n * c.groups * c.ic * vol(c.in), ny = c.n * c.groups * c.oc * vol(c.out);
    const int64_t nw = c.groups * c.oc * c.ic * vol(c.k), no = c.groups * c.oc, ni = c.groups * c.ic;
    double *x = malloc((size_t)nx * 8), *w = malloc((size_t)nw * 8), *gy = malloc((size_t)ny * 8),
           *b = malloc((size_t)(no + ni) * 8);
    double *y = calloc((size_t)ny, 8), *gx = calloc((size_t)nx, 8), *gw = calloc((size_t)nw, 8),
           *gb = calloc((size_t)no, 8);
    void *px = array(c.dtype, nx, 1, x), *pw = array(c.dtype, nw, 7, w), *pg = array(c.dtype, ny, 40, gy),
         *pb = array(c.dtype, no + ni, 3, b);
    void *ry = malloc((size_t)ny * 8 + 8), *rx = malloc((size_t)nx * 8 + 8), *rw = malloc((size_t)nw * 8 + 8),
         *rb = malloc((size_t)no * 8 + 8);
    define(&c, x, w, gy, y, gx, gw);
    for (int64_t i = 0; i < ny; i++) gb[i / vol(c.out) % no] += gy[i];
    for (int64_t i = 0; i < ny; i++) y[i] += b[i / vol(c.out) % no];
    for (int64_t i = 0; i < nx; i++) gx[i] += b[i / vol(c.in) % ni];
    for (int isa = 0; isa < n_isas; isa++)
        for (int threads = 1; threads < 4; threads += 2) {
            fb_set_num_threads(threads);
            memset(ry, 0xff, (size_t)ny * 8), memset(rx, 0xff, (size_t)nx * 8),
                memset(rw, 0xff, (size_t)nw * 8);
            check(isas[isa].forward(&c, px, pw, pb, ry) == FB_OK && same(ry, c.dtype, y, ny), "forward", &c,
                  isa);
            check(isas[isa].input_grad(&c, pg, pw, pb, rx) == FB_OK && same(rx, c.dtype, gx, nx),
                  "input gradient", &c, isa);
            check(isas[isa].weight_grad(&c, px, pg, rw) == FB_OK && same(rw, c.dtype, gw, nw),
                  "weight gradient", &c, isa);
            check(isas[isa].bias_grad(&c, pg, rb) == FB_OK && same(rb, c.dtype, gb, no), "bias gradient", &c,
                  isa);
        }
    free(x), free(w), free(gy), free(b), free(y), free(gx), free(gw), free(gb);
    free(px), free(pw), free(pg), free(pb), free(ry), free(rx), free(rw), free(rb);
}

/* Values whose sums round: bits must agree between thread counts. */
static void same_bits(fb_conv c)
{
    const int64_t nx = c.n * c.ic * vol(c.in), ny = c.n * c.oc * vol(c.out), nw = c.oc * c.ic * vol(c.k);
    float *x = malloc((size_t)nx * 4), *w = malloc((size_t)nw * 4), *y[2], *gx[2], *gw[2];
    for (int64_t i = 0; i < nx; i++) x[i] = (float)sin((double)i);
    for (int64_t i = 0; i < nw; i++) w[i] = (float)cos((double)i);
    for (int isa = 0; isa < n_isas; isa++) {
        for (int t = 0; t < 2; t++) {
            fb_set_num_threads(1 + 2 * t);
            y[t] = malloc((size_t)ny * 4), gx[t] = malloc((size_t)nx * 4), gw[t] = malloc((size_t)nw * 4);
            isas[isa].forward(&c, x, w, NULL, y[t]);
            isas[isa].input_grad(&c, y[0], w, NULL, gx[t]);
            isas[isa].weight_grad(&c, x, y[0], gw[t]);
        }
        check(!memcmp(y[0], y[1], (size_t)ny * 4), "bits of forward", &c, isa);
        check(!memcmp(gx[0], gx[1], (size_t)nx * 4), "bits of input gradient", &c, isa);
        check(!memcmp(gw[0], gw[1], (size_t)nw * 4), "bits of weight gradient", &c, isa);
        for (int t = 0; t < 2; t++) free(y[t]), free(gx[t]), free(gw[t]);
    }
    free(x), free(w);
}

int main(void)
{
#define ADD(isa)                                                                                             \
    isas[n_isas].forward = conv_forward_##isa, isas[n_isas].input_grad = conv_input_grad_##isa;              \
    isas[n_isas].weight_grad = conv_weight_grad_##isa, isas[n_isas++].bias_grad = conv_bias_grad_##isa
    ADD(base);
#ifdef FB_HAVE_ISA_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        ADD(avx2);
    }
#endif
#ifdef FB_HAVE_ISA_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq")) {
        ADD(avx512);
    }
#endif
    static const fb_conv cases[] = {
        /* n groups ic oc  in  k  out stride pad dil */
        {FB_F32, 1, 1, 1, 1, {1, 1, 5}, {1, 1, 3}, {0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
        {FB_F32, 2, 1, 3, 5, {1, 1, 37}, {1, 1, 5}, {0}, {1, 1, 2}, {0, 0, 2}, {1, 1, 1}},
        {FB_F32, 3, 1, 4, 13, {1, 9, 11}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
        {FB_F32, 2, 1, 4, 6, {1, 9, 40}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
        {FB_F32, 2, 2, 3, 4, {1, 12, 13}, {1, 3, 2}, {0}, {1, 2, 3}, {0, 1, 0}, {1, 2, 1}},
        {FB_F32, 2, 1, 3, 16, {1, 20, 33}, {1, 7, 7}, {0}, {1, 2, 2}, {0, 3, 3}, {1, 1, 1}},
        {FB_F32, 2, 6, 1, 1, {1, 19, 21}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
        {FB_F32, 2, 9, 1, 2, {1, 19, 21}, {1, 5, 5}, {0}, {1, 2, 2}, {0, 2, 2}, {1, 1, 1}},
        {FB_F32, 2, 8, 1, 1, {1, 18, 20}, {1, 3, 3}, {0}, {1, 2, 3}, {0, 1, 1}, {1, 1, 1}},
        {FB_F32, 4, 1, 8, 8, {1, 7, 7}, {1, 1, 1}, {0}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}},
        {FB_F32, 2, 1, 8, 70, {1, 16, 16}, {1, 1, 1}, {0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
        {FB_F32, 1, 1, 40, 33, {1, 30, 30}, {1, 3, 3}, {0}, {1, 1, 1}, {0, 2, 2}, {1, 2, 2}},
        {FB_F32, 2, 1, 2, 3, {5, 6, 7}, {2, 3, 2}, {0}, {1, 2, 1}, {1, 1, 0}, {2, 1, 3}},
        {FB_F64, 2, 1, 3, 4, {4, 9, 10}, {3, 3, 3}, {0}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}},
        {FB_F64, 3, 2, 5, 7, {1, 8, 9}, {1, 2, 3}, {0}, {1, 1, 1}, {0, 1, 2}, {1, 1, 1}},
        {FB_F32,
         1,
         1,
         2,
         2,
         {1, 4, 4},
         {1, 2, 2},
         {0},
         {1, 5, 5},
         {0, 0, 0},
         {1, 1, 1}}, /* windows that leave gaps */
        {FB_F32,
         1,
         1,
         2,
         2,
         {1, 3, 3},
         {1, 3, 3},
         {0},
         {1, 1, 1},
         {0, 4, 4},
         {1, 1, 1}}, /* more padding than kernel */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) one(cases[i]);
    same_bits((fb_conv){
        FB_F32, 3, 1, 20, 30, {1, 25, 25}, {1, 3, 3}, {1, 25, 25}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}});
    same_bits(
        (fb_conv){FB_F32, 2, 1, 64, 64, {1, 14, 14}, {1, 3, 3}, {1, 7, 7}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}});
    printf("test_conv: %d instruction sets, %d failures\n", n_isas, failures);
    return failures != 0;
}
