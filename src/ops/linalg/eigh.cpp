// Eigenvalues and eigenvectors of symmetric and Hermitian matrices, in f64 and complex128.
#include "ops/linalg/complex_reduction.h"
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
/// Of a Hermitian matrix, which becomes real on the way; x [n, n] takes the vectors. The matrix is finite.
Eigen::VectorXd eigen_of(Owned<Complex> m, Block<Complex> x) {
  double largest = 0;
  for (auto& z : m.numbers()) largest = std::max(largest, larger_part(z));
  auto scale = largest > 0 ? largest : 1;
  for (auto& z : m.numbers()) z = {z.real() / scale, z.imag() / scale};
  auto form = tridiagonal_form(std::move(m));
  using Map = Eigen::Map<const Eigen::VectorXd>;
  auto r = eigen_of_tridiagonal(Map(form.diagonal.data(), x.rows), Map(form.beside.data(), x.rows - 1));
  for (Index j = 0; j < x.columns; ++j)
    for (Index i = 0; i < x.rows; ++i) x(i, j) = r.vectors(i, j);
  form.left.apply(x);
  return r.values * scale;
}
template <class T> void eval_complex(Block<const T> a, Real<T>* w, Block<T> x) {
  const auto n = a.rows;
  Owned<Complex> m(n, n), vectors(n, n);
  double nothing = 0;  // NaN where a number is not finite
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i) {
      Complex z(a(i, j));
      m.block(i, j) = z;
      nothing += z.real() * 0 + z.imag() * 0;
    }
  if (nothing != 0) {
    std::fill_n(w, n, kNan<Real<T>>);
    std::fill_n(x.data, n * n, T(kNan<Real<T>>));
    return;
  }
  auto values = eigen_of(std::move(m), vectors.block);
  for (Index j = 0; j < n; ++j) {
    w[j] = static_cast<Real<T>>(values(j));
    for (Index i = 0; i < n; ++i) x(i, j) = T(vectors.block(i, j));
  }
}
}  // namespace
struct Eigh {
  static constexpr std::string_view name = "eigh";
  Types infer(const Types& in) const {
    check_square_numbers(name, in[0]);
    auto values = with(in[0], {rows(in[0])});
    values.dtype = real_dtype(values.dtype);
    return {values, in[0]};
  }
  void eval(Inputs in, Outputs out) const {
    if (is_complex(in[0].type.dtype))
      return each_of_numbers(in[0].type, [&](auto zero, Index i) {
        using T = decltype(zero);
        if constexpr (kComplex<T>)
          eval_complex<T>(matrix<T>(in[0], i), out[0].as<Real<T>>() + i * rows(in[0].type), matrix<T>(out[1], i));
      });
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
      inner = inner + (1.0 - one) / (gap + one) * matmul(adjoint(x), conj(v.ct[1]));
    }
    auto g = matmul(matmul(x, inner), adjoint(x));
    return of_lower_half(conj(g + adjoint(g)));
  }
  Eigh lift(Index) const { return *this; }
  static Samples<Eigh> samples() {
    return {{Eigh{}, {array({{4., 1.}, {1., 3.}}, f64)}}, {Eigh{}, {zeros({2, 0, 0}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
Eigh eigh(const Array& a) {
  check_square_numbers("eigh", a.type());
  auto r = call(ops::Eigh{}, {hermitian(a)});
  return {r[0], r[1]};
}
}  // namespace linalg
}  // namespace bora
