// ragged.h -- products of rows that lie in groups, each group with a matrix of its own.
#pragma once
#include <cstdint>
#include "bora/base/dtype.h"

namespace bora::kernels {
/// Letters: B batch of stacks, R batches of rows that share a stack, M rows, K and N columns, G counted groups, E
/// matrices of a stack.
/// x [B, R, M, K]; sizes i32 [B, R, G]: the first sizes[0] rows are group 0, those that follow group 1, ..; negative
/// sizes count as 0, and groups end where the rows do. first i32 [B]: matrix e of a stack is that of group first + e.
struct Ragged {
  Dtype dtype;
  std::int64_t batch = 1, rows = 1, m = 0, k = 0, n = 0, counted = 0, groups = 0;
  const void* x = nullptr;
  const std::int32_t *sizes = nullptr, *first = nullptr;
};
/// out [B, R, M, N]: a row times its group's matrix of w [B, E, K, N] (transposed: [B, E, N, K]); 0 for rows of other
/// groups and of none.
void ragged_dot(const Ragged&, const void* w, bool transposed, void* out);
/// out [B, E, K, N]: the sum over a group's rows, in their order, of x's row times y's; y [B, R, M, N].
void ragged_outer(const Ragged&, const void* y, void* out);
}  // namespace bora::kernels
