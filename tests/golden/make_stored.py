#!/usr/bin/env python3
"""Writes stored.txt: operations of JAX on dtypes that Bora stores and computes in wider ones.

Lines as laws/golden.h reads them. Numbers of u64 are two rows of u32: the upper and the lower halves.
Made with JAX 0.10.2 on the CPU: python tests/golden/make_stored.py > tests/golden/stored.txt
"""
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

NAMES = {"int8": "i8", "int16": "i16", "uint16": "u16", "float16": "f16", "int32": "i32", "uint8": "u8",
         "int64": "i64", "uint32": "u32", "float32": "f32", "float64": "f64", "bool": "bool",
         "float8_e4m3fn": "f8_e4m3fn"}
F8 = jnp.float8_e4m3fn


def write(case, role, x):
    x = np.asarray(x)
    if x.dtype == np.uint64:
        x = np.stack([x >> np.uint64(32), x & np.uint64(0xFFFFFFFF)]).astype(np.uint32)
    sizes = ",".join(map(str, x.shape)) or "-"
    numbers = " ".join(repr(float(v)) if x.dtype.kind in "fV" else str(int(v)) for v in x.reshape(-1))
    print(f"{case} {role} {NAMES[str(x.dtype)]} {sizes} : {numbers}")


def case(name, f, *args):
    for a in args:
        write(name, "in", a)
    write(name, "out", f(*map(jnp.asarray, args)))


BINARY = {"add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "max": jnp.maximum, "min": jnp.minimum,
          "eq": jnp.equal, "lt": jnp.less, "ge": jnp.greater_equal, "remainder": jnp.remainder,
          "floor_divide": jnp.floor_divide}
BITS = {"and": jnp.bitwise_and, "or": jnp.bitwise_or, "xor": jnp.bitwise_xor, "shl": jnp.left_shift,
        "shr": jnp.right_shift}
UNARY = {"neg": jnp.negative, "abs": jnp.abs, "sign": jnp.sign, "square": jnp.square}
FLOATS = {"exp": jnp.exp, "log": jnp.log, "sqrt": jnp.sqrt, "tanh": jnp.tanh, "sin": jnp.sin, "floor": jnp.floor}
WHOLE = {"sum": lambda x: jnp.sum(x, dtype=x.dtype), "prod": lambda x: jnp.prod(x, dtype=x.dtype), "amax": jnp.max,
         "amin": jnp.min, "argmax": lambda x: jnp.argmax(x).astype(jnp.int32), "sort": jnp.sort,
         "argsort": lambda x: jnp.argsort(x).astype(jnp.int32), "cumsum": lambda x: jnp.cumsum(x, dtype=x.dtype),
         "flip": jnp.flip}

rng = np.random.default_rng(3)
for d in (np.int8, np.int16, np.uint16, np.uint64, np.float16):
    if d is np.float16:
        a = np.array([0.1, -2.5, 65504, 6e-8, 3.14, -0.0, np.inf, 1e-3, 300, -7.75, 2048, 1], d)
        b = np.array([3.0, 0.3, 2, 1, -1.5, 4, 2, 1e-3, 300, 0.25, 1, -65504], d)
    else:
        i = np.iinfo(d)
        a = np.concatenate([np.array([i.min, i.max, 0, 1, i.max // 2, i.max - 1], d),
                            rng.integers(i.min, i.max, 6, d, endpoint=True)])
        b = np.concatenate([np.array([1, i.max, 3, i.max, 2, 7], d), rng.integers(1, i.max, 6, d, endpoint=True)])
    n = "u64" if d is np.uint64 else NAMES[np.dtype(d).name]
    for name, f in BINARY.items():
        if not (n == "f16" and name in ("remainder", "floor_divide")):
            case(f"{n}/{name}", f, a, b)
    if n != "f16":
        shifts = np.array([0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 1, 0], d)
        for name, f in BITS.items():
            case(f"{n}/{name}", f, a, shifts if name in ("shl", "shr") else b)
    else:
        case("f16/div", jnp.divide, a, b)
        for name, f in FLOATS.items():
            case(f"f16/{name}", f, np.abs(a) if name in ("log", "sqrt") else a)
    for name, f in UNARY.items():
        case(f"{n}/{name}", f, a)
    for name, f in WHOLE.items():
        case(f"{n}/{name}", f, b if n == "f16" and name == "prod" else a[:6] if n == "f16" else a)
    case(f"{n}/matmul", jnp.matmul, a[:6].reshape(2, 3), b[:6].reshape(3, 2))
    for to in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float16", "float32", "float64"):
        if np.dtype(to) != d and not (n == "f16" and to != "bool" and np.dtype(to).kind != "f"):
            case(f"{n}/as_{NAMES[to]}", lambda x: x.astype(to), a)
for to in ("int8", "int16", "uint16", "float16", "uint64"):
    x = np.array([0.5, -1.5, 200.7, -300.2, 70000.5, 1e-9, -0.0, 42], np.float32)
    t = "u64" if to == "uint64" else NAMES[to]
    case(f"{t}/from_f32", lambda x: x.astype(to), x if to != "uint64" else np.abs(x))
    y = np.array([0, 1, -1, 300, -70000, 2**31 - 1, -(2**31), 77], np.int32)
    case(f"{t}/from_i32", lambda x: x.astype(to), y)


a = np.array([0.1, -2.5, 448, 0.002, 3.25, -0.0, np.inf, 0.015, 30, -7.75, 240, 1], F8)
b = np.array([3.0, 0.3125, 2, 1, -1.5, 4, 2, 0.03, 10, 0.25, 1, -448], F8)
for name in ("add", "sub", "mul", "max", "min", "eq", "lt", "ge"):
    case(f"f8_e4m3fn/{name}", BINARY[name], a, b)
for name in ("neg", "abs", "sign"):
    case(f"f8_e4m3fn/{name}", UNARY[name], a)
for name in ("amax", "amin", "argmax", "sort", "argsort", "flip"):
    case(f"f8_e4m3fn/{name}", WHOLE[name], a)
every = np.arange(256, dtype=np.uint8).view(F8)
case("f8_e4m3fn/as_f32", lambda x: x.astype(np.float32), every)
# Every tie between two of its numbers and what lies beside it, the greatest and the least numbers, and others.
few = np.unique(np.abs(every[:127].astype(np.float32)))
ties = np.concatenate([(few[1:] + few[:-1]) / 2, few, np.array([464, 2.0**-10, 3e-39], np.float32)])
x = np.concatenate([ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(1e9)),
                    np.array([np.inf, np.nan, 65504, 1e-30], np.float32),
                    (rng.normal(size=300) * 2.0**rng.integers(-12, 9, 300)).astype(np.float32)])
case("f8_e4m3fn/from_f32", lambda x: x.astype(F8), np.concatenate([x, -x]))
case("f8_e4m3fn/from_f64", lambda x: x.astype(F8), x[:40].astype(np.float64))
case("f8_e4m3fn/from_i32", lambda x: x.astype(F8), np.array([0, 1, -17, 19, 448, 464, -465, 77], np.int32))
