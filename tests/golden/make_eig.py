"""Writes eig.txt: eigenvalues of matrices that a formula gives, for tests/laws/eig_test.cpp.

  python make_eig.py > eig.txt

Each line: size, 0 for a real matrix or 1 for a complex one, ':', eigenvalues, two numbers each, in no order.
"""
import numpy as np

print("# numpy", np.__version__)
for n in (6, 40, 150):
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    real = ((7 * i + 13 * j + i * j + 3 * i * i) % 11 - 5) / 4
    imag = ((5 * i + 3 * j + 2 * i * j + j * j) % 13 - 6) / 4
    for kind, a in enumerate((real, real + 1j * imag)):
        w = np.linalg.eigvals(a).astype(complex)
        print(n, kind, ":", *(f"{x:.15g}" for z in w for x in (z.real, z.imag)))
