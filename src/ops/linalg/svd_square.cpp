// Singular values of real square matrices by Eigen: in a unit of its own, since it takes minutes to compile.
#define EIGEN_NO_DEBUG  // an assertion of Eigen's would end the process; results are checked instead
#include "ops/linalg/svd_square.h"
#include <Eigen/SVD>
#include <cstdint>
#include <limits>

namespace bora::linalg {
using Index = std::int64_t;
namespace {
using Eigen::MatrixXd;
using Eigen::VectorXd;
/// Whether the factors give a back and are orthogonal, along one vector that has a part of each. Costs O(n^2).
bool holds(const SvdFactors& f, const MatrixXd& a) {
  auto n = a.cols();
  VectorXd x(n);
  for (Index i = 0; i < n; ++i) x(i) = 1 + static_cast<double>(i * 7 % 13) / 13;
  x /= std::sqrt(static_cast<double>(n));
  auto close = 100 * std::numeric_limits<double>::epsilon() * std::sqrt(static_cast<double>(n));
  VectorXd parts = f.s.cwiseProduct(f.v.transpose() * x);
  VectorXd again_u = f.u.transpose() * (f.u * x), again_v = f.v.transpose() * (f.v * x);
  // Beside the largest singular value: the numbers of a matrix may add up.
  auto gives_back = (a * x - f.u * parts).norm() <= close * std::max(1.0, f.s(0));
  return gives_back && (again_u - x).norm() <= close && (again_v - x).norm() <= close;
}
template <class F> SvdFactors taken(const F& f) { return {f.matrixU(), f.singularValues(), f.matrixV()}; }
}  // namespace

SvdFactors square_svd(const MatrixXd& a) {
  constexpr int both = Eigen::ComputeThinU | Eigen::ComputeThinV;
  if (Eigen::BDCSVD<MatrixXd> f(a, both); f.info() == Eigen::Success)
    if (auto r = taken(f); holds(r, a)) return r;
  return taken(Eigen::JacobiSVD<MatrixXd>(a, both));
}
}  // namespace bora::linalg
