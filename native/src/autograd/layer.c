/* The layer: runs an operator below, then hangs a node on its results. */
#include "autograd/grad_ops.h"
#include "autograd/variable.h"
#include "runtime/alloc.h"

enum { BELOW = FB_L_AUTOGRAD - 1 };

/* Without recording: neither this frame, nor what its kernel calls. */
static fb_status run_below(fb_frame *f)
{
    fb_layer_state *s = fb_thread_layers();
    fb_layers excluded = s->excluded;
    fb_status status;

    s->excluded = excluded | FB_L_AUTOGRAD;
    status = fb_redispatch(f, BELOW);
    s->excluded = excluded;
    return status;
}

/* Tensor arguments (bits of diff) of which one tensor is tracked. */
uint64_t fb_layer_needs(const fb_frame *f, uint64_t diff)
{
    const fb_op *op = f->op;
    const int64_t *lengths = f->params;
    uint64_t needs = 0;
    int k = 0;

    for (int a = 0; a < op->n_args; a++) {
        int64_t n = FB_UNLIKELY(op->args[a] == FB_ARG_LIST) ? *lengths++ : 1;
        for (; n > 0; n--, k++)
            if (f->in[k] && (diff >> a & 1) && fb_tracked(f->in[k])) needs |= 1ull << a;
    }
    return needs;
}

static bool differentiable(int dtype) { return fb_is_float(dtype) || fb_is_complex(dtype); }

static fb_status params_into(fb_node *n, const fb_op *op, const void *params, void *room)
{
    if (op->params_copy)
        FB_TRY(op->params_copy(room, params));
    else
        memcpy(room, params, (size_t)op->params_size);
    n->params = room;
    return FB_OK;
}

/* Fills edges and the inputs' saved values. first: stands for in[0] (its copy, where in[0] is about to be overwritten). */
static fb_status fill_inputs(fb_node *n, const fb_frame *f, uint64_t needs, fb_tensor *first, int64_t **pool)
{
    const fb_op *op = f->op;
    const fb_grad_rule *rule = n->rule;
    const int64_t *lengths = f->params;
    int32_t edge = 0, slot = 0;
    int at[64]; /* where each argument starts in f->in */
    int64_t length[64];
    int k = 0;

    for (int a = 0; a < op->n_args; a++) {
        at[a] = k;
        length[a] = FB_UNLIKELY(op->args[a] == FB_ARG_LIST) ? *lengths++ : 1;
        if (rule->diff >> a & 1) {
            for (int64_t i = 0; i < length[a]; i++, edge++) {
                fb_tensor *t = f->in[k + i];
                if (t && differentiable(t->dtype) && fb_edge_of(t, &n->edges[edge]) != FB_OK) return FB_FAIL;
            }
        }
        k += (int)length[a];
    }
    for (int i = 0; i < rule->n_saves; i++) {
        const fb_save_rule *s = &rule->saves[i];
        if (s->kind & FB_SAVE_RESULT) {
            slot++;
            continue;
        }
        int64_t count = s->kind & FB_SAVE_LIST ? length[s->arg] : 1;
        for (int64_t j = 0; j < count; j++, slot++) {
            fb_tensor *t = f->in[at[s->arg] + j];
            fb_saved *to = &n->saved[slot];
            if (at[s->arg] == 0 && j == 0 && first) t = first;
            to->output_nr = -1;
            if (s->kind & (FB_SAVE_SHAPE | FB_SAVE_STRIDES)) {
                to->meta = (fb_meta *)*pool;
                *pool += sizeof(fb_meta) / sizeof(int64_t);
                if (t)
                    fb_meta_of(to->meta, t, s->kind & FB_SAVE_STRIDES, pool);
                else
                    to->meta->ndim = -1;
            }
            if ((s->kind & FB_SAVE_DATA) && t && (needs & s->when)) FB_TRY(fb_save(to, t, -1));
        }
    }
    return FB_OK;
}

/* After the operator ran: results that the derivative needs. */
static fb_status fill_results(fb_node *n, const fb_frame *f, uint64_t needs)
{
    const fb_grad_rule *rule = n->rule;

    for (int i = 0; i < rule->n_saves; i++) {
        const fb_save_rule *s = &rule->saves[i];
        if (!(s->kind & FB_SAVE_RESULT) || !(s->kind & FB_SAVE_DATA) || !(needs & s->when) || !f->out[s->arg]) continue;
        bool history = s->arg < n->n_outputs && differentiable(f->out[s->arg]->dtype);
        FB_TRY(fb_save(&n->saved[i], f->out[s->arg], history ? s->arg : -1)); /* a result's slot is its rule's: lists come last */
    }
    return FB_OK;
}

static fb_node *make_node(const fb_frame *f, const fb_grad_rule *rule, uint64_t needs, fb_tensor *const *outs, int n_outs,
                          fb_tensor *first)
{
    const fb_op *op = f->op;
    const int64_t *lengths = f->params;
    int64_t edges = 0, saved = 0, words = 0, params = 0, length[64];
    int at[64], k = 0;
    char *extra;
    int64_t *pool;
    fb_node *n;

    for (int a = 0; a < op->n_args; a++) {
        length[a] = FB_UNLIKELY(op->args[a] == FB_ARG_LIST) ? *lengths++ : 1;
        at[a] = k;
        k += (int)length[a];
        if (rule->diff >> a & 1) edges += length[a];
    }
    for (int i = 0; i < rule->n_saves; i++) {
        const fb_save_rule *s = &rule->saves[i];
        int64_t count = s->kind & FB_SAVE_LIST ? length[s->arg] : 1;
        saved += count;
        if (!(s->kind & (FB_SAVE_SHAPE | FB_SAVE_STRIDES)) || (s->kind & FB_SAVE_RESULT)) continue;
        for (int64_t j = 0; j < count; j++) {
            const fb_tensor *t = f->in[at[s->arg] + j];
            words += (int64_t)(sizeof(fb_meta) / sizeof(int64_t)) + (t ? 2 * t->ndim : 0);
        }
    }
    for (int i = 0; i < n_outs; i++) words += outs[i]->ndim;
    if (rule->flags & FB_G_PARAMS) params = (op->params_size + 15) & ~15;
    if (!(n = fb_node_new(FB_NODE_OP, rule, edges, n_outs, saved, 16 + params + words * (int64_t)sizeof(int64_t), &extra))) return NULL;
    n->op = op;
    extra = (char *)(((uintptr_t)extra + 15) & ~(uintptr_t)15);
    pool = (int64_t *)(extra + params);
    if (params && params_into(n, op, f->params, extra) != FB_OK) goto failed;
    for (int i = 0; i < n_outs; i++) fb_meta_of(&n->outputs[i], outs[i], false, &pool);
    if (fill_inputs(n, f, needs, first, &pool) != FB_OK) goto failed;
    if (FB_UNLIKELY(atomic_load_explicit(&fb_anomaly, memory_order_relaxed)) && fb_callbacks.made && fb_callbacks.made(n) != FB_OK) goto failed;
    return n;
failed:
    fb_node_release(n);
    return NULL;
}

/* An operator without a derivative: an error, once somebody wants one. */
static const fb_grad_rule missing_rule = {.name = "NotImplemented", .why_not = "", .diff = ~0ull, .n_results = INT16_MAX};

static int results_with_history(const fb_frame *f, const fb_grad_rule *rule)
{
    return rule->n_results < 0 ? f->n_out : FB_MIN((int)rule->n_results, (int)f->n_out);
}

static fb_status record(fb_frame *f, const fb_grad_rule *rule, uint64_t needs)
{
    int n_outs = results_with_history(f, rule);
    bool view = f->op->flags & FB_OP_VIEW, any = false;
    fb_status status = FB_FAIL;
    fb_node *n;

    for (int i = 0; i < n_outs; i++) {
        fb_tensor *o = f->out[i];
        if (f->n_in <= 4)
            for (int k = 0; k < f->n_in; k++)
                if (o == f->in[k]) return FB_OK; /* the operator answered with its input (`to`, `contiguous`) */
        any |= differentiable(o->dtype);
        if (view) {
            if (!(f->in[0]->flags & FB_T_NO_GRAD_VIEW)) o->flags &= (uint8_t)~FB_T_NO_GRAD_VIEW; /* it was off for the kernel only */
            if (f->op->n_results < 0) o->flags |= FB_T_MULTI_VIEW;
        }
    }
    if (!any) return FB_OK;
    if (!(n = make_node(f, rule, needs, f->out, n_outs, NULL))) return FB_FAIL;
    if (fill_results(n, f, needs) != FB_OK) goto done;
    for (int i = 0; i < n_outs; i++)
        if (differentiable(f->out[i]->dtype) && fb_set_history(f->out[i], n, i) != FB_OK) goto done;
    status = FB_OK;
done:
    fb_node_release(n);
    return status;
}

static bool saves_first_input(const fb_grad_rule *rule, uint64_t needs)
{
    for (int i = 0; i < rule->n_saves; i++) {
        const fb_save_rule *s = &rule->saves[i];
        if (!(s->kind & FB_SAVE_RESULT) && (s->kind & FB_SAVE_DATA) && s->arg == 0 && (needs & s->when)) return true;
    }
    return false;
}

static fb_status record_in_place(fb_frame *f, const fb_grad_rule *rule, uint64_t needs)
{
    fb_tensor *self = f->out[0], *before = NULL;
    fb_status status = FB_FAIL;
    fb_node *n = NULL;

    FB_TRY(fb_check_inplace(self, true));
    if (!differentiable(self->dtype)) return run_below(f);
    if (saves_first_input(rule, needs) && !(before = fb_clone(self, FB_ABSENT))) return FB_FAIL; /* its value is about to go */
    if (!(n = make_node(f, rule, needs, &self, 1, before))) goto done;
    if (run_below(f) != FB_OK) goto done;
    if (fb_rebase_history(self, n, 0, rule->diff & 1 && f->in[0] == self ? 0 : -1) != FB_OK) goto done;
    status = fill_results(n, f, needs);
done:
    fb_node_release(n);
    fb_release(before);
    return status;
}

static fb_status layer(fb_frame *f)
{
    const fb_op *op = f->op;
    const fb_grad_rule *rule = op->grad;
    bool in_place = f->flags & FB_F_IN_PLACE;
    uint64_t needs;

    if (FB_UNLIKELY(fb_inference_mode())) return run_below(f); /* also where enable_grad() was called within it */
    if (FB_UNLIKELY(!rule)) {
        if (op->flags & FB_OP_NONDIFF) return run_below(f);
        rule = &missing_rule;
    }
    needs = fb_layer_needs(f, rule->diff);
    if (FB_UNLIKELY(f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE))) {
        bool out_tracked = false;
        for (int i = 0; i < f->n_out; i++) out_tracked |= f->out[i] && fb_tracked(f->out[i]);
        if (!needs && !out_tracked) return run_below(f);
        if (!in_place)
            return fb_fail(FB_ERUNTIME, "%s(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.", op->name);
    } else if (!needs) {
        return run_below(f);
    }
    if ((op->flags & FB_OP_COMPOSITE) && !op->grad) return fb_redispatch(f, BELOW); /* what it calls is recorded */
    if (in_place) return record_in_place(f, rule, needs);
    FB_TRY(run_below(f));
    return record(f, rule, needs);
}

fb_status fb_autograd_enable(void) { return fb_set_layer(FB_L_AUTOGRAD, layer); }
