// support.h -- helpers shared by the layers. Private.
#pragma once
#include "bora/array/communicator.h"
#include "bora/named/sharded.h"
#include "bora/ops/accumulator.h"
#include "named/api/support.h"
#include "nn/core/samples.h"
#include "ops/api/same_everywhere.h"

namespace bora::nn {
using AxisList = std::vector<Axis>;
inline AxisList joined(AxisList a, const AxisList& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// x as an array with these axes in this order, repeated along those that it lacks.
inline Array array_over(const NamedArray& x, const AxisList& axes) { return broadcast_to(x, axes).array(); }
/// Positions of a parameter's axes in x.
inline Dims positions_of(const NamedArray& parameter, const NamedArray& x) {
  Dims r;
  for (auto& a : parameter.axes()) r.push_back(x.position(a));
  return r;
}
/// A parameter as an array with x's dimensions. It is cast before it is repeated, so that its gradient is summed in the
/// wide dtype and rounded once.
inline Array beside(const NamedArray& x, const NamedArray& parameter) {
  return broadcast_to(auto_sharded(parameter).astype(real_accumulator(x.dtype())), Axes(x.axes())).array();
}
/// The mapping's Spec of x without the mesh axes by which x is split along an axis of `weight` while they split another
/// axis of the weight; none if there are no such axes.
inline std::optional<Spec> spec_beside(const NamedArray& x, const NamedArray& weight) {
  if (!here().mesh) return none;
  auto mine = spec_for(x.axes(), current_mapping()), its = spec_for(weight.axes(), current_mapping());
  auto before = mine;
  for (std::size_t d = 0; d < mine.size(); ++d)
    if (auto at = find_axis(weight.axes(), x.axes()[d].name); at >= 0)
      for (auto& m : before[d])
        if (its.uses(m) && !its[static_cast<std::size_t>(at)].has(m)) mine[d].remove(m);
  return mine == before ? none : std::optional(mine);
}
/// x for its product with `weight`: whole along such axes. Else each rank would sum whole results, and only then keep
/// its part.
inline NamedArray gathered(const NamedArray& x, const NamedArray& weight) {
  auto spec = spec_beside(x, weight);
  return spec ? named(ops::constrained(x.array(), *spec, current_mapping().gradients()), x.axes()) : x;
}
/// A product with `weight`: split along such axes here, so that its gradient is gathered here.
inline NamedArray scattered(const NamedArray& y, const NamedArray& weight) {
  return spec_beside(y, weight) ? auto_sharded(y) : y;
}
}  // namespace bora::nn
