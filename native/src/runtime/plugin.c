/* The table that plugins get, and loading them. */
#include "flambeau/plugin.h"
#include "runtime/frame.h"
#include <dlfcn.h>

static const fb_op *op_by_name(const char *name)
{
    for (int i = 0; i < fb_n_ops; i++)
        if (strcmp(fb_ops[i]->name, name) == 0) return fb_ops[i];
    return NULL;
}

static fb_tensor *call(const char *name, int32_t n_inputs, fb_tensor **inputs, const void *params)
{
    const fb_op *op = name ? op_by_name(name) : NULL;
    fb_frame f = {.op = op, .in = inputs, .params = params, .below = FB_L_ALL, .n_in = n_inputs, .n_out = 1};
    bool has_list = false;

    if (!op) return fb_fail_null(FB_EVALUE, "there is no operator %s", name ? name : "(null)");
    for (int i = 0; i < op->n_args; i++) has_list |= op->args[i] == FB_ARG_LIST;
    if (op->n_results != 1) return fb_fail_null(FB_EVALUE, "%s has not one result", name);
    if (n_inputs < 0 || (!has_list && n_inputs != op->n_args))
        return fb_fail_null(FB_EVALUE, "%s takes %d tensors, not %d", name, op->n_args, (int)n_inputs);
    f.out = f.out_small;
    if (op->flags & FB_OP_INPLACE) {
        f.out_small[0] = inputs[0];
        f.flags = FB_F_IN_PLACE;
    }
    return fb_run(&f);
}

static const fb_core_api api = {
    .abi = FB_PLUGIN_ABI, .size = sizeof(fb_core_api),
    .fail = fb_fail, .error_kind = fb_error_kind, .error_message = fb_error_message, .error_clear = fb_error_clear,
    .alloc = fb_alloc, .free = fb_free, .num_threads = fb_num_threads, .parallel = fb_parallel,
    .empty = fb_empty, .empty_strided = fb_empty_strided, .from_scalar = fb_from_scalar, .from_memory = fb_from_memory,
    .retain = fb_retain, .release = fb_release, .ndim = fb_ndim, .numel = fb_numel, .sizes = fb_sizes, .strides = fb_strides,
    .offset = fb_offset, .dtype = fb_dtype_of, .device = fb_device_of, .data = fb_data, .is_contiguous = fb_is_contiguous, .call = call,
};

const fb_core_api *fb_core_api_get(uint32_t abi)
{
    if (abi != FB_PLUGIN_ABI) return fb_fail_null(FB_ERUNTIME, "this core speaks plugin ABI %d, not %u", FB_PLUGIN_ABI, (unsigned)abi);
    return &api;
}

fb_status fb_load_plugin(const char *path)
{
    fb_plugin_init_fn init;
    void *library;

    if (!path) return fb_fail(FB_EVALUE, "fb_load_plugin: path is missing");
    if (!(library = dlopen(path, RTLD_NOW | RTLD_LOCAL))) return fb_fail(FB_ERUNTIME, "%s: %s", path, dlerror());
    *(void **)&init = dlsym(library, "fb_plugin_init");
    if (!init) {
        dlclose(library);
        return fb_fail(FB_ERUNTIME, "%s exports no fb_plugin_init", path);
    }
    return init(&api);
}
