// interpolate.h -- functions through given points, with the names of scipy.interpolate and jax.scipy.interpolate.
#pragma once
#include <limits>
#include "bora/array/array.h"

namespace bora::interpolate {
/// linear: between the 2^D corners of a cell; nearest: the nearest grid point (the lower one in the middle).
enum class Method : std::uint8_t { linear, nearest };
/// values [N1, .., ND, rest..] on a grid of D axes, points[d] [Nd] ascending. A tree: points and values may be
/// differentiated and mapped.
struct RegularGridInterpolator {
  Arrays points;
  Array values;
  Method method = Method::linear;
  /// The number outside of the grid; none: the outermost cells go on.
  std::optional<double> fill_value = std::numeric_limits<double>::quiet_NaN();
  /// At x [.., D]: [.., rest..], floating. Derivatives by x, points and values (nearest: by values). Throws ShapeError
  /// where points, values and x do not fit, and for axes of fewer than two points (nearest: none).
  Array operator()(const Array& x) const;
};
/// The condition at the ends of a spline: the first two (last two) pieces are one polynomial; the second derivative is
/// 0; the slope is 0.
enum class Ends : std::uint8_t { not_a_knot, natural, clamped };
/// The cubic polynomials between the points (x[i], y[i]) with continuous first and second derivatives: x [n] ascending,
/// y [n, rest..].
struct CubicSpline {
  Array x, y;
  Ends ends = Ends::not_a_knot;
  /// The value, or the nu-th derivative (0 to 3), at points [..]: [.., rest..]. Outside of x the outermost polynomials
  /// go on. Throws ShapeError for fewer than two points, ValueError for another nu.
  Array operator()(const Array& at, int nu = 0) const;
};
}  // namespace bora::interpolate
