/* The operators of matmul.toml: shapes, and how tensors become the operands of one product. */
#include "flambeau/ops.gen.h"
#include "nn/matmul.h"
#include "params.gen.h"
#include "runtime/frame.h"

/* C's names of the dtypes, as PyTorch's texts have them. */
const char *fb_dtype_c_name(int dtype)
{
    static const char *const names[FB_N_DTYPES] = {[FB_BOOL] = "bool",
                                                   [FB_U8] = "unsigned char",
                                                   [FB_I8] = "signed char",
                                                   [FB_I16] = "short int",
                                                   [FB_I32] = "int",
                                                   [FB_I64] = "long int",
                                                   [FB_F16] = "c10::Half",
                                                   [FB_BF16] = "c10::BFloat16",
                                                   [FB_F32] = "float",
                                                   [FB_F64] = "double",
                                                   [FB_C64] = "c10::complex<float>",
                                                   [FB_C128] = "c10::complex<double>"};
    return names[dtype] ? names[dtype] : fb_dtype_name((fb_dtype)dtype);
}

static void set_cost(fb_frame *f, double m, double n, double k)
{
    f->cost = 200 + 2 * m * n * k / 50;
}

/* ---- kernels ---- */

static fb_scalar factor(fb_scalar s, int dtype)
{
    return fb_is_float(dtype) || fb_is_complex(dtype) ? s : fb_int(fb_scalar_int(s));
}

typedef struct side {
    const void *data;
    int64_t row, col, step;
} side;
static side matrix(const fb_tensor *t, int64_t first)
{
    return (side){fb_ptr(t), t->strides[first], t->strides[first + 1], first ? t->strides[0] : 0};
}

/* out = alpha * a b + beta * out, out contiguous (batch, m, n). */
static fb_status multiply(const fb_tensor *out, int64_t batch, int64_t m, int64_t n, int64_t k, side a,
                          side b, fb_scalar alpha, fb_scalar beta, const void *bias)
{
    const fb_product g = {.dtype = (fb_dtype)out->dtype,
                          .m = m,
                          .n = n,
                          .k = k,
                          .batch = batch,
                          .a = a.data,
                          .b = b.data,
                          .c = fb_ptr(out),
                          .a_row = a.row,
                          .a_col = a.col,
                          .a_step = a.step,
                          .b_row = b.row,
                          .b_col = b.col,
                          .b_step = b.step,
                          .c_row = n,
                          .c_col = 1,
                          .c_step = m * n,
                          .alpha = factor(alpha, out->dtype),
                          .beta = factor(beta, out->dtype),
                          .col_bias = bias};
    return fb_product_run(&g);
}

static bool is_zero(fb_scalar s)
{
    return s.re == 0 && s.im == 0;
}

fb_status fb_k_mm(fb_frame *f)
{
    const fb_tensor *a = f->in[0], *b = f->in[1];
    return multiply(f->out[0], 1, a->sizes[0], b->sizes[1], a->sizes[1], matrix(a, 0), matrix(b, 0),
                    fb_int(1), fb_int(0), NULL);
}

/* Batches of any number of dimensions, broadcast: a table of offsets unless one step does. */
fb_status fb_k_bmm(fb_frame *f)
{
    const fb_tensor *a = f->in[0], *b = f->in[1], *out = f->out[0];
    const int nd = out->ndim, lead = nd - 2;
    const int64_t m = out->sizes[nd - 2], n = out->sizes[nd - 1], k = a->sizes[a->ndim - 1];
    fb_product g = {.dtype = (fb_dtype)out->dtype,
                    .m = m,
                    .n = n,
                    .k = k,
                    .batch = 1,
                    .a = fb_ptr(a),
                    .b = fb_ptr(b),
                    .c = fb_ptr(out),
                    .a_row = a->strides[a->ndim - 2],
                    .a_col = a->strides[a->ndim - 1],
                    .b_row = b->strides[b->ndim - 2],
                    .b_col = b->strides[b->ndim - 1],
                    .c_row = n,
                    .c_col = 1,
                    .c_step = m * n,
                    .alpha = fb_int(1),
                    .beta = fb_int(0)};
    for (int i = 0; i < lead; i++) g.batch *= out->sizes[i];
    if (lead == 1 && a->ndim == 3 && b->ndim == 3) {
        g.a_step = a->sizes[0] == 1 ? 0 : a->strides[0];
        g.b_step = b->sizes[0] == 1 ? 0 : b->strides[0];
        return fb_product_run(&g);
    }
    int64_t *offsets = fb_scratch(f, FB_MAX(2 * g.batch, 1) * (int64_t)sizeof *offsets);
    if (!offsets) return FB_FAIL;
    for (int64_t i = 0; i < g.batch; i++) {
        int64_t rest = i, at[2] = {0, 0};
        for (int d = lead - 1; d >= 0; d--) {
            const int64_t x = rest % out->sizes[d];
            rest /= out->sizes[d];
            for (int s = 0; s < 2; s++) {
                const fb_tensor *t = f->in[s];
                const int dt = d - (nd - t->ndim);
                if (dt >= 0 && t->sizes[dt] != 1) at[s] += x * t->strides[dt];
            }
        }
        offsets[i] = at[0];
        offsets[g.batch + i] = at[1];
    }
    g.a_offset = offsets;
    g.b_offset = offsets + g.batch;
    return fb_product_run(&g);
}

static fb_status start(fb_frame *f, fb_scalar beta)
{
    return is_zero(beta) ? FB_OK : fb_copy_data(f->out[0], f->in[0]);
}

/* addmm and baddbmm; their parameters agree */
fb_status fb_k_addmm(fb_frame *f)
{
    const struct fb_p_addmm *p = f->params;
    const fb_tensor *a = f->in[1], *b = f->in[2];
    const int64_t first = a->ndim - 2;
    FB_TRY(start(f, p->beta));
    return multiply(f->out[0], first ? a->sizes[0] : 1, a->sizes[first], b->sizes[first + 1],
                    a->sizes[first + 1], matrix(a, first), matrix(b, first), p->alpha, p->beta, NULL);
}

fb_status fb_k_addbmm(fb_frame *f)
{
    const struct fb_p_addbmm *p = f->params;
    const fb_tensor *a = f->in[1], *b = f->in[2];
    side x = matrix(a, 1), y = matrix(b, 1);
    const int64_t size = fb_itemsize((fb_dtype)a->dtype);
    FB_TRY(start(f, p->beta));
    if (a->sizes[0] == 0)
        return multiply(f->out[0], 1, a->sizes[1], b->sizes[2], 0, x, y, p->alpha, p->beta, NULL);
    for (int64_t i = 0; i < a->sizes[0]; i++) {
        FB_TRY(multiply(f->out[0], 1, a->sizes[1], b->sizes[2], a->sizes[2], x, y, p->alpha,
                        i ? fb_int(1) : p->beta, NULL));
        x.data = (const char *)x.data + x.step * size;
        y.data = (const char *)y.data + y.step * size;
    }
    return FB_OK;
}

static side column(const fb_tensor *v)
{
    return (side){fb_ptr(v), v->strides[0], 1, 0};
}

fb_status fb_k_mv(fb_frame *f)
{
    const fb_tensor *a = f->in[0];
    return multiply(f->out[0], 1, a->sizes[0], 1, a->sizes[1], matrix(a, 0), column(f->in[1]), fb_int(1),
                    fb_int(0), NULL);
}

fb_status fb_k_addmv(fb_frame *f)
{
    const struct fb_p_addmv *p = f->params;
    const fb_tensor *a = f->in[1];
    FB_TRY(start(f, p->beta));
    return multiply(f->out[0], 1, a->sizes[0], 1, a->sizes[1], matrix(a, 0), column(f->in[2]), p->alpha,
                    p->beta, NULL);
}

fb_status fb_k_dot(fb_frame *f)
{
    const fb_tensor *a = f->in[0];
    const side row = {fb_ptr(a), 1, a->strides[0], 0};
    return multiply(f->out[0], 1, 1, 1, a->sizes[0], row, column(f->in[1]), fb_int(1), fb_int(0), NULL);
}

/* All dimensions but the last as one, if the strides allow it: its length and stride. */
static bool fold(const fb_tensor *t, int64_t *rows, int64_t *stride)
{
    *rows = 1;
    *stride = 0;
    for (int d = t->ndim - 2; d >= 0; d--) {
        if (t->sizes[d] == 1) continue;
        if (*rows == 1)
            *stride = t->strides[d];
        else if (t->strides[d] != *rows * *stride)
            return false;
        *rows *= t->sizes[d];
    }
    return true;
}

/* t as rows of its last dimension: t itself (retained), or a contiguous copy. */
static fb_tensor *as_rows(fb_tensor *t, int64_t *rows, side *out)
{
    int64_t stride;
    fb_tensor *u = fold(t, rows, &stride) ? fb_retain(t) : fb_contiguous_as(t, FB_NONE);
    if (u && fold(u, rows, &stride))
        *out = (side){fb_ptr(u), stride, u->ndim ? u->strides[u->ndim - 1] : 1, 0};
    return u;
}

fb_status fb_k_linear(fb_frame *f)
{
    const fb_tensor *w = f->in[1], *bias = f->in[2], *out = f->out[0];
    const bool vector = w->ndim == 1;
    const int64_t n = vector ? 1 : w->sizes[0], k = w->sizes[w->ndim - 1];
    int64_t rows;
    side a;
    fb_tensor *x = as_rows(f->in[0], &rows, &a);
    if (!x) return FB_FAIL;
    const side b = {fb_ptr(w), w->strides[w->ndim - 1], vector ? 1 : w->strides[0], 0};
    const bool direct = bias && bias->ndim == 1 && bias->sizes[0] == n && fb_contig(bias) && !vector;
    fb_status status = bias && !direct ? fb_copy_data(f->out[0], bias) : FB_OK;
    if (status == FB_OK)
        status = multiply(out, 1, rows, n, k, a, b, fb_int(1), fb_int(bias && !direct),
                          direct ? fb_ptr(bias) : NULL);
    fb_release(x);
    return status;
}

fb_status fb_k_linear_weight_grad(fb_frame *f)
{
    int64_t rows, same;
    side a, b;
    fb_tensor *g = as_rows(f->in[0], &rows, &a), *x = as_rows(f->in[1], &same, &b);
    fb_status status = FB_FAIL;
    if (g && x) {
        const side turned = {a.data, a.col, a.row, 0};
        status = multiply(f->out[0], 1, f->out[0]->sizes[0], f->out[0]->sizes[1], rows, turned, b, fb_int(1),
                          fb_int(0), NULL);
    }
    fb_release(g);
    fb_release(x);
    return status;
}

/* ---- infer ---- */

static fb_status check_mm(const fb_tensor *a, const fb_tensor *b)
{
    if (a->sizes[1] != b->sizes[0])
        return fb_fail(FB_ESHAPE, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                       (long long)a->sizes[0], (long long)a->sizes[1], (long long)b->sizes[0],
                       (long long)b->sizes[1]);
    if (a->dtype != b->dtype)
        return fb_fail(FB_EDTYPE, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                       fb_dtype_c_name(a->dtype), fb_dtype_c_name(b->dtype));
    return FB_OK;
}

fb_status fb_i_mm(fb_frame *f)
{
    const fb_tensor *a = f->in[0], *b = f->in[1];
    if (a->ndim != 2) return fb_fail(FB_ESHAPE, "self must be a matrix");
    if (b->ndim != 2) return fb_fail(FB_ESHAPE, "mat2 must be a matrix");
    FB_TRY(check_mm(a, b));
    set_cost(f, (double)a->sizes[0], (double)b->sizes[1], (double)a->sizes[1]);
    return fb_out(f, 0, (fb_dtype)a->dtype, 2, (int64_t[]){a->sizes[0], b->sizes[1]}, NULL);
}

static fb_status check_scalar_type(const fb_tensor *a, const fb_tensor *b)
{
    if (a->dtype == b->dtype) return FB_OK;
    return fb_fail(FB_EDTYPE, "expected scalar type %s but found %s", fb_dtype_label((fb_dtype)a->dtype),
                   fb_dtype_label((fb_dtype)b->dtype));
}

static fb_status check_batches(const fb_tensor *a, const fb_tensor *b)
{
    if (a->ndim != 3) return fb_fail(FB_ESHAPE, "batch1 must be a 3D tensor");
    if (b->ndim != 3) return fb_fail(FB_ESHAPE, "batch2 must be a 3D tensor");
    if (a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1])
        return fb_fail(FB_ESHAPE,
                       "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: "
                       "[%lld, %lld].",
                       (long long)a->sizes[0], (long long)a->sizes[2], (long long)b->sizes[0],
                       (long long)b->sizes[1]);
    return check_scalar_type(a, b);
}

fb_status fb_i_bmm(fb_frame *f)
{
    const fb_tensor *a = f->in[0], *b = f->in[1];
    FB_TRY(check_batches(a, b));
    set_cost(f, (double)(a->sizes[0] * a->sizes[1]), (double)b->sizes[2], (double)a->sizes[2]);
    return fb_out(f, 0, (fb_dtype)a->dtype, 3, (int64_t[]){a->sizes[0], a->sizes[1], b->sizes[2]}, NULL);
}

fb_status fb_i_matmul_batches(fb_frame *f)
{
    const fb_tensor *a = f->in[0], *b = f->in[1];
    int64_t sizes[FB_MAX_DIMS], ndim = FB_MAX(a->ndim, b->ndim), batch = 1;
    for (int64_t i = 0; i < ndim - 2; i++) {
        const int64_t ia = i - (ndim - a->ndim), ib = i - (ndim - b->ndim), x = ia >= 0 ? a->sizes[ia] : 1,
                      y = ib >= 0 ? b->sizes[ib] : 1;
        if (x != y && x != 1 && y != 1)
            return fb_fail(FB_ESHAPE,
                           "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
                           "non-singleton dimension %lld",
                           (long long)x, (long long)y, (long long)i);
        sizes[i] = x == 1 ? y : x;
        batch *= sizes[i];
    }
    const int64_t m = a->sizes[a->ndim - 2], k = a->sizes[a->ndim - 1], n = b->sizes[b->ndim - 1];
    if (k != b->sizes[b->ndim - 2])
        return fb_fail(FB_ESHAPE,
                       "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: "
                       "[%lld, %lld].",
                       (long long)batch, (long long)k, (long long)batch, (long long)b->sizes[b->ndim - 2]);
    FB_TRY(check_scalar_type(a, b));
    sizes[ndim - 2] = m;
    sizes[ndim - 1] = n;
    set_cost(f, (double)(batch * m), (double)n, (double)k);
    return fb_out(f, 0, (fb_dtype)a->dtype, ndim, sizes, NULL);
}

/* Does t broadcast to the sizes? Text as expand's. */
static fb_status check_expand(const fb_tensor *t, int64_t ndim, const int64_t *sizes)
{
    if (t->ndim > ndim)
        return fb_fail(FB_ESHAPE,
                       "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%lld) must be "
                       "greater or equal to the "
                       "number of dimensions in the tensor (%d)",
                       fb_dtype_label((fb_dtype)t->dtype), fb_shape_text(t->ndim, t->sizes),
                       fb_shape_text(ndim, sizes), (long long)ndim, (int)t->ndim);
    for (int64_t i = ndim - 1; i >= ndim - t->ndim; i--) {
        const int64_t have = t->sizes[i - (ndim - t->ndim)];
        if (have != sizes[i] && have != 1)
            return fb_fail(FB_ESHAPE,
                           "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                           "non-singleton dimension "
                           "%lld.  Target sizes: %s.  Tensor sizes: %s",
                           (long long)sizes[i], (long long)have, (long long)i, fb_shape_text(ndim, sizes),
                           fb_shape_text(t->ndim, t->sizes));
    }
    return FB_OK;
}

static fb_status check_self_dtype(const fb_tensor *self, const fb_tensor *b)
{
    if (self->dtype == b->dtype) return FB_OK;
    return fb_fail(FB_EDTYPE, "self and mat2 must have the same dtype, but got %s and %s",
                   fb_dtype_label((fb_dtype)self->dtype), fb_dtype_label((fb_dtype)b->dtype));
}

fb_status fb_i_addmm(fb_frame *f)
{
    const fb_tensor *self = f->in[0], *a = f->in[1], *b = f->in[2];
    if (a->ndim != 2) return fb_fail(FB_ESHAPE, "mat1 must be a matrix, got %d-D tensor", (int)a->ndim);
    if (b->ndim != 2) return fb_fail(FB_ESHAPE, "mat2 must be a matrix, got %d-D tensor", (int)b->ndim);
    if (a->sizes[1] == b->sizes[0]) FB_TRY(check_self_dtype(self, b));
    FB_TRY(check_mm(a, b));
    const int64_t sizes[2] = {a->sizes[0], b->sizes[1]};
    FB_TRY(check_expand(self, 2, sizes));
    set_cost(f, (double)sizes[0], (double)sizes[1], (double)a->sizes[1]);
    return fb_out(f, 0, (fb_dtype)a->dtype, 2, sizes, NULL);
}

fb_status fb_i_baddbmm(fb_frame *f)
{
    const fb_tensor *self = f->in[0], *a = f->in[1], *b = f->in[2];
    FB_TRY(check_batches(a, b));
    const int64_t sizes[3] = {a->sizes[0], a->sizes[1], b->sizes[2]};
    FB_TRY(check_expand(self, 3, sizes));
    if (self->dtype != a->dtype)
        return fb_fail(FB_EDTYPE, "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
                       fb_dtype_c_name(self->dtype), fb_dtype_c_name(a->dtype), fb_dtype_c_name(b->dtype));
    set_cost(f, (double)(sizes[0] * sizes[1]), (double)sizes[2], (double)a->sizes[2]);
    return fb_out(f, 0, (fb_dtype)a->dtype, 3, sizes, NULL);
}

fb_status fb_i_addbmm(fb_frame *f)
{
    const fb_tensor *self = f->in[0], *a = f->in[1], *b = f->in[2];
    if (a->ndim != 3) return fb_fail(FB_ESHAPE, "batch1 must be a 3D tensor");
    if (b->ndim != 3) return fb_fail(FB_ESHAPE, "batch2 must be a 3D tensor");
    if (a->sizes[0] != b->sizes[0])
        return fb_fail(FB_ESHAPE, "batch1 and batch2 must have same number of batches, got %lld and %lld",
                       (long long)a->sizes[0], (long long)b->sizes[0]);
    if (a->sizes[2] != b->sizes[1])
        return fb_fail(FB_ESHAPE, "Incompatible matrix sizes for bmm (%lldx%lld and %lldx%lld)",
                       (long long)a->sizes[1], (long long)a->sizes[2], (long long)b->sizes[1],
                       (long long)b->sizes[2]);
    const int64_t sizes[2] = {a->sizes[1], b->sizes[2]};
    FB_TRY(check_expand(self, 2, sizes));
    FB_TRY(check_self_dtype(self, b));
    FB_TRY(check_scalar_type(a, b));
    set_cost(f, (double)(a->sizes[0] * sizes[0]), (double)sizes[1], (double)a->sizes[2]);
    return fb_out(f, 0, (fb_dtype)a->dtype, 2, sizes, NULL);
}

static fb_status infer_mv(fb_frame *f, const fb_tensor *self, const fb_tensor *a, const fb_tensor *v)
{
    if (a->ndim != 2 || v->ndim != 1 || (self && self->ndim > 1))
        return fb_fail(FB_ESHAPE, "vector + matrix @ vector expected, got %d, %d, %d",
                       self ? (int)self->ndim : 1, (int)a->ndim, (int)v->ndim);
    const int64_t rows = self ? self->numel : a->sizes[0];
    if (a->sizes[1] != v->sizes[0] || (rows != a->sizes[0] && rows != 1))
        return fb_fail(FB_ESHAPE, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                       (long long)rows, (long long)a->sizes[0], (long long)a->sizes[1],
                       (long long)v->sizes[0]);
    const fb_tensor *first = self ? self : v;
    if (a->dtype != v->dtype || first->dtype != v->dtype)
        return fb_fail(FB_EDTYPE, "addmv input tensors must have the same dtype, but got %s, %s, and %s",
                       fb_dtype_label((fb_dtype)first->dtype), fb_dtype_label((fb_dtype)a->dtype),
                       fb_dtype_label((fb_dtype)v->dtype));
    set_cost(f, (double)a->sizes[0], 5, (double)a->sizes[1]); /* bound by memory */
    return fb_out(f, 0, (fb_dtype)a->dtype, 1, a->sizes, NULL);
}
fb_status fb_i_mv(fb_frame *f)
{
    return infer_mv(f, NULL, f->in[0], f->in[1]);
}
fb_status fb_i_addmv(fb_frame *f)
{
    return infer_mv(f, f->in[0], f->in[1], f->in[2]);
}

fb_status fb_i_dot(fb_frame *f)
{
    const fb_tensor *a = f->in[0], *b = f->in[1];
    if (a->ndim != 1 || b->ndim != 1)
        return fb_fail(FB_ESHAPE, "1D tensors expected, but got %dD and %dD tensors", (int)a->ndim,
                       (int)b->ndim);
    if (a->dtype != b->dtype)
        return fb_fail(FB_EDTYPE, "dot : expected both vectors to have same dtype, but found %s and %s",
                       fb_dtype_label((fb_dtype)a->dtype), fb_dtype_label((fb_dtype)b->dtype));
    if (a->numel != b->numel)
        return fb_fail(FB_ESHAPE,
                       "inconsistent tensor size, expected tensor %s and src %s to have the same number of "
                       "elements, but got %lld "
                       "and %lld elements respectively",
                       fb_shape_text(1, a->sizes), fb_shape_text(1, b->sizes), (long long)a->numel,
                       (long long)b->numel);
    set_cost(f, 1, 5, (double)a->numel);
    return fb_out(f, 0, (fb_dtype)a->dtype, 0, NULL, NULL);
}

fb_status fb_i_linear(fb_frame *f)
{
    const fb_tensor *x = f->in[0], *w = f->in[1], *bias = f->in[2];
    int64_t sizes[FB_MAX_DIMS], rows = 1, ndim = x->ndim;
    if (x->ndim == 0 || w->ndim == 0)
        return fb_fail(FB_ESHAPE, "both arguments to linear need to be at least 1D, but they are %dD and %dD",
                       (int)x->ndim, (int)w->ndim);
    if (w->ndim > 2)
        return fb_fail(FB_ESHAPE, "t() expects a tensor with <= 2 dimensions, but self is %dD", (int)w->ndim);
    for (int i = 0; i < x->ndim - 1; i++) rows *= sizes[i] = x->sizes[i];
    const int64_t k = x->sizes[x->ndim - 1], n = w->ndim == 2 ? w->sizes[0] : 1;
    if (k != w->sizes[w->ndim - 1])
        return w->ndim == 1
                   ? fb_fail(FB_ESHAPE, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                             (long long)rows, (long long)rows, (long long)k, (long long)w->sizes[0])
                   : fb_fail(FB_ESHAPE, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                             (long long)rows, (long long)k, (long long)w->sizes[1], (long long)w->sizes[0]);
    if (bias && bias->dtype != w->dtype && w->dtype == x->dtype) FB_TRY(check_self_dtype(bias, w));
    if (x->dtype != w->dtype)
        return fb_fail(FB_EDTYPE, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                       fb_dtype_c_name(x->dtype), fb_dtype_c_name(w->dtype));
    if (w->ndim == 2)
        sizes[ndim - 1] = n;
    else
        ndim--;
    if (bias) {
        if (w->ndim == 2 && bias->ndim == 1 && bias->sizes[0] != n && bias->sizes[0] != 1)
            FB_TRY(check_expand(bias, 2, (int64_t[]){rows, n})); /* the text counts the folded rows */
        FB_TRY(check_expand(bias, ndim, sizes));
    }
    set_cost(f, (double)rows, (double)n, (double)k);
    return fb_out(f, 0, (fb_dtype)x->dtype, ndim, sizes, NULL);
}

fb_status fb_i_linear_weight_grad(fb_frame *f)
{
    const fb_tensor *g = f->in[0], *x = f->in[1];
    const int64_t n = g->ndim ? g->sizes[g->ndim - 1] : 1, k = x->ndim ? x->sizes[x->ndim - 1] : 1;
    if (g->ndim == 0 || x->ndim == 0 || g->ndim != x->ndim || (n && k && g->numel / n != x->numel / k))
        return fb_fail(FB_ESHAPE, "linear_weight_grad: shapes %s and %s do not belong together",
                       fb_shape_text(g->ndim, g->sizes), fb_shape_text(x->ndim, x->sizes));
    FB_TRY(check_scalar_type(g, x));
    set_cost(f, (double)n, (double)k, (double)(n ? g->numel / n : 0));
    return fb_out(f, 0, (fb_dtype)g->dtype, 2, (int64_t[]){n, k}, NULL);
}
