// sharding.h -- sharding as seen from global values. Outside of a mesh these change nothing.
#pragma once
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/base/wire.h"

namespace bora {
/// The wire of sums of gradients over the mesh axes `over`. Sums over other axes are exact.
struct GradientWire {
  Wire wire = {};
  MeshAxes over = {};
  GradientWire() = default;
  /// Throws ValueError for a block that the wire's codec does not take.
  GradientWire(const Wire& wire, const MeshAxes& over);
  bool rounds() const { return !wire.exact() && !over.empty(); }
};
/// Arrays of up to so many bytes are compared between ranks where they are placed.
inline constexpr std::int64_t kComparedBytes = std::int64_t{256} << 20;
/// x constrained to `spec`: resharded on the mesh in force. Its gradient goes back to x's own Spec. Sums that this
/// gradient still lacks travel as `gradients` says, unless `spec` splits x over those axes: then x has rows, and is no
/// parameter. Outside of transforms every rank must call it, and an x that is not split must be the same on all ranks:
/// they compare its type, and its bytes by a digest if there are at most kComparedBytes (shard() takes another limit).
/// ShardError if they differ. Inside of jit, grad and vmap nothing is compared.
Array with_sharding_constraint(const Array& x, const Spec& spec, const GradientWire& gradients = {});
/// The same for an array of rows: sums that its gradient still lacks are exact.
Array constrain_rows(const Array& x, const Spec& spec);
/// x resharded to the Spec and pending sums of `like`, whose numbers are not read.
Array reshard_like(const Array& x, const Array& like);
/// The same with pending sums completed, once for all that follows: for values that several nonlinear operations read
/// (gradients).
Array complete_like(const Array& x, const Array& like);
/// The same for a gradient, whose sums travel as `gradients` says.
Array complete_gradient_like(const Array& x, const Array& like, const GradientWire& gradients);
/// The block of x that `spec` gives this rank, as a value of its own; the two ends of shard_map.
Array to_local(const Array& x, const Spec& spec);
/// The inverse of to_local.
Array to_global(const Array& local, const Shape& global, const Spec& spec, const MeshAxes& partial = {});

// ---- sums that are pending over mesh axes ---------------------------------------------------------------------------
/// [parts, ..] of x [..]: what each part of the mesh axes `over` contributes to x, split over them; the sum along the
/// first dimension is x. Of a pending sum every rank has its own term, and nothing is sent; of a complete value the
/// first part has all of it and the others zeros. parts: those of the mesh in force; 1 without one. Throws ShardError
/// if x is split over one of these axes.
Array terms_of_sum(const Array& x, const MeshAxes& over);
/// x as a narrower floating-point dtype. The terms of a pending sum are rounded one by one, and it stays pending:
/// astype would send the terms first and round the sum.
Array rounded_sum(const Array& x, Dtype dtype);
}  // namespace bora
