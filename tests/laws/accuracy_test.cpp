// Accuracy laws: every elementwise function and its first two derivatives, in units in the last place.
#include <cfloat>
#include <fstream>
#include <iomanip>
#include <random>
#include <regex>
#include <set>
#include "compile/api/program.h"
#include "kernels/api/loop.h"
#include "bora/ops/creation.h"
#include "laws/accuracy_table.h"
#include "support/places.h"

namespace bora::laws::accuracy_test {
namespace {
PrimitivePtr primitive_named(std::string_view name) {
  for (auto& e : registry())
    if (e.name == name) return e.samples().at(0).primitive;
  ADD_FAILURE() << "no primitive is named " << name;
  return {};
}
std::function<Array(const Array&)> function_of(const Accuracy& a) {
  if (a.f) return a.f;
  return [p = primitive_named(a.primitive)](const Array& x) { return p ? call(p, {x}).front() : zeros_like(x); };
}
/// The ends; then half of them uniformly, half by orders of magnitude down to the smallest numbers.
template <class T> std::vector<T> sample(Domain d, std::size_t n) {
  std::mt19937_64 g(17);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<T> x{static_cast<T>(d.lo), static_cast<T>(d.hi)};
  const double tiny = std::numeric_limits<T>::denorm_min();
  auto power = [&](double least, double most) {
    return least * std::exp(unit(g) * (std::log(most) - std::log(least)));
  };
  for (std::size_t i = 0; i < n; ++i) {
    double u = unit(g), v = d.lo * (1 - u) + d.hi * u;
    switch (i % 4) {
      case 0: v = d.lo > 0 ? power(d.lo, d.hi) : d.hi > 0 ? power(tiny, d.hi) : v; break;
      case 1: v = d.lo < 0 ? -power(tiny, -d.lo) : v; break;
      case 2: v = std::max(d.lo, -8.0) * (1 - u) + std::min(d.hi, 8.0) * u; break;  // where most of them bend
      default: break;
    }
    auto t = static_cast<T>(v);
    if (static_cast<double>(t) >= d.lo && static_cast<double>(t) <= d.hi && t != 0) x.push_back(t);
  }
  return x;
}
/// The error in units in the last place of the true value; of `least` where that is smaller.
template <class T> double ulps(T got, Real want, double least = 0) {
  using N = std::numeric_limits<T>;
  if (std::isnan(got) || std::isinf(got)) return std::isnan(got) == std::isnan(want) ? 0 : 1e30;
  T at = std::max(std::fabs(static_cast<T>(want)), static_cast<T>(least));
  Real step = static_cast<Real>(std::nextafter(at, N::infinity())) - at;
  return static_cast<double>(std::fabs(static_cast<Real>(got) - want) / step);
}
template <class T> constexpr Dtype kDtype = sizeof(T) == 4 ? f32 : f64;
template <class T> struct Worst {
  double error = 0;
  T at = 0;
};
template <class T> Worst<T> worst(const std::vector<T>& x, const Array& y, Exact want, double roots, double argument) {
  constexpr T end = std::numeric_limits<T>::infinity();
  auto got = y.to_vector<T>();
  Worst<T> w;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Real v = want ? want(static_cast<Real>(x[i])) : 0;
    if (!(std::fabs(v) < static_cast<Real>(std::numeric_limits<T>::max()) / 2)) continue;  // may overflow
    double least = std::fabs(x[i]) < static_cast<T>(roots) ? 0.125 : 0, e = ulps<T>(got[i], v, least);
    if (argument > 0 && e > 1) {
      Real near = want(static_cast<Real>(std::nextafter(x[i], x[i] < 0 ? end : -end)));  // stays in the domain
      e -= argument * ulps<T>(static_cast<T>(v), near, least);
    }
    if (!(e <= w.error)) w = {e, x[i]};
  }
  return w;
}
template <class T> void check_accuracy(const Accuracy& a) {
  auto f = function_of(a);
  auto first = grad([&](const Array& x) { return sum(f(x)); });
  auto second = grad([&](const Array& x) { return sum(first(x)); });
  auto x = sample<T>(sizeof(T) == 4 ? a.f32 : a.f64, 6000);
  auto in = asarray(x);
  const Array y[] = {f(in), first(in), second(in)};
  const Exact want[] = {a.value, a.first, a.second};
  for (int k = 0; k < 3; ++k) {
    ASSERT_EQ(y[k].dtype(), kDtype<T>) << a.name;
    auto w = worst(x, y[k], want[k], k || !a.f ? a.roots : 0, a.argument);
    std::printf("%-16s%-3s%s %8.3f ulp at %.17g\n", a.name, &"''"[2 - k], sizeof(T) == 4 ? "f32" : "f64", w.error,
                static_cast<double>(w.at));
    EXPECT_LE(w.error, a.bound[k][sizeof(T) == 4 ? 0 : 1]) << a.name << " derivative " << k << " at " << w.at;
  }
}
class Elementwise : public testing::TestWithParam<Accuracy> {};
TEST_P(Elementwise, IsAccurateWithItsDerivatives) {
  check_accuracy<float>(GetParam());
  check_accuracy<double>(GetParam());
}
INSTANTIATE_TEST_SUITE_P(Accuracy, Elementwise, testing::ValuesIn(accuracies()), [](auto& info) {
  return std::regex_replace(std::string(info.param.name), std::regex("\\W+"), "_");
});

/// If the true value is 0, its sign is right too: f(-0) = -0 of odd functions, ceil(-0.5) = -0. Bodies and tails of
/// vectors, eager and staged.
TEST_P(Elementwise, KeepsTheSignOfZero) {
  auto& a = GetParam();
  auto f = function_of(a);
  for (Dtype d : {f32, f64, bf16})
    for (std::int64_t n : {1, 7, 64, 101}) {
      std::vector<double> x;
      const double some[] = {-0.0, 0.0, -0.25, -0.0, 0.25, -0.5, 0.5};
      for (std::int64_t i = 0; i < n; ++i) x.push_back(some[i % 7]);
      auto in = asarray(x).astype(d);
      auto eager = f(in).to_vector<double>();
      auto staged = jit([&](const Array& v) { return f(v); })(in).to_vector<double>();
      for (std::size_t i = 0; i < x.size(); ++i) {
        Real want = a.value(x[i]);
        if (want != 0) continue;
        EXPECT_EQ(eager[i], 0) << a.name << "(" << x[i] << ") " << d;
        EXPECT_EQ(std::signbit(eager[i]), std::signbit(want)) << a.name << "(" << x[i] << ") " << d << " of " << n;
        EXPECT_EQ(std::signbit(staged[i]), std::signbit(want)) << a.name << "(" << x[i] << ") " << d << " staged";
      }
    }
}

std::string text_of(const std::string& path) {
  std::ifstream file(test::source_dir() + "/" + path);
  std::stringstream s;
  s << file.rdbuf();
  return s.str();
}
std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> r;
  std::regex e(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), e), end; i != end; ++i) r.insert((*i)[1]);
  return r;
}
/// No function is forgotten: those that users see, and those that kernels have.
TEST(Accuracy, EveryFunctionHasARow) {
  std::set<std::string> names, primitives;
  for (auto& a : accuracies()) {
    names.insert(std::string(a.name).substr(0, std::string(a.name).find(',')));
    if (a.primitive) primitives.insert(a.primitive);
  }
  const std::set<std::string> of_bits{"isnan", "isinf", "isfinite", "logical_not", "bitwise_not"};
  const std::set<std::string> rounded_once{"add",           "subtract",    "multiply",   "divide",      "floor_divide",
                                           "remainder",     "fmod",        "maximum",    "minimum",     "equal",
                                           "not_equal",     "less",        "less_equal", "greater",     "greater_equal",
                                           "logical_and",   "logical_or",  "bitwise_or", "bitwise_and", "bitwise_xor",
                                           "left_shift",    "right_shift"};
  const std::set<std::string> of_two{"power", "pow", "logaddexp"};  // the tests below
  // Composites, and functions computed in f64: names_numeric_test.cpp and names_lax_test.cpp have their values.
  const std::set<std::string> of_values{
      "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sinc",
      "deg2rad", "rad2deg", "radians", "degrees", "positive", "fabs", "rint", "fix", "signbit", "isposinf",
      "isneginf", "nan_to_num", "population_count", "bitwise_count", "clz", "spacing", "float_power", "hypot",
      "fmax", "fmin", "logaddexp2", "copysign", "logical_xor", "mulhi", "gcd", "lcm"};
  auto activations = text_of("include/bora/ops/nn.h");
  auto header = text_of("include/bora/ops/ufuncs.h") + activations.substr(0, activations.find("// ---- softmax"));
  auto one = matches(header, "\nArray (\\w+)\\(const Array& x(?:, const \\w+& options = \\{\\})?\\);");
  auto two = matches(header, "\nArray (\\w+)\\(const Array& a, const Array& b\\);");
  EXPECT_GT(one.size(), 30u);
  EXPECT_GT(two.size(), 20u);
  for (auto& n : one)
    EXPECT_TRUE(names.count(n) || of_bits.count(n) || of_values.count(n)) << n << " has no row in accuracy_table.h";
  for (auto& n : two)
    EXPECT_TRUE(rounded_once.count(n) || of_two.count(n) || of_values.count(n)) << n << ": tested nowhere";
  for (auto id : kernels::all_ops()) {
    auto& op = kernels::element_op(id);
    if (op.arity != 1) continue;
    try {
      if (Dtype d = f64; op.result(&d) != f64) continue;
    } catch (const DtypeError&) { continue; }
    EXPECT_TRUE(primitives.count(std::string(op.name))) << op.name << " has no row in accuracy_table.h";
  }
}
std::string number(double x) {
  std::ostringstream s;
  s << x;
  return s.str();
}
std::string table() {
  std::string r = "| function | f32 | f' | f'' | f64 | f' | f'' | argument |\n|---|---|---|---|---|---|---|---|\n";
  for (auto& a : accuracies()) {
    r += std::string("| ") + a.name + " |";
    for (int d = 0; d < 2; ++d)
      for (int k = 0; k < 3; ++k) r += " " + number(a.bound[k][d]) + " |";
    r += (a.argument > 0 ? " " + number(a.argument) : "") + " |\n";
  }
  return r;
}
TEST(Accuracy, TheDocumentQuotesTheTable) {
  EXPECT_NE(text_of("docs/numerics.md").find(table()), std::string::npos) << "docs/numerics.md must hold\n" << table();
}

/// |got - want| in ulp, where want is a^b: the part that rounding b - 1 causes is |b - 1| log(a) / 2 ulp and is taken
/// off.
template <class T> void check_power(double bound, double bound_a, double bound_b) {
  std::mt19937_64 g(3);
  std::uniform_real_distribution<double> unit(0, 1);
  const double most = sizeof(T) == 4 ? 86 : 705;  // |b log a|: where neither end of the range is left
  std::vector<T> a, b;
  while (a.size() < 20000) {
    const double spread[] = {0.5, 1e-3, most};
    auto x = static_cast<T>(std::exp((2 * unit(g) - 1) * spread[a.size() % 3]));
    double l = std::log(static_cast<double>(x));
    double reach = most / std::fabs(l);
    auto y = static_cast<T>((2 * unit(g) - 1) * (a.size() % 2 ? std::min(15.0, reach) : reach));
    if (!std::isfinite(y) || l == 0) continue;
    a.push_back(x);
    b.push_back(y);
  }
  auto x = asarray(a), y = asarray(b);
  auto p = pow(x, y).template to_vector<T>();
  auto da = grad([&](const Array& u) { return sum(pow(u, y)); })(x).template to_vector<T>();
  auto db = grad([&](const Array& v) { return sum(pow(x, v)); })(y).template to_vector<T>();
  double w[3] = {};
  for (std::size_t i = 0; i < a.size(); ++i) {
    Real A = a[i], B = b[i], z = std::pow(A, B), l = std::log(A);
    w[0] = std::max(w[0], ulps<T>(p[i], z));
    Real dz = B * std::pow(A, B - 1);
    if (std::fabs(dz) < std::numeric_limits<T>::max() / 2 && std::fabs(dz) > std::numeric_limits<T>::min())
      w[1] = std::max(w[1], ulps<T>(da[i], dz) - static_cast<double>(std::fabs((B - 1) * l)));
    w[2] = std::max(w[2], ulps<T>(db[i], z * l));
  }
  std::printf("pow %s: %.3f, derivatives %.3f and %.3f ulp\n", sizeof(T) == 4 ? "f32" : "f64", w[0], w[1], w[2]);
  EXPECT_LE(w[0], bound);
  EXPECT_LE(w[1], bound_a);
  EXPECT_LE(w[2], bound_b);
}
TEST(Accuracy, PowerAndItsDerivatives) {
  check_power<float>(1.25, 2.5, 2.5);
  check_power<double>(1.25, 2.5, 2.5);
}
template <class T> void check_logaddexp(double bound, double bound_first) {
  std::mt19937_64 g(5);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<T> a, b;
  while (a.size() < 10000) {
    const double spread[] = {1, 30, 600};
    double s = spread[a.size() % 3] / (sizeof(T) == 4 ? 8 : 1), x = (2 * unit(g) - 1) * s;
    a.push_back(static_cast<T>(x));
    b.push_back(static_cast<T>(a.size() % 4 ? (2 * unit(g) - 1) * s : x));
  }
  auto x = asarray(a), y = asarray(b);
  auto v = logaddexp(x, y).template to_vector<T>();
  auto da = grad([&](const Array& u) { return sum(logaddexp(u, y)); })(x).template to_vector<T>();
  double w[2] = {};
  for (std::size_t i = 0; i < a.size(); ++i) {  // the rounding of a - b is felt in the derivative, and taken off
    Real hi = std::max(a[i], b[i]), gap = std::fabs(static_cast<Real>(a[i]) - b[i]);
    w[0] = std::max(w[0], ulps<T>(v[i], hi + std::log1p(std::exp(-gap)), 1));  // it crosses 0
    w[1] = std::max(w[1], ulps<T>(da[i], exact::sigma(static_cast<Real>(a[i]) - b[i])) - static_cast<double>(gap));
  }
  std::printf("logaddexp %s: %.3f, derivative %.3f ulp\n", sizeof(T) == 4 ? "f32" : "f64", w[0], w[1]);
  EXPECT_LE(w[0], bound);
  EXPECT_LE(w[1], bound_first);
}
TEST(Accuracy, LogaddexpAndItsDerivative) {
  check_logaddexp<float>(2, 3);
  check_logaddexp<double>(2, 3);
}
}  // namespace
}  // namespace bora::laws::accuracy_test
