// compare.h -- how two checkpoints differ.
#pragma once
#include <string>
#include <vector>

namespace bora::io {
struct LeafDifference {
  std::string path;
  std::string types = {};  // what differs besides numbers: "only in A", "only in B", "f32 [3] and bf16 [3]"; else empty
  double largest = 0;      // absolute difference of two numbers; NaN if one of them is no number and the other is
  double relative = 0;     // root of (sum of squared differences / sum of squares in A)
};
struct Comparison {
  std::int64_t same = 0;  // leaves with the same bytes
  std::vector<LeafDifference> different = {};
};
/// Of checkpoints of any meshes, leaf by leaf, in the order of A; those that only B has come last. In memory are about
/// a million numbers of a leaf, or one row of its first dimension. CheckpointError if one is damaged.
Comparison compare_checkpoints(const std::string& a, const std::string& b);
}  // namespace bora::io
