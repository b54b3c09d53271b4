/* From a frame to the layer that takes it, and from the last layer to the kernel. */
#include "autograd/autograd.h"
#include "runtime/alloc.h"
#include "runtime/frame.h"
#include "runtime/pool.h"
#include <stdlib.h>

static fb_frame_fn handlers[32];
static _Atomic fb_layers active;
static _Thread_local fb_layer_state layers;

fb_layer_state *fb_thread_layers(void) { return &layers; }

fb_status fb_set_layer(fb_layers bit, fb_frame_fn handler)
{
    if (!bit || (bit & (bit - 1)) || (bit & FB_L_BACKENDS))
        return fb_fail(FB_EVALUE, "layer=%#x is not the bit of a layer", (unsigned)bit);
    handlers[__builtin_ctz(bit)] = handler;
    if (handler)
        atomic_fetch_or(&active, bit);
    else
        atomic_fetch_and(&active, ~bit);
    return FB_OK;
}

int fb_isa(void)
{
    static _Atomic int chosen = -1;
    int isa = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (FB_UNLIKELY(isa < 0)) {
        const char *limit = getenv("FLAMBEAU_ISA");
        isa = 0;
#if defined(__x86_64__)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) isa = 1;
        if (isa && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl"))
            isa = 2;
#endif
        if (limit) {
            int most = strcmp(limit, "base") == 0 ? 0 : strcmp(limit, "avx2") == 0 ? 1 : 2;
            isa = FB_MIN(isa, most);
        }
        atomic_store(&chosen, isa);
    }
    return isa;
}

/* A view has its base's history too, also one that the base got after the view was made. */
static inline fb_layers keys_of(const fb_tensor *t)
{
    if (FB_LIKELY(!t->base) || (t->flags & FB_T_VIEW_OF_DATA)) return t->keys;
    return t->keys | (t->base->keys & FB_L_AUTOGRAD);
}

fb_status fb_dispatch(fb_frame *f)
{
    fb_layers keys = layers.included;

    for (int i = 0; i < f->n_in; i++)
        if (FB_LIKELY(f->in[i] != NULL)) keys |= keys_of(f->in[i]);
    if (f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE))
        for (int i = 0; i < f->n_out; i++) {
            if (!f->out[i]) continue;
            keys |= keys_of(f->out[i]);
            if (FB_UNLIKELY(f->out[i]->flags & FB_T_INFERENCE) && fb_check_inplace(f->out[i], false) != FB_OK) return FB_FAIL;
        }
    keys &= f->below & ~layers.excluded & atomic_load_explicit(&active, memory_order_relaxed);
    if (FB_LIKELY(!keys)) return fb_backend_run(f);
    return handlers[31 - __builtin_clz(keys)](f);
}

fb_status fb_redispatch(fb_frame *f, fb_layers below)
{
    f->below &= below;
    return fb_dispatch(f);
}

/* ---- the backend: infer, then the kernel ------------------------------------------------------- */

/* A required tensor that is missing would be read as NULL by every infer function. */
static fb_status check_present(const fb_frame *f)
{
    const fb_op *op = f->op;
    int k = 0;

    for (int i = 0; i < op->n_args && op->args[i] != FB_ARG_LIST; i++, k++)
        if (op->args[i] == FB_ARG_TENSOR && !f->in[k])
            return fb_fail(FB_ETYPE, "%s(): tensor argument %d is missing", op->name, i + 1);
    return FB_OK;
}

static fb_status check_dtypes(const fb_frame *f)
{
    for (int i = 0; i < f->n_in; i++)
        if (f->in[i] && !fb_is(f->op->dtypes, f->in[i]->dtype) && !(f->in[i]->flags & FB_T_WRAPPED))
            return fb_fail(FB_ENOTIMPL, "\"%s\" not implemented for '%s'", f->op->name, fb_dtype_label((fb_dtype)f->in[i]->dtype));
    return FB_OK;
}

/* float32 copies take the place of half inputs; fb_out then makes half outputs behind float32 ones. */
static fb_status stage_half(fb_frame *f, bool meta)
{
    fb_arena *a;
    fb_dtype half = FB_NONE;

    for (int i = 0; i < f->n_in; i++)
        if (f->in[i] && fb_is(FB_HALVES, f->in[i]->dtype)) half = (fb_dtype)f->in[i]->dtype;
    if (half == FB_NONE) return FB_OK;
    if (!(a = fb_arena_of(f))) return FB_FAIL;
    a->half = half;
    if (!(a->staged = fb_alloc(FB_MAX(f->n_in, 1) * (int64_t)sizeof *a->staged))) return FB_FAIL;
    for (int i = 0; i < f->n_in; i++) {
        fb_tensor *t = f->in[i];
        if (t && fb_is(FB_HALVES, t->dtype))
            t = meta ? fb_new(t->ndim, t->sizes, t->strides, FB_F32, t->device) : fb_contiguous_as(t, FB_F32);
        else
            fb_retain(t);
        if (f->in[i] && !t) return FB_FAIL;
        a->staged[a->n_staged++] = t;
    }
    f->in = a->staged;
    return FB_OK;
}

/* A meta tensor among others: those may only be numbers, or tensors without dimensions. */
static fb_status check_devices(const fb_frame *f)
{
    for (int i = 0; i < f->n_in; i++)
        if (f->in[i] && f->in[i]->device.type != FB_META && f->in[i]->ndim > 0)
            return fb_fail(FB_EDEVICE, "%s: Expected all tensors to be on the same device, but found at least two devices, cpu and meta!",
                           f->op->name);
    return FB_OK;
}

static double cost_of(const fb_frame *f)
{
    int64_t n = 0;

    if (f->cost > 0) return f->cost;
    for (int i = 0; i < f->n_in; i++)
        if (f->in[i]) n += f->in[i]->numel;
    for (int i = 0; i < f->n_out; i++)
        if (f->out[i]) n += f->out[i]->numel;
    return 0.3 * (double)n;
}

fb_status fb_backend_run(fb_frame *f)
{
    const fb_op *op = f->op;
    fb_tensor **in = f->in;
    fb_frame_fn kernel = op->kernel[fb_isa()];
    fb_status status = FB_FAIL;
    bool meta = false;

    if (FB_UNLIKELY(op->flags & FB_OP_COMPOSITE)) return kernel(f);
    for (int i = 0; i < f->n_in; i++) {
        if (FB_UNLIKELY(!f->in[i])) {
            if (check_present(f) != FB_OK) return FB_FAIL;
        } else if (FB_UNLIKELY(f->in[i]->keys & FB_L_META) && !(f->in[i]->flags & FB_T_WRAPPED)) {
            meta = true;
        }
    }
    if (FB_UNLIKELY(meta) && op->family && check_devices(f) != FB_OK) return FB_FAIL;
    if (op->dtypes && check_dtypes(f) != FB_OK) return FB_FAIL;
    if ((op->flags & FB_OP_STAGE_HALF) && stage_half(f, meta) != FB_OK) goto done;
    if (op->infer && op->infer(f) != FB_OK) goto done;
    meta |= f->device.type == FB_META;
    if (meta && (op->flags & FB_OP_DATA_SHAPE)) {
        fb_fail(FB_ENOTIMPL, "%s: the output's shape depends on data, which meta tensors do not have", op->name);
        goto done;
    }
    if (!meta && kernel) {
        void *blocked = cost_of(f) > 50e3 ? fb_unblock() : NULL;
        status = kernel(f);
        fb_reblock(blocked);
    } else {
        status = FB_OK;
    }
    if (f->arena) { /* temporaries go where the caller wanted the result */
        for (struct fb_redirect *r = f->arena->redirects; r; r = r->next) {
            fb_tensor *temporary = f->out[r->index];
            f->out[r->index] = r->real;
            if (status == FB_OK && !meta) status = fb_copy_data(r->real, temporary);
            fb_release(temporary);
            r->real = NULL;
        }
        f->arena->redirects = NULL;
    }
    if (status == FB_OK && (f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE)))
        for (int i = 0; i < f->n_out && status == FB_OK; i++)
            if (f->out[i]) status = fb_bump_version(f->out[i]);
done:
    f->in = in;
    return status;
}
