// auto_sync_period.h -- a number for `local.every: auto`, from the plan of the run.
#pragma once
#include <cstdint>
#include "bora/job/forward.h"

namespace bora {
enum class Resume : std::uint8_t;
struct HostModel;
struct MeetingPrediction;
}  // namespace bora
namespace bora::job {
struct PlannedRun;
/// Whether the mesh has replicas on ranks of their own.
bool has_replicas(const MeshShape&);
/// Meetings of the replicas in a planned run. Throws ConfigError if it has none on ranks of their own.
MeetingPrediction meetings_of(const Settings&, const PlannedRun&, const MeshLinks&, const HostModel&);
/// The settings to plan a run with before its number is known.
Settings without_auto(Settings);
/// The number of steps between meetings: of the run that the checkpoints of s.out belong to, if it goes on, else the
/// fewest with which 90 % of the time is compute, on hosts like this one, a rank each, with the network local.link.
/// Throws ConfigError if there is none.
std::int64_t planned_every(const Settings&, const text::Tokenizer&, int ranks, Resume);
}  // namespace bora::job
