#!/usr/bin/env python3
"""Writes jax_sharding.txt: what JAX's compiled programs send and compute on meshes (tests/laws/jax_sharding_test.cpp).

Development only: python make_jax_sharding.py > jax_sharding.txt. Written with the versions in the file's first line, on
CPUs, 8 host devices.

A line is "name mesh inputs -> results steps : flops-of-one-device flops-of-each bytes collectives". Inputs and results
are those of jax_sharding_programs.py with mesh axes in place of letters. Steps, of programs made at random by SEED, are
applied to the first input one after another (random_program); named programs have none. Flops are XLA's
cost_analysis, transcendental functions included. Bytes are those that a device receives, by the best algorithms: of
an all_gather its result's without the device's own part, of an all_reduce twice that of its operand, of a
reduce_scatter and an all_to_all that of its operand, of a permute its result's. A collective is kind:count:bytes, loops
counted."""
import math
import os
import random
import re
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jax_sharding_programs as programs

SEED, RANDOM = 20260929, 32
MESHES = {"2": ("data",), "4": ("data",), "2x2": ("data", "model")}
DTYPES = {"f32": jnp.float32, "i32": jnp.int32}
SIZES = {"f32": 4, "s32": 4, "u32": 4, "pred": 1, "c64": 8, "f64": 8, "s64": 8, "bf16": 2, "u8": 1, "s8": 1, "u64": 8,
         "c128": 16}
INPUT = re.compile(r"(\w+)\[([\d,]*)\](\S+)")


def entries(split):
    """The PartitionSpec entries of "D/-"."""
    return [] if split == "." else [programs.axes(letter) for letter in split.split("/")]


def words(split):
    """The same for the golden file: "data*model/-"."""
    each = ["-" if e is None else e if isinstance(e, str) else "*".join(e) for e in entries(split)]
    return "/".join(each) or "."


def rename(text):
    """"f32[4]D -> D" with mesh axes in place of letters."""
    def one(word):
        found = INPUT.fullmatch(word)
        if found:
            return f"{found[1]}[{found[2]}]{words(found[3])}"
        return word if word == "->" else words(word)

    return " ".join(one(w) for w in text.split())


def bytes_of(types):
    return sum(SIZES[t] * math.prod(map(int, filter(None, dims.split(","))))
               for t, dims in re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]", types))


def group_size(line):
    found = re.search(r"replica_groups=\{\{([\d,]+)\}", line)
    if found:
        return found[1].count(",") + 1
    found = re.search(r"replica_groups=\[\d+,(\d+)\]", line)
    if found:
        return int(found[1])
    found = re.search(r"replica_groups=mesh\[([^\]]*)\](?:, device_ids=\(.*?\)\))? *\{([^}]*)\}", line)
    assert found, line
    sizes = {name: int(n) for name, n in re.findall(r"'(\w+)'=(\d+)", found[1])}
    used = re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", found[2])
    assert used and found[2].count("'") == 2 * len(used), line
    return math.prod(int(part) if part else sizes[name] for name, part in used)


COLLECTIVE = re.compile(r"= (.*?) (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute|"
                        r"ragged-all-to-all|collective-broadcast)(-start)?\(")


def collectives(text):
    """kind -> [count, bytes] of a compiled module."""
    bodies, entry, name = {}, None, None
    for line in text.split("\n"):
        head = re.match(r"(ENTRY )?%?([\w.-]+) \(.*\{$", line)
        if head:
            name = head[2]
            bodies[name] = []
            entry = name if head[1] else entry
        elif name:
            bodies[name].append(line)
    total = {}

    def visit(name, times):
        for line in bodies[name]:
            found = COLLECTIVE.search(line)
            if found:
                kind, size = found[2], bytes_of(found[1])
                assert not found[3], line
                if kind == "collective-permute":
                    pairs = re.findall(r"\{(\d+),(\d+)\}", line.split("source_target_pairs=")[1].split("}}")[0] + "}")
                    received = size if any(a != b for a, b in pairs) else 0
                else:
                    p = group_size(line)
                    received = {"all-gather": size * (p - 1) / p, "all-reduce": 2 * size * (p - 1) / p,
                                "reduce-scatter": size * (p - 1), "all-to-all": size * (p - 1) / p}[kind]
                seen = total.setdefault(kind, [0, 0])
                seen[0] += times
                seen[1] += times * received
            inner = times
            if " while(" in line:
                trips = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
                inner = times * (int(trips[1]) if trips else 1)
                assert trips or not any(COLLECTIVE.search(l) for b in bodies.values() for l in b), line
            kinds = "calls|to_apply|body|condition|true_computation|false_computation"
            for called in re.findall(rf"(?:{kinds})=%?([\w.-]+)", line):
                visit(called, inner)
            for branches in re.findall(r"branch_computations=\{([^}]*)\}", line):
                for called in branches.split(","):
                    visit(called.strip().lstrip("%"), inner)

    visit(entry, 1)
    return total


def like(text):
    found = INPUT.fullmatch(text)
    shape = tuple(map(int, filter(None, found[2].split(","))))
    if found[1] == "key":
        return jax.eval_shape(lambda: jax.random.key(0)), found[3]
    return jax.ShapeDtypeStruct(shape, DTYPES[found[1]]), found[3]


def compiled(f, text, devices, names):
    mesh = Mesh(devices, names)
    ins, outs = (side.split() for side in text.split("->"))
    shapes, splits = zip(*map(like, ins))

    def place(split):
        return NamedSharding(mesh, PartitionSpec(*entries(split)))

    results = tuple(map(place, outs))
    with jax.set_mesh(mesh):
        lowered = jax.jit(f, in_shardings=tuple(map(place, splits)),
                          out_shardings=results if len(outs) > 1 else results[0]).lower(*shapes)
        return lowered.compile()


def flops(module):
    cost = module.cost_analysis()
    return int(cost.get("flops", 0) + cost.get("transcendentals", 0))


def row(name, f, text, steps):
    for word, names in MESHES.items():
        sizes = tuple(map(int, word.split("x")))
        programs.ALL = names if len(names) > 1 else names[0]
        devices = np.array(jax.devices()[:math.prod(sizes)]).reshape(sizes)
        one = np.array(jax.devices()[:1]).reshape((1,) * len(sizes))
        module = compiled(f, text, devices, names)
        used = collectives(module.as_text())
        kinds = (f"{k}:{n}:{int(b)}" for k, (n, b) in sorted(used.items()))
        print(name, word, rename(text), *steps, ":", flops(compiled(f, text, one, names)), flops(module),
              int(sum(b for _, b in used.values())), *kinds)


# Programs at random.


def step(x, text, ins):
    """One step of a random program."""
    name, *numbers = text.split(":")
    n = [int(v) for v in numbers]
    match name:
        case "sin" | "tanh":
            return getattr(jnp, name)(x)
        case "transpose":
            return jnp.transpose(x)
        case "roll":
            return jnp.roll(x, n[1], n[0])
        case "flip":
            return jnp.flip(x, n[0])
        case "slice":
            return x[tuple([slice(None)] * n[0] + [slice(*n[1:])])]
        case "pad":
            return jnp.pad(x, [(n[1], n[2]) if d == n[0] else (0, 0) for d in range(x.ndim)])
        case "twice":
            return jnp.concatenate([x, x * 2], n[0])
        case "softmax":
            return jax.nn.softmax(x, n[0])
        case "center":
            return x - jnp.mean(x, n[0], keepdims=True)
        case "sum":
            return jnp.sum(x, n[0])
        case "max":
            return jnp.max(x, n[0])
        case "matmul":
            return x @ ins[1]
        case "reshape":
            return jnp.reshape(x, n)
        case "first":
            return x + x[tuple([slice(None)] * n[0] + [slice(0, 1)])]
    raise ValueError(text)


def applied(steps):
    def f(*ins):
        def g(x):
            for s in steps:
                x = step(x, s, ins) if s != "grad" else x
            return x

        return jax.grad(lambda x: jnp.sum(jnp.sin(g(x))))(ins[0]) if "grad" in steps else g(ins[0])

    return f


def split_of(r, shape):
    """A split of an array of this shape: each letter at most once, only where it divides."""
    even = [d for d, n in enumerate(shape) if n % 4 == 0]
    letters = ["-"] * len(shape)
    if even and r.random() < 0.85:
        chosen = r.sample(even, min(len(even), r.choice([1, 1, 2])))
        if len(chosen) == 1:
            letters[chosen[0]] = "D"
        else:
            letters[chosen[0]], letters[chosen[1]] = "d", "m"
    return "/".join(letters) or "."


def random_program(r):
    """{text, steps}: 2 to 4 steps of one array, often behind the first's gradient."""
    shape = r.choice([(32, 24), (48, 16), (16, 8, 12), (8, 16, 8)])
    first, steps, matrix = shape, [], ""
    for _ in range(r.randint(2, 4)):
        d = r.randrange(len(shape))
        n = shape[d]
        kinds = ["sin", "tanh", "transpose", "roll", "flip", "slice", "pad", "twice", "softmax", "center", "first"]
        kinds += ["sum", "max"] * (len(shape) > 1) + ["matmul"] * (not matrix) * 2 + ["reshape"] * (len(shape) == 3)
        kind = r.choice(kinds)
        text, after = {
            "roll": (f"roll:{d}:{r.choice([1, -1, 5, n // 2])}", n), "flip": (f"flip:{d}", n),
            "slice": (f"slice:{d}:4:{n}:1" if r.random() < 0.5 else f"slice:{d}:0:{n}:2", None),
            "pad": (f"pad:{d}:1:3", n + 4), "twice": (f"twice:{d}", 2 * n), "softmax": (f"softmax:{d}", n),
            "center": (f"center:{d}", n), "first": (f"first:{d}", n), "sum": (f"sum:{d}", 0), "max": (f"max:{d}", 0),
        }.get(kind, (kind, n))
        if kind == "slice":
            after = n - 4 if text.endswith("1") else n // 2
            if after < 4 or after % 4:
                continue
        if kind == "matmul":
            matrix = f" f32[{shape[-1]},16]{split_of(r, (shape[-1], 16))}"
            shape = shape[:-1] + (16,)
        elif kind == "transpose":
            shape = shape[::-1]
        elif kind == "reshape":
            shape = (shape[0] * shape[1], shape[2])
            text = f"reshape:{shape[0]}:{shape[1]}"
        elif after == 0:
            shape = shape[:d] + shape[d + 1:]
        else:
            shape = shape[:d] + (after,) + shape[d + 1:]
        steps.append(text)
    if not steps:
        return random_program(r)
    result = split_of(r, shape)
    given = split_of(r, first)
    if r.random() < 0.4:
        steps.append("grad")
        result = given
    return f"f32[{','.join(map(str, first))}]{given}{matrix} -> {result}", steps


def main():
    print(f"# jax {jax.__version__}, jaxlib {jax.lib.__version__}, numpy {np.__version__}; seed {SEED}; "
          "tests/golden/make_jax_sharding.py")
    only = sys.argv[1:]
    for name, (f, text) in programs.PROGRAMS.items():
        if not only or name in only:
            row(name, f, text, [])
    r = random.Random(SEED)
    for k in range(RANDOM):
        text, steps = random_program(r)
        if not only or f"random_{k}" in only:
            row(f"random_{k}", applied(steps), text, steps)


main()
