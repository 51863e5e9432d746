"""More steps of programs.py: what its table lacked of small products, small solves, gathers, transforms, statistics."""
import jax
import jax.numpy as jnp


def newton(x):
    """The root of |x| + 1, without a derivative: JAX has none of a while_loop."""
    a = jax.lax.stop_gradient(jnp.abs(x) + 1)
    begin = 0, jnp.ones_like(x)
    return jax.lax.while_loop(lambda c: c[0] < 8, lambda c: (c[0] + 1, 0.5 * (c[1] + a / c[1])), begin)[1]


def add(row, axis, axes, largest):
    """row: programs.row; axis, axes: draw one axis, one or two."""
    def same(rng, x, y):
        return () if x.ndim and x.shape == y.shape and x.dtype == y.dtype else None

    def small_square(rng, x):
        return () if x.ndim >= 2 and x.shape[-1] <= 64 and x.shape[-2] <= 64 and x.size < 10**6 else None

    def few(most):
        return lambda rng, x: () if x.ndim and 2 <= x.shape[-1] <= most and x.size * x.shape[-1] < largest else None

    row("contract", "ff", 0.5, same)(lambda x, y: jnp.einsum("...i,...i->...", x, y) / x.shape[-1])
    row("weigh", "ff", 0.5, lambda rng, x, y: () if x.ndim == 3 and y.ndim == 2 and y.shape == (
        x.shape[0], x.shape[2]) and x.dtype == y.dtype else None)(
        lambda x, y: jnp.einsum("bij,bj->bi", x, y) / x.shape[2])
    row("small_gram", "f", 0.6, small_square)(lambda x: x @ jnp.swapaxes(x, -1, -2) / x.shape[-1])
    row("mask", "f", 0.7, axis)(lambda x, k: jnp.where(x > x.mean(k, keepdims=True), x, 0))
    row("masked_softmax", "f", 0.4, lambda rng, x: () if x.ndim >= 2 else None)(
        lambda x: jax.nn.softmax(jnp.where(jnp.tri(*x.shape[-2:], dtype=bool), x, -1e9), -1))
    row("along", "f", 0.5, axis)(lambda x, k: jnp.take_along_axis(
        x, jnp.remainder(jnp.floor(jnp.abs(x) * 1000).astype(jnp.int32), x.shape[k]), k))
    row("unit", "f", 0.5, axis)(lambda x, k: x / (jnp.linalg.norm(x, axis=k, keepdims=True) + 1))
    row("cov", "f", 0.4, lambda rng, x: () if x.ndim == 2 and 2 <= x.shape[1] <= 500 and x.shape[0] > 1 else None)(
        lambda x: jnp.cov(x, rowvar=False))
    row("spectrum", "f", 0.4, few(512))(lambda x: jnp.abs(jnp.fft.rfft(x, axis=-1)).astype(x.dtype) / x.shape[-1])
    row("polyval", "f", 0.5)(lambda x: jnp.polyval(jnp.array([0.1, -0.3, 0.5, 0.25], x.dtype), x))
    row("interp", "f", 0.3, lambda rng, x: () if x.size < 10**6 else None)(lambda x: jnp.interp(
        x, jnp.linspace(-1, 1, 17, dtype=x.dtype), jnp.cos(3 * jnp.linspace(-1, 1, 17, dtype=x.dtype))))
    row("segment_mean", "fi", 0.4,
        lambda rng, x, i: (rng.choice((4, 10, 100)),) if x.ndim == 1 and i.shape == x.shape else None)(
        lambda x, i, n: jax.ops.segment_sum(x, jnp.remainder(i, n), n)
        / jnp.maximum(jax.ops.segment_sum(jnp.ones_like(x), jnp.remainder(i, n), n), 1))
    row("median", "f", 0.2, axis)(lambda x, k: jnp.median(x, k))
    row("ridge", "f", 0.4, few(8))(lambda x: jnp.linalg.solve(
        x[..., :, None] * x[..., None, :] + jnp.eye(x.shape[-1], dtype=x.dtype), x[..., None])[..., 0])
    row("newton", "f", 0.4)(newton)
    row("power", "f", 0.3, lambda rng, x: () if x.ndim == 2 and 2 <= x.shape[1] <= 200 else None)(
        lambda x: jax.lax.fori_loop(0, 10, lambda i, v: (u := x.T @ (x @ v)) / (jnp.linalg.norm(u) + 1e-3),
                                    jnp.ones(x.shape[1], x.dtype)))
    row("distances", "f", 0.4, lambda rng, x: () if x.ndim == 2 and x.shape[0] * x.size < largest else None)(
        lambda x: jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1))
    row("attend", "fff", 0.4, lambda rng, x, y, z: () if x.ndim >= 2 and x.shape == y.shape == z.shape
        and x.dtype == y.dtype == z.dtype and x.shape[-2] <= 512 and x.size * x.shape[-2] < 5e8 else None)(
        lambda x, y, z: jax.nn.softmax(x @ jnp.swapaxes(y, -1, -2) / x.shape[-1], -1) @ z)
    row("gelu", "f", 0.4)(lambda x: jax.nn.gelu(x))
    row("pool", "f", 0.4, lambda rng, x: () if x.ndim and x.shape[-1] % 2 == 0 else None)(
        lambda x: x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2).max(-1))
    row("moving", "f", 0.4, lambda rng, x: (rng.randrange(x.ndim),) if x.ndim and min(x.shape) > 4 else None)(
        lambda x, k: sum(jax.lax.slice_in_dim(x, j, x.shape[k] - 3 + j, 1, k) for j in range(4)) / 4)
    row("differences", "f", 0.4, lambda rng, x: () if x.ndim and x.shape[-1] <= 64 and
        x.size * x.shape[-1] < largest else None)(lambda x: (x[..., :, None] - x[..., None, :]) * 0.5)
    row("cumprod", "f", 0.3, axis)(lambda x, k: jnp.cumprod(1 + 0.1 * x / x.shape[k], k))
    row("diagonal", "f", 0.3, lambda rng, x: () if x.ndim >= 2 else None)(
        lambda x: jnp.diagonal(x, axis1=-2, axis2=-1))
    row("rms", "f", 0.5, lambda rng, x: () if x.ndim else None)(
        lambda x: x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-2))
