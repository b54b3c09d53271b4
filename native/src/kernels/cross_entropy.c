/* Cross entropy with class indices: log_softmax and nll_loss in one pass, without the log probabilities in memory. */
#include "flambeau/ops.gen.h"
#include "kernels/isa.h"
#include "kernels/vecmath.h"
#include "nn/nll.h"
#include "params.gen.h"

enum { STRETCH = 256, WIDTH = 64 };

typedef struct class_job {
    fb_classes c;
    const void *x, *weight;
    void *lse, *loss, *out; /* lse: all maxima, then all log sums; loss: in backward the factors */
    int64_t samples, blocks; /* blocks of columns in one of the batch */
} class_job;

#define T float
#define S f32
#include "kernels/cross_entropy_body.h"
#undef T
#undef S
#define T double
#define S f64
#include "kernels/cross_entropy_body.h"
#undef T
#undef S

static void run(class_job *j, void (*body)(void *, int64_t, int64_t))
{
    j->samples = j->c.batch * j->c.inner;
    j->blocks = (j->c.inner + WIDTH - 1) / WIDTH;
    if (j->samples) fb_parallel_range(j->c.batch * j->blocks, 30 + 2.5 * (double)j->c.classes * (double)FB_MIN(j->c.inner, WIDTH), body, j);
}

fb_status FB_K(fb_k_cross_entropy)(fb_frame *f)
{
    const struct fb_p_cross_entropy_index *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[0]);
    fb_tensor *x = NULL;
    class_job j = {.c = {.compute = compute}};
    fb_status status = FB_FAIL;

    if (fb_classes_open(&j.c, f->in[0]->ndim, f->in[0]->sizes, f->in[1], f->in[2], p->reduction, p->ignore_index, compute) == FB_OK &&
        (x = fb_dense_in(f->in[0], compute)) && (j.loss = fb_scratch(f, j.c.target->numel * fb_itemsize(compute)))) {
        j.x = fb_ptr(x);
        j.weight = j.c.weight ? fb_ptr(j.c.weight) : NULL;
        j.lse = fb_ptr(f->out[2]);
        run(&j, compute == FB_F64 ? forward_f64 : forward_f32);
        status = fb_classes_reduce(f, &j.c, j.loss);
    }
    fb_classes_close(&j.c);
    fb_release(x);
    return status;
}

fb_status FB_K(fb_k_cross_entropy_backward)(fb_frame *f)
{
    const struct fb_p_cross_entropy_backward *p = f->params;
    const fb_dtype compute = fb_dense_compute(f->in[1]);
    fb_tensor *x = NULL, *lse = NULL, *out = NULL;
    class_job j = {.c = {.compute = compute}};
    fb_status status = FB_FAIL;

    if (fb_classes_open(&j.c, f->in[1]->ndim, f->in[1]->sizes, f->in[2], f->in[3], p->reduction, p->ignore_index, compute) == FB_OK &&
        (x = fb_dense_in(f->in[1], compute)) && (lse = fb_dense_in(f->in[5], compute)) && (out = fb_dense_out(f, 0, compute)) &&
        (j.loss = fb_scratch(f, j.c.target->numel * fb_itemsize(compute))) && fb_classes_factors(&j.c, f->in[0], f->in[4], j.loss) == FB_OK) {
        j.x = fb_ptr(x);
        j.lse = fb_ptr(lse);
        j.out = fb_ptr(out);
        run(&j, compute == FB_F64 ? backward_f64 : backward_f32);
        status = FB_OK;
    }
    fb_classes_close(&j.c);
    fb_release(lse);
    fb_release(x);
    return fb_dense_end(f, 0, out, status);
}
