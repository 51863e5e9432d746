// extreme.h -- the numbers that no other one of a dtype exceeds. Private.
#pragma once
#include <limits>
#include "bora/ops/creation.h"

namespace bora::ops {
/// Infinity, or the greatest number of a floating dtype that has none.
inline double greatest(Dtype dtype) {
  return info(dtype).infinities ? std::numeric_limits<double>::infinity() : info(dtype).largest;
}
/// A scalar: the least (greatest) number of the dtype, which is an infinity where it has some.
inline Array extreme(Dtype dtype, bool least) {
  if (is_float(dtype)) return constant(least ? -greatest(dtype) : greatest(dtype), dtype);
  if (dtype == boolean) return constant(!least, dtype);
  auto sign = std::uint64_t{1} << (8 * dtype_size(dtype) - 1);  // the highest bit; from_bytes reads the lower ones
  auto bits = info(dtype).kind == Kind::integer ? (least ? sign : sign - 1) : least ? 0 : 2 * (sign - 1) + 1;
  return from_bytes({{}, dtype}, &bits);
}
}  // namespace bora::ops
