/* Runs a block function over strided, broadcast and mixed-dtype operands.
 *
 * Dimensions are ordered by stride and merged; then one of three walks is taken:
 *   rows   the innermost dimension is long: an operand that is dense there is passed straight through;
 *   spans  it is short: blocks of consecutive points cross rows, and what isn't dense throughout is staged;
 *   tiles  some operand runs along another dimension (a transposed one): boxes of two dimensions, so that
 *          every cache line that is fetched is used whole.
 * Staging gathers by stride and element size, then casts; a scalar fills its block once.
 * Work is split by shape only, and bodies round alike at any length, so results don't depend on threads. */
#include "kernels/elementwise.h"
#include "kernels/vector.h"

extern const uint8_t fb_itemsizes[];

#define MAX_BLOCK 2048
#define BUFFERS (72 << 10)  /* bytes of block buffers on the stack */
#define LONG_ROW 192        /* elements from which a row pays for a call of its own */

enum { DIRECT, SCALAR, STAGED };

typedef struct run_state {
    const fb_ew_plan *plan;
    fb_cast_fn cast;
    int n, ndim;
    int64_t sizes[FB_MAX_DIMS]; /* innermost first */
    uint8_t mode[FB_EW_MAX];
    int64_t buffer[FB_EW_MAX];  /* where in the stack area an operand's block lies */
    int64_t temp;               /* two raw blocks for conversions in steps */
    int64_t block;
    int64_t tile_i, tile_j, tiles_i, tiles_j;
    bool tile_dense;            /* a tile is one run of memory for the direct operands: one call */
} run_state;

/* ---- copying by stride --------------------------------------------------------------------------- */
typedef uint16_t __attribute__((may_alias, aligned(1))) w2;
typedef uint32_t __attribute__((may_alias, aligned(1))) w4;
typedef uint64_t __attribute__((may_alias, aligned(1))) w8;
typedef struct { uint64_t a, b; } __attribute__((may_alias, packed, aligned(1))) w16;
#define BY_SIZE(size, DO)                                                                                  \
    switch (size) {                                                                                        \
    case 1: DO(uint8_t) break;                                                                             \
    case 2: DO(w2) break;                                                                                  \
    case 4: DO(w4) break;                                                                                  \
    case 8: DO(w8) break;                                                                                  \
    default: DO(w16) break;                                                                                \
    }

static void gather(char *dst, const char *src, int64_t stride, int64_t n, int size)
{
#define GATHER(T) for (int64_t i = 0; i < n; i++) ((T *)dst)[i] = *(const T *)(src + i * stride);
    if (stride == size) {
        memcpy(dst, src, (size_t)(n * size));
        return;
    }
    BY_SIZE(size, GATHER)
}

static void scatter(char *dst, const char *src, int64_t stride, int64_t n, int size)
{
#define SCATTER(T) for (int64_t i = 0; i < n; i++) *(T *)(dst + i * stride) = ((const T *)src)[i];
    if (stride == size) {
        memcpy(dst, src, (size_t)(n * size));
        return;
    }
    BY_SIZE(size, SCATTER)
}

/* n copies of the first element of block */
static void fill(char *block, int64_t n, int size)
{
#define FILL(T) { T v = *(T *)block; for (int64_t i = 1; i < n; i++) ((T *)block)[i] = v; }
    BY_SIZE(size, FILL)
}

/* dst[j * ni + i] = the element at src + i * si + j * sizeof(T), in squares of four, which are turned in registers. */
#define TURN_BOX(NAME, T, TURN4)                                                                           \
    static void NAME(T *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t ni, int64_t nj)  \
    {                                                                                                      \
        int64_t i = 0;                                                                                     \
        for (; i + 4 <= ni; i += 4) {                                                                      \
            const T *s[4];                                                                                 \
            for (int k = 0; k < 4; k++) s[k] = (const T *)(src + (i + k) * src_step);                      \
            int64_t j = 0;                                                                                 \
            for (; j + 4 <= nj; j += 4) TURN4(dst + j * dst_step + i, dst_step, s[0] + j, s[1] + j, s[2] + j, s[3] + j); \
            for (; j < nj; j++)                                                                            \
                for (int k = 0; k < 4; k++) dst[j * dst_step + i + k] = s[k][j];                           \
        }                                                                                                  \
        for (; i < ni; i++)                                                                                \
            for (int64_t j = 0; j < nj; j++) dst[j * dst_step + i] = ((const T *)(src + i * src_step))[j]; \
    }
TURN_BOX(turn_box_4, uint32_t, fb_turn4_u32)
TURN_BOX(turn_box_8, uint64_t, fb_turn4_u64)

/* A box of ni x nj elements (i: the row direction of the block), walked so that the smaller stride of memory is the
 * inner loop. */
static void gather_box(char *dst, const char *src, int64_t si, int64_t sj, int64_t ni, int64_t nj, int size)
{
    if (si <= sj || nj == 1) {
        for (int64_t j = 0; j < nj; j++) gather(dst + j * ni * size, src + j * sj, si, ni, size);
    } else if (sj == size && size == 4 && (uintptr_t)src % 4 == 0) {
        turn_box_4((uint32_t *)dst, ni, src, si, ni, nj);
    } else if (sj == size && size == 8 && (uintptr_t)src % 8 == 0) {
        turn_box_8((uint64_t *)dst, ni, src, si, ni, nj);
    } else {
#define GATHER_T(T)                                                                                        \
    for (int64_t i = 0; i < ni; i++)                                                                       \
        for (int64_t j = 0; j < nj; j++) ((T *)dst)[j * ni + i] = *(const T *)(src + i * si + j * sj);
        BY_SIZE(size, GATHER_T)
    }
}

static void scatter_box(char *dst, const char *src, int64_t si, int64_t sj, int64_t ni, int64_t nj, int size)
{
    if (si <= sj || nj == 1) {
        for (int64_t j = 0; j < nj; j++) scatter(dst + j * sj, src + j * ni * size, si, ni, size);
    } else if (sj == size && size == 4 && (uintptr_t)dst % 4 == 0 && si % 4 == 0) {
        turn_box_4((uint32_t *)dst, si / 4, src, ni * 4, nj, ni);
    } else if (sj == size && size == 8 && (uintptr_t)dst % 8 == 0 && si % 8 == 0) {
        turn_box_8((uint64_t *)dst, si / 8, src, ni * 8, nj, ni);
    } else {
#define SCATTER_T(T)                                                                                       \
    for (int64_t i = 0; i < ni; i++)                                                                       \
        for (int64_t j = 0; j < nj; j++) *(T *)(dst + i * si + j * sj) = ((const T *)src)[j * ni + i];
        BY_SIZE(size, SCATTER_T)
    }
}

/* ---- staging -------------------------------------------------------------------------------------- */
/* From dense raw values at src to the operand's block. */
static void convert_in(const run_state *r, const fb_ew_operand *o, int64_t n, char *block, const char *src, char *temp)
{
    if (o->mid != o->dtype && o->mid != o->slot) {
        r->cast(o->dtype, o->mid, n, temp, src);
        r->cast(o->mid, o->slot, n, block, temp);
    } else {
        r->cast(o->dtype, o->slot, n, block, src);
    }
}

static const char *convert_out(const run_state *r, const fb_ew_operand *o, int64_t n, char *dst, const char *block, char *temp)
{
    if (o->mid != o->dtype && o->mid != o->slot) {
        r->cast(o->slot, o->mid, n, temp, block);
        r->cast(o->mid, o->dtype, n, dst, temp);
    } else {
        r->cast(o->slot, o->dtype, n, dst, block);
    }
    return dst;
}

static void load_box(const run_state *r, const fb_ew_operand *o, const char *src, int64_t si, int64_t sj, int64_t ni,
                     int64_t nj, char *block, char *temp)
{
    int size = fb_itemsizes[o->dtype];
    if (o->dtype == o->slot) {
        gather_box(block, src, si, sj, ni, nj, size);
    } else if (si == size && (nj == 1 || sj == ni * size)) {
        convert_in(r, o, ni * nj, block, src, temp);
    } else {
        gather_box(temp + r->block * 16, src, si, sj, ni, nj, size);
        convert_in(r, o, ni * nj, block, temp + r->block * 16, temp);
    }
}

static void store_box(const run_state *r, const fb_ew_operand *o, char *dst, int64_t si, int64_t sj, int64_t ni,
                      int64_t nj, const char *block, char *temp)
{
    int size = fb_itemsizes[o->dtype];
    if (o->dtype == o->slot) {
        scatter_box(dst, block, si, sj, ni, nj, size);
    } else if (si == size && (nj == 1 || sj == ni * size)) {
        convert_out(r, o, ni * nj, dst, block, temp);
    } else {
        convert_out(r, o, ni * nj, temp + r->block * 16, block, temp);
        scatter_box(dst, temp + r->block * 16, si, sj, ni, nj, size);
    }
}

static void load_scalar(const run_state *r, const fb_ew_operand *o, const char *src, int64_t n, char *block, char *temp)
{
    convert_in(r, o, 1, block, src, temp);
    fill(block, n, fb_itemsizes[o->slot]);
}

/* ---- walks ---------------------------------------------------------------------------------------- */
/* The address of an operand at the point `index` of the box without its innermost `skip` dimensions. */
static char *locate(const run_state *r, const fb_ew_operand *o, int64_t index, int skip)
{
    char *p = o->data;
    for (int d = skip; d < r->ndim && index; d++) {
        p += index % r->sizes[d] * o->strides[d];
        index /= r->sizes[d];
    }
    return p;
}

static void fill_scalars(const run_state *r, int64_t n, char *area)
{
    const fb_ew_plan *plan = r->plan;
    for (int k = plan->n_out; k < r->n; k++)
        if (r->mode[k] == SCALAR)
            load_scalar(r, &plan->ops[k], plan->ops[k].data, n, area + r->buffer[k], area + r->temp);
}

static void rows(void *ctx, int64_t begin, int64_t end)
{
    const run_state *r = ctx;
    const fb_ew_plan *plan = r->plan;
    _Alignas(64) char area[BUFFERS];
    char *temp = area + r->temp, *base[FB_EW_MAX], *at[FB_EW_MAX];
    int64_t len = r->sizes[0];

    fill_scalars(r, FB_MIN(end - begin, FB_MIN(len, r->block)), area);
    while (begin < end) {
        int64_t row = begin / len, first = begin - row * len, last = FB_MIN(len, first + end - begin);
        for (int k = 0; k < r->n; k++) {
            const fb_ew_operand *o = &plan->ops[k];
            base[k] = !o->data ? NULL : locate(r, o, row, 1) + first * o->strides[0];
            if (o->data && r->mode[k] == STAGED && o->strides[0] == 0 && k >= plan->n_out)
                load_scalar(r, o, base[k], FB_MIN(last - first, r->block), area + r->buffer[k], temp);
        }
        for (int64_t i = first; i < last; i += r->block) {
            int64_t m = FB_MIN(last - i, r->block);
            for (int k = 0; k < r->n; k++) {
                const fb_ew_operand *o = &plan->ops[k];
                if (!o->data || r->mode[k] == DIRECT) {
                    at[k] = base[k];
                    continue;
                }
                at[k] = area + r->buffer[k];
                if (r->mode[k] == STAGED && k >= plan->n_out && o->strides[0] != 0)
                    load_box(r, o, base[k], o->strides[0], 0, m, 1, at[k], temp);
            }
            plan->fn(m, (void *const *)at, (void *const *)(at + plan->n_out), plan->params);
            for (int k = 0; k < plan->n_out; k++)
                if (r->mode[k] == STAGED)
                    store_box(r, &plan->ops[k], base[k], plan->ops[k].strides[0], 0, m, 1, at[k], temp);
            for (int k = 0; k < r->n; k++)
                if (plan->ops[k].data) base[k] += m * plan->ops[k].strides[0];
        }
        begin += last - first;
    }
}

/* Moves the values of a block between memory and dense raw values, over n points from `start` on. */
static void walk_span(const run_state *r, const fb_ew_operand *o, int64_t start, int64_t n, char *dense, bool out)
{
    int size = fb_itemsizes[o->dtype];
    int64_t at[FB_MAX_DIMS], index = start;
    char *p = o->data;
    for (int d = 0; d < r->ndim; d++) {
        at[d] = index % r->sizes[d];
        index /= r->sizes[d];
        p += at[d] * o->strides[d];
    }
    while (n > 0) {
        int64_t m = FB_MIN(n, r->sizes[0] - at[0]), s = o->strides[0];
        char *q = p;
#define WALK_OUT(T) for (int64_t i = 0; i < m; i++, q += s) *(T *)q = ((T *)dense)[i];
#define WALK_IN(T) for (int64_t i = 0; i < m; i++, q += s) ((T *)dense)[i] = *(T *)q;
        if (out) {
            BY_SIZE(size, WALK_OUT)
        } else {
            BY_SIZE(size, WALK_IN)
        }
        dense += m * size;
        n -= m;
        p -= at[0] * s;
        at[0] = 0;
        for (int d = 1; d < r->ndim; d++) {
            p += o->strides[d];
            if (++at[d] < r->sizes[d]) break;
            p -= at[d] * o->strides[d];
            at[d] = 0;
        }
    }
}

static void spans(void *ctx, int64_t begin, int64_t end)
{
    const run_state *r = ctx;
    const fb_ew_plan *plan = r->plan;
    _Alignas(64) char area[BUFFERS];
    char *temp = area + r->temp, *raw = temp + r->block * 16, *at[FB_EW_MAX];

    fill_scalars(r, FB_MIN(end - begin, r->block), area);
    for (int64_t i = begin; i < end; i += r->block) {
        int64_t m = FB_MIN(end - i, r->block);
        for (int k = 0; k < r->n; k++) {
            const fb_ew_operand *o = &plan->ops[k];
            if (!o->data || r->mode[k] == DIRECT) {
                at[k] = o->data ? o->data + i * fb_itemsizes[o->dtype] : NULL;
                continue;
            }
            at[k] = area + r->buffer[k];
            if (r->mode[k] == SCALAR || k < plan->n_out) continue;
            if (o->dtype == o->slot) {
                walk_span(r, o, i, m, at[k], false);
            } else {
                walk_span(r, o, i, m, raw, false);
                convert_in(r, o, m, at[k], raw, temp);
            }
        }
        plan->fn(m, (void *const *)at, (void *const *)(at + plan->n_out), plan->params);
        for (int k = 0; k < plan->n_out; k++) {
            const fb_ew_operand *o = &plan->ops[k];
            if (r->mode[k] != STAGED) continue;
            walk_span(r, o, i, m, o->dtype == o->slot ? at[k] : (char *)convert_out(r, o, m, raw, at[k], temp), true);
        }
    }
}

static void tiles(void *ctx, int64_t begin, int64_t end)
{
    const run_state *r = ctx;
    const fb_ew_plan *plan = r->plan;
    _Alignas(64) char area[BUFFERS];
    char *temp = area + r->temp, *base[FB_EW_MAX], *at[FB_EW_MAX];

    fill_scalars(r, r->block, area);
    for (int64_t t = begin; t < end; t++) {
        int64_t box = t / (r->tiles_i * r->tiles_j), in_box = t % (r->tiles_i * r->tiles_j);
        int64_t i = in_box % r->tiles_i * r->tile_i, j = in_box / r->tiles_i * r->tile_j;
        int64_t ni = FB_MIN(r->tile_i, r->sizes[0] - i), nj = FB_MIN(r->tile_j, r->sizes[1] - j);
        for (int k = 0; k < r->n; k++) {
            const fb_ew_operand *o = &plan->ops[k];
            base[k] = !o->data ? NULL : locate(r, o, box, 2) + i * o->strides[0] + j * o->strides[1];
            at[k] = !o->data || r->mode[k] == DIRECT ? base[k] : area + r->buffer[k];
            if (o->data && r->mode[k] == STAGED && k >= plan->n_out)
                load_box(r, o, base[k], o->strides[0], o->strides[1], ni, nj, at[k], temp);
        }
        if (r->tile_dense) {
            plan->fn(ni * nj, (void *const *)at, (void *const *)(at + plan->n_out), plan->params);
        } else {
            for (int64_t row = 0; row < nj; row++) {
                plan->fn(ni, (void *const *)at, (void *const *)(at + plan->n_out), plan->params);
                for (int k = 0; k < r->n; k++) {
                    const fb_ew_operand *o = &plan->ops[k];
                    if (!o->data) continue;
                    if (r->mode[k] == DIRECT) at[k] += o->strides[1];
                    if (r->mode[k] == STAGED) at[k] += ni * fb_itemsizes[o->slot];
                }
            }
        }
        for (int k = 0; k < plan->n_out; k++)
            if (r->mode[k] == STAGED)
                store_box(r, &plan->ops[k], base[k], plan->ops[k].strides[0], plan->ops[k].strides[1], ni, nj,
                          area + r->buffer[k], temp);
    }
}

/* ---- planning ------------------------------------------------------------------------------------- */
void fb_ew_bind(fb_ew_plan *plan, int i, const fb_tensor *t, int mid, int slot)
{
    fb_ew_operand *o = &plan->ops[i];
    if (!t) {
        o->data = NULL;
        o->dtype = o->mid = o->slot = (uint8_t)slot;
        memset(o->strides, 0, sizeof(int64_t) * (size_t)plan->ndim);
        return;
    }
    o->data = fb_ptr(t);
    o->dtype = t->dtype;
    o->mid = (uint8_t)mid;
    o->slot = (uint8_t)slot;
    int64_t size = fb_itemsizes[t->dtype];
    int lead = plan->ndim - t->ndim;
    for (int d = 0; d < plan->ndim; d++)
        o->strides[d] = d < lead || t->sizes[d - lead] == 1 ? 0 : t->strides[d - lead] * size;
}

/* > 0: dimension a belongs outside b. */
static int compare_dims(const fb_ew_plan *plan, int a, int b)
{
    for (int k = 0; k < plan->n_out + plan->n_in; k++) {
        int64_t sa = plan->ops[k].strides[a], sb = plan->ops[k].strides[b];
        if (sa == 0 || sb == 0 || sa == sb) continue;
        return sa > sb ? 1 : -1;
    }
    return 0;
}

static void move_dim(run_state *r, fb_ew_plan *plan, int from, int to)
{
    int64_t size = r->sizes[from];
    for (int d = from; d > to; d--) r->sizes[d] = r->sizes[d - 1];
    r->sizes[to] = size;
    for (int k = 0; k < r->n; k++) {
        int64_t *s = plan->ops[k].strides, keep = s[from];
        for (int d = from; d > to; d--) s[d] = s[d - 1];
        s[to] = keep;
    }
}

/* Sizes and strides innermost first, without dimensions of size 1, neighbours that are one run merged. */
static void order_and_merge(run_state *r, fb_ew_plan *plan)
{
    int n = 0;
    for (int d = plan->ndim - 1; d >= 0; d--) { /* compact, still outermost first */
        if (plan->sizes[d] == 1) continue;
        n++;
    }
    int w = n;
    for (int d = plan->ndim - 1; d >= 0; d--) {
        if (plan->sizes[d] == 1) continue;
        w--;
        r->sizes[w] = plan->sizes[d];
        for (int k = 0; k < r->n; k++) plan->ops[k].strides[plan->ndim - n + w] = plan->ops[k].strides[d];
    }
    int shift = plan->ndim - n;
    for (int k = 0; k < r->n; k++) { /* to the front and reversed */
        int64_t *s = plan->ops[k].strides;
        if (shift) memmove(s, s + shift, sizeof *s * (size_t)n);
        for (int a = 0, b = n - 1; a < b; a++, b--) {
            int64_t t = s[a];
            s[a] = s[b];
            s[b] = t;
        }
    }
    for (int a = 0, b = n - 1; a < b; a++, b--) {
        int64_t t = r->sizes[a];
        r->sizes[a] = r->sizes[b];
        r->sizes[b] = t;
    }
    for (int i = 1; i < n; i++) { /* insertion: put dimension i inside those it should be inside of */
        int to = i;
        for (int d = i - 1; d >= 0; d--) {
            int c = compare_dims(plan, d, i);
            if (c > 0) to = d;
            else if (c < 0) break;
        }
        if (to != i) move_dim(r, plan, i, to);
    }
    int last = 0;
    for (int d = 1; d < n; d++) {
        bool joins = true;
        for (int k = 0; k < r->n && joins; k++)
            joins = plan->ops[k].strides[d] == plan->ops[k].strides[last] * r->sizes[last];
        if (joins) {
            r->sizes[last] *= r->sizes[d];
            continue;
        }
        last++;
        r->sizes[last] = r->sizes[d];
        for (int k = 0; k < r->n; k++) plan->ops[k].strides[last] = plan->ops[k].strides[d];
    }
    r->ndim = n ? last + 1 : 1;
    if (!n) {
        r->sizes[0] = 1;
        for (int k = 0; k < r->n; k++) plan->ops[k].strides[0] = 0;
    }
}

static bool dense(const run_state *r, const fb_ew_operand *o)
{
    int64_t stride = fb_itemsizes[o->dtype];
    for (int d = 0; d < r->ndim; d++) {
        if (o->strides[d] != stride) return false;
        stride *= r->sizes[d];
    }
    return true;
}

/* A dimension that some operand runs along more densely than along the innermost, long enough to tile; 0: none. */
static int tile_dim(const run_state *r, const fb_ew_plan *plan)
{
    for (int k = 0; k < r->n; k++) {
        const fb_ew_operand *o = &plan->ops[k];
        int64_t size = fb_itemsizes[o->dtype];
        if (!o->data || o->strides[0] < 4 * size) continue;
        int best = 0;
        for (int d = 1; d < r->ndim; d++)
            if (o->strides[d] && r->sizes[d] >= 8 && o->strides[d] < o->strides[best]) best = d;
        if (best) return best;
    }
    return 0;
}

fb_status fb_ew_execute(fb_ew_plan *plan)
{
    run_state r;
    r.plan = plan;
    r.n = plan->n_out + plan->n_in;
    r.cast = fb_cast_for_isa();
    int64_t numel = 1;
    for (int d = 0; d < plan->ndim; d++) numel *= plan->sizes[d];
    if (numel == 0) return FB_OK;
    order_and_merge(&r, plan);

    int td = r.ndim > 1 ? tile_dim(&r, plan) : 0;
    bool by_rows = !td && (r.ndim == 1 || r.sizes[0] >= LONG_ROW);
    double ns = plan->ns;
    int64_t bytes = 0;
    bool pass = true; /* everything direct: no blocks */
    if (td) {
        move_dim(&r, plan, td, 1);
        bool small = r.sizes[0] < 32; /* then calls of a row each would cost too much: stage all that isn't dense in a tile */
        r.tile_dense = small;
        for (int k = 0; k < r.n; k++) {
            const fb_ew_operand *o = &plan->ops[k];
            int64_t size = fb_itemsizes[o->dtype];
            bool row = o->dtype == o->slot && o->strides[0] == size;
            if (small) row = row && o->strides[1] == size * r.sizes[0];
            r.mode[k] = row ? DIRECT : STAGED;
        }
    } else {
        r.tile_dense = false;
        for (int k = 0; k < r.n; k++) {
            const fb_ew_operand *o = &plan->ops[k];
            bool same = o->dtype == o->slot;
            bool direct = by_rows ? same && (o->strides[0] == fb_itemsizes[o->dtype] || r.sizes[0] == 1) : same && dense(&r, o);
            r.mode[k] = direct ? DIRECT : STAGED;
        }
    }
    for (int k = 0; k < r.n; k++) {
        const fb_ew_operand *o = &plan->ops[k];
        if (!o->data) {
            r.mode[k] = DIRECT;
            continue;
        }
        bool all_zero = k >= plan->n_out;
        for (int d = 0; d < r.ndim && all_zero; d++) all_zero = o->strides[d] == 0;
        if (all_zero && r.mode[k] != DIRECT) r.mode[k] = SCALAR;
        if (r.mode[k] == DIRECT) continue;
        pass = false;
        bytes += fb_itemsizes[o->slot];
        if (r.mode[k] == STAGED) ns += o->dtype != o->slot ? 0.5 : 0.3;
    }
    if (pass && !td) {
        r.block = INT64_MAX / 2;
    } else {
        r.block = MAX_BLOCK;
        while (r.block > 64 && r.block * (bytes + 48) + FB_EW_MAX * 64 > BUFFERS) r.block /= 2;
    }
    int64_t at = 0;
    if (r.block <= MAX_BLOCK) {
        for (int k = 0; k < r.n; k++) {
            if (r.mode[k] == DIRECT) continue;
            r.buffer[k] = at;
            at += (r.block * fb_itemsizes[plan->ops[k].slot] + 63) & ~(int64_t)63;
        }
        r.temp = at; /* temp: block * 16 bytes for conversions, then block * 16 for raw values */
    } else {
        r.temp = 0;
    }

    if (td) {
        r.tile_i = FB_MIN(r.sizes[0], 64);
        r.tile_j = FB_MIN(r.sizes[1], r.block / r.tile_i);
        r.tiles_i = (r.sizes[0] + r.tile_i - 1) / r.tile_i;
        r.tiles_j = (r.sizes[1] + r.tile_j - 1) / r.tile_j;
        int64_t boxes = numel / (r.sizes[0] * r.sizes[1]);
        fb_parallel_range(boxes * r.tiles_i * r.tiles_j, ns * (double)(r.tile_i * r.tile_j), tiles, &r);
    } else {
        fb_parallel_range(numel, ns, by_rows ? rows : spans, &r);
    }
    return FB_OK;
}
