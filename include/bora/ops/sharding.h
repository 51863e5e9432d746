// sharding.h -- sharding as seen from global values. Outside of a mesh these change nothing.
#pragma once
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/base/wire.h"

namespace bora {
/// x constrained to `spec`: resharded on the mesh in force. Its gradient goes back to x's own Spec.
Array with_sharding_constraint(const Array& x, const Spec& spec);
/// The same for an array of rows: sums that its gradient still lacks are exact, also in a UseGradientWire.
Array constrain_rows(const Array& x, const Spec& spec);
/// x resharded to the Spec and pending sums of `like`, whose numbers are not read.
Array reshard_like(const Array& x, const Array& like);
/// The same with pending sums completed, once for all that follows: for values that several nonlinear operations read
/// (gradients).
Array complete_like(const Array& x, const Array& like);
/// The same for a gradient: in the scope of a UseGradientWire its sums travel as that says.
Array complete_gradient_like(const Array& x, const Array& like);
/// In its scope, on this thread, sums of gradients over these mesh axes travel as `wire` says: those that
/// complete_gradient_like completes, and those of arrays that a constraint gathered (FSDP), unless it splits them over
/// these axes, as it does rows. Sums of anything else, and over other axes, are exact. Around both a grad and what
/// completes its results.
class [[nodiscard]] UseGradientWire {
 public:
  /// Throws ValueError for a block that the wire's codec does not take.
  [[nodiscard]] UseGradientWire(const Wire& wire, const MeshAxes& axes);
  ~UseGradientWire();
  UseGradientWire(const UseGradientWire&) = delete;
  UseGradientWire& operator=(const UseGradientWire&) = delete;
  /// Of the scope: jit's keys depend on it.
  static std::size_t hash();
 private:
  Wire wire_;
  MeshAxes axes_;
};
/// The block of x that `spec` gives this rank, as a value of its own; the two ends of shard_map.
Array to_local(const Array& x, const Spec& spec);
Array to_global(const Array& local, const Shape& global, const Spec& spec, const MeshAxes& partial = {});
}  // namespace bora
