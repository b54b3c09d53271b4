/* Generators: their life, seeds, saved states and locks. */
#define _GNU_SOURCE
#include "runtime/random.h"
#include "runtime/core.h"
#include "runtime/fork.h"
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/random.h>
#endif

struct fb_generator_lock {
    pthread_mutex_t mutex;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before any generator's */
static fb_generator *list;
static _Atomic(fb_generator *) default_generator;

/* ---- life ---- */

static void seed_unlocked(fb_generator *g, uint64_t seed)
{
    g->seed = seed;
    g->has_normal = g->has_normal_f32 = false;
    g->normal = g->normal_f32 = 0;
    fb_mt_seed(&g->mt, (uint32_t)seed); /* the upper half counts for nothing, as in PyTorch */
}

fb_generator *fb_generator_new(void)
{
    fb_generator *g = calloc(1, sizeof *g);
    struct fb_generator_lock *lock = malloc(sizeof *lock);

    if (!g || !lock || pthread_mutex_init(&lock->mutex, NULL)) {
        free(lock);
        free(g);
        return fb_fail_null(FB_EMEMORY, "not enough memory for a generator");
    }
    g->lock = lock;
    g->refs = 1;
    seed_unlocked(g, FB_DEFAULT_SEED);
    pthread_mutex_lock(&list_lock);
    if ((g->next = list)) list->previous = g;
    list = g;
    pthread_mutex_unlock(&list_lock);
    return g;
}

fb_generator *fb_generator_retain(fb_generator *g)
{
    atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
    return g;
}

void fb_generator_release(fb_generator *g)
{
    if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1) return;
    pthread_mutex_lock(&list_lock);
    if (g->next) g->next->previous = g->previous;
    *(g->previous ? &g->previous->next : &list) = g->next;
    pthread_mutex_unlock(&list_lock);
    pthread_mutex_destroy(&g->lock->mutex);
    free(g->lock);
    free(g);
}

/* What makes up the state; the rest of the struct belongs to the one generator. */
static void copy_state(fb_generator *to, const fb_generator *from)
{
    to->mt = from->mt;
    to->seed = from->seed;
    to->has_normal = from->has_normal;
    to->normal = from->normal;
    to->has_normal_f32 = from->has_normal_f32;
    to->normal_f32 = from->normal_f32;
}

fb_generator *fb_generator_clone(fb_generator *g)
{
    fb_generator *copy = fb_generator_new();

    if (!copy) return NULL;
    fb_generator_lock(g);
    copy_state(copy, g);
    fb_generator_unlock(g);
    return copy;
}

fb_generator *fb_generator_default(void)
{
    fb_generator *g = atomic_load_explicit(&default_generator, memory_order_acquire), *none = NULL;

    if (FB_LIKELY(g != NULL)) return g;
    if (!(g = fb_generator_new())) return NULL;
    fb_generator_seed(g);
    if (atomic_compare_exchange_strong(&default_generator, &none, g)) return g;
    fb_generator_release(g); /* another thread was first */
    return none;
}

void fb_generator_lock(fb_generator *g) { pthread_mutex_lock(&g->lock->mutex); }
void fb_generator_unlock(fb_generator *g) { pthread_mutex_unlock(&g->lock->mutex); }

/* ---- seeds ---- */

void fb_generator_manual_seed(fb_generator *g, uint64_t seed)
{
    fb_generator_lock(g);
    seed_unlocked(g, seed);
    fb_generator_unlock(g);
}

uint64_t fb_generator_initial_seed(fb_generator *g)
{
    fb_generator_lock(g);
    uint64_t seed = g->seed;
    fb_generator_unlock(g);
    return seed;
}

static uint64_t entropy(void)
{
    uint64_t x;
    struct timespec t;

#ifdef __linux__
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) == sizeof x) return x;
#endif
    /* Before the system has gathered any: time, process and address, mixed by a step of splitmix64. */
    clock_gettime(CLOCK_REALTIME, &t);
    x = (uint64_t)t.tv_sec * 1000000007u ^ (uint64_t)t.tv_nsec << 20 ^ (uint64_t)getpid() ^ (uint64_t)(uintptr_t)&x;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t fb_generator_seed(fb_generator *g)
{
    uint64_t seed = entropy();

    fb_generator_manual_seed(g, seed);
    return seed;
}

uint64_t fb_generator_random64(fb_generator *g)
{
    fb_generator_lock(g);
    uint64_t x = fb_draw64(g);
    fb_generator_unlock(g);
    return x;
}

/* ---- saved states ---- */

/* The layout that PyTorch saves: that of its Torch7 ancestor, then a float for the other normal cache. Found by
 * looking at get_rng_state() before and after draws. */
struct saved {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next;
    uint64_t state[FB_MT_N]; /* 32 bits each */
    double normal_x, normal, normal_rho; /* only the middle one is used */
    int32_t has_normal, pad0;
    float normal_f32;
    uint8_t has_normal_f32, pad1[3];
};
_Static_assert(sizeof(struct saved) == FB_RNG_STATE_BYTES, "the layout of saved generator states");
_Static_assert(offsetof(struct saved, has_normal) == 5040, "the layout of saved generator states");

void fb_generator_get_state(fb_generator *g, uint8_t out[FB_RNG_STATE_BYTES])
{
    struct saved s = {0};

    fb_generator_lock(g);
    s.seed = g->seed;
    s.left = g->mt.left;
    s.next = g->mt.next;
    s.seeded = 1;
    for (int i = 0; i < FB_MT_N; i++) s.state[i] = g->mt.state[i];
    s.has_normal = g->has_normal;
    s.normal = g->has_normal ? g->normal : 0;
    s.has_normal_f32 = g->has_normal_f32;
    s.normal_f32 = g->has_normal_f32 ? g->normal_f32 : 0;
    fb_generator_unlock(g);
    memcpy(out, &s, sizeof s);
}

fb_status fb_generator_set_state(fb_generator *g, const uint8_t *state, int64_t bytes)
{
    struct saved s;

    if (bytes != FB_RNG_STATE_BYTES)
        return fb_fail(FB_ERUNTIME,
                       "Expected a CPUGeneratorImplState of size %d but found the input RNG state size to be %lld",
                       FB_RNG_STATE_BYTES, (long long)bytes);
    memcpy(&s, state, sizeof s);
    /* Each draw lowers left and raises next: 625 together, but for a fresh seed's 1 and 0. */
    bool fresh = s.left == 1 && s.next == 0;
    if (s.seeded != 1 || s.left < 1 || s.left > FB_MT_N || s.next > FB_MT_N
        || (!fresh && s.left + (int64_t)s.next != FB_MT_N + 1))
        return fb_fail(FB_ERUNTIME, "Invalid mt19937 state");
    fb_generator_lock(g);
    g->seed = s.seed;
    g->mt.left = s.left;
    g->mt.next = (uint32_t)s.next;
    for (int i = 0; i < FB_MT_N; i++) g->mt.state[i] = (uint32_t)s.state[i];
    g->has_normal = s.has_normal == 1;
    g->normal = s.normal;
    g->has_normal_f32 = s.has_normal_f32 == 1;
    g->normal_f32 = s.normal_f32;
    fb_generator_unlock(g);
    return FB_OK;
}

/* ---- fork ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&list_lock);
    for (fb_generator *g = list; g; g = g->next) fb_generator_lock(g);
}

static void after_fork_in_parent(void)
{
    for (fb_generator *g = list; g; g = g->next) fb_generator_unlock(g);
    pthread_mutex_unlock(&list_lock);
}

static void after_fork_in_child(void)
{
    for (fb_generator *g = list; g; g = g->next) pthread_mutex_init(&g->lock->mutex, NULL);
    pthread_mutex_init(&list_lock, NULL);
}

__attribute__((constructor)) static void register_fork(void)
{
    fb_at_fork(FB_FORK_RANDOM, before_fork, after_fork_in_parent, after_fork_in_child);
}
