/* What every part of the core sees: the structs behind the public handles, the frame, the operator row,
 * and the helpers that infer functions and kernels are written with. */
#ifndef FB_CORE_H
#define FB_CORE_H

#include "flambeau/flambeau.h"
#include <stdatomic.h>
#include <string.h>

#define FB_LIKELY(x) __builtin_expect(!!(x), 1)
#define FB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define FB_MIN(a, b) ((a) < (b) ? (a) : (b))
#define FB_MAX(a, b) ((a) > (b) ? (a) : (b))
#define FB_TRY(call)                                                                                                   \
    do {                                                                                                               \
        if (FB_UNLIKELY((call) != FB_OK)) return FB_FAIL;                                                              \
    } while (0)

/* ---- layers: one bit each; dispatch takes the highest ---------------------------------------- */
typedef uint32_t fb_layers;
enum {
    FB_L_CPU = 1u << 0,
    FB_L_META = 1u << 1,
    FB_L_CUDA = 1u << 2,
    FB_L_QUANTIZED = 1u << 4,
    FB_L_SPARSE = 1u << 5,
    FB_L_BATCH = 1u << 8,
    FB_L_AUTOGRAD = 1u << 12, /* set on a tensor that requires grad or has a node */
    FB_L_AUTOCAST = 1u << 16,
    FB_L_PYTHON = 1u << 20,
    FB_L_TRACER = 1u << 24,
    FB_L_PROFILER = 1u << 28,
    FB_L_BACKENDS = 0x7,
    FB_L_ALL = 0xffffffffu,
};

/* ---- storage, version, tensor ----------------------------------------------------------------- */
struct fb_storage {
    _Atomic int32_t refs;
    bool resizable;       /* memory of our own allocator: may grow */
    fb_device device;
    char *data;           /* NULL when empty or on meta */
    int64_t bytes;
    int64_t capacity;     /* what was allocated: a storage that shrinks keeps it, since tensors may still reach there */
    void (*deleter)(void *ctx); /* memory that is not ours; NULL: fb_free(data) */
    void *ctx;
    _Alignas(16) char small[16]; /* data of a single element: no second allocation for a 0-d tensor */
};

/* Counts in-place writes. Shared by the views of a tensor and by detach(); a fresh one for .data and set_. */
typedef struct fb_version { _Atomic int32_t refs; _Atomic uint32_t count; } fb_version;

struct fb_autograd; /* autograd.h: requires_grad, node, grad, accumulator, hooks; NULL on a tensor without history */

#define FB_INLINE_DIMS 5
enum { /* fb_tensor.flags */
    FB_T_CONTIGUOUS = 1, /* row-major, kept up to date by fb_set_geometry */
    FB_T_WRAPPED = 2,    /* made of a Python number: takes part in promotion by category only */
    FB_T_INFERENCE = 4,  /* made under inference_mode: no version, no history */
    FB_T_VIEW_OF_DATA = 8, /* not tracked against its base (detach, .data) */
    FB_T_NO_GRAD_VIEW = 16, /* a view made while gradients were off */
    FB_T_MULTI_VIEW = 32,  /* one of several views that one operator returned (split, unbind) */
};
struct fb_tensor {
    _Atomic int32_t refs;
    uint8_t dtype, flags;
    int16_t ndim;
    fb_layers keys;
    fb_device device;
    int64_t numel, offset; /* offset in elements */
    fb_storage *storage;
    fb_version *version;   /* NULL until the first write, view or detach */
    fb_tensor *base;       /* a view's base (never itself a view), owned; else NULL */
    struct fb_autograd *ag;
    int64_t *sizes, *strides; /* point into dims, or to one block of 2 * ndim */
    int64_t dims[2 * FB_INLINE_DIMS];
};
static inline void *fb_ptr(const fb_tensor *t) /* the first element, no checks */
{
    extern const uint8_t fb_itemsizes[];
    return t->storage->data + t->offset * fb_itemsizes[t->dtype];
}
static inline bool fb_contig(const fb_tensor *t) { return t->flags & FB_T_CONTIGUOUS; }

fb_tensor *fb_new(int64_t ndim, const int64_t *sizes, const int64_t *strides /* NULL: row-major */, fb_dtype dtype, fb_device device);
/* A view on t's storage; offset is absolute, in elements of dtype. Checks that it stays inside. Shares the version, remembers the base. */
fb_tensor *fb_view_of(fb_tensor *t, int64_t ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
fb_tensor *fb_alias(fb_tensor *t);            /* the same memory, shape and version; no history (detach) */
fb_tensor *fb_new_zeros(int64_t ndim, const int64_t *sizes, fb_dtype dtype, fb_device device);
/* a view as another dtype; offset in its elements */
fb_tensor *fb_reinterpret(fb_tensor *t, fb_dtype dtype, int64_t ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
fb_status fb_set_data(fb_tensor *t, fb_tensor *source); /* t.data = source */
void fb_set_geometry(fb_tensor *t);           /* numel and the contiguous flag, after sizes or strides changed */
fb_status fb_resize(fb_tensor *t, int64_t ndim, const int64_t *sizes); /* row-major; grows the storage where it must */
fb_status fb_storage_resize(fb_storage *s, int64_t bytes);
uint32_t fb_version_of(const fb_tensor *t);
fb_status fb_bump_version(fb_tensor *t);      /* after an in-place write */
fb_storage *fb_storage_new(int64_t bytes, fb_device device);
fb_storage *fb_storage_retain(fb_storage *s);
void fb_storage_release(fb_storage *s);
/* the number of elements; FB_FAIL for negative sizes or one that overflows int64 */
fb_status fb_count(int64_t ndim, const int64_t *sizes, int64_t *numel);
bool fb_overlaps_itself(const fb_tensor *t);  /* may two indices reach one element? (exact for the usual cases, else true only if sure) */
typedef enum { FB_OVERLAP_NONE, FB_OVERLAP_FULL, FB_OVERLAP_PARTIAL, FB_OVERLAP_UNKNOWN } fb_overlap;
bool fb_is_dense(const fb_tensor *t);          /* no gaps and no overlap: row-major in some order of its dimensions */
fb_overlap fb_overlap_of(const fb_tensor *a, const fb_tensor *b);

/* ---- dtypes ----------------------------------------------------------------------------------- */
#define FB_BIT(dtype) (1u << (dtype))
#define FB_INTS (FB_BIT(FB_U8) | FB_BIT(FB_I8) | FB_BIT(FB_I16) | FB_BIT(FB_I32) | FB_BIT(FB_I64) | FB_BIT(FB_U16) | FB_BIT(FB_U32) | FB_BIT(FB_U64))
#define FB_HALVES (FB_BIT(FB_F16) | FB_BIT(FB_BF16))
#define FB_FLOAT8 (FB_BIT(FB_F8E4M3FN) | FB_BIT(FB_F8E5M2))
#define FB_FLOATS (FB_HALVES | FB_BIT(FB_F32) | FB_BIT(FB_F64))
#define FB_COMPLEXES (FB_BIT(FB_C64) | FB_BIT(FB_C128))
static inline bool fb_is(uint32_t set, int dtype) { return dtype >= 0 && (set >> dtype & 1); }
#define fb_is_float(d) fb_is(FB_FLOATS | FB_FLOAT8, d)
#define fb_is_complex(d) fb_is(FB_COMPLEXES, d)
#define fb_is_integral(d) fb_is(FB_INTS, d)          /* without bool */
fb_dtype fb_real_of(fb_dtype d);                      /* complex64 -> float32; others as they are */
fb_dtype fb_complex_of(fb_dtype d);                   /* float32 -> complex64 */
fb_dtype fb_result_type(int n, fb_tensor *const *tensors); /* PyTorch's categories: dims, then 0-d, then wrapped numbers; NULLs skipped */
bool fb_can_cast(fb_dtype from, fb_dtype to);
fb_dtype fb_compute_type(fb_dtype d);                 /* what kernels compute in: halves and float8 -> float32 */

/* ---- frames ------------------------------------------------------------------------------------ */
typedef struct fb_op fb_op;
enum { FB_F_OUT_GIVEN = 1, FB_F_IN_PLACE = 2 };
typedef struct fb_frame {
    const fb_op *op;
    fb_tensor **in, **out; /* in: borrowed, NULL = absent; out: preset for in-place and out= (borrowed then), else NULL and made (owned) */
    const void *params;    /* the operator's generated parameter struct: struct fb_p_<name> */
    fb_layers below;       /* layers still allowed */
    int32_t n_in, n_out;
    uint32_t flags;
    fb_device device;       /* for an operator without tensor inputs: set by infer before fb_out */
    double cost;           /* infer's estimate of the kernel's work in ns; 0: derived from the sizes */
    struct fb_arena *arena; /* scratch; freed when the frame ends */
    fb_tensor *out_small[4]; /* room for out where the caller has none */
} fb_frame;

typedef fb_status (*fb_frame_fn)(fb_frame *f);

enum { /* fb_op.flags */
    FB_OP_COMPOSITE = 1,     /* kernel calls other operators; runs on any backend */
    FB_OP_VIEW = 2,          /* outputs share in[0]'s memory */
    FB_OP_DIRECT_OUT = 4,    /* infer and kernel treat a preset out of any stride and dtype themselves */
    FB_OP_STAGE_HALF = 8,    /* float16/bfloat16 inputs are cast to float32 around the kernel */
    FB_OP_DATA_SHAPE = 16,   /* output shapes depend on data: raises on meta */
    FB_OP_INPLACE = 32,      /* the operator writes in[0] (op_ without a functional twin): out[0] is in[0] */
    FB_OP_NONDIFF = 64,      /* outputs never require grad */
    FB_OP_RANDOM = 128,
    FB_OP_ALIAS = 256,       /* in place, the kernel works on out[0] == in[0] directly: no temporary */
};
enum { FB_N_ISA = 3 }; /* base, avx2, avx512 */

typedef enum { FB_ARG_TENSOR, FB_ARG_OPTIONAL, FB_ARG_LIST } fb_arg_kind;
struct fb_node;
struct fb_op {
    const char *name;
    int16_t id, version;
    int16_t n_args;             /* tensor arguments; a list counts as one */
    int16_t n_results;          /* -1: a list */
    const uint8_t *args;        /* fb_arg_kind of each */
    uint32_t flags;
    uint32_t dtypes;            /* input dtypes that the kernel takes (bits); 0: all but float8 */
    fb_frame_fn infer;          /* shapes and dtypes: calls fb_out for each output */
    fb_frame_fn kernel[FB_N_ISA];
    const void *family;         /* the family's own row (fb_ew for elementwise, fb_reduce ...) */
    const void *grad;           /* autograd's row (fb_grad_rule), NULL: no derivative */
    int32_t params_size;
    fb_status (*params_copy)(void *dst, const void *src); /* deep: nodes and graphs outlive the caller's lists */
    void (*params_free)(void *params);
};
extern const fb_op *const fb_ops[]; /* generated, by id */
extern const int fb_n_ops;

/* Runs a frame: the highest layer among the inputs' keys and the thread's included layers takes it. */
fb_status fb_dispatch(fb_frame *f);
fb_status fb_redispatch(fb_frame *f, fb_layers below); /* only layers of that mask remain */
/* As fb_dispatch, for one output: gives it (a new reference, also for a preset out), or NULL. */
fb_tensor *fb_run(fb_frame *f);
typedef struct fb_layer_state { fb_layers included, excluded; } fb_layer_state;
fb_layer_state *fb_thread_layers(void);
/* Tells the host (Python's warnings.warn) through the hook, or writes to stderr without one. */
void fb_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fb_set_warning_hook(void (*hook)(const char *message));
fb_status fb_set_layer(fb_layers bit, fb_frame_fn handler); /* switches a layer on (NULL: off) */
fb_status fb_backend_run(fb_frame *f); /* infer -> kernel on CPU or meta */
int fb_isa(void);                      /* 0 base, 1 AVX2+FMA, 2 AVX-512: chosen once; FLAMBEAU_ISA=base|avx2|avx512 lowers it */

/* Called by infer for each output. Makes f->out[i], or checks a preset one: its shape is resized (out=) or refused (in-place),
 * its dtype must be castable from dtype. Where a preset out is not plainly usable (other dtype, not contiguous, overlaps an input) and
 * the operator is not DIRECT_OUT, the backend puts a temporary in its place and copies after the kernel: kernels of such
 * operators always see contiguous outputs of exactly this dtype and shape. strides NULL: row-major. */
fb_status fb_out(fb_frame *f, int i, fb_dtype dtype, int64_t ndim, const int64_t *sizes, const int64_t *strides);
fb_status fb_out_like(fb_frame *f, int i, const fb_tensor *like, fb_dtype dtype); /* same sizes, row-major */
fb_status fb_out_count(fb_frame *f, int32_t n);     /* an operator with a list of results says how many, before fb_out */
void *fb_scratch(fb_frame *f, int64_t bytes);        /* 64-byte aligned, lives until the frame ends; NULL with the error set */

/* ---- helpers for infer functions and kernels --------------------------------------------------- */
/* t itself (retained) when contiguous and of that dtype, else a converted copy; FB_NONE keeps the dtype. No history is recorded. */
fb_tensor *fb_contiguous_as(fb_tensor *t, fb_dtype dtype);
fb_status fb_copy_data(fb_tensor *dst, const fb_tensor *src);  /* dst[...] = src with broadcast and cast; any strides; below all layers */
fb_status fb_fill_data(fb_tensor *dst, fb_scalar value);        /* likewise */
fb_status fb_wrap_dim(int64_t dim, int64_t ndim, int64_t *out); /* -ndim..ndim-1 -> 0..; IndexError text as PyTorch's; 0-d counts as 1-d */
/* dims as a bit set (absent or, if empty_is_all, empty: all); a repeated one is an error. ndim <= 64. */
fb_status fb_dim_mask(fb_ints dims, int64_t ndim, bool empty_is_all, uint64_t *mask);
fb_status fb_broadcast_shape(int n, fb_tensor *const *tensors, int64_t *ndim, int64_t sizes[FB_MAX_DIMS]);
const char *fb_shape_text(int64_t ndim, const int64_t *sizes);  /* "[2, 3]" in a thread-local ring of buffers */
double fb_scalar_double(fb_scalar s);
int64_t fb_scalar_int(fb_scalar s);   /* floats truncate */
bool fb_scalar_true(fb_scalar s);
/* C number of a dtype from a scalar, written at dst (fb_itemsize bytes). */
void fb_scalar_store(fb_scalar s, fb_dtype dtype, void *dst);
fb_scalar fb_scalar_load(const void *src, fb_dtype dtype);
float fb_half_to_float(uint16_t h), fb_bf16_to_float(uint16_t h);
uint16_t fb_float_to_half(float f), fb_float_to_bf16(float f); /* round to nearest even */
float fb_f8e4m3fn_to_float(uint8_t v), fb_f8e5m2_to_float(uint8_t v);
uint8_t fb_float_to_f8e4m3fn(float f), fb_float_to_f8e5m2(float f); /* as PyTorch: e4m3fn overflow gives NaN, e5m2 inf */

/* Splits n items of about ns_each nanoseconds each into chunks of at least ~8 us, by n and cost only; runs body(ctx, begin, end). */
typedef void (*fb_range_fn)(void *ctx, int64_t begin, int64_t end);
void fb_parallel_range(int64_t n, double ns_each, fb_range_fn body, void *ctx);

#endif
