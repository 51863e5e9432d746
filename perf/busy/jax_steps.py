"""Programs of steps.cpp in JAX, for perf/busy/measure --jax: jax_steps.py NAME SECONDS prints the microseconds of every
call, one a line."""
import sys
import time

import jax
import jax.numpy as jnp
from jax import lax, random


def perceptron():
    keys = random.split(random.key(0), 5)
    sizes = ((64, 256), (256, 256), (256, 16))
    model = [(random.normal(k, s) * 0.1, jnp.zeros(s[1])) for k, s in zip(keys, sizes)]
    x, y = random.normal(keys[3], (128, 64)), random.normal(keys[4], (128, 16))

    def loss(m):
        h = x
        for i, (w, b) in enumerate(m):
            h = h @ w + b
            h = jax.nn.gelu(h) if i < 2 else h
        return ((h - y)**2).mean()

    @jax.jit
    def step(m):
        value, g = jax.value_and_grad(loss)(m)
        return jax.tree.map(lambda p, d: p - 0.01 * d, m, g), value

    def call():
        nonlocal model
        model, value = step(model)
        value.block_until_ready()
    return call


def steps(n, init, f):
    return lax.scan(lambda s, _: (f(s), None), init, None, length=n)[0]


def navier_stokes():
    def x(a, by):
        return jnp.roll(a, by, 0)

    def y(a, by):
        return jnp.roll(a, by, 1)

    def around(a):
        return x(a, 1) + x(a, -1) + y(a, 1) + y(a, -1)

    def step(s):
        u, v, p = s

        def moved(a):
            return a - 0.1 * (u * (x(a, -1) - x(a, 1)) + v * (y(a, -1) - y(a, 1))) * 0.5 + 0.01 * (around(a) - 4 * a)
        nu, nv = moved(u), moved(v)
        divergence = (x(nu, -1) - x(nu, 1) + y(nv, -1) - y(nv, 1)) * 0.5
        p = steps(20, p, lambda q: (around(q) - divergence) * 0.25)
        return nu - (x(p, -1) - x(p, 1)) * 0.5, nv - (y(p, -1) - y(p, 1)) * 0.5, p
    keys = random.split(random.key(0), 2)
    start = (random.normal(keys[0], (128, 128)) * 0.1, random.normal(keys[1], (128, 128)) * 0.1, jnp.zeros((128, 128)))
    run = jax.jit(lambda s: steps(20, s, step))
    return lambda: jax.block_until_ready(run(start))


def hmc():
    def energy(q):
        d = q[1:] - q[:-1]
        return (d * d).sum() * 2 + (q**4).sum() * 0.25
    slope = jax.vmap(jax.grad(energy))

    def transition(q, key):
        k1, k2 = random.split(key)
        p0 = random.normal(k1, (64, 16))

        def leap(s):
            half = s[1] - 0.05 * slope(s[0])
            moved = s[0] + 0.1 * half
            return moved, half - 0.05 * slope(moved)
        x, p = steps(10, (q, p0), leap)
        before = jax.vmap(energy)(q) + 0.5 * (p0 * p0).sum(-1)
        after = jax.vmap(energy)(x) + 0.5 * (p * p).sum(-1)
        accepted = jnp.log(random.uniform(k2, (64,))) < before - after
        return jnp.where(accepted[:, None], x, q), None
    keys = random.split(random.key(1), 10)
    start = random.normal(random.key(0), (64, 16))
    run = jax.jit(lambda q: lax.scan(transition, q, keys)[0])
    return lambda: run(start).block_until_ready()


call = {"perceptron": perceptron, "navier_stokes": navier_stokes, "hmc": hmc}[sys.argv[1]]()
for _ in range(3):
    call()
times, end = [], time.perf_counter() + float(sys.argv[2])
while (begin := time.perf_counter()) < end:
    call()
    times.append(1e6 * (time.perf_counter() - begin))
for t in times:
    print(f"{t:.2f}")
