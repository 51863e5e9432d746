// matrix.h -- the matrices of a batch, and what factorisations check. Derivatives: M. Giles, "An extended collection of
// matrix derivative results", 2008. Private.
#pragma once
#include <algorithm>
#include <atomic>
#include <complex>
#include <limits>
#include "bora/array/views.h"
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/blocked.h"
#include "ops/linalg/algorithms/checks.h"

namespace bora::linalg {
template <class T> inline constexpr T kNanOf = std::numeric_limits<T>::quiet_NaN();
/// Matrix k of the batch.
template <class T> Block<const T> matrix(const InputView& in, Index k) {
  auto r = rows(in.type), c = columns(in.type);
  return by_rows(in.as<T>() + k * r * c, r, c);
}
template <class T> Block<T> matrix(const OutputView& out, Index k) {
  auto r = rows(out.type), c = columns(out.type);
  return by_rows(out.as<T>() + k * r * c, r, c);
}
/// f(T{}, k) for every matrix k of the batch. Empty matrices give empty results.
template <class F> void each(const Type& t, F f) {
  if (t.size() == 0) return;
  const auto grain = grain_for(100 + 0.5 * static_cast<double>(rows(t) * columns(t)));
  parallel_for(volume(batch(t)), grain, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      if (t.dtype == f64) f(double{}, k);
      else f(float{}, k);
    }
  });
}
/// The same for matrices that may be complex.
template <class F> void each_of_numbers(const Type& t, F f) {
  if (!is_complex(t.dtype)) return each(t, f);
  if (t.size() == 0) return;
  const auto grain = grain_for(100 + 2 * static_cast<double>(rows(t) * columns(t)));
  parallel_for(volume(batch(t)), grain, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      if (t.dtype == complex128) f(std::complex<double>{}, k);
      else f(std::complex<float>{}, k);
    }
  });
}
/// f(i, j) for each element of a matrix, tile after tile: lines of one that is turned are read whole. Rows of tiles are
/// shared by threads.
template <class F> void each_in_tiles(Index rows, Index columns, F f) {
  constexpr Index tile = 16;
  parallel_for((rows + tile - 1) / tile, grain_for(static_cast<double>(tile * columns)), [&](Index begin, Index end) {
    for (auto i0 = begin * tile; i0 < std::min(end * tile, rows); i0 += tile)
      for (Index j0 = 0; j0 < columns; j0 += tile)
        for (auto j = j0; j < std::min(j0 + tile, columns); ++j)
          for (auto i = i0; i < std::min(i0 + tile, rows); ++i) f(i, j);
  });
}
/// to = from; false, and a part of it, if a number is not finite.
template <class From, class To> bool convert_finite(Reads<From> from, Block<To> to) {
  const auto finite = [](Real<From> x) { return x * 0 == 0; };
  std::atomic<bool> all = true;
  each_in_tiles(to.rows, to.columns, [&](Index i, Index j) {
    const auto x = from(i, j);
    to(i, j) = To(x);
    bool good = finite(real_part(x));
    if constexpr (kComplex<From>) good = good && finite(x.imag());
    if (!good) all.store(false, std::memory_order_relaxed);
  });
  return all;
}
template <class From, class To> void convert(Block<From> from, Block<To> to) {
  each_in_tiles(to.rows, to.columns, [&](Index i, Index j) { to(i, j) = static_cast<To>(from(i, j)); });
}
}  // namespace bora::linalg
