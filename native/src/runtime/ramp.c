/* Evenly spaced values. */
#include "runtime/ramp.h"
#include "runtime/core.h"

/* v[i] = first + i * step, in int64 or double, then converted: as exact as the dtype allows. */
fb_tensor *fb_ramp(int64_t n, fb_scalar first, fb_scalar step, fb_dtype dtype, fb_device device)
{
    bool whole = first.kind != FB_S_FLOAT && step.kind != FB_S_FLOAT && first.kind != FB_S_COMPLEX && step.kind != FB_S_COMPLEX;
    fb_dtype wide = whole ? FB_I64 : FB_F64;
    fb_tensor *t, *w;

    if (device.type == FB_META) return fb_new(1, &n, NULL, dtype, device);
    if (!(w = fb_new(1, &n, NULL, wide, device))) return NULL;
    if (whole) {
        int64_t *v = fb_ptr(w);
        for (int64_t i = 0; i < n; i++) v[i] = (int64_t)((uint64_t)first.i + (uint64_t)i * (uint64_t)step.i);
    } else {
        double *v = fb_ptr(w), a = fb_scalar_double(first), by = fb_scalar_double(step);
        for (int64_t i = 0; i < n; i++) v[i] = a + (double)i * by;
    }
    if (dtype == wide) return w;
    t = fb_contiguous_as(w, dtype);
    fb_release(w);
    return t;
}

/* The second half is counted back from the end, so that the last value is exactly `last` and the sequence symmetric. */
fb_tensor *fb_linspace(int64_t n, fb_scalar first, fb_scalar last, fb_dtype dtype, fb_device device)
{
    bool complex = fb_is_complex(dtype), single = dtype == FB_F32 || dtype == FB_C64 || fb_is(FB_HALVES, dtype);
    fb_dtype wide = complex ? FB_C128 : single ? FB_F32 : FB_F64;
    double a = fb_scalar_double(first), b = fb_scalar_double(last);
    double ai = first.kind == FB_S_COMPLEX ? first.im : 0, bi = last.kind == FB_S_COMPLEX ? last.im : 0;
    fb_tensor *t, *w;

    if (device.type == FB_META) return fb_new(1, &n, NULL, dtype, device);
    if (!(w = fb_new(1, &n, NULL, wide, device))) return NULL;
    if (fb_is_integral(dtype)) { /* the ends are whole before the steps are taken */
        a = (double)fb_scalar_int(first);
        b = (double)fb_scalar_int(last);
    }
    if (wide == FB_F32) {
        float *v = fb_ptr(w), x = (float)a, y = (float)b, step = n > 1 ? (y - x) / (float)(n - 1) : 0;
        for (int64_t i = 0; i < n; i++) v[i] = i < n / 2 || n == 1 ? x + step * (float)i : y - step * (float)(n - i - 1);
    } else {
        double *v = fb_ptr(w), step = n > 1 ? (b - a) / (double)(n - 1) : 0, stepi = n > 1 ? (bi - ai) / (double)(n - 1) : 0;
        for (int64_t i = 0; i < n; i++) {
            bool front = i < n / 2 || n == 1;
            double re = front ? a + step * (double)i : b - step * (double)(n - i - 1);
            if (complex) {
                v[2 * i] = re;
                v[2 * i + 1] = front ? ai + stepi * (double)i : bi - stepi * (double)(n - i - 1);
            } else {
                v[i] = re;
            }
        }
    }
    if (dtype == wide) return w;
    t = fb_contiguous_as(w, dtype);
    fb_release(w);
    return t;
}
