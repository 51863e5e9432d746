"""Writes numpy_names.txt: results of jax.numpy (f64) that tests/laws/names_test.cpp compares with.

  python make_numpy_names.py > numpy_names.txt

Each line: case, in or out, dtype, shape, ':', numbers. The case's name begins with the function's. Positions and
counts are i32 in Bora, so integers of 64 bits are written as i32.
"""
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import scipy as osp
import scipy.linalg

jax.config.update("jax_enable_x64", True)
NAMES = {"float64": "f64", "float32": "f32", "int64": "i32", "int32": "i32", "bool": "bool", "uint8": "u8"}
nan, inf = np.nan, np.inf


def line(name, role, x):
    x = np.asarray(x)
    shape = ",".join(map(str, x.shape)) or "-"
    numbers = (repr(float(v)) if x.dtype.kind == "f" else str(int(v)) for v in x.ravel())
    print(name, role, NAMES[str(x.dtype)], shape, ":", *numbers)


def case(name, f, *inputs):
    inputs = [np.asarray(x) for x in inputs]
    inputs = [x.astype(np.int32) if x.dtype == np.int64 else x for x in inputs]
    for x in inputs:
        line(name, "in", x)
    for y in jax.tree.leaves(f(*map(jnp.asarray, inputs))):
        line(name, "out", y)


x = np.round(3 * np.sin(1.7 * np.arange(12) + 0.3), 3).reshape(3, 4)
y = np.round(2 * np.cos(0.9 * np.arange(12)), 3).reshape(3, 4)
v, w = x.ravel()[:7], np.abs(y.ravel()[:7]) + 0.5
holes = np.array([[1., nan, 3., nan], [nan, nan, -1., 2.], [2., nan, 0.5, -4.]])
ties = np.array([1., 2., 2., -0., 0., 1., nan, nan, inf, -inf])
whole = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
empty, one = np.zeros(0), np.array([3.5])
odd = np.array([-inf, -2.5, -0., 0., 0.5, 7., inf, nan])
odd_too = np.array([1., -inf, 3., -0., nan, -7., inf, 2.])


write_case = case


def statistics():
    for f in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"):
        case(f, getattr(jnp, f), x)
        case(f + "/holes", lambda a: getattr(jnp, f)(a, axis=0), holes)
        case(f + "/keep", lambda a: getattr(jnp, f)(a, axis=-1, keepdims=True), holes)
        case(f + "/integers", getattr(jnp, f), whole)
        if f not in ("nanmax", "nanmin"):
            case(f + "/empty", getattr(jnp, f), empty)
    for f in ("nanargmax", "nanargmin"):
        case(f, lambda a: getattr(jnp, f)(a, axis=0), holes)
        case(f + "/ties", getattr(jnp, f), ties[:8])
    for f in ("cumprod", "nancumsum", "nancumprod"):
        case(f, lambda a: getattr(jnp, f)(a, axis=1), x)
        case(f + "/holes", lambda a: getattr(jnp, f)(a, axis=0), holes)
        case(f + "/zero", lambda a: getattr(jnp, f)(a, axis=0), np.array([2., 0., 3., 4., -1.]))
        case(f + "/integers", lambda a: getattr(jnp, f)(a, axis=0), whole)
        case(f + "/empty", lambda a: getattr(jnp, f)(a, axis=0), empty)
        case(f + "/one", lambda a: getattr(jnp, f)(a, axis=0), one)
    case("count_nonzero", jnp.count_nonzero, ties)
    case("count_nonzero/axis", lambda a: jnp.count_nonzero(a, axis=1), np.array([[0, 2, 3], [0, 0, 1]]))
    case("ptp", jnp.ptp, x)
    case("ptp/axis", lambda a: jnp.ptp(a, axis=-1), x)
    case("quantile", lambda a: jnp.quantile(a, 0.3), x)
    case("quantile/axis", lambda a: jnp.quantile(a, 0.3, axis=1), x)
    case("quantile/list", lambda a, q: jnp.quantile(a, q, axis=0, keepdims=True), x, np.array([0., 0.45, 1.]))
    for m in ("lower", "higher", "nearest", "midpoint"):
        case("quantile/" + m, lambda a, q: jnp.quantile(a, q, axis=1, method=m), x, np.array([0.1, 0.5, 0.9]))
    case("quantile/nan", lambda a: jnp.quantile(a, 0.3, axis=0), holes)
    case("quantile/one", lambda a: jnp.quantile(a, 0.3), one)
    case("quantile/integers", lambda a: jnp.quantile(a, 0.3), whole.astype(float))
    case("nanquantile", lambda a: jnp.nanquantile(a, 0.3, axis=0), holes)
    case("nanquantile/list", lambda a, q: jnp.nanquantile(a, q, axis=1), holes, np.array([0.25, 0.6]))
    case("percentile", lambda a: jnp.percentile(a, 30., axis=1), x)
    case("nanpercentile", lambda a: jnp.nanpercentile(a, 30., axis=0), holes)
    case("median", jnp.median, x)
    case("median/odd", lambda a: jnp.median(a, axis=0), x)
    case("median/keep", lambda a: jnp.median(a, axis=(0, 1), keepdims=True), x)
    case("nanmedian", lambda a: jnp.nanmedian(a, axis=0), holes)
    case("average", lambda a, b: jnp.average(a, weights=b), x, np.abs(y) + 1)
    case("average/axis", lambda a, b: jnp.average(a, axis=1, weights=b), x, w[:4])
    case("cov", jnp.cov, x)
    case("cov/columns", lambda a: jnp.cov(a, rowvar=False, ddof=0), x)
    case("cov/vector", jnp.cov, v)
    case("corrcoef", jnp.corrcoef, x)
    case("corrcoef/vector", jnp.corrcoef, v)
    case("histogram_bin_edges", lambda a: jnp.histogram_bin_edges(a, 5), x)
    case("histogram_bin_edges/range", lambda a: jnp.histogram_bin_edges(a, 4, (-1, 3)), x)
    case("histogram_bin_edges/one", lambda a: jnp.histogram_bin_edges(a, 3), one)
    case("histogram_bin_edges/empty", lambda a: np.histogram_bin_edges(a, 3), empty)
    integers = lambda r: (r[0].astype(np.int32), r[1])
    case("histogram", lambda a: integers(jnp.histogram(a, 5)), x)
    case("histogram/ends", lambda a: integers(jnp.histogram(a, 4, (0, 4))), np.array([0., 1., 1., 4., 4.5, -1., 2.]))
    case("histogram/edges", lambda a, e: integers(jnp.histogram(a, e)), x, np.array([-2., 0., 0.5, 3.]))
    case("histogram/weights", lambda a, b: jnp.histogram(a, 3, weights=b), x, y)
    case("histogram/density", lambda a: jnp.histogram(a, 3, density=True), x)
    case("bincount", lambda a: jnp.bincount(a, length=6), whole)
    case("bincount/weights", lambda a, b: jnp.bincount(a, b, length=12), whole, np.arange(8) / 2)
    case("bincount/empty", lambda a: jnp.bincount(a, length=2), np.zeros(0, np.int32))
    sorted_ = np.array([-2., 0., 0., 1., 3., nan])
    for side in ("left", "right"):
        case("searchsorted/" + side, lambda a, b: jnp.searchsorted(a, b, side=side), sorted_, ties)
        case("searchsorted/empty_" + side, lambda a, b: jnp.searchsorted(a, b, side=side), empty, ties)
        case("searchsorted/one_" + side, lambda a, b: jnp.searchsorted(a, b, side=side), one,
             np.array([[3., 3.5], [4., nan]]))
    for right in (False, True):
        bins = np.array([-1., 0., 2.])
        case(f"digitize/{int(right)}", lambda a, b: jnp.digitize(a, b, right=right), ties[:6], bins)
        case(f"digitize/down{int(right)}", lambda a, b: jnp.digitize(a, b, right=right), ties[:6], bins[::-1])


def sets():
    case("unique", jnp.unique, ties)
    case("unique/integers", jnp.unique, whole)
    case("unique/empty", jnp.unique, empty)
    case("unique/size", lambda a: jnp.unique(a, size=4), np.array([3., 1., 3., 2., 1.]))
    case("unique/cut", lambda a: jnp.unique(a, size=2), np.array([3., 1., 3., 2., 1.]))
    case("unique/fill", lambda a: jnp.unique(a, size=5, fill_value=-7.), np.array([3., 1., 3., 2., 1.]))
    def unique_all(a):
        r = jnp.unique(a, return_index=True, return_inverse=True, return_counts=True)
        return r[0], r[1], r[2].reshape(a.shape), r[3]
    case("unique_all", unique_all, np.array([[3., 1., 3.], [2., 1., 1.]]))
    case("unique_all/ties", unique_all, ties[:6])
    a, b = np.array([5., 1., 3., 1., 7.]), np.array([3., 8., 5., 5., 0.])
    for f in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        case(f, getattr(jnp, f), a, b)
        case(f + "/empty", getattr(jnp, f), a, empty)
        case(f + "/nothing", getattr(jnp, f), empty, empty)
        case(f + "/size", lambda p, q: getattr(jnp, f)(p, q, size=4, fill_value=9.), a, b)
    case("isin", jnp.isin, ties, np.array([0., 2., nan, inf]))
    case("isin/empty", jnp.isin, ties, empty)
    case("isin/integers", jnp.isin, whole.reshape(2, 4), np.array([1, 9, 7]))
    mask = np.array([[0., 2., nan], [0., 0., -1.]])
    case("flatnonzero", jnp.flatnonzero, mask)
    case("flatnonzero/size", lambda a: jnp.flatnonzero(a, size=5, fill_value=9), mask)
    case("flatnonzero/empty", jnp.flatnonzero, empty)
    case("nonzero", jnp.nonzero, mask)
    case("nonzero/size", lambda a: jnp.nonzero(a, size=2), mask)
    case("nonzero/fill", lambda a: jnp.nonzero(a, size=4, fill_value=-1), mask)
    case("argwhere", jnp.argwhere, mask)
    case("argwhere/size", lambda a: jnp.argwhere(a, size=4), mask)
    c = np.array([True, False, True])
    case("compress", lambda a: jnp.compress(c, a, axis=1), x)
    case("compress/flat", lambda a: jnp.compress(c, a), x)
    case("compress/size", lambda a: jnp.compress(c, a, axis=0, size=3, fill_value=9), x)
    case("extract", lambda a: jnp.extract(a > 0, a), x)
    case("extract/size", lambda a: jnp.extract(a > 0, a, size=9), x)
    case("lexsort", lambda a, b: jnp.lexsort((a, b)), np.array([3, 1, 2, 1, 5]), np.array([1, 0, 1, 0, 0]))
    case("lexsort/axis", lambda a, b: jnp.lexsort((a, b), axis=0), x, np.sign(y))
    case("partition", lambda a: jnp.sort(a, axis=0), x)
    case("argpartition", lambda a: jnp.argsort(a, axis=-1), x)


def numeric():
    case("diff", jnp.diff, x)
    case("diff/twice", lambda a: jnp.diff(a, n=2, axis=0), x)
    case("diff/all", lambda a: jnp.diff(a, n=9, axis=1), x)
    case("diff/bool", jnp.diff, np.array([True, False, False, True]))
    case("diff/empty", jnp.diff, empty)
    case("ediff1d", jnp.ediff1d, x)
    case("ediff1d/ends", lambda a, b: jnp.ediff1d(a, to_end=b, to_begin=-b), x, y[0])
    case("gradient", lambda a: jnp.gradient(a, axis=-1), x)
    case("gradient/distance", lambda a: jnp.gradient(a, 0.5, axis=0), x)
    case("gradient/coordinates", lambda a, c: np.gradient(np.asarray(a), np.asarray(c), axis=1), x,
         np.array([0., 1., 3., 3.5]))
    case("gradient/two", lambda a: jnp.gradient(a), np.array([1., 4.]))
    case("trapezoid", lambda a: jnp.trapezoid(a, dx=0.5), x)
    case("trapezoid/coordinates", lambda a, c: jnp.trapezoid(a, c, axis=0), x, np.array([0., 1., 3.]))
    case("trapezoid/same", lambda a, c: jnp.trapezoid(a, c, axis=1), x, np.cumsum(np.abs(y), 1))
    case("trapezoid/one", jnp.trapezoid, one)
    case("trapezoid/empty", np.trapezoid, empty)
    xp, fp = np.array([-1., 0., 0.5, 2.]), np.array([3., 1., 4., 1.5])
    case("interp", jnp.interp, x, xp, fp)
    case("interp/ends", lambda a, b, c: jnp.interp(a, b, c, left=-5., right=7.), x, xp, fp)
    case("interp/odd", jnp.interp, odd, xp, fp)
    case("interp/one", jnp.interp, x, one, one)
    case("unwrap", jnp.unwrap, np.array([0., 3., 7., -5., 12., 1.]))
    case("unwrap/period", lambda a: jnp.unwrap(a, axis=0, period=2.5, discont=1.5), x)
    case("unwrap/half", lambda a: jnp.unwrap(a, period=4), np.array([0., 2., 4., 2., 0.]))
    case("cross", jnp.cross, x[:, :3], y[:, :3])
    case("cross/axis", lambda a, b: jnp.cross(a, b, axis=0), x, y)
    case("cross/broadcast", jnp.cross, x[:, :3], y[0, :3])
    case("kron", jnp.kron, x[:2, :2], y)
    case("kron/ranks", jnp.kron, v[:2], y[:2])
    case("inner", jnp.inner, x, y)
    case("inner/vector", jnp.inner, x, y[0])
    case("inner/scalar", jnp.inner, x, np.array(2.))
    case("vdot", jnp.vdot, x, y)
    case("vecdot", lambda a, b: jnp.vecdot(a, b), x, y[0])
    case("vecdot/axis", lambda a, b: jnp.vecdot(a, b, axis=0), x, y)
    case("matvec", jnp.matvec, x, y[0])
    case("vecmat", jnp.vecmat, y[0, :3], x)
    case("vander", lambda a: jnp.vander(a), v[:4])
    case("vander/columns", lambda a: jnp.vander(a, 3, increasing=True), v[:4])
    case("vander/zero", lambda a: jnp.vander(a, 3), np.array([0., -1., 2.]))
    case("polyval", jnp.polyval, v[:4], y)
    case("polyval/empty", jnp.polyval, empty, y)
    case("polyadd", jnp.polyadd, v[:4], w[:2])
    case("polysub", jnp.polysub, v[:2], w[:4])
    case("polymul", jnp.polymul, v[:4], w[:2])
    case("polyder", jnp.polyder, v)
    case("polyder/twice", lambda a: jnp.polyder(a, 2), v)
    case("polyint", jnp.polyint, v)
    case("polyint/twice", lambda a: jnp.polyint(a, 2), v)
    case("poly", jnp.poly, v[:4])
    for mode in ("full", "same", "valid"):
        for m in (1, 2, 3, 7, 4):
            case(f"convolve/{mode}{m}", lambda a, b: jnp.convolve(a, b, mode), v, w[:m])
            case(f"correlate/{mode}{m}", lambda a, b: jnp.correlate(a, b, mode), v, w[:m])
        for m in (2, 3):
            case(f"convolve/short_{mode}{m}", lambda a, b: jnp.convolve(a, b, mode), w[:m], v)
            case(f"correlate/short_{mode}{m}", lambda a, b: jnp.correlate(a, b, mode), w[:m], v)
            case(f"correlate/even_{mode}{m}", lambda a, b: jnp.correlate(a, b, mode), w[:m], v[:6])
    for f in ("bartlett", "blackman", "hamming", "hanning"):
        for n in (0, 1, 2, 5, 8):
            case(f"{f}/{n}", lambda: getattr(np, f)(n))
    for f in ("sinc", "deg2rad", "rad2deg", "radians", "degrees", "positive", "fabs", "rint", "signbit", "isposinf",
              "isneginf", "nan_to_num"):
        case(f, getattr(jnp, f), x)
        case(f + "/odd", getattr(jnp, f), odd)
    case("fix", np.fix, odd)
    case("sinc/zero", jnp.sinc, np.zeros(2))
    case("nan_to_num/numbers", lambda a: jnp.nan_to_num(a, nan=1.5, posinf=3., neginf=-2.), odd)
    for f in ("hypot", "logaddexp2", "heaviside", "copysign", "fmax", "fmin", "logical_xor", "isclose", "divmod"):
        case(f, getattr(jnp, f), x, y)
        if f != "divmod":
            case(f + "/odd", getattr(jnp, f), odd[:, None], odd_too)
    case("float_power", jnp.float_power, np.abs(x), y)
    case("modf", jnp.modf, x)
    case("modf/odd", np.modf, odd[:7])
    case("hypot/large", jnp.hypot, np.array([1e200, 1e-200, 0.]), np.array([1e200, 1e-200, 0.]))
    case("isclose/nan", lambda a, b: jnp.isclose(a, b, rtol=0.1, equal_nan=True), odd[:, None], odd_too)


def arrange():
    for f in ("atleast_1d", "atleast_2d", "atleast_3d"):
        for name, a in (("scalar", np.array(2.)), ("vector", v), ("matrix", x)):
            case(f"{f}/{name}", getattr(jnp, f), a)
    for f in ("hstack", "vstack", "dstack", "column_stack"):
        case(f, lambda a, b: getattr(jnp, f)((a, b)), x, y)
        case(f + "/vectors", lambda a, b: getattr(jnp, f)((a, b)), v, w)
    case("block", lambda a, b: jnp.block([[a, b], [b, a]]), x, y)
    case("block/ranks", lambda a, b: jnp.block([[a], [b]]), x, y[0])
    case("broadcast_arrays", lambda a, b: jnp.broadcast_arrays(a, b), x[:, :1], y[0])
    case("array_split", lambda a: jnp.array_split(a, 3), v)
    case("array_split/axis", lambda a: jnp.array_split(a, 3, axis=-1), x)
    case("array_split/positions", lambda a: np.array_split(np.asarray(a), [1, -2, 9]), v)
    case("array_split/more", lambda a: jnp.array_split(a, 4), v[:2])
    case("hsplit", lambda a: jnp.hsplit(a, 2), x)
    case("hsplit/vector", lambda a: jnp.hsplit(a, 2), v[:6])
    case("vsplit", lambda a: jnp.vsplit(a, 3), x)
    case("dsplit", lambda a: jnp.dsplit(a, 2), x.reshape(2, 3, 2))
    case("unstack", lambda a: jnp.unstack(a, axis=-1), x)
    case("append", jnp.append, x, v)
    case("append/axis", lambda a, b: jnp.append(a, b, axis=1), x, y)
    case("insert", lambda a: jnp.insert(a, 2, 9.), v)
    case("insert/several", lambda a, b: np.insert(np.asarray(a), 2, np.asarray(b), axis=0), x, y[:2])
    case("insert/column", lambda a, b: jnp.insert(a, -1, b, axis=1), x, y[:, 0])
    case("delete_", lambda a: jnp.delete(a, np.array([1, -1, 1])), v)
    case("delete_/axis", lambda a: jnp.delete(a, np.array([0]), axis=1), x)
    case("delete_/all", lambda a: jnp.delete(a, np.array([0])), one)
    case("resize", lambda a: jnp.resize(a, (3, 7)), x)
    case("resize/less", lambda a: jnp.resize(a, (2, 2)), x)
    case("fliplr", jnp.fliplr, x)
    case("flipud", jnp.flipud, x)
    for k in (-1, 0, 1, 2, 3):
        case(f"rot90/{k}", lambda a: jnp.rot90(a, k), x)
    case("rot90/axes", lambda a: jnp.rot90(a, 1, (2, 0)), x.reshape(3, 2, 2))
    for a, b in ((0, 2), (2, 0), (1, 3), (-1, 1)):
        case(f"rollaxis/{a}{b}", lambda t: jnp.rollaxis(t, a, b), x.reshape(3, 2, 2))
    case("matrix_transpose", jnp.matrix_transpose, x.reshape(3, 2, 2))
    for k in (-2, 0, 1, 4, 6):
        case(f"diagonal/{k}", lambda a: jnp.diagonal(a, k), x)
        case(f"trace/{k}", lambda a: jnp.trace(a, k), x)
        case(f"diag/{k}", lambda a: jnp.diag(a, k), v[:3])
    case("diagonal/axes", lambda a: jnp.diagonal(a, -1, 2, 0), x.reshape(3, 2, 2))
    case("diag/matrix", lambda a: jnp.diag(a, 1), x)
    case("diag/empty", jnp.diag, empty)
    case("diagflat", lambda a: jnp.diagflat(a, -1), x[:2, :2])
    case("fill_diagonal", lambda a: jnp.fill_diagonal(a, 5., inplace=False), x)
    case("fill_diagonal/vector", lambda a, b: jnp.fill_diagonal(a, b, inplace=False), x, v[:3])
    for f in ("tril_indices", "triu_indices"):
        for n, k, m in ((3, 0, 3), (3, -1, 4), (4, 2, 2)):
            case(f"{f}/{n}{k}{m}", lambda: getattr(np, f)(n, k, m))
    case("diag_indices", lambda: np.diag_indices(3))
    case("indices", lambda: jnp.indices((2, 3)))
    case("ravel_multi_index", lambda a, b: jnp.ravel_multi_index((a, b), (3, 4), mode="clip"), np.array([0, 2, 1]),
         np.array([3, 0, 2]))
    case("unravel_index", lambda a: jnp.unravel_index(a, (3, 4)), np.array([[0, 5], [11, -1]]))
    def put(a, i, b):
        a = np.array(a)
        np.put_along_axis(a, np.asarray(i), np.asarray(b), 1)
        return a
    case("put_along_axis", put, x, np.array([[0, 2], [1, -1], [3, 0]]), y[:, :2])
    case("select", lambda a, b: jnp.select([a > 2, a > 0], [a * a, b], -1.), x, y)
    case("piecewise", lambda a: jnp.piecewise(a, [a < -1, a < 1], [lambda t: -t, lambda t: t * t, jnp.sin]), x)
    case("piecewise/none", lambda a: jnp.piecewise(a, [a < 0], [lambda t: -t]), x)
    case("choose", lambda i, a, b: jnp.choose(i, [a, b], mode="clip"), np.array([[1], [0], [5]]), x, y)
    case("logspace", lambda: jnp.logspace(-1, 2, 5))
    case("logspace/base", lambda: jnp.logspace(0, 3, 4, base=2.))
    case("geomspace", lambda: jnp.geomspace(1., 1000., 4))
    case("geomspace/negative", lambda: jnp.geomspace(-0.5, -8., 5))
    case("geomspace/one", lambda: jnp.geomspace(3., 8., 1))
    case("packbits", lambda a: jnp.packbits(a), np.array([1, 0, 0, 1, 1, 0, 1, 0, 1, 1]))
    case("packbits/axis", lambda a: jnp.packbits(a, axis=0), x > 0)
    case("unpackbits", lambda a: jnp.unpackbits(a, axis=1), np.array([[7, 128], [255, 0]], np.uint8))


def matrices():
    def case(name, f, *inputs):
        write_case("linalg::" + name, f, *inputs)
    a = np.array([[0.3, 2., -1.], [4., 0.5, 1.5], [-2., 1., 0.7]])
    b = np.round(np.sin(np.arange(32.) * 2.3 + 0.4), 3).reshape(2, 4, 4) + np.eye(4)[[2, 0, 3, 1]] * 2
    tall, wide = x.T + 3 * np.eye(4, 3), np.round(x[:2, :3] + np.eye(2, 3), 3)
    spd = b[0] @ b[0].T + np.eye(4)
    right = np.round(np.cos(np.arange(8.)), 3).reshape(4, 2)
    linalg, scipy = jnp.linalg, jax.scipy.linalg
    for name, m in (("1", np.array([[2.5]])), ("2", a[:2, :2]), ("3", a), ("4", b), ("empty", np.zeros((2, 0, 0)))):
        case("det/" + name, linalg.det, m)
        case("slogdet/" + name, linalg.slogdet, m)
        if name != "empty":
            case("inv/" + name, linalg.inv, m)
    singular = np.array([[1., 2.], [2., 4.]])
    case("det/singular", linalg.det, singular)
    case("slogdet/singular", linalg.slogdet, singular)
    for name, m in (("square", b[0]), ("tall", tall), ("wide", wide), ("batch", b)):
        case("lu/" + name, jax.vmap(scipy.lu) if m.ndim == 3 else scipy.lu, m)
        case("lu_factor/" + name, jax.lax.linalg.lu, m)
    case("lu_solve", lambda a, b: scipy.lu_solve(scipy.lu_factor(a), b), b[0], right)
    case("lu_solve/transposed", lambda a, b: scipy.lu_solve(scipy.lu_factor(a), b, trans=1), b[0], right)
    case("cho_solve", lambda a, b: scipy.cho_solve((jnp.tril(a), True), b), spd, right)
    for lower in (False, True):
        for trans in (0, 1):
            for unit in (False, True):
                case(f"solve_triangular/{lower:d}{trans}{unit:d}", lambda a, b: scipy.solve_triangular(
                    a, b, trans=trans, lower=lower, unit_diagonal=unit), spd, right)
    for name, m, r in (("square", b[0], right), ("tall", tall, right[:, 0]), ("wide", wide, right[:2]),
                       ("deficient", np.array([[1., 2.], [2., 4.], [3., 6.]]), right[:3])):
        case("lstsq/" + name, linalg.lstsq, m, r)
    for name, m in (("square", b), ("tall", tall), ("wide", wide), ("deficient", singular), ("equal", np.eye(3)),
                    ("empty", np.zeros((0, 3)))):
        case("pinv/" + name, linalg.pinv, m)
    case("tensorsolve", linalg.tensorsolve, b[0].reshape(2, 2, 4), right.reshape(4, 2)[:2])
    case("tensorinv", lambda m: linalg.tensorinv(m), b[0].reshape(2, 2, 2, 2))
    for name, m in (("square", b), ("tall", tall), ("wide", wide)):
        case("svdvals/" + name, linalg.svdvals, m)
        case("matrix_rank/" + name, linalg.matrix_rank, m)
    case("matrix_rank/deficient", linalg.matrix_rank, singular)
    case("eigvalsh", lambda m: linalg.eigvalsh(m), b)
    for order in (1, 2, 3, 0.5, 0, inf, -inf):
        case(f"vector_norm/{order}", lambda v: linalg.vector_norm(v, ord=order), x)
        case(f"vector_norm/axis{order}", lambda v: linalg.vector_norm(v, ord=order, axis=1, keepdims=True), x)
        case(f"norm/vector{order}", lambda v: linalg.norm(v, order), v)
    for order in (1, -1, 2, -2, inf, -inf, "fro", "nuc"):
        case(f"matrix_norm/{order}", lambda m: linalg.matrix_norm(m, ord=order), b)
        case(f"norm/matrix{order}", lambda m: linalg.norm(m, order, axis=(0, 2), keepdims=True), b)
        if order != "nuc":
            case(f"cond/{order}", lambda m: linalg.cond(m, order), a)
    case("norm", linalg.norm, b)
    case("norm/axis", lambda m: linalg.norm(m, axis=1), b)
    case("cond", linalg.cond, b)
    for n in (-2, -1, 0, 1, 2, 3, 7):
        case(f"matrix_power/{n}", lambda m: linalg.matrix_power(m, n), a)
    case("multi_dot/2", lambda a, b: linalg.multi_dot([a, b]), x, y.T)
    case("multi_dot/3", lambda a, b, c: linalg.multi_dot([a, b, c]), v[:3], x, w[:4])
    case("multi_dot/4", lambda a, b: linalg.multi_dot([a, b, a, b]), x, y.T)
    for scale in (0, 0.1, 1, 10, 100):
        case(f"expm/{scale}", scipy.expm, scale * np.array([[0., 1., 0.2], [-1., 0., 0.3], [0.1, -0.4, -0.5]]))
    case("expm/batch", scipy.expm, b)
    case("expm/empty", lambda m: m, np.zeros((0, 0)))
    def sorted_parts(z):
        return np.sort(np.real(z), -1), np.sort(np.imag(z), -1)

    def unit(m):
        return np.broadcast_to(np.eye(m.shape[-1]), m.shape)
    for name, m in (("square", a), ("batch", b), ("symmetric", spd)):
        case("eigvals/" + name, lambda m: sorted_parts(np.linalg.eigvals(m)), m)
        case("eig/" + name, lambda m: (m, np.ones(m.shape[:-1])), m)   # the matrix again, and lengths of vectors
        case("schur/" + name, lambda m: (m, unit(m)), m)               # the matrix again, and z' z
        case("rsf2csf/" + name, lambda m: (m, unit(m), np.zeros_like(m)), m)
        m = m + 4 * unit(m)   # no eigenvalue on the negative axis, where either root is right
        roots = np.stack([osp.linalg.sqrtm(x) for x in m.reshape(-1, *m.shape[-2:])]).reshape(m.shape)
        case("sqrtm/" + name, lambda m: (np.real(roots), np.imag(roots)), m)
    case("solve_sylvester", osp.linalg.solve_sylvester, a, spd, y[:3, :4])
    case("eigh", lambda a, b: osp.linalg.eigvalsh(a, b), b[0] + b[0].T, spd)
    case("eigh_tridiagonal", lambda d, e: osp.linalg.eigvalsh_tridiagonal(d, e), v[:4], w[:3])
    for name, m in (("tall", tall), ("wide", wide), ("square", a)):
        case("full_qr/" + name, lambda m: (m, np.eye(m.shape[0])), m)
        case("full_svd/" + name, lambda m: (np.linalg.svd(m, compute_uv=False), *map(np.eye, m.shape)), m)
    case("polar/right", scipy.polar, tall)
    case("polar/left", lambda m: scipy.polar(m, side="left"), wide)
    case("block_diag", lambda a, b, c: scipy.block_diag(a, b, c), a, v[:2], right)
    case("toeplitz", scipy.toeplitz, v)
    case("toeplitz/row", scipy.toeplitz, v[:3], w)
    case("hilbert/4", lambda: scipy.hilbert(4))


def windows():
    def image(*shape):
        return np.round(np.sin(np.arange(np.prod(shape)) * 1.3 + 0.2), 3).reshape(shape)

    def conv(x, w, stride=None, padding="VALID", dilation=None, input_dilation=None, groups=1):
        n, letters = w.ndim - 2, "DHW"[5 - w.ndim:]
        one = (1,) * n
        return jax.lax.conv_general_dilated(x, w, stride or one, padding, input_dilation or one, dilation or one,
                                            (f"N{letters}C", f"{letters}IO", f"N{letters}C"), groups)

    def transposed(x, w, stride, padding="VALID", dilation=None):
        letters = "DHW"[5 - w.ndim:]
        return jax.lax.conv_transpose(x, w, stride, padding, dilation, (f"N{letters}C", f"{letters}IO", f"N{letters}C"))
    x1, w1 = image(2, 9, 3), image(4, 3, 2)
    x2, w2 = image(2, 6, 5, 2), image(3, 2, 2, 4)
    x3, w3 = image(1, 3, 2, 3, 2), image(2, 2, 1, 2, 2)
    for name, x, w in (("1", x1, w1), ("2", x2, w2), ("3", x3, w3)):
        n = w.ndim - 2
        case(f"conv/{name}", conv, x, w)
        case(f"conv/same{name}", lambda x, w: conv(x, w, padding="SAME"), x, w)
        case(f"conv/stride{name}", lambda x, w: conv(x, w, (2,) * n, "SAME"), x, w)
        case(f"conv/pads{name}", lambda x, w: conv(x, w, None, [(2, -1)] * n), x, w)
        case(f"conv/dilation{name}", lambda x, w: conv(x, w, None, "SAME", (2,) * n), x, w)
        case(f"conv/spread{name}", lambda x, w: conv(x, w, (2,) * n, [(1, 2)] * n, None, (3,) * n), x, w)
        case(f"conv_transpose/{name}", lambda x, w: transposed(x, w, (1,) * n), x, w)
        case(f"conv_transpose/stride{name}", lambda x, w: transposed(x, w, (2,) * n), x, w)
        case(f"conv_transpose/same{name}", lambda x, w: transposed(x, w, (3,) * n, "SAME"), x, w)
        case(f"conv_transpose/same_one{name}", lambda x, w: transposed(x, w, (1,) * n, "SAME", (2,) * n), x, w)
    case("conv/groups", lambda x, w: conv(x, w, groups=2), image(2, 6, 4), image(3, 2, 6))
    case("conv/depthwise", lambda x, w: conv(x, w, (1, 2), "SAME", groups=3), image(1, 5, 6, 3), image(2, 3, 1, 6))
    case("conv/too_wide", conv, image(1, 3, 2), image(4, 2, 2))
    for f, start, join in (("max_pool", -inf, jax.lax.max), ("min_pool", inf, jax.lax.min),
                           ("sum_pool", 0., jax.lax.add)):
        for name, window, stride, padding in (("plain", (2, 2), (2, 2), "VALID"), ("overlap", (3, 2), (1, 2), "VALID"),
                                              ("same", (3, 3), (2, 2), "SAME"),
                                              ("pads", (2, 2), (2, 1), [(1, 0), (0, 1)])):
            def run(x):
                pads = padding if isinstance(padding, str) else [(0, 0), *padding, (0, 0)]
                return jax.lax.reduce_window(x, start, join, (1, *window, 1), (1, *stride, 1), pads)
            case(f"{f}/{name}", run, x2)
            if f == "sum_pool":
                case(f"avg_pool/{name}", lambda x: run(x) / np.prod(window), x2)
                case(f"avg_pool/{name}_whole", lambda x: run(x) / run(jnp.ones_like(x)), x2)


if __name__ == "__main__":
    print("# jax", jax.__version__, "numpy", np.__version__)
    statistics()
    sets()
    numeric()
    arrange()
    matrices()
    windows()
