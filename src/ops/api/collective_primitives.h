// collective_primitives.h -- the collective primitives as Shard emits them: ragged parts, with the global shape of the
// operand. For rules and passes.
#pragma once
#include "bora/array/communicator.h"
#include "bora/array/primitive_base.h"

namespace bora::ops {
/// sizes: each member's part of dimension dim, in part order. of: the global shape if Shard calls, for the fingerprint.
/// wire: of f32 sums.
Array all_reduce(const Array& x, const MeshAxes& axes, Reduction kind, const Shape& of, const Wire& wire = {});
Array all_gather(const Array& x, const MeshAxes& axes, std::int64_t dim, const Dims& sizes, const Shape& of);
Array reduce_scatter(const Array& x, const MeshAxes& axes, std::int64_t dim, const Dims& sizes, const Shape& of,
                     const Wire& wire = {});
Array all_to_all(const Array& x, const MeshAxes& axes, std::int64_t split_dim, std::int64_t concat_dim,
                 const Dims& split_sizes, const Dims& concat_sizes, const Shape& of);
/// x of part `first` goes to part `second`, for each pair; parts without a source get zeros.
Array permute(const Array& x, const MeshAxes& axes, const std::vector<std::pair<int, int>>& pairs);
/// This rank's part over the axes, i32.
Array part_index(const MeshAxes& axes);
/// The start of this rank's block of n over `axes`, relative to the start of its block over `within`; next = 1: its
/// end. i32.
Array block_start(std::int64_t n, const MeshAxes& axes, const MeshAxes& within = {}, std::int64_t next = 0);
/// A constraint to `spec`, which has an entry for each dimension.
PrimitivePtr resharding(const Spec& spec);
/// The Spec of a constraint; null if p is none.
const Spec* constraint_of(const Primitive& p);

/// Parameters of an all_reduce, all_gather or reduce_scatter, for passes.
struct CollectiveParams {
  CollectiveKind kind;
  MeshAxes axes;
  Reduction reduce = Reduction::sum;
  std::int64_t dim = 0;
  Dims sizes = {};
  Shape of = {};
  Wire wire = {};
};
std::optional<CollectiveParams> collective_params(const Primitive&);
/// Is every element of its result one of some rank's operand?
bool collective_only_moves(const Primitive&);

/// A collective under way. After wait() the outputs hold the result, and input and scratch may be reused.
class StartedCollective {
 public:
  void wait();
  std::shared_ptr<Communicator::Handle> handle;
  std::function<void()> finish = {};  // moves received data into place
};
/// Scratch memory that a collective needs from start to wait: parts packed one after the other.
std::size_t collective_scratch_bytes(const Primitive&, const Types& in, const Types& out);
/// Is the operand copied to the scratch memory at the start, and not read again?
bool collective_packs_operand(const Primitive&, const Types& in);
/// Does received data stay in the scratch memory until wait(), with the result untouched before?
bool collective_unpacks_result(const Primitive&, const Types& out);
/// p as text, the same on every rank: its fingerprint is made of it, and errors quote it when ranks disagree.
std::shared_ptr<const std::string> collective_words(const Primitive& p, Dtype);
/// The call that p (traits.collective) makes on this rank's mesh for arrays of these types, without buffers.
CollectiveCall collective_call(const Primitive& p, const Type& in, const Type& out);
/// Starts p (traits.collective) on this rank's mesh; words: its collective_words. in, out and scratch must stay until
/// wait() has returned.
StartedCollective start_collective(const Primitive& p, const std::shared_ptr<const std::string>& words, InputViews in,
                                   OutputViews out, void* scratch);

/// Size of the vmap with this axis_name or, inside shard_map, of a mesh axis; the product for several (defined with
/// Batch, in fx). ShardError if it is unbound or named twice.
std::int64_t named_axis_size(const MeshAxes&);
}  // namespace bora::ops
