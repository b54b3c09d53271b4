/* Tensors: handles, views, versions. */
#include "autograd/autograd.h"
#include "runtime/alloc.h"
#include "runtime/frame.h"

/* ---- reference counts ------------------------------------------------------------------------ */

fb_tensor *fb_retain(fb_tensor *t)
{
    if (t) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

static fb_version *version_of(fb_tensor *t) /* makes it on first need */
{
    if (!t->version && (t->version = fb_small_alloc(sizeof(fb_version)))) {
        atomic_init(&t->version->refs, 1);
        atomic_init(&t->version->count, 0);
    }
    return t->version;
}

static void version_release(fb_version *v)
{
    if (v && atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) fb_small_free(v, sizeof *v);
}

uint32_t fb_version_of(const fb_tensor *t)
{
    return t->version ? atomic_load_explicit(&t->version->count, memory_order_relaxed) : 0;
}

fb_status fb_bump_version(fb_tensor *t)
{
    if (t->flags & FB_T_INFERENCE) return FB_OK;
    if (!version_of(t)) return FB_FAIL;
    atomic_fetch_add_explicit(&t->version->count, 1, memory_order_relaxed);
    return FB_OK;
}

void fb_release(fb_tensor *t)
{
    fb_tensor *base;

    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
    if (t->ag) fb_autograd_free(t);
    base = t->base;
    fb_storage_release(t->storage);
    version_release(t->version);
    if (t->sizes != t->dims) fb_free(t->sizes);
    fb_small_free(t, sizeof *t);
    fb_count_live(-1, 0);
    if (base) fb_release(base); /* a base has no base: this ends */
}

/* ---- geometry -------------------------------------------------------------------------------- */

fb_status fb_count(int64_t ndim, const int64_t *sizes, int64_t *numel)
{
    int64_t n = 1;
    bool zero = false;

    if (ndim < 0 || ndim > FB_MAX_DIMS)
        return fb_fail(FB_EVALUE, "a tensor has at most %d dimensions, not %lld", FB_MAX_DIMS, (long long)ndim);
    for (int64_t i = 0; i < ndim; i++) {
        if (sizes[i] < 0)
            return fb_fail(FB_ERUNTIME, "Trying to create tensor with negative dimension %lld: %s", (long long)sizes[i],
                           fb_shape_text(ndim, sizes));
        zero |= sizes[i] == 0;
    }
    for (int64_t i = 0; i < ndim && !zero; i++)
        if (__builtin_mul_overflow(n, sizes[i], &n))
            return fb_fail(FB_ERUNTIME, "Storage size calculation overflowed with sizes=%s", fb_shape_text(ndim, sizes));
    *numel = zero ? 0 : n;
    return FB_OK;
}

void fb_set_geometry(fb_tensor *t)
{
    int64_t n = 1, expected = 1;
    bool contiguous = true;

    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->sizes[i] != 1) {
            if (t->strides[i] != expected) contiguous = false;
            expected *= t->sizes[i];
        }
        n *= t->sizes[i];
    }
    t->numel = n;
    t->flags = (uint8_t)((t->flags & ~FB_T_CONTIGUOUS) | (contiguous || n == 0 ? FB_T_CONTIGUOUS : 0));
}

static void row_major(int64_t ndim, const int64_t *sizes, int64_t *strides)
{
    int64_t step = 1;

    for (int64_t i = ndim - 1; i >= 0; i--) {
        strides[i] = step;
        step *= FB_MAX(sizes[i], 1);
    }
}

/* A handle without storage; sizes are copied, strides too or made row-major. */
static fb_tensor *bare(int64_t ndim, const int64_t *sizes, const int64_t *strides, fb_dtype dtype, fb_device device)
{
    fb_tensor *t = fb_small_alloc(sizeof *t);

    if (!t) return NULL;
    atomic_init(&t->refs, 1);
    t->dtype = (uint8_t)dtype;
    t->flags = 0;
    t->ndim = (int16_t)ndim;
    t->device = device;
    t->keys = device.type == FB_META ? FB_L_META : device.type == FB_CPU ? FB_L_CPU : FB_L_CUDA;
    t->offset = 0;
    t->storage = NULL;
    t->version = NULL;
    t->base = NULL;
    t->ag = NULL;
    t->sizes = t->dims;
    t->strides = t->dims + FB_INLINE_DIMS;
    if (ndim > FB_INLINE_DIMS) {
        if (!(t->sizes = fb_alloc(2 * ndim * (int64_t)sizeof(int64_t)))) {
            fb_small_free(t, sizeof *t);
            return NULL;
        }
        t->strides = t->sizes + ndim;
    }
    for (int64_t i = 0; i < ndim; i++) t->sizes[i] = sizes[i];
    if (strides)
        for (int64_t i = 0; i < ndim; i++) t->strides[i] = strides[i];
    else
        row_major(ndim, sizes, t->strides);
    fb_set_geometry(t);
    fb_count_live(1, 0);
    return t;
}

/* Elements that the geometry reaches, from the first to the last; 0 when empty. Strides are not negative. */
static fb_status extent(int64_t ndim, const int64_t *sizes, const int64_t *strides, int64_t *count)
{
    int64_t last = 0, step;

    for (int64_t i = 0; i < ndim; i++)
        if (sizes[i] == 0) {
            *count = 0;
            return FB_OK;
        }
    for (int64_t i = 0; i < ndim; i++) {
        if (strides[i] < 0)
            return fb_fail(FB_ERUNTIME, "as_strided: Negative strides are not supported at the moment, got strides: %s",
                           fb_shape_text(ndim, strides));
        if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(last, step, &last))
            return fb_fail(FB_ERUNTIME, "Storage size calculation overflowed with sizes=%s and strides=%s",
                           fb_shape_text(ndim, sizes), fb_shape_text(ndim, strides));
    }
    if (last == INT64_MAX) return fb_fail(FB_ERUNTIME, "Storage size calculation overflowed");
    *count = last + 1;
    return FB_OK;
}

fb_tensor *fb_new(int64_t ndim, const int64_t *sizes, const int64_t *strides, fb_dtype dtype, fb_device device)
{
    fb_tensor *t;
    int64_t count, bytes;

    if (dtype < 0 || dtype >= FB_N_DTYPES) return fb_fail_null(FB_EVALUE, "dtype=%d is not a dtype", (int)dtype);
    if (fb_count(ndim, sizes, &count) != FB_OK) return NULL;
    if (strides && extent(ndim, sizes, strides, &count) != FB_OK) return NULL;
    if (__builtin_mul_overflow(count, fb_itemsize(dtype), &bytes))
        return fb_fail_null(FB_ERUNTIME, "Storage size calculation overflowed with sizes=%s", fb_shape_text(ndim, sizes));
    if (!(t = bare(ndim, sizes, strides, dtype, device))) return NULL;
    if (!(t->storage = fb_storage_new(bytes, device))) {
        fb_release(t);
        return NULL;
    }
    if (FB_UNLIKELY(fb_inference_mode())) t->flags |= FB_T_INFERENCE;
    return t;
}

fb_tensor *fb_empty(int64_t ndim, const int64_t *sizes, fb_dtype dtype, fb_device device)
{
    return fb_new(ndim, sizes, NULL, dtype, device);
}

fb_tensor *fb_empty_strided(int64_t ndim, const int64_t *sizes, const int64_t *strides, fb_dtype dtype, fb_device device)
{
    return fb_new(ndim, sizes, strides, dtype, device);
}

/* In place of a deleter for memory that nobody is to be told of; without one a storage frees its data. */
static void leave(void *ctx) { (void)ctx; }

fb_tensor *fb_from_memory(void *data, int64_t bytes, void (*deleter)(void *), void *ctx, int64_t ndim, const int64_t *sizes,
                          const int64_t *strides, int64_t offset, fb_dtype dtype)
{
    static const fb_device cpu = {FB_CPU, -1};
    fb_tensor *t;
    int64_t count, end;

    if (dtype < 0 || dtype >= FB_N_DTYPES) return fb_fail_null(FB_EVALUE, "dtype=%d is not a dtype", (int)dtype);
    if (fb_count(ndim, sizes, &count) != FB_OK) return NULL;
    if (strides && extent(ndim, sizes, strides, &count) != FB_OK) return NULL;
    if (offset < 0 || bytes < 0 || __builtin_add_overflow(count, offset, &end) ||
        __builtin_mul_overflow(end, fb_itemsize(dtype), &end) || (count > 0 && end > bytes))
        return fb_fail_null(FB_EVALUE, "sizes=%s at offset=%lld do not fit into %lld bytes", fb_shape_text(ndim, sizes),
                            (long long)offset, (long long)bytes);
    if (!(t = bare(ndim, sizes, strides, dtype, cpu))) return NULL;
    if (!(t->storage = fb_storage_new(0, cpu))) {
        fb_release(t);
        return NULL;
    }
    t->storage->data = data;
    t->storage->bytes = bytes;
    t->storage->deleter = deleter ? deleter : leave;
    t->storage->ctx = ctx;
    t->storage->resizable = false;
    t->offset = offset;
    return t;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Shares t's storage and version counter; says nothing about history. */
static fb_tensor *share(fb_tensor *t, int64_t ndim, const int64_t *sizes, const int64_t *strides, int64_t offset)
{
    fb_tensor *v;

    if (!(t->flags & FB_T_INFERENCE) && !version_of(t)) return NULL;
    if (!(v = bare(ndim, sizes, strides, t->dtype, t->device))) return NULL;
    v->storage = fb_storage_retain(t->storage);
    v->offset = offset;
    v->flags |= t->flags & FB_T_INFERENCE;
    if (t->version) {
        v->version = t->version;
        atomic_fetch_add_explicit(&v->version->refs, 1, memory_order_relaxed);
    }
    return v;
}

fb_tensor *fb_view_of(fb_tensor *t, int64_t ndim, const int64_t *sizes, const int64_t *strides, int64_t offset)
{
    fb_tensor *v;
    int64_t count, need;

    if (fb_count(ndim, sizes, &count) != FB_OK || extent(ndim, sizes, strides, &count) != FB_OK) return NULL;
    if (offset < 0) return fb_fail_null(FB_ERUNTIME, "storage_offset=%lld must not be negative", (long long)offset);
    if (count > 0 && (__builtin_add_overflow(offset, count, &need) || __builtin_mul_overflow(need, fb_itemsize(t->dtype), &need) ||
                      need > t->storage->bytes))
        return fb_fail_null(FB_ERUNTIME,
                            "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %lld requiring a storage size of more "
                            "than there is are out of bounds for storage of size %lld",
                            fb_shape_text(ndim, sizes), fb_shape_text(ndim, strides), (long long)offset,
                            (long long)fb_itemsize(t->dtype), (long long)t->storage->bytes);
    if (!(v = share(t, ndim, sizes, strides, offset))) return NULL;
    v->base = fb_retain(t->base ? t->base : t);
    v->flags |= t->flags & (FB_T_NO_GRAD_VIEW | FB_T_MULTI_VIEW); /* what may not be written to hands that on */
    if (FB_UNLIKELY(!fb_grad_enabled())) fb_view_without_grad(v);
    return v;
}

fb_tensor *fb_alias(fb_tensor *t)
{
    fb_tensor *v = share(t, t->ndim, t->sizes, t->strides, t->offset);

    if (v) v->flags |= FB_T_VIEW_OF_DATA;
    return v;
}

fb_status fb_resize(fb_tensor *t, int64_t ndim, const int64_t *sizes)
{
    int64_t count, bytes, *dims;

    FB_TRY(fb_count(ndim, sizes, &count));
    if (__builtin_add_overflow(count, t->offset, &bytes) || __builtin_mul_overflow(bytes, fb_itemsize(t->dtype), &bytes))
        return fb_fail(FB_ERUNTIME, "Storage size calculation overflowed with sizes=%s", fb_shape_text(ndim, sizes));
    if (count > 0 && bytes > t->storage->bytes) FB_TRY(fb_storage_resize(t->storage, bytes));
    if (ndim != t->ndim && ndim > FB_INLINE_DIMS) {
        if (!(dims = fb_alloc(2 * ndim * (int64_t)sizeof *dims))) return FB_FAIL;
    } else {
        dims = ndim == t->ndim ? t->sizes : t->dims;
    }
    int64_t kept[FB_MAX_DIMS]; /* sizes may be the tensor's own */
    memcpy(kept, sizes, (size_t)ndim * sizeof *kept);
    if (dims != t->sizes && t->sizes != t->dims) fb_free(t->sizes);
    t->sizes = dims;
    t->strides = dims == t->dims ? t->dims + FB_INLINE_DIMS : dims + ndim;
    t->ndim = (int16_t)ndim;
    memcpy(t->sizes, kept, (size_t)ndim * sizeof *kept);
    row_major(ndim, t->sizes, t->strides);
    fb_set_geometry(t);
    return FB_OK;
}

/* ---- what the public header reads -------------------------------------------------------------- */

int64_t fb_ndim(const fb_tensor *t) { return t->ndim; }
int64_t fb_numel(const fb_tensor *t) { return t->numel; }
const int64_t *fb_sizes(const fb_tensor *t) { return t->sizes; }
const int64_t *fb_strides(const fb_tensor *t) { return t->strides; }
int64_t fb_offset(const fb_tensor *t) { return t->offset; }
fb_dtype fb_dtype_of(const fb_tensor *t) { return (fb_dtype)t->dtype; }
fb_device fb_device_of(const fb_tensor *t) { return t->device; }
bool fb_is_contiguous(const fb_tensor *t) { return fb_contig(t); }
void *fb_data(const fb_tensor *t) { return t->storage->data && t->numel ? fb_ptr(t) : NULL; }

fb_tensor *fb_from_scalar(fb_scalar value, fb_dtype dtype)
{
    fb_tensor *t = fb_new(0, NULL, NULL, dtype, (fb_device){FB_CPU, -1});

    if (t) fb_scalar_store(value, dtype, t->storage->data);
    return t;
}

fb_tensor *fb_wrapped(fb_scalar value)
{
    static const fb_dtype types[] = {FB_NONE, FB_BOOL, FB_I64, FB_F64, FB_C128};
    fb_tensor *t;

    if (value.kind == FB_S_NONE) return fb_fail_null(FB_EVALUE, "a number is missing");
    if ((t = fb_from_scalar(value, types[value.kind]))) t->flags |= FB_T_WRAPPED;
    return t;
}

fb_status fb_item(const fb_tensor *t, fb_scalar *out)
{
    if (t->numel != 1)
        return fb_fail(FB_ERUNTIME, "a Tensor with %lld elements cannot be converted to Scalar", (long long)t->numel);
    if (!t->storage->data) return fb_fail(FB_ERUNTIME, "Tensor.item() cannot be called on meta tensors");
    *out = fb_scalar_load(fb_ptr(t), (fb_dtype)t->dtype);
    return FB_OK;
}

fb_tensor *fb_new_zeros(int64_t ndim, const int64_t *sizes, fb_dtype dtype, fb_device device)
{
    fb_tensor *t = fb_new(ndim, sizes, NULL, dtype, (fb_device){FB_META, -1}); /* the checks, and no memory yet */
    int64_t bytes;

    if (!t || device.type == FB_META) return t;
    bytes = t->storage->bytes;
    t->device = t->storage->device = device;
    t->keys = FB_L_CPU;
    if (bytes == 0) return t;
    if (bytes <= (int64_t)sizeof t->storage->small) {
        t->storage->data = t->storage->small;
        memset(t->storage->small, 0, sizeof t->storage->small);
    } else if (!(t->storage->data = fb_alloc_zeroed(bytes))) {
        fb_release(t);
        return NULL;
    }
    return t;
}

/* t becomes what source is (shape, dtype, storage); its version starts anew, its history is the caller's business. */
fb_status fb_set_data(fb_tensor *t, fb_tensor *source)
{
    int64_t *dims = NULL;

    if (t == source) return FB_OK;
    if (source->ndim > FB_INLINE_DIMS && !(dims = fb_alloc(2 * source->ndim * (int64_t)sizeof *dims))) return FB_FAIL;
    if (t->sizes != t->dims) fb_free(t->sizes);
    t->sizes = dims ? dims : t->dims;
    t->strides = dims ? dims + source->ndim : t->dims + FB_INLINE_DIMS;
    memcpy(t->sizes, source->sizes, (size_t)source->ndim * sizeof *dims);
    memcpy(t->strides, source->strides, (size_t)source->ndim * sizeof *dims);
    t->ndim = source->ndim;
    t->dtype = source->dtype;
    t->device = source->device;
    t->keys = (t->keys & ~(fb_layers)FB_L_BACKENDS) | (source->keys & FB_L_BACKENDS);
    t->offset = source->offset;
    fb_storage_retain(source->storage);
    fb_storage_release(t->storage);
    t->storage = source->storage;
    version_release(t->version);
    t->version = NULL;
    fb_set_geometry(t);
    return FB_OK;
}

fb_tensor *fb_reinterpret(fb_tensor *t, fb_dtype dtype, int64_t ndim, const int64_t *sizes, const int64_t *strides, int64_t offset)
{
    fb_tensor *v;
    int64_t count, need;

    if (dtype < 0 || dtype >= FB_N_DTYPES) return fb_fail_null(FB_EVALUE, "dtype=%d is not a dtype", (int)dtype);
    if (fb_count(ndim, sizes, &count) != FB_OK || extent(ndim, sizes, strides, &count) != FB_OK) return NULL;
    if (offset < 0 || __builtin_add_overflow(offset, count, &need) || __builtin_mul_overflow(need, fb_itemsize(dtype), &need) ||
        (count > 0 && need > t->storage->bytes))
        return fb_fail_null(FB_ERUNTIME, "sizes %s and strides %s at offset %lld in elements of %s are out of bounds for storage of size %lld",
                            fb_shape_text(ndim, sizes), fb_shape_text(ndim, strides), (long long)offset, fb_dtype_name(dtype),
                            (long long)t->storage->bytes);
    if (!(v = share(t, ndim, sizes, strides, offset))) return NULL;
    v->dtype = (uint8_t)dtype;
    v->base = fb_retain(t->base ? t->base : t);
    v->flags |= t->flags & (FB_T_NO_GRAD_VIEW | FB_T_MULTI_VIEW); /* what may not be written to hands that on */
    if (FB_UNLIKELY(!fb_grad_enabled())) fb_view_without_grad(v);
    return v;
}
