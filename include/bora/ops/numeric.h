// numeric.h -- numerical functions of NumPy that are composites: differences and integrals, interpolation, products of
// vectors, polynomials, convolution, windows, and elementwise functions. bf16 is computed in f32 where more than one
// operation rounds.
#pragma once
#include "bora/ops/axes.h"
#include "bora/ops/special.h"

namespace bora {
// ---- differences and integrals --------------------------------------------------------------------------------------
struct DiffOptions {
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
struct InterpOptions {
  std::optional<double> left = none, right = none;  // default: the first and the last value
};
/// The piecewise linear function through the points (xp[i], fp[i]), xp ascending, at x.
Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& options = {});
/// x with steps along axis larger than discont (default: period / 2) replaced by their complement to the period.
struct UnwrapOptions {
  std::optional<double> discont = none;
  double period = 6.283185307179586;
};
Array unwrap(const Array& x, std::int64_t axis = -1, const UnwrapOptions& options = {});

// ---- products -------------------------------------------------------------------------------------------------------
/// The vector product of a and b, vectors of three numbers along axis. One of two numbers has 0 for its third; of two
/// such vectors the result is the third number of their product alone, without the axis. Throws ShapeError.
Array cross(const Array& a, const Array& b, std::int64_t axis = -1);
struct CrossAxes {
  std::int64_t a = -1, b = -1, result = -1;  // of the vectors in a, b and the result
};
Array cross(const Array& a, const Array& b, const CrossAxes& axes);
/// The Kronecker product: [m.., ] and [n..] give [m n..]; missing leading dimensions have size 1.
Array kron(const Array& a, const Array& b);
/// Sums over the last dimensions: a [A.., n], b [B.., n] give [A.., B..]. With a scalar the product.
Array inner(const Array& a, const Array& b);
/// The sum of all products of equally placed elements.
Array vdot(const Array& a, const Array& b);
/// Sums of products along axis, broadcast.
Array vecdot(const Array& a, const Array& b, std::int64_t axis = -1);
/// a [.., m, n] times x [.., n]; x [.., m] times a [.., m, n]. Leading dimensions are broadcast.
Array matvec(const Array& a, const Array& x);
Array vecmat(const Array& x, const Array& a);
/// Powers of a vector x [n] as columns: x^(columns - 1), .., x, 1 (increasing: 1, x, ..); default n columns.
Array vander(const Array& x, std::optional<std::int64_t> columns = none, bool increasing = false);

// ---- polynomials: vectors of coefficients, the highest power first --------------------------------------------------
Array polyval(const Array& p, const Array& x);  // Horner's rule
Array polyadd(const Array& p, const Array& q);
Array polysub(const Array& p, const Array& q);
Array polymul(const Array& p, const Array& q);
Array polyder(const Array& p, std::int64_t m = 1);  // the m-th derivative
Array polyint(const Array& p, std::int64_t m = 1);  // the m-th integral with constants 0
/// The coefficients [n + 1] of the polynomial with these zeros [n].
Array poly(const Array& zeros);

// ---- signals --------------------------------------------------------------------------------------------------------
enum class Overlap : std::uint8_t { full, same, valid };
/// The convolution of vectors a [n] and v [m]: full [n + m - 1], same [max(n, m)] in its middle, valid
/// [max(n, m) - min(n, m) + 1] where both overlap entirely. Holds the windows in memory: result times min(n, m)
/// numbers. Throws ShapeError for an empty vector.
Array convolve(const Array& a, const Array& v, Overlap mode = Overlap::full);
/// sum over n of a[n + k] v[n].
Array correlate(const Array& a, const Array& v, Overlap mode = Overlap::valid);
// Windows of n numbers, computed in f64.
Array bartlett(std::int64_t n, Dtype dtype = f32);
Array blackman(std::int64_t n, Dtype dtype = f32);
Array hamming(std::int64_t n, Dtype dtype = f32);
Array hanning(std::int64_t n, Dtype dtype = f32);

// ---- one operand ----------------------------------------------------------------------------------------------------
Array sinc(const Array& x);  // sin(pi x) / (pi x), 1 at 0
Array deg2rad(const Array& x);
Array rad2deg(const Array& x);
Array radians(const Array& x);  // deg2rad
Array degrees(const Array& x);  // rad2deg
Array positive(const Array& x);
Array fabs(const Array& x);     // abs, a fraction also of integers
Array rint(const Array& x);     // round, a fraction also of integers
Array fix(const Array& x);      // trunc
Array signbit(const Array& x);  // boolean: is the sign a minus, also of -0 and NaN?
Array isposinf(const Array& x);
Array isneginf(const Array& x);
struct NanToNumOptions {
  double nan = 0;
  std::optional<double> posinf = none, neginf = none;  // default: the largest and smallest finite numbers of the dtype
};
/// x without NaN and infinities.
Array nan_to_num(const Array& x, const NanToNumOptions& options = {});

// ---- two operands ---------------------------------------------------------------------------------------------------
/// sqrt(a^2 + b^2) without overflow; infinite if either is.
Array hypot(const Array& a, const Array& b);
/// log2(2^a + 2^b) without overflow.
Array logaddexp2(const Array& a, const Array& b);
/// 0 for x < 0, 1 for x > 0, at 0 `at_zero`.
Array heaviside(const Array& x, const Array& at_zero);
Array copysign(const Array& a, const Array& b);  // |a| with the sign of b
/// The larger (smaller) one; of NaN and a number the number.
Array fmax(const Array& a, const Array& b);
Array fmin(const Array& a, const Array& b);
Array logical_xor(const Array& a, const Array& b);
/// The power of fractions: integers are taken as f32.
Array float_power(const Array& a, const Array& b);
/// The quotient of floor_divide and the remainder.
struct QuotientRemainder {
  Array quotient, remainder;
};
QuotientRemainder divmod(const Array& a, const Array& b);
/// The whole part, towards 0, and the rest with x's sign.
struct WholeAndFraction {
  Array fraction, whole;
};
WholeAndFraction modf(const Array& x);
struct CloseOptions {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
/// |a - b| <= atol + rtol |b|, or equal infinities; boolean.
Array isclose(const Array& a, const Array& b, const CloseOptions& options = {});
/// Do a and b broadcast to equal arrays? Reads values: not inside transforms.
bool array_equiv(const Array& a, const Array& b);
}  // namespace bora
