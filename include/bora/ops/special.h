// special.h -- operations that speak to transforms and meshes rather than to numbers.
#pragma once
#include "bora/array/rules.h"

namespace bora {
/// x, whose derivative is zero by decree.
Array stop_gradient(const Array& x);
/// xs; what is computed from them is neither merged with the same computation elsewhere nor moved out of a loop.
Arrays optimization_barrier(const Arrays& xs);
/// x under a name that checkpoint(remat::names) may keep.
Array checkpoint_name(const Array& x, const std::string& name);
/// total + term, for accumulators of gradients (JAX's add_any): a pending sum stays pending.
Array accumulate(const Array& total, const Array& term);
Array zeros_like(const Array& x);
Array ones_like(const Array& x);
Array full_of(const Type& type, Scalar value);
/// A scalar of this dtype; Programs print it inline.
Array constant(Scalar value, Dtype dtype);
Array select(const Array& condition, const Array& on_true,
             const Array& on_false);  // equal shapes and dtypes, no broadcasting

// ---- sharding, as seen from global values (outside of a mesh they change nothing) --------------------------------------
/// x constrained to `spec`: resharded on the mesh in force. Its gradient goes back to x's own Spec.
Array with_sharding_constraint(const Array& x, const Spec& spec);
/// x moved to whatever Spec and pending sums `like` turns out to have; reads nothing else of it.
Array reshard_like(const Array& x, const Array& like);
/// The same with pending sums completed, once for all that follows: for values that several nonlinear operations read (gradients).
Array complete_like(const Array& x, const Array& like);
/// The block of x that `spec` gives this rank, as a value of its own; the two ends of shard_map.
Array to_local(const Array& x, const Spec& spec);
Array to_global(const Array& local, const Shape& global, const Spec& spec, const MeshAxes& partial = {});

// ---- collectives on local values (inside shard_map), or over the axis_name of a vmap -------------------------------------
Array psum(const Array& x, const MeshAxes& axes);
Array pmean(const Array& x, const MeshAxes& axes);
Array pmax(const Array& x, const MeshAxes& axes);
Array pmin(const Array& x, const MeshAxes& axes);
struct Gather {
  std::int64_t axis = 0;
  bool tiled = false;
};
/// Every member's x: a new dimension `axis` (concatenated along it if tiled).
Array all_gather(const Array& x, const MeshAxes& axes, const Gather& options = {});
/// The sum over the members, of which each keeps its part of dimension `axis` (tiled: the dimension is split; else it must have one
/// element a member and disappears).
Array psum_scatter(const Array& x, const MeshAxes& axes, const Gather& options = {});
/// Splits split_axis over the members and concatenates what arrives along concat_axis.
Array all_to_all(const Array& x, const MeshAxes& axes, std::int64_t split_axis, std::int64_t concat_axis);
/// x of member `source` goes to member `target`, for each pair; who receives nothing gets zeros.
Array ppermute(const Array& x, const MeshAxes& axis, const std::vector<std::pair<int, int>>& source_target);
/// This rank's part over the axes, i32.
Array axis_index(const MeshAxes& axes);
}  // namespace bora
