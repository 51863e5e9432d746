// host_table.h -- which host reads which rows of a step.
#pragma once
#include <cstdint>
#include <string>
#include "bora/array/mesh.h"
#include "bora/job/forward.h"

namespace bora::job {
/// A line for each host: its ranks, the replicas of the model that they hold, and the rows that the host reads. A rank
/// reads the rows of its place along `over`, the mesh axes that split the batch; ranks of one replica share theirs,
/// also across hosts.
/// ranks_per_host: 0: all ranks are on one host. Throws ConfigError if it does not divide the ranks.
std::string host_table(const MeshShape&, const MeshAxes& over, std::int64_t batch, std::int64_t ranks_per_host);
/// The table of a run with these settings on a mesh.
std::string host_table(const Settings&, const MeshShape&, std::int64_t ranks_per_host);
}  // namespace bora::job
