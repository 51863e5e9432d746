"""Writes values and derivatives of special functions and distributions over the whole range of exponents, for
tests/laws/special_range_test.cpp.

  python make_special_range.py special > special_range.txt         (mpmath 1.4.1)
  python make_special_range.py stats > stats_range.txt

A line after "= NAME": the inputs, |, the value and its condition number; for each input | and the first derivative, its
condition number, the second and its own; `-` for an input by which nothing is differentiated, and for second
derivatives that are none. Inputs are exact in f32, but for lines that begin with d, which are of f64 alone. A condition
number is the sum, over the inputs, of |x dg/dx / g|. Derivatives are differences of values with hundreds of digits.
"""
import itertools
import multiprocessing
import sys

import mpmath as mp

H = mp.mpf(10) ** -30
M32 = [-140, -100, -50, -20, -8, -2, 0, 1, 3, 5, 8, 20, 60, 120]
M64 = [-1060, -400, 300, 900]


def size(e):
    return (1.25 if e % 2 else 1.75) * 2.0 ** e if e > -1070 else 2.0 ** e


def mags(low=-2000, high=2000, sign=1):
    """Sizes between 2^low and 2^high; those of f64 alone are marked by a list."""
    r = [(sign * size(e),) for e in M32 if low <= e <= high]
    return r + [[sign * size(e)] for e in M64 if low <= e <= high]


def both(low=-2000, high=2000):
    return mags(low, high) + mags(low, high, -1)


def pick(points, n):
    """n of the points, evenly."""
    return points if len(points) <= n else [points[i * (len(points) - 1) // (n - 1)] for i in range(n)]


def each(*lists):
    """Every combination; of f64 alone if a part is."""
    return [(list if any(isinstance(p, list) for p in ps) else tuple)(itertools.chain(*ps))
            for ps in itertools.product(*lists)]


def num(*x):
    return [(float(v),) for v in x]


def derivatives(f, x, i):
    """f and its first three derivatives by x[i]."""
    at = lambda n: f(*x[:i], x[i] * (1 + n * H), *x[i + 1:])
    y = {n: at(n) for n in (-2, -1, 0, 1, 2)}
    return (y[0], (y[1] - y[-1]) / (2 * H) / x[i], (y[1] - 2 * y[0] + y[-1]) / H ** 2 / x[i] ** 2,
            (y[2] - 2 * y[1] + 2 * y[-1] - y[-2]) / (2 * H ** 3) / x[i] ** 3)


def two(f, x, i):
    at = lambda n: f(*x[:i], x[i] * (1 + n * H), *x[i + 1:])
    a, b, c = at(-1), at(0), at(1)
    return (c - a) / (2 * H) / x[i], (c - 2 * b + a) / H ** 2 / x[i] ** 2


def ratio(a, b):
    return abs(a / b) if b != 0 else mp.mpf(0) if a == 0 else mp.inf


def show(v, digits=17):
    return mp.nstr(v, digits, min_fixed=0, max_fixed=0) if mp.isfinite(v) else "inf" if v > 0 else "-inf"


def line(job):
    name, point = job
    f, _, by, once = TABLE[name]
    moved = [i for i in range(len(point)) if by[i] and point[i] != 0]
    loss = max([abs(mp.log10(abs(point[i]))) for i in moved], default=0)
    mp.mp.dps = int(170 + 4 * loss)
    x = tuple(mp.mpf(v) for v in point)
    try:
        d = {i: derivatives(f, x, i) for i in moved}
        y = d[moved[0]][0]
        cond = [sum(ratio(x[i] * d[i][1], y) for i in moved)]
        parts = []
        for i in range(len(x)):
            if i not in moved:
                parts.append("-")
                continue
            c1, c2 = ratio(x[i] * d[i][2], d[i][1]), ratio(x[i] * d[i][3], d[i][2])
            for j in moved:
                if j == i:
                    continue
                shifted = [two(f, tuple(x[k] * (1 + s * H) if k == j else x[k] for k in range(len(x))), i)
                           for s in (1, -1)]
                c1 += ratio((shifted[0][0] - shifted[1][0]) / (2 * H), d[i][1])
                c2 += ratio((shifted[0][1] - shifted[1][1]) / (2 * H), d[i][2])
            first, second = d[i][1], d[i][2]
            scale = abs(y) + abs(x[i] * first)
            if abs(x[i] * first) < abs(y) * mp.mpf(10) ** (-mp.mp.dps + 45):
                first, c1 = mp.mpf(0), mp.mpf(0)
            if abs(x[i] ** 2 * second) < scale * mp.mpf(10) ** (-mp.mp.dps + 75):
                second, c2 = mp.mpf(0), mp.mpf(0)
            parts.append(f"{show(first)} {show(c1, 2)} " +
                         ("- -" if i in once else f"{show(second)} {show(c2, 2)}"))
        if isinstance(y, mp.mpc) or not mp.isfinite(y) or y == 0:
            return None
        inputs = " ".join(brief(v) for v in point)
        mark = "d " if isinstance(point, list) else ""
        return f"{mark}{inputs} | {show(y)} {show(cond[0], 2)} | " + " | ".join(parts)
    except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence, TypeError) as e:
        print(name, point, repr(e)[:100], file=sys.stderr)
        return None


def brief(v):
    if v == int(v) and abs(v) < 1e6:
        return str(int(v))
    mantissa, exponent = v.hex().split("p")
    return mantissa.rstrip("0").rstrip(".") + "p" + str(int(exponent))


TABLE = {}


def add(name, f, points, by=None, once=()):
    """by: which inputs are differentiated; once: by which of them no second derivative is given."""
    n = len(points[0])
    if name.startswith("stats"):
        points = pick(points, 7)
    TABLE[name] = (f, points, by or [True] * n, once)


half, root2, pi = mp.mpf(1) / 2, lambda: mp.sqrt(2), lambda: mp.pi
R = lambda f: lambda *x: mp.re(f(*x))
psi = mp.psi
lower = lambda a, x: x ** a * mp.exp(-x) * mp.hyp1f1(1, a + 1, x) / mp.gamma(a + 1)


def upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def lower_or_rest(a, x):
    return lower(a, x) if x < a + 40 else 1 - upper(a, x)


def log_gamma(x):
    return mp.re(mp.loggamma(x)) if x > 0 else mp.log(abs(mp.gamma(x)))


def inc_beta(a, b, x):
    if x > half:
        return 1 - inc_beta(b, a, 1 - x)
    return x ** a * mp.hyp2f1(a, 1 - b, a + 1, x) / a / mp.beta(a, b)


ndtr = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2


def ndtri(p):
    if p > half:
        return -ndtri(1 - p)
    y = mp.mpf(-mp.sqrt(-2 * mp.log(p))) if p < 0.01 else mp.sqrt(2) * mp.erfinv(2 * mp.mpf(float(p)) - 1)
    if p < 0.01:
        y = -mp.sqrt(-2 * mp.log(p) - mp.log(2 * mp.pi * y * y))
    for _ in range(40):
        step = (mp.log(ndtr(y)) - mp.log(p)) * ndtr(y) * mp.sqrt(2 * mp.pi) * mp.exp(y * y / 2)
        y -= step
        if abs(step) < mp.mpf(10) ** (-mp.mp.dps * 2 // 3):
            break
    return y - (mp.log(ndtr(y)) - mp.log(p)) * ndtr(y) * mp.sqrt(2 * mp.pi) * mp.exp(y * y / 2)


def special():
    small = mags(high=-1)
    add("special::erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), mags(high=130) + mags(high=3, sign=-1))
    add("special::erfinv", mp.erfinv, pick(mags(high=-1), 9) + num(0.75, 0.9375))
    add("special::expit", lambda x: 1 / (1 + mp.exp(-x)), pick(both(high=6), 16) + num(-80))
    add("special::logit", lambda p: mp.log(p) - mp.log1p(-p), small + num(0.75, 1 - 2.0 ** -20))
    add("special::entr", lambda x: -x * mp.log(x), mags())
    two_sized = each(pick(mags(high=125), 6), pick(mags(high=125), 5))
    add("special::xlogy", lambda x, y: x * mp.log(y), pick(two_sized, 14))
    add("special::xlog1py", lambda x, y: x * mp.log1p(y), pick(two_sized, 14))
    add("special::rel_entr", lambda p, q: p * mp.log(p / q), pick(two_sized, 14) + num_pairs((1.5, 1.500001)))
    add("special::kl_div", lambda p, q: p * mp.log(p / q) - p + q, pick(two_sized, 14))
    box = each(pick(mags(low=-120, high=100), 7), num(0, 2.0 ** -30, -0.5, 1.25, 3))
    add("special::boxcox", lambda x, l: mp.expm1(l * mp.log(x)) / l if l != 0 else mp.log(x),
        [p for p in box if p[1] != 0][::2])
    add("special::boxcox1p", lambda x, l: mp.expm1(l * mp.log1p(x)) / l, [p for p in box if p[1] != 0][1::2])
    add("special::ndtr", ndtr, pick(both(high=3), 16) + num(-12))
    add("special::log_ndtr", lambda x: mp.log(ndtr(x)), mags(high=3) + mags(high=400, sign=-1) + num(-14, -2.5, -1))
    add("special::ndtri", ndtri, pick(small, 9) + num(0.75, 1 - 2.0 ** -20))
    add("special::gamma", mp.gamma, mags(high=5) + mags(high=1, sign=-1) + num(-3.75, 30, -20.5))
    add("special::gammaln", log_gamma, mags(high=1000) + mags(high=1, sign=-1) + num(-3.75))
    add("special::loggamma", log_gamma, pick(mags(high=1000), 8))
    add("special::digamma", mp.digamma, mags() + mags(high=1, sign=-1) + num(-3.75))
    add("special::polygamma", lambda n, x: mp.psi(int(n), x),
        each(num(1, 2, 5), pick(mags(high=400), 8)) + num_pairs((40, 10), (3, -2.75)), [False, True])
    add("special::zeta", lambda s, q: mp.zeta(s, q),
        each(num(1.0009765625, 1.5, 2, 3, 6.5), pick(mags(-60, 60), 6)), once=[0])
    add("special::zeta/riemann", mp.zeta, pick(mags(high=6), 12) + num(-0.25, -0.75, -2.5, -2.0 ** -20, -7.5, -40.5),
        once=[0])
    add("special::factorial", mp.factorial, mags(high=5) + num(30))
    add("special::comb", mp.binomial, each(num(5, 40, 2.0 ** 40), num(2.0 ** -30, 0.5, 3.75)))
    add("special::poch", mp.rf, each(pick(mags(-60, 60), 5), num(2.0 ** -30, 0.75, 3.25)))
    add("special::multigammaln",
        lambda a: 3 * half * mp.log(mp.pi) + sum(mp.loggamma(a - i * half) for i in range(3)),
        num(1.0009765625, 1.5, 4, 40, 2.0 ** 40))
    shapes = each(pick(mags(-120, 120), 5), pick(mags(-120, 100), 4))
    add("special::beta", mp.beta, [p for p in each(pick(mags(-60, 60), 6), num(2.0 ** -30, 0.75, 3.25))])
    add("special::betaln", lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), shapes)
    gam = [p for p in each(num(2.0 ** -20, 0.5, 1, 2, 7.5, 40), pick(mags(-140, 8), 7))]
    add("special::gammainc", lower_or_rest, [p for p in gam if p[1] < 100], once=[0])
    add("special::gammaincc", upper, [p for p in gam if p[1] > 1e-4 and p[0] > 1e-4] + num_pairs((2, 60), (7.5, 80)),
        once=[0])
    bet = each(num(0.5, 2, 7.5), num(1.25, 3), pick(mags(-140, -1), 5)) + num_triples((2, 3, 1 - 2.0 ** -20),
                                                                                     (20, 30, 0.375))
    add("special::betainc", inc_beta, bet, once=[0, 1])
    add("special::exp1", mp.e1, mags(high=6) + num(80))
    add("special::expi", R(mp.ei), mags(high=6) + pick(mags(high=6, sign=-1), 8) + num(91, -80))
    add("special::expn", lambda n, x: mp.expint(n, x), each(num(0, 2, 3, 9), pick(mags(-140, 6), 7)), [False, True])
    add("special::spence", lambda x: mp.re(mp.polylog(2, 1 - x)) if x < 3 else
        -mp.log(x) ** 2 / 2 - mp.re(mp.polylog(2, 1 - 1 / x)),
        mags(high=130) + num(0.9375, 1 + 2.0 ** -20, 1 - 2.0 ** -10))
    dawson = lambda x: x * mp.hyp1f1(1, 3 * half, -x * x)
    add("special::dawsn", lambda x: dawson(x) if abs(x) < 100 else asymptotic_dawson(x), mags() + num(-0.75, -6.5, 7.5))
    add("special::fresnel#0", mp.fresnels, pick(mags(high=4), 9) + num(-2.75, 30.5))
    add("special::fresnel#1", mp.fresnelc, pick(mags(high=4), 9) + num(-2.75, 30.5))
    add("special::sici#0", mp.si, mags(high=20) + num(-2.75, -30))
    add("special::sici#1", mp.ci, mags(high=20))
    for n in (0, 1):
        add(f"special::i{n}", lambda x, n=n: mp.besseli(n, x), pick(both(high=6), 18) + num(29.5, 31, 91))
        add(f"special::i{n}e", lambda x, n=n: mp.exp(-abs(x)) * mp.besseli(n, x) if abs(x) < 1000 else
            far_bessel(n, abs(x)) * (mp.sign(x) ** n), pick(both(high=120), 18) + num(29.5, 31))
    add("special::owens_t", owens_t,
        [p for p in each(num(2.0 ** -60, 0.75, 3, -2), num(2.0 ** -60, 0.5, -1.75, 6)) if abs(p[0] * p[1]) < 13])
    for n in range(4):
        add(f"special::bessel_jn#{n}", lambda x, n=n: mp.besselj(n, x), pick(mags(-30, 8), 6) + num(-2.75))
    add("special::sph_harm_y", lambda n, m, t, p: harmonic(n, m, t),
        [(3.0, 1.0, 2.0 ** -20, 0.0), (3.0, 1.0, 1.25, 0.0), (5.0, -2.0, 2.5, 0.0)], [False, False, True, False])
    add("special::hyp1f1", mp.hyp1f1, each(num(2.0 ** -20, 0.75, 2.5), num(0.5, 3), pick(both(-100, 5), 5)),
        once=[0, 1])
    add("special::hyp2f1", mp.hyp2f1,
        each(num(2.0 ** -20, 0.75), num(1.5), num(0.625, 3.25), [(2.0 ** -90,), (-0.75,), (0.625,), (-2.0 ** 40,)]),
        once=[0, 1, 2])
    w = lambda x, y: far_wofz(x, y) if abs(mp.mpc(x, y)) > 50 else \
        mp.exp(-mp.mpc(x, y) ** 2) * mp.erfc(-1j * mp.mpc(x, y))
    plane = each(num(2.0 ** -40, 0.75, 6.5, -8, 2.0 ** 30), num(2.0 ** -40, 0.5, 7.5, 2.0 ** 30))
    add("special::wofz#0", lambda x, y: mp.re(w(x, y)), plane)
    add("special::wofz#1", lambda x, y: mp.im(w(x, y)), plane)


def num_pairs(*p):
    return [tuple(map(float, q)) for q in p]


num_triples = num_pairs


def asymptotic_dawson(x):
    term, total, k = 1 / (2 * x), mp.mpf(0), 0
    while abs(term) > abs(total) * mp.eps and k < 3000:
        total += term
        k += 1
        term *= (2 * k - 1) / (2 * x * x)
    return total


def far_bessel(n, x):
    term, total, k = mp.mpf(1), mp.mpf(0), 0
    while abs(term) > abs(total) * mp.eps and k < 3000:
        total += term
        k += 1
        term *= ((2 * k - 1) ** 2 - 4 * n * n) / (8 * k * x)
    return total / mp.sqrt(2 * mp.pi * x)


def far_wofz(x, y):
    z = mp.mpc(x, y)
    term, total, k = 1j / (mp.sqrt(mp.pi) * z), mp.mpc(0), 0
    while abs(term) > abs(total) * mp.eps and k < 3000:
        total += term
        k += 1
        term *= (2 * k - 1) / (2 * z * z)
    return total


def owens_t(h, a):
    with mp.workdps(110):
        return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), mp.linspace(0, a, 9)) / (2 * mp.pi)


def harmonic(n, m, theta):
    n, k = int(n), int(abs(m))
    norm = mp.sqrt((2 * n + 1) / (4 * mp.pi) * mp.factorial(n - k) / mp.factorial(n + k))
    u = mp.cos(theta)
    c = [mp.mpf(0)] * (2 * n + 1)
    for j in range(n + 1):
        c[2 * j] = mp.binomial(n, j) * (-1) ** (n - j)
    for _ in range(n + k):
        c = [i * c[i] for i in range(1, len(c))]
    y = norm * (-1) ** k * mp.sin(theta) ** k * mp.polyval(c[::-1], u) / (2 ** n * mp.factorial(n))
    return y * (-1) ** k if m < 0 else y


def stats():
    """Inputs: x, the shapes, loc = 0, and scale."""
    def shifted(d, name, f, points, shapes=0, once=()):
        n = 1 + shapes
        full = [(list if isinstance(p, list) else tuple)([*p[:n], 0.0, p[n]]) for p in points]
        add(f"stats::{d}::{name}", lambda *x: f(x[0] / x[n + 1], *x[1:n], x[n + 1]), full,
            [True] * n + [False, True], once)

    def scaled(points, scales=(1.0, 1.25 * 2.0 ** -80, 1.75 * 2.0 ** 60)):
        """x = y scale, in turn with these scales."""
        r = []
        for k, p in enumerate(points):
            s = scales[k % len(scales)] if 2.0 ** -60 < abs(p[0]) < 2.0 ** 60 else 1.0
            r.append((list if isinstance(p, list) else tuple)([p[0] * s, *p[1:], s]))
        return r

    density = lambda f: lambda y, *r: f(y, *r[:-1]) / r[-1]
    log_density = lambda f: lambda y, *r: mp.log(f(y, *r[:-1])) - mp.log(r[-1])
    plain = lambda f: lambda y, *r: f(y, *r[:-1])
    log = lambda f: lambda y, *r: mp.log(f(y, *r[:-1]))

    def family(d, pdf, points, cdf=None, sf=None, shapes=0, once=(), have=(), tails=None):
        tails = tails or points
        table = {"logpdf": (log_density(pdf), points), "pdf": (density(pdf), tails)}
        if cdf:
            table |= {"cdf": (plain(cdf), tails), "logcdf": (log(cdf), tails)}
        if sf:
            table |= {"sf": (plain(sf), tails), "logsf": (log(sf), tails)}
        for name in have:
            o = once if name not in ("pdf", "logpdf") else ()
            shifted(d, name, *table[name], shapes=shapes, once=o)

    every = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf")
    line_of = scaled(pick(both(-60, 3), 10) + num(-11, 12))
    family("norm", mp.npdf, scaled(pick(both(-60, 8), 10)), ndtr, lambda y: ndtr(-y), have=every, tails=line_of)
    quant = [(list if isinstance(p, list) else tuple)([p[0], s]) for p, s in
             zip(pick(mags(-120, -1), 6) + num(0.75, 1 - 2.0 ** -20), itertools.cycle((1.0, 2.0 ** -80 * 1.25)))]

    def quantiles(d, f, up=None, shapes=()):
        for name, g in (("ppf", f), ("isf", up)):
            if g:
                points = [(list if isinstance(p, list) else tuple)([p[0], *shapes, 0.0, p[1]]) for p in quant]
                n = 1 + len(shapes)
                add(f"stats::{d}::{name}", lambda *x, g=g, n=n: x[n + 1] * g(x[0], *x[1:n]), points,
                    [True] * n + [False, True])

    quantiles("norm", ndtri, lambda p: -ndtri(p))
    exp_points = scaled(pick(mags(-60, 3), 8) + num(60))
    family("expon", lambda y: mp.exp(-y), exp_points, lambda y: -mp.expm1(-y), lambda y: mp.exp(-y), have=every)
    quantiles("expon", lambda p: -mp.log1p(-p))
    family("laplace", lambda y: mp.exp(-abs(y)) / 2, line_of,
           lambda y: mp.exp(y) / 2 if y < 0 else 1 - mp.exp(-y) / 2, have=("logpdf", "pdf", "cdf"))
    logistic = lambda y: mp.exp(-abs(y)) / (1 + mp.exp(-abs(y))) ** 2
    family("logistic", logistic, line_of, lambda y: 1 / (1 + mp.exp(-y)), lambda y: 1 / (1 + mp.exp(y)),
           have=("logpdf", "pdf", "cdf", "sf"))
    quantiles("logistic", lambda p: mp.log(p) - mp.log1p(-p), lambda p: mp.log1p(-p) - mp.log(p))
    heavy = scaled(pick(both(-60, 60), 12))
    family("cauchy", lambda y: 1 / (mp.pi * (1 + y * y)), heavy, lambda y: mp.atan2(1, -y) / mp.pi,
           lambda y: mp.atan2(1, y) / mp.pi, have=every)
    quantiles("cauchy", lambda p: -1 / mp.tan(mp.pi * p), lambda p: 1 / mp.tan(mp.pi * p))
    gumbel = lambda y: mp.exp(-y - mp.exp(-y))
    right = scaled(pick(mags(-60, 6), 6) + pick(mags(-60, 1, -1), 4) + num(-3.75))
    left = [(list if isinstance(p, list) else tuple)([-p[0], p[1]]) for p in right]
    family("gumbel_r", gumbel, right, lambda y: mp.exp(-mp.exp(-y)), lambda y: -mp.expm1(-mp.exp(-y)), have=every)
    family("gumbel_l", lambda y: gumbel(-y), left, lambda y: -mp.expm1(-mp.exp(y)), lambda y: mp.exp(-mp.exp(y)),
           have=every)
    quantiles("gumbel_r", lambda p: -mp.log(-mp.log(p)))
    quantiles("gumbel_l", lambda p: mp.log(-mp.log1p(-p)))
    uniform = scaled(num(2.0 ** -60, 0.125, 0.75))
    family("uniform", lambda y: mp.mpf(1), uniform, lambda y: y, have=("logpdf", "pdf", "cdf"))
    quantiles("uniform", lambda p: p)
    student = lambda y, v: (mp.gamma((v + 1) / 2) / mp.gamma(v / 2) / mp.sqrt(v * mp.pi)
                            * (1 + y * y / v) ** (-(v + 1) / 2))
    family("t", student, scaled(each(pick(both(-60, 40), 5), num(0.25, 2, 30))), shapes=1, have=("logpdf", "pdf"))
    gam = scaled(each(pick(mags(-100, 5), 6), num(0.5, 2, 12)))
    family("gamma", lambda y, a: y ** (a - 1) * mp.exp(-y) / mp.gamma(a), gam, lambda y, a: lower_or_rest(a, y),
           lambda y, a: upper(a, y), shapes=1, once=[1], have=every)
    gam2 = scaled(each(pick(mags(-100, 5), 3), num(1, 3, 24)))
    family("chi2", lambda y, v: y ** (v / 2 - 1) * mp.exp(-y / 2) / mp.gamma(v / 2) / 2 ** (v / 2), gam2,
           lambda y, v: lower_or_rest(v / 2, y / 2), lambda y, v: upper(v / 2, y / 2), shapes=1, once=[1], have=every)
    bet = scaled(each(pick(mags(-100, -2), 3) + num(0.75), num(0.5, 2), num(1.25, 12)))
    family("beta", lambda y, a, b: y ** (a - 1) * (1 - y) ** (b - 1) / mp.beta(a, b), bet,
           lambda y, a, b: inc_beta(a, b, y), lambda y, a, b: 1 - inc_beta(a, b, y), shapes=2, once=[1, 2], have=every)
    par = scaled(each(num(1 + 2.0 ** -20, 1.75, 40, 2.0 ** 40), num(0.25, 3)), (1.0, 2.0 ** -80, 2.0 ** 60))
    family("pareto", lambda y, b: b * y ** (-b - 1), par, lambda y, b: 1 - y ** -b, lambda y, b: y ** -b, shapes=1,
           have=every)
    quantiles("pareto", lambda p, b: mp.exp(-mp.log1p(-p) / b), shapes=(3.0,))

    def fixed(d, name, f, points, by=None, once=()):
        add(f"stats::{d}::{name}", f, points, by, once)

    gn = each(pick(both(-60, 2), 6), num(0.75, 2, 3.5))
    gen = lambda x, b: b / (2 * mp.gamma(1 / b)) * mp.exp(-abs(x) ** b)
    fixed("gennorm", "logpdf", lambda x, b: mp.log(gen(x, b)), gn)
    fixed("gennorm", "pdf", gen, gn)
    fixed("gennorm", "cdf", lambda x, b: upper(1 / b, abs(x) ** b) / 2 if x < 0 else
          half + lower_or_rest(1 / b, x ** b) / 2, gn, once=[1])
    vm = each(num(2.0 ** -40, 0.75, -3), num(2.0 ** -40, 0.75, 30, 2.0 ** 20))
    mises = lambda x, k: mp.exp(k * mp.cos(x)) / (2 * mp.pi * mp.besseli(0, k))
    fixed("vonmises", "logpdf", lambda x, k: mp.log(mises(x, k)), vm)
    fixed("vonmises", "pdf", mises, vm)
    wc = each(num(2.0 ** -40, 0.75, 3, 6.25), num(2.0 ** -40, 0.5, 1 - 2.0 ** -20))
    wrapped = lambda x, c: (1 - c * c) / (2 * mp.pi * (1 + c * c - 2 * c * mp.cos(x)))
    fixed("wrapcauchy", "logpdf", lambda x, c: mp.log(wrapped(x, c)), wc)
    fixed("wrapcauchy", "pdf", wrapped, wc)
    tn = [(*p, 0.0, s) for p, s in ((t, s) for t, s in zip(each(num(-0.75, 2.0 ** -20, 1.25), num(-2), num(2.5)) +
                                                          each(num(6.25, 7), num(6), num(8)), itertools.cycle((1.0,))))]
    mass = lambda a, b: ndtr(b) - ndtr(a) if a < 0 else ndtr(-a) - ndtr(-b)
    tpdf = lambda x, a, b, l, s: mp.npdf(x / s) / mass(a, b) / s
    for name, f in (("pdf", tpdf), ("logpdf", lambda *x: mp.log(tpdf(*x))),
                    ("cdf", lambda x, a, b, l, s: mass(a, x / s) / mass(a, b)),
                    ("logcdf", lambda x, a, b, l, s: mp.log(mass(a, x / s) / mass(a, b))),
                    ("sf", lambda x, a, b, l, s: mass(x / s, b) / mass(a, b)),
                    ("logsf", lambda x, a, b, l, s: mp.log(mass(x / s, b) / mass(a, b)))):
        fixed("truncnorm", name, f, tn, [True, True, True, False, True])
    # Whole numbers k and n have derivatives that JAX gives; they are not what is sampled here.
    p = pick(mags(-120, -1), 5) + num(0.75)
    counts = lambda *k: num(*k)
    zero = num(0)
    whole = {
        "bernoulli": (lambda k, p, l: p if k == 1 else 1 - p, each(counts(0, 1), p, zero), [0, 1, 0]),
        "binom": (lambda k, n, p, l: mp.binomial(n, k) * p ** k * (1 - p) ** (n - k),
                  each(counts(0, 3), num(5, 2000), p, zero), [0, 0, 1, 0]),
        "nbinom": (lambda k, n, p, l: mp.rf(n, k) / mp.factorial(k) * p ** n * (1 - p) ** k,
                   each(counts(0, 4), num(0.75, 20), p, zero), [0, 1, 1, 0]),
        "geom": (lambda k, p, l: p * (1 - p) ** (k - 1), each(counts(1, 7), p, zero), [0, 1, 0]),
        "poisson": (lambda k, m, l: m ** k * mp.exp(-m) / mp.factorial(k),
                    each(counts(0, 3, 20), pick(mags(-120, 5), 6), zero), [0, 1, 0]),
        "betabinom": (lambda k, n, a, b, l: mp.binomial(n, k) * mp.beta(k + a, n - k + b) / mp.beta(a, b),
                      each(counts(0, 3), num(5), num(2.0 ** -20, 1.25, 2.0 ** 20), num(0.75), zero), [0, 0, 1, 1, 0]),
    }
    for d, (f, points, by) in whole.items():
        fixed(d, "pmf", f, points, by)
        fixed(d, "logpmf", lambda *x, f=f: mp.log(f(*x)), points, by)


if __name__ == "__main__":
    special() if sys.argv[1] == "special" else stats()
    names = sys.argv[2:] or list(TABLE)
    jobs = [(name, p) for name in names for p in TABLE[name][1]]
    print("# mpmath", mp.__version__)
    with multiprocessing.Pool(1) as pool:
        last = ""
        for (name, _), text in zip(jobs, pool.imap(line, jobs, chunksize=4)):
            if text is None:
                continue
            if name != last:
                print("=", name)
            last = name
            print(text, flush=True)
else:
    special()
    stats()
