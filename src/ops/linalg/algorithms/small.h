// small.h -- many small matrices at once, one in each lane of vectors. A single matrix takes the same steps with one
// lane, so its bits do not depend on the batch. Private.
#pragma once
#include <cmath>
#include "ops/linalg/algorithms/lanes.h"
#include "ops/linalg/algorithms/matrix.h"

namespace bora::linalg {
inline constexpr Index kSmallSize = 16;  // up to it lanes are faster than blocks
/// Numbers at x, n of each matrix, into lanes; and back.
template <class V, class T> void load(const T* x, Index n, V* to) {
  for (Index e = 0; e < n; ++e)
    for (Index i = 0; i < kLanes<V, T>; ++i) set(to[e], i, x[i * n + e]);
}
template <class V, class T> void store(const V* from, Index n, T* x) {
  for (Index i = 0; i < kLanes<V, T>; ++i)
    for (Index e = 0; e < n; ++e) x[i * n + e] = get<V, T>(from[e], i);
}
template <class V> V magnitudes(V x) { return x < 0 ? -x : x; }
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
