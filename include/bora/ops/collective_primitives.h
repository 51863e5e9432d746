// collective_primitives.h -- the collective primitives as Shard emits them: ragged parts, and the global shape they are
// about. For rules and passes.
#pragma once
#include "bora/array/communicator.h"
#include "bora/array/primitive.h"

namespace bora::ops {
/// sizes: each member's part of dimension dim, in part order. of: the global shape when Shard asks, for the
/// fingerprint.
Array all_reduce(const Array& x, const MeshAxes& axes, Reduction kind, const Shape& of);
Array all_gather(const Array& x, const MeshAxes& axes, std::int64_t dim, const Dims& sizes, const Shape& of);
Array reduce_scatter(const Array& x, const MeshAxes& axes, std::int64_t dim, const Dims& sizes, const Shape& of);
Array all_to_all(const Array& x, const MeshAxes& axes, std::int64_t split_dim, std::int64_t concat_dim,
                 const Dims& split_sizes, const Dims& concat_sizes, const Shape& of);
/// x of part `first` goes to part `second`, for each pair; a part that none goes to gets zeros.
Array permute(const Array& x, const MeshAxes& axes, const std::vector<std::pair<int, int>>& pairs);
/// This rank's part over the axes, i32.
Array part_index(const MeshAxes& axes);
/// Where this rank's block of n over `axes` begins, counted from where its block over `within` does; next = 1: where it
/// ends. i32.
Array block_start(std::int64_t n, const MeshAxes& axes, const MeshAxes& within = {}, std::int64_t next = 0);

/// What passes ask of an all_reduce, all_gather or reduce_scatter.
struct CollectiveParams {
  CollectiveKind kind;
  MeshAxes axes;
  Reduction reduce = Reduction::sum;
  std::int64_t dim = 0;
  Dims sizes = {};
  Shape of = {};
};
std::optional<CollectiveParams> collective_params(const Primitive&);

/// A collective under way. wait() completes it, after which the outputs hold the result and input and scratch may be
/// reused.
class StartedCollective {
 public:
  void wait();
  std::shared_ptr<Communicator::Handle> handle;
  std::function<void()> finish = {};  // moves what arrived into place
};
/// Scratch memory that a collective needs from start to wait: parts packed one after the other.
std::size_t collective_scratch_bytes(const Primitive&, const Types& in, const Types& out);
/// Its operand is copied to the scratch memory when it starts, and not read again.
bool collective_packs_operand(const Primitive&, const Types& in);
/// What arrives lies in the scratch memory until wait(), and the result is not touched before.
bool collective_unpacks_result(const Primitive&, const Types& out);
/// p in words, the same on every rank: its fingerprint is made of them, and they are quoted when ranks disagree.
std::shared_ptr<const std::string> collective_words(const Primitive& p, Dtype);
/// Starts p (traits.collective) on this rank's mesh; words: its collective_words. in, out and scratch must stay until
/// wait() has returned.
StartedCollective start_collective(const Primitive& p, const std::shared_ptr<const std::string>& words, Inputs in,
                                   Outputs out, void* scratch);

/// Size of the vmap that bears the name or, inside shard_map, of a mesh axis; the product for several (defined with
/// Batch, in fx). ShardError if it is unbound or named twice.
std::int64_t named_axis_size(const MeshAxes&);
}  // namespace bora::ops
