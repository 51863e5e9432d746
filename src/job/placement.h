// placement.h -- the rules of a run's mesh, for its model.
#pragma once
#include "bora/job/settings.h"
#include "bora/train/placement.h"

namespace bora::job {
/// Where the rules split the heads of keys, and the model has fewer of them than there are ranks, the queries that
/// share a head's keys are split instead, and every rank has all keys.
AxisMapping for_model(const AxisMapping&, const models::Model&, const MeshShape&);
/// bora::placement_rules of the settings' mesh, of a layout for_model.
LayoutMappings placement_rules(const Settings&, const MeshShape&);
/// Of these, the rules that split something.
LayoutMappings mappings_of(const Settings&, const MeshShape&);
}  // namespace bora::job
