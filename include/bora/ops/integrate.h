// integrate.h -- integrals of samples, with the names of scipy.integrate and jax.scipy.integrate. odeint is in
// fx/ode.h.
#pragma once
#include "bora/ops/calculus.h"

namespace bora::integrate {
using bora::trapezoid;
/// The running integrals by the trapezoidal rule along axis: [.., n - 1, ..], with an initial value in front [.., n,
/// ..]. Neighbours are at a distance, or at coordinates (a vector or of y's shape). Throws ShapeError for no samples.
Array cumulative_trapezoid(const Array& y, double distance = 1, std::int64_t axis = -1,
                           std::optional<double> initial = none);
Array cumulative_trapezoid(const Array& y, const Array& coordinates, std::int64_t axis = -1,
                           std::optional<double> initial = none);
/// The integral along axis by Simpson's rule: parabolas through neighbouring samples; of an even number of samples the
/// last interval takes the parabola through the last three (Cartwright 2017), of two the trapezoid. Throws ShapeError
/// for no samples.
Array simpson(const Array& y, double distance = 1, std::int64_t axis = -1);
Array simpson(const Array& y, const Array& coordinates, std::int64_t axis = -1);
}  // namespace bora::integrate
