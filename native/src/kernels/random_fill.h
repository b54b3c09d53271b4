/* Draws into contiguous memory, compiled for each instruction set: fb_random_fill_<isa> and fb_random_below_<isa>. */
#ifndef FB_KERNELS_RANDOM_FILL_H
#define FB_KERNELS_RANDOM_FILL_H

#include "runtime/core.h"
#include "runtime/random.h"

typedef enum fb_draw_kind {
    FB_DRAW_UNIFORM,     /* [a, b) */
    FB_DRAW_NORMAL,      /* mean a, standard deviation b, drawn in pairs of doubles */
    FB_DRAW_NORMAL_ROWS, /* the same law in rows of 16, n >= 16: PyTorch's way for contiguous tensors */
    FB_DRAW_LOG_NORMAL,  /* exp of a normal number */
    FB_DRAW_BERNOULLI,   /* 1 with probability a */
    FB_DRAW_EXPONENTIAL, /* rate a */
    FB_DRAW_GEOMETRIC,   /* chance of success a */
    FB_DRAW_CAUCHY,      /* median a, scale b */
    FB_DRAW_INTEGER,     /* base + 0..range-1; range 0: all of 64 bits */
} fb_draw_kind;

typedef struct fb_draw {
    fb_draw_kind kind;
    double a, b;
    uint64_t range;
    int64_t base;
    bool wide; /* INTEGER: take 64 bits a draw */
} fb_draw;

/* n elements of dtype (not complex, not float8). The caller holds g's lock. */
typedef void (*fb_random_fill_fn)(fb_generator *g, const fb_draw *d, int dtype, void *out, int64_t n);
/* out[i] = a uniform number < p[i]; dtype of p: F16, BF16, F32 (24-bit draws) or F64 (53-bit). */
typedef void (*fb_random_below_fn)(fb_generator *g, int dtype, const void *p, uint8_t *out, int64_t n);

#endif
