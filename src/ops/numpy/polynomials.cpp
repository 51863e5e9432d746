// Polynomials as vectors of coefficients, the highest power first.
#include "bora/ops/calculus.h"
#include "bora/ops/linalg.h"
#include "bora/ops/polynomials.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/creation.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
Array vander(const Array& x, std::optional<std::int64_t> columns, bool increasing) {
  check_vector("vander", "x", x);
  auto n = columns.value_or(x.size());
  check<ValueError>(n >= 0, "vander: ", n, " columns");
  if (n == 0) return full_of({{x.size(), 0}, x.dtype()}, 0);
  auto factors = pad(broadcast_in_dim(x, {x.size(), n - 1}, {0}), {0, 1}, {0, 0}, 1);
  auto powers = cumprod(factors, 1).astype(x.dtype() == boolean ? i32 : x.dtype());
  return increasing ? powers : flip(powers, 1);
}
Array polyval(const Array& p, const Array& x) {
  check_vector("polyval", "the coefficients p", p);
  auto d = promote(p.dtype(), x.dtype());
  auto y = full_of({x.shape(), d}, 0);
  for (std::int64_t i = 0; i < p.size(); ++i) y = y * x.astype(d) + index_in_dim(p, 0, i).astype(d);
  return y;
}
namespace {
/// Both with as many coefficients as the longer one.
std::pair<Array, Array> equally_long(std::string_view what, const Array& p, const Array& q) {
  check_vector(what, "p", p);
  check_vector(what, "q", q);
  auto n = std::max(p.size(), q.size());
  return {pad(p, {n - p.size()}, {0}), pad(q, {n - q.size()}, {0})};
}
}  // namespace

Array polyadd(const Array& p, const Array& q) {
  auto [a, b] = equally_long("polyadd", p, q);
  return a + b;
}
Array polysub(const Array& p, const Array& q) {
  auto [a, b] = equally_long("polysub", p, q);
  return a - b;
}
Array polymul(const Array& p, const Array& q) {
  check_vector("polymul", "p", p);
  check_vector("polymul", "q", q);
  return convolve(p, q);
}
Array polyder(const Array& p, std::int64_t m) {
  check_vector("polyder", "p", p);
  check<ValueError>(m >= 0, "polyder: m = ", m, " must not be negative");
  auto y = p;
  for (; m > 0 && y.size() > 0; --m) {
    auto n = y.size() - 1;
    y = part(y, 0, 0, n) * flip(iota({n}, 0) + 1).astype(is_float(p.dtype()) ? p.dtype() : i32);
  }
  return y;
}
Array polyint(const Array& p, std::int64_t m) {
  check_vector("polyint", "p", p);
  check<ValueError>(m >= 0, "polyint: m = ", m, " must not be negative");
  auto y = inexact(p);
  for (; m > 0; --m) y = pad(y / flip(iota({y.size()}, 0) + 1).astype(y.dtype()), {0}, {1});
  return y;
}
Array poly(const Array& zeros) {
  check_vector("poly", "the zeros", zeros);
  auto x = inexact(zeros);
  auto p = full_of({{1}, x.dtype()}, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) p = pad(p, {0}, {1}) - pad(p, {1}, {0}) * index_in_dim(x, 0, i);
  return p;
}
Array polyfit(const Array& x, const Array& y, std::int64_t degree, const PolyfitOptions& o) {
  check_vector("polyfit", "x", x);
  check<ValueError>(degree >= 0, "polyfit: degree = ", degree, " must not be negative");
  check<ShapeError>(x.size() > 0 && y.ndim() >= 1 && y.ndim() <= 2 && y.shape(0) == x.size(), "polyfit: x ", x.type(),
                    " and y ", y.type(), " do not fit; y is [n] or [n, k]");
  auto d = promote(inexact(x).dtype(), inexact(y).dtype());
  check<DtypeError>(d == f32 || d == f64, "polyfit: takes f32 or f64, got ", d);
  auto v = x.astype(d), rhs = y.astype(d);
  Array w;
  if (o.weights.defined()) {
    check<ShapeError>(o.weights.shape() == x.shape(), "polyfit: weights ", o.weights.type(), " for ", x.size(),
                      " points");
    w = o.weights.astype(d);
    v = where(w != 0, v, 0);  // its power times 0 could be NaN
  }
  auto a = vander(v, degree + 1);
  if (w.defined()) {
    auto column = expand_dims(w, 1), of_rhs = rhs.ndim() == 2 ? column : w;
    a = a * column;
    rhs = where(of_rhs != 0, rhs, 0) * of_rhs;
  }
  auto epsilon = d == f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  // Columns of length 1, so that the cut of singular values does not depend on units.
  auto scale = sqrt(sum(a * a, 0));
  auto c = linalg::lstsq(a / scale, rhs, o.rcond.value_or(static_cast<double>(x.size()) * epsilon)).x;
  return rhs.ndim() == 2 ? c / expand_dims(scale, 1) : c / scale;
}
Polydiv polydiv(const Array& u, const Array& v) {
  check_vector("polydiv", "u", u);
  check_vector("polydiv", "v", v);
  check<ShapeError>(u.size() > 0 && v.size() > 0, "polydiv: polynomials must not be empty, got ", u.shape(), " and ",
                    v.shape());
  auto [a, b] = std::pair{inexact(u), inexact(v)};
  auto d = promote(a.dtype(), b.dtype());
  auto rest = a.astype(d), divisor = b.astype(d);
  auto m = rest.size(), n = divisor.size();
  if (m < n) return {full_of({{1}, d}, 0), rest};
  Arrays quotient;
  auto leading = index_in_dim(divisor, 0, 0);
  for (std::int64_t k = 0; k <= m - n; ++k) {
    auto q = index_in_dim(rest, 0, k) / leading;
    quotient.push_back(q);
    rest = rest - pad(q * divisor, {k}, {m - n - k});
  }
  return {stack(quotient), pad(part(rest, 0, m - n + 1, m), {m - n + 1}, {0})};
}
Array roots(const Array& p, bool strip_zeros) {
  check_vector("roots", "the coefficients p", p);
  auto c = in_accumulator(inexact(p));
  std::int64_t first = 0, last = p.size();
  if (strip_zeros) {
    auto full = known<bool>(p.astype(boolean), "roots", "say strip_zeros = false");
    while (first < last && !full[at(first)]) ++first;
    while (last > first && !full[at(last - 1)]) --last;
  }
  auto zeros_at_0 = p.size() - last, n = last - first - 1;
  auto complex_type = complex_dtype(c.dtype());
  if (n <= 0) return full_of({{first == last ? 0 : zeros_at_0}, complex_type}, 0);
  auto body = part(c, 0, first, last);
  auto row = -(part(body, 0, 1, n + 1) / index_in_dim(body, 0, 0));
  auto below = pad(full_of({{n - 1, n - 1}, c.dtype()}, 0) + eye(n - 1, real_dtype(c.dtype())).astype(c.dtype()),
                   {0, 0}, {0, 1});
  auto companion = concatenate({expand_dims(row, 0), below}, 0);
  auto r = linalg::eigvals(companion);
  return zeros_at_0 == 0 ? r : pad(r, {0}, {zeros_at_0});
}
}  // namespace bora
