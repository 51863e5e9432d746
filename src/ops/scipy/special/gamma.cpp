// The gamma function's family: primitives, one block each, and functions of them.
#include <numbers>
#include "bora/ops/ufuncs.h"
#include "ops/numpy/support.h"
#include "ops/primitives/by_element.h"
#include "ops/scipy/special/densities.h"
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
/// Its first operand is a whole number.
struct Polygamma {
  static constexpr std::string_view name = "polygamma";
  static constexpr auto value = scalar::polygamma<double>;
  static constexpr auto wide = scalar::polygamma<long double>;
  static constexpr double nanoseconds = 300, range[][2] = {{2, 2}, {0.5, 3}};
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0], "polygamma: its order is a whole number, by which nothing can be differentiated");
    return {Array{}, v.ct[0] * by_element<Polygamma>(v.in[0] + 1, v.in[1])};
  }
};
/// The derivative of order k of digamma at a + b, less that at a: their difference has no digits where b is small
/// beside a.
struct PsiDifference {
  static constexpr std::string_view name = "psi_difference";
  static constexpr auto value = scalar::psi_difference<double>;
  static constexpr auto wide = scalar::psi_difference<long double>;
  static constexpr double nanoseconds = 150;
  static constexpr auto& range = kPositive;
  static Arrays vjp(int order, const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1];
    return {v.needs[0] ? v.ct[0] * by_order<PsiDifference>(order + 1, a, b) : Array{},
            v.needs[1] ? v.ct[0] * by_element<Polygamma>(full_like(a, order + 1), a + b) : Array{}};
  }
};
}  // namespace
Array psi(A x) { return by_element<Digamma>(x); }
Array psi_difference(A a, A b) { return by_order<PsiDifference>(0, a, b); }
namespace {
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
  static Arrays vjp(const Vjp& v) { return {v.ct[0] * by_element<RiemannZetaByS>(v.in[0])}; }
};
struct LogBeta {
  static constexpr std::string_view name = "betaln";
  static constexpr auto value = scalar::lbeta<double>;
  static constexpr auto wide = scalar::lbeta<long double>;
  static constexpr double nanoseconds = 100;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &ct = v.ct[0];
    return {v.needs[0] ? -(ct * psi_difference(a, b)) : Array{}, v.needs[1] ? -(ct * psi_difference(b, a)) : Array{}};
  }
};
/// The derivative of this order of a product: slope(j) and factor(j) are those of its parts.
template <class F, class G> Array of_product(int order, const F& slope, const G& factor) {
  Array sum = slope(order) * factor(0);
  double ways = 1;
  for (int j = 1; j <= order; ++j) {
    ways = ways * (order - j + 1) / j;
    sum = sum + ways * (slope(order - j) * factor(j));
  }
  return sum;
}
/// By the first argument: a value may leave the range where its derivative does not.
struct BetaFunctionSlope {
  static constexpr std::string_view name = "beta_slope";
  static constexpr auto value = scalar::beta_function_slope<double>;
  static constexpr auto wide = scalar::beta_function_slope<long double>;
  static constexpr double nanoseconds = 400;
  static constexpr auto& range = kPositive;
  static Arrays vjp(int order, const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &ct = v.ct[0];
    auto slope = [&](int k) { return by_order<BetaFunctionSlope>(k, a, b); };
    auto factor = [&](int j) {
      return j == 0 ? psi_difference(b, a) : by_element<Polygamma>(full_like(a, j), a + b);
    };
    auto by_b = [&] { return -of_product(order, slope, factor); };  // digamma(b) does not depend on a
    return {v.needs[0] ? ct * by_order<BetaFunctionSlope>(order + 1, a, b) : Array{},
            v.needs[1] ? ct * by_b() : Array{}};
  }
};
struct Beta {
  static constexpr std::string_view name = "beta";
  static constexpr auto value = scalar::beta<double>;
  static constexpr auto wide = scalar::beta<long double>;
  static constexpr double nanoseconds = 150;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &ct = v.ct[0];
    return {v.needs[0] ? ct * by_order<BetaFunctionSlope>(1, a, b) : Array{},
            v.needs[1] ? ct * by_order<BetaFunctionSlope>(1, b, a) : Array{}};
  }
};
struct PochSlope {
  static constexpr std::string_view name = "poch_slope";
  static constexpr auto value = scalar::poch_slope<double>;
  static constexpr auto wide = scalar::poch_slope<long double>;
  static constexpr double nanoseconds = 400;
  static constexpr auto& range = kPositive;
  static Arrays vjp(int order, const Vjp& v) {
    auto &z = v.in[0], &m = v.in[1], &ct = v.ct[0];
    auto slope = [&](int k) { return by_order<PochSlope>(k, z, m); };
    auto factor = [&](int j) { return by_element<Polygamma>(full_like(z, j), z + m); };
    auto by_m = [&] { return of_product(order, slope, factor); };
    return {v.needs[0] ? ct * by_order<PochSlope>(order + 1, z, m) : Array{}, v.needs[1] ? ct * by_m() : Array{}};
  }
};
struct LogPoch {
  static constexpr std::string_view name = "log_poch";
  static constexpr auto value = scalar::log_poch<double>;
  static constexpr auto wide = scalar::log_poch<long double>;
  static constexpr double nanoseconds = 100;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto &z = v.in[0], &m = v.in[1], &ct = v.ct[0];
    return {v.needs[0] ? ct * psi_difference(z, m) : Array{}, v.needs[1] ? ct * by_element<Digamma>(z + m) : Array{}};
  }
};
struct Poch {
  static constexpr std::string_view name = "poch";
  static constexpr auto value = scalar::poch<double>;
  static constexpr auto wide = scalar::poch<long double>;
  static constexpr double nanoseconds = 150;
  static constexpr auto& range = kPositive;
  static Arrays vjp(const Vjp& v) {
    auto &z = v.in[0], &m = v.in[1], &ct = v.ct[0];
    return {v.needs[0] ? ct * by_order<PochSlope>(1, z, m) : Array{},
            v.needs[1] ? ct * (v.out[0] * by_element<Digamma>(z + m)) : Array{}};
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
/// By n.
struct CombSlope {
  static constexpr std::string_view name = "comb_slope";
  static constexpr auto value = scalar::comb_slope<double>;
  static constexpr auto wide = scalar::comb_slope<long double>;
  static constexpr double nanoseconds = 400, range[][2] = {{4, 6}, {0.5, 3}};
  static Arrays vjp(int order, const Vjp& v) {
    auto &n = v.in[0], &k = v.in[1], &ct = v.ct[0];
    auto inside = k >= 0 && k <= n;
    auto chosen = where(inside, k, 0), rest = where(inside, n - k, 0);
    auto slope = [&](int j) { return by_order<CombSlope>(j, n, k); };
    auto factor = [&](int j) {
      return j == 0 ? psi_difference(chosen + 1, rest - chosen) : by_element<Polygamma>(full_like(n, j), rest + 1);
    };
    return {v.needs[0] ? ct * by_order<CombSlope>(order + 1, n, k) : Array{},
            v.needs[1] ? ct * of_product(order, slope, factor) : Array{}};
  }
};
struct Comb {
  static constexpr std::string_view name = "comb";
  static constexpr auto value = scalar::comb<double>;
  static constexpr auto wide = scalar::comb<long double>;
  static constexpr double nanoseconds = 150, range[][2] = {{4, 6}, {0.5, 3}};
  static Arrays vjp(const Vjp& v) { return CombSlope::vjp(0, v); }
};
}  // namespace
Array log_poch(A z, A m) { return by_element<LogPoch>(z, m); }
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
  return by_element<Polygamma>(stop_gradient(t.x[0]), t.x[1]).astype(t.dtype);
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
}  // namespace bora::special
