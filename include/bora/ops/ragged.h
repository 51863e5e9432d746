// ragged.h -- products of rows in groups with a matrix for each group: the layers of experts.
#pragma once
#include "bora/ops/axes.h"

namespace bora {
struct RaggedDotOptions {
  Array first_group = {};  // i32 [B..]: w[0] is the matrix of this group; default 0
};
/// Each row of x times the matrix of its group, JAX's ragged_dot.
///   x [B.., R.., M, K], w [B.., E, K, N], sizes integer [B.., R.., G] -> [B.., R.., M, N] in the common dtype of x and
///   w. The first sizes[0] of M rows are group 0, the next sizes[1] group 1, ..; negative sizes count as 0, and groups
///   end where the rows do. R: batches of rows that share the matrices. A row of a group without a matrix, or of no
///   group, gives 0.
///   Accumulates in f32 (f64, integers: their own dtype) and rounds once; the same bits for any number of threads.
///   Memory and work grow with M, not with M E. Derivatives by x and w.
///   Throws ShapeError naming the sizes that differ, DtypeError.
Array ragged_dot(const Array& x, const Array& w, const Array& sizes, const RaggedDotOptions& options = {});
}  // namespace bora
