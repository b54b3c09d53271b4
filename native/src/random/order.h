/* Elements in the order in which they lie in memory: the order in which PyTorch hands out random numbers. */
#ifndef FB_RANDOM_ORDER_H
#define FB_RANDOM_ORDER_H

#include "kernels/random_fill.h"
#include "runtime/core.h"

/* order[i]: which dimension of t comes i-th, from the largest stride to the smallest. */
void fb_memory_order(const fb_tensor *t, int order[FB_MAX_DIMS]);
/* t's dimensions in that order: a view. */
fb_tensor *fb_reordered(fb_tensor *t, const int order[FB_MAX_DIMS]);
/* Packed strides whose order is t's: t's own layout without its gaps. */
void fb_packed_like(const fb_tensor *t, int64_t strides[FB_MAX_DIMS]);

/* Calls write with contiguous room for t's elements in memory order, and puts them where t has them. order: as
 * fb_memory_order gave it. Refuses a t of which two elements share memory. */
typedef void (*fb_writer)(void *ctx, int dtype, void *out, int64_t n);
fb_status fb_write_in_order(fb_tensor *t, const int order[FB_MAX_DIMS], fb_writer write, void *ctx);

/* A generator or, for NULL, the default one, locked; NULL with the error set. */
fb_generator *fb_generator_take(fb_generator *g);
/* Fills t with draws in memory order; complex numbers as pairs of reals. g is locked for the time. */
fb_status fb_fill_random(fb_tensor *t, const fb_draw *d, fb_generator *g);

/* The bulk draws of the instruction set in use. */
fb_random_fill_fn fb_random_filler(void);
fb_random_below_fn fb_random_belower(void);

#endif
