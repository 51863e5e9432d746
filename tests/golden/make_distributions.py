"""Writes distributions.txt: numbers of the samplers of random/random.h, and of derivatives through them, made by
jax.random (partitionable threefry). Each line: case, seed, dtype, shape, ':', elements as hexadecimal bits. The cases
(parameters) are those of tests/random/distributions_test.cpp.
Usage: python make_distributions.py > distributions.txt
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import random

BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
NAMES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "int32": "i32", "int64": "i64", "uint32": "u32",
         "uint8": "u8", "bool": "bool"}
A = [0.1, 0.5, 1.0, 2.5, 30.0, 0.9]      # positive parameters
B = [2.0, 0.3, 1.0, 7.0, 5.0, 0.05]
S = (3, 6)


def line(name, seed, out):
    out = np.asarray(out)
    flat = np.ascontiguousarray(out).reshape(-1).view(BITS[out.dtype.itemsize])
    shape = ",".join(map(str, out.shape)) or "-"
    print(name, seed, NAMES[str(out.dtype)], shape, ":", " ".join(f"{x:x}" for x in flat))


def floating(k, d):
    """Cases of every floating dtype but bf16; signs are drawn as f32 only with 64-bit types off."""
    a, b = jnp.broadcast_to(jnp.asarray(A, d), S), jnp.broadcast_to(jnp.asarray(B, d), S)
    cov = jnp.asarray([[2, .3, .1], [.3, 1, -.2], [.1, -.2, .5]], d)
    upper = jnp.broadcast_to(jnp.asarray([0, 1, 9, 0.1, 2, -0.05], d), S)
    return {
        "beta": lambda: random.beta(k, a, b, S, d), "cauchy": lambda: random.cauchy(k, S, d),
        "chisquare": lambda: random.chisquare(k, a, S, d), "f": lambda: random.f(k, a, jnp.maximum(b, 0.3), S, d),
        "lognormal": lambda: random.lognormal(k, b, S, d), "maxwell": lambda: random.maxwell(k, S, d),
        "pareto": lambda: random.pareto(k, b, S, d), "rayleigh": lambda: random.rayleigh(k, a, S, d),
        "t": lambda: random.t(k, a, S, d), "triangular": lambda: random.triangular(k, -a, b - a, b, S, d),
        "wald": lambda: random.wald(k, a, S, d), "weibull_min": lambda: random.weibull_min(k, a, b, S, d),
        "weibull_min_wide": lambda: random.weibull_min(k, a[0], b[0], (), d),
        "truncated_normal_arrays": lambda: random.truncated_normal(k, -a, upper, S, d),
        "gumbel_high": lambda: random.gumbel(k, S, d, mode="high"),
        "multivariate_normal": lambda: random.multivariate_normal(k, jnp.asarray([1, 2, -3], d), cov, (4,), d),
        "orthogonal": lambda: random.orthogonal(k, 4, (2,), d),
        "orthogonal_wide": lambda: random.orthogonal(k, 2, (), d, m=5),
        "orthogonal_tall": lambda: random.orthogonal(k, 5, (), d, m=2),
    }


def signed(k, d):
    return {
        "generalized_normal": lambda: random.generalized_normal(k, 1.5, S, d),
        "ball": lambda: random.ball(k, 3, 2, (5,), d), "ball_1": lambda: random.ball(k, 4, 1.0, (2, 2), d),
        "double_sided_maxwell": lambda: random.double_sided_maxwell(
            k, jnp.asarray([1., 2], d), jnp.asarray([0.5, 3], d), (4,), d),
        "double_sided_maxwell_default": lambda: random.double_sided_maxwell(
            k, jnp.asarray([1., 2], d), jnp.asarray([0.5, 3], d), (), d),
    }


def counts(k, d):
    def wide(x):
        return jnp.broadcast_to(jnp.asarray(x, d), S)
    lam = wide([0.3, 2, 9.5, 11, 150, 3000])
    n, p = wide([3, 20, 90, 1000, 0, 7.9]), wide([0.1, 0.9, 0.4, 0.7, 0.5, 1.0])
    odd = jnp.asarray([np.nan, -1, 0, 12, np.inf], jnp.float32)
    cases = {
        "geometric": lambda: random.geometric(k, wide([0.02, 0.3, 0.5, 0.9, 0.999, 1.0]), S, jnp.int32),
        "binomial": lambda: random.binomial(k, n, p, S, d),
        "binomial_few": lambda: random.binomial(k, jnp.asarray(3, d), jnp.asarray(0.1, d), (20,), d),
        "binomial_odd": lambda: random.binomial(
            k, wide([np.nan, -1, 30, 30, np.inf, 40]), wide([.5, .5, np.nan, 1.5, .2, .5]), S, d),
        "multinomial": lambda: random.multinomial(
            k, jnp.asarray(99., d), jnp.asarray([.1, .2, .0, .3, .4], d), dtype=d),
        "bernoulli_high": lambda: random.bernoulli(k, wide([0.001, .2, .5, .7, .9, .9999]), S, mode="high"),
    }
    if d == jnp.float32:
        cases |= {
            "poisson": lambda: random.poisson(k, lam, S, jnp.int32),
            "poisson_many": lambda: random.poisson(k, jnp.float32(40), (64,), jnp.int32),
            "poisson_few": lambda: random.poisson(k, jnp.float32(4), (32,), jnp.int32),
            "poisson_odd": lambda: random.poisson(k, odd, (2, 5), jnp.int32),
            "gumbel_highest": lambda: random.gumbel(k, S, d, mode="highest"),
            "binomial_many": lambda: random.binomial(k, jnp.float32(500), jnp.float32(0.3), (64,), d),
        }
    return cases


def integers(k):
    lo = jnp.asarray([0, -5, 3, -2**31, -2**31, 2**31 - 2])
    hi = jnp.asarray([10, 70000, 3, 2**31 - 1, 2**31, 2**31 + 5])
    lo64 = jnp.asarray([0, -2**40, -2**63, -2**62, 7, -3])
    hi64 = jnp.asarray([10, 2**50, 2**63 - 1, 2**62 + 5, 7, 2**31])
    logits = jnp.sin(jnp.arange(12, dtype=jnp.float32)).reshape(4, 3)
    return {
        "randint_arrays": lambda: random.randint(k, S, lo, hi, jnp.int32),
        "randint_arrays_u32": lambda: random.randint(
            k, S, jnp.asarray(0), jnp.asarray([1, 5, 2**31, 2**32 - 1, 2**32, 9]), jnp.uint32),
        "randint_arrays_i64": lambda: random.randint(k, S, lo64, hi64, jnp.int64),
        "randint_arrays_u8": lambda: random.randint(k, S, jnp.asarray([0, 0, 5, 250, -9, 300]),
                                                    jnp.asarray([256, 1, 200, 400, 3, 400]), jnp.uint8),
        "split_shape": lambda: random.key_data(random.split(k, (2, 3))).astype(jnp.uint32),
        "categorical_once": lambda: random.categorical(k, logits, shape=(2, 4), replace=False).astype(jnp.int32),
        "categorical_once_axis0": lambda: random.categorical(k, logits, axis=0, shape=(4, 3), replace=False)
        .astype(jnp.int32),
        "categorical_high": lambda: random.categorical(k, logits, shape=(5, 4), mode="high").astype(jnp.int32),
    }


def gradients(k):
    """Of sums, in f64."""
    d = jnp.float64
    a, b = jnp.asarray(A, d), jnp.asarray(B, d)

    def g(f):
        return jax.grad(lambda x: f(jnp.broadcast_to(x, S)))
    return {
        "grad_gamma": lambda: g(lambda a: random.gamma(k, a, S, d).sum())(a),
        "grad_loggamma": lambda: g(lambda a: random.loggamma(k, a, S, d).sum())(a),
        "grad_beta": lambda: g(lambda a: random.beta(k, a, jnp.broadcast_to(b, S), S, d).sum())(a),
        "grad_t": lambda: g(lambda a: random.t(k, a, S, d).sum())(a),
        "grad_dirichlet": lambda: g(lambda a: (random.dirichlet(k, a, S[:1], d) * b).sum())(a),
        "grad_truncated_normal": lambda: g(lambda x: random.truncated_normal(k, x, x + 2, S, d).sum())(b),
        "grad_lognormal": lambda: g(lambda x: random.lognormal(k, x, S, d).sum())(a / 10),
        "grad_wald": lambda: g(lambda x: random.wald(k, x, S, d).sum())(b),
    }


def main():
    print(f"# jax {jax.__version__} numpy {np.__version__} partitionable {jax.config.jax_threefry_partitionable}")
    for seed in (0, 42, 1701):
        k = random.key(seed)
        for cases in (floating(k, jnp.float32), signed(k, jnp.float32), counts(k, jnp.float32)):
            for name, case in cases.items():
                line(name, seed, case())
        for name in ("cauchy", "lognormal", "maxwell", "pareto", "rayleigh", "gumbel_high"):
            line(name, seed, floating(k, jnp.bfloat16)[name]())
        with jax.enable_x64(True):
            for cases in (floating(k, jnp.float64), counts(k, jnp.float64), integers(k), gradients(k)):
                for name, case in cases.items():
                    line(name, seed, case())


main()
