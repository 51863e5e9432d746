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
#include "ops/linalg/secular.h"

namespace bora::linalg {
namespace {
using Eigen::MatrixXd;
using Eigen::VectorXd;
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr Index kLeaf = 32;  // matrices up to this size are solved by QL iterations

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
    auto k = s.size();
    auto roots = roots_of(s);
    Owned<double> vectors(k, k, Fill::none), made(n, k, Fill::none);
    vectors_of(s, roots, vectors.block);
    std::vector<Index> above, below;
    for (Index i = 0; i < k; ++i) {
      auto column = s.from[static_cast<std::size_t>(i)];
      bool both = mixed[static_cast<std::size_t>(column)] != 0;
      if (both || column < half) above.push_back(i);
      if (both || column >= half) below.push_back(i);
    }
    combine({part.data(), half, n, 1, q.rows()}, s.from, above, vectors.block, made.block.part(0, 0, half, k));
    combine({part.data() + half, n - half, n, 1, q.rows()}, s.from, below, vectors.block,
            made.block.part(half, 0, n - half, k));
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
    Secular s{{}, {}, rho, false, kept};
    for (auto i : kept) {
      s.d.push_back(w(i));
      s.z.push_back(z(i));
    }
    return s;
  }
  /// Values and vectors in ascending order.
  template <class Part, class Values> static void place(Part& part, Values& w, const Secular& s,
                                                        const std::vector<Root>& roots,
                                                        const std::vector<Index>& deflated, const Owned<double>& made) {
    struct Pair {
      double value;
      Index column;
      bool fresh;
    };
    std::vector<Pair> all;
    for (std::size_t i = 0; i < roots.size(); ++i)
      all.push_back({value_of(s, roots[i]), static_cast<Index>(i), true});
    for (auto j : deflated) all.push_back({w(j), j, false});
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.value < b.value; });
    MatrixXd sorted(part.rows(), part.cols());
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto to = static_cast<Index>(i);
      if (all[i].fresh) std::copy_n(&made.block(0, all[i].column), sorted.rows(), &sorted(0, to));
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
