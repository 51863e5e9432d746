// shard.h -- arrays as blocks on the ranks of the mesh in force.
#pragma once
#include "bora/array/rules.h"
#include "bora/ops/sharding.h"
#include "bora/shard/mesh.h"

namespace bora {
struct ShardOptions {                           // of shard
  std::int64_t compare_up_to = kComparedBytes;  // bytes of an array whose numbers are compared; 0: never
};
/// x, whose numbers every rank has, placed as `spec` says: each rank keeps its block. Every rank must call this:
/// outside of transforms the ranks compare the type of x, and its bytes by a digest unless it is larger than the limit.
/// ShardError if they differ, which says on which ranks and where. Inside of jit, grad and vmap nothing is compared. A
/// rank's own block goes through from_local_block.
Array shard(const Array& x, const Spec& spec, const ShardOptions& options = {});
/// The global array of which this rank read its own block. Throws ShapeError unless block has the shape of this rank's
/// block of global_shape under spec.
Array from_local_block(const Array& block, const Shape& global_shape, const Spec& spec);
/// x on every rank. Every rank must call this.
Array gather(const Array& x);
/// How x is split over the mesh in force: none of its dimensions if it is not. TraceError inside jit, where it is not
/// known yet.
Spec spec_of(const Array& x);
// This rank's block of x, pending sums completed, and its place: begin of each dimension in the global array.
struct LocalBlock {
  Array block;
  Shape global_shape;
  Dims begin;
  Spec spec;
};
LocalBlock local_block(const Array& x);
/// Text: the ranks that hold each part of a 1- or 2-dimensional array.
std::string visualize_sharding(const Array& x);

struct ShardMapOptions {  // of shard_map
  bool check = true;      // that results are the same on the ranks of the axes that their out Spec does not name
};
namespace fx {
struct OutSpec {
  std::string path;  // of the result
  Spec spec;
};
/// f sees this rank's blocks and may call collectives by mesh axis name. out_shapes are derived: blocks times the parts
/// that split them. out_specs is called once f has run.
Arrays shard_map_flat(const FlatFn& f, const Arrays& in, const std::vector<Spec>& in_specs,
                      const std::function<std::vector<OutSpec>()>& out_specs, const ShardMapOptions& options = {});
/// The local Program that a call with these arguments runs on this rank; p itself outside of a mesh. Every rank must
/// call this: they compare their Programs.
ProgramPtr local_program(const ProgramPtr& p, const Arrays& in);
}  // namespace fx
/// A staged Program's work with these arguments on this rank, as text: bytes by kind, collectives with bytes and axes,
/// steps. Nothing is donated in it. Every rank must call this.
std::string explain_program(const ProgramPtr& p, const Arrays& in);
}  // namespace bora
