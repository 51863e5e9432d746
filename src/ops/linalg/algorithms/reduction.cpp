// A symmetric matrix becomes tridiagonal by reflections.
#include <algorithm>
#include <cstdint>
#include <vector>
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/complex_reduction.h"
#include "ops/linalg/algorithms/lanes.h"

namespace bora::linalg {
namespace {
constexpr Index kRealTile = 512;

/// below += tile x, beside += tile' y for a tile of some columns, which is read once.
void multiply_twice(Block<const double> tile, const double* x, const double* y, double* below, double* beside) {
  using V = Lanes<double>::Vector;
  constexpr auto lanes = Lanes<double>::count;
  const auto m = tile.rows;
  Index j = 0;
  for (; j + kTogether <= tile.columns; j += kTogether) {
    V sums[kTogether] = {}, factors[kTogether];
    for (Index c = 0; c < kTogether; ++c) factors[c] = V{} + x[j + c];
    Index i = 0;
    for (; i + lanes <= m; i += lanes) {
      auto out = lanes_at<V>(below + i);
      const auto in = lanes_at<V>(y + i);
#pragma GCC unroll 4
      for (Index c = 0; c < kTogether; ++c) {
        const auto a = lanes_at<V>(&tile(i, j + c));
        out = fused(a, factors[c], out);
        sums[c] = fused(a, in, sums[c]);
      }
      put(below + i, out);
    }
    for (Index c = 0; c < kTogether; ++c) {
      auto sum = sum_of(sums[c]);
      for (auto r = i; r < m; ++r) {
        below[r] += tile(r, j + c) * x[j + c];
        sum += tile(r, j + c) * y[r];
      }
      beside[j + c] += sum;
    }
  }
  for (; j < tile.columns; ++j) {
    for (Index i = 0; i < m; ++i) below[i] += tile(i, j) * x[j];
    beside[j] += dot(&tile(0, j), y, m);
  }
}
/// y = a x by the part of a on and below the diagonal, which is read once. The parts are fixed, so that no sum depends
/// on threads.
void symmetric_product(Block<const double> a, const double* x, double* y) {
  const auto n = a.rows;
  constexpr Index width = 64;
  const auto blocks = (n + width - 1) / width, parts = n < 4 * width ? 1 : kParts;
  Owned<double> sums(n, parts);
  parallel_for(parts, grain_for(0.3 * static_cast<double>(n * n / parts)), [&](Index begin, Index end) {
    for (auto i = begin; i < end; ++i)
      for (auto p = kPartAt[i], b = p; b < blocks; b += parts) {
        auto sum = &sums.block(0, p);
        const auto first = b * width, w = std::min(width, n - first), below = first + w;
        for (Index j = first; j < below; ++j) {
          auto column = &a(j, j);
          const auto m = below - j - 1;
          sum[j] += column[0] * x[j] + dot(column + 1, x + j + 1, m);
          add_times(x[j], column + 1, sum + j + 1, m);
        }
        for (auto r = below; r < n; r += kRealTile) {
          const auto rows = std::min(kRealTile, n - r);
          multiply_twice(a.part(r, first, rows, w), x + first, x + r, sum + r, sum + first);
        }
      }
  });
  std::copy_n(&sums.block(0, 0), n, y);
  for (Index p = 1; p < parts; ++p) add_times(1.0, &sums.block(0, p), y, n);
}
}  // namespace

RealForm<double> tridiagonal_form(Owned<double> given) {
  auto a = given.block;
  const auto n = a.rows;
  std::vector<double> diagonal(size(n)), under(size(std::max<Index>(n - 1, 0))), factors(under.size());
  for (Index begin = 0; begin < n; begin += kReductionPanel) {
    const auto width = std::min<Index>(kReductionPanel, n - begin);
    // a -= v w' + w v' as one product: columns v0 w0 v1 w1 .., and the same with each pair turned.
    Owned<double> all_pairs(n, 2 * width), all_turned(n, 2 * width);
    auto pairs = all_pairs.block, turned = all_turned.block;
    std::vector<double> row(size(2 * width));
    for (Index j = 0; j < width; ++j) {
      const auto c = begin + j, m = n - c - 1, done = 2 * j;
      auto coefficients = by_columns(row.data(), done, 1);
      copy<double>(turned.part(c, 0, 1, done).turned(), coefficients);
      multiply<double>(pairs.part(c, 0, m + 1, done), coefficients, a.part(c, c, m + 1, 1), Into::subtract);
      diagonal[size(c)] = a(c, c);
      if (m == 0) break;
      const auto factor = factors[size(c)] = reflect(&a(c + 1, c), m);
      under[size(c)] = a(c + 1, c);
      auto x = &pairs(c + 1, done), z = &pairs(c + 1, done + 1);
      std::copy_n(&a(c + 1, c), m, x);
      x[0] = 1;
      symmetric_product(a.part(c + 1, c + 1, m, m), x, z);
      multiply<double>(turned.part(c + 1, 0, m, done).turned(), by_columns(x, m, 1), coefficients);
      multiply<double>(pairs.part(c + 1, 0, m, done), coefficients, by_columns(z, m, 1), Into::subtract);
      for (Index i = 0; i < m; ++i) z[i] *= factor;
      add_times(-0.5 * factor * dot(z, x, m), x, z, m);
      std::copy_n(z, m, &turned(c + 1, done));
      std::copy_n(x, m, &turned(c + 1, done + 1));
    }
    const auto end = begin + width, rest = n - end;
    subtract_lower<double>(pairs.part(end, 0, rest, 2 * width), turned.part(end, 0, rest, 2 * width),
                           a.part(end, end, rest, rest));
  }
  return {std::move(diagonal), std::move(under), {std::move(given), std::move(factors), 1}, {{0, 0}, {}, 0}};
}
}  // namespace bora::linalg
