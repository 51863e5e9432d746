// Eigenvalues and right eigenvectors of general matrices, in f64.
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/linalg.h"
#include "ops/linalg/algorithms/matrix.h"
#include "ops/linalg/algorithms/schur_form.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/reductions.h"

namespace bora {
namespace ops {
using namespace linalg;
struct Eig {
  static constexpr std::string_view name = "eig";
  static constexpr int core = 2;
  Types infer(const Types& in) const {
    check_square(name, in[0]);
    auto d = complex_of(in[0].dtype);
    return {{with(in[0], {rows(in[0])}).shape, d}, {in[0].shape, d}};
  }
  void eval(InputViews in, OutputViews out) const {
    each_of_numbers(in[0].type, [&](auto zero, Index k) {
      using T = decltype(zero);
      using Wide = std::conditional_t<kComplex<T>, Complex, double>;
      using Result = std::complex<Real<T>>;
      const auto n = rows(in[0].type);
      auto values = out[0].as<Result>() + k * n;
      auto vectors = matrix<Result>(out[1], k);
      Owned<Wide> a(n, n, Fill::none);
      if (convert_finite<T, Wide>(matrix<T>(in[0], k), a.block)) {
        auto r = eigenpairs(std::move(a));
        if (!r.values.empty()) {
          for (Index i = 0; i < n; ++i) values[i] = Result(r.values[static_cast<std::size_t>(i)]);
          return convert<Complex, Result>(r.vectors.block, vectors);
        }
      }
      std::fill_n(values, n, Result(kNanOf<Real<T>>));
      std::fill_n(vectors.data, n * n, Result(kNanOf<Real<T>>));
    });
  }
  /// C. Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum
  /// beamforming", 2017, for vectors of length 1; a cotangent here is the conjugate of a gradient there.
  Array vjp(const Vjp& v) const {
    auto &w = v.out[0], &x = v.out[1];
    if (x.size() == 0) return zeros_like(v.in[0]);
    auto one = eye(w.shape(-1), w.dtype());
    auto xh = conj(t(x));
    auto inner = v.ct[0].defined() ? one * expand_dims(conj(v.ct[0]), -1) : zeros_like(x);
    if (v.ct[1].defined()) {
      // The largest component of each vector stays real: a change of its phase turns the vector.
      auto rows = iota(x.shape(), x.ndim() - 2);
      auto largest = (rows == expand_dims(argmax(abs(x), -2), -2)).astype(w.dtype());
      auto turn = imag(sum(v.ct[1] * x, -2)) / real(sum(largest * x, -2));
      auto ct = v.ct[1] - largest * expand_dims(complex(0.0, turn), -2);
      auto g = matmul(xh, conj(ct));
      auto lengths = real(sum(one * g, -2)).astype(w.dtype());
      auto gap = conj(expand_dims(w, -2) - expand_dims(w, -1));
      inner = inner + (g - matmul(xh, x) * expand_dims(lengths, -2)) * (1.0 - one) / (gap + one);
    }
    auto g = conj(matmul(linalg::solve(xh, inner), xh));
    return is_complex(v.in[0].dtype()) ? g : real(g);
  }
  static SamplesOf<Eig> samples() {
    return {{Eig{}, {array({{4., 1., 0.}, {0.5, -1., 2.}, {1., -0.5, 0.3}}, f64)}}, {Eig{}, {zeros({2, 0, 0}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
Eig eig(const Array& a) {
  check_square("eig", a.type());
  auto r = call(ops::Eig{}, {a});
  return {r[0], r[1]};
}
Array eigvals(const Array& a) {
  check_square("eigvals", a.type());
  return call(ops::Eig{}, {a})[0];
}
}  // namespace linalg
}  // namespace bora
