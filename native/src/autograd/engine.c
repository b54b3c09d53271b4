/* The engine: runs nodes from the roots towards the leaves, on the calling thread, the latest first.
 *
 * A run first discovers every node that the roots reach and counts the edges into it. A node runs when all of these have
 * delivered; of those ready, the one recorded last is taken, so that memory is given up in the reverse of the order in
 * which it was taken. */
#include "autograd/grad_ops.h"
#include "autograd/variable.h"
#include "runtime/alloc.h"
#include <math.h>

typedef struct task {
    fb_node *node;
    int32_t waiting; /* edges that have not delivered */
    int32_t capture; /* first of the inputs whose gradient arrives here; -1 */
    bool reach;      /* somebody wants the gradient that arrives here */
    bool run;        /* ... or one further on */
    fb_tensor *one, **many; /* gradients so far, one a result; many where there are several */
} task;

typedef struct capture { fb_tensor **to; int32_t nr, next; } capture;

enum { SMALL = 32 };
typedef struct run {
    task *tasks;
    int32_t n, capacity;
    int32_t *table; /* open addressing by node: index + 1 */
    int32_t mask;
    int32_t *heap, n_heap;
    capture *captures;
    task small[SMALL];
    int32_t small_table[4 * SMALL], small_heap[SMALL];
} run;

static inline fb_tensor **grads_of(task *t) { return t->node->n_outputs == 1 ? &t->one : t->many; }

static uint32_t hash(const fb_node *n) { return (uint32_t)((uintptr_t)n >> 4) * 2654435769u; }

static int32_t *slot_of(const run *r, const fb_node *n)
{
    uint32_t i = hash(n) >> 7;

    for (;; i++) {
        int32_t *s = &r->table[i & (uint32_t)r->mask];
        if (!*s || r->tasks[*s - 1].node == n) return s;
    }
}

static fb_status grow(run *r)
{
    int32_t capacity = 2 * r->capacity;
    task *tasks;
    int32_t *table, *heap;

    if (capacity > INT32_MAX / 8) return fb_fail(FB_EMEMORY, "backward: the graph has more than %d nodes", (int)r->capacity);
    if (!(tasks = fb_alloc(capacity * (int64_t)sizeof *tasks))) return FB_FAIL;
    if (!(table = fb_alloc_zeroed(4 * (int64_t)capacity * (int64_t)sizeof *table))) {
        fb_free(tasks);
        return FB_FAIL;
    }
    if (!(heap = fb_alloc(capacity * (int64_t)sizeof *heap))) {
        fb_free(tasks);
        fb_free(table);
        return FB_FAIL;
    }
    memcpy(tasks, r->tasks, (size_t)r->n * sizeof *tasks);
    memcpy(heap, r->heap, (size_t)r->n_heap * sizeof *heap);
    if (r->tasks != r->small) {
        fb_free(r->tasks);
        fb_free(r->table);
        fb_free(r->heap);
    }
    r->tasks = tasks;
    r->table = table;
    r->heap = heap;
    r->capacity = capacity;
    r->mask = 4 * capacity - 1;
    for (int32_t i = 0; i < r->n; i++) *slot_of(r, tasks[i].node) = i + 1;
    return FB_OK;
}

/* The task of a node, made on first sight; -1 with the error set. */
static int32_t task_of(run *r, fb_node *n)
{
    int32_t *s = slot_of(r, n);
    task *t;

    if (*s) return *s - 1;
    if (FB_UNLIKELY(r->n == r->capacity)) {
        if (grow(r) != FB_OK) return -1;
        s = slot_of(r, n);
    }
    t = &r->tasks[r->n];
    *t = (task){.node = n, .capture = -1, .reach = true, .run = true};
    if (n->n_outputs != 1) {
        if (!(t->many = fb_alloc(FB_MAX(n->n_outputs, 1) * (int64_t)sizeof *t->many))) return -1;
        memset(t->many, 0, (size_t)n->n_outputs * sizeof *t->many);
    }
    *s = ++r->n;
    return r->n - 1;
}

static fb_status discover(run *r)
{
    for (int32_t i = 0; i < r->n; i++) {
        fb_node *n = r->tasks[i].node;
        for (int32_t e = 0; e < n->n_edges; e++) {
            if (!n->edges[e].node) continue;
            int32_t next = task_of(r, n->edges[e].node);
            if (next < 0) return FB_FAIL;
            r->tasks[next].waiting++;
        }
    }
    return FB_OK;
}

/* With inputs given: only nodes on the way to one of them run. */
static fb_status mark_needed(run *r, bool capturing)
{
    int32_t *order = fb_alloc(2 * (int64_t)r->n * (int64_t)sizeof *order), *waiting = order ? order + r->n : NULL, n = 0;

    if (!order) return FB_FAIL;
    for (int32_t i = 0; i < r->n; i++)
        if (!(waiting[i] = r->tasks[i].waiting)) order[n++] = i;
    for (int32_t k = 0; k < n; k++) {
        fb_node *node = r->tasks[order[k]].node;
        for (int32_t e = 0; e < node->n_edges; e++) {
            if (!node->edges[e].node) continue;
            int32_t next = *slot_of(r, node->edges[e].node) - 1;
            if (!--waiting[next]) order[n++] = next;
        }
    }
    while (n--) {
        task *t = &r->tasks[order[n]];
        t->run = t->node->kind == FB_NODE_ACCUMULATE && !capturing && t->capture >= 0;
        for (int32_t e = 0; e < t->node->n_edges && !t->run; e++)
            if (t->node->edges[e].node) t->run = r->tasks[*slot_of(r, t->node->edges[e].node) - 1].reach;
        t->reach = t->run || t->capture >= 0;
    }
    fb_free(order);
    return FB_OK;
}

/* ---- ready tasks: a heap, latest node first ------------------------------------------------------ */

static inline uint64_t priority(const run *r, int32_t i) { return r->tasks[i].node->seq; }

static void push(run *r, int32_t i)
{
    int32_t k = r->n_heap++;

    while (k > 0 && priority(r, r->heap[(k - 1) / 2]) < priority(r, i)) {
        r->heap[k] = r->heap[(k - 1) / 2];
        k = (k - 1) / 2;
    }
    r->heap[k] = i;
}

static int32_t pop(run *r)
{
    int32_t top = r->heap[0], last = r->heap[--r->n_heap], k = 0;

    for (;;) {
        int32_t child = 2 * k + 1;
        if (child >= r->n_heap) break;
        if (child + 1 < r->n_heap && priority(r, r->heap[child + 1]) > priority(r, r->heap[child])) child++;
        if (priority(r, r->heap[child]) <= priority(r, last)) break;
        r->heap[k] = r->heap[child];
        k = child;
    }
    r->heap[k] = last;
    return top;
}

/* ---- running -------------------------------------------------------------------------------------- */

/* Adds grad (taken over) to what the task has for its result nr. */
static fb_status deliver(task *t, int32_t nr, fb_tensor *grad)
{
    fb_tensor **to = &grads_of(t)[nr], *had = *to;

    if (!had) {
        *to = grad;
        return FB_OK;
    }
    *to = NULL;
    return (*to = fb_gradient_add(had, grad)) ? FB_OK : FB_FAIL;
}

static fb_status before_node(run *r, task *t, fb_tensor **grads)
{
    fb_node *n = t->node;

    if (n->hooks & FB_HOOK_TENSOR)
        for (int32_t i = 0; i < n->n_outputs; i++)
            if (grads[i] && fb_callbacks.tensor_hooks) FB_TRY(fb_callbacks.tensor_hooks(fb_node_id(n), i, &grads[i]));
    if (n->retained)
        for (int32_t i = 0; i < n->n_outputs; i++)
            if (grads[i]) FB_TRY(fb_retained_store(n, i, grads[i]));
    for (int32_t c = t->capture; c >= 0; c = r->captures[c].next)
        if (r->captures[c].to && grads[r->captures[c].nr]) *r->captures[c].to = fb_retain(grads[r->captures[c].nr]);
    if (t->run && (n->hooks & FB_HOOK_PRE) && fb_callbacks.pre_hooks) FB_TRY(fb_callbacks.pre_hooks(fb_node_id(n), n->n_outputs, grads));
    if (n->rule->flags & FB_G_ZEROS) {
        bool any = false;
        for (int32_t i = 0; i < n->n_outputs; i++) any |= grads[i] != NULL;
        for (int32_t i = 0; i < n->n_outputs && any; i++)
            if (!grads[i] && (fb_is_float(n->outputs[i].dtype) || fb_is_complex(n->outputs[i].dtype)) &&
                !(grads[i] = fb_gradient_zeros(&n->outputs[i])))
                return FB_FAIL;
    }
    return FB_OK;
}

static fb_status look_for_nan(const fb_node *n, int64_t index, const fb_tensor *g)
{
    fb_tensor *sum = NULL;
    fb_scalar v;
    bool nan = false;

    if (!fb_is_float(g->dtype) && !fb_is_complex(g->dtype)) return FB_OK;
    if (!(sum = fb_sum((fb_tensor *)g, (fb_ints){-1, NULL}, false, FB_NONE))) return FB_FAIL;
    if (fb_item(sum, &v) == FB_OK) nan = isnan(v.re) || isnan(v.im);
    fb_release(sum);
    if (!nan) return FB_OK;
    return fb_fail(FB_ERUNTIME, "Function '%s' returned nan values in its %lldth output.", n->rule->name, (long long)index);
}

/* Arguments whose gradient somebody wants. */
static uint64_t wanted(run *r, const fb_node *n)
{
    uint64_t needs = 0, diff = n->rule->diff;
    const int64_t *lengths = n->params;
    int32_t e = 0;

    if (!n->op) return ~0ull;
    for (int a = 0; a < n->op->n_args && e < n->n_edges; a++) {
        int64_t k = FB_UNLIKELY(n->op->args[a] == FB_ARG_LIST) ? *lengths++ : 1;
        if (!(diff >> a & 1)) continue;
        for (; k > 0; k--, e++)
            if (n->edges[e].node && r->tasks[*slot_of(r, n->edges[e].node) - 1].reach) needs |= 1ull << a;
    }
    return needs;
}

/* Runs the node of task i and delivers; decrements what waits for it. all: every gradient is wanted. */
static fb_status run_task(run *r, int32_t i, int flags, bool all)
{
    task *t = &r->tasks[i];
    fb_node *n = t->node;
    fb_tensor *small[8], **outs = small, **grads = grads_of(t);
    bool any = false;
    fb_status status = FB_OK;

    for (int32_t k = 0; k < n->n_outputs; k++) any |= grads[k] != NULL;
    if (FB_UNLIKELY(n->n_edges > 8) && !(outs = fb_alloc(n->n_edges * (int64_t)sizeof *outs))) return FB_FAIL;
    for (int32_t e = 0; e < n->n_edges; e++) outs[e] = NULL;
    if (t->reach && (any || (n->rule->flags & FB_G_UNDEFINED))) {
        if (FB_UNLIKELY(n->hooks || n->retained || t->capture >= 0 || (n->rule->flags & FB_G_ZEROS)))
            status = before_node(r, t, grads);
        if (status == FB_OK && t->run) {
            status = fb_node_run(n, grads, outs, all ? fb_node_needs(n) : wanted(r, n));
            if (FB_UNLIKELY(n->hooks) && status == FB_OK) {
                if ((n->hooks & FB_HOOK_POST) && fb_callbacks.post_hooks)
                    status = fb_callbacks.post_hooks(fb_node_id(n), n->n_edges, outs, n->n_outputs, grads);
                if (status == FB_OK && (n->hooks & FB_HOOK_ACCUMULATED) && fb_callbacks.accumulated && n->kind == FB_NODE_ACCUMULATE)
                    status = fb_callbacks.accumulated(fb_node_id(n), n->more);
            }
            if (FB_UNLIKELY(status != FB_OK) && atomic_load(&fb_anomaly) && fb_callbacks.failed) fb_callbacks.failed(n);
        }
        if (!(flags & FB_BACKWARD_RETAIN) && t->run && status == FB_OK) fb_node_drop_saved(n);
    }
    for (int32_t k = 0; k < n->n_outputs; k++) { /* before the next node runs, its memory is free again */
        fb_tensor *g = grads[k];
        grads[k] = NULL;
        fb_release(g);
    }
    for (int32_t e = 0; e < n->n_edges; e++) {
        fb_tensor *g = outs[e];
        fb_node *next = n->edges[e].node;
        if (!next) {
            fb_release(g);
            continue;
        }
        int32_t k = *slot_of(r, next) - 1;
        task *to = &r->tasks[k];
        if (g && (status != FB_OK || !to->reach)) {
            fb_release(g);
            g = NULL;
        }
        if (g) {
            const fb_meta *want = &next->outputs[n->edges[e].nr];
            if (FB_UNLIKELY(atomic_load_explicit(&fb_anomaly, memory_order_relaxed) == 2)) {
                status = look_for_nan(n, e, g);
                if (status != FB_OK && fb_callbacks.failed) fb_callbacks.failed(n);
            }
            if (status != FB_OK)
                fb_release(g);
            else if (!(g = fb_gradient_fit(n, e, g, want)) || deliver(to, n->edges[e].nr, g) != FB_OK)
                status = FB_FAIL;
        }
        if (!--to->waiting) push(r, k);
    }
    if (outs != small) fb_free(outs);
    return status;
}

/* ---- entry ---------------------------------------------------------------------------------------- */

static fb_tensor *root_grad(fb_tensor *root, fb_tensor *given, int64_t index)
{
    fb_tensor *one;

    if (given) {
        if (given->ndim != root->ndim || memcmp(given->sizes, root->sizes, (size_t)root->ndim * sizeof *root->sizes))
            return fb_fail_null(FB_ERUNTIME, "Mismatch in shape: grad_output[%lld] has a shape of %s and output[%lld] has a shape of %s.",
                                (long long)index, fb_shape_text(given->ndim, given->sizes), (long long)index,
                                fb_shape_text(root->ndim, root->sizes));
        if (fb_is_complex(given->dtype) != fb_is_complex(root->dtype))
            return fb_fail_null(FB_ERUNTIME,
                                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                                "grad_output[%lld] has a dtype of torch.%s and output[%lld] has a dtype of torch.%s.", (long long)index,
                                fb_dtype_name((fb_dtype)given->dtype), (long long)index, fb_dtype_name((fb_dtype)root->dtype));
        return fb_retain(given);
    }
    if (root->numel != 1) return fb_fail_null(FB_ERUNTIME, "grad can be implicitly created only for scalar outputs");
    if (!fb_is_float(root->dtype))
        return fb_fail_null(FB_ERUNTIME, "grad can be implicitly created only for real scalar outputs but got torch.%s",
                            fb_dtype_name((fb_dtype)root->dtype));
    if (!(one = fb_new(root->ndim, root->sizes, NULL, (fb_dtype)root->dtype, root->device))) return NULL;
    if (fb_fill_data(one, fb_int(1)) == FB_OK) return one;
    fb_release(one);
    return NULL;
}

static fb_status add_root(run *r, fb_tensor *root, fb_tensor *given, int64_t index)
{
    fb_tensor *grad;
    fb_edge e;
    int32_t i;

    FB_TRY(fb_edge_of(root, &e));
    if (!e.node)
        return fb_fail(FB_ERUNTIME, "element %lld of tensors does not require grad and does not have a grad_fn", (long long)index);
    if (!(grad = root_grad(root, given, index))) goto failed;
    if (grad->dtype != root->dtype && !(grad = fb_gradient_fit(e.node, index, grad, &e.node->outputs[e.nr]))) goto failed;
    if ((i = task_of(r, e.node)) < 0) {
        fb_release(grad);
        goto failed;
    }
    if (deliver(&r->tasks[i], e.nr, grad) != FB_OK) goto failed;
    fb_node_release(e.node); /* the root holds it */
    return FB_OK;
failed:
    fb_node_release(e.node);
    return FB_FAIL;
}

static fb_status add_inputs(run *r, int64_t n, fb_tensor *const *inputs, fb_tensor **captured)
{
    if (!(r->captures = fb_alloc(FB_MAX(n, 1) * (int64_t)sizeof *r->captures))) return FB_FAIL;
    for (int64_t i = 0; i < n; i++) {
        fb_edge e;
        int32_t *s;
        if (captured) captured[i] = NULL;
        FB_TRY(fb_edge_of(inputs[i], &e));
        if (!e.node) return fb_fail(FB_ERUNTIME, "One of the differentiated Tensors does not require grad");
        s = slot_of(r, e.node);
        fb_node_release(e.node);
        if (!*s) continue; /* unused in the graph */
        task *t = &r->tasks[*s - 1];
        r->captures[i] = (capture){captured ? &captured[i] : NULL, e.nr, t->capture};
        t->capture = (int32_t)i;
    }
    return mark_needed(r, captured != NULL);
}

static fb_status execute(run *r, int flags, bool all)
{
    int64_t done = 0;

    for (int32_t i = 0; i < r->n; i++)
        if (!r->tasks[i].waiting) push(r, i);
    while (r->n_heap) {
        FB_TRY(run_task(r, pop(r), flags, all));
        if (!(++done & 63) && fb_callbacks.poll) FB_TRY(fb_callbacks.poll());
    }
    return FB_OK;
}

static void end(run *r)
{
    for (int32_t i = 0; i < r->n; i++) {
        task *t = &r->tasks[i];
        fb_release(t->one);
        if (!t->many) continue;
        for (int32_t k = 0; k < t->node->n_outputs; k++) fb_release(t->many[k]);
        fb_free(t->many);
    }
    if (r->tasks != r->small) {
        fb_free(r->tasks);
        fb_free(r->table);
        fb_free(r->heap);
    }
    fb_free(r->captures);
}

fb_status fb_backward(int64_t n_roots, fb_tensor *const *roots, fb_tensor *const *grads, int64_t n_inputs, fb_tensor *const *inputs,
                      fb_tensor **captured, int flags)
{
    fb_layer_state *state = fb_thread_layers();
    fb_layers excluded = state->excluded;
    fb_node **held = NULL; /* a hook may change the roots: the graph must outlive the run */
    fb_status status = FB_FAIL;
    run r;

    r.tasks = r.small;
    r.table = r.small_table;
    r.heap = r.small_heap;
    r.captures = NULL;
    r.n = r.n_heap = 0;
    r.capacity = SMALL;
    r.mask = 4 * SMALL - 1;
    memset(r.small_table, 0, sizeof r.small_table);
    for (int64_t i = 0; captured && i < n_inputs; i++) captured[i] = NULL;

    if (flags & FB_BACKWARD_CREATE)
        state->excluded &= ~(fb_layers)FB_L_AUTOGRAD;
    else
        state->excluded |= FB_L_AUTOGRAD;
    for (int64_t i = 0; i < n_roots; i++)
        if (add_root(&r, roots[i], grads ? grads[i] : NULL, i) != FB_OK) goto done;
    int32_t n_held = r.n;
    if (!(held = fb_alloc(FB_MAX(n_held, 1) * (int64_t)sizeof *held))) goto done;
    for (int32_t i = 0; i < n_held; i++) held[i] = fb_node_retain(r.tasks[i].node);
    if (discover(&r) == FB_OK && (n_inputs < 0 || add_inputs(&r, n_inputs, inputs, captured) == FB_OK))
        status = execute(&r, flags, n_inputs < 0);
    end(&r);
    for (int32_t i = 0; i < n_held; i++) fb_node_release(held[i]);
    fb_free(held);
    goto out;
done:
    end(&r);
out:
    state->excluded = excluded;
    if (status != FB_OK)
        for (int64_t i = 0; captured && i < n_inputs; i++) {
            fb_release(captured[i]);
            captured[i] = NULL;
        }
    return status;
}
