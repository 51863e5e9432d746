// a = q r, by Householder reflections.
#include "bora/ops/contractions.h"
#include "ops/linalg/algorithms/matrix.h"
#include "ops/linalg/algorithms/reflections.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/linalg.h"

namespace bora {
namespace ops {
using namespace linalg;
struct Qr {
  static constexpr std::string_view name = "qr";
  static constexpr int core = 2;
  Types infer(const Types& in) const {
    check_numbers(name, in[0]);
    auto m = rows(in[0]), n = columns(in[0]), k = std::min(m, n);
    return {with(in[0], {m, k}), with(in[0], {k, n})};
  }
  void eval(InputViews in, OutputViews out) const {
    each_of_numbers(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], i);
      Owned<T> memory(a.columns, a.rows, Fill::none);
      auto left = memory.block.turned();  // row after row
      copy<T>(a, left);
      Reflections<T> f(left);
      f.columns(matrix<T>(out[0], i));
      auto r = matrix<T>(out[1], i);
      for (Index row = 0; row < r.rows; ++row)
        for (Index j = 0; j < r.columns; ++j) r(row, j) = j < row ? T(0) : left(row, j);
    });
  }
  /// For m >= n it is (dq + q c) r^-H with c the lower half, mirrored, of r dr^H - dq^H q and a real diagonal (J.
  /// Townsend, 2018; D. Roberts, L. Roberts, 2020). Else the columns b to the right of the square part are q times
  /// those of r.
  Array vjp(const Vjp& v) const {
    auto &q = v.out[0], &r = v.out[1];
    auto k = q.shape(-1), n = r.shape(-1);
    auto dq = v.ct[0].defined() ? conj(v.ct[0]) : zeros_like(q), dr = v.ct[1].defined() ? conj(v.ct[1]) : zeros_like(r);
    auto square = slice_in_dim(r, -1, 0, k);
    Array right;
    if (n > k) {
      auto of_right = slice_in_dim(dr, -1, k, n);
      right = matmul(q, of_right);
      dq = dq + matmul(slice_in_dim(v.in[0], -1, k, n), adjoint(of_right));
      dr = slice_in_dim(dr, -1, 0, k);
    }
    auto m = matmul(square, adjoint(dr)) - matmul(adjoint(dq), q);
    auto below = tril(m, -1);
    auto mirrored = below + adjoint(below) + real(m) * eye(k, r.dtype());
    auto g = t(linalg::triangular_solve(conj(square), t(dq + matmul(q, mirrored)), {.lower = false}));
    return conj(n > k ? concatenate({g, right}, -1) : g);
  }
  static SamplesOf<Qr> samples() {
    auto tall = array({{4., 1.}, {1., 3.}, {0., 2.}}, f64);
    return {{Qr{}, {tall}}, {Qr{}, {t(tall)}}, {Qr{}, {array({{4., 1.}, {1., 3.}}, f64)}},
            {Qr{}, {complex(tall, array({{1., 0.5}, {-2., 1.}, {0.3, 0.}}, f64))}}};
  }
};
}  // namespace ops

namespace linalg {
Qr qr(const Array& a) {
  auto r = call(ops::Qr{}, {a});
  return {r[0], r[1]};
}
}  // namespace linalg
}  // namespace bora
