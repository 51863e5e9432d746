// Accuracy of elementary functions in units of the last place, special values, and the same bits from both instruction sets.
#include <gtest/gtest.h>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include "loop_build.h"

namespace bora::kernels::test {
namespace {
using Limits32 = std::numeric_limits<float>;
using Limits64 = std::numeric_limits<double>;
constexpr float inf32 = Limits32::infinity(), nan32 = Limits32::quiet_NaN();
constexpr double inf = Limits64::infinity(), nan64 = Limits64::quiet_NaN();

template <class T> double ulps(T got, long double want) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  const T w = static_cast<T>(want);
  if (got == w)
    return std::isinf(w) ? 0
                         : static_cast<double>(std::fabs((static_cast<long double>(got) - want))) /
                               static_cast<double>(std::nextafter(std::fabs(w), std::numeric_limits<T>::infinity()) -
                                                   std::fabs(w));
  if (!std::isfinite(got) || !std::isfinite(w)) return 1e30;
  const T a = std::fabs(w);
  const long double step = static_cast<long double>(std::nextafter(a, std::numeric_limits<T>::infinity())) - a;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / step);
}
struct Case {
  const char* name;
  double low, high;
  double bound32, bound64;
  long double (*f)(long double);
  double low64 = 0, high64 = 0;
};
long double logistic_reference(long double x) { return 1 / (1 + std::exp(-x)); }
const Case kCases[] = {
    {"exp", -104, 89, 1.5, 1.5, [](long double x) { return std::exp(x); }, -745, 710},
    {"expm1", -20, 89, 2, 2, [](long double x) { return std::expm1(x); }, -40, 709},
    {"expm1", -1, 1, 2, 2, [](long double x) { return std::expm1(x); }, -1, 1},
    {"log", 1e-44, 1e38, 1.5, 1.5, [](long double x) { return std::log(x); }, 1e-320, 1e300},
    {"log", 0.5, 2, 1.5, 1.5, [](long double x) { return std::log(x); }, 0.5, 2},
    {"log1p", -0.9999999, 1e30, 2, 2, [](long double x) { return std::log1p(x); }, -0.99999999999, 1e300},
    {"log1p", -0.5, 1, 2, 2, [](long double x) { return std::log1p(x); }, -0.5, 1},
    {"tanh", -10, 10, 2, 4, [](long double x) { return std::tanh(x); }, -20, 20},
    {"tanh", -1, 1, 2, 4, [](long double x) { return std::tanh(x); }, -1, 1},
    {"logistic", -100, 100, 4, 4, logistic_reference, -700, 700},
    {"erf", -5, 5, 3, 3, [](long double x) { return std::erf(x); }, -7, 7},
    {"erf", -1, 1, 3, 3, [](long double x) { return std::erf(x); }, -1, 1},
    {"sqrt", 1e-44, 1e38, 0.501, 0.501, [](long double x) { return std::sqrt(x); }, 1e-320, 1e300},
    {"rsqrt", 1e-44, 1e38, 2, 2, [](long double x) { return 1 / std::sqrt(x); }, 1e-320, 1e300},
    {"sin", -100, 100, 2, 2, [](long double x) { return std::sin(x); }, -100, 100},
    {"sin", -1e5, 1e5, 2, 3, [](long double x) { return std::sin(x); }, -2e6, 2e6},
    {"cos", -100, 100, 2, 2, [](long double x) { return std::cos(x); }, -100, 100},
    {"cos", -1e5, 1e5, 2, 3, [](long double x) { return std::cos(x); }, -2e6, 2e6},
};
template <class T> void sample(const Case& c, std::vector<T>& x, double low, double high, std::size_t n) {
  std::mt19937_64 g(7);
  std::uniform_real_distribution<double> linear(low, high), unit(0, 1);
  x.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    double v = linear(g);
    if (i % 2 && low * high > 0) v = std::exp(std::log(low) + unit(g) * (std::log(high) - std::log(low)));
    else if (i % 2) v = std::copysign(std::exp(unit(g) * std::log(std::fabs(v) * 1e12 + 1e-300)) * 1e-12, v);
    x[i] = static_cast<T>(v);
    if (static_cast<double>(x[i]) < low) x[i] = static_cast<T>(low);
    if (static_cast<double>(x[i]) > high) x[i] = static_cast<T>(high);
  }
  (void)c;
}
template <class T> void accuracy(const Case& c, Dtype d, double low, double high, double bound, std::size_t n) {
  std::vector<T> x;
  sample(c, x, low, high, n);
  std::vector<T> y(n), z(n);
  apply(c.name, d, {x.data()}, y.data(), static_cast<std::int64_t>(n), Isa::v3);
  double worst = 0;
  T where = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (double e = ulps<T>(y[i], c.f(static_cast<long double>(x[i]))); !(e <= worst)) worst = e, where = x[i];
  std::printf("%-9s %s [%g, %g]  %.3f ulp at %.9g\n", c.name, d == f32 ? "f32" : "f64", low, high, worst,
              static_cast<double>(where));
  EXPECT_LE(worst, bound) << c.name << " at " << where;
  if (!has_v4()) return;
  apply(c.name, d, {x.data()}, z.data(), static_cast<std::int64_t>(n), Isa::v4);
  EXPECT_EQ(std::memcmp(y.data(), z.data(), n * sizeof(T)), 0) << c.name << ": v3 and v4 differ";
}
TEST(LoopMath, AccuracyF32) {
  for (const Case& c : kCases) accuracy<float>(c, f32, c.low, c.high, c.bound32, 400000);
}
TEST(LoopMath, AccuracyF64) {
  for (const Case& c : kCases) accuracy<double>(c, f64, c.low64, c.high64, c.bound64, 150000);
}
template <class T> T one(const char* name, Dtype d, T x) {
  T y;
  apply(name, d, {&x}, &y, 1);
  return y;
}
template <class T> void special(Dtype d) {
  using N = std::numeric_limits<T>;
  const T big = N::infinity(), nan = N::quiet_NaN(), tiny = N::denorm_min();
  auto at = [&](const char* name, T x) { return one<T>(name, d, x); };
  for (const char* f : {"exp", "expm1", "log", "log1p", "tanh", "logistic", "erf", "erf_inv", "sin", "cos", "sqrt",
                        "rsqrt", "floor", "ceil", "round", "neg", "abs", "sign"})
    EXPECT_TRUE(std::isnan(at(f, nan))) << f;
  EXPECT_EQ(at("exp", big), big);
  EXPECT_EQ(at("exp", -big), T(0));
  EXPECT_EQ(at("exp", T(0)), T(1));
  EXPECT_EQ(at("exp", std::log(tiny) * T(0.995)), std::exp(std::log(tiny) * T(0.995)));
  EXPECT_EQ(at("expm1", big), big);
  EXPECT_EQ(at("expm1", -big), T(-1));
  EXPECT_EQ(at("expm1", tiny), tiny);
  EXPECT_EQ(at("log", T(0)), -big);
  EXPECT_EQ(at("log", big), big);
  EXPECT_TRUE(std::isnan(at("log", T(-1))));
  EXPECT_EQ(at("log", T(1)), T(0));
  EXPECT_EQ(at("log1p", T(-1)), -big);
  EXPECT_EQ(at("log1p", big), big);
  EXPECT_TRUE(std::isnan(at("log1p", T(-1.5))));
  EXPECT_TRUE(std::signbit(at("log1p", T(-0.0))));
  EXPECT_EQ(at("log1p", tiny), tiny);
  for (const char* f : {"tanh", "erf"}) {
    EXPECT_EQ(at(f, big), T(1)) << f;
    EXPECT_EQ(at(f, -big), T(-1)) << f;
    EXPECT_TRUE(std::signbit(at(f, T(-0.0)))) << f;
    EXPECT_LE(at(f, T(3.9)), T(1)) << f;
  }
  EXPECT_EQ(at("logistic", big), T(1));
  EXPECT_EQ(at("logistic", -big), T(0));
  EXPECT_EQ(at("logistic", T(0)), T(0.5));
  EXPECT_EQ(at("erf_inv", T(1)), big);
  EXPECT_EQ(at("erf_inv", T(-1)), -big);
  EXPECT_TRUE(std::isnan(at("erf_inv", T(1.5))));
  EXPECT_EQ(at("erf_inv", T(0)), T(0));
  EXPECT_TRUE(std::isnan(at("sin", big)));
  EXPECT_TRUE(std::isnan(at("cos", -big)));
  EXPECT_EQ(at("sqrt", T(0)), T(0));
  EXPECT_EQ(at("rsqrt", T(0)), big);
  EXPECT_EQ(at("rsqrt", big), T(0));
  EXPECT_EQ(at("round", T(0.5)), T(0));
  EXPECT_EQ(at("round", T(1.5)), T(2));
  EXPECT_EQ(at("round", T(-2.5)), T(-2));
  EXPECT_EQ(at("floor", T(-0.5)), T(-1));
  EXPECT_EQ(at("ceil", T(0.5)), T(1));
  EXPECT_EQ(at("sign", T(-3)), T(-1));
  EXPECT_EQ(at("sign", tiny), T(1));
  EXPECT_EQ(at("sign", T(0)), T(0));
  EXPECT_TRUE(std::signbit(at("neg", T(0))));
  for (T x : {T(1e22), T(-1e30), T(8192.5), T(1e7), T(3.4e38), T(16384)}) {
    EXPECT_LE(ulps<T>(at("sin", x), std::sin(static_cast<long double>(x))), 1.5) << x;
    EXPECT_LE(ulps<T>(at("cos", x), std::cos(static_cast<long double>(x))), 1.5) << x;
  }
}
TEST(LoopMath, SpecialValuesF32) { special<float>(f32); }
TEST(LoopMath, SpecialValuesF64) {
  special<double>(f64);
  for (double x : {1e300, 6381956970095103.0 * std::ldexp(1, 797), 1.7e308, 1e6,
                   -3e6})  // the second: closest to a multiple of pi/2
    EXPECT_LE(ulps<double>(one<double>("sin", f64, x), std::sin(static_cast<long double>(x))), 1.5) << x;
}
TEST(LoopMath, ErfInvInverts) {
  std::vector<double> x, y(2001), z(2001);
  for (int i = -1000; i <= 1000; ++i) x.push_back(i / 1000.0 * (1 - 1e-12));
  apply("erf_inv", f64, {x.data()}, y.data(), 2001);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(std::erf(y[i]), x[i], 1e-15) << x[i];
  std::vector<float> a, b(2001);
  for (double v : x) a.push_back(static_cast<float>(v));
  apply("erf_inv", f32, {a.data()}, b.data(), 2001);
  for (std::size_t i = 1; i + 1 < a.size(); ++i) EXPECT_NEAR(std::erf(static_cast<double>(b[i])), a[i], 2e-7) << a[i];
}
template <class T> void powers(Dtype d, double bound) {
  std::mt19937_64 g(3);
  std::vector<T> x, y;
  std::uniform_real_distribution<double> base(-20, 20), exponent(-15, 15);
  for (int i = 0; i < 60000; ++i) {
    x.push_back(static_cast<T>(std::exp(base(g))));
    y.push_back(static_cast<T>(i % 3 ? exponent(g) : std::round(exponent(g))));
    if (i % 3 == 0 && i % 2) x.back() = -x.back();
  }
  const T s[] = {T(0),
                 T(-0.0),
                 T(1),
                 T(-1),
                 T(0.5),
                 T(2),
                 T(-2),
                 T(3),
                 T(-3),
                 T(2.5),
                 std::numeric_limits<T>::infinity(),
                 -std::numeric_limits<T>::infinity(),
                 std::numeric_limits<T>::quiet_NaN(),
                 std::numeric_limits<T>::denorm_min()};
  for (T a : s)
    for (T b : s) x.push_back(a), y.push_back(b);
  std::vector<T> z(x.size());
  apply("pow", d, {x.data(), y.data()}, z.data(), static_cast<std::int64_t>(x.size()));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double e = ulps<T>(z[i], std::pow(static_cast<long double>(x[i]), static_cast<long double>(y[i])));
    worst = std::max(worst, e);
    ASSERT_LE(e, bound) << x[i] << "^" << y[i] << " = " << z[i];
  }
  std::printf("pow       %s %.3f ulp\n", d == f32 ? "f32" : "f64", worst);
}
TEST(LoopMath, PowF32) { powers<float>(f32, 2); }
TEST(LoopMath, PowF64) { powers<double>(f64, 4); }
template <class T> void remainders(Dtype d) {
  std::mt19937_64 g(5);
  std::uniform_real_distribution<double> e(-30, 30), sign(-1, 1);
  std::vector<T> x, y;
  for (int i = 0; i < 50000; ++i) {
    x.push_back(static_cast<T>(std::exp(e(g)) * sign(g)));
    y.push_back(static_cast<T>(i % 2 ? x.back() / (1 + i % 7) : std::exp(e(g)) * sign(g)));
  }
  const T s[] = {T(0),
                 T(-0.0),
                 T(1),
                 T(-5),
                 std::numeric_limits<T>::infinity(),
                 std::numeric_limits<T>::quiet_NaN(),
                 std::numeric_limits<T>::denorm_min(),
                 std::numeric_limits<T>::max()};
  for (T a : s)
    for (T b : s) x.push_back(a), y.push_back(b);
  std::vector<T> z(x.size());
  apply("rem", d, {x.data(), y.data()}, z.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T want = std::fmod(x[i], y[i]);
    ASSERT_TRUE(std::isnan(want) ? std::isnan(z[i]) : want == z[i] && std::signbit(want) == std::signbit(z[i]))
        << x[i] << " % " << y[i] << ": " << z[i] << " not " << want;
  }
}
TEST(LoopMath, RemIsFmodF32) { remainders<float>(f32); }
TEST(LoopMath, RemIsFmodF64) { remainders<double>(f64); }
TEST(LoopMath, MaxMinTakeNan) {
  float a[] = {1, nan32, 1, nan32, -inf32}, b[] = {2, 1, nan32, nan32, inf32}, r[5];
  apply("max", f32, {a, b}, r, 5);
  EXPECT_EQ(r[0], 2);
  for (int i : {1, 2, 3}) EXPECT_TRUE(std::isnan(r[i])) << i;
  EXPECT_EQ(r[4], inf32);
  apply("min", f32, {a, b}, r, 5);
  EXPECT_EQ(r[0], 1);
  for (int i : {1, 2, 3}) EXPECT_TRUE(std::isnan(r[i])) << i;
  double c[] = {nan64, 1, 3}, e[] = {1, nan64, inf}, s[3];
  apply("max", f64, {c, e}, s, 3);
  EXPECT_TRUE(std::isnan(s[0]) && std::isnan(s[1]));
  EXPECT_EQ(s[2], inf);
}
}  // namespace
}  // namespace bora::kernels::test
