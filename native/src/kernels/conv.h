/* Convolutions over one to three dimensions on contiguous float or double memory: images (n, groups * ic, in...),
 * weights (groups * oc, ic, k...), outputs (n, groups * oc, out...). Fewer than three dimensions lie at the end, the
 * others have extent 1. A transposed convolution is conv_input_grad. Results have the same bits at any thread count. */
#ifndef FB_KERNELS_CONV_H
#define FB_KERNELS_CONV_H

#include "kernels/isa.h"
#include "runtime/core.h"

typedef struct fb_conv {
    fb_dtype dtype;            /* FB_F32 or FB_F64 */
    int64_t n, groups, ic, oc; /* channels of one group */
    int64_t in[3], k[3], out[3], stride[3], pad[3], dil[3];
} fb_conv;

fb_status FB_K(conv_forward)(const fb_conv *c, const void *x, const void *w, const void *bias, void *y);
/* bias: added to every channel of gx (a transposed convolution has one), or NULL */
fb_status FB_K(conv_input_grad)(const fb_conv *c, const void *gy, const void *w, const void *bias, void *gx);
fb_status FB_K(conv_weight_grad)(const fb_conv *c, const void *x, const void *gy, void *gw);
fb_status FB_K(conv_bias_grad)(const fb_conv *c, const void *gy,
                               void *gb); /* sums gy over all but channels */

/* ---- how they are computed: conv_field.c ------------------------------------------------------------------- */

/* Where a plane of the source lies: padded with zeros (or cropped), and, where the convolution strides along x, with
 * every step-th column together, so that the columns one tap needs are neighbours. */
typedef struct fb_field {
    int64_t start[3], len[3];  /* source coordinates: start may be negative */
    int64_t phases, phase_len; /* of a row */
    int64_t pitch, plane, vol; /* elements of a row, a plane, all */
    bool direct;               /* the source itself will do */
} fb_field;

/* out[z][y][x] = sum over taps of w[tap[t]] * field[z * src_step[0] + y * src_step[1] + x + at[t]] */
typedef struct fb_pass {
    int64_t size[3], total;
    int64_t src_step[2], dst_start, dst_step[3];
    int64_t taps, *tap, *at;
} fb_pass;

typedef struct fb_conv_plan {
    fb_field field;
    int64_t n_passes;
    fb_pass *pass;
    int64_t *store; /* what the passes' tables lie in */
} fb_conv_plan;
fb_status fb_conv_plan_forward(const fb_conv *c, fb_conv_plan *out);
fb_status fb_conv_plan_input_grad(const fb_conv *c, fb_conv_plan *out);
void fb_conv_plan_free(fb_conv_plan *p);

#endif
