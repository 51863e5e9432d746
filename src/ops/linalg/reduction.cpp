// A symmetric matrix becomes tridiagonal by reflections.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Householder>
#include <algorithm>
#include <cstdint>
#include "bora/base/parallel.h"
#include "ops/linalg/tridiagonal.h"

namespace bora::linalg {
namespace {
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Index = Eigen::Index;
constexpr Index kPanel = 32, kColumns = 64, kRows = 512, kParts = 8;

/// a(from.., from..) times v by the lower part, which is read once: a tile gives the rows beside it and those above.
/// The parts are fixed, so that no sum depends on threads.
VectorXd symmetric_product(const MatrixXd& a, Index from, const VectorXd& v) {
  auto m = v.size(), blocks = (m + kColumns - 1) / kColumns;
  auto parts = m < 4 * kColumns ? 1 : kParts;
  MatrixXd sums = MatrixXd::Zero(m, parts);
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto p = begin; p < end; ++p)
      for (Index b = p; b < blocks; b += parts) {
        auto sum = sums.col(p);
        auto first = b * kColumns, n = std::min(kColumns, m - first), below = first + n;
        auto columns = a.middleCols(from + first, n).middleRows(from, m);
        sum.segment(first, n) += columns.middleRows(first, n).selfadjointView<Eigen::Lower>() * v.segment(first, n);
        for (auto r = below; r < m; r += kRows) {
          auto rows = std::min(kRows, m - r);
          auto tile = columns.middleRows(r, rows);
          sum.segment(r, rows).noalias() += tile * v.segment(first, n);
          sum.segment(first, n).noalias() += tile.transpose() * v.segment(r, rows);
        }
      }
  });
  return sums.rowwise().sum();
}
/// a(from.., from..) -= v w' + w v' in the lower part.
void update(MatrixXd& a, Index from, const MatrixXd& v, const MatrixXd& w) {
  auto n = a.rows();
  parallel_for((n - from + kColumns - 1) / kColumns, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto b = begin; b < end; ++b) {
      auto first = from + b * kColumns, columns = std::min(kColumns, n - first), rows = n - first;
      auto block = a.block(first, first, rows, columns);
      block.noalias() -= v.bottomRows(rows) * w.middleRows(first, columns).transpose();
      block.noalias() -= w.bottomRows(rows) * v.middleRows(first, columns).transpose();
    }
  });
}
}  // namespace

Reduced reduced(MatrixXd a) {
  auto n = a.rows();
  Reduced r{VectorXd(n), VectorXd(n - 1), {}, VectorXd(n - 1)};
  for (Index begin = 0; begin < n; begin += kPanel) {
    auto width = std::min(kPanel, n - begin);
    MatrixXd v = MatrixXd::Zero(n, width), w = MatrixXd::Zero(n, width);
    for (Index j = 0; j < width; ++j) {
      auto c = begin + j, m = n - c - 1;
      a.col(c).tail(m + 1).noalias() -= v.bottomLeftCorner(m + 1, j) * w.row(c).head(j).transpose();
      a.col(c).tail(m + 1).noalias() -= w.bottomLeftCorner(m + 1, j) * v.row(c).head(j).transpose();
      r.diagonal(c) = a(c, c);
      if (m == 0) break;
      a.col(c).tail(m).makeHouseholderInPlace(r.factors(c), r.below(c));
      VectorXd x = a.col(c).tail(m);
      x(0) = 1;
      VectorXd y = symmetric_product(a, c + 1, x);
      auto vs = v.bottomLeftCorner(m, j), ws = w.bottomLeftCorner(m, j);
      VectorXd by_w = ws.transpose() * x, by_v = vs.transpose() * x;
      y.noalias() -= vs * by_w;
      y.noalias() -= ws * by_v;
      y *= r.factors(c);
      y -= 0.5 * r.factors(c) * y.dot(x) * x;
      v.col(j).tail(m) = x;
      w.col(j).tail(m) = y;
    }
    update(a, begin + width, v, w);
  }
  r.reflections = std::move(a);
  return r;
}
void Reduced::apply_q(MatrixXd& x) const {
  auto n = reflections.rows();
  auto q = Eigen::householderSequence(reflections, factors).setLength(n - 1).setShift(1);
  constexpr Index block = 64;
  parallel_for((x.cols() + block - 1) / block, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto b = begin; b < end; ++b) {
      auto columns = std::min(block, x.cols() - b * block);
      MatrixXd part = x.middleCols(b * block, columns);
      part.applyOnTheLeft(q);
      x.middleCols(b * block, columns) = part;
    }
  });
}
}  // namespace bora::linalg
