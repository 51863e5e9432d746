"""Writes open_names.txt: values of hypergeometric functions, Faddeeva's function, densities from samples and
derivatives of gamma draws that tests/laws/names_test.cpp compares with, in the form of numpy_names.txt.

  python make_open_names.py > open_names.txt

Special functions and derivatives of the gamma distribution come from mpmath, at numbers that f32 holds too, their edges
from SciPy, the rest from jax.
"""
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import scipy
import scipy.special
from jax.scipy.stats import gaussian_kde
from make_numpy_names import case, inf, line, nan
from make_special_names import exact, rounded

draw = np.random.default_rng(7)


def powers(low, high, n):
    return rounded(np.exp(draw.uniform(np.log(low), np.log(high), n)))


def between(low, high, n):
    return rounded(draw.uniform(low, high, n))


def scipys(name, f, *inputs):
    for x in inputs:
        line(name, "in", np.array(x, float))
    line(name, "out", f(*map(np.array, inputs)))


def hypergeometric():
    one, two = mp.hyp1f1, mp.hyp2f1
    exact("special::hyp1f1", one, between(0.3, 3, 6), between(0.5, 3, 6), between(-3, 3, 6))
    exact("special::hyp1f1/wide", one, powers(0.01, 10, 24), powers(0.01, 30, 24), between(-80, 80, 24))
    exact("special::hyp1f1/signs", one, between(-3, 3, 16), between(-2.9, 3, 16), between(-8, 8, 16))
    exact("special::hyp1f1/large", one, between(0.1, 4, 8), between(0.1, 4, 8),
          rounded([-1e4, -900, -200, -31, 31, 200, 500, 680]))
    exact("special::hyp1f1/polynomial", one, np.array([-1., -3, -8, 0, -2]), rounded([0.5, -4.5, 2, 3, -2]),
          rounded([3, -2.5, 7, 4, 1.5]))
    scipys("special::hyp1f1/edges", scipy.special.hyp1f1, [1., 2, -1, nan, 1, 1, 1.5, 2, 0.5],
           [-1., 0, -2, 1, 2, 2, nan, 3, 2], [2., 1.5, 3, 1, inf, -inf, 1, 0, nan])
    exact("special::hyp2f1", two, between(0.3, 2, 6), between(0.3, 2, 6), between(0.6, 4, 6), between(-0.9, 0.9, 6))
    exact("special::hyp2f1/wide", two, powers(0.01, 8, 24), powers(0.01, 8, 24), powers(0.05, 12, 24),
          between(-1, 1, 24))
    exact("special::hyp2f1/near_one", two, between(0.1, 3, 12), between(0.1, 3, 12), between(0.2, 6, 12),
          rounded(1 - 2.0 ** -np.arange(2., 14)))
    exact("special::hyp2f1/whole", two, np.array([1., 1, 2, 0.5, 1]), np.array([1., 2, 1, 0.5, 1]),
          np.array([2., 3, 5, 1, 1]), rounded([0.99, 0.75, 0.9, 0.97, 0.6]))
    exact("special::hyp2f1/left", two, between(0.1, 3, 12), between(0.1, 3, 12), between(0.2, 6, 12),
          -powers(1, 1e6, 12))
    exact("special::hyp2f1/signs", two, between(-3, 3, 16), between(-3, 3, 16), between(-2.9, 4, 16),
          between(-3, 0.95, 16))
    exact("special::hyp2f1/polynomial", two, np.array([-1., -3, -2, 2]), rounded([2.5, -1.5, 4, -4]),
          rounded([0.75, 2, -6.5, 3]), rounded([3, -5, 0.9, 1.5]))
    scipys("special::hyp2f1/edges", scipy.special.hyp2f1, [1., 1, 1, 1, -1, nan, 2], [2., 2, 2, 2, 2, 1, 0.5],
           [3., 3, 3.5, -1, -2, 1, 1.5], [1.5, 1, 1, 0.5, 0.5, 0.5, 0])


def faddeeva():
    w = lambda x, y: mp.exp(-mp.mpc(x, y) ** 2) * mp.erfc(-1j * mp.mpc(x, y))
    for name, x, y in (("", between(-3, 3, 8), between(-1.5, 3, 8)),
                       ("/wide", np.concatenate([between(-9, 9, 12), powers(1e-6, 1e8, 8)]),
                        np.concatenate([between(-3, 9, 12), powers(1e-6, 1e8, 8)])),
                       ("/real", between(-12, 12, 10), np.zeros(10)), ("/imaginary", np.zeros(6), between(-4, 12, 6))):
        name = "special::wofz" + name
        line(name, "in", x)
        line(name, "in", y)
        z = [w(*map(mp.mpf, v)) for v in zip(x, y)]
        line(name, "out", np.array([float(mp.re(v)) for v in z]))
        line(name, "out", np.array([float(mp.im(v)) for v in z]))


def densities():
    one, plane = rounded(draw.normal(size=9)), rounded(draw.normal(size=(2, 12)) @ np.diag(np.linspace(0.5, 2, 12)))
    w9, w12 = between(0.2, 2, 9), between(0.2, 2, 12)
    at, plane_at = between(-3, 3, 5), rounded(draw.normal(size=(2, 4)))
    parts = lambda k: (k.neff, k.weights, k.covariance, k.inv_cov)
    case("stats::gaussian_kde", lambda x, p: gaussian_kde(x).pdf(p), one, at)
    case("stats::gaussian_kde/parts", lambda x, w: parts(gaussian_kde(x, weights=w)), plane, w12)
    case("stats::gaussian_kde/logpdf", lambda x, p: gaussian_kde(x).logpdf(p), one, 10 * at)
    case("stats::gaussian_kde/weights", lambda x, p, w: gaussian_kde(x, weights=w)(p), one, at, w9)
    case("stats::gaussian_kde/plane", lambda x, p, w: gaussian_kde(x, "silverman", w).evaluate(p), plane, plane_at, w12)
    case("stats::gaussian_kde/plane_log", lambda x, p, w: gaussian_kde(x, weights=w).logpdf(p), plane, plane_at, w12)
    case("stats::gaussian_kde/point", lambda x, p: gaussian_kde(x)(p), plane, plane_at[:, 0])
    case("stats::gaussian_kde/factor", lambda x, p: gaussian_kde(x, 0.3)(p), one, at)
    case("stats::gaussian_kde/rule", lambda x, p: gaussian_kde(x, lambda k: k.neff ** -0.25)(p), plane, plane_at)
    case("stats::gaussian_kde/gaussian", lambda x, m, c: gaussian_kde(x).integrate_gaussian(m, c), plane,
         np.array([0.25, -0.5]), np.array([[1., 0.25], [0.25, 2]]))
    case("stats::gaussian_kde/gaussian_1d", lambda x, m, c: gaussian_kde(x).integrate_gaussian(m, c), one,
         np.array(0.25), np.array(0.75))
    case("stats::gaussian_kde/box", lambda x, a, b: gaussian_kde(x).integrate_box_1d(a, b), one, np.array(-1.),
         np.array(0.5))
    case("stats::gaussian_kde/product", lambda x, y: gaussian_kde(x).integrate_kde(gaussian_kde(y)), plane,
         plane[:, 3:8] * 1.5)
    case("stats::gaussian_kde/draws", lambda x, w: gaussian_kde(x, weights=w).resample(jax.random.key(5), (7,)), plane,
         w12)
    case("stats::gaussian_kde/draw", lambda x: gaussian_kde(x).resample(jax.random.key(6)), one)


def gamma_draws():
    def slope(a, x):
        p = lambda t: mp.gammainc(t, 0, x, regularized=True)
        return -mp.diff(p, a) / (mp.exp((a - 1) * mp.log(x) - x) / mp.gamma(a))
    a = powers(0.05, 60, 16)
    exact("lax::random_gamma_grad", slope, a, rounded(draw.gamma(a) + 1e-3))
    case("lax::random_gamma_grad/draws", jax.grad(lambda a: jnp.sum(jax.random.gamma(jax.random.key(3), a))),
         powers(0.3, 20, 9))
    beta = lambda a, b: jnp.sum(jax.random.beta(jax.random.key(4), a, b))
    case("lax::random_gamma_grad/beta", jax.grad(beta, (0, 1)), powers(0.5, 8, 6), powers(0.5, 8, 6))


def segments():
    data = np.round(3 * np.sin(1.7 * np.arange(18.) + 0.3), 3).reshape(6, 3)
    ids = np.array([3, 0, 3, 1, 0, 3], np.int32)
    outside = np.array([4, -1, 0, 7, 0, -300], np.int32)
    small = np.array([2, 0, 1, 0, 1, 2], np.uint8)
    whole = np.array([5, 7, 250, 3, 9, 1], np.uint8)
    for kind in "sum", "prod", "max", "min":
        f = getattr(jax.ops, "segment_" + kind)
        case(f"segment_{kind}", lambda d, i: f(d, i, 5), data, ids)
        case(f"segment_{kind}/outside", lambda d, i: f(d, i, 4), data[:, 0], outside)
        case(f"segment_{kind}/whole", lambda d, i: f(d, i, 300), whole, small)
        case(f"segment_{kind}/none", lambda d, i: f(d, i, 2), data[:0], ids[:0])
        case(f"segment_{kind}/largest", lambda d, i: f(d, i), data, ids)


if __name__ == "__main__":
    print("# jax", jax.__version__, "scipy", scipy.__version__, "mpmath", mp.__version__)
    hypergeometric()
    faddeeva()
    densities()
    gamma_draws()
    segments()
