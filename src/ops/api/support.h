// support.h -- shared by the files of this layer that define primitives. Private.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <vector>
#include "bora/array/rules.h"

namespace bora::ops {
using Index = std::int64_t;
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kPi = std::numbers::pi;
/// from, from + 1, .. (n numbers).
inline Dims range_of(std::int64_t n, std::int64_t from = 0) {
  Dims d(static_cast<std::size_t>(std::max<std::int64_t>(n, 0)));
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = from + static_cast<std::int64_t>(i);
  return d;
}
/// Every dimension number plus one: lift() applied to parameters.
inline Dims shifted(Dims d) {
  for (auto& x : d) ++x;
  return d;
}
inline Dims prepend(std::int64_t x, Dims d) {
  d.insert(d.begin(), x);
  return d;
}
inline Shape prepend(std::int64_t x, Shape s) {
  s.insert(0, x);
  return s;
}
inline bool contains(const Dims& d, std::int64_t x) { return std::find(d.begin(), d.end(), x) != d.end(); }
inline Type with_shape(const Type& t, Shape s) { return {std::move(s), t.dtype}; }
/// Is n a number of this dtype? (For floating dtypes and booleans always.)
bool holds(Dtype, std::int64_t n);
/// The number in its canonical form for this dtype, so that equal constants are equal primitives. Throws ValueError for
/// an integer that the dtype cannot hold.
Scalar checked(Scalar value, Dtype dtype);
/// Writes `value` as one element of dtype. Throws DtypeError for a complex number that the dtype cannot hold.
void write_number(Scalar value, Dtype dtype, void* to);
/// The same in the low bytes of an integer; not for complex128.
std::uint64_t bits_of(Scalar value, Dtype dtype);
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Every input and the output have the same dimensions. `linear`, `joint`: see Factors.
inline DimFactors elementwise_factors(const Types& in, std::vector<std::size_t> linear = {}, bool joint = false) {
  Dims d = range_of(in.empty() ? 0 : in[0].ndim());
  return {std::vector<Dims>(in.size(), d), {d}, std::move(linear), joint};
}
/// Calls f(linear position, index) for every index of shape, row-major.
template <class F> void for_each_index(const Shape& s, F&& f) {
  Dims i(s.size(), 0);
  for (std::int64_t k = 0, n = volume(s); k < n; ++k) {
    f(k, i);
    for (std::size_t d = s.size(); d-- > 0 && ++i[d] == s[d];) i[d] = 0;
  }
}

// ---- arrays for samples() and for rules (support.cpp; BatchRules::front is defined there too) -----------------------
/// Fixed pseudo-random numbers in [lo, hi); integers in [lo, hi) for integer dtypes; boolean: either.
Array random_values(const Shape& shape, double lo, double hi, int seed, Dtype dtype = f64);
/// The given numbers, row-major.
Array values(const Shape& shape, std::initializer_list<double> numbers, Dtype dtype);
/// a and b as one dtype and one shape: promoted, then broadcast by NumPy's rules. `what` names the operation in errors.
std::pair<Array, Array> promoted_pair(std::string_view what, const Array& a, const Array& b);
/// x in the dtype in which it is added up or multiplied: small integers would overflow at once.
Array for_sums(const Array& x, std::optional<Dtype> asked = none);
}  // namespace bora::ops
