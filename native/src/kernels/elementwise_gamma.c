/* Polygamma functions, a number at a time: they have no place in inner loops. */
#include "kernels/elementwise_body.h"

/* Hurwitz's zeta function, sum of (q + k)^-s over k >= 0, for s > 1 and q > 0: nine terms, then the
 * Euler-Maclaurin series for the rest (Abramowitz and Stegun 23.2.24). */
static double hurwitz_zeta(double s, double q)
{
    static const double b[] = { /* (2k)! / B_2k */
        12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10, -2.950130727918164224e12,
        1.1646782814350067249e14, -4.5979787224074726105e15, 1.8152105401943546773e17, -7.1661652561756670113e18};
    double sum = pow(q, -s), a = q, term = 0;
    int i = 0;

    do {
        a += 1;
        term = pow(a, -s);
        sum += term;
    } while (++i < 9 || a <= 9);
    sum += term * a / (s - 1) - 0.5 * term;
    double factor = 1;
    for (int k = 0; k < 12; k++) {
        factor *= s + 2 * k;
        term /= a;
        double t = factor * term / b[k];
        sum += t;
        if (fabs(t) < 1e-17 * fabs(sum)) break;
        factor *= s + 2 * k + 1;
        term /= a;
    }
    return sum;
}

static double polygamma(int64_t n, double x)
{
    double f = tgamma((double)n + 1), sign = n & 1 ? 1 : -1;
    if (x > 0) return sign * f * hurwitz_zeta((double)n + 1, x);
    if (x == floor(x)) return sign * (double)INFINITY; /* a pole */
    /* up to positive arguments: psi_n(x) = psi_n(x + 1) - (-1)^n n! x^(-n-1) */
    double sum = 0;
    if (x < -1e6) return (double)NAN;
    for (; x < 0; x += 1) sum += pow(x, -(double)(n + 1));
    return sign * f * (sum + hurwitz_zeta((double)n + 1, x));
}

#define BODY_POLYGAMMA                                                                                     \
    static void BODY(polygamma)(EW_ARGS)                                                                   \
    {                                                                                                      \
        T *o = out[0];                                                                                     \
        const T *a = in[0];                                                                                \
        int64_t order = ((const struct fb_p_polygamma *)params)->n;                                        \
        for (int64_t i = 0; i < n; i++) o[i] = order == 0 ? fbm_digamma(a[i]) : (T)polygamma(order, (double)a[i]); \
    }
#define T float
#define S f32
BODY_POLYGAMMA
#undef T
#undef S
#define T double
#define S f64
BODY_POLYGAMMA
#undef T
#undef S
EW_TABLE_F(polygamma)
