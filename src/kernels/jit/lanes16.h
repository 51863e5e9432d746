// lanes16.h -- loops over integers of 8 and 16 bits in lanes of 16 bits.
#pragma once
#include "kernels/jit/sections.h"

namespace bora::kernels::jit {
/// Twice as many lanes where each of them need only hold the low 16 bits of its 32-bit value: sums, products and bits
/// depend on those alone; comparisons, extremes and shifts to the right need values whose range fits i16 or u16, which
/// follows from the dtypes of the operands. Same bits. Leaves the sections as they are where a value does not allow it.
void lanes16(Sections&);
}  // namespace bora::kernels::jit
