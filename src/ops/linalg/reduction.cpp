// A symmetric matrix becomes tridiagonal by reflections.
#include <algorithm>
#include <cstdint>
#include <vector>
#include "bora/base/parallel.h"
#include "ops/linalg/lanes.h"
#include "ops/linalg/reflections.h"
#include "ops/linalg/tridiagonal.h"

namespace bora::linalg {
namespace {
using Eigen::MatrixXd;
using Eigen::VectorXd;
using kernels::Into;
constexpr Index kPanel = 32, kColumns = 4, kTile = 512, kParts = 8;

Block<double> block(MatrixXd& a) { return by_columns(a.data(), a.rows(), a.cols()); }

/// below += tile x, beside += tile' y for a tile of some columns, which is read once.
void multiply_twice(Block<const double> tile, const double* x, const double* y, double* below, double* beside) {
  using V = Lanes<double>::Vector;
  constexpr auto lanes = Lanes<double>::count;
  const auto m = tile.rows;
  Index j = 0;
  for (; j + kColumns <= tile.columns; j += kColumns) {
    V sums[kColumns] = {};
    Index i = 0;
    for (; i + lanes <= m; i += lanes) {
      auto out = at<V>(below + i);
      const auto in = at<V>(y + i);
      for (Index c = 0; c < kColumns; ++c) {
        const auto a = at<V>(&tile(i, j + c));
        out = fused(a, V{} + x[j + c], out);
        sums[c] = fused(a, in, sums[c]);
      }
      put(below + i, out);
    }
    for (Index c = 0; c < kColumns; ++c) {
      double sum = (sums[c][0] + sums[c][1]) + (sums[c][2] + sums[c][3]);
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
/// a times x by the part of a on and below the diagonal, which is read once. The parts are fixed, so that no sum
/// depends on threads.
VectorXd symmetric_product(Block<const double> a, const double* x) {
  const auto n = a.rows;
  constexpr Index width = 64;
  const auto blocks = (n + width - 1) / width, parts = n < 4 * width ? 1 : kParts;
  MatrixXd sums = MatrixXd::Zero(n, parts);
  parallel_for(parts, grain_for(0.3 * static_cast<double>(n * n / parts)), [&](Index begin, Index end) {
    for (auto p = begin; p < end; ++p)
      for (auto b = p; b < blocks; b += parts) {
        auto sum = &sums(0, p);
        const auto first = b * width, w = std::min(width, n - first), below = first + w;
        for (Index j = first; j < below; ++j) {
          auto column = &a(j, j);
          const auto m = below - j - 1;
          sum[j] += column[0] * x[j] + dot(column + 1, x + j + 1, m);
          for (Index i = 0; i < m; ++i) sum[j + 1 + i] += column[1 + i] * x[j];
        }
        for (auto r = below; r < n; r += kTile) {
          const auto rows = std::min(kTile, n - r);
          multiply_twice(a.part(r, first, rows, w), x + first, x + r, sum + r, sum + first);
        }
      }
  });
  return sums.rowwise().sum();
}
}  // namespace

Reduced reduced(MatrixXd a) {
  auto n = a.rows();
  Reduced r{VectorXd(n), VectorXd(n - 1), {}, VectorXd(n - 1)};
  for (Index begin = 0; begin < n; begin += kPanel) {
    auto width = std::min<Index>(kPanel, n - begin);
    // a -= v w' + w v' as one product: columns v0 w0 v1 w1 .., and the same with each pair turned.
    MatrixXd pairs = MatrixXd::Zero(n, 2 * width), turned = MatrixXd::Zero(n, 2 * width);
    VectorXd row(2 * width), y(n);
    for (Index j = 0; j < width; ++j) {
      auto c = begin + j, m = n - c - 1, done = 2 * j;
      auto below = block(pairs).part(c + 1, 0, m, done);
      auto coefficients = by_columns(row.data(), done, 1);
      copy<double>(block(turned).part(c, 0, 1, done).turned(), coefficients);
      auto column = block(a).part(c, c, m + 1, 1);
      multiply<double>(block(pairs).part(c, 0, m + 1, done), coefficients, column, Into::subtract);
      r.diagonal(c) = a(c, c);
      if (m == 0) break;
      r.factors(c) = reflect(&a(c + 1, c), m);
      r.below(c) = a(c + 1, c);
      auto x = pairs.col(done).tail(m);
      x = a.col(c).tail(m);
      x(0) = 1;
      y.tail(m) = symmetric_product(block(a).part(c + 1, c + 1, m, m), &x(0));
      auto z = y.tail(m);
      multiply<double>(block(turned).part(c + 1, 0, m, done).turned(), by_columns(&x(0), m, 1), coefficients);
      multiply<double>(below, coefficients, by_columns(&z(0), m, 1), Into::subtract);
      z *= r.factors(c);
      z -= 0.5 * r.factors(c) * dot(&z(0), &x(0), m) * x;
      pairs.col(done + 1).tail(m) = z;
      turned.col(done).tail(m) = z;
      turned.col(done + 1).tail(m) = x;
    }
    auto end = begin + width, rest = n - end;
    subtract_lower<double>(block(pairs).part(end, 0, rest, 2 * width), block(turned).part(end, 0, rest, 2 * width),
                           block(a).part(end, end, rest, rest));
  }
  r.reflections = std::move(a);
  return r;
}
void Reduced::apply_q(MatrixXd& x) const {
  auto n = reflections.rows();
  for (auto begin = (n - 2) / kPanel * kPanel; n > 1 && begin >= 0; begin -= kPanel) {
    auto width = std::min<Index>(kPanel, n - 1 - begin), m = n - 1 - begin;
    MatrixXd v = reflections.block(begin + 1, begin, m, width), t(width, width);
    for (Index j = 0; j < width; ++j) {
      v.col(j).head(j).setZero();
      v(j, j) = 1;
    }
    join_reflections<double>(block(v), factors.data() + begin, block(t));
    Panel<double>{block(v), block(t)}.apply(block(x).part(begin + 1, 0, m, x.cols()), false);
  }
}
}  // namespace bora::linalg
