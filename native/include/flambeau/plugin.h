/* How another shared library (a GPU backend, a package of operators) reaches the core that is already loaded: through a
 * table of function pointers that core hands out. Nothing is linked across libraries.
 *
 * A plugin exports   fb_status fb_plugin_init(const fb_core_api *core);
 * and is loaded by fb_load_plugin(path). It reads core->abi first: the table of another ABI is laid out differently. Within an
 * ABI version the table only grows at its end; core->size says how far it reaches. */
#ifndef FLAMBEAU_PLUGIN_H
#define FLAMBEAU_PLUGIN_H

#include "flambeau/flambeau.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FB_PLUGIN_ABI 1

typedef struct fb_core_api {
    uint32_t abi, size;
    fb_status (*fail)(fb_error kind, const char *format, ...);
    fb_error (*error_kind)(void);
    const char *(*error_message)(void);
    void (*error_clear)(void);
    void *(*alloc)(int64_t bytes);
    void (*free)(void *block);
    int (*num_threads)(void);
    void (*parallel)(int64_t chunks, fb_task task, void *ctx);
    fb_tensor *(*empty)(int64_t ndim, const int64_t *sizes, fb_dtype dtype, fb_device device);
    fb_tensor *(*empty_strided)(int64_t ndim, const int64_t *sizes, const int64_t *strides, fb_dtype dtype, fb_device device);
    fb_tensor *(*from_scalar)(fb_scalar value, fb_dtype dtype);
    fb_tensor *(*from_memory)(void *data, int64_t bytes, void (*deleter)(void *), void *ctx, int64_t ndim, const int64_t *sizes,
                              const int64_t *strides, int64_t offset, fb_dtype dtype);
    fb_tensor *(*retain)(fb_tensor *t);
    void (*release)(fb_tensor *t);
    int64_t (*ndim)(const fb_tensor *t);
    int64_t (*numel)(const fb_tensor *t);
    const int64_t *(*sizes)(const fb_tensor *t);
    const int64_t *(*strides)(const fb_tensor *t);
    int64_t (*offset)(const fb_tensor *t);
    fb_dtype (*dtype)(const fb_tensor *t);
    fb_device (*device)(const fb_tensor *t);
    void *(*data)(const fb_tensor *t);
    bool (*is_contiguous)(const fb_tensor *t);
    /* Any operator of the table by its name: inputs as in its signature, params its struct fb_p_<name>. One result, owned by the caller. */
    fb_tensor *(*call)(const char *name, int32_t n_inputs, fb_tensor **inputs, const void *params);
} fb_core_api;

typedef fb_status (*fb_plugin_init_fn)(const fb_core_api *core);

FB_API const fb_core_api *fb_core_api_get(uint32_t abi); /* NULL with the error set where core speaks another ABI */
FB_API fb_status fb_load_plugin(const char *path);       /* loads it for good, and calls its fb_plugin_init */

#ifdef __cplusplus
}
#endif
#endif
