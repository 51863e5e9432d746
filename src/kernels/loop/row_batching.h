// row_batching.h -- loops over many rows of a few elements: some hundred rows at a time become one row.
#pragma once
#include "kernels/loop/grid.h"

namespace bora::kernels {
/// Are the rows so short that a vector would hold more than one? Not for loops that reduce rows (short_rows.h).
bool has_short_rows(const LoopKernel&, const Grid&);
/// run() for such rows. Operands that are one per row, the same in all rows, or not contiguous are spread over a block
/// in the first-level cache. Same bits: an element is computed as before.
void run_batched(const LoopKernel&, const LoopArgs&, const Grid&);
}  // namespace bora::kernels
