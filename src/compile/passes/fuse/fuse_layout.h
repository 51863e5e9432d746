// fuse_layout.h -- access patterns of a loop's operands, and loop dimensions that fit all of them.
#pragma once
#include <optional>
#include "kernels/api/loop.h"
#include "compile/passes/graph.h"

namespace bora::exec {
/// Element i of n is read at offset + the sum of coordinate * stride, where `dims` (whose product is n) split i
/// row-major.
struct Access {
  Dims dims, strides;
  std::int64_t offset = 0;
  bool operator==(const Access&) const = default;
};
Access contiguous(std::int64_t n);
/// The same access for each of `columns` columns.
Access along_rows(const Access&, std::int64_t columns);
/// i -> i / columns: one value for each row of `columns` elements.
bool is_one_per_row(const Access&, std::int64_t columns);
/// i -> i.
bool is_contiguous(const Access&);
struct Layout {
  Dims extents;
  std::vector<Dims> strides;  // of each access
};
/// Dimensions that split n elements for all accesses; with columns > 0 the last one is the row. A dimension begins at
/// each of `bounds`, numbers of elements. nullopt if there are none, or too many.
std::optional<Layout> common_layout(std::int64_t n, std::int64_t columns, const std::vector<Access>&,
                                    const Dims& bounds = {});
/// Many rows of a few elements, such as the edge of a stencil, become a few rows of many: swaps the last two dimensions
/// of the layout and of a box's first coordinates. False: there are no such rows.
bool turn_thin_rows(Layout&, Dims& begin);
}  // namespace bora::exec
