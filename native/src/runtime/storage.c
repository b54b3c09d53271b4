/* Storages: the memory under tensors, counted. */
#include "runtime/alloc.h"
#include "runtime/core.h"

fb_storage *fb_storage_new(int64_t bytes, fb_device device)
{
    fb_storage *s;

    if (bytes < 0) return fb_fail_null(FB_EVALUE, "storage: bytes=%lld must not be negative", (long long)bytes);
    if (!(s = fb_small_alloc(sizeof *s))) return NULL;
    *s = (fb_storage){.refs = 1, .resizable = true, .device = device, .bytes = bytes, .capacity = bytes};
    if (device.type == FB_META || bytes == 0)
        s->data = NULL;
    else if (bytes <= (int64_t)sizeof s->small)
        s->data = s->small;
    else if (!(s->data = fb_alloc(bytes))) {
        fb_small_free(s, sizeof *s);
        return NULL;
    }
    fb_count_live(0, 1);
    return s;
}

static void free_data(fb_storage *s)
{
    if (s->deleter)
        s->deleter(s->ctx);
    else if (s->data != s->small)
        fb_free(s->data);
}

fb_storage *fb_storage_retain(fb_storage *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void fb_storage_release(fb_storage *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    free_data(s);
    fb_small_free(s, sizeof *s);
    fb_count_live(0, -1);
}

fb_status fb_storage_resize(fb_storage *s, int64_t bytes)
{
    char *data = NULL;

    if (bytes < 0) return fb_fail(FB_EVALUE, "resize: bytes=%lld must not be negative", (long long)bytes);
    if (!s->resizable) return fb_fail(FB_ERUNTIME, "Trying to resize storage that is not resizable");
    if (s->device.type != FB_META && bytes > s->capacity && !(s->data == s->small && bytes <= (int64_t)sizeof s->small)) {
        if (!(data = fb_alloc(bytes))) return FB_FAIL;
        if (s->data) memcpy(data, s->data, (size_t)FB_MIN(bytes, s->bytes));
        free_data(s);
        s->data = data;
        s->deleter = NULL;
    }
    s->capacity = FB_MAX(s->capacity, bytes);
    s->bytes = bytes;
    return FB_OK;
}
