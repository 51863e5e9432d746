// assemble.h -- Sections -> machine code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>
#include "kernels/jit/sections.h"

namespace bora::kernels::jit {
inline constexpr int kMaxKept = 16;
/// Arguments of a generated loop: rows that follow each other at constant steps.
struct Call {
  // First row of each operand at its first column; then the rows kept between passes.
  char* pointer[kMaxOperands + kMaxKept];
  std::int64_t row_step[kMaxOperands];     // bytes
  std::int64_t rows, columns;              // rows > 0
  std::int64_t laps;  // 1: the last vector of a row may begin before the one before it has ended
  std::int64_t form_at[4], form_row[4], form_column[4];  // linear forms: at the first element, steps
  char* partials;                                        // Stores::partials: 256 bytes for each reduction
};
/// stream: results bypass the caches, which pays for large ones; their rows must be aligned to vectors. partials: the
/// first pass over columns alone, whose 32 partial results for each reduction are stored, not combined.
enum class Stores : std::uint8_t { cached, stream, partials };
/// Is there code for Call::laps? Masks of AVX-512 cost nothing, and sums must not count an element twice.
bool can_lap(const Sections&);
/// Position-independent code of a void(const Call*). Throws Uncovered if it runs out of registers, frame or code space.
std::vector<std::uint8_t> assemble(const Sections&, Stores = Stores::cached);
}  // namespace bora::kernels::jit
