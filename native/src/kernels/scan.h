/* Scans and softmax: kernels over dense memory of shape (outer, n, inner), all of one dtype. */
#ifndef FB_KERNELS_SCAN_H
#define FB_KERNELS_SCAN_H

#include "kernels/elementwise.h"

/* One slice of n rows of w columns, rows `step` elements apart, scanned down the columns (up if back). index may be
 * NULL. With step = 1 (then w = 1): `lines` lines that lie n elements apart. */
typedef void (*fb_scan_fn)(int64_t lines, int64_t n, int64_t w, int64_t step, bool back, void *out, int64_t *index, const void *in);

enum { FB_SCAN_SUM, FB_SCAN_PROD, FB_SCAN_MAX, FB_SCAN_MIN, FB_SCAN_LOGSUMEXP, FB_N_SCANS };

/* out of in (and of grad, for the derivatives); lines of n elements if step = 1, else w columns of n rows `step` apart. */
typedef void (*fb_softmax_fn)(int64_t lines, int64_t n, int64_t w, int64_t step, void *out, const void *in, const void *grad);

enum { FB_SOFTMAX, FB_LOG_SOFTMAX, FB_SOFTMAX_BACK, FB_LOG_SOFTMAX_BACK, FB_N_SOFTMAXES };
enum { FB_SOFTMAX_WIDTH = 256 };


extern const fb_scan_fn fb_scans_base[FB_N_SCANS][FB_N_DTYPES], fb_scans_avx2[FB_N_SCANS][FB_N_DTYPES],
    fb_scans_avx512[FB_N_SCANS][FB_N_DTYPES];
extern const fb_softmax_fn fb_softmaxes_base[FB_N_SOFTMAXES][FB_N_DTYPES], fb_softmaxes_avx2[FB_N_SOFTMAXES][FB_N_DTYPES],
    fb_softmaxes_avx512[FB_N_SOFTMAXES][FB_N_DTYPES];

#endif
