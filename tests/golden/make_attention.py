#!/usr/bin/env python3
"""Golden values of attention and its gradients from jax.nn.dot_product_attention.

Development only: python make_attention.py > attention.txt. Written with jax 0.10.2, CPU, f64 (but for the softmax,
which JAX takes in f32). Operands come from a formula that the test repeats. Rows that may attend to no key are left
out: JAX gives them the mean of all values, Bora 0. A line: name, then the numbers of out and of the gradients of q, k,
v (and bias), row-major.
"""
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
B, S, T, H, D = 2, 5, 7, 4, 3


def values(shape, seed):
    return jnp.asarray(np.sin(seed + 0.37 * np.arange(np.prod(shape), dtype=np.float64)).reshape(shape))


mask = jnp.asarray((np.arange(B * S * T).reshape(B, 1, S, T) * 5 % 7) != 3)
CASES = {
    "plain": (H, {}), "causal": (H, {"is_causal": True}), "grouped": (2, {"is_causal": True}),
    "shared": (1, {"scale": 0.9}),
    "mask": (H, {"mask": mask}), "window": (H, {"local_window_size": (2, 1)}),
    "bias": (2, {"bias": values((1, H, S, T), 4.0)}),
}
for name, (heads, options) in CASES.items():
    args = [values((B, S, H, D), 0.0), values((B, T, heads, D), 1.0), values((B, T, heads, D), 2.0)]
    if "bias" in options:
        args.append(options["bias"])
    weight = values((B, S, H, D), 3.0)

    def f(*a):
        return jax.nn.dot_product_attention(*a[:3], **{**options, **({"bias": a[3]} if len(a) > 3 else {})})

    grads = jax.grad(lambda *a: (f(*a) * weight).sum(), argnums=tuple(range(len(args))))(*args)
    print(name, *(f"{x:.8e}" for a in (f(*args), *grads) for x in np.asarray(a).ravel()))
