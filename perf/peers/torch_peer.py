"""PyTorch's side of perf/compare: torch_peer.py THREADS. As one of several ranks (RANK, WORLD_SIZE, ..) it joins a gloo
group."""
import os
import sys

import torch
import torch.nn.functional as F

import torch_networks
from common import JOBS, digest, digests, integers, of_normals, product_inputs, serve, uniform
from torch_gpt import Gpt

torch.set_num_threads(int(sys.argv[1]))
RANKS = int(os.environ.get("WORLD_SIZE", 1))
if RANKS > 1:
    torch.distributed.init_process_group("gloo")


def T(*arguments):
    return torch.from_numpy(uniform(*arguments))


def I(*arguments):
    return torch.from_numpy(integers(*arguments))


def both(f, *inputs, compiled=True, **more):
    """f as it is and compiled."""
    variants = {"eager": lambda: f(*inputs)}
    if compiled:
        c = torch.compile(f)
        variants["compile"] = lambda: c(*inputs)
    return variants | more


def products(dtype=torch.float32):
    a, pairs = [torch.from_numpy(x).to(dtype) for x in product_inputs()], []
    for i in range(0, len(a), 3):
        x, w, d = a[i:i + 3]
        pairs += [(x, w), (d, w.T), (x.T, d)]
    kept = [torch.mm(x, w) for x, w in pairs]
    return {"eager": lambda: [torch.mm(x, w) for x, w in pairs],
            "out": lambda: [torch.mm(x, w, out=y) for (x, w), y in zip(pairs, kept)]}


def vocabulary_product():
    a, b = T(1, (1024, 768)), T(2, (768, 50304))
    kept = torch.empty(1024, 50304)
    return both(torch.mm, a, b, compiled=False, out=lambda: torch.mm(a, b, out=kept))


def attention(backward, dtype=torch.float32):
    q, k, v, d = (T(i + 1, (4, 1024, 12, 64)).to(dtype).transpose(1, 2) for i in range(4))
    if not backward:
        def forward():
            with torch.no_grad():
                return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        return both(forward, compiled=False)
    for x in (q, k, v):
        x.requires_grad_()

    def run():
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return [x.transpose(1, 2) for x in (y, *torch.autograd.grad(y, (q, k, v), d))]
    return both(run, compiled=False)


def gelu_chain(n):
    x, a, b, c = (T(i + 1, (n,)) for i in range(4))
    return both(lambda x, a, b, c: F.gelu(x * a + b, approximate="tanh") * c, x, a, b, c)


def softmax(*shape):
    x = T(1, shape, 4)
    kept = torch.empty(shape)
    return both(lambda x: F.softmax(x, -1), x, out=lambda: torch.softmax(x, -1, out=kept))


def layer_norm():
    x, w, b, d = T(1, (4096, 768)), T(2, (768,)), T(3, (768,)), T(4, (4096, 768))
    for t in (x, w, b):
        t.requires_grad_()

    def run(f):
        y = f(x, w, b)
        return [y, *torch.autograd.grad(y, (x, w, b), d)]

    def plain(x, w, b):
        return F.layer_norm(x, (768,), w, b)
    c = torch.compile(plain)
    return {"eager": lambda: run(plain), "compile": lambda: run(c)}


def cross_entropy():
    x, y = T(1, (1024, 50304), 4).requires_grad_(), I(2, (1024,), 50304).long()

    def run(f):
        loss = f(x, y)
        return [loss, *torch.autograd.grad(loss, x)]
    c = torch.compile(F.cross_entropy)
    return {"eager": lambda: run(F.cross_entropy), "compile": lambda: run(c)}


def adamw():
    held = {}

    def begin():
        p = torch.nn.Parameter(T(1, (1 << 26,)))
        p.grad = T(2, (1 << 26,), 0.01)
        held["p"], held["o"] = p, torch.optim.AdamW([p], lr=1e-3, weight_decay=0.01, fused=True)

    def three():
        begin()
        for _ in range(3):
            held["o"].step()
        return {"parameters": digest(held["p"].detach())}
    begin()
    return {"fused": (lambda: held["o"].step(), three)}


def embedding_in_place():
    at, d, table = I(1, (8192,), 50257), T(2, (8192, 768)), torch.zeros(50257, 768)
    return {"index_add_": (lambda: table.index_add_(0, at, d),
                           lambda: digests(torch.zeros(50257, 768).index_add_(0, at, d)))}


def embedding_new():
    at, d = I(1, (8192,), 50257), T(2, (8192, 768))
    # without the rows of forward
    return {"backward": lambda: torch.ops.aten.embedding_dense_backward(d, at, 50257, -1, False)}


def normals():
    def drawn(f):
        return f, lambda: of_normals(f(), False)
    kept = torch.empty(1 << 26)
    return {"normal_": drawn(kept.normal_), "randn": drawn(lambda: torch.randn(1 << 26))}


def jit_call():
    leaves = [T(i, (8,)) for i in range(50)]
    return both(lambda a: [x + 1 for x in a], leaves, foreach=lambda: torch._foreach_add(leaves, 1.0))


def fsdp(model):
    """FSDP2: each block, and what is around them, is gathered on its own."""
    from torch.distributed.fsdp import fully_shard   # here, as other rows tell memory too
    mesh = torch.distributed.init_device_mesh("cpu", (RANKS,))
    for b in model.blocks:
        fully_shard(b, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def training(name):
    job = JOBS[name]
    model = Gpt(job)
    held = {}
    x, y = (torch.from_numpy(t).long() for t in job.data())
    if RANKS > 1:
        rows, rank = job.batch // RANKS, torch.distributed.get_rank()
        x, y = (t[rank * rows:(rank + 1) * rows] for t in (x, y))
        callers = ({"fsdp": fsdp(model)} if name.endswith("fsdp")
                   else {"ddp": torch.nn.parallel.DistributedDataParallel(model)})
    else:
        callers = {"eager": model, "compile": torch.compile(model)}

    def begin():
        model.load(job)
        held["o"] = torch.optim.AdamW(model.parameters(), lr=job.rate, betas=(0.9, 0.95), weight_decay=0.1, fused=True)

    def step(call):
        held["o"].zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=name.endswith("bf16")):
            loss = call(x, y)
        loss.backward()
        if job.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), job.clip)
        held["o"].step()
        if RANKS > 1:
            loss = loss.detach()
            torch.distributed.all_reduce(loss)
            loss /= RANKS
        return loss.item()

    def losses(call):
        begin()
        return {"losses": [step(call) for _ in range(3)]}
    begin()
    return {name: (lambda call=call: step(call), lambda call=call: losses(call)) for name, call in callers.items()}


def moves():
    def big():
        return T(1, (4096, 4096))

    def of(f, *inputs):
        return lambda: both(f, *(make() for make in inputs), compiled=False)
    return {
        "transpose": of(lambda x: x.T.contiguous(), big),
        "transpose_heads": of(lambda x: x.transpose(1, 2).contiguous(), lambda: T(1, (4, 1024, 12, 64))),
        "concatenate": of(lambda x, y: torch.cat((x, y), 1), big, lambda: T(2, (4096, 1024))),
        "pad": of(lambda x: F.pad(x, (8, 8, 1, 1)), big),
        "gather_rows": of(lambda x, at: x.index_select(0, at), lambda: T(1, (50257, 768)),
                          lambda: I(2, (8192,), 50257)),
        "gather_elements": of(lambda x, at: x.index_select(0, at), lambda: T(1, (1 << 20,)),
                              lambda: I(2, (1 << 22,), 1 << 20)),
        "scatter_elements": of(lambda x, at, d: x.index_add(0, at, d), lambda: T(1, (1 << 20,)),
                               lambda: I(2, (1 << 22,), 1 << 20),
                               lambda: T(3, (1 << 22,))),
        "sort": of(lambda x: torch.sort(x)[0], lambda: T(1, (1 << 22,))),
        "sort_rows": of(lambda x: torch.sort(x)[0], lambda: T(1, (4096, 1024))),
        "argsort": of(lambda x: torch.argsort(x, stable=True), lambda: T(1, (1 << 22,))),
        "top_k": of(lambda x: torch.topk(x, 40)[0], lambda: T(1, (64, 50304))),
        "cumsum": of(lambda x: torch.cumsum(x, 0), lambda: T(1, (1 << 24,), 2**-10)),
        "cumsum_rows": of(lambda x: torch.cumsum(x, -1), big),
        "argmax": of(lambda x: x.argmax(-1), big),
        "sum_columns": of(lambda x: x.sum(0), big)}


CASES = {
    "products": products, "vocabulary_product": vocabulary_product, "attention_forward": lambda: attention(False),
    "attention_backward": lambda: attention(True), "products_bf16": lambda: products(torch.bfloat16),
    "attention_forward_bf16": lambda: attention(False, torch.bfloat16),
    "attention_backward_bf16": lambda: attention(True, torch.bfloat16), "gelu_16k": lambda: gelu_chain(4096),
    "gelu_256k": lambda: gelu_chain(65536),
    "gelu_64m": lambda: gelu_chain(1 << 24), "softmax_1024": lambda: softmax(4096, 1024),
    "softmax_50304": lambda: softmax(512, 50304),
    "layer_norm": layer_norm, "cross_entropy": cross_entropy, "adamw": adamw, "embedding_in_place": embedding_in_place,
    "embedding_new": embedding_new, "normals": normals, "jit_call": jit_call,
    "eager_add": lambda: both(torch.add, T(1, (8,)), T(2, (8,)), compiled=False),
    **{name: lambda name=name: training(name) for name in JOBS}, **moves(), **torch_networks.CASES}
serve(CASES)
