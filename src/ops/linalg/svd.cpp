// a = u diag(s) vt, in f64 and complex128. A tall matrix is q r first; a complex one becomes real and bidiagonal.
#include "ops/linalg/complex_reduction.h"
#include "ops/linalg/eigen_maps.h"
#include "ops/linalg/reflections.h"
#include "ops/linalg/svd_square.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
using Eigen::MatrixXd;
/// Of a finite matrix with at least as many rows as columns: it becomes q r, and r's factors are those looked for.
SvdFactors tall_svd(MatrixXd a) {
  auto m = a.rows(), n = a.cols();
  auto largest = a.cwiseAbs().maxCoeff();
  if (largest > 0) a /= largest;
  SvdFactors f;
  if (m == n) f = square_svd(a);
  else {
    Reflections<double> q(by_columns(a.data(), m, n));
    f = square_svd(a.topRows(n).triangularView<Eigen::Upper>());
    MatrixXd u = MatrixXd::Zero(m, n);
    u.topRows(n) = f.u;
    q.apply(by_columns(u.data(), m, n));
    f.u = std::move(u);
  }
  f.s *= largest;
  return f;
}
/// The same of complex numbers.
struct ComplexFactors {
  Owned<Complex> u, v;
  Eigen::VectorXd s;
};
ComplexFactors tall_svd(Owned<Complex> a) {
  auto m = a.block.rows, n = a.block.columns;
  double largest = 0;
  for (auto& z : a.memory) largest = std::max(largest, larger_part(z));
  if (largest > 0)
    for (auto& z : a.memory) z = {z.real() / largest, z.imag() / largest};
  ComplexFactors f{{m, n}, {n, n}, {}};
  // A square matrix takes this way too: it costs little beside the rest.
  Reflections<Complex> q(a.block);
  Owned<Complex> r(n, n);
  for (Index j = 0; j < n; ++j) std::copy_n(&a.block(0, j), j + 1, &r.block(0, j));
  auto form = bidiagonal_form(std::move(r));
  MatrixXd b = MatrixXd::Zero(n, n);
  for (Index i = 0; i < n; ++i) {
    b(i, i) = form.diagonal[static_cast<std::size_t>(i)];
    if (i + 1 < n) b(i, i + 1) = form.beside[static_cast<std::size_t>(i)];
  }
  auto real = square_svd(b);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i) {
      f.u.block(i, j) = real.u(i, j);
      f.v.block(i, j) = real.v(i, j);
    }
  form.left.apply(f.u.block.part(0, 0, n, n));
  form.right.apply(f.v.block);
  q.apply(f.u.block);
  f.s = real.s * largest;
  return f;
}
}  // namespace
struct Svd {
  static constexpr std::string_view name = "svd";
  Types infer(const Types& in) const {
    check_numbers(name, in[0]);
    auto m = rows(in[0]), n = columns(in[0]), k = std::min(m, n);
    auto values = with(in[0], {k});
    values.dtype = real_dtype(values.dtype);
    return {with(in[0], {m, k}), values, with(in[0], {k, n})};
  }
  void eval(Inputs in, Outputs out) const {
    if (is_complex(in[0].type.dtype)) return eval_complex(in, out);
    each(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = eigen_matrix<T>(in[0], i);
      auto k = std::min(a.rows(), a.cols());
      auto u = eigen_matrix<T>(out[0], i), v = eigen_matrix<T>(out[2], i);
      Eigen::Map<Eigen::Matrix<T, -1, 1>> s(out[1].as<T>() + i * k, k);
      if (!a.allFinite()) {
        u.setConstant(kNan<T>);
        s.setConstant(kNan<T>);
        v.setConstant(kNan<T>);
        return;
      }
      bool wide = a.rows() < a.cols();
      MatrixXd tall = wide ? MatrixXd(a.transpose().template cast<double>()) : MatrixXd(a.template cast<double>());
      auto f = tall_svd(std::move(tall));
      s = f.s.template cast<T>();
      u = (wide ? f.v : f.u).template cast<T>();
      v = (wide ? f.u : f.v).transpose().template cast<T>();
    });
  }
  static void eval_complex(Inputs in, Outputs out) {
    each_of_numbers(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      if constexpr (kComplex<T>) {
        auto a = matrix<T>(in[0], i);
        auto u = matrix<T>(out[0], i), vt = matrix<T>(out[2], i);
        auto k = std::min(a.rows, a.columns);
        auto s = out[1].as<Real<T>>() + i * k;
        // a^H has the factors v and u; a wide matrix is turned without conjugation: its factors are those of a^T.
        bool wide = a.rows < a.columns;
        auto from = wide ? a.turned() : a;
        Owned<Complex> tall(from.rows, from.columns);
        double nothing = 0;  // NaN where a number is not finite
        for (Index j = 0; j < from.columns; ++j)
          for (Index row = 0; row < from.rows; ++row) {
            Complex z(from(row, j));
            tall.block(row, j) = z;
            nothing += z.real() * 0 + z.imag() * 0;
          }
        if (nothing != 0) {
          std::fill_n(u.data, u.rows * u.columns, T(kNan<Real<T>>));
          std::fill_n(s, k, kNan<Real<T>>);
          std::fill_n(vt.data, vt.rows * vt.columns, T(kNan<Real<T>>));
          return;
        }
        auto f = tall_svd(std::move(tall));
        auto left = wide ? vt.turned() : u, right = wide ? u.turned() : vt;
        for (Index j = 0; j < k; ++j) {
          s[j] = static_cast<Real<T>>(f.s(j));
          for (Index row = 0; row < left.rows; ++row) left(row, j) = T(f.u.block(row, j));
          for (Index row = 0; row < k; ++row) right(j, row) = T(std::conj(f.v.block(row, j)));
        }
      }
    });
  }
  /// Complex vectors are unique up to a phase in u and v together: its change is given to u, as JAX does.
  Array vjp(const Vjp& v) const {
    auto &u = v.out[0], &s = v.out[1], &vt = v.out[2];
    auto gu = conj_if_any(v.ct[0]), gvt = conj_if_any(v.ct[2]);
    auto m = u.shape(-2), n = vt.shape(-1), k = s.shape(-1);
    auto row = expand_dims(s, -2), column = expand_dims(s, -1), one = eye(k, s.dtype());
    auto gap = (1.0 - one) / ((row - column) * (row + column) + one);  // 1 / (s_j^2 - s_i^2)
    auto turned = [&](const Array& x) { return gap * (x - adjoint(x)); };
    auto inner = v.ct[1].defined() ? one * expand_dims(v.ct[1], -1) : zeros_like(matmul(column, row));
    auto outside = zeros_like(v.in[0]);
    if (gu.defined()) {
      auto parts = matmul(adjoint(u), gu);
      inner = inner + turned(parts) * row;
      if (is_complex(u.dtype())) {
        auto zero = row == 0.0;
        inner = inner + 0.5 * one * where(zero, 0.0, 1.0 / where(zero, 1.0, row)) * (parts - adjoint(parts));
      }
      auto scaled = gu / row;
      if (m > k) outside = outside + matmul(scaled - matmul(u, matmul(adjoint(u), scaled)), vt);
    }
    if (gvt.defined()) {
      inner = inner + column * turned(matmul(vt, adjoint(gvt)));
      auto scaled = gvt / column;
      if (n > k) outside = outside + matmul(u, scaled - matmul(matmul(scaled, adjoint(vt)), vt));
    }
    return conj(matmul(matmul(u, inner.astype(u.dtype())), vt) + outside);
  }
  Svd lift(Index) const { return *this; }
  static Samples<Svd> samples() {
    auto tall = array({{4., 1.}, {1., 3.}, {0., 2.}}, f64);
    return {{Svd{}, {tall}}, {Svd{}, {t(tall)}}, {Svd{}, {zeros({0, 3}, f64)}}};
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
