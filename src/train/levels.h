// levels.h -- the levels of int4 (base/int4.h) by array operations. Private.
#pragma once
#include "bora/base/int4.h"
#include "bora/ops/creation.h"
#include "bora/ops/elementwise.h"

namespace bora::training {
/// The level whose number is the last c with x >= at(c), f32; the first one where there is none, for NaN too.
template <class At> Array level_where(const Array& x, const At& at) {
  auto y = full_like(x, kInt4Levels[0]);
  for (int c = 1; c < static_cast<int>(kInt4Levels.size()); ++c)
    y = where(x >= at(c), static_cast<float>(kInt4Levels[static_cast<std::size_t>(c)]), y);
  return y;
}
/// The nearest levels to whole numbers q, f32; as the transport's codec rounds.
inline Array nearest_levels(const Array& q) { return level_where(q, int4_threshold); }
/// Their codes, whole numbers from 0 to 15, f32; and the levels of codes.
inline Array level_codes(const Array& q) {
  auto codes = zeros_like(q);
  for (int c = 1; c < static_cast<int>(kInt4Levels.size()); ++c)
    codes = codes + (q >= int4_threshold(c)).astype(q.dtype());
  return codes;
}
inline Array levels_of(const Array& codes) {
  return level_where(codes, [](int c) { return c; });
}
}  // namespace bora::training
