"""Writes points at which special functions are known to far more digits than f64 has, for tests/laws/ulp_test.cpp.

  python make_special_ulp.py POINTS [NAME ..] > points.txt          (mpmath 1.4.1; POINTS for each function and dtype)
  BORA_ULP_POINTS=points.txt BORA_ULP_WORST=worst.txt build/release/tests/laws/laws_test --gtest_filter='Ulp*'

The test prints the largest error and the 99.9th percentile of each function, and writes those of the points whose
errors are largest, and a few others, to worst.txt: that is the file special_ulp.txt. A line: function, dtype, the
inputs, the number of that dtype nearest to the value, and the rest of the value in units in its last place.
"""
import multiprocessing
import sys
import zlib

import mpmath as mp
import numpy as np

mp.mp.dps = 45
F = {"f32": np.float32, "f64": np.float64}


def between(low, high):
    return lambda draw, n: draw.uniform(low, high, n)


def powers(low, high):
    return lambda draw, n: np.exp(draw.uniform(np.log(low), np.log(high), n))


def whole(low, high):
    return lambda draw, n: draw.integers(low, high, n, endpoint=True).astype(float)


def mixed(*parts):
    """Each part for as many of the points."""
    def f(draw, n):
        x = np.concatenate([p(draw, n // len(parts) + 1) for p in parts])
        return draw.permutation(x)[:n]
    return f


def signed(f):
    return lambda draw, n: f(draw, n) * draw.choice([-1, 1], n)


NEAR_MEAN = "near"  # x around a, as the distribution of the sum of a exponentials is

half = mp.mpf(1) / 2
root2 = mp.sqrt(2)
ndtri = lambda p: mp.findroot(lambda y: mp.log(mp.ncdf(y)) - mp.log(p), -mp.sqrt(-2 * mp.log(p))) if p < 1e-3 \
    else root2 * mp.erfinv(2 * p - 1)
log_gamma = lambda x: mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x)))
xlogy = lambda x, y: x * mp.log(y)
ball = mixed(between(-4, 4), between(-30, 30), signed(powers(1e-30, 1)))
pos = mixed(between(0.01, 5), powers(1e-30, 1e30))
large = powers(0.01, 1e3)


def lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def owens_t(h, a):
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), mp.linspace(0, a, 9)) / (2 * mp.pi)


def harmonic(n, m, theta):
    if abs(m) > n:
        return mp.mpf(0)
    n, k = int(n), int(abs(m))
    norm = mp.sqrt((2 * n + 1) / (4 * mp.pi) * mp.factorial(n - k) / mp.factorial(n + k))
    u = mp.cos(theta)  # Rodrigues: the derivative of a polynomial, exact in its coefficients
    c = [mp.mpf(0)] * (2 * n + 1)
    for j in range(n + 1):
        c[2 * j] = mp.binomial(n, j) * (-1) ** (n - j)
    for _ in range(n + k):
        c = [i * c[i] for i in range(1, len(c))]
    y = norm * (-1) ** k * mp.sin(theta) ** k * mp.polyval(c[::-1], u) / (2 ** n * mp.factorial(n))
    return y * (-1) ** k if m < 0 else y


# name: (function, [inputs])
TABLE = {
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [mixed(between(-9, 10), powers(1e-10, 1e10))]),
    "erfinv": (mp.erfinv, [mixed(between(-1, 1), signed(powers(1e-20, 1)))]),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), [mixed(between(-80, 40), ball)]),
    "logit": (lambda p: mp.log(p) - mp.log1p(-p), [mixed(between(0, 1), powers(1e-30, 1))]),
    "xlogy": (xlogy, [pos, pos]),
    "xlog1py": (lambda x, y: x * mp.log1p(y), [pos, pos]),
    "entr": (lambda x: -x * mp.log(x), [pos]),
    "rel_entr": (lambda p, q: p * mp.log(p / q), [powers(1e-3, 1e3), powers(1e-3, 1e3)]),
    "kl_div": (lambda p, q: p * mp.log(p / q) - p + q, [powers(1e-3, 1e3), powers(1e-3, 1e3)]),
    "ndtr": (mp.ncdf, [mixed(between(-12, 9), signed(powers(1e-10, 1)))]),
    "log_ndtr": (lambda x: mp.log(mp.erfc(-x / root2) / 2),
                 [mixed(between(-12, 6), lambda d, n: -powers(1, 1e6)(d, n))]),
    "ndtri": (ndtri, [mixed(between(0, 1), powers(1e-37, 1))]),
    "gamma": (mp.gamma, [mixed(between(-30, 34), between(-8, 8), signed(powers(1e-30, 1)))]),
    "gammaln": (log_gamma, [mixed(between(-40, 40), between(0, 3), powers(1e-30, 1e30))]),
    "loggamma": (log_gamma, [mixed(between(0, 40), between(0, 3), powers(1e-30, 1e30))]),
    "digamma": (mp.digamma, [mixed(between(-20, 20), between(0, 3), powers(1e-30, 1e30))]),
    "polygamma": (lambda n, x: mp.psi(int(n), x), [whole(0, 8), mixed(between(0.01, 20), powers(1e-2, 1e4))]),
    "hurwitz_zeta": (mp.workdps(120)(mp.zeta), [mixed(between(1.01, 30), powers(1.01, 3)), powers(1e-2, 1e2)]),
    "riemann_zeta": (mp.zeta, [mixed(between(-30, 60), between(-2, 4))]),
    "factorial": (mp.factorial, [between(0, 33)]),
    "comb": (mp.binomial, [between(5, 40), between(0, 5)]),
    "poch": (mp.rf, [powers(0.01, 30), powers(0.01, 15)]),
    "multigammaln": (lambda a: 3 * half * mp.log(mp.pi) + sum(mp.loggamma(a - i * half) for i in range(3)),
                     [mixed(between(1.01, 10), powers(1.01, 1e6))]),
    "beta": (mp.beta, [powers(0.01, 30), powers(0.01, 30)]),
    "betaln": (lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
               [powers(0.01, 1e6), powers(0.01, 1e6)]),
    "gammainc": (lower, [large, NEAR_MEAN]),
    "gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), [large, NEAR_MEAN]),
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), [powers(0.1, 300), powers(0.1, 300), "beta"]),
    "exp1": (mp.e1, [mixed(between(0.01, 5), powers(1e-10, 80))]),
    "expi": (mp.ei, [mixed(between(-80, 80), between(0, 1), signed(powers(1e-10, 10)))]),
    "expn": (lambda n, x: mp.expint(n, x), [whole(0, 20), powers(1e-3, 80)]),
    "spence": (lambda x: mp.re(mp.polylog(2, 1 - x)), [mixed(between(0, 4), powers(1e-10, 1e10))]),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
              [mixed(between(-12, 12), powers(1e-10, 1e6))]),
    "fresnel_s": (mp.fresnels, [mixed(between(-8, 8), powers(1e-3, 30))]),
    "fresnel_c": (mp.fresnelc, [mixed(between(-8, 8), powers(1e-3, 30))]),
    "sici_si": (mp.si, [mixed(between(-30, 30), powers(1e-6, 100))]),
    "sici_ci": (mp.ci, [mixed(between(0, 30), powers(1e-6, 100))]),
    "owens_t": (owens_t, [between(-6, 6), between(-6, 6)]),
    "boxcox": (lambda x, l: (x ** l - 1) / l, [powers(1e-3, 1e3), mixed(between(-4, 4), signed(powers(1e-6, 1)))]),
    "boxcox1p": (lambda x, l: mp.expm1(l * mp.log1p(x)) / l, [powers(1e-6, 1e3),
                                                              mixed(between(-4, 4), signed(powers(1e-6, 1)))]),
    "bessel_jn": (lambda x: mp.besselj(5, x), [mixed(between(0.1, 30), between(-10, 10))]),
    "sph_harm_y": (harmonic, [whole(0, 12), whole(-12, 12), between(0.01, 3.13)]),
    "logsumexp": (lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), [between(1, 20), between(1, 20)]),
}
wofz = lambda x, y: mp.exp(-mp.mpc(x, y) ** 2) * mp.erfc(-1j * mp.mpc(x, y))
plane = [mixed(between(-8, 8), signed(powers(1e-6, 1e6))), mixed(between(0, 8), between(-3, 3), powers(1e-6, 1e6))]
TABLE |= {
    "hyp1f1": (mp.hyp1f1, [powers(0.05, 10), powers(0.05, 10), mixed(between(-60, 60), between(-3, 3))]),
    "hyp2f1": (mp.hyp2f1, [powers(0.05, 5), powers(0.05, 5), powers(0.05, 10),
                           mixed(between(-1, 1), between(0.5, 1), lambda d, n: -powers(1, 1e4)(d, n))]),
    "wofz_real": (lambda x, y: mp.re(wofz(x, y)), plane),
    "wofz_imag": (lambda x, y: mp.im(wofz(x, y)), plane),
}
for order in (0, 1):
    TABLE[f"i{order}"] = (lambda x, n=order: mp.besseli(n, x), [mixed(between(-80, 80), powers(1e-5, 40))])
    TABLE[f"i{order}e"] = (lambda x, n=order: mp.exp(-abs(x)) * mp.besseli(n, x), TABLE[f"i{order}"][1])


# Distributions with loc = 0 and scale = 1.
lower_beta = lambda x, a, b: mp.betainc(a, b, 0, x, regularized=True)
sf = lambda x: mp.erfc(x / root2) / 2
inner, tail = between(-6, 6), powers(1e-3, 60)
shape = powers(0.2, 30)
TABLE |= {
    "norm::pdf": (mp.npdf, [inner]),
    "norm::logpdf": (lambda x: -x * x / 2 - mp.log(2 * mp.pi) / 2, [inner]),
    "norm::cdf": (mp.ncdf, [inner]),
    "norm::logcdf": (lambda x: mp.log(sf(-x)), [inner]),
    "norm::sf": (sf, [inner]),
    "norm::logsf": (lambda x: mp.log(sf(x)), [inner]),
    "norm::ppf": (ndtri, [between(0.001, 0.999)]),
    "expon::logpdf": (lambda x: -x, [tail]),
    "expon::cdf": (lambda x: -mp.expm1(-x), [tail]),
    "laplace::cdf": (lambda x: mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2, [inner]),
    "logistic::logpdf": (lambda x: -x - 2 * mp.log1p(mp.exp(-x)), [inner]),
    "logistic::cdf": (lambda x: 1 / (1 + mp.exp(-x)), [inner]),
    "logistic::ppf": (lambda q: mp.log(q) - mp.log1p(-q), [between(0, 1)]),
    "cauchy::logpdf": (lambda x: -mp.log(mp.pi) - mp.log1p(x * x), [inner]),
    "cauchy::cdf": (lambda x: mp.atan2(1, -x) / mp.pi, [mixed(inner, signed(powers(1, 1e6)))]),
    "cauchy::ppf": (lambda q: -1 / mp.tan(mp.pi * q), [between(0, 1)]),
    "gumbel_r::logpdf": (lambda x: -x - mp.exp(-x), [between(-3, 20)]),
    "gumbel_r::cdf": (lambda x: mp.exp(-mp.exp(-x)), [between(-3, 20)]),
    "t::logpdf": (lambda x, v: mp.loggamma((v + 1) / 2) - mp.loggamma(v / 2) - mp.log(v * mp.pi) / 2
                  - (v + 1) / 2 * mp.log1p(x * x / v), [inner, shape]),
    "gamma::logpdf": (lambda x, a: (a - 1) * mp.log(x) - x - mp.loggamma(a), [tail, shape]),
    "gamma::cdf": (lambda x, a: lower(a, x), [tail, shape]),
    "chi2::sf": (lambda x, v: mp.gammainc(v / 2, x / 2, mp.inf, regularized=True), [tail, shape]),
    "beta::logpdf": (lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - mp.log(mp.beta(a, b)),
                     [between(0.01, 0.99), shape, shape]),
    "beta::cdf": (lower_beta, [between(0.01, 0.99), shape, shape]),
    "pareto::logpdf": (lambda x, b: mp.log(b) - (b + 1) * mp.log(x), [powers(1.01, 1e3), shape]),
    "poisson::logpmf": (lambda k, m: k * mp.log(m) - m - mp.loggamma(k + 1), [whole(0, 60), powers(0.1, 60)]),
    "binom::logpmf": (lambda k, n, p: mp.log(mp.binomial(n, k)) + k * mp.log(p) + (n - k) * mp.log1p(-p),
                      [whole(0, 20), whole(20, 60), between(0.01, 0.99)]),
    "nbinom::logpmf": (lambda k, n, p: mp.loggamma(k + n) - mp.loggamma(k + 1) - mp.loggamma(n) + n * mp.log(p)
                       + k * mp.log1p(-p), [whole(0, 40), powers(0.5, 30), between(0.01, 0.99)]),
    "vonmises::logpdf": (lambda x, k: k * mp.cos(x) - mp.log(2 * mp.pi * mp.besseli(0, k)),
                         [between(-3.1, 3.1), powers(0.1, 30)]),
}


def inputs(name, samplers, dtype, n):
    draw = np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
    x = []
    for s in samplers:
        if s == NEAR_MEAN:
            v = x[0] * np.exp(draw.normal(size=n) * 2 / np.sqrt(1 + x[0]))
        elif s == "beta":
            m = x[0] / (x[0] + x[1])
            v = np.clip(m + 1.5 * draw.normal(size=n) * np.sqrt(m * (1 - m) / (x[0] + x[1] + 1)), 0.01, 0.99)
        else:
            v = s(draw, n)
        x.append(v.astype(F[dtype]).astype(float))
    return list(zip(*x))


def points(job):
    name, dtype, n = job
    f, samplers = TABLE[name]
    t, lines = F[dtype], []
    for x in inputs(name, samplers, dtype, n):
        try:
            y = mp.re(f(*map(mp.mpf, x)))
        except (ValueError, ZeroDivisionError, mp.NoConvergence):
            continue
        near = t(float(y)) if abs(y) < 3e38 or dtype == "f64" else t(np.inf)
        if not np.isfinite(near) or abs(near) < 4 * np.finfo(t).tiny or abs(near) > np.finfo(t).max / 4:
            continue
        step = mp.mpf(float(np.nextafter(abs(near), t(np.inf)))) - mp.mpf(float(abs(near)))
        rest = (y - mp.mpf(float(near))) / step
        lines.append(" ".join([name, dtype, *map(repr, map(float, x)), repr(float(near)), f"{float(rest):.4f}"]))
    return lines


if __name__ == "__main__":
    count, names = int(sys.argv[1]), sys.argv[2:] or list(TABLE)
    jobs = [(name, dtype, count) for name in names for dtype in F]
    print("# mpmath", mp.__version__, flush=True)
    with multiprocessing.Pool() as pool:
        for lines in pool.imap(points, jobs):
            print(*lines, sep="\n", flush=True)
