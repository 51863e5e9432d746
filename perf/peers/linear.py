"""Linear algebra of perf/cases/science.cpp, for JAX and NumPy."""
import numpy as np

from common import wide


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

    def qr(a):
        return tuple(abs(x) for x in library.linalg.qr(a))
    cases = {f"solve_{n}": (library.linalg.solve, lambda n=n: systems(n)) for n in (8, 64)}
    for n in (512, 2000):
        cases |= {f"svd_{n}": (svd, lambda n=n: [wide(1, (n, n))]), f"qr_{n}": (qr, lambda n=n: [wide(1, (n, n))]),
                  f"eigh_{n}": (eigh, lambda n=n: [positive(n)]),
                  f"cholesky_{n}": (library.linalg.cholesky, lambda n=n: [positive(n)])}
    return cases
