#!/usr/bin/env python3
"""Golden values of gradient transformations and optimizers: updates of four steps, from JAX and Optax.

Development only: python make_optim.py > optim.txt. Written with jax and optax (versions in the file), CPU, f32.
A case is named like the transformation and the number of its sample in the law (tests/optim/law_test.cpp), or like an
optimizer there. Parameters and gradients come from a formula that the test repeats. The parameters follow the updates.
"""
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax

SHAPES = {"norm.weight": (6,), "norm.bias": (6,), "up.weight": (6, 4), "up.bias": (4,), "plain": (5, 3)}
STEPS = 4


def values(shape, seed, scale):
    """scale * sin(seed + 0.37 * i) over the row-major position i: plain doubles, rounded once."""
    i = np.arange(math.prod(shape), dtype=np.float64)
    return jnp.asarray((scale * np.sin(seed + 0.37 * i)).reshape(shape).astype(np.float32))


def tree(seed, scale):
    return {path: values(shape, seed + k, scale) for k, (path, shape) in enumerate(SHAPES.items())}


def ramp(init, end, steps):
    return optax.linear_schedule(init, end, steps)


by_layer = {path: path in ("up.weight", "plain") for path in SHAPES}
cases = {
    "clip.0": optax.clip_by_global_norm(0.5),
    "clip.1": optax.clip_by_global_norm(100),
    "scale.0": optax.scale(-0.25),
    "learning_rate.0": optax.scale_by_learning_rate(0.1),
    "learning_rate.1": optax.scale_by_learning_rate(ramp(0, 0.5, 3)),
    "weight_decay.0": optax.add_decayed_weights(0.1),
    "weight_decay.1": optax.add_decayed_weights(0.1, by_layer),
    "trace.0": optax.trace(0.9),
    "trace.1": optax.trace(0.8, nesterov=True),
    "adam.0": optax.scale_by_adam(),
    "adam.1": optax.scale_by_adam(b1=0.8, b2=0.95, eps=1e-4, eps_root=1e-3),
    "lion.0": optax.scale_by_lion(),
    "lion.1": optax.scale_by_lion(b1=0.5, b2=0.7),
    "adamw": optax.chain(optax.clip_by_global_norm(1),
                         optax.adamw(ramp(0, 0.1, 3), b1=0.9, b2=0.95, weight_decay=0.1, mask=by_layer)),
    "adam": optax.adam(0.01),
    "sgd": optax.sgd(0.1, momentum=0.9, nesterov=True),
    "lion": optax.chain(optax.clip_by_global_norm(1), optax.lion(ramp(0, 0.1, 3), weight_decay=0.3, mask=by_layer)),
}
print(f"# updates of {STEPS} steps; jax {jax.__version__}, optax {optax.__version__}, numpy {np.__version__}; "
      "tests/golden/make_optim.py")
for name, tx in cases.items():
    params = tree(0.3, 1.0)
    state = tx.init(params)
    for step in range(STEPS):
        updates, state = tx.update(tree(10.0 + 5 * step, 0.4), state, params)
        params = optax.apply_updates(params, updates)
        for path, u in updates.items():
            print(name, step, path, *(f"{float(v):.7g}" for v in np.asarray(u).ravel()))
