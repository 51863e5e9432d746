// a = q r, by Householder reflections.
#include "ops/linalg/matrix.h"
#include <Eigen/QR>

namespace bora {
namespace ops {
using namespace linalg;
struct Qr {
  static constexpr std::string_view name = "qr";
  Types infer(const Types& in) const {
    check_matrix(name, in[0]);
    auto m = rows(in[0]), n = columns(in[0]), k = std::min(m, n);
    return {with(in[0], {m, k}), with(in[0], {k, n})};
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], i);
      auto k = std::min(a.rows(), a.cols());
      Eigen::HouseholderQR<Matrix<T>> f(a);
      matrix<T>(out[0], i) = f.householderQ() * Matrix<T>::Identity(a.rows(), k);
      matrix<T>(out[1], i) = f.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
    });
  }
  Qr lift(Index) const { return *this; }
  static Samples<Qr> samples() { return {{Qr{}, {array({{4., 1.}, {1., 3.}, {0., 2.}}, f64)}}}; }
};
}  // namespace ops

namespace linalg {
Qr qr(const Array& a) {
  auto r = call(ops::Qr{}, {a});
  return {r[0], r[1]};
}
}  // namespace linalg
}  // namespace bora
