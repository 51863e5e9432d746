// The logarithms of the incomplete gamma and beta functions, which stay in the range where the functions leave it.
#include "ops/primitives/by_element.h"
#include "ops/scipy/special/densities.h"
#include "ops/scipy/special/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora::ops {
namespace {
constexpr double kShapes[][2] = {{0.5, 3}, {0.6, 4}};

template <bool upper> struct LogGammaIncByA {
  static constexpr std::string_view name = upper ? "log_gammaincc_by_a" : "log_gammainc_by_a";
  static double value(double a, double x) { return scalar::log_gammainc_by_a(a, x, upper); }
  static long double wide(long double a, long double x) { return scalar::log_gammainc_by_a(a, x, upper); }
  static constexpr double nanoseconds = 800;
  static constexpr auto& range = kShapes;
  static Arrays vjp(const Vjp& v);
};
/// The derivative of gammainc by x over gammainc or gammaincc; of the order k by x.
template <bool upper, int k> struct GammaHazard {
  static constexpr std::string_view name = upper ? (k == 0 ? "gamma_hazard" : "gamma_hazard_slope")
                                                 : (k == 0 ? "gamma_lower_hazard" : "gamma_lower_hazard_slope");
  static double value(double a, double x) { return scalar::gamma_hazard(k, a, x, upper); }
  static long double wide(long double a, long double x) { return scalar::gamma_hazard(k, a, x, upper); }
  static constexpr double nanoseconds = 400;
  static constexpr auto& range = kShapes;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &x = v.in[1], &ct = v.ct[0];
    // By a the logarithm of the ratio has the derivative log(x) - digamma(a) less that of the divisor.
    auto own = [&] { return log(x) - psi(a) - by_element<LogGammaIncByA<upper>>(a, x); };
    if constexpr (k == 0) {
      return {v.needs[0] ? ct * (v.out[0] * own()) : Array{},
              v.needs[1] ? ct * by_element<GammaHazard<upper, 1>>(a, x) : Array{}};
    } else {
      auto r = by_element<GammaHazard<upper, 0>>(a, x), sign = full_like(r, upper ? 1 : -1);
      auto by_x = [&] {
        return square(v.out[0]) / r + r * (sign * v.out[0] - (a - 1) / x / x);
      };
      return {v.needs[0] ? ct * (v.out[0] * own() + r * (1 / x + sign * r * own())) : Array{},
              v.needs[1] ? ct * by_x() : Array{}};
    }
  }
};
template <bool upper> Arrays LogGammaIncByA<upper>::vjp(const Vjp& v) {
  check<TraceError>(!v.needs[0], "gamma.", upper ? "logsf" : "logcdf",
                    ": its derivative by a cannot be differentiated by a again");
  auto &a = v.in[0], &x = v.in[1];
  auto r = by_element<GammaHazard<upper, 0>>(a, x) * (log(x) - psi(a) - v.out[0]);
  return {Array{}, upper ? -(v.ct[0] * r) : v.ct[0] * r};
}
template <bool upper> struct LogGammaInc {
  static constexpr std::string_view name = upper ? "log_gammaincc" : "log_gammainc";
  static double value(double a, double x) { return scalar::log_gammainc(a, x, upper); }
  static long double wide(long double a, long double x) { return scalar::log_gammainc(a, x, upper); }
  static constexpr double nanoseconds = 500;
  static constexpr auto& range = kShapes;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &x = v.in[1];
    auto r = [&] { return v.ct[0] * by_element<GammaHazard<upper, 0>>(a, x); };
    return {v.needs[0] ? v.ct[0] * by_element<LogGammaIncByA<upper>>(a, x) : Array{},
            v.needs[1] ? (upper ? -r() : r()) : Array{}};
  }
};
constexpr double kSides[][2] = {{0.5, 3}, {0.6, 4}, {0.2, 0.8}};
template <bool upper, bool first> struct LogBetaIncBy {
  static constexpr std::string_view name = upper ? (first ? "log_betaincc_by_a" : "log_betaincc_by_b")
                                                 : (first ? "log_betainc_by_a" : "log_betainc_by_b");
  static double value(double a, double b, double x) { return scalar::log_betainc_by(a, b, x, upper, first); }
  static long double wide(long double a, long double b, long double x) {
    return scalar::log_betainc_by(a, b, x, upper, first);
  }
  static constexpr double nanoseconds = 1000;
  static constexpr auto& range = kSides;
  static Arrays vjp(const Vjp& v);
};
/// The derivative by a (or b) of the logarithm of the density.
Array log_density_by(A a, A b, A x, bool first) {
  return first ? log(x) + psi_difference(a, b) : log1p(-x) + psi_difference(b, a);
}
/// The derivative of betainc by x over betainc or over the rest.
template <bool upper> struct BetaHazard {
  static constexpr std::string_view name = upper ? "beta_hazard" : "beta_lower_hazard";
  static double value(double a, double b, double x) { return scalar::beta_hazard(a, b, x, upper); }
  static long double wide(long double a, long double b, long double x) { return scalar::beta_hazard(a, b, x, upper); }
  static constexpr double nanoseconds = 600;
  static constexpr auto& range = kSides;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2], &r = v.out[0];
    auto ct = v.ct[0] * r;
    auto by_a = [&] { return log_density_by(a, b, x, true) - by_element<LogBetaIncBy<upper, true>>(a, b, x); };
    auto by_b = [&] { return log_density_by(a, b, x, false) - by_element<LogBetaIncBy<upper, false>>(a, b, x); };
    return {v.needs[0] ? ct * by_a() : Array{}, v.needs[1] ? ct * by_b() : Array{},
            v.needs[2] ? ct * ((a - 1) / x - (b - 1) / (1 - x) + (upper ? r : -r)) : Array{}};
  }
};
template <bool upper, bool first> Arrays LogBetaIncBy<upper, first>::vjp(const Vjp& v) {
  check<TraceError>(!v.needs[0] && !v.needs[1], "beta.", upper ? "logsf" : "logcdf",
                    ": its derivatives by a and b cannot be differentiated by a or b again");
  auto &a = v.in[0], &b = v.in[1], &x = v.in[2];
  auto r = by_element<BetaHazard<upper>>(a, b, x) * (log_density_by(a, b, x, first) - v.out[0]);
  return {Array{}, Array{}, upper ? -(v.ct[0] * r) : v.ct[0] * r};
}
template <bool upper> struct LogBetaInc {
  static constexpr std::string_view name = upper ? "log_betaincc" : "log_betainc";
  static double value(double a, double b, double x) { return scalar::log_betainc(a, b, x, upper); }
  static long double wide(long double a, long double b, long double x) { return scalar::log_betainc(a, b, x, upper); }
  static constexpr double nanoseconds = 600;
  static constexpr auto& range = kSides;
  static Arrays vjp(const Vjp& v) {
    auto &a = v.in[0], &b = v.in[1], &x = v.in[2], &ct = v.ct[0];
    auto r = [&] { return ct * by_element<BetaHazard<upper>>(a, b, x); };
    return {v.needs[0] ? ct * by_element<LogBetaIncBy<upper, true>>(a, b, x) : Array{},
            v.needs[1] ? ct * by_element<LogBetaIncBy<upper, false>>(a, b, x) : Array{},
            v.needs[2] ? (upper ? -r() : r()) : Array{}};
  }
};
}  // namespace
Array log_betainc(A a, A b, A x) { return by_element<LogBetaInc<false>>(a, b, x); }
Array log_betaincc(A a, A b, A x) { return by_element<LogBetaInc<true>>(a, b, x); }
Array log_gammainc(A a, A x) { return by_element<LogGammaInc<false>>(a, x); }
Array log_gammaincc(A a, A x) { return by_element<LogGammaInc<true>>(a, x); }
}  // namespace bora::ops
