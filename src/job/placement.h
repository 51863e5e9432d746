// placement.h -- the rules of a run's mesh, for its model.
#pragma once
#include "bora/job/settings.h"
#include "bora/train/placement.h"

namespace bora::job {
/// bora::placement_rules of the settings' mesh. Where a layout splits the heads of keys, and the model has fewer of
/// them than there are ranks, the queries that share a head's keys are split instead, and every rank has all keys.
LayoutMappings placement_rules(const Settings&, const MeshShape&);
/// Of these, the rules that split something.
LayoutMappings mappings_of(const Settings&, const MeshShape&);
}  // namespace bora::job
