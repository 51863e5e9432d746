"""Writes complex.txt: results of jax.numpy in complex128, for tests/laws/complex_test.cpp, complex_linalg_test.cpp and
fft_test.cpp.

  python make_complex.py > complex.txt

Each line: case, in or out, dtype, shape, ':', numbers; a complex number is two. Gradients are jax.grad's. Transforms
are NumPy's: JAX's own of f64 have fewer digits.
"""
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

jax.config.update("jax_enable_x64", True)
NAMES = {"float64": "f64", "complex128": "complex128", "bool": "bool", "int32": "i32", "int64": "i32"}


def line(name, role, x):
    x = np.asarray(x)
    shape = ",".join(map(str, x.shape)) or "-"
    flat = x.ravel()
    if x.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1).ravel()
    numbers = (repr(float(v)) if flat.dtype.kind == "f" else str(int(v)) for v in flat)
    print(name, role, NAMES[str(x.dtype)], shape, ":", *numbers)


def case(name, f, *inputs, module=jnp):
    for x in inputs:
        line(name, "in", x)
    line(name, "out", f(*(module.asarray(x) for x in inputs)))


print("# jax", jax.__version__, "numpy", np.__version__)
i = np.arange(6).reshape(2, 3)
z = np.round(1.3 * np.sin(1.7 * i + 0.3), 3) + 1j * np.round(1.1 * np.cos(2.3 * i), 3)
w = np.round(np.cos(0.9 * i + 2), 3) + 1j * np.round(1.4 * np.sin(0.7 * i - 1), 3)
r = np.round(2 * np.sin(1.1 * i + 4), 3)
odd = np.array([1 + 1j, 0, np.inf + 1j, np.nan, complex(1, np.nan), complex(0, -np.inf), -0.0 + 0j])

for name in ("add", "subtract", "multiply", "divide", "power", "outer"):
    case(name, getattr(jnp, name), z, w)
case("power/real", lambda a: a ** 2.5, z)
case("power/whole", lambda a: a ** 3, z)
case("power/of_number", lambda a: 2. ** a, z)
same = np.where(i % 2 == 0, z, w)
case("equal", jnp.equal, z, same)
case("not_equal", jnp.not_equal, z, same)
for name in ("exp expm1 log log1p sqrt sin cos tan sinh cosh tanh abs angle conj conjugate real imag iscomplex isreal "
             "square reciprocal sign").split():
    case(name, getattr(jnp, name), z if name not in ("iscomplex", "isreal") else np.where(i == 2, 3, z))
cuts = np.array([complex(x, y) for x in (-2., -0.5, -0., 0., 0.5, 2.) for y in (-2., -0.5, -0., 0., 0.5, 2.)])
far = np.array([1e-9 + 1e-10j, 1e8 - 3e7j, -1e8 + 1j, 1 + 1e-9j, -1e-9 + 1j, 0.3 - 1e9j])
for name in "arcsin arccos arctan arcsinh arccosh arctanh".split():
    case(name, getattr(np, name), z, module=np)
    case(name + "/cuts", getattr(np, name), cuts, module=np)
    case(name + "/far", getattr(np, name), far, module=np)
    right = np.abs(z.real) + 1j * z.imag if name == "arccosh" else z  # elsewhere JAX's derivative has the wrong sign
    case("grad/" + name, lambda a: jax.grad(lambda v: jnp.sum(jnp.abs(getattr(jnp, name)(v))))(a), right)
case("round", jnp.round, 10 * z)
case("around", lambda a: jnp.round(a, 1), z)
for name in ("isnan", "isfinite", "isinf"):
    case(name, getattr(jnp, name), odd)
case("angle/real", jnp.angle, r)
case("imag/real", jnp.imag, r)
case("sigmoid", lambda a: 1 / (1 + jnp.exp(-a)), z)
case("sum", lambda a: jnp.sum(a, 1), z)
case("sum/all", jnp.sum, z)
case("prod", lambda a: jnp.prod(a, 0), z)
case("mean", lambda a: jnp.mean(a, 0), z)
case("var", jnp.var, z)
case("std", lambda a: jnp.std(a, 1), z)
case("cumsum", lambda a: jnp.cumsum(a, 1), z)
case("matmul", lambda a, b: a @ b.T, z, w)
case("einsum", lambda a, b: jnp.einsum("ij,kj->ik", a, b), z, w)
case("where", lambda a, b: jnp.where(a.real > 0, a, b), z, w)
for name in ("vdot", "vecdot", "vecmat", "correlate", "convolve"):
    vectors = name in ("correlate", "convolve")
    case(name, getattr(jnp, name), *((z[0], w[1]) if vectors else (z[0], w.T) if name == "vecmat" else (z, w)))
case("correlate/short", jnp.correlate, z[0, :2], w[0])
case("cov", jnp.cov, z)
case("corrcoef", jnp.corrcoef, z)
case("norm", jnp.linalg.norm, z)
case("vector_norm", lambda a: jnp.linalg.vector_norm(a, axis=1), z)
case("nan_to_num", jnp.nan_to_num, odd)
case("nansum", jnp.nansum, odd)
case("isclose", jnp.isclose, z, z + 1e-9j)
for name, f, x in (("abs2", lambda a: jnp.sum(jnp.real(a * jnp.conj(a))), z),
                   ("abs", lambda a: jnp.sum(jnp.abs(a)), z),
                   ("angle", lambda a: jnp.sum(jnp.angle(a)), z),
                   ("real_exp", lambda a: jnp.sum(jnp.real(jnp.exp(a))), z),
                   ("imag_log", lambda a: jnp.sum(jnp.imag(jnp.log(a))), z),
                   ("abs_tanh", lambda a: jnp.sum(jnp.abs(jnp.tanh(a))), z),
                   ("abs_power", lambda a: jnp.sum(jnp.abs(a ** 3)), z),
                   ("abs_product", lambda a: jnp.abs(jnp.prod(a)), z),
                   ("of_real", lambda a: jnp.sum(jnp.abs(jnp.exp(1j * a) * (a + 1j))), r)):
    case("grad/" + name, jax.grad(f), x)
case("at/multiply", lambda a, b: a.at[:, 1].multiply(b[:, 0]), z, w)
case("at/multiply_twice", lambda a, b: a.at[:, jnp.array([2, 0, 2])].multiply(b), z, w)


def of_product(a, b):
    return jnp.sum(jnp.abs(a.at[:, jnp.array([2, 0])].multiply(b[:, :2], unique_indices=True) + 1j))


case("grad/at_multiply", jax.grad(of_product), z, w)
case("grad/at_multiply_by", jax.grad(of_product, 1), z, w)

k = np.arange(24).reshape(2, 3, 4)
x = np.round(np.sin(1.9 * k + 0.2), 3) + 1j * np.round(np.cos(1.3 * k), 3)
real = np.round(np.cos(2.1 * k + 1), 3)
for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    f, a = getattr(np.fft, name), real if name in ("rfft", "ihfft") else x
    case(f"fft::{name}", f, a, module=np)
    for norm in ("backward", "ortho", "forward"):
        case(f"fft::{name}/{norm}", lambda v: f(v, n=5, axis=1, norm=norm), a, module=np)
    case(f"fft::{name}/short", lambda v: f(v, n=3, axis=-1), a, module=np)
    case(f"fft::{name}/one", lambda v: f(v, n=1, axis=0), a, module=np)
for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    f, a = getattr(np.fft, name), real if name.startswith("rfft") else x
    case(f"fft::{name}", f, a, module=np)
    case(f"fft::{name}/axes", lambda v: f(v, s=(3, 5), axes=(2, 0), norm="ortho"), a, module=np)
for name in ("fftshift", "ifftshift"):
    case(f"fft::{name}", getattr(np.fft, name), x, module=np)
    case(f"fft::{name}/axes", lambda v: getattr(np.fft, name)(v, axes=(1,)), real, module=np)
for n in (1, 4, 5):
    line(f"fft::fftfreq/{n}", "out", np.fft.fftfreq(n, 0.5))
    line(f"fft::rfftfreq/{n}", "out", np.fft.rfftfreq(n, 0.5))

k = np.arange(16).reshape(4, 4)
a = np.round(np.sin(1.7 * k + 0.3), 3) + 1j * np.round(np.cos(2.3 * k), 3)
b = np.round(np.cos(0.9 * k + 2), 3) + 1j * np.round(np.sin(0.7 * k * k - 1), 3)
positive, hermitian = np.round(a @ a.conj().T, 3) + np.eye(4), b + b.conj().T
tall, wide, right = b[:, :3], b[:3], a[:, :2]


def of_linalg(name, f, *inputs, module=jnp):
    case("linalg::" + name, f, *inputs, module=module)


def weighed(x):
    """A real number that depends on all of x's numbers; of magnitudes where a phase is free."""
    w = jnp.cos(jnp.arange(x.size).reshape(x.shape) * 1.3 + 0.7)
    return jnp.sum(w * jnp.real(x)) + jnp.sum(w[::-1] * jnp.imag(x))


of_linalg("cholesky", jnp.linalg.cholesky, positive)
for name, m in (("tall", tall), ("wide", wide), ("square", b)):
    of_linalg(f"qr/{name}/q", lambda m: np.linalg.qr(m)[0], m, module=np)
    of_linalg(f"qr/{name}/r", lambda m: np.linalg.qr(m)[1], m, module=np)
    of_linalg(f"svdvals/{name}", jnp.linalg.svdvals, m)
    of_linalg(f"pinv/{name}", jnp.linalg.pinv, m)
    of_linalg(f"matrix_rank/{name}", jnp.linalg.matrix_rank, m)
    for order in ("nuc", "fro", 1, 2, -2, np.inf):
        of_linalg(f"matrix_norm/{name}/{order}", lambda m: jnp.linalg.matrix_norm(m, ord=order), m)
of_linalg("eigvalsh", jnp.linalg.eigvalsh, hermitian)
of_linalg("eigh/generalised", scipy.linalg.eigvalsh, hermitian, positive, module=np)
of_linalg("lstsq", lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], tall, right, module=np)
of_linalg("cond", jnp.linalg.cond, b)
of_linalg("cho_solve", lambda a, b: scipy.linalg.cho_solve((np.tril(a), True), b), positive, right, module=np)
of_linalg("polar/u", lambda m: scipy.linalg.polar(m)[0], tall, module=np)
of_linalg("polar/p", lambda m: scipy.linalg.polar(m, side="left")[1], wide, module=np)
for name, f, x in (("cholesky", lambda m: weighed(jnp.linalg.cholesky(m)), positive),
                   ("qr", lambda m: sum(map(weighed, jnp.linalg.qr(m))), tall),
                   ("qr/square", lambda m: sum(map(weighed, jnp.linalg.qr(m))), b),
                   ("eigh", lambda m: sum(weighed(abs(x)) for x in jnp.linalg.eigh(m)), hermitian),
                   ("svd/tall", lambda m: sum(weighed(abs(x)) for x in jnp.linalg.svd(m, False)), tall),
                   ("svd/wide", lambda m: sum(weighed(abs(x)) for x in jnp.linalg.svd(m, False)), wide),
                   ("svd/product", lambda m: weighed(jnp.linalg.svd(m, False)[0] @ jnp.linalg.svd(m, False)[2]), b),
                   ("pinv", lambda m: weighed(jnp.linalg.pinv(m)), tall)):
    of_linalg("grad/" + name, jax.grad(f), x)
