"""Programs written as one word (perf/cases/programs.cpp): JAX's meaning of each step, and how perf/race draws them.

As a script: programs.py SEED COUNT prints COUNT programs. A step's row says which values it takes (f: floating,
i: i32), draws its integers, and computes it."""
import random
import sys

import jax
import jax.numpy as jnp
import numpy as np

import further_steps
from common import digests, integers, uniform

LARGEST = 10**7
ROWS = {}


def row(name, takes, weight=1.0, draw=lambda rng, *x: ()):
    def put(f):
        ROWS[name] = (takes, weight, draw, f)
        return f
    return put


def elementwise(name, f):
    row(name, "f", 0.6)(lambda x: f(x))


for name, f in {"sin": jnp.sin, "cos": jnp.cos, "tanh": jnp.tanh, "erf": jax.scipy.special.erf, "abs": jnp.abs,
                "negative": jnp.negative, "square": jnp.square, "sigmoid": jax.nn.sigmoid, "silu": jax.nn.silu,
                "relu": lambda x: jnp.maximum(x, 0), "floor": lambda x: jnp.floor(x * 8),
                "root": lambda x: jnp.sqrt(jnp.abs(x) + 1), "decay": lambda x: jnp.exp(-jnp.abs(x)),
                "log": lambda x: jnp.log(jnp.abs(x) + 1), "inverse": lambda x: 1 / (x * x + 1),
                "affine": lambda x: x * 0.75 + 0.25, "clip": lambda x: jnp.clip(x, -0.5, 0.5)}.items():
    elementwise(name, f)


def together(rng, *x):
    """Nothing to draw, where the shapes broadcast."""
    shape = np.broadcast_shapes(*(v.shape for v in x))   # an error: cannot be
    return () if np.prod(shape) <= LARGEST else None


def axis(rng, x):
    return (rng.randrange(x.ndim),) if x.ndim else None


def axes(rng, x):
    return tuple(sorted(rng.sample(range(x.ndim), rng.randint(1, min(2, x.ndim))))) if x.ndim else None


for name, f in {"add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "maximum": jnp.maximum,
                "minimum": jnp.minimum, "divide": lambda x, y: x / (jnp.abs(y) + 1),
                "hypot": lambda x, y: jnp.sqrt(x * x + y * y + 1),
                "less": lambda x, y: (x < y).astype(x.dtype)}.items():
    row(name, "ff", 2.0, together)(lambda x, y, f=f: f(x, y))
row("where", "fff", 2.0, together)(lambda x, y, z: jnp.where(x < y, x, z))
for name, f in {"mean": lambda x, n: x.mean(n), "mean_keep": lambda x, n: x.mean(n, keepdims=True),
                "amax": lambda x, n: x.max(n), "amax_keep": lambda x, n: x.max(n, keepdims=True),
                "var": lambda x, n: x.var(n),
                "logsumexp": lambda x, n: jax.scipy.special.logsumexp(x, axis=n)}.items():
    row(name, "f", 0.7, axes)(lambda x, *n, f=f: f(x, n))
row("softmax", "f", 1.0, axis)(lambda x, n: jax.nn.softmax(x, n))
row("cumsum", "f", 0.7, axis)(lambda x, n: jnp.cumsum(x, n) / x.shape[n])
row("sort", "f", 0.3, axis)(lambda x, n: jnp.sort(x, n))
row("argmax", "f", 0.7, axis)(lambda x, n: jnp.argmax(x, n).astype(jnp.int32))
row("argsort", "f", 0.2, axis)(lambda x, n: jnp.argsort(x, n).astype(jnp.int32))
row("transpose", "f", 1.5, lambda rng, x: tuple(rng.sample(range(x.ndim), x.ndim)) if x.ndim > 1 else None)(
    lambda x, *n: jnp.transpose(x, n))


def new_shape(rng, x):
    """Two neighbours joined, or one dimension divided."""
    shape = list(x.shape)
    k = rng.randrange(len(shape)) if shape else None
    if k is None:
        return None
    if k + 1 < len(shape) and rng.random() < 0.5:
        return (*shape[:k], shape[k] * shape[k + 1], *shape[k + 2:])
    divisors = [d for d in (2, 3, 4, 5, 8, 10, 16) if shape[k] % d == 0 and shape[k] > d]
    if not divisors or len(shape) > 4:
        return None
    d = rng.choice(divisors)
    return (*shape[:k], shape[k] // d, d, *shape[k + 1:])


row("reshape", "f", 1.0, new_shape)(lambda x, *n: x.reshape(n))
row("broadcast", "f", 0.4, lambda rng, x: (rng.randint(2, 8), *x.shape) if x.size < 10**6 else None)(
    lambda x, *n: jnp.broadcast_to(x, n))


def part(rng, x):
    if not x.ndim or max(x.shape) < 4:
        return None
    k = rng.choice([d for d in range(x.ndim) if x.shape[d] >= 4])
    n = x.shape[k]
    return k, rng.randint(0, n // 4), rng.randint(n - n // 4, n), rng.choice((1, 1, 1, 2, 3))


row("slice", "f", 1.5, part)(lambda x, k, lo, hi, by: jax.lax.slice_in_dim(x, lo, hi, by, k))
row("pad", "f", 1.0, lambda rng, x: tuple(rng.randint(0, 2) for _ in range(2 * x.ndim)) if x.ndim else None)(
    lambda x, *n: jnp.pad(x, list(zip(n[:x.ndim], n[x.ndim:])), constant_values=0.5))


def joined(rng, x, y):
    if not x.ndim or x.ndim != y.ndim:
        return None
    other = [d for d in range(x.ndim) if x.shape[d] != y.shape[d]]
    return None if len(other) > 1 else tuple(other) or (rng.randrange(x.ndim),)


row("concatenate", "ff", 1.5, joined)(lambda x, y, k: jnp.concatenate((x, y), k))
row("stack", "ff", 1.0, lambda rng, x, y: (rng.randint(0, x.ndim),) if x.shape == y.shape else None)(
    lambda x, y, k: jnp.stack((x, y), k))


def shift(rng, x):
    k = axis(rng, x)
    return k and (rng.choice((-2, -1, 1, 2)), *k)


row("roll", "f", 1.5, shift)(lambda x, n, k: jnp.roll(x, n, k))
row("flip", "f", 1.0, axes)(lambda x, *n: jnp.flip(x, n))
row("repeat", "f", 0.3, lambda rng, x: (rng.randint(2, 3), *axis(rng, x)) if x.ndim else None)(
    lambda x, n, k: jnp.repeat(x, n, k))
row("diff", "f", 1.0, lambda rng, x: axis(rng, x) if x.ndim and min(x.shape) > 2 else None)(
    lambda x, k: jnp.diff(x, axis=k))
row("take", "fi", 1.0, lambda rng, x, i: axis(rng, x) if x.ndim and i.ndim == 1 else None)(
    lambda x, i, k: jnp.take(x, jnp.abs(i), k, mode="clip"))
row("segment_sum", "fi", 1.0,
    lambda rng, x, i: (rng.choice((4, 10, 100, 1000)),) if x.ndim and i.shape == x.shape[:1] else None)(
    lambda x, i, n: jnp.zeros((n, *x.shape[1:]), x.dtype).at[jnp.remainder(i, n)].add(x) * (n / 1e3))


def corner(rng, x, y):
    if x.ndim != y.ndim or any(b > a for a, b in zip(x.shape, y.shape)):
        return None
    return tuple(rng.randint(0, a - b) for a, b in zip(x.shape, y.shape))


row("set", "ff", 1.0, corner)(lambda x, y, *n: jax.lax.dynamic_update_slice(x, y.astype(x.dtype), n))


def product(rng, x, y):
    if min(x.ndim, y.ndim) != 2 or max(x.ndim, y.ndim) > 3 or x.shape[-1] != y.shape[-2]:
        return None
    return () if x.size * y.shape[-1] < 5e9 else None


row("matmul", "ff", 3.0, product)(lambda x, y: jnp.matmul(x, y) / x.shape[-1])
row("gram", "f", 1.0, lambda rng, x: () if x.ndim == 2 and x.size * x.shape[1] < 5e9 and x.shape[1] < 3000 else None)(
    lambda x: x.T @ x / x.shape[0])
row("outer", "ff", 0.5, lambda rng, x, y: () if x.ndim == y.ndim == 1 and x.size * y.size <= LARGEST else None)(
    lambda x, y: jnp.outer(x, y))
row("narrow", "f", 0.2)(lambda x: x.astype(jnp.float32))
row("float", "i", 1.0, lambda rng, x: (rng.choice((10, 1000)),))(lambda x, n: x.astype(jnp.float32) / n)
row("integer", "f", 0.3)(lambda x: jnp.floor(x * 100).astype(jnp.int32))
row("integer_add", "ii", 0.7, together)(lambda x, y: x + y)
row("integer_mix", "i", 0.7)(lambda x: (x * 3) ^ (x >> 2))
row("integer_modulo", "i", 0.7, lambda rng, x: (rng.choice((7, 64, 1000)),))(lambda x, n: jnp.remainder(x, n))


def after(rng, x):
    """A recurrence along the first dimension."""
    return () if x.ndim and 2 <= x.shape[0] <= 2000 else None


def times(rng, x):
    n = rng.randint(2, 50)
    return (n,) if x.size * n < 3e7 else None


def a_seed(rng, x):
    return (rng.randint(0, 9),)


def rows_of(rng, x):
    return () if x.ndim >= 2 else None


def recurrence(x):
    def step(c, row):
        c = jnp.tanh(c * 0.5 + row)
        return c, c
    return jax.lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), x)[1]


def halved(x):
    x = jax.lax.stop_gradient(x)
    return jax.lax.while_loop(lambda v: jnp.abs(v).max() > 0.1, lambda v: v * 0.5, x)


def bytes_of(x):
    u = jnp.clip(x * 64 + 128, 0, 255).astype(jnp.uint8)
    return jnp.where(u > 100, u >> 1, 255 - u)


row("recurrence", "f", 0.7, after)(recurrence)
row("iterate", "f", 0.5, times)(lambda x, n: jax.lax.fori_loop(0, n, lambda i, v: v * 0.9 + 0.1 * jnp.cos(v), x))
row("relax", "f", 0.7, lambda rng, x: times(rng, x) and axis(rng, x) and times(rng, x) + axis(rng, x))(
    lambda x, n, k: jax.lax.fori_loop(0, n, lambda i, v: (jnp.roll(v, 1, k) + jnp.roll(v, -1, k)) * 0.5, x))
row("halved", "f", 0.3)(halved)
row("branch", "ff", 0.5, lambda rng, x, y: () if x.shape == y.shape and x.dtype == y.dtype else None)(
    lambda x, y: jax.lax.cond(x.mean() > y.mean(), lambda a, b: a * 2 + b, lambda a, b: b - a, x, y))
row("uniform", "f", 0.4, a_seed)(lambda x, n: x + jax.random.uniform(jax.random.key(n), x.shape, x.dtype))
row("normal", "f", 0.3, a_seed)(lambda x, n: x + 0.1 * jax.random.normal(jax.random.key(n), x.shape, x.dtype))
row("dropout", "f", 0.3, a_seed)(
    lambda x, n: jnp.where(jax.random.bernoulli(jax.random.key(n), jnp.float32(0.5), x.shape), x * 2, 0))
row("brief", "f", 0.4)(   # exact in bf16
    lambda x: (jnp.clip(jnp.floor(x * 8), -100, 100).astype(jnp.bfloat16) * 0.5 + 1).astype(x.dtype))
row("bytes", "f", 0.5)(lambda x: bytes_of(x).astype(x.dtype) / 256)
row("byte_mean", "f", 0.3, axes)(lambda x, *n: bytes_of(x).astype(x.dtype).mean(n) / 256)
row("norm", "f", 0.7, axis)(
    lambda x, k: (x - x.mean(k, keepdims=True)) / jnp.sqrt(x.var(k, keepdims=True) + 1e-2))
row("length", "f", 0.5, axes)(lambda x, *n: jnp.sqrt((x * x).sum(n) + 1))
row("any", "f", 0.3, axes)(lambda x, *n: (x > 0.9).any(n).astype(x.dtype))
row("cummax", "f", 0.3, axis)(lambda x, k: jax.lax.cummax(x, k))
row("pick", "f", 0.4, axis)(lambda x, k: jnp.take_along_axis(x, jnp.argmax(x, k, keepdims=True), k))
row("top", "f", 0.2, lambda rng, x: (rng.randint(1, min(16, x.shape[-1])),) if x.ndim else None)(
    lambda x, n: jax.lax.top_k(x, n)[0])
row("search", "ff", 0.3, lambda rng, x, y: () if x.ndim == 1 and x.dtype == y.dtype else None)(
    lambda x, y: jnp.searchsorted(jnp.sort(x), y).astype(y.dtype) / x.size)
row("tril", "f", 0.4, rows_of)(lambda x: jnp.tril(x))
row("turn", "f", 0.4, lambda rng, x: () if x.ndim and x.shape[-1] % 2 == 0 else None)(
    lambda x: jnp.concatenate((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), -1))
row("smooth", "f", 0.4, lambda rng, x: () if x.ndim == 1 and x.size > 3 else None)(
    lambda x: jnp.convolve(x, jnp.array([0.25, 0.5, 0.25], x.dtype), "same"))
row("product_rows", "ff", 1.0,
    lambda rng, x, y: () if x.ndim == y.ndim and x.ndim > 1 and x.shape[:-2] == y.shape[:-2]
    and x.shape[-1] == y.shape[-1] and x.size * y.shape[-2] < 5e9 else None)(
    lambda x, y: jnp.matmul(x, jnp.swapaxes(y, -1, -2)) / x.shape[-1])
row("segment_max", "fi", 0.5,
    lambda rng, x, i: (rng.choice((4, 10, 100, 1000)),) if x.ndim and i.shape == x.shape[:1] else None)(
    lambda x, i, n: jnp.maximum(jax.ops.segment_max(x, jnp.remainder(i, n), n), -1))
row("one_hot", "i", 0.3, lambda rng, x: (rng.choice((4, 10, 100)),) if x.size < 10**5 else None)(
    lambda x, n: jax.nn.one_hot(jnp.remainder(x, n), n, dtype=jnp.float32))
row("count", "i", 0.3, lambda rng, x: (rng.choice((10, 100, 1000)),) if x.ndim == 1 else None)(
    lambda x, n: jnp.bincount(jnp.remainder(x, n), length=n))
row("integer_sum", "i", 0.5, axes)(lambda x, *n: x.sum(n))
row("integer_max", "i", 0.4, axes)(lambda x, *n: x.max(n))
row("threshold", "i", 0.5, lambda rng, x: (rng.choice((3, 50)),))(lambda x, n: jnp.where(x > n, x, 0))

further_steps.add(row, axis, axes, LARGEST)


def size_of(rng):
    """1 to 4 dimensions of 10 to 10^7 numbers together."""
    rank, left, shape = rng.choice((1, 2, 2, 3, 3, 4)), 10 ** rng.uniform(1, 7), []
    for k in range(rank):
        one = left ** (1 / (rank - k)) * (2 ** rng.uniform(-1, 1) if k + 1 < rank else 1)
        shape.append(max(1, min(round(one), LARGEST)))
        left /= shape[-1]
    return tuple(max(2, n) for n in shape)


def parse(text):
    head, *lines = text.split(";")
    steps, results = [], []
    for line in lines:
        op, *words = line.split(",")
        of = [int(w[1:]) for w in words if w[0] == "v"]
        if op == "out":
            results = of
        else:
            steps.append((op, of, [int(w) for w in words if w[0] != "v"]))
    return "f64" in head, "gradient" in head, steps, results


def inputs_of(wide, steps):
    made = []
    for k, (op, _, numbers) in enumerate(steps):
        if op == "in":
            made.append(uniform(k + 1, numbers).astype(np.float64 if wide else np.float32))
        elif op == "integers":
            made.append(integers(k + 1, numbers[1:], numbers[0]))
    return made


def evaluate(steps, results, inputs):
    inputs, values = iter(inputs), []
    for op, of, numbers in steps:
        values.append(next(inputs) if op in ("in", "integers") else ROWS[op][3](*(values[k] for k in of), *numbers))
    return [values[k] for k in results]


def compiled(text):
    wide, gradient, steps, results = parse(text)
    inputs = inputs_of(wide, steps)
    floating = [k for k, x in enumerate(inputs) if x.dtype.kind == "f"]

    def loss(some, rest):
        mixed = list(rest)
        for k, x in zip(floating, some):
            mixed[k] = x
        return sum(y.mean().astype(some[0].dtype) for y in evaluate(steps, results, mixed) if y.dtype.kind == "f")

    def slopes(x):
        return [g * 1e3 for g in jax.grad(loss)([x[k] for k in floating], x)]

    run = jax.jit(slopes if gradient else lambda x: evaluate(steps, results, x))
    return wide, run, inputs


def case(text):
    wide, run, inputs = compiled(text)
    with jax.enable_x64(wide):
        inputs = [jnp.asarray(x) for x in inputs]

    def once():
        with jax.enable_x64(wide):
            return jax.block_until_ready(run(inputs))
    return {"jit": (once, lambda: digests(once()))}


def draw(rng):
    """The text of a program."""
    wide, gradient, depth = rng.random() < 0.3, rng.random() < 0.25, rng.randint(3, 30)
    first = size_of(rng)
    lines, types = [], []

    def add(op, of, numbers, kind, shape):
        lines.append(",".join([op, *(f"v{k}" for k in of), *map(str, numbers)]))
        types.append((kind, shape))

    for k in range(rng.randint(1, 3)):
        shape = first if k == 0 or rng.random() < 0.4 else first[k % len(first):] if rng.random() < 0.7 else first[:1]
        add("in", [], shape, jnp.float64 if wide else jnp.float32, shape)
    n = rng.choice((first[0], 7, 100))
    if rng.random() < 0.5:
        add("integers", [], (rng.choice((4, min(first), 10)), n), jnp.int32, (n,))
    used, tries = set(), 0
    names = list(ROWS)
    weights = [ROWS[name][1] for name in names]
    while depth and tries < 2000:
        tries += 1
        op = rng.choices(names, weights)[0]
        takes, _, choose, f = ROWS[op]
        of = []
        for kind in takes:
            wanted = [k for k, (t, _) in enumerate(types) if (t == jnp.int32) == (kind == "i")]
            if not wanted:
                break
            of.append(rng.choice(wanted[-4:] if rng.random() < 0.75 else wanted))
        if len(of) < len(takes):
            continue
        shapes = [jax.ShapeDtypeStruct(types[k][1], types[k][0]) for k in of]
        try:
            numbers = choose(rng, *shapes)
            if numbers is None:
                continue
            with jax.enable_x64(True):
                y = jax.eval_shape(lambda *x: f(*x, *numbers), *shapes)
        except (ValueError, TypeError):   # shapes that do not fit this operation
            continue
        if np.prod(y.shape) > LARGEST:
            continue
        used.update(of)
        add(op, of, numbers, y.dtype.type, y.shape)
        depth -= 1
    results = [k for k in range(len(types)) if k not in used and lines[k].split(",")[0] not in ("in", "integers")][-4:]
    if gradient and not any(types[k][0] != jnp.int32 for k in results):
        gradient = False
    head = ("f64" if wide else "f32") + (",gradient" if gradient else "")
    return ";".join([head, *lines, ",".join(["out", *(f"v{k}" for k in results)])])


def sound(text):
    """Every result is finite, moderate, and does not vanish."""
    wide, run, inputs = compiled(text)
    with jax.enable_x64(wide):
        results = [np.asarray(x) for x in run(inputs)]
    return results and all(np.isfinite(x).all() and 1e-6 < np.abs(x).max() < 1e9 for x in results if x.size)


def main(seed, count):
    rng = random.Random(seed)
    while count:
        text = draw(rng)
        if sound(text):
            print(text, flush=True)
            count -= 1


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
