"""Writes quantization.txt: products of 8-bit numbers by Haliax's ops, and conversions to fp8 by ml_dtypes.

  PYTHONPATH=haliax/src python make_quantization.py > quantization.txt

haliax at f41e7d4 of stanford-crfm/haliax (1.3 of PyPI has no int8), aqtp 0.9.0, jax 0.10.2, ml_dtypes 0.6.0,
not staged, on a CPU. Operand k has the numbers sin(k + 0.37 i). Every line: name, count, numbers."""
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from haliax.quantization import Fp8DotGeneralOp, Int8DotGeneralOp


def operand(k, *shape):
    return np.sin(k + 0.37 * np.arange(np.prod(shape))).reshape(shape).astype(np.float32)


def show(name, y):
    y = np.asarray(y, np.float64)
    print(name, y.size, *("%.9g" % n for n in y.ravel()))


# Conversions: numbers of all sizes, halves between two numbers of the format, and their neighbours.
rng = np.random.default_rng(0)
any_size = rng.normal(size=400) * np.exp2(rng.integers(-20, 17, 400))
for name, dtype in (("e4m3fn", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)):
    largest = float(ml_dtypes.finfo(dtype).max)
    numbers = np.unique(np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32))
    numbers = numbers[np.isfinite(numbers) & (numbers >= 0)]
    halves = ((numbers[1:] + numbers[:-1]) / 2).astype(np.float32)
    x = np.concatenate([any_size.astype(np.float32), -numbers, halves, -halves, np.nextafter(halves, np.float32(0)),
                        np.nextafter(halves, np.float32(np.inf))])
    show(name + "_x", x)
    show(name, np.clip(x, -largest, largest).astype(dtype).astype(np.float32))


def product(op, x, w):
    return op(x, w, (((x.ndim - 1,), (0,)), ((), ())), None)


# Six steps of a layer in fp8, whose history of three wraps around.
for name, dtype in (("fp8", None), ("fp8_bf16", jnp.bfloat16)):
    op, w = Fp8DotGeneralOp.init(3, dtype), jnp.asarray(operand(1, 6, 5))
    for step in range(6):
        x = jnp.asarray(operand(10 + step, 4, 6)) * (1 + step % 4)
        dy = jnp.asarray(operand(20 + step, 4, 5)) * 0.01 * (1 + step % 3)
        if dtype:  # an op with a compute dtype gets its kernel in it, as the layer casts it
            call = lambda o, a, b: product(o, a, b.astype(dtype))
        else:
            call = product
        y = call(op, x, w)
        loss = lambda o, a, b: jnp.sum((call(o, a, b) * dy).astype(jnp.float32))
        op, dx, dw = jax.grad(loss, (0, 1, 2))(op, x, w)
        for part, value in (("y", y), ("dx", dx), ("dw", dw)):
            show(f"{name}_{step}_{part}", value)
        for field in ("input_scale", "output_grad_scale", "kernel_scale", "input_amax_history",
                      "output_grad_amax_history", "kernel_amax_history"):
            show(f"{name}_{step}_{field}", getattr(op, field))
        w = w - 0.1 * dw

# Products of int8: of two axes of x, of a row of zeros, and in bf16.
for name, dtype in (("int8", jnp.float32), ("int8_bf16", jnp.bfloat16)):
    x = operand(3, 2, 4, 6)
    x[1, 2] = 0
    x, w, dy = (jnp.asarray(v, dtype) for v in (x, operand(4, 6, 5), operand(5, 2, 4, 5)))
    op = Int8DotGeneralOp.init()
    show(name + "_y", product(op, x, w))
    dx, dw = jax.grad(lambda a, b: jnp.sum((product(op, a, b) * dy).astype(jnp.float32)), (0, 1))(x, w)
    show(name + "_dx", dx)
    show(name + "_dw", dw)
