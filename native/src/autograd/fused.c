/* When a fused derivative may run, and its loop over chunks. */
#include "autograd/fused.h"
#include "autograd/autograd.h"
#include "runtime/pool.h"

enum { MAX_INPUTS = 8 };
typedef struct job {
    fb_fused_fn fn;
    char *out, *in[MAX_INPUTS];
    int n_in;
    int64_t size;
    const double *numbers;
} job;

static void run_chunk(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    void *in[MAX_INPUTS];

    for (int i = 0; i < j->n_in; i++) in[i] = j->in[i] + begin * j->size;
    j->fn(end - begin, j->out + begin * j->size, in, j->numbers);
}

static bool plain(const fb_tensor *t, const fb_tensor *first)
{
    return t->dtype == first->dtype && t->ndim == first->ndim && fb_contig(t) && !(t->flags & FB_T_WRAPPED) &&
           t->device.type == FB_CPU && !(t->keys & ~(fb_layers)(FB_L_CPU | FB_L_AUTOGRAD)) &&
           !memcmp(t->sizes, first->sizes, (size_t)first->ndim * sizeof *first->sizes);
}

fb_status fb_fused_run(const fb_fused_fn *functions, int n_in, fb_tensor *const *in, const double *numbers, fb_tensor **out)
{
    const fb_tensor *first = in[0];
    job j = {.n_in = n_in, .numbers = numbers};
    double ns_each = 1;

    *out = NULL;
    if (fb_grad_enabled() || fb_thread_layers()->included || (first->dtype != FB_F32 && first->dtype != FB_F64) || n_in > MAX_INPUTS)
        return FB_OK;
    for (int i = 0; i < n_in; i++)
        if (!plain(in[i], first)) return FB_OK;
    if (!(*out = fb_new(first->ndim, first->sizes, NULL, (fb_dtype)first->dtype, first->device))) return FB_FAIL;
    if (!first->numel) return FB_OK;
    j.fn = functions[first->dtype == FB_F64];
    j.size = fb_itemsize((fb_dtype)first->dtype);
    j.out = fb_ptr(*out);
    for (int i = 0; i < n_in; i++) j.in[i] = fb_ptr(in[i]);
    if (first->numel < 4096) {
        run_chunk(&j, 0, first->numel);
    } else {
        void *blocked = ns_each * (double)first->numel > 50e3 ? fb_unblock() : NULL;
        fb_parallel_range(first->numel, ns_each, run_chunk, &j);
        fb_reblock(blocked);
    }
    return FB_OK;
}
