// a = L L^H.
#include <algorithm>
#include "bora/ops/contractions.h"
#include "ops/linalg/algorithms/small.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/linalg.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
/// Overwrites a [n, n] by L, zeros above it, one matrix in each lane; NaN where a number under a root is not positive.
template <class T, class V> void cholesky_lanes(V* a, Index n) {
  V sound = V{} + 1;  // NaN from the first failure on
  for (Index j = 0; j < n; ++j) {
    auto d = a[j * n + j];
    for (Index c = 0; c < j; ++c) d -= a[j * n + c] * a[j * n + c];
    sound = d > 0 ? sound : sound * kNanOf<T>;
    a[j * n + j] = root<T>(d);
    for (auto i = j + 1; i < n; ++i) {
      auto x = a[i * n + j];
      for (Index c = 0; c < j; ++c) x -= a[i * n + c] * a[j * n + c];
      a[i * n + j] = x / a[j * n + j];
    }
  }
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < n; ++c) a[i * n + c] = c > i ? (sound - sound) : a[i * n + c] * sound;
}
}  // namespace

struct Cholesky {
  static constexpr std::string_view name = "cholesky";
  static constexpr int core = 2;
  Type infer(const Types& in) const {
    check_square(name, in[0]);
    return in[0];
  }
  void eval(InputViews in, OutputViews out) const {
    auto n = rows(in[0].type);
    if (n <= kSmallSize && !is_complex(in[0].type.dtype))
      return each_small(in[0].type, [&]<class T, class V>(T, V, Index first) {
        V a[kSmallSize * kSmallSize];
        load(in[0].as<T>() + first * n * n, n * n, a);
        cholesky_lanes<T>(a, n);
        store(a, n * n, out[0].as<T>() + first * n * n);
      });
    each_of_numbers(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      auto l = matrix<T>(out[0], k);
      copy<T>(matrix<T>(in[0], k), l);
      bool sound = factor_cholesky(l);
      if constexpr (kComplex<T>)
        for (Index i = 0; i < n; ++i) l(i, i) = l(i, i).real();  // of a number with a square root it is real already
      for (Index i = 0; i < n; ++i) {
        if (sound) std::fill_n(&l(i, 0) + i + 1, n - i - 1, T(0));
        else std::fill_n(&l(i, 0), n, T(kNanOf<Real<T>>));
      }
    });
  }
  Array vjp(const Vjp& v) const {
    auto& l = v.out[0];
    auto half = of_lower_half(matmul(adjoint(l), conj(v.ct[0])));
    auto after_l = [&](const Array& x) { return linalg::triangular_solve(conj(l), x, {.transposed = true}); };
    auto s = adjoint(after_l(adjoint(after_l(half))));
    return of_lower_half(conj(s + adjoint(s)));
  }
  static SamplesOf<Cholesky> samples() {
    auto a = array({{4., 1.}, {1., 3.}}, f64), turn = array({{0., -0.5}, {0.5, 0.}}, f64);
    return {{Cholesky{}, {a}}, {Cholesky{}, {complex(a, turn)}}};
  }
};
}  // namespace ops

namespace linalg {
Array cholesky(const Array& a) {
  check_square("cholesky", a.type());
  return call_one(ops::Cholesky{}, {hermitian(a)});
}
}  // namespace linalg
}  // namespace bora
