// splits.h -- which mesh axes split the labels of an operation's dimensions. Private.
#pragma once
#include <map>
#include <vector>
#include "bora/array/primitive_base.h"

namespace bora {
/// The mesh axes that split each label of a dimension map.
struct Splits {
  std::map<std::int64_t, MeshAxes> of = {};
  MeshAxes used = {};
  Spec spec(const Dims& labels) const;
};
/// Each label gets the split of the biggest operand that has one; a mesh axis serves one label.
Splits splits_of(const DimFactors& f, const std::vector<Sharded>& in);

/// Mesh axes that split a dimension which the operation needs whole, and the label that they split instead while it
/// runs.
struct Turn {
  std::size_t operand, dim;
  MeshAxes axes;
  std::int64_t label;
};
/// The dimensions that p needs whole and that its operands split, beside `splits`: each hands its axes to a dimension
/// of the same operand along which p is independent and that has as many rows as there are parts. An all_to_all then
/// moves a part of what a gather would, and each rank does a part of the work. Little work stays as it is. Decided by
/// global shapes.
std::vector<Turn> turns_of(const Primitive& p, const DimFactors& f, const std::vector<Sharded>& in,
                           const Splits& splits, const MeshShape& mesh);
/// The Spec that result o gets behind the turns: an operand's where it has the dimensions that turned, in their places
/// and sizes, else the one in which it is computed.
Spec turned_back(const std::vector<Turn>& turns, const DimFactors& f, std::size_t o, const Shape& shape,
                 const std::vector<Sharded>& in, const Splits& before, const Splits& during);
}  // namespace bora
