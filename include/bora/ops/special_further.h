// special_further.h -- further special functions, with SciPy's names: powers, integrals of waves and bells, Bessel
// functions, spherical harmonics. As in special.h f32 and bf16 are computed in f64 and rounded once.
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
}  // namespace bora::special
