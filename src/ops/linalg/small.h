// small.h -- many small matrices at once, one in each lane of vectors. A single matrix takes the same steps with one
// lane, so its bits do not depend on the batch. Private.
#pragma once
#include <cmath>
#include "ops/linalg/matrix.h"

namespace bora::linalg {
inline constexpr Index kSmallSize = 16;  // up to it lanes are faster than blocks
inline constexpr std::size_t kLaneBytes = 32;
template <class T> struct Lanes {
  static constexpr Index count = kLaneBytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(kLaneBytes)));
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
/// Numbers at x, n of each matrix, into lanes; and back.
template <class V, class T> void load(const T* x, Index n, V* to) {
  for (Index e = 0; e < n; ++e)
    for (Index i = 0; i < kLanes<V, T>; ++i) set(to[e], i, x[i * n + e]);
}
template <class V, class T> void store(const V* from, Index n, T* x) {
  for (Index i = 0; i < kLanes<V, T>; ++i)
    for (Index e = 0; e < n; ++e) x[i * n + e] = get<V, T>(from[e], i);
}
template <class V> V magnitude(V x) { return x < 0 ? -x : x; }
template <class T, class V> V root(V x) {
  for (Index i = 0; i < kLanes<V, T>; ++i) set(x, i, std::sqrt(get<V, T>(x, i)));
  return x;
}
/// f(T{}, V{}, first) for every matrix of the batch: V holds those from first on.
template <class F> void each_small(const Type& t, F f) {
  auto run = [&]<class T>(T zero) {
    constexpr Index count = Lanes<T>::count;
    auto all = volume(batch(t)), whole = all / count;
    auto grain = grain_for(200 + 4 * static_cast<double>(rows(t) * columns(t) * rows(t)));
    parallel_for(whole, grain, [&](Index begin, Index end) {
      for (auto k = begin; k < end; ++k) f(zero, typename Lanes<T>::Vector{}, k * count);
    });
    for (auto k = whole * count; k < all; ++k) f(zero, T{}, k);
  };
  if (t.size() == 0) return;
  if (t.dtype == f64) run(double{});
  else run(float{});
}
}  // namespace bora::linalg
