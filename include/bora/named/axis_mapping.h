// axis_mapping.h -- rules that map logical axes to mesh axes: the one place that defines a layout. FSDP, tensor
// parallelism and both at once change two mappings (how parameters are stored, how computations are split) and the
// mesh, never the model.
#pragma once
#include "bora/array/mesh.h"
#include "bora/named/axis.h"
#include "bora/ops/sharding.h"

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
  /// The wire of gradients of parameters that the mapping places: of arrays that it does not split over its axes.
  const GradientWire& gradients() const { return gradients_; }
  /// The same rules with another wire.
  AxisMapping with_gradients(GradientWire gradients) const;
  /// The same without a mesh axis; a rule that maps to nothing else goes.
  AxisMapping without(const AxisName& mesh_axis) const;
  /// Throws ShardError if two rules map one of these axes to the same mesh axis: one of them is a mistake.
  void check_rules(const std::vector<Axis>& axes) const;
 private:
  std::vector<Rule> rules_;
  GradientWire gradients_;
};
/// How the mapping splits an array with these axes on the current mesh (not at all without one).
Spec spec_for(const std::vector<Axis>& axes, const AxisMapping& mapping);
// How a mapping splits an array on a mesh, whose axes of one rank split nothing: for each dimension its mesh axes, and
// the number of the rule that it took, from 0.
struct Placement {
  Spec spec;
  std::vector<std::optional<std::size_t>> rules;
};
Placement placement_of(const std::vector<Axis>& axes, const AxisMapping& mapping, const MeshShape& mesh);
/// This thread's current mapping.
const AxisMapping& current_mapping();
/// Makes a mapping this thread's current one for a scope.
class [[nodiscard]] UseMapping {
 public:
  [[nodiscard]] explicit UseMapping(AxisMapping mapping);
  ~UseMapping();
  UseMapping(const UseMapping&) = delete;
  UseMapping& operator=(const UseMapping&) = delete;
 private:
  AxisMapping saved_;
};
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
/// Silent effects of a mapping on these arrays, one line each: rules that fit no array, rules that an earlier rule
/// hides, axes whose mesh axis is taken, uneven splits. Mesh axes of one rank split nothing. For plans.
std::vector<std::string> diagnose(const AxisMapping& mapping,
                                  const std::vector<std::pair<std::string, std::vector<Axis>>>& arrays,
                                  const MeshShape& mesh);
}  // namespace bora
