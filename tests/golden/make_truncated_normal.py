"""Writes truncated_normal.txt: quantiles of the truncated normal distribution in 60 digits, rounded to f64, that
tests/random/tails_test.cpp compares exact draws with.
Each line: lower, upper, ':', pairs of 64 bits (signed) and value.
With the first bit u = (m + 1/2) 2^-64 of the other bits m, without it 1 - u is that.
Usage: python make_truncated_normal.py > truncated_normal.txt
"""
import mpmath
from mpmath import mp, mpf

mp.dps = 60
INF = float("inf")
BOUNDS = [(8, 9), (-40, -39), (30, INF), (-INF, -30), (-1, 2), (-3, 1), (-INF, INF), (-8, 9), (0, INF), (-INF, 0),
          (3, 4),
          (0.5, 0.5000001), (5, 5.000000001), (-1e-3, 1e-3), (1e4, INF), (1e8, INF), (-1e6, -1e6 + 1e-6), (100, 101),
          (-0.25, 37), (3.9, 4.1), (7.5, INF)]
SHARES = [2**-64, 1e-15, 1e-9, 1e-4, 0.02, 0.3, 0.4999]


def tail(x):
    return mpf(0) if x == INF else mpf(1) if x == -INF else mpmath.erfc(mpf(x) / mpmath.sqrt(2)) / 2


def quantile(lower, upper, u):
    if -lower > upper:
        return -quantile(-upper, -lower, 1 - u)
    target = tail(lower) * (1 - u) + tail(upper) * u  # the upper tail
    turned = target > 0.5
    if turned:
        target = 1 - target
    # Newton's steps on the logarithm of the tail, which is concave, from above.
    lo = 0 if turned or lower < 0 else mpf(lower)
    fall = mpmath.log(tail(lo)) - mpmath.log(target)
    x = mpmath.sqrt(lo * lo + 2 * fall)
    for _ in range(200):
        density = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
        step = (mpmath.log(tail(x)) - mpmath.log(target)) * tail(x) / density
        x += step
        if abs(step) < mpf(10) ** -45 * max(1, abs(x)):
            break
    return -x if turned else x


print("# mpmath", mpmath.__version__)
for lower, upper in BOUNDS:
    words = []
    for share in SHARES:
        m = min(int(share * 2**64), 2**63 - 1)
        for low in (True, False):
            small = (mpf(m) + mpf(1) / 2) / mpf(2) ** 64
            mp.dps = 60 + (30 if abs(lower) > 1e3 or abs(upper) > 1e3 else 0)
            x = quantile(lower, upper, small if low else 1 - small)
            words += [str(m - 2**63 if low else m), float(x).hex()]
    bounds = [b if abs(b) == INF else float(b).hex() for b in (lower, upper)]
    print("truncated", *bounds, ":", *words)
