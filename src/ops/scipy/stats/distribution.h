// distribution.h -- what the distributions share. Private.
#pragma once
#include "bora/ops/calculus.h"
#include "bora/ops/creation.h"
#include "bora/ops/stats.h"
#include "ops/numpy/support.h"
#include "ops/primitives/by_element.h"
#include "ops/scipy/special/densities.h"

namespace bora::stats {
using namespace ops;
using O = const Operand&;
inline constexpr double kLogTwoPi = 1.8378770664093454836;
/// y, but NaN where one of x is, and so are the derivatives by each of x there. (A comparison with NaN is false, so a
/// choice between the support and what lies outside of it makes a number of it.)
inline Array nan_for_nan(A y, const Arrays& x) {
  if (x.empty()) return y;
  auto nan = isnan(x[0]);
  auto total = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) nan = nan || isnan(x[i]), total = total + x[i];
  return where(nan, total * where(nan, kNan, full_like(y, 1)), y);
}
/// Can this operand be NaN?
inline bool may_be_nan(O x) {
  return x.is_array() ? is_inexact(x.array().dtype()) : std::isnan(x.number().value);
}
/// f of the operands as Arrays of one type, rounded once; for an f of which every part is NaN for NaN.
template <class F, class... X> Array smooth(std::string_view what, F&& f, const X&... x) {
  auto t = one_type(what, {x...});
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return f(t.x[i]...).astype(t.dtype);
  }(std::index_sequence_for<X...>());
}
/// The same for any f; NaN for NaN.
template <class F, class... X> Array of(std::string_view what, F&& f, const X&... x) {
  auto t = one_type(what, {x...});
  Arrays floating;
  std::size_t k = 0;
  for (auto nan : {may_be_nan(x)...}) {
    if (nan) floating.push_back(t.x[k]);
    ++k;
  }
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return nan_for_nan(f(t.x[i]...), floating).astype(t.dtype);
  }(std::index_sequence_for<X...>());
}
/// log(1 + y^2), also where the square would leave the range.
inline Array log1p_square(A y) {
  auto far = abs(y) > 1e10;
  return where(far, 2 * log(abs(where(far, y, 1))), log1p(square(where(far, 1, y))));
}
/// Is q no probability?
inline Array no_probability(A q) { return !(q >= 0 && q <= 1); }
}  // namespace bora::stats
