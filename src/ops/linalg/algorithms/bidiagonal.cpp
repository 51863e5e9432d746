// Singular values of bidiagonal matrices. A part has n rows and n + 1 columns: its right vectors are n + 1, and the
// last one belongs to no singular value.
#include "ops/linalg/algorithms/bidiagonal.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include "bora/base/parallel.h"
#include "ops/linalg/algorithms/lanes.h"
#include "ops/linalg/algorithms/secular.h"

namespace bora::linalg {
namespace {
constexpr Index kRotatedRows = 15;      // rows of a part that rotations solve
constexpr double kNothing = 1e-150;     // lengths whose squares would vanish count as 0: the matrix is near 1
constexpr double kLeastApart = 1e-100;  // the same for values whose differences are squared

/// A part of at most kRotatedRows rows: the columns of its transpose become orthogonal by rotations, which are gathered
/// in u.
struct Leaf {
  static constexpr Index kRows = kRotatedRows + 1;
  using V = Lanes<double>::Vector;
  static constexpr Index kVectors = kRows / Lanes<double>::count;
  V columns[kRotatedRows][2 * kVectors] = {};  // of the transpose, and of u below them
  double squares[kRotatedRows] = {};           // lengths, squared

  double product(Index p, Index q) const {
    V r{};
#pragma GCC unroll 4
    for (Index i = 0; i < kVectors; ++i) r = fused(columns[p][i], columns[q][i], r);
    return sum_of(r);
  }
  double& number(Index i, Index j) { return reinterpret_cast<double*>(columns[j])[i]; }

  /// d, u and v of the part with this diagonal [n] and the numbers beside it [n].
  void solve(double* d, const double* e, Block<double> u, Block<double> v) {
    const auto n = u.rows;
    for (Index j = 0; j < n; ++j) {
      number(j, j) = d[j];
      number(j + 1, j) = e[j];
      number(kRows + j, j) = 1;
    }
    rotate(n);
    for (Index j = 0; j < n; ++j) {
      const auto length = std::sqrt(product(j, j));
      d[j] = length > kNothing ? length : 0;
      for (Index i = 0; i < n; ++i) u(i, j) = number(kRows + i, j);
      for (Index i = 0; i <= n; ++i) v(i, j) = d[j] > 0 ? number(i, j) / length : 0;
    }
    // The column that belongs to no value comes first, so that it stays apart where the last column is zero.
    complete(v, n);
    for (Index j = 0; j < n; ++j)
      if (d[j] == 0) complete(v, j);
  }
  void rotate(Index n) {
    for (int sweep = 0; sweep < 60; ++sweep) {
      bool changed = false;
      for (Index j = 0; j < n; ++j) squares[j] = product(j, j);
      for (Index p = 0; p < n; ++p)
        for (auto q = p + 1; q < n; ++q) {
          if (!(squares[p] > kNothing * kNothing) || !(squares[q] > kNothing * kNothing)) continue;
          const auto shared = product(p, q);
          if (std::abs(shared) <= 2 * kEps * std::sqrt(squares[p]) * std::sqrt(squares[q])) continue;
          changed = true;
          const auto ratio = (squares[q] - squares[p]) / (2 * shared);
          const auto t = std::copysign(1.0, ratio) / (std::abs(ratio) + std::sqrt(1 + ratio * ratio));
          const auto c = 1 / std::sqrt(1 + t * t), s = c * t;
#pragma GCC unroll 8
          for (Index i = 0; i < 2 * kVectors; ++i) {
            const auto x = columns[p][i], y = columns[q][i];
            columns[p][i] = c * x - s * y;
            columns[q][i] = s * x + c * y;
          }
          squares[p] = product(p, p);
          squares[q] = product(q, q);
        }
      if (!changed) return;
    }
  }
  /// Column j of v becomes a unit vector orthogonal to those that are there: the part of a unit vector that has most of
  /// it outside of them. Columns that are not there are zero.
  static void complete(Block<double> v, Index j) {
    const auto m = v.rows;
    Index best = 0;
    double least = 2;
    for (Index i = 0; i < m; ++i) {
      v(i, j) = 0;
      double inside = 0;
      for (Index c = 0; c < m; ++c) inside += v(i, c) * v(i, c);
      if (inside <= least) least = inside, best = i;
    }
    v(best, j) = 1;
    for (int twice = 0; twice < 2; ++twice) {
      for (Index c = 0; c < m; ++c) {
        if (c == j) continue;
        const auto part = dot(&v(0, c), &v(0, j), m);
        for (Index i = 0; i < m; ++i) v(i, j) -= part * v(i, c);
      }
      const auto length = std::sqrt(dot(&v(0, j), &v(0, j), m));
      for (Index i = 0; i < m; ++i) v(i, j) /= length;
    }
  }
};

/// x and y become c x + s y and c y - s x.
void rotate_columns(double* x, double* y, double c, double s, Index n) {
  for (Index i = 0; i < n; ++i) {
    const auto a = x[i], b = y[i];
    x[i] = c * a + s * b;
    y[i] = c * b - s * a;
  }
}

struct Divider {
  std::vector<double> d, e;  // e has a 0 at its end: the last column of the whole is zero
  Block<double> u, v;        // block diagonal: vectors of finished parts

  /// Rows [begin, begin + n); d becomes their singular values, in any order.
  void solve(Index begin, Index n) {
    if (n <= kRotatedRows) {
      Leaf leaf;
      return leaf.solve(&d[size(begin)], &e[size(begin)], u.part(begin, begin, n, n),
                        v.part(begin, begin, n + 1, n + 1));
    }
    const auto half = (n - 1) / 2;
    solve(begin, half);
    solve(begin + half + 1, n - half - 1);
    Merge{&d[size(begin)], half, n, u.part(begin, begin, n, n), v.part(begin, begin, n + 1, n + 1)}.run(
        e[size(begin + half)]);
  }
  /// Two parts and the row between them, number `half`.
  struct Merge {
    double* d;
    Index half, n;
    Block<double> u, v;
    Secular s = {};
    std::vector<double> z = std::vector<double>(size(n));
    std::vector<Index> deflated = {};
    std::vector<char> mixed = std::vector<char>(size(n));  // columns with numbers from both parts

    void run(double beside) {
      const auto middle = d[half];
      for (Index j = 0; j < half; ++j) z[size(j)] = middle * v(half, j);
      for (auto j = half + 1; j < n; ++j) z[size(j)] = beside * v(half + 1, j);
      // The last vectors of both parts become one that the row has a part of, and one that it has none of.
      const auto of_first = middle * v(half, half), of_second = beside * v(half + 1, n);
      const auto length = std::hypot(of_first, of_second);
      z[size(half)] = length;
      if (length > 0) rotate_columns(&v(0, half), &v(0, n), of_first / length, of_second / length, n + 1);
      u(half, half) = 1;
      d[half] = 0;
      mixed[size(half)] = 1;
      double largest = std::max(std::abs(middle), std::abs(beside));
      for (Index j = 0; j < n; ++j) largest = std::max(largest, d[j]);
      deflate(std::max(8 * kEps * largest, kLeastApart));
      const auto k = s.size();
      std::vector<Root> roots = k == 1 ? std::vector<Root>{} : roots_of(s);
      Owned<double> right(k, k, Fill::none), left(k, k, Fill::none);
      if (k == 1) right.block(0, 0) = left.block(0, 0) = 1;
      else vectors_of(s, roots, right.block, left.block);
      Owned<double> of_u(n, k, Fill::none), of_v(n + 1, k, Fill::none);
      std::vector<Index> above, below, above_v, below_v;
      for (Index i = 0; i < k; ++i) {
        const auto column = s.from[size(i)];
        const bool both = mixed[size(column)] != 0;
        if (column != half && (both || column < half)) above.push_back(i);
        if (column != half && (both || column > half)) below.push_back(i);
        if (both || column < half) above_v.push_back(i);
        if (both || column > half) below_v.push_back(i);
      }
      combine(u.part(0, 0, half, n), s.from, above, left.block, of_u.block.part(0, 0, half, k));
      copy<double>(left.block.part(0, 0, 1, k), of_u.block.part(half, 0, 1, k));
      combine(u.part(half + 1, 0, n - half - 1, n), s.from, below, left.block,
              of_u.block.part(half + 1, 0, n - half - 1, k));
      combine(v.part(0, 0, half + 1, n), s.from, above_v, right.block, of_v.block.part(0, 0, half + 1, k));
      combine(v.part(half + 1, 0, n - half, n), s.from, below_v, right.block,
              of_v.block.part(half + 1, 0, n - half, k));
      for (Index i = 0; i < k; ++i) {
        const auto column = s.from[size(i)];
        std::copy_n(&of_u.block(0, i), n, &u(0, column));
        std::copy_n(&of_v.block(0, i), n + 1, &v(0, column));
        d[column] = k == 1 ? z[size(half)] : value_of(s, roots[size(i)]);
      }
    }
    /// Columns whose z is small, or whose d is 0 or that of another column after a rotation, have their value already.
    void deflate(double near) {
      std::vector<Index> order(size(n)), kept{half};
      std::iota(order.begin(), order.end(), 0);
      order.erase(order.begin() + half);
      std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return d[a] < d[b]; });
      for (auto j : order) {
        auto& z_j = z[size(j)];
        if (std::abs(z_j) <= near) continue;
        const bool zero = d[j] <= near;
        const auto i = zero ? half : kept.back();
        if (!zero && (i == half || d[j] - d[i] > near)) {
          kept.push_back(j);
          continue;
        }
        // Column j keeps the whole z where both are alike, the middle one where d is 0.
        auto& z_i = z[size(i)];
        const auto both = std::hypot(z_i, z_j);
        const bool alike = mixed[size(i)] == 0 && mixed[size(j)] == 0 && (i < half) == (j < half);
        if (zero) {
          rotate_columns(&v(0, i), &v(0, j), z_i / both, z_j / both, n + 1);
          z_i = both;
          z_j = d[j] = 0;
          continue;
        }
        rotate_columns(&v(0, j), &v(0, i), z_j / both, z_i / both, n + 1);
        rotate_columns(&u(0, j), &u(0, i), z_j / both, z_i / both, n);
        if (!alike) mixed[size(i)] = mixed[size(j)] = 1;
        z_j = both;
        z_i = 0;
        kept.back() = j;
      }
      s.squares = true;
      s.from = kept;
      for (auto j : kept) {
        s.d.push_back(d[j]);
        s.z.push_back(j == half ? std::max(z[size(j)], near) : z[size(j)]);
      }
    }
  };
};
}  // namespace

SingularFactors singular_of_bidiagonal(const std::vector<double>& diagonal, const std::vector<double>& above) {
  const auto n = static_cast<Index>(diagonal.size());
  Owned<double> u(n, n), v(n + 1, n + 1);
  Divider divider{diagonal, above, u.block, v.block};
  divider.e.resize(size(n));
  divider.solve(0, n);
  std::vector<Index> order(size(n));
  std::iota(order.begin(), order.end(), 0);
  auto& d = divider.d;
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return d[size(a)] > d[size(b)]; });
  SingularFactors r{{n, n, Fill::none}, std::vector<double>(size(n)), {n, n, Fill::none}};
  for (Index j = 0; j < n; ++j) {
    const auto from = order[size(j)];
    r.s[size(j)] = d[size(from)];
    std::copy_n(&u.block(0, from), n, &r.u.block(0, j));
    std::copy_n(&v.block(0, from), n, &r.v.block(0, j));
  }
  return r;
}
}  // namespace bora::linalg
