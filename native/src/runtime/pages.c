/* Memory from the system in regions of 1 MB and more, and the cache of freed ones.
 *
 * A region starts at a multiple of 2 MB, so that it can have huge pages (40 MB of fresh 4 KB pages cost 30 ms to
 * touch, in huge pages 7), and so that a block's chunk is found by masking its address. Its header lies in the
 * page before it. Freed regions are kept by size, eight sizes a doubling; all hang on one list by age too, and the
 * oldest are given back when more bytes are kept than the limit says. Callers hold the allocator's lock. */
#define _GNU_SOURCE
#include "runtime/core.h"
#include "runtime/alloc.h"
#include <sys/mman.h>
#include <unistd.h>

enum {
    HEADER_PAGE = 16384, /* a multiple of any page size in use */
    FIRST_LOG2 = 20,
    PER_DOUBLING = 8,
    BINS = (47 - FIRST_LOG2) * PER_DOUBLING, /* to 2^47 bytes: more than an address space */
    SLACK_BINS = 2, /* a kept region may be at most this many sizes (25 %) larger than what is asked for */
};

typedef struct region {
    size_t size;
    struct region *bin_next, *bin_previous;
    struct region *older, *newer;
} region;

struct fb_region_stats fb_region_stats;
static region *bins[BINS];
static region *oldest, *newest;
static size_t limit_bytes, default_limit;

static region *header_of(const void *memory) { return (region *)((char *)memory - sizeof(region)); }
static void *memory_of(region *r) { return r + 1; }

/* The bin of the smallest size that holds `bytes`, and that size. */
static int bin_for(size_t bytes, size_t *size)
{
    if (bytes <= FB_REGION_MIN) {
        *size = FB_REGION_MIN;
        return 0;
    }
    size_t b = bytes - 1;
    int log2 = 63 - __builtin_clzll(b);
    int eighth = (int)(b >> (log2 - 3)) & 7;
    *size = (size_t)(8 + eighth + 1) << (log2 - 3);
    return (log2 - FIRST_LOG2) * PER_DOUBLING + eighth + 1;
}

static void *map_region(size_t size)
{
    size_t whole = size + FB_CHUNK + HEADER_PAGE;
    char *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) return NULL;
    char *memory = (char *)(((uintptr_t)at + HEADER_PAGE + FB_CHUNK - 1) & ~(uintptr_t)(FB_CHUNK - 1));
    if (memory - HEADER_PAGE > at) munmap(at, (size_t)(memory - HEADER_PAGE - at));
    if (at + whole > memory + size) munmap(memory + size, (size_t)(at + whole - memory) - size);
#ifdef MADV_HUGEPAGE
    if (size >= FB_CHUNK) madvise(memory, size, MADV_HUGEPAGE);
#endif
    return memory;
}

static void unmap_region(void *memory, size_t size)
{
    munmap((char *)memory - HEADER_PAGE, size + HEADER_PAGE);
    fb_region_stats.reserved -= (int64_t)size;
}

static void uncache(region *r)
{
    size_t size;
    int bin = bin_for(r->size, &size);

    if (r->bin_next) r->bin_next->bin_previous = r->bin_previous;
    *(r->bin_previous ? &r->bin_previous->bin_next : &bins[bin]) = r->bin_next;
    *(r->older ? &r->older->newer : &oldest) = r->newer;
    *(r->newer ? &r->newer->older : &newest) = r->older;
    fb_region_stats.cached -= (int64_t)r->size;
}

void *fb_region_alloc(size_t bytes, int exact, int *fresh)
{
    size_t size;
    int bin = bin_for(bytes, &size);
    void *memory;

    *fresh = 0;
    if (bin >= BINS) return NULL;
    for (int b = bin; b < BINS && b <= bin + (exact ? 0 : SLACK_BINS); b++)
        if (bins[b]) {
            region *r = bins[b];
            uncache(r);
            return memory_of(r);
        }
    fb_region_stats.system_calls++;
    memory = map_region(size);
    if (!memory && fb_region_stats.cached) { /* what is kept may be what is missing */
        fb_regions_trim(0);
        memory = map_region(size);
    }
    if (!memory) return NULL;
    header_of(memory)->size = size;
    fb_region_stats.reserved += (int64_t)size;
    if (fb_region_stats.reserved > fb_region_stats.reserved_peak)
        fb_region_stats.reserved_peak = fb_region_stats.reserved;
    *fresh = 1;
    return memory;
}

void fb_region_free(void *memory)
{
    region *r = header_of(memory);
    size_t size;
    int bin = bin_for(r->size, &size);

    if (!default_limit) fb_regions_cache_limit(-1);
    if (r->size > limit_bytes) {
        unmap_region(memory, r->size);
        return;
    }
    r->bin_previous = NULL;
    r->bin_next = bins[bin];
    if (r->bin_next) r->bin_next->bin_previous = r;
    bins[bin] = r;
    r->newer = NULL;
    r->older = newest;
    *(newest ? &newest->newer : &oldest) = r;
    newest = r;
    fb_region_stats.cached += (int64_t)r->size;
    fb_regions_trim(limit_bytes);
}

size_t fb_region_size(const void *memory) { return header_of(memory)->size; }

void fb_regions_trim(size_t limit)
{
    while (oldest && (size_t)fb_region_stats.cached > limit) {
        region *r = oldest;
        uncache(r);
        unmap_region(memory_of(r), r->size);
    }
}

size_t fb_regions_cache_limit(int64_t bytes)
{
    if (!default_limit) {
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        default_limit = pages > 0 && page > 0 ? (size_t)pages / 8 * (size_t)page : (size_t)1 << 30;
    }
    limit_bytes = bytes < 0 ? default_limit : (size_t)bytes;
    return limit_bytes;
}
