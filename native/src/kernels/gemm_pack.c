/* Packing of strided operands: one instance of gemm_pack.h for each dtype; and for the dtypes that are summed in
 * another one, storing the sums. */
#include "kernels/gemm.h"
#include "kernels/vector.h"

/* n is a constant where this is used, so that the loop unrolls into vector copies */
#define RUN(dst, src, n)                                                                                     \
    do {                                                                                                     \
        for (int64_t z_ = 0; z_ < (n); z_++) (dst)[z_] = LOAD((src)[z_]);                                    \
    } while (0)
#define PLAIN(x) (x)

#define TURN fb_turn4_f32
#define S    float
#define T    float
#define NAME f32
#define LOAD PLAIN
#include "kernels/gemm_pack.h"
#undef S
#undef T
#undef NAME
#undef FN
#undef COLS

#undef TURN
#define TURN fb_turn4_f64
#define S    double
#define T    double
#define NAME f64
#include "kernels/gemm_pack.h"
#undef S
#undef T
#undef NAME
#undef FN
#undef COLS

#undef TURN
#define TURN fb_turn4_u64
#define S    uint64_t
#define T    uint64_t
#define NAME u64
#include "kernels/gemm_pack.h"
#undef S
#undef T
#undef NAME
#undef FN
#undef COLS

#undef TURN
#define TURN fb_turn4_u32
#define S    uint32_t
#define T    uint32_t
#define NAME u32
#include "kernels/gemm_pack.h"
#undef S
#undef T
#undef NAME
#undef FN
#undef COLS

#undef TURN
#define S    uint16_t
#define T    uint16_t
#define NAME u16
#include "kernels/gemm_pack.h"
#undef S
#undef T
#undef NAME
#undef FN
#undef COLS

/* Sums of 8-bit products only matter modulo 256, so that int8 may be read as unsigned. */
#define S    uint8_t
#define T    uint16_t
#define NAME u8
#include "kernels/gemm_pack.h"
#undef S
#undef T
#undef NAME
#undef FN
#undef COLS
#undef LOAD

FB_INLINE float bf16_load(uint16_t h)
{
    const union {
        uint32_t bits;
        float value;
    } u = {(uint32_t)h << 16};
    return u.value;
}
#define S    uint16_t
#define T    float
#define NAME bf16
#define LOAD bf16_load
#include "kernels/gemm_pack.h"
#undef S
#undef T
#undef NAME
#undef LOAD
#undef FN
#undef COLS

#if defined(__F16C__)
FB_INLINE float f16_load(uint16_t h)
{
    return _cvtsh_ss(h);
}
FB_INLINE void f16_run(float *dst, const uint16_t *src, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(src + i))));
    for (; i < n; i++) dst[i] = f16_load(src[i]);
}
#undef RUN
#define RUN f16_run
#else
#define f16_load fb_half_to_float
#endif
#define S    uint16_t
#define T    float
#define NAME f16
#define LOAD f16_load
#include "kernels/gemm_pack.h"
#undef FN

/* Adds beta * c where asked, then rounds. */
#define FINISH(NAME, C, T, NUMBER, READ, WRITE)                                                              \
    static void finish_##NAME(const fb_gemm *g, int64_t batch, int64_t i, int64_t rows, int64_t j,           \
                              int64_t cols, const void *t_, int64_t ld)                                      \
    {                                                                                                        \
        const T *t = t_, alpha = (T)NUMBER(g->alpha), beta = (T)NUMBER(g->beta);                             \
        const C *bias = g->col_bias;                                                                         \
        C *c = (C *)g->c + (g->c_offset ? g->c_offset[batch] : batch * g->c_step) + i * g->c_row +           \
               j * g->c_col;                                                                                 \
        for (int64_t r = 0; r < rows; r++, t += ld, c += g->c_row)                                           \
            for (int64_t x = 0; x < cols; x++) {                                                             \
                T v = alpha * t[x];                                                                          \
                if (beta != 0) v += beta * READ(c[x * g->c_col]);                                            \
                if (bias) v += READ(bias[j + x]);                                                            \
                c[x * g->c_col] = WRITE(v);                                                                  \
            }                                                                                                \
    }
FB_INLINE uint16_t bf16_store(float f)
{
    const union {
        float value;
        uint32_t bits;
    } u = {f};
    return f != f ? 0x7fc0 : (uint16_t)((u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16);
}
#if defined(__F16C__)
FB_INLINE uint16_t f16_store(float f)
{
    return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
}
#else
#define f16_store fb_float_to_half
#endif
FINISH(bf16, uint16_t, float, fb_scalar_double, bf16_load, bf16_store)
FINISH(f16, uint16_t, float, fb_scalar_double, f16_load, f16_store)
FINISH(u8, uint8_t, uint16_t, fb_scalar_int, PLAIN, (uint8_t))

/* A complex product as a real one of twice the columns and depth: a row of a, read as reals, times
 *   ( re  im)
 *   (-im  re)  for each element of b: the row of c, read as reals. Same arithmetic, no shuffles.
 * c's columns must be contiguous. Cuts along k fall on even places (FB_GEMM_DEPTH and the pieces of long sums). */
#define COMPLEX(NAME, T, REAL)                                                                               \
    static const void *panel_a_##NAME(const fb_gemm *g, int64_t batch, void *room, int64_t i, int64_t rows,  \
                                      int64_t p, int64_t depth)                                              \
    {                                                                                                        \
        const fb_gemm_operand *o = g->a_ctx;                                                                 \
        const T *src =                                                                                       \
            (const T *)o->data + 2 * ((o->offset ? o->offset[batch] : batch * o->step) + i * o->row);        \
        T *dst = room;                                                                                       \
        if (o->col == 1) {                                                                                   \
            turn_##REAL(dst, src + p, 2 * o->row, 1, rows, FB_GEMM_ROWS, depth);                             \
            return room;                                                                                     \
        }                                                                                                    \
        src += p * o->col;                                                                                   \
        for (int64_t q = 0; q < depth; q += 2, src += 2 * o->col, dst += 2 * FB_GEMM_ROWS)                   \
            for (int64_t r = 0; r < rows; r++) {                                                             \
                dst[r] = src[2 * r * o->row];                                                                \
                dst[r + FB_GEMM_ROWS] = src[2 * r * o->row + 1];                                             \
            }                                                                                                \
        return room;                                                                                         \
    }                                                                                                        \
    FB_INLINE void complex_run_##NAME(T *restrict d, const T *restrict s, int64_t col, int64_t n)            \
    {                                                                                                        \
        const int64_t wide = 2 * FB_VECTOR / sizeof(T);                                                      \
        for (int64_t y = 0; y < n; y += 2, s += 2 * col) {                                                   \
            d[y] = s[0];                                                                                     \
            d[y + 1] = s[1];                                                                                 \
            d[wide + y] = -s[1];                                                                             \
            d[wide + y + 1] = s[0];                                                                          \
        }                                                                                                    \
        for (int64_t y = n; y < wide; y++) d[y] = d[wide + y] = 0;                                           \
    }                                                                                                        \
    static void pack_b_##NAME(const fb_gemm *g, int64_t batch, void *room, int64_t p, int64_t depth,         \
                              int64_t j, int64_t cols)                                                       \
    {                                                                                                        \
        const fb_gemm_operand *o = g->b_ctx;                                                                 \
        const int64_t wide = 2 * FB_VECTOR / sizeof(T);                                                      \
        const T *src = (const T *)o->data + 2 * (o->offset ? o->offset[batch] : batch * o->step);            \
        T *dst = room;                                                                                       \
        for (int64_t x = 0; x < cols; x += wide, dst += depth * wide) {                                      \
            const int64_t n = FB_MIN(cols - x, wide);                                                        \
            const T *s = src + p * o->row + (j + x) * o->col;                                                \
            for (int64_t q = 0; q < depth; q += 2, s += 2 * o->row) {                                        \
                if (o->col == 1 && n == wide)                                                                \
                    complex_run_##NAME(dst + q * wide, s, 1, wide);                                          \
                else                                                                                         \
                    complex_run_##NAME(dst + q * wide, s, o->col, n);                                        \
            }                                                                                                \
        }                                                                                                    \
    }
COMPLEX(c64, float, f32)
COMPLEX(c128, double, f64)

bool FB_K(gemm_packer)(fb_dtype dtype, fb_gemm_type *type, struct fb_gemm_packer *out)
{
#define CASE(D, TYPE, NAME, FINISH_)                                                                         \
    case D:                                                                                                  \
        *type = TYPE;                                                                                        \
        *out = (struct fb_gemm_packer){panel_a_##NAME, pack_b_##NAME, FINISH_};                              \
        return true;
    switch ((int)dtype) {
        CASE(FB_F32, FB_GEMM_F32, f32, NULL)
        CASE(FB_F64, FB_GEMM_F64, f64, NULL)
        CASE(FB_F16, FB_GEMM_F32, f16, finish_f16)
        CASE(FB_BF16, FB_GEMM_F32, bf16, finish_bf16)
        CASE(FB_C64, FB_GEMM_F32, c64, NULL)
        CASE(FB_C128, FB_GEMM_F64, c128, NULL)
        CASE(FB_I8, FB_GEMM_U16, u8, finish_u8)
        CASE(FB_U8, FB_GEMM_U16, u8, finish_u8)
        CASE(FB_I16, FB_GEMM_U16, u16, NULL)
        CASE(FB_U16, FB_GEMM_U16, u16, NULL)
        CASE(FB_I32, FB_GEMM_U32, u32, NULL)
        CASE(FB_U32, FB_GEMM_U32, u32, NULL)
        CASE(FB_I64, FB_GEMM_U64, u64, NULL)
        CASE(FB_U64, FB_GEMM_U64, u64, NULL)
    }
#undef CASE
    return false;
}
