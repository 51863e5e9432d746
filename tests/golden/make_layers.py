"""Writes layers.txt: results of layers by their formulas, in NumPy and f64.

  python make_layers.py > layers.txt

Operand k of a case has the numbers sin(k + 0.37 i); norms' weights are 1 more. Every line: name, count, numbers."""
import numpy as np


def operand(k, *shape):
    return np.sin(k + 0.37 * np.arange(np.prod(shape))).reshape(shape)


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * weight


def silu(x):
    return x / (1 + np.exp(-x))


def rotate(x, positions, theta):
    """As Llama: x [.., position, heads, size] times cos plus (-second half, first half) times sin."""
    size = x.shape[-1]
    angle = positions[:, None] * theta ** (-np.arange(0, size, 2) / size)
    angle = np.concatenate([angle, angle], -1)[:, None, :]
    turned = np.concatenate([-x[..., size // 2:], x[..., :size // 2]], -1)
    return x * np.cos(angle) + turned * np.sin(angle)


def attention(x, q, k, v, out, theta):
    """Causal. q [embed, heads, group, size], k and v [embed, heads, size], out [heads, group, size, embed]."""
    places = np.arange(x.shape[1])
    embed, heads, group, size = q.shape
    query = rotate(np.einsum("bpe,enz->bpnz", x, q.reshape(embed, heads * group, size)), places, theta)
    key = np.repeat(rotate(np.einsum("bpe,ehz->bphz", x, k), places, theta), group, axis=2)
    value = np.repeat(np.einsum("bpe,ehz->bphz", x, v), group, axis=2)
    scores = np.einsum("bqnz,bknz->bnqk", query, key) / np.sqrt(size)
    scores = np.where(places[None, :] <= places[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    y = np.einsum("bnqk,bknz->bqnz", weights, value)
    return np.einsum("bqnz,nze->bqe", y, out.reshape(heads * group, size, embed))


def show(name, y):
    print(name, y.size, *("%.9g" % n for n in y.ravel()))


show("rms_norm", rms_norm(operand(0, 2, 3, 8), 1 + operand(1, 8), 1e-6))
x = operand(0, 3, 8)
show("gated_mlp", (silu(x @ operand(1, 8, 12)) * (x @ operand(2, 8, 12))) @ operand(3, 12, 8))
show("rotary", rotate(operand(0, 2, 5, 2, 6), np.arange(5), 10000.0))
show("rotary_later", rotate(operand(0, 2, 5, 2, 6), 1000 + 7 * np.arange(5), 500000.0))
show("attention", attention(operand(0, 2, 5, 8), operand(1, 8, 2, 3, 4), operand(2, 8, 2, 4), operand(3, 8, 2, 4),
                            operand(4, 2, 3, 4, 8), 10000.0))
