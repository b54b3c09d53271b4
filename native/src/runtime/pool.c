/* The thread pool: one job at a time, its chunks claimed from a counter by the caller and the workers.
 *
 * A worker enters a job in two steps: it counts itself in (`active`), then looks whether the job is still open.
 * The caller closes the job once no chunk is left, then waits until nobody is in. Both do their write before
 * their read, sequentially consistent, so one of them sees the other: a late worker either finds the job closed
 * and leaves, or is waited for. Hence the job may live in one static slot. */
#define _GNU_SOURCE
#include "runtime/core.h"
#include "runtime/fork.h"
#include "runtime/pool.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

enum {
    MAX_THREADS = 1024,
    SPIN_NS = 15000,     /* a worker that has just worked waits so long before it sleeps; a wake-up costs as much */
    CHUNK_NS = 8000,     /* a chunk of fb_parallel_range takes at least about so long: a few times a hand-over */
    MAX_CHUNKS = 256,    /* and there are no more than this */
    CHUNK_ALIGN = 64,    /* chunks of single elements start at multiples of this: whole cache lines and vectors */
};

static struct {
    /* the job */
    fb_task task;
    void *ctx;
    int64_t chunks;
    _Alignas(64) _Atomic int64_t next;  /* the next chunk to claim */
    _Alignas(64) _Atomic int32_t active; /* workers inside */
    _Atomic bool open;
    _Atomic uint32_t epoch;             /* counts jobs; what idle workers look at */
    _Alignas(64) _Atomic bool busy;     /* a thread owns the slot: it alone writes the above and `workers` */
    _Atomic int32_t sleepers;
    _Atomic bool caller_sleeps, stop;
    _Atomic int wanted;                 /* threads, the caller included; 0: not decided yet */
    int workers;                        /* running now */
    pthread_t thread[MAX_THREADS];
    pthread_mutex_t lock;               /* for sleeping only */
    pthread_cond_t wake, done;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static _Thread_local struct {
    bool in_chunk, is_worker, owns_job, unblocked;
} self;

/* ---- how many threads ---- */

static int available_cores(void)
{
#ifdef __linux__
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

/* The first number of an environment variable ("4" or OpenMP's "4,2"); 0 where there is none. */
static int env_threads(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long n;

    if (!text) return 0;
    errno = 0;
    n = strtol(text, &end, 10);
    return end == text || errno || n < 1 ? 0 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

int fb_num_threads(void)
{
    int n = atomic_load_explicit(&pool.wanted, memory_order_relaxed);

    if (FB_LIKELY(n > 0)) return n;
    int cores = FB_MIN(available_cores(), MAX_THREADS), asked = env_threads("FLAMBEAU_NUM_THREADS");
    if (!asked) asked = env_threads("OMP_NUM_THREADS");
    n = asked ? FB_MIN(asked, cores) : cores;
    int unset = 0;
    return atomic_compare_exchange_strong(&pool.wanted, &unset, n) ? n : unset;
}

fb_status fb_set_num_threads(int n)
{
    if (n < 1) return fb_fail(FB_ERUNTIME, "set_num_threads: expected a positive number of threads, got %d", n);
    atomic_store(&pool.wanted, FB_MIN(n, MAX_THREADS)); /* the next job starts or ends workers */
    return FB_OK;
}

/* ---- waiting ---- */

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static bool may_spin(void)
{
    static _Atomic int several; /* 0: unknown, 1: one core, 2: more */
    int known = atomic_load_explicit(&several, memory_order_relaxed);

    if (!known) atomic_store_explicit(&several, known = available_cores() > 1 ? 2 : 1, memory_order_relaxed);
    return known == 2;
}

/* Waits a short while for `condition`; the clock is read rarely, since reading it takes longer than looking. */
#define SPIN_UNTIL(condition)                                                                              \
    do {                                                                                                   \
        if (may_spin()) {                                                                                  \
            int64_t spin_end_ = 0;                                                                         \
            for (uint32_t spin_i_ = 1; !(condition); spin_i_++) {                                          \
                relax();                                                                                   \
                if (spin_i_ % 32 == 0) {                                                                   \
                    int64_t t_ = now_ns();                                                                 \
                    if (!spin_end_) spin_end_ = t_ + SPIN_NS;                                              \
                    if (t_ > spin_end_) break;                                                             \
                }                                                                                          \
            }                                                                                              \
        }                                                                                                  \
    } while (0)

/* ---- jobs ---- */

static void run_chunks(void)
{
    fb_task task = pool.task;
    void *ctx = pool.ctx;
    int64_t chunks = pool.chunks, i;

    self.in_chunk = true;
    while ((i = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed)) < chunks) task(ctx, i);
    self.in_chunk = false;
}

static void *worker(void *arg)
{
    uint32_t seen = (uint32_t)(uintptr_t)arg;

    self.is_worker = true;
    for (;;) {
        SPIN_UNTIL(atomic_load_explicit(&pool.epoch, memory_order_relaxed) != seen
                   || atomic_load_explicit(&pool.stop, memory_order_relaxed));
        if (atomic_load(&pool.epoch) == seen && !atomic_load(&pool.stop)) {
            pthread_mutex_lock(&pool.lock);
            atomic_fetch_add(&pool.sleepers, 1);
            while (atomic_load(&pool.epoch) == seen && !atomic_load(&pool.stop))
                pthread_cond_wait(&pool.wake, &pool.lock);
            atomic_fetch_sub(&pool.sleepers, 1);
            pthread_mutex_unlock(&pool.lock);
        }
        if (atomic_load(&pool.stop)) return NULL;
        seen = atomic_load(&pool.epoch);
        atomic_fetch_add(&pool.active, 1);
        if (atomic_load(&pool.open)) run_chunks();
        if (atomic_fetch_sub(&pool.active, 1) == 1 && atomic_load(&pool.caller_sleeps)) {
            pthread_mutex_lock(&pool.lock);
            pthread_cond_signal(&pool.done);
            pthread_mutex_unlock(&pool.lock);
        }
    }
}

static void stop_workers(void)
{
    atomic_store(&pool.stop, true);
    pthread_mutex_lock(&pool.lock);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < pool.workers; i++) pthread_join(pool.thread[i], NULL);
    pool.workers = 0;
    atomic_store(&pool.stop, false);
}

/* Brings the pool to n workers, or as near as the system allows. The caller owns the job slot. */
static void set_workers(int n)
{
    sigset_t all, before;

    if (pool.workers > n) stop_workers();
    sigfillset(&all); /* signals are for the host's threads */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (pool.workers < n) {
        uint32_t epoch = atomic_load(&pool.epoch);
        if (pthread_create(&pool.thread[pool.workers], NULL, worker, (void *)(uintptr_t)epoch)) break;
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void wake_workers(int64_t n)
{
    if (atomic_load(&pool.sleepers) == 0) return;
    pthread_mutex_lock(&pool.lock);
    if (n >= pool.workers)
        pthread_cond_broadcast(&pool.wake);
    else
        while (n-- > 0) pthread_cond_signal(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

static void run_serially(int64_t chunks, fb_task task, void *ctx)
{
    bool before = self.in_chunk;

    self.in_chunk = true;
    for (int64_t i = 0; i < chunks; i++) task(ctx, i);
    self.in_chunk = before;
}

void fb_parallel(int64_t chunks, fb_task task, void *ctx)
{
    int threads = fb_num_threads();

    /* Another thread's job under way: that one has the cores, so a place in a queue would bring nothing. */
    if (chunks <= 1 || threads == 1 || self.in_chunk || atomic_exchange(&pool.busy, true)) {
        run_serially(chunks, task, ctx);
        return;
    }
    self.owns_job = true;
    if (FB_UNLIKELY(pool.workers != threads - 1)) set_workers(threads - 1);
    pool.task = task;
    pool.ctx = ctx;
    pool.chunks = chunks;
    atomic_store(&pool.next, 0);
    atomic_store(&pool.open, true);
    atomic_fetch_add(&pool.epoch, 1);
    wake_workers(chunks - 1);

    run_chunks();

    atomic_store(&pool.open, false);
    SPIN_UNTIL(atomic_load_explicit(&pool.active, memory_order_acquire) == 0);
    if (atomic_load(&pool.active) != 0) {
        pthread_mutex_lock(&pool.lock);
        atomic_store(&pool.caller_sleeps, true);
        while (atomic_load(&pool.active) != 0) pthread_cond_wait(&pool.done, &pool.lock);
        atomic_store(&pool.caller_sleeps, false);
        pthread_mutex_unlock(&pool.lock);
    }
    self.owns_job = false;
    atomic_store(&pool.busy, false);
}

bool fb_in_parallel(void) { return self.in_chunk; }

/* ---- ranges ---- */

struct range {
    fb_range_fn body;
    void *ctx;
    int64_t n, step;
};

static void range_chunk(void *arg, int64_t chunk)
{
    const struct range *r = arg;
    int64_t begin = chunk * r->step;

    r->body(r->ctx, begin, r->n - begin < r->step ? r->n : begin + r->step);
}

void fb_parallel_range(int64_t n, double ns_each, fb_range_fn body, void *ctx)
{
    struct range r = {body, ctx, n, n};

    if (n <= 0) return;
    double total = (double)n * ns_each;
    if (!(total >= 2.0 * CHUNK_NS)) { /* also NaN */
        body(ctx, 0, n);
        return;
    }
    double pieces = total / CHUNK_NS;
    int64_t chunks = pieces > MAX_CHUNKS ? MAX_CHUNKS : (int64_t)pieces;
    if (chunks < 8) chunks = chunks < 4 ? 2 : 4; /* few: as many for each of 2 or 4 threads */
    if (chunks > n) chunks = n;
    r.step = (n - 1) / chunks + 1;
    if (r.step > CHUNK_ALIGN) r.step = (r.step + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
    fb_parallel((n - 1) / r.step + 1, range_chunk, &r);
}

/* ---- the host's lock ---- */

static void *(*_Atomic save_hook)(void);
static void (*_Atomic restore_hook)(void *);

void fb_set_blocking_hooks(void *(*save)(void), void (*restore)(void *))
{
    atomic_store(&restore_hook, restore);
    atomic_store(&save_hook, restore ? save : NULL);
}

struct unblocked {
    void (*restore)(void *);
    void *state;
};
static _Thread_local struct unblocked unblocked_state; /* at most one a thread */

void *fb_unblock(void)
{
    void *(*save)(void) = atomic_load(&save_hook);

    if (!save || self.is_worker || self.in_chunk || self.unblocked) return NULL;
    self.unblocked = true;
    unblocked_state.restore = atomic_load(&restore_hook);
    unblocked_state.state = save();
    return &unblocked_state;
}

void fb_reblock(void *state)
{
    struct unblocked *u = state;

    if (!u) return;
    u->restore(u->state);
    self.unblocked = false;
}

/* ---- fork ---- */

/* The child has none of the workers: it starts afresh, and a job of another thread is dropped. A thread that forks
 * inside its own job keeps the slot and finishes alone the chunks that nobody had claimed. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.workers = 0;
    atomic_store(&pool.active, self.is_worker && self.in_chunk ? 1 : 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.stop, self.is_worker); /* a worker that forked ends when its task does */
    atomic_store(&pool.caller_sleeps, false);
    if (!self.owns_job) atomic_store(&pool.open, false);
    atomic_store(&pool.busy, self.owns_job);
}

__attribute__((constructor)) static void register_fork(void)
{
    fb_at_fork(FB_FORK_POOL, NULL, NULL, after_fork_in_child);
}
