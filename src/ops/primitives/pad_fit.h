// pad_fit.h -- which elements of an operand a pad keeps along a dimension, and where. Private.
#pragma once
#include <algorithm>
#include <cstdint>

namespace bora::ops {
struct PadFit {
  // output size; input elements [first, first + count) begin at output position to
  std::int64_t size, first, count, to;
};
inline PadFit fit(std::int64_t n, std::int64_t lo, std::int64_t hi, std::int64_t interior) {
  auto step = interior + 1, spread = n == 0 ? 0 : (n - 1) * step + 1, size = lo + spread + hi;
  auto first = lo >= 0 ? 0 : (-lo + step - 1) / step;
  auto last = size <= 0 ? -1 : std::min(n - 1, (size - 1 - lo) / step);  // the last element that lies inside
  if (size - 1 - lo < 0) last = -1;
  return {size, first, std::max<std::int64_t>(0, last - first + 1), lo + first * step};
}
}  // namespace bora::ops
