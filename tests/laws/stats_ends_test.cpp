// Ends, joints and tails: quantiles outside of and at the ends of [0, 1], slopes where distributions are pieced
// together, and derivatives of special functions where formulas would cancel or leave the range.
#include <cmath>
#include <gtest/gtest.h>
#include "bora/fx/grad.h"
#include "bora/fx/jit.h"
#include "bora/ops/creation.h"
#include "bora/ops/stats.h"

namespace bora::laws::stats_ends_test {
namespace {
using stats::Operand;
using OneOf = std::function<Array(const Array&)>;
double at(const Array& y) { return y.astype(f64).item<double>(); }
double slope(const OneOf& f, double x, Dtype d = f64) { return at(grad(f)(array(x, f64).astype(d))); }
double second(const OneOf& f, double x, Dtype d = f64) {
  return slope([&](const Array& v) { return grad(f)(v); }, x, d);
}
struct Quantile {
  const char* name;
  OneOf f;
  double at_zero, at_one;
};
/// SciPy's rule for every quantile function: NaN outside of [0, 1] and of NaN, the ends of the support at 0 and 1.
TEST(StatsEnds, QuantilesHaveOneRule) {
  using namespace stats;
  const std::vector<Quantile> all{
      {"norm.ppf", [](const Array& q) { return norm::ppf(q, 3, 2); }, -HUGE_VAL, HUGE_VAL},
      {"norm.isf", [](const Array& q) { return norm::isf(q, 3, 2); }, HUGE_VAL, -HUGE_VAL},
      {"uniform.ppf", [](const Array& q) { return stats::uniform::ppf(q, 3, 2); }, 3, 5},
      {"expon.ppf", [](const Array& q) { return expon::ppf(q, 3, 2); }, 3, HUGE_VAL},
      {"logistic.ppf", [](const Array& q) { return logistic::ppf(q, 3, 2); }, -HUGE_VAL, HUGE_VAL},
      {"logistic.isf", [](const Array& q) { return logistic::isf(q, 3, 2); }, HUGE_VAL, -HUGE_VAL},
      {"cauchy.ppf", [](const Array& q) { return cauchy::ppf(q, 3, 2); }, -HUGE_VAL, HUGE_VAL},
      {"cauchy.isf", [](const Array& q) { return cauchy::isf(q, 3, 2); }, HUGE_VAL, -HUGE_VAL},
      {"gumbel_l.ppf", [](const Array& q) { return gumbel_l::ppf(q, 3, 2); }, -HUGE_VAL, HUGE_VAL},
      {"gumbel_r.ppf", [](const Array& q) { return gumbel_r::ppf(q, 3, 2); }, -HUGE_VAL, HUGE_VAL},
      {"pareto.ppf", [](const Array& q) { return pareto::ppf(q, 1.5, 3, 2); }, 5, HUGE_VAL},
      {"bernoulli.ppf", [](const Array& q) { return stats::bernoulli::ppf(q, 0.25); }, 0, 1},
      {"bernoulli.ppf of 0", [](const Array& q) { return stats::bernoulli::ppf(q, 0); }, 0, 1},
      {"ndtri", [](const Array& q) { return special::ndtri(q); }, -HUGE_VAL, HUGE_VAL},
      {"logit", [](const Array& q) { return special::logit(q); }, -HUGE_VAL, HUGE_VAL}};
  for (auto& q : all) {
    auto staged = jit(q.f);
    for (auto d : {f32, f64, bf16, f16})
      for (auto& f : {q.f, OneOf([&](const Array& x) { return staged(x); })}) {
        auto of = [&](double p) { return at(f(array(p, f64).astype(d))); };
        for (double p : {-HUGE_VAL, -1e30, -0.5, -1e-3, 1.0078125, 2.0, 1e30, HUGE_VAL, std::nan("")})
          EXPECT_TRUE(std::isnan(of(p))) << q.name << "(" << p << ") = " << of(p);
        EXPECT_EQ(of(0), q.at_zero) << q.name << " " << dtype_name(d);
        EXPECT_EQ(of(1), q.at_one) << q.name << " " << dtype_name(d);
        EXPECT_FALSE(std::isnan(of(0.5))) << q.name;
      }
  }
}
TEST(StatsEnds, PiecedDistributionsHaveTheSlopesOfTheirParts) {
  using namespace stats;
  for (auto d : {f32, f64}) {
    for (double scale : {0.5, 2.0, 1e20}) {
      auto cdf = [&](const Array& x) { return laplace::cdf(x, 3, scale); };
      EXPECT_NEAR(slope(cdf, 3, d) * scale, 0.5, 1e-7);
      EXPECT_NEAR(slope([&](const Array& l) { return laplace::cdf(3, l, scale); }, 3, d) * scale, -0.5, 1e-7);
      EXPECT_EQ(slope([&](const Array& s) { return laplace::cdf(3, 3, s); }, scale, d), 0);
    }
    for (double y : {1e-30, 1e-3, 5.0}) {
      auto cdf = [](const Array& x) { return laplace::cdf(x); };
      EXPECT_NEAR(slope(cdf, y, d), 0.5 * std::exp(-y), 1e-7);
      EXPECT_NEAR(slope(cdf, -y, d), 0.5 * std::exp(-y), 1e-7);
      EXPECT_NEAR(second(cdf, y, d), -0.5 * std::exp(-y), 1e-7);
      EXPECT_NEAR(second(cdf, -y, d), 0.5 * std::exp(-y), 1e-7);
    }
    EXPECT_EQ(slope([](const Array& x) { return stats::uniform::cdf(x, 1, 4); }, 1, d), 0.25);
    EXPECT_EQ(slope([](const Array& x) { return stats::uniform::cdf(x, 1, 4); }, 5, d), 0.25);
    EXPECT_EQ(slope([](const Array& x) { return expon::cdf(x, 1, 4); }, 1, d), 0.25);
    EXPECT_EQ(slope([](const Array& x) { return expon::sf(x, 1, 4); }, 1, d), -0.25);
    EXPECT_EQ(slope([](const Array& x) { return expon::logsf(x, 1, 4); }, 1, d), -0.25);
    EXPECT_EQ(slope([](const Array& x) { return pareto::cdf(x, 3, 0, 2); }, 2, d), 1.5);
    EXPECT_EQ(slope([](const Array& x) { return pareto::sf(x, 3, 0, 2); }, 2, d), -1.5);
    EXPECT_EQ(slope([](const Array& x) { return logistic::logpdf(x, 3, 2); }, 3, d), 0);
    EXPECT_EQ(second([](const Array& x) { return logistic::logpdf(x, 3, 2); }, 3, d), -0.125);
    EXPECT_NEAR(slope([](const Array& x) { return gennorm::cdf(x, 2); }, 0, d), 1 / std::sqrt(M_PI), 1e-7);
    EXPECT_NEAR(slope([](const Array& x) { return gennorm::cdf(x, 3); }, 1e-20, d), 1.5 / std::tgamma(1 / 3.), 1e-7);
    EXPECT_EQ(slope([](const Array& x) { return stats::gamma::cdf(x, 1); }, 0, d), 1);
    EXPECT_EQ(slope([](const Array& x) { return stats::gamma::sf(x, 1); }, 0, d), -1);
    EXPECT_EQ(slope([](const Array& x) { return chi2::logpdf(x, 2); }, 0, d), -0.5);
    EXPECT_EQ(slope([](const Array& x) { return stats::beta::cdf(x, 1, 3); }, 0, d), 3);
    EXPECT_EQ(slope([](const Array& x) { return stats::beta::sf(x, 3, 1); }, 1, d), -3);
    EXPECT_EQ(slope([](const Array& x) { return cauchy::cdf(x); }, 0, d), d == f32 ? float(1 / M_PI) : 1 / M_PI);
  }
}
/// Each of these has been 0, inf, NaN or noise.
TEST(StatsEnds, DerivativesWhereFormulasCancel) {
  using namespace special;
  auto near = [](double got, double want, double relative = 4e-7) {
    EXPECT_LE(std::fabs(got - want), relative * std::fabs(want)) << got << " for " << want;
  };
  for (auto d : {f32, f64}) {
    near(second(special::i1, 1e-15, d), 0.375e-15);
    near(second([](const Array& x) { return betainc(2, 3, x); }, 1e-20, d), 12);
    near(slope([](const Array& x) { return gammainc(2, x); }, 1e-30, d), 1e-30);
    near(slope([](const Array& x) { return gammaincc(2, x); }, 1e-30, d), -1e-30);
    near(slope(erfcx, 1000, d), -5.6418873323907e-7);
    near(second(erfcx, 1000, d), 1.12837577568e-9);
    near(slope(dawsn, 1000, d), -5.00000750002e-7);
    near(second(dawsn, 1000, d), 1.00000300001125e-9);
    near(slope(i0e, 1e6, d), -1.99471215002e-10, 1e-6);
    near(second(spence, 1 + std::ldexp(1, -20), d), 0.5 - std::ldexp(2.0 / 3, -20));
    near(second([](const Array& x) { return sici(x).si; }, 1e-15, d), -1e-15 / 3);
    near(slope([](const Array& a) { return betaln(a, 1); }, 1e10, d), -1e-10);
    near(slope([](const Array& l) { return boxcox(2, l); }, 0, d), 0.5 * std::log(2) * std::log(2));
    near(second(log_ndtr, -1e5, d), -1);
    near(slope([](const Array& p) { return rel_entr(p, 1e-30); }, 1e30, d), 60 * std::log(10) + 1);
  }
}
/// Values whose parts leave the range.
TEST(StatsEnds, ValuesInTheTails) {
  using namespace stats;
  auto f = [](double x) { return array(x, f64).astype(f32); };
  EXPECT_NEAR(at(cauchy::logpdf(f(1e30))), -139.3, 0.1);
  EXPECT_NEAR(at(norm::logpdf(f(0), 0, 1e-30)), 68.16, 0.01);
  EXPECT_NEAR(at(gumbel_r::logsf(f(200))), -200, 1e-4);
  EXPECT_NEAR(at(gumbel_l::logcdf(f(-200))), -200, 1e-4);
  EXPECT_NEAR(at(stats::gamma::logsf(f(300), 1)), -300, 1e-4);
  EXPECT_NEAR(at(stats::gamma::logcdf(f(1e-20), 5)), -5 * 20 * std::log(10) - std::log(120), 1e-4);
  EXPECT_NEAR(at(stats::beta::logsf(f(1e-20), 2, 1)) / -1e-40, 1, 1e-4);
  EXPECT_NEAR(at(cauchy::logcdf(f(1e10))) / (-1e-10 / M_PI), 1, 1e-6);
  EXPECT_NEAR(at(gennorm::cdf(f(-5), 2)) / 7.687298972140e-13, 1, 1e-6);
  EXPECT_NEAR(at(poisson::logpmf(f(1e6), 1e6)), -7.82669, 1e-4);
}
}  // namespace
}  // namespace bora::laws::stats_ends_test
