"""Writes conventions.txt: what NumPy and SciPy say of the conjugates of complex operands, of the order of axes, and of
elements inserted and removed, for tests/ops/conventions_test.cpp.

  python make_conventions.py > conventions.txt

Each line: case, in or out, dtype, shape, ':', numbers; a complex number is two.
"""
import numpy as np
import scipy
import scipy.linalg as sl
import scipy.signal as ss

NAMES = {"float64": "f64", "complex128": "complex128", "int64": "i32", "int32": "i32"}


def line(name, role, x):
    x = np.asarray(x)
    shape = ",".join(map(str, x.shape)) or "-"
    flat = x.ravel()
    if x.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1).ravel()
    numbers = (repr(float(v)) if flat.dtype.kind == "f" else str(int(v)) for v in flat)
    print(name, role, NAMES[str(x.dtype)], shape, ":", *numbers)


def case(name, f, *inputs):
    for x in inputs:
        line(name, "in", x)
    line(name, "out", f(*inputs))


print("# numpy", np.__version__, "scipy", scipy.__version__)


def some(*shape, at=0.3):
    i = np.arange(np.prod(shape)).reshape(shape)
    return np.round(1.3 * np.sin(1.7 * i + at), 2) + 1j * np.round(1.1 * np.cos(2.3 * i + at), 2)


a, b, m, n, t = some(4), some(3, at=1), some(3, 3), some(3, 3, at=2), some(2, 3, 4)
case("toeplitz", sl.toeplitz, a)
case("toeplitz/row", sl.toeplitz, a, b)
case("hankel", sl.hankel, a)
case("hankel/row", sl.hankel, a, b)
case("circulant", sl.circulant, a)
case("convolution_matrix", lambda x: sl.convolution_matrix(x, 3), a)
case("companion", sl.companion, a)
case("vdot", np.vdot, m, n)
case("vecdot", np.vecdot, m, n)
case("inner", np.inner, m, n)
case("outer", np.outer, a, b)
case("dot", np.dot, m, n)
case("kron", np.kron, a, b)
case("tensordot", lambda x, y: np.tensordot(x, y, 2), m, n)
case("einsum", lambda x, y: np.einsum("ij,ij->i", x, y), m, n)
case("matvec", np.matvec, m, b)
case("vecmat", np.vecmat, b, m)
for mode in ("full", "same", "valid"):
    case("correlate/" + mode, lambda x, y: np.correlate(x, y, mode), a, b)
    case("convolve/" + mode, lambda x, y: np.convolve(x, y, mode), a, b)
    case("signal.correlate/" + mode, lambda x, y: ss.correlate(x, y, mode), a, b)
    case("signal.correlate2d/" + mode, lambda x, y: ss.correlate2d(x, y, mode), m, n[:2, :2])
case("correlate/short", lambda x, y: np.correlate(x, y, "full"), b, a)
case("autocorrelation", lambda x: ss.correlate(x, x), a)
case("cov", np.cov, m)
case("cov/two", np.cov, m, n)
case("corrcoef", np.corrcoef, m)
case("var", np.var, m)
case("std", lambda x: np.std(x, 0), m)
case("trace", np.trace, m)
case("norm", np.linalg.norm, m)
case("pinv", np.linalg.pinv, m[:2])
case("matrix_power", lambda x: np.linalg.matrix_power(x, -2), m)
case("vander", np.vander, b)
case("polyval", lambda c, x: np.polyval(c, x), a, b)
case("hfft", np.fft.hfft, a)
case("ihfft", np.fft.ihfft, a.real)
case("csd", lambda x, y: ss.csd(x, y, nperseg=8)[1], some(16), some(16, at=1))
case("welch", lambda x: ss.welch(x, nperseg=8)[1], some(16))
for p in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"):
    for kind, x in (("real", t.real.copy()), ("complex", t)):
        for axes in ((0, 1), (1, 0), (2, 0), (-3, -1), (-1, -2), (1, -1)):
            case(f"norm/{p}/{kind}/{axes[0]},{axes[1]}", lambda v: np.linalg.norm(v, p, axes), x)
    case(f"norm/{p}/keepdims", lambda v: np.linalg.norm(v, p, (2, 0), keepdims=True), t)
    case(f"cond/{p}", lambda v: np.linalg.cond(v, p), m)
for p in (0, 1, 2, 3, -1, np.inf, -np.inf):
    case(f"norm/vector/{p}", lambda v: np.linalg.norm(v, p, -2), t)
case("norm/axes", lambda v: np.linalg.norm(v, axis=(2, 0)), t)

x, v = np.arange(12).reshape(3, 4), np.arange(12).reshape(3, 4) + 100
case("insert/list", lambda x: np.insert(x, [1, 3], 9, 0), x)
case("insert/negative", lambda x: np.insert(x, [-1, 0], 9, 0), x)
case("insert/values", lambda x, v: np.insert(x, [1, 3], v, 0), x, v[:2])
case("insert/unordered", lambda x, v: np.insert(x, [3, 0, 1], v, 0), x, v)
case("insert/equal", lambda x, v: np.insert(x, [2, 0, 2], v, 0), x, v)
case("insert/columns", lambda x, v: np.insert(x, [0, 4, 4], v, 1), x, np.array([7, 8, 9]))
case("insert/broadcast", lambda x, v: np.insert(x, [0, 2], v, 1), x, v[:, :1])
case("insert/one_of_list", lambda x, v: np.insert(x, [1], v, 1), x, v[:, :2])
case("insert/one", lambda x, v: np.insert(x, 1, v, 1), x, v[:2, :3])
case("insert/vector", lambda x, v: np.insert(x, [2, 2, 4], v), x[0], np.array([6, 7, 8]))
case("insert/none", lambda x: np.insert(x, [], 1, 0), x)
case("delete/list", lambda x: np.delete(x, [0, -1, 0], 1), x)
case("delete/one", lambda x: np.delete(x, 1, 0), x)
case("delete/negative", lambda x: np.delete(x, -3, 0), x)
case("delete/none", lambda x: np.delete(x, [], 0), x)
