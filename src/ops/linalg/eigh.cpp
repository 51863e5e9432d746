// Eigenvalues and eigenvectors of symmetric and Hermitian matrices, in f64 and complex128.
#include "bora/ops/contractions.h"
#include "ops/linalg/algorithms/complex_reduction.h"
#include "ops/linalg/algorithms/matrix.h"
#include "ops/linalg/algorithms/tridiagonal.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/linalg.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
constexpr Index kWholeQlSize = 48;  // up to this size QL iterations on the whole matrix are as fast

/// The eigenvalues of a finite symmetric or Hermitian matrix; the vectors go to x [n, n]. Reflections to a tridiagonal
/// matrix, which is real, and back.
template <class T, class Out> std::vector<double> eigen_of(Owned<T> m, Block<Out> x) {
  const auto largest = largest_part<T>(m.numbers());
  if (largest > 0) scale(m.numbers(), largest);
  auto finish = [&](std::vector<double> values) {
    if (largest > 0)
      for (auto& w : values) w *= largest;
    return values;
  };
  if constexpr (!kComplex<T>)
    if (x.rows <= kWholeQlSize) {
      auto r = eigen_of_small(m);
      convert<double, Out>(r.vectors.block, x);
      return finish(std::move(r.values));
    }
  auto form = tridiagonal_form(std::move(m));
  auto r = eigen_of_tridiagonal(form.diagonal, form.beside);
  if constexpr (kComplex<T>) {
    Owned<T> vectors(x.rows, x.columns, Fill::none);
    convert<double, T>(r.vectors.block, vectors.block);
    form.left.apply(vectors.block);
    convert<T, Out>(vectors.block, x);
  } else {
    form.left.apply(r.vectors.block);
    convert<T, Out>(r.vectors.block, x);
  }
  return finish(std::move(r.values));
}
}  // namespace

struct Eigh {
  static constexpr std::string_view name = "eigh";
  static constexpr int core = 2;
  Types infer(const Types& in) const {
    check_square(name, in[0]);
    auto values = with(in[0], {rows(in[0])});
    values.dtype = real_dtype(values.dtype);
    return {values, in[0]};
  }
  void eval(InputViews in, OutputViews out) const {
    each_of_numbers(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      using Wide = std::conditional_t<kComplex<T>, Complex, double>;
      const auto n = rows(in[0].type);
      auto w = out[0].as<Real<T>>() + i * n;
      auto x = matrix<T>(out[1], i);
      Owned<Wide> a(n, n, Fill::none);
      if (!convert_finite<T, Wide>(matrix<T>(in[0], i), a.block)) {
        std::fill_n(w, n, kNanOf<Real<T>>);
        std::fill_n(x.data, n * n, T(kNanOf<Real<T>>));
        return;
      }
      auto values = eigen_of(std::move(a), x);
      for (Index k = 0; k < n; ++k) w[k] = static_cast<Real<T>>(values[static_cast<std::size_t>(k)]);
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
      inner = inner + (1.0 - one) / (gap + one) * matmul(adjoint(x), conj(v.ct[1]));
    }
    auto g = matmul(matmul(x, inner), adjoint(x));
    return of_lower_half(conj(g + adjoint(g)));
  }
  static SamplesOf<Eigh> samples() {
    return {{Eigh{}, {array({{4., 1.}, {1., 3.}}, f64)}}, {Eigh{}, {zeros({2, 0, 0}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
Eigh eigh(const Array& a) {
  check_square("eigh", a.type());
  auto r = call(ops::Eigh{}, {hermitian(a)});
  return {r[0], r[1]};
}
}  // namespace linalg
}  // namespace bora
