// splits.h -- the sizes of a rank's blocks, and which of them a Program depends on. Private.
#pragma once
#include "bora/array/mesh.h"
#include "bora/base/shape.h"

namespace bora {
/// A dimension of n elements, split over `axes` inside of a block over `within`.
struct Split {
  std::int64_t n;
  MeshAxes within, axes;
  bool operator==(const Split&) const = default;
};
/// Every split that was asked for while Programs were partitioned. Decisions read only global shapes and Specs, so all
/// ranks ask for the same ones, and ranks whose sizes are equal have equal Programs.
class SplitLog {
 public:
  std::vector<Split> splits = {};
  void add(const Split&);
  std::vector<std::int64_t> sizes(const MeshShape&, int rank) const;
};
/// This thread's log; null: none is kept.
SplitLog*& split_log();
/// Elements of the rank's block of n over `axes`.
std::int64_t block_size(std::int64_t n, const MeshAxes& axes, const MeshShape&, int rank);
/// The sizes of the parts over `axes` of the rank's block over `within`.
Dims part_sizes(std::int64_t n, const MeshAxes& within, const MeshAxes& axes, const MeshShape&, int rank);
}  // namespace bora
