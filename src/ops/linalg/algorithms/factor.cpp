// Cholesky's factor and that of Gaussian elimination, by halves.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>
#include "ops/linalg/algorithms/blocked.h"

namespace bora::linalg {
namespace {
constexpr Index kFactorLeaf = 16;     // rows or columns that plain loops take
constexpr Index kCopiedColumns = 64;  // columns that are copied to lie side by side

/// A half of n, in whole leaves.
Index half_of(Index n) { return (n / 2 + kFactorLeaf - 1) / kFactorLeaf * kFactorLeaf; }

template <class T> bool cholesky_leaf(Block<T> a) {
  for (Index j = 0; j < a.rows; ++j) {
    auto d = real_part(a(j, j));
    for (Index c = 0; c < j; ++c) d -= real_part(a(j, c) * conjugated(a(j, c)));
    if (!(d > 0)) return false;
    a(j, j) = std::sqrt(d);
    for (auto i = j + 1; i < a.rows; ++i) {
      auto x = a(i, j);
      for (Index c = 0; c < j; ++c) x -= a(i, c) * conjugated(a(j, c));
      a(i, j) = x / real_part(a(j, j));
    }
  }
  return true;
}
/// A few columns that lie one behind the other; column j is done when those before it are.
template <class T> void lu_leaf(Block<T> a, std::int32_t* pivots) {
  for (Index j = 0; j < std::min(a.columns, a.rows); ++j) {
    auto column = &a(0, j);
    Index best = j;
    for (auto i = j + 1; i < a.rows; ++i)
      if (size_of(column[i]) > size_of(column[best])) best = i;
    pivots[j] = static_cast<std::int32_t>(best);
    if (best != j)
      for (Index c = 0; c < a.columns; ++c) std::swap(a(j, c), a(best, c));
    auto pivot = column[j];
    if (pivot == T(0)) continue;  // a singular matrix has a 0 in its upper factor
    for (auto i = j + 1; i < a.rows; ++i) column[i] /= pivot;
    for (auto c = j + 1; c < a.columns; ++c) {
      auto other = &a(0, c);
      const auto factor = other[j];
      for (auto i = j + 1; i < a.rows; ++i) other[i] -= column[i] * factor;
    }
  }
}
template <class T> void lu_halves(Block<T> a, std::int32_t* pivots) {
  auto m = a.rows, n = a.columns;
  if (n <= kFactorLeaf / 2) return lu_leaf(a, pivots);
  auto h = n > kFactorLeaf ? half_of(n) : kFactorLeaf / 2;
  auto left = a.part(0, 0, m, h), right = a.part(0, h, m, n - h), below = a.part(h, h, m - h, n - h);
  factor_lu(left, pivots);
  swap_rows(right, pivots, 0, h);
  solve_triangular<T>(a.part(0, 0, h, h), Half::lower, Diagonal::ones, right.part(0, 0, h, n - h));
  multiply<T>(a.part(h, 0, m - h, h), right.part(0, 0, h, n - h), below, kernels::Into::subtract);
  factor_lu(below, pivots + h);
  auto count = std::min(m - h, n - h);
  swap_rows(a.part(h, 0, m - h, h), pivots + h, 0, count);
  for (Index i = 0; i < count; ++i) pivots[h + i] += static_cast<std::int32_t>(h);
}
}  // namespace

template <class T> bool factor_cholesky(Block<T> a) {
  auto n = a.rows;
  if (n <= kFactorLeaf) return cholesky_leaf(a);
  auto h = half_of(n);
  auto top = a.part(0, 0, h, h), left = a.part(h, 0, n - h, h), rest = a.part(h, h, n - h, n - h);
  if (!factor_cholesky(top)) return false;
  if constexpr (kComplex<T>) {  // left top^-H
    Owned<T> conjugates(h, h);
    copy_conjugates<T>(top, conjugates.block);
    solve_triangular<T>(conjugates.block, Half::lower, Diagonal::given, left.turned());
  } else solve_triangular<T>(top, Half::lower, Diagonal::given, left.turned());
  subtract_lower<T>(left, left, rest);
  return factor_cholesky(rest);
}
template <class T> void swap_rows(Block<T> a, const std::int32_t* pivots, Index begin, Index end) {
  for (auto i = begin; i < end; ++i)
    if (pivots[i] != i)
      for (Index c = 0; c < a.columns; ++c) std::swap(a(i, c), a(pivots[i], c));
}
template <class T> void factor_lu(Block<T> a, std::int32_t* pivots) {
  auto m = a.rows, n = a.columns;
  if (n > m) {  // the columns to the right follow the square
    auto square = a.part(0, 0, m, m), right = a.part(0, m, m, n - m);
    factor_lu(square, pivots);
    swap_rows(right, pivots, 0, m);
    return solve_triangular<T>(square, Half::lower, Diagonal::ones, right);
  }
  if (n > kCopiedColumns || a.row == 1) return lu_halves(a, pivots);
  std::vector<T> memory(static_cast<std::size_t>(m * n));
  auto panel = by_columns(memory.data(), m, n);
  copy<T>(a.turned(), panel.turned());
  lu_halves(panel, pivots);
  copy<T>(panel, a);
}

#define BORA_FACTOR(T)                              \
  template bool factor_cholesky(Block<T>);          \
  template void factor_lu(Block<T>, std::int32_t*); \
  template void swap_rows(Block<T>, const std::int32_t*, Index, Index);
BORA_FACTOR(float)
BORA_FACTOR(double)
BORA_FACTOR(std::complex<float>)
BORA_FACTOR(std::complex<double>)
#undef BORA_FACTOR
}  // namespace bora::linalg
