"""Writes special_names.txt: values of special functions, distributions and activations that tests/laws/names_test.cpp
compares with, in the form of numpy_names.txt.

  python make_special_names.py > special_names.txt

Special functions come from mpmath with 60 digits, at numbers that f32 holds too; edges, distributions and activations
from jax. Where jax gives NaN at an end only because its approximation ends there, SciPy's value stands here.
"""
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import scipy.stats
from jax.scipy import special, stats
from make_numpy_names import case, inf, line, nan

mp.mp.dps = 60
draw = np.random.default_rng(3)


def rounded(x):
    return np.asarray(x, np.float32).astype(np.float64)


def powers(low, high, n):
    return rounded(np.exp(draw.uniform(np.log(low), np.log(high), n)))


def between(low, high, n):
    return rounded(draw.uniform(low, high, n))


def exact(name, f, *inputs):
    """One value of mpmath for each element."""
    for x in inputs:
        line(name, "in", x)
    line(name, "out", np.array([float(mp.re(f(*map(mp.mpf, v)))) for v in zip(*map(np.ravel, inputs))]))


def known(name, inputs, out):
    for x in inputs:
        line(name, "in", np.array(x, float))
    line(name, "out", np.array(out, float))


def of_one():
    signed = np.concatenate([between(-20, 20, 10), powers(1e-10, 1e10, 6)])
    positive = powers(1e-6, 60, 12)
    log_gamma = lambda x: mp.log(abs(mp.gamma(x))) if x < 1e4 else mp.loggamma(x)
    ndtri = lambda p: mp.findroot(lambda y: mp.log(mp.ncdf(y)) - mp.log(p), -mp.sqrt(-2 * mp.log(p))) \
        if p < 1e-3 else mp.sqrt(2) * mp.erfinv(2 * p - 1)
    log_ndtr = lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)
    table = {
        "gamma": (mp.gamma, between(-8, 30, 14), between(0.3, 4, 6)),
        "gammaln": (log_gamma, np.concatenate([signed, rounded([0.999, 1.001, 1.999, 2.001])]), between(0.3, 4, 6)),
        "loggamma": (log_gamma, positive, between(0.3, 4, 6)),
        "digamma": (mp.digamma, np.concatenate([signed, rounded([1.4616, 1.47, 1e-20, 1e30])]), between(-3, 4, 9)),
        "factorial": (mp.factorial, np.arange(0., 14.), between(0, 5, 6)),
        "zeta": (mp.zeta, rounded([-9.5, -4, -2.5, -2, -0.3, 0, 0.4, 0.99, 1.01, 2, 3.5, 20, 60]),
                 rounded([-3.5, -0.6, -2, 0.4, 1.7, 5])),
        "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), np.concatenate([between(-9, 5, 10), powers(1, 1e6, 5)]),
                  between(-2, 4, 6)),
        "erfinv": (mp.erfinv, between(-0.99, 0.99, 8), between(-0.9, 0.9, 6)),
        "ndtr": (mp.ncdf, between(-12, 9, 10), between(-3, 3, 6)),
        "log_ndtr": (log_ndtr, np.concatenate([between(-12, 6, 10), rounded([-1e3, -37.6, -1, -1e-3, 0, 8])]),
                     between(-8, 3, 8)),
        "ndtri": (ndtri, np.concatenate([between(0, 1, 8), rounded([1e-37, 1e-20, 1e-9, 0.13, 0.14, 0.999])]),
                  between(0.05, 0.95, 6)),
        "expit": (lambda x: 1 / (1 + mp.exp(-x)), between(-40, 20, 8), between(-3, 3, 6)),
        "logit": (lambda p: mp.log(p / (1 - p)), np.concatenate([between(0, 1, 8), rounded([1e-30, 0.4999, 0.5001])]),
                  between(0.1, 0.9, 6)),
        "entr": (lambda x: -x * mp.log(x), positive, between(0.2, 3, 6)),
        "expi": (mp.ei, np.concatenate([between(-20, 60, 10),
                                        rounded([0.3, 0.3725, 0.373, 0.5, 1e-8, -1e-8, 39.9, 40.1])]),
                 between(0.4, 4, 6)),
        "exp1": (mp.e1, np.concatenate([powers(1e-8, 60, 8), rounded([0.999, 1.001])]), between(0.4, 4, 6)),
        "spence": (lambda x: mp.polylog(2, 1 - x), np.concatenate([powers(1e-6, 1e6, 8), between(0, 2.5, 8)]),
                   between(0.1, 3, 9)),
    }
    for order in (0, 1):
        x = np.concatenate([between(-80, 80, 6), powers(1e-5, 40, 8), rounded([29.9, 30.1])])
        table[f"i{order}"] = (lambda x, n=order: mp.besseli(n, x), x, between(-4, 4, 6))
        table[f"i{order}e"] = (lambda x, n=order: mp.exp(-abs(x)) * mp.besseli(n, x), x, between(0.3, 4, 6))
    for name, (f, wide, smooth) in table.items():
        exact(f"special::{name}/wide", f, wide)
        exact(f"special::{name}", f, smooth)


def of_several():
    a, b = powers(1e-3, 3e3, 20), powers(1e-3, 3e3, 20)
    p, q = between(0.4, 3, 6), between(0.4, 3, 6)
    lower = lambda a, x: mp.gammainc(a, 0, x, regularized=True)
    upper = lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True)
    inc = lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)
    near = rounded(a * np.exp(draw.uniform(-1.5, 1.5, 20) / np.sqrt(1 + a)))
    exact("special::gammainc/wide", lower, a, near)
    exact("special::gammaincc/wide", upper, a, near)
    exact("special::gammainc/small", lower, powers(1e-3, 20, 12), powers(1e-3, 20, 12))
    exact("special::gammaincc/small", upper, powers(1e-8, 20, 12), powers(1e-3, 20, 12))
    exact("special::gammainc", lower, p, q)
    exact("special::gammaincc", upper, p, q)
    middle = a / (a + b)
    x = rounded(np.clip(middle + draw.normal(size=20) * np.sqrt(middle * (1 - middle) / (a + b + 1)), 1e-3, 0.999))
    exact("special::betainc/wide", inc, a, b, x)
    exact("special::betainc", inc, p, q, between(0.1, 0.9, 6))
    log_beta = lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    exact("special::betaln/wide", log_beta, powers(1e-3, 1e8, 16), powers(1e-3, 1e8, 16))
    exact("special::betaln", log_beta, p, q)
    exact("special::beta/wide", mp.beta, between(-12, 30, 16), between(-12, 30, 16))
    exact("special::beta", mp.beta, p, q)
    exact("special::poch/wide", mp.rf, between(-12, 30, 16), between(-5, 12, 16))
    exact("special::poch/large", mp.rf, powers(10, 1e6, 8), between(-3, 6, 8))
    exact("special::poch", mp.rf, p, q)
    exact("special::comb", lambda n, k: mp.binomial(n, k), p + 2, q / 2)
    exact("special::comb/whole", lambda n, k: mp.binomial(n, k), np.array([5., 30, 7, 4, 3]),
          np.array([2., 11, 0, 4, 1]))
    exact("special::zeta/hurwitz", mp.zeta, 1 + powers(1e-2, 20, 10), powers(1e-2, 30, 10))
    exact("special::zeta/left", mp.zeta, np.array([2., 3, 4, 7]), rounded([-1.3, -2.6, -11.4, -0.2]))
    exact("special::zeta/smooth", mp.zeta, p + 1.2, q)
    n = np.array([0., 1, 2, 3, 8, 20, 1, 2, 4])
    poly = lambda n, x: mp.psi(int(n), x)
    exact("special::polygamma/wide", poly, n, rounded([2.5, 1e-3, 300, 7, 0.4, 3, -1.3, -4.2, -0.7]))
    exact("special::polygamma", poly, np.array([0., 1, 2, 3, 1, 2]), p)
    n = np.array([0., 1, 2, 3, 5, 10, 40, 300, 1, 2, 1, 5])
    exact("special::expn/wide", lambda n, x: mp.expint(n, x), n, rounded(powers(1e-4, 60, 12)))
    exact("special::expn", lambda n, x: mp.expint(n, x), np.array([0., 1, 2, 3, 5, 10]), p)
    exact("special::xlogy", lambda x, y: x * mp.log(y), between(-2, 2, 6), q)
    exact("special::xlog1py", lambda x, y: x * mp.log1p(y), between(-2, 2, 6), q - 1)
    exact("special::rel_entr", lambda x, y: x * mp.log(x / y), p, q)
    exact("special::kl_div", lambda x, y: x * mp.log(x / y) - x + y, p, q)
    exact("special::multigammaln", lambda a: sum(mp.loggamma(a - mp.mpf(i) / 2) for i in range(3))
          + 3 * mp.log(mp.pi) / 2, p + 1.2)


def edges():
    x = [-inf, -3, -2.5, -1, -0.5, -0., 0., 0.5, 1, 2.5, 10, inf, nan]
    for name in ("gammaln", "gammasgn", "gamma", "loggamma", "digamma", "i0e", "i1e", "ndtri", "ndtr", "log_ndtr",
                 "logit", "entr", "erfcx", "factorial"):
        case(f"special::{name}/edges", getattr(special, name), np.array(x))
    known("special::i0/edges", [[-inf, -0., 0., inf, 712., nan]], [inf, 1, 1, inf, float(mp.besseli(0, 712)), nan])
    known("special::i1/edges", [[-inf, -0., 0., inf, -712., nan]], [-inf, -0., 0, inf, -float(mp.besseli(1, 712)), nan])
    known("special::expi/edges", [[-inf, -0., 0., inf, nan]], [0, -inf, -inf, inf, nan])
    known("special::exp1/edges", [[-1., 0., 800., inf, nan]], [nan, inf, 0, 0, nan])
    known("special::spence/edges", [[-1., 0., 1., inf, nan]], [nan, np.pi ** 2 / 6, 0, -inf, nan])
    known("special::zeta/edges", [[0., 1., inf, nan]], [-0.5, inf, 1, nan])
    known("special::expn/edges", [[0., 1, 2, 5, 1, 3, 2, 2.5], [0., 0, 0, 0, -1, inf, nan, 1]],
          [inf, inf, 1, 0.25, nan, 0, nan, nan])
    a = np.array([-1, 0, 0, 0, 1, 1, 1, 2, nan, 1])
    b = np.array([1, 0, 1, inf, -1, 0, inf, inf, 1, nan])
    for name in ("gammainc", "gammaincc", "xlogy", "xlog1py"):
        case(f"special::{name}/edges", getattr(special, name), a, b)
    for name in ("rel_entr", "kl_div"):
        case(f"special::{name}/edges", getattr(special, name), np.array([-1., 0, 0, 0, 1, 1, 2]),
             np.array([1., 0, 2, -1, 0, -1, 2]))
    case("special::beta/edges", special.beta, np.array([0., -1, 1, nan]), np.array([1., 1, 1, 1]))
    case("special::betaln/edges", special.betaln, np.array([0., 0, 1, nan]), np.array([1., 0, 1, 1]))
    known("special::poch/edges", [[0., 0, 1, 1, -3, -3, -2], [1., 0, -1, 0, 2, -2, 3]], [0, 1, inf, 1, 6, 0.05, 0])
    case("special::comb/edges", special.comb, np.array([3., 3, 0, 4]), np.array([-1., 4, 0, 4]))
    case("special::betainc/edges", special.betainc, np.array([0., 1, 0, -1, 1, 1, 2, 2, inf, 1, 2]),
         np.array([1., 0, 0, 1, 1, 1, 3, 3, 1, inf, 3]), np.array([0.5, 0.5, 0.5, 0.5, -0.1, 1.1, 0, 1, 0.5, 0.5, nan]))
    case("special::zeta/poles", special.zeta, np.array([1., 0.5, 2, 2.5, nan]), np.array([1., 1, -1, -1.5, 1]))
    known("special::polygamma/edges", [[0., 1, 1, 2.5], [-1., 0, -2, 1]], [nan, inf, inf, nan])
    for n in (0, 2, 11):
        known(f"special::bernoulli/{n}", [], [float(mp.bernoulli(k)) if k != 1 else -0.5 for k in range(n + 1)])


def sums():
    x, b = rounded(draw.normal(size=(3, 4)) * 3), rounded(draw.normal(size=(3, 4)))
    case("special::logsumexp", lambda a: special.logsumexp(a, axis=1), x)
    case("special::logsumexp/keep", lambda a: special.logsumexp(a, keepdims=True), x)
    case("special::logsumexp/factors", lambda a, b: special.logsumexp(a, axis=1, b=b), x, np.abs(b[:1]))
    case("special::logsumexp/negative", lambda a, b: special.logsumexp(a, axis=0, b=b), x, b)
    case("special::logsumexp/edges", lambda a: special.logsumexp(a, axis=1),
         np.array([[-inf, -inf], [inf, 1.], [nan, 1.], [800., 800.]]))
    case("special::logsumexp/none", lambda a, b: special.logsumexp(a, b=b), np.array([inf, 1.]), np.array([0., 2.]))
    case("special::signed_logsumexp", lambda a, b: special.logsumexp(a, axis=1, b=b, return_sign=True), x, b)
    case("special::signed_logsumexp/zero", lambda a, b: special.logsumexp(a, b=b, return_sign=True),
         np.array([2., 2.]), np.array([1., -1.]))


def distributions():
    x = rounded([-2.5, -1, -0.3, 0, 0.2, 0.7, 1, 1.5, 3, 40])   # inside, at the ends and outside of the supports
    inner = rounded([0.15, 0.3, 0.52, 0.7, 0.94])
    q = rounded([-0.5, 0, 0.05, 0.3, 0.5, 0.9, 1, 1.5, nan])
    names = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "logpmf", "pmf")
    loc, scale = rounded(0.1), rounded(1.25)
    # parameters, where the density is smooth, whether the distribution is shifted and scaled
    table = {
        "norm": ((), inner * 6 - 3, True), "truncnorm": ((-1.25, 2.5), inner * 2 - 0.5, True),
        "gennorm": ((1.5,), inner * 6 - 3, False), "uniform": ((), inner, True), "expon": ((), inner + 0.2, True),
        "laplace": ((), inner * 6 - 3, True), "logistic": ((), inner * 6 - 3, True),
        "cauchy": ((), inner * 6 - 3, True), "gumbel_l": ((), inner * 6 - 3, True),
        "gumbel_r": ((), inner * 6 - 3, True), "t": ((2.5,), inner * 6 - 3, True),
        "gamma": ((1.75,), inner * 3 + 0.2, True), "chi2": ((3.5,), inner * 3 + 0.2, True),
        "beta": ((1.75, 2.5), inner + 0.04, True),
        "pareto": ((1.75,), inner + 2, True), "vonmises": ((1.75,), inner * 6 - 3, False),
        "wrapcauchy": ((0.4,), inner * 6, False),
    }
    for name, (parameters, smooth, moved) in table.items():
        module = getattr(stats, name)
        wide = parameters + (loc, scale) if moved else parameters
        for f in names + ("ppf", "isf"):
            if not hasattr(module, f):
                continue
            full, g = f"stats::{name}::{f}", getattr(module, f)
            inverse = f in ("ppf", "isf")
            if inverse and name in ("cauchy", "gumbel_l", "gumbel_r"):   # JAX has other numbers at 0 and 1 and outside
                g = getattr(getattr(scipy.stats, name), f)
            case(full, g, inner if inverse else smooth, *wide)
            case(full + "/support", g, q if inverse else x, *wide)
            if moved:
                case(full + "/plain", g, inner if inverse else smooth, *parameters)
            if parameters and name != "truncnorm":
                case(full + "/wrong", g, inner[:2], *(-np.array(v) for v in parameters))
    case("stats::norm::logcdf/far", stats.norm.logcdf, np.array([-30., -5., 5.]))
    case("stats::truncnorm::logpdf/right", stats.truncnorm.logpdf, np.array([4., 5.]), np.array([3., 4.]), 6.)
    case("stats::truncnorm::logcdf/right", stats.truncnorm.logcdf, np.array([4., 5.]), np.array([3., 4.]), 6.)
    case("stats::truncnorm::logcdf/open", stats.truncnorm.logcdf, np.array([-4., 0.5, 3]), -inf, 2.)
    k = rounded([-2, 0, 1, 2, 3, 5, 7.5, 30])
    whole = {"bernoulli": (0.3,), "binom": (6., 0.3), "betabinom": (6., 1.5, 2.5), "nbinom": (2.5, 0.3), "geom": (0.3,),
             "poisson": (2.5,)}
    for name, parameters in whole.items():
        module = getattr(stats, name)
        if name == "betabinom":   # jax's betaln has 6 digits
            module = scipy.stats.betabinom
        for f in ("logpmf", "pmf", "cdf", "ppf"):
            if hasattr(getattr(stats, name), f):
                v = q if f == "ppf" else k if name == "poisson" or f == "cdf" else np.floor(k)
                case(f"stats::{name}::{f}", getattr(module, f), v, *parameters)
                if f in ("logpmf", "pmf"):
                    case(f"stats::{name}::{f}/moved", getattr(module, f), np.floor(k), *parameters, 1.)
    case("stats::bernoulli::cdf/wrong", stats.bernoulli.cdf, k[:3], 1.5)
    case("stats::bernoulli::ppf/wrong", stats.bernoulli.ppf, q[2:5], -0.5)
    case("stats::binom::logpmf/ends", stats.binom.logpmf, np.array([0., 4, 0, 1]), np.array([0., 4, 4, 4]),
         np.array([0.5, 1, 0, 0]))
    m = rounded(draw.normal(size=(3, 3)))
    cov, mean, points = m @ m.T + np.eye(3), rounded(draw.normal(size=3)), rounded(draw.normal(size=(2, 3)))
    for f in ("logpdf", "pdf"):
        g = getattr(stats.multivariate_normal, f)
        full = f"stats::multivariate_normal::{f}"
        case(full, g, points, mean, cov)
        case(full + "/one", g, points, 0.5, 2.)
        case(full + "/variance", g, points, mean, 2.)
        case(full + "/batch", g, points[0], mean, np.stack([cov, 2 * cov]))
        simplex = np.array([[0.2, 0.5, 0.2], [0.3, 0.25, 0.3], [0.5, 0.25, 0.6]])
        g, full = getattr(stats.dirichlet, f), f"stats::dirichlet::{f}"
        case(full, g, simplex, np.array([1.5, 2, 0.7]))
        case(full + "/short", g, simplex[:2], np.array([1.5, 2, 0.7]))
    for f in ("logpmf", "pmf"):
        case(f"stats::multinomial::{f}", getattr(stats.multinomial, f), np.array([2, 0, 3]), np.array(5),
             np.array([0.3, 0.2, 0.5]))
        case(f"stats::multinomial::{f}/other", getattr(stats.multinomial, f), np.array([2, 1, 3]), np.array(5),
             np.array([0.3, 0.2, 0.5]))
    ties = np.array([[3., 1, 3, 2, 1, 1], [5., 4, 4, 4, 2, 2]])
    count = lambda r: (r[0], r[1].astype(np.int32))
    case("stats::mode", lambda a: count(stats.mode(a, axis=1)), ties)
    case("stats::mode/keep", lambda a: count(stats.mode(a, axis=0, keepdims=True)), ties)
    case("stats::mode/integers", lambda a: count(stats.mode(a)), np.array([4, 1, 2, 2, 1]))
    case("stats::sem", lambda a: stats.sem(a, axis=1), ties)
    case("stats::sem/keep", lambda a: stats.sem(a, axis=0, ddof=0, keepdims=True), ties)
    for method in ("average", "min", "max", "dense", "ordinal"):
        case(f"stats::rankdata/{method}", lambda a: stats.rankdata(a, method, axis=1).astype(float), ties)
        case(f"stats::rankdata/flat_{method}", lambda a: stats.rankdata(a, method).astype(float), ties)
    case("stats::rankdata", lambda a: stats.rankdata(a, axis=0), np.array([[nan, 2.], [1., 2.], [3., 1.]]))


def activations():
    nn = jax.nn
    x, odd = rounded(draw.normal(size=(3, 4)) * 2), np.array([-inf, -800., -6, -3, -1, -0., 0, 1, 3, 6, 800, inf, nan])
    for name in ("celu", "elu", "selu", "relu6", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "leaky_relu",
                 "log_sigmoid", "mish", "swish", "soft_sign", "sparse_plus", "sparse_sigmoid", "squareplus"):
        f = getattr(nn, name)
        case("nn::" + name, f, x)
        infinite = name not in ("hard_silu", "hard_swish", "swish", "soft_sign", "mish", "squareplus")
        case("nn::" + name + "/odd", f, odd if infinite else odd[2:-3])
    for name in ("celu", "elu"):
        case("nn::" + name + "/alpha", lambda a: getattr(nn, name)(a, 0.5), x)
    case("nn::leaky_relu/slope", lambda a: nn.leaky_relu(a, 0.3), x)
    case("nn::squareplus/b", lambda a: nn.squareplus(a, 0.5), x)
    case("nn::glu", nn.glu, x)
    case("nn::glu/axis", lambda a: nn.glu(a, axis=0), x.T)
    case("nn::log1mexp", nn.log1mexp, np.abs(x) + 0.01)
    case("nn::log1mexp/odd", nn.log1mexp, np.array([-1., 0., 1e-20, 1e-3, 0.69, 0.7, 50., inf, nan]))
    case("nn::logmeanexp", lambda a: nn.logmeanexp(a, axis=1), x)
    case("nn::logmeanexp/keep", lambda a: nn.logmeanexp(a, keepdims=True), x)
    case("nn::standardize", nn.standardize, x)
    case("nn::standardize/given", lambda a, m, v: nn.standardize(a, axis=0, mean=m, variance=v, epsilon=1e-3), x, x[0],
         np.abs(x[1]))
    mask = np.array([[True, False, True, True], [True] * 4, [False, False, True, False]])
    case("nn::softmax", lambda a: nn.softmax(a, where=mask), x)
    case("nn::log_softmax", lambda a: nn.log_softmax(a, where=mask), x)
    case("nn::log_softmax/axis", lambda a: nn.log_softmax(a, axis=0, where=mask), x)


if __name__ == "__main__":
    print("# jax", jax.__version__, "mpmath", mp.__version__)
    of_one()
    of_several()
    edges()
    sums()
    distributions()
    activations()
