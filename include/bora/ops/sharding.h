// sharding.h -- sharding as seen from global values. Outside of a mesh these change nothing.
#pragma once
#include "bora/array/array.h"
#include "bora/array/mesh.h"

namespace bora {
/// x constrained to `spec`: resharded on the mesh in force. Its gradient goes back to x's own Spec.
Array with_sharding_constraint(const Array& x, const Spec& spec);
/// x resharded to the Spec and pending sums of `like`, whose numbers are not read.
Array reshard_like(const Array& x, const Array& like);
/// The same with pending sums completed, once for all that follows: for values that several nonlinear operations read
/// (gradients).
Array complete_like(const Array& x, const Array& like);
/// The block of x that `spec` gives this rank, as a value of its own; the two ends of shard_map.
Array to_local(const Array& x, const Spec& spec);
Array to_global(const Array& local, const Shape& global, const Spec& spec, const MeshAxes& partial = {});
}  // namespace bora
