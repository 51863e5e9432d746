// The law of bounds: at an end of its domain, or of a distribution's support, a function has the slope of its inside.
// It is finite where slopes nearby approach a number, infinite with their sign where they grow, and never NaN.
#include <functional>
#include "laws/laws.h"

namespace bora::laws::bounds_test {
namespace {
using namespace special;
using F = std::function<Array(const Array&)>;
/// f is looked at x, from this side.
struct Bound {
  std::string name;
  double x;
  int side;  // 1: the inside is right of x
  F f;
};
#define BORA_BOUND(x0, side, ...) \
  {#__VA_ARGS__ " at " #x0, x0, side, [](const Array& x) -> Array { return __VA_ARGS__; }}
/// The functions of a distribution of numbers at one end of its support.
#define BORA_CONTINUOUS(x0, side, space, ...)                    \
  BORA_BOUND(x0, side, stats::space::pdf(x, __VA_ARGS__)),       \
      BORA_BOUND(x0, side, stats::space::logpdf(x, __VA_ARGS__)), \
      BORA_BOUND(x0, side, stats::space::cdf(x, __VA_ARGS__))
#define BORA_TAILS(x0, side, space, ...)                          \
  BORA_CONTINUOUS(x0, side, space, __VA_ARGS__),                  \
      BORA_BOUND(x0, side, stats::space::sf(x, __VA_ARGS__)),     \
      BORA_BOUND(x0, side, stats::space::logcdf(x, __VA_ARGS__)), \
      BORA_BOUND(x0, side, stats::space::logsf(x, __VA_ARGS__))

std::vector<Bound> supports() {
  return {BORA_TAILS(0, 1, expon, 0, 2.),
          BORA_TAILS(0, 1, gamma, 1.),
          BORA_TAILS(0, 1, gamma, 0.5),
          BORA_TAILS(0, 1, gamma, 1.5),
          BORA_TAILS(0, 1, gamma, 2.),
          BORA_TAILS(0, 1, gamma, 3., 0, 2.),
          BORA_TAILS(0, 1, chi2, 2.),
          BORA_TAILS(0, 1, chi2, 1.),
          BORA_TAILS(0, 1, chi2, 4.),
          BORA_TAILS(0, 1, beta, 1., 1.),
          BORA_TAILS(0, 1, beta, 1., 2.5),
          BORA_TAILS(0, 1, beta, 2., 3.),
          BORA_TAILS(0, 1, beta, 0.5, 0.5),
          BORA_TAILS(1, -1, beta, 1., 1.),
          BORA_TAILS(1, -1, beta, 2.5, 1.),
          BORA_TAILS(1, -1, beta, 3., 2.),
          BORA_TAILS(1, -1, beta, 0.5, 0.5),
          BORA_TAILS(1, 1, pareto, 2.5),
          BORA_TAILS(-1, 1, truncnorm, -1., 2.),
          BORA_TAILS(2, -1, truncnorm, -1., 2.),
          BORA_TAILS(0.5, 1, truncnorm, 0.5, INFINITY),
          BORA_TAILS(8, 1, truncnorm, 8., 9.),
          BORA_TAILS(9, -1, truncnorm, 8., 9.),
          BORA_CONTINUOUS(0, 1, uniform, 0, 2.),
          BORA_CONTINUOUS(2, -1, uniform, 0, 2.),
          BORA_BOUND(0, 1, stats::wrapcauchy::pdf(x, 0.5)),
          BORA_BOUND(0, 1, stats::wrapcauchy::logpdf(x, 0.5)),
          BORA_BOUND(0, 1, stats::gennorm::cdf(x, 1.5)),
          BORA_BOUND(0, 1, stats::gennorm::pdf(x, 1.5))};
}
std::vector<Bound> parameters() {
  std::vector<Bound> r;
  for (double k : {0., 1.}) {
    auto name = " of " + std::to_string(static_cast<int>(k));
    for (auto [p, side] : {std::pair{0., 1}, {1., -1}}) {
      auto at = name + " at p = " + std::to_string(static_cast<int>(p));
      r.push_back({"bernoulli pmf" + at, p, side, [=](const Array& q) { return stats::bernoulli::pmf(k, q); }});
      r.push_back({"bernoulli logpmf" + at, p, side, [=](const Array& q) { return stats::bernoulli::logpmf(k, q); }});
      for (double more : {0., 1., 3.}) {
        r.push_back({"binom pmf" + at, p, side, [=](const Array& q) { return stats::binom::pmf(k + more, 4, q); }});
        r.push_back({"binom logpmf" + at, p, side,
                     [=](const Array& q) { return stats::binom::logpmf(k + more, 4, q); }});
        r.push_back({"nbinom pmf" + at, p, side, [=](const Array& q) { return stats::nbinom::pmf(more, 1 + k, q); }});
        r.push_back({"nbinom logpmf" + at, p, side,
                     [=](const Array& q) { return stats::nbinom::logpmf(more, 1 + k, q); }});
      }
      r.push_back({"geom pmf" + at, p, side, [=](const Array& q) { return stats::geom::pmf(k + 1, q); }});
      r.push_back({"geom logpmf" + at, p, side, [=](const Array& q) { return stats::geom::logpmf(k + 1, q); }});
    }
    r.push_back({"poisson pmf" + name, 0, 1, [=](const Array& m) { return stats::poisson::pmf(k, m); }});
    r.push_back({"poisson logpmf" + name, 0, 1, [=](const Array& m) { return stats::poisson::logpmf(k, m); }});
    r.push_back({"poisson cdf" + name, 0, 1, [=](const Array& m) { return stats::poisson::cdf(k, m); }});
  }
  return r;
}
std::vector<Bound> functions() {
  return {BORA_BOUND(0, 1, xlogy(0, x)),
          BORA_BOUND(0, 1, xlogy(2, x)),
          BORA_BOUND(0, 1, xlogy(x, x + 0.5)),
          BORA_BOUND(-1, 1, xlog1py(0, x)),
          BORA_BOUND(-1, 1, xlog1py(2, x)),
          BORA_BOUND(0, 1, entr(x)),
          BORA_BOUND(0, 1, rel_entr(x, 0.5)),
          BORA_BOUND(0, 1, rel_entr(0.5, x)),
          BORA_BOUND(0, 1, rel_entr(0, x)),
          BORA_BOUND(0, 1, kl_div(x, 0.5)),
          BORA_BOUND(0, 1, kl_div(0.5, x)),
          BORA_BOUND(0, 1, kl_div(0, x)),
          BORA_BOUND(0, 1, pow(x, array(0., f64))),
          BORA_BOUND(0, 1, pow(x, array(0.5, f64))),
          BORA_BOUND(0, 1, pow(x, array(1., f64))),
          BORA_BOUND(0, 1, pow(x, array(1.5, f64))),
          BORA_BOUND(0, 1, pow(x, array(2., f64))),
          BORA_BOUND(0, 1, pow(x, array(-0.5, f64))),
          BORA_BOUND(0, 1, pow(0., x + 1)),
          BORA_BOUND(0, 1, pow(x, x + 1)),
          BORA_BOUND(0, 1, sqrt(x)),
          BORA_BOUND(0, 1, cbrt(x)),
          BORA_BOUND(0, 1, log(x)),
          BORA_BOUND(0, 1, log2(x)),
          BORA_BOUND(0, 1, rsqrt(x)),
          BORA_BOUND(-1, 1, log1p(x)),
          BORA_BOUND(-1, 1, arcsin(x)),
          BORA_BOUND(1, -1, arcsin(x)),
          BORA_BOUND(-1, 1, arccos(x)),
          BORA_BOUND(1, -1, arccos(x)),
          BORA_BOUND(1, 1, arccosh(x)),
          BORA_BOUND(-1, 1, arctanh(x)),
          BORA_BOUND(1, -1, arctanh(x)),
          BORA_BOUND(0, 1, logit(x)),
          BORA_BOUND(1, -1, logit(x)),
          BORA_BOUND(0, 1, ndtri(x)),
          BORA_BOUND(1, -1, ndtri(x)),
          BORA_BOUND(-1, 1, erfinv(x)),
          BORA_BOUND(1, -1, erfinv(x)),
          BORA_BOUND(0, 1, gammainc(0.5, x)),
          BORA_BOUND(0, 1, gammainc(1, x)),
          BORA_BOUND(0, 1, gammaincc(2, x)),
          BORA_BOUND(0, 1, betainc(1, 3, x)),
          BORA_BOUND(1, -1, betainc(2, 1, x)),
          BORA_BOUND(0, 1, betainc(0.5, 0.5, x)),
          BORA_BOUND(0, 1, spence(x)),
          BORA_BOUND(0, 1, exp1(x)),
          BORA_BOUND(0, 1, boxcox(x, 0.5)),
          BORA_BOUND(0, 1, boxcox(x, 1.)),
          BORA_BOUND(0, 1, boxcox(x, 2.)),
          BORA_BOUND(-1, 1, boxcox1p(x, 1.)),
          BORA_BOUND(-1, 1, boxcox1p(x, 2.)),
          BORA_BOUND(0, 1, nn::log1mexp(x))};
}
double at(const Array& y) { return y.astype(f64).item<double>(); }
/// The slope at the bound, near it and nearer.
void inside_and_end_agree(const Bound& b, Dtype dtype) {
  auto slope = grad([&](const Array& v) { return b.f(v); });
  auto here = array(b.x, dtype);
  auto s = at(slope(here));
  auto near = [&](double h) { return at(slope(array(b.x + b.side * h, f64))); };
  auto n = near(1e-9), nearer = near(1e-13);
  bool grows = std::abs(nearer) > 1.2 * std::abs(n) + 1 || std::abs(nearer) > 1e8;
  auto say = b.name + " in " + std::string(info(dtype).name);
  if (grows) EXPECT_EQ(s, std::copysign(INFINITY, nearer)) << say;
  else EXPECT_NEAR(s, nearer, (dtype == f64 || dtype == f32 ? 1e-4 : 2e-2) * std::max(1., std::abs(nearer))) << say;
  // The same in every way to get it.
  auto same = [&](double other, const char* how) {
    EXPECT_TRUE(other == s || (std::isnan(other) && std::isnan(s))) << say << how << other << " against " << s;
  };
  same(at(jit(slope)(here)), ", staged: ");
  same(at(index_in_dim(vmap(slope)(stack({here, here})), 0, 1)), ", mapped: ");
  auto forward = at(jvp([&](const Array& v) { return b.f(v); }, here, ones_like(here)).second);
  same(forward, ", forward: ");
}
TEST(Bounds, SlopesAreThoseOfTheInside) {
  for (auto* list : {supports, parameters, functions})
    for (auto& b : list())
      for (auto d : {f64, f32, bf16, f16}) {
        if ((d == bf16 || d == f16) && effort() == Effort::thin) continue;
        try {
          inside_and_end_agree(b, d);
        } catch (const std::exception& e) { ADD_FAILURE() << b.name << ": " << e.what(); }
      }
}
double second(const F& f, double x) {
  return at(grad([&](const Array& v) { return grad([&](const Array& w) { return f(w); })(v); })(array(x, f64)));
}
TEST(Bounds, SecondSlopesAreThoseOfTheInside) {
  EXPECT_EQ(second([](const Array& x) { return stats::chi2::logpdf(x, 2.); }, 0), 0);
  EXPECT_EQ(second([](const Array& x) { return stats::expon::pdf(x); }, 0), 1);
  EXPECT_EQ(second([](const Array& x) { return stats::gamma::pdf(x, 1.); }, 0), 1);
  EXPECT_EQ(second([](const Array& x) { return stats::gamma::pdf(x, 2.); }, 0), -2);
  EXPECT_EQ(second([](const Array& x) { return stats::gamma::pdf(x, 3.); }, 0), 1);
  EXPECT_NEAR(second([](const Array& x) { return stats::beta::pdf(x, 2., 2.); }, 0), -12, 1e-13);
  EXPECT_NEAR(second([](const Array& x) { return stats::beta::pdf(x, 2., 2.); }, 1), -12, 1e-13);
  EXPECT_EQ(second([](const Array& x) { return stats::uniform::cdf(x); }, 0), 0);
  EXPECT_EQ(second([](const Array& x) { return pow(x, array(0., f64)); }, 0), 0);
  EXPECT_EQ(second([](const Array& x) { return pow(x, array(1., f64)); }, 0), 0);
  EXPECT_EQ(second([](const Array& x) { return pow(x, array(2., f64)); }, 0), 2);
  EXPECT_EQ(second([](const Array& y) { return xlogy(0, y); }, 0), 0);
  EXPECT_EQ(second([](const Array& p) { return stats::binom::pmf(1, 2, p); }, 0), -4);
  EXPECT_EQ(second([](const Array& m) { return stats::poisson::pmf(1, m); }, 0), -2);
}
TEST(Bounds, TheLinesOfTheIssue) {
  for (auto d : {f64, f32, bf16, f16}) {
    auto zero = array(0., d);
    EXPECT_EQ(at(grad([&](const Array& x) { return pow(x, array(0., d)); })(zero)), 0);
    EXPECT_EQ(at(grad([](const Array& x) { return stats::chi2::logpdf(x, 2); })(zero)), -0.5);
    EXPECT_EQ(at(grad([](const Array& y) { return xlogy(0, y); })(zero)), 0);
  }
}
/// The corners of pow by both arguments. A slope by y is that of the right where the left has none (0^y).
TEST(Bounds, CornersOfPow) {
  struct Corner {
    double x, y, by_x, by_y;
  };
  const double inf = INFINITY;
  for (auto [x, y, by_x, by_y] : {Corner{0, 0, 0, 0},
                                  {0, 0.5, inf, 0},
                                  {0, 1, 1, 0},
                                  {0, 2, 0, 0},
                                  {0, -1, -inf, -inf},
                                  {1, 0, 0, 0},
                                  {2, 0, 0, std::log(2.)},
                                  {inf, 0, 0, inf},
                                  {inf, -1, 0, 0},
                                  {inf, 1, 1, inf},
                                  {-2, 2, -4, NAN},
                                  {NAN, 0, 0, NAN},
                                  {1, NAN, NAN, 0}})
    for (auto d : {f64, f32}) {
      auto a = array(x, d), b = array(y, d);
      auto p = at(grad([&](const Array& v) { return pow(v, b); })(a));
      auto q = at(grad([&](const Array& v) { return pow(a, v); })(b));
      auto same = [](double u, double v) {
        return (std::isnan(u) && std::isnan(v)) || std::abs(u - v) < 1e-7 || u == v;
      };
      EXPECT_TRUE(same(p, by_x)) << x << "^" << y << " by x: " << p;
      EXPECT_TRUE(same(q, by_y)) << x << "^" << y << " by y: " << q;
    }
  // The other derivatives of x^y at y = 0 stay: d^2 / dx dy = 1 / x.
  auto mixed = grad([](const Array& x) {
    return grad([&](const Array& y) { return pow(x, y); })(array(0., f64));
  })(array(2., f64));
  EXPECT_EQ(at(mixed), 0.5);
  auto turned = grad([](const Array& y) {
    return grad([&](const Array& x) { return pow(x, y); })(array(2., f64));
  })(array(0., f64));
  EXPECT_EQ(at(turned), 0.5);
}
}  // namespace
}  // namespace bora::laws::bounds_test
