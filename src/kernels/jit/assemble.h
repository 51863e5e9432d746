// assemble.h -- Sections -> machine code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>
#include "kernels/jit/sections.h"

namespace bora::kernels::jit {
inline constexpr int kMaxKept = 16;
/// What a generated loop is called with: rows that follow each other at constant steps.
struct Call {
  char* pointer[kMaxOperands + kMaxKept];  // first row of each operand at its first column; then the rows kept between passes
  std::int64_t row_step[kMaxOperands];     // bytes
  std::int64_t rows, columns;              // rows > 0
  std::int64_t form_at[4], form_row[4], form_column[4];  // linear forms: at the first element, steps
};
/// stream: results go around the caches, which pays for large ones; their rows must begin at whole vectors.
enum class Stores : std::uint8_t { cached, stream };
/// Position-independent code of a void(const Call*). Throws Uncovered where registers, frame or code run out.
std::vector<std::uint8_t> assemble(const Sections&, Stores = Stores::cached);
}  // namespace bora::kernels::jit
