// a = u diag(s) vt, by divide and conquer (M. Gu, S. Eisenstat, "A divide-and-conquer algorithm for the bidiagonal
// SVD", 1995), and by Jacobi rotations where that result does not hold; in f64.
#define EIGEN_NO_DEBUG  // an assertion of Eigen's would end the process; results are checked instead
#include "ops/linalg/eigen_maps.h"
#include <Eigen/SVD>
#include "ops/linalg/reflections.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
using Eigen::MatrixXd;
using Eigen::VectorXd;
struct Factors {
  MatrixXd u;
  VectorXd s;
  MatrixXd v;
};
/// Whether the factors give a back and are orthogonal, along one vector that has a part of each. Costs O(n^2).
bool holds(const Factors& f, const MatrixXd& a) {
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
template <class F> Factors taken(const F& f) { return {f.matrixU(), f.singularValues(), f.matrixV()}; }
/// Of a finite square matrix whose largest number is 1.
Factors square_svd(const MatrixXd& a) {
  constexpr int both = Eigen::ComputeThinU | Eigen::ComputeThinV;
  if (Eigen::BDCSVD<MatrixXd> f(a, both); f.info() == Eigen::Success)
    if (auto r = taken(f); holds(r, a)) return r;
  return taken(Eigen::JacobiSVD<MatrixXd>(a, both));
}
/// Of a finite matrix with at least as many rows as columns: it becomes q r, and r's factors are those looked for.
Factors tall_svd(MatrixXd a) {
  auto m = a.rows(), n = a.cols();
  auto largest = a.cwiseAbs().maxCoeff();
  if (largest > 0) a /= largest;
  Factors f;
  if (m == n) f = square_svd(a);
  else {
    Reflections<double> q(by_columns(a.data(), m, n));
    f = square_svd(a.topRows(n).triangularView<Eigen::Upper>());
    MatrixXd u = MatrixXd::Zero(m, n);
    u.topRows(n) = f.u;
    q.apply(by_columns(u.data(), m, n));
    f.u = std::move(u);
  }
  f.s *= largest;
  return f;
}
}  // namespace
struct Svd {
  static constexpr std::string_view name = "svd";
  Types infer(const Types& in) const {
    check_matrix(name, in[0]);
    auto m = rows(in[0]), n = columns(in[0]), k = std::min(m, n);
    return {with(in[0], {m, k}), with(in[0], {k}), with(in[0], {k, n})};
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = eigen_matrix<T>(in[0], i);
      auto k = std::min(a.rows(), a.cols());
      auto u = eigen_matrix<T>(out[0], i), v = eigen_matrix<T>(out[2], i);
      Eigen::Map<Eigen::Matrix<T, -1, 1>> s(out[1].as<T>() + i * k, k);
      if (!a.allFinite()) {
        u.setConstant(kNan<T>);
        s.setConstant(kNan<T>);
        v.setConstant(kNan<T>);
        return;
      }
      bool wide = a.rows() < a.cols();
      MatrixXd tall = wide ? MatrixXd(a.transpose().template cast<double>()) : MatrixXd(a.template cast<double>());
      auto f = tall_svd(std::move(tall));
      s = f.s.template cast<T>();
      u = (wide ? f.v : f.u).template cast<T>();
      v = (wide ? f.u : f.v).transpose().template cast<T>();
    });
  }
  Array vjp(const Vjp& v) const {
    auto &u = v.out[0], &s = v.out[1], &vt = v.out[2];
    auto m = u.shape(-2), n = vt.shape(-1), k = s.shape(-1);
    auto row = expand_dims(s, -2), column = expand_dims(s, -1), one = eye(k, s.dtype());
    auto gap = (1.0 - one) / ((row - column) * (row + column) + one);  // 1 / (s_j^2 - s_i^2)
    auto turned = [&](const Array& x) { return gap * (x - t(x)); };
    auto inner = v.ct[1].defined() ? one * expand_dims(v.ct[1], -1) : zeros_like(matmul(column, row));
    auto outside = zeros_like(v.in[0]);
    if (v.ct[0].defined()) {
      inner = inner + turned(matmul(t(u), v.ct[0])) * row;
      auto scaled = v.ct[0] / row;
      if (m > k) outside = outside + matmul(scaled - matmul(u, matmul(t(u), scaled)), vt);
    }
    if (v.ct[2].defined()) {
      inner = inner + column * turned(matmul(vt, t(v.ct[2])));
      auto scaled = v.ct[2] / column;
      if (n > k) outside = outside + matmul(u, scaled - matmul(matmul(scaled, t(vt)), vt));
    }
    return matmul(matmul(u, inner), vt) + outside;
  }
  Svd lift(Index) const { return *this; }
  static Samples<Svd> samples() {
    auto tall = array({{4., 1.}, {1., 3.}, {0., 2.}}, f64);
    return {{Svd{}, {tall}}, {Svd{}, {t(tall)}}, {Svd{}, {zeros({0, 3}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
Svd svd(const Array& a) {
  auto r = call(ops::Svd{}, {a});
  return {r[0], r[1], r[2]};
}
}  // namespace linalg
}  // namespace bora
