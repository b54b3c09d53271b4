/* What Python sees of the core besides the operators' entries (generated). Read by cffi: no preprocessor. */
typedef struct fb_tensor fb_tensor;
typedef struct fb_storage fb_storage;
typedef struct fb_generator fb_generator;
typedef struct { int kind; int64_t i; double re, im; } fb_scalar;
typedef struct { int8_t type, index; } fb_device;
typedef struct { fb_tensor *t0, *t1; } fb_ret2;
typedef struct { fb_tensor *t0, *t1, *t2; } fb_ret3;
typedef struct { fb_tensor *t0, *t1, *t2, *t3; } fb_ret4;
typedef struct { int64_t n; fb_tensor **t; } fb_list;
typedef struct {
    int64_t allocated, allocated_peak, reserved, reserved_peak, allocations, frees, cache_hits, live_tensors, live_storages;
} fb_memory_stats;

/* errors, warnings, hooks */
int fbp_error_kind(void);
const char *fb_error_message(void);
void fb_error_clear(void);
void fbp_install_hooks(void);
extern "Python" void fbp_on_warning(const char *message);
extern "Python" void fbp_on_release(void *handle);

/* handles */
fb_tensor *fb_retain(fb_tensor *t);
void fb_release(fb_tensor *t);
int64_t fb_ndim(const fb_tensor *t);
int64_t fb_numel(const fb_tensor *t);
const int64_t *fb_sizes(const fb_tensor *t);
const int64_t *fb_strides(const fb_tensor *t);
int64_t fb_offset(const fb_tensor *t);
int fbp_dtype(const fb_tensor *t);
int fbp_device_type(const fb_tensor *t);
bool fb_is_contiguous(const fb_tensor *t);
void *fb_data(const fb_tensor *t);
void *fbp_storage_data(const fb_tensor *t);
int64_t fbp_storage_bytes(const fb_tensor *t);
int64_t fbp_storage_id(const fb_tensor *t);
int fbp_storage_resizable(const fb_tensor *t);
int fbp_storage_resize(fb_tensor *t, int64_t bytes);
uint32_t fb_version_of(const fb_tensor *t);
int fbp_flags(const fb_tensor *t);
void fbp_list_free(fb_list *l);

/* making tensors */
fb_tensor *fbp_empty(int64_t *sizes, int64_t ndim, int dtype, int device);
fb_tensor *fbp_empty_strided(int64_t *sizes, int64_t *strides, int64_t ndim, int dtype, int device);
fb_tensor *fbp_full(int64_t *sizes, int64_t ndim, fb_scalar value, int dtype, int device);
fb_tensor *fbp_zeros_plain(int64_t *sizes, int64_t ndim);
fb_tensor *fbp_full_like(fb_tensor *like, fb_scalar value);
fb_tensor *fbp_zeros(int64_t *sizes, int64_t ndim, int dtype, int device);
fb_tensor *fbp_from_doubles(double *values, int64_t n, int64_t *sizes, int64_t ndim, int dtype);
fb_tensor *fbp_from_ints(int64_t *values, int64_t n, int64_t *sizes, int64_t ndim, int dtype);
fb_tensor *fbp_from_complex(double *values, int64_t n, int64_t *sizes, int64_t ndim, int dtype);
fb_tensor *fbp_from_memory(intptr_t data, int64_t bytes, void *handle, int64_t *sizes, int64_t *strides, int64_t ndim, int dtype);
fb_tensor *fbp_wrapped(fb_scalar value);
fb_tensor *fbp_ramp(int64_t n, fb_scalar first, fb_scalar step, int dtype, int device);
fb_tensor *fbp_linspace(int64_t n, fb_scalar first, fb_scalar last, int dtype, int device);
fb_tensor *fb_alias(fb_tensor *t);
int fbp_resize(fb_tensor *t, int64_t *sizes, int64_t ndim);
int fbp_set_data(fb_tensor *t, fb_tensor *source);
int fbp_set_geometry(fb_tensor *t, fb_tensor *like);
fb_tensor *fbp_data_alias(fb_tensor *t);
fb_tensor *fbp_view_of(fb_tensor *t, int64_t *sizes, int64_t *strides, int64_t ndim, int64_t offset);
fb_tensor *fbp_reinterpret(fb_tensor *t, int dtype, int64_t *sizes, int64_t *strides, int64_t ndim, int64_t offset);

/* values */
fb_scalar fbp_scalar_int(int64_t v);
fb_scalar fbp_scalar_float(double v);
fb_scalar fbp_scalar_bool(int v);
fb_scalar fbp_scalar_complex(double re, double im);
int fbp_item(const fb_tensor *t, fb_scalar *out);
double fbp_item_double(const fb_tensor *t);
int64_t fbp_item_int(const fb_tensor *t);
int fbp_read_doubles(const fb_tensor *t, double *out);
int fbp_read_ints(const fb_tensor *t, int64_t *out);

int64_t fbp_address(const fb_tensor *t);
int fbp_make_types(intptr_t module, intptr_t probe, intptr_t address);
int fbp_lendable(const fb_tensor *t);

/* dtypes */
int fb_default_dtype_num(void);
int fbp_set_default_dtype(int dtype);
int fbp_promote(int a, int b);
int fbp_can_cast(int from, int to);
int fbp_result_type(fb_tensor **ts, int64_t n);

/* memory and threads */
void fb_get_memory_stats(fb_memory_stats *out);
void fb_reset_peak_memory_stats(void);
void fb_empty_cache(void);
void fb_set_cache_limit(int64_t bytes);
int fb_num_threads(void);
int fbp_set_num_threads(int n);
int fb_isa(void);
int fb_n_ops_num(void);
const char *fbp_op_name(int id);

/* random numbers */
fb_generator *fb_generator_new(void);
fb_generator *fb_generator_clone(fb_generator *g);
fb_generator *fb_generator_retain(fb_generator *g);
void fb_generator_release(fb_generator *g);
fb_generator *fb_generator_default(void);
void fb_generator_manual_seed(fb_generator *g, uint64_t seed);
uint64_t fb_generator_initial_seed(fb_generator *g);
uint64_t fb_generator_seed(fb_generator *g);
void fb_generator_get_state(fb_generator *g, uint8_t *out);
int fbp_generator_set_state(fb_generator *g, uint8_t *state, int64_t bytes);
