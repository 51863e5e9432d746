// Products with logarithms, entropies, logits, sums of exponentials: primitives, one block each, and functions of them.
#include "ops/primitives/by_element.h"
#include "ops/numpy/support.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/reductions.h"
#include "bora/ops/manipulation.h"

namespace bora::ops {
namespace {
/// x / y, but 0 of 0 / 0: the slope of 0 log(y), which is 0 for every y.
Array share(A x, A y) {
  auto none = x == 0 && y == 0;
  return where(none, 0, x / where(none, 1, y));
}
struct XLogY {
  static constexpr std::string_view name = "xlogy";
  static constexpr auto value = scalar::xlogy<double>;
  static constexpr auto wide = scalar::xlogy<long double>;
  static constexpr double nanoseconds = 15, range[][2] = {{-2, 2}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * log(v.in[1]), v.ct[0] * share(v.in[0], v.in[1])}; }
};
struct XLog1pY {
  static constexpr std::string_view name = "xlog1py";
  static constexpr auto value = scalar::xlog1py<double>;
  static constexpr auto wide = scalar::xlog1py<long double>;
  static constexpr double nanoseconds = 15, range[][2] = {{-2, 2}, {-0.5, 2}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * log1p(v.in[1]), v.ct[0] * share(v.in[0], 1 + v.in[1])}; }
};
struct XLogX {
  static constexpr std::string_view name = "xlogx";
  static constexpr auto value = scalar::xlogx<double>;
  static constexpr auto wide = scalar::xlogx<long double>;
  static constexpr double nanoseconds = 15, range[][2] = {{0.5, 2}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (log(v.in[0]) + 1)}; }
};
/// log(p / q), where the quotient may leave the range.
struct LogRatio {
  static constexpr std::string_view name = "log_ratio";
  static constexpr auto value = scalar::log_ratio<double>;
  static constexpr auto wide = scalar::log_ratio<long double>;
  static constexpr double nanoseconds = 25, range[][2] = {{0.5, 2}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] / v.in[0], -(v.ct[0] / v.in[1])}; }
};
/// The gradients of RelEntr, less those of p - q where `centered`. At p = 0 and q = 0 the one-sided ones; 0 where p or
/// q is negative and the result inf.
Arrays entropy_gradients(const Vjp& v, bool centered) {
  auto outside = (v.in[0] < 0 || v.in[1] < 0) && !isnan(v.out[0]), corner = v.in[0] == 0 && v.in[1] == 0;
  auto p = where(outside || corner, 1, v.in[0]), q = where(outside || corner, 1, v.in[1]);
  auto ct = where(outside, 0, v.ct[0]);
  // Of p = 0 the result is 0 for every q >= 0, and of any other p and q = 0 inf.
  auto by_p = where(corner, kInf, by_element<LogRatio>(p, q)), by_q = where(corner, 0, p / q);
  return centered ? Arrays{ct * by_p, ct * (1 - by_q)} : Arrays{ct * (by_p + 1), -(ct * by_q)};
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
struct LogitSlope {
  static constexpr std::string_view name = "logit_slope";
  static constexpr auto value = scalar::logit_slope<double>;
  static constexpr auto wide = scalar::logit_slope<long double>;
  static constexpr double nanoseconds = 20, range[][2] = {{0.1, 0.9}};
  static Arrays vjp(int order, const Vjp& v) { return {v.ct[0] * by_order<LogitSlope>(order + 1, v.in[0])}; }
};
struct Logit {
  static constexpr std::string_view name = "logit";
  static constexpr auto value = scalar::logit<double>;
  static constexpr auto wide = scalar::logit<long double>;
  static constexpr double nanoseconds = 20, range[][2] = {{0.1, 0.9}};
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_order<LogitSlope>(1, v.in[0])}; }
};
/// The derivative by x, x^(lambda - 1), or that of 1 + x.
template <bool plus_one> struct BoxCoxSlope {
  static constexpr std::string_view name = plus_one ? "boxcox1p_slope" : "boxcox_slope";
  static constexpr auto value = plus_one ? scalar::boxcox1p_slope<double> : scalar::boxcox_slope<double>;
  static constexpr auto wide = plus_one ? scalar::boxcox1p_slope<long double> : scalar::boxcox_slope<long double>;
  static constexpr double nanoseconds = 40, range[][2] = {{0.5, 3}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) {
    const auto &x = v.in[0], &lambda = v.in[1];
    auto ct = v.ct[0] * v.out[0];
    return {v.needs[0] ? (lambda - 1) * (plus_one ? ct / (1 + x) : ct / x) : Array{},
            v.needs[1] ? ct * (plus_one ? log1p(x) : log(x)) : Array{}};
  }
};
template <bool plus_one> struct BoxCoxByLambda {
  static constexpr std::string_view name = plus_one ? "boxcox1p_by_lambda" : "boxcox_by_lambda";
  template <class T> static T at(int order, T x, T lambda) {
    return plus_one ? scalar::boxcox1p_by_lambda(order, x, lambda) : scalar::boxcox_by_lambda(order, x, lambda);
  }
  static constexpr auto value = at<double>;
  static constexpr auto wide = at<long double>;
  static constexpr double nanoseconds = 80, range[][2] = {{0.5, 3}, {0.5, 2}};
  static Arrays vjp(int order, const Vjp& v) {
    const auto &x = v.in[0], &lambda = v.in[1], &ct = v.ct[0];
    auto powers = [&] { return power(plus_one ? log1p(x) : log(x), order); };
    return {v.needs[0] ? ct * by_element<BoxCoxSlope<plus_one>>(x, lambda) * powers() : Array{},
            v.needs[1] ? ct * by_order<BoxCoxByLambda>(order + 1, x, lambda) : Array{}};
  }
};
/// boxcox and boxcox1p.
template <bool plus_one> struct BoxCox {
  static constexpr std::string_view name = plus_one ? "boxcox1p" : "boxcox";
  static constexpr auto value = plus_one ? scalar::boxcox1p<double> : scalar::boxcox<double>;
  static constexpr auto wide = plus_one ? scalar::boxcox1p<long double> : scalar::boxcox<long double>;
  static constexpr double nanoseconds = 40, range[][2] = {{0.5, 3}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) {
    const auto &x = v.in[0], &lambda = v.in[1], &ct = v.ct[0];
    return {v.needs[0] ? ct * by_element<BoxCoxSlope<plus_one>>(x, lambda) : Array{},
            v.needs[1] ? ct * by_order<BoxCoxByLambda<plus_one>>(1, x, lambda) : Array{}};
  }
};
}  // namespace
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array expit(const Array& x) { return sigmoid(x); }
Array logit(const Array& x) { return at_element<Logit>(x); }
Array xlogy(const Operand& x, const Operand& y) { return at_elements<XLogY>("xlogy", x, y); }
Array xlog1py(const Operand& x, const Operand& y) { return at_elements<XLog1pY>("xlog1py", x, y); }
Array entr(const Array& x) {
  return in_f32(x, [](A v) { return where(v < 0, -kInf, -by_element<XLogX>(v)); });
}
Array rel_entr(const Operand& p, const Operand& q) { return at_elements<RelEntr>("rel_entr", p, q); }
Array kl_div(const Operand& p, const Operand& q) { return at_elements<KlDiv>("kl_div", p, q); }
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
Array boxcox(const Operand& x, const Operand& lambda) {
  return at_elements<BoxCox<false>>("boxcox", x, lambda);
}
Array boxcox1p(const Operand& x, const Operand& lambda) {
  return at_elements<BoxCox<true>>("boxcox1p", x, lambda);
}
}  // namespace bora::special
