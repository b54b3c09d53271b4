/* The allocator: fb_alloc and friends.
 *
 * Up to 64 KB a block belongs to a size class. Each thread keeps a free list a class and needs no lock while that
 * serves it; lists are filled from, and drained to, spans: runs of 32 KB slices cut into blocks of one class.
 * Larger blocks up to 1 MB are runs of slices themselves. Slices come from 2 MB chunks, whose first slice holds
 * the table of the others, so that fb_free finds a block's class by masking its address. Still larger blocks are
 * regions of their own (pages.c), the only addresses that are multiples of 2 MB. Everything but the threads' lists
 * is under one lock. */
#include "runtime/core.h"
#include "runtime/alloc.h"
#include "runtime/fork.h"
#include <pthread.h>
#include <stdlib.h>
#ifdef FB_ALLOC_IS_MALLOC
#include <malloc.h>
#endif

enum {
    SLICE = 32768,
    SLICES = FB_CHUNK / SLICE,
    SMALL_BLOCK = 65536, /* the largest class */
    KIND_RUN = 0xFE,     /* a slice's kind: a class, or one of these */
    KIND_OBJECTS = 0xFD,
    CHUNKS_TRIED = 8,    /* more are not searched for room before a new one is made */
    OBJECT_BATCH = FB_SMALL_KEEP / 2,
};

typedef struct span {
    void *free;
    uint32_t used, carved, capacity; /* blocks: handed out, ever handed out, in all */
    uint16_t slices;
    bool listed; /* has room, so it is on its class's list */
    struct span *next, *previous;
} span;

typedef struct chunk {
    uint8_t kind[SLICES]; /* of every slice of a span or run: the first line, so that fb_free reads one line only */
    uint8_t lead[SLICES]; /* the first slice of the span or run */
    uint64_t used;        /* slices, a bit each */
    struct chunk *next, *previous; /* chunks with a free slice */
    span spans[SLICES];
} chunk;

#ifdef FB_ALLOC_IS_MALLOC
#define OUR_BLOCKS __attribute__((unused)) /* serves only our own blocks */
#else
#define OUR_BLOCKS
#endif

_Thread_local fb_thread_cache *fb_own_cache;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t exit_key;
static bool have_exit_key;
static chunk *chunks;                     /* those with a free slice */
static span *spans_with_room[FB_BLOCK_CLASSES];
static void *object_batches[FB_SMALL_BINS]; /* first words link a batch's objects, second words the batches */
static char *object_room[FB_SMALL_BINS], *object_room_end[FB_SMALL_BINS];
static fb_thread_cache *caches;
static struct { int64_t allocations, frees, tensors, storages; } ended; /* counts of threads that are gone */
static int64_t handed_out, handed_out_peak; /* bytes, without what threads have not reported */

/* ---- size classes ---- */

static inline int class_for(size_t bytes)
{
    if (bytes <= 512) return (int)((bytes + 63) >> 6) - (bytes != 0);
    size_t b = bytes - 1;
    int log2 = 63 - __builtin_clzll(b);
    return 8 + (log2 - 9) * 4 + ((int)(b >> (log2 - 2)) & 3);
}

static inline size_t class_size(int class)
{
    if (class < 8) return (size_t)(class + 1) << 6;
    return (size_t)(5 + (class - 8) % 4) << (7 + (class - 8) / 4);
}

static int class_slices(size_t size) { return size <= 1024 ? 1 : size <= 8192 ? 2 : 8; }

/* Blocks that a thread keeps of a class (about 128 KB), and how many it gets at a time. */
static inline int class_keep(int class) { return class < 8 ? 256 : 128 >> (class - 8) / 4; }
OUR_BLOCKS static int class_batch(int class) { return class < 8 ? 32 : FB_MAX(16 >> (class - 8) / 4, 1); }

/* ---- slices (under the lock) ---- */

static inline chunk *chunk_of(const void *block) { return (chunk *)((uintptr_t)block & ~(uintptr_t)(FB_CHUNK - 1)); }
static inline int slice_of(const void *block) { return (int)((uintptr_t)block % FB_CHUNK / SLICE); }

/* The start of the lowest run of n ones, or -1. */
static int find_run(uint64_t ones, int n)
{
    for (int have = 1; have < n;) {
        int step = FB_MIN(have, n - have);
        ones &= ones >> step;
        have += step;
    }
    return ones ? __builtin_ctzll(ones) : -1;
}

static void list_chunk(chunk *c)
{
    c->previous = NULL;
    c->next = chunks;
    if (chunks) chunks->previous = c;
    chunks = c;
}

static void unlist_chunk(chunk *c)
{
    if (c->next) c->next->previous = c->previous;
    *(c->previous ? &c->previous->next : &chunks) = c->next;
}

static span *take_slices(int n, int kind)
{
    chunk *c = chunks;
    int at = -1, fresh;

    for (int tried = 0; c && tried < CHUNKS_TRIED; c = c->next, tried++)
        if ((at = find_run(~c->used, n)) >= 0) break;
    if (at < 0) {
        if (!(c = fb_region_alloc(FB_CHUNK, 1, &fresh))) return NULL;
        if (!fresh) memset(c, 0, sizeof *c);
        c->used = 1; /* the table itself */
        list_chunk(c);
        at = 1;
    }
    memset(c->kind + at, kind, (size_t)n);
    memset(c->lead + at, at, (size_t)n);
    c->used |= (UINT64_MAX >> (64 - n)) << at;
    if (c->used == UINT64_MAX) unlist_chunk(c);
    c->spans[at] = (span){.slices = (uint16_t)n};
    return &c->spans[at];
}

static char *span_memory(const span *s)
{
    chunk *c = chunk_of(s);
    return (char *)c + (size_t)(s - c->spans) * SLICE;
}

static void give_slices(span *s)
{
    chunk *c = chunk_of(s);
    bool was_full = c->used == UINT64_MAX;

    c->used &= ~((UINT64_MAX >> (64 - s->slices)) << (s - c->spans));
    if (c->used == 1) {
        if (!was_full) unlist_chunk(c);
        fb_region_free(c);
    } else if (was_full) {
        list_chunk(c);
    }
}

/* ---- blocks of a class (under the lock) ---- */

static void list_span(span *s, int class)
{
    s->listed = true;
    s->previous = NULL;
    s->next = spans_with_room[class];
    if (s->next) s->next->previous = s;
    spans_with_room[class] = s;
}

static void unlist_span(span *s, int class)
{
    s->listed = false;
    if (s->next) s->next->previous = s->previous;
    *(s->previous ? &s->previous->next : &spans_with_room[class]) = s->next;
}

OUR_BLOCKS static void *take_block(int class)
{
    size_t size = class_size(class);
    span *s = spans_with_room[class];
    void *block;

    if (!s) {
        if (!(s = take_slices(class_slices(size), class))) return NULL;
        s->capacity = (uint32_t)((size_t)s->slices * SLICE / size);
        list_span(s, class);
    }
    if ((block = s->free))
        s->free = *(void **)block;
    else
        block = span_memory(s) + size * s->carved++;
    s->used++;
    if (!s->free && s->carved == s->capacity) unlist_span(s, class);
    return block;
}

static void give_block(void *block, int class)
{
    chunk *c = chunk_of(block);
    span *s = &c->spans[c->lead[slice_of(block)]];

    *(void **)block = s->free;
    s->free = block;
    if (--s->used == 0) {
        if (s->listed) unlist_span(s, class);
        give_slices(s);
    } else if (!s->listed) {
        list_span(s, class);
    }
}

static void drain(fb_free_list *list, int class, int keep)
{
    while (list->count > keep) {
        void *block = list->head;
        list->head = *(void **)block;
        list->count--;
        give_block(block, class);
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
        span *s = take_slices(1, KIND_OBJECTS);
        if (!s) return false;
        object_room[bin] = span_memory(s);
        object_room_end[bin] = object_room[bin] + SLICE;
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
    first = take_block(class);
    for (int n = class_batch(class) - 1; first && n > 0 && (block = take_block(class)); n--) {
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
    span *s;

    pthread_mutex_lock(&lock);
    if (bytes > FB_REGION_MIN) {
        if ((block = fb_region_alloc(bytes, 0, fresh))) count_bytes((int64_t)fb_region_size(block));
    } else if ((s = take_slices((int)((bytes + SLICE - 1) / SLICE), KIND_RUN))) {
        block = span_memory(s);
        count_bytes((int64_t)s->slices * SLICE);
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
    if (FB_LIKELY(bytes <= SMALL_BLOCK)) {
        int class = class_for(bytes);
        fb_free_list *list = &cache->blocks[class];
        if (FB_LIKELY((block = list->head) != NULL)) {
            list->head = *(void **)block;
            list->count--;
        } else if (!(block = refill(cache, class))) {
            return NULL;
        }
        fb_bump(&cache->unreported, (int64_t)class_size(class));
    } else if (!(block = allocate_large(bytes, fresh))) {
        return NULL;
    }
    fb_bump(&cache->allocations, 1);
    return block;
}

static void free_slow(fb_thread_cache *cache, void *block, int kind)
{
    chunk *c = chunk_of(block);

    pthread_mutex_lock(&lock);
    if (block == (void *)c) {
        count_bytes(-(int64_t)fb_region_size(block));
        fb_region_free(block);
    } else if (kind == KIND_RUN) {
        span *s = &c->spans[c->lead[slice_of(block)]];
        count_bytes(-(int64_t)s->slices * SLICE);
        give_slices(s);
    } else if (cache) {
        drain(&cache->blocks[kind], kind, class_keep(kind) / 2);
        report(cache);
    } else {
        count_bytes(-(int64_t)class_size(kind));
        give_block(block, kind);
    }
    pthread_mutex_unlock(&lock);
}

void fb_free(void *block)
{
    fb_thread_cache *cache = own_cache();
    chunk *c = chunk_of(block);
    int kind = KIND_RUN;

    if (FB_UNLIKELY(!block)) return;
    if (FB_LIKELY(cache != NULL)) {
        fb_bump(&cache->frees, 1);
        if (FB_LIKELY(block != (void *)c) && FB_LIKELY((kind = c->kind[slice_of(block)]) < FB_BLOCK_CLASSES)) {
            fb_free_list *list = &cache->blocks[kind];
            *(void **)block = list->head;
            list->head = block;
            fb_bump(&cache->unreported, -(int64_t)class_size(kind));
            if (FB_LIKELY(++list->count <= class_keep(kind))) return;
        }
    } else if (block != (void *)c) {
        kind = c->kind[slice_of(block)];
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
