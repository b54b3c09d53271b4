/* lgamma and digamma, with branches: not for hot loops. */
#ifndef FBM_VECMATH_GAMMA_H
#define FBM_VECMATH_GAMMA_H

#include "vecmath_log.h"
#include "vecmath_trig.h"

/* log|gamma(x)|. By lgamma_r, because plain lgamma writes to a global. */
static inline double fbm_lgamma_f64(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static inline float fbm_lgamma_f32(float x) { return (float)fbm_lgamma_f64((double)x); }

#define FBM_DIGAMMA_ROOT_HI 1.4616321449683622
#define FBM_DIGAMMA_ROOT_LO 9.549995429965697e-17

/* digamma on [1, 2]: its root is taken out, so that the relative error stays bounded around it. */
static inline double fbm_digamma_core_f64(double x)
{
    static const double c[24] = {
        0.95105587603183284,     -0.42362742128146047,    0.24054248424082897,     -0.14840492305392586,
        0.094988724446164186,    -0.061922133270871219,   0.040760834361008018,    -0.026975796879439674,
        0.017907234931690521,    -0.011908214286998562,   0.0079272696496875423,   -0.0052800315812770744,
        0.0035152509280554937,   -0.0023445117320554411,  0.0015844828766000232,   -0.0010431787321754584,
        0.00059066026700116132,  -0.00045597970581997665, 0.00061969090959820437,  -0.0002287688753124973,
        -0.00039659426092231387, -4.409712401179343e-05,  0.00047408062619626849,  -9.3175701546177679e-05};
    double u = x - 1.5, p = c[23];
    for (int i = 22; i >= 0; i--)
        p = p * u + c[i];
    return ((x - FBM_DIGAMMA_ROOT_HI) - FBM_DIGAMMA_ROOT_LO) * p;
}

/* digamma(x): [1, 2] and below 12 by the recurrence digamma(x + 1) = digamma(x) + 1/x, above by the
 * asymptotic series (DLMF 5.11.2), below 0 by reflection (DLMF 5.5.4). At most 6 ulp for x > 0; for x < 0
 * within an ulp or two of the larger of the two terms. As in PyTorch: -inf at 0, +inf at -0, NaN at negative
 * integers and -inf. */
static inline double fbm_digamma_f64(double x)
{
    if (x == 0)
        return __builtin_copysign((double)INFINITY, -x);
    if (x < 0) {
        double r = x - fbm_round_f64(x); /* tan(pi x) has period 1 */
        if (!(r != 0))
            return (double)NAN;
        return fbm_digamma_f64(1 - x) - FBM_PI / fbm_tan_f64(FBM_PI * r);
    }
    if (x < 1)
        return fbm_digamma_core_f64(x + 1) - 1 / x;
    if (!(x >= 12)) {
        double sum = 0;
        while (x > 2) {
            x -= 1;
            sum += 1 / x;
        }
        return sum + fbm_digamma_core_f64(x); /* NaN ends here */
    }
    if (x == (double)INFINITY)
        return x;
    double z = 1 / (x * x); /* B_2k / 2k */
    double s = fbm_p8_f64(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12,
                          -3617.0 / 8160);
    return fbm_log_f64(x) - (0.5 / x + z * s);
}

static inline float fbm_digamma_f32(float x) { return (float)fbm_digamma_f64((double)x); }

#endif
