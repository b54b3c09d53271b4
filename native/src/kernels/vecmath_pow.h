/* pow(x, y) = exp(y log|x|), with the special values of C's pow (C11 F.10.4.4).
 *
 * y log|x| reaches 745, so log needs some 10 bits more than the result. In single precision the whole
 * computation runs in double; in double precision log|x| and its product with y are sums of two doubles. */
#ifndef FBM_VECMATH_POW_H
#define FBM_VECMATH_POW_H

#include "vecmath_exp.h"
#include "vecmath_log.h"

/* The signs and special values, from r = exp(y log|x|). */
#define FBM_POW_ENDS(T, S, F)                                                                               \
    FBM_FN T fbm_pow_ends_##S(T x, T y, T r)                                                                \
    {                                                                                                       \
        T half = (T)0.5 * y;                                                                                \
        int whole = fbm_trunc_##S(y) == y, odd = whole & (fbm_trunc_##S(half) != half);                     \
        T negative = whole | (x == 0) | (x == -(T)INFINITY) ? r : (T)NAN;                                   \
        r = x < 0 ? negative : r;                                                                           \
        r = odd ? __builtin_copysign##F(r, x) : r;                                                          \
        r = (x == -1) & (__builtin_fabs##F(y) == (T)INFINITY) ? 1 : r;                                      \
        return (x == 1) | (y == 0) ? 1 : r;                                                                 \
    }

FBM_POW_ENDS(float, f32, f)
FBM_POW_ENDS(double, f64, )

FBM_FN float fbm_pow_f32(float x, float y)
{
    float a = __builtin_fabsf(x), mf, kf;
    fbm_split_f32(a, &mf, &kf);
    double f = (double)mf - 1, s = f / (2 + f), z = s * s;
    double p = fbm_p4_f64(z, 0.66666665643577316, 0.40000335640495449, 0.28537278238864228,
                          0.23582758754009778);
    double l2 = fbm_fma_f64(fbm_fma_f64(s * z, p, 2 * s), FBM_LOG2E, (double)kf);
    double ad = (double)a; /* compared as it is selected: mixed widths don't vectorise */
    l2 = ad == 0 ? -(double)INFINITY : l2;
    l2 = ad < (double)INFINITY ? l2 : ad;
    double e = l2 * y;
    e = e > 200.0 ? 200.0 : e;
    e = e < -200.0 ? -200.0 : e;
    double t = e + FBM_MAGIC_F64, r = e - (t - FBM_MAGIC_F64);
    double q = fbm_p7_f64(r, 0.69314718070556081, 0.24022651068785589, 0.055504103632122798,
                          0.0096180377713962328, 0.0013333936463286141, 0.00015466881144387764,
                          1.5196054199096115e-05);
    double scale = fbm_from_bits_f64((fbm_bits_f64(t) + 1023) << 52);
    return fbm_pow_ends_f32(x, y, (float)(fbm_fma_f64(r, q, 1) * scale));
}

/* log(x) as a sum: returns the head, writes the tail. x positive and finite; relative error below 2^-64. */
FBM_FN double fbm_log_two_f64(double x, double *tail)
{
    double m, k;
    fbm_split_f64(x, &m, &k);
    double f = m - 1, d = m + 1, dl = m - (d - 1), inv = 1 / d;
    /* s = f / (m + 1) */
    double sh = f * inv, pe, ph = fbm_two_prod_f64(sh, d, &pe);
    double sl = (((f - ph) - pe) - sh * dl) * inv;
    double ze, z = fbm_two_prod_f64(sh, sh, &ze), zl = fbm_fma_f64(2 * sh, sl, ze);
    double q = z * fbm_p7_f64(z, 0.40000000000002262, 0.28571428570096813, 0.2222222252043832,
                              0.1818178432016459, 0.15386759575113051, 0.1325676372424863,
                              0.13196845597231174);
    /* c = s^3, p = 2/3 + q, w = c p: log m = 2s + w */
    double p = 0.66666666666666663 + q, pl = (q - (p - 0.66666666666666663)) + 3.7007434154171886e-17;
    double ce, c = fbm_two_prod_f64(sh, z, &ce), cl = fbm_fma_f64(sh, zl, fbm_fma_f64(sl, z, ce));
    double we, w = fbm_two_prod_f64(c, p, &we), wl = fbm_fma_f64(c, pl, fbm_fma_f64(cl, p, we));
    double h = 2 * sh + w, l = (w - (h - 2 * sh)) + fbm_fma_f64(2, sl, wl);
    /* add k log 2, which is 0 or larger than h */
    double kh = k * FBM_LN2_HI_F64, g = kh + h, gl = (h - (g - kh)) + fbm_fma_f64(k, FBM_LN2_LO_F64, l);
    double head = g + gl;
    *tail = gl - (head - g);
    return head;
}

FBM_FN double fbm_pow_f64(double x, double y)
{
    double a = __builtin_fabs(x), ll, lh = fbm_log_two_f64(a, &ll);
    lh = a == 0 ? -(double)INFINITY : lh;
    lh = a < (double)INFINITY ? lh : a;
    double pe, p = fbm_two_prod_f64(lh, y, &pe), lo = fbm_fma_f64(y, ll, pe);
    lo = __builtin_fabs(p) < 800 ? lo : 0; /* beyond, exp is 0 or inf and `lo` may be NaN */
    return fbm_pow_ends_f64(x, y, fbm_exp_parts_f64(p, lo, 0));
}

#endif
