// Factors that keep their reflections, and Hessenberg's form.
#include <vector>
#include "bora/ops/contractions.h"
#include "bora/ops/linalg.h"
#include "ops/linalg/algorithms/hessenberg.h"
#include "ops/linalg/algorithms/matrix.h"
#include "ops/linalg/algorithms/reflections.h"
#include "bora/array/primitive.h"
#include "ops/linalg/adjoint.h"

namespace bora {
namespace ops {
using namespace linalg;
namespace {
constexpr Index kWidth = 32;

/// y -= factor v (v^H y), v = (1, rest of n - 1 numbers).
template <class T> void reflect_vector(const T* v, T factor, T* y, Index n) {
  const auto part = factor * (y[0] + dot(v + 1, y + 1, n - 1));
  y[0] -= part;
  for (Index i = 1; i < n; ++i) y[i] -= part * v[i];
}
/// Overwrites a [m, n], whose columns lie one behind the other, by its packed factors.
template <class T> void factor_packed(Block<T> a, T* factors) {
  const auto m = a.rows, n = a.columns, k = std::min(m, n);
  for (Index begin = 0; begin < k; begin += kWidth) {
    const auto w = std::min(kWidth, k - begin), left = m - begin, end = begin + w;
    Owned<T> v(left, w), t(w, w);
    for (auto c = begin; c < end; ++c) {
      auto x = &a(c, c);
      factors[c] = reflect(x, m - c);
      v.block(c - begin, c - begin) = 1;
      std::copy_n(x + 1, m - c - 1, &v.block(c - begin, c - begin) + 1);
      for (auto j = c + 1; j < end; ++j) reflect_vector(x, conjugated(factors[c]), &a(c, j), m - c);
    }
    join_reflections<T>(v.block, factors + begin, t.block);
    Panel<T>{v.block, t.block}.apply(a.part(begin, end, left, n - end), true);
  }
}
}  // namespace

struct QrRaw {
  static constexpr std::string_view name = "qr_raw";
  static constexpr int core = 2;
  Types infer(const Types& in) const {
    check_numbers(name, in[0]);
    return {in[0], with(in[0], {std::min(rows(in[0]), columns(in[0]))})};
  }
  void eval(InputViews in, OutputViews out) const {
    each_of_numbers(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      auto a = matrix<T>(in[0], i);
      Owned<T> packed(a.rows, a.columns);
      copy<T>(a, packed.block);
      factor_packed(packed.block, out[1].as<T>() + i * std::min(a.rows, a.columns));
      copy<T>(packed.block, matrix<T>(out[0], i));
    });
  }
  static SamplesOf<QrRaw> samples() {
    auto tall = array({{4., 1.}, {1., 3.}, {0., 2.}}, f64);
    return {{QrRaw{}, {tall}}, {QrRaw{}, {t(tall)}}, {QrRaw{}, {complex(tall, 0.5)}}};
  }
};
/// W. Golub, C. Van Loan, Matrix Computations, 7.4.2.
struct Hessenberg {
  static constexpr std::string_view name = "hessenberg";
  static constexpr int core = 2;
  Types infer(const Types& in) const {
    check_square(name, in[0]);
    return {in[0], in[0]};
  }
  void eval(InputViews in, OutputViews out) const {
    each_of_numbers(in[0].type, [&](auto zero, Index i) {
      using T = decltype(zero);
      const auto n = rows(in[0].type);
      Owned<T> a(n, n, Fill::none);
      copy<T>(matrix<T>(in[0], i), a.block);
      auto form = hessenberg_form(std::move(a));
      copy<T>(form.h.block, matrix<T>(out[0], i));
      form.q.matrix(matrix<T>(out[1], i));
    });
  }
  static SamplesOf<Hessenberg> samples() {
    auto a = array({{4., 1., 0.}, {0.5, -1., 2.}, {1., -0.5, 0.3}}, f64);
    return {{Hessenberg{}, {a}}, {Hessenberg{}, {complex(a, 0.5)}}, {Hessenberg{}, {zeros({2, 0, 0}, f64)}}};
  }
};
}  // namespace ops

namespace linalg {
QrRaw qr_raw(const Array& a) {
  auto r = call(ops::QrRaw{}, {a});
  return {r[0], r[1]};
}
Hessenberg hessenberg(const Array& a) {
  check_square("hessenberg", a.type());
  auto r = call(ops::Hessenberg{}, {a});
  return {r[0], r[1]};
}
Array reflected(const QrRaw& f, const Array& x, const ReflectedOptions& options) {
  const auto m = f.packed.shape(-2), k = f.factors.shape(-1);
  check<ShapeError>(x.ndim() >= 2 && x.shape(-2) == m && x.dtype() == f.packed.dtype(), "reflected: reflections of ", m,
                    " numbers of ", f.packed.dtype(), " do not fit x ", x.type(), "; x is [.., ", m, ", any]");
  if (k == 0) return x;
  auto one = eye(k, f.packed.dtype()), column = expand_dims(f.factors, -1);
  auto v = tril(slice_in_dim(f.packed, -1, 0, k), -1) + eye(m, k, f.packed.dtype());
  auto products = triu(matmul(adjoint(v), v), 1);
  auto joined = linalg::triangular_solve(one + column * products, column * one, {.lower = false});
  return x - matmul(v, matmul(options.turned ? adjoint(joined) : joined, matmul(adjoint(v), x)));
}
Array householder_product(const Array& packed, const Array& factors) {
  check_numbers("householder_product", packed.type());
  const auto m = packed.shape(-2), k = factors.shape(-1);
  check<ShapeError>(k <= m && k <= packed.shape(-1), "householder_product: ", k, " factors do not fit ", packed.type());
  auto shape = packed.shape();
  shape[shape.size() - 1] = k;
  return reflected({packed, factors}, broadcast_to(eye(m, k, packed.dtype()), shape));
}
}  // namespace linalg
}  // namespace bora
