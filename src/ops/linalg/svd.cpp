// a = u diag(s) vt, by divide and conquer (M. Gu, S. Eisenstat, "A divide-and-conquer algorithm for the bidiagonal
// SVD", 1995), and by Jacobi rotations where that result does not hold.
#define EIGEN_NO_DEBUG  // an assertion of Eigen's would end the process; results are checked instead
#include "ops/linalg/matrix.h"
#include <Eigen/SVD>

namespace bora {
namespace ops {
using namespace linalg;
namespace {
template <class T> using Columns = Eigen::Matrix<T, -1, -1>;
template <class T> using Vector = Eigen::Matrix<T, -1, 1>;
template <class T> double distance(const Vector<T>& x, const Vector<T>& y) {
  return (x.template cast<double>() - y.template cast<double>()).norm();
}
/// Whether the factors give a back and are orthogonal, along one vector that has a part of each. Costs O(m n).
template <class F, class T> bool holds(const F& f, const In<T>& a, T largest) {
  auto along = [](Index n) {
    Vector<T> x(n);
    for (Index i = 0; i < n; ++i) x(i) = static_cast<T>(1) + static_cast<T>(i * 7 % 13) / 13;
    return Vector<T>(x / std::sqrt(static_cast<T>(n)));
  };
  auto &u = f.matrixU(), &v = f.matrixV();
  auto close = 100 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::sqrt(static_cast<double>(u.cols()));
  Vector<T> x = along(a.cols()), k = along(u.cols());
  Vector<T> product = a * x / largest, parts = f.singularValues().cwiseProduct(v.transpose() * x) / largest;
  Vector<T> again_u = u.transpose() * (u * k), again_v = v.transpose() * (v * k);
  return distance<T>(product, u * parts) <= close && distance<T>(again_u, k) <= close &&
         distance<T>(again_v, k) <= close;
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
      auto a = matrix<T>(in[0], i);
      auto k = std::min(a.rows(), a.cols());
      auto u = matrix<T>(out[0], i), v = matrix<T>(out[2], i);
      Eigen::Map<Vector<T>> s(out[1].as<T>() + i * k, k);
      auto take = [&](const auto& f) {
        u = f.matrixU();
        s = f.singularValues();
        v = f.matrixV().transpose();
      };
      constexpr int thin = Eigen::ComputeThinU | Eigen::ComputeThinV;
      auto largest = a.cwiseAbs().maxCoeff();
      if (!a.allFinite()) {
        u.setConstant(kNan<T>);
        s.setConstant(kNan<T>);
        v.setConstant(kNan<T>);
      } else if (Eigen::BDCSVD<Columns<T>> f(a, thin); f.info() == Eigen::Success && holds(f, a, largest)) take(f);
      else take(Eigen::JacobiSVD<Columns<T>>(a, thin));
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
