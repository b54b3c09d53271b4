/* Dimensions and shapes: wrapping, masks, broadcasting, and their texts in messages. */
#include "runtime/core.h"
#include <stdio.h>

const char *fb_shape_text(int64_t ndim, const int64_t *sizes)
{
    static _Thread_local char ring[4][FB_MAX_DIMS * 21 + 3]; /* a message names at most four shapes */
    static _Thread_local unsigned turn;
    char *text = ring[turn++ % 4], *p = text;

    ndim = FB_MIN(FB_MAX(ndim, 0), FB_MAX_DIMS);
    *p++ = '[';
    for (int64_t i = 0; i < ndim; i++) p += sprintf(p, i ? ", %lld" : "%lld", (long long)sizes[i]);
    *p++ = ']';
    *p = 0;
    return text;
}

fb_status fb_wrap_dim(int64_t dim, int64_t ndim, int64_t *out)
{
    int64_t n = FB_MAX(ndim, 1);

    if (dim < -n || dim >= n) {
        *out = 0; /* the compiler cannot see that fb_fail is never FB_OK */
        return fb_fail(FB_EINDEX, "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)", (long long)-n,
                       (long long)n - 1, (long long)dim);
    }
    *out = dim < 0 ? dim + n : dim;
    return FB_OK;
}

fb_status fb_dim_mask(fb_ints dims, int64_t ndim, bool empty_is_all, uint64_t *mask)
{
    int64_t d;

    *mask = 0;
    if (dims.n < 0 || (dims.n == 0 && empty_is_all)) {
        *mask = ndim >= 64 ? ~0ull : (1ull << ndim) - 1;
        return FB_OK;
    }
    for (int64_t i = 0; i < dims.n; i++) {
        FB_TRY(fb_wrap_dim(dims.v[i], ndim, &d));
        if (*mask >> d & 1)
            return fb_fail(FB_ERUNTIME, "dim %lld appears multiple times in the list of dims", (long long)d);
        *mask |= 1ull << d;
    }
    if (ndim == 0) *mask = 0;
    return FB_OK;
}

fb_status fb_broadcast_shape(int n, fb_tensor *const *tensors, int64_t *ndim, int64_t sizes[FB_MAX_DIMS])
{
    int64_t dims = 0;

    for (int k = 0; k < n; k++)
        if (tensors[k]) dims = FB_MAX(dims, tensors[k]->ndim);
    for (int64_t i = 0; i < dims; i++) sizes[i] = 1;
    for (int k = 0; k < n; k++) {
        if (!tensors[k]) continue;
        for (int64_t i = 0, j = dims - tensors[k]->ndim; i < tensors[k]->ndim; i++, j++) {
            int64_t s = tensors[k]->sizes[i];
            if (s == sizes[j] || s == 1) continue;
            if (sizes[j] != 1)
                return fb_fail(FB_ESHAPE,
                               "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %lld",
                               (long long)sizes[j], (long long)s, (long long)j);
            sizes[j] = s;
        }
    }
    *ndim = dims;
    return FB_OK;
}
