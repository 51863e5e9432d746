"""JAX's side of perf/compare: jax_peer.py DEVICES (host devices of this process; more than one for the sharded
rows)."""
import os
import sys

if int(sys.argv[1]) > 1:
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={sys.argv[1]}"

import jax
import jax.numpy as jnp
import numpy as np
import optax

import networks
import programs
import science
from common import JOBS, STEPS, digest, digests, integers, of_normals, product_inputs, serve, uniform


def U(*arguments):
    return jnp.asarray(uniform(*arguments))


def I(*arguments):
    return jnp.asarray(integers(*arguments))


def wait(x):
    return jax.block_until_ready(x)


def one(f, *inputs):
    f = jax.jit(f)
    return {"jit": lambda: wait(f(*inputs))}


def halved(x):
    return jax.tree.map(lambda a: a.astype(jnp.bfloat16), x)


def products(half=False):
    def run(a):
        out = []
        for i in range(0, len(a), 3):
            out += [a[i] @ a[i + 1], a[i + 2] @ a[i + 1].T, a[i].T @ a[i + 2]]
        return out
    a = [jnp.asarray(x) for x in product_inputs()]
    return one(run, halved(a) if half else a)


def attend(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def attention(backward, half=False):
    q, k, v, d = (U(i + 1, (4, 1024, 12, 64)) for i in range(4))
    if half:
        q, k, v, d = halved((q, k, v, d))
    if not backward:
        return one(attend, q, k, v)

    def run(q, k, v, d):
        y, pull = jax.vjp(attend, q, k, v)
        return y, *pull(d)
    return one(run, q, k, v, d)


def norm(x, w, b):
    dtype, x = x.dtype, x.astype(jnp.float32)
    m = x.mean(-1, keepdims=True)
    return ((x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * w + b).astype(dtype)


def layer_norm():
    def run(x, w, b, d):
        y, pull = jax.vjp(norm, x, w, b)
        return y, *pull(d)
    return one(run, U(1, (4096, 768)), U(2, (768,)), U(3, (768,)), U(4, (4096, 768)))


def loss_of(scores, y):
    scores = scores.astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()


def adamw():
    tx, held = optax.adamw(1e-3, weight_decay=0.01), {}

    def step(p, s, g):
        u, s = tx.update(g, s, p)
        return optax.apply_updates(p, u), s
    step = jax.jit(step, donate_argnums=(0, 1))

    def begin():
        held.update(p=U(1, (1 << 26,)), g=U(2, (1 << 26,), 0.01))
        held["s"] = wait(tx.init(held["p"]))

    def run():
        held["p"], held["s"] = wait(step(held["p"], held["s"], held["g"]))

    def three():
        begin()
        for _ in range(3):
            run()
        return {"parameters": digest(held["p"])}
    begin()
    return {"donated": (run, three)}


def embedding_in_place():
    add = jax.jit(lambda t, at, d: t.at[at].add(d), donate_argnums=0)
    at, d = I(1, (8192,), 50257), U(2, (8192, 768))
    held = {"t": wait(add(jnp.zeros((50257, 768)), at, d))}

    def run():
        held["t"] = wait(add(held["t"], at, d))
    return {"donated": (run, lambda: digests(add(jnp.zeros((50257, 768)), at, d)))}


def embedding_new():
    return one(lambda t, at, d: jax.vjp(lambda t: t[at], t)[1](d)[0], U(1, (50257, 768)), I(1, (8192,), 50257),
               U(2, (8192, 768)))


def drawn(f):
    key = jax.random.key(0)
    return {"jit": (lambda: wait(f(key)), lambda: of_normals(f(key), True))}


def normals():
    return drawn(jax.jit(lambda key: jax.random.normal(key, (1 << 26,))))


def sharded_init():
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    return drawn(jax.jit(lambda key: jax.random.normal(key, (1 << 26,)), out_shardings=split))


def eager_add():
    a, b = U(1, (8,)), U(2, (8,))
    return {"eager": lambda: wait(a + b)}


def jit_call():
    leaves = [U(i, (8,)) for i in range(50)]
    return one(lambda a: [x + 1 for x in a], leaves)


def looped(body, init, constants, gradient):
    def loop(constants, init):
        return jax.lax.scan(lambda c, _: (body(c, constants), None), init, None, length=STEPS)[0]
    f = jax.grad(lambda k, c: sum(x.sum() for x in loop(k, c))) if gradient else loop
    return one(f, constants, init)


def small_scan(gradient):
    return looped(lambda c, k: [jnp.tanh(c[0] * k[0] + k[1])], [U(1, (8,))], [U(2, (8,)), U(3, (8,))], gradient)


def carries_scan():
    return looped(lambda c, k: [jnp.tanh(x * k[0] + k[1]) for x in c], [U(i, (8,)) for i in range(10)],
                  [U(11, (8,)), U(12, (8,))], False)


def product_scan(gradient):
    return looped(lambda c, k: [jnp.tanh(k[0] @ c[0])], [U(1, (64,))], [U(2, (64, 64), 0.2)], gradient)


def heat(shape, dtype, steps, gradient):
    def run(u, k):
        def step(x, _):
            above, below = jnp.pad(x[:-1], ((1, 0), (0, 0))), jnp.pad(x[1:], ((0, 1), (0, 0)))
            left = jnp.concatenate([x[:, -1:], x[:, :-1]], 1)
            right = jnp.roll(x, -1, 1)
            return x + k * (above + below + left + right - 4 * x), None
        return jax.lax.scan(step, u, None, length=steps)[0]

    f = jax.jit(jax.grad(lambda p: (run(*p) ** 2).sum()) if gradient else lambda p: (run(*p),))
    with jax.enable_x64(dtype == "float64"):
        p = jnp.asarray(uniform(1, shape), dtype), jnp.asarray(uniform(2, shape), dtype) * 0.02 + 0.1

    def call():
        with jax.enable_x64(dtype == "float64"):
            return wait(f(p))
    return {"scan": call}


def forward(p, x, y, scanned):
    layers = {k[len("blocks.layer."):]: v for k, v in p.items() if k.startswith("blocks.")}
    h = p["wte.weight"][x] + p["wpe"][: x.shape[1]]

    def block(h, l):
        z = norm(h, l["ln_1.weight"], l["ln_1.bias"])
        q, k, v = (jnp.einsum("bse,ehd->bshd", z, l[f"attn.{n}.weight"]) + l[f"attn.{n}.bias"] for n in "qkv")
        h = h + jnp.einsum("bshd,hde->bse", attend(q, k, v), l["attn.out.weight"]) + l["attn.out.bias"]
        z = jax.nn.gelu(norm(h, l["ln_2.weight"], l["ln_2.bias"]) @ l["mlp.up.weight"] + l["mlp.up.bias"])
        return h + z @ l["mlp.down.weight"] + l["mlp.down.bias"], None
    if scanned:
        h, _ = jax.lax.scan(block, h, layers)
    else:
        for i in range(len(layers["ln_1.bias"])):
            h, _ = block(h, {k: v[i] for k, v in layers.items()})
    return loss_of(norm(h, p["ln_f.weight"], p["ln_f.bias"]) @ p["wte.weight"].T, y)


def step_of(job, scanned, half=False):
    tx = optax.adamw(job.rate, b2=0.95, weight_decay=0.1)
    if job.clip:
        tx = optax.chain(optax.clip_by_global_norm(job.clip), tx)

    def step(p, s, x, y):
        loss, g = jax.value_and_grad(lambda p: forward(halved(p) if half else p, x, y, scanned))(p)
        u, s = tx.update(g, s, p)
        return optax.apply_updates(p, u), s, loss
    return tx, step


def training(job, half):
    variants, held = {}, {}
    x, y = (jnp.asarray(t) for t in job.data())
    tx, _ = step_of(job, True)

    def begin():
        held.clear()
        held["p"] = {k: jnp.asarray(v) for k, v in job.parameters().items()}
        held["s"] = tx.init(held["p"])

    def run(step):
        held["p"], held["s"], loss = step(held["p"], held["s"], x, y)
        return float(wait(loss))

    def losses(step):
        begin()
        return {"losses": [run(step) for _ in range(3)]}
    # 12 layers unrolled: slower, and minutes to compile
    for name in ("unrolled", "scan") if job.layers < 12 else ("scan",):
        step = jax.jit(step_of(job, name == "scan", half)[1], donate_argnums=(0, 1))
        variants[name] = (lambda step=step: run(step), lambda step=step: losses(step))
    begin()
    return variants


def compile_gpt2():
    job = JOBS["gpt2_b4_t256"]
    p = {k: jax.ShapeDtypeStruct(v.shape, v.dtype) for k, v in job.parameters().items()}
    x = jax.ShapeDtypeStruct((job.batch, job.tokens), np.int32)

    def run():
        jax.clear_caches()
        tx, step = step_of(job, True)
        jax.jit(step, donate_argnums=(0, 1)).lower(p, jax.eval_shape(tx.init, p), x, x).compile()
    return {"scan": (run, lambda: {"none": []})}


def gelu_chain(n):
    return one(lambda x, a, b, c: jax.nn.gelu(x * a + b) * c, *(U(i + 1, (n,)) for i in range(4)))


CASES = {
    "products": products, "vocabulary_product": lambda: one(jnp.matmul, U(1, (1024, 768)), U(2, (768, 50304))),
    "attention_forward": lambda: attention(False), "attention_backward": lambda: attention(True),
    "gelu_16k": lambda: gelu_chain(4096),
    "gelu_256k": lambda: gelu_chain(65536), "gelu_64m": lambda: gelu_chain(1 << 24),
    "softmax_1024": lambda: one(jax.nn.softmax, U(1, (4096, 1024), 4)),
    "softmax_50304": lambda: one(jax.nn.softmax, U(1, (512, 50304), 4)),
    "layer_norm": layer_norm,
    "cross_entropy": lambda: one(jax.value_and_grad(loss_of), U(1, (1024, 50304), 4), I(2, (1024,), 50304)),
    "adamw": adamw,
    "embedding_in_place": embedding_in_place, "embedding_new": embedding_new, "normals": normals,
    "sharded_init": sharded_init,
    "eager_add": eager_add, "jit_call": jit_call, "scan_small": lambda: small_scan(False),
    "scan_small_gradient": lambda: small_scan(True),
    "scan_carries": carries_scan, "scan_product": lambda: product_scan(False),
    "scan_product_gradient": lambda: product_scan(True),
    "heat2d": lambda: heat((512, 512), "float32", 100, False),
    "heat2d_gradient": lambda: heat((512, 512), "float32", 100, True),
    "heat2d_small": lambda: heat((48, 64), "float64", 200, True),
    "compile_gpt2": compile_gpt2, **science.CASES, **networks.CASES,
    "products_bf16": lambda: products(True), "attention_forward_bf16": lambda: attention(False, True),
    "attention_backward_bf16": lambda: attention(True, True),
    **{name: lambda job=job, half=name.endswith("bf16"): training(job, half) for name, job in JOBS.items()}}
serve(CASES, programs.case)
