// Elementary functions: special values, powers, and the same bits from both instruction sets.
#include <gtest/gtest.h>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include "bora/base/error.h"
#include "loop_build.h"

namespace bora::kernels::test::loop_math_test {
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
template <class T> std::vector<T> numbers(std::size_t n, int seed) {
  std::mt19937_64 g(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> power(-12, 7), unit(-1, 1);
  std::vector<T> x;
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(static_cast<T>(i % 2 ? 4 * unit(g) : std::copysign(std::exp(power(g)), unit(g))));
  for (T special : {T(0), T(-0.0), std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                    std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::denorm_min(),
                    std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()})
    x.push_back(special);
  return x;
}
/// How accurate they are is a law over public functions (laws/accuracy_test.cpp), which sees one instruction set.
template <class T> void same_bits(Dtype d) {
  if (!has_v4()) GTEST_SKIP() << "no AVX-512";
  auto x = numbers<T>(20000, 7), y = numbers<T>(20000, 8);
  auto n = static_cast<std::int64_t>(x.size());
  for (OpId id : all_ops()) {
    const ElementOp& op = element_op(id);
    if (op.arity > 2) continue;
    const Dtype in[] = {d, d};
    try {
      if (op.result(in) != d) continue;
    } catch (const Error&) { continue; }  // integers only
    std::vector<T> a(x.size()), b(x.size());
    std::vector<const void*> p{x.data(), y.data()};
    p.resize(static_cast<std::size_t>(op.arity));
    apply(op.name, d, p, a.data(), n, Isa::v3);
    apply(op.name, d, p, b.data(), n, Isa::v4);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same(d, read(d, &a[i], 0), read(d, &b[i], 0)))
          << op.name << " of " << x[i] << " and " << y[i] << ": " << a[i] << " with v3, " << b[i] << " with v4";
  }
}
TEST(LoopMath, BothInstructionSetsGiveTheSameBitsF32) { same_bits<float>(f32); }
TEST(LoopMath, BothInstructionSetsGiveTheSameBitsF64) { same_bits<double>(f64); }
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
                        "rsqrt", "sinh", "cosh", "arctanh", "cbrt", "erfc", "logistic_slope", "bell", "normal_cdf",
                        "floor", "ceil", "round", "neg", "abs", "sign", "relu"})
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
  for (const char* f : {"expm1", "sinh", "cbrt", "arctanh", "erf_inv", "sin"}) {
    EXPECT_TRUE(std::signbit(at(f, T(-0.0)))) << f;
  }
  EXPECT_EQ(at("sinh", -big), -big);
  EXPECT_EQ(at("cosh", -big), big);
  EXPECT_EQ(at("cbrt", -big), -big);
  EXPECT_EQ(at("cbrt", T(1e15)), T(1e5));
  EXPECT_EQ(at("arctanh", T(-1)), -big);
  EXPECT_TRUE(std::isnan(at("arctanh", T(1.5))));
  EXPECT_EQ(at("erfc", big), T(0));
  EXPECT_EQ(at("erfc", -big), T(2));
  EXPECT_EQ(at("erfc", T(0)), T(1));
  EXPECT_EQ(at("normal_cdf", big), T(1));
  EXPECT_EQ(at("normal_cdf", -big), T(0));
  EXPECT_EQ(at("normal_cdf", N::max()), T(1));
  EXPECT_EQ(at("bell", -big), T(0));
  EXPECT_EQ(at("bell", N::max()), T(0));
  EXPECT_EQ(at("logistic_slope", big), T(0));
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
TEST(LoopMath, PowF32) { powers<float>(f32, 1.25); }
TEST(LoopMath, PowF64) { powers<double>(f64, 1.25); }
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
}  // namespace bora::kernels::test::loop_math_test
