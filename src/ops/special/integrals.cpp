// Exponential integrals, Bessel functions, entropies and the normal distribution: primitives, one block each, and
// functions of them.
#include <numbers>
#include "ops/composed.h"
#include "ops/special/by_element.h"
#include "ops/special/scalar.h"

namespace bora::ops {
namespace {
constexpr double kRootTwoPi = std::numbers::sqrt2 / std::numbers::inv_sqrtpi;

struct Expi {
  static constexpr std::string_view name = "expi";
  static constexpr auto value = scalar::expi<double>;
  static constexpr auto wide = scalar::expi<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{0.5, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (exp(v.in[0]) / v.in[0])}; }
};
/// Its first operand is a whole number.
struct Expn {
  static constexpr std::string_view name = "expn";
  static constexpr auto value = scalar::expn<double>;
  static constexpr auto wide = scalar::expn<long double>;
  static constexpr double nanoseconds = 300, range[][2] = {{2, 2}, {0.5, 3}};
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0], "expn: its order is a whole number, by which nothing can be differentiated");
    return {Array{}, -(v.ct[0] * by_element<Expn>(v.in[0] - 1, v.in[1]))};
  }
};
struct Spence {
  static constexpr std::string_view name = "spence";
  static constexpr auto value = scalar::spence<double>;
  static constexpr auto wide = scalar::spence<long double>;
  static constexpr double nanoseconds = 60, range[][2] = {{0.2, 0.9}};
  static Arrays vjp(const Vjp& v) {
    auto one = v.in[0] == 1;
    auto x = where(one, 2, v.in[0]);
    return {v.ct[0] * where(one, -1, log(x) / (1 - x))};
  }
};
struct Erfcx {
  static constexpr std::string_view name = "erfcx";
  static constexpr auto value = scalar::erfcx<double>;
  static constexpr auto wide = scalar::erfcx<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-2, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (2 * (v.in[0] * v.out[0]) - 2 * std::numbers::inv_sqrtpi)}; }
};
struct Ndtri {
  static constexpr std::string_view name = "ndtri";
  static constexpr auto value = scalar::ndtri<double>;
  static constexpr auto wide = scalar::ndtri<long double>;
  static constexpr double nanoseconds = 60, range[][2] = {{0.05, 0.95}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (kRootTwoPi * exp(0.5 * (v.out[0] * v.out[0])))}; }
};
struct InverseErf {
  static constexpr std::string_view name = "erfinv";
  static constexpr auto value = scalar::erfinv<double>;
  static constexpr auto wide = scalar::erfinv<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-0.9, 0.9}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (0.5 / std::numbers::inv_sqrtpi * exp(v.out[0] * v.out[0]))}; }
};
struct CauchyCdf {
  static constexpr std::string_view name = "cauchy_cdf";
  static constexpr auto value = scalar::cauchy_cdf<double>;
  static constexpr auto wide = scalar::cauchy_cdf<long double>;
  static constexpr double nanoseconds = 40, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (std::numbers::inv_pi / (1 + v.in[0] * v.in[0]))}; }
};

struct I1 {
  static constexpr std::string_view name = "i1";
  static constexpr auto value = scalar::i1<double>;
  static constexpr auto wide = scalar::i1<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v);
};
struct I0 {
  static constexpr std::string_view name = "i0";
  static constexpr auto value = scalar::i0<double>;
  static constexpr auto wide = scalar::i0<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_element<I1>(v.in[0])}; }
};
/// y / x, and 1/2 at 0: the limit for I1 and its scaled form.
Array over(A y, A x) {
  auto zero = x == 0;
  return where(zero, 0.5, y / where(zero, 1, x));
}
Arrays I1::vjp(const Vjp& v) { return {v.ct[0] * (by_element<I0>(v.in[0]) - over(v.out[0], v.in[0]))}; }
struct I1e {
  static constexpr std::string_view name = "i1e";
  static constexpr auto value = scalar::i1e<double>;
  static constexpr auto wide = scalar::i1e<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v);
};
struct I0e {
  static constexpr std::string_view name = "i0e";
  static constexpr auto value = scalar::i0e<double>;
  static constexpr auto wide = scalar::i0e<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{-3, 3}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (by_element<I1e>(v.in[0]) - sign(v.in[0]) * v.out[0])}; }
};
Arrays I1e::vjp(const Vjp& v) {
  auto &x = v.in[0], &y = v.out[0];
  return {v.ct[0] * (by_element<I0e>(x) - sign(x) * y - over(y, x))};
}

struct XLogY {
  static constexpr std::string_view name = "xlogy";
  static constexpr auto value = scalar::xlogy<double>;
  static constexpr auto wide = scalar::xlogy<long double>;
  static constexpr double nanoseconds = 15, range[][2] = {{-2, 2}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * log(v.in[1]), v.ct[0] * (v.in[0] / v.in[1])}; }
};
struct XLog1pY {
  static constexpr std::string_view name = "xlog1py";
  static constexpr auto value = scalar::xlog1py<double>;
  static constexpr auto wide = scalar::xlog1py<long double>;
  static constexpr double nanoseconds = 15, range[][2] = {{-2, 2}, {-0.5, 2}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * log1p(v.in[1]), v.ct[0] * (v.in[0] / (1 + v.in[1]))}; }
};
struct XLogX {
  static constexpr std::string_view name = "xlogx";
  static constexpr auto value = scalar::xlogx<double>;
  static constexpr auto wide = scalar::xlogx<long double>;
  static constexpr double nanoseconds = 15, range[][2] = {{0.5, 2}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (log(v.in[0]) + 1)}; }
};
/// The gradients of RelEntr, less those of p - q where `centered`; 0 where p or q is not positive.
Arrays entropy_gradients(const Vjp& v, bool centered) {
  auto positive = v.in[0] > 0 && v.in[1] > 0;
  auto p = where(positive, v.in[0], 1), q = where(positive, v.in[1], 1), ct = where(positive, v.ct[0], 0);
  auto ratio = log(p / q);
  if (centered) return {ct * ratio, where(v.in[0] >= 0 && v.in[1] >= 0, v.ct[0], 0) - ct * (p / q)};
  return {ct * (ratio + 1), -(ct * (p / q))};
}
struct RelEntr {
  static constexpr std::string_view name = "rel_entr";
  static constexpr auto value = scalar::rel_entr<double>;
  static constexpr auto wide = scalar::rel_entr<long double>;
  static constexpr double nanoseconds = 25, range[][2] = {{0.5, 2}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) { return entropy_gradients(v, false); }
};
struct KlDiv {
  static constexpr std::string_view name = "kl_div";
  static constexpr auto value = scalar::kl_div<double>;
  static constexpr auto wide = scalar::kl_div<long double>;
  static constexpr double nanoseconds = 25, range[][2] = {{0.5, 2}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) { return entropy_gradients(v, true); }
};
/// The derivative 1 / (x (1 - x)) has no part that is infinite where another is 0.
struct Logit {
  static constexpr std::string_view name = "logit";
  static constexpr auto value = scalar::logit<double>;
  static constexpr auto wide = scalar::logit<long double>;
  static constexpr double nanoseconds = 20, range[][2] = {{0.1, 0.9}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] / (v.in[0] * (1 - v.in[0]))}; }
};
}  // namespace
Array cauchy_cdf(A x) { return at_element<CauchyCdf>(x); }
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array erfinv(const Array& x) { return at_element<InverseErf>(x); }
Array erfcx(const Array& x) { return at_element<Erfcx>(x); }
Array expit(const Array& x) { return sigmoid(x); }
Array logit(const Array& x) { return at_element<Logit>(x); }
Array xlogy(const Operand& x, const Operand& y) { return at_elements<XLogY>("xlogy", x, y); }
Array xlog1py(const Operand& x, const Operand& y) { return at_elements<XLog1pY>("xlog1py", x, y); }
Array entr(const Array& x) {
  return in_f32(x, [](A v) { return where(v < 0, -kInf, -by_element<XLogX>(v)); });
}
Array rel_entr(const Operand& p, const Operand& q) { return at_elements<RelEntr>("rel_entr", p, q); }
Array kl_div(const Operand& p, const Operand& q) { return at_elements<KlDiv>("kl_div", p, q); }
Array ndtr(const Array& x) {
  return in_f32(x, [](A v) { return normal_cdf(v); });
}
/// Left of -1 from erfcx, whose logarithm grows slowly; right of it from the smaller of both probabilities.
Array log_ndtr(const Array& x) {
  return in_f32(x, [](A v) {
    auto tail = v < -1, positive = v > 0;
    auto u = where(tail, v, -1);
    auto far = log(0.5 * by_element<Erfcx>(u * -std::numbers::sqrt2 / 2)) - 0.5 * (u * u);
    auto near = where(positive, log1p(-normal_cdf(where(positive, -v, 0))), log(normal_cdf(where(tail, -1, v))));
    return where(tail, far, near);
  });
}
Array ndtri(const Array& p) { return at_element<Ndtri>(p); }
Array exp1(const Array& x) { return expn(1, x); }
Array expi(const Array& x) { return at_element<Expi>(x); }
Array expn(const Operand& n, const Operand& x) {
  auto t = one_type("expn", {n, x});
  return by_element<Expn>(stop_gradient(t.x[0]), t.x[1]).astype(t.dtype);
}
Array spence(const Array& x) { return at_element<Spence>(x); }
Array i0(const Array& x) { return at_element<I0>(x); }
Array i0e(const Array& x) { return at_element<I0e>(x); }
Array i1(const Array& x) { return at_element<I1>(x); }
Array i1e(const Array& x) { return at_element<I1e>(x); }
/// From 4 on by Euler's formula, 2 (-1)^(m/2+1) m! zeta(m) / (2 pi)^m.
Array bernoulli(std::int64_t n, Dtype dtype) {
  check<ValueError>(n >= 0, "bernoulli: n = ", n, " must not be negative");
  std::vector<double> b(static_cast<std::size_t>(n) + 1);
  const double first[] = {1, -0.5, 1.0 / 6};
  double factor = 2 / (4 * std::numbers::pi * std::numbers::pi) * 2;  // 2 m! / (2 pi)^m for m = 2
  for (std::size_t m = 0; m < b.size(); ++m) {
    if (m < 3) b[m] = first[m];
    else if (m % 2 == 0) {
      auto k = static_cast<double>(m);
      factor *= -(k - 1) * k / (4 * std::numbers::pi * std::numbers::pi);
      b[m] = factor * scalar::riemann_zeta<double>(k);
    }
  }
  return asarray(b, {n + 1}).astype(dtype);
}

SignedLog signed_logsumexp(const Array& x, const Dimensions& axes, const LogSumExpOptions& options) {
  auto dims = axes.resolve("logsumexp", x.ndim());
  auto t = options.b.defined() ? one_type("logsumexp", {x, options.b}) : one_type("logsumexp", {x});
  auto v = t.x[0];
  if (options.b.defined()) {
    check<ShapeError>(v.shape() == x.shape(), "logsumexp: factors of shape ", options.b.shape(),
                      " do not broadcast to x of shape ", x.shape());
    v = where(t.x[1] == 0, -kInf, v);
  }
  const ReduceOptions keep{.keepdims = true};
  bool empty = std::any_of(dims.begin(), dims.end(), [&](auto d) { return x.shape(d) == 0; });
  auto top = empty ? Array(sum(v, dims, keep)) : amax(stop_gradient(v), dims, keep);
  top = where(isfinite(top), top, 0);
  auto e = exp(v - top);
  auto total = sum(options.b.defined() ? e * t.x[1] : e, dims, keep);
  auto r = log(abs(total)) + top, s = sign(stop_gradient(total));
  if (!options.keepdims) r = squeeze(r, dims), s = squeeze(s, dims);
  return {r.astype(t.dtype), s.astype(t.dtype)};
}
Array logsumexp(const Array& x, const Dimensions& axes, const LogSumExpOptions& options) {
  auto [r, s] = signed_logsumexp(x, axes, options);
  return options.b.defined() ? where(s < 0, kNan, r) : r;
}
}  // namespace bora::special
