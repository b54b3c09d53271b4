/* In-place writes: what may be written to, and whose history changes.
 *
 * After v.mul_(w) for a view v of b, b's gradient passes through a "slices" node: the part that v covers goes through the
 * operator's own node, the rest to b's old history. Views find out lazily, by the version that they share with b. */
#include "autograd/grad_ops.h"
#include "autograd/variable.h"
#include "runtime/alloc.h"

fb_status fb_check_inplace(fb_tensor *t, bool recording)
{
    if ((t->flags & FB_T_INFERENCE) && !fb_inference_mode())
        return fb_fail(FB_ERUNTIME,
                       "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
                       "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
    if (!recording) return FB_OK;
    if (t->base && !(t->flags & FB_T_VIEW_OF_DATA)) {
        if ((t->flags & FB_T_NO_GRAD_VIEW) || ((t->flags & FB_T_MULTI_VIEW) && !(t->ag && t->ag->node)))
            return fb_fail(FB_ERUNTIME,
                           "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this "
                           "use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
                           "and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
                           "outside (if you want the inplace to be tracked).");
        if (t->flags & FB_T_MULTI_VIEW) {
            char made[120];
            fb_maker(t, made, sizeof made);
            return fb_fail(FB_ERUNTIME,
                           "Output %d of %s is a view and is being modified inplace. This view is the output of a function that returns "
                           "multiple views. Such functions do not allow the output views to be modified inplace. You should replace the "
                           "inplace operation by an out-of-place one.", fb_ag_output_nr(t), made);
        }
        if (fb_tracked(t) && fb_tracked(t->base) && !(t->base->ag && t->base->ag->node))
            return fb_fail(FB_ERUNTIME, "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    }
    if (t->ag && t->ag->requires_grad && !t->ag->node)
        return fb_fail(FB_ERUNTIME, "a leaf Variable that requires grad is being used in an in-place operation.");
    return FB_OK;
}

/* ---- part of a base ----------------------------------------------------------------------------- */

typedef struct fb_slices {
    fb_node *inner;        /* the operator's; owned. NULL for as_strided */
    int32_t inner_nr;      /* the view is that result of inner */
    int32_t self_edge;     /* inner's edge to the view's old history; -1: none */
    fb_meta base, view;
} fb_slices;

void fb_slices_drop(fb_node *n, bool all)
{
    fb_slices *s = n->more;

    if (!s->inner) return;
    if (all) {
        fb_node_release(s->inner);
        s->inner = NULL;
    } else {
        fb_node_drop_saved(s->inner);
    }
}

static fb_node *part_node(enum fb_node_kind kind, const fb_grad_rule *rule, fb_tensor *base, fb_tensor *view, int64_t n_edges,
                          const fb_tensor *like)
{
    char *extra;
    int64_t *pool, words = 2 * base->ndim + 2 * view->ndim + like->ndim;
    fb_node *n = fb_node_new(kind, rule, n_edges, 1, 0, (int64_t)sizeof(fb_slices) + words * (int64_t)sizeof(int64_t), &extra);
    fb_slices *s = (fb_slices *)extra;

    if (!n) return NULL;
    pool = (int64_t *)(s + 1);
    n->more = s;
    s->self_edge = -1;
    fb_meta_of(&n->outputs[0], like, false, &pool);
    fb_meta_of(&s->base, base, true, &pool);
    fb_meta_of(&s->view, view, true, &pool);
    if (fb_edge_of(base, &n->edges[0]) != FB_OK) {
        fb_node_release(n);
        return NULL;
    }
    return n;
}

static fb_status run_as_strided(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    const fb_slices *s = n->more;

    (void)needs;
    if (!grads[0]) return FB_OK;
    return (grad_inputs[0] = fb_as_strided_grad(grads[0], &s->base, &s->view)) ? FB_OK : FB_FAIL;
}
static const fb_grad_rule as_strided_rule = {.name = "AsStridedBackward0", .backward = run_as_strided};

fb_node *fb_as_strided_node(fb_tensor *view)
{
    return part_node(FB_NODE_AS_STRIDED, &as_strided_rule, view->base, view, 1, view);
}

static fb_status run_slices(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    const fb_slices *s = n->more;
    fb_node *inner = s->inner;
    fb_tensor *result = NULL, *part = NULL, *given = NULL, *small[8], **outs = small, **ins = NULL, *mine = NULL;
    int32_t shift = s->self_edge < 0 ? 1 : 0;
    fb_status status = FB_FAIL;

    (void)needs;
    if (!grads[0]) return FB_OK;
    if (inner->n_edges > 8 && !(outs = fb_alloc(inner->n_edges * (int64_t)sizeof *outs))) return FB_FAIL;
    memset(outs, 0, (size_t)inner->n_edges * sizeof *outs);
    if (!(ins = fb_alloc(FB_MAX(inner->n_outputs, 1) * (int64_t)sizeof *ins))) goto done;
    memset(ins, 0, (size_t)inner->n_outputs * sizeof *ins);

    if (!(result = fb_gradient_dense_copy(grads[0], &s->base)) || !(part = fb_gradient_part(result, &s->base, &s->view)) ||
        !(given = fb_clone(part, FB_ABSENT)))
        goto done;
    ins[s->inner_nr] = given;
    if (fb_node_run(inner, ins, outs, fb_node_needs(inner) | (s->self_edge >= 0 && n->edges[0].node ? 1 : 0)) != FB_OK) goto done;
    if (s->self_edge >= 0) {
        mine = outs[s->self_edge];
        outs[s->self_edge] = NULL;
    }
    if (fb_gradient_overwrite(part, mine) != FB_OK) goto done;
    for (int32_t e = 0; e < inner->n_edges; e++) {
        if (e == s->self_edge) continue;
        grad_inputs[e + shift] = outs[e];
        outs[e] = NULL;
    }
    grad_inputs[0] = result;
    result = NULL;
    status = FB_OK;
done:
    for (int32_t e = 0; e < inner->n_edges; e++) fb_release(outs[e]);
    if (outs != small) fb_free(outs);
    fb_free(ins);
    fb_release(given);
    fb_release(mine);
    fb_release(part);
    fb_release(result);
    return status;
}
static const fb_grad_rule slices_rule = {.name = "CopySlices", .backward = run_slices};

fb_status fb_rebase_history(fb_tensor *t, fb_node *node, int32_t nr, int32_t self_edge)
{
    fb_tensor *base = t->base;
    fb_slices *s;
    fb_node *n;
    fb_status status;

    if (!base || (t->flags & FB_T_VIEW_OF_DATA)) return fb_set_history(t, node, nr);
    if (base->dtype != t->dtype)
        return fb_fail(FB_ENOTIMPL, "in-place operation on a %s view of a %s tensor that has a history", fb_dtype_label((fb_dtype)t->dtype),
                       fb_dtype_label((fb_dtype)base->dtype));
    if (!(n = part_node(FB_NODE_SLICES, &slices_rule, base, t, node->n_edges + (self_edge < 0), base))) return FB_FAIL;
    s = n->more;
    s->inner = fb_node_retain(node);
    s->inner_nr = nr;
    s->self_edge = self_edge;
    for (int32_t e = 0; e < node->n_edges; e++)
        if (e != self_edge) {
            fb_edge *to = &n->edges[e + (self_edge < 0)];
            *to = node->edges[e];
            fb_node_retain(to->node);
        }
    if (self_edge >= 0) { /* the view's old history ends here: the base's takes over */
        fb_node_release(node->edges[self_edge].node);
        node->edges[self_edge].node = NULL;
    }
    status = fb_set_history(base, n, 0);
    fb_node_release(n);
    if (status == FB_OK) {
        fb_node *renewed;
        t->keys |= FB_L_AUTOGRAD;
        if (t->ag) t->ag->seen_version = fb_version_of(t) - 1;
        status = fb_ag_grad_fn(t, &renewed);
        fb_node_release(renewed);
    }
    return status;
}
