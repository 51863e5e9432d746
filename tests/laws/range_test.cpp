// The law of ranges: functions of elements, and their first two derivatives, are right at every magnitude of every
// floating format. A result is infinite or 0 only where the true one leaves the format.
#include <array>
#include <fstream>
#include <functional>
#include <regex>
#include <tuple>
#include "laws/accuracy_table.h"
#include "laws/range.h"
#include "support/places.h"

namespace bora::laws::range_test {
namespace {
using exact::cube;
using exact::pi;
using exact::sigma;
using exact::slope;
using exact::square;

// ---- functions of one number
struct Row {
  std::string name;
  std::function<Array(const Array&)> f;
  std::function<Real(Real)> of[3];  // the true value and derivatives; null: 0
  double ulps[3];
  double argument = 0;  // units of the argument that are felt in the result
  double crossing = 0;  // |x| below which a derivative crosses 0: its error is that of numbers near 1
  double most = HUGE_VAL;
};
PrimitivePtr primitive_named(std::string_view name) {
  for (auto& e : registry())
    if (e.name == name) return e.samples().at(0).primitive;
  ADD_FAILURE() << "no primitive is named " << name;
  return {};
}
Real true_sinc(Real x, int order) {
  Real t = pi * x, z = t * t;
  if (std::fabs(t) < 1) {  // the series
    Real sum = 0, c = 1;
    for (int k = 0; k < 18; ++k) {
      Real p = order == 0 ? std::pow(z, k) : order == 1 ? (k ? 2 * k * std::pow(z, k - 1) * t : 0)
               : k ? 2 * k * (2 * k - 1) * std::pow(z, k - 1) : 0;
      sum += c * p;
      c /= -(2 * k + 2) * (2 * k + 3);
    }
    return sum * (order == 0 ? 1 : order == 1 ? pi : pi * pi);
  }
  Real n = std::nearbyint(x), sign = std::remainder(n, 2.L) == 0 ? 1 : -1;
  Real s = sign * std::sin(pi * (x - n)), c = sign * std::cos(pi * (x - n));
  if (order == 0) return s / t;
  if (order == 1) return (c - s / t) / x;
  return -pi * pi * s / t - 2 * (c - s / t) / (x * x);
}
Real root(Real x) { return std::sqrt(x * x + 4); }
Real sign_of(Real x) { return x < 0 ? -1 : 1; }
#define BORA_REAL(...) [](Real x) -> Real { return __VA_ARGS__; }
#define BORA_F(...) [](const Array& x) -> Array { return __VA_ARGS__; }
/// Those that accuracy_table.h does not have.
std::vector<Row> more_rows() {
  using namespace nn;
  return {
      {"arcsin", BORA_F(arcsin(x)),
       {BORA_REAL(std::asin(x)), BORA_REAL(1 / std::sqrt((1 - x) * (1 + x))),
        BORA_REAL(x / std::pow((1 - x) * (1 + x), 1.5L))}, {1, 3, 8}},
      {"arccos", BORA_F(arccos(x)),
       {BORA_REAL(std::acos(x)), BORA_REAL(-1 / std::sqrt((1 - x) * (1 + x))),
        BORA_REAL(-x / std::pow((1 - x) * (1 + x), 1.5L))}, {1, 3, 8}},
      {"arctan", BORA_F(arctan(x)),
       {BORA_REAL(std::atan(x)), BORA_REAL(1 / (1 + x * x)), BORA_REAL(-2 * x / square(1 + x * x))}, {1, 3, 6}},
      {"arcsinh", BORA_F(arcsinh(x)),
       {BORA_REAL(std::asinh(x)), BORA_REAL(1 / std::sqrt(1 + x * x)), BORA_REAL(-x / std::pow(1 + x * x, 1.5L))},
       {1, 3, 6}},
      {"arccosh", BORA_F(arccosh(x)),
       {BORA_REAL(std::acosh(x)), BORA_REAL(1 / std::sqrt((x - 1) * (x + 1))),
        BORA_REAL(-x / std::pow((x - 1) * (x + 1), 1.5L))}, {1, 5, 10}},
      {"sinc", BORA_F(sinc(x)),
       {BORA_REAL(true_sinc(x, 0)), BORA_REAL(true_sinc(x, 1)), BORA_REAL(true_sinc(x, 2))}, {4, 8, 12}, 0, 4},
      {"relu6", BORA_F(relu6(x)),
       {BORA_REAL(x <= 0 ? 0 : x >= 6 ? 6 : x), BORA_REAL(x > 0 && x < 6 ? 1 : 0), nullptr}, {}},
      {"log_sigmoid", BORA_F(log_sigmoid(x)),
       {BORA_REAL(x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x))), BORA_REAL(sigma(-x)),
        BORA_REAL(-slope(x))}, {2, 3, 4}},
      {"soft_sign", BORA_F(soft_sign(x)),
       {BORA_REAL(x / (1 + std::fabs(x))), BORA_REAL(1 / square(1 + std::fabs(x))),
        BORA_REAL(-2 * sign_of(x) / cube(1 + std::fabs(x)))}, {2, 4, 8}},
      {"squareplus", BORA_F(squareplus(x)),
       {BORA_REAL(x < 0 ? 2 / (root(x) - x) : (x + root(x)) / 2),
        BORA_REAL(x < 0 ? 2 / (root(x) - x) / root(x) : (1 + x / root(x)) / 2), BORA_REAL(2 / cube(root(x)))},
       {3, 6, 16}},
      {"elu", BORA_F(elu(x)),
       {BORA_REAL(x > 0 ? x : std::expm1(x)), BORA_REAL(x > 0 ? 1 : std::exp(x)), BORA_REAL(x > 0 ? 0 : std::exp(x))},
       {2, 2, 2}},
      {"mish", BORA_F(mish(x)),
       {BORA_REAL(x * std::tanh(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)))), nullptr, nullptr},
       {5, -1, -1}},
      {"hard_silu", BORA_F(hard_silu(x)),
       {BORA_REAL(x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6),
        BORA_REAL(x < -3 ? 0 : x > 3 ? 1 : (2 * x + 3) / 6), BORA_REAL(std::fabs(x) < 3 ? 1 / 3.L : 0)},
       {3, 4, 2}, 0, 4},
      {"log1mexp", BORA_F(log1mexp(x)),
       {BORA_REAL(x > 1 ? std::log1p(-std::exp(-x)) : x > 0 ? std::log(-std::expm1(-x)) : NAN),
        BORA_REAL(1 / std::expm1(x)),
        BORA_REAL(-1 / (std::expm1(x) * -std::expm1(-x)))}, {4, 6, 12}},
      {"x^3", BORA_F(pow(x, 3)), {BORA_REAL(cube(x)), BORA_REAL(3 * x * x), BORA_REAL(6 * x)}, {2, 4, 4}},
      {"x^-2", BORA_F(pow(x, -2)),
       {BORA_REAL(1 / (x * x)), BORA_REAL(-2 / cube(x)), BORA_REAL(6 / (square(x) * square(x)))}, {3, 6, 10}},
      {"x^0.5", BORA_F(pow(x, 0.5)),
       {BORA_REAL(std::sqrt(x)), BORA_REAL(0.5L / std::sqrt(x)), nullptr}, {2, 3, -1}},
      {"hypot(x, 1)", BORA_F(hypot(x, ones_like(x))),
       {BORA_REAL(std::hypot(x, 1.L)), BORA_REAL(x / std::hypot(x, 1.L)), BORA_REAL(1 / cube(std::hypot(x, 1.L)))},
       {2, 3, 8}},
      {"|1 + i x|", BORA_F(abs(complex(ones_like(x), x))),
       {BORA_REAL(std::hypot(x, 1.L)), BORA_REAL(x / std::hypot(x, 1.L)), BORA_REAL(1 / cube(std::hypot(x, 1.L)))},
       {2, 3, 8}},
  };
}
#undef BORA_F
#undef BORA_REAL
std::vector<Row> rows() {
  auto r = more_rows();
  for (auto& a : accuracies()) {
    Row row{a.name, a.f, {a.value, a.first, a.second}, {}, a.argument, a.roots};
    for (int k = 0; k < 3; ++k) row.ulps[k] = std::max(a.bound[k][0], a.bound[k][1]);
    if (!row.f) row.f = [p = primitive_named(a.primitive)](const Array& x) { return call(p, {x}).front(); };
    if (row.name == "tan") row.most = 1e6;               // beyond, the poles lie closer than numbers
    if (row.name == "gelu, tanh form") row.most = 1e35;  // docs/numerics.md
    r.push_back(row);
  }
  return r;
}
/// The same numbers, or the same NaNs.
bool same(const Array& a, const Array& b) {
  return a.type() == b.type() && all(a == b || (isnan(a) && isnan(b))).item<bool>();
}

class Range : public testing::TestWithParam<std::tuple<Row, Format>> {};
void PrintTo(const Row& r, std::ostream* to) { *to << r.name; }

TEST_P(Range, OfOneNumber) {
  const auto& row = std::get<0>(GetParam());
  const auto& format = std::get<1>(GetParam());
  std::vector<double> numbers;
  const bool narrow = format.digits < 24;
  for (double x : magnitudes(format, format.dtype == f64 ? 31 : format.dtype == f16 ? 1 : 5))
    if (std::fabs(x) <= row.most) numbers.push_back(x);
  const auto x = asarray(numbers).astype(format.dtype);
  if (row.name.starts_with("|1") && narrow) return;
  const auto kept = x.to_vector<double>();
  auto f = [&f = row.f](const Array& v) { return f(v); };
  auto first = grad([f](const Array& v) { return sum(f(v).astype(f64)); });
  auto second = grad([first](const Array& v) { return sum(first(v).astype(f64)); });
  int reported = 0;
  auto check = [&](int order, const Array& y, const char* how) {
    if (row.ulps[order] < 0) return;
    auto got = y.to_vector<double>();
    for (std::size_t i = 0; i < kept.size() && reported < 8; ++i) {
      const Real at = kept[i], value = row.of[0](at);
      if (std::isnan(value) || (order > 0 && std::fabs(value) >= format.largest())) continue;
      auto truth = [&](int k, Real v) { return row.of[k] ? row.of[k](v) : 0.L; };
      const Real want = truth(order, at);
      if (order == 1 && how != std::string() && row.name.starts_with("log") && at < format.smallest_normal())
        continue;  // 1 / x is infinite before log2 and log10 divide it
      const double times = narrow ? 3 : 1;
      Allowed allowed{times * row.ulps[order] + (narrow ? 2 * order : 0), 0};
      // Each number that is passed through and denormal has fewer digits.
      if (order > 0) allowed.absolute += 4 * times * (1 + row.ulps[order]) * format.smallest();
      for (int k = 0; k < order; ++k)
        if (auto size = std::fabs(truth(k, at)); size > 0 && size < format.smallest_normal() && k + 1 > 1)
          allowed.absolute += 4 * std::fabs(want) * format.smallest() / size;
      if (std::fabs(at) < row.crossing) allowed.absolute += times * row.ulps[order] * format.ulp(0.125L);
      if (std::fabs(at) > 1 && std::fabs(want) < std::fabs(at) * format.smallest_normal())
        allowed.absolute += std::fabs(at) * format.smallest();  // x times a denormal number, as in silu
      if (row.argument > 0)
        allowed.absolute += row.argument * std::fabs(truth(order, at + format.ulp(at)) - want);
      if (auto text = fault(format, got[i], want, allowed); !text.empty()) {
        ++reported;
        ADD_FAILURE() << row.name << ", derivative " << order << " " << how << ", " << format.dtype << " at "
                      << kept[i] << ": " << text;
      }
    }
  };
  const auto y = row.f(x), dy = first(x), ddy = second(x);
  check(0, y, "");
  check(1, dy, "");
  check(2, ddy, "");
  check(1, jvp(f, x, ones_like(x)).second, "by jvp");
  check(2, jvp(first, x, ones_like(x)).second, "by jvp of grad");
  EXPECT_TRUE(same(y, jit(f)(x)));
  EXPECT_TRUE(same(dy, jit(first)(x)));
  EXPECT_TRUE(same(ddy, jit(second)(x)));
  EXPECT_TRUE(same(dy, vmap(first)(x)));
  EXPECT_TRUE(same(ddy, vmap(second)(x)));
}
std::string named(std::string s) {
  for (auto& c : s)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return s;
}
INSTANTIATE_TEST_SUITE_P(Laws, Range, testing::Combine(testing::ValuesIn(rows()), testing::ValuesIn(kFormats)),
                         [](auto& info) {
                           return named(std::get<0>(info.param).name + "_" +
                                        std::string(dtype_name(std::get<1>(info.param).dtype)));
                         });

// ---- functions of two numbers
/// The true value and its derivatives by a, b, a twice, a and b, b twice; NaN: not compared.
using Truth = std::array<Real, 6>;
struct Two {
  std::string name;
  Array (*f)(const Array&, const Array&);
  Truth (*truth)(Real a, Real b);
  std::array<double, 6> ulps;
  /// What rounding does to a result, as a part of this size (0: the result itself).
  Real (*size)(Real a, Real b, std::size_t k) = nullptr;
};
const Two kTwo[] = {
    {"divide", [](const Array& a, const Array& b) { return a / b; },
     [](Real a, Real b) -> Truth { return {a / b, 1 / b, -a / (b * b), 0, -1 / (b * b), 2 * a / cube(b)}; },
     {0.5, 0.5, 2, 0, 2, 5}},
    {"hypot", hypot,
     [](Real a, Real b) -> Truth {
       Real h = std::hypot(a, b);
       return {h, a / h, b / h, b / h * b / h / h, -a / h * b / h / h, a / h * a / h / h};
     },
     {1, 3, 3, 8, 8, 8}},
    {"arctan2", [](const Array& a, const Array& b) { return arctan2(a, b); },
     [](Real a, Real b) -> Truth {
       Real h = std::hypot(a, b), s = a / h, c = b / h;
       return {std::atan2(a, b), c / h, -s / h, -2 * s * c / h / h, (s - c) * (s + c) / h / h, 2 * s * c / h / h};
     },
     {1, 3, 3, 8, 8, 8},
     [](Real a, Real b, std::size_t k) { return k == 4 ? 1 / (a * a + b * b) : 0; }},
    {"fmod", fmod,
     [](Real a, Real b) -> Truth {
       Real q = std::trunc(a / b);  // exact below 2^52
       bool near = std::fabs(a / b) < 0x1p40L;
       return {std::fmod(a, b), 1, near ? -q : NAN, 0, 0, 0};
     },
     {0, 0, 1, 0, 0, 0}},
    {"multiply", [](const Array& a, const Array& b) { return a * b; },
     [](Real a, Real b) -> Truth { return {a * b, b, a, 0, 1, 0}; }, {0.5, 0, 0, 0, 0, 0}},
    {"logaddexp", [](const Array& a, const Array& b) { return logaddexp(a, b); },
     [](Real a, Real b) -> Truth {
       Real hi = std::max(a, b), s = sigma(a - b), c = slope(a - b);
       return {hi + std::log1p(std::exp(-std::fabs(a - b))), s, 1 - s > 1e-3L ? 1 - s : sigma(b - a), c, -c, c};
     },
     {2, 3, 3, 4, 4, 4},
     [](Real a, Real b, std::size_t k) { return k == 0 ? 1 : std::fabs(a - b) * slope(a - b); }},
};
class RangeOfTwo : public testing::TestWithParam<std::tuple<Two, Format>> {};
void PrintTo(const Two& r, std::ostream* to) { *to << r.name; }

TEST_P(RangeOfTwo, AndTheirDerivatives) {
  const auto& row = std::get<0>(GetParam());
  const auto& format = std::get<1>(GetParam());
  const bool narrow = format.digits < 24;
  std::vector<double> first, second;
  const auto m = magnitudes(format, format.dtype == f64 ? 127 : format.dtype == f16 ? 3 : 17);
  for (double x : m)
    for (double y : m) first.push_back(x), second.push_back(y);
  for (int i = -8; i <= 8; ++i)  // close to each other
    for (double x : m) first.push_back(x), second.push_back(x * (1 + i / 16.));
  const auto a = asarray(first).astype(format.dtype), b = asarray(second).astype(format.dtype);
  const auto at_a = a.to_vector<double>(), at_b = b.to_vector<double>();
  auto total = [](const Array& y) { return sum(y.astype(f64)); };
  auto f = [g = row.f](const Array& x, const Array& y) { return g(x, y); };
  auto by_a = [=](const Array& x, const Array& y) { return grad([&](const Array& v) { return total(f(v, y)); })(x); };
  auto by_b = [=](const Array& x, const Array& y) { return grad([&](const Array& v) { return total(f(x, v)); })(y); };
  using Ref = const Array&;
  auto by_aa = [=](Ref x, Ref y) { return grad([&](Ref v) { return total(by_a(v, y)); })(x); };
  auto by_ab = [=](Ref x, Ref y) { return grad([&](Ref v) { return total(by_a(x, v)); })(y); };
  auto by_ba = [=](Ref x, Ref y) { return grad([&](Ref v) { return total(by_b(v, y)); })(x); };
  auto by_bb = [=](Ref x, Ref y) { return grad([&](Ref v) { return total(by_b(x, v)); })(y); };
  int reported = 0;
  auto check = [&](std::size_t k, const auto& g, const char* what) {
    const auto result = g(a, b);
    const auto got = result.template to_vector<double>();
    for (std::size_t i = 0; i < got.size() && reported < 8; ++i) {
      const Real x = at_a[i], y = at_b[i];
      if (x == 0 || y == 0 || !std::isfinite(at_a[i]) || !std::isfinite(at_b[i])) continue;
      const Truth truth = row.truth(x, y);
      auto leaves = [&](std::size_t k) { return !(std::fabs(truth[k]) < format.largest()); };
      if (leaves(0) || (k > 2 && (leaves(1) || leaves(2)))) continue;
      if (k > 2 && row.f == kTwo[1].f && std::max(std::fabs(x), std::fabs(y)) < format.smallest_normal()) continue;
      const Real want = truth[k];
      const double times = narrow ? 3 : 1;
      Allowed allowed{times * row.ulps[k] + (narrow && k > 0 ? 1 : 0), 0};
      if (k > 0 && row.ulps[k] > 0) allowed.absolute += 4 * times * row.ulps[k] * format.smallest();
      if (row.size)
        allowed.absolute += times * std::max(row.ulps[k], 1.) * format.ulp(1) * std::fabs(row.size(x, y, k));
      for (std::size_t part : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {  // digits that denormals do not have
        auto size = std::fabs(truth[part]);
        if (part < k && size > 0 && size < format.smallest_normal())
          allowed.absolute += 4 * std::fabs(want) * format.smallest() / size;
      }
      if (auto text = fault(format, got[i], want, allowed); !text.empty()) {
        ++reported;
        ADD_FAILURE() << row.name << what << ", " << format.dtype << " at " << at_a[i] << ", " << at_b[i] << ": "
                      << text;
      }
    }
    EXPECT_TRUE(same(result, jit(g)(a, b))) << row.name << what;
  };
  check(0, f, "");
  check(1, by_a, " by a");
  check(2, by_b, " by b");
  check(3, by_aa, " by a twice");
  check(4, by_ab, " by a and b");
  check(4, by_ba, " by b and a");
  check(5, by_bb, " by b twice");
}
INSTANTIATE_TEST_SUITE_P(Laws, RangeOfTwo, testing::Combine(testing::ValuesIn(kTwo), testing::ValuesIn(kFormats)),
                         [](auto& info) {
                           return named(std::get<0>(info.param).name + "_" +
                                        std::string(dtype_name(std::get<1>(info.param).dtype)));
                         });

/// The slope of a quotient by its divisor, c a / b^2, for all magnitudes of three numbers.
TEST(RangeOfThree, SlopeOfAQuotientTimesACotangent) {
  for (auto& format : {kFormats[0], kFormats[1]}) {
    std::vector<double> c, a, b;
    const auto m = magnitudes(format, format.dtype == f64 ? 131 : 17);
    for (double x : m)
      for (double y : m)
        for (double z : m)
          if (x > 0 || (y > 0 && z > 0)) c.push_back(x), a.push_back(y), b.push_back(z);
    auto of = [&](const std::vector<double>& v) { return asarray(v).astype(format.dtype); };
    auto divisor = of(b), numerator = of(a);
    auto pull = [&](const Array& ct) {
      return vjp([&](const Array& v) { return numerator / v; }, divisor).second(ct);
    };
    auto got = pull(of(c)).to_vector<double>(), none = pull(zeros_like(divisor)).to_vector<double>();
    int reported = 0;
    for (std::size_t i = 0; i < c.size() && reported < 8; ++i) {
      const Real x = c[i], y = a[i], z = b[i], q = std::fabs(y / z), want = -x * y / z / z;
      EXPECT_EQ(none[i], 0) << "a cotangent of 0 at " << a[i] << " / " << b[i];
      if (q >= format.largest()) continue;
      if (std::fabs(x) < 1 && q < 1 && std::fabs(z) < format.smallest_normal()) continue;  // 1 / z overflows
      Allowed allowed{2, 0};
      for (Real part : {q, x * q}) {  // a denormal quotient, or product, has fewer digits
        auto size = std::fabs(part);
        if (size < format.smallest_normal()) allowed.absolute += std::fabs(want) * format.smallest() / size;
      }
      if (auto text = fault(format, got[i], want, allowed); !text.empty()) {
        ++reported;
        ADD_FAILURE() << c[i] << " times the slope of " << a[i] << " / " << b[i] << ": " << text;
      }
    }
  }
}

std::string cell(double ulps) {
  std::ostringstream s;
  if (ulps >= 0) s << ulps;
  return " " + s.str() + (ulps >= 0 ? " |" : "|");
}
std::string tables() {
  std::string r = "| function | f | f' | f'' |\n|---|---|---|---|\n";
  for (auto& a : more_rows()) {
    r += "| " + std::regex_replace(a.name, std::regex("[|]"), "\\|") + " |";
    for (double u : a.ulps) r += cell(u);
    r += "\n";
  }
  r += "\n| function | f | by a | by b | a, a | a, b | b, b |\n|---|---|---|---|---|---|---|\n";
  for (auto& a : kTwo) {
    r += "| " + a.name + " |";
    for (double u : a.ulps) r += cell(u);
    r += "\n";
  }
  return r;
}
TEST(RangeTables, TheDocumentQuotesTheTables) {
  std::stringstream s;
  s << std::ifstream(test::source_dir() + "/docs/numerics.md").rdbuf();
  EXPECT_NE(s.str().find(tables()), std::string::npos) << "docs/numerics.md must hold\n" << tables();
}
}  // namespace
}  // namespace bora::laws::range_test
