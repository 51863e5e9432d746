// index_plan.h -- the indices of x[{..}] and at(x, {..}), resolved against x's axes. Private.
#pragma once
#include "named/api/support.h"

namespace bora::named_index {
/// Integers that choose positions of one axis.
struct Index {
  std::size_t dim;  // of x
  NamedArray at;
  bool zero_outside = false;  // reads outside give 0
  bool in_place = false;      // one axis, of the indexed one's name: a read keeps it where it is
};
struct Plan {
  DimSlices plain;  // integers and ranges, for each axis; all() elsewhere
  std::vector<Index> indices;
  bool dropped(std::size_t dim) const { return plain[dim].kind == DimSlice::Kind::number; }
};
/// Throws AxisError, IndexError, DtypeError naming `what`.
Plan plan_of(std::string_view what, const NamedArray& x, const std::vector<NamedSlice>& parts);
/// x after the plan's integers and ranges.
NamedArray plain_part(const NamedArray& x, const Plan& plan);

/// Several indices as one: positions [batch.., fresh..] in dimension `axis` of x [.., n, ..], as Take and Scatter want
/// them, and the elements' axes.
struct Layout {
  Array x;
  std::int64_t axis = 0, batch = 0;
  std::vector<Axis> before;   // x's axes while the indexed ones were apart
  std::vector<Axis> taken;    // of the elements
  std::vector<Axis> result;   // the same in the order that x[..] gives
  std::vector<Axis> places;   // batch and fresh axes
  Arrays indices;             // i32 over `places`, counted from the front
  std::vector<std::int64_t> sizes;
};
/// y: plain_part of x. Throws AxisError where axes of indices do not fit.
Layout layout_of(std::string_view what, const NamedArray& y, const Plan& plan, const std::vector<Index>& indices);
/// Positions in the one dimension: moved inside, or n where one is outside.
Array positions_of(const Layout& l, bool clip);
/// boolean over `places`: is every position inside?
Array inside_of(const Layout& l);
/// An array over `places` with the elements' dimensions.
Array spread_over_elements(const Layout& l, const Array& over_places);
}  // namespace bora::named_index
