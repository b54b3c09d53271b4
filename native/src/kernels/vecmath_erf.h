/* erf. Below 1, x + x P(x^2); above, 1 - exp(-x Q(x)), where Q = -log(erfc(x)) / x needs little accuracy because
 * erfc is small. Coefficients: tools/vecmath_fit.py. */
#ifndef FBM_VECMATH_ERF_H
#define FBM_VECMATH_ERF_H

#include "vecmath_exp.h"

FBM_FN float fbm_erf_f32(float x)
{
    float a = __builtin_fabsf(x), z = a * a, b = a > 4.0f ? 4.0f : a; /* erf(4) rounds to 1 */
    float p = fbm_p7_f32(z, 0.128379166f, -0.376126289f, 0.112836182f, -0.026855126f, 0.00519073382f,
                         -0.000803076138f, 7.92036808e-05f);
    float q = fbm_p8_f32(b, 1.12859964f, 0.635409832f, 0.105669655f, -0.0230923127f, 0.00318246125f,
                         -0.000138923773f, -2.83983809e-05f, 3.55371139e-06f);
    float far = 1 - fbm_exp_f32(-b * q);
    return __builtin_copysignf(a < 1 ? fbm_fma_f32(a, p, a) : far, x);
}

FBM_FN double fbm_erf_f64(double x)
{
    double a = __builtin_fabs(x), z = a * a, w = z * z, b = a > 6.0 ? 6.0 : a, c = b * b; /* erf(6) rounds to 1 */
    /* even and odd powers side by side: shorter chains */
    double p = fbm_p7_f64(w, 0.12837916709551259, 0.11283791670972065, 0.0052239776556880562,
                          0.00012055394334749609, 1.6484730011844831e-06, 1.6303662913024046e-08,
                          1.6385390241697508e-10);
    double po = fbm_p6_f64(w, -0.37612638903184109, -0.026866170648281337, -0.00085483287354482461,
                           -1.4927094905480684e-05, -1.6598325905475867e-07, -1.7632401231080663e-09);
    double q = fbm_p10_f64(c, 1.1283792010565541, 0.10277490020954552, -0.00018925651574884425,
                           -0.00053810092144876138, 0.00011702406809278943, 2.5432842988845866e-05,
                           1.5579973698307782e-06, 3.473899341865406e-08, 2.3193464513848216e-10,
                           2.0097513956445304e-13);
    double qo = fbm_p9_f64(c, 0.63661936475875047, -0.019136531111842416, 0.0016595709657513068,
                           -3.2531176658139239e-05, -6.7746948686675602e-05, -7.1416110690614537e-06,
                           -2.6525362381498062e-07, -3.387909750775053e-09, -9.9461892425728915e-12);
    double far = 1 - fbm_exp_f64(-b * fbm_fma_f64(b, qo, q));
    return __builtin_copysign(a < 1 ? fbm_fma_f64(a, fbm_fma_f64(z, po, p), a) : far, x);
}

#endif
