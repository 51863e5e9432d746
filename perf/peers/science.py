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


def nuts():
    """examples/nuts.h, line by line."""
    size, depth, pace = 3, 6, 0.3
    centre = np.array([1., -2., 0.5])
    precision = np.linalg.inv(np.array([[1., 0.8, 0.], [0.8, 2., -0.4], [0., -0.4, 0.5]]))

    def log_density(x):
        return -0.5 * ((x - centre) * (precision @ (x - centre))).sum()

    def leap(x, p, step):
        half = p + step / 2 * jax.grad(log_density)(x)
        x = x + step * half
        return x, half + step / 2 * jax.grad(log_density)(x)

    def total(x, p):
        return 0.5 * (p * p).sum() - log_density(x)

    def turns(left, right, sums):
        inside = sums - (left + right) / 2
        return ((left * inside).sum(-1) <= 0) | ((right * inside).sum(-1) <= 0)

    def grown(x, p, step, level, start, key):
        levels = jnp.arange(depth, dtype=jnp.int32)

        def body(s):
            x, p, sums, place, weight, _, leaf, momenta, before = s
            x, p = leap(x, p, step)
            new = start - total(x, p)
            weight, sums = jnp.logaddexp(weight, new), sums + p
            uniform = jax.random.uniform(jax.random.fold_in(key, leaf), (), jnp.float64)
            place = jnp.where(jnp.log(uniform) < new - weight, x, place)
            bits = (leaf >> levels) & 1
            last, ending, odd = bits[1:].sum(), jnp.cumprod(bits).sum(), bits[0] == 1
            here = (~odd & (levels == last))[:, None]
            momenta, before = jnp.where(here, p, momenta), jnp.where(here, sums, before)
            checked = odd & (levels <= last) & (levels > last - ending)
            turned = (checked & turns(momenta, p, sums - before + momenta)).any() | (new < -1000.0)
            return x, p, sums, place, weight, turned, leaf + 1, momenta, before
        zero = jnp.zeros((depth, size))
        empty = (x, p, jnp.zeros(size), x, jnp.float64(-jnp.inf), False, jnp.int32(0), zero, zero)
        return jax.lax.while_loop(lambda s: (s[6] < (1 << level)) & ~s[5], body, empty)[:6]

    def drawn(x, key):
        k1, k2, k3, k4 = jax.random.split(key, 4)
        p = jax.random.normal(k1, (size,), jnp.float64)
        start = total(x, p)

        def body(s):
            left, right, sums, place, weight, _, level = s
            rightward = jax.random.bernoulli(jax.random.fold_in(k2, level), jnp.float32(0.5))
            x, p = (jnp.where(rightward, r, l) for l, r in zip(left, right))
            x, p, more, drawn, heavier, turned = grown(x, p, jnp.where(rightward, pace, -pace), level, start,
                                                       jax.random.fold_in(k3, level))
            uniform = jax.random.uniform(jax.random.fold_in(k4, level), (), jnp.float64)
            place = jnp.where(~turned & (jnp.log(uniform) < heavier - weight), drawn, place)
            left = tuple(jnp.where(rightward, a, b) for a, b in zip(left, (x, p)))
            right = tuple(jnp.where(rightward, b, a) for a, b in zip(right, (x, p)))
            sums = sums + more
            return (left, right, sums, place, jnp.logaddexp(weight, heavier), turned | turns(left[1], right[1], sums),
                    level + 1)
        s = jax.lax.while_loop(lambda s: (s[6] < depth) & ~s[5], body,
                               ((x, p), (x, p), p, x, jnp.float64(0), False, jnp.int32(0)))
        return s[3], s[6]

    def chains(start):
        def step(x, k):
            x, level = drawn(x, k)
            return x, (x, level)
        return jax.vmap(lambda key: jax.lax.scan(step, start, jax.random.split(key, 50))[1])(
            jax.random.split(jax.random.key(0), 64))
    return one(chains, np.zeros(size))


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
    "hmc": hmc, "nuts": nuts, "kalman": kalman, "lstm": lstm, "gaussian_process": gaussian_process,
    "bodies": bodies, "cnn": cnn, "kuramoto": kuramoto, "wave": wave,
    "image_u8": image_u8, "transposed_chain": transposed_chain,
    "sum_middle": lambda: one(lambda x: (x * x).sum(1), uniform(1, (256, 1024, 64))),
    "sum_two_axes": lambda: one(lambda x: (x * x).sum((0, 2, 3)), uniform(1, (64, 64, 56, 56))),
    "softmax_short": lambda: one(lambda x: jax.nn.softmax(x * 2, -1), uniform(1, (131072, 8))),
    **{name: lambda f=f, make=make: one(f, *make()) for name, (f, make) in linear(jnp).items()}}
