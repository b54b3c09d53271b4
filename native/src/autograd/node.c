/* Nodes: one allocation each, freed without recursion. */
#include "autograd/variable.h"
#include "runtime/alloc.h"
#include <stdio.h>

static _Thread_local uint64_t next_seq;
static _Thread_local fb_node *doomed; /* nodes whose count fell to zero while one is being freed */
static _Thread_local bool freeing;

fb_autograd_callbacks fb_callbacks;
_Atomic int fb_anomaly;

fb_node *fb_node_new(enum fb_node_kind kind, const fb_grad_rule *rule, int64_t n_edges, int64_t n_outputs, int64_t n_saved,
                     int64_t bytes, char **extra)
{
    const int64_t head = (sizeof(fb_node) + 15) & ~(int64_t)15;
    int64_t size = head + n_edges * (int64_t)sizeof(fb_edge) + n_outputs * (int64_t)sizeof(fb_meta) +
                   n_saved * (int64_t)sizeof(fb_saved) + bytes;
    fb_node *n;
    char *p;

    if (size > UINT32_MAX) return fb_fail_null(FB_EMEMORY, "%s: a node of %lld bytes", rule->name, (long long)size);
    n = size <= FB_SMALL_MAX ? fb_small_alloc((size_t)size) : fb_alloc(size);
    if (FB_UNLIKELY(!n)) return NULL;
    memset((char *)n + sizeof(fb_node), 0, (size_t)size - sizeof(fb_node));
    atomic_init(&n->refs, 1);
    n->kind = (uint8_t)kind;
    n->hooks = n->released = 0;
    n->n_edges = (int32_t)n_edges;
    n->n_outputs = (int32_t)n_outputs;
    n->n_saved = (int32_t)n_saved;
    n->size = (uint32_t)size;
    n->seq = ++next_seq;
    atomic_init(&n->id, 0);
    n->op = NULL;
    n->rule = rule;
    p = (char *)n + head;
    n->edges = (fb_edge *)p;
    p += n_edges * (int64_t)sizeof(fb_edge);
    n->outputs = (fb_meta *)p;
    p += n_outputs * (int64_t)sizeof(fb_meta);
    n->saved = (fb_saved *)p;
    p += n_saved * (int64_t)sizeof(fb_saved);
    n->params = n->more = NULL;
    n->retained = NULL;
    if (extra) *extra = p;
    return n;
}

void fb_meta_of(fb_meta *m, const fb_tensor *t, bool strides, int64_t **pool)
{
    int64_t *p = *pool;

    m->ndim = t->ndim;
    m->dtype = t->dtype;
    m->device = t->device;
    m->numel = t->numel;
    m->offset = t->offset;
    m->sizes = p;
    m->strides = NULL;
    for (int i = 0; i < t->ndim; i++) *p++ = t->sizes[i];
    if (strides) {
        m->strides = p;
        for (int i = 0; i < t->ndim; i++) *p++ = t->strides[i];
    }
    *pool = p;
}

uint64_t fb_node_id(fb_node *n)
{
    static _Atomic uint64_t last;
    uint64_t id = atomic_load(&n->id), fresh;

    if (id) return id;
    fresh = atomic_fetch_add(&last, 1) + 1;
    return atomic_compare_exchange_strong(&n->id, &id, fresh) ? fresh : id;
}

/* ---- saved values ------------------------------------------------------------------------------ */

fb_status fb_save(fb_saved *s, fb_tensor *t, int32_t output_nr)
{
    if (FB_UNLIKELY(t->flags & FB_T_INFERENCE))
        return fb_fail(FB_ERUNTIME,
                       "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                       "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
                       "in autograd, or use `flambeau.no_grad()` instead of `flambeau.inference_mode()`.");
    s->output_nr = output_nr;
    s->version = fb_version_of(t);
    s->t = output_nr < 0 ? fb_retain(t) : fb_alias(t);
    return s->t ? FB_OK : FB_FAIL;
}

fb_status fb_node_was_released(void)
{
    return fb_fail(FB_ERUNTIME,
                   "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
                   "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
                   "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
                   "after calling backward.");
}

/* "Sigmoid" of "SigmoidBackward0": what made a tensor, as error texts put it. */
static void maker(const fb_node *n, char *out, size_t size)
{
    const char *name = n->rule->name, *end = strstr(name, "Backward");

    snprintf(out, size, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
}

static fb_status was_written(const fb_node *n, const fb_saved *s)
{
    const fb_tensor *t = s->t;
    const fb_node *by = s->output_nr >= 0 ? n : t->ag ? t->ag->node : NULL;
    char made[160] = "", label[120];

    if (by) {
        maker(by, label, sizeof label);
        snprintf(made, sizeof made, ", which is output %d of %s,", s->output_nr >= 0 ? s->output_nr : t->ag->nr, label);
    }
    return fb_fail(FB_ERUNTIME,
                   "one of the variables needed for gradient computation has been modified by an inplace operation: "
                   "[torch.%sTensor %s]%s is at version %u; expected version %u instead. Hint: %s",
                   fb_dtype_label((fb_dtype)t->dtype), fb_shape_text(t->ndim, t->sizes), made, fb_version_of(t), s->version,
                   atomic_load(&fb_anomaly) ? "the backtrace further above shows the operation that failed to compute its gradient. "
                                              "The variable in question was changed in there or anywhere later. Good luck!"
                                            : "enable anomaly detection to find the operation that failed to compute its gradient, "
                                              "with torch.autograd.set_detect_anomaly(True, check_nan=False).");
}

fb_status fb_node_unpack(fb_node *n, int64_t slot, fb_tensor **out)
{
    fb_saved *s = &n->saved[slot];
    fb_tensor *t;

    *out = NULL;
    if (FB_UNLIKELY(n->released)) return fb_node_was_released();
    if (!s->t) return FB_OK;
    if (FB_UNLIKELY(fb_version_of(s->t) != s->version)) return was_written(n, s);
    if (s->output_nr < 0 || !fb_grad_enabled()) {
        *out = fb_retain(s->t);
        return FB_OK;
    }
    if (!(t = fb_alias(s->t))) return FB_FAIL;
    if (fb_set_history(t, n, s->output_nr) != FB_OK) {
        fb_release(t);
        return FB_FAIL;
    }
    *out = t;
    return FB_OK;
}

void fb_release_list(int64_t n, fb_tensor **list)
{
    if (!list) return;
    for (int64_t i = 0; i < n; i++) fb_release(list[i]);
    fb_free(list);
}

fb_status fb_node_unpack_list(fb_node *n, int64_t slot, int64_t count, fb_tensor ***out)
{
    fb_tensor **list = fb_alloc(FB_MAX(count, 1) * (int64_t)sizeof *list);

    *out = NULL;
    if (!list) return FB_FAIL;
    for (int64_t i = 0; i < count; i++)
        if (fb_node_unpack(n, slot + i, &list[i]) != FB_OK) {
            fb_release_list(i, list);
            return FB_FAIL;
        }
    *out = list;
    return FB_OK;
}

/* ---- release ----------------------------------------------------------------------------------- */

void fb_node_drop_saved(fb_node *n)
{
    for (int32_t i = 0; i < n->n_saved; i++) {
        fb_tensor *t = n->saved[i].t;
        if (!t) continue;
        n->released = 1;
        n->saved[i].t = NULL;
        fb_release(t);
    }
    if (n->kind == FB_NODE_SLICES) fb_slices_drop(n, false);
    if (n->kind == FB_NODE_PYTHON) n->released = 1; /* matters to who asks for saved tensors only */
}

static void destroy(fb_node *n)
{
    if (FB_UNLIKELY(n->hooks & FB_HOOK_FREED) && fb_callbacks.freed) fb_callbacks.freed(atomic_load(&n->id));
    fb_retained_forget(n, NULL);
    for (int32_t i = 0; i < n->n_saved; i++) fb_release(n->saved[i].t);
    for (int32_t i = 0; i < n->n_edges; i++)
        if (n->edges[i].node) fb_node_release(n->edges[i].node);
    if (n->kind == FB_NODE_SLICES) fb_slices_drop(n, true);
    if (n->params && n->op->params_free) n->op->params_free(n->params);
    if (n->kind == FB_NODE_PYTHON) fb_function_free(n);
    if (n->size <= FB_SMALL_MAX)
        fb_small_free(n, n->size);
    else
        fb_free(n);
}

fb_node *fb_node_retain(fb_node *n)
{
    if (n && atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed) == 0) fb_retain(n->more); /* a leaf's accumulator */
    return n;
}

void fb_node_release(fb_node *n)
{
    if (!n || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1) return;
    if (n->kind == FB_NODE_ACCUMULATE) { /* its memory is the leaf's, which may end here */
        fb_release(n->more);
        return;
    }
    n->next = doomed;
    doomed = n;
    if (freeing) return;
    freeing = true;
    while ((n = doomed)) {
        doomed = n->next;
        destroy(n);
    }
    freeing = false;
}

/* ---- running ----------------------------------------------------------------------------------- */

uint64_t fb_node_needs(const fb_node *n)
{
    uint64_t diff = n->rule->diff, needs = 0;
    const int64_t *lengths = n->params;
    int32_t e = 0;

    if (!n->op) return ~0ull;
    for (int a = 0; a < n->op->n_args; a++) {
        int64_t k = n->op->args[a] == FB_ARG_LIST ? *lengths++ : 1;
        if (!(diff >> a & 1)) continue;
        for (; k > 0; k--, e++)
            if (n->edges[e].node) needs |= 1ull << a;
    }
    return needs;
}

fb_status fb_node_run(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs)
{
    if (FB_UNLIKELY(n->rule->why_not != NULL))
        return fb_fail(FB_ERUNTIME, "derivative for %s is not implemented%s%s", n->op ? n->op->name : n->rule->name,
                       *n->rule->why_not ? ": " : "", n->rule->why_not);
    return n->rule->backward(n, grads, grad_inputs, needs);
}
