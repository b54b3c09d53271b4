/* What the files of this folder share beyond autograd.h, and what the Python binding calls (native/python/autograd_cdef.h). */
#ifndef FB_VARIABLE_H
#define FB_VARIABLE_H

#include "autograd/autograd.h"

fb_node *fb_as_strided_node(fb_tensor *view); /* view as a function of its base: a new node */
void fb_slices_drop(fb_node *n, bool all);
void fb_maker(const fb_tensor *v, char *out, size_t size);
void fb_retained_move(fb_node *from, fb_node *to, fb_tensor *t, int32_t nr);
fb_status fb_retained_store(fb_node *n, int32_t nr, fb_tensor *grad); /* adds to .grad of the results that asked */
uint64_t fb_layer_needs(const fb_frame *f, uint64_t diff);
void fb_function_free(fb_node *n);
fb_status fb_node_was_released(void); /* sets the error */

FB_API fb_status fb_ag_grad_fn(fb_tensor *t, fb_node **out); /* new reference, NULL for a leaf */
FB_API int32_t fb_ag_output_nr(const fb_tensor *t);
FB_API fb_status fb_ag_detach_(fb_tensor *t);
FB_API fb_status fb_ag_retain_grad(fb_tensor *t);
FB_API bool fb_ag_retains_grad(const fb_tensor *t);
FB_API int64_t fb_ag_version(const fb_tensor *t);            /* -1 with the error set for inference tensors */
FB_API fb_tensor *fb_ag_base(fb_tensor *t);
FB_API bool fb_ag_grad_enabled(void), fb_ag_inference_enabled(void);
FB_API int fb_ag_modes(void);
FB_API void fb_ag_set_modes(int modes);

/* A node for a function of the host language: edges to the inputs (NULL: not a tensor) as they are now. Afterwards the results:
 * kinds[i] says what result i is, or, for an input that was changed in place, which input. */
enum { FB_FUNCTION_RESULT = -1, FB_FUNCTION_PLAIN = -2 /* no history */ };
FB_API fb_node *fb_ag_function_new(const char *name, int64_t n_inputs, fb_tensor **inputs);
FB_API fb_status fb_ag_function_finish(fb_node *n, int64_t n_outputs, fb_tensor **outputs, int32_t *kinds);

FB_API const char *fb_ag_node_name(const fb_node *n), *fb_ag_node_saved_name(const fb_node *n, int32_t i);
FB_API int32_t fb_ag_node_n_next(const fb_node *n), fb_ag_node_n_results(const fb_node *n);
FB_API fb_node *fb_ag_node_next(const fb_node *n, int32_t i); /* borrowed; NULL: not an edge */
FB_API int32_t fb_ag_node_next_nr(const fb_node *n, int32_t i);
FB_API uint64_t fb_ag_node_seq(const fb_node *n), fb_ag_node_watch(fb_node *n, int hooks);
FB_API void fb_ag_node_unwatch(fb_node *n, int hooks);
FB_API bool fb_ag_node_released(const fb_node *n);
FB_API fb_tensor *fb_ag_node_leaf(const fb_node *n), *fb_ag_node_zeros(const fb_node *n, int32_t nr);
FB_API fb_status fb_ag_node_saved(fb_node *n, int32_t i, fb_tensor **out);
FB_API void fb_ag_set_callbacks(const fb_autograd_callbacks *callbacks);
FB_API void fb_ag_set_anomaly(int mode);
FB_API int fb_ag_anomaly(void);

#endif
