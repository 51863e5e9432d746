// dims.h -- lists of dimension numbers, for primitives that move, combine or index. Private.
#pragma once
#include "ops/api/support.h"

namespace bora::ops {
/// The numbers of [0, n) that are not in d, in order.
inline Dims others(std::int64_t n, const Dims& d) {
  Dims r;
  for (std::int64_t i = 0; i < n; ++i)
    if (!contains(d, i)) r.push_back(i);
  return r;
}
inline Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// s[d[0]], s[d[1]], ..
inline Dims pick(const Dims& s, const Dims& d) {
  Dims r;
  for (auto i : d) r.push_back(s.at(at(i)));
  return r;
}
inline Shape pick(const Shape& s, const Dims& d) { return pick(s.dims(), d); }
inline std::int64_t product(const Dims& s, std::int64_t from, std::int64_t to) {
  std::int64_t n = 1;  // overflows only beside a dimension of size 0, where the whole is 0
  for (auto i = from; i < to; ++i) __builtin_mul_overflow(n, s[at(i)], &n);
  return n;
}
inline std::int64_t product(const Shape& s, std::int64_t from, std::int64_t to) { return product(s.dims(), from, to); }
inline std::int64_t position(const Dims& d, std::int64_t x) { return std::find(d.begin(), d.end(), x) - d.begin(); }
inline bool identity(const Dims& perm) { return perm == range_of(static_cast<std::int64_t>(perm.size())); }
inline Dims inverse(const Dims& perm) {
  Dims r(perm.size());
  for (std::size_t d = 0; d < perm.size(); ++d) r[at(perm[d])] = static_cast<std::int64_t>(d);
  return r;
}
/// perm checked and made non-negative. Throws ValueError, IndexError.
Dims checked_permutation(std::string_view what, Dims perm, std::int64_t ndim);
/// An array seen as [outer, n, inner] around one dimension.
struct Around {
  std::int64_t outer, n, inner;
};
inline Around around(const Shape& s, std::int64_t axis) {
  auto nd = static_cast<std::int64_t>(s.size());
  if (volume(s) == 0) return {0, s[at(axis)], 0};
  return {product(s, 0, axis), s[at(axis)], product(s, axis + 1, nd)};
}
/// Dimension d of an operation without the mapped axis, numbered with it.
inline std::int64_t past(std::int64_t d, std::int64_t mapped) { return mapped >= 0 && d >= mapped ? d + 1 : d; }
inline Dims past(Dims d, std::int64_t mapped) {
  for (auto& x : d) x = past(x, mapped);
  return d;
}
}  // namespace bora::ops
