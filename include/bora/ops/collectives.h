// collectives.h -- collectives on local values (inside shard_map), or over the axis_name of a vmap.
#pragma once
#include <utility>
#include <vector>
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/base/wire.h"

namespace bora {
Array psum(const Array& x, const MeshAxes& axes);
struct SumOptions {
  Wire wire = {};  // between ranks; a vmap's axis has none
};
/// The sum of f32 arrays in fewer bytes: psum(x, "data", {.wire = Wire::int8()}). The same bits on all members; its
/// gradient travels alike. Throws DtypeError for other dtypes unless the wire is f32, ValueError for a block that the
/// codec does not take. Source: the quantised sums of ZeRO++ (Wang et al. 2023), summed in rank order.
Array psum(const Array& x, const MeshAxes& axes, const SumOptions& options);
Array pmean(const Array& x, const MeshAxes& axes);
Array pmax(const Array& x, const MeshAxes& axes);
Array pmin(const Array& x, const MeshAxes& axes);
struct GatherOptions {
  std::int64_t axis = 0;
  bool tiled = false;
};
/// Every member's x: a new dimension `axis` (concatenated along it if tiled).
Array all_gather(const Array& x, const MeshAxes& axes, const GatherOptions& options = {});
/// The sum over the members, of which each keeps its part of dimension `axis` (tiled: the dimension is split; else it
/// must have one element a member and disappears).
Array psum_scatter(const Array& x, const MeshAxes& axes, const GatherOptions& options = {});
/// Splits split_axis over the members and concatenates the received parts along concat_axis.
Array all_to_all(const Array& x, const MeshAxes& axes, std::int64_t split_axis, std::int64_t concat_axis);
/// x of member `source` goes to member `target`, for each pair; members without a source get zeros.
Array ppermute(const Array& x, const MeshAxes& axis, const std::vector<std::pair<int, int>>& source_target);
/// This rank's part over the axes, i32.
Array axis_index(const MeshAxes& axes);
}  // namespace bora
