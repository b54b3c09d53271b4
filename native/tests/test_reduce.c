/* Reductions, scans and softmax against naive loops in double: layouts, dtypes, long and short ones, positions, empty
 * ones, and equal bits at any thread count. */
#include "flambeau/ops.gen.h"
#include "runtime/core.h"
#include <math.h>
#include <stdio.h>

static int failures;
#define CHECK(cond, ...)                                                                                   \
    do {                                                                                                   \
        if (!(cond)) {                                                                                     \
            failures++;                                                                                    \
            printf("%s:%d: ", __func__, __LINE__);                                                         \
            printf(__VA_ARGS__);                                                                           \
            printf(" [%s]\n", fb_error_message());                                                         \
        }                                                                                                  \
    } while (0)

static const fb_device cpu = {FB_CPU, 0};
static const fb_ints all_dims = {-1, NULL};
static uint32_t state = 777;
static uint32_t draw(void) { return state = state * 1664525u + 1013904223u, state >> 8; }

/* layout: 0 row-major, 1 reversed, 2 every second element. Values are multiples of 1/4 in [-4, 4]: sums are exact. */
static fb_tensor *make(int64_t ndim, const int64_t *sizes, fb_dtype dtype, int layout)
{
    int64_t strides[8], stride = layout == 2 ? 2 : 1;
    for (int64_t k = 0; k < ndim; k++) {
        int64_t d = layout == 1 ? k : ndim - 1 - k;
        strides[d] = stride;
        stride *= FB_MAX(sizes[d], 1);
    }
    fb_tensor *flat = fb_empty(1, &stride, dtype, cpu);
    for (int64_t i = 0; i < stride; i++) {
        double v = ((double)(draw() % 33) - 16) / 4;
        fb_scalar_store(dtype == FB_BOOL ? fb_int(draw() % 2) : fb_is_float(dtype) ? fb_float(v) : fb_int((int64_t)(draw() % 9)), dtype,
                        (char *)fb_ptr(flat) + i * fb_itemsize(dtype));
    }
    fb_tensor *t = fb_view_of(flat, ndim, sizes, strides, 0);
    fb_release(flat);
    return t;
}

static double at(const fb_tensor *t, const int64_t *index)
{
    int64_t offset = 0;
    for (int d = 0; d < t->ndim; d++) offset += index[d] * t->strides[d];
    return fb_scalar_double(fb_scalar_load((char *)fb_ptr(t) + offset * fb_itemsize(t->dtype), t->dtype));
}

typedef struct naive { double sum, square, max, min; int64_t argmax, argmin, n; bool any, all; } naive;

/* Folds the elements of t whose kept coordinates are those of index. */
static naive fold(const fb_tensor *t, uint64_t mask, int64_t *index, int d)
{
    static naive r;
    static int64_t seen;
    if (d == 0) {
        r = (naive){0, 0, -INFINITY, INFINITY, -1, -1, 0, false, true};
        seen = 0;
    }
    if (d == t->ndim) {
        double v = at(t, index);
        r.sum += v;
        r.square += v * v;
        if (v > r.max) r.max = v, r.argmax = seen;
        if (v < r.min) r.min = v, r.argmin = seen;
        r.any |= v != 0;
        r.all &= v != 0;
        r.n++;
        seen++;
    } else if (mask >> d & 1) {
        for (int64_t i = 0; i < t->sizes[d]; i++) {
            index[d] = i;
            fold(t, mask, index, d + 1);
        }
    } else {
        fold(t, mask, index, d + 1);
    }
    return r;
}

static bool near(double a, double b, double tolerance) { return a == b || fabs(a - b) <= tolerance * (1 + fabs(b)); }

static void agrees(int64_t ndim, const int64_t *sizes, fb_dtype dtype, int layout, uint64_t mask)
{
    fb_tensor *t = make(ndim, sizes, dtype, layout);
    int64_t dims[8], n = 0, index[8] = {0}, kept[8], n_kept = 0;
    for (int64_t d = 0; d < ndim; d++) {
        if (mask >> d & 1) dims[n++] = d;
        else kept[n_kept++] = d;
    }
    fb_ints dim = {n, dims};
    fb_scalar one = fb_int(1);
    bool real = fb_is_float(dtype);
    fb_tensor *sum = fb_sum(t, dim, false, FB_NONE), *max = fb_amax(t, dim, false), *min = fb_amin(t, dim, false);
    fb_tensor *any = fb_any(t, dim, false), *all = fb_all(t, dim, false), *count = fb_count_nonzero(t, dim);
    fb_tensor *var = real ? fb_var(t, dim, one, false) : NULL, *norm = real ? fb_vector_norm(t, 2, dim, false, FB_NONE) : NULL;
    fb_tensor *arg = n == 1 ? fb_argmax(t, dims[0], false) : NULL;
    double loose = dtype == FB_F16 || dtype == FB_BF16 ? 1e-2 : 1e-5;
    CHECK(sum && max && min && any && all && count && (!real || (var && norm)) && (n != 1 || arg), "fails");
    for (int64_t i = 0; failures < 20 && sum && i < sum->numel; i++) {
        int64_t rest = i;
        for (int64_t k = n_kept - 1; k >= 0; k--) {
            index[kept[k]] = rest % sizes[kept[k]];
            rest /= sizes[kept[k]];
        }
        naive want = fold(t, mask, index, 0);
        double nn = (double)want.n, v = (want.square - want.sum * want.sum / nn) / (nn - 1);
#define ITEM(x) fb_scalar_double(fb_scalar_load((char *)fb_ptr(x) + i * fb_itemsize((x)->dtype), (x)->dtype))
#define SAME(x, w, tolerance)                                                                              \
    CHECK(near(ITEM(x), w, tolerance), "%s %s layout %d mask %llx result %ld: %s is %g, not %g", fb_dtype_name(dtype), \
          fb_shape_text(ndim, sizes), layout, (unsigned long long)mask, (long)i, #x, ITEM(x), w)
        SAME(sum, want.sum, loose);
        SAME(max, want.max, 0);
        SAME(min, want.min, 0);
        SAME(any, (double)want.any, 0);
        SAME(all, (double)want.all, 0);
        if (arg) SAME(arg, (double)want.argmax, 0);
        if (real && want.n > 1) {
            SAME(var, v, loose * 10);
            SAME(norm, sqrt(want.square), loose);
        }
    }
    fb_release(sum), fb_release(max), fb_release(min), fb_release(any), fb_release(all), fb_release(count);
    fb_release(var), fb_release(norm), fb_release(arg), fb_release(t);
}

static void test_every_set_of_dimensions_in_every_layout_agrees_with_a_naive_fold(void)
{
    static const int64_t shapes[][3] = {{3, 5, 7}, {1, 70, 3}, {40, 1, 300}, {2, 300, 33}, {5, 2, 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int layout = 0; layout < 3; layout++)
            for (uint64_t mask = 1; mask < 8; mask++) agrees(3, shapes[s], FB_F32, layout, mask);
}

static void test_every_dtype_agrees(void)
{
    static const int64_t shape[] = {6, 40, 50};
    for (int dtype = 0; dtype <= FB_F64; dtype++)
        for (int layout = 0; layout < 3; layout++)
            for (uint64_t mask = 1; mask < 8; mask += 3) agrees(3, shape, dtype, layout, mask);
}

static void test_long_reductions_agree(void)
{
    agrees(1, (int64_t[]){100003}, FB_F32, 0, 1);
    agrees(1, (int64_t[]){100003}, FB_I64, 2, 1);
    agrees(2, (int64_t[]){3, 70001}, FB_F32, 0, 2);
    agrees(2, (int64_t[]){70001, 3}, FB_F32, 0, 1);
    agrees(2, (int64_t[]){5000, 300}, FB_F64, 0, 1);
    agrees(2, (int64_t[]){5000, 300}, FB_F16, 1, 1);
}

static void test_the_error_of_a_long_sum_stays_small(void)
{
    int64_t n = 1 << 22;
    fb_tensor *t = fb_empty(1, &n, FB_F32, cpu), *s;
    fb_fill_data(t, fb_float(0.1));
    s = fb_sum(t, all_dims, false, FB_NONE);
    CHECK(near(*(float *)fb_ptr(s), (double)0.1f * (double)n, 1e-6), "%g", *(float *)fb_ptr(s));
    fb_release(t), fb_release(s);
}

static void test_bits_do_not_depend_on_threads(void)
{
    fb_tensor *t = make(2, (int64_t[]){700, 1100}, FB_F32, 0), *r[3][6] = {{NULL}};
    for (int i = 0; i < 700 * 1100; i++) ((float *)fb_ptr(t))[i] *= 0.1f;
    int64_t d0 = 0, d1 = 1;
    for (int k = 0; k < 3; k++) {
        fb_set_num_threads(k + 1);
        r[k][0] = fb_sum(t, all_dims, false, FB_NONE);
        r[k][1] = fb_sum(t, (fb_ints){1, &d0}, false, FB_NONE);
        r[k][2] = fb_mean(t, (fb_ints){1, &d1}, false, FB_NONE);
        r[k][3] = fb_var(t, all_dims, fb_int(1), false);
        r[k][4] = fb_softmax(t, 0, FB_NONE);
        r[k][5] = fb_cumsum(t, 1, FB_NONE);
    }
    fb_set_num_threads(2);
    for (int k = 1; k < 3; k++)
        for (int i = 0; i < 6; i++)
            CHECK(r[0][i] && r[k][i] && memcmp(fb_ptr(r[0][i]), fb_ptr(r[k][i]), (size_t)r[0][i]->numel * 4) == 0,
                  "operator %d, %d threads", i, k + 1);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 6; i++) fb_release(r[k][i]);
    fb_release(t);
}

static void test_nan_wins_and_the_first_of_equals_counts(void)
{
    float v[100];
    for (int i = 0; i < 100; i++) v[i] = (float)(i % 50);
    fb_tensor *t = fb_from_memory(v, sizeof v, NULL, NULL, 1, (int64_t[]){100}, NULL, 0, FB_F32), *m, *i;
    CHECK(fb_max_dim(t, 0, false, &m, &i) == FB_OK && *(float *)fb_ptr(m) == 49 && *(int64_t *)fb_ptr(i) == 49, "max");
    fb_release(m), fb_release(i);
    CHECK(fb_min_dim(t, 0, false, &m, &i) == FB_OK && *(float *)fb_ptr(m) == 0 && *(int64_t *)fb_ptr(i) == 0, "min");
    fb_release(m), fb_release(i);
    v[77] = v[78] = NAN;
    CHECK(fb_max_dim(t, 0, false, &m, &i) == FB_OK && isnan(*(float *)fb_ptr(m)) && *(int64_t *)fb_ptr(i) == 77, "NaN");
    fb_release(m), fb_release(i), fb_release(t);
}

static void refused(fb_tensor *r, fb_error kind, const char *text)
{
    CHECK(!r && fb_error_kind() == kind && strstr(fb_error_message(), text), "expected '%s'", text);
    fb_error_clear();
    fb_release(r);
}

static void test_empty_reductions_give_the_identity_or_raise(void)
{
    int64_t d0 = 0, d1 = 1, d2 = 2;
    fb_tensor *t = fb_empty(2, (int64_t[]){0, 3}, FB_F32, cpu), *i = fb_empty(1, (int64_t[]){3}, FB_I64, cpu), *r;
    r = fb_sum(t, (fb_ints){1, &d0}, false, FB_NONE);
    CHECK(r && r->numel == 3 && *(float *)fb_ptr(r) == 0, "sum");
    fb_release(r);
    r = fb_prod(t, all_dims, false, FB_NONE);
    CHECK(r && *(float *)fb_ptr(r) == 1, "prod");
    fb_release(r);
    r = fb_mean(t, all_dims, false, FB_NONE);
    CHECK(r && isnan(*(float *)fb_ptr(r)), "mean");
    fb_release(r);
    r = fb_amax(t, (fb_ints){1, &d1}, false);
    CHECK(r && r->numel == 0, "amax of no results");
    fb_release(r);
    refused(fb_max_all(t), FB_ERUNTIME,
            "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
    refused(fb_amax(t, (fb_ints){1, &d0}, false), FB_EINDEX, "amax(): Expected reduction dim 0 to have non-zero size.");
    refused(fb_argmax(t, FB_ABSENT, false), FB_ERUNTIME, "argmax(): Expected reduction dim");
    refused(fb_sum(t, (fb_ints){1, &d2}, false, FB_NONE), FB_EINDEX, "Dimension out of range");
    refused(fb_mean(i, all_dims, false, FB_NONE), FB_ERUNTIME, "could not infer output dtype");
    fb_release(t), fb_release(i);
}

static void test_scans_and_softmax_agree_with_loops(void)
{
    for (int layout = 0; layout < 3; layout++)
        for (int64_t dim = 0; dim < 3; dim++) {
            static const int64_t sizes[] = {9, 20, 257};
            fb_tensor *t = make(3, sizes, FB_F32, layout), *c = fb_cumsum(t, dim, FB_NONE), *s = fb_softmax(t, dim, FB_NONE);
            fb_tensor *l = fb_log_softmax(t, dim, FB_NONE);
            int64_t others = 9 * 20 * 257 / sizes[dim];
            CHECK(c && s && l, "fails");
            for (int64_t o = 0; c && s && l && o < others && failures < 20; o++) {
                int64_t index[3], rest = o;
                for (int d = 2; d >= 0; d--)
                    if (d != dim) index[d] = rest % sizes[d], rest /= sizes[d];
                double sum = 0, total = 0;
                for (index[dim] = 0; index[dim] < sizes[dim]; index[dim]++) sum += exp(at(t, index));
                for (index[dim] = 0; index[dim] < sizes[dim]; index[dim]++) {
                    double v = at(t, index);
                    total += v;
                    CHECK(near(at(c, index), total, 1e-5), "cumsum %g, not %g", at(c, index), total);
                    CHECK(near(at(s, index), exp(v) / sum, 1e-6), "softmax %g, not %g", at(s, index), exp(v) / sum);
                    CHECK(near(at(l, index), v - log(sum), 1e-5), "log_softmax %g, not %g", at(l, index), v - log(sum));
                }
            }
            fb_release(t), fb_release(c), fb_release(s), fb_release(l);
        }
}

int main(void)
{
    test_every_set_of_dimensions_in_every_layout_agrees_with_a_naive_fold();
    test_every_dtype_agrees();
    test_long_reductions_agree();
    test_the_error_of_a_long_sum_stays_small();
    test_bits_do_not_depend_on_threads();
    test_nan_wins_and_the_first_of_equals_counts();
    test_empty_reductions_give_the_identity_or_raise();
    test_scans_and_softmax_agree_with_loops();
    printf("%d failures\n", failures);
    return failures != 0;
}
