"""Writes sobol.txt: points of SciPy's Sobol sequence that tests/random/sobol_test.cpp compares with, as multiples of
2^-32. The first line has their number, dimensions and position of the first.
Usage: python make_sobol.py > sobol.txt
"""
from scipy.stats import qmc

N, D, SKIP = 8, 64, 1000
points = qmc.Sobol(D, scramble=False, bits=32).fast_forward(SKIP).random(N)
print(N, D, SKIP)
for row in points:
    print(" ".join(f"{int(x * 2**32):x}" for x in row))
