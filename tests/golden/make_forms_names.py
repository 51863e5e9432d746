"""Writes forms_names.txt: values of functions in NumPy's further forms (lists of axes, repeats by data, modes of
padding, systems of one vector) that tests/laws/names_test.cpp compares with, in the form of numpy_names.txt.

  python make_forms_names.py > forms_names.txt
"""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg as scipy
from make_numpy_names import case

x = np.round(3 * np.sin(1.7 * np.arange(24) + 0.3), 3).reshape(2, 3, 4)
y = np.round(2 * np.cos(0.9 * np.arange(36)), 3).reshape(3, 4, 3)
whole = np.array([[3, -1, 4], [1, 5, 9]], np.int32)


def axes():
    for name, pairs in (("pair", (1, 0)), ("lists", ([1, 2], [0, 1])), ("turned", ([2, 1], [1, 0])),
                        ("negative", ([-2], [-1])), ("none", ([], []))):
        case(f"tensordot/{name}", lambda a, b: np.tensordot(a, b, pairs), x, y)
    for name, start, stop in (("swap", [0, 1], [1, 0]), ("front", [2, 0], [0, 1]), ("back", [0, 1], [-1, -2]),
                              ("one", [0], [2]), ("none", [], [])):
        case(f"moveaxis/{name}", lambda a: np.moveaxis(a, start, stop), x)
    for name, where in (("two", (0, 2)), ("back", (-1, 1)), ("none", ())):
        case(f"expand_dims/{name}", lambda a: np.expand_dims(a, where), x)
    for name, by, along in (("two", (1, -2), (0, 2)), ("twice", (1, 1), (1, 1)), ("far", (-7, 9), (-1, 0))):
        case(f"roll/{name}", lambda a: np.roll(a, by, along), x)
    for by in 5, -1, 0, 30:
        case(f"roll/flat{by}", lambda a: np.roll(a, by), x)


def repeats():
    for name, counts, total in (("all", [2, 0, 3], None), ("cut", [2, 0, 3], 4), ("filled", [1, 2, 0], 6),
                                ("one", [2], None), ("none", [0, 0, 0], None), ("late", [0, 0, 2], None)):
        f = np.repeat if total is None else partial(jnp.repeat, total_repeat_length=total)
        case(f"repeat/{name}", lambda a, n: f(a, n, axis=1), x, np.int32(counts))
    case("repeat/flat", lambda a: np.repeat(a, 2), x)


def pads():
    widths = {"thin": ((1, 0), (0, 2), (1, 1)), "wide": ((3, 5), (0, 0), (9, 10)), "same": ((2, 1),) * 3}
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "minimum", "mean",
                 "median"):
        extra = {"constant": {"constant_values": 2.5}, "linear_ramp": {"end_values": -1.5}}.get(mode, {})
        for name, w in widths.items():
            case(f"pad/{mode}/{name}", lambda a: np.pad(a, w, mode, **extra), x)
        case(f"pad/{mode}/one", lambda a: np.pad(a, 2, mode, **extra), x[:1, :, :1])
        whole_extra = {"constant": {"constant_values": 2}, "linear_ramp": {"end_values": -7}}.get(mode, {})
        case(f"pad/{mode}/whole", lambda a: np.pad(a, (1, 2), mode, **whole_extra), whole)


def systems():
    a = np.eye(3) * 4 + np.round(np.sin(np.arange(18.)), 3).reshape(2, 3, 3)
    b = np.array([1., -2., 0.5])
    columns = np.round(np.cos(np.arange(6.)), 3).reshape(3, 2)
    more = np.stack([columns, 2 - columns])
    case("linalg::solve/vector", np.linalg.solve, a[0], b)
    case("linalg::solve/vectors", np.linalg.solve, a, b)
    case("linalg::solve/batches", np.linalg.solve, a, columns)
    case("linalg::solve/one_matrix", np.linalg.solve, a[0], more)
    case("linalg::lu_solve/vector", lambda m, v: scipy.lu_solve(scipy.lu_factor(m), v), a[0], b)
    case("linalg::cho_solve/vector", lambda m, v: scipy.cho_solve((np.tril(m), True), v), a[0], b)
    case("linalg::solve_triangular/vector", lambda m, v: scipy.solve_triangular(m, v, lower=True), a[0], b)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    print("# jax", jax.__version__, "numpy", np.__version__)
    axes()
    repeats()
    pads()
    systems()
