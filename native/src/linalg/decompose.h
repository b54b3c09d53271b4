/* A decomposition of each matrix of a batch: what the drivers (decompose.c) hand to the code of one dtype
 * (decompose_body.h), which is included once for each. */
#ifndef FB_LINALG_DECOMPOSE_H
#define FB_LINALG_DECOMPOSE_H

#include "runtime/core.h"

typedef enum {
    FB_LA_LU,       /* in0 (m, n)            -> LU (m, n), pivots (k) */
    FB_LA_DET,      /* in0 (n, n)            -> det */
    FB_LA_SLOGDET,  /* in0 (n, n)            -> sign, log |det| */
    FB_LA_INV,      /* in0 (n, n)            -> inverse, info */
    FB_LA_SOLVE,    /* in0 (n, n), in1 (n, r) -> x (n, r), info */
    FB_LA_CHOLESKY, /* in0 (n, n)            -> L or U, info */
    FB_LA_QR,       /* in0 (m, n)            -> Q (m, q), R (q, n) */
    FB_LA_SVD,      /* in0 (m, n)            -> U (m, u), S (k), Vh (v, n) */
    FB_LA_SVDVALS,  /* in0 (m, n)            -> S (k) */
    FB_LA_EIGH,     /* in0 (n, n)            -> w (n), V (n, n) */
    FB_LA_EIGVALSH, /* in0 (n, n)            -> w (n) */
} fb_la_kind;

typedef struct fb_la_job {
    fb_la_kind kind;
    int64_t m, n, k, r; /* k = min(m, n); r: columns of in1, or of Q */
    bool flag;          /* cholesky, eigh: the upper triangle; svd: full matrices; qr: Q is wanted */
    const char *in[2];
    char *out[4];       /* row-major, one matrix after another */
    int64_t item, real; /* bytes of an element, and of its real part */
    int *info;          /* of each matrix */
    int64_t scratch;    /* bytes for one matrix at a time */
} fb_la_job;

/* Does matrix i; LAPACK's answer: 0, or what kept it from working. */
typedef int (*fb_la_fn)(const fb_la_job *job, int64_t i, char *scratch);
/* The bytes of scratch that it needs. */
typedef int64_t (*fb_la_size_fn)(const fb_la_job *job);

#endif
