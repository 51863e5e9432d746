// Eigenvalues and eigenvectors of symmetric matrices, in f64.
#include "ops/linalg/eigen_maps.h"
#include "ops/linalg/tridiagonal.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
constexpr Index kSmall = 48;  // up to this size QL iterations on the whole matrix are as fast

/// Householder reflections to a tridiagonal matrix and back. The matrix is finite.
Eigenpairs eigen_of(Eigen::MatrixXd m) {
  auto largest = m.cwiseAbs().maxCoeff();
  auto scale = largest > 0 ? largest : 1;
  m /= scale;
  Eigenpairs r;
  if (m.rows() <= kSmall) r = eigen_of_small(m);
  else {
    auto t = reduced(std::move(m));
    r = eigen_of_tridiagonal(t.diagonal, t.below);
    t.apply_q(r.vectors);
  }
  r.values *= scale;
  return r;
}
}  // namespace
struct Eigh {
  static constexpr std::string_view name = "eigh";
  Types infer(const Types& in) const {
    check_square(name, in[0]);
    return {with(in[0], {rows(in[0])}), in[0]};
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = eigen_matrix<T>(in[0], i);
      Eigen::Map<Eigen::Matrix<T, -1, 1>> w(out[0].as<T>() + i * a.rows(), a.rows());
      auto x = eigen_matrix<T>(out[1], i);
      if (a.allFinite()) {
        auto r = eigen_of(a.template cast<double>());
        w = r.values.template cast<T>();
        x = r.vectors.template cast<T>();
      } else {
        w.setConstant(kNan<T>);
        x.setConstant(kNan<T>);
      }
    });
  }
  Array vjp(const Vjp& v) const {
    auto &w = v.out[0], &x = v.out[1];
    auto n = w.shape(-1);
    auto one = eye(n, w.dtype());
    auto inner = zeros_like(x);
    if (v.ct[0].defined()) inner = inner + one * expand_dims(v.ct[0], -1);
    if (v.ct[1].defined()) {
      auto gap = expand_dims(w, -2) - expand_dims(w, -1);  // w_j - w_i
      inner = inner + (1.0 - one) / (gap + one) * matmul(t(x), v.ct[1]);
    }
    auto g = matmul(matmul(x, inner), t(x));
    return of_lower_half(g + t(g));
  }
  Eigh lift(Index) const { return *this; }
  static Samples<Eigh> samples() {
    return {{Eigh{}, {array({{4., 1.}, {1., 3.}}, f64)}}, {Eigh{}, {zeros({2, 0, 0}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
Eigh eigh(const Array& a) {
  check_square("eigh", a.type());
  auto r = call(ops::Eigh{}, {symmetric(a)});
  return {r[0], r[1]};
}
}  // namespace linalg
}  // namespace bora
