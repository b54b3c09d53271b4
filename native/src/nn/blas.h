/* The BLAS that the core was built with. FB_BLAS(sgemm_) is the Fortran name of a routine, whatever prefix the
 * library gives it (scipy-openblas: scipy_sgemm_); integers are 32 bits. Without one, FB_HAVE_BLAS is not defined. */
#ifndef FB_NN_BLAS_H
#define FB_NN_BLAS_H

#ifdef FB_HAVE_BLAS
#define FB_BLAS_CAT_(a, b) a##b
#define FB_BLAS_CAT(a, b)  FB_BLAS_CAT_(a, b)
#define FB_BLAS(name)      FB_BLAS_CAT(FB_BLAS_PREFIX, name)

/* Column-major, as all of Fortran: c (m, n) = alpha * op(a) op(b) + beta * c. Complex ones take pairs of reals. */
#define FB_BLAS_GEMM(NAME, T)                                                                                \
    void FB_BLAS(NAME)(const char *transa, const char *transb, const int *m, const int *n, const int *k,     \
                       const T *alpha, const T *a, const int *lda, const T *b, const int *ldb,               \
                       const T *beta, T *c, const int *ldc)
FB_BLAS_GEMM(sgemm_, float);
FB_BLAS_GEMM(dgemm_, double);
FB_BLAS_GEMM(cgemm_, float);
FB_BLAS_GEMM(zgemm_, double);
#endif

/* Keeps the BLAS to the calling thread: our pool divides the work. Cheap; called before the first use. */
void fb_blas_init(void);

#endif
