/* erf (2 ulp), erfc, erfinv (4 ulp), gelu (4 ulp, 4.2 without fma).
 *
 * erf: below 1, x + x P(x^2); above, 1 - exp(-x Q(x)), where Q = -log(erfc(x)) / x needs little accuracy
 * because erfc is small. erfc: near 0, 1 - erf(x); then exp(-x^2) G(t) / x,
 * t = (x - K) / (x + K) (after Shepherd and Laframboise, Chebyshev approximation of (1 + 2x) exp(x^2)
 * erfc(x), 1981), with x^2 in two parts. Coefficients: tools/vecmath_fit.py. */
#ifndef FBM_VECMATH_ERF_H
#define FBM_VECMATH_ERF_H

#include "vecmath_exp.h"
#include "vecmath_log.h"

/* erf(a) / a - 1 for z = a^2 <= 1 */
FBM_FN float fbm_erf_near_f32(float z)
{
    return fbm_p7_f32(z, 0.128379166f, -0.376126289f, 0.112836182f, -0.026855126f, 0.00519073382f,
                      -0.000803076138f, 7.92036808e-05f);
}

FBM_FN double fbm_erf_near_f64(double z)
{
    double w = z * z; /* even and odd powers side by side: shorter chains */
    double p = fbm_p7_f64(w, 0.12837916709551259, 0.11283791670972065, 0.0052239776556880562,
                          0.00012055394334749609, 1.6484730011844831e-06, 1.6303662913024046e-08,
                          1.6385390241697508e-10);
    double q = fbm_p6_f64(w, -0.37612638903184109, -0.026866170648281337, -0.00085483287354482461,
                          -1.4927094905480684e-05, -1.6598325905475867e-07, -1.7632401231080663e-09);
    return fbm_fma_f64(z, q, p);
}

FBM_FN float fbm_erf_f32(float x)
{
    float a = __builtin_fabsf(x), b = a > 4.0f ? 4.0f : a; /* erf(4) rounds to 1 */
    float q = fbm_p8_f32(b, 1.12859964f, 0.635409832f, 0.105669655f, -0.0230923127f, 0.00318246125f,
                         -0.000138923773f, -2.83983809e-05f, 3.55371139e-06f);
    float far = 1 - fbm_exp_f32(-b * q);
    return __builtin_copysignf(a < 1 ? fbm_fma_f32(a, fbm_erf_near_f32(a * a), a) : far, x);
}

FBM_FN double fbm_erf_f64(double x)
{
    double a = __builtin_fabs(x), b = a > 6.0 ? 6.0 : a, c = b * b; /* erf(6) rounds to 1 */
    double q = fbm_p10_f64(c, 1.1283792010565541, 0.10277490020954552, -0.00018925651574884425,
                           -0.00053810092144876138, 0.00011702406809278943, 2.5432842988845866e-05,
                           1.5579973698307782e-06, 3.473899341865406e-08, 2.3193464513848216e-10,
                           2.0097513956445304e-13);
    double qo = fbm_p9_f64(c, 0.63661936475875047, -0.019136531111842416, 0.0016595709657513068,
                           -3.2531176658139239e-05, -6.7746948686675602e-05, -7.1416110690614537e-06,
                           -2.6525362381498062e-07, -3.387909750775053e-09, -9.9461892425728915e-12);
    double far = 1 - fbm_exp_f64(-b * fbm_fma_f64(b, qo, q));
    return __builtin_copysign(a < 1 ? fbm_fma_f64(a, fbm_erf_near_f64(a * a), a) : far, x);
}

/* b exp(b^2) erfc(b), 0.49 <= b up to the largest b whose erfc is a float: 10.1, or 27.3. */
FBM_FN float fbm_erfcx_f32(float b)
{
    float t = (b - 2.3125f) / (b + 2.3125f), z = t * t;
    float p = fbm_p6_f32(z, 0.52188313f, -0.186557487f, -0.0576191731f, 0.0048991479f, -0.000603595632f,
                         9.81445919e-05f);
    float q = fbm_p5_f32(z, 0.138804778f, 0.137300655f, 0.00746085402f, -0.00169707241f, 0.000232036968f);
    return fbm_fma_f32(t, q, p);
}

FBM_FN double fbm_erfcx_f64(double b)
{
    double t = (b - 3.0625) / (b + 3.0625), z = t * t;
    double p = fbm_p11_f64(z, 0.53797056513291452, -0.14323870492939711, -0.097313386611818362,
                           -0.016385298981445081, 0.0010973287628112166, -3.3160586019522053e-05,
                           -3.3018730227868354e-06, 8.2774343616682891e-07, -6.6643300929652263e-08,
                           -1.6300776860074326e-08,
                           fbm_p2_f64(z, 6.7028462836036238e-09, -6.2217327821837318e-10));
    double q = fbm_p11_f64(z, 0.092318267546531163, 0.13889281333924194, 0.049385979913516051,
                           0.0019478868402406661, -0.00051579024744895555, 7.5342684551355215e-05,
                           -1.1325823660385521e-05, 1.9138900267301026e-06, -3.5017239425674709e-07,
                           6.1086325142073455e-08, -7.3061919156024844e-09);
    return fbm_fma_f64(t, q, p);
}

FBM_FN float fbm_erfc_f32(float x)
{
    float a = __builtin_fabsf(x), b = a > 10.5f ? 10.5f : a, lo, s = fbm_two_prod_f32(b, b, &lo);
    float y = fbm_exp_parts_f32(-s, -lo, 0) * (fbm_erfcx_f32(b) / b);
    float near = 1 - fbm_fma_f32(x, fbm_erf_near_f32(a * a), x);
    return a < 0.8f ? near : x < 0 ? 2 - y : y;
}

FBM_FN double fbm_erfc_f64(double x)
{
    double a = __builtin_fabs(x), b = a > 28 ? 28 : a, lo, s = fbm_two_prod_f64(b, b, &lo);
    double y = fbm_exp_parts_f64(-s, -lo, 0) * (fbm_erfcx_f64(b) / b);
    double near = 1 - fbm_fma_f64(x, fbm_erf_near_f64(a * a), x);
    return a < 0.8 ? near : x < 0 ? 2 - y : y;
}

/* gelu(x) = x erfc(-x / sqrt 2) / 2 = max(x, 0) - w, w = |x| erfc(|x| / sqrt 2) / 2 = exp(-x^2 / 2) h. The
 * exponent is formed exactly: from a rounded x / sqrt 2, the tail would lose all its digits. The limit at
 * -inf is -0. Near 0, it is x (1 + erf(x / sqrt 2)) / 2. */
FBM_FN float fbm_gelu_f32(float x)
{
    const float c = 0.707106769f;
    float a = __builtin_fabsf(x), b = a > 14.5f ? 14.5f : a, u = b * c, lo, s = fbm_two_prod_f32(b, b, &lo);
    float g = fbm_erfcx_f32(u), h = fbm_fma_f32(g, -0.292893219f, g); /* g / sqrt 2, rounded once */
    float w = fbm_exp_parts_f32(-0.5f * s, -0.5f * lo, 0) * h;
    float near = 0.5f * x * (1 + c * x * (1 + fbm_erf_near_f32(u * u)));
    return a < 0.95f ? near : (x < 0 ? -0.0f : x) - w;
}

FBM_FN double fbm_gelu_f64(double x)
{
    const double c = 0.70710678118654757;
    double a = __builtin_fabs(x), b = a > 39 ? 39 : a, u = b * c, lo, s = fbm_two_prod_f64(b, b, &lo);
    double g = fbm_erfcx_f64(u), h = fbm_fma_f64(g, -0.29289321881345248, g); /* g / sqrt 2, rounded once */
    double w = fbm_exp_parts_f64(-0.5 * s, -0.5 * lo, 0) * h;
    double near = 0.5 * x * (1 + c * x * (1 + fbm_erf_near_f64(u * u)));
    return a < 0.95 ? near : (x < 0 ? -0.0 : x) - w;
}

/* erfinv: a first guess in w = -log(1 - x^2) or its square root (Giles, Approximating the erfinv function,
 * 2012), then one step of Halley's. Not for hot loops: it calls libm's erf and erfc. */
static inline double fbm_erfinv_f64(double x)
{
    double a = __builtin_fabs(x);
    if (!(a < 1))
        return a == 1 ? __builtin_copysign((double)INFINITY, x) : (double)NAN;
    double w = -fbm_log_f64((1 - a) * (1 + a)), s = __builtin_sqrt(w);
    double p = fbm_p9_f64(w, 0.8862264935619375, 0.23202589938732748, 0.011492331967983906,
                          -0.0022331841256508535, -0.00021845887433604469, 9.0593857940643867e-05,
                          -9.7172316831604075e-06, 4.0511593528393697e-07, -2.7909558691626563e-09);
    double q = fbm_p11_f64(s, 4.0453645068150843, -7.3179345539535294, 7.3810708309438358,
                           -3.8660445176133904, 1.3181840153252173, -0.30435734777069207,
                           0.047983641476747989, -0.0050744420978964437, 0.00034209504431783293,
                           -1.3131637295336634e-05, 2.1380647000087317e-07);
    double y = a * (w < 6 ? p : q);
    double miss = a < 0.8 ? erf(y) - a : (1 - a) - erfc(y);
    double step = miss * (0.88622692545275801 * fbm_exp_f64(y * y)); /* miss / (2/sqrt(pi) exp(-y^2)) */
    return __builtin_copysign(y - step / (1 + y * step), x);
}

static inline float fbm_erfinv_f32(float x) { return (float)fbm_erfinv_f64((double)x); }

#endif
