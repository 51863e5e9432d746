"""Linear algebra and Fourier transforms of perf/cases/science.cpp, for JAX and NumPy."""
import numpy as np

from common import uniform, wide


def systems(n):
    count = 10000 if n == 8 else 1000
    return wide(1, (count, n, n)) + 4 * np.eye(n), wide(2, (count, n, 1))


def positive(n):
    a = wide(1, (n, n))
    return a @ a.T / n + np.eye(n)


def linear(library):
    """Of JAX or NumPy, whose functions have the same names."""
    def svd(a):
        u, s, vt = library.linalg.svd(a, full_matrices=False)
        return s, abs(u), abs(vt)

    def eigh(a):
        values, vectors = library.linalg.eigh(a)
        return values, abs(vectors)

    def eig(a):
        values, vectors = library.linalg.eig(a)
        return library.sort(values.real), library.sort(abs(values.imag)), library.sort((abs(vectors)**4).sum(0))

    def qr(a):
        return tuple(abs(x) for x in library.linalg.qr(a))

    def parts(f):
        def both(x):
            y = f(x)
            return y.real, y.imag
        return both

    def numbers(*shape):
        return [(uniform(1, shape) + 1j * uniform(2, shape)).astype(np.complex64)]
    fourier = {"fft": (parts(library.fft.fft), lambda: numbers(1 << 20)),
               "fft2": (parts(library.fft.fft2), lambda: numbers(1024, 1024))}
    cases = fourier | {f"solve_{n}": (library.linalg.solve, lambda n=n: systems(n)) for n in (8, 64)}
    for n in (512, 2000):
        cases |= {f"svd_{n}": (svd, lambda n=n: [wide(1, (n, n))]), f"qr_{n}": (qr, lambda n=n: [wide(1, (n, n))]),
                  f"eigh_{n}": (eigh, lambda n=n: [positive(n)]),
                  f"cholesky_{n}": (library.linalg.cholesky, lambda n=n: [positive(n)])}
    cases["eig_500"] = (eig, lambda: [wide(1, (500, 500))])
    for ranks in (1, 4):  # the peer factors the whole matrix
        cases[f"sharded_cholesky_{ranks}"] = (library.linalg.cholesky, lambda: [positive(2000)])
    return cases
