// merge_sorted.h -- the collective behind sorts along a split dimension. Private.
#pragma once
#include "ops/primitives/collective_start.h"

namespace bora::ops {
/// Inputs: this rank's block [R.., b] of the keys, whose rows of n are split over `axes` and sorted in each block; a
/// second operand may go along with them, element by element. -> the last operand's block of the rows in the order of
/// all keys. Equal keys stay in the order of ranks and places, so that stable sorts of blocks give a stable order.
/// Ranks first find out how many elements they give to which (cuts.h), since these counts depend on data.
struct MergeSorted {
  MeshAxes axes;
  std::int64_t n;
  Shape of;  // the global shape, for the fingerprint
  static constexpr std::string_view name = "merge_sorted";
  static constexpr bool collective = true;
  Type infer(const Types&) const;
  void eval(InputViews, OutputViews) const;
  MergeSorted lift(std::int64_t) const;
  // As a collective (collectives.cpp).
  bool packs_operand(const Types&) const { return true; }
  bool unpacks_result(const Types&) const { return true; }
  std::size_t scratch_bytes(const Types& in, const Types& out) const;
  void call(CollectiveCall&, const Type& in, const Type& out) const;
  StartedCollective start(Start) const;
};
}  // namespace bora::ops

namespace bora {
extern template PrimitivePtr primitive<ops::MergeSorted>(ops::MergeSorted);
}
