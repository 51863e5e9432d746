// distribution.h -- what the distributions share. Private.
#pragma once
#include "bora/ops/calculus.h"
#include "bora/ops/stats.h"
#include "ops/numpy/support.h"
#include "ops/primitives/by_element.h"

namespace bora::stats {
using namespace ops;
using O = const Operand&;
inline constexpr double kLogTwoPi = 1.8378770664093454836;
/// f of the operands as Arrays of one type, rounded once.
template <class F, class... X> Array of(std::string_view what, F&& f, const X&... x) {
  auto t = one_type(what, {x...});
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return f(t.x[i]...).astype(t.dtype);
  }(std::index_sequence_for<X...>());
}
/// Is q no probability?
inline Array no_probability(A q) { return !(q >= 0 && q <= 1); }
}  // namespace bora::stats
