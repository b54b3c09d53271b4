/* The elementwise executor against a naive walk: layouts, broadcasting, dtypes, presets, errors, threads. */
#include "flambeau/ops.gen.h"
#include "runtime/core.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int failures;
#define CHECK(cond, ...)                                                                                   \
    do {                                                                                                   \
        if (!(cond)) {                                                                                     \
            failures++;                                                                                    \
            printf("%s:%d: ", __func__, __LINE__);                                                         \
            printf(__VA_ARGS__);                                                                           \
            printf(" [%s]\n", fb_error_message() ? fb_error_message() : "");                               \
        }                                                                                                  \
    } while (0)

static const fb_device cpu = {FB_CPU, 0};
static uint32_t state = 12345;
static uint32_t draw(void) { return state = state * 1664525u + 1013904223u, state >> 8; }

/* The element of t at a linear index of the shape, broadcast. */
static char *element(const fb_tensor *t, int64_t ndim, const int64_t *sizes, int64_t index)
{
    int64_t offset = 0;
    for (int64_t d = ndim - 1; d >= 0; d--) {
        int64_t i = index % sizes[d], k = d - (ndim - t->ndim);
        index /= sizes[d];
        if (k >= 0 && t->sizes[k] != 1) offset += i * t->strides[k];
    }
    return (char *)fb_ptr(t) + offset * fb_itemsize(t->dtype);
}

static double value(const fb_tensor *t, int64_t ndim, const int64_t *sizes, int64_t index)
{
    return fb_scalar_double(fb_scalar_load(element(t, ndim, sizes, index), t->dtype));
}

/* A tensor of small whole numbers: what is computed with them is exact in every dtype. layout: 0 row-major,
 * 1 reversed dimensions, 2 every second element, 3 last dimension outermost */
static fb_tensor *make(int64_t ndim, const int64_t *sizes, fb_dtype dtype, int layout)
{
    int64_t strides[8], stride = layout == 2 ? 2 : 1, total = stride;
    for (int64_t k = 0; k < ndim; k++) {
        int64_t d = layout == 1 ? k : layout == 3 ? (k == ndim - 1 ? ndim - 1 : ndim - 2 - k) : ndim - 1 - k;
        if (layout == 3 && k < ndim - 1) d = ndim - 2 - k;
        strides[d] = stride;
        stride *= FB_MAX(sizes[d], 1);
    }
    total = stride;
    fb_tensor *flat = fb_empty(1, &total, dtype, cpu);
    for (int64_t i = 0; i < total; i++)
        fb_scalar_store(fb_int((int64_t)(dtype == FB_BOOL ? draw() % 2 : draw() % 10)), dtype,
                        (char *)fb_ptr(flat) + i * fb_itemsize(dtype));
    fb_tensor *t = fb_view_of(flat, ndim, sizes, strides, 0);
    fb_release(flat);
    return t;
}

static void add_agrees(int64_t ndim, const int64_t *sa, const int64_t *sb, fb_dtype da, fb_dtype db, int la, int lb, int lo)
{
    fb_tensor *a = make(ndim, sa, da, la), *b = make(ndim, sb, db, lb), *out = NULL;
    int64_t sizes[8];
    for (int64_t d = 0; d < ndim; d++) sizes[d] = sa[d] == 1 ? sb[d] : sa[d];
    if (lo >= 0) out = make(ndim, sizes, fb_promote(da, db), lo);
    fb_tensor *r = fb_add_out(a, b, fb_int(2), out);
    CHECK(r, "add fails");
    if (r) {
        CHECK(r->dtype == fb_promote(da, db), "dtype %s", fb_dtype_name(r->dtype));
        for (int64_t i = 0; i < r->numel; i++) {
            double want = value(a, ndim, sizes, i) + 2 * value(b, ndim, sizes, i), got = value(r, ndim, sizes, i);
            if (r->dtype == FB_BOOL) want = want != 0;
            if (got != want) {
                CHECK(false, "%s %s layouts %d %d %d dtypes %s %s: element %ld is %g, not %g", fb_shape_text(ndim, sa),
                      fb_shape_text(ndim, sb), la, lb, lo, fb_dtype_name(da), fb_dtype_name(db), (long)i, got, want);
                break;
            }
        }
    }
    fb_release(r);
    fb_release(out);
    fb_release(a);
    fb_release(b);
}

static void test_layouts_and_broadcasts_agree_with_a_naive_walk(void)
{
    static const int64_t shapes[][2][3] = {
        {{2, 3, 4}, {2, 3, 4}}, {{2, 1, 4}, {1, 3, 1}}, {{5, 7, 300}, {5, 7, 300}}, {{5, 7, 300}, {1, 7, 1}},
        {{1, 300, 200}, {1, 300, 200}}, {{3, 40, 50}, {3, 40, 50}}, {{1, 1, 5000}, {1, 1, 1}}, {{64, 64, 3}, {64, 64, 3}},
        {{70, 90, 33}, {1, 90, 33}}, {{1, 1, 1}, {1, 1, 1}}, {{2, 0, 3}, {2, 1, 3}}, {{40, 2, 1500}, {40, 1, 1500}},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int la = 0; la < 4; la++)
            for (int lb = 0; lb < 4; lb++)
                for (int lo = -1; lo < 4; lo += 1 + (lo >= 0))
                    add_agrees(3, shapes[s][0], shapes[s][1], FB_F32, FB_F32, la, lb, lo);
}

static void test_dtypes_meet(void)
{
    static const int64_t a[] = {3, 40, 50}, b[] = {3, 1, 50};
    for (int da = 0; da <= FB_C128; da++)
        for (int db = 0; db <= FB_C128; db++) {
            if (fb_promote(da, db) == FB_NONE) {
                fb_error_clear();
                continue;
            }
            for (int layout = 0; layout < 3; layout++) add_agrees(3, a, b, da, db, layout, 0, layout == 1 ? 2 : -1);
        }
}

static void test_casts_match_a_scalar_at_a_time(void)
{
    static const double values[] = {0, 1, -1, 2.5, -2.5, 100, 255, 256, 65504, 70000, -70000, 3e9, 5e9, -3e9, 1e20, -1e20, 1e-8, 3e-6,
                                    INFINITY, -INFINITY};
    enum { N = sizeof values / sizeof *values };
    for (int from = FB_F16; from <= FB_F64; from++)
        for (int to = 0; to < FB_N_DTYPES; to++) {
            fb_tensor *x = fb_empty(1, (int64_t[]){N * 5}, from, cpu), *y = fb_empty(1, (int64_t[]){N * 5}, to, cpu);
            fb_tensor *one = fb_empty(0, NULL, from, cpu), *single = fb_empty(0, NULL, to, cpu);
            for (int i = 0; i < N * 5; i++) fb_scalar_store(fb_float(values[i % N]), from, element(x, 1, x->sizes, i));
            CHECK(fb_copy_data(y, x) == FB_OK, "copy");
            for (int i = 0; i < N * 5; i++) {
                memcpy(fb_ptr(one), element(x, 1, x->sizes, i), (size_t)fb_itemsize(from));
                fb_copy_data(single, one);
                CHECK(memcmp(fb_ptr(single), element(y, 1, y->sizes, i), (size_t)fb_itemsize(to)) == 0, "%s -> %s of %g: %g alone, %g in a row",
                      fb_dtype_name(from), fb_dtype_name(to), values[i % N], value(single, 0, NULL, 0), value(y, 1, y->sizes, i));
            }
            fb_release(x), fb_release(y), fb_release(one), fb_release(single);
        }
}

static void test_a_result_is_the_same_at_any_thread_count(void)
{
    static const int64_t n[] = {1000003};
    fb_tensor *a = make(1, n, FB_F32, 0), *b = make(1, n, FB_F32, 2), *r[3];
    for (int t = 0; t < 3; t++) {
        fb_set_num_threads(t + 1);
        r[t] = fb_div(a, b);
    }
    fb_set_num_threads(2);
    CHECK(r[0] && r[1] && r[2], "div");
    CHECK(memcmp(fb_ptr(r[0]), fb_ptr(r[1]), 4 * 1000003) == 0 && memcmp(fb_ptr(r[0]), fb_ptr(r[2]), 4 * 1000003) == 0, "bits differ");
    for (int t = 0; t < 3; t++) fb_release(r[t]);
    fb_release(a), fb_release(b);
}

static void test_the_layout_of_inputs_is_kept(void)
{
    static const int64_t sizes[] = {2, 3, 4, 5}, last[] = {60, 1, 15, 3}, row[] = {60, 20, 5, 1};
    fb_tensor *flat = fb_empty(4, sizes, FB_F32, cpu), *cl = fb_view_of(flat, 4, sizes, last, 0);
    fb_tensor *bias = fb_empty(4, (int64_t[]){1, 3, 1, 1}, FB_F32, cpu);
    memset(fb_ptr(flat), 0, 4 * 120), memset(fb_ptr(bias), 0, 12);
    fb_tensor *x = fb_neg(cl), *y = fb_add(cl, bias, fb_int(1)), *z = fb_add(cl, flat, fb_int(1)), *w = fb_add(flat, cl, fb_int(1));
    CHECK(x && memcmp(x->strides, last, sizeof last) == 0, "neg");
    CHECK(y && memcmp(y->strides, last, sizeof last) == 0, "bias");
    CHECK(z && memcmp(z->strides, last, sizeof last) == 0, "first operand decides");
    CHECK(w && memcmp(w->strides, row, sizeof row) == 0, "first operand decides");
    fb_release(flat), fb_release(cl), fb_release(bias), fb_release(x), fb_release(y), fb_release(z), fb_release(w);
}

static void expect_error(fb_tensor *r, fb_error kind, const char *text)
{
    CHECK(!r && fb_error_kind() == kind && strstr(fb_error_message(), text), "expected '%s'", text);
    fb_error_clear();
    fb_release(r);
}

static void test_bad_operands_raise(void)
{
    fb_tensor *a3 = fb_empty(1, (int64_t[]){3}, FB_F32, cpu), *a4 = fb_empty(1, (int64_t[]){4}, FB_F32, cpu);
    fb_tensor *i3 = fb_empty(1, (int64_t[]){3}, FB_I64, cpu), *b3 = fb_empty(1, (int64_t[]){3}, FB_BOOL, cpu);
    fb_tensor *m = fb_empty(2, (int64_t[]){2, 3}, FB_F32, cpu), *c3 = fb_empty(1, (int64_t[]){3}, FB_C64, cpu);
    memset(fb_ptr(a3), 0, 12), memset(fb_ptr(i3), 0, 24), memset(fb_ptr(b3), 0, 3), memset(fb_ptr(m), 0, 24), memset(fb_ptr(c3), 0, 24);
    memset(fb_ptr(a4), 0, 16);
    expect_error(fb_add(a3, a4, fb_int(1)), FB_ESHAPE, "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0");
    expect_error(fb_add_out(i3, a3, fb_int(1), i3), FB_ERUNTIME, "result type Float can't be cast to the desired output type Long");
    expect_error(fb_add_out(a3, m, fb_int(1), a3), FB_ESHAPE, "output with shape [3] doesn't match the broadcast shape [2, 3]");
    expect_error(fb_sub(b3, b3, fb_int(1)), FB_ERUNTIME, "Subtraction");
    expect_error(fb_add(i3, i3, fb_float(0.5)), FB_ERUNTIME, "floating point");
    expect_error(fb_lt(c3, c3), FB_ENOTIMPL, "not implemented for 'ComplexFloat'");
    fb_tensor *head = fb_view_of(m, 1, (int64_t[]){4}, (int64_t[]){1}, 0), *tail = fb_view_of(m, 1, (int64_t[]){4}, (int64_t[]){1}, 2);
    expect_error(fb_mul_out(head, head, tail), FB_ERUNTIME, "unsupported operation");
    fb_tensor *wide = fb_view_of(m, 1, (int64_t[]){3}, (int64_t[]){0}, 0);
    expect_error(fb_mul_out(a3, a3, wide), FB_ERUNTIME, "more than one element of the written-to tensor");
    fb_release(a3), fb_release(a4), fb_release(i3), fb_release(b3), fb_release(m), fb_release(c3);
    fb_release(head), fb_release(tail), fb_release(wide);
}

static void test_fill_and_copy_reach_every_element(void)
{
    static const int64_t sizes[] = {7, 33, 65};
    for (int dtype = 0; dtype < FB_N_DTYPES; dtype++)
        for (int layout = 0; layout < 4; layout++) {
            fb_tensor *x = make(3, sizes, dtype, layout), *y = make(3, sizes, dtype, (layout + 1) % 4);
            CHECK(fb_copy_data(y, x) == FB_OK, "copy");
            int64_t wrong = 0;
            for (int64_t i = 0; i < x->numel; i++) wrong += value(x, 3, sizes, i) != value(y, 3, sizes, i);
            CHECK(wrong == 0, "copy of %s, layout %d: %ld wrong", fb_dtype_name(dtype), layout, (long)wrong);
            for (int v = 1; v >= 0; v--) {
                CHECK(fb_fill_data(x, fb_int(v)) == FB_OK, "fill");
                for (int64_t i = wrong = 0; i < x->numel; i++) wrong += value(x, 3, sizes, i) != v;
                CHECK(wrong == 0, "fill of %s, layout %d: %ld wrong", fb_dtype_name(dtype), layout, (long)wrong);
            }
            fb_release(x), fb_release(y);
        }
}

static void test_in_place_of_a_wider_result_is_cast(void)
{
    fb_tensor *h = fb_empty(1, (int64_t[]){100}, FB_F16, cpu), *w = fb_empty(1, (int64_t[]){100}, FB_F32, cpu);
    fb_fill_data(h, fb_float(1)), fb_fill_data(w, fb_float(0.25));
    fb_tensor *r = fb_add_out(h, w, fb_int(1), h);
    CHECK(r == h && value(h, 1, h->sizes, 99) == 1.25, "half += float");
    fb_release(r), fb_release(h), fb_release(w);
}

int main(void)
{
    test_layouts_and_broadcasts_agree_with_a_naive_walk();
    test_dtypes_meet();
    test_casts_match_a_scalar_at_a_time();
    test_a_result_is_the_same_at_any_thread_count();
    test_the_layout_of_inputs_is_kept();
    test_bad_operands_raise();
    test_fill_and_copy_reach_every_element();
    test_in_place_of_a_wider_result_is_cast();
    printf("%d failures\n", failures);
    return failures != 0;
}
