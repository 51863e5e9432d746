// Eigenvalues and eigenvectors of symmetric tridiagonal matrices.
#define EIGEN_DONT_PARALLELIZE
#include "ops/linalg/algorithms/tridiagonal.h"
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>
#include "ops/linalg/algorithms/secular.h"

namespace bora::linalg {
namespace {
constexpr Index kQlSize = 32;  // matrices up to this size are solved by QL iterations

using MatrixMap = Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

struct Solver {
  std::vector<double> d, e;
  Block<double> q;  // block diagonal of the vectors of finished parts

  /// Solves rows [begin, begin + n); d becomes their eigenvalues, ascending.
  void solve(Index begin, Index n) {
    if (n <= kQlSize) return leaf(begin, n);
    auto half = n / 2;
    auto coupling = e[size(begin + half - 1)], rho = std::abs(coupling);
    d[size(begin + half - 1)] -= rho;
    d[size(begin + half)] -= rho;
    solve(begin, half);
    solve(begin + half, n - half);
    merge(begin, half, n, rho, coupling < 0 ? -1 : 1);
  }
  void leaf(Index begin, Index n) {
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> f;
    using Map = Eigen::Map<Eigen::VectorXd>;
    Eigen::VectorXd below = Map(e.data() + begin, n - 1);
    f.computeFromTridiagonal(Map(d.data() + begin, n), below, Eigen::ComputeEigenvectors);
    Map(d.data() + begin, n) = f.eigenvalues();
    MatrixMap(&q(begin, begin), n, n, Eigen::OuterStride<>(q.column)) = f.eigenvectors();
  }
  /// The halves' vectors times those of diag(d) + rho v v', where v = Q' (e_half-1 + sign e_half).
  void merge(Index begin, Index half, Index n, double rho, int sign) {
    auto part = q.part(begin, begin, n, n);
    auto w = &d[size(begin)];
    std::vector<double> z(size(n));
    const auto root = std::sqrt(2.0);
    for (Index j = 0; j < half; ++j) z[size(j)] = part(half - 1, j) / root;
    for (auto j = half; j < n; ++j) z[size(j)] = sign * part(half, j) / root;
    std::vector<Index> order(size(n)), deflated;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return w[a] < w[b]; });
    std::vector<char> mixed(size(n));  // columns with parts in both halves
    auto s = deflate(part, w, z, 2 * rho, half, order, deflated, mixed);
    auto k = s.size();
    auto roots = roots_of(s);
    Owned<double> vectors(k, k, Fill::none), made(n, k, Fill::none);
    vectors_of(s, roots, vectors.block);
    std::vector<Index> above, below;
    for (Index i = 0; i < k; ++i) {
      auto column = s.from[size(i)];
      bool both = mixed[size(column)] != 0;
      if (both || column < half) above.push_back(i);
      if (both || column >= half) below.push_back(i);
    }
    combine(part.part(0, 0, half, n), s.from, above, vectors.block, made.block.part(0, 0, half, k));
    combine(part.part(half, 0, n - half, n), s.from, below, vectors.block, made.block.part(half, 0, n - half, k));
    place(part, w, s, roots, deflated, made);
  }
  /// Columns whose z is small, or whose d is that of another column after a rotation, have their eigenvalue already.
  static Secular deflate(Block<double> part, double* w, std::vector<double>& z, double rho, Index half,
                         const std::vector<Index>& order, std::vector<Index>& deflated, std::vector<char>& mixed) {
    const auto n = part.rows;
    double largest = 0;
    for (Index j = 0; j < n; ++j) largest = std::max({largest, std::abs(w[j]), std::abs(z[size(j)])});
    const auto near = 8 * kEps * largest;
    std::vector<Index> kept;
    for (auto j : order) {
      if (rho * std::abs(z[size(j)]) <= near) {
        deflated.push_back(j);
        continue;
      }
      if (!kept.empty()) {
        auto i = kept.back();
        auto &z_i = z[size(i)], &z_j = z[size(j)];
        auto both = std::hypot(z_i, z_j), c = z_j / both, s = -z_i / both, gap = w[j] - w[i];
        if (std::abs(gap * c * s) <= near) {
          auto x = &part(0, i), y = &part(0, j);
          for (Index r = 0; r < n; ++r) {
            const auto a = x[r], b = y[r];
            x[r] = c * a + s * b;
            y[r] = c * b - s * a;
          }
          z_j = both;
          auto low = w[i] * c * c + w[j] * s * s;
          w[j] = w[i] * s * s + w[j] * c * c;
          w[i] = low;
          auto is_mixed = [&](Index x) { return mixed[size(x)] != 0; };
          if (is_mixed(i) || is_mixed(j) || (i < half) != (j < half)) mixed[size(i)] = mixed[size(j)] = 1;
          deflated.push_back(i);
          kept.pop_back();
        }
      }
      kept.push_back(j);
    }
    Secular s{{}, {}, rho, false, kept};
    for (auto i : kept) {
      s.d.push_back(w[i]);
      s.z.push_back(z[size(i)]);
    }
    return s;
  }
  /// Values and vectors in ascending order.
  static void place(Block<double> part, double* w, const Secular& s, const std::vector<Root>& roots,
                    const std::vector<Index>& deflated, const Owned<double>& made) {
    struct Pair {
      double value;
      Index column;
      bool fresh;
    };
    std::vector<Pair> all;
    for (std::size_t i = 0; i < roots.size(); ++i)
      all.push_back({value_of(s, roots[i]), static_cast<Index>(i), true});
    for (auto j : deflated) all.push_back({w[j], j, false});
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.value < b.value; });
    const auto n = part.rows;
    Owned<double> old(n, static_cast<Index>(deflated.size()), Fill::none);
    for (std::size_t i = 0; i < deflated.size(); ++i)
      std::copy_n(&part(0, deflated[i]), n, &old.block(0, static_cast<Index>(i)));
    std::vector<Index> place_of(size(n));  // of deflated columns in `old`
    for (std::size_t i = 0; i < deflated.size(); ++i) place_of[size(deflated[i])] = static_cast<Index>(i);
    for (Index i = 0; i < n; ++i) {
      auto& one = all[size(i)];
      w[i] = one.value;
      std::copy_n(one.fresh ? &made.block(0, one.column) : &old.block(0, place_of[size(one.column)]), n, &part(0, i));
    }
  }
};
}  // namespace

Eigenpairs eigen_of_small(const Owned<double>& a) {
  const auto n = a.block.rows;
  using Map = Eigen::Map<Eigen::MatrixXd>;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> f(Map(a.block.data, n, n));
  Eigenpairs r{{f.eigenvalues().begin(), f.eigenvalues().end()}, {n, n, Fill::none}};
  Map(r.vectors.block.data, n, n) = f.eigenvectors();
  return r;
}
Eigenpairs eigen_of_tridiagonal(const std::vector<double>& diagonal, const std::vector<double>& below) {
  const auto n = static_cast<Index>(diagonal.size());
  Owned<double> q(n, n);
  Solver s{diagonal, below, q.block};
  s.solve(0, n);
  return {std::move(s.d), std::move(q)};
}
}  // namespace bora::linalg
