#include "job/placement.h"
#include "bora/models/model.h"
#include "bora/nn/axes.h"

namespace bora::job {
AxisMapping for_model(const AxisMapping& mapping, const models::Model& model, const MeshShape& mesh) {
  std::int64_t heads = 0, group = 0;
  for (auto& size : model.axes()) {
    if (size.axis == nn::kHeads) heads = size.size;
    if (size.axis == nn::kHeadGroup) group = size.size;
  }
  auto rules = mapping.rules();
  for (auto& rule : rules) {
    std::int64_t ranks = 1;
    for (auto& axis : rule.mesh) ranks *= mesh.has(axis) ? mesh.axis_size(axis) : 1;
    if (rule.axis == nn::kHeads && heads < ranks && group >= ranks) rule.axis = nn::kHeadGroup;
  }
  return AxisMapping(rules);
}
LayoutMappings placement_rules(const Settings& s, const MeshShape& mesh) {
  auto rules = placement_rules(s.mesh, mesh);
  if (!s.mesh.rules.empty()) return rules;  // a user's own
  return {for_model(rules.storage, *s.model, mesh), for_model(rules.compute, *s.model, mesh)};
}
LayoutMappings mappings_of(const Settings& s, const MeshShape& mesh) { return used_on(placement_rules(s, mesh), mesh); }
}  // namespace bora::job
