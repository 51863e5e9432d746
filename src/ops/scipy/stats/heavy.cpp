// Distributions with heavy tails.
#include "bora/ops/special.h"
#include "ops/primitives/formula.h"
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/stats/distribution.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora::stats {
namespace cauchy {
namespace {
Array log_density(A x, A loc, A scale) {
  return -(std::log(kPi) + log(scale) + log1p_square((x - loc) / scale));
}
/// tan(pi (p - 1/2)); near 0 and 1 from the distance to them, which has all its digits.
Array unscaled(A p) {
  auto low = p >= 0 && p < 0.25, tail = low || (p > 0.75 && p <= 1);
  auto distance = where(tail, where(low, p, 1 - p), 0.125), middle = where(tail, 0.5, p);
  auto far = 1 / tan(kPi * distance);
  return where(no_probability(p), kNan, where(tail, where(low, -far, far), tan(kPi * (middle - 0.5))));
}
/// The angle of (-d, s) over pi is the distribution function, d the distance from loc. Its derivatives of the order k
/// are (k - 1)! r^-k times the sine or the cosine of k angles, and derivatives of each other.
template <class T> T wave(int k, T d, T s, bool sine) {
  T far = std::fabs(d), r = std::hypot(d, s), y;
  if (far >= s) {
    T small = k * std::atan(s / far);
    bool mirrored = d > 0 && k % 2 == 0;
    y = sine ? (mirrored ? -std::sin(small) : std::sin(small)) : std::cos(small);
    if (!sine && d > 0 && k % 2 != 0) y = -y;
  } else {
    T turn = k * std::atan(d / s);  // behind k quarters
    T sines[] = {std::sin(turn), std::cos(turn), -std::sin(turn), -std::cos(turn)};
    y = sines[(k + (sine ? 0 : 1)) % 4];
  }
  y /= std::numbers::pi_v<T>;
  for (int i = 0; i < k; ++i) y = y / r * (i > 0 ? i : 1);
  return y;
}
template <bool sine> struct Wave {
  static constexpr std::string_view name = sine ? "cauchy_sine" : "cauchy_cosine";
  static double value(int k, double d, double s) { return wave(k, d, s, sine); }
  static long double wide(int k, long double d, long double s) { return wave(k, d, s, sine); }
  static constexpr double nanoseconds = 80, range[][2] = {{-3, 3}, {0.5, 2}};
  static Arrays vjp(int order, const Vjp& v) {
    auto other = [&] { return v.ct[0] * by_order<Wave<!sine>>(order + 1, v.in[0], v.in[1]); };
    return {v.needs[0] ? v.ct[0] * by_order<Wave<sine>>(order + 1, v.in[0], v.in[1]) : Array{},
            v.needs[1] ? (sine ? other() : -other()) : Array{}};
  }
};
template <class T> T distribution_function(T d, T s) { return std::atan2(s, -d) / std::numbers::pi_v<T>; }
struct Distribution {
  static constexpr std::string_view name = "cauchy_cdf";
  static constexpr auto value = distribution_function<double>;
  static constexpr auto wide = distribution_function<long double>;
  static constexpr double nanoseconds = 40, range[][2] = {{-3, 3}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) {
    return {v.needs[0] ? v.ct[0] * by_order<Wave<true>>(1, v.in[0], v.in[1]) : Array{},
            v.needs[1] ? v.ct[0] * by_order<Wave<false>>(1, v.in[0], v.in[1]) : Array{}};
  }
};
/// The density, as fast operations, with the derivatives above.
struct CauchyDensity {
  static constexpr std::string_view name = "cauchy_density";
  static Array value(A d, A s) { return std::numbers::inv_pi / (s + d * (d / s)); }
  static constexpr double range[][2] = {{-3, 3}, {0.5, 2}};
  static Arrays vjp(const Vjp& v) { return Wave<true>::vjp(1, v); }
};
Array valid_scale(A scale) { return where(scale > 0, scale, kNan); }
Array distribution(A d, A scale) { return by_element<Distribution>(d, valid_scale(scale)); }
/// Its logarithm, from the smaller of both probabilities.
Array log_distribution(A d, A scale) {
  auto upper = d > 0, small = distribution(where(upper, -d, d), scale);
  return where(upper, log1p(-where(upper, small, 0)), log(where(upper, 1, small)));
}
}  // namespace

Array logpdf(O x, O loc, O scale) { return of("cauchy.logpdf", log_density, x, loc, scale); }
Array pdf(O x, O loc, O scale) {
  return of(
      "cauchy.pdf", [](A v, A l, A s) { return by_formula<CauchyDensity>(v - l, valid_scale(s)); }, x, loc, scale);
}
Array cdf(O x, O loc, O scale) {
  return of("cauchy.cdf", [](A v, A l, A s) { return distribution(v - l, s); }, x, loc, scale);
}
Array logcdf(O x, O loc, O scale) {
  return of("cauchy.logcdf", [](A v, A l, A s) { return log_distribution(v - l, s); }, x, loc, scale);
}
Array sf(O x, O loc, O scale) {
  return of("cauchy.sf", [](A v, A l, A s) { return distribution(l - v, s); }, x, loc, scale);
}
Array logsf(O x, O loc, O scale) {
  return of("cauchy.logsf", [](A v, A l, A s) { return log_distribution(l - v, s); }, x, loc, scale);
}
Array ppf(O q, O loc, O scale) {
  return of("cauchy.ppf", [](A p, A l, A s) { return unscaled(p) * s + l; }, q, loc, scale);
}
Array isf(O q, O loc, O scale) {
  return of("cauchy.isf", [](A p, A l, A s) { return l - unscaled(p) * s; }, q, loc, scale);
}
}  // namespace cauchy

namespace t {
namespace {
/// log(density) of y with the scale 1; for k > 0 its k-th derivative by df. z = y^2 / (df + y^2): each part is small
/// where df is large, and their sum is what is left.
template <class T> T student(int k, T y, T df) {
  T root = y / std::sqrt(df), q = root * root, z = q < 1 ? q / (1 + q) : 1 / (1 + 1 / q), left = 1 / (1 + q);  // 1 - z
  if (k == 0) {
    T tail = q < 1 ? std::log1p(q) : 2 * std::log(std::fabs(root)) + std::log1p(1 / q);
    return -std::log(df) / 2 - scalar::lbeta(df / 2, T(0.5)) - (df + 1) / 2 * tail;
  }
  if (k == 1) return (scalar::psi_difference(0, df / 2, T(0.5)) - 1 / df - scalar::deviance(-z, left) + z / df) / 2;
  return (scalar::psi_difference(1, df / 2, T(0.5)) / 2 + 1 / (df * df) + z * z / df - z * (1 + left) / (df * df)) / 2;
}
/// y / (df + y^2).
Array pull(A y, A df) {
  auto far = square(y) > df, u = where(far, y, 1);
  return where(far, 1 / (df / u + u), where(far, 0, y) / (df + square(where(far, 0, y))));
}
struct Student {
  static constexpr std::string_view name = "student_exponent";
  static constexpr auto value = student<double>;
  static constexpr auto wide = student<long double>;
  static constexpr double nanoseconds = 200, range[][2] = {{0.5, 3}, {1, 5}};
  static Arrays vjp(int order, const Vjp& v) {
    const auto &y = v.in[0], &df = v.in[1], &ct = v.ct[0];
    auto slope = pull(y, df), z = y * slope;
    auto by_y = [&] {
      if (order == 0) return -((df + 1) * slope);
      if (order == 1) return slope * ((1 - z) / df - z);
      return slope * (1 - z) * (2 * z / df - 2 * (1 - z) / df / df);
    };
    auto by_df = [&] {
      if (order < 2) return by_order<Student>(order + 1, y, df);
      auto third = by_df_of_difference(df) - 2 / df / df / df - z * z * (3 - 2 * z) / df / df +
                   (2 * (1 - z) * z * (1 - z) + 2 * z * (2 - z)) / df / df / df;
      return 0.5 * third;
    };
    return {v.needs[0] ? ct * by_y() : Array{}, v.needs[1] ? ct * by_df() : Array{}};
  }
  /// A quarter of the second derivative of the difference of digamma at df / 2 + 1/2 and at df / 2.
  static Array by_df_of_difference(A df) {
    auto h = 0.5 * df;
    return 0.25 * (special::polygamma(2, h + 0.5) - special::polygamma(2, h));
  }
};
Array log_density(A x, A df, A loc, A scale) {
  return by_order<Student>(0, (x - loc) / scale, df) - log(abs(scale));
}
struct StudentDensity {
  static constexpr std::string_view name = "student_density";
  static Array value(A y, A df) {
    auto root = sqrt(df);
    return power(hypot(ones_like(y), y / root), -(df + 1)) / (root * special::beta(0.5 * df, 0.5));
  }
  static constexpr double range[][2] = {{0.5, 3}, {1, 5}};
  static Arrays vjp(const Vjp& v) {
    const auto &y = v.in[0], &df = v.in[1];
    auto ct = v.ct[0] * v.out[0];
    return {v.needs[0] ? -(ct * ((df + 1) * pull(y, df))) : Array{},
            v.needs[1] ? ct * by_order<Student>(1, y, df) : Array{}};
  }
};
Array density(A x, A df, A loc, A scale) {
  auto s = abs(scale);
  return by_formula<StudentDensity>((x - loc) / s, df) / s;
}
}  // namespace

Array logpdf(O x, O df, O loc, O scale) { return of("t.logpdf", log_density, x, df, loc, scale); }
Array pdf(O x, O df, O loc, O scale) { return of("t.pdf", density, x, df, loc, scale); }
}  // namespace t
}  // namespace bora::stats
