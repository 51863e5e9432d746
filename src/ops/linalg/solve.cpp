// a x = b, by LU with partial pivoting.
#include "ops/linalg/matrix.h"
#include <Eigen/LU>

namespace bora {
namespace ops {
using namespace linalg;
struct Solve {
  bool transposed;
  static constexpr std::string_view name = "solve";
  Type infer(const Types& in) const {
    check_system(name, in);
    return in[1];
  }
  void eval(Inputs in, Outputs out) const {
    each(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      Matrix<T> a = matrix<T>(in[0], k);
      if (transposed) a.transposeInPlace();
      matrix<T>(out[0], k) = a.partialPivLu().solve(matrix<T>(in[1], k));
    });
  }
  Arrays vjp(const Vjp& v) const {
    auto gb = call_one(Solve{!transposed}, {v.in[0], v.ct[0]});
    if (!v.needs[0]) return {Array(), gb};
    return {-(transposed ? matmul(v.out[0], t(gb)) : matmul(gb, t(v.out[0]))), gb};
  }
  Solve lift(Index) const { return *this; }
  static Samples<Solve> samples() {
    auto a = array({{2., 0.5}, {-0.3, 3.}}, f64), b = array({{1.}, {2.}}, f64);
    return {{{false}, {a, b}}, {{true}, {a, b}}};
  }
};
}  // namespace ops

namespace linalg {
Array solve(const Array& a, const Array& b) { return call_one(ops::Solve{false}, {a, b}); }
}  // namespace linalg
}  // namespace bora
