// A real matrix becomes bidiagonal by reflections.
#include <algorithm>
#include <cmath>
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/complex_reduction.h"
#include "ops/linalg/algorithms/lanes.h"

namespace bora::linalg {
namespace {
using V = Lanes<double>::Vector;
constexpr Index kSumBlock = 64;
constexpr double kSmallRow = 1e-200;  // rows of numbers below it lose digits in a product

/// sums_c = column c of a times x, of kTogether columns.
void dots(Block<const double> a, const double* x, double* sums) {
  constexpr auto lanes = Lanes<double>::count;
  V r[kTogether] = {};
  Index i = 0;
  for (; i + lanes <= a.rows; i += lanes)
#pragma GCC unroll 4
    for (Index c = 0; c < kTogether; ++c) r[c] = fused(lanes_at<V>(&a(i, c)), lanes_at<V>(x + i), r[c]);
  for (Index c = 0; c < kTogether; ++c) {
    sums[c] = sum_of(r[c]);
    for (auto k = i; k < a.rows; ++k) sums[c] += a(k, c) * x[k];
  }
}
/// y += a x, of kTogether columns. Those that follow are asked for meanwhile.
void add_columns(Block<const double> a, const double* x, double* y) {
  constexpr auto lanes = Lanes<double>::count;
  V factors[kTogether];
  for (Index c = 0; c < kTogether; ++c) factors[c] = V{} + x[c];
  Index i = 0;
  auto step = [&] {
    auto sum = lanes_at<V>(y + i);
#pragma GCC unroll 4
    for (Index c = 0; c < kTogether; ++c) sum = fused(lanes_at<V>(&a(i, c)), factors[c], sum);
    put(y + i, sum);
    i += lanes;
  };
  while (i + 2 * lanes <= a.rows) {
#pragma GCC unroll 4
    for (Index c = 0; c < kTogether; ++c) __builtin_prefetch(&a(i, c + kTogether));
    step();
    step();
  }
  if (i + lanes <= a.rows) step();
  for (; i < a.rows; ++i)
    for (Index c = 0; c < kTogether; ++c) y[i] += a(i, c) * x[c];
}
/// f(first column, columns, a vector of sums [rows] for this part) for columns in fixed parts; y = all sums.
template <class F> void by_parts(Index rows, Index columns, double* y, F f) {
  const auto parts = columns < 4 * kSumBlock ? 1 : kParts;
  Owned<double> sums(rows, parts);
  const auto blocks = (columns + kSumBlock - 1) / kSumBlock;
  parallel_for(parts, grain_for(0.3 * static_cast<double>(rows * columns / parts)), [&](Index begin, Index end) {
    for (auto i = begin; i < end; ++i)
      for (auto p = kPartAt[i], b = p; b < blocks; b += parts)
        f(b * kSumBlock, std::min(kSumBlock, columns - b * kSumBlock), &sums.block(0, p));
  });
  std::fill_n(y, rows, 0.0);
  for (Index p = 0; p < parts; ++p)
    for (Index i = 0; i < rows; ++i) y[i] += sums.block(i, p);
}
/// y = a x.
void times(Block<const double> a, const double* x, double* y) {
  by_parts(a.rows, a.columns, y, [&](Index first, Index count, double* sum) {
    Index j = 0;
    for (; j + kTogether <= count; j += kTogether)
      add_columns(a.part(0, first + j, a.rows, kTogether), x + first + j, sum);
    for (; j < count; ++j)
      for (Index i = 0; i < a.rows; ++i) sum[i] += a(i, first + j) * x[first + j];
  });
}
/// Row 0 of a is that of the matrix, before the reflection (1, rest of v) with this factor. y becomes factor a'v - low,
/// row -= y, and z = (the rest of a) row: each column is read once.
void reflect_and_multiply(Block<const double> a, const double* v, double factor, const double* low, double* y,
                          double* row, double* z) {
  const auto m = a.rows;
  by_parts(m - 1, a.columns, z, [&](Index first, Index count, double* sum) {
    Index j = 0;
    for (; j + kTogether <= count; j += kTogether) {
      const auto c = first + j;
      dots(a.part(0, c, m, kTogether), v, y + c);
      for (auto k = c; k < c + kTogether; ++k) {
        y[k] = factor * (y[k] - low[k]);
        row[k] -= y[k];
      }
      add_columns(a.part(1, c, m - 1, kTogether), row + c, sum);
    }
    for (; j < count; ++j) {
      const auto c = first + j;
      y[c] = factor * (dot(&a(0, c), v, m) - low[c]);
      row[c] -= y[c];
      for (Index i = 0; i + 1 < m; ++i) sum[i] += a(i + 1, c) * row[c];
    }
  });
}
/// y -= a x, or y = a'x where a is turned, for a few columns.
void multiply_few(Block<const double> a, const double* x, Block<double> y, Into into) {
  multiply<double>(a, {x, a.columns, 1, 1, a.columns}, y, into);
}
}  // namespace

RealForm<double> bidiagonal_form(Owned<double> given) {
  auto a = given.block;
  const auto n = a.rows;
  std::vector<double> diagonal(size(n)), above(size(std::max<Index>(n - 1, 0)));
  std::vector<double> of_columns(size(n)), of_rows(above.size());
  Owned<double> rows(n, n);  // the vectors of reflections from the right
  std::vector<double> few(size(2 * kReductionPanel)), low(size(n)), row(size(n));
  auto column_of = [](double* x, Index m) { return by_columns(x, m, 1); };
  for (Index begin = 0; begin < n; begin += kReductionPanel) {
    const auto width = std::min(kReductionPanel, n - begin);
    // a -= v y' + x u' as one product: columns v0 x0 v1 x1 .. and y0 u0 y1 u1 ..
    Owned<double> lefts(n, 2 * width), rights(n, 2 * width);
    auto left = lefts.block, right = rights.block;
    for (Index j = 0; j < width; ++j) {
      const auto c = begin + j, m = n - c - 1, done = 2 * j, next = c + 1;
      for (Index k = 0; k < done; ++k) few[size(k)] = right(c, k);
      multiply_few(left.part(c, 0, m + 1, done), few.data(), column_of(&a(c, c), m + 1), Into::subtract);
      const auto factor = of_columns[size(c)] = reflect(&a(c, c), m + 1);
      diagonal[size(c)] = a(c, c);
      if (m == 0) break;
      auto v = &left(c, done), y = &right(next, done);
      std::copy_n(&a(c, c), m + 1, v);
      v[0] = 1;
      auto z = &rows.block(next, c);
      for (Index i = 0; i < m; ++i) z[i] = a(c, next + i);
      for (Index k = 0; k < done; ++k) few[size(k)] = left(c, k);
      multiply_few(right.part(next, 0, m, done), few.data(), column_of(z, m), Into::subtract);
      multiply_few(left.part(c, 0, m + 1, done).turned(), v, column_of(few.data(), done), Into::set);
      multiply_few(right.part(next, 0, m, done), few.data(), column_of(low.data(), m), Into::set);
      auto u = &right(next, done + 1), x = &left(next, done + 1);
      reflect_and_multiply(a.part(c, next, m + 1, m), v, factor, low.data(), y, z, x);
      std::copy_n(z, m, row.data());
      const auto of_row = of_rows[size(c)] = reflect(z, m);
      above[size(c)] = z[0];
      std::copy_n(z, m, u);
      u[0] = 1;
      if (of_row == 0) {
        std::fill_n(x, m, 0.0);
        continue;
      }
      // u = (row - (length, 0 ..)) / (row_0 - length), and x holds the product with the row.
      if (std::abs(z[0]) > kSmallRow) {
        const auto by = 1 / (row[0] - z[0]);
        for (Index i = 0; i < m; ++i) x[i] = (x[i] - z[0] * a(next + i, next)) * by;
      } else times(a.part(next, next, m, m), u, x);
      multiply_few(right.part(next, 0, m, done + 1).turned(), u, column_of(few.data(), done + 1), Into::set);
      multiply_few(left.part(next, 0, m, done + 1), few.data(), column_of(x, m), Into::subtract);
      for (Index i = 0; i < m; ++i) x[i] *= of_row;
    }
    const auto end = begin + width, rest = n - end;
    multiply<double>(left.part(end, 0, rest, 2 * width), right.part(end, 0, rest, 2 * width).turned(),
                     a.part(end, end, rest, rest), Into::subtract);
  }
  return {std::move(diagonal),
          std::move(above),
          {std::move(given), std::move(of_columns), 0},
          {std::move(rows), std::move(of_rows), 1}};
}
}  // namespace bora::linalg
