"""Writes losses.txt: T5X's loss (t5x/losses.py) with its custom gradient, written out in NumPy and f64.

  python make_losses.py > losses.txt

Scores [2, 6, 7] are 3 sin(0.37 i); targets (5 p + 3 b) % 7; weights 0 where (b + p) % 4 == 3, else 1 + 0.5 sin(i).
Every line: name, count, numbers."""
import numpy as np

B, P, V = 2, 6, 7
scores = 3 * np.sin(0.37 * np.arange(B * P * V)).reshape(B, P, V)
targets = (5 * np.arange(P)[None, :] + 3 * np.arange(B)[:, None]) % V
at = np.arange(B * P).reshape(B, P)
weights = np.where((np.arange(B)[:, None] + np.arange(P)[None, :]) % 4 == 3, 0, 1 + 0.5 * np.sin(at))
# Row 0: documents 1 1 1 2 2 and padding; row 1: 1 1 2 2 2 3.
segments = np.array([[1, 1, 1, 2, 2, 0], [1, 1, 2, 2, 2, 3]])


def line(name, x):
    x = np.asarray(x, dtype=np.float64).ravel()
    print(name, x.size, *(f"{v:.15g}" for v in x))


def log_z(x):
    m = x.max(-1)
    return m + np.log(np.exp(x - m[..., None]).sum(-1))


def cross_entropy_with_logits(x, soft, z_loss):
    """The loss, and its gradient by T5X's rule: (1 + 2 z log Z) softmax - targets."""
    z = log_z(x)
    log_softmax = x - z[..., None]
    loss = -(soft * log_softmax).sum(-1) + z_loss * z ** 2
    gradient = (1 + 2 * z_loss * z)[..., None] * np.exp(log_softmax) - soft
    return loss, gradient


def soft_targets(smoothing):
    on = 1 - smoothing
    off = smoothing / (V - 1)
    constant = -(on * np.log(on) + (V - 1) * off * np.log(off + 1e-20))
    return np.where(np.arange(V) == targets[..., None], on, off), constant


for name, z_loss, smoothing in (("plain", 0, 0), ("z", 0.05, 0), ("smooth", 0, 0.1), ("both", 0.02, 0.3)):
    soft, constant = soft_targets(smoothing)
    loss, gradient = cross_entropy_with_logits(scores, soft, z_loss)
    line(name + ".loss", loss - constant)
    line(name + ".gradient", gradient * weights[..., None])

soft = np.exp(np.cos(0.9 * np.arange(B * P * V))).reshape(B, P, V)
soft /= soft.sum(-1, keepdims=True)
loss, gradient = cross_entropy_with_logits(scores, soft, 0.02)
line("soft.loss", loss)
line("soft.gradient", gradient * weights[..., None])

# compute_weighted_cross_entropy of "both", over each normalising factor.
soft, constant = soft_targets(0.3)
loss, gradient = cross_entropy_with_logits(scores, soft, 0.02)
loss -= constant


def per_segment():
    """The sum of the weights of each position's own document."""
    total = np.zeros((B, P))
    for b in range(B):
        for p in range(P):
            total[b, p] = sum(weights[b, q] for q in range(P) if segments[b, q] == segments[b, p])
    return total


def over(w, total):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(w / total, nan=0, posinf=0, neginf=0)


per_row = over(weights, weights.sum(-1, keepdims=True))
per_document = over(weights, per_segment())
for name, w, factor in (("real_target_tokens", weights, weights.sum()),
                        ("total_target_tokens", weights, B * P),
                        ("average_per_sequence", per_row, per_row.sum()),
                        ("average_per_sequence.packed", per_document, per_document.sum())):
    line(name + ".loss", (loss * w).sum() / factor)
    line(name + ".gradient", gradient * w[..., None] / factor)
