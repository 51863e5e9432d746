// a = u diag(s) vt, by Jacobi rotations.
#include "ops/linalg/matrix.h"
#include <Eigen/SVD>

namespace bora {
namespace ops {
using namespace linalg;
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
      Eigen::JacobiSVD<Eigen::Matrix<T, -1, -1>> f(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
      auto u = matrix<T>(out[0], i), v = matrix<T>(out[2], i);
      Eigen::Map<Eigen::Matrix<T, -1, 1>> s(out[1].as<T>() + i * k, k);
      if (succeeded(f, a)) {
        u = f.matrixU();
        s = f.singularValues();
        v = f.matrixV().transpose();
      } else {
        u.setConstant(kNan<T>);
        s.setConstant(kNan<T>);
        v.setConstant(kNan<T>);
      }
    });
  }
  Svd lift(Index) const { return *this; }
  static Samples<Svd> samples() {
    return {{Svd{}, {array({{4., 1.}, {1., 3.}, {0., 2.}}, f64)}}, {Svd{}, {zeros({0, 3}, f64)}}};
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
