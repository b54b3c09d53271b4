/* The allocator: fb_alloc and friends.
 *
 * Up to 64 KB a block belongs to a size class. Each thread keeps a free list a class and needs no lock while that
 * serves it; lists are filled from, and drained to, spans: runs of 32 KB slices cut into blocks of one class.
 * Larger blocks up to 1 MB are runs of slices themselves. Slices come from 2 MB chunks, whose first slice holds
 * the table of the others, so that fb_free finds a block's class by masking its address. Still larger blocks are
 * regions of their own (pages.c), the only addresses that are multiples of 2 MB. Everything but the threads' lists
 * is under one lock. Slices and spans: spans.c. */
#include "runtime/alloc.h"
#include "runtime/core.h"
#include "runtime/fork.h"
#include "runtime/spans.h"
#include <pthread.h>
#include <stdlib.h>
#ifdef FB_ALLOC_IS_MALLOC
#include <malloc.h>
#endif

enum { OBJECT_BATCH = FB_SMALL_KEEP / 2 };

#ifdef FB_ALLOC_IS_MALLOC
#define OUR_BLOCKS __attribute__((unused)) /* serves only our own blocks */
#else
#define OUR_BLOCKS
#endif

_Thread_local fb_thread_cache *fb_own_cache;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t exit_key;
static bool have_exit_key;
static void *object_batches[FB_SMALL_BINS]; /* first words link a batch's objects, second words the batches */
static char *object_room[FB_SMALL_BINS], *object_room_end[FB_SMALL_BINS];
static fb_thread_cache *caches;
static struct { int64_t allocations, frees, tensors, storages; } ended; /* counts of threads that are gone */
static int64_t handed_out, handed_out_peak; /* bytes, without what threads have not reported */

/* Blocks that a thread keeps of a class (about 128 KB), and how many it gets at a time. */
static inline int class_keep(int class) { return class < 8 ? 256 : 128 >> (class - 8) / 4; }
OUR_BLOCKS static int class_batch(int class) { return class < 8 ? 32 : FB_MAX(16 >> (class - 8) / 4, 1); }

/* ---- under the lock ---- */

static void drain(fb_free_list *list, int class, int keep)
{
    while (list->count > keep) {
        void *block = list->head;
        list->head = *(void **)block;
        list->count--;
        fb_give_block(block, class);
    }
}

static void count_bytes(int64_t bytes)
{
    handed_out += bytes;
    if (handed_out > handed_out_peak) handed_out_peak = handed_out;
}

static void report(fb_thread_cache *cache)
{
    count_bytes(atomic_load_explicit(&cache->unreported, memory_order_relaxed));
    atomic_store_explicit(&cache->unreported, 0, memory_order_relaxed);
}

/* ---- objects (under the lock) ---- */

static void give_objects(fb_free_list *list, int bin, int n)
{
    void *first = list->head, *last = first;

    if (n == 0) return;
    for (int i = 1; i < n; i++) last = *(void **)last;
    list->head = *(void **)last;
    list->count -= n;
    *(void **)last = NULL;
    ((void **)first)[1] = object_batches[bin];
    object_batches[bin] = first;
}

OUR_BLOCKS static bool take_objects(fb_free_list *list, int bin)
{
    size_t size = (size_t)(bin + 1) * FB_SMALL_STEP;
    void *first = object_batches[bin];

    if (first) {
        object_batches[bin] = ((void **)first)[1];
        list->head = first;
        for (void *o = first; o; o = *(void **)o) list->count++;
        return true;
    }
    if (object_room_end[bin] - object_room[bin] < (int64_t)size) {
        fb_span *s = fb_take_slices(1, FB_KIND_OBJECTS);
        if (!s) return false;
        object_room[bin] = fb_span_memory(s);
        object_room_end[bin] = object_room[bin] + FB_SLICE;
    }
    for (int i = 0; i < OBJECT_BATCH / 2 && object_room_end[bin] - object_room[bin] >= (int64_t)size; i++) {
        *(void **)object_room[bin] = list->head;
        list->head = object_room[bin];
        list->count++;
        object_room[bin] += size;
    }
    return true;
}

/* ---- threads ---- */

static void end_thread(void *arg)
{
    fb_thread_cache *cache = arg;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < FB_BLOCK_CLASSES; i++) drain(&cache->blocks[i], i, 0);
    for (int i = 0; i < FB_SMALL_BINS; i++) give_objects(&cache->objects[i], i, cache->objects[i].count);
    report(cache);
    ended.allocations += cache->allocations;
    ended.frees += cache->frees;
    ended.tensors += cache->tensors;
    ended.storages += cache->storages;
    if (cache->next) cache->next->previous = cache->previous;
    *(cache->previous ? &cache->previous->next : &caches) = cache->next;
    pthread_mutex_unlock(&lock);
    fb_own_cache = NULL; /* a destructor that runs later starts another one */
    free(cache);
}

/* The thread's cache, made on its first call; NULL when there is no memory for it. */
static fb_thread_cache *own_cache(void)
{
    fb_thread_cache *cache = fb_own_cache;

    if (FB_LIKELY(cache != NULL)) return cache;
    if (!(cache = calloc(1, sizeof *cache))) return NULL;
    pthread_mutex_lock(&lock);
    if (!have_exit_key) have_exit_key = pthread_key_create(&exit_key, end_thread) == 0;
    cache->next = caches;
    if (caches) caches->previous = cache;
    caches = cache;
    pthread_mutex_unlock(&lock);
    if (have_exit_key) pthread_setspecific(exit_key, cache);
    return fb_own_cache = cache;
}

void fb_count_live_slow(int tensors, int storages)
{
    if (own_cache()) {
        fb_count_live(tensors, storages);
        return;
    }
    pthread_mutex_lock(&lock);
    ended.tensors += tensors;
    ended.storages += storages;
    pthread_mutex_unlock(&lock);
}

void *fb_small_alloc_slow(size_t size)
{
    void *object = NULL;

#ifdef FB_ALLOC_IS_MALLOC
    object = malloc(size);
#else
    fb_thread_cache *cache = own_cache();
    if (cache) {
        int bin = (int)((size - 1) / FB_SMALL_STEP);
        fb_free_list *list = &cache->objects[bin];
        if (!list->head) {
            pthread_mutex_lock(&lock);
            take_objects(list, bin);
            pthread_mutex_unlock(&lock);
        }
        if ((object = list->head)) {
            list->head = *(void **)object;
            list->count--;
        }
    }
#endif
    if (!object) fb_fail(FB_EMEMORY, "not enough memory: you tried to allocate %zu bytes.", size);
    return object;
}

void fb_small_free_slow(void *object, size_t size)
{
#ifdef FB_ALLOC_IS_MALLOC
    (void)size;
    free(object);
#else
    fb_thread_cache *cache;
    fb_free_list lone = {object, 1}, *list = &lone;
    int bin = (int)((size - 1) / FB_SMALL_STEP);

    if (!object) return;
    if ((cache = own_cache())) {
        list = &cache->objects[bin];
        *(void **)object = list->head;
        list->head = object;
        list->count++;
        if (list->count <= FB_SMALL_KEEP) return;
    } else {
        *(void **)object = NULL;
    }
    pthread_mutex_lock(&lock);
    give_objects(list, bin, cache ? OBJECT_BATCH : 1);
    pthread_mutex_unlock(&lock);
#endif
}

/* ---- fb_alloc ---- */

#ifdef FB_ALLOC_IS_MALLOC

static void *allocate(size_t bytes, int *fresh)
{
    fb_thread_cache *cache = own_cache();
    void *block;

    *fresh = 0;
    if (!cache || posix_memalign(&block, 64, bytes ? bytes : 1)) return NULL;
    fb_bump(&cache->allocations, 1);
    pthread_mutex_lock(&lock);
    count_bytes((int64_t)malloc_usable_size(block));
    pthread_mutex_unlock(&lock);
    return block;
}

void fb_free(void *block)
{
    fb_thread_cache *cache;

    if (!block) return;
    if ((cache = own_cache())) fb_bump(&cache->frees, 1);
    pthread_mutex_lock(&lock);
    count_bytes(-(int64_t)malloc_usable_size(block));
    pthread_mutex_unlock(&lock);
    free(block);
}

#else

static void *refill(fb_thread_cache *cache, int class)
{
    fb_free_list *list = &cache->blocks[class];
    void *first, *block;

    pthread_mutex_lock(&lock);
    first = fb_take_block(class);
    for (int n = class_batch(class) - 1; first && n > 0 && (block = fb_take_block(class)); n--) {
        *(void **)block = list->head;
        list->head = block;
        list->count++;
    }
    if (first) report(cache);
    pthread_mutex_unlock(&lock);
    return first;
}

static void *allocate_large(size_t bytes, int *fresh)
{
    void *block = NULL;
    fb_span *s;

    pthread_mutex_lock(&lock);
    if (bytes > FB_REGION_MIN) {
        if ((block = fb_region_alloc(bytes, 0, fresh))) count_bytes((int64_t)fb_region_size(block));
    } else if ((s = fb_take_slices((int)((bytes + FB_SLICE - 1) / FB_SLICE), FB_KIND_RUN))) {
        block = fb_span_memory(s);
        count_bytes((int64_t)s->slices * FB_SLICE);
    }
    pthread_mutex_unlock(&lock);
    return block;
}

/* fresh: set to whether the block is known to be all zero. */
static inline void *allocate(size_t bytes, int *fresh)
{
    fb_thread_cache *cache = own_cache();
    void *block;

    *fresh = 0;
    if (FB_UNLIKELY(!cache)) return NULL;
    if (FB_LIKELY(bytes <= FB_BLOCK_MAX)) {
        int class = fb_class_for(bytes);
        fb_free_list *list = &cache->blocks[class];
        if (FB_LIKELY((block = list->head) != NULL)) {
            list->head = *(void **)block;
            list->count--;
        } else if (!(block = refill(cache, class))) {
            return NULL;
        }
        fb_bump(&cache->unreported, (int64_t)fb_class_size(class));
    } else if (!(block = allocate_large(bytes, fresh))) {
        return NULL;
    }
    fb_bump(&cache->allocations, 1);
    return block;
}

static void free_slow(fb_thread_cache *cache, void *block, int kind)
{
    fb_chunk *c = fb_chunk_of(block);

    pthread_mutex_lock(&lock);
    if (block == (void *)c) {
        count_bytes(-(int64_t)fb_region_size(block));
        fb_region_free(block);
    } else if (kind == FB_KIND_RUN) {
        fb_span *s = fb_span_of(block);
        count_bytes(-(int64_t)s->slices * FB_SLICE);
        fb_give_slices(s);
    } else if (cache) {
        drain(&cache->blocks[kind], kind, class_keep(kind) / 2);
        report(cache);
    } else {
        count_bytes(-(int64_t)fb_class_size(kind));
        fb_give_block(block, kind);
    }
    pthread_mutex_unlock(&lock);
}

void fb_free(void *block)
{
    fb_thread_cache *cache = own_cache();
    fb_chunk *c = fb_chunk_of(block);
    int kind = FB_KIND_RUN;

    if (FB_UNLIKELY(!block)) return;
    if (FB_LIKELY(cache != NULL)) {
        fb_bump(&cache->frees, 1);
        if (FB_LIKELY(block != (void *)c) && FB_LIKELY((kind = c->kind[fb_slice_of(block)]) < FB_BLOCK_CLASSES)) {
            fb_free_list *list = &cache->blocks[kind];
            *(void **)block = list->head;
            list->head = block;
            fb_bump(&cache->unreported, -(int64_t)fb_class_size(kind));
            if (FB_LIKELY(++list->count <= class_keep(kind))) return;
        }
    } else if (block != (void *)c) {
        kind = c->kind[fb_slice_of(block)];
    }
    free_slow(cache, block, kind);
}

#endif

static void *allocate_or_fail(int64_t bytes, int *fresh)
{
    void *block;

    if (FB_UNLIKELY(bytes < 0))
        return fb_fail_null(FB_ERUNTIME, "cannot allocate a negative number of bytes: %lld", (long long)bytes);
    if (FB_UNLIKELY(!(block = allocate((size_t)bytes, fresh))))
        return fb_fail_null(FB_EMEMORY, "not enough memory: you tried to allocate %lld bytes.", (long long)bytes);
    return block;
}

void *fb_alloc(int64_t bytes)
{
    int fresh;

    return allocate_or_fail(bytes, &fresh);
}

static void clear_range(void *memory, int64_t begin, int64_t end)
{
    memset((char *)memory + begin, 0, (size_t)(end - begin));
}

void *fb_alloc_zeroed(int64_t bytes)
{
    int fresh;
    void *block = allocate_or_fail(bytes, &fresh);

    /* A kept block is warm: clearing it costs less than the faults of fresh pages would. */
    if (block && !fresh) fb_parallel_range(bytes, 0.05, clear_range, block);
    return block;
}

/* ---- statistics and the cache ---- */

void fb_get_memory_stats(fb_memory_stats *out)
{
    pthread_mutex_lock(&lock);
    *out = (fb_memory_stats){
        .allocated = handed_out,
        .reserved = fb_region_stats.reserved,
        .reserved_peak = fb_region_stats.reserved_peak,
        .allocations = ended.allocations,
        .frees = ended.frees,
        .live_tensors = ended.tensors,
        .live_storages = ended.storages,
    };
    for (fb_thread_cache *c = caches; c; c = c->next) {
        out->allocations += atomic_load_explicit(&c->allocations, memory_order_relaxed);
        out->frees += atomic_load_explicit(&c->frees, memory_order_relaxed);
        out->allocated += atomic_load_explicit(&c->unreported, memory_order_relaxed);
        out->live_tensors += atomic_load_explicit(&c->tensors, memory_order_relaxed);
        out->live_storages += atomic_load_explicit(&c->storages, memory_order_relaxed);
    }
    if (out->allocated > handed_out_peak) handed_out_peak = out->allocated;
    out->allocated_peak = handed_out_peak;
    out->cache_hits = out->allocations - fb_region_stats.system_calls;
    if (out->cache_hits < 0) out->cache_hits = 0;
    pthread_mutex_unlock(&lock);
}

void fb_reset_peak_memory_stats(void)
{
    pthread_mutex_lock(&lock);
    int64_t now = handed_out;
    for (fb_thread_cache *c = caches; c; c = c->next)
        now += atomic_load_explicit(&c->unreported, memory_order_relaxed);
    handed_out_peak = now;
    fb_region_stats.reserved_peak = fb_region_stats.reserved;
    pthread_mutex_unlock(&lock);
}

void fb_empty_cache(void)
{
    fb_thread_cache *cache = fb_own_cache;

    pthread_mutex_lock(&lock);
    if (cache) {
        for (int i = 0; i < FB_BLOCK_CLASSES; i++) drain(&cache->blocks[i], i, 0);
        report(cache);
    }
    fb_regions_trim(0);
    pthread_mutex_unlock(&lock);
}

void fb_set_cache_limit(int64_t bytes)
{
    pthread_mutex_lock(&lock);
    fb_regions_trim(fb_regions_cache_limit(bytes));
    pthread_mutex_unlock(&lock);
}

/* ---- fork ---- */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&lock); }
static void after_fork_in_child(void) { pthread_mutex_init(&lock, NULL); }

__attribute__((constructor)) static void register_fork(void)
{
    fb_at_fork(FB_FORK_ALLOC, before_fork, after_fork_in_parent, after_fork_in_child);
}
