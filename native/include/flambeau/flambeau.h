/* The public C API of Flambeau's core: tensors, memory, threads, errors. Operators are declared in
 * flambeau/ops.gen.h, which the build writes from native/ops.
 *
 * Ownership: arguments are borrowed; a returned fb_tensor * is owned by the caller (fb_release it), and
 * NULL means that the thread's error is set (fb_error_kind, fb_error_message). A function that returns
 * fb_status answers FB_OK (0) or FB_FAIL. */
#ifndef FLAMBEAU_H
#define FLAMBEAU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(FB_API)
#define FB_API __attribute__((visibility("default")))
#endif

#define FB_MAX_DIMS 64       /* dimensions of a tensor */
#define FB_ABSENT INT64_MIN  /* an optional integer that was not given */

typedef enum fb_status { FB_OK = 0, FB_FAIL = -1 } fb_status;

/* What went wrong; the Python binding raises the class in the comment. */
typedef enum fb_error {
    FB_ENONE = 0,
    FB_ERUNTIME,  /* RuntimeError */
    FB_ESHAPE,    /* RuntimeError: shapes that do not fit */
    FB_EDTYPE,    /* RuntimeError: dtypes that do not fit */
    FB_EDEVICE,   /* RuntimeError */
    FB_EVALUE,    /* ValueError */
    FB_ETYPE,     /* TypeError */
    FB_EINDEX,    /* IndexError */
    FB_ENOTIMPL,  /* NotImplementedError */
    FB_EMEMORY,   /* OutOfMemoryError (a RuntimeError and a MemoryError) */
    FB_EOVERFLOW, /* OverflowError */
    FB_ELINALG,   /* LinAlgError (a RuntimeError) */
    FB_EPYTHON,   /* a Python callback raised; the binding re-raises what it parked */
} fb_error;

/* Element types. The numbers are part of the ABI; a new one goes to the end. */
typedef enum fb_dtype {
    FB_NONE = -1, /* not given */
    FB_BOOL = 0, FB_U8, FB_I8, FB_I16, FB_I32, FB_I64, FB_U16, FB_U32, FB_U64,
    FB_F16, FB_BF16, FB_F32, FB_F64, FB_C64, FB_C128, FB_F8E4M3FN, FB_F8E5M2,
    FB_N_DTYPES
} fb_dtype;

typedef enum fb_device_type { FB_CPU = 0, FB_META = 1, FB_CUDA = 2, FB_NO_DEVICE = -1 } fb_device_type;
typedef struct fb_device { int8_t type, index; } fb_device;

typedef struct fb_tensor fb_tensor;
typedef struct fb_storage fb_storage;
typedef struct fb_generator fb_generator;

/* A number of any kind, as Python passes it. */
typedef enum fb_scalar_kind { FB_S_NONE = 0, FB_S_BOOL, FB_S_INT, FB_S_FLOAT, FB_S_COMPLEX } fb_scalar_kind;
typedef struct fb_scalar {
    fb_scalar_kind kind;
    int64_t i;     /* BOOL, INT */
    double re, im; /* FLOAT, COMPLEX (and the value of BOOL and INT, rounded) */
} fb_scalar;
static inline fb_scalar fb_int(int64_t v) { return (fb_scalar){FB_S_INT, v, (double)v, 0}; }
static inline fb_scalar fb_float(double v) { return (fb_scalar){FB_S_FLOAT, (int64_t)0, v, 0}; }
static inline fb_scalar fb_boolean(bool v) { return (fb_scalar){FB_S_BOOL, v, v, 0}; }

/* A borrowed list of integers; n = -1: not given. */
typedef struct fb_ints { int64_t n; const int64_t *v; } fb_ints;
typedef struct fb_floats { int64_t n; const double *v; } fb_floats;

/* ---- errors (thread-local) ------------------------------------------------------------------ */
FB_API fb_status fb_fail(fb_error kind, const char *format, ...) __attribute__((format(printf, 2, 3))); /* returns FB_FAIL */
FB_API void *fb_fail_null(fb_error kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
FB_API fb_error fb_error_kind(void);
FB_API const char *fb_error_message(void);
FB_API void fb_error_clear(void);

/* ---- dtypes --------------------------------------------------------------------------------- */
FB_API int64_t fb_itemsize(fb_dtype dtype);
FB_API const char *fb_dtype_name(fb_dtype dtype);    /* "float32" */
FB_API const char *fb_dtype_label(fb_dtype dtype);   /* "Float", as error texts write it */
FB_API fb_dtype fb_promote(fb_dtype a, fb_dtype b);  /* FB_NONE with the error set where there is none */
FB_API fb_dtype fb_default_dtype(void);
FB_API fb_status fb_set_default_dtype(fb_dtype dtype);

/* ---- memory --------------------------------------------------------------------------------- */
typedef struct fb_memory_stats {
    int64_t allocated, allocated_peak; /* bytes handed out now, and their maximum */
    int64_t reserved, reserved_peak;   /* bytes taken from the system, cached ones included */
    int64_t allocations, frees;        /* calls since start */
    int64_t cache_hits;                /* allocations served without asking the system */
    int64_t live_tensors, live_storages;
} fb_memory_stats;
FB_API void *fb_alloc(int64_t bytes);             /* 64-byte aligned, uninitialised; NULL with the error set (also bytes < 0) */
FB_API void *fb_alloc_zeroed(int64_t bytes);      /* fresh pages where that is cheaper than clearing */
FB_API void fb_free(void *block);                 /* NULL is fine; any thread */
FB_API void fb_get_memory_stats(fb_memory_stats *out);
FB_API void fb_reset_peak_memory_stats(void);
FB_API void fb_empty_cache(void);                 /* gives cached blocks back to the system */
FB_API void fb_set_cache_limit(int64_t bytes);    /* -1: the default, 1/8 of RAM */

/* ---- threads -------------------------------------------------------------------------------- */
typedef void (*fb_task)(void *ctx, int64_t chunk); /* must not fail: report through ctx */
FB_API int fb_num_threads(void);
FB_API fb_status fb_set_num_threads(int n);        /* n >= 1 */
/* Runs task(ctx, 0..chunks-1), some on the pool's threads, and returns when all are done. Which thread
 * runs which chunk is not fixed, so a result may depend on the chunking only. A nested call runs serially. */
FB_API void fb_parallel(int64_t chunks, fb_task task, void *ctx);
/* For a host that must give up a lock while the core computes (Python's GIL): save() before, restore(its result) after. */
FB_API void fb_set_blocking_hooks(void *(*save)(void), void (*restore)(void *));

/* ---- tensors -------------------------------------------------------------------------------- */
FB_API fb_tensor *fb_empty(int64_t ndim, const int64_t *sizes, fb_dtype dtype, fb_device device);
FB_API fb_tensor *fb_empty_strided(int64_t ndim, const int64_t *sizes, const int64_t *strides, fb_dtype dtype, fb_device device);
FB_API fb_tensor *fb_from_scalar(fb_scalar value, fb_dtype dtype); /* 0-d on the CPU */
/* Wraps memory that someone else owns: deleter(ctx), where not NULL, runs when the last tensor on it
 * is gone. offset in elements. */
FB_API fb_tensor *fb_from_memory(void *data, int64_t bytes, void (*deleter)(void *), void *ctx, int64_t ndim,
                                 const int64_t *sizes, const int64_t *strides, int64_t offset, fb_dtype dtype);
FB_API fb_tensor *fb_retain(fb_tensor *t); /* returns t */
FB_API void fb_release(fb_tensor *t);      /* NULL is fine */
FB_API int64_t fb_ndim(const fb_tensor *t);
FB_API int64_t fb_numel(const fb_tensor *t);
FB_API const int64_t *fb_sizes(const fb_tensor *t);
FB_API const int64_t *fb_strides(const fb_tensor *t); /* in elements */
FB_API int64_t fb_offset(const fb_tensor *t);
FB_API fb_dtype fb_dtype_of(const fb_tensor *t);
FB_API fb_device fb_device_of(const fb_tensor *t);
FB_API void *fb_data(const fb_tensor *t);             /* its first element; NULL on meta or when empty */
FB_API bool fb_is_contiguous(const fb_tensor *t);
FB_API fb_status fb_item(const fb_tensor *t, fb_scalar *out); /* the one element of t */

#ifdef __cplusplus
}
#endif
#endif
