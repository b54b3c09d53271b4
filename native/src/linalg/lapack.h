/* The LAPACK routines that the decompositions call, by their Fortran names (see nn/blas.h). A character argument has
 * a hidden length at the end of the list, as gfortran passes it. */
#ifndef FB_LINALG_LAPACK_H
#define FB_LINALG_LAPACK_H

#include "nn/blas.h"
#include <stddef.h>

#ifdef FB_HAVE_BLAS
#define FB_LAPACK_ALL(P, T)                                                                                            \
    void FB_BLAS(P##getrf_)(const int *m, const int *n, T *a, const int *lda, int *pivots, int *info);                 \
    void FB_BLAS(P##getri_)(const int *n, T *a, const int *lda, const int *pivots, T *work, const int *lwork,          \
                            int *info);                                                                                \
    void FB_BLAS(P##getrs_)(const char *trans, const int *n, const int *nrhs, const T *a, const int *lda,              \
                            const int *pivots, T *b, const int *ldb, int *info, size_t);                               \
    void FB_BLAS(P##potrf_)(const char *uplo, const int *n, T *a, const int *lda, int *info, size_t);                  \
    void FB_BLAS(P##geqrf_)(const int *m, const int *n, T *a, const int *lda, T *tau, T *work, const int *lwork,       \
                            int *info);
#define FB_LAPACK_REAL(P, T)                                                                                           \
    FB_LAPACK_ALL(P, T)                                                                                                \
    void FB_BLAS(P##orgqr_)(const int *m, const int *n, const int *k, T *a, const int *lda, const T *tau, T *work,     \
                            const int *lwork, int *info);                                                              \
    void FB_BLAS(P##gesdd_)(const char *job, const int *m, const int *n, T *a, const int *lda, T *s, T *u,             \
                            const int *ldu, T *vt, const int *ldvt, T *work, const int *lwork, int *iwork, int *info,  \
                            size_t);                                                                                   \
    void FB_BLAS(P##syevd_)(const char *job, const char *uplo, const int *n, T *a, const int *lda, T *w, T *work,      \
                            const int *lwork, int *iwork, const int *liwork, int *info, size_t, size_t);
#define FB_LAPACK_COMPLEX(P, T, R)                                                                                     \
    FB_LAPACK_ALL(P, T)                                                                                                \
    void FB_BLAS(P##ungqr_)(const int *m, const int *n, const int *k, T *a, const int *lda, const T *tau, T *work,     \
                            const int *lwork, int *info);                                                              \
    void FB_BLAS(P##gesdd_)(const char *job, const int *m, const int *n, T *a, const int *lda, R *s, T *u,             \
                            const int *ldu, T *vt, const int *ldvt, T *work, const int *lwork, R *rwork, int *iwork,   \
                            int *info, size_t);                                                                        \
    void FB_BLAS(P##heevd_)(const char *job, const char *uplo, const int *n, T *a, const int *lda, R *w, T *work,      \
                            const int *lwork, R *rwork, const int *lrwork, int *iwork, const int *liwork, int *info,   \
                            size_t, size_t);

FB_LAPACK_REAL(s, float)
FB_LAPACK_REAL(d, double)
FB_LAPACK_COMPLEX(c, float _Complex, float)
FB_LAPACK_COMPLEX(z, double _Complex, double)
#endif
#endif
