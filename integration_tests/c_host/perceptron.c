/* Learns exclusive or with a perceptron of two layers, by gradient descent, through the C API alone.
 * Prints the outputs; returns 0 where they are right and training left no tensor behind. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "flambeau/autograd.h"
#include "flambeau/ops.gen.h"
#include "flambeau/random.h"

enum { HIDDEN = 8, STEPS = 1000, N_PARAMS = 4 };
static const double RATE = 0.05;
static const fb_device CPU = {FB_CPU, 0};

static float points[] = {0, 0, 0, 1, 1, 0, 1, 1};
static float answers[] = {0, 1, 1, 0};

static fb_tensor *wrap(float *data, int64_t rows, int64_t columns)
{
    int64_t sizes[] = {rows, columns}, strides[] = {columns, 1};
    return fb_from_memory(data, rows * columns * (int64_t)sizeof *data, NULL, NULL, 2, sizes, strides, 0, FB_F32);
}

/* A matrix of normal numbers that wants a gradient. columns 0: a vector. */
static fb_tensor *parameter(int64_t rows, int64_t columns, double std)
{
    int64_t sizes[] = {rows, columns};
    fb_tensor *p = fb_empty(columns ? 2 : 1, sizes, FB_F32, CPU), *filled = NULL;

    if (p && (filled = fb_normal_(p, 0, std, NULL)) && fb_ag_set_requires_grad(p, true) == FB_OK) {
        fb_release(filled);
        return p;
    }
    fb_release(filled);
    fb_release(p);
    return NULL;
}

/* w2 tanh(w1 x + b1) + b2; p = {w1, b1, w2, b2} */
static fb_tensor *forward(fb_tensor *const *p, fb_tensor *x)
{
    fb_tensor *sum = NULL, *hidden = NULL, *y = NULL;

    if ((sum = fb_linear(x, p[0], p[1])) && (hidden = fb_tanh(sum)))
        y = fb_linear(hidden, p[2], p[3]);
    fb_release(hidden);
    fb_release(sum);
    return y;
}

/* The sum of the squared errors; NULL with the error set. */
static fb_tensor *loss_of(fb_tensor *const *p, fb_tensor *x, fb_tensor *target)
{
    fb_tensor *y = NULL, *error = NULL, *squares = NULL, *loss = NULL;

    if ((y = forward(p, x)) && (error = fb_sub(y, target, fb_int(1))) && (squares = fb_square(error)))
        loss = fb_sum(squares, (fb_ints){-1, NULL}, false, FB_NONE);
    fb_release(squares);
    fb_release(error);
    fb_release(y);
    return loss;
}

/* p -= RATE * p.grad, and no gradient afterwards */
static fb_status step(fb_tensor *p)
{
    bool recorded = fb_ag_set_grad_enabled(false);
    fb_tensor *written = fb_sub_out(p, fb_ag_grad(p), fb_float(RATE), p);

    fb_ag_set_grad_enabled(recorded);
    if (!written) return FB_FAIL;
    fb_release(written);
    return fb_ag_set_grad(p, NULL);
}

static int64_t live_tensors(void)
{
    fb_memory_stats stats;

    fb_get_memory_stats(&stats);
    return stats.live_tensors;
}

static fb_status train(fb_tensor *const *p, fb_tensor *x, fb_tensor *target)
{
    int64_t live = 0;

    for (int i = 0; i < STEPS; i++) {
        fb_tensor *loss = loss_of(p, x, target);
        fb_status status = loss ? fb_backward(1, &loss, (fb_tensor *[]){NULL}, -1, NULL, NULL, 0) : FB_FAIL;

        fb_release(loss);
        for (int k = 0; k < N_PARAMS && status == FB_OK; k++) status = step(p[k]);
        if (status != FB_OK) return status;
        if (i == 0) live = live_tensors(); /* with the constants that the core keeps */
    }
    if (live_tensors() != live) return fb_fail(FB_ERUNTIME, "%d steps left tensors behind", STEPS);
    return FB_OK;
}

/* 0 where each output is within 0.1 of its answer */
static int examine(fb_tensor *const *p, fb_tensor *x)
{
    fb_tensor *y = forward(p, x);
    const float *out = y ? fb_data(y) : NULL;
    int wrong = !out;

    for (int i = 0; out && i < 4; i++) {
        printf("%g xor %g = %.3f\n", points[2 * i], points[2 * i + 1], out[i]);
        wrong |= !(fabsf(out[i] - answers[i]) < 0.1f);
    }
    fb_release(y);
    return wrong;
}

int main(void)
{
    fb_tensor *x = NULL, *target = NULL, *p[N_PARAMS] = {NULL};
    fb_generator *generator = fb_generator_default();
    int status = EXIT_FAILURE;

    if (!generator || fb_autograd_enable() != FB_OK) goto done;
    fb_generator_manual_seed(generator, 0);
    if (!(x = wrap(points, 4, 2)) || !(target = wrap(answers, 4, 1))) goto done;
    if (!(p[0] = parameter(HIDDEN, 2, 1)) || !(p[1] = parameter(HIDDEN, 0, 1))) goto done;
    if (!(p[2] = parameter(1, HIDDEN, 0.3)) || !(p[3] = parameter(1, 0, 0.3))) goto done;
    if (train(p, x, target) != FB_OK) goto done;
    status = examine(p, x);
done:
    if (fb_error_kind() != FB_ENONE) fprintf(stderr, "%s\n", fb_error_message());
    for (int k = 0; k < N_PARAMS; k++) fb_release(p[k]);
    fb_release(target);
    fb_release(x);
    return status;
}
