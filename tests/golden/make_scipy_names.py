"""Writes scipy_names.txt: results of SciPy and JAX (f64) that tests/scipy/names_test.cpp compares with.

  python make_scipy_names.py > scipy_names.txt

Each line: case, in or out, dtype, shape, ':', numbers (a complex number is two). The case's name begins with the
function's. SciPy 1.17.1 where both have the function, but for map_coordinates, whose modes are JAX's (0.10.2), and
odeint.
"""
import jax
import jax.experimental.ode
import jax.numpy as jnp
import jax.scipy.ndimage
import numpy as np
import scipy as sp
import scipy.signal as ss

jax.config.update("jax_enable_x64", True)
NAMES = {"float64": "f64", "int64": "i32", "int32": "i32", "complex128": "complex128"}
MODES = ("full", "same", "valid")


def line(name, role, x):
    x = np.asarray(x)
    shape = ",".join(map(str, x.shape)) or "-"
    if x.dtype.kind == "c":
        x = x.reshape(-1).view(np.float64)
        kind = "complex128"
    else:
        kind = NAMES[str(x.dtype)]
    numbers = (repr(float(v)) if x.dtype.kind == "f" else str(int(v)) for v in x.ravel())
    print(name, role, kind, shape, ":", *numbers)


def case(name, f, *inputs):
    inputs = [np.asarray(x) for x in inputs]
    for x in inputs:
        line(name, "in", x)
    y = f(*inputs)
    for r in y if isinstance(y, (tuple, list)) else (y,):
        line(name, "out", r)


def wave(n, a=1.7, b=0.3):
    return np.round(2 * np.sin(a * np.arange(n) + b) + 0.1 * np.arange(n), 3)


def turning(n):
    return wave(n) + 1j * wave(n, 0.9, 1.1)


def convolutions():
    sizes = [(1, 1), (7, 3), (7, 4), (6, 2), (3, 7), (4, 4), (5, 1)]
    for f in ("convolve", "correlate"):
        g = getattr(ss, f)
        for mode in MODES:
            for n, m in sizes:
                a, b = wave(n), wave(m, 0.8, 1.)
                case(f"signal::{f}/{mode}/{n}_{m}", lambda a, b: g(a, b, mode, method="direct"), a, b)
                case(f"signal::{f}/{mode}/fft_{n}_{m}", lambda a, b: g(a, b, mode, method="direct"), a, b)
            case(f"signal::{f}/{mode}/matrix", lambda a, b: g(a, b, mode, method="direct"), wave(20).reshape(4, 5),
                 wave(6, 0.8).reshape(2, 3))
            case(f"signal::{f}/{mode}/integers", lambda a, b: g(a, b, mode, method="direct"), np.arange(6) - 2,
                 np.array([1, -2, 3]))
            case(f"signal::{f}/{mode}/complex", lambda a, b: g(a, b, mode, method="direct"), turning(5), turning(3) - 1)
            holes = np.where(np.arange(9) == 3, np.nan, wave(9))
            case(f"signal::{f}/{mode}/nan", lambda a, b: g(a, b, mode, method="direct"), holes, wave(2))
    for f in ("convolve2d", "correlate2d"):
        for mode in MODES:
            for boundary in ("fill", "wrap", "symm"):
                for n, m in (((4, 5), (2, 3)), ((3, 4), (3, 3)), ((2, 2), (3, 5)), ((1, 1), (1, 1))):
                    if mode == "valid" and (n[0] < m[0] or n[1] < m[1]):
                        continue
                    a, b = wave(n[0] * n[1]).reshape(n), wave(m[0] * m[1], 0.8).reshape(m)
                    name = f"signal::{f}/{mode}/{boundary}_{n[0]}{n[1]}_{m[0]}{m[1]}"
                    case(name, lambda a, b: getattr(ss, f)(a, b, mode, boundary, 0.5), a, b)
    for mode in MODES:
        case(f"signal::fftconvolve/{mode}", lambda a, b: ss.fftconvolve(a, b, mode), wave(20).reshape(4, 5),
             wave(6).reshape(2, 3))
        case(f"signal::fftconvolve/{mode}/axes", lambda a, b: ss.fftconvolve(a, b, mode, axes=1),
             wave(20).reshape(4, 5), wave(3).reshape(1, 3))
        case(f"signal::fftconvolve/{mode}/complex", lambda a, b: ss.fftconvolve(a, b, mode), turning(5), turning(3))


def trends():
    x = wave(24).reshape(2, 12)
    for kind in ("constant", "linear"):
        case(f"signal::detrend/{kind}", lambda a: ss.detrend(a, type=kind), x)
        case(f"signal::detrend/{kind}/axis", lambda a: ss.detrend(a, axis=0, type=kind), x)
        case(f"signal::detrend/{kind}/one", lambda a: ss.detrend(a, type=kind), wave(1))
    case("signal::detrend/breaks", lambda a: ss.detrend(a, bp=[3, 4, 8]), x)
    for n in (1, 2, 7, 8):
        case(f"signal::hilbert/{n}", ss.hilbert, wave(n))
    case("signal::hilbert/padded", lambda a: ss.hilbert(a, N=15, axis=1), x)


WINDOWS = ["boxcar", "triang", "bartlett", "parzen", "bohman", "barthann", "cosine", "lanczos", "hann", "hamming",
           "blackman", "nuttall", "blackmanharris", "flattop", ("general_cosine", [0.5, 0.3, 0.2]),
           ("general_hamming", 0.7), ("tukey", 0.3), ("kaiser", 8.6), ("gaussian", 2.5), ("general_gaussian", 1.5, 2.),
           ("exponential", None, 3.)]


def windows():
    for w in WINDOWS:
        name, parameters = (w, ()) if isinstance(w, str) else (w[0], w[1:])
        for n in (0, 1, 2, 7, 8):
            case(f"signal::windows::{name}/{n}", lambda: getattr(ss.windows, name)(n, *parameters))
        for n in (7, 8):
            case(f"signal::get_window/{name}_{n}", lambda: ss.get_window(w, n))


def inverse(z, fs=1., **options):
    """istft with the times of the result; SciPy counts along its first dimension."""
    x = ss.istft(z, fs, **options)[1]
    return np.arange(x.shape[options.get("time_axis", -1)]) / fs, x


def spectra():
    x, y = wave(40).reshape(2, 20), wave(40, 0.7, 2.).reshape(2, 20) + 0.3 * wave(40).reshape(2, 20)
    odd = wave(9)
    z = turning(18)
    case("signal::welch", lambda a: ss.welch(a, 2.), x)
    case("signal::welch/segments", lambda a: ss.welch(a, nperseg=8, window="hamming", detrend="linear"), x)
    case("signal::welch/odd", lambda a: ss.welch(a, nperseg=7, noverlap=2, nfft=9, scaling="spectrum"), x)
    case("signal::welch/median", lambda a: ss.welch(a, nperseg=5, average="median", detrend=False), x)
    case("signal::welch/both", lambda a: ss.welch(a, nperseg=6, return_onesided=False), x)
    case("signal::welch/axis", lambda a: ss.welch(a, nperseg=6, axis=0), x.T)
    case("signal::welch/complex", lambda a: ss.welch(a, nperseg=6, return_onesided=False), z)
    case("signal::welch/window", lambda a: ss.welch(a, window=np.array([1., 2., 3., 1.])), x)
    case("signal::csd", lambda a, b: ss.csd(a, b, nperseg=8), x, y)
    case("signal::csd/short", lambda a, b: ss.csd(a, b, nperseg=8), x, y[:, :13])
    case("signal::csd/median", lambda a, b: ss.csd(a, b, nperseg=5, average="median"), x, y)
    case("signal::csd/broadcast", lambda a, b: ss.csd(a, b, nperseg=6), x, y[0])
    case("signal::coherence", lambda a, b: ss.coherence(a, b, nperseg=6), x, y)
    case("signal::periodogram", lambda a: ss.periodogram(a, 3.), odd)
    case("signal::periodogram/nfft", lambda a: ss.periodogram(a, nfft=12, window="hann", scaling="spectrum"), odd)
    case("signal::periodogram/cut", lambda a: ss.periodogram(a, nfft=6, detrend="linear"), odd)
    case("signal::periodogram/one", lambda a: ss.periodogram(a), wave(1))
    for mode in ("psd", "complex", "magnitude", "angle", "phase"):
        case(f"signal::spectrogram/{mode}", lambda a: ss.spectrogram(a, 2., nperseg=8, mode=mode), x)
    case("signal::spectrogram/axis", lambda a: ss.spectrogram(a, nperseg=6, noverlap=3, axis=0), x.T)
    for b in ("zeros", "even", "odd", "constant", None):
        case(f"signal::stft/{b}", lambda a: ss.stft(a, nperseg=8, boundary=b), x)
    case("signal::stft/plain", lambda a: ss.stft(a, 2., nperseg=7, noverlap=3, nfft=10, padded=False), x)
    case("signal::stft/axis", lambda a: ss.stft(a, nperseg=6, axis=0, scaling="psd"), x.T)
    case("signal::stft/complex", lambda a: ss.stft(a, nperseg=6, return_onesided=False), z)
    case("signal::istft", lambda a: inverse(a, nperseg=8), ss.stft(x, nperseg=8)[2])
    case("signal::istft/other", lambda a: inverse(a, nperseg=8, noverlap=5), ss.stft(x, nperseg=8)[2] + 0.1)
    case("signal::istft/odd", lambda a: inverse(a, 2., nperseg=7), ss.stft(odd, nperseg=7)[2])
    case("signal::istft/plain", lambda a: inverse(a, window="hamming", boundary=False, scaling="psd"),
         ss.stft(odd, nperseg=6)[2])
    case("signal::istft/axes", lambda a: inverse(a, nperseg=6, time_axis=0, freq_axis=2),
         np.moveaxis(ss.stft(x, nperseg=6)[2], -1, 0))
    case("signal::istft/complex", lambda a: inverse(a, nperseg=6, input_onesided=False),
         ss.stft(z, nperseg=6, return_onesided=False)[2])


def cosine_transforms():
    for f in ("dct", "idct"):
        g = getattr(sp.fft, f)
        for kind in (1, 2, 3, 4):
            for norm in ("backward", "ortho", "forward"):
                for n in (1, 2, 5, 8):
                    if n == 1 and kind == 1:
                        continue
                    case(f"fft::{f}/{kind}_{norm}_{n}", lambda a: g(a, kind, norm=norm), wave(n))
        case(f"fft::{f}/padded", lambda a: g(a, n=7, axis=0), wave(10).reshape(5, 2))
        case(f"fft::{f}/cut", lambda a: g(a, n=3, axis=0), wave(10).reshape(5, 2))
        case(f"fft::{f}/complex", lambda a: g(a), turning(5))
        h = getattr(sp.fft, f + "n")
        case(f"fft::{f}n", lambda a: h(a), wave(12).reshape(3, 4))
        case(f"fft::{f}n/axes", lambda a: h(a, 3, s=[4, 2], axes=[2, 0], norm="ortho"), wave(24).reshape(3, 4, 2))
        case(f"fft::{f}n/s", lambda a: h(a, s=[3]), wave(12).reshape(3, 4))


def images():
    x = wave(20).reshape(4, 5)
    where = np.stack([wave(9, 1.1) * 2.1 + 1.3, wave(9, 0.6) * 2.3 + 1.9])
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
        for order in (0, 1):
            f = lambda a, c: jax.scipy.ndimage.map_coordinates(a, list(c), order, mode, 0.5)
            case(f"ndimage::map_coordinates/{mode}_{order}", f, x, where)
            case(f"ndimage::map_coordinates/{mode}_{order}/vector", f, wave(3), where[:1].reshape(1, 3, 3))
            f = lambda a, c: jax.scipy.ndimage.map_coordinates(a, list(c), order, mode, 1)
            case(f"ndimage::map_coordinates/{mode}_{order}/integers", f, np.arange(6).reshape(2, 3) * 7, where)
    case("ndimage::map_coordinates/complex", lambda a, c: jax.scipy.ndimage.map_coordinates(a, list(c), 1), turning(6),
         where[:1])


def integrals():
    steps = np.array([0., 0.3, 1., 1.2, 2., 2.1, 3.])
    for n in (1, 2, 3, 4, 5, 6, 7):
        y = wave(2 * n).reshape(2, n)
        case(f"integrate::simpson/{n}", lambda a: sp.integrate.simpson(a, dx=0.5), y)
        case(f"integrate::simpson/at_{n}", lambda a, b: sp.integrate.simpson(a, b), y, steps[:n])
        case(f"integrate::simpson/axis_{n}", lambda a, b: sp.integrate.simpson(a, b, axis=0), y.T,
             np.stack([steps[:n], 2 * steps[:n]], 1))
        case(f"integrate::cumulative_trapezoid/{n}", lambda a: sp.integrate.cumulative_trapezoid(a, dx=0.5), y)
        case(f"integrate::cumulative_trapezoid/at_{n}",
             lambda a, b: sp.integrate.cumulative_trapezoid(a, b, initial=0), y, steps[:n])
        case(f"integrate::trapezoid/{n}", lambda a, b: sp.integrate.trapezoid(a, b), y, steps[:n])
    case("integrate::simpson/nan", sp.integrate.simpson, np.array([1., np.nan, 2.]))
    t = np.array([0., 0.5, 1.3, 2.])
    pendulum = lambda y, t: jnp.stack([y[1], -0.25 * y[1] - 9.8 * jnp.sin(y[0])])
    case("integrate::odeint/pendulum", lambda a, b: jax.experimental.ode.odeint(pendulum, a, b), np.array([2.5, 0.1]),
         t)
    case("integrate::odeint/time", lambda a, b: jax.experimental.ode.odeint(
        lambda y, t: -y * t, a, b, rtol=1e-5, atol=1e-6, hmax=0.1), np.array([1., -2., 0.]), t)
    case("integrate::odeint/one", lambda a, b: jax.experimental.ode.odeint(lambda y, t: y, a, b), np.array([1.]), t[:1])


def splines():
    grid, other = np.array([0., 1., 1.5, 3.]), np.array([-1., 0.5, 2.])
    values = wave(12).reshape(4, 3)
    at = np.array([[0.2, 0.1], [1., 0.5], [2.9, 1.9], [0., -1.], [3., 2.], [4., 0.], [1.2, -2.], [0.75, 1.25]])
    for method in ("linear", "nearest"):
        for name, fill in (("nan", np.nan), ("zero", 0.), ("on", None)):
            f = lambda p, q, v, x: sp.interpolate.RegularGridInterpolator((p, q), v, method, False, fill)(x)
            case(f"interpolate::RegularGridInterpolator/{method}_{name}", f, grid, other, values, at)
        f = lambda p, q, v, x: sp.interpolate.RegularGridInterpolator((p, q), v, method, False, None)(x)
        case(f"interpolate::RegularGridInterpolator/{method}/rest", f, grid, other, wave(24).reshape(4, 3, 2),
             at.reshape(2, 4, 2))
    x = np.array([0., 0.7, 1., 2.5, 3., 4.2])
    points = np.array([-0.5, 0., 0.3, 0.7, 2., 3.3, 4.2, 5.]).reshape(2, 4)
    for ends in ("not-a-knot", "natural", "clamped"):
        for n in (2, 3, 4, 6):
            for nu in (0, 1, 2, 3):
                f = lambda x, y, p: sp.interpolate.CubicSpline(x, y, bc_type=ends)(p, nu)
                case(f"interpolate::CubicSpline/{ends}_{n}_{nu}", f, x[:n], wave(n), points)
        f = lambda x, y, p: sp.interpolate.CubicSpline(x, y, bc_type=ends)(p)
        case(f"interpolate::CubicSpline/{ends}/rest", f, x, wave(12).reshape(6, 2), points)


for part in (convolutions, trends, windows, spectra, cosine_transforms, images, integrals, splines):
    part()
