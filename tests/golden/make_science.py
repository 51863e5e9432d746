"""Writes science.txt: results of SciPy, Diffrax and ArviZ (f64) that tests/science compares with.

  python make_science.py > science.txt

Each line: case, in or out, dtype, shape, ':', numbers. SciPy 1.17.1, Diffrax 0.7.2 (jax 0.10.2), ArviZ 0.23.4.
"""
import warnings

import arviz
import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
import scipy.integrate
import scipy.optimize
import scipy.stats

warnings.filterwarnings("ignore")
jax.config.update("jax_enable_x64", True)
NAMES = {"float64": "f64", "int64": "i32", "int32": "i32"}


def line(name, role, x):
    x = np.asarray(x)
    shape = ",".join(map(str, x.shape)) or "-"
    numbers = (repr(float(v)) if x.dtype.kind == "f" else str(int(v)) for v in x.ravel())
    print(name, role, NAMES[str(x.dtype)], shape, ":", *numbers)


def case(name, ins, outs):
    for x in ins:
        line(name, "in", x)
    for x in outs:
        line(name, "out", x)


# tests/science/problems.h has the same equations.
def lorenz(m):
    return lambda t, y: m.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def van_der_pol(m):
    return lambda t, y: m.stack([y[1], 100 * (1 - y[0] ** 2) * y[1] - y[0]])


def robertson(m):
    return lambda t, y: m.stack([-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2,
                                 3e7 * y[1] ** 2])


def forced(m):
    return lambda t, y: m.stack([y[1], m.cos(2 * t) - 0.3 * y[1] - y[0]])


PROBLEMS = {"lorenz": (lorenz, [1., 0.5, 20.], np.linspace(0, 2, 5), "DOP853"),
            "van_der_pol": (van_der_pol, [2., 0.], np.array([0., 1., 50., 81.5, 150.]), "Radau"),
            "robertson": (robertson, [1., 0., 0.], np.array([0., 0.4, 40., 4e3]), "Radau"),
            "forced": (forced, [1., -0.5], np.linspace(0, 5, 4), "DOP853")}
SOLVERS = {"tsit5": diffrax.Tsit5, "dopri8": diffrax.Dopri8, "kvaerno5": diffrax.Kvaerno5}


def equations():
    for name, (make, y0, t, method) in PROBLEMS.items():
        s = scipy.integrate.solve_ivp(make(np), (t[0], t[-1]), y0, method, t, rtol=1e-12, atol=1e-14)
        assert s.success, s.message
        case(f"exact/{name}", [y0, t], [s.y.T])
    for solver, make_solver in SOLVERS.items():
        for name in ("lorenz", "forced"):
            make, y0, t, _ = PROBLEMS[name]
            h, kind = 1 / 16, make_solver()
            if solver == "kvaerno5":
                h, kind = 1 / 128, make_solver(root_finder=optimistix.Newton(1e-12, 1e-12), root_find_max_steps=100)
            s = diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, _: make(jnp)(t, y)), kind, 0., t[-1] / 2, h,
                                    jnp.array(y0), saveat=diffrax.SaveAt(ts=t / 2),
                                    stepsize_controller=diffrax.ConstantStepSize())
            case(f"fixed/{solver}/{name}", [y0, t / 2, h], [s.ys])
    for solver in ("tsit5", "dopri8"):
        for name in ("lorenz", "forced"):
            make, y0, t, _ = PROBLEMS[name]
            s = diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, _: make(jnp)(t, y)), SOLVERS[solver](), 0., t[-1],
                                    0.01, jnp.array(y0), saveat=diffrax.SaveAt(ts=t),
                                    stepsize_controller=diffrax.PIDController(rtol=1e-7, atol=1e-9))
            case(f"adaptive/{solver}/{name}", [y0, t], [s.ys, s.stats["num_steps"], s.stats["num_accepted_steps"]])
    # A ball that falls, with drag: its highest point, and the ground.
    s = scipy.integrate.solve_ivp(lambda t, y: np.array([y[1], -9.81 - 0.1 * y[1] * abs(y[1])]), (0, 10), [1., 20.],
                                  "DOP853", rtol=1e-12, atol=1e-14,
                                  events=[top := lambda t, y: y[1], ground := lambda t, y: y[0]])
    case("events/ball", [[1., 20.]], [np.array([s.t_events[0][0], s.t_events[1][0]]),
                                      np.array([s.y_events[0][0], s.y_events[1][0]])])


def residuals():
    x = np.linspace(0, 3, 20)
    y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(7 * x)
    fits = {"decay": (lambda p: p[0] * np.exp(-p[1] * x) + p[2] - y, [1., 1., 0.], (-np.inf, np.inf)),
            "bounded": (lambda p: p[0] * np.exp(-p[1] * x) + p[2] - y, [1., 1., 0.6],
                        ([0., 0., 0.6], [2., 5., 10.])),
            "rosenbrock": (lambda p: np.array([10 * (p[1] - p[0] ** 2), 1 - p[0]]), [-1.2, 1.], (-np.inf, np.inf)),
            "rosenbrock_bounded": (lambda p: np.array([10 * (p[1] - p[0] ** 2), 1 - p[0]]), [-1.2, 1.],
                                   ([-np.inf, -1.5], [0.8, np.inf]))}
    for name, (f, p0, bounds) in fits.items():
        r = scipy.optimize.least_squares(f, p0, bounds=bounds, xtol=1e-14, ftol=1e-14, gtol=1e-12)
        low, high = (np.broadcast_to(b, len(p0)).astype(float) for b in bounds)
        case(f"fit/{name}", [p0, low, high, x, y], [r.x, r.cost, r.fun, r.active_mask])


def chains():
    rng = np.random.default_rng(3)
    for name, shape, rho, apart in (("white", (4, 200), 0., 0.), ("slow", (4, 301), 0.9, 0.),
                                    ("apart", (3, 100), 0.5, 1.), ("single", (1, 64), 0.3, 0.),
                                    ("turning", (2, 50), -0.7, 0.)):
        x = rng.standard_normal(shape)
        for t in range(1, shape[1]):
            x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho ** 2) * x[:, t]
        x = np.round(x + apart * np.arange(shape[0])[:, None], 6)
        rhat = arviz.rhat(x) if shape[0] > 1 else np.float64(np.nan)   # ArviZ refuses a single chain
        case(f"chains/{name}", [x], [rhat, *(arviz.ess(x, method=m) for m in ("bulk", "tail", "mean"))])


def distributions():
    x, low, count = np.array([-1.5, 0.2, 0.7, 2.5]), np.array([0.1, 0.25, 0.6, 0.95]), np.array([0, 1, 3, 6])
    st = scipy.stats
    for name, d, at in (
            ("Normal", st.norm(0.3, 1.7), x), ("LogNormal", st.lognorm(0.6, scale=np.exp(0.2)), np.abs(x)),
            ("HalfNormal", st.halfnorm(scale=1.3), np.abs(x)), ("StudentT", st.t(5., 0.2, 1.4), x),
            ("Cauchy", st.cauchy(0.2, 1.4), x), ("HalfCauchy", st.halfcauchy(scale=1.4), np.abs(x)),
            ("Laplace", st.laplace(0.2, 1.4), x), ("Logistic", st.logistic(0.2, 1.4), x),
            ("Exponential", st.expon(scale=1 / 1.6), np.abs(x)), ("Gamma", st.gamma(2.5, scale=1 / 1.6), np.abs(x)),
            ("InverseGamma", st.invgamma(6.5, scale=1.6), np.abs(x)), ("Beta", st.beta(2.5, 1.2), low),
            ("Uniform", st.uniform(-2, 5), x), ("Bernoulli", st.bernoulli(0.3), np.array([0, 1, 1, 0])),
            ("Poisson", st.poisson(2.4), count)):
        logs = d.logpmf(at) if name in ("Bernoulli", "Poisson") else d.logpdf(at)
        case(f"distribution/{name}", [at], [logs, np.float64(d.mean()), np.float64(d.std())])
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    d = st.dirichlet([1.5, 2., 3.])
    case("distribution/Dirichlet", [p], [[d.logpdf(v) for v in p], d.mean(), np.sqrt(d.var())])
    tril = np.array([[1.2, 0., 0.], [0.5, 0.8, 0.], [-0.3, 0.2, 0.6]])
    d = st.multivariate_normal([0.1, 0.2, 0.3], tril @ tril.T)
    case("distribution/MultivariateNormal", [p], [d.logpdf(p), d.mean, np.sqrt(np.diag(tril @ tril.T))])


equations()
residuals()
chains()
distributions()
