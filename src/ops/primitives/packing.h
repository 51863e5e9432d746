// packing.h -- parts of an array, packed contiguously for sending to other ranks.
#pragma once
#include <algorithm>
#include "kernels/api/move.h"
#include "ops/primitives/dims.h"

namespace bora::ops {
/// Copies the slice [begin, begin + n) of dim between an array and a packed part; `pack`: array -> part.
inline void move_part(void* array, const Shape& shape, std::int64_t dim, std::int64_t begin, std::int64_t n, void* part,
                      std::size_t size, bool pack) {
  auto v = around(shape, dim);
  if (v.outer * n * v.inner == 0) return;
  auto* base = static_cast<std::byte*>(array) + static_cast<std::size_t>(begin * v.inner) * size;
  Dims full{v.n * v.inner, 1}, packed{n * v.inner, 1}, extent{v.outer, n * v.inner};
  if (pack) kernels::copy(part, packed, base, full, extent, size);
  else kernels::copy(base, full, part, packed, extent, size);
}
inline Dims times(const Dims& parts, std::int64_t k) {
  Dims r = parts;
  for (auto& x : r) x *= k;
  return r;
}
/// Are the parts of dimension dim contiguous already?
inline bool leads(const Shape& s, std::int64_t dim) {
  return std::all_of(s.begin(), s.begin() + dim, [](auto n) { return n == 1; });
}
/// Copies the parts of dimension dim, one after the other, between an array and packed memory.
inline void move_parts(void* array, const Shape& shape, std::int64_t dim, const Dims& parts, std::byte* packed,
                       std::size_t size, bool pack) {
  auto v = around(shape, dim);
  std::int64_t begin = 0;
  for (auto n : parts) {
    move_part(array, shape, dim, begin, n, packed + static_cast<std::size_t>(begin * v.outer * v.inner) * size, size,
              pack);
    begin += n;
  }
}
}  // namespace bora::ops
