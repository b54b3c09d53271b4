/* Frames: outputs, scratch, and how a typed function gets its results. */
#include "runtime/frame.h"
#include "flambeau/ops.gen.h"
#include "runtime/alloc.h"

fb_arena *fb_arena_of(fb_frame *f)
{
    if (!f->arena && (f->arena = fb_small_alloc(sizeof *f->arena))) *f->arena = (fb_arena){.half = FB_NONE};
    return f->arena;
}

void *fb_scratch(fb_frame *f, int64_t bytes)
{
    fb_arena *a = fb_arena_of(f);
    struct fb_scratch_block *b;

    if (!a) return NULL;
    if (bytes < 0 || bytes > INT64_MAX - 64) return fb_fail_null(FB_EMEMORY, "%s: scratch of %lld bytes", f->op->name, (long long)bytes);
    if (!(b = fb_alloc(bytes + 64))) return NULL; /* 64: the block's link, and what follows stays aligned */
    b->next = a->blocks;
    a->blocks = b;
    return (char *)b + 64;
}

void fb_frame_end(fb_frame *f)
{
    fb_arena *a = f->arena;

    if (FB_LIKELY(!a)) return;
    for (struct fb_redirect *r = a->redirects; r; r = r->next) { /* infer failed half-way: the real one is the caller's */
        fb_release(f->out[r->index]);
        f->out[r->index] = r->real;
    }
    for (int i = 0; i < a->n_staged; i++) fb_release(a->staged[i]);
    fb_free(a->staged);
    if (a->out) {
        fb_free(a->out);
        f->out = f->out_small;
    }
    for (struct fb_scratch_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        fb_free(b);
    }
    fb_small_free(a, sizeof *a);
    f->arena = NULL;
}

fb_device fb_frame_device(const fb_frame *f)
{
    fb_device d = f->device;

    for (int i = 0; i < f->n_in; i++)
        if (f->in[i] && !(f->in[i]->flags & FB_T_WRAPPED)) {
            if (f->in[i]->keys & FB_L_META) return f->in[i]->device;
            d = f->in[i]->device;
        }
    return d;
}

/* ---- outputs ----------------------------------------------------------------------------------- */

/* The kernel will write into a temporary that takes out[i]'s place. */
static fb_status redirect(fb_frame *f, int i, fb_tensor *real, fb_dtype dtype, int64_t ndim, const int64_t *sizes)
{
    struct fb_redirect *r = fb_scratch(f, sizeof *r);
    fb_tensor *t;

    if (!r || !(t = fb_new(ndim, sizes, NULL, dtype, real->device))) return FB_FAIL;
    *r = (struct fb_redirect){f->arena->redirects, real, i};
    f->arena->redirects = r;
    f->out[i] = t;
    return FB_OK;
}

static bool same_shape(const fb_tensor *t, int64_t ndim, const int64_t *sizes)
{
    return t->ndim == ndim && memcmp(t->sizes, sizes, (size_t)ndim * sizeof *sizes) == 0;
}

static fb_status check_preset(fb_frame *f, fb_tensor *o, fb_dtype dtype, int64_t ndim, const int64_t *sizes)
{
    if (!fb_can_cast(dtype, (fb_dtype)o->dtype))
        return fb_fail(FB_ERUNTIME, "result type %s can't be cast to the desired output type %s", fb_dtype_label(dtype),
                       fb_dtype_label((fb_dtype)o->dtype));
    if (o->device.type != fb_frame_device(f).type)
        return fb_fail(FB_ERUNTIME, "Expected out tensor to have device %s, but got %s instead",
                       fb_frame_device(f).type == FB_META ? "meta" : "cpu", o->device.type == FB_META ? "meta" : "cpu");
    if (same_shape(o, ndim, sizes)) {
        if (fb_overlaps_itself(o))
            return fb_fail(FB_ERUNTIME,
                           "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.");
        return FB_OK;
    }
    if (f->flags & FB_F_IN_PLACE)
        return fb_fail(FB_ESHAPE, "output with shape %s doesn't match the broadcast shape %s", fb_shape_text(o->ndim, o->sizes),
                       fb_shape_text(ndim, sizes));
    if (o->numel) fb_warn("An output with one or more elements was resized since it had shape %s, which does not match the required "
                          "output shape %s. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
                          "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
                          "elements with t.resize_(0).", fb_shape_text(o->ndim, o->sizes), fb_shape_text(ndim, sizes));
    return fb_resize(o, ndim, sizes);
}

fb_status fb_out(fb_frame *f, int i, fb_dtype dtype, int64_t ndim, const int64_t *sizes, const int64_t *strides)
{
    fb_dtype half = f->arena ? f->arena->half : FB_NONE, real = half != FB_NONE && dtype == FB_F32 ? half : dtype;
    fb_tensor *o = f->out[i];

    if (!o || !(f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE))) {
        if (!(o = fb_new(ndim, sizes, strides, real, fb_frame_device(f)))) return FB_FAIL;
        f->out[i] = o;
        if (real == dtype) return FB_OK;
        return o->device.type == FB_META ? FB_OK : redirect(f, i, o, dtype, ndim, sizes);
    }
    FB_TRY(check_preset(f, o, real, ndim, sizes));
    if ((f->op->flags & FB_OP_DIRECT_OUT) || o->device.type == FB_META) return FB_OK;
    bool usable = fb_contig(o) && o->dtype == dtype;
    for (int k = 0; k < f->n_in && usable; k++)
        if (f->in[k] && !(f->in[k] == o && (f->op->flags & FB_OP_ALIAS)) && fb_overlap_of(o, f->in[k]) != FB_OVERLAP_NONE) usable = false;
    return usable ? FB_OK : redirect(f, i, o, dtype, ndim, sizes);
}

fb_status fb_out_like(fb_frame *f, int i, const fb_tensor *like, fb_dtype dtype)
{
    return fb_out(f, i, dtype, like->ndim, like->sizes, NULL);
}

fb_status fb_out_count(fb_frame *f, int32_t n)
{
    fb_arena *a = fb_arena_of(f);

    if (n < 0) return fb_fail(FB_EVALUE, "%s: %d results", f->op->name, (int)n);
    if (!a || !(a->out = fb_alloc(FB_MAX(n, 1) * (int64_t)sizeof *a->out))) return FB_FAIL;
    memset(a->out, 0, (size_t)n * sizeof *a->out);
    f->out = a->out;
    f->n_out = n;
    return FB_OK;
}

/* ---- results ----------------------------------------------------------------------------------- */

static void drop_outputs(fb_frame *f)
{
    if (f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE)) return; /* the caller's */
    for (int i = 0; i < f->n_out; i++) {
        fb_release(f->out[i]);
        f->out[i] = NULL;
    }
}

/* Ends the frame so that redirected outputs are the real ones again, then drops them after a failure. */
static fb_status finish(fb_frame *f, fb_status status)
{
    if (FB_UNLIKELY(f->arena != NULL)) {
        if (status != FB_OK && f->arena->out) { /* a list: its array goes with the arena */
            for (int i = 0; i < f->n_out; i++) fb_release(f->out[i]);
            f->n_out = 0;
        }
        fb_frame_end(f);
    }
    if (FB_UNLIKELY(status != FB_OK)) drop_outputs(f);
    return status;
}

fb_tensor *fb_run(fb_frame *f)
{
    if (finish(f, fb_dispatch(f)) != FB_OK) return NULL;
    return f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE) ? fb_retain(f->out[0]) : f->out[0];
}

fb_status fb_run_several(fb_frame *f, fb_tensor **const *to)
{
    fb_status status;

    if (f->flags & FB_F_OUT_GIVEN)
        for (int i = 0; i < f->n_out; i++)
            if (!f->out[i]) return fb_fail(FB_ETYPE, "%s(): out must hold %d tensors", f->op->name, f->n_out);
    status = finish(f, fb_dispatch(f));
    for (int i = 0; i < f->n_out; i++)
        *to[i] = status != FB_OK ? NULL : f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE) ? fb_retain(f->out[i]) : f->out[i];
    return status;
}

fb_status fb_run_list(fb_frame *f, int64_t *n, fb_tensor ***outs)
{
    fb_status status = fb_dispatch(f);

    *n = 0;
    *outs = NULL;
    if (status == FB_OK && f->arena && f->arena->out) {
        *n = f->n_out;
        *outs = f->arena->out;
        f->arena->out = NULL; /* now the caller's */
    }
    return finish(f, status);
}

fb_status fb_give(fb_frame *f, int i, fb_tensor *result)
{
    fb_status status = FB_FAIL;
    fb_tensor *o = f->out[i], *copied;

    if (!result) return FB_FAIL;
    if (!(f->flags & (FB_F_OUT_GIVEN | FB_F_IN_PLACE)) || !o) {
        f->out[i] = result;
        return FB_OK;
    }
    if (result == o)
        status = FB_OK;
    else if (check_preset(f, o, (fb_dtype)result->dtype, result->ndim, result->sizes) == FB_OK && (copied = fb_copy_(o, result, false))) {
        fb_release(copied);
        status = FB_OK;
    }
    fb_release(result);
    return status;
}

void *fb_copy_bytes(const void *src, int64_t bytes)
{
    void *p = fb_alloc(bytes);

    if (p) memcpy(p, src, (size_t)bytes);
    return p;
}
