// mapping.h -- maps logical axes to mesh axes: the one place that defines a layout. FSDP, tensor parallelism and both
// at once change two mappings (how parameters are stored, how computations are split) and the mesh, never the model.
#pragma once
#include "bora/fx/jit.h"
#include "bora/named/named.h"
#include "bora/shard/shard.h"

namespace bora {
/// {"embed", "data"}, {"embed", {"data", "model"}}, {"embed", none}.
struct Rule {
  std::string axis;
  MeshAxes mesh;
};
/// Ordered rules, as in T5X: for each axis of an array the first rule that applies wins, by the order of the rules. A
/// mesh axis splits only one dimension of an array, and mesh axes that the current mesh lacks are skipped. A rule with
/// mesh axes of which none is left does not apply, and one without any keeps its axis whole.
class AxisMapping {
 public:
  AxisMapping() = default;
  AxisMapping(std::initializer_list<Rule> r) : rules_(r) {}
  explicit AxisMapping(std::vector<Rule> r) : rules_(std::move(r)) {}
  const std::vector<Rule>& rules() const { return rules_; }
  /// Throws ShardError if two rules map one of these axes to the same mesh axis: one of them is a mistake.
  void check_rules(const std::vector<Axis>& axes) const;
 private:
  std::vector<Rule> rules_;
};
/// How the mapping splits an array with these axes on the current mesh (not at all without one).
Spec spec_for(const std::vector<Axis>& axes, const AxisMapping& mapping);
/// How a mapping splits an array on a mesh, whose axes of one rank split nothing: for each dimension its mesh axes, and
/// the number of the rule that it took, from 0.
struct Placement {
  Spec spec;
  std::vector<std::optional<std::size_t>> rules;
};
Placement placement_of(const std::vector<Axis>& axes, const AxisMapping& mapping, const MeshShape& mesh);
/// This thread's current mapping.
const AxisMapping& current_mapping();
class [[nodiscard]] UseMapping {
 public:
  [[nodiscard]] explicit UseMapping(AxisMapping mapping);
  ~UseMapping();
  UseMapping(const UseMapping&) = delete;
  UseMapping& operator=(const UseMapping&) = delete;
 private:
  AxisMapping saved_;
};
/// x constrained by the current mapping (or the given one); unchanged without a mesh.
NamedArray auto_sharded(const NamedArray& x);
NamedArray auto_sharded(const NamedArray& x, const AxisMapping& mapping);
/// Collects the axes of the arrays that auto_sharded(x) gets on this thread, each list once, for plans.
class [[nodiscard]] RecordSharded {
 public:
  [[nodiscard]] explicit RecordSharded(std::vector<std::vector<Axis>>& to);
  ~RecordSharded();
  RecordSharded(const RecordSharded&) = delete;
  RecordSharded& operator=(const RecordSharded&) = delete;
 private:
  std::vector<std::vector<Axis>>* saved_;
};
namespace fx {
/// Constrains every NamedArray of a tree; leaves plain Arrays alone.
void constrain_named(tree::Node, const AxisMapping&);
}  // namespace fx
template <class T> T sharded(T t, const AxisMapping& mapping) {
  fx::constrain_named(tree::node(t), mapping);
  return t;
}
/// Silent effects of a mapping on these arrays, one line each: rules that fit no array, rules that an earlier rule
/// hides, axes whose mesh axis is taken, uneven splits. Mesh axes of one rank split nothing. For plans.
std::vector<std::string> diagnose(const AxisMapping& mapping,
                                  const std::vector<std::pair<std::string, std::vector<Axis>>>& arrays,
                                  const MeshShape& mesh);

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
