/* Autograd in C: gradients, histories of in-place writes and views, errors, long graphs. `test_autograd bench` prints times. */
#include "autograd/variable.h"
#include "check.h"
#include "flambeau/ops.gen.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const fb_device cpu = {FB_CPU, -1};

static fb_tensor *vector(int64_t n, const double *values)
{
    fb_tensor *t = fb_new(1, &n, NULL, FB_F64, cpu);
    for (int64_t i = 0; i < n; i++) ((double *)fb_ptr(t))[i] = values[i];
    return t;
}

static fb_tensor *leaf(int64_t n, const double *values)
{
    fb_tensor *t = vector(n, values);
    CHECK(fb_ag_set_requires_grad(t, true) == FB_OK);
    return t;
}

static bool holds(const fb_tensor *t, int64_t n, const double *values)
{
    if (!t || t->numel != n || t->dtype != FB_F64) return false;
    fb_tensor *c = fb_contiguous_as((fb_tensor *)t, FB_F64);
    bool same = true;
    for (int64_t i = 0; i < n; i++) same &= fabs(((double *)fb_ptr(c))[i] - values[i]) < 1e-12;
    fb_release(c);
    return same;
}
#define HOLDS(t, ...) CHECK(holds(t, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__}))

static fb_tensor *total(fb_tensor *t) { return fb_sum(t, (fb_ints){-1, NULL}, false, FB_NONE); }

static fb_status backward(fb_tensor *t, int flags) { return fb_backward(1, &t, NULL, -1, NULL, NULL, flags); }

static bool failed_with(fb_status status, const char *part)
{
    bool ok = status != FB_OK && strstr(fb_error_message(), part);
    if (!ok) fprintf(stderr, "status %d, message: %s\n", status, fb_error_message());
    fb_error_clear();
    return ok;
}

static fb_status drop(fb_tensor *t) /* a result that only its error matters of */
{
    fb_release(t);
    return t ? FB_OK : FB_FAIL;
}

static void products_have_the_other_factor_as_gradient(void)
{
    fb_tensor *a = leaf(2, (double[]){2, 3}), *b = leaf(2, (double[]){5, 7}), *p = fb_mul(a, b), *s = total(p);
    CHECK(backward(s, 0) == FB_OK);
    HOLDS(fb_ag_grad(a), 5, 7);
    HOLDS(fb_ag_grad(b), 2, 3);
    fb_release(s), fb_release(p), fb_release(a), fb_release(b);
}

static void gradients_of_every_use_are_added_up(void)
{
    fb_tensor *a = leaf(1, (double[]){3}), *sq = fb_mul(a, a), *cube = fb_mul(sq, a), *sum = fb_add(cube, a, fb_int(2)), *s = total(sum);
    CHECK(backward(s, FB_BACKWARD_RETAIN) == FB_OK);
    HOLDS(fb_ag_grad(a), 29); /* 3 a^2 + 2 */
    CHECK(backward(s, 0) == FB_OK);
    HOLDS(fb_ag_grad(a), 58);
    fb_release(s), fb_release(sum), fb_release(cube), fb_release(sq), fb_release(a);
}

static void broadcast_inputs_get_sums(void)
{
    fb_tensor *a = leaf(3, (double[]){1, 2, 3}), *b = leaf(1, (double[]){4}), *p = fb_mul(a, b), *s = total(p);
    CHECK(backward(s, 0) == FB_OK);
    HOLDS(fb_ag_grad(a), 4, 4, 4);
    HOLDS(fb_ag_grad(b), 6);
    fb_release(s), fb_release(p), fb_release(a), fb_release(b);
}

static void a_freed_graph_says_so(void)
{
    fb_tensor *a = leaf(1, (double[]){3}), *p = fb_mul(a, a);
    CHECK(backward(p, 0) == FB_OK);
    CHECK(failed_with(backward(p, 0), "Trying to backward through the graph a second time"));
    fb_release(p), fb_release(a);
}

static void second_derivatives_come_from_recording_the_first(void)
{
    fb_tensor *a = leaf(1, (double[]){3}), *sq = fb_mul(a, a), *cube = fb_mul(sq, a), *first = NULL, *second = NULL;
    CHECK(fb_backward(1, &cube, NULL, 1, &a, &first, FB_BACKWARD_CREATE | FB_BACKWARD_RETAIN) == FB_OK);
    HOLDS(first, 27);
    CHECK(first && fb_ag_requires_grad(first));
    CHECK(fb_backward(1, &first, NULL, 1, &a, &second, 0) == FB_OK);
    HOLDS(second, 18);
    CHECK(!fb_ag_grad(a));
    fb_release(first), fb_release(second), fb_release(cube), fb_release(sq), fb_release(a);
}

static void writing_to_a_saved_value_is_noticed(void)
{
    fb_tensor *a = leaf(2, (double[]){1, 2}), *b = vector(2, (double[]){3, 4}), *p = fb_mul(a, b), *s = total(p);
    fb_release(fb_add_out(b, b, fb_int(1), b));
    CHECK(failed_with(backward(s, 0), "modified by an inplace operation: [torch.DoubleTensor [2]] is at version 1; expected version 0"));
    fb_release(s), fb_release(p), fb_release(b);
    fb_tensor *e = fb_exp(a), *t = total(e);
    fb_release(fb_add_out(e, e, fb_int(1), e));
    CHECK(failed_with(backward(t, 0), "which is output 0 of Exp, is at version 1; expected version 0"));
    fb_release(t), fb_release(e), fb_release(a);
}

static void leaves_are_not_written_to(void)
{
    fb_tensor *a = leaf(2, (double[]){1, 2}), *v = fb_select(a, 0, 0);
    CHECK(failed_with(drop(fb_add_out(a, a, fb_int(1), a)), "a leaf Variable that requires grad is being used in an in-place operation."));
    CHECK(failed_with(drop(fb_add_out(v, v, fb_int(1), v)), "a view of a leaf Variable that requires grad is being used in an in-place"));
    fb_ag_set_grad_enabled(false);
    CHECK(drop(fb_add_out(a, a, fb_int(1), a)) == FB_OK);
    fb_ag_set_grad_enabled(true);
    fb_tensor *out = vector(2, (double[]){0, 0});
    CHECK(failed_with(drop(fb_add_out(a, a, fb_int(1), out)), "don't support automatic differentiation"));
    fb_release(out), fb_release(v), fb_release(a);
}

static void in_place_results_pass_gradients_on(void)
{
    fb_tensor *a = leaf(2, (double[]){2, 3}), *y = fb_mul(a, a), *w = leaf(2, (double[]){5, 7});
    fb_release(fb_mul_out(y, w, y)); /* saves y as it was, though it is overwritten */
    fb_tensor *s = total(y);
    CHECK(backward(s, 0) == FB_OK);
    HOLDS(fb_ag_grad(a), 20, 42);
    HOLDS(fb_ag_grad(w), 4, 9);
    fb_release(s), fb_release(y), fb_release(w), fb_release(a);
}

static void writing_to_a_view_gives_its_base_a_history(void)
{
    fb_tensor *b = vector(3, (double[]){1, 2, 3}), *w = leaf(1, (double[]){10}), *w0 = fb_select(w, 0, 0);
    fb_tensor *early = fb_select(b, 0, 0), *other = fb_select(b, 0, 1), *v = fb_select(b, 0, 0);
    fb_release(fb_mul_out(v, w0, v));
    CHECK(fb_ag_requires_grad(b) && fb_ag_requires_grad(early) && fb_ag_requires_grad(other));
    fb_tensor *sq = fb_mul(b, b), *s = total(sq), *p = fb_mul(early, other), *sum = fb_add(s, p, fb_int(1));
    HOLDS(sum, 100 + 4 + 9 + 20);
    CHECK(backward(sum, 0) == FB_OK);
    HOLDS(fb_ag_grad(w), 2 * 10 * 1 + 2); /* d (w^2 + 2 w) */
    fb_release(sum), fb_release(p), fb_release(s), fb_release(sq), fb_release(v), fb_release(early), fb_release(other);
    fb_release(w0), fb_release(w), fb_release(b);
}

static void the_covered_part_of_a_base_loses_its_old_history(void)
{
    fb_tensor *a = leaf(3, (double[]){1, 2, 3}), *b = fb_mul(a, a), *v = fb_select(b, 0, 1), *w = leaf(1, (double[]){5});
    fb_tensor *w0 = fb_select(w, 0, 0);
    fb_release(fb_copy_(v, w0, false));
    fb_tensor *sq = fb_mul(b, b), *s = total(sq);
    CHECK(backward(s, 0) == FB_OK);
    HOLDS(fb_ag_grad(a), 4, 0, 108); /* 4 a^3 where b is still a^2 */
    HOLDS(fb_ag_grad(w), 10);
    fb_release(s), fb_release(sq), fb_release(w0), fb_release(w), fb_release(v), fb_release(b), fb_release(a);
}

static void outputs_of_split_are_not_written_to(void)
{
    fb_tensor *a = leaf(2, (double[]){1, 2}), *b = fb_mul(a, a), **parts = NULL;
    int64_t n = 0;
    CHECK(fb_unbind(b, 0, &n, &parts) == FB_OK && n == 2);
    CHECK(failed_with(drop(fb_mul_out(parts[0], parts[1], parts[0])), "Output 0 of Unbind is a view and is being modified inplace."));
    fb_tensor *p = fb_mul(parts[0], parts[1]);
    CHECK(backward(p, 0) == FB_OK);
    HOLDS(fb_ag_grad(a), 8, 4);
    fb_release(p), fb_release_list(n, parts), fb_release(b), fb_release(a);
}

static void views_of_no_grad_blocks_are_not_written_to(void)
{
    fb_tensor *a = leaf(2, (double[]){1, 2}), *b = fb_mul(a, a), *v;
    fb_ag_set_grad_enabled(false);
    v = fb_select(b, 0, 0);
    fb_ag_set_grad_enabled(true);
    CHECK(failed_with(drop(fb_mul_out(v, v, v)), "A view was created in no_grad mode and is being modified inplace"));
    fb_release(v), fb_release(b), fb_release(a);
}

static void only_wanted_inputs_get_gradients(void)
{
    fb_tensor *a = leaf(1, (double[]){2}), *b = leaf(1, (double[]){3}), *c = leaf(1, (double[]){4}), *p = fb_mul(a, b), *q = fb_mul(p, p);
    fb_tensor *inputs[] = {b, c, p}, *got[3];
    CHECK(fb_backward(1, &q, NULL, 3, inputs, got, FB_BACKWARD_RETAIN) == FB_OK);
    HOLDS(got[0], 24);
    CHECK(!got[1]);
    HOLDS(got[2], 12);
    CHECK(!fb_ag_grad(a) && !fb_ag_grad(b));
    for (int i = 0; i < 3; i++) fb_release(got[i]);
    CHECK(fb_backward(1, &q, NULL, 1, inputs, NULL, 0) == FB_OK);
    HOLDS(fb_ag_grad(b), 24);
    CHECK(!fb_ag_grad(a));
    fb_release(q), fb_release(p), fb_release(a), fb_release(b), fb_release(c);
}

static void roots_are_checked(void)
{
    fb_tensor *a = leaf(2, (double[]){1, 2}), *p = fb_mul(a, a), *b = vector(1, (double[]){1}), *three = vector(3, (double[]){1, 1, 1});
    CHECK(failed_with(backward(p, 0), "grad can be implicitly created only for scalar outputs"));
    CHECK(failed_with(backward(b, 0), "element 0 of tensors does not require grad and does not have a grad_fn"));
    CHECK(failed_with(fb_backward(1, &p, &three, -1, NULL, NULL, 0), "Mismatch in shape: grad_output[0] has a shape of [3]"));
    fb_release(three), fb_release(b), fb_release(p), fb_release(a);
}

static void results_can_keep_their_gradient(void)
{
    fb_tensor *a = leaf(1, (double[]){3}), *p = fb_mul(a, a), *q = fb_mul(p, p);
    CHECK(fb_ag_retain_grad(p) == FB_OK && fb_ag_retains_grad(p));
    CHECK(backward(q, 0) == FB_OK);
    HOLDS(fb_ag_grad(p), 18);
    fb_release(p);
    fb_release(q), fb_release(a);
}

static void modes_switch_recording(void)
{
    fb_tensor *a = leaf(1, (double[]){3}), *p;
    CHECK(fb_ag_set_grad_enabled(false));
    p = fb_mul(a, a);
    CHECK(!fb_ag_requires_grad(p));
    fb_release(p);
    CHECK(!fb_ag_set_grad_enabled(true));
    int modes = fb_ag_modes();
    fb_ag_set_modes(2);
    fb_tensor *i = vector(1, (double[]){1});
    fb_ag_set_modes(modes);
    CHECK(failed_with(drop(fb_mul(a, i)), "Inference tensors cannot be saved for backward."));
    CHECK(failed_with(fb_ag_set_requires_grad(i, true), "Setting requires_grad=True on inference tensor"));
    fb_release(i), fb_release(a);
}

static void a_million_nodes_neither_overflow_the_stack_nor_leak(void)
{
    fb_tensor *a = leaf(1, (double[]){1}), *x = fb_retain(a), *one = vector(1, (double[]){1});
    for (int i = 0; i < 1000000; i++) {
        fb_tensor *y = i & 1 ? fb_mul(x, one) : fb_add(x, a, fb_int(1));
        fb_release(x);
        x = y;
    }
    CHECK(backward(x, 0) == FB_OK);
    HOLDS(fb_ag_grad(a), 500001);
    fb_release(x), fb_release(one), fb_release(a);
}

static int64_t live(void)
{
    fb_memory_stats s;
    fb_get_memory_stats(&s);
    return s.live_tensors;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bench(void)
{
    fb_tensor *a = leaf(4, (double[]){1, 2, 3, 4}), *b = leaf(4, (double[]){1, 2, 3, 4});
    const int n = 200000;
    for (int round = 0; round < 3; round++) {
        double t0 = seconds();
        fb_ag_set_grad_enabled(false);
        for (int i = 0; i < n; i++) fb_release(fb_add(a, b, fb_int(1)));
        fb_ag_set_grad_enabled(true);
        double t1 = seconds();
        for (int i = 0; i < n; i++) fb_release(fb_add(a, b, fb_int(1)));
        double t2 = seconds();
        double back = 0, forth = 0;
        for (int i = 0; i < n / 20; i++) {
            fb_tensor *x = fb_retain(a);
            double s0 = seconds();
            for (int k = 0; k < 10; k++) {
                fb_tensor *y = fb_add(x, b, fb_int(1));
                fb_release(x);
                x = y;
            }
            double s1 = seconds();
            fb_backward(1, &x, &b, 1, &a, NULL, 0);
            back += seconds() - s1;
            forth += s1 - s0;
            fb_release(x);
            fb_ag_set_grad(a, NULL);
        }
        printf("add %.0f ns, recorded %.0f ns, 10 adds %.2f us, their backward %.2f us\n", (t1 - t0) / n * 1e9, (t2 - t1) / n * 1e9,
               forth / (n / 20) * 1e6, back / (n / 20) * 1e6);
    }
    fb_release(a), fb_release(b);
}

int main(int argc, char **argv)
{
    fb_autograd_enable();
    if (argc > 1 && strcmp(argv[1], "bench") == 0) {
        bench();
        return 0;
    }
    fb_tensor *warm = leaf(1, (double[]){1}), *w2 = fb_mul(warm, warm);
    backward(w2, 0); /* numbers that are kept from here on */
    fb_release(w2), fb_release(warm);
    int64_t before = live();
    RUN(products_have_the_other_factor_as_gradient);
    RUN(gradients_of_every_use_are_added_up);
    RUN(broadcast_inputs_get_sums);
    RUN(a_freed_graph_says_so);
    RUN(second_derivatives_come_from_recording_the_first);
    RUN(writing_to_a_saved_value_is_noticed);
    RUN(leaves_are_not_written_to);
    RUN(in_place_results_pass_gradients_on);
    RUN(writing_to_a_view_gives_its_base_a_history);
    RUN(the_covered_part_of_a_base_loses_its_old_history);
    RUN(outputs_of_split_are_not_written_to);
    RUN(views_of_no_grad_blocks_are_not_written_to);
    RUN(only_wanted_inputs_get_gradients);
    RUN(roots_are_checked);
    RUN(results_can_keep_their_gradient);
    RUN(modes_switch_recording);
    RUN(a_million_nodes_neither_overflow_the_stack_nor_leak);
    CHECK(live() - before <= 4); /* nothing is left but numbers that fb_number keeps */
    return check_end();
}
