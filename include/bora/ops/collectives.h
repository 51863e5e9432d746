// collectives.h -- collectives on local values (inside shard_map), or over the axis_name of a vmap.
#pragma once
#include <utility>
#include <vector>
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/base/wire.h"

namespace bora {
/// The sum over the members of the axes, as `sum` over a dimension of them: bool, i8 and i16 give i32, u8 and u16 u32,
/// so that 100 of four members is 400. (JAX's psum keeps the dtype and gives -112.)
Array psum(const Array& x, const MeshAxes& axes);
struct SumOptions {  // how the numbers of psum travel
  Wire wire = {};    // between ranks; a vmap's axis has none
};
/// The sum of f32 arrays in fewer bytes: psum(x, "data", {.wire = Wire::int8()}). The same bits on all members; its
/// gradient travels alike. Throws DtypeError for other dtypes unless the wire is f32, ValueError for a block that the
/// codec does not take. Source: the quantised sums of ZeRO++ (Wang et al. 2023), summed in rank order.
Array psum(const Array& x, const MeshAxes& axes, const SumOptions& options);
/// The mean over the members, in the dtype of x, of integers in f32; sums of integers do not overflow up to i32.
Array pmean(const Array& x, const MeshAxes& axes);
Array pmax(const Array& x, const MeshAxes& axes);  // the largest of the members' elements
Array pmin(const Array& x, const MeshAxes& axes);  // the smallest of the members' elements
struct GatherOptions {                             // of all_gather and psum_scatter
  std::int64_t axis = 0;                           // of x: where the members' parts are put together, or cut
  bool tiled = false;                              // no dimension is added or dropped
};
/// Every member's x: a new dimension `axis` (concatenated along it if tiled).
Array all_gather(const Array& x, const MeshAxes& axes, const GatherOptions& options = {});
/// The sum over the members, as psum, of which each keeps its part of dimension `axis` (tiled: the dimension is split;
/// else it must have one element a member and disappears).
Array psum_scatter(const Array& x, const MeshAxes& axes, const GatherOptions& options = {});
/// Splits split_axis over the members and concatenates the received parts along concat_axis.
Array all_to_all(const Array& x, const MeshAxes& axes, std::int64_t split_axis, std::int64_t concat_axis);
/// x of member `source` goes to member `target`, for each pair; members without a source get zeros.
Array ppermute(const Array& x, const MeshAxes& axis, const std::vector<std::pair<int, int>>& source_target);
/// This rank's part over the axes, i32.
Array axis_index(const MeshAxes& axes);

/// `output` [M, ..] with the slices written into it that the other members send of their `operand` [L, ..] (inside
/// shard_map, or over the axis_name of a vmap), as jax.lax.ragged_all_to_all. The other operands are integers [n], n a
/// multiple k of the number of members: slice i, operand[input_offsets[i] : + send_sizes[i]], goes to member i / k,
/// which writes it at output_offsets[i]; of the slices that come, slice i is from member i / k and has recv_sizes[i]
/// rows, which must be what that member sends. Rows that would lie outside of output are dropped; where slices
/// overlap the last one stays. Derivatives by operand and output. Slices travel padded to min(L, M) rows, as shapes do
/// not depend on values: n min(L, M) rows leave each member. Throws ShapeError, DtypeError for operands that do not
/// fit.
Array ragged_all_to_all(const Array& operand, const Array& output, const Array& input_offsets, const Array& send_sizes,
                        const Array& output_offsets, const Array& recv_sizes, const MeshAxes& axes);
}  // namespace bora
