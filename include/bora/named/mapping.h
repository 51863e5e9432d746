// mapping.h -- arrays and trees laid out by a mapping of logical axes to mesh axes (axis_mapping.h).
#pragma once
#include "bora/fx/jit.h"
#include "bora/named/axis_mapping.h"
#include "bora/named/named.h"
#include "bora/shard/shard.h"

namespace bora {
/// x constrained by the current mapping (or the given one); unchanged without a mesh.
NamedArray auto_sharded(const NamedArray& x);
NamedArray auto_sharded(const NamedArray& x, const AxisMapping& mapping);
namespace fx {
/// Constrains every NamedArray of a tree; leaves plain Arrays alone.
void constrain_named(tree::Node, const AxisMapping&);
}  // namespace fx
template <class T> T sharded(T t, const AxisMapping& mapping) {
  fx::constrain_named(tree::node(t), mapping);
  return t;
}
struct NamedJitOptions {
  AxisMapping out = {};  // storage mapping: splits the draws inside and constrains the results
};
/// jit(f) under a mapping that lays out the draws and results of f; no rank ever holds a whole array.
template <class F> auto named_jit(F f, NamedJitOptions options = {}) {
  return jit([f = std::move(f), mapping = options.out](const auto&... a) {
    UseMapping scope(mapping);
    return sharded(std::invoke(f, a...), mapping);
  });
}
}  // namespace bora
