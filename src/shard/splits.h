// splits.h -- which mesh axes split the labels of an operation's dimensions. Private.
#pragma once
#include <map>
#include "bora/array/rules.h"

namespace bora {
/// The mesh axes that split each label of a dimension map.
struct Splits {
  std::map<std::int64_t, MeshAxes> of = {};
  MeshAxes used = {};
  Spec spec(const Dims& labels) const;
};
/// Each label gets the split of the biggest operand that has one; a mesh axis serves one label.
Splits splits_of(const Factors& f, const std::vector<Sharded>& in);
}  // namespace bora
