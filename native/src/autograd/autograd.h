/* Reverse-mode differentiation: what a tensor, a node and the engine hold.
 *
 * Ownership: tensor -> node -> next nodes -> leaf's accumulator -> leaf. A leaf owns its accumulator's memory but no
 * reference to it, and an output that a node saves is a twin without history, so that nothing here is a cycle. */
#ifndef FB_AUTOGRAD_H
#define FB_AUTOGRAD_H

#include "flambeau/autograd.h"
#include "runtime/core.h"

typedef struct fb_node fb_node;
typedef struct fb_autograd fb_autograd;

/* Gradients are off: the thread excludes the layer. Inference mode: a bit that no tensor has, beside it. */
enum { FB_MODE_INFERENCE = 1u << 13 };
static inline bool fb_grad_enabled(void) { return !(fb_thread_layers()->excluded & FB_L_AUTOGRAD); }
static inline bool fb_inference_mode(void) { return fb_thread_layers()->excluded & FB_MODE_INFERENCE; }

/* What is known of a tensor that is not kept. strides is NULL unless the rule asked for the geometry. */
typedef struct fb_meta {
    const int64_t *sizes, *strides;
    int64_t numel, offset;
    int16_t ndim; /* -1: the optional input was absent */
    uint8_t dtype;
    fb_device device;
} fb_meta;

typedef struct fb_edge { fb_node *node; int32_t nr; } fb_edge; /* gradient of output nr of that node; NULL: none wanted */

typedef struct fb_saved {
    fb_tensor *t;      /* owned; NULL: absent, not needed or given up */
    fb_meta *meta;     /* of a shape that was kept */
    uint32_t version;
    int32_t output_nr; /* of a saved result (t is then its twin); -1: an input, or a result without history */
} fb_saved;

/* ---- rules: one an operator, written by tools/opgen/derive.py ---------------------------------- */

enum { /* fb_save_rule.kind */
    FB_SAVE_DATA = 1, FB_SAVE_SHAPE = 2, FB_SAVE_STRIDES = 4,
    FB_SAVE_RESULT = 8, /* arg is the number of a result, else of a tensor argument */
    FB_SAVE_LIST = 16,  /* one slot an element; lists come after all others */
};
typedef struct fb_save_rule {
    const char *name;
    int16_t arg;
    uint16_t kind;
    uint64_t when; /* the tensor arguments (bits) whose gradient uses it */
} fb_save_rule;

/* Fills grad_inputs[edge] (new references; NULL: no gradient) for the arguments in `needs`. grads are borrowed, NULL where
 * undefined. */
typedef fb_status (*fb_backward_fn)(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs);

enum { /* fb_grad_rule.flags */
    FB_G_PARAMS = 1,    /* the expressions use parameters */
    FB_G_ZEROS = 2,     /* undefined gradients arrive as zeros */
    FB_G_UNDEFINED = 4, /* runs even where all gradients are undefined */
};
typedef struct fb_grad_rule {
    const char *name;       /* "SigmoidBackward0" */
    fb_backward_fn backward;
    const char *why_not;    /* not NULL: not implemented; the text says why, or "" */
    uint64_t diff;          /* tensor arguments that have a derivative */
    const fb_save_rule *saves;
    int16_t n_saves;
    int16_t n_results;      /* results that carry history (those that users see); -1: a list */
    uint32_t flags;
} fb_grad_rule;

/* ---- nodes -------------------------------------------------------------------------------------- */

enum fb_node_kind { FB_NODE_OP, FB_NODE_ACCUMULATE, FB_NODE_SLICES, FB_NODE_AS_STRIDED, FB_NODE_PYTHON };
enum { /* fb_node.hooks: which callbacks to run */
    FB_HOOK_TENSOR = 1, FB_HOOK_PRE = 2, FB_HOOK_POST = 4, FB_HOOK_ACCUMULATED = 8, FB_HOOK_FREED = 16,
};
struct fb_node {
    _Atomic int32_t refs;
    uint8_t kind, hooks, released;
    int32_t n_edges, n_outputs, n_saved;
    uint32_t size;      /* of the one allocation */
    uint64_t seq;       /* later nodes run first */
    _Atomic uint64_t id; /* Python's key; 0 until asked for */
    const fb_op *op;    /* NULL: not made by an operator */
    const fb_grad_rule *rule;
    fb_edge *edges;     /* one a differentiable input (an element of a list is one) */
    fb_meta *outputs;   /* one a result */
    fb_saved *saved;
    void *params;       /* a deep copy; NULL where the rule uses none */
    void *more;         /* by kind: struct fb_slices, the leaf, a Python function's block */
    struct fb_retained *retained; /* results that want their gradient in .grad */
    fb_node *next;      /* in the list of nodes to free */
};
static inline const char *fb_node_label(const fb_node *n) { return n->rule->name; }

fb_node *fb_node_retain(fb_node *n);
void fb_node_release(fb_node *n);      /* iterative, however long the graph */
void fb_node_drop_saved(fb_node *n);   /* what retain_graph=False gives up */
uint64_t fb_node_id(fb_node *n);
/* Bare node with room for that many; bytes more lie behind it, zeroed, at *extra. */
fb_node *fb_node_new(enum fb_node_kind kind, const fb_grad_rule *rule, int64_t n_edges, int64_t n_outputs, int64_t n_saved,
                     int64_t bytes, char **extra);
/* Fills m from t; sizes (and strides, if asked) are copied to *pool, which moves on. */
void fb_meta_of(fb_meta *m, const fb_tensor *t, bool strides, int64_t **pool);
fb_status fb_save(fb_saved *s, fb_tensor *t, int32_t output_nr);
/* The saved value: a new reference in *out, or NULL where it was absent. Checks that it was not written to since. */
fb_status fb_node_unpack(fb_node *n, int64_t slot, fb_tensor **out);
/* All of a list; the array is from fb_alloc. */
fb_status fb_node_unpack_list(fb_node *n, int64_t slot, int64_t count, fb_tensor ***out);
void fb_release_list(int64_t n, fb_tensor **list);
uint64_t fb_node_needs(const fb_node *n); /* arguments whose edges lead somewhere */
fb_status fb_node_run(fb_node *n, fb_tensor *const *grads, fb_tensor **grad_inputs, uint64_t needs); /* its rule's function */

/* ---- what a tensor has ---------------------------------------------------------------------------- */

struct fb_autograd {
    fb_node *node;         /* what made it, owned; NULL: a leaf */
    fb_node *accumulator;  /* of a leaf; its memory belongs to the leaf, its reference count says who waits for it */
    fb_tensor *grad;       /* owned */
    int32_t nr;            /* which result of node */
    uint32_t seen_version; /* a view's node is for the base as it was then */
    bool requires_grad;    /* of a leaf */
    bool retains_grad;
};

/* The one question of the hot path: has t, or the base that it views, a history? */
static inline bool fb_tracked(const fb_tensor *t)
{
    if (t->keys & FB_L_AUTOGRAD) return true;
    return t->base && !(t->flags & FB_T_VIEW_OF_DATA) && (t->base->keys & FB_L_AUTOGRAD);
}
fb_autograd *fb_autograd_of(fb_tensor *t); /* made on first need; NULL with the error set */
void fb_autograd_free(fb_tensor *t);       /* when t dies */
void fb_view_without_grad(fb_tensor *v);   /* v was just made, while gradients are off */
/* Where t's gradient goes: a new reference to a node, or {NULL}. A view whose base was written to gets a new node here. */
fb_status fb_edge_of(fb_tensor *t, fb_edge *out);
fb_status fb_set_history(fb_tensor *t, fb_node *node, int32_t nr); /* retains node */
/* After an in-place write: node is the new history of t, and of its base. self_edge: which edge of node leads to t's old
 * history; -1: none. Takes over nothing. */
fb_status fb_rebase_history(fb_tensor *t, fb_node *node, int32_t nr, int32_t self_edge);
fb_status fb_check_inplace(fb_tensor *t, bool recording);
fb_node *fb_accumulator_of(fb_tensor *leaf); /* new reference */
void fb_accumulator_unref(fb_node *n);
void fb_retained_forget(fb_node *n, const fb_tensor *t);

/* ---- gradients: helpers of nodes and of the engine --------------------------------------------- */

fb_tensor *fb_gradient_fit(const fb_node *n, int64_t index, fb_tensor *grad, const fb_meta *want); /* takes grad over; sums, casts, real part */
fb_tensor *fb_gradient_add(fb_tensor *a, fb_tensor *b);       /* takes both over; adds into a where nobody else sees it */
fb_tensor *fb_gradient_zeros(const fb_meta *m);
fb_status fb_accumulate(fb_tensor *leaf, fb_tensor *grad); /* grad: taken over */
fb_tensor *fb_plus(fb_tensor *a, fb_tensor *b);            /* new reference; an absent (NULL) one counts as zero; NULL for both */
fb_tensor *fb_number(fb_scalar value);                     /* fb_wrapped, with the usual ones kept */
fb_tensor *fb_as_strided_grad(fb_tensor *grad, const fb_meta *base, const fb_meta *view);
fb_scalar fb_scalar_add(fb_scalar a, fb_scalar b), fb_scalar_sub(fb_scalar a, fb_scalar b), fb_scalar_mul(fb_scalar a, fb_scalar b);
fb_scalar fb_scalar_div(fb_scalar a, fb_scalar b), fb_scalar_pow(fb_scalar a, fb_scalar b), fb_scalar_conj(fb_scalar a);
static inline fb_ints fb_meta_shape(const fb_meta *m) { return (fb_ints){m->ndim, m->sizes}; }
static inline fb_ints fb_meta_strides(const fb_meta *m) { return (fb_ints){m->ndim, m->strides}; }
fb_status fb_ints_at(fb_ints list, int64_t i, int64_t *out); /* negative counts from the end */
fb_ints fb_ints_slice(fb_ints list, int64_t begin, int64_t end);
/* into buffer[FB_MAX_DIMS] */
fb_status fb_ints_join(int64_t *buffer, fb_ints a, fb_ints b, fb_ints *out);

/* ---- the engine -------------------------------------------------------------------------------- */

/* fb_backward: flambeau/autograd.h */

/* What a host language does in between. Each returns FB_FAIL with the error set. Ids are fb_node_id's. */
typedef struct fb_autograd_callbacks {
    fb_status (*tensor_hooks)(uint64_t id, int32_t nr, fb_tensor **grad); /* may replace *grad, which is owned */
    fb_status (*pre_hooks)(uint64_t id, int32_t n, fb_tensor **grads);    /* likewise */
    fb_status (*post_hooks)(uint64_t id, int32_t n_inputs, fb_tensor **grad_inputs, int32_t n, fb_tensor **grads);
    fb_status (*accumulated)(uint64_t id, fb_tensor *leaf);
    fb_status (*function)(uint64_t id, int32_t n, fb_tensor **grads, int32_t n_inputs, fb_tensor **grad_inputs);
    fb_status (*made)(fb_node *node);                 /* anomaly mode: a node was recorded */
    fb_status (*failed)(fb_node *node);               /* anomaly mode: its function failed; to explain */
    fb_status (*poll)(void);                          /* now and then: signals */
    void (*freed)(uint64_t id);
} fb_autograd_callbacks;
extern fb_autograd_callbacks fb_callbacks;
extern _Atomic int fb_anomaly; /* 0, 1: explain failures, 2: look for NaN, too */

#endif
