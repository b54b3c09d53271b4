/* Where our tiles are no match for a BLAS with assembly for the machine at hand (the baseline copy on a newer x86,
 * other architectures), a tile of c is one call of it. With AVX2 and AVX-512 our own are as fast: on one Zen 4 core
 * 1024 x 1024 x 1024 took 21.9 ms with ours and 21.1 with OpenBLAS 0.3.34, 64 x 64 x 64 4.7 and 4.8 us, 8 x 8 x 8
 * 50 and 39 ns of which 15 are the loop over shapes; and ours convert and unfold while packing. */
#include "kernels/gemm.h"
#include "nn/blas.h"

#if defined(FB_HAVE_BLAS) && FB_VECTOR == 16
/* How a side of strides (row, col) is passed to a column-major routine that computes c^T = b^T a^T. */
static bool side(int64_t rows, int64_t cols, int64_t row, int64_t col, char *trans, int *ld)
{
    if (col == 1 || cols == 1) {
        *trans = 'N';
        *ld = (int)FB_MAX(row, FB_MAX(cols, 1));
        return (row >= cols || rows == 1) && row <= INT32_MAX;
    }
    if (row == 1 || rows == 1) {
        *trans = 'T';
        *ld = (int)FB_MAX(col, FB_MAX(rows, 1));
        return (col >= rows || cols == 1) && col <= INT32_MAX;
    }
    return false;
}

bool FB_K(gemm_blas)(fb_dtype dtype, int64_t m, int64_t n, int64_t k, const fb_gemm_operand *a,
                     const fb_gemm_operand *b, void *c, int64_t c_row, bool dry)
{
    char ta, tb;
    int lda, ldb;
    if (!fb_is(FB_BIT(FB_F32) | FB_BIT(FB_F64) | FB_COMPLEXES, dtype) || k == 0 || m > INT32_MAX ||
        n > INT32_MAX || k > INT32_MAX || c_row < n || c_row > INT32_MAX ||
        !side(m, k, a->row, a->col, &ta, &lda) || !side(k, n, b->row, b->col, &tb, &ldb))
        return false;
    if (dry) return true;
    const int mi = (int)m, ni = (int)n, ki = (int)k, ldc = (int)c_row;
#define CALL(NAME, T)                                                                                        \
    {                                                                                                        \
        const T one[2] = {1, 0}, zero[2] = {0, 0};                                                           \
        FB_BLAS(NAME)(&tb, &ta, &ni, &mi, &ki, one, b->data, &ldb, a->data, &lda, zero, c, &ldc);            \
    }
    fb_blas_init();
    switch ((int)dtype) {
    case FB_F32: CALL(sgemm_, float) break;
    case FB_F64: CALL(dgemm_, double) break;
    case FB_C64: CALL(cgemm_, float) break;
    case FB_C128: CALL(zgemm_, double) break;
    default: return false;
    }
    return true;
}
#else
bool FB_K(gemm_blas)(fb_dtype dtype, int64_t m, int64_t n, int64_t k, const fb_gemm_operand *a,
                     const fb_gemm_operand *b, void *c, int64_t c_row, bool dry)
{
    (void)dtype, (void)m, (void)n, (void)k, (void)a, (void)b, (void)c, (void)c_row, (void)dry;
    return false;
}
#endif
