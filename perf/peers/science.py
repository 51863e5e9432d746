"""The programs of perf/cases/science.cpp, for JAX and NumPy."""
import jax
import jax.numpy as jnp
import numpy as np

from common import integers, uniform, wide
from linear import linear


def U(*arguments):
    return jnp.asarray(uniform(*arguments))


def one(f, *inputs):
    """In single precision unless an input is wide."""
    double = any(np.asarray(x).dtype == np.float64 for x in inputs)

    def run():
        with jax.enable_x64(double):
            return jax.block_until_ready(compiled(*ready))
    with jax.enable_x64(double):
        compiled, ready = jax.jit(f), [jnp.asarray(x) for x in inputs]
    return {"jit": run}


def energy(q):
    d = q[1:] - q[:-1]
    return (d * d).sum() * 2 + (q**4).sum() * 0.25


def hmc():
    slope = jax.vmap(jax.grad(energy))

    def step(q, key):
        k1, k2 = jax.random.split(key)
        p0 = jax.random.normal(k1, (64, 16), jnp.float64)

        def leap(s, _):
            p = s[1] - 0.05 * slope(s[0])
            x = s[0] + 0.1 * p
            return (x, p - 0.05 * slope(x)), None
        (x, p), _ = jax.lax.scan(leap, (q, p0), None, length=10)
        before = jax.vmap(energy)(q) + 0.5 * (p0 * p0).sum(-1)
        after = jax.vmap(energy)(x) + 0.5 * (p * p).sum(-1)
        accepted = jnp.log(jax.random.uniform(k2, (64,), jnp.float64)) < before - after
        following = jnp.where(accepted[:, None], x, q)
        return following, following.mean()
    return one(lambda q: jax.lax.scan(step, q, jax.random.split(jax.random.key(0), 50)), wide(1, (64, 16)))


def kalman():
    def run(a, h, observed):
        q, r = jnp.eye(4) * 0.01, jnp.eye(2) * 0.1

        def step(s, z):
            x, p, total = s
            x, p = a @ x, a @ p @ a.T + q
            e, c = z - h @ x, h @ p @ h.T + r
            gain = jnp.linalg.solve(c, h @ p).T
            solved = jnp.linalg.solve(c, e[:, None])[:, 0]
            loss = 0.5 * ((e * solved).sum() + jnp.log(c[0, 0] * c[1, 1] - c[0, 1] * c[1, 0]))
            return (x + gain @ e, p - gain @ h @ p, total + loss), None
        (x, _, total), _ = jax.lax.scan(step, (jnp.zeros(4), jnp.eye(4), jnp.zeros(())), observed)
        return total, x
    return one(run, np.eye(4) * 0.9 + wide(1, (4, 4), 0.1), wide(2, (2, 4)), wide(3, (1000, 2)))


def lstm():
    def run(w, u, b, xs):
        def loss(w, u, b):
            def step(s, x):
                f, i, g, o = jnp.split(x @ w + s[0] @ u + b, 4, axis=-1)
                c = jax.nn.sigmoid(f) * s[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
                return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None
            (h, _), _ = jax.lax.scan(step, (jnp.zeros((32, 128)), jnp.zeros((32, 128))), xs)
            return (h * h).sum()
        value, slopes = jax.value_and_grad(loss, (0, 1, 2))(w, u, b)
        return value, *slopes
    return one(run, uniform(1, (128, 512), 0.1), uniform(2, (128, 512), 0.1), uniform(3, (512,), 0.1),
               uniform(4, (100, 32, 128)))


def gaussian_process():
    def run(theta, x, y):
        def loss(theta):
            length, scale, noise = jnp.exp(theta)
            d = x[:, None] - x[None, :]
            k = scale * jnp.exp(-0.5 * d * d / length**2) + (noise + 1e-6) * jnp.eye(256)
            l = jnp.linalg.cholesky(k)
            a = jax.scipy.linalg.solve_triangular(l, y, lower=True)
            return 0.5 * (a * a).sum() + jnp.log(jnp.diagonal(l)).sum()
        return jax.value_and_grad(loss)(theta)
    return one(run, wide(1, (3,)), wide(2, (256,), 4), wide(3, (256,)))


def bodies():
    def run(x, v):
        d = x[None] - x[:, None]
        near = jax.lax.rsqrt((d * d).sum(-1) + 1e-2)
        speed = v + 1e-3 * (d * (near**3)[:, :, None]).sum(1)
        return x + 1e-3 * speed, speed
    return one(run, uniform(1, (1024, 3)), uniform(2, (1024, 3)))


def cnn():
    def run(filters, head, images, labels):
        def loss(filters, head):
            parts = jnp.stack([images[:, i:i + 26, j:j + 26] for i in range(3) for j in range(3)], -1)
            h = jnp.maximum(parts @ filters, 0)
            pooled = h.reshape(64, 13, 2, 13, 2, 16).mean((2, 4))
            scores = jax.nn.log_softmax(pooled.reshape(64, -1) @ head)
            return -jnp.take_along_axis(scores, labels[:, None], 1).mean()
        value, slopes = jax.value_and_grad(loss, (0, 1))(filters, head)
        return value, *slopes
    return one(run, uniform(1, (9, 16), 0.3), uniform(2, (13 * 13 * 16, 10), 0.02), uniform(3, (64, 28, 28)),
               integers(4, (64,), 10))


def kuramoto():
    def step(u, _):
        r, l, rr, ll = (jnp.roll(u, k) for k in (-1, 1, -2, 2))
        slope, second, fourth = (r * r - l * l) * 0.25, r - 2 * u + l, rr - 4 * r + 6 * u - 4 * l + ll
        return u - 0.01 * (slope + second + fourth), None
    return one(lambda u: jax.lax.scan(step, u, None, length=1000)[0], wide(1, (512,), 0.1))


def wave():
    def laplacian(u):
        p = jnp.pad(u, 1)
        return (p[:-2, 1:-1, 1:-1] + p[2:, 1:-1, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, 1:-1, :-2]
                + p[1:-1, 1:-1, 2:] - 6 * u)

    def step(s, _):
        return (s[1], 2 * s[1] - s[0] + jnp.float32(0.1) * laplacian(s[1])), None
    return one(lambda u: jax.lax.scan(step, (u, u), None, length=10)[0][1], uniform(1, (128, 128, 128)))


def image_u8():
    def run(x):
        return jnp.clip((x.astype(jnp.int32) * 77 + 4000) >> 6, 0, 255).astype(jnp.uint8)
    return one(run, integers(1, (2048, 2048, 3), 256).astype(np.uint8))


def transposed_chain():
    return one(lambda x, a, b: jnp.tanh(x.T * a + b), *(uniform(k, (2048, 2048)) for k in (1, 2, 3)))


CASES = {
    "hmc": hmc, "kalman": kalman, "lstm": lstm, "gaussian_process": gaussian_process, "bodies": bodies, "cnn": cnn,
    "kuramoto": kuramoto, "wave": wave, "image_u8": image_u8, "transposed_chain": transposed_chain,
    "sum_middle": lambda: one(lambda x: (x * x).sum(1), uniform(1, (256, 1024, 64))),
    "sum_two_axes": lambda: one(lambda x: (x * x).sum((0, 2, 3)), uniform(1, (64, 64, 56, 56))),
    "softmax_short": lambda: one(lambda x: jax.nn.softmax(x * 2, -1), uniform(1, (131072, 8))),
    **{name: lambda f=f, make=make: one(f, *make()) for name, (f, make) in linear(jnp).items()}}
