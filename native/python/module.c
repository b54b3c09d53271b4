/* The C half of the Python binding: thin entries over the public API, with arguments that cffi converts cheaply.
 * Compiled into the cffi module, before the generated entries. */
#include "autograd/autograd.h"
#include "flambeau/ops.gen.h"
#include "runtime/frame.h"
#include "runtime/ramp.h"
#include "runtime/random.h"

typedef struct { fb_tensor *t0, *t1; } fb_ret2;
typedef struct { fb_tensor *t0, *t1, *t2; } fb_ret3;
typedef struct { fb_tensor *t0, *t1, *t2, *t3; } fb_ret4;
typedef struct { int64_t n; fb_tensor **t; } fb_list;
static _Thread_local fb_list fb_list_of_thread;

#include "types.c"

static void fbp_on_warning(const char *message);
static void fbp_on_release(void *handle);

static int fbp_error_kind(void) { return fb_error_kind(); }
static void *save_thread(void) { return PyEval_SaveThread(); }
static void restore_thread(void *state) { PyEval_RestoreThread(state); }

static void fbp_install_hooks(void)
{
    fb_set_blocking_hooks(save_thread, restore_thread);
    fb_set_warning_hook(fbp_on_warning);
}

static int fbp_dtype(const fb_tensor *t) { return t->dtype; }
static int fbp_device_type(const fb_tensor *t) { return t->device.type; }
static void *fbp_storage_data(const fb_tensor *t) { return t->storage->data; }
static int64_t fbp_storage_bytes(const fb_tensor *t) { return t->storage->bytes; }
static int64_t fbp_storage_id(const fb_tensor *t) { return (int64_t)(intptr_t)t->storage; }
static int fbp_storage_resizable(const fb_tensor *t) { return t->storage->resizable; }
static int fbp_storage_resize(fb_tensor *t, int64_t bytes) { return fb_storage_resize(t->storage, bytes); }
static int fbp_flags(const fb_tensor *t) { return t->flags; }

static void fbp_list_free(fb_list *l)
{
    fb_free(l->t);
    l->t = NULL;
    l->n = 0;
}

static fb_device device_of(int type) { return (fb_device){(int8_t)type, -1}; }

static fb_tensor *fbp_empty(int64_t *sizes, int64_t ndim, int dtype, int device)
{
    return fb_new(ndim, sizes, NULL, (fb_dtype)dtype, device_of(device));
}

static fb_tensor *fbp_empty_strided(int64_t *sizes, int64_t *strides, int64_t ndim, int dtype, int device)
{
    return fb_new(ndim, sizes, strides, (fb_dtype)dtype, device_of(device));
}

static fb_tensor *fbp_full(int64_t *sizes, int64_t ndim, fb_scalar value, int dtype, int device)
{
    fb_tensor *t = fb_new(ndim, sizes, NULL, (fb_dtype)dtype, device_of(device));

    if (t && device == FB_CPU && fb_fill_data(t, value) != FB_OK) {
        fb_release(t);
        return NULL;
    }
    return t;
}

/* Of the default dtype, on the CPU. */
static fb_tensor *fbp_zeros_plain(int64_t *sizes, int64_t ndim)
{
    return fb_new_zeros(ndim, sizes, fb_default_dtype(), device_of(FB_CPU));
}

/* Of a row-major tensor; NULL for others, which Python lays out. */
static fb_tensor *fbp_full_like(fb_tensor *like, fb_scalar value)
{
    fb_tensor *t;

    if (!fb_contig(like)) return fb_fail_null(FB_ERUNTIME, "full_like: not row-major");
    t = fb_new(like->ndim, like->sizes, NULL, (fb_dtype)like->dtype, like->device);
    if (t && like->device.type == FB_CPU && fb_fill_data(t, value) != FB_OK) {
        fb_release(t);
        return NULL;
    }
    return t;
}

static fb_tensor *fbp_zeros(int64_t *sizes, int64_t ndim, int dtype, int device)
{
    return fb_new_zeros(ndim, sizes, (fb_dtype)dtype, device_of(device));
}

/* A tensor of n values that cffi has converted to one C type. */
static fb_tensor *from_values(const void *values, fb_dtype from, int64_t n, int64_t *sizes, int64_t ndim, int dtype)
{
    fb_tensor *t = fb_new(ndim, sizes, NULL, (fb_dtype)dtype, device_of(FB_CPU)), *s;
    bool ok;

    if (!t) return NULL;
    if (t->numel != n) {
        fb_release(t);
        return fb_fail_null(FB_EVALUE, "%lld values for a tensor of shape %s", (long long)n, fb_shape_text(ndim, sizes));
    }
    if (dtype == (int)from) {
        if (n) memcpy(fb_ptr(t), values, (size_t)(n * fb_itemsize(from)));
        return t;
    }
    s = fb_from_memory((void *)values, n * fb_itemsize(from), NULL, NULL, ndim, sizes, NULL, 0, from);
    if (s) s->storage->deleter = NULL, s->storage->data = n ? (char *)values : NULL;
    ok = s && fb_copy_data(t, s) == FB_OK;
    if (s) s->storage->data = NULL; /* the caller's memory: not to be freed */
    fb_release(s);
    if (ok) return t;
    fb_release(t);
    return NULL;
}

static fb_tensor *fbp_from_doubles(double *values, int64_t n, int64_t *sizes, int64_t ndim, int dtype)
{
    return from_values(values, FB_F64, n, sizes, ndim, dtype);
}

static fb_tensor *fbp_from_ints(int64_t *values, int64_t n, int64_t *sizes, int64_t ndim, int dtype)
{
    return from_values(values, FB_I64, n, sizes, ndim, dtype);
}

static fb_tensor *fbp_from_complex(double *values, int64_t n, int64_t *sizes, int64_t ndim, int dtype)
{
    return from_values(values, FB_C128, n, sizes, ndim, dtype);
}

static fb_tensor *fbp_from_memory(intptr_t data, int64_t bytes, void *handle, int64_t *sizes, int64_t *strides, int64_t ndim, int dtype)
{
    return fb_from_memory((void *)data, bytes, fbp_on_release, handle, ndim, sizes, strides, 0, (fb_dtype)dtype);
}

static fb_tensor *fbp_ramp(int64_t n, fb_scalar first, fb_scalar step, int dtype, int device)
{
    return fb_ramp(n, first, step, (fb_dtype)dtype, device_of(device));
}

static fb_tensor *fbp_linspace(int64_t n, fb_scalar first, fb_scalar last, int dtype, int device)
{
    return fb_linspace(n, first, last, (fb_dtype)dtype, device_of(device));
}

static fb_tensor *fbp_wrapped(fb_scalar value) { return fb_wrapped(value); }
static int fbp_resize(fb_tensor *t, int64_t *sizes, int64_t ndim) { return fb_resize(t, ndim, sizes); }
static int fbp_set_data(fb_tensor *t, fb_tensor *source) { return fb_set_data(t, source); }

/* t's own memory under the geometry of a view of it; the version counter stays. */
static int fbp_set_geometry(fb_tensor *t, fb_tensor *like)
{
    fb_version *v = t->version;
    fb_tensor *base = t->base;
    int status;

    if (t->storage != like->storage) return fb_fail(FB_ERUNTIME, "the shape of a tensor can only change to that of a view of it");
    if (v) atomic_fetch_add(&v->refs, 1);
    status = fb_set_data(t, like);
    t->base = base;
    if (status == FB_OK && v) t->version = v;
    return status;
}

/* What .data gives: the same memory with a version counter of its own. */
static fb_tensor *fbp_data_alias(fb_tensor *t)
{
    fb_tensor *v = fb_from_memory(NULL, 0, NULL, NULL, 1, (int64_t[]){0}, NULL, 0, (fb_dtype)t->dtype);

    if (v && fb_set_data(v, t) != FB_OK) {
        fb_release(v);
        return NULL;
    }
    return v;
}

static fb_tensor *fbp_view_of(fb_tensor *t, int64_t *sizes, int64_t *strides, int64_t ndim, int64_t offset)
{
    return fb_view_of(t, ndim, sizes, strides, offset);
}

static fb_tensor *fbp_reinterpret(fb_tensor *t, int dtype, int64_t *sizes, int64_t *strides, int64_t ndim, int64_t offset)
{
    return fb_reinterpret(t, (fb_dtype)dtype, ndim, sizes, strides, offset);
}

static fb_scalar fbp_scalar_int(int64_t v) { return fb_int(v); }
static fb_scalar fbp_scalar_float(double v) { return fb_float(v); }
static fb_scalar fbp_scalar_bool(int v) { return fb_boolean(v != 0); }
static fb_scalar fbp_scalar_complex(double re, double im) { return (fb_scalar){FB_S_COMPLEX, 0, re, im}; }
static int fbp_item(const fb_tensor *t, fb_scalar *out) { return fb_item(t, out); }

/* The caller has looked at numel and dtype. */
static double fbp_item_double(const fb_tensor *t) { return fb_scalar_load(fb_ptr(t), (fb_dtype)t->dtype).re; }
static int64_t fbp_item_int(const fb_tensor *t) { return fb_scalar_load(fb_ptr(t), (fb_dtype)t->dtype).i; }

/* All elements, row-major, as one C type; out has room for numel of them. */
static int read_values(const fb_tensor *t, void *out, fb_dtype as)
{
    fb_tensor *c = fb_contiguous_as((fb_tensor *)t, as);

    if (!c) return FB_FAIL;
    if (c->numel) memcpy(out, fb_ptr(c), (size_t)(c->numel * fb_itemsize(as)));
    fb_release(c);
    return FB_OK;
}

static int fbp_read_doubles(const fb_tensor *t, double *out) { return read_values(t, out, fb_is_complex(t->dtype) ? FB_C128 : FB_F64); }
static int fbp_read_ints(const fb_tensor *t, int64_t *out) { return read_values(t, out, FB_I64); }

static int fb_default_dtype_num(void) { return fb_default_dtype(); }
static int fbp_set_default_dtype(int dtype) { return fb_set_default_dtype((fb_dtype)dtype); }
/* The dtype of a tensor whose memory NumPy may have as it is: row-major, not empty, on the CPU, not requiring grad. Else -1. */
static int fbp_lendable(const fb_tensor *t)
{
    return fb_contig(t) && t->numel && t->storage->data && !fb_ag_requires_grad(t) ? t->dtype : -1;
}

/* What it takes to lend t's memory: its address, or 0 where there is none. */
static int64_t fbp_address(const fb_tensor *t) { return t->storage->data ? (int64_t)(intptr_t)fb_ptr(t) : 0; }

static int fbp_promote(int a, int b) { return fb_promote((fb_dtype)a, (fb_dtype)b); }
static int fbp_can_cast(int from, int to) { return fb_can_cast((fb_dtype)from, (fb_dtype)to); }
static int fbp_result_type(fb_tensor **ts, int64_t n) { return fb_result_type((int)n, ts); }
static int fbp_set_num_threads(int n) { return fb_set_num_threads(n); }
static int fb_n_ops_num(void) { return fb_n_ops; }
static const char *fbp_op_name(int id) { return id >= 0 && id < fb_n_ops ? fb_ops[id]->name : NULL; }

static int fbp_generator_set_state(fb_generator *g, uint8_t *state, int64_t bytes) { return fb_generator_set_state(g, state, bytes); }
