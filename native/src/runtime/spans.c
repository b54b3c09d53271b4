#include "runtime/spans.h"

enum { CHUNKS_TRIED = 8 }; /* more are not searched for room before a new one is made */

static fb_chunk *chunks; /* those with a free slice */
static fb_span *spans_with_room[FB_BLOCK_CLASSES];

static int class_slices(size_t size) { return size <= 1024 ? 1 : size <= 8192 ? 2 : 8; }

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

static void list_chunk(fb_chunk *c)
{
    c->previous = NULL;
    c->next = chunks;
    if (chunks) chunks->previous = c;
    chunks = c;
}

static void unlist_chunk(fb_chunk *c)
{
    if (c->next) c->next->previous = c->previous;
    *(c->previous ? &c->previous->next : &chunks) = c->next;
}

fb_span *fb_take_slices(int n, int kind)
{
    fb_chunk *c = chunks;
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
    c->spans[at] = (fb_span){.slices = (uint16_t)n};
    return &c->spans[at];
}

char *fb_span_memory(const fb_span *s)
{
    fb_chunk *c = fb_chunk_of(s);
    return (char *)c + (size_t)(s - c->spans) * FB_SLICE;
}

void fb_give_slices(fb_span *s)
{
    fb_chunk *c = fb_chunk_of(s);
    bool was_full = c->used == UINT64_MAX;

    c->used &= ~((UINT64_MAX >> (64 - s->slices)) << (s - c->spans));
    if (c->used == 1) {
        if (!was_full) unlist_chunk(c);
        fb_region_free(c);
    } else if (was_full) {
        list_chunk(c);
    }
}

/* ---- blocks of a class ---- */

static void list_span(fb_span *s, int class)
{
    s->listed = true;
    s->previous = NULL;
    s->next = spans_with_room[class];
    if (s->next) s->next->previous = s;
    spans_with_room[class] = s;
}

static void unlist_span(fb_span *s, int class)
{
    s->listed = false;
    if (s->next) s->next->previous = s->previous;
    *(s->previous ? &s->previous->next : &spans_with_room[class]) = s->next;
}

void *fb_take_block(int class)
{
    size_t size = fb_class_size(class);
    fb_span *s = spans_with_room[class];
    void *block;

    if (!s) {
        if (!(s = fb_take_slices(class_slices(size), class))) return NULL;
        s->capacity = (uint32_t)((size_t)s->slices * FB_SLICE / size);
        list_span(s, class);
    }
    if ((block = s->free))
        s->free = *(void **)block;
    else
        block = fb_span_memory(s) + size * s->carved++;
    s->used++;
    if (!s->free && s->carved == s->capacity) unlist_span(s, class);
    return block;
}

void fb_give_block(void *block, int class)
{
    fb_span *s = fb_span_of(block);

    *(void **)block = s->free;
    s->free = block;
    if (--s->used == 0) {
        if (s->listed) unlist_span(s, class);
        fb_give_slices(s);
    } else if (!s->listed) {
        list_span(s, class);
    }
}
