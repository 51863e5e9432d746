// strided.h -- loops over operands whose elements along the row are not neighbours.
#pragma once
#include <cstdint>
#include "kernels/loop/plan.h"

namespace bora::kernels {
/// The operands of which the stride along the row is neither 0 nor 1, one bit each.
std::uint32_t strided_operands(const LoopKernel&, const LoopArgs&);
/// run() for such operands: pieces of them are gathered in the first-level cache, where the loop reads them, or written
/// there and scattered. Same bits: an element is computed as before, and rows that are reduced stay whole.
void run_strided(const LoopKernel&, const LoopArgs&, std::uint32_t strided);
}  // namespace bora::kernels
