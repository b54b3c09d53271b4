/* The reduce family: what the operator table says of an operator, and the kernels that fold elements.
 *
 * A fold keeps one accumulator an output: one or more numbers, each in a plane of its own ("block of width w": plane
 * 0 of w numbers, then plane 1 ...). Elements are folded in fixed steps - a row of at most FB_FOLD_BLOCK elements, or
 * FB_FOLD_ROWS rows of a column - whose accumulators are joined in a fixed binary tree. Steps and tree follow from
 * shape and layout alone: the bits of a result don't depend on threads, and rounding errors grow with the logarithm. */
#ifndef FB_KERNELS_REDUCE_H
#define FB_KERNELS_REDUCE_H

#include "kernels/elementwise.h"

enum { FB_FOLD_BLOCK = 4096, FB_FOLD_ROWS = 32, FB_FOLD_WIDTH = 256 };

/* What an operator's parameters come to. */
typedef struct fb_fold_args {
    double ord;        /* of a norm */
    double correction; /* of a variance */
} fb_fold_args;

typedef struct fb_fold {
    int acc_bytes; /* of all planes, an output */
    /* acc (of width rows) = each row of len elements folded; rows lie `stride` elements apart. len 0: the identity.
     * first: the number of the row's first element within the reduction. */
    void (*rows)(int64_t rows, int64_t len, const void *src, int64_t stride, int64_t first, void *acc, const fb_fold_args *args);
    /* acc (of width w) = the columns of rows >= 1 rows of w elements folded. */
    void (*cols)(int64_t rows, int64_t w, const void *src, int64_t stride, int64_t first, void *acc, const fb_fold_args *args);
    /* a = a and then b, of na and nb elements each. */
    void (*join)(int64_t w, void *a, int64_t na, const void *b, int64_t nb);
    /* Results of n elements each. */
    void (*finish)(int64_t w, const void *acc, int64_t n, void *const *out, const fb_fold_args *args);
    bool plain; /* one plane and no positions: neighbouring accumulators may be joined with each other */
} fb_fold;

/* Result dtypes */
enum {
    FB_RED_SUM,   /* dtype=, else int64 for integers and bool, else the input's */
    FB_RED_FLOAT, /* dtype=, else the input's, which must be floating or complex */
    FB_RED_SAME,
    FB_RED_REAL,  /* dtype= or the input's, floating or complex; the result is real */
    FB_RED_BOOL,  /* bool, uint8 for uint8 */
    FB_RED_LONG,
    FB_RED_TO_FLOAT, /* integers become the default dtype first */
};

typedef struct fb_reduce_call {
    fb_ints dim; /* n < 0: all */
    int64_t one; /* room for a single dimension */
    bool keepdim, empty_is_all;
    fb_dtype dtype;
    fb_fold_args args;
} fb_reduce_call;

typedef struct fb_reduce {
    uint8_t n_out, rule;
    bool index;      /* counts positions: several dimensions at once make one in row-major order */
    bool truth;      /* looks only whether elements are nonzero: they are folded as bool */
    bool no_identity; /* an empty reduction is an error */
    char slots[4];   /* what finish writes: c the compute type, r its real type, b bool, i int64 */
    fb_status (*read)(const fb_frame *f, fb_reduce_call *call);
    const fb_fold *const *folds[FB_N_ISA]; /* [FB_N_DTYPES] by compute dtype */
    fb_status (*check)(const fb_frame *f, const fb_reduce_call *call); /* may be NULL */
    const struct fb_reduce *of_bool; /* does the same for bool tensors, faster */
    const char *label;               /* in messages, where it isn't the operator's */
} fb_reduce;

fb_status fb_reduce_infer(fb_frame *f);
fb_status fb_reduce_kernel(fb_frame *f);
fb_status fb_reduce_infer_as(fb_frame *f, const fb_reduce *family);
fb_status fb_reduce_kernel_as(fb_frame *f, const fb_reduce *family);

/* The same by hand: folds dims `mask` of t into contiguous outs (of the slots' dtypes, or others: cast). */
fb_status fb_reduce_run(const fb_reduce *family, const char *name, const fb_tensor *t, uint64_t mask, fb_dtype common, fb_tensor *const *outs,
                        const fb_fold_args *args, fb_frame *f);

#endif
