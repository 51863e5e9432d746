"""Shared by the peers of perf/compare: inputs, digests, the model's parameters, the loop that answers commands
(perf/cases/main.cpp)."""
import json
import resource
import sys
import time

import numpy as np

STEPS = 1000


def mix(seed, n):
    with np.errstate(over="ignore"):
        h = np.arange(n, dtype=np.uint32) + np.uint32(seed * 0x9E3779B9 % 2**32)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return h ^ (h >> np.uint32(16))


def uniform(seed, shape, scale=1.0):
    h = mix(seed, int(np.prod(shape)))
    return (((h >> np.uint32(8)).astype(np.float32) * np.float32(2**-23) - np.float32(1))
            * np.float32(scale)).reshape(shape)


def wide(*arguments):
    return uniform(*arguments).astype(np.float64)


def integers(seed, shape, below):
    return (mix(seed, int(np.prod(shape))) % np.uint32(below)).astype(np.int32).reshape(shape)


def digest(x):
    x = np.asarray(x.detach().float() if hasattr(x, "detach") else x, dtype=np.float32).ravel()
    wide = x.astype(np.float64)
    return [wide.sum(), np.abs(wide).sum()] + [float(x[k * (x.size - 1) // 7]) for k in range(8)]


def digests(x):
    """Of one array or several."""
    return {f"out{i}": digest(y) for i, y in enumerate(x if isinstance(x, (tuple, list)) else [x])}


def of_normals(x, same_bits):
    wide = np.asarray(x, dtype=np.float64)
    moments = {"moments": [1 + wide.mean(), (wide**2).mean()]}
    return moments | ({"out0": digest(x)} if same_bits else {})


PRODUCTS = ((768, 2304), (768, 768), (768, 3072), (3072, 768))


def product_inputs():
    seed, arrays = 0, []
    for k, n in PRODUCTS:
        for shape in ((1024, k), (k, n), (1024, n)):
            seed += 1
            arrays.append(uniform(seed, shape))
    return arrays


CONV2D = {"conv2d_56": (56, 64, 64, 1), "conv2d_56_stride": (56, 64, 128, 2), "conv2d_14": (14, 256, 256, 1),
          "conv2d_7": (7, 512, 512, 1)}


def conv2d_inputs(n, into, out, stride):
    return (uniform(1, (8, n, n, into)), uniform(2, (3, 3, into, out), 0.1),
            uniform(3, (8, n // stride, n // stride, out)))


def cnn3_inputs():
    return (uniform(1, (3, 3, 3, 32), 0.2), uniform(2, (3, 3, 32, 64), 0.1), uniform(3, (3, 3, 64, 128), 0.1),
            uniform(4, (128, 10), 0.1), uniform(5, (64, 32, 32, 3)), integers(6, (64,), 10))


class Job:
    """A GPT-2 training job of perf/cases/training.cpp, and its parameters under Bora's paths."""
    def __init__(self, layers, embed, heads, positions, vocab, batch, tokens, rate, clip):
        self.__dict__.update({k: v for k, v in locals().items() if k != "self"})

    def parameters(self):
        n, e, h = self.layers, self.embed, self.heads
        shapes = {"wte.weight": (self.vocab, e), "wpe": (self.positions, e), "ln_f.weight": (e,), "ln_f.bias": (e,)}
        for name in ("ln_1", "ln_2"):
            shapes |= {f"blocks.layer.{name}.weight": (n, e), f"blocks.layer.{name}.bias": (n, e)}
        for name in "qkv":
            shapes |= {f"blocks.layer.attn.{name}.weight": (n, e, h, e // h),
                       f"blocks.layer.attn.{name}.bias": (n, h, e // h)}
        shapes |= {"blocks.layer.attn.out.weight": (n, h, e // h, e), "blocks.layer.attn.out.bias": (n, e)}
        shapes |= {"blocks.layer.mlp.up.weight": (n, e, 4 * e), "blocks.layer.mlp.up.bias": (n, 4 * e)}
        shapes |= {"blocks.layer.mlp.down.weight": (n, 4 * e, e), "blocks.layer.mlp.down.bias": (n, e)}
        return {path: self.initial(path, shape) for path, shape in shapes.items()}

    @staticmethod
    def initial(path, shape):
        if path.endswith("bias"):
            return np.zeros(shape, np.float32)
        if "ln_" in path:
            return np.ones(shape, np.float32)
        h = 2166136261
        for c in path.encode():
            h = (h ^ c) * 16777619 % 2**32
        return uniform(h, shape, 0.03)

    def data(self):
        return (integers(seed, (self.batch, self.tokens), self.vocab) for seed in (1, 2))


JOBS = {"gpt2_b4_t256": Job(12, 768, 12, 1024, 50304, 4, 256, 1e-4, 0),
        "gpt2_b1_t1024": Job(12, 768, 12, 1024, 50304, 1, 1024, 1e-4, 0),
        "demo": Job(4, 192, 6, 128, 256, 32, 128, 1e-3, 1)}
JOBS["demo_ranks_dp"] = JOBS["demo_ranks_fsdp"] = JOBS["demo_bf16"] = JOBS["demo"]   # _bf16: all but parameters
JOBS["gpt2_b4_t256_bf16"] = JOBS["gpt2_b4_t256"]


def serve(cases, program=None):
    """cases: name -> function that returns {variant: run}, where run does the work once. Its values are digests of its
    result, or come from a function of their own: (run, values). program makes the same of a word "program:.."."""
    out = sys.stdout
    sys.stdout = sys.stderr   # what libraries print is not an answer
    ready = {}

    def answer(words):
        command, name = words[:2]
        if command == "prepare":
            if program and name.startswith("program:"):
                case = program(name[8:])
            elif name in cases:
                case = cases[name]()
            else:
                return {"variants": []}
            ready[name] = {v: f if isinstance(f, tuple) else (f, lambda f=f: digests(f())) for v, f in case.items()}
            return {"variants": list(ready[name])}
        if command == "values":
            return {k: [float(x) for x in np.ravel(v)] for k, v in ready[name][words[2]][1]().items()}
        if command == "drop":
            ready.pop(name, None)
            return {}
        f, n = ready[name][words[2]][0], int(words[3])
        switches, cpu, begin = (resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw, time.process_time(),
                                time.perf_counter())
        for _ in range(n):
            f()
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        return {"seconds": seconds / n, "cpu": cpu / n,
                "switches": resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - switches}

    for line in sys.stdin:
        try:
            reply = answer(line.split())
        except Exception as e:
            reply = {"error": f"{type(e).__name__}: {str(e)[:500]}"}
        out.write(json.dumps(reply) + "\n")
        out.flush()
