// special_further.h -- further special functions, with SciPy's names: powers, integrals of waves and bells, Bessel
// functions, spherical harmonics, hypergeometric functions. As in special.h f32 and bf16 are computed in f64, f64 in
// long double, and rounded once.
#pragma once
#include "bora/ops/special.h"

namespace bora::special {
/// (x^lambda - 1) / lambda, log(x) for lambda = 0 (where it has no derivative by lambda); boxcox1p: of 1 + x.
Array boxcox(const Operand& x, const Operand& lambda);
Array boxcox1p(const Operand& x, const Operand& lambda);
/// exp(-x^2) times the integral of exp(t^2) from 0 to x (Dawson). Source: Rybicki 1989.
Array dawsn(const Array& x);
/// Integrals from 0 to x of sin(pi t^2 / 2) and cos(pi t^2 / 2).
struct Fresnel {
  Array s, c;
};
Fresnel fresnel(const Array& x);
/// The integral of sin(t) / t from 0 to x, and Euler's constant plus log(x) plus that of (cos(t) - 1) / t; of a
/// negative x the second is that of |x|.
struct SineCosine {
  Array si, ci;
};
SineCosine sici(const Array& x);
/// The integral of exp(-h^2 (1 + t^2) / 2) / (1 + t^2) from 0 to a, over 2 pi (Owen 1956).
Array owens_t(const Operand& h, const Operand& a);
/// Bessel functions of the first kind of orders 0 .. v: [v + 1, x's shape..]. Throws ValueError for v < 0.
Array bessel_jn(const Array& x, std::int64_t v);
/// Spherical harmonics of degree n and order m (whole, |m| <= n), complex: theta is the polar angle from 0 to pi, phi
/// the azimuth. 0 for |m| > n; NaN for n < 0.
Array sph_harm_y(const Operand& n, const Operand& m, const Operand& theta, const Operand& phi);

// ---- hypergeometric functions ---------------------------------------------------------------------------------------
/// Kummer's function 1F1: the sum of (a)_k x^k / ((b)_k k!), of real numbers. inf for b = 0, -1, .. unless the sum ends
/// before. Derivatives by a, b and x; those by a and b have none by a or b. Source: Abramowitz & Stegun 13.
Array hyp1f1(const Operand& a, const Operand& b, const Operand& x);
/// Gauss' function 2F1: the sum of (a)_k (b)_k x^k / ((c)_k k!) and its continuation to x < -1, of real numbers. inf
/// for x > 1 and for c = 0, -1, .. unless the sum ends before, and at x = 1 for c <= a + b. Derivatives by all four;
/// those by a, b and c have none by a, b or c. Source: Abramowitz & Stegun 15, near 1 the differential equation.
Array hyp2f1(const Operand& a, const Operand& b, const Operand& c, const Operand& x);
/// Faddeeva's function exp(-z^2) erfc(-i z), complex64 or complex128, of complex or real z. Source: Al Azah and
/// Chandler-Wilde 2021.
Array wofz(const Array& z);
}  // namespace bora::special
