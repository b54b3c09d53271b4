/* The allocator's internal side: fixed-size objects from a thread's own free lists, and the live counts. */
#ifndef FB_ALLOC_H
#define FB_ALLOC_H

#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>

#if defined(__SANITIZE_ADDRESS__)
#define FB_ALLOC_IS_MALLOC 1 /* every block from malloc, so that the sanitizer knows its bounds */
#endif

enum {
    FB_SMALL_MAX = 512,    /* bytes of the largest object */
    FB_SMALL_STEP = 16,    /* their sizes are rounded up to multiples of this */
    FB_SMALL_BINS = FB_SMALL_MAX / FB_SMALL_STEP,
    FB_BLOCK_CLASSES = 36, /* sizes up to 64 KB: 64, 128, ..., 512, then four a doubling */
};

typedef struct fb_free_list {
    void *head; /* linked through the blocks' first words */
    int32_t count;
} fb_free_list;

/* What a thread keeps. Written by its thread alone; the counters are read by others, hence relaxed atomics. */
typedef struct fb_thread_cache {
    fb_free_list objects[FB_SMALL_BINS];
    fb_free_list blocks[FB_BLOCK_CLASSES];
    _Atomic int64_t allocations, frees;
    _Atomic int64_t unreported; /* bytes handed out less bytes taken back since the total was last told */
    _Atomic int64_t tensors, storages;
    struct fb_thread_cache *next, *previous; /* all threads', under the allocator's lock */
} fb_thread_cache;


/* NULL until the thread's first call. Not of the faster "initial-exec" kind: that would need all thread-local memory
 * of the library, error texts included, to fit into the few bytes which glibc keeps for libraries loaded late. */
extern __attribute__((visibility("hidden"))) _Thread_local fb_thread_cache *fb_own_cache;

static inline void fb_bump(_Atomic int64_t *counter, int64_t by) /* of the own thread: no locked instruction */
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by, memory_order_relaxed);
}

void *fb_small_alloc_slow(size_t size);
void fb_small_free_slow(void *object, size_t size);

/* An uninitialised object of 1 to FB_SMALL_MAX bytes, aligned to 16; NULL with the error set. Its memory is kept
 * for objects of the same (rounded) size for ever: meant for structs that come and go, not for data. */
static inline void *fb_small_alloc(size_t size)
{
#ifndef FB_ALLOC_IS_MALLOC
    fb_thread_cache *cache = fb_own_cache;
    if (__builtin_expect(cache != NULL, 1)) {
        fb_free_list *list = &cache->objects[(size - 1) / FB_SMALL_STEP];
        void *object = list->head;
        if (__builtin_expect(object != NULL, 1)) {
            list->head = *(void **)object;
            list->count--;
            return object;
        }
    }
#endif
    return fb_small_alloc_slow(size);
}

enum { FB_SMALL_KEEP = 128 }; /* objects of a size that a thread keeps; beyond, half of them go to the common store */

/* Any thread; size as at the allocation; NULL is fine. */
static inline void fb_small_free(void *object, size_t size)
{
#ifndef FB_ALLOC_IS_MALLOC
    fb_thread_cache *cache = fb_own_cache;
    if (__builtin_expect(cache != NULL && object != NULL, 1)) {
        fb_free_list *list = &cache->objects[(size - 1) / FB_SMALL_STEP];
        if (__builtin_expect(list->count < FB_SMALL_KEEP, 1)) {
            *(void **)object = list->head;
            list->head = object;
            list->count++;
            return;
        }
    }
#endif
    fb_small_free_slow(object, size);
}

void fb_count_live_slow(int tensors, int storages);

/* Adds to the live counts of fb_get_memory_stats. */
static inline void fb_count_live(int tensors, int storages)
{
    fb_thread_cache *cache = fb_own_cache;

    if (__builtin_expect(cache == NULL, 0)) {
        fb_count_live_slow(tensors, storages);
        return;
    }
    if (tensors) fb_bump(&cache->tensors, tensors);
    if (storages) fb_bump(&cache->storages, storages);
}

/* ---- between alloc.c and pages.c ---- */

/* All of these: the allocator's lock is held. */
enum { FB_REGION_MIN = 1 << 20, FB_CHUNK = 2 << 20 };
void *fb_region_alloc(size_t bytes, int exact, int *fresh); /* 2 MB-aligned; fresh: all zero. NULL: the system refused */
void fb_region_free(void *region);
size_t fb_region_size(const void *region);
void fb_regions_trim(size_t limit);      /* gives the oldest cached regions back until at most limit bytes are kept */
size_t fb_regions_cache_limit(int64_t bytes); /* sets it (-1: default) */
extern struct fb_region_stats { int64_t reserved, reserved_peak, cached, system_calls; } fb_region_stats;

#endif
