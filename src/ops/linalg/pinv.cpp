// The Moore-Penrose inverse, with the derivative of G. Golub, V. Pereyra, 1973: the rank is taken as constant.
#include "bora/ops/contractions.h"
#include "bora/ops/linalg.h"
#include "ops/linalg/algorithms/matrix.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/reductions.h"

namespace bora {
namespace ops {
using namespace linalg;
struct Pinv {
  double rcond;
  static constexpr std::string_view name = "pinv";
  static constexpr int core = 2;
  Type infer(const Types& in) const {
    check_numbers(name, in[0]);
    return with(in[0], {columns(in[0]), rows(in[0])});
  }
  Arrays run(const Arrays& in, const Types& out) const {
    if (out[0].size() == 0) return {zeros(out[0].shape, out[0].dtype)};
    auto [u, s, vt] = svd(in[0]);
    auto counts = s > rcond * amax(s, -1, {.keepdims = true});
    auto inverted = where(counts, 1.0 / where(counts, s, 1.0), 0.0);
    return {matmul(adjoint(vt), expand_dims(inverted, -1) * adjoint(u))};
  }
  Array vjp(const Vjp& v) const {
    auto &a = v.in[0], &p = v.out[0];
    auto g = conj(v.ct[0]), ct = adjoint(g), pt = adjoint(p);
    auto left = matmul(ct, matmul(p, pt)), right = matmul(matmul(pt, p), ct);
    return conj(left - matmul(a, matmul(p, left)) + right - matmul(matmul(right, p), a) - matmul(pt, matmul(g, pt)));
  }
  static SamplesOf<Pinv> samples() {
    auto tall = array({{4., 1.}, {1., 3.}, {0., 2.}}, f64);
    return {{{1e-12}, {tall}}, {{1e-12}, {t(tall)}},
            {{1e-12}, {complex(tall, array({{1., 0.5}, {-2., 1.}, {0.3, 0.}}, f64))}}};
  }
};
}  // namespace ops

namespace linalg {
Array pinv(const Array& a, std::optional<double> rcond) {
  check_numbers("pinv", a.type());
  auto epsilon = real_dtype(a.dtype()) == f64 ? 0x1p-52 : 0x1p-23;
  auto longest = static_cast<double>(std::max(a.shape(-2), a.shape(-1)));
  return call_one(ops::Pinv{rcond.value_or(10 * longest * epsilon)}, {a});
}
}  // namespace linalg
}  // namespace bora
