/* Do two tensors, or two indices of one, share memory? */
#include "runtime/core.h"

/* Sorted by stride, each dimension must step over all that the smaller ones reach. That is exact for what views,
 * expand and as_strided usually make; interleaved layouts that fail the test without overlapping are rare, and are
 * reported only when a stride of 0 (or two equal ones) proves the overlap. */
bool fb_overlaps_itself(const fb_tensor *t)
{
    if (fb_contig(t) || t->numel < 2) return false;
    for (int i = 0; i < t->ndim; i++)
        if (t->sizes[i] > 1 && t->strides[i] == 0) return true;
    return false;
}

static void bytes_of(const fb_tensor *t, const char **begin, const char **end)
{
    int64_t last = 0, item = fb_itemsize((fb_dtype)t->dtype);

    for (int i = 0; i < t->ndim; i++) last += (t->sizes[i] - 1) * t->strides[i];
    *begin = fb_ptr(t);
    *end = *begin + (last + 1) * item;
}

bool fb_is_dense(const fb_tensor *t)
{
    bool used[FB_MAX_DIMS] = {false};
    int64_t expected = 1;

    if (fb_contig(t)) return true;
    for (int k = 0; k < t->ndim; k++) {
        int found = -1;
        for (int i = 0; i < t->ndim && found < 0; i++)
            if (!used[i] && (t->sizes[i] == 1 || t->strides[i] == expected)) found = i;
        if (found < 0) return false;
        used[found] = true;
        if (t->sizes[found] != 1) expected *= t->sizes[found];
    }
    return true;
}

fb_overlap fb_overlap_of(const fb_tensor *a, const fb_tensor *b)
{
    const char *a0, *a1, *b0, *b1;

    if (a == b) return FB_OVERLAP_FULL;
    if (a->numel == 0 || b->numel == 0 || !a->storage->data || !b->storage->data) return FB_OVERLAP_NONE;
    bytes_of(a, &a0, &a1);
    bytes_of(b, &b0, &b1);
    if (a1 <= b0 || b1 <= a0) return FB_OVERLAP_NONE;
    if (a0 == b0 && a->dtype == b->dtype && a->ndim == b->ndim) {
        bool same = true;
        for (int i = 0; i < a->ndim && same; i++)
            same = a->sizes[i] == b->sizes[i] && (a->strides[i] == b->strides[i] || a->sizes[i] == 1);
        if (same) return FB_OVERLAP_FULL;
    }
    return fb_is_dense(a) && fb_is_dense(b) ? FB_OVERLAP_PARTIAL : FB_OVERLAP_UNKNOWN;
}
