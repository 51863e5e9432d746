// The incomplete gamma and beta functions, and the densities that are their derivatives: primitives, one block each.
#include "bora/ops/ufuncs.h"
#include "ops/primitives/by_element.h"
#include "ops/scipy/special/densities.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"

namespace bora::ops {
namespace {
constexpr double kAbove[][2] = {{0.5, 3}, {0.6, 4}, {0.2, 0.8}};
/// y / x, 0 at 0 / 0.
Array over(A y, A x) { return y / where(y == 0 && x == 0, 1, x); }
struct LogGammaDensity {
  static constexpr std::string_view name = "log_gamma_density";
  static constexpr auto value = scalar::log_gamma_density<double>;
  static constexpr auto wide = scalar::log_gamma_density<long double>;
  static constexpr double nanoseconds = 80;
  static constexpr auto& range = kAbove;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &x = v.in[1], &ct = v.ct[0];
    return {v.needs[0] ? ct * (log(x) - psi(a)) : Array{},
            v.needs[1] ? ct * (over(a - 1, x) - 1) : Array{}};
  }
};
struct LogBetaDensity {
  static constexpr std::string_view name = "log_beta_density";
  static constexpr auto value = scalar::log_beta_density<double>;
  static constexpr auto wide = scalar::log_beta_density<long double>;
  static constexpr double nanoseconds = 120;
  static constexpr auto& range = kAbove;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2], &ct = v.ct[0];
    return {v.needs[0] ? ct * (log(x) + psi_difference(a, b)) : Array{},
            v.needs[1] ? ct * (log1p(-x) + psi_difference(b, a)) : Array{},
            v.needs[2] ? ct * (over(a - 1, x) - over(b - 1, 1 - x)) : Array{}};
  }
};
/// The derivative of this order by x of g(x) log(y), where y is x or 1 - x, y_slope its derivative, and lower(j) that
/// of order j of g.
template <class F> Array by_exponent(int order, A y, double y_slope, const F& lower) {
  Array sum = lower(order) * log(y);
  double factor = y_slope;  // of y^-j in the j-th derivative of log(y), times order choose j
  for (int j = 1; j <= order; ++j) {
    factor *= j == 1 ? order : -y_slope * (j - 1) * (order - j + 1) / j;
    Array part = factor * lower(order - j);
    for (int i = 0; i < j; ++i) part = part / y;
    sum = sum + part;
  }
  return sum;
}
/// x^(a - 1) e^-x / gamma(a), the derivative of gammainc by x, and its derivatives by x. At x = 0 the limits.
struct GammaSlope {
  static constexpr std::string_view name = "gamma_density_slope";
  static constexpr auto value = scalar::gamma_slope<double>;
  static constexpr auto wide = scalar::gamma_slope<long double>;
  static constexpr double nanoseconds = 100;
  static constexpr auto& range = kAbove;
  static Arrays vjp(int order, const Vjp& v) {
    auto &a = v.in[0], &x = v.in[1], &ct = v.ct[0];
    auto by_a = [&] {
      auto lower = [&](int k) { return k == order ? v.out[0] : by_order<GammaSlope>(k, a, x); };
      return by_exponent(order, x, 1, lower) - v.out[0] * psi(a);
    };
    return {v.needs[0] ? ct * by_a() : Array{}, v.needs[1] ? ct * by_order<GammaSlope>(order + 1, a, x) : Array{}};
  }
};
}  // namespace
Array log_gamma_density(A a, A x) { return by_element<LogGammaDensity>(a, x); }
Array log_beta_density(A a, A b, A x) { return by_element<LogBetaDensity>(a, b, x); }
Array gamma_density(A a, A x) { return by_order<GammaSlope>(0, a, x); }
namespace {
struct GammaIncByA {
  static constexpr std::string_view name = "gammainc_by_a";
  static constexpr auto value = scalar::gammainc_by_a<double>;
  static constexpr auto wide = scalar::gammainc_by_a<long double>;
  static constexpr double nanoseconds = 500;
  static constexpr auto& range = kAbove;
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0], "gammainc: its derivative by a cannot be differentiated by a again");
    auto &a = v.in[0], &x = v.in[1];
    return {Array{}, v.ct[0] * (gamma_density(a, x) * (log(x) - psi(a)))};
  }
};
Arrays gammainc_gradients(const Vjp& v, const Array& ct) {
  auto &a = v.in[0], &x = v.in[1];
  return {v.needs[0] ? ct * by_element<GammaIncByA>(a, x) : Array{}, v.needs[1] ? ct * gamma_density(a, x) : Array{}};
}
struct GammaInc {
  static constexpr std::string_view name = "gammainc";
  static constexpr auto value = scalar::gammainc<double>;
  static constexpr auto wide = scalar::gammainc<long double>;
  static constexpr double nanoseconds = 300;
  static constexpr auto& range = kAbove;
  static Arrays vjp(const Vjp& v) { return gammainc_gradients(v, v.ct[0]); }
};
struct GammaIncC {
  static constexpr std::string_view name = "gammaincc";
  static constexpr auto value = scalar::gammaincc<double>;
  static constexpr auto wide = scalar::gammaincc<long double>;
  static constexpr double nanoseconds = 300;
  static constexpr auto& range = kAbove;
  static Arrays vjp(const Vjp& v) { return gammainc_gradients(v, -v.ct[0]); }
};

/// x^(a - 1) (1 - x)^(b - 1) / B(a, b), the derivative of betainc by x, and its derivatives by x. At the ends the
/// limits.
struct BetaSlope {
  static constexpr std::string_view name = "beta_density_slope";
  static constexpr auto value = scalar::beta_slope<double>;
  static constexpr auto wide = scalar::beta_slope<long double>;
  static constexpr double nanoseconds = 150;
  static constexpr auto& range = kAbove;
  static Arrays vjp(int order, const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2], &ct = v.ct[0];
    auto lower = [&](int k) { return k == order ? v.out[0] : by_order<BetaSlope>(k, a, b, x); };
    auto by_b = [&] {
      Array logarithm = v.out[0] * log1p(-x);
      return order == 0 ? logarithm : by_exponent(order, 1 - x, -1, lower) - v.out[0] * log(1 - x) + logarithm;
    };
    return {v.needs[0] ? ct * (by_exponent(order, x, 1, lower) + v.out[0] * psi_difference(a, b)) : Array{},
            v.needs[1] ? ct * (by_b() + v.out[0] * psi_difference(b, a)) : Array{},
            v.needs[2] ? ct * by_order<BetaSlope>(order + 1, a, b, x) : Array{}};
  }
};
}  // namespace
Array beta_density(A a, A b, A x) { return by_order<BetaSlope>(0, a, b, x); }
namespace {
template <bool first> struct BetaIncBy {
  static constexpr std::string_view name = first ? "betainc_by_a" : "betainc_by_b";
  static constexpr auto value = first ? scalar::betainc_by_a<double> : scalar::betainc_by_b<double>;
  static constexpr auto wide = first ? scalar::betainc_by_a<long double> : scalar::betainc_by_b<long double>;
  static constexpr double nanoseconds = 800;
  static constexpr auto& range = kAbove;
  static Arrays vjp(const Vjp& v) {
    check<TraceError>(!v.needs[0] && !v.needs[1],
                      "betainc: its derivatives by a and b cannot be differentiated by a or b again");
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2];
    auto factor = first ? log(x) + psi_difference(a, b) : log1p(-x) + psi_difference(b, a);
    return {Array{}, Array{}, v.ct[0] * (beta_density(a, b, x) * factor)};
  }
};
struct BetaInc {
  static constexpr std::string_view name = "betainc";
  static constexpr auto value = scalar::betainc<double>;
  static constexpr auto wide = scalar::betainc<long double>;
  static constexpr double nanoseconds = 500;
  static constexpr auto& range = kAbove;
  static Arrays gradients(const Vjp& v, const Array& ct) {
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2];
    return {v.needs[0] ? ct * by_element<BetaIncBy<true>>(a, b, x) : Array{},
            v.needs[1] ? ct * by_element<BetaIncBy<false>>(a, b, x) : Array{},
            v.needs[2] ? ct * beta_density(a, b, x) : Array{}};
  }
  static Arrays vjp(const Vjp& v) { return gradients(v, v.ct[0]); }
};
struct BetaIncC {
  static constexpr std::string_view name = "betaincc";
  static constexpr auto value = scalar::betaincc<double>;
  static constexpr auto wide = scalar::betaincc<long double>;
  static constexpr double nanoseconds = 500;
  static constexpr auto& range = kAbove;
  static Arrays vjp(const Vjp& v) { return BetaInc::gradients(v, -v.ct[0]); }
};
}  // namespace
Array betaincc(A a, A b, A x) { return by_element<BetaIncC>(a, b, x); }
}  // namespace bora::ops

namespace bora::special {
using namespace ops;
Array gammainc(const Operand& a, const Operand& x) { return at_elements<GammaInc>("gammainc", a, x); }
Array gammaincc(const Operand& a, const Operand& x) { return at_elements<GammaIncC>("gammaincc", a, x); }
Array betainc(const Operand& a, const Operand& b, const Operand& x) {
  auto t = one_type("betainc", {a, b, x});
  return by_element<BetaInc>(t.x[0], t.x[1], t.x[2]).astype(t.dtype);
}
}  // namespace bora::special
