/* Nodes whose derivative is written in the host language, and what that language asks of nodes. */
#include "autograd/variable.h"
#include <string.h>

typedef struct fb_function {
    fb_grad_rule rule;
    fb_meta *metas; /* of the results, with their sizes behind them */
    char name[];
} fb_function;

static fb_status run_function(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    (void)needs;
    if (!fb_callbacks.function) return fb_fail(FB_ERUNTIME, "%s: no host runs functions of its own", n->rule->name);
    return fb_callbacks.function(fb_node_id(n), n->n_outputs, (fb_tensor **)grads, n->n_edges, grad_inputs);
}

void fb_function_free(fb_node *n)
{
    fb_function *fn = n->more;

    if (fn) fb_free(fn->metas);
    fb_free(fn);
}

fb_node *fb_ag_function_new(const char *name, int64_t n_inputs, fb_tensor **inputs)
{
    int64_t length = (int64_t)strlen(name) + 1;
    fb_function *fn;
    fb_node *n;

    if (n_inputs < 0 || n_inputs > INT32_MAX / 4) return fb_fail_null(FB_EVALUE, "%s: %lld inputs", name, (long long)n_inputs);
    if (!(fn = fb_alloc((int64_t)sizeof *fn + length))) return NULL;
    fn->rule = (fb_grad_rule){.name = fn->name, .backward = run_function, .flags = FB_G_UNDEFINED};
    fn->metas = NULL;
    memcpy(fn->name, name, (size_t)length);
    if (!(n = fb_node_new(FB_NODE_PYTHON, &fn->rule, n_inputs, 0, 0, 0, NULL))) {
        fb_free(fn);
        return NULL;
    }
    n->more = fn;
    n->hooks |= FB_HOOK_FREED;
    for (int64_t i = 0; i < n_inputs; i++)
        if (inputs[i] && fb_edge_of(inputs[i], &n->edges[i]) != FB_OK) {
            fb_node_release(n);
            return NULL;
        }
    return n;
}

fb_status fb_ag_function_finish(fb_node *n, int64_t n_outputs, fb_tensor **outputs, int32_t *kinds)
{
    fb_function *fn = n->more;
    int64_t words = 0, *pool;

    for (int64_t i = 0; i < n_outputs; i++) words += outputs[i] ? outputs[i]->ndim : 0;
    fb_free(fn->metas);
    if (!(fn->metas = fb_alloc_zeroed(n_outputs * (int64_t)sizeof *fn->metas + words * (int64_t)sizeof *pool + 1))) return FB_FAIL;
    n->outputs = fn->metas;
    n->n_outputs = (int32_t)n_outputs;
    pool = (int64_t *)(fn->metas + n_outputs);
    for (int64_t i = 0; i < n_outputs; i++) {
        if (!outputs[i]) continue;
        fb_meta_of(&n->outputs[i], outputs[i], false, &pool);
        if (kinds[i] == FB_FUNCTION_RESULT)
            FB_TRY(fb_set_history(outputs[i], n, (int32_t)i));
        else if (kinds[i] >= 0)
            FB_TRY(fb_rebase_history(outputs[i], n, (int32_t)i, kinds[i]));
    }
    return FB_OK;
}

/* ---- reading the graph --------------------------------------------------------------------------- */

const char *fb_ag_node_name(const fb_node *n) { return n->rule->name; }
int32_t fb_ag_node_n_next(const fb_node *n) { return n->n_edges; }
int32_t fb_ag_node_n_results(const fb_node *n) { return n->n_outputs; }
fb_node *fb_ag_node_next(const fb_node *n, int32_t i) { return i < 0 || i >= n->n_edges ? NULL : n->edges[i].node; }
int32_t fb_ag_node_next_nr(const fb_node *n, int32_t i) { return i < 0 || i >= n->n_edges ? 0 : n->edges[i].nr; }
uint64_t fb_ag_node_seq(const fb_node *n) { return n->seq; }
bool fb_ag_node_released(const fb_node *n) { return n->released; }
fb_tensor *fb_ag_node_leaf(const fb_node *n) { return n->kind == FB_NODE_ACCUMULATE ? n->more : NULL; }

uint64_t fb_ag_node_watch(fb_node *n, int hooks) /* adds hooks; answers the id under which callbacks will name the node */
{
    uint64_t id = fb_node_id(n);

    n->hooks |= (uint8_t)(hooks | FB_HOOK_FREED);
    return id;
}

void fb_ag_node_unwatch(fb_node *n, int hooks) { n->hooks &= (uint8_t)~hooks; }

/* The shape of a result as the node knows it, for zeros in place of an undefined gradient. */
fb_tensor *fb_ag_node_zeros(const fb_node *n, int32_t nr) { return fb_gradient_zeros(&n->outputs[nr]); }

const char *fb_ag_node_saved_name(const fb_node *n, int32_t i) /* NULL past the last */
{
    return n->kind == FB_NODE_OP && i >= 0 && i < n->rule->n_saves ? n->rule->saves[i].name : NULL;
}

fb_status fb_ag_node_saved(fb_node *n, int32_t i, fb_tensor **out)
{
    *out = NULL;
    if (n->kind != FB_NODE_OP || i < 0 || i >= n->rule->n_saves || (n->rule->saves[i].kind & FB_SAVE_LIST))
        return fb_fail(FB_EINDEX, "%s has no saved tensor %d", n->rule->name, (int)i);
    if (!(n->rule->saves[i].kind & FB_SAVE_DATA)) return FB_OK;
    return fb_node_unpack(n, i, out);
}

void fb_ag_set_callbacks(const fb_autograd_callbacks *callbacks) { fb_callbacks = *callbacks; }
void fb_ag_set_anomaly(int mode) { atomic_store(&fb_anomaly, mode); }
int fb_ag_anomaly(void) { return atomic_load(&fb_anomaly); }
