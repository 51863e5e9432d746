// placement.h -- the rules by which parameters and computations are spread over a mesh: those of a layout, of T5X's
// dims, or of the settings' own; and what they do to a model, as text.
#pragma once
#include "bora/named/axis_mapping.h"
#include "bora/train/settings.h"

namespace bora {
class Trainable;
/// How parameters and optimizer state are stored, and how computations are split.
struct LayoutMappings {
  AxisMapping storage, compute;
};
/// Rules of a layout for the models' axis names: batch, embed, heads, mlp, vocab. Mesh axes of one rank split nothing.
LayoutMappings layout_mappings(const Layout&, const MeshShape&);
/// The rules of these settings for a mesh, all of them: of the layout; of the pair (activation_dims, parameter_dims),
/// where T5X (Roberts et al. 2022) has the same rules for storage and computations, while here `embed` is split over
/// data in storage only, as in ZeRO-3; or the settings' own. Throws ConfigError for a pair that does not exist.
LayoutMappings placement_rules(const training::MeshSettings&, const MeshShape&);
/// The rules that split something: without mesh axes of one rank. For UseMapping and StepOptions::storage.
LayoutMappings used_on(const LayoutMappings&, const MeshShape&);
/// used_on(placement_rules(..), mesh).
LayoutMappings mappings_of(const training::MeshSettings&, const MeshShape&);
/// "fsdp", "activation_dims=1,parameter_dims=2" or "rules": one word.
std::string placement_name(const training::MeshSettings&);
/// The mesh axes that split the rows of a batch: those of the mapping's rule; replica and data if it has none.
MeshAxes batch_axes(const AxisMapping& compute, const MeshShape&);
namespace training {
/// Checks what sums over virtual ranks (reproducible.h) need of a job: at least as many of them as ranks, both powers
/// of two, a batch of equal parts, and a model that is whole on every rank. Throws ConfigError.
void check_virtual(std::int64_t parts, const LayoutMappings&, const MeshShape&, std::int64_t batch,
                   std::int64_t accumulate);
}  // namespace training

/// For every parameter, and for every array of a step that a computation lays out, the rule that each of its axes took;
/// then the silent effects of the rules. The step must be staged.
std::string placement_text(Trainable&, const LayoutMappings& rules, const MeshShape&);
/// Silent effects alone: those that diagnose() finds, and mesh axes over which all ranks do the same work.
std::vector<std::string> placement_warnings(Trainable&, const LayoutMappings& rules, const MeshShape&);
}  // namespace bora
