"""The programs of perf/cases/networks.cpp, for JAX."""
import jax
import jax.numpy as jnp
import numpy as np

from common import CONV2D, cnn3_inputs, conv2d_inputs, uniform
from science import one


def conv(x, w, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), ((1, 1), (1, 1)),
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv2d(n, into, out, stride):
    def run(x, w, d):
        y, pull = jax.vjp(lambda x, w: conv(x, w, stride), x, w)
        return y, *pull(d)
    return one(run, *conv2d_inputs(n, into, out, stride))


def cnn3():
    def loss(weights, images, labels):
        h = images
        for i in range(3):
            h = jax.nn.relu(conv(h, weights[i]))
            if i < 2:
                h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        scores = jax.nn.log_softmax(h.mean((1, 2)) @ weights[3])
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def run(*inputs):
        value, slopes = jax.value_and_grad(loss)(inputs[:4], *inputs[4:])
        return value, *(w - 0.1 * g for w, g in zip(inputs, slopes))
    return one(run, *cnn3_inputs())


def rotations():
    def run(*angles):
        return jax.lax.associative_scan(
            lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]), angles)
    t = uniform(1, (1 << 24,))
    square = t * t
    return one(run, (np.float32(1) - square) / (np.float32(1) + square), np.float32(2) * t / (np.float32(1) + square))


CASES = {**{name: lambda shape=shape: conv2d(*shape) for name, shape in CONV2D.items()}, "cnn3": cnn3,
         "associative_scan": rotations}
