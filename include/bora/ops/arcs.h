// arcs.h -- inverses of trigonometric and hyperbolic functions, under NumPy's and jax.lax's names. Of real numbers, f32
// and bf16 are computed in f64 and rounded once, and NaN stands outside of the domain. Of complex numbers they are the
// principal values; arctan2 takes real ones. arctanh is in elementwise.h.
#pragma once
#include "bora/ops/special.h"

namespace bora {
Array arcsin(const Array& x);   // in [-pi / 2, pi / 2]
Array arccos(const Array& x);   // in [0, pi]
Array arctan(const Array& x);   // in (-pi / 2, pi / 2)
Array arcsinh(const Array& x);
Array arccosh(const Array& x);  // >= 0
/// The angle of the point (x, y) in [-pi, pi]. Its derivative at (0, 0) is NaN.
Array arctan2(const special::Operand& y, const special::Operand& x);
Array asin(const Array& x);
Array acos(const Array& x);
Array atan(const Array& x);
Array asinh(const Array& x);
Array acosh(const Array& x);
Array atanh(const Array& x);
Array atan2(const special::Operand& y, const special::Operand& x);
}  // namespace bora
