"""Minimax polynomial coefficients of native/src/kernels/vecmath*.h.

`python tools/vecmath_fit.py [name ...]` prints, for each fit, the coefficients as C literals (lowest power first) and
log2 of the largest weighted error that is left after the coefficients were rounded to the target precision.

The fit is a Remez exchange on a dense Chebyshev grid. Coefficients are rounded one after the other, the lowest power
first, and those that remain are refitted each time, so that later coefficients make up for earlier rounding.
Needs mpmath; it is a development tool and nothing imports it.
"""

import struct
import sys

from mpmath import mp, mpf

mp.prec = 320


def round_to(c, bits):
    """The nearest number with `bits` significant bits (24: float32, 53: float64)."""
    m, e = mp.frexp(c)
    return mp.ldexp(mp.nint(mp.ldexp(m, bits)), int(e) - bits)


def grid_of(a, b, n):
    a, b = mpf(a), mpf(b)
    return [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]


def least_squares(rows, target, weight):
    """Weighted least squares: on a Chebyshev grid its error has the sign changes that an exchange starts from."""
    m = len(rows[0])
    cols = [[r[k] * w for r, w in zip(rows, weight)] for k in range(m)]
    t = [y * w for y, w in zip(target, weight)]
    a = mp.matrix(m, m)
    rhs = mp.matrix(m, 1)
    for j in range(m):
        rhs[j] = mp.fdot(cols[j], t)
        for k in range(j, m):
            a[j, k] = a[k, j] = mp.fdot(cols[j], cols[k])
    sol = mp.lu_solve(a, rhs)
    return [sol[k] for k in range(m)]


def remez(xs, target, weight, powers):
    """Coefficients c minimizing max |weight * (target - sum c[k] x**powers[k])| over the grid."""
    m, n = len(powers), len(xs)
    rows = [[x**p for p in powers] for x in xs]
    best, best_err = None, mp.inf
    coef = least_squares(rows, target, weight)
    seen = None
    for _ in range(25):
        err = [weight[i] * (target[i] - mp.fdot(coef, rows[i])) for i in range(n)]
        top = max(abs(e) for e in err)
        if top < best_err:
            best, best_err = coef, top
        # One extremum for each run of equal sign; keep m + 1 consecutive ones with the largest errors.
        ext = []
        for i in range(n):
            if ext and (err[i] > 0) == (err[ext[-1]] > 0):
                if abs(err[i]) > abs(err[ext[-1]]):
                    ext[-1] = i
            else:
                ext.append(i)
        while len(ext) > m + 1:
            ext.pop(0 if abs(err[ext[0]]) < abs(err[ext[-1]]) else -1)
        if len(ext) < m + 1 or ext == seen:
            break
        seen = ext
        a = mp.matrix(m + 1, m + 1)
        rhs = mp.matrix(m + 1, 1)
        for r, i in enumerate(ext):
            for k in range(m):
                a[r, k] = rows[i][k]
            a[r, m] = (-1) ** r / weight[i]
            rhs[r] = target[i]
        sol = mp.lu_solve(a, rhs)
        coef = [sol[k] for k in range(m)]
    return best


def fit(f, a, b, powers, weight, bits, keep=0):
    """Fit f on [a, b]; `keep` leading coefficients stay in full precision (printed as a head and a tail)."""
    xs = grid_of(a, b, 24 * len(powers) + 64)
    fx = [f(x) for x in xs]
    w = [abs(weight(x)) for x in xs]
    w = [max(x, max(w) / 10**40) for x in w]  # the exchange divides by weights
    powers = list(powers)
    done = []
    rest = list(fx)
    while powers:
        c = remez(xs, rest, w, powers)[0]
        if len(done) >= keep:
            c = round_to(c, bits)
        done.append(c)
        p = powers.pop(0)
        rest = [r - c * x**p for r, x in zip(rest, xs)]
    return done, max(abs(wi * r) for wi, r in zip(w, rest))


def literal(c, bits):
    if bits == 24:
        return f"{struct.unpack('f', struct.pack('f', float(c)))[0]:.9g}f"
    return f"{float(c):.17g}"


LN2H = mp.log(2) / 2 * mpf("1.001")
R = mp.sqrt(mpf("0.5"))
QPI = mp.pi / 4 * mpf("1.0001")
SQ = mp.sqrt


def taylor_ratio(f, order, count=12):
    """(f(x) minus its Taylor terms below `order`) / x**order."""
    t = mp.taylor(f, 0, order + count)
    head, tail = t[:order], t[order:]

    def g(x):
        if abs(x) < mpf("1e-4"):
            return mp.polyval(tail[::-1], x)
        return (f(x) - mp.polyval(head[::-1], x)) / x**order

    return g


def even_ratio(f, order, count=12):
    """h with f(x) = head + x**order * h(x*x): h as a function of z = x*x."""
    g = taylor_ratio(f, order, 2 * count)
    return lambda z: g(SQ(z))


FITS = {}


def add(name, *args):
    FITS[name] = args


def both(name, f, a, b, n32, n64, weight, lo=0):
    if n32:
        add(name + "_f32", f, a, b, range(lo, lo + n32), weight, 24)
    if n64:
        add(name + "_f64", f, a, b, range(lo, lo + n64), weight, 53)


# exp(r) = 1 + r + r^2 P(r)
both("exp", taylor_ratio(mp.exp, 2), -LN2H, LN2H, 5, 10, lambda r: r * r / mp.exp(r))
# 2^r = 1 + r P(r)
both("exp2", taylor_ratio(lambda r: mpf(2) ** r, 1), -mpf("0.5005"), mpf("0.5005"), 6, 11, lambda r: r / mpf(2) ** r)
# 2^r in double, good enough for a float result: 1 + r P(r)
add("pow2_f32", taylor_ratio(lambda r: mpf(2) ** r, 1), -mpf("0.5005"), mpf("0.5005"), range(7),
    lambda r: r / mpf(2) ** r, 53)
# expm1(r) = r + r^2 P(r), relative to expm1 itself
both("expm1", taylor_ratio(mp.expm1, 2), -LN2H, LN2H, 6, 11,
     lambda r: r * r / mp.expm1(r) if abs(r) > mpf("1e-30") else abs(r))
# log(1+f) = f - f^2/2 + f^3 P(f)
add("log_f32", taylor_ratio(mp.log1p, 3, 30), R - 1, SQ(2) - 1, range(9),
    lambda f: f**3 / mp.log1p(f) if abs(f) > mpf("1e-30") else f * f, 24)


def atanh_tail(z):  # 2 atanh(s) = 2s + s R(z), z = s^2; R / z
    if z < mpf("1e-5"):
        return mp.fsum(2 * z**k / (2 * k + 3) for k in range(8))
    s = SQ(z)
    return (2 * mp.atanh(s) / s - 2) / z


ZL = mpf("0.02945")
both("atanh", atanh_tail, 0, ZL, 4, 7, lambda z: z / 2)
# for log1p on [0, 1]
both("atanh_wide", atanh_tail, 0, mpf(1) / 9, 5, 10, lambda z: z / 2)
# the same as atanh in double for a float pow, and with one more term for the double pow: (R/z - 2/3) / z
add("powlog_f32", atanh_tail, 0, ZL, range(4), lambda z: z / 2, 53)


def atanh_tail2(z):
    if z < mpf("1e-4"):
        return mp.fsum(2 * z**k / (2 * k + 5) for k in range(10))
    return (atanh_tail(z) - mpf(2) / 3) / z


add("powlog_f64", atanh_tail2, 0, ZL, range(7), lambda z: z * z / 2, 53)

# sin r = r + r z S(z);  cos r = 1 - z/2 + z^2 C(z)
both("sin", even_ratio(lambda x: mp.sin(x) if x else mpf(0), 3), 0, QPI**2, 3, 6, lambda z: z)
both("cos", even_ratio(mp.cos, 4), 0, QPI**2, 3, 6, lambda z: z * z)
# tanh x = x + x z P(z) for |x| < 0.625 (f32), 0.55 (f64)
add("tanh_f32", even_ratio(mp.tanh, 3), 0, mpf("0.625") ** 2, range(6), lambda z: z, 24)
add("tanh_f64", even_ratio(mp.tanh, 3), 0, mpf("0.625") ** 2, range(11), lambda z: z, 53)
# sinh x = x + x z P(z) for |x| < 1
both("sinh", even_ratio(mp.sinh, 3), 0, mpf(1), 4, 7, lambda z: z)

# erf x = x + x P(z) for |x| < 1;  the constant of P is 2/sqrt(pi) - 1
ERF_CUT = mpf(1)


def erf_ratio(z):
    x = SQ(z)
    return mp.erf(x) / x - 1 if x > mpf("1e-20") else 2 / SQ(mp.pi) - 1


both("erf", erf_ratio, 0, ERF_CUT**2, 7, 13, lambda z: 1)
# erf x = 1 - exp(-x P(x)) for x >= 1
add("erfx_f32", lambda x: -mp.log(mp.erfc(x)) / x, ERF_CUT, mpf("4.0"), range(8), lambda x: x * mp.erfc(x), 24)
add("erfx_f64", lambda x: -mp.log(mp.erfc(x)) / x, ERF_CUT, mpf("6.0"), range(19), lambda x: x * mp.erfc(x), 53)

# atan x = x + x z P(z) on [0, 1];  asin x = x + x z P(z) on [0, 1/2]
both("atan", even_ratio(mp.atan, 3, 40), 0, mpf(1), 9, 20, lambda z: z / (mp.atan(SQ(z)) / SQ(z) if z > 0 else 1))
both("asin", even_ratio(mp.asin, 3, 40), 0, mpf("0.25"), 5, 12, lambda z: z)


# erfc x = exp(-x^2) / x G(t), t = (x - K) / (x + K), for x >= 0.49
# (after Shepherd and Laframboise, Math. Comp. 36, 1981)
def add_erfc(name, k, top, n, bits):
    def g(t):
        x = k * (1 + t) / (1 - t)
        return x * mp.exp(x * x) * mp.erfc(x)

    k, low, top = mpf(k), mpf("0.49"), mpf(top)
    add(name, g, (low - k) / (low + k), (top - k) / (top + k), range(n), lambda t: 1 / g(t), bits)


# the Ks are such that g(0), the first coefficient, happens to round well
add_erfc("erfc_f32", 2.3125, 10.3, 11, 24)
add_erfc("erfc_f64", 3.0625, 27.6, 23, 53)

# digamma x = (x - x0) P(x - 3/2) on [1, 2], x0 its root
DIGAMMA_ROOT = mp.findroot(mp.digamma, mpf("1.4616321449683623"))


def digamma_ratio(u):
    x = u + mpf(3) / 2
    return mp.digamma(x) / (x - DIGAMMA_ROOT)


add("digamma", digamma_ratio, mpf("-0.5"), mpf("0.5"), range(24), lambda u: 1, 53)


# erfinv x = x P(w), w = -log(1 - x^2) below 6, x P(sqrt(w)) above (Giles, Approximating the erfinv function, 2012):
# a first guess for one step of Halley's
def erfinv_ratio(w):
    if w < mpf("1e-20"):
        return SQ(mp.pi) / 2
    x = SQ(-mp.expm1(-w))
    return mp.erfinv(x) / x


add("erfinv_low", erfinv_ratio, 0, 6, range(9), lambda w: 1, 53)
add("erfinv_high", lambda s: erfinv_ratio(s * s), SQ(6), mpf("6.1"), range(11), lambda s: 1, 53)


def main(names):
    for name, (f, a, b, powers, weight, bits) in FITS.items():
        if names and name not in names:
            continue
        c, e = fit(f, a, b, powers, weight, bits)
        print(f"{name}: 2^{float(mp.log(e, 2)):.2f}\n    " + ", ".join(literal(x, bits) for x in c), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
