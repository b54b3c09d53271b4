/* Activation functions, their derivatives, and the pointwise part of losses, a line an operator. In a derivative x is
 * the gradient that arrives, y the input. */
#ifndef FB_KERNELS_ELEMENTWISE_NN_H
#define FB_KERNELS_ELEMENTWISE_NN_H

#include "kernels/elementwise_body.h"

#define EW_CLIP(v, lo, hi) ((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v)) /* NaN passes */

/* SELU: Klambauer et al., Self-Normalizing Neural Networks, 2017 */
#define SELU_ALPHA ((T)1.6732632423543772848170429916717)
#define SELU_SCALE ((T)1.0507009873554804934193349852946)

#define EW_ACTIVATIONS(OP)                                                                                 \
    OP(silu, fbm_silu(x))                                                                                  \
    OP(mish, fbm_mish(x))                                                                                  \
    OP(log_sigmoid, fbm_log_sigmoid(x))                                                                    \
    OP(hardsigmoid, EW_CLIP(x + 3, 0, 6) / 6)                                                              \
    OP(hardswish, x * EW_CLIP(x + 3, 0, 6) / 6)                                                            \
    OP(selu, SELU_SCALE * (x > 0 ? x : SELU_ALPHA * fbm_expm1(x)))
#define EW_ACTIVATIONS_P1(OP)                                                                              \
    OP(leaky_relu, negative_slope, x > 0 ? x : x * negative_slope)                                         \
    OP(celu, alpha, x > 0 ? x : alpha * fbm_expm1(x / alpha))                                              \
    OP(hardshrink, lambd, x >= -lambd && x <= lambd ? 0 : x)                                               \
    OP(softshrink, lambd, x > lambd ? x - lambd : x < -lambd ? x + lambd : x * 0)
#define EW_ACTIVATIONS_P2(OP)                                                                              \
    OP(softplus, beta, threshold, x * beta > threshold ? x : fbm_softplus(x * beta) / beta)                \
    OP(threshold, threshold, value, x <= threshold ? value : x)                                            \
    OP(hardtanh, min_val, max_val, EW_CLIP(x, min_val, max_val))
#define EW_ACTIVATIONS_P3(OP)                                                                              \
    OP(elu, alpha, scale, input_scale, x > 0 ? x * scale : alpha * scale * fbm_expm1(x * input_scale))

#define EW_ACTIVATIONS_BACK(OP)                                                                            \
    OP(silu_backward, x * (fbm_sigmoid(y) * (1 + y * (1 - fbm_sigmoid(y)))))                               \
    OP(mish_backward, x * EW(mish_slope)(y))                                                               \
    OP(log_sigmoid_backward, x * fbm_sigmoid(-y))                                                          \
    OP(hardsigmoid_backward, y > -3 && y < 3 ? x / 6 : 0)                                                  \
    OP(hardswish_backward, y <= -3 ? 0 : y < 3 ? x * (y / 3 + (T)0.5) : x)                                 \
    OP(prelu_kernel, x > 0 ? x : y * x) /* y: the weight */
#define EW_ACTIVATIONS_BACK_P1(OP)                                                                         \
    OP(threshold_backward, threshold, y <= threshold ? 0 : x)                                              \
    OP(leaky_relu_backward, negative_slope, y > 0 ? x : x * negative_slope)                                \
    OP(shrink_backward, lambd, y >= -lambd && y <= lambd ? 0 : x)
#define EW_ACTIVATIONS_BACK_P2(OP)                                                                         \
    OP(softplus_backward, beta, threshold, y * beta > threshold ? x : x * fbm_sigmoid(y * beta))           \
    OP(hardtanh_backward, min_val, max_val, y <= min_val || y >= max_val ? 0 : x)
#define EW_ACTIVATIONS_BACK_P3(OP)                                                                         \
    OP(elu_backward, alpha, scale, input_scale,                                                            \
       y > 0 ? x * scale : x * (input_scale * alpha * scale * fbm_exp(y * input_scale)))

/* x: input, y: target */
#define EW_LOSSES(OP) OP(mse_elements, (x - y) * (x - y)) OP(l1_elements, fbm_abs(x - y))
#define EW_LOSSES_P1(OP)                                                                                   \
    OP(smooth_l1_elements, beta,                                                                           \
       fbm_abs(x - y) < beta ? (T)0.5 * (x - y) * (x - y) / beta : fbm_abs(x - y) - (T)0.5 * beta)         \
    OP(huber_elements, delta,                                                                              \
       fbm_abs(x - y) <= delta ? (T)0.5 * (x - y) * (x - y) : delta * (fbm_abs(x - y) - (T)0.5 * delta))
/* x: gradient, y: input, z: target */
#define EW_LOSSES_BACK(OP)                                                                                 \
    OP(mse_backward, factor, factor * (y - z) * x)                                                         \
    OP(l1_backward, factor, y > z ? factor * x : y < z ? -factor * x : 0 * factor)                         \
    OP(bce_backward, factor, EW(bce_slope)(x, y, z) * factor)                                              \
    OP(bce_logits_backward, factor, (fbm_sigmoid(y) - z) * x * factor)
#define EW_LOSSES_BACK_P2(OP)                                                                              \
    OP(smooth_l1_backward, factor, beta,                                                                   \
       y - z <= -beta ? -factor * x : y - z >= beta ? factor * x : factor * x * (y - z) / beta)            \
    OP(huber_backward, factor, delta,                                                                      \
       y - z <= -delta ? -factor * x * delta : y - z >= delta ? factor * x * delta : factor * x * (y - z))

#define EW_NN_HELPERS(T, S)                                                                                \
    /* d/dx x tanh(softplus x), with tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1) */               \
    FB_INLINE T ew_mish_slope_##S(T x)                                                                     \
    {                                                                                                      \
        T s = fbm_sigmoid_##S(x), t = fbm_tanh_##S(fbm_softplus_##S(x));                                   \
        return t + x * s * (1 - t * t);                                                                    \
    }                                                                                                      \
    /* Logarithms are cut at -100, as PyTorch does, so that a sure and wrong answer costs 100. */          \
    FB_INLINE T ew_bce_##S(T x, T y)                                                                       \
    {                                                                                                      \
        T p = fbm_log_##S(x), q = fbm_log1p_##S(-x);                                                       \
        p = p < -100 ? -100 : p;                                                                           \
        q = q < -100 ? -100 : q;                                                                           \
        return (y - 1) * q - y * p;                                                                        \
    }                                                                                                      \
    FB_INLINE T ew_bce_slope_##S(T g, T x, T y)                                                            \
    {                                                                                                      \
        T d = (1 - x) * x, least = (T)1e-12;                                                               \
        return g * (x - y) / (d < least ? least : d);                                                      \
    }                                                                                                      \
    /* of a logit: max(-x, 0) + log(1 + exp(-|x|)) + (1 - y) x */                                          \
    FB_INLINE T ew_bce_logits_##S(T x, T y) { return (1 - y) * x - fbm_log_sigmoid_##S(x); }
EW_NN_HELPERS(float, f32)
EW_NN_HELPERS(double, f64)

#endif
