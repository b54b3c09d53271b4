/* The life of a frame beyond dispatch: preset outputs that need a temporary, scratch memory, results. */
#ifndef FB_FRAME_H
#define FB_FRAME_H

#include "runtime/core.h"

/* What a frame owns besides its outputs; made on first need. */
typedef struct fb_arena {
    struct fb_scratch_block { struct fb_scratch_block *next; } *blocks;
    struct fb_redirect { struct fb_redirect *next; fb_tensor *real; int32_t index; } *redirects; /* copy out[index] to real afterwards */
    fb_tensor **out;    /* the list of results of an operator that returns one */
    fb_tensor **staged; /* inputs replaced by float32 copies */
    int32_t n_staged;
    fb_dtype half;      /* FB_F16 or FB_BF16 while float32 stands in for it, else FB_NONE */
} fb_arena;

fb_arena *fb_arena_of(fb_frame *f); /* NULL with the error set */
void fb_frame_end(fb_frame *f);     /* frees the arena */

/* Several results, each a new reference in *to[i] (all NULL on failure). */
fb_status fb_run_several(fb_frame *f, fb_tensor **const *to);
/* A list of results: an array from fb_alloc of new references. */
fb_status fb_run_list(fb_frame *f, int64_t *n, fb_tensor ***outs);
/* A composite's result i: taken over (also on failure); copied into a preset output. */
fb_status fb_give(fb_frame *f, int i, fb_tensor *result);
/* A Python number as an operand: 0-d, takes part in promotion by category only. */
fb_tensor *fb_wrapped(fb_scalar value);
fb_device fb_frame_device(const fb_frame *f);
void *fb_copy_bytes(const void *src, int64_t bytes);

fb_generator *fb_generator_retain(fb_generator *g);
void fb_generator_release(fb_generator *g);

#endif
