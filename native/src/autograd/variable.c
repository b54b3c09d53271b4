/* What a tensor has of history: its node or accumulator, its gradient, and the questions that Python asks. */
#include "autograd/variable.h"
#include "runtime/alloc.h"
#include <stdio.h>

static fb_status run_accumulate(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    (void)grad_inputs, (void)needs;
    return grads[0] ? fb_accumulate(n->more, fb_retain(grads[0])) : FB_OK;
}
static const fb_grad_rule accumulate_rule = {.name = "AccumulateGrad", .backward = run_accumulate};

fb_autograd *fb_autograd_of(fb_tensor *t)
{
    fb_autograd *ag = t->ag;

    if (ag) return ag;
    if (!(ag = fb_small_alloc(sizeof *ag))) return NULL;
    *ag = (fb_autograd){0};
    return t->ag = ag;
}

void fb_autograd_free(fb_tensor *t)
{
    fb_autograd *ag = t->ag;
    fb_node *acc = ag->accumulator;

    t->ag = NULL;
    if (acc) {
        if ((acc->hooks & FB_HOOK_FREED) && fb_callbacks.freed) fb_callbacks.freed(atomic_load(&acc->id));
        if (acc->size <= FB_SMALL_MAX)
            fb_small_free(acc, acc->size);
        else
            fb_free(acc);
    }
    if (ag->node && ag->retains_grad) fb_retained_forget(ag->node, t);
    fb_node_release(ag->node);
    fb_release(ag->grad);
    fb_small_free(ag, sizeof *ag);
}

fb_node *fb_accumulator_of(fb_tensor *leaf)
{
    fb_autograd *ag = fb_autograd_of(leaf);
    fb_node *n;
    char *extra;
    int64_t *pool;

    if (!ag) return NULL;
    if (FB_LIKELY(ag->accumulator != NULL)) return fb_node_retain(ag->accumulator);
    if (!(n = fb_node_new(FB_NODE_ACCUMULATE, &accumulate_rule, 0, 1, 0, leaf->ndim * (int64_t)sizeof *pool, &extra))) return NULL;
    pool = (int64_t *)extra;
    fb_meta_of(&n->outputs[0], leaf, false, &pool);
    n->seq = UINT64_MAX; /* gradients reach leaves before older nodes run, so that their memory is free early */
    n->more = leaf;
    fb_retain(leaf); /* given back when nobody waits for the accumulator any more */
    return ag->accumulator = n;
}

/* ---- edges ------------------------------------------------------------------------------------- */

/* The node of a view whose base was written to after the view (or its node) was made. */
static fb_status renew_view(fb_tensor *v)
{
    fb_autograd *ag = fb_autograd_of(v);
    fb_node *n;

    if (!ag) return FB_FAIL;
    if (v->flags & FB_T_NO_GRAD_VIEW)
        return fb_fail(FB_ERUNTIME,
                       "A view was created in no_grad mode and its base or another view of its base has been modified inplace with grad "
                       "mode enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code "
                       "by moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to "
                       "be tracked) or both outside (if you want the inplace to be tracked).");
    if (v->flags & FB_T_MULTI_VIEW) {
        char made[120];
        fb_maker(v, made, sizeof made);
        return fb_fail(FB_ERUNTIME,
                       "Output %d of %s is a view and its base or another view of its base has been modified inplace. This view is the "
                       "output of a function that returns multiple views. Such functions do not allow the output views to be modified "
                       "inplace. You should replace the inplace operation by an out-of-place one.",
                       (int)ag->nr, made);
    }
    if (!(n = fb_as_strided_node(v))) return FB_FAIL;
    if (ag->retains_grad) fb_retained_move(ag->node, n, v, 0);
    fb_node_release(ag->node);
    ag->node = n;
    ag->nr = 0;
    ag->seen_version = fb_version_of(v);
    v->keys |= FB_L_AUTOGRAD;
    return FB_OK;
}

static bool view_is_stale(const fb_tensor *t)
{
    const fb_autograd *ag = t->ag, *base;

    if (!t->base || (t->flags & FB_T_VIEW_OF_DATA) || !(t->base->keys & FB_L_AUTOGRAD)) return false;
    if (ag && ag->node) return ag->seen_version != fb_version_of(t);
    if (ag && ag->requires_grad) return false; /* made a leaf of its own */
    base = t->base->ag;
    if (!base->node) return false; /* the base began to require grad after the view was made */
    return !ag || ag->seen_version != fb_version_of(t);
}

void fb_view_without_grad(fb_tensor *v)
{
    v->flags |= FB_T_NO_GRAD_VIEW;
    if (!fb_tracked(v) || !fb_autograd_of(v)) return; /* without memory for it: the view counts as older than any write */
    v->ag->seen_version = fb_version_of(v);
}

/* "Unbind" of "UnbindBackward0": what made a view, as error texts put it. */
void fb_maker(const fb_tensor *v, char *out, size_t size)
{
    const char *name = v->ag && v->ag->node ? v->ag->node->rule->name : "a function", *end = strstr(name, "Backward");

    snprintf(out, size, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
}

fb_status fb_edge_of(fb_tensor *t, fb_edge *out)
{
    fb_autograd *ag = t->ag;

    *out = (fb_edge){NULL, 0};
    if (!fb_tracked(t)) return FB_OK;
    if (FB_UNLIKELY(t->base != NULL) && view_is_stale(t)) {
        FB_TRY(renew_view(t));
        ag = t->ag;
    }
    if (!ag) return FB_OK; /* a view made while gradients were off: nothing flows through it */
    if (ag->node)
        *out = (fb_edge){fb_node_retain(ag->node), ag->nr};
    else if (ag->requires_grad)
        out->node = fb_accumulator_of(t);
    return out->node || !ag->requires_grad ? FB_OK : FB_FAIL;
}

fb_status fb_set_history(fb_tensor *t, fb_node *node, int32_t nr)
{
    fb_autograd *ag = fb_autograd_of(t);

    if (FB_UNLIKELY(!ag)) return FB_FAIL;
    if (FB_UNLIKELY(ag->retains_grad) && ag->node) fb_retained_move(ag->node, node, t, nr);
    if (ag->node) fb_node_release(ag->node);
    ag->node = fb_node_retain(node);
    ag->nr = nr;
    ag->requires_grad = false;
    if (t->base) ag->seen_version = fb_version_of(t);
    t->keys |= FB_L_AUTOGRAD;
    return FB_OK;
}

/* ---- results that keep their gradient ---------------------------------------------------------- */

/* A weak link from a node to one of its results; unlinked by whichever dies first. */
struct fb_retained { struct fb_retained *next; fb_tensor *t; int32_t nr; };

void fb_retained_forget(fb_node *n, const fb_tensor *t)
{
    for (struct fb_retained **p = &n->retained, *r; (r = *p);) {
        if (t && r->t != t) {
            p = &r->next;
            continue;
        }
        *p = r->next;
        fb_small_free(r, sizeof *r);
    }
}

void fb_retained_move(fb_node *from, fb_node *to, fb_tensor *t, int32_t nr)
{
    struct fb_retained *r = NULL;

    for (struct fb_retained **p = &from->retained; *p; p = &(*p)->next)
        if ((*p)->t == t) {
            r = *p;
            *p = r->next;
            break;
        }
    if (!r) return;
    *r = (struct fb_retained){to->retained, t, nr};
    to->retained = r;
}

fb_status fb_retained_store(fb_node *n, int32_t nr, fb_tensor *grad)
{
    for (struct fb_retained *r = n->retained; r; r = r->next)
        if (r->nr == nr) {
            fb_autograd *ag = r->t->ag;
            fb_tensor *sum = ag->grad ? fb_gradient_add(fb_retain(ag->grad), fb_retain(grad)) : fb_retain(grad);
            if (!sum) return FB_FAIL;
            fb_release(ag->grad);
            ag->grad = sum;
        }
    return FB_OK;
}

fb_status fb_ag_retain_grad(fb_tensor *t)
{
    struct fb_retained *r;
    fb_edge e;

    if (!fb_tracked(t)) return fb_fail(FB_ERUNTIME, "can't retain_grad on Tensor that has requires_grad=False");
    FB_TRY(fb_edge_of(t, &e));
    fb_node_release(e.node);
    if (!e.node || e.node->kind == FB_NODE_ACCUMULATE || t->ag->retains_grad) return FB_OK;
    if (!(r = fb_small_alloc(sizeof *r))) return FB_FAIL;
    *r = (struct fb_retained){e.node->retained, t, e.nr};
    e.node->retained = r;
    t->ag->retains_grad = true;
    return FB_OK;
}

bool fb_ag_retains_grad(const fb_tensor *t) { return t->ag && t->ag->retains_grad; }

/* ---- what Python asks --------------------------------------------------------------------------- */

bool fb_ag_requires_grad(const fb_tensor *t) { return fb_tracked(t); }

fb_status fb_ag_set_requires_grad(fb_tensor *t, bool on)
{
    fb_autograd *ag;
    fb_node *n;

    if (on && !fb_is_float(t->dtype) && !fb_is_complex(t->dtype))
        return fb_fail(FB_ERUNTIME, "only Tensors of floating point and complex dtype can require gradients");
    if (on && (t->flags & FB_T_INFERENCE) && !fb_inference_mode())
        return fb_fail(FB_ERUNTIME, "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    FB_TRY(fb_ag_grad_fn(t, &n));
    fb_node_release(n);
    if (n || (!on && t->base && fb_tracked(t) && !(t->keys & FB_L_AUTOGRAD))) {
        if (on) return FB_OK;
        return fb_fail(FB_ERUNTIME,
                       "you can only change requires_grad flags of leaf variables.%s",
                       " If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = "
                       "var.detach().");
    }
    if (!on && !t->ag) return FB_OK;
    if (!(ag = fb_autograd_of(t))) return FB_FAIL;
    ag->requires_grad = on;
    if (on)
        t->keys |= FB_L_AUTOGRAD;
    else
        t->keys &= ~(fb_layers)FB_L_AUTOGRAD;
    return FB_OK;
}

fb_status fb_ag_grad_fn(fb_tensor *t, fb_node **out)
{
    *out = NULL;
    if (!fb_tracked(t)) return FB_OK;
    if (t->base && view_is_stale(t)) FB_TRY(renew_view(t));
    if (t->ag) *out = fb_node_retain(t->ag->node);
    return FB_OK;
}

int32_t fb_ag_output_nr(const fb_tensor *t) { return t->ag ? t->ag->nr : 0; }

fb_tensor *fb_ag_grad(const fb_tensor *t) { return t->ag ? t->ag->grad : NULL; }

fb_status fb_ag_set_grad(fb_tensor *t, fb_tensor *grad)
{
    fb_autograd *ag;
    fb_tensor *old;

    if (!grad && !t->ag) return FB_OK;
    if (grad == t) return fb_fail(FB_ERUNTIME, "can't assign Variable as its own grad");
    if (grad && grad->dtype != t->dtype)
        return fb_fail(FB_ERUNTIME, "attempting to assign a gradient with dtype '%s' to a tensor with dtype '%s'. Please ensure that the "
                       "gradient and the tensor have the same dtype", fb_dtype_label((fb_dtype)grad->dtype),
                       fb_dtype_label((fb_dtype)t->dtype));
    if (grad && grad->device.type != t->device.type)
        return fb_fail(FB_ERUNTIME, "attempting to assign a gradient located on another device than the tensor's");
    if (grad && (grad->ndim != t->ndim || memcmp(grad->sizes, t->sizes, (size_t)t->ndim * sizeof *t->sizes)))
        return fb_fail(FB_ERUNTIME, "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please ensure that the "
                       "gradient and the tensor are the same size", fb_shape_text(grad->ndim, grad->sizes),
                       fb_shape_text(t->ndim, t->sizes));
    if (!(ag = fb_autograd_of(t))) return FB_FAIL;
    old = ag->grad;
    ag->grad = fb_retain(grad);
    fb_release(old);
    return FB_OK;
}

fb_status fb_ag_detach_(fb_tensor *t)
{
    fb_autograd *ag = t->ag;

    if (t->base && !(t->flags & FB_T_VIEW_OF_DATA) && fb_tracked(t))
        return fb_fail(FB_ERUNTIME,
                       "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
                       "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
                       "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
                       "flambeau/optim/optimizer.py as the solution.");
    t->keys &= ~(fb_layers)FB_L_AUTOGRAD;
    if (!ag) return FB_OK;
    if (ag->node && ag->retains_grad) fb_retained_forget(ag->node, t);
    ag->retains_grad = ag->requires_grad = false;
    fb_node_release(ag->node);
    ag->node = NULL;
    ag->nr = 0;
    return FB_OK;
}

int64_t fb_ag_version(const fb_tensor *t)
{
    if (t->flags & FB_T_INFERENCE) return fb_fail(FB_ERUNTIME, "Inference tensors do not track version counter.");
    return fb_version_of(t);
}

fb_tensor *fb_ag_base(fb_tensor *t) /* new reference; NULL: not a view */
{
    return t->base && !(t->flags & FB_T_VIEW_OF_DATA) ? fb_retain(t->base) : NULL;
}

/* ---- modes: each setter answers what was before -------------------------------------------------- */

bool fb_ag_grad_enabled(void) { return fb_grad_enabled(); }
bool fb_ag_inference_enabled(void) { return fb_inference_mode(); }

bool fb_ag_set_grad_enabled(bool on)
{
    fb_layer_state *s = fb_thread_layers();
    bool was = !(s->excluded & FB_L_AUTOGRAD);

    if (on)
        s->excluded &= ~(fb_layers)FB_L_AUTOGRAD;
    else
        s->excluded |= FB_L_AUTOGRAD;
    return was;
}

int fb_ag_modes(void) /* to come back to with fb_ag_set_modes: bit 0 gradients, bit 1 inference */
{
    return fb_grad_enabled() | fb_inference_mode() << 1;
}

void fb_ag_set_modes(int modes)
{
    fb_layer_state *s = fb_thread_layers();

    s->excluded &= ~(fb_layers)(FB_L_AUTOGRAD | FB_MODE_INFERENCE);
    if (!(modes & 1)) s->excluded |= FB_L_AUTOGRAD;
    if (modes & 2) s->excluded |= FB_MODE_INFERENCE;
}
