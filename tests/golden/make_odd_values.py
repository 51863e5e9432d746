"""Writes odd_values.txt: elementwise functions and others at awkward points (zeros with signs, infinities, NaN, equal
operands, poles, division by zero, the ends of integers), which tests/laws/names_test.cpp compares with.

  python make_odd_values.py > odd_values.txt

numpy 2.4.6, scipy 1.17.1 and mpmath 1.3.0 in the form of numpy_names.txt; numbers of complex functions are given as
their parts. Where NumPy and JAX differ (floor_divide by 0) there is no case.
"""
import warnings

import mpmath as mp
import numpy as np
import scipy.special
from make_numpy_names import line

warnings.simplefilter("ignore")
nan, inf = np.nan, np.inf
POINTS = np.array([0., -0., 1, -1, 0.5, -0.5, 2.5, -2.5, 3, -7.5, 1e-300, 1e10, inf, -inf, nan])
WHOLE = {"i32": np.array([0, 1, 2, 3, 7, 31, 100, -1, -2, -7, 2**31 - 1, -2**31], np.int32),
         "u8": np.array([0, 1, 2, 3, 7, 8, 100, 128, 255], np.uint8)}


def case(name, inputs, *outputs):
    for x in inputs:
        line(name, "in", x)
    for y in outputs:
        line(name, "out", y)


def grid(v):
    x, y = np.meshgrid(v, v)
    return x.ravel(), y.ravel()


def main():
    parts = [np.array(v, float) for v in
             ([0, 1, 0, 1, -1, 0.5, 2, -3], [3000, 50, -3000, 1, -0.5, 0, -700, 40])]
    z = parts[0] + 1j * parts[1]
    case("tan/odd", parts, np.tan(z).real, np.tan(z).imag)
    near = [x[3:6] for x in parts]
    case("tan/complex", near, np.tan(z[3:6]).real, np.tan(z[3:6]).imag)
    parts = [np.array(v, float) for v in ([0, 1, -1, 4, inf, -3], [0, 1, 0.5, 0, 1, -2])]
    z = np.array([complex(*p) for p in zip(*parts)])
    for name, base in (("log2", np.log(2)), ("log10", np.log(10))):
        case(name + "/odd", parts, np.log(z).real / base, np.log(z).imag / base)
    for name in ("exp", "expm1", "log", "log1p", "sqrt", "cbrt", "tanh", "arctan", "sign", "floor", "ceil", "trunc",
                 "rint", "spacing", "sinc"):
        x = POINTS if name != "spacing" else POINTS[2:12]
        case(name + "/odd", [x], getattr(np, name)(x))
    for name in ("floor_divide", "remainder", "fmod", "power", "maximum", "minimum", "logaddexp", "logaddexp2",
                 "hypot", "copysign", "fmax", "fmin", "arctan2", "heaviside", "nextafter"):
        a, b = grid(POINTS)
        case(name + "/odd", [a, b], getattr(np, name)(a, b))
    x = np.array([0.3, -2, 5, 1])
    case("logaddexp2/equal", [x, x], np.logaddexp2(x, x))
    for d, v in WHOLE.items():
        a, b = grid(v)
        for name in ("remainder", "fmod", "gcd", "bitwise_xor", "left_shift", "right_shift", "power", "floor_divide"):
            if name == "power":
                keep = b >= 0
            elif name == "floor_divide":
                keep = b != 0
            else:
                keep = np.ones(len(a), bool)
            if name == "floor_divide" or name == "gcd":
                keep &= (a != -2**31) & (b != -2**31)
            case(f"{name}/odd_{d}", [a[keep], b[keep]], getattr(np, name)(a[keep], b[keep]))
    # u64: the second operand stands for it modulo 2^64, of results the lowest 16 bits.
    a, b = grid(np.array([0, 1, 2, 3, 10, 77, -1, -2, -2**31], np.int32))
    wide = [int(v) % 2**64 for v in a], [int(v) % 2**64 for v in b]
    low = {"power": lambda p, q: pow(p, q, 2**64), "remainder": lambda p, q: p % q if q else 0,
           "floor_divide": lambda p, q: p // q if q else 2**64 - 1}
    for name, f in low.items():
        case(f"{name}/odd_u64", [a, b], np.array([f(p, q) % 2**16 for p, q in zip(*wide)], np.int32))

    x = np.array([[1., 4, 2], [3, 3, 5]])
    where = np.array([[True, False, True], [False, False, True]])
    for name, f in (("var", np.var), ("stddev", np.std)):
        case(f"masked::{name}/few", [x, where], f(x, axis=1, where=where, ddof=1, keepdims=True))
        case(f"masked::{name}/none", [x[0], np.zeros(3, bool)], np.array(nan))
    b = np.array([True, False, True, True])
    case("compress/bool", [b, b[::-1].copy()], np.compress(b, b[::-1]))
    case("extract/bool", [b, b[::-1].copy()], np.extract(b, b[::-1]))
    for name, x in (("on_edges", np.array([-1.75, -1, -0.25, 0.5, 0.5, 1.25, 2, 1.25])),
                    ("above_edges", np.array([-2, -1.25, 0.25, 1, 1, 1.75, 0.25, -0.5]))):
        counts, edges = np.histogram(x, 5)
        case("histogram/" + name, [x], counts.astype(np.int32), edges)
    n, x = np.array([1., 2, 3, 1, 2]), np.array([-(2.**-60 + 2.**-80), -1e-10, -2.**-20, -1 - 2.**-20, -3 + 2.**-19])
    mp.mp.dps = 60
    case("special::polygamma/beside_poles", [n, x],
         np.array([float((-1)**(int(k) + 1) * mp.factorial(int(k)) *
                         (mp.zeta(int(k) + 1, mp.mpf(v) + 5) + sum((mp.mpf(v) + j)**(-int(k) - 1) for j in range(5))))
                   for k, v in zip(n, x)]))


if __name__ == "__main__":
    main()
