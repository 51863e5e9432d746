"""Writes random.txt: numbers of jax.random (partitionable threefry) that tests/random compares with.

Each line: sampler, key words, dtype, shape, parameters, ':', elements as hexadecimal bits.
Usage: python make_random.py > random.txt
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import random

BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
NAMES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "int32": "i32", "int64": "i64", "uint32": "u32",
         "uint8": "u8", "uint64": "i64", "bool": "bool"}


def line(name, key, out, *params):
    out = np.asarray(out)
    words = " ".join(f"{w:x}" for w in np.asarray(random.key_data(key)))
    flat = np.ascontiguousarray(out).reshape(-1).view(BITS[out.dtype.itemsize])
    shape = ",".join(map(str, out.shape)) or "-"
    print(name, words, NAMES[str(out.dtype)], shape, *params, ":", " ".join(f"{x:x}" for x in flat))


def main():
    print(f"# jax {jax.__version__} numpy {np.__version__} partitionable {jax.config.jax_threefry_partitionable}")
    with jax.enable_x64(True):
        keys = [random.key(s) for s in (0, 42, 2**40 + 7)]
        for k in keys:
            for dtype in (jnp.uint8, jnp.uint32, jnp.uint64):
                line("bits", k, random.bits(k, (3, 5), dtype))
            for i, child in enumerate(random.split(k, 3)):
                line("split", k, random.key_data(child), i)
            for data in (0, 7, 2**32 - 1):
                line("fold_in", k, random.key_data(random.fold_in(k, np.uint32(data))), data)
            for dtype in (jnp.float32, jnp.float64, jnp.bfloat16):
                for lo, hi in ((0, 1), (-1, 1), (-5, 5), (0.1, 0.7)):
                    line("uniform", k, random.uniform(k, (4, 5), dtype, lo, hi), lo, hi)
                line("normal", k, random.normal(k, (24,), dtype))
                line("gumbel", k, random.gumbel(k, (10,), dtype))
            for dtype in (jnp.float32, jnp.float64):
                line("exponential", k, random.exponential(k, (10,), dtype))
                line("laplace", k, random.laplace(k, (10,), dtype))
                line("logistic", k, random.logistic(k, (10,), dtype))
            for lo, hi in ((0, 10), (-7, 12345), (0, 65536), (3, 3), (-2**31, 2**31 - 1), (0, 2**31)):
                line("randint", k, random.randint(k, (8,), lo, hi, jnp.int32), lo, hi)
            for lo, hi in ((0, 10), (-2**40, 2**50), (-2**63, 2**63 - 1), (-2**62, 2**62 + 5)):
                line("randint", k, random.randint(k, (8,), lo, hi, jnp.int64), lo, hi)
            line("randint", k, random.randint(k, (8,), 0, 2**32 - 1, jnp.uint32), 0, 2**32 - 1)
            line("randint", k, random.randint(k, (8,), 5, 200, jnp.uint8), 5, 200)
    for seed in (0, 42):
        k = random.key(seed)
        for lo, hi in ((-2, 2), (-1, 3), (0.5, 1.5)):
            line("truncated_normal", k, random.truncated_normal(k, lo, hi, (16,), jnp.float32), lo, hi)
        for p in (0.1, 0.5, 0.9):
            line("bernoulli", k, random.bernoulli(k, p, (20,)), p)
        line("bernoulli_bf16", k, random.bernoulli(k, jnp.asarray(0.3, jnp.bfloat16), (20,)), 0.3)
        line("rademacher", k, random.rademacher(k, (20,), jnp.int32))
        for n in (1, 5, 100, 2000):
            line("permutation", k, random.permutation(k, n), n)
        x = jnp.arange(12).reshape(4, 3)
        line("permutation_rows", k, random.permutation(k, x, 0))
        line("permutation_independent", k, random.permutation(k, x, 1, independent=True))
        logits = jnp.sin(jnp.arange(12, dtype=jnp.float32)).reshape(4, 3)
        line("categorical", k, random.categorical(k, logits))
        line("categorical_axis0", k, random.categorical(k, logits, axis=0))
        line("categorical_shape", k, random.categorical(k, logits, shape=(5, 4)))
        line("choice", k, random.choice(k, 40, (10,)))
        line("choice_once", k, random.choice(k, 40, (10,), replace=False))
        p = jnp.asarray([1, 2, 4, 1, 8], jnp.float32) / 16
        line("choice_p", k, random.choice(k, 5, (10,), p=p))
        line("choice_p_once", k, random.choice(k, 5, (3,), replace=False, p=p))
        a = jnp.asarray([0.1, 0.5, 1.0, 2.5, 30.0, 0.9], jnp.float32)
        line("gamma", k, random.gamma(k, a))
        line("loggamma", k, random.loggamma(k, a))
        line("dirichlet", k, random.dirichlet(k, a, (2,)))


main()
