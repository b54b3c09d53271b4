/* What Python sees of autograd. Read by cffi: no preprocessor. Status is int: 0, or -1 with the error set. */
typedef struct fb_node fb_node;
extern "Python" int fbp_ag_tensor_hooks(uint64_t id, int32_t nr, fb_tensor **grad);
extern "Python" int fbp_ag_pre_hooks(uint64_t id, int32_t n, fb_tensor **grads);
extern "Python" int fbp_ag_post_hooks(uint64_t id, int32_t n_inputs, fb_tensor **grad_inputs, int32_t n, fb_tensor **grads);
extern "Python" int fbp_ag_accumulated(uint64_t id, fb_tensor *leaf);
extern "Python" int fbp_ag_function(uint64_t id, int32_t n, fb_tensor **grads, int32_t n_inputs, fb_tensor **grad_inputs);
extern "Python" int fbp_ag_made(fb_node *node);
extern "Python" int fbp_ag_failed(fb_node *node);
extern "Python" int fbp_ag_poll(void);
extern "Python" void fbp_ag_freed(uint64_t id);
void fbp_ag_enable(void); /* installs the callbacks above, switches the layer on */
void fbp_ag_watch_nodes(int on); /* anomaly mode: call made and failed */
int fbp_ag_fail(void); /* what a callback returns after it parked an exception */

/* modes */
bool fb_ag_grad_enabled(void);
bool fb_ag_inference_enabled(void);
bool fb_ag_set_grad_enabled(bool on);
int fb_ag_modes(void);
void fb_ag_set_modes(int modes);
void fb_ag_set_anomaly(int mode);
int fb_ag_anomaly(void);

/* tensors */
bool fb_ag_requires_grad(const fb_tensor *t);
int fbp_ag_set_requires_grad(fb_tensor *t, bool on);
fb_node *fbp_ag_grad_fn(fb_tensor *t); /* new reference; NULL for a leaf, or with the error set */
int32_t fb_ag_output_nr(const fb_tensor *t);
fb_tensor *fb_ag_grad(const fb_tensor *t); /* borrowed */
int fbp_ag_set_grad(fb_tensor *t, fb_tensor *grad);
int fbp_ag_detach_(fb_tensor *t);
int fbp_ag_retain_grad(fb_tensor *t);
bool fb_ag_retains_grad(const fb_tensor *t);
int64_t fb_ag_version(const fb_tensor *t);
fb_tensor *fb_ag_base(fb_tensor *t);
int fbp_ag_check_inplace(fb_tensor *t);
int fbp_ag_bump_version(fb_tensor *t);
int fbp_ag_set_history(fb_tensor *t, fb_node *node, int32_t nr);
fb_node *fb_accumulator_of(fb_tensor *leaf);

/* nodes */
fb_node *fb_node_retain(fb_node *n);
void fb_node_release(fb_node *n);
const char *fb_ag_node_name(const fb_node *n);
int32_t fb_ag_node_n_next(const fb_node *n);
int32_t fb_ag_node_n_results(const fb_node *n);
fb_node *fb_ag_node_next(const fb_node *n, int32_t i);
int32_t fb_ag_node_next_nr(const fb_node *n, int32_t i);
uint64_t fb_ag_node_seq(const fb_node *n);
uint64_t fb_ag_node_watch(fb_node *n, int hooks);
void fb_ag_node_unwatch(fb_node *n, int hooks);
bool fb_ag_node_released(const fb_node *n);
fb_tensor *fb_ag_node_leaf(const fb_node *n);
fb_tensor *fb_ag_node_zeros(const fb_node *n, int32_t nr);
const char *fb_ag_node_saved_name(const fb_node *n, int32_t i);
int fbp_ag_node_saved(fb_node *n, int32_t i, fb_tensor **out);

/* functions written in Python */
fb_node *fb_ag_function_new(const char *name, int64_t n_inputs, fb_tensor **inputs);
int fbp_ag_function_finish(fb_node *n, int64_t n_outputs, fb_tensor **outputs, int32_t *kinds);

/* the engine */
int fbp_ag_backward(int64_t n_roots, fb_tensor **roots, fb_tensor **grads, int64_t n_inputs, fb_tensor **inputs, fb_tensor **captured,
                    int flags);
int fbp_ag_backward_one(fb_tensor *root, int flags);
