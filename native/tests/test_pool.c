#define _GNU_SOURCE
#include "check.h"
#include "runtime/core.h"
#include "runtime/pool.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 5000 };
struct marks {
    _Atomic int hits[MOST];
    int plain[MOST]; /* written by a chunk, read by the caller: a race here is what TSan would see */
};

static void mark(void *ctx, int64_t i)
{
    struct marks *m = ctx;

    m->hits[i]++;
    m->plain[i] = (int)i + 1;
}

static bool runs_each_chunk_once(int64_t chunks)
{
    struct marks *m = calloc(1, sizeof *m);
    bool good = true;

    fb_parallel(chunks, mark, m);
    for (int64_t i = 0; i < MOST; i++) {
        good &= m->hits[i] == (i < chunks);
        good &= m->plain[i] == (i < chunks ? (int)i + 1 : 0);
    }
    free(m);
    return good;
}

static void every_chunk_runs_once_at_any_thread_count(void)
{
    static const int threads[] = {1, 2, 3, 8, 2, 1, 4};

    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        CHECK_INT(fb_set_num_threads(threads[t]), FB_OK);
        CHECK_INT(fb_num_threads(), threads[t]);
        for (int64_t chunks = 0; chunks < 20; chunks++) CHECK(runs_each_chunk_once(chunks));
        CHECK(runs_each_chunk_once(MOST));
        for (int i = 0; i < 300; i++) CHECK(runs_each_chunk_once(3));
    }
}

static void thread_counts_below_one_are_refused(void)
{
    int before = fb_num_threads();

    CHECK_INT(fb_set_num_threads(0), FB_FAIL);
    CHECK(strstr(fb_error_message(), "got 0"));
    CHECK_INT(fb_set_num_threads(-3), FB_FAIL);
    CHECK_INT(fb_num_threads(), before);
    fb_error_clear();
}

static void nap(long us)
{
    struct timespec t = {0, us * 1000};
    nanosleep(&t, NULL);
}

static void wait_for_company(void *ctx, int64_t i)
{
    _Atomic int *here = ctx;

    (void)i;
    ++*here;
    for (int k = 0; k < 20000 && *here < 2; k++) nap(100);
}

static void chunks_run_side_by_side_after_any_idle_time(void)
{
    static const long idle_us[] = {0, 5, 20, 100, 20000};

    fb_set_num_threads(2);
    for (size_t i = 0; i < sizeof idle_us / sizeof *idle_us; i++) {
        _Atomic int here = 0;
        fb_parallel(2, wait_for_company, &here);
        CHECK_INT(here, 2); /* each chunk waited for the other to begin */
        nap(idle_us[i]);
    }
}

static void nest(void *ctx, int64_t i)
{
    (void)i;
    CHECK(fb_in_parallel());
    fb_set_num_threads(1 + (int)(i % 3)); /* takes effect at the next job, never waits for this one */
    for (int k = 0; k < 2; k++) CHECK(runs_each_chunk_once(10));
    ++*(_Atomic int *)ctx;
}

static void nested_jobs_run(void)
{
    _Atomic int done = 0;

    fb_set_num_threads(4);
    fb_parallel(16, nest, &done);
    CHECK_INT(done, 16);
    CHECK(!fb_in_parallel());
    fb_set_num_threads(2);
}

static void *many_jobs(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) CHECK(runs_each_chunk_once(1 + i % 9));
    return NULL;
}

static void several_threads_may_have_jobs(void)
{
    pthread_t thread[4];

    fb_set_num_threads(3);
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&thread[i], NULL, many_jobs, NULL));
    many_jobs(NULL);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

struct seen {
    _Atomic int64_t covered, pieces, unaligned;
};

static void look(void *ctx, int64_t begin, int64_t end)
{
    struct seen *s = ctx;

    CHECK(begin < end);
    s->covered += end - begin;
    s->pieces++;
    s->unaligned += begin % 64 != 0;
}

static void ranges_are_split_by_size_and_cost_only(void)
{
    static const struct { int64_t n; double ns; int64_t least, most; bool aligned; } cases[] = {
        {0, 1, 0, 0, true},          {1, 1e9, 1, 1, true},         {1000, 1, 1, 1, true}, {1000, 0, 1, 1, true},
        {100000, 1, 9, 13, true},    {100000000, 1, 200, 256, true}, {7, 1e6, 7, 7, false}, {100, 1000, 9, 13, false},
        {20000, 1, 2, 2, true},      {40000, 1, 4, 4, true},
        {INT64_MAX, 1e-15, 1, 1, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t pieces[2];
        for (int t = 1; t <= 2; t++) {
            struct seen s = {0};
            fb_set_num_threads(t * t);
            fb_parallel_range(cases[i].n, cases[i].ns, look, &s);
            CHECK_INT(s.covered, cases[i].n);
            CHECK(s.pieces >= cases[i].least && s.pieces <= cases[i].most);
            if (cases[i].aligned) CHECK_INT(s.unaligned, 0);
            pieces[t - 1] = s.pieces;
        }
        CHECK_INT(pieces[0], pieces[1]);
    }
    fb_set_num_threads(2);
}

static int saved, restored;
static void *save(void) { saved++; return &saved; }
static void restore(void *state) { CHECK(state == &saved); restored++; }

static void unblock_in_chunk(void *ctx, int64_t i)
{
    (void)ctx, (void)i;
    CHECK(fb_unblock() == NULL);
}

static void hooks_are_called_once_around_nested_unblocks(void)
{
    CHECK(fb_unblock() == NULL);
    fb_set_blocking_hooks(save, restore);
    void *outer = fb_unblock();
    CHECK(outer != NULL);
    void *inner = fb_unblock();
    CHECK(inner == NULL);
    fb_parallel(8, unblock_in_chunk, NULL);
    fb_reblock(inner);
    CHECK_INT(restored, 0);
    fb_reblock(outer);
    CHECK(saved == 1 && restored == 1);
    fb_reblock(fb_unblock());
    CHECK(saved == 2 && restored == 2);
    fb_set_blocking_hooks(NULL, NULL);
    CHECK(fb_unblock() == NULL);
}

static bool child_succeeds(pid_t pid)
{
    int status = -1;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

__attribute__((unused)) static void a_child_starts_its_own_pool(void)
{
    fb_set_num_threads(2);
    CHECK(runs_each_chunk_once(100));
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        _Atomic int here = 0;
        fb_parallel(2, wait_for_company, &here); /* a second thread must exist */
        _exit(!(here == 2 && runs_each_chunk_once(100)));
    }
    CHECK(child_succeeds(pid));
    CHECK(runs_each_chunk_once(100));
}

static void *jobs_until(void *stop)
{
    while (!*(_Atomic int *)stop) runs_each_chunk_once(50);
    return NULL;
}

__attribute__((unused)) static void a_fork_during_another_threads_job_drops_it_in_the_child(void)
{
    _Atomic int stop = 0;
    pthread_t thread;

    CHECK(!pthread_create(&thread, NULL, jobs_until, &stop));
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20);
            _exit(!runs_each_chunk_once(100));
        }
        CHECK(child_succeeds(pid));
    }
    stop = 1;
    pthread_join(thread, NULL);
}

int main(void)
{
    RUN(every_chunk_runs_once_at_any_thread_count);
    RUN(thread_counts_below_one_are_refused);
    RUN(chunks_run_side_by_side_after_any_idle_time);
    RUN(nested_jobs_run);
    RUN(several_threads_may_have_jobs);
    RUN(ranges_are_split_by_size_and_cost_only);
    RUN(hooks_are_called_once_around_nested_unblocks);
#ifndef CHECK_NO_BUSY_FORK
    RUN(a_child_starts_its_own_pool);
    RUN(a_fork_during_another_threads_job_drops_it_in_the_child);
#endif
    return check_end();
}
