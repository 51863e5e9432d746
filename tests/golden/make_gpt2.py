#!/usr/bin/env python3
"""Golden values of one GPT-2: loss, gradient of every leaf, parameters after three AdamW steps, from JAX and Optax.

Development only: python make_gpt2.py > gpt2.txt. Written with jax 0.10.2, optax (version in the file), numpy, CPU, f32
with highest precision. Parameters come from a formula that the test repeats, so that the file holds results only.
"""
import math
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

jax.config.update("jax_enable_x64", False)
L, E, H, P, V, B = 2, 16, 4, 8, 19, 3
D = E // H


def values(shape, seed, scale, offset=0.0):
    """scale * sin(seed + 0.37 * i) + offset over the row-major position i: plain doubles, rounded once."""
    i = np.arange(math.prod(shape), dtype=np.float64)
    return jnp.asarray((scale * np.sin(seed + 0.37 * i) + offset).reshape(shape).astype(np.float32))


# Paths and shapes as Bora's tree has them, in path order of declaration.
SHAPES = [
    ("wte.weight", (V, E), 0.3, 0.0), ("wpe", (P, E), 0.1, 0.0),
    ("blocks.layer.ln_1.weight", (L, E), 0.2, 1.0), ("blocks.layer.ln_1.bias", (L, E), 0.1, 0.0),
    ("blocks.layer.attn.q.weight", (L, E, H, D), 0.3, 0.0), ("blocks.layer.attn.q.bias", (L, H, D), 0.1, 0.0),
    ("blocks.layer.attn.k.weight", (L, E, H, D), 0.3, 0.0), ("blocks.layer.attn.k.bias", (L, H, D), 0.1, 0.0),
    ("blocks.layer.attn.v.weight", (L, E, H, D), 0.3, 0.0), ("blocks.layer.attn.v.bias", (L, H, D), 0.1, 0.0),
    ("blocks.layer.attn.out.weight", (L, H, D, E), 0.3, 0.0), ("blocks.layer.attn.out.bias", (L, E), 0.1, 0.0),
    ("blocks.layer.ln_2.weight", (L, E), 0.2, 1.0), ("blocks.layer.ln_2.bias", (L, E), 0.1, 0.0),
    ("blocks.layer.mlp.up.weight", (L, E, 4 * E), 0.1, 0.0), ("blocks.layer.mlp.up.bias", (L, 4 * E), 0.1, 0.0),
    ("blocks.layer.mlp.down.weight", (L, 4 * E, E), 0.3, 0.0), ("blocks.layer.mlp.down.bias", (L, E), 0.1, 0.0),
    ("ln_f.weight", (E,), 0.2, 1.0), ("ln_f.bias", (E,), 0.1, 0.0),
]
params = {name: values(shape, float(k), scale, offset) for k, (name, shape, scale, offset) in enumerate(SHAPES)}
tokens = jnp.asarray([[(7 * (b * P + p) + 3 * b) % V for p in range(P)] for b in range(B)], jnp.int32)
targets = jnp.asarray([[(7 * (b * P + p + 1) + 3 * b) % V for p in range(P)] for b in range(B)], jnp.int32)


def layer_norm(x, w, b):
    mean = x.mean(-1, keepdims=True)
    centered = x - mean
    return centered * jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * w + b


def loss_fn(p):
    x = p["wte.weight"][tokens] + p["wpe"]
    mask = jnp.tril(jnp.ones((P, P), bool))
    for i in range(L):
        w = {k.removeprefix("blocks.layer."): v[i] for k, v in p.items() if k.startswith("blocks.layer.")}
        h = layer_norm(x, w["ln_1.weight"], w["ln_1.bias"])
        q, k, v = (jnp.einsum("bpe,ehd->bphd", h, w[f"attn.{n}.weight"]) + w[f"attn.{n}.bias"] for n in "qkv")
        scores = jnp.einsum("bphd,bthd->bhpt", q / math.sqrt(D), k)
        probabilities = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1)
        y = jnp.einsum("bhpt,bthd->bphd", probabilities, v)
        x = x + jnp.einsum("bphd,hde->bpe", y, w["attn.out.weight"]) + w["attn.out.bias"]
        h = layer_norm(x, w["ln_2.weight"], w["ln_2.bias"])
        h = jax.nn.gelu(jnp.einsum("bpe,ef->bpf", h, w["mlp.up.weight"]) + w["mlp.up.bias"], approximate=True)
        x = x + jnp.einsum("bpf,fe->bpe", h, w["mlp.down.weight"]) + w["mlp.down.bias"]
    x = layer_norm(x, p["ln_f.weight"], p["ln_f.bias"])
    logits = jnp.einsum("bpe,ve->bpv", x, p["wte.weight"])
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1).mean()


with jax.default_matmul_precision("highest"):
    loss, grads = jax.jit(jax.value_and_grad(loss_fn))(params)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3, weight_decay=0.1))
    state, current, losses = tx.init(params), params, []
    for _ in range(3):
        l, g = jax.jit(jax.value_and_grad(loss_fn))(current)
        losses.append(float(l))
        updates, state = tx.update(g, state, current)
        current = optax.apply_updates(current, updates)

out = sys.stdout
print(f"# GPT-2, {L} layers, embed {E}, heads {H}, positions {P}, vocab {V}, batch {B}; jax {jax.__version__}, "
      f"optax {optax.__version__}, numpy {np.__version__}; tests/golden/make_gpt2.py", file=out)
print("losses", *[repr(np.float32(x).item()) for x in losses], file=out)
for kind, tree in (("grad", grads), ("after", current)):
    for name, shape, _, _ in SHAPES:
        flat = np.asarray(tree[name]).reshape(-1)
        print(kind, name, flat.size, *[f"{x:.8e}" for x in flat], file=out)
