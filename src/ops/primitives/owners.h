// owners.h -- reads and writes at indices that other ranks own: the collectives, and when they send less. Private.
#pragma once
#include "kernels/api/index.h"
#include "ops/primitives/collective_start.h"

namespace bora::ops {
/// Inputs: this rank's block of a table of n rows, split along dimension `axis` over `axes`, and its own indices into
/// the whole table -> what Take{axis, fill, batch_dims} gives for these. Ranks ask the rows' owners for them, for a row
/// that is wanted often once.
struct TakeFromOwners {
  MeshAxes axes;
  std::int64_t axis;
  bool fill;
  std::int64_t batch_dims, n;
  Shape of;  // the result's global shape, for the fingerprint
  static constexpr std::string_view name = "take_from_owners";
  static constexpr bool collective = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  TakeFromOwners lift(std::int64_t) const;
  // As a collective (collectives.cpp).
  bool packs_operand(const Types&) const { return true; }
  bool unpacks_result(const Types&) const { return true; }
  void call(CollectiveCall&, const Type& in, const Type& out) const;
  StartedCollective start(Start) const;
};
/// Inputs: updates for this rank's own indices, these indices, and its block of a target of n rows -> its block of
/// Scatter{mode, axis, batch_dims}. Updates go to the rows' owners, who combine them in the order of ranks, then of
/// their places.
struct ScatterToOwners {
  kernels::ScatterMode mode;
  MeshAxes axes;
  std::int64_t axis, batch_dims, n;
  Shape of;
  static constexpr std::string_view name = "scatter_to_owners";
  static constexpr bool collective = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  ScatterToOwners lift(std::int64_t) const;
  bool packs_operand(const Types&) const { return true; }
  void call(CollectiveCall&, const Type& in, const Type& out) const;
  StartedCollective start(Start) const;
};
/// Is the indexed dimension of in[0] split over mesh axes that split the indices in[1] too, so that each rank has
/// indices of its own, and do the other dimensions fit together?
bool have_own_indices(const std::vector<Sharded>& in, const ShardRules&, std::int64_t axis, std::int64_t batch_dims);
/// Bytes that a rank is sent: rows for its indices and the indices, or the table from the others' blocks. From global
/// shapes alone.
struct IndexedBytes {
  double by_owners, table;
};
IndexedBytes indexed_bytes(const std::vector<Sharded>& in, const ShardRules&, std::int64_t axis,
                           std::int64_t batch_dims);
}  // namespace bora::ops

namespace bora {
extern template PrimitivePtr primitive<ops::TakeFromOwners>(ops::TakeFromOwners);
extern template PrimitivePtr primitive<ops::ScatterToOwners>(ops::ScatterToOwners);
}
