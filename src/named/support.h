// support.h -- helpers shared by the files of this layer. Private.
#pragma once
#include <algorithm>
#include "bora/named/named.h"
#include "bora/ops/shape.h"

namespace bora {
using NamedLeaf = tree::Leaf<NamedArray>;
using detail::positions, detail::spread_to, detail::without;
/// A result whose axes are known to fit.
inline NamedArray made(Array a, std::vector<Axis> axes) { return NamedLeaf::with_axes(std::move(a), std::move(axes)); }
}  // namespace bora
