/* Slices of chunks, and blocks of size classes cut from them: what lies between the threads' lists (alloc.c) and
 * memory from the system (pages.c). All functions but the first few need the allocator's lock. */
#ifndef FB_SPANS_H
#define FB_SPANS_H

#include "runtime/alloc.h"
#include "runtime/core.h"

enum {
    FB_SLICE = 32768,
    FB_SLICES = FB_CHUNK / FB_SLICE,
    FB_BLOCK_MAX = 65536,  /* the largest class */
    FB_KIND_RUN = 0xFE,    /* a slice's kind: a class, or one of these */
    FB_KIND_OBJECTS = 0xFD,
};

typedef struct fb_span {
    void *free;
    uint32_t used, carved, capacity; /* blocks: handed out, ever handed out, in all */
    uint16_t slices;
    bool listed; /* has room, so it is on its class's list */
    struct fb_span *next, *previous;
} fb_span;

/* 2 MB of memory; its first slice holds this table. */
typedef struct fb_chunk {
    uint8_t kind[FB_SLICES]; /* of every slice of a span or run: the first line, so that fb_free reads one line only */
    uint8_t lead[FB_SLICES]; /* the first slice of the span or run */
    uint64_t used;           /* slices, a bit each */
    struct fb_chunk *next, *previous; /* chunks with a free slice */
    fb_span spans[FB_SLICES];
} fb_chunk;

static inline fb_chunk *fb_chunk_of(const void *block)
{
    return (fb_chunk *)((uintptr_t)block & ~(uintptr_t)(FB_CHUNK - 1));
}
static inline int fb_slice_of(const void *block) { return (int)((uintptr_t)block % FB_CHUNK / FB_SLICE); }
static inline fb_span *fb_span_of(const void *block)
{
    fb_chunk *c = fb_chunk_of(block);
    return &c->spans[c->lead[fb_slice_of(block)]];
}

static inline int fb_class_for(size_t bytes)
{
    if (bytes <= 512) return (int)((bytes + 63) >> 6) - (bytes != 0);
    size_t b = bytes - 1;
    int log2 = 63 - __builtin_clzll(b);
    return 8 + (log2 - 9) * 4 + ((int)(b >> (log2 - 2)) & 3);
}

static inline size_t fb_class_size(int class)
{
    if (class < 8) return (size_t)(class + 1) << 6;
    return (size_t)(5 + (class - 8) % 4) << (7 + (class - 8) / 4);
}

fb_span *fb_take_slices(int n, int kind); /* NULL: the system refused */
void fb_give_slices(fb_span *s);
char *fb_span_memory(const fb_span *s);
void *fb_take_block(int class); /* NULL: the system refused */
void fb_give_block(void *block, int class);

#endif
