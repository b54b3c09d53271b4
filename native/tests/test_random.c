#include "check.h"
#include "kernels/random_fill.h"
#include "runtime/core.h"
#include "runtime/random.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void fb_random_fill_base(fb_generator *, const fb_draw *, int, void *, int64_t);
void fb_random_below_base(fb_generator *, int, const void *, uint8_t *, int64_t);
#ifdef FB_HAVE_ISA_avx2
void fb_random_fill_avx2(fb_generator *, const fb_draw *, int, void *, int64_t);
#endif
#ifdef FB_HAVE_ISA_avx512
void fb_random_fill_avx512(fb_generator *, const fb_draw *, int, void *, int64_t);
#endif

static fb_generator *seeded(uint64_t seed)
{
    fb_generator *g = fb_generator_new();

    CHECK(g != NULL);
    fb_generator_manual_seed(g, seed);
    return g;
}

/* ---- the engine and its states ---- */

static void the_10000th_word_is_that_of_the_c_plus_plus_standard(void)
{
    fb_generator *g = seeded(5489);
    uint32_t word = 0;

    for (int i = 0; i < 10000; i++) word = fb_draw32(g);
    CHECK_INT(word, 4123659995);
    fb_generator_release(g);
}

static void bulk_draws_are_the_single_draws(void)
{
    static const int64_t lengths[] = {1, 2, 623, 624, 625, 1, 2000, 7};
    fb_generator *a = seeded(3), *b = fb_generator_clone(a);
    uint32_t bulk[2000];

    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        fb_mt_fill(&a->mt, bulk, lengths[k]);
        for (int64_t i = 0; i < lengths[k]; i++) CHECK(bulk[i] == fb_draw32(b));
    }
    fb_generator_release(a);
    fb_generator_release(b);
}

static void a_saved_state_goes_on_where_it_was_taken(void)
{
    uint8_t state[FB_RNG_STATE_BYTES], again[FB_RNG_STATE_BYTES];
    fb_generator *g = seeded(12), *other = seeded(99);
    fb_draw normal = {.kind = FB_DRAW_NORMAL, .b = 1};
    double x[7], y[7];

    for (int draws = 0; draws < 1300; draws++) {
        if (draws % 100 == 0 || draws == 624 || draws == 623) {
            fb_random_fill_base(g, &normal, FB_F64, x, 1); /* leaves the pair's second number */
            fb_generator_get_state(g, state);
            CHECK_INT(fb_generator_set_state(other, state, sizeof state), FB_OK);
            fb_generator_get_state(other, again);
            CHECK(memcmp(state, again, sizeof state) == 0);
            CHECK(fb_generator_initial_seed(other) == 12);
            fb_random_fill_base(g, &normal, FB_F64, x, 7);
            fb_random_fill_base(other, &normal, FB_F64, y, 7);
            CHECK(memcmp(x, y, sizeof x) == 0);
        }
        (void)fb_draw32(g);
    }
    fb_generator_release(g);
    fb_generator_release(other);
}

static void broken_states_are_refused_and_change_nothing(void)
{
    uint8_t state[FB_RNG_STATE_BYTES], bad[FB_RNG_STATE_BYTES], now[FB_RNG_STATE_BYTES];
    static const struct { int at; uint8_t byte; } damage[] = {{8, 0}, {9, 9}, {11, 0x80}, {12, 0}, {17, 9}, {16, 5}};
    fb_generator *g = seeded(1);

    for (int i = 0; i < 10; i++) (void)fb_draw32(g);
    fb_generator_get_state(g, state);
    CHECK_INT(fb_generator_set_state(g, state, 5), FB_FAIL);
    CHECK(strstr(fb_error_message(), "5056") && strstr(fb_error_message(), "to be 5"));
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        memcpy(bad, state, sizeof bad);
        bad[damage[i].at] = damage[i].byte;
        CHECK_INT(fb_generator_set_state(g, bad, sizeof bad), FB_FAIL);
        fb_generator_get_state(g, now);
        CHECK(memcmp(now, state, sizeof now) == 0);
    }
    fb_error_clear();
    fb_generator_release(g);
}

static void seeds_are_kept_whole_but_act_by_their_lower_half(void)
{
    fb_generator *a = seeded(UINT64_MAX), *b = seeded(UINT32_MAX);

    CHECK(fb_generator_initial_seed(a) == UINT64_MAX);
    CHECK(fb_generator_random64(a) == fb_generator_random64(b));
    CHECK(fb_generator_seed(a) == fb_generator_initial_seed(a));
    CHECK(fb_generator_initial_seed(a) != fb_generator_seed(b)); /* they might be equal once in 2^64 runs */
    fb_generator *g = fb_generator_new();
    CHECK(fb_generator_initial_seed(g) == FB_DEFAULT_SEED);
    CHECK(fb_generator_default() != NULL && fb_generator_default() == fb_generator_default());
    fb_generator_release(g);
    fb_generator_release(fb_generator_retain(a));
    fb_generator_release(a);
    fb_generator_release(b);
    fb_generator_release(NULL);
}

/* ---- values ---- */

#define NEAR(got, want) CHECK(fabs((double)(got) - (want)) <= 1e-6 * fmax(1, fabs(want)))

/* Values that PyTorch 2.13 gives after manual_seed(0). */
static void seed_0_gives_the_recorded_values(void)
{
    static const float rand_f32[] = {0x1.fc2abp-2f, 0x1.89545ep-1f, 0x1.6a675p-4f, 0x1.0e66p-3f};
    static const double rand_f64[] = {0x1.f0aac97c4aa2fp-1, 0x1.6a675d821ccc0p-1, 0x1.d6687b744a5f6p-2};
    static const double pairs[] = {1.5409961082440433, -0.2934289057609464, -2.1787893820745574, 0.5684312772806678,
                                   -1.084522342424021};
    static const double rows[] = {-1.1258398294448853, -1.6959311962127686, 0.5666506290435791, 0.7935083508491516,
                                  0.5988394618034363,  -1.5550950765609741, -0.3413603901863098, 1.85300612449646,
                                  0.46809640526771545, -0.5854975581169128, -0.1733967512845993, 0.18347793817520142,
                                  1.3893661499023438,  1.586334228515625,   0.946298360824585,   -0.843676745891571,
                                  0.9318265914916992};
    static const int64_t small[] = {4, 9, 3, 0, 3, 9, 7, 3}, wide[] = {130329135, 136432832, 195187451};
    static const int64_t flips[] = {0, 0, 0, 0, 0, 0, 1, 0, 0, 1}, trials[] = {1, 2, 4, 1, 2, 2};
    static const double waits[] = {1.754163093353821, 0.6151923820898384, 0.30752204694700574};
    static const double cauchy[] = {22.195458653364593, 2.5295345192117997, 0.7434013158336519};
    static const double log_normal[] = {59.26341788010752, 1.5115599370617072, 0.03481946309690494};
    fb_generator *g = fb_generator_new();
    float f[32];
    double d[32];
    int64_t i[32];

#define DRAW(out, dtype, ...)                                                                              \
    (fb_generator_manual_seed(g, 0), fb_random_fill_base(g, &(fb_draw){__VA_ARGS__}, dtype, out, n))
#define SAME(out, want) for (int64_t k = 0; k < n; k++) CHECK(out[k] == want[k])
#define CLOSE(out, want) for (int64_t k = 0; k < n; k++) NEAR(out[k], want[k])
#define LENGTH(want) n = (int64_t)(sizeof want / sizeof *want)
    int64_t LENGTH(rand_f32);
    DRAW(f, FB_F32, FB_DRAW_UNIFORM, .b = 1);
    SAME(f, rand_f32);
    LENGTH(rand_f64);
    DRAW(d, FB_F64, FB_DRAW_UNIFORM, .b = 1);
    SAME(d, rand_f64);
    LENGTH(pairs);
    DRAW(d, FB_F64, FB_DRAW_NORMAL, .b = 1);
    CLOSE(d, pairs);
    LENGTH(rows);
    DRAW(f, FB_F32, FB_DRAW_NORMAL_ROWS, .b = 1);
    CLOSE(f, rows);
    LENGTH(small);
    DRAW(i, FB_I64, FB_DRAW_INTEGER, .range = 10);
    SAME(i, small);
    LENGTH(wide);
    DRAW(i, FB_I64, FB_DRAW_INTEGER, .range = 1 << 28, .wide = true);
    SAME(i, wide);
    LENGTH(flips);
    DRAW(i, FB_I64, FB_DRAW_BERNOULLI, .a = 0.3);
    SAME(i, flips);
    LENGTH(trials);
    DRAW(i, FB_I64, FB_DRAW_GEOMETRIC, .a = 0.2);
    SAME(i, trials);
    LENGTH(waits);
    DRAW(d, FB_F64, FB_DRAW_EXPONENTIAL, .a = 2);
    CLOSE(d, waits);
    LENGTH(cauchy);
    DRAW(d, FB_F64, FB_DRAW_CAUCHY, .a = 1, .b = 2);
    CLOSE(d, cauchy);
    LENGTH(log_normal);
    DRAW(d, FB_F64, FB_DRAW_LOG_NORMAL, .a = 1, .b = 2);
    CLOSE(d, log_normal);
    fb_generator_release(g);
}

static const fb_draw laws[] = {
    {.kind = FB_DRAW_UNIFORM, .a = -2, .b = 6},     {.kind = FB_DRAW_NORMAL, .a = 1, .b = 3},       {.kind = FB_DRAW_NORMAL_ROWS, .a = 1, .b = 3},
    {.kind = FB_DRAW_LOG_NORMAL, .a = 0, .b = 0.5}, {.kind = FB_DRAW_BERNOULLI, .a = 0.3},          {.kind = FB_DRAW_EXPONENTIAL, .a = 2},
    {.kind = FB_DRAW_GEOMETRIC, .a = 0.25},         {.kind = FB_DRAW_INTEGER, .range = 101, .base = -50}, {.kind = FB_DRAW_CAUCHY, .a = 0, .b = 1},
};
enum { N_LAWS = sizeof laws / sizeof *laws };

static void each_law_has_its_mean_and_variance(void)
{
    enum { N = 200001 };
    static const double mean[] = {2, 1, 1, 1.1331484530668263, 0.3, 0.5, 4, 0},
                        variance[] = {64.0 / 12, 9, 9, 0.36469584524, 0.21, 0.25, 12, (101 * 101 - 1) / 12.0};
    double *x = malloc(N * sizeof *x);
    fb_generator *g = seeded(2024);

    for (int l = 0; l < 8; l++) { /* Cauchy has neither */
        double sum = 0, squares = 0;
        fb_random_fill_base(g, &laws[l], FB_F64, x, N);
        for (int i = 0; i < N; i++) sum += x[i];
        for (int i = 0; i < N; i++) squares += (x[i] - sum / N) * (x[i] - sum / N);
        CHECK(fabs(sum / N - mean[l]) < 5 * sqrt(variance[l] / N));
        CHECK(fabs(squares / N / variance[l] - 1) < 0.04);
    }
    free(x);
    fb_generator_release(g);
}

static bool alike(double a, double b)
{
    return a == b || (a != a && b != b) || fabs(a - b) <= 1e-4 * fmax(1, fmax(fabs(a), fabs(b)));
}

/* Every element type holds the same numbers, rounded, and every instruction set computes them. */
static void element_types_and_instruction_sets_agree(void)
{
    static const int64_t lengths[] = {0, 1, 15, 16, 17, 33, 1023, 1024, 1025, 2600};
    static const int types[] = {FB_F64, FB_F32};
    static double want[2600], got[2600];
    fb_generator *g = fb_generator_new();
    fb_random_fill_fn fill[3] = {fb_random_fill_base};
    int n_fill = 1;

#ifdef FB_HAVE_ISA_avx2
    if (fb_isa() >= 1) fill[n_fill++] = fb_random_fill_avx2;
#endif
#ifdef FB_HAVE_ISA_avx512
    if (fb_isa() >= 2) fill[n_fill++] = fb_random_fill_avx512;
#endif
    for (int l = 0; l < N_LAWS; l++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            int64_t n = lengths[k];
            if (laws[l].kind == FB_DRAW_NORMAL_ROWS && n < 16) continue;
            for (int t = 0; t < 2; t++)
                for (int v = 0; v < n_fill; v++) {
                    uint8_t before[FB_RNG_STATE_BYTES], after[FB_RNG_STATE_BYTES];
                    fb_generator_manual_seed(g, 5);
                    fill[0](g, &laws[l], types[t], want, n);
                    fb_generator_get_state(g, before);
                    fb_generator_manual_seed(g, 5);
                    memset(got, 0xEE, sizeof got);
                    fill[v](g, &laws[l], types[t], got, n);
                    fb_generator_get_state(g, after);
                    CHECK(memcmp(before, after, 5016) == 0); /* as many draws; the kept normal number may differ in its last place */
                    for (int64_t i = 0; i < n; i++)
                        CHECK(types[t] == FB_F64 ? alike(got[i], want[i]) : alike(((float *)got)[i], ((float *)want)[i]));
                    if (n < 2600) CHECK(((uint8_t *)got)[n * fb_itemsize((fb_dtype)types[t])] == 0xEE); /* and not a byte more */
                }
        }
    fb_generator_release(g);
}

static void uniform_numbers_stay_below_their_end(void)
{
    static uint16_t half[20000];
    static float single[20000];
    fb_draw d = {.kind = FB_DRAW_UNIFORM, .a = 1, .b = 1 + 3 * 0x1p-23f};
    fb_generator *g = seeded(8);
    int at_start = 0;

    fb_random_fill_base(g, &d, FB_F32, single, 20000);
    for (int i = 0; i < 20000; i++) {
        CHECK(single[i] >= 1 && single[i] < (float)d.b);
        at_start += single[i] == 1;
    }
    CHECK(at_start > 20000 / 4); /* what rounds up to the end begins anew */
    d = (fb_draw){.kind = FB_DRAW_UNIFORM, .a = 0, .b = 1};
    fb_random_fill_base(g, &d, FB_BF16, half, 20000);
    for (int i = 0; i < 20000; i++) CHECK(fb_bf16_to_float(half[i]) < 1);
    fb_generator_release(g);
}

static void integers_cover_their_range(void)
{
    static const struct { uint64_t range; int64_t base; bool wide; int dtype; } cases[] = {
        {1, 7, false, FB_I64},  {2, 0, false, FB_BOOL}, {256, 0, false, FB_U8}, {256, -128, false, FB_I8},
        {3, -1, true, FB_I32}, {5, 0, false, FB_F32},
    };
    static int64_t room[20000];
    fb_generator *g = seeded(4);

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int64_t least = INT64_MAX, most = INT64_MIN, size = fb_itemsize((fb_dtype)cases[c].dtype);
        fb_draw d = {.kind = FB_DRAW_INTEGER, .range = cases[c].range, .base = cases[c].base, .wide = cases[c].wide};
        fb_random_fill_base(g, &d, cases[c].dtype, room, 20000);
        for (int i = 0; i < 20000; i++) {
            int64_t v = (int64_t)fb_scalar_load((char *)room + i * size, (fb_dtype)cases[c].dtype).re;
            least = FB_MIN(least, v);
            most = FB_MAX(most, v);
        }
        CHECK_INT(least, cases[c].base);
        CHECK_INT(most, cases[c].base + (int64_t)cases[c].range - 1);
    }
    fb_generator_release(g);
}

static void flips_by_a_table_have_its_chances(void)
{
    enum { N = 30000 };
    static float p[N];
    static double q[N];
    static uint8_t out[N];
    fb_generator *g = seeded(6);

    for (int i = 0; i < N; i++) q[i] = p[i] = (float)(i % 5) / 4;
    for (int t = 0; t < 2; t++) {
        int ones[5] = {0};
        fb_random_below_base(g, t ? FB_F64 : FB_F32, t ? (void *)q : p, out, N);
        for (int i = 0; i < N; i++) ones[i % 5] += out[i];
        for (int k = 0; k < 5; k++) CHECK(abs(ones[k] - N / 5 * k / 4) <= (k % 4 ? 250 : 0));
    }
    fb_generator_release(g);
}

/* ---- threads and forks ---- */

static void *draw_pairs(void *arg)
{
    fb_generator *g = arg;

    for (int i = 0; i < 2000; i++) {
        uint32_t two[2];
        fb_generator_lock(g);
        fb_mt_fill(&g->mt, two, 2);
        fb_generator_unlock(g);
        fb_generator_release(fb_generator_retain(g));
        fb_generator_release(fb_generator_new());
    }
    return NULL;
}

static void threads_share_one_stream(void)
{
    fb_generator *g = seeded(9), *alone = seeded(9);
    pthread_t thread[4];

    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&thread[i], NULL, draw_pairs, g));
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2 * 4 * 2000; i++) (void)fb_draw32(alone);
    CHECK(fb_draw32(g) == fb_draw32(alone));
    fb_generator_release(g);
    fb_generator_release(alone);
}

static _Atomic int stop;
static void *draw_until_stopped(void *g)
{
    while (!stop) fb_generator_random64(g);
    return NULL;
}

__attribute__((unused)) static void a_child_can_draw_while_the_parent_did(void)
{
    pthread_t thread;

    CHECK(!pthread_create(&thread, NULL, draw_until_stopped, fb_generator_default()));
    for (int i = 0; i < 30; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20); /* a lock held for ever would hang here */
            fb_generator_random64(fb_generator_default());
            fb_generator_release(fb_generator_new());
            _exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    stop = 1;
    pthread_join(thread, NULL);
}

int main(void)
{
    RUN(the_10000th_word_is_that_of_the_c_plus_plus_standard);
    RUN(bulk_draws_are_the_single_draws);
    RUN(a_saved_state_goes_on_where_it_was_taken);
    RUN(broken_states_are_refused_and_change_nothing);
    RUN(seeds_are_kept_whole_but_act_by_their_lower_half);
    RUN(seed_0_gives_the_recorded_values);
    RUN(each_law_has_its_mean_and_variance);
    RUN(element_types_and_instruction_sets_agree);
    RUN(uniform_numbers_stay_below_their_end);
    RUN(integers_cover_their_range);
    RUN(flips_by_a_table_have_its_chances);
    RUN(threads_share_one_stream);
#ifndef CHECK_NO_BUSY_FORK
    RUN(a_child_can_draw_while_the_parent_did);
#endif
    return check_end();
}
