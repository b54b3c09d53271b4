/* Sorting one row of keys of type T with their places; included once a dtype with T and NAME(x) defined.
 * NaN counts as greater than every number, in both directions, as PyTorch has it. */

typedef struct NAME(item) { T key; int64_t at; } NAME(item);

/* Does b belong before a? Equal keys keep their order, so that every sort here is stable. */
static inline bool NAME(after)(T a, T b, bool descending)
{
    return descending ? (b > a || (b != b && a == a)) : (b < a || (a != a && b == b));
}

static void NAME(insertion)(NAME(item) *v, int64_t n, bool descending)
{
    for (int64_t i = 1; i < n; i++) {
        NAME(item) x = v[i];
        int64_t k = i;
        for (; k > 0 && NAME(after)(v[k - 1].key, x.key, descending); k--) v[k] = v[k - 1];
        v[k] = x;
    }
}

/* Bottom-up merge sort over runs of 16; `spare` has room for n. The result is in v. */
static void NAME(sort)(NAME(item) *v, NAME(item) *spare, int64_t n, bool descending)
{
    NAME(item) *from = v, *to = spare, *t;

    for (int64_t i = 0; i < n; i += 16) NAME(insertion)(v + i, FB_MIN(16, n - i), descending);
    for (int64_t width = 16; width < n; width *= 2) {
        for (int64_t i = 0; i < n; i += 2 * width) {
            int64_t a = i, m = FB_MIN(i + width, n), b = m, end = FB_MIN(i + 2 * width, n), k = i;
            if (b >= end || !NAME(after)(from[b - 1].key, from[b].key, descending)) { /* in order already */
                memcpy(to + i, from + i, (size_t)(end - i) * sizeof *from);
                continue;
            }
            while (a < m && b < end) to[k++] = NAME(after)(from[a].key, from[b].key, descending) ? from[b++] : from[a++];
            while (a < m) to[k++] = from[a++];
            while (b < end) to[k++] = from[b++];
        }
        t = from, from = to, to = t;
    }
    if (from != v) memcpy(v, from, (size_t)n * sizeof *v);
}

/* The k first of n, in order, in v[0..k): a heap of the k best so far, its root the worst of them. */
static void NAME(sift)(NAME(item) *h, int64_t k, int64_t i, bool descending)
{
    NAME(item) x = h[i];

    for (int64_t c; (c = 2 * i + 1) < k; i = c) {
        /* the parent is the later one: by key, then by place */
        if (c + 1 < k && (NAME(after)(h[c + 1].key, h[c].key, descending) ||
                          (!NAME(after)(h[c].key, h[c + 1].key, descending) && h[c + 1].at > h[c].at))) c++;
        if (NAME(after)(x.key, h[c].key, descending) || (!NAME(after)(h[c].key, x.key, descending) && x.at > h[c].at)) break;
        h[i] = h[c];
    }
    h[i] = x;
}

static void NAME(first)(NAME(item) *v, NAME(item) *spare, int64_t n, int64_t k, bool descending)
{
    if (k == 0) return;
    if (k > n / 8 || n <= 64) {
        NAME(sort)(v, spare, n, descending);
        return;
    }
    for (int64_t i = k / 2 - 1; i >= 0; i--) NAME(sift)(v, k, i, descending);
    for (int64_t i = k; i < n; i++)
        if (NAME(after)(v[0].key, v[i].key, descending)) {
            v[0] = v[i];
            NAME(sift)(v, k, 0, descending);
        }
    NAME(sort)(v, spare, k, descending);
}

/* One row: keys x[0], x[step], ...; `how` says what is wanted of it. */
static void NAME(row)(const sort_job *j, void *scratch, const void *keys, int64_t n, int64_t step, void *values, int64_t *indices, int64_t out_step)
{
    NAME(item) *v = scratch, *spare = v + n;
    const T *x = keys;
    T *to = values;

    for (int64_t i = 0; i < n; i++) v[i] = (NAME(item)){x[i * step], i};
    switch (j->how) {
    case SORT_ALL: NAME(sort)(v, spare, n, j->descending); break;
    case SORT_FIRST: NAME(first)(v, spare, n, j->k, j->descending); break;
    case SORT_KTH: {
        NAME(first)(v, spare, n, j->k, false);
        to[0] = v[j->k - 1].key;
        indices[0] = v[j->k - 1].at;
        return;
    }
    case SORT_MEDIAN: case SORT_NANMEDIAN: {
        int64_t nans = 0, first_nan = -1, k;
        for (int64_t i = 0; i < n; i++)
            if (x[i * step] != x[i * step]) {
                if (first_nan < 0) first_nan = i;
                nans++;
            }
        if (nans && (j->how == SORT_MEDIAN || nans == n)) {
            to[0] = x[first_nan * step];
            indices[0] = first_nan;
            return;
        }
        k = (n - nans - 1) / 2 + 1;
        NAME(first)(v, spare, n, k, false);
        to[0] = v[k - 1].key;
        indices[0] = v[k - 1].at;
        return;
    }
    case SORT_MODE: { /* the smallest of the most frequent, and its last place */
        int64_t best = 0, best_count = 0;
        NAME(sort)(v, spare, n, false);
        for (int64_t i = 0, e; i < n; i = e) {
            for (e = i + 1; e < n && v[e].key == v[i].key; e++) {}
            if (e - i > best_count) {
                best_count = e - i;
                best = e - 1;
            }
        }
        to[0] = v[best].key;
        indices[0] = v[best].at;
        return;
    }
    }
    for (int64_t i = 0; i < j->k; i++) {
        to[i * out_step] = v[i].key;
        indices[i * out_step] = v[i].at;
    }
}
#undef T
#undef NAME
