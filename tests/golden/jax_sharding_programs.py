"""Programs of make_jax_sharding.py, as JAX writes them; tests/laws/jax_sharding_programs.h has the same ones in Bora.

PROGRAMS: name -> (function, "inputs -> results"). An input is "f32[64,32]D/-": dtype, shape, and for each dimension how
it is split: D over all mesh axes, d over data, m over model (over nothing on a mesh that has data alone), - not at all.
A result has the split only."""
import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

PROGRAMS = {}
ALL = "data"  # all axes of the mesh; make_jax_sharding.py sets it

def program(text, name=None):
    def add(f):
        PROGRAMS[name or f.__name__.rstrip("_")] = (f, text)
        return f

    return add


def axes(letter):
    """The mesh axes that a letter stands for; None: not split."""
    both = isinstance(ALL, tuple)
    return {"D": ALL, "d": "data", "m": "model" if both else None}.get(letter)


def constrained(x, *spec):
    return lax.with_sharding_constraint(x, P(*spec))


def several(f, **texts):
    for name, text in texts.items():
        PROGRAMS[name] = (f, text)


# Products.
several(lambda x: x @ x.T, own_transpose="f32[64,32]-/- -> D/-", own_transpose_tiles="f32[64,32]-/- -> d/m")
several(lambda x, w: x @ w,
        matmul_tiles="f32[64,32]d/- f32[32,48]-/m -> d/m", matmul_contracted="f32[64,32]-/D f32[32,48]D/- -> -/-",
        matmul_scattered="f32[64,32]-/D f32[32,48]D/- -> D/-",
        matmul_rows_contracted="f32[64,32]d/m f32[32,48]m/- -> d/-",
        matmul_gathered="f32[64,32]D/- f32[32,48]D/- -> D/-", matmul_weights="f32[64,32]D/- f32[32,48]-/D -> -/D")
several(lambda x, v, w: jnp.tanh(jnp.tanh(x @ v) @ w), megatron="f32[32,16]-/- f32[16,64]-/D f32[64,16]D/- -> -/-",
        megatron_data="f32[32,16]d/- f32[16,64]-/m f32[64,16]m/- -> d/-")
several(lambda x: jnp.exp(-jnp.sum(jnp.square(x[:, None] - x[None, :]), 2)), kernel_matrix="f32[64,8]-/- -> D/-",
        kernel_matrix_split="f32[64,8]D/- -> D/-", kernel_matrix_tiles="f32[64,8]-/- -> d/m")

# What stems from no operand.
several(lambda s: jnp.exp(jnp.zeros((64, 32)) + 1) * s, zeros="f32[]. -> D/-")
several(lambda s: jnp.exp(jnp.arange(4096.) * 0.001) * s, arange="f32[]. -> D")
several(lambda k: jax.random.normal(k, (64, 32)) * 0.02, draw="key[]. -> D/-", draw_tiles="key[]. -> d/m")
several(lambda x, k: x + jax.random.normal(k, x.shape), noise="f32[64,32]D/- key[]. -> D/-")
several(lambda x, k: jnp.where(jax.random.bernoulli(k, 0.5, x.shape), x * 2, 0.0),
        dropout="f32[64,32]D/- key[]. -> D/-")
several(lambda x: jnp.where(jnp.arange(48)[:, None] >= jnp.arange(48), x, -1e9),
        causal_mask="f32[8,48,48]D/-/- -> D/-/-",
        causal_mask_rows="f32[8,48,48]-/D/- -> -/D/-")

# Under vmap.
several(lambda x: jax.vmap(lambda r: constrained(jnp.sin(r), None))(x), vmap_constraint="f32[64,32]D/- -> D/-")
several(lambda w, x: jax.vmap(jax.grad(lambda v, r: jnp.sum(jnp.tanh(r @ v))), (None, 0))(w, x),
        per_example_gradients="f32[16,8]-/- f32[64,16]D/- -> D/-/-")

# Batches of matrices. The inputs are made positive definite.
for name, f, out in [("cholesky", jnp.linalg.cholesky, "D/-/-"), ("inv", jnp.linalg.inv, "D/-/-"),
                     ("det", jnp.linalg.det, "D"), ("slogdet", lambda a: jnp.linalg.slogdet(a)[1], "D"),
                     ("qr", lambda a: jnp.linalg.qr(a)[1], "D/-/-"),
                     ("svd", lambda a: jnp.linalg.svd(a, compute_uv=False), "D/-"),
                     ("eigh", lambda a: jnp.linalg.eigh(a)[0], "D/-")]:
    several(lambda a, f=f: f(a @ jnp.swapaxes(a, 1, 2) + 8 * jnp.eye(8)), **{name: "f32[16,8,8]D/-/- -> " + out})
several(lambda a, b: jnp.linalg.solve(a + 8 * jnp.eye(8), b), solve="f32[16,8,8]D/-/- f32[16,8,4]D/-/- -> D/-/-")
several(lambda a, b: lax.linalg.triangular_solve(a + 8 * jnp.eye(8), b, left_side=True, lower=True),
        triangular_solve="f32[16,8,8]D/-/- f32[16,8,4]D/-/- -> D/-/-")
several(lambda a, b: lax.linalg.triangular_solve(a + 8 * jnp.eye(16), b, left_side=True, lower=True),
        triangular_solve_columns="f32[16,16]-/- f32[16,64]-/D -> -/D")

# Fourier transforms.
several(lambda x: jnp.real(jnp.fft.fft(x)), fft_batch="f32[64,32]D/- -> D/-")
several(lambda x: jnp.real(jnp.fft.fft2(x)), fft2_batch="f32[16,16,16]D/-/- -> D/-/-")
several(lambda x: jnp.real(jnp.fft.fft(x, axis=0)), fft_split="f32[64,32]D/- -> D/-")


@program("f32[16,16,16]D/-/- -> D/-/-")
def poisson(f):
    def waves_of(x, fft, fft2):
        planes = constrained(fft2(constrained(x, ALL), axes=(1, 2)), ALL)
        return fft(constrained(planes, None, ALL), axis=0)

    k = jnp.square(jnp.fft.fftfreq(16, 1 / 16)).astype(jnp.float32)
    squares = k[:, None, None] + k[:, None] + k
    waves = waves_of(f, jnp.fft.fft, jnp.fft.fft2)
    u = constrained(jnp.where(squares == 0, 0, waves / jnp.where(squares == 0, 1, squares)), None, ALL)
    back = constrained(jnp.fft.ifft(u, axis=0), ALL)
    return jnp.real(jnp.fft.ifft2(back, axes=(1, 2)))


# Moves along a split dimension.
several(lambda x: x[8:40] * 2, slice="f32[64,16]D/- -> D/-")
several(lambda x: x[::2] * 2, every_other="f32[64,16]D/- -> D/-")
several(lambda x: jnp.flip(x, 0), flip="f32[64,16]D/- -> D/-")
several(lambda x: jnp.roll(x, 1, 0) * 2, roll="f32[64,16]D/- -> D/-")
several(lambda x: jnp.roll(x, (5, -3), (0, 1)) * 2, roll_both="f32[64,32]d/m -> d/m")
several(lambda x, y: jnp.concatenate([x, y * 2]), concatenate="f32[64,16]D/- f32[32,16]D/- -> D/-")
several(lambda x: jnp.pad(jnp.sin(x), ((3, 5), (0, 0))), pad="f32[64,16]D/- -> D/-")
several(lambda x: jnp.pad(jnp.diff(x, axis=0), ((0, 1), (0, 0))), diff="f32[64,16]D/- -> D/-")
several(lambda x: x[0] + x, first_row="f32[64,16]D/- -> D/-")
several(lambda x: x[:, 5] * 2, column="f32[64,16]D/- -> D")
several(lambda x: x[17] * 2, one_row="f32[64,16]D/- -> -")
several(lambda x: jnp.cumsum(x, 0), cumsum="f32[64,16]D/- -> D/-")
several(lambda x: jnp.reshape(x, (4, 16, 16)) * 2, microbatches="f32[64,16]D/- -> -/D/-")
several(lambda x: jnp.reshape(x, (64, 8)) * 2, merge="f32[16,4,8]D/-/- -> D/-")
several(lambda x: jnp.reshape(x, (16, 4, 8)) * 2, split="f32[64,8]D/- -> D/-/-")
several(lambda x: x.T * 2, transpose="f32[64,32]D/- -> D/-", transpose_kept="f32[64,32]D/- -> -/D")
several(lambda x, i: lax.dynamic_slice_in_dim(x, i, 16, 0) * 2, dynamic_slice="f32[64,16]D/- i32[]. -> D/-",
        dynamic_slice_columns="f32[64,16]-/D i32[]. -> -/D")
several(lambda x, y, i: lax.dynamic_update_slice_in_dim(x, y, i, 0) * 2,
        dynamic_update_slice="f32[64,16]D/- f32[4,16]-/- i32[]. -> D/-")

# Stencils.


def laplace(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u


several(lambda u: u + 0.1 * laplace(u), heat="f32[64,64]D/- -> D/-", heat_columns="f32[64,64]-/D -> -/D",
        heat_tiles="f32[64,64]d/m -> d/m")
several(lambda u, before: 2 * u - before + 0.1 * laplace(u), wave="f32[64,64]D/- f32[64,64]D/- -> D/-",
        wave_tiles="f32[64,64]d/m f32[64,64]d/m -> d/m")


@program("f32[64,64]D/- -> D/-")
def heat_walls(u):
    w = jnp.pad(u, 1)
    return u + 0.1 * (w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:] - 4 * u)


# Windows.


def conv(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


several(conv, conv_batch="f32[16,8,8,4]D/-/-/- f32[3,3,4,8]-/-/-/- -> D/-/-/-",
        conv_rows="f32[2,32,8,4]-/D/-/- f32[3,3,4,8]-/-/-/- -> -/D/-/-",
        conv_tiles="f32[2,32,16,4]-/d/m/- f32[3,3,4,8]-/-/-/- -> -/d/m/-",
        conv_features="f32[4,8,8,4]-/-/-/- f32[3,3,4,8]-/-/-/D -> -/-/-/D")
several(lambda x, w: conv(x, w, 2), conv_stride="f32[2,32,8,4]-/D/-/- f32[3,3,4,8]-/-/-/- -> -/D/-/-")
several(lambda x, w: conv(x, w, 1, 4), conv_groups="f32[16,8,8,4]D/-/-/- f32[3,3,1,8]-/-/-/- -> D/-/-/-")
several(max_pool, max_pool_batch="f32[16,8,8,4]D/-/-/- -> D/-/-/-", max_pool_rows="f32[2,32,8,4]-/D/-/- -> -/D/-/-")
several(jax.grad(lambda w, x: jnp.sum(jnp.sin(conv(x, w)))),
        conv_kernel_gradient="f32[3,3,4,8]-/-/-/- f32[16,8,8,4]D/-/-/- -> -/-/-/-",
        conv_kernel_gradient_rows="f32[3,3,4,8]-/-/-/- f32[2,32,8,4]-/D/-/- -> -/-/-/-")


@program("f32[3,3,4,8]-/-/-/- f32[3,3,8,8]-/-/-/- f32[8,16]-/- f32[16,8,8,4]D/-/-/- i32[16]D "
         "-> . -/-/-/- -/-/-/- -/-")
def convnet(stem, block, head, x, label):
    def loss(stem, block, head):
        h = jax.nn.relu(conv(x, stem))
        h = max_pool(h + jax.nn.relu(conv(h, block)))
        scores = jax.nn.log_softmax(jnp.mean(h, (1, 2)) @ head)
        return -jnp.mean(jnp.take_along_axis(scores, label[:, None], 1))

    value, slopes = jax.value_and_grad(loss, (0, 1, 2))(stem, block, head)
    return value, *slopes


# Sums, and rows by ids.
several(lambda x: jnp.sum(jnp.sin(x), 0), sum_split="f32[64,32]D/- -> -")
several(lambda x: jnp.max(x, 0), max_split="f32[64,32]D/- -> -")
several(lambda x: jnp.argmax(x, 0), argmax_split="f32[64,32]D/- -> -")
several(lambda x: jnp.argmax(x, 1), argmax_rows="f32[64,32]D/- -> D")
several(lambda x: jax.nn.softmax(x, 1), softmax_rows="f32[64,32]D/- -> D/-", softmax_split="f32[64,32]-/D -> -/D")
several(lambda x: jax.nn.logsumexp(x, 1), logsumexp_split="f32[64,32]-/D -> -")
several(lambda x: (x - jnp.mean(x, 1, keepdims=True)) * lax.rsqrt(jnp.var(x, 1, keepdims=True) + 1e-5),
        layer_norm="f32[64,32]D/- -> D/-", layer_norm_split="f32[64,32]-/D -> -/D")
several(lambda x: (x - jnp.mean(x, 0)) * lax.rsqrt(jnp.var(x, 0) + 1e-5), batch_norm="f32[64,32]D/- -> D/-")
several(lambda x: jnp.sort(x), sort="f32[1024]D -> D", sort_rows="f32[64,32]D/- -> D/-")
several(lambda x: jnp.argsort(x), argsort="f32[1024]D -> D")
several(lambda x: lax.top_k(x, 4)[0], top_k="f32[1024]D -> -", top_k_rows="f32[64,32]D/- -> D/-")
several(lambda t, i: jnp.take(t, i, 0, mode="clip"), take_ids="f32[64,16]-/- i32[128]D -> D/-",
        take_columns="f32[64,16]-/D i32[128]- -> -/D", take_table="f32[256,16]D/- i32[32]- -> -/-",
        take_both="f32[256,16]D/- i32[32]D -> D/-")
several(lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0], take_along="f32[64,32]D/- i32[64]D -> D",
        take_along_split="f32[64,32]-/D i32[64]- -> -")
several(lambda x, i, u: x.at[i].add(u, mode="drop"), scatter_add="f32[64,16]-/- i32[128]D f32[128,16]D/- -> -/-",
        scatter_add_rows="f32[64,16]D/- i32[128]- f32[128,16]-/- -> D/-",
        scatter_add_columns="f32[64,16]-/D i32[128]- f32[128,16]-/D -> -/D")


@program("f32[8,16,4,8]D/-/-/- f32[8,16,4,8]D/-/-/- f32[8,16,4,8]D/-/-/- -> D/-/-/-", "attention_batch")
@program("f32[8,16,4,8]-/-/D/- f32[8,16,4,8]-/-/D/- f32[8,16,4,8]-/-/D/- -> -/-/D/-", "attention_heads")
@program("f32[8,16,4,8]-/D/-/- f32[8,16,4,8]-/-/-/- f32[8,16,4,8]-/-/-/- -> -/D/-/-", "attention_queries")
def attention(q, k, v):
    p = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8**0.5, -1)
    return jnp.einsum("bhqk,bkhd->bqhd", p, v)


# Training.


def mlp_loss(up, down, x, y):
    return jnp.mean(jnp.square(jnp.tanh(x @ up) @ down - y))


def mlp(up, down, x, y):
    value, slopes = jax.value_and_grad(mlp_loss, (0, 1))(up, down, x, y)
    return value, *slopes


several(mlp, mlp_data="f32[16,64]-/- f32[64,16]-/- f32[32,16]D/- f32[32,16]D/- -> . -/- -/-",
        mlp_zero="f32[16,64]-/- f32[64,16]-/- f32[32,16]D/- f32[32,16]D/- -> . D/- D/-",
        mlp_tensor="f32[16,64]-/D f32[64,16]D/- f32[32,16]-/- f32[32,16]-/- -> . -/D D/-",
        mlp_both="f32[16,64]-/m f32[64,16]m/- f32[32,16]d/- f32[32,16]d/- -> . -/m m/-")


@program("f32[16,64]D/- f32[64,16]D/- f32[32,16]D/- f32[32,16]D/- -> . D/- D/-")
def mlp_fsdp(up, down, x, y):
    def loss(up, down):
        return mlp_loss(constrained(up), constrained(down), x, y)

    value, slopes = jax.value_and_grad(loss, (0, 1))(up, down)
    return value, *slopes


@program("f32[16,16]-/- f32[32,16]D/- f32[4,32,16]-/D/- -> . -/-")
def recurrent(w, h, xs):
    def loss(w):
        c = h
        for x in xs:
            c = jnp.tanh(c @ w + x)
        return jnp.mean(jnp.square(c))

    return jax.value_and_grad(loss)(w)


@program("f32[32,16]-/D i32[64]- -> .")
def cross_entropy_vocabulary(x, label):
    x = jnp.concatenate([x, x * 2])
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(jnp.tanh(x)), label[:, None], 1))


# GPT-2: 2 layers, embed 16, 4 heads, 8 positions, 32 tokens, batch 8.
LAYERS, EMBED, HEADS, POSITIONS, VOCAB = 2, 16, 4, 8, 32
SIZE, HIDDEN = EMBED // HEADS, 4 * EMBED
LEAVES = [((VOCAB, EMBED), "v", "e"), ((POSITIONS, EMBED), "-", "e"),
          ((LAYERS, EMBED), "-", "e"), ((LAYERS, EMBED), "-", "e")]
for _ in range(3):
    LEAVES += [((LAYERS, EMBED, HEADS, SIZE), "-", "e", "h", "-"), ((LAYERS, HEADS, SIZE), "-", "h", "-")]
LEAVES += [((LAYERS, HEADS, SIZE, EMBED), "-", "h", "-", "e"), ((LAYERS, EMBED), "-", "e"),
           ((LAYERS, EMBED), "-", "e"), ((LAYERS, EMBED), "-", "e"),
           ((LAYERS, EMBED, HIDDEN), "-", "e", "h"), ((LAYERS, HIDDEN), "-", "h"),
           ((LAYERS, HIDDEN, EMBED), "-", "h", "e"), ((LAYERS, EMBED), "-", "e"), ((EMBED,), "e"), ((EMBED,), "e")]


def gpt2(tokens, labels, *params, storage, batch):
    compute = {n: axes(letter) for n, letter in storage.items() if n != "e"} | {"b": axes(batch)}

    def loss(params):
        # As FSDP is written: a layer's leaves are whole where they are used.
        whole = [[constrained(leaf[l] if len(shape) and shape[0] == LAYERS else leaf,
                              *(compute.get(n) for n in (names[1:] if shape[0] == LAYERS else names)))
                  for leaf, (shape, *names) in zip(params, LEAVES)] for l in range(LAYERS)]

        def norm(x, w, b):
            c = x - jnp.mean(x, -1, keepdims=True)
            return c * lax.rsqrt(jnp.mean(c * c, -1, keepdims=True) + 1e-5) * w + b

        wte, wpe, end_w, end_b = whole[0][0], whole[0][1], whole[0][-2], whole[0][-1]
        x = constrained(jnp.take(wte, tokens, 0, mode="clip") + wpe, compute.get("b"))
        for _, _, lw, lb, qw, qb, kw, kb, vw, vb, ow, ob, mw, mb, uw, ub, dw, db, _, _ in whole:
            h = norm(x, lw, lb)
            q, k, v = (jnp.einsum("bpe,ehd->bphd", h, w) + b for w, b in ((qw, qb), (kw, kb), (vw, vb)))
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / SIZE**0.5
            s = jnp.where(jnp.tril(jnp.ones((POSITIONS, POSITIONS), bool)), s, -jnp.inf)
            h = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1), v)
            x = constrained(x + jnp.einsum("bphd,hde->bpe", h, ow) + ob, compute.get("b"))
            h = jax.nn.gelu(norm(x, mw, mb) @ uw + ub, approximate=True)
            x = constrained(x + h @ dw + db, compute.get("b"))
        logits = norm(x, end_w, end_b) @ wte.T
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)
        return -jnp.mean(picked)

    value, slopes = jax.value_and_grad(loss)(params)
    return value, *slopes


def gpt2_layout(name, storage, batch):
    """storage: leaf letters e, h, v -> template letter; batch: that of the rows."""
    def spec(names):
        return "/".join(storage.get(n, "-") for n in names)

    ins = [f"i32[8,8]{batch}/-"] * 2 + [f"f32[{','.join(map(str, s))}]{spec(n)}" for s, *n in LEAVES]
    outs = ["."] + [spec(n) for _, *n in LEAVES]
    PROGRAMS[name] = (functools.partial(gpt2, storage=storage, batch=batch), " ".join(ins) + " -> " + " ".join(outs))


gpt2_layout("gpt2_data", {}, "D")
gpt2_layout("gpt2_fsdp", {"e": "D"}, "D")
gpt2_layout("gpt2_tensor", {"h": "D", "v": "D"}, "-")
gpt2_layout("gpt2_both", {"e": "d", "h": "m", "v": "m"}, "d")
