/* The C half of the binding of autograd: status as int, callbacks. Included by the cffi module after module.c. */
#include "autograd/variable.h"


static int fbp_ag_tensor_hooks(uint64_t, int32_t, fb_tensor **);
static int fbp_ag_pre_hooks(uint64_t, int32_t, fb_tensor **);
static int fbp_ag_post_hooks(uint64_t, int32_t, fb_tensor **, int32_t, fb_tensor **);
static int fbp_ag_accumulated(uint64_t, fb_tensor *);
static int fbp_ag_function(uint64_t, int32_t, fb_tensor **, int32_t, fb_tensor **);
static int fbp_ag_made(fb_node *);
static int fbp_ag_failed(fb_node *);
static int fbp_ag_poll(void);
static void fbp_ag_freed(uint64_t);

static fb_status on_tensor_hooks(uint64_t id, int32_t nr, fb_tensor **grad) { return fbp_ag_tensor_hooks(id, nr, grad); }
static fb_status on_pre_hooks(uint64_t id, int32_t n, fb_tensor **grads) { return fbp_ag_pre_hooks(id, n, grads); }
static fb_status on_post_hooks(uint64_t id, int32_t n_inputs, fb_tensor **grad_inputs, int32_t n, fb_tensor **grads)
{
    return fbp_ag_post_hooks(id, n_inputs, grad_inputs, n, grads);
}
static fb_status on_accumulated(uint64_t id, fb_tensor *leaf) { return fbp_ag_accumulated(id, leaf); }
static fb_status on_function(uint64_t id, int32_t n, fb_tensor **grads, int32_t n_inputs, fb_tensor **grad_inputs)
{
    return fbp_ag_function(id, n, grads, n_inputs, grad_inputs);
}
static fb_status on_made(fb_node *n) { return fbp_ag_made(n); }
static fb_status on_failed(fb_node *n) { return fbp_ag_failed(n); }
static fb_status on_poll(void) { return fbp_ag_poll(); }

static void install_callbacks(bool watch)
{
    fb_ag_set_callbacks(&(fb_autograd_callbacks){
        .tensor_hooks = on_tensor_hooks, .pre_hooks = on_pre_hooks, .post_hooks = on_post_hooks, .accumulated = on_accumulated,
        .function = on_function, .poll = on_poll, .freed = fbp_ag_freed, .made = watch ? on_made : NULL, .failed = watch ? on_failed : NULL});
}

static void fbp_ag_enable(void)
{
    install_callbacks(false);
    fb_autograd_enable();
}

static void fbp_ag_watch_nodes(int on) { install_callbacks(on); }

static int fbp_ag_fail(void) { return fb_fail(FB_EPYTHON, "a Python callback raised"); }

static int fbp_ag_set_requires_grad(fb_tensor *t, bool on) { return fb_ag_set_requires_grad(t, on); }
static int fbp_ag_set_grad(fb_tensor *t, fb_tensor *grad) { return fb_ag_set_grad(t, grad); }
static int fbp_ag_detach_(fb_tensor *t) { return fb_ag_detach_(t); }
static int fbp_ag_retain_grad(fb_tensor *t) { return fb_ag_retain_grad(t); }
static int fbp_ag_check_inplace(fb_tensor *t) { return fb_check_inplace(t, fb_grad_enabled() && fb_tracked(t)); }
static int fbp_ag_bump_version(fb_tensor *t) { return fb_bump_version(t); }
static int fbp_ag_set_history(fb_tensor *t, fb_node *node, int32_t nr) { return fb_set_history(t, node, nr); }
static int fbp_ag_node_saved(fb_node *n, int32_t i, fb_tensor **out) { return fb_ag_node_saved(n, i, out); }

static fb_node *fbp_ag_grad_fn(fb_tensor *t)
{
    fb_node *n;

    if (!t->ag && !t->base) return NULL;
    fb_error_clear();
    return fb_ag_grad_fn(t, &n) == FB_OK ? n : NULL;
}

static int fbp_ag_function_finish(fb_node *n, int64_t n_outputs, fb_tensor **outputs, int32_t *kinds)
{
    return fb_ag_function_finish(n, n_outputs, outputs, kinds);
}

static int fbp_ag_backward(int64_t n_roots, fb_tensor **roots, fb_tensor **grads, int64_t n_inputs, fb_tensor **inputs,
                           fb_tensor **captured, int flags)
{
    return fb_backward(n_roots, roots, grads, n_inputs, inputs, captured, flags);
}

static int fbp_ag_backward_one(fb_tensor *root, int flags) { return fb_backward(1, &root, NULL, -1, NULL, NULL, flags); }
