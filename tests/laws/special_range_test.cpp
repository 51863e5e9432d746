// The whole range: values, first and second derivatives of every special function and distribution at magnitudes over
// all exponents, against numbers that mpmath knows (tests/golden/make_special_range.py), within a few units in the last
// place and the function's condition number. 0 and inf only where the right value leaves the range.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <gtest/gtest.h>
#include "bora/fx/grad.h"
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/stats.h"
#include "support/golden.h"
#include "support/places.h"

namespace bora::laws::special_range_test {
namespace {
struct Number {
  long double value = 0, condition = 0;
  bool known = false;
};
/// A derivative by one input: the first and the second.
using Slopes = std::array<Number, 2>;
struct Point {
  std::vector<double> in;
  Number value;
  std::vector<Slopes> by;
  bool wide = false;  // beyond f32
  std::string line;
};
using Points = std::map<std::string, std::vector<Point>>;
Number number(std::istringstream& s) {
  std::string value, condition;
  s >> value >> condition;
  if (value == "-") return {};
  return {std::strtold(value.c_str(), nullptr), std::strtold(condition.c_str(), nullptr), true};
}
Point point(const std::string& line) {
  Point p;
  p.line = line;
  std::istringstream parts(line);
  std::string part;
  for (int k = 0; std::getline(parts, part, '|'); ++k) {
    std::istringstream s(part);
    if (k == 0) {
      for (std::string word; s >> word;) {
        if (word == "d") p.wide = true;
        else p.in.push_back(std::strtod(word.c_str(), nullptr));
      }
    } else if (k == 1) p.value = number(s);
    else {
      auto first = number(s);
      p.by.push_back({first, first.known ? number(s) : Number{}});
    }
  }
  return p;
}
const Points& points() {
  static const Points r = [] {
    Points all;
    for (auto name : {"special_range.txt", "stats_range.txt"}) {
      std::ifstream file(test::golden_path(name));
      std::vector<Point>* at = nullptr;
      for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        if (line[0] == '=') at = &all[line.substr(2)];
        else at->push_back(point(line));
      }
    }
    return all;
  }();
  return r;
}
using Function = std::function<Arrays(const Arrays&)>;
template <class... X> Function of(Array (*f)(X...)) {
  return [f](const Arrays& x) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return Arrays{f(x.at(i)...)};
    }(std::index_sequence_for<X...>());
  };
}
/// By the names of the headers: a case's inputs are the arguments.
const std::map<std::string, Function>& functions() {
  using Two = Array (*)(const special::Operand&, const special::Operand&);
  using One = Array (*)(const Array&);
#define BORA_F(name) {#name, of(name)}
  static const std::map<std::string, Function> r{
      BORA_F(special::erfcx), BORA_F(special::erfinv), BORA_F(special::expit), BORA_F(special::logit),
      BORA_F(special::boxcox), BORA_F(special::boxcox1p), BORA_F(special::xlogy), BORA_F(special::xlog1py),
      BORA_F(special::entr), BORA_F(special::rel_entr), BORA_F(special::kl_div), BORA_F(special::ndtr),
      BORA_F(special::log_ndtr), BORA_F(special::ndtri), BORA_F(special::gamma), BORA_F(special::gammaln),
      BORA_F(special::loggamma), BORA_F(special::digamma), BORA_F(special::polygamma), BORA_F(special::factorial),
      BORA_F(special::comb), BORA_F(special::poch), BORA_F(special::beta), BORA_F(special::betaln),
      BORA_F(special::gammainc), BORA_F(special::gammaincc), BORA_F(special::betainc), BORA_F(special::exp1),
      BORA_F(special::expi), BORA_F(special::expn), BORA_F(special::spence), BORA_F(special::dawsn),
      BORA_F(special::i0), BORA_F(special::i0e), BORA_F(special::i1), BORA_F(special::i1e), BORA_F(special::owens_t),
      BORA_F(special::hyp1f1), BORA_F(special::hyp2f1),
      {"special::zeta", of(static_cast<Two>(special::zeta))},
      {"special::zeta/riemann", of(static_cast<One>(special::zeta))},
      {"special::multigammaln", [](const Arrays& x) { return Arrays{special::multigammaln(x[0], 3)}; }},
      {"special::fresnel",
       [](const Arrays& x) {
         auto r = special::fresnel(x[0]);
         return Arrays{r.s, r.c};
       }},
      {"special::sici",
       [](const Arrays& x) {
         auto r = special::sici(x[0]);
         return Arrays{r.si, r.ci};
       }},
      {"special::bessel_jn",
       [](const Arrays& x) {
         Arrays r;
         for (std::int64_t n = 0; n < 4; ++n) r.push_back(take(special::bessel_jn(x[0], 3), array(n), 0));
         return r;
       }},
      {"special::sph_harm_y",
       [](const Arrays& x) { return Arrays{real(special::sph_harm_y(x[0], x[1], x[2], x[3]))}; }},
      {"special::wofz",
       [](const Arrays& x) {
         auto w = special::wofz(complex(x[0], x[1]));
         return Arrays{real(w), imag(w)};
       }},
#define BORA_EVERY(d) \
  BORA_F(stats::d::logpdf), BORA_F(stats::d::pdf), BORA_F(stats::d::cdf), BORA_F(stats::d::logcdf), \
      BORA_F(stats::d::sf), BORA_F(stats::d::logsf)
#define BORA_DENSITY(d) BORA_F(stats::d::logpdf), BORA_F(stats::d::pdf)
#define BORA_MASS(d) BORA_F(stats::d::logpmf), BORA_F(stats::d::pmf)
      BORA_EVERY(norm), BORA_F(stats::norm::ppf), BORA_F(stats::norm::isf), BORA_EVERY(truncnorm),
      BORA_DENSITY(gennorm), BORA_F(stats::gennorm::cdf), BORA_DENSITY(uniform), BORA_F(stats::uniform::cdf),
      BORA_F(stats::uniform::ppf), BORA_EVERY(expon), BORA_F(stats::expon::ppf), BORA_DENSITY(laplace),
      BORA_F(stats::laplace::cdf), BORA_DENSITY(logistic), BORA_F(stats::logistic::cdf), BORA_F(stats::logistic::sf),
      BORA_F(stats::logistic::ppf), BORA_F(stats::logistic::isf), BORA_EVERY(cauchy), BORA_F(stats::cauchy::ppf),
      BORA_F(stats::cauchy::isf), BORA_EVERY(gumbel_l), BORA_F(stats::gumbel_l::ppf), BORA_EVERY(gumbel_r),
      BORA_F(stats::gumbel_r::ppf), BORA_DENSITY(t), BORA_EVERY(gamma), BORA_EVERY(chi2), BORA_EVERY(beta),
      BORA_EVERY(pareto), BORA_F(stats::pareto::ppf), BORA_DENSITY(vonmises), BORA_DENSITY(wrapcauchy),
      BORA_MASS(bernoulli), BORA_MASS(binom), BORA_MASS(nbinom), BORA_MASS(geom), BORA_MASS(poisson),
      BORA_MASS(betabinom)};
#undef BORA_F
#undef BORA_EVERY
#undef BORA_DENSITY
#undef BORA_MASS
  return r;
}

struct Bound {
  double ulps = 10;      // of the value; derivatives get twice and four times as many
  double condition = 2;  // times the condition number
  double least = 0;      // where the right number is smaller, of this one
};
/// What has other bounds, and why: docs/numerics.md lists it.
Bound bound_of(const std::string& name) {
  if (name == "special::hyp1f1" || name == "special::hyp2f1") return {20000, 2};  // derivatives by parameters: series
  if (name.rfind("stats::betabinom", 0) == 0) return {10, 2, 1};  // sums of logarithms: nearly 0 for a sure count
  return {};
}
/// Scaled distributions are functions of x / scale: a derivative by scale is made of those by x, so it is right where
/// they, the squares of scale and the density for scale = 1 are in the range. The same holds of x's own second
/// derivatives.
bool reachable(const std::string& name, const Point& p, std::size_t input, int order, Dtype d) {
  if (name.rfind("stats::", 0) != 0 || p.in.size() < 3) return true;
  // The second derivative of a logarithm by x is made of the distribution's, which may vanish.
  bool log_of_cauchy = name == "stats::cauchy::logcdf" || name == "stats::cauchy::logsf";
  if (log_of_cauchy && order == 2 && d != f64 && std::fabs(p.in[0] / p.in.back()) > 1e12) return false;
  const double most = d == f64 ? 1e300 : d == f16 ? 1e4 : 1e36;
  double scale = p.in.back();
  bool quantile = name.find("ppf") != std::string::npos || name.find("isf") != std::string::npos;
  auto within = [&](double x) { return std::fabs(x) < most; };
  auto by_x = static_cast<double>(p.by[0][0].value), twice = static_cast<double>(p.by[0][1].value);
  if (quantile) return order < 2 || within(twice / scale);
  // A density of x / scale that vanishes stays 0, whatever it is divided by.
  bool density = name.size() > 5 && name.compare(name.size() - 5, 5, "::pdf") == 0;
  auto standard = std::fabs((density ? static_cast<double>(p.value.value) : by_x) * scale);
  if (standard < 1 / most && standard > 0) return false;
  if (order == 0) return true;
  bool by_scale = input + 1 == p.in.size() && p.by[input][0].known;
  if (by_scale && !(within(by_x) && (order == 1 || within(twice)))) return false;
  return order == 1 || (within(1 / scale / scale) && within(p.in[0] / scale / scale / scale) && within(scale * scale));
}
struct Format {
  int digits, least;  // bits of a fraction with the first one; exponent of the step of subnormal numbers
  long double most;
};
Format format_of(Dtype d) {
  if (d == f64) return {53, -1074, std::numeric_limits<double>::max()};
  if (d == f32) return {24, -149, std::numeric_limits<float>::max()};
  return d == bf16 ? Format{8, -133, 0x1.FEp127L} : Format{11, -24, 65504};
}
long double step_of(long double x, Dtype d) {
  auto f = format_of(d);
  x = std::min(std::fabs(x), f.most);
  return std::ldexp(1.0L, x == 0 ? f.least : std::max(f.least, std::ilogb(x) - f.digits + 1));
}
/// The error of a number, in units of what it may be off.
double error(double got, const Number& want, Dtype d, double ulps, double condition, double least) {
  auto most = format_of(d).most;
  if (std::isnan(got)) return std::fabs(want.value) > most ? 0 : HUGE_VAL;  // parts of what overflows
  if (want.value == 0 && std::fabs(got) < 1e-100) return 0;
  long double allowed = step_of(want.value, d) * (ulps + condition * want.condition);
  if (least > 0) allowed = std::max<long double>(allowed, step_of(least, d) * ulps);
  if (std::isinf(got)) {
    bool beyond = std::fabs(want.value) + allowed > most;
    return beyond && std::signbit(got) == std::signbit(want.value) ? 0 : HUGE_VAL;
  }
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want.value) / allowed);
}
struct Worst {
  double error = 0;
  std::string what;
  void take(double e, const std::string& text) {
    if (!(e <= error)) error = e, what = text;
  }
};
/// A function's value, and by each input the first and second derivative of its sum, if `points` know them.
struct Answers {
  Array value;
  std::vector<std::array<Array, 2>> by = {};
};
struct Case {
  explicit Case(const std::string& named) : name(named) {
    auto hash = name.find('#');
    which = hash == std::string::npos ? 0 : static_cast<std::size_t>(std::stoi(name.substr(hash + 1)));
    f = functions().at(name.substr(0, hash));
  }
  Answers operator()(const std::vector<Array>& in, const std::vector<const Point*>& at) const {
    Answers r{f(in).at(which)};
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::array<Array, 2> by;
      std::function<Array(const Array&)> total = [&](const Array& x) {
        auto all = in;
        all[i] = x;
        return sum(f(all).at(which));
      };
      auto first = [&](const Array& x) { return grad(total)(x); };
      if (std::ranges::any_of(at, [&](auto* p) { return p->by[i][0].known; })) by[0] = first(in[i]);
      if (std::ranges::any_of(at, [&](auto* p) { return p->by[i][1].known; }))
        by[1] = grad([&](const Array& x) { return sum(first(x)); })(in[i]);
      r.by.push_back(by);
    }
    return r;
  }
  std::string name;
  std::size_t which = 0;
  Function f;
};
std::vector<const Point*> points_of(const std::string& name, Dtype d) {
  std::vector<const Point*> at;
  for (auto& p : points().at(name))
    if (d == f64 || !p.wide) at.push_back(&p);
  return at;
}
std::vector<Array> inputs(const std::vector<const Point*>& at, Dtype d) {
  std::vector<Array> in;
  for (std::size_t i = 0; i < at[0]->in.size(); ++i) {
    std::vector<double> x;
    for (auto* p : at) x.push_back(p->in[i]);
    in.push_back(asarray(x).astype(d));
  }
  return in;
}
/// Calls each(words, order, input, got, number) with each answer and how to find its number in a point.
template <class F> void each_answer(const Answers& a, const F& each) {
  each("value", 0, std::size_t{0}, a.value, [](const Point& p) { return &p.value; });
  for (std::size_t i = 0; i < a.by.size(); ++i)
    for (int order : {1, 2}) {
      auto& got = a.by[i][static_cast<std::size_t>(order - 1)];
      auto words = std::string(order == 1 ? "" : "second ") + "derivative by input " + std::to_string(i);
      if (got.defined())
        each(words, order, i, got, [=](const Point& p) { return &p.by[i][static_cast<std::size_t>(order - 1)]; });
    }
}
class SpecialRangeOf : public testing::TestWithParam<std::string> {};
TEST_P(SpecialRangeOf, IsRight) {
  auto name = GetParam();
  ASSERT_TRUE(functions().count(name.substr(0, name.find('#')))) << name;
  Case of(name);
  auto bound = bound_of(name);
  for (auto d : {f32, f64}) {
    auto at = points_of(name, d);
    Worst worst;
    each_answer(of(inputs(at, d), at), [&](const std::string& what, int order, std::size_t input, const Array& y,
                                           auto want) {
      EXPECT_EQ(y.dtype(), d) << name;
      auto got = y.to_vector<double>();
      for (std::size_t k = 0; k < at.size(); ++k) {
        const Number* w = want(*at[k]);
        if (!w->known || !reachable(name, *at[k], input, order, d)) continue;
        auto e = error(got[k], *w, d, (1 << order) * bound.ulps, bound.condition, bound.least);
        std::ostringstream s;
        s.precision(9);
        s << name << " " << dtype_name(d) << " " << what << " is " << got[k] << ", right is "
          << static_cast<double>(w->value) << " at " << at[k]->line;
        worst.take(e, s.str());
        if (std::getenv("BORA_RANGE_ALL") && !(e <= 1)) std::printf("%9.3g %s\n", e, s.str().c_str());
      }
    });
    EXPECT_LE(worst.error, 1) << worst.what;
  }
}
/// bf16 and f16 at the same points, as far as these have them: as f64 of the rounded inputs, which the law above
/// compares with the golden numbers.
TEST_P(SpecialRangeOf, IsRightInHalves) {
  auto name = GetParam();
  // Parts of complex numbers, of which there are no halves.
  if (name.starts_with("special::wofz") || name.starts_with("special::sph_harm_y")) return;
  Case of(name);
  auto bound = bound_of(name);
  auto at = points_of(name, f32);
  for (auto d : {bf16, f16}) {
    auto in = inputs(at, d);
    std::vector<Array> wide;
    for (auto& x : in) wide.push_back(x.astype(f64));
    std::vector<std::vector<double>> x;
    for (auto& w : wide) x.push_back(w.to_vector<double>());
    std::vector<std::vector<double>> right;
    each_answer(of(wide, at), [&](auto&, int, std::size_t, const Array& y, auto) {
      right.push_back(y.to_vector<double>());
    });
    Worst worst;
    std::size_t which = 0;
    each_answer(of(in, at), [&](const std::string& what, int order, std::size_t input, const Array& y, auto want) {
      EXPECT_EQ(y.dtype(), d) << name;
      auto got = y.astype(f64).template to_vector<double>();
      auto& answers = right[which++];
      for (std::size_t k = 0; k < at.size(); ++k) {
        Number w = *want(*at[k]);
        bool there = true;  // no input became 0 or infinite
        for (std::size_t i = 0; i < x.size(); ++i)
          there = there && std::isfinite(x[i][k]) && (x[i][k] == 0) == (at[k]->in[i] == 0);
        if (!w.known || !there || !std::isfinite(answers[k]) || !reachable(name, *at[k], input, order, d)) continue;
        w.value = answers[k];
        auto e = error(got[k], w, d, (1 << order) * bound.ulps, bound.condition, bound.least);
        std::ostringstream s;
        s.precision(9);
        s << name << " " << dtype_name(d) << " " << what << " is " << got[k] << ", in f64 " << answers[k] << " at "
          << at[k]->line;
        worst.take(e, s.str());
        if (std::getenv("BORA_RANGE_ALL") && !(e <= 1)) std::printf("%9.3g %s\n", e, s.str().c_str());
      }
    });
    EXPECT_LE(worst.error, 1) << worst.what;
  }
}
std::string label_of(const testing::TestParamInfo<std::string>& info) {
  std::string r = info.param;
  for (auto& c : r)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return r;
}
std::vector<std::string> names() {
  std::vector<std::string> r;
  for (auto& [name, p] : points()) r.push_back(name);
  return r;
}
/// Each function of the two headers that gives an Array is tried, but for those of no derivative, of whole arrays or of
/// steps, which the words name.
TEST(SpecialRange, EveryFunctionHasPoints) {
  std::istringstream others(
      "special::bernoulli special::gammasgn special::logsumexp stats::bernoulli::cdf stats::bernoulli::ppf "
      "stats::poisson::cdf stats::multivariate_normal::logpdf stats::multivariate_normal::pdf "
      "stats::dirichlet::logpdf stats::dirichlet::pdf stats::multinomial::logpmf stats::multinomial::pmf stats::sem "
      "stats::rankdata");
  const std::set<std::string> elsewhere{std::istream_iterator<std::string>(others), {}};
  std::set<std::string> tried;
  for (auto& [name, p] : points()) tried.insert(name.substr(0, name.find_first_of("#/")));
  const std::regex words("\nnamespace bora::(\\S*) \\{|\nArray (\\w+)\\(");
  for (std::string header : {"special", "stats"}) {
    std::stringstream s;
    s << std::ifstream(test::source_dir() + "/include/bora/ops/" + header + ".h").rdbuf();
    auto text = s.str();
    ASSERT_FALSE(text.empty());
    std::string space;
    for (std::sregex_iterator w(text.begin(), text.end(), words), end; w != end; ++w) {
      if ((*w)[1].matched) {
        space = (*w)[1];
        continue;
      }
      auto name = space + "::" + std::string((*w)[2]);
      EXPECT_TRUE(tried.count(name) + elsewhere.count(name)) << name << " has no points in tests/golden";
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Laws, SpecialRangeOf, testing::ValuesIn(names()), label_of);
}  // namespace
}  // namespace bora::laws::special_range_test
