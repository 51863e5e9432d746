// systems.h -- NumPy's forms of a x = b: b may be one vector, and batches broadcast. Private.
#pragma once
#include "bora/array/rules.h"
#include "bora/ops/manipulation.h"
#include "ops/linalg/algorithms/checks.h"

namespace bora::linalg {
/// solve(a, b) of a [.., n, n] and b [.., n, k] with equal batches. A vector b [n] is one column, for every matrix of
/// a; the result lacks it again: [.., n]. What is no system is left to solve, which says so.
template <class F> Array each_system(std::string_view what, const Array& a, const Array& b, const F& solve) {
  if (a.ndim() < 2 || b.ndim() < 1) return solve(a, b);
  if (b.ndim() == 1) {
    auto s = batch(a.type());
    s.append(Shape{b.shape(0), 1});
    return squeeze(solve(a, broadcast_to(expand_dims(b, 1), s)), -1);
  }
  auto of_a = batch(a.type()), of_b = batch(b.type());
  if (of_a == of_b) return solve(a, b);
  auto both = broadcast_shapes(what, of_a, of_b);
  auto wide = [&](const Array& x) {
    auto s = both;
    s.append(Shape{x.shape(-2), x.shape(-1)});
    return broadcast_to(x, s);
  };
  return solve(wide(a), wide(b));
}
/// Of a x = b: each column of b is a system of its own. Every rank that has some of them factors a.
inline DimFactors system_factors(const Types& in) {
  auto f = batch_factors(in, {in[1]}, in[0].shape.size() - 2);
  f.in[1].back() = f.out[0].back() = in[1].ndim();
  f.linear = {1};
  return f;
}
}  // namespace bora::linalg
