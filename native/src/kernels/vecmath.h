/* Elementary and special functions for loops: `static inline`, branch-free where a loop over them should
 * become vector code, in both precisions. fbm_exp_f32, fbm_exp_f64; fbm_exp(x) picks by the type of x.
 *
 * NaN passes through, infinities, signed zeros, subnormals and overflow behave as in C99's Annex F. Error
 * bounds and the exceptions to "branch-free" are stated in the parts; tests/test_vecmath.c checks the
 * bounds. */
#ifndef FBM_VECMATH_H
#define FBM_VECMATH_H

#include "vecmath_act.h"
#include "vecmath_arc.h"
#include "vecmath_base.h"
#include "vecmath_complex.h"
#include "vecmath_erf.h"
#include "vecmath_exp.h"
#include "vecmath_gamma.h"
#include "vecmath_log.h"
#include "vecmath_mod.h"
#include "vecmath_pow.h"
#include "vecmath_trig.h"

#define FBM_PICK1(name, x) _Generic((x), float: fbm_##name##_f32, default: fbm_##name##_f64)(x)
#define FBM_PICK2(name, x, y) _Generic((x) + (y), float: fbm_##name##_f32, default: fbm_##name##_f64)(x, y)
#define FBM_PICKC1(name, z) _Generic((z), fb_c64: fbm_##name##_c64, fb_c128: fbm_##name##_c128)(z)
#define FBM_PICKC2(name, z, w) _Generic((z), fb_c64: fbm_##name##_c64, fb_c128: fbm_##name##_c128)(z, w)

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
#define fbm_sin_any(x) FBM_PICK1(sin_any, x)
#define fbm_cos_any(x) FBM_PICK1(cos_any, x)
#define fbm_tan_any(x) FBM_PICK1(tan_any, x)
#define fbm_asin(x) FBM_PICK1(asin, x)
#define fbm_acos(x) FBM_PICK1(acos, x)
#define fbm_atan(x) FBM_PICK1(atan, x)
#define fbm_sinh(x) FBM_PICK1(sinh, x)
#define fbm_cosh(x) FBM_PICK1(cosh, x)
#define fbm_tanh(x) FBM_PICK1(tanh, x)
#define fbm_asinh(x) FBM_PICK1(asinh, x)
#define fbm_acosh(x) FBM_PICK1(acosh, x)
#define fbm_atanh(x) FBM_PICK1(atanh, x)
#define fbm_sigmoid(x) FBM_PICK1(sigmoid, x)
#define fbm_erf(x) FBM_PICK1(erf, x)
#define fbm_erfc(x) FBM_PICK1(erfc, x)
#define fbm_erfinv(x) FBM_PICK1(erfinv, x)
#define fbm_lgamma(x) FBM_PICK1(lgamma, x)
#define fbm_digamma(x) FBM_PICK1(digamma, x)
#define fbm_softplus(x) FBM_PICK1(softplus, x)
#define fbm_log_sigmoid(x) FBM_PICK1(log_sigmoid, x)
#define fbm_silu(x) FBM_PICK1(silu, x)
#define fbm_mish(x) FBM_PICK1(mish, x)
#define fbm_gelu(x) FBM_PICK1(gelu, x)
#define fbm_gelu_tanh(x) FBM_PICK1(gelu_tanh, x)
#define fbm_floor(x) FBM_PICK1(floor, x)
#define fbm_ceil(x) FBM_PICK1(ceil, x)
#define fbm_trunc(x) FBM_PICK1(trunc, x)
#define fbm_round(x) FBM_PICK1(round, x)
#define fbm_frac(x) FBM_PICK1(frac, x)
#define fbm_sqrt(x) FBM_PICK1(sqrt, x)
#define fbm_rsqrt(x) FBM_PICK1(rsqrt, x)
#define fbm_abs(x) FBM_PICK1(abs, x)

#define fbm_pow(x, y) FBM_PICK2(pow, x, y)
#define fbm_atan2(x, y) FBM_PICK2(atan2, x, y)
#define fbm_hypot(x, y) FBM_PICK2(hypot, x, y)
#define fbm_fmod(x, y) FBM_PICK2(fmod, x, y)
#define fbm_fmod_any(x, y) FBM_PICK2(fmod_any, x, y)
#define fbm_remainder(x, y) FBM_PICK2(remainder, x, y)
#define fbm_remainder_any(x, y) FBM_PICK2(remainder_any, x, y)
#define fbm_logaddexp(x, y) FBM_PICK2(logaddexp, x, y)
#define fbm_xlogy(x, y) FBM_PICK2(xlogy, x, y)
#define fbm_xlog1py(x, y) FBM_PICK2(xlog1py, x, y)

#define fbm_cexp(z) FBM_PICKC1(cexp, z)
#define fbm_cexp2(z) FBM_PICKC1(cexp2, z)
#define fbm_cexpm1(z) FBM_PICKC1(cexpm1, z)
#define fbm_clog(z) FBM_PICKC1(clog, z)
#define fbm_clog2(z) FBM_PICKC1(clog2, z)
#define fbm_clog10(z) FBM_PICKC1(clog10, z)
#define fbm_clog1p(z) FBM_PICKC1(clog1p, z)
#define fbm_csqrt(z) FBM_PICKC1(csqrt, z)
#define fbm_crsqrt(z) FBM_PICKC1(crsqrt, z)
#define fbm_csin(z) FBM_PICKC1(csin, z)
#define fbm_ccos(z) FBM_PICKC1(ccos, z)
#define fbm_ctan(z) FBM_PICKC1(ctan, z)
#define fbm_casin(z) FBM_PICKC1(casin, z)
#define fbm_cacos(z) FBM_PICKC1(cacos, z)
#define fbm_catan(z) FBM_PICKC1(catan, z)
#define fbm_csinh(z) FBM_PICKC1(csinh, z)
#define fbm_ccosh(z) FBM_PICKC1(ccosh, z)
#define fbm_ctanh(z) FBM_PICKC1(ctanh, z)
#define fbm_casinh(z) FBM_PICKC1(casinh, z)
#define fbm_cacosh(z) FBM_PICKC1(cacosh, z)
#define fbm_catanh(z) FBM_PICKC1(catanh, z)
#define fbm_csigmoid(z) FBM_PICKC1(csigmoid, z)
#define fbm_cabs(z) FBM_PICKC1(cabs, z)
#define fbm_carg(z) FBM_PICKC1(carg, z)

#define fbm_cmul(z, w) FBM_PICKC2(cmul, z, w)
#define fbm_cdiv(z, w) FBM_PICKC2(cdiv, z, w)
#define fbm_cpow(z, w) FBM_PICKC2(cpow, z, w)

#endif
