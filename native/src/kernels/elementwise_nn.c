/* Bodies of activation functions, their derivatives, and losses before they are reduced. */
#include "kernels/elementwise_complex.h"
#include "kernels/elementwise_nn.h"

/* A factor applied as "0 *" keeps NaN where PyTorch does; comparisons with NaN are false, so it falls through. */

#define BODY_GELU                                                                                          \
    static void BODY(gelu)(EW_ARGS)                                                                        \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0];                                                                                \
        if (((const struct fb_p_gelu *)params)->approximate[0] == 't') {                                   \
            EW_LOOP o[i] = fbm_gelu_tanh(a[i]);                                                            \
        } else {                                                                                           \
            EW_LOOP o[i] = fbm_gelu(a[i]);                                                                 \
        }                                                                                                  \
    }                                                                                                      \
    /* Phi(x) + x phi(x), or the derivative of the tanh form (Hendrycks and Gimpel, 2016) */               \
    static void BODY(gelu_backward)(EW_ARGS)                                                               \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *g = in[0], *a = in[1];                                                                    \
        if (((const struct fb_p_gelu_backward *)params)->approximate[0] == 't') {                          \
            const T k = (T)0.7978845608028654, c = (T)0.044715;                                            \
            EW_LOOP {                                                                                      \
                T x = a[i], t = fbm_tanh(k * (x + c * x * x * x)), d = k * (1 + 3 * c * x * x);            \
                o[i] = g[i] * ((T)0.5 * (1 + t) + (T)0.5 * x * (1 - t * t) * d);                           \
            }                                                                                              \
        } else {                                                                                           \
            EW_LOOP {                                                                                      \
                T x = a[i], cdf = (T)0.5 * (1 + fbm_erf(x * (T)0.7071067811865476));                       \
                o[i] = g[i] * (cdf + x * (T)0.3989422804014327 * fbm_exp((T)-0.5 * x * x));                \
            }                                                                                              \
        }                                                                                                  \
    }

#define PRELU_BACKWARD /* gradient, input, weight -> gradients of the last two */                          \
    static void BODY(prelu_kernel_backward)(EW_ARGS)                                                       \
    {                                                                                                      \
        T *ox = out[0], *ow = out[1];                                                                      \
        const T *g = in[0], *a = in[1], *w = in[2];                                                        \
        (void)params;                                                                                      \
        EW_LOOP {                                                                                          \
            T x = a[i], d = g[i];                                                                          \
            ox[i] = x > 0 ? d : w[i] * d;                                                                  \
            ow[i] = x > 0 ? 0 : x * d;                                                                     \
        }                                                                                                  \
    }

/* weight and pos_weight may be absent */
#define BODY_BCE                                                                                           \
    static void BODY(bce_elements)(EW_ARGS)                                                                \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0], *b = in[1], *w = in[2];                                                        \
        (void)params;                                                                                      \
        if (w) {                                                                                           \
            EW_LOOP o[i] = EW(bce)(a[i], b[i]) * w[i];                                                     \
        } else {                                                                                           \
            EW_LOOP o[i] = EW(bce)(a[i], b[i]);                                                            \
        }                                                                                                  \
    }                                                                                                      \
    static void BODY(bce_logits_elements)(EW_ARGS)                                                         \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0], *b = in[1], *w = in[2], *p = in[3];                                            \
        (void)params;                                                                                      \
        if (!w && !p) {                                                                                    \
            EW_LOOP o[i] = EW(bce_logits)(a[i], b[i]);                                                     \
        } else {                                                                                           \
            EW_LOOP {                                                                                      \
                T x = a[i], y = b[i], lw = p ? (p[i] - 1) * y + 1 : 1;                                     \
                T v = (1 - y) * x - lw * fbm_log_sigmoid(x);                                               \
                o[i] = w ? v * w[i] : v;                                                                   \
            }                                                                                              \
        }                                                                                                  \
    }

#define EW_FN3P1_(op, p, ...) EW_FN3P1(op, p, __VA_ARGS__)
#define EW_FN3P2(op, p, q, ...) FB_INLINE T EW(op)(T x, T y, T z, T p, T q) { return (T)(__VA_ARGS__); }
#define EW_BODY3P2(op, p, q, ...)                                                                          \
    EW_HEAD3(op, T) EW_PARAM(op, p) EW_PARAM(op, q) EW_LOOP o[i] = EW(op)(a[i], b[i], c[i], p, q); }
#define EW_BODY2P3(op, p, q, r, ...)                                                                       \
    EW_HEAD2(op, T) EW_PARAM(op, p) EW_PARAM(op, q) EW_PARAM(op, r) EW_LOOP o[i] = EW(op)(a[i], b[i], p, q, r); }
#define EW_FN2P3(op, p, q, r, ...) FB_INLINE T EW(op)(T x, T y, T p, T q, T r) { return (T)(__VA_ARGS__); }

#define REAL_TYPE                                                                                          \
    EW_ACTIVATIONS(EW_FN1) EW_ACTIVATIONS(EW_BODY1)                                                        \
    EW_ACTIVATIONS_P1(EW_FN1P1) EW_ACTIVATIONS_P1(EW_BODY1P1)                                              \
    EW_ACTIVATIONS_P2(EW_FN1P2) EW_ACTIVATIONS_P2(EW_BODY1P2)                                              \
    EW_ACTIVATIONS_P3(EW_FN1P3) EW_ACTIVATIONS_P3(EW_BODY1P3)                                              \
    EW_ACTIVATIONS_BACK(EW_FN2) EW_ACTIVATIONS_BACK(EW_BODY2)                                              \
    EW_ACTIVATIONS_BACK_P1(EW_FN2P1) EW_ACTIVATIONS_BACK_P1(EW_BODY2P1)                                    \
    EW_ACTIVATIONS_BACK_P2(EW_FN2P2) EW_ACTIVATIONS_BACK_P2(EW_BODY2P2)                                    \
    EW_ACTIVATIONS_BACK_P3(EW_FN2P3) EW_ACTIVATIONS_BACK_P3(EW_BODY2P3)                                    \
    EW_LOSSES(EW_FN2) EW_LOSSES(EW_BODY2) EW_LOSSES_P1(EW_FN2P1) EW_LOSSES_P1(EW_BODY2P1)                  \
    EW_LOSSES_BACK(EW_FN3P1) EW_LOSSES_BACK(EW_BODY3P1)                                                    \
    EW_LOSSES_BACK_P2(EW_FN3P2) EW_LOSSES_BACK_P2(EW_BODY3P2) BODY_GELU PRELU_BACKWARD BODY_BCE

#define T float
#define S f32
REAL_TYPE
#undef T
#undef S
#define T double
#define S f64
REAL_TYPE
#undef T
#undef S

/* integers: widened to int64 */
#define T int64_t
#define S i64
#define LONG_LINES(OP) OP(threshold, threshold, value, x <= threshold ? value : x) OP(hardtanh, min_val, max_val, EW_CLIP(x, min_val, max_val))
LONG_LINES(EW_FN1P2)
LONG_LINES(EW_BODY1P2)
#undef T
#undef S

#define SILU EWC_BODY1(silu, C, fbm_cmul(x, fbm_csigmoid(x)))
#define C fb_c64
#define S c64
SILU
#undef C
#undef S
#define C fb_c128
#define S c128
SILU
#undef C
#undef S

#define TABLE(op, ...) EW_TABLE(op, EW_FLOATS(op))
TABLE(mish)
TABLE(log_sigmoid)
TABLE(hardsigmoid)
TABLE(hardswish)
TABLE(selu)
EW_TABLE(silu, EW_FLOATS(silu), EW_COMPLEXES(silu))
EW_ACTIVATIONS_P1(TABLE)
TABLE(softplus)
EW_TABLE(threshold, EW_FLOATS(threshold), [FB_I64] = body_threshold_i64)
EW_TABLE(hardtanh, EW_FLOATS(hardtanh), [FB_I64] = body_hardtanh_i64)
EW_ACTIVATIONS_P3(TABLE)
EW_ACTIVATIONS_BACK(TABLE)
EW_ACTIVATIONS_BACK_P1(TABLE)
EW_ACTIVATIONS_BACK_P2(TABLE)
EW_ACTIVATIONS_BACK_P3(TABLE)
EW_LOSSES(TABLE)
EW_LOSSES_P1(TABLE)
EW_LOSSES_BACK(TABLE)
EW_LOSSES_BACK_P2(TABLE)
TABLE(gelu)
TABLE(gelu_backward)
TABLE(prelu_kernel_backward)
TABLE(bce_elements)
TABLE(bce_logits_elements)
