/* The elementwise family: what the operator table says of an operator, and the executor's plan.
 *
 * A body sees contiguous blocks of its slots' types only. Slot classes: c the compute type (bool, an integer,
 * float, double or a complex; halves and float8 compute in float unless they have bodies), r its real type, z the
 * complex type of its precision, b bool, i int64; d an input like c that must not be zero where it is an integer.
 * An absent optional input is NULL. A body may be called with an output that is exactly one of its inputs. */
#ifndef FB_KERNELS_ELEMENTWISE_H
#define FB_KERNELS_ELEMENTWISE_H

#include "runtime/core.h"

typedef void (*fb_block_fn)(int64_t n, void *const *out, void *const *in, const void *params);

enum { FB_EW_MAX = 14 }; /* operands */
/* promote; the same, then integers become the default float, or bool int64; the first c input's own */
enum { FB_RULE_PROMOTE, FB_RULE_FLOAT, FB_RULE_NONE, FB_RULE_LONG };

/* bodies[isa]: an array of FB_N_DTYPES bodies by compute dtype; NULL where there is none. An integer dtype
 * without a body runs in int64 where that has one, a half in float. */
typedef struct fb_ew {
    uint8_t n_out, n_in, rule;
    char slots[17]; /* outputs first, then inputs */
    const fb_block_fn *bodies[FB_N_ISA];
} fb_ew;

/* The arrays that exist in this build, one an instruction set. */
#ifndef FB_ISA_LIST
#if defined(FB_HAVE_ISA_avx512)
#define FB_ISA_LIST(name) {name##_base, name##_avx2, name##_avx512}
#elif defined(FB_HAVE_ISA_avx2)
#define FB_ISA_LIST(name) {name##_base, name##_avx2, name##_avx2}
#else
#define FB_ISA_LIST(name) {name##_base, name##_base, name##_base}
#endif
#define FB_DECLARE_KERNEL(name) fb_status name##_base(fb_frame *), name##_avx2(fb_frame *), name##_avx512(fb_frame *);
#endif
#define FB_DECLARE_BODIES(name) extern const fb_block_fn name##_base[], name##_avx2[], name##_avx512[];

fb_status fb_ew_infer(fb_frame *f);
fb_status fb_ew_kernel(fb_frame *f);

/* One operand of a run of the executor. */
typedef struct fb_ew_operand {
    char *data;
    uint8_t dtype; /* in memory */
    uint8_t mid;   /* the dtype that values pass through on the way (rounding to the operator's dtype) */
    uint8_t slot;  /* what the body sees */
    int64_t strides[FB_MAX_DIMS]; /* in bytes, innermost dimension first once planned */
} fb_ew_operand;

/* fn over the points of a box of sizes; ops: outputs first. Set n_out, n_in, ndim, sizes (outermost first),
 * ops, fn, params, ns (nanoseconds an element); then fb_ew_execute. */
typedef struct fb_ew_plan {
    int n_out, n_in, ndim;
    fb_block_fn fn;
    const void *params;
    double ns;
    int64_t sizes[FB_MAX_DIMS];
    fb_ew_operand ops[FB_EW_MAX];
} fb_ew_plan;

/* Fills an operand from t, broadcast to the plan's sizes (already set). */
void fb_ew_bind(fb_ew_plan *plan, int i, const fb_tensor *t, int mid, int slot);
fb_status fb_ew_execute(fb_ew_plan *plan);

/* dst[0..n) = src[0..n), from dtype to dtype, both contiguous; dst may be src where the sizes are equal. */
typedef void (*fb_cast_fn)(int from, int to, int64_t n, void *dst, const void *src);
fb_cast_fn fb_cast_for_isa(void);

#endif
