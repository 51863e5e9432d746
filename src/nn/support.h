// support.h -- helpers shared by the layers. Private.
#pragma once
#include "bora/named/mapping.h"
#include "nn/samples.h"

namespace bora::nn {
inline AxisNames names_of(const std::vector<Axis>& axes) {
  std::vector<AxisNames::One> r;
  for (auto& a : axes) r.emplace_back(a);
  return AxisNames(r);
}
/// The dtype that norms and angles of x are computed in.
inline Dtype wide(const NamedArray& x) { return x.dtype() == f64 ? f64 : f32; }
/// Positions of a parameter's axes in x.
inline Dims positions_of(const NamedArray& parameter, const NamedArray& x) {
  Dims r;
  for (auto& a : parameter.axes()) r.push_back(x.position(a));
  return r;
}
/// A parameter as an array with x's dimensions. It is cast before it is repeated, so that its gradient is summed in the
/// wide dtype and rounded once.
inline Array beside(const NamedArray& x, const NamedArray& parameter) {
  return broadcast_to(auto_sharded(parameter).astype(wide(x)), Axes(x.axes())).array();
}
}  // namespace bora::nn
