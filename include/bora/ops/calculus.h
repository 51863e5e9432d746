// calculus.h -- differences, integrals, interpolation and convolutions of samples. bf16 is computed in f32 where more
// than one operation rounds.
#pragma once
#include "bora/ops/arguments.h"

namespace bora {
struct DiffOptions {                                              // of diff
  std::optional<special::Operand> prepend = none, append = none;  // joined to x first; a number is one more place
};
/// The n-th difference x[i + 1] - x[i] along axis; of booleans: do neighbours differ?
Array diff(const Array& x, std::int64_t n = 1, std::int64_t axis = -1, const DiffOptions& options = {});
/// The differences of ravel(x), with `before` and `after` (raveled) around them.
Array ediff1d(const Array& x, const Array& after = {}, const Array& before = {});
/// Central differences along axis, one-sided at both ends, for neighbours at a distance (or at coordinates, a vector).
/// Throws ShapeError for fewer than two elements.
Array gradient(const Array& x, double distance = 1, std::int64_t axis = -1);
Array gradient(const Array& x, const Array& coordinates, std::int64_t axis = -1);
/// The integral along axis by the trapezoidal rule, for neighbours at a distance (or at coordinates, a vector or of y's
/// shape).
Array trapezoid(const Array& y, double distance = 1, std::int64_t axis = -1);
Array trapezoid(const Array& y, const Array& coordinates, std::int64_t axis = -1);
struct InterpOptions {                              // the results where x is outside of the points xp
  std::optional<double> left = none, right = none;  // default: the first and the last value
};
/// The piecewise linear function through the points (xp[i], fp[i]), xp ascending, at x.
Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& options = {});
// x with steps along axis larger than discont (default: period / 2) replaced by their complement to the period.
struct UnwrapOptions {
  std::optional<double> discont = none;
  double period = 6.283185307179586;
};
Array unwrap(const Array& x, std::int64_t axis = -1, const UnwrapOptions& options = {});

/// The convolution of vectors a [n] and v [m]: full [n + m - 1], same [max(n, m)] in its middle, valid
/// [max(n, m) - min(n, m) + 1] where both overlap entirely. Holds the windows in memory: result times min(n, m)
/// numbers. Throws ShapeError for an empty vector.
Array convolve(const Array& a, const Array& v, Overlap mode = Overlap::full);
/// sum over n of a[n + k] v[n].
Array correlate(const Array& a, const Array& v, Overlap mode = Overlap::valid);
}  // namespace bora
