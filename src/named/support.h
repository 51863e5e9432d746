// support.h -- helpers shared by the files of this layer. Private.
#pragma once
#include <algorithm>
#include "bora/named/named.h"
#include "bora/ops/shape.h"

namespace bora {
using NamedLeaf = tree::Leaf<NamedArray>;
/// A result whose axes are known to fit.
inline NamedArray made(Array a, std::vector<Axis> axes) { return NamedLeaf::with_axes(std::move(a), std::move(axes)); }
/// The axes of a result of both operands. AxisError if neither contains the other or sizes differ.
std::vector<Axis> combined(std::string_view what, const NamedArray& a, const NamedArray& b);
/// x's array with the dimensions of `to`, which must contain x's axes.
Array spread_to(const NamedArray& x, const std::vector<Axis>& to);
/// Positions of the named axes of x, in the order given.
Dims positions(std::string_view what, const NamedArray& x, const AxisNames& names);
std::vector<Axis> without(const std::vector<Axis>& axes, const Dims& positions);
}  // namespace bora
