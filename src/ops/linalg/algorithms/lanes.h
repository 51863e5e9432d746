// lanes.h -- vectors of numbers, and a number as a vector of one. Private.
#pragma once
#include <immintrin.h>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace bora::linalg {
using Index = std::int64_t;
inline constexpr std::size_t kLaneBytes = 32;
inline constexpr Index kTogether = 4;  // columns of a matrix that a pass over a vector takes
template <class T> struct Lanes {
  static constexpr Index count = kLaneBytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(kLaneBytes)));
};
template <class T> struct Lanes<std::complex<T>> {
  static constexpr Index count = 1;
  using Vector = std::complex<T>;
};
template <class V, class T> inline constexpr Index kLanes = static_cast<Index>(sizeof(V) / sizeof(T));
template <class V, class T> T get(const V& v, Index i) {
  if constexpr (std::is_same_v<V, T>) return v;
  else return v[i];
}
template <class V, class T> void set(V& v, Index i, T x) {
  if constexpr (std::is_same_v<V, T>) v = x;
  else v[i] = x;
}
/// The vector at x, aligned or not.
template <class V, class T> V lanes_at(const T* x) {
  V v;
  std::memcpy(&v, x, sizeof(V));
  return v;
}
/// The sum of all numbers.
inline double sum_of(Lanes<double>::Vector v) { return (v[0] + v[1]) + (v[2] + v[3]); }
/// a * b + c, rounded once.
template <class V> V fused(V a, V b, V c) {
  if constexpr (std::is_same_v<V, Lanes<double>::Vector>) return _mm256_fmadd_pd(a, b, c);
  else return _mm256_fmadd_ps(a, b, c);
}
/// The parts of complex numbers that lie side by side, the imaginary one first.
template <class V> V parts_swapped(V x) {
  if constexpr (std::is_same_v<V, Lanes<double>::Vector>) return __builtin_shufflevector(x, x, 1, 0, 3, 2);
  else return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
}
template <class V, class T> void put(T* x, V v) { std::memcpy(x, &v, sizeof(V)); }
}  // namespace bora::linalg
