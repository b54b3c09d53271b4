/* The reduce family: from a frame to folds over memory.
 *
 * Dimensions are ordered by stride, and neighbours that are both reduced or both kept are merged. Two walks:
 *   rows     the innermost dimension is reduced: each result folds blocks of FB_FOLD_BLOCK elements;
 *   columns  it is kept: FB_FOLD_WIDTH results at a time fold steps of FB_FOLD_ROWS rows.
 * Blocks that are not dense, or of another dtype than the fold's, are gathered and cast first. A reduction that is too
 * long for its number of results is cut into parts of fixed size, whose accumulators meet in a second pass. */
#include "kernels/reduce.h"

extern const uint8_t fb_itemsizes[];

typedef struct rdim { int64_t size, stride, out; } rdim; /* strides in bytes of the input, in elements of the result */

typedef struct job {
    const fb_fold *fold;
    const fb_fold_args *args;
    fb_cast_fn cast;
    const char *data;
    int dtype, mid, compute;   /* in memory, rounded through, folded in */
    int n_kept, n_reduced;
    rdim kept[FB_MAX_DIMS], reduced[FB_MAX_DIMS]; /* innermost first */
    int64_t n_results, length; /* results; elements of each */
    int n_out;
    char *out[2];
    int out_dtype[2], out_slot[2], out_mid[2];
    /* parts */
    int64_t parts, part_length; /* a reduction in pieces of part_length elements (rows, for columns) */
    char *partial;              /* [results or column chunks][parts] accumulators */
    int64_t chunks, width;      /* columns: chunks of the innermost kept dimension */
} job;

/* ---- reading ------------------------------------------------------------------------------------- */
static const char *address(const job *j, const rdim *dims, int n, int64_t index)
{
    const char *p = j->data;
    for (int d = 0; d < n && index; d++) {
        p += index % dims[d].size * dims[d].stride;
        index /= dims[d].size;
    }
    return p;
}

static int64_t place(const rdim *dims, int n, int64_t index)
{
    int64_t at = 0;
    for (int d = 0; d < n && index; d++) {
        at += index % dims[d].size * dims[d].out;
        index /= dims[d].size;
    }
    return at;
}

static void convert(const job *j, int64_t n, char *dst, const char *src, char *temp)
{
    if (j->mid != j->dtype && j->mid != j->compute) {
        j->cast(j->dtype, j->mid, n, temp, src);
        src = temp;
        j->cast(j->mid, j->compute, n, dst, src);
    } else {
        j->cast(j->dtype, j->compute, n, dst, src);
    }
}

typedef uint16_t __attribute__((may_alias, aligned(1))) u2;
typedef uint32_t __attribute__((may_alias, aligned(1))) u4;
typedef uint64_t __attribute__((may_alias, aligned(1))) u8;
static void gather(char *dst, const char *src, int64_t stride, int64_t n, int size)
{
    switch (size) {
    case 1: for (int64_t i = 0; i < n; i++) dst[i] = src[i * stride]; break;
    case 2: for (int64_t i = 0; i < n; i++) ((u2 *)dst)[i] = *(const u2 *)(src + i * stride); break;
    case 4: for (int64_t i = 0; i < n; i++) ((u4 *)dst)[i] = *(const u4 *)(src + i * stride); break;
    case 8: for (int64_t i = 0; i < n; i++) ((u8 *)dst)[i] = *(const u8 *)(src + i * stride); break;
    default: for (int64_t i = 0; i < n; i++) memcpy(dst + i * 16, src + i * stride, 16); break;
    }
}

/* n elements of a reduction from position `first` on, starting at base: dense and of the compute dtype, in memory
 * itself or in block. */
static const char *fetch(const job *j, const char *base, int64_t first, int64_t n, char *block, char *temp, char *raw)
{
    int size = fb_itemsizes[j->dtype];
    const rdim *r = j->reduced;
    bool same = j->dtype == j->compute;
    if (j->n_reduced == 1 && r[0].stride == size) {
        const char *p = base + first * size;
        if (same) return p;
        convert(j, n, block, p, temp);
        return block;
    }
    char *to = same ? block : raw;
    int64_t at[FB_MAX_DIMS], index = first, left = n;
    const char *p = base;
    for (int d = 0; d < j->n_reduced; d++) {
        at[d] = index % r[d].size;
        index /= r[d].size;
        p += at[d] * r[d].stride;
    }
    while (left > 0) {
        int64_t m = FB_MIN(left, r[0].size - at[0]);
        if (r[0].stride == size) memcpy(to, p, (size_t)(m * size));
        else gather(to, p, r[0].stride, m, size);
        to += m * size;
        left -= m;
        p -= at[0] * r[0].stride;
        at[0] = 0;
        for (int d = 1; d < j->n_reduced; d++) {
            p += r[d].stride;
            if (++at[d] < r[d].size) break;
            p -= at[d] * r[d].stride;
            at[d] = 0;
        }
    }
    if (!same) convert(j, n, block, raw, temp);
    return block;
}

/* ---- writing ------------------------------------------------------------------------------------- */
/* w results from their accumulators; they lie `step` apart in the output from `at` on. */
static void write_results(const job *j, int64_t w, const void *acc, int64_t at, int64_t step)
{
    _Alignas(64) char made[2][FB_FOLD_WIDTH * 16], as[FB_FOLD_WIDTH * 16], via[FB_FOLD_WIDTH * 16];
    void *const slots[2] = {made[0], j->n_out > 1 ? made[1] : NULL};
    j->fold->finish(w, acc, j->length, slots, j->args);
    for (int k = 0; k < j->n_out; k++) {
        const char *src = made[k];
        int size = fb_itemsizes[j->out_dtype[k]], slot = j->out_slot[k];
        if (j->out_mid[k] != slot && j->out_mid[k] != j->out_dtype[k]) {
            j->cast(slot, j->out_mid[k], w, via, src);
            src = via;
            slot = j->out_mid[k];
        }
        if (slot != j->out_dtype[k]) {
            j->cast(slot, j->out_dtype[k], w, as, src);
            src = as;
        }
        if (step == 1) {
            memcpy(j->out[k] + at * size, src, (size_t)(w * size));
        } else {
            for (int64_t i = 0; i < w; i++) memcpy(j->out[k] + (at + i * step) * size, src + i * size, (size_t)size);
        }
    }
}

/* ---- a binary counter of accumulators: joins equals, so that the tree is balanced and fixed ------- */
enum { MAX_LEVELS = 48 };
typedef struct tower {
    const fb_fold *fold;
    int64_t w, bytes, count;      /* width; bytes of an accumulator block; blocks pushed */
    int64_t n[MAX_LEVELS];        /* elements in a level's accumulator */
    int level[MAX_LEVELS], top;   /* stack */
    char *room;                   /* blocks of the stack, and one to fill next */
} tower;

static void *tower_next(tower *t) { return t->room + t->top * t->bytes; }

/* The block at tower_next, of n elements, has been filled. */
static void tower_push(tower *t, int64_t n)
{
    t->n[t->top] = n;
    t->level[t->top++] = 0;
    while (t->top > 1 && t->level[t->top - 1] == t->level[t->top - 2]) {
        int b = t->top - 1, a = b - 1;
        t->fold->join(t->w, t->room + a * t->bytes, t->n[a], t->room + b * t->bytes, t->n[b]);
        t->n[a] += t->n[b];
        t->level[a]++;
        t->top--;
    }
}

static void *tower_end(tower *t)
{
    while (t->top > 1) {
        int b = t->top - 1, a = b - 1;
        t->fold->join(t->w, t->room + a * t->bytes, t->n[a], t->room + b * t->bytes, t->n[b]);
        t->n[a] += t->n[b];
        t->top--;
    }
    return t->room;
}

static int levels_for(int64_t pushes)
{
    int n = 2;
    while (pushes > 0) {
        n++;
        pushes >>= 1;
    }
    return n;
}

/* ---- rows ---------------------------------------------------------------------------------------- */
/* Part `part` of one reduction -> acc (width 1). */
static void fold_part(const job *j, const char *base, int64_t part, void *acc, char *block, char *temp, char *raw)
{
    int64_t first = part * j->part_length, last = FB_MIN(first + j->part_length, j->length);
    char room[MAX_LEVELS * 32];
    tower t = {.fold = j->fold, .w = 1, .bytes = 32, .room = room};
    do {
        int64_t n = FB_MIN(last - first, FB_FOLD_BLOCK);
        const char *v = n > 0 ? fetch(j, base, first, n, block, temp, raw) : base;
        j->fold->rows(1, n, v, 0, first, tower_next(&t), j->args);
        tower_push(&t, n);
        first += n;
    } while (first < last);
    memcpy(acc, tower_end(&t), (size_t)j->fold->acc_bytes);
}

#define BLOCKS                                                                                             \
    _Alignas(64) char block[FB_FOLD_BLOCK * 16], temp[FB_FOLD_BLOCK * 4], raw[FB_FOLD_BLOCK * 16]

#define PARTIAL(j) (((j)->fold->acc_bytes + 15) & ~15) /* accumulators of parts lie this far apart */

static void rows_in_parts(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    BLOCKS;
    for (int64_t i = begin; i < end; i++)
        fold_part(j, address(j, j->kept, j->n_kept, i / j->parts), i % j->parts, j->partial + i * PARTIAL(j), block, temp, raw);
}

static void rows_join_parts(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int bytes = j->fold->acc_bytes, apart = PARTIAL(j);
    for (int64_t i = begin; i < end; i++) {
        char room[MAX_LEVELS * 32];
        tower t = {.fold = j->fold, .w = 1, .bytes = 32, .room = room};
        for (int64_t p = 0; p < j->parts; p++) {
            memcpy(tower_next(&t), j->partial + (i * j->parts + p) * apart, (size_t)bytes);
            tower_push(&t, FB_MIN(j->part_length, j->length - p * j->part_length));
        }
        write_results(j, 1, tower_end(&t), place(j->kept, j->n_kept, i), 1);
    }
}

/* Results begin..end, a row each. */
static void rows(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    BLOCKS;
    int size = fb_itemsizes[j->dtype];
    bool direct = j->dtype == j->compute && j->n_reduced == 1 && j->reduced[0].stride == size && j->length <= FB_FOLD_BLOCK &&
                  j->n_kept && j->kept[0].stride % size == 0;
    while (begin < end) {
        int64_t inner = j->n_kept ? j->kept[0].size : 1, first = begin % inner;
        int64_t m = FB_MIN(FB_MIN(inner - first, end - begin), FB_FOLD_WIDTH);
        const char *base = address(j, j->kept, j->n_kept, begin);
        int64_t at = place(j->kept, j->n_kept, begin), step = j->n_kept ? j->kept[0].out : 1;
        if (direct) {
            _Alignas(64) char acc[FB_FOLD_WIDTH * 32];
            j->fold->rows(m, j->length, base, j->kept[0].stride / size, 0, acc, j->args);
            write_results(j, m, acc, at, step);
        } else {
            m = 1;
            _Alignas(16) char acc[32];
            fold_part(j, base, 0, acc, block, temp, raw);
            write_results(j, 1, acc, at, 1);
        }
        begin += m;
    }
}

/* ---- columns ------------------------------------------------------------------------------------- */
typedef struct columns { int64_t outer, at, w; } columns;

static columns columns_of(const job *j, int64_t chunk)
{
    columns c = {chunk / j->chunks, chunk % j->chunks * j->width, 0};
    c.w = FB_MIN(j->width, j->kept[0].size - c.at);
    return c;
}

/* Rows [first, last) of a chunk of columns -> the tower. */
static void fold_columns(const job *j, columns c, int64_t first, int64_t last, tower *t, char *block, char *temp, char *raw)
{
    int size = fb_itemsizes[j->dtype];
    const rdim *k = j->kept, *r = j->reduced;
    const char *base = address(j, k + 1, j->n_kept - 1, c.outer) + c.at * k[0].stride;
    bool dense = k[0].stride == size, same = j->dtype == j->compute;
    int64_t inner = j->n_reduced ? r[0].size : 1, step = j->n_reduced ? r[0].stride : 0;
    bool in_place = dense && same && step % size == 0;
    int64_t fit = in_place ? FB_FOLD_ROWS : FB_MAX(1, FB_MIN(FB_FOLD_ROWS, FB_FOLD_BLOCK / c.w));

    /* Few columns whose rows lie end to end: several rows are taken as one wide one. */
    int64_t together = 1;
    if (in_place && j->fold->plain && c.w == k[0].size && step == c.w * size)
        while (together * 2 * c.w <= FB_FOLD_WIDTH) together *= 2;

    while (first < last) {
        int64_t i = first % inner, n = FB_MIN(FB_MIN(inner - i, last - first), fit * together);
        const char *p = base;
        int64_t index = first;
        for (int d = 0; d < j->n_reduced; d++) {
            p += index % r[d].size * r[d].stride;
            index /= r[d].size;
        }
        if (together > 1 && n >= together) {
            n -= n % together;
            j->fold->cols(n / together, c.w * together, p, c.w * together, first, block, j->args);
            for (int64_t half = together / 2; half; half /= 2)
                j->fold->join(c.w * half, block, 1, block + c.w * half * j->fold->acc_bytes, 1);
            memcpy(tower_next(t), block, (size_t)(c.w * j->fold->acc_bytes));
        } else if (in_place) {
            n = FB_MIN(n, fit);
            j->fold->cols(n, c.w, p, step / size, first, tower_next(t), j->args);
        } else {
            char *to = same ? block : raw;
            for (int64_t row = 0; row < n; row++, p += step, to += c.w * size) {
                if (dense) memcpy(to, p, (size_t)(c.w * size));
                else gather(to, p, k[0].stride, c.w, size);
            }
            if (!same) convert(j, n * c.w, block, raw, temp);
            j->fold->cols(n, c.w, block, c.w, first, tower_next(t), j->args);
        }
        tower_push(t, n);
        first += n;
    }
}

#define TOWER(pushes) /* a tower of this chunk's width on the stack */                                     \
    int64_t bytes = (j->width * j->fold->acc_bytes + 63) & ~(int64_t)63;                                   \
    int levels = levels_for(pushes);                                                                       \
    _Alignas(64) char room[(size_t)bytes * (size_t)levels];                                                \
    tower t = {.fold = j->fold, .bytes = bytes, .room = room}

static void columns_whole(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    BLOCKS;
    TOWER(j->length);
    for (int64_t i = begin; i < end; i++) {
        columns c = columns_of(j, i);
        t.w = c.w;
        t.top = 0;
        fold_columns(j, c, 0, j->length, &t, block, temp, raw);
        write_results(j, c.w, tower_end(&t), place(j->kept + 1, j->n_kept - 1, c.outer) + c.at * j->kept[0].out, j->kept[0].out);
    }
}

static void columns_in_parts(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    BLOCKS;
    TOWER(j->part_length);
    for (int64_t i = begin; i < end; i++) {
        columns c = columns_of(j, i / j->parts);
        int64_t first = i % j->parts * j->part_length, last = FB_MIN(first + j->part_length, j->length);
        t.w = c.w;
        t.top = 0;
        fold_columns(j, c, first, last, &t, block, temp, raw);
        memcpy(j->partial + i * bytes, tower_end(&t), (size_t)(c.w * j->fold->acc_bytes));
    }
}

static void columns_join_parts(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    TOWER(j->parts);
    for (int64_t i = begin; i < end; i++) {
        columns c = columns_of(j, i);
        t.w = c.w;
        t.top = 0;
        for (int64_t p = 0; p < j->parts; p++) {
            memcpy(tower_next(&t), j->partial + (i * j->parts + p) * bytes, (size_t)(c.w * j->fold->acc_bytes));
            tower_push(&t, FB_MIN(j->part_length, j->length - p * j->part_length));
        }
        write_results(j, c.w, tower_end(&t), place(j->kept + 1, j->n_kept - 1, c.outer) + c.at * j->kept[0].out, j->kept[0].out);
    }
}

/* ---- planning ------------------------------------------------------------------------------------ */
static int merge(rdim *dims, int n, bool with_out)
{
    int last = -1;
    for (int d = 0; d < n; d++) {
        if (last >= 0 && dims[d].stride == dims[last].stride * dims[last].size &&
            (!with_out || dims[d].out == dims[last].out * dims[last].size)) {
            dims[last].size *= dims[d].size;
            continue;
        }
        dims[++last] = dims[d];
    }
    return last + 1;
}

static void sort(rdim *dims, int n)
{
    for (int i = 1; i < n; i++) {
        rdim d = dims[i];
        int k = i;
        for (; k > 0 && dims[k - 1].stride > d.stride; k--) dims[k] = dims[k - 1];
        dims[k] = d;
    }
}

/* Positions are counted over the reduced dimensions in row-major order: no sorting among them. */
static void split_dims(job *j, const fb_tensor *t, uint64_t mask, bool ordered)
{
    int64_t size = fb_itemsizes[t->dtype], out = 1;
    j->n_kept = j->n_reduced = 0;
    j->n_results = j->length = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        rdim r = {t->sizes[d], t->strides[d] * size, out};
        if (mask >> d & 1) {
            j->length *= r.size;
            if (r.size != 1) j->reduced[j->n_reduced++] = r;
        } else {
            j->n_results *= r.size;
            out *= r.size;
            if (r.size != 1) j->kept[j->n_kept++] = r;
        }
    }
    sort(j->kept, j->n_kept);
    if (!ordered) sort(j->reduced, j->n_reduced);
    j->n_kept = merge(j->kept, j->n_kept, true);
    j->n_reduced = merge(j->reduced, j->n_reduced, false);
}

static fb_status run(job *j, double ns, fb_frame *f)
{
    bool by_rows = j->n_reduced && (!j->n_kept || j->reduced[0].stride <= j->kept[0].stride);
    double cost = ns * (j->dtype == j->compute ? 1 : 2);
    if (by_rows) {
        /* Few long reductions are cut, so that threads share them. */
        j->parts = 1;
        j->part_length = FB_MAX(j->length, 1);
        if (j->length > 8 * FB_FOLD_BLOCK && j->n_results < 64) {
            j->part_length = 4 * FB_FOLD_BLOCK;
            j->parts = (j->length + j->part_length - 1) / j->part_length;
        }
        if (j->parts == 1) {
            fb_parallel_range(j->n_results, cost * (double)j->length + 10, rows, j);
            return FB_OK;
        }
        if (!(j->partial = fb_scratch(f, j->n_results * j->parts * PARTIAL(j)))) return FB_FAIL;
        fb_parallel_range(j->n_results * j->parts, cost * (double)j->part_length, rows_in_parts, j);
        fb_parallel_range(j->n_results, 20.0 * (double)j->parts, rows_join_parts, j);
        return FB_OK;
    }
    if (!j->n_kept) j->kept[j->n_kept++] = (rdim){1, fb_itemsizes[j->dtype], 1};
    j->width = FB_MIN(j->kept[0].size, FB_FOLD_WIDTH);
    j->chunks = (j->kept[0].size + j->width - 1) / j->width;
    int64_t tasks = j->n_results / j->kept[0].size * j->chunks;
    j->parts = 1;
    j->part_length = j->length;
    if (tasks < 16 && j->length * j->width > 1 << 17) {
        int64_t rows_each = ((1 << 16) / j->width + FB_FOLD_ROWS - 1) / FB_FOLD_ROWS * FB_FOLD_ROWS;
        j->part_length = rows_each;
        j->parts = (j->length + rows_each - 1) / rows_each;
    }
    double each = cost * (double)(FB_MIN(j->part_length, j->length) * j->width);
    if (j->parts == 1) {
        fb_parallel_range(tasks, each + 50, columns_whole, j);
        return FB_OK;
    }
    int64_t bytes = (j->width * j->fold->acc_bytes + 63) & ~(int64_t)63;
    if (!(j->partial = fb_scratch(f, tasks * j->parts * bytes))) return FB_FAIL;
    fb_parallel_range(tasks * j->parts, each, columns_in_parts, j);
    fb_parallel_range(tasks, 0.5 * (double)(j->parts * j->width), columns_join_parts, j);
    return FB_OK;
}

static int slot_dtype(char slot, int of)
{
    return slot == 'i' ? FB_I64 : slot == 'b' ? FB_BOOL : slot == 'r' ? (int)fb_real_of((fb_dtype)of) : of;
}

static int compute_dtype(const fb_fold *const *folds, int dtype)
{
    if (folds[dtype]) return dtype;
    int ct = fb_compute_type((fb_dtype)dtype);
    if (folds[ct]) return ct;
    if (ct == FB_BOOL && folds[FB_U8]) return FB_U8;
    return ct <= FB_U32 && folds[FB_I64] ? FB_I64 : FB_NONE;
}

fb_status fb_reduce_run(const fb_reduce *family, const char *name, const fb_tensor *t, uint64_t mask, fb_dtype common, fb_tensor *const *outs,
                        const fb_fold_args *args, fb_frame *f)
{
    const fb_fold *const *folds = family->folds[fb_isa()];
    job j;
    memset(&j, 0, offsetof(job, kept));
    j.compute = family->truth ? FB_BOOL : compute_dtype(folds, common);
    if (j.compute == FB_NONE || !folds[j.compute])
        return fb_fail(FB_ENOTIMPL, "\"%s_cpu\" not implemented for '%s'", name, fb_dtype_label(common));
    j.fold = folds[j.compute];
    j.args = args;
    j.cast = fb_cast_for_isa();
    j.dtype = t->dtype;
    j.mid = family->truth ? t->dtype : common;
    j.data = t->numel ? fb_ptr(t) : NULL;
    j.n_out = family->n_out;
    for (int i = 0; i < family->n_out; i++) {
        if (outs[i]->numel == 0) return FB_OK;
        j.out[i] = fb_ptr(outs[i]);
        j.out_dtype[i] = outs[i]->dtype;
        j.out_slot[i] = slot_dtype(family->slots[i], j.compute);
        j.out_mid[i] = slot_dtype(family->slots[i], common);
    }
    split_dims(&j, t, mask, family->index);
    if (j.length == 0) { /* every result is the identity's */
        int64_t n = j.n_results;
        _Alignas(64) char acc[FB_FOLD_WIDTH * 32];
        for (int64_t at = 0; at < n; at += FB_FOLD_WIDTH) {
            int64_t w = FB_MIN(n - at, FB_FOLD_WIDTH);
            j.fold->rows(w, 0, acc, 0, 0, acc, args);
            write_results(&j, w, acc, at, 1);
        }
        return FB_OK;
    }
    return run(&j, 0.08 * fb_itemsizes[j.compute] / 4 + (family->n_out > 1 || family->index ? 0.2 : 0), f);
}

/* ---- the family's infer and kernel ----------------------------------------------------------------- */
static fb_status result_dtype(const fb_frame *f, const fb_reduce *family, const fb_reduce_call *call, fb_dtype *common)
{
    int d = f->in[0]->dtype;
    *common = call->dtype != FB_NONE ? call->dtype : (fb_dtype)d;
    switch (family->rule) {
    case FB_RED_SUM:
        if (call->dtype != FB_NONE) break;
        if (d <= FB_U64) *common = FB_I64;
        if (f->flags & FB_F_OUT_GIVEN) *common = (fb_dtype)f->out[0]->dtype;
        break;
    case FB_RED_TO_FLOAT:
        if (d <= FB_U64) *common = fb_default_dtype();
        break;
    case FB_RED_FLOAT:
    case FB_RED_REAL:
        if (*common <= FB_U64) {
            if (call->dtype != FB_NONE)
                return fb_fail(FB_ERUNTIME, "%s(): the desired output dtype should be either a floating point or complex dtype. Got: %s",
                               f->op->name, fb_dtype_label(call->dtype));
            return fb_fail(FB_ERUNTIME, "%s(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
                                        "Got: %s", f->op->name, fb_dtype_label((fb_dtype)d));
        }
        break;
    default: break;
    }
    return FB_OK;
}

static fb_status check_empty(const char *name, const fb_tensor *t, uint64_t mask, const fb_reduce_call *call)
{
    if (t->numel != 0) return FB_OK;
    if (call->dim.n < 0 || (call->dim.n == 0 && call->empty_is_all))
        return fb_fail(FB_ERUNTIME, "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                                    "with the 'dim' argument.", name);
    for (int d = 0; d < t->ndim; d++)
        if ((mask >> d & 1) && t->sizes[d] == 0)
            return fb_fail(FB_EINDEX, "%s(): Expected reduction dim %d to have non-zero size.", name, d);
    return FB_OK;
}

static const char *name_of(const fb_frame *f, const fb_reduce *family)
{
    return family->label ? family->label : f->op->name;
}

fb_status fb_reduce_infer(fb_frame *f) { return fb_reduce_infer_as(f, f->op->family); }
fb_status fb_reduce_kernel(fb_frame *f) { return fb_reduce_kernel_as(f, f->op->family); }

fb_status fb_reduce_infer_as(fb_frame *f, const fb_reduce *family)
{
    const fb_tensor *t = f->in[0];
    fb_reduce_call call = {.dim = {-1, NULL}, .dtype = FB_NONE};
    uint64_t mask;
    fb_dtype common;
    int64_t n = 0, sizes[FB_MAX_DIMS];

    FB_TRY(family->read(f, &call));
    FB_TRY(fb_dim_mask(call.dim, t->ndim, call.empty_is_all, &mask));
    if (family->no_identity) FB_TRY(check_empty(name_of(f, family), t, mask, &call));
    if (family->check) FB_TRY(family->check(f, &call));
    FB_TRY(result_dtype(f, family, &call, &common));
    for (int d = 0; d < t->ndim; d++) {
        if (!(mask >> d & 1)) sizes[n++] = t->sizes[d];
        else if (call.keepdim) sizes[n++] = 1;
    }
    for (int i = 0; i < family->n_out; i++) {
        int dtype = family->rule == FB_RED_BOOL ? (t->dtype == FB_U8 ? FB_U8 : FB_BOOL) : slot_dtype(family->slots[i], common);
        FB_TRY(fb_out(f, i, (fb_dtype)dtype, n, sizes, NULL));
    }
    return FB_OK;
}

fb_status fb_reduce_kernel_as(fb_frame *f, const fb_reduce *family)
{
    fb_reduce_call call = {.dim = {-1, NULL}, .dtype = FB_NONE};
    uint64_t mask;
    fb_dtype common;

    FB_TRY(family->read(f, &call));
    FB_TRY(fb_dim_mask(call.dim, f->in[0]->ndim, call.empty_is_all, &mask));
    FB_TRY(result_dtype(f, family, &call, &common));
    if (family->of_bool && f->in[0]->dtype == FB_BOOL && common == FB_I64) family = family->of_bool;
    return fb_reduce_run(family, name_of(f, family), f->in[0], mask, common, f->out, &call.args, f);
}
