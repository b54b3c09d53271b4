/* Elementary and special functions for loops: `static inline`, branch-free where a loop over them should become
 * vector code, in both precisions. fbm_exp_f32, fbm_exp_f64; fbm_exp(x) picks by the type of x.
 *
 * NaN passes through, infinities, signed zeros, subnormals and overflow behave as in C99's Annex F. Error bounds and
 * the exceptions to "branch-free" are stated in the parts; tests/test_vecmath.c checks the bounds. */
#ifndef FBM_VECMATH_H
#define FBM_VECMATH_H

#include "vecmath_base.h"
#include "vecmath_erf.h"
#include "vecmath_exp.h"
#include "vecmath_log.h"
#include "vecmath_pow.h"
#include "vecmath_trig.h"

#define FBM_PICK1(name, x) _Generic((x), float: fbm_##name##_f32, default: fbm_##name##_f64)(x)
#define FBM_PICK2(name, x, y) _Generic((x) + (y), float: fbm_##name##_f32, default: fbm_##name##_f64)(x, y)

#define fbm_exp(x) FBM_PICK1(exp, x)
#define fbm_exp2(x) FBM_PICK1(exp2, x)
#define fbm_expm1(x) FBM_PICK1(expm1, x)
#define fbm_log(x) FBM_PICK1(log, x)
#define fbm_log2(x) FBM_PICK1(log2, x)
#define fbm_log10(x) FBM_PICK1(log10, x)
#define fbm_log1p(x) FBM_PICK1(log1p, x)
#define fbm_sin(x) FBM_PICK1(sin, x)
#define fbm_cos(x) FBM_PICK1(cos, x)
#define fbm_tan(x) FBM_PICK1(tan, x)
#define fbm_sinh(x) FBM_PICK1(sinh, x)
#define fbm_cosh(x) FBM_PICK1(cosh, x)
#define fbm_tanh(x) FBM_PICK1(tanh, x)
#define fbm_asinh(x) FBM_PICK1(asinh, x)
#define fbm_acosh(x) FBM_PICK1(acosh, x)
#define fbm_atanh(x) FBM_PICK1(atanh, x)
#define fbm_sigmoid(x) FBM_PICK1(sigmoid, x)
#define fbm_erf(x) FBM_PICK1(erf, x)
#define fbm_pow(x, y) FBM_PICK2(pow, x, y)
#define fbm_floor(x) FBM_PICK1(floor, x)
#define fbm_ceil(x) FBM_PICK1(ceil, x)
#define fbm_trunc(x) FBM_PICK1(trunc, x)
#define fbm_round(x) FBM_PICK1(round, x)
#define fbm_frac(x) FBM_PICK1(frac, x)
#define fbm_sqrt(x) FBM_PICK1(sqrt, x)
#define fbm_rsqrt(x) FBM_PICK1(rsqrt, x)
#define fbm_abs(x) FBM_PICK1(abs, x)

#endif
