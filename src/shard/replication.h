// replication.h -- values inside of shard_map that are the same on all ranks of an axis, as far as the operations show.
// Private.
#pragma once
#include "compile/api/program.h"

namespace bora::fx {
/// One bit for each axis of the mesh, in its order: the value is the same on all ranks that differ in this axis only.
using Same = std::uint64_t;
Same same_over_all_but(const MeshAxes&, const MeshShape&);
/// The results of a staged function of blocks whose inputs are the same over `in`. As JAX infers it: a result is the
/// same over the axes over which all operands are; psum, pmax, pmin and all_gather add their axes, axis_index and the
/// other collectives remove theirs.
std::vector<Same> same_results(const Program&, std::vector<Same> in, const MeshShape&);
}  // namespace bora::fx
