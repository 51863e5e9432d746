// support.h -- helpers shared by the files of this layer and of nn. Private.
#pragma once
#include <algorithm>
#include "bora/named/operations.h"
#include "bora/ops/manipulation.h"
#include "bora/named/by_name.h"

namespace bora {
using NamedLeaf = tree::Leaf<NamedArray>;
using detail::positions, detail::spread_to, detail::without;
inline AxisNames names_of(const std::vector<Axis>& axes) {
  return AxisNames(std::vector<AxisNames::One>(axes.begin(), axes.end()));
}
/// A result whose axes are known to fit.
inline NamedArray made(Array a, std::vector<Axis> axes) { return NamedLeaf::with_axes(std::move(a), std::move(axes)); }
}  // namespace bora
