// sharded.h -- arrays and trees laid out by a mapping of logical axes to mesh axes (axis_mapping.h).
#pragma once
#include "bora/named/array.h"
#include "bora/named/axis_mapping.h"
#include "bora/tree/tree.h"

namespace bora {
/// x constrained by the current mapping (or the given one); unchanged without a mesh.
NamedArray auto_sharded(const NamedArray& x);
NamedArray auto_sharded(const NamedArray& x, const AxisMapping& mapping);
namespace fx {
/// Constrains every NamedArray of a tree; leaves plain Arrays alone.
void constrain_named(tree::Node, const AxisMapping&);
}  // namespace fx
/// t with each NamedArray constrained by the mapping.
template <class T> T sharded(T t, const AxisMapping& mapping) {
  fx::constrain_named(tree::node(t), mapping);
  return t;
}
}  // namespace bora
