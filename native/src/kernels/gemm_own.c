/* The matrix product engine for each element type: instances of gemm_tile.h and gemm_thin.h. */
#include "kernels/gemm.h"

#include "kernels/vector.h"

/* Left alone, GCC 12 spills every accumulator in every turn of the loop: half the speed. */
#if FB_VECTOR == 64
#define FB_GEMM_KEEP(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define FB_GEMM_KEEP(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define FB_GEMM_KEEP(v) __asm__("" : "+w"(v))
#else
#define FB_GEMM_KEEP(v) (void)0
#endif

#define T    float
#define NAME f32
#define MADD FMA_F32
#include "kernels/gemm_tile.h"
#include "kernels/gemm_thin.h"

#define T    double
#define NAME f64
#define MADD FMA_F64
#include "kernels/gemm_tile.h"
#include "kernels/gemm_thin.h"

/* Unsigned, because signed overflow is not C; the bits are those of wrapping signed sums. */
#define WRAP(acc, a, b) ((acc) + (a) * (b))
#define T               uint16_t
#define NAME            u16
#define MADD            WRAP
#include "kernels/gemm_tile.h"
#include "kernels/gemm_thin.h"

#define T    uint32_t
#define NAME u32
#define MADD WRAP
#include "kernels/gemm_tile.h"
#include "kernels/gemm_thin.h"

#define T    uint64_t
#define NAME u64
#define MADD WRAP
#include "kernels/gemm_tile.h"
#include "kernels/gemm_thin.h"

#define INSTANCE(T, NAME)                                                                                    \
    {sizeof(T),   2 * FB_VECTOR / sizeof(T), block_##NAME, small_entry_##NAME, thin_##NAME, add_##NAME,      \
     scale_##NAME}
const struct fb_gemm_instance FB_K(gemm_instances)[] = {
    [FB_GEMM_F32] = INSTANCE(float, f32),    [FB_GEMM_F64] = INSTANCE(double, f64),
    [FB_GEMM_U16] = INSTANCE(uint16_t, u16), [FB_GEMM_U32] = INSTANCE(uint32_t, u32),
    [FB_GEMM_U64] = INSTANCE(uint64_t, u64),
};

int64_t FB_K(gemm_itemsize)(fb_gemm_type type)
{
    return FB_K(gemm_instances)[type].itemsize;
}
int64_t FB_K(gemm_cols)(fb_gemm_type type)
{
    return FB_K(gemm_instances)[type].cols;
}
