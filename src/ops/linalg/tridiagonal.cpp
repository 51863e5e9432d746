// Eigenvalues and eigenvectors of symmetric tridiagonal matrices.
#include "ops/linalg/tridiagonal.h"
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>
#include "bora/base/parallel.h"
#include "ops/linalg/blocked.h"
#include "ops/linalg/lanes.h"

namespace bora::linalg {
namespace {
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Index = Eigen::Index;
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr Index kLeaf = 32;  // matrices up to this size are solved by QL iterations

/// What is left of diag(d) + rho z z' after deflation: d ascending and apart, no z small. `from`: columns of the
/// halves' vectors that stand for its unit vectors.
struct Secular {
  VectorXd d, z;
  double rho = 0;
  VectorXd weights;  // rho z^2
  std::vector<Index> from = {};
};
/// An eigenvalue as d(pole) + offset; its differences from all d keep their digits.
struct Root {
  Index pole = 0;
  double offset = 0;
};

/// Sums over j in [begin, end) of weights_j / gap_j, weights_j / gap_j^2 and the first one's magnitudes, where gap_j is
/// (d_j - near) - x.
struct Sums {
  double value, slope, size;
};
Sums sums_of(const Secular& s, Index begin, Index end, double near, double x) {
  using V = Lanes<double>::Vector;
  constexpr auto lanes = Lanes<double>::count;
  V value{}, slope{}, size{};
  auto j = begin;
  for (; j + lanes <= end; j += lanes) {
    const auto gap = (at<V>(s.d.data() + j) - near) - x, part = at<V>(s.weights.data() + j) / gap;
    value += part;
    slope += part / gap;
    size += part < 0 ? -part : part;
  }
  auto all = [](V v) { return (v[0] + v[1]) + (v[2] + v[3]); };
  Sums r{all(value), all(slope), all(size)};
  for (; j < end; ++j) {
    const auto gap = (s.d(j) - near) - x, part = s.weights(j) / gap;
    r.value += part;
    r.slope += part / gap;
    r.size += std::abs(part);
  }
  return r;
}
/// Root i of 1 + rho sum_j z_j^2 / (d_j - x), between d_i and d_i+1, or above the last one. Both sums are replaced by a
/// constant and one pole with the same value and slope (J. Bunch, C. Nielsen, D. Sorensen, "Rank-one modification of
/// the symmetric eigenproblem", 1978), inside of a bracket that only shrinks.
Root root_of(const Secular& s, Index i) {
  auto n = s.d.size();
  bool last = i + 1 == n;
  auto width = last ? s.rho * s.z.squaredNorm() : s.d(i + 1) - s.d(i);
  // The nearer pole: above the middle f is already positive if the root lies below it.
  bool right = !last && 1 + sums_of(s, 0, n, s.d(i), width / 2).value < 0;
  Root root{right ? i + 1 : i, 0};
  double low = right ? -width / 2 : 0, high = right ? 0 : last ? width : width / 2;
  if (last) high *= 1 + 4 * kEps;
  double at_i = s.d(i) - s.d(root.pole), at_next = last ? 0 : s.d(i + 1) - s.d(root.pole);
  double x = (low + high) / 2;
  for (int step = 0; step < 100; ++step) {
    auto [left, left_slope, left_size] = sums_of(s, 0, i + 1, s.d(root.pole), x);
    auto [above, above_slope, above_size] = sums_of(s, i + 1, n, s.d(root.pole), x);
    auto size = 1 + left_size + above_size;
    auto f = 1 + left + above;
    if (std::abs(f) <= kEps * size || high - low <= kEps * std::max(std::abs(low), std::abs(high))) break;
    (f < 0 ? low : high) = x;
    auto gap_i = at_i - x, gap_next = at_next - x;
    auto s_i = gap_i * gap_i * left_slope, s_next = last ? 0 : gap_next * gap_next * above_slope;
    auto c = 1 + (left - gap_i * left_slope) + (last ? 0 : above - gap_next * above_slope);
    // c + s_i / (gap_i - t) + s_next / (gap_next - t) = 0 for the step t.
    double t;
    if (last) t = gap_i + s_i / c;
    else {
      auto a = c * (gap_i + gap_next) + s_i + s_next, b = c * gap_i * gap_next + s_i * gap_next + s_next * gap_i;
      auto square = std::sqrt(std::max(0.0, a * a - 4 * b * c));
      t = a <= 0 ? (a - square) / (2 * c) : 2 * b / (a + square);
    }
    auto next = x + t;
    x = next > low && next < high ? next : (low + high) / 2;
    if (x == low || x == high) break;
  }
  root.offset = x;
  return root;
}

struct Solver {
  VectorXd d, e;
  MatrixXd q;  // block diagonal of the vectors of finished parts

  /// Solves rows [begin, begin + n); d becomes their eigenvalues, ascending.
  void solve(Index begin, Index n) {
    if (n <= kLeaf) return leaf(begin, n);
    auto half = n / 2;
    auto coupling = e(begin + half - 1), rho = std::abs(coupling);
    d(begin + half - 1) -= rho;
    d(begin + half) -= rho;
    solve(begin, half);
    solve(begin + half, n - half);
    merge(begin, half, n, rho, coupling < 0 ? -1 : 1);
  }
  void leaf(Index begin, Index n) {
    Eigen::SelfAdjointEigenSolver<MatrixXd> f;
    VectorXd below = e.segment(begin, n - 1);
    f.computeFromTridiagonal(d.segment(begin, n), below, Eigen::ComputeEigenvectors);
    d.segment(begin, n) = f.eigenvalues();
    q.block(begin, begin, n, n) = f.eigenvectors();
  }
  /// The halves' vectors times those of diag(d) + rho v v', where v = Q' (e_half-1 + sign e_half).
  void merge(Index begin, Index half, Index n, double rho, int sign) {
    auto part = q.block(begin, begin, n, n);
    auto w = d.segment(begin, n);
    VectorXd z(n);
    z << part.row(half - 1).head(half).transpose(), sign * part.row(half).tail(n - half).transpose();
    z /= std::sqrt(2.0);
    std::vector<Index> order(static_cast<std::size_t>(n)), deflated;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return w(a) < w(b); });
    std::vector<char> mixed(static_cast<std::size_t>(n));  // columns with parts in both halves
    auto s = deflate(part, w, z, 2 * rho, half, order, deflated, mixed);
    auto k = static_cast<Index>(s.from.size());
    std::vector<Root> roots(static_cast<std::size_t>(k));
    auto grain = grain_for(40.0 * static_cast<double>(k));
    parallel_for(k, grain, [&](std::int64_t from, std::int64_t to) {
      for (auto i = from; i < to; ++i) roots[static_cast<std::size_t>(i)] = root_of(s, i);
    });
    auto vectors = vectors_of(s, roots);
    MatrixXd made(n, k);
    product(part, 0, half, s, mixed, half, vectors, made);
    product(part, half, n, s, mixed, half, vectors, made);
    place(part, w, s, roots, deflated, made);
  }
  /// Columns whose z is small, or whose d is that of another column after a rotation, have their eigenvalue already.
  template <class Part, class Values> static Secular deflate(Part& part, Values& w, VectorXd& z, double rho, Index half,
                                                             const std::vector<Index>& order,
                                                             std::vector<Index>& deflated, std::vector<char>& mixed) {
    auto near = 8 * kEps * std::max(w.cwiseAbs().maxCoeff(), z.cwiseAbs().maxCoeff());
    std::vector<Index> kept;
    for (auto j : order) {
      if (rho * std::abs(z(j)) <= near) {
        deflated.push_back(j);
        continue;
      }
      if (!kept.empty()) {
        auto i = kept.back();
        auto both = std::hypot(z(i), z(j)), c = z(j) / both, s = -z(i) / both, gap = w(j) - w(i);
        if (std::abs(gap * c * s) <= near) {
          VectorXd column = c * part.col(i) + s * part.col(j);
          part.col(j) = c * part.col(j) - s * part.col(i);
          part.col(i) = column;
          z(j) = both;
          auto low = w(i) * c * c + w(j) * s * s;
          w(j) = w(i) * s * s + w(j) * c * c;
          w(i) = low;
          auto is_mixed = [&](Index x) { return mixed[static_cast<std::size_t>(x)] != 0; };
          if (is_mixed(i) || is_mixed(j) || (i < half) != (j < half))
            mixed[static_cast<std::size_t>(i)] = mixed[static_cast<std::size_t>(j)] = 1;
          deflated.push_back(i);
          kept.pop_back();
        }
      }
      kept.push_back(j);
    }
    VectorXd d_kept(static_cast<Index>(kept.size())), z_kept(static_cast<Index>(kept.size()));
    for (std::size_t i = 0; i < kept.size(); ++i) {
      d_kept(static_cast<Index>(i)) = w(kept[i]);
      z_kept(static_cast<Index>(i)) = z(kept[i]);
    }
    return {d_kept, z_kept, rho, rho * z_kept.cwiseAbs2(), kept};
  }
  /// Of diag(d) + rho z z' with a z that has exactly these roots: orthogonal to all digits, however near the roots are.
  static MatrixXd vectors_of(const Secular& s, const std::vector<Root>& roots) {
    auto k = s.d.size();
    MatrixXd gaps(k, k);  // d_j - root i
    for (Index i = 0; i < k; ++i) {
      auto& r = roots[static_cast<std::size_t>(i)];
      gaps.col(i) = (s.d.array() - s.d(r.pole)) - r.offset;
    }
    VectorXd z = gaps.diagonal();
    auto grain = grain_for(1.5 * static_cast<double>(k));
    parallel_for(k, grain, [&](std::int64_t begin, std::int64_t end) {
      auto others = [&](Index i, Index from, Index to) {
        for (auto j = from; j < to; ++j) z(j) *= gaps(j, i) / (s.d(j) - s.d(i));
      };
      for (Index i = 0; i < k; ++i) {
        others(i, begin, std::clamp<Index>(i, begin, end));
        others(i, std::clamp<Index>(i + 1, begin, end), end);
      }
      for (auto j = begin; j < end; ++j) z(j) = std::copysign(std::sqrt(std::abs(z(j))), s.z(j));
    });
    parallel_for(k, grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        gaps.col(i) = z.cwiseQuotient(gaps.col(i));
        gaps.col(i).normalize();
      }
    });
    return gaps;
  }
  /// Rows [top, bottom) of the new vectors, from the columns that are not zero there.
  template <class Part> static void product(const Part& part, Index top, Index bottom, const Secular& s,
                                            const std::vector<char>& mixed, Index half, const MatrixXd& vectors,
                                            MatrixXd& made) {
    auto k = vectors.cols();
    std::vector<Index> some;
    for (Index i = 0; i < k; ++i) {
      auto column = s.from[static_cast<std::size_t>(i)];
      if (mixed[static_cast<std::size_t>(column)] != 0 || (column < half) == (top == 0)) some.push_back(i);
    }
    auto m = static_cast<Index>(some.size());
    MatrixXd left(bottom - top, m), right(m, k);
    for (Index i = 0; i < m; ++i) {
      auto at = some[static_cast<std::size_t>(i)];
      left.col(i) = part.col(s.from[static_cast<std::size_t>(at)]).segment(top, bottom - top);
      right.row(i) = vectors.row(at);
    }
    auto rows = by_columns(made.data(), made.rows(), k).part(top, 0, bottom - top, k);
    multiply<double>(by_columns(left.data(), left.rows(), m), by_columns(right.data(), m, k), rows);
  }
  /// Values and vectors in ascending order.
  template <class Part, class Values> static void place(Part& part, Values& w, const Secular& s,
                                                        const std::vector<Root>& roots,
                                                        const std::vector<Index>& deflated, const MatrixXd& made) {
    struct Pair {
      double value;
      Index column;
      bool fresh;
    };
    std::vector<Pair> all;
    for (std::size_t i = 0; i < roots.size(); ++i)
      all.push_back({s.d(roots[i].pole) + roots[i].offset, static_cast<Index>(i), true});
    for (auto j : deflated) all.push_back({w(j), j, false});
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.value < b.value; });
    MatrixXd sorted(part.rows(), part.cols());
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto to = static_cast<Index>(i);
      if (all[i].fresh) sorted.col(to) = made.col(all[i].column);
      else sorted.col(to) = part.col(all[i].column);
    }
    for (std::size_t i = 0; i < all.size(); ++i) w(static_cast<Index>(i)) = all[i].value;
    part = sorted;
  }
};
}  // namespace

Eigenpairs eigen_of_small(const MatrixXd& a) {
  Eigen::SelfAdjointEigenSolver<MatrixXd> f(a);
  return {f.eigenvalues(), f.eigenvectors()};
}
Eigenpairs eigen_of_tridiagonal(const VectorXd& diagonal, const VectorXd& below) {
  auto n = diagonal.size();
  Solver s{diagonal, below, MatrixXd::Zero(n, n)};
  s.solve(0, n);
  return {s.d, s.q};
}
}  // namespace bora::linalg
