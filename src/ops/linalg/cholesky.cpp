// a = L L^T.
#include "ops/linalg/matrix.h"
#include <Eigen/Cholesky>

namespace bora {
namespace ops {
using namespace linalg;
struct Cholesky {
  static constexpr std::string_view name = "cholesky";
  Type infer(const Types& in) const {
    check_square(name, in[0]);
    return in[0];
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], k);
      Eigen::LLT<Matrix<T>> llt(a);
      auto l = matrix<T>(out[0], k);
      if (llt.info() == Eigen::Success) l = llt.matrixL();
      else l.setConstant(kNan<T>);
    });
  }
  Array vjp(const Vjp& v) const {
    auto& l = v.out[0];
    auto half = of_lower_half(matmul(t(l), v.ct[0]));
    auto left = linalg::triangular_solve(l, half, {.transposed = true});
    auto s = t(linalg::triangular_solve(l, t(left), {.transposed = true}));
    return of_lower_half(s + t(s));
  }
  Cholesky lift(Index) const { return *this; }
  static Samples<Cholesky> samples() { return {{Cholesky{}, {array({{4., 1.}, {1., 3.}}, f64)}}}; }
};
}  // namespace ops

namespace linalg {
Array cholesky(const Array& a) {
  check_square("cholesky", a.type());
  return call_one(ops::Cholesky{}, {symmetric(a)});
}
}  // namespace linalg
}  // namespace bora
