// loop_gaps.h -- rows of a loop, and what lies between them, as one row.
#pragma once
#include <optional>
#include <span>
#include "kernels/api/loop.h"

namespace bora::kernels {
/// The same run with its rows, and what lies between them, as one row, where that is faster: nullopt where it is not,
/// or where they are not equally far apart. What lies between rows of results is overwritten: for a caller who computes
/// it later, and reads none of it. The pointers are the caller's to copy.
std::optional<LoopArgs> with_gaps(const LoopKernel&, const LoopArgs&);
/// The memory from the first element of an operand to its last one.
std::span<const char> memory_of(const LoopKernel&, const LoopArgs&, int operand);
inline bool overlap(std::span<const char> a, std::span<const char> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}
}  // namespace bora::kernels
