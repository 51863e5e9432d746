// The gamma function's family: primitives, one block each, and functions of them.
#include <numbers>
#include "bora/ops/ufuncs.h"
#include "ops/numpy/support.h"
#include "ops/primitives/by_element.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"

namespace bora::ops {
namespace {
constexpr double kPositive[][2] = {{0.5, 3}, {0.6, 4}, {0.2, 0.8}};

struct Digamma {
  static constexpr std::string_view name = "digamma";
  static constexpr auto value = scalar::digamma<double>;
  static constexpr auto wide = scalar::digamma<long double>;
  static constexpr double nanoseconds = 30;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v);
};
struct LogGamma {
  static constexpr std::string_view name = "gammaln";
  static constexpr auto value = scalar::lgamma<double>;
  static constexpr auto wide = scalar::lgamma<long double>;
  static constexpr double nanoseconds = 30;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_element<Digamma>(v.in[0])}; }
};
struct GammaFunction {
  static constexpr std::string_view name = "gamma_function";
  static constexpr auto value = scalar::tgamma<double>;
  static constexpr auto wide = scalar::tgamma<long double>;
  static constexpr double nanoseconds = 60;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * (v.out[0] * by_element<Digamma>(v.in[0]))}; }
};
struct Zeta {
  static constexpr std::string_view name = "zeta";
  static constexpr auto value = scalar::zeta<double>;
  static constexpr auto wide = scalar::zeta<long double>;
  static constexpr double nanoseconds = 300;
  static constexpr double range[][2] = {{1.5, 4}, {0.5, 3}};
  static Arrays vjp(const Vjp& v);
};
/// The derivative of zeta by s.
struct ZetaByS {
  static constexpr std::string_view name = "zeta_by_s";
  static constexpr auto value = scalar::zeta_by_s<double>;
  static constexpr auto wide = scalar::zeta_by_s<long double>;
  static constexpr double nanoseconds = 600;
  static constexpr auto& range = Zeta::range;
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0], "zeta: its derivative by s cannot be differentiated by s again");
    auto &s = v.in[0], &q = v.in[1];
    return {Array{}, -(v.ct[0] * (by_element<Zeta>(s + 1, q) + s * by_element<ZetaByS>(s + 1, q)))};
  }
};
Arrays Zeta::vjp(const Vjp& v) {
  auto &s = v.in[0], &q = v.in[1];
  return {v.needs[0] ? v.ct[0] * by_element<ZetaByS>(s, q) : Array{},
          v.needs[1] ? -(v.ct[0] * (s * by_element<Zeta>(s + 1, q))) : Array{}};
}
Arrays Digamma::vjp(const Vjp& v) { return {v.ct[0] * by_element<Zeta>(full_like(v.in[0], 2), v.in[0])}; }
struct RiemannZetaByS {
  static constexpr std::string_view name = "riemann_zeta_by_s";
  static constexpr auto value = scalar::riemann_zeta_by_s<double>;
  static constexpr auto wide = scalar::riemann_zeta_by_s<long double>;
  static constexpr double nanoseconds = 600;
  static constexpr double range[][2] = {{1.5, 4}};
  static Arrays vjp(const Vjp&) { fail<TraceError>("zeta: its derivative by s cannot be differentiated by s again"); }
};
struct RiemannZeta {
  static constexpr std::string_view name = "riemann_zeta";
  static constexpr auto value = scalar::riemann_zeta<double>;
  static constexpr auto wide = scalar::riemann_zeta<long double>;
  static constexpr double nanoseconds = 300;
  static constexpr double range[][2] = {{1.5, 4}};
  static Arrays vjp(const Vjp& v);
};
/// Left of 0 that of the reflection formula (Abramowitz & Stegun 23.2.6), factor by factor.
Arrays RiemannZeta::vjp(const Vjp& v) {
  constexpr double pi = std::numbers::pi;
  const auto& s = v.in[0];
  auto left = s < 0;
  auto y = where(left, 1 - s, 2), turns = where(left, s, 0) * 0.5, whole = round(turns);
  auto sign = where(floor(whole / 2) * 2 == whole, 1, full_like(s, -1));
  auto z = by_element<RiemannZeta>(y);
  auto factor = 2 * power(2 * pi, -y) * by_element<GammaFunction>(y) * z * sign, angle = pi * (turns - whole);
  auto slope = std::log(2 * pi) - by_element<Digamma>(y) - by_element<RiemannZetaByS>(y) / z;
  auto reflected = factor * (slope * sin(angle) + pi / 2 * cos(angle));
  return {v.ct[0] * where(left, reflected, by_element<RiemannZetaByS>(where(left, 2, s)))};
}
/// The gradients of a function of (a, b) whose logarithm has the derivatives digamma(a) - digamma(a + b) and
/// digamma(b) - digamma(a + b).
Arrays by_digamma(const Vjp& v, const Array& ct) {
  auto &a = v.in[0], &b = v.in[1];
  auto both = by_element<Digamma>(a + b);
  return {v.needs[0] ? ct * (by_element<Digamma>(a) - both) : Array{},
          v.needs[1] ? ct * (by_element<Digamma>(b) - both) : Array{}};
}
struct LogBeta {
  static constexpr std::string_view name = "betaln";
  static constexpr auto value = scalar::lbeta<double>;
  static constexpr auto wide = scalar::lbeta<long double>;
  static constexpr double nanoseconds = 100;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) { return by_digamma(v, v.ct[0]); }
};
struct Beta {
  static constexpr std::string_view name = "beta";
  static constexpr auto value = scalar::beta<double>;
  static constexpr auto wide = scalar::beta<long double>;
  static constexpr double nanoseconds = 150;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) { return by_digamma(v, v.ct[0] * v.out[0]); }
};
struct Poch {
  static constexpr std::string_view name = "poch";
  static constexpr auto value = scalar::poch<double>;
  static constexpr auto wide = scalar::poch<long double>;
  static constexpr double nanoseconds = 150;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto end = by_element<Digamma>(v.in[0] + v.in[1]), ct = v.ct[0] * v.out[0];
    return {v.needs[0] ? ct * (end - by_element<Digamma>(v.in[0])) : Array{}, v.needs[1] ? ct * end : Array{}};
  }
};

struct Factorial {
  static constexpr std::string_view name = "factorial";
  static constexpr auto value = scalar::factorial<double>;
  static constexpr auto wide = scalar::factorial<long double>;
  static constexpr double nanoseconds = 60;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto inside = v.in[0] >= 0;
    return {v.ct[0] * (v.out[0] * by_element<Digamma>(where(inside, v.in[0], 0) + 1))};
  }
};
struct Comb {
  static constexpr std::string_view name = "comb";
  static constexpr auto value = scalar::comb<double>;
  static constexpr auto wide = scalar::comb<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{4, 6}, {0.5, 3}};
  static Arrays vjp(const Vjp& v) {
    auto &n = v.in[0], &k = v.in[1];
    auto ct = v.ct[0] * v.out[0];
    auto inside = k >= 0 && k <= n;
    auto rest = by_element<Digamma>(where(inside, n - k, 0) + 1);
    return {v.needs[0] ? ct * (by_element<Digamma>(where(inside, n, 0) + 1) - rest) : Array{},
            v.needs[1] ? ct * (rest - by_element<Digamma>(where(inside, k, 0) + 1)) : Array{}};
  }
};

struct GammaDensity {
  static constexpr std::string_view name = "gamma_density";
  static constexpr auto value = scalar::gamma_density<double>;
  static constexpr auto wide = scalar::gamma_density<long double>;
  static constexpr double nanoseconds = 100;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &x = v.in[1];
    auto ct = v.ct[0] * v.out[0];
    return {v.needs[0] ? ct * (log(x) - by_element<Digamma>(a)) : Array{}, v.needs[1] ? ct * (a / x - 1) : Array{}};
  }
};
/// x^(a - 1) e^-x / gamma(a): the derivative of gammainc by x. At x = 0 the limit.
Array gamma_slope(A a, A x) {
  auto outside = x <= 0;  // NaN is not
  auto y = where(outside, 1, x);
  return where(outside, where(a == 1, 1, where(a > 1, full_like(a, 0), full_like(a, kInf))),
               by_element<GammaDensity>(a, y) / y);
}
struct GammaIncByA {
  static constexpr std::string_view name = "gammainc_by_a";
  static constexpr auto value = scalar::gammainc_by_a<double>;
  static constexpr auto wide = scalar::gammainc_by_a<long double>;
  static constexpr double nanoseconds = 500;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0], "gammainc: its derivative by a cannot be differentiated by a again");
    auto &a = v.in[0], &x = v.in[1];
    return {Array{}, v.ct[0] * (gamma_slope(a, x) * (log(x) - by_element<Digamma>(a)))};
  }
};
Arrays gammainc_gradients(const Vjp& v, const Array& ct) {
  auto &a = v.in[0], &x = v.in[1];
  return {v.needs[0] ? ct * by_element<GammaIncByA>(a, x) : Array{}, v.needs[1] ? ct * gamma_slope(a, x) : Array{}};
}
struct GammaInc {
  static constexpr std::string_view name = "gammainc";
  static constexpr auto value = scalar::gammainc<double>;
  static constexpr auto wide = scalar::gammainc<long double>;
  static constexpr double nanoseconds = 300;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) { return gammainc_gradients(v, v.ct[0]); }
};
struct GammaIncC {
  static constexpr std::string_view name = "gammaincc";
  static constexpr auto value = scalar::gammaincc<double>;
  static constexpr auto wide = scalar::gammaincc<long double>;
  static constexpr double nanoseconds = 300;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) { return gammainc_gradients(v, -v.ct[0]); }
};

struct BetaDensity {
  static constexpr std::string_view name = "beta_density";
  static constexpr auto value = scalar::beta_density<double>;
  static constexpr auto wide = scalar::beta_density<long double>;
  static constexpr double nanoseconds = 150;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2];
    auto ct = v.ct[0] * v.out[0], both = by_element<Digamma>(a + b);
    return {v.needs[0] ? ct * (log(x) - by_element<Digamma>(a) + both) : Array{},
            v.needs[1] ? ct * (log1p(-x) - by_element<Digamma>(b) + both) : Array{},
            v.needs[2] ? ct * (a / x - b / (1 - x)) : Array{}};
  }
};
/// x^(a - 1) (1 - x)^(b - 1) / B(a, b): the derivative of betainc by x. At the ends the limits.
Array beta_slope(A a, A b, A x) {
  auto inside = !(x <= 0 || x >= 1);  // NaN is
  auto y = where(inside, x, 0.5), end = where(x > 0, b, a), other = where(x > 0, a, b);
  return where(inside, by_element<BetaDensity>(a, b, y) / (y * (1 - y)),
               where(end == 1, other, where(end > 1, full_like(a, 0), full_like(a, kInf))));
}
template <bool first> struct BetaIncBy {
  static constexpr std::string_view name = first ? "betainc_by_a" : "betainc_by_b";
  static constexpr auto value = first ? scalar::betainc_by_a<double> : scalar::betainc_by_b<double>;
  static constexpr auto wide = first ? scalar::betainc_by_a<long double> : scalar::betainc_by_b<long double>;
  static constexpr double nanoseconds = 800;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0] && !v.needs[1],
                      "betainc: its derivatives by a and b cannot be differentiated by a or b again");
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2];
    auto factor =
        (first ? log(x) - by_element<Digamma>(a) : log1p(-x) - by_element<Digamma>(b)) + by_element<Digamma>(a + b);
    return {Array{}, Array{}, v.ct[0] * (beta_slope(a, b, x) * factor)};
  }
};
struct BetaInc {
  static constexpr std::string_view name = "betainc";
  static constexpr auto value = scalar::betainc<double>;
  static constexpr auto wide = scalar::betainc<long double>;
  static constexpr double nanoseconds = 500;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2];
    return {v.needs[0] ? v.ct[0] * by_element<BetaIncBy<true>>(a, b, x) : Array{},
            v.needs[1] ? v.ct[0] * by_element<BetaIncBy<false>>(a, b, x) : Array{},
            v.needs[2] ? v.ct[0] * beta_slope(a, b, x) : Array{}};
  }
};
}  // namespace
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array gamma(const Array& x) { return at_element<GammaFunction>(x); }
Array gammaln(const Array& x) { return at_element<LogGamma>(x); }
Array digamma(const Array& x) { return at_element<Digamma>(x); }
Array gammasgn(const Array& x) {
  auto v = inexact(x), whole = floor(v);
  auto sign = where(floor(whole / 2) * 2 == whole, 1, full_like(v, -1));
  auto below = where(v == whole || isnan(v), kNan, sign);
  return where(v > 0 || (v == 0 && !signbit(v)), 1, where(v == 0, -1, below));
}
Array loggamma(const Array& x) {
  return in_f32(x, [](A v) { return where(v <= 0, kNan, by_element<LogGamma>(where(v <= 0, 1, v))); });
}
Array polygamma(const Operand& n, const Operand& x) {
  auto t = one_type("polygamma", {n, x});
  auto order = stop_gradient(t.x[0]);
  auto regular = order > 0 && order == floor(order);
  auto s = where(regular, order, 1) + 1;
  auto value = where(s % 2 == 0, 1, full_like(s, -1)) * by_element<GammaFunction>(s) * by_element<Zeta>(s, t.x[1]);
  return where(regular, value, where(order == 0, by_element<Digamma>(t.x[1]), kNan)).astype(t.dtype);
}
Array zeta(const Operand& s, const Operand& q) { return at_elements<Zeta>("zeta", s, q); }
Array zeta(const Array& s) { return at_element<RiemannZeta>(s); }
Array factorial(const Array& n) { return at_element<Factorial>(n); }
Array comb(const Operand& n, const Operand& k) { return at_elements<Comb>("comb", n, k); }
Array poch(const Operand& z, const Operand& m) { return at_elements<Poch>("poch", z, m); }
Array multigammaln(const Array& a, std::int64_t d) {
  check<ValueError>(d >= 1, "multigammaln: d = ", d, " must be positive");
  return in_f32(a, [&](A v) {
    auto n = static_cast<double>(d);
    Array total = full_like(v, 0.25 * n * (n - 1) * std::log(std::numbers::pi));
    for (std::int64_t i = 0; i < d; ++i) total = total + by_element<LogGamma>(v - 0.5 * static_cast<double>(i));
    return total;
  });
}
Array beta(const Operand& a, const Operand& b) { return at_elements<Beta>("beta", a, b); }
Array betaln(const Operand& a, const Operand& b) { return at_elements<LogBeta>("betaln", a, b); }
Array gammainc(const Operand& a, const Operand& x) { return at_elements<GammaInc>("gammainc", a, x); }
Array gammaincc(const Operand& a, const Operand& x) { return at_elements<GammaIncC>("gammaincc", a, x); }
Array betainc(const Operand& a, const Operand& b, const Operand& x) {
  auto t = one_type("betainc", {a, b, x});
  return by_element<BetaInc>(t.x[0], t.x[1], t.x[2]).astype(t.dtype);
}
}  // namespace bora::special
