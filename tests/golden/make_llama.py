#!/usr/bin/env python3
"""Losses and gradient norms of a small Llama over three AdamW steps: golden numbers for tests/models. Written from the
formulas, with JAX for derivatives and Optax for the optimizer: python make_llama.py > llama.txt"""
import jax
import jax.numpy as jnp
import numpy as np
import optax

jax.config.update("jax_enable_x64", True)
L, E, H, G, D, M, S, V, B = 2, 16, 2, 2, 4, 24, 8, 13, 3
SHAPES = [("wte", (V, E)), ("norm_1", (L, E)), ("q", (L, E, H, G, D)), ("k", (L, E, H, D)), ("v", (L, E, H, D)),
          ("out", (L, H, G, D, E)), ("norm_2", (L, E)), ("gate", (L, E, M)), ("up", (L, E, M)), ("down", (L, M, E)),
          ("norm", (E,)), ("lm_head", (E, V))]


def parameters():
    p = {}
    for k, (name, shape) in enumerate(SHAPES):
        i = np.arange(np.prod(shape), dtype=np.float64)
        norm = "norm" in name
        x = (0.2 if norm else 0.3) * np.sin(k + 0.37 * i) + (1 if norm else 0)
        p[name] = jnp.asarray(x.astype(np.float32).astype(np.float64).reshape(shape))
    return p


def rms(x, w):
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w


def rotate(x):  # [B, S, ..., D]: halves, as in GPT-NeoX and Llama
    angle = np.arange(S)[:, None] * 10000.0 ** (-2 * np.arange(D // 2) / D)
    angle = angle.reshape((1, S) + (1,) * (x.ndim - 3) + (D // 2,))
    a, b = x[..., :D // 2], x[..., D // 2:]
    return jnp.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def loss(p, tokens, targets, weights):
    x = p["wte"][tokens]
    causal = np.tril(np.ones((S, S), bool))
    for l in range(L):
        y = rms(x, p["norm_1"][l])
        q = rotate(jnp.einsum("bse,ehgd->bshgd", y, p["q"][l]))
        k = rotate(jnp.einsum("bse,ehd->bshd", y, p["k"][l]))
        v = jnp.einsum("bse,ehd->bshd", y, p["v"][l])
        scores = jnp.einsum("bshgd,bthd->bhgst", q, k) / np.sqrt(D)
        weight = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), -1)
        x = x + jnp.einsum("bhgst,bthd,hgde->bse", weight, v, p["out"][l])
        y = rms(x, p["norm_2"][l])
        x = x + (jax.nn.silu(y @ p["gate"][l]) * (y @ p["up"][l])) @ p["down"][l]
    logits = rms(x, p["norm"]) @ p["lm_head"]
    each = jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return (each * weights).sum() / weights.sum()


at = np.arange(B * S).reshape(B, S)
batch = at * 7 % V, (at + 1) * 7 % V, (at % 5 != 4).astype(np.float64)
p = parameters()
tx = optax.adamw(1e-2, b1=0.9, b2=0.95, eps=1e-8, weight_decay=0.1, mask={k: "norm" not in k for k in p})
state = tx.init(p)
print(f"# jax {jax.__version__}, optax {optax.__version__}: step, loss, norm of the gradient")
for step in range(3):
    value, g = jax.value_and_grad(loss)(p, *batch)
    print(step, repr(float(value)), repr(float(optax.global_norm(g))))
    u, state = tx.update(g, state, p)
    p = optax.apply_updates(p, u)
