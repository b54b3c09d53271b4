/* Elementary and special functions of one real number, rounding and tests, a line an operator. */
#ifndef FB_KERNELS_ELEMENTWISE_MATH_H
#define FB_KERNELS_ELEMENTWISE_MATH_H

#include "kernels/elementwise_body.h"

#define EW_ELEMENTARY(OP)                                                                                  \
    OP(sqrt, fbm_sqrt(x))                                                                                  \
    OP(rsqrt, fbm_rsqrt(x))                                                                                \
    OP(exp, fbm_exp(x))                                                                                    \
    OP(exp2, fbm_exp2(x))                                                                                  \
    OP(expm1, fbm_expm1(x))                                                                                \
    OP(log, fbm_log(x))                                                                                    \
    OP(log2, fbm_log2(x))                                                                                  \
    OP(log10, fbm_log10(x))                                                                                \
    OP(log1p, fbm_log1p(x))                                                                                \
    OP(asin, fbm_asin(x))                                                                                  \
    OP(acos, fbm_acos(x))                                                                                  \
    OP(atan, fbm_atan(x))                                                                                  \
    OP(sinh, fbm_sinh(x))                                                                                  \
    OP(cosh, fbm_cosh(x))                                                                                  \
    OP(tanh, fbm_tanh(x))                                                                                  \
    OP(asinh, fbm_asinh(x))                                                                                \
    OP(acosh, fbm_acosh(x))                                                                                \
    OP(atanh, fbm_atanh(x))                                                                                \
    OP(sigmoid, fbm_sigmoid(x))                                                                            \
    OP(erf, fbm_erf(x))                                                                                    \
    OP(erfc, fbm_erfc(x))                                                                                  \
    OP(erfinv, fbm_erfinv(x))                                                                              \
    OP(lgamma, fbm_lgamma(x))                                                                              \
    OP(digamma, fbm_digamma(x))                                                                            \
    OP(deg2rad, x * (T)0.017453292519943295)                                                               \
    OP(rad2deg, x * (T)57.29577951308232)

/* Their vector form holds for moderate arguments only: see EW_BODY_TRIG. */
#define EW_TRIG(OP) OP(sin, fbm_sin_any(x)) OP(cos, fbm_cos_any(x)) OP(tan, fbm_tan_any(x))

#define EW_ROUNDING(OP)                                                                                    \
    OP(floor, fbm_floor(x))                                                                                \
    OP(ceil, fbm_ceil(x))                                                                                  \
    OP(trunc, fbm_trunc(x))                                                                                \
    OP(frac, fbm_frac(x))

#define EW_FLOAT_TESTS(OP)                                                                                 \
    OP(isnan, x != x)                                                                                      \
    OP(isinf, fbm_abs(x) == (T)INFINITY)                                                                   \
    OP(isfinite, fbm_abs(x) < (T)INFINITY)                                                                 \
    OP(isposinf, x == (T)INFINITY)                                                                         \
    OP(isneginf, x == -(T)INFINITY)                                                                        \
    OP(logical_not, x == 0)

#endif
