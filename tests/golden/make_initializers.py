"""Writes initializers.txt: numbers of jax.nn.initializers that tests/nn/initializers_test.cpp compares with.

  python make_initializers.py > initializers.txt

Each line: initialiser, dtype, shape, ':', numbers. The key is key(7).
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import initializers as init

jax.config.update("jax_enable_x64", True)
NAMES = {"float64": "f64", "float32": "f32", "bfloat16": "bf16"}


def line(name, f, shape, dtype=jnp.float32):
    x = f(jax.random.key(7), shape, dtype)
    print(name, NAMES[str(x.dtype)], ",".join(map(str, x.shape)), ":",
          *(repr(float(v)) for v in np.asarray(x, np.float64).ravel()))


print("# jax", jax.__version__)
conv = dict(in_axis=(0, 1), out_axis=2, batch_axis=3)
for dtype in (jnp.float32, jnp.float64, jnp.bfloat16):
    line("constant", init.constant(1.1), (2, 3), dtype)
    line("uniform", init.uniform(), (3, 4), dtype)
    line("normal", init.normal(0.3), (3, 4), dtype)
    for name in ("glorot", "xavier", "lecun", "he", "kaiming"):
        for kind in ("uniform", "normal"):
            line(f"{name}_{kind}", getattr(init, f"{name}_{kind}")(), (3, 5), dtype)
line("truncated_normal", init.truncated_normal(0.3, lower=-1, upper=1.5), (3, 4))
line("zeros", init.zeros, (2,))
line("ones", init.ones, (2,))
for mode in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
    line(mode, init.variance_scaling(1.5, mode, "normal"), (3, 5, 2))
line("conv", init.variance_scaling(2., "fan_out", "uniform", **conv), (2, 3, 4, 2))
for dtype in (jnp.float32, jnp.float64):
    line("orthogonal", init.orthogonal(), (4, 3), dtype)
line("orthogonal_wide", init.orthogonal(1.5), (2, 5))
line("orthogonal_axis", init.orthogonal(column_axis=0), (3, 2, 2))
line("delta_orthogonal", init.delta_orthogonal(), (3, 2, 3))
line("delta_orthogonal_plane", init.delta_orthogonal(0.5), (2, 3, 2, 2))
