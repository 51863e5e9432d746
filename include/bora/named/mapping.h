// mapping.h -- from logical axes to mesh axes: the one place where a layout is said. FSDP, tensor parallelism and both at once are changes
// of two mappings (how parameters are stored, how computations are split) and of the mesh, never of the model.
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
/// Ordered rules. For each array the first rule that names one of its axes wins for that axis, a mesh axis splits one dimension of an
/// array only, and mesh axes that the mesh in force has not are skipped.
class AxisMapping {
 public:
  AxisMapping() = default;
  AxisMapping(std::initializer_list<Rule> r) : rules_(r) {}
  explicit AxisMapping(std::vector<Rule> r) : rules_(std::move(r)) {}
  const std::vector<Rule>& rules() const { return rules_; }
  /// Throws ShardError if a rule maps an axis to a mesh axis that an earlier rule mapped it to already: one of them is a mistake.
  void check_rules(const std::vector<Axis>& axes) const;
 private:
  std::vector<Rule> rules_;
};
/// How an array with these axes is split under the mapping, on the mesh in force (not at all without one).
Spec spec_for(const std::vector<Axis>& axes, const AxisMapping& mapping);
/// The mapping in force on this thread.
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
/// x constrained by the mapping in force (or the one given); unchanged without a mesh.
NamedArray auto_sharded(const NamedArray& x);
NamedArray auto_sharded(const NamedArray& x, const AxisMapping& mapping);
namespace fx {
/// Every NamedArray of a tree constrained; plain Arrays stay.
void constrain_named(tree::Node, const AxisMapping&);
}  // namespace fx
template <class T> T sharded(T t, const AxisMapping& mapping) {
  fx::constrain_named(tree::node(t), mapping);
  return t;
}
/// What a mapping does silently to these arrays, one line each: rules that fit nothing, rules that an earlier one hides, axes whose mesh
/// axis is taken, uneven splits. For plans.
std::vector<std::string> diagnose(const AxisMapping& mapping,
                                  const std::vector<std::pair<std::string, std::vector<Axis>>>& arrays,
                                  const MeshShape& mesh);

struct NamedJit {
  AxisMapping out = {};  // storage mapping: draws inside are born split this way, results are constrained by it
};
/// jit(f) under a mapping: what f draws and returns is laid out by it; no rank ever holds the whole.
template <class F> auto named_jit(F f, NamedJit options = {}) {
  return jit([f = std::move(f), mapping = options.out](const auto&... a) {
    UseMapping scope(mapping);
    return sharded(std::invoke(f, a...), mapping);
  });
}
}  // namespace bora
