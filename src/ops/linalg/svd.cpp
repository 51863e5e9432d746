// a = u diag(s) vt, in f64 and complex128. A tall matrix is q r first; then it becomes real and bidiagonal.
#include "bora/ops/contractions.h"
#include "ops/linalg/algorithms/bidiagonal.h"
#include "ops/linalg/algorithms/complex_reduction.h"
#include "ops/linalg/algorithms/matrix.h"
#include "ops/linalg/algorithms/reflections.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"
#include "bora/ops/linalg.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
/// a = u diag(s) v^H of a finite matrix with at least as many rows as columns.
template <class T> struct TallFactors {
  Owned<T> u, v;
  std::vector<double> s;
};
template <class T> TallFactors<T> tall_svd(Owned<T> a) {
  auto m = a.block.rows, n = a.block.columns;
  const auto largest = largest_part<T>(a.numbers());
  if (largest > 0) scale(a.numbers(), largest);
  TallFactors<T> f{{m, n}, {n, n, Fill::none}, {}};
  auto finish = [&](RealForm<T> form) {
    auto real = singular_of_bidiagonal(form.diagonal, form.beside);
    convert(real.u.block, f.u.block.part(0, 0, n, n));
    convert(real.v.block, f.v.block);
    form.left.apply(f.u.block.part(0, 0, n, n));
    form.right.apply(f.v.block);
    f.s = std::move(real.s);
  };
  if (m == n) finish(bidiagonal_form(std::move(a)));
  else {
    Reflections<T> q(a.block);
    Owned<T> r(n, n);
    for (Index j = 0; j < n; ++j) std::copy_n(&a.block(0, j), j + 1, &r.block(0, j));
    finish(bidiagonal_form(std::move(r)));
    q.apply(f.u.block);
  }
  for (auto& s : f.s) s *= largest;
  return f;
}
}  // namespace

struct Svd {
  static constexpr std::string_view name = "svd";
  static constexpr int core = 2;
  Types infer(const Types& in) const {
    check_numbers(name, in[0]);
    auto m = rows(in[0]), n = columns(in[0]), k = std::min(m, n);
    auto values = with(in[0], {k});
    values.dtype = real_dtype(values.dtype);
    return {with(in[0], {m, k}), values, with(in[0], {k, n})};
  }
  void eval(InputViews in, OutputViews out) const {
    each_of_numbers(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      using Wide = std::conditional_t<kComplex<T>, Complex, double>;
      auto a = matrix<T>(in[0], i);
      auto u = matrix<T>(out[0], i), vt = matrix<T>(out[2], i);
      auto k = std::min(a.rows, a.columns);
      auto s = out[1].as<Real<T>>() + i * k;
      // a^H has the factors v and u; a wide matrix is turned without conjugation: its factors are those of a^T.
      bool wide = a.rows < a.columns;
      auto from = wide ? a.turned() : a;
      Owned<Wide> tall(from.rows, from.columns, Fill::none);
      if (!convert_finite<T, Wide>(from, tall.block)) {
        std::fill_n(u.data, u.rows * u.columns, T(kNanOf<Real<T>>));
        std::fill_n(s, k, kNanOf<Real<T>>);
        std::fill_n(vt.data, vt.rows * vt.columns, T(kNanOf<Real<T>>));
        return;
      }
      auto f = tall_svd(std::move(tall));
      auto left = wide ? vt.turned() : u, right = wide ? u.turned() : vt;
      for (Index j = 0; j < k; ++j) s[j] = static_cast<Real<T>>(f.s[static_cast<std::size_t>(j)]);
      convert<Wide, T>(f.u.block, left);
      if constexpr (kComplex<T>)
        for (auto& z : f.v.numbers()) z = std::conj(z);
      convert<Wide, T>(f.v.block.turned(), right);
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
  static SamplesOf<Svd> samples() {
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
