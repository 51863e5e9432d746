"""Writes lax_names.txt: results of JAX 0.10.2 and SciPy 1.17.1 (f64) that tests/laws/names_test.cpp compares with.

  python make_lax_names.py > lax_names.txt

Lines as in make_numpy_names.py; a complex number is two."""
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.special
from jax import lax

jax.config.update("jax_enable_x64", True)
assert jax.__version__ == "0.10.2"
NAMES = {"float64": "f64", "float32": "f32", "int64": "i32", "int32": "i32", "bool": "bool", "uint8": "u8",
         "uint32": "u32", "complex128": "complex128"}
nan, inf = np.nan, np.inf


def line(name, role, x):
    x = np.asarray(x)
    shape = ",".join(map(str, x.shape)) or "-"
    numbers = x.ravel().view(np.float64) if x.dtype.kind == "c" else x.ravel()
    text = (repr(float(v)) if x.dtype.kind in "fc" else str(int(v)) for v in numbers)
    print(name, role, NAMES[str(x.dtype)], shape, ":", *text)


def case(name, f, *inputs):
    inputs = [np.asarray(x) for x in inputs]
    inputs = [x.astype(np.int32) if x.dtype == np.int64 else x for x in inputs]
    for x in inputs:
        line(name, "in", x)
    for y in jax.tree.leaves(f(*map(jnp.asarray, inputs))):
        line(name, "out", y)


x = np.round(3 * np.sin(1.7 * np.arange(12) + 0.3), 3).reshape(3, 4)
y = np.round(2 * np.cos(0.9 * np.arange(12)), 3).reshape(3, 4)
v = x.ravel()[:7]
odd = np.array([-inf, -2.5, -0., 0., 0.5, 7., inf, nan])
whole = np.array([0, 1, -1, 7, -8, 100, 2147483647, -2147483648], np.int32)
bytes_ = np.array([0, 1, 127, 128, 255], np.uint8)
words = np.array([0, 1, 4294967295, 65536], np.uint32)
flags = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1]], bool)

# ---- arcs.h
inside = np.array([-0.9, -0.3, 0., 0.1, 0.77])
for short, long, at in (("asin", "arcsin", inside), ("acos", "arccos", inside), ("atan", "arctan", v),
                        ("asinh", "arcsinh", v), ("acosh", "arccosh", np.abs(v) + 1.1), ("atanh", "arctanh", inside)):
    if long != "arctanh":
        case(long, getattr(jnp, long), at)
        case(long + "/odd", getattr(jnp, long), odd)
    case(short, getattr(jnp, short), at)
for f in ("arctan2", "atan2"):
    case(f, getattr(jnp, f), x, np.abs(y) + 0.2)
case("arctan2/odd", jnp.arctan2, np.tile(odd, 8), np.repeat(odd, 8))

# ---- bits.h
for f in ("population_count", "clz"):
    case(f, getattr(lax, f), whole)
    case(f + "/bytes", getattr(lax, f), bytes_)
    case(f + "/words", getattr(lax, f), words)
case("bitwise_count", jnp.bitwise_count, whole[:7])
case("bitwise_count/bytes", jnp.bitwise_count, bytes_)
places = np.array([0, 1, 31, 32, 33, -1, 4, 31], np.int32)
case("shift_right_logical", lax.shift_right_logical, whole, places)
case("shift_right_logical/bytes", lax.shift_right_logical, bytes_, np.array([0, 1, 2, 7, 8], np.uint8))
case("mulhi", lax.mulhi, whole, whole[::-1].copy())
case("mulhi/words", lax.mulhi, words, words[::-1].copy())
for f in ("gcd", "lcm"):
    a, b = np.array([0, 12, -12, 18, 7, 0, 30]), np.array([0, 18, 8, -24, 0, 5, 30])
    case(f, getattr(jnp, f), a, b)
    case(f + "/stretched", getattr(jnp, f), a, np.array(6))
near = np.array([0., -0., 1., -1., 5e-324, -5e-324, 1.7976931348623157e308, nan, 3., inf])
case("nextafter/up", lambda a: jnp.nextafter(a, inf), near)
case("nextafter/down", lambda a: jnp.nextafter(a, -inf), near)
case("nextafter", jnp.nextafter, x, y)
case("nextafter/single", lambda a: jnp.nextafter(a, jnp.float32(inf)), near.astype(np.float32))
case("spacing", np.spacing, near)
case("frexp", np.frexp, odd)
case("frexp/tiny", np.frexp, near)
case("frexp/smooth", np.frexp, x)
case("ldexp", jnp.ldexp, x, np.arange(12).reshape(3, 4) - 5)
case("ldexp/far", np.ldexp, near, np.array([3, 3, -1074, -1075, 1, 2, -2000, 1, 2000, 1]))
for d in (-1, 0, 2):
    case(f"around/{d}", lambda a: jnp.round(a, d), np.array([2.345, 25., -35.5, 0.125, nan, 1234.5678]))
fine = np.array([1.0009765625, 1.00048828125, 1.001, 65504., 65520., 6e-5, 6.2e-5, -1e-9, 0., inf, -inf, nan, 300.,
                 3.14])
for e, m in ((5, 10), (8, 7), (4, 3), (11, 52), (8, 23)):
    case(f"reduce_precision/{e}_{m}", lambda a: lax.reduce_precision(a, e, m), fine)
    case(f"reduce_precision/single{e}_{m}", lambda a: lax.reduce_precision(a, e, m), fine.astype(np.float32))

# ---- lax.h: windows
G = lax.GatherDimensionNumbers
S = lax.ScatterDimensionNumbers
clip, fill = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP
cube = np.round(np.sin(np.arange(24.)), 3).reshape(2, 3, 4)
starts = np.array([[0, 0], [2, 3], [1, 2], [-1, 0]], np.int32)
rows = G((1,), (0,), (0, 1))
for name, mode in (("clip", clip), ("fill", fill)):
    case("lax::gather/" + name, lambda a, i: lax.gather(a, i, rows, (1, 2), mode=mode), x, starts)
case("lax::gather/value", lambda a, i: lax.gather(a, i, rows, (1, 2), mode=fill, fill_value=-9.), x, starts)
case("lax::gather/windows", lambda a, i: lax.gather(a, i, G((0, 2), (1,), (2, 0)), (1, 1, 2), mode=clip), cube,
     np.array([[1, 0], [9, 1], [2, 5]], np.int32))
case("lax::gather/batched", lambda a, i: lax.gather(a, i, G((2,), (1,), (1,), (0,), (0,)), (1, 1, 2), mode=clip), cube,
     np.array([[[0], [2]], [[1], [1]]], np.int32))
up = np.round(np.cos(np.arange(8.)), 3).reshape(4, 2)
into = S((1,), (0,), (0, 1))
for name, mode in (("clip", clip), ("drop", fill)):
    for f in ("scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"):
        case(f"lax::{f}/{name}", lambda a, i, u: getattr(lax, f)(a, i, u, into, mode=mode), x, starts, up)
    apart = np.array([[0, 0], [2, 3], [1, 1], [-1, 0]], np.int32)[:4 if name == "drop" else 3]
    case("lax::scatter/" + name, lambda a, i, u: lax.scatter(a, i, u, into, mode=mode), x, apart, up[:len(apart)])
case("lax::scatter_apply", lambda a, i: lax.scatter_apply(a, i, jnp.square, into, update_shape=(3, 2), mode=clip), x,
     np.array([[0, 0], [2, 3], [1, 1]]))
case("lax::scatter_add/batched",
     lambda a, i, u: lax.scatter_add(a, i, u, S((2,), (1,), (1,), (0,), (0,)), mode=clip), cube,
     np.array([[[0], [2]], [[1], [1]]], np.int32), np.arange(8.).reshape(2, 2, 2))
for s in (1, -1, 9):
    case(f"lax::dynamic_slice_in_dim/{s}", lambda a, i: lax.dynamic_slice_in_dim(a, i, 2, 1), x, np.array(s))
    case(f"lax::dynamic_update_slice_in_dim/{s}", lambda a, u, i: lax.dynamic_update_slice_in_dim(a, u, i, 1), x,
         up[:3], np.array(s))
    case(f"lax::dynamic_update_index_in_dim/{s}", lambda a, u, i: lax.dynamic_update_index_in_dim(a, u, i, 1), x,
         up[:3, 0], np.array(s))
case("lax::index_take", lambda a, i, j: lax.index_take(a, (i, j), (0, 2)), cube, np.array([1, 0, 1]),
     np.array([3, 0, 2]))
case("lax::collapse", lambda a: lax.collapse(a, 1), cube)
case("lax::collapse/two", lambda a: lax.collapse(a, 0, 2), cube)

# ---- lax.h: reductions and order
case("lax::reduce/sum", lambda a: lax.reduce(a, 0., lax.add, (0, 2)), cube)
case("lax::reduce/max", lambda a: lax.reduce(a, -inf, lax.max, (1,)), cube)
case("lax::reduce/and", lambda a: lax.reduce(a, np.int32(-1), lax.bitwise_and, (0,)), np.array([[7, 5], [3, 13]]))
case("lax::reduce/none", lambda a: lax.reduce(a, 1., lax.mul, (1,)), np.zeros((2, 0)))
case("lax::reduce_window/sum", lambda a: lax.reduce_window(a, 0., lax.add, (2, 3), (1, 1), "VALID"), x)
case("lax::reduce_window/max", lambda a: lax.reduce_window(a, -inf, lax.max, (2, 2), (2, 1), "SAME"), x)
case("lax::reduce_window/all",
     lambda a: lax.reduce_window(a, 0., lax.add, (2, 2), (1, 2), ((1, 0), (2, 1)), (2, 1), (1, 2)), x)
for f in ("cummax", "cummin", "cumlogsumexp"):
    case("lax::" + f, lambda a: getattr(lax, f)(a, 1), x)
    case(f"lax::{f}/reverse", lambda a: getattr(lax, f)(a, 0, reverse=True), x)
first, second = np.array([2., 1., 2., 1., 2.]), np.array([3, 9, 1, 4, 2])
case("lax::sort", lambda a, b: lax.sort((a, b), num_keys=1), first, second)
case("lax::sort/keys", lambda a, b: lax.sort((a, b), num_keys=2), first, second)
case("lax::sort/dimension", lambda a, b: lax.sort((a, b), dimension=0), x, y)
case("lax::approx_max_k", lambda a: lax.approx_max_k(a, 2), x)
case("lax::approx_max_k/dimension", lambda a: lax.approx_max_k(a, 2, reduction_dimension=0), x)
case("lax::approx_min_k", lambda a: lax.approx_min_k(a, 3), x)
case("lax::batch_matmul", lax.batch_matmul, cube, cube.reshape(2, 4, 3))

# ---- lax.h: convolutions
image = np.round(np.sin(np.arange(72.)), 3).reshape(2, 2, 3, 6)
kernel = np.round(np.cos(np.arange(24.)), 3).reshape(3, 2, 2, 2)
conv = lax.conv_general_dilated
case("lax::conv_general_dilated", lambda a, w: conv(a, w, (1, 2), "SAME"), image, kernel)
case("lax::conv_general_dilated/all",
     lambda a, w: conv(a, w, (2, 1), ((1, 2), (0, 1)), (2, 1), (1, 2)), image, kernel)
case("lax::conv_general_dilated/last",
     lambda a, w: conv(a, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")),
     image.reshape(2, 3, 6, 2), kernel.reshape(2, 2, 2, 3))
case("lax::conv_general_dilated/swapped",
     lambda a, w: conv(a, w, (1, 1), "VALID", dimension_numbers=("CWNH", "HIOW", "HWCN")),
     image.reshape(2, 6, 2, 3), kernel.reshape(2, 2, 3, 2))
case("lax::conv_general_dilated/groups", lambda a, w: conv(a, w, (1, 1), "VALID", feature_group_count=2), image,
     kernel.reshape(6, 1, 2, 2)[:4])
case("lax::conv_general_dilated/batches", lambda a, w: conv(a, w, (1, 1), "VALID", batch_group_count=2), image,
     np.concatenate([kernel, kernel[:1] * 2]))
case("lax::conv_general_dilated_patches",
     lambda a: lax.conv_general_dilated_patches(a, (2, 3), (1, 2), ((0, 0), (1, 0))), image)
case("lax::conv_general_dilated_patches/last",
     lambda a: lax.conv_general_dilated_patches(a, (2, 2), (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")),
     image.reshape(2, 3, 6, 2))
local = np.round(np.sin(0.7 * np.arange(3 * 8 * 2 * 5)), 3).reshape(3, 8, 2, 5)
case("lax::conv_general_dilated_local",
     lambda a, w: lax.conv_general_dilated_local(a, w, (1, 1), "VALID", (2, 2)), image, local)

# ---- masked.h
for f, name in (("sum", "sum"), ("prod", "prod"), ("mean", "mean"), ("var", "var"), ("std", "stddev"), ("all", "all"),
                ("any", "any")):
    case("masked::" + name, lambda a, m: getattr(jnp, f)(a, where=m), x, flags)
    case(f"masked::{name}/axis", lambda a, m: getattr(jnp, f)(a, axis=0, where=m, keepdims=True), x, flags)
    case(f"masked::{name}/row", lambda a, m: getattr(jnp, f)(a, axis=1, where=m), x, flags[0])
case("masked::var/ddof", lambda a, m: jnp.var(a, axis=0, ddof=1, where=m), x, flags[:, :1])
case("masked::stddev/ddof", lambda a: jnp.std(a, ddof=2), x)
case("masked::mean/nothing", lambda a, m: jnp.mean(a, axis=1, where=m), x, flags)
case("masked::sum/initial", lambda a, m: jnp.sum(a, axis=1, where=m, initial=5.), x, flags)
for f, name in (("max", "amax"), ("min", "amin")):
    case("masked::" + name, lambda a, m: getattr(jnp, f)(a, axis=1, where=m, initial=0.25), x, flags)
    case(f"masked::{name}/whole", lambda a, m: getattr(jnp, f)(a, where=m, initial=0.25, keepdims=True), x, flags)
    case(f"masked::{name}/plain", lambda a: getattr(jnp, f)(a, axis=0), x)

# ---- indexed.h
far = np.array([0, -1, 5, -4, -9, 3])
in_jax = {"wrap": "clip"}  # JAX's at[] has no wrap: the positions are wrapped here
wrapped = lambda i, mode: i % 4 if mode == "wrap" else i
for mode in ("clip", "fill", "wrap"):
    case("indexed::get/" + mode, lambda a, i: a.at[:, wrapped(i, mode)].get(mode=in_jax.get(mode, mode)), x, far)
for mode in ("clip", "drop", "wrap"):
    how = in_jax.get(mode, mode)
    for f in ("add", "multiply", "divide", "power", "min", "max", "subtract"):
        part = lambda a, i: a.at[:, wrapped(i, mode)]
        case(f"indexed::{f}/{mode}", lambda a, i, u: getattr(part(a, i), f)(u, mode=how), np.abs(x) + 1, far,
             np.abs(np.outer(x[:, 0], np.arange(6))) + 0.5)
    ok = {"clip": [0, 1, 9], "drop": [0, 1, 9, -9], "wrap": [0, 5, 7]}[mode]
    case(f"indexed::set/{mode}", lambda a, i: a.at[:, wrapped(i, mode)].set(2.5, mode=how), x, np.array(ok))
    case(f"indexed::apply/{mode}", lambda a, i: a.at[:, wrapped(i, mode)].apply(jnp.square, mode=how), x, np.array(ok))
case("indexed::get/value", lambda a, i: a.at[i].get(mode="fill", fill_value=-1.), x, np.array([0, 7]))
case("indexed::get/two", lambda a, i, j: a.at[i, :, j].get(mode="fill"), cube, np.array([1, 0, 2]), np.array([3, 4, 0]))
case("indexed::get/mask", lambda a, m: np.asarray(a)[np.asarray(m)], x, flags)
case("indexed::get/rows", lambda a, m: np.asarray(a)[np.asarray(m)], x, np.array([True, False, True]))
case("indexed::set/mask", lambda a, m: a.at[np.asarray(m)].set(7.), x, flags)
case("indexed::power/whole", lambda a, i: a.at[i].power(3), x, np.array([0, 2]))

# ---- positions.h
case("mgrid", lambda: jnp.mgrid[0:3, 1:7:2])
case("ogrid", lambda: jnp.ogrid[0:3, 1:7:2])
case("ix_", lambda a, b: jnp.ix_(a, b), np.array([0, 2]), np.array([1, 3, 0]))
case("ix_/mask", lambda a, b: np.ix_(np.asarray(a), np.asarray(b)), np.array([True, False, True]), np.array([1, 3]))
for f in ("tril_indices_from", "triu_indices_from"):
    case(f, lambda a: getattr(jnp, f)(a, 1), x)
case("diag_indices_from", jnp.diag_indices_from, x[:, :3])
case("mask_indices", lambda: jnp.mask_indices(3, jnp.triu, 1))
case("fromfunction", lambda: jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=jnp.int32))
case("identity", lambda: jnp.identity(3))
case("empty", lambda: jnp.zeros((2, 3)))
case("empty_like", jnp.zeros_like, x)
case("place", lambda a, m, u: jnp.place(a, m, u, inplace=False), x, flags, np.array([10., 20., 30.]))
case("put", lambda a, i, u: jnp.put(a, i, u, inplace=False), x, np.array([0, 5, -1, 7]), np.array([1., 2.]))
zeros = np.array([0., 0., 1., 0., 2., 0.])
for t in ("fb", "f", "b"):
    case("trim_zeros/" + t, lambda a: jnp.trim_zeros(a, t), zeros)
case("trim_zeros/none", jnp.trim_zeros, np.zeros(3))
case("sort_complex", jnp.sort_complex, np.array([3 + 1j, 1 - 2j, 3 - 1j, 1 + 5j]))
case("sort_complex/real", jnp.sort_complex, v)
for f in ("cumulative_sum", "cumulative_prod"):
    case(f, lambda a: getattr(jnp, f)(a, axis=1), x)
    case(f + "/initial", lambda a: getattr(jnp, f)(a, axis=0, include_initial=True), x)
counts = lambda h, *e: (np.asarray(h).astype(np.int32), *e)
points = np.round(np.sin(3.1 * np.arange(24.)), 3).reshape(12, 2)
case("histogramdd", lambda a: jax.tree.leaves(counts(*jnp.histogramdd(a, 3))), points)
case("histogramdd/edges", lambda a, e, g: jax.tree.leaves(counts(*jnp.histogramdd(a, [e, g]))), points,
     np.array([-1., 0., 0.5]), np.array([-0.5, 0.2, 0.4, 1.]))
case("histogramdd/density", lambda a, w: jax.tree.leaves(jnp.histogramdd(a, 2, weights=w, density=True)), points,
     np.arange(12.) + 1)
case("histogram2d", lambda a, b: counts(*jnp.histogram2d(a, b, 3)), points[:, 0], points[:, 1])
case("histogram2d/edges", lambda a, b, e: counts(*jnp.histogram2d(a, b, [e, e])), points[:, 0], points[:, 1],
     np.array([-1., 0., 0.5]))
case("kaiser", lambda: np.kaiser(6, 8.6))
case("kaiser/one", lambda: np.kaiser(1, 8.6))

# ---- polynomials.h
t = np.array([-2., -1., 0., 0.5, 1.5, 3.])
case("polyfit", lambda a, b: jnp.polyfit(a, b, 2), t, np.array([4., 0.5, -1., 0.3, 2., 8.]))
case("polyfit/weights", lambda a, b, w: jnp.polyfit(a, b, 1, w=w), t, np.array([4., 0.5, -1., 0.3, 2., 8.]),
     np.array([1., 2., 1., 0.5, 1., 3.]))
case("polyfit/columns", lambda a, b: jnp.polyfit(a, b, 1), t, np.stack([t * t, 2 - t], 1))
case("polydiv", lambda a, b: jnp.polydiv(a, b), np.array([3., 5., 2., 1.]), np.array([2., 1.]))
case("polydiv/square", lambda a, b: jnp.polydiv(a, b), np.array([1., -3., 2., 4., 5.]), np.array([1., 1., 2.]))
case("polydiv/short", lambda a, b: jnp.polydiv(a, b), np.array([2., 1.]), np.array([1., -3., 2.]))
case("polydiv/number", lambda a, b: jnp.polydiv(a, b), np.array([2., 1.]), np.array([4.]))
case("roots", lambda a: jnp.sort_complex(jnp.roots(a)), np.array([1., -6., 11., -6.]))
case("roots/pairs", lambda a: jnp.sort_complex(jnp.roots(a)), np.array([1., 0., 1.]))
case("roots/zeros", lambda a: jnp.sort_complex(jnp.roots(a)), np.array([0., 2., -3., 0., 0.]))

# ---- special_further.h, special_matrices.h
places = np.array([-7.5, -3., -1.5, -0.25, 0.125, 0.5, 1.25, 2., 3.75, 9.])
far = np.array([0., 1e-3, 20., 1e9, inf, -inf, nan])
sp = scipy.special
case("special::dawsn", sp.dawsn, places)
case("special::dawsn/far", sp.dawsn, far)
case("special::fresnel", sp.fresnel, places)
case("special::fresnel/far", sp.fresnel, far[[0, 1, 2, 4, 5, 6]])
case("special::sici", sp.sici, np.abs(places))
case("special::sici/far", sp.sici, far[:5])
case("special::owens_t", sp.owens_t, np.repeat(np.array([0., 0.25, -1.5, 4.]), 4),
     np.tile(np.array([0.5, -1., 2.5, 40.]), 4))
case("special::boxcox", sp.boxcox, np.abs(places), np.tile(np.array([0.5, -1.25, 2.]), 4)[:10])
case("special::boxcox1p", sp.boxcox1p, np.abs(places), np.tile(np.array([0.5, -1.25, 2.]), 4)[:10])
case("special::boxcox/zero", sp.boxcox, np.abs(places), np.zeros(10))
case("special::bessel_jn", lambda a: np.stack([sp.jv(n, np.asarray(a)) for n in range(4)]), places)
degree, order = np.array([0, 1, 1, 1, 2, 3, 5, 2]), np.array([0, -1, 0, 1, 2, -2, 3, 4])
case("special::sph_harm_y", sp.sph_harm_y, degree, order, np.linspace(0.25, 3, 8), np.linspace(-2, 3, 8))
coefficients = np.array([2., -3., 5., 0.5, 7.])
for mode in ("full", "same", "valid"):
    case("linalg::convolution_matrix/" + mode, lambda a: scipy.linalg.convolution_matrix(np.asarray(a), 3, mode),
         coefficients)
    case(f"linalg::convolution_matrix/{mode}7", lambda a: scipy.linalg.convolution_matrix(np.asarray(a), 7, mode),
         coefficients)
case("linalg::fiedler", scipy.linalg.fiedler, coefficients)
for n in (2, 3, 4, 5):
    case(f"linalg::fiedler_companion/{n}", scipy.linalg.fiedler_companion, coefficients[:n])
case("linalg::helmert", lambda: scipy.linalg.helmert(4))
case("linalg::helmert/full", lambda: scipy.linalg.helmert(4, full=True))
case("linalg::invhilbert", lambda: scipy.linalg.invhilbert(5))
for kind in ("symmetric", "lower", "upper"):
    case("linalg::invpascal/" + kind, lambda: scipy.linalg.invpascal(5, kind=kind).astype(float))
case("linalg::leslie", scipy.linalg.leslie, coefficients[:4], coefficients[:3])

# ---- fx/vectorize.h
case("apply_along_axis", lambda a: jnp.apply_along_axis(lambda r: jnp.stack([r[0], jnp.sum(r)]), 1, a), cube)
case("apply_along_axis/number", lambda a: jnp.apply_along_axis(jnp.sum, 0, a), cube)
case("apply_along_axis/matrix", lambda a: jnp.apply_along_axis(lambda r: jnp.outer(r, r), 1, a), cube)
case("apply_over_axes", lambda a: jnp.apply_over_axes(jnp.sum, a, (0, 2)), cube)
case("vectorize", lambda a, b: jnp.vectorize(jnp.matmul, signature="(n,m),(m)->(n)")(a, b), cube, x[:2])
case("vectorize/scalars", lambda a, b: jnp.vectorize(lambda s, t: s * t + 1)(a, b), cube, x[0])
