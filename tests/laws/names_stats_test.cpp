// Cases of stats.h.
#include "bora/ops/complex.h"
#include "bora/ops/reductions.h"
#include "bora/ops/special.h"
#include "bora/random/random.h"
#include "bora/random/gamma_grad.h"
#include "bora/random/kde.h"
#include "laws/names_table.h"
#include "support/throws.h"

namespace bora::laws::names_stats_test {
namespace {
/// f of a case's inputs; what they lack are the defaults of loc and scale.
template <class... X> std::function<Arrays(const Arrays&)> with_defaults(Array (*f)(X...)) {
  return [f](const Arrays& in) -> Arrays {
    std::vector<special::Operand> o(in.begin(), in.end());
    auto missing = sizeof...(X) - in.size();
    if (missing > 0) o.push_back(0);
    if (missing > 1) o.push_back(1);
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return Arrays{f(o.at(i)...)};
    }(std::index_sequence_for<X...>());
  };
}
struct Adder {
  NamedCases& cases;
  std::string distribution;
  std::vector<std::string> rest;  // further cases of each function, without derivatives
  bool smooth = true;             // whole numbers are not
  template <class... X> Adder& operator()(const std::string& name, Array (*f)(X...)) {
    auto full = "stats::" + distribution + "::" + name;
    cases[full] = {smooth ? Takes::smooth : Takes::steps, with_defaults(f)};
    for (auto& r : rest) cases[full + "/" + r] = {r == "plain" ? Takes::smooth : Takes::steps, with_defaults(f)};
    return *this;
  }
};
void add_shifted(NamedCases& cases) {
  using namespace stats;
  std::vector<std::string> rest{"support", "plain"}, more{"support", "plain", "wrong"};
  Adder{cases, "norm", rest}("logpdf", norm::logpdf)("pdf", norm::pdf)("cdf", norm::cdf)("logcdf", norm::logcdf)(
      "sf", norm::sf)("logsf", norm::logsf)("ppf", norm::ppf)("isf", norm::isf);
  Adder{cases, "uniform", rest}("logpdf", stats::uniform::logpdf)("pdf", stats::uniform::pdf)(
      "cdf", stats::uniform::cdf)("ppf", stats::uniform::ppf);
  Adder{cases, "expon", rest}("logpdf", expon::logpdf)("pdf", expon::pdf)("cdf", expon::cdf)("logcdf", expon::logcdf)(
      "sf", expon::sf)("logsf", expon::logsf)("ppf", expon::ppf);
  Adder{cases, "laplace", rest}("logpdf", laplace::logpdf)("pdf", laplace::pdf)("cdf", laplace::cdf);
  Adder{cases, "logistic", rest}("logpdf", logistic::logpdf)("pdf", logistic::pdf)("cdf", logistic::cdf)(
      "sf", logistic::sf)("ppf", logistic::ppf)("isf", logistic::isf);
  Adder{cases, "cauchy", rest}("logpdf", cauchy::logpdf)("pdf", cauchy::pdf)("cdf", cauchy::cdf)(
      "logcdf", cauchy::logcdf)("sf", cauchy::sf)("logsf", cauchy::logsf)("ppf", cauchy::ppf)("isf", cauchy::isf);
  Adder{cases, "gumbel_l", rest}("logpdf", gumbel_l::logpdf)("pdf", gumbel_l::pdf)("cdf", gumbel_l::cdf)(
      "logcdf", gumbel_l::logcdf)("sf", gumbel_l::sf)("logsf", gumbel_l::logsf)("ppf", gumbel_l::ppf);
  Adder{cases, "gumbel_r", rest}("logpdf", gumbel_r::logpdf)("pdf", gumbel_r::pdf)("cdf", gumbel_r::cdf)(
      "logcdf", gumbel_r::logcdf)("sf", gumbel_r::sf)("logsf", gumbel_r::logsf)("ppf", gumbel_r::ppf);
  Adder{cases, "truncnorm", rest}("logpdf", truncnorm::logpdf)("pdf", truncnorm::pdf)("logcdf", truncnorm::logcdf)(
      "cdf", truncnorm::cdf)("logsf", truncnorm::logsf)("sf", truncnorm::sf);
  Adder{cases, "t", more}("logpdf", t::logpdf)("pdf", t::pdf);
  Adder{cases, "gamma", more}("logpdf", stats::gamma::logpdf)("pdf", stats::gamma::pdf)("cdf", stats::gamma::cdf)(
      "logcdf", stats::gamma::logcdf)("sf", stats::gamma::sf)("logsf", stats::gamma::logsf);
  Adder{cases, "chi2", more}("logpdf", chi2::logpdf)("pdf", chi2::pdf)("cdf", chi2::cdf)("logcdf", chi2::logcdf)(
      "sf", chi2::sf)("logsf", chi2::logsf);
  Adder{cases, "beta", more}("logpdf", stats::beta::logpdf)("pdf", stats::beta::pdf)("cdf", stats::beta::cdf)(
      "logcdf", stats::beta::logcdf)("sf", stats::beta::sf)("logsf", stats::beta::logsf);
  Adder{cases, "pareto", more}("logpdf", pareto::logpdf)("pdf", pareto::pdf)("cdf", pareto::cdf)(
      "logcdf", pareto::logcdf)("sf", pareto::sf)("logsf", pareto::logsf)("ppf", pareto::ppf);
  std::vector<std::string> fixed{"support", "wrong"};
  Adder{cases, "gennorm", fixed}("logpdf", gennorm::logpdf)("pdf", gennorm::pdf)("cdf", gennorm::cdf);
  Adder{cases, "vonmises", fixed}("logpdf", vonmises::logpdf)("pdf", vonmises::pdf);
  Adder{cases, "wrapcauchy", fixed}("logpdf", wrapcauchy::logpdf)("pdf", wrapcauchy::pdf);
  cases["stats::norm::logcdf/far"] = {Takes::smooth, with_defaults(norm::logcdf)};
  cases["stats::truncnorm::logpdf/right"] = {Takes::smooth, with_defaults(truncnorm::logpdf)};
  cases["stats::truncnorm::logcdf/right"] = {Takes::steps, with_defaults(truncnorm::logcdf)};
  cases["stats::truncnorm::logcdf/open"] = {Takes::steps, with_defaults(truncnorm::logcdf)};
}
void add_whole(NamedCases& cases) {
  using namespace stats;
  std::vector<std::string> rest{"moved"};
  Adder{cases, "bernoulli", rest, false}("logpmf", stats::bernoulli::logpmf)("pmf", stats::bernoulli::pmf);
  Adder{cases, "bernoulli", {"wrong"}, false}("cdf", stats::bernoulli::cdf)("ppf", stats::bernoulli::ppf);
  Adder{cases, "binom", rest, false}("logpmf", binom::logpmf)("pmf", binom::pmf);
  Adder{cases, "betabinom", rest, false}("logpmf", betabinom::logpmf)("pmf", betabinom::pmf);
  Adder{cases, "nbinom", rest, false}("logpmf", nbinom::logpmf)("pmf", nbinom::pmf);
  Adder{cases, "geom", rest, false}("logpmf", geom::logpmf)("pmf", geom::pmf);
  Adder{cases, "poisson", rest, false}("logpmf", poisson::logpmf)("pmf", poisson::pmf);
  cases["stats::poisson::cdf"] = {Takes::steps, with_defaults(poisson::cdf)};
  cases["stats::binom::logpmf/ends"] = {Takes::steps, with_defaults(binom::logpmf)};
}
Arrays both(const stats::Mode& r) { return {r.mode, r.count}; }
using stats::Bandwidth;
using stats::gaussian_kde;
using stats::GaussianKde;
Arrays parts(const GaussianKde& k) { return {k.neff, k.weights, k.covariance, k.inv_cov}; }
Array to_a_power(const GaussianKde& k) { return pow(k.neff, array(-0.25, k.neff.dtype())); }
void add_densities(NamedCases& cases) {
  BORA_CASE(smooth, "stats::gaussian_kde", gaussian_kde(a).pdf(b));
  BORA_CASE(smooth, "stats::gaussian_kde/parts", parts(gaussian_kde(a, {.weights = b})));
  BORA_CASE(smooth, "stats::gaussian_kde/logpdf", gaussian_kde(a).logpdf(b));
  BORA_CASE(smooth, "stats::gaussian_kde/weights", gaussian_kde(a, {.weights = c})(b));
  BORA_CASE(smooth, "stats::gaussian_kde/plane",
            gaussian_kde(a, {.bw_method = Bandwidth::silverman, .weights = c}).evaluate(b));
  BORA_CASE(smooth, "stats::gaussian_kde/plane_log", gaussian_kde(a, {.weights = c}).logpdf(b));
  BORA_CASE(smooth, "stats::gaussian_kde/point", gaussian_kde(a)(b));
  BORA_CASE(smooth, "stats::gaussian_kde/factor", gaussian_kde(a, {.factor = array(0.3, f64)})(b));
  BORA_CASE(smooth, "stats::gaussian_kde/rule", gaussian_kde(a, {.rule = to_a_power})(b));
  BORA_CASE(smooth, "stats::gaussian_kde/gaussian", gaussian_kde(a).integrate_gaussian(b, c));
  BORA_CASE(smooth, "stats::gaussian_kde/gaussian_1d", gaussian_kde(a).integrate_gaussian(b, c));
  BORA_CASE(smooth, "stats::gaussian_kde/box", gaussian_kde(a).integrate_box_1d(b, c));
  BORA_CASE(smooth, "stats::gaussian_kde/product", gaussian_kde(a).integrate_kde(gaussian_kde(b)));
  BORA_CASE(steps, "stats::gaussian_kde/draws", gaussian_kde(a, {.weights = b}).resample(random::key(5), {7}));
  BORA_CASE(steps, "stats::gaussian_kde/draw", gaussian_kde(a).resample(random::key(6)));
}
}  // namespace
void add_stats(NamedCases& cases) {
  add_shifted(cases);
  add_whole(cases);
  for (auto rest : {"", "/one", "/variance", "/batch"}) {
    BORA_CASE(smooth, std::string("stats::multivariate_normal::logpdf") + rest,
              stats::multivariate_normal::logpdf(a, b, c));
    BORA_CASE(smooth, std::string("stats::multivariate_normal::pdf") + rest, stats::multivariate_normal::pdf(a, b, c));
  }
  BORA_CASE(steps, "stats::dirichlet::logpdf", stats::dirichlet::logpdf(a, b));
  BORA_CASE(steps, "stats::dirichlet::pdf", stats::dirichlet::pdf(a, b));
  BORA_CASE(smooth, "stats::dirichlet::logpdf/short", stats::dirichlet::logpdf(a, b));
  BORA_CASE(smooth, "stats::dirichlet::pdf/short", stats::dirichlet::pdf(a, b));
  BORA_CASE(smooth, "stats::multinomial::logpmf", stats::multinomial::logpmf(a, b, c));
  BORA_CASE(smooth, "stats::multinomial::pmf", stats::multinomial::pmf(a, b, c));
  BORA_CASE(steps, "stats::multinomial::logpmf/other", stats::multinomial::logpmf(a, b, c));
  BORA_CASE(steps, "stats::multinomial::pmf/other", stats::multinomial::pmf(a, b, c));
  BORA_CASE(steps, "stats::mode", both(stats::mode(a, 1)));
  BORA_CASE(steps, "stats::mode/keep", both(stats::mode(a, 0, {.keepdims = true})));
  BORA_CASE(steps, "stats::mode/integers", both(stats::mode(a)));
  BORA_CASE(smooth, "stats::sem", stats::sem(a, 1));
  BORA_CASE(smooth, "stats::sem/keep", stats::sem(a, 0, {.keepdims = true, .ddof = 0}));
  using stats::Ties;
  for (auto [word, ties] : std::initializer_list<std::pair<std::string, Ties>>{{"average", Ties::average},
                                                                               {"min", Ties::min},
                                                                               {"max", Ties::max},
                                                                               {"dense", Ties::dense},
                                                                               {"ordinal", Ties::ordinal}}) {
    auto how = ties;
    BORA_CASE(steps, "stats::rankdata/" + word, stats::rankdata(a, how, 1));
    BORA_CASE(steps, "stats::rankdata/flat_" + word, stats::rankdata(a, how));
  }
  BORA_CASE(steps, "stats::rankdata", stats::rankdata(a, Ties::average, 0));
  add_densities(cases);
}
namespace {
using bora::test::says;
TEST(Stats, MistakesAreNamed) {
  auto x = ones({2, 3}), v = ones({3});
  says<ShapeError>([&] { return stats::multivariate_normal::logpdf(x, v, ones({2, 2})); },
                   "multivariate_normal.logpdf: a mean of 3 numbers wants covariances [.., 3, 3], got [2, 2]");
  says<ShapeError>([&] { return stats::dirichlet::logpdf(ones({5}), v); },
                   "dirichlet.logpdf: alpha has 3 numbers, so the first dimension of x must have 3 or 2, got [5]");
  says<ShapeError>([&] { return stats::dirichlet::logpdf(v, x); }, "alpha must be a vector");
  says<DtypeError>([&] { return stats::multinomial::logpmf(v, array(3), v); },
                   "multinomial.logpmf: counts and trials are integers, not f32 and i32");
  says<ShapeError>([&] { return stats::multinomial::logpmf(v.astype(i32), array(3), ones({2})); },
                   "multinomial.logpmf: counts [3] and probabilities [2]");
  says<ShapeError>([&] { return stats::mode(zeros({0, 2})); }, "mode: dimension 0 of [0, 2] is empty");
}
/// Outside of a support nothing is NaN, in the gradient neither.
TEST(Stats, GradientsOutsideOfTheSupportAreZero) {
  auto x = array({-1., 3.}, f64);
  auto none = zeros({2}, f64);
  EXPECT_EQ(worst(grad([](const Array& v) { return sum(stats::beta::pdf(v, 1.5, 2.5)); })(x), none), 0);
  EXPECT_EQ(worst(grad([](const Array& v) { return sum(stats::uniform::pdf(v)); })(x), none), 0);
  EXPECT_EQ(worst(grad([](const Array& v) { return sum(stats::truncnorm::cdf(v, -0.5, 0.5)); })(x), none), 0);
  auto left = array({-1.}, f64), zero = zeros({1}, f64);
  EXPECT_EQ(worst(grad([](const Array& v) { return sum(stats::gamma::pdf(v, 1.5)); })(left), zero), 0);
  EXPECT_EQ(worst(grad([](const Array& v) { return sum(stats::expon::logcdf(v + 3)) * 0; })(left), zero), 0);
  EXPECT_EQ(worst(grad([](const Array& v) { return sum(stats::pareto::cdf(v, 1.5)); })(left), zero), 0);
}
TEST(Stats, MistakesOfDensitiesAreNamed) {
  auto x = rnd({2, 5}, 1), v = rnd({5}, 2);
  says<ShapeError>([] { return gaussian_kde(ones({1})); }, "gaussian_kde: the dataset must be [d, n] or [n] with more");
  says<ShapeError>([&] { return gaussian_kde(x, {.weights = ones({4})}); },
                   "gaussian_kde: weights f32[4] do not fit the dataset f64[2, 5]: give one for each of 5 points");
  says<ValueError>([&] { return gaussian_kde(v, {.factor = array(1.), .rule = to_a_power}); }, "takes one of them");
  says<ShapeError>([&] { return gaussian_kde(v, {.factor = ones({2})}); }, "the factor of the bandwidth must be one");
  says<ShapeError>([&] { return gaussian_kde(x)(ones({3, 4})); },
                   "gaussian_kde.evaluate: points f32[3, 4] have 3 dimensions, and the dataset f64[2, 5] has 2");
  says<ShapeError>([&] { return gaussian_kde(x).integrate_box_1d(0, 1); }, "needs data of one dimension, not 2");
  says<ShapeError>([&] { return gaussian_kde(x).integrate_kde(gaussian_kde(v)); }, "have different dimensions");
  says<ShapeError>([&] { return gaussian_kde(x).integrate_gaussian(ones({3}), eye(3)); },
                   "gaussian_kde.integrate_gaussian: mean f32[3]");
  says<DtypeError>([&] { return gaussian_kde(complex(v, v)); }, "gaussian_kde: takes real numbers");
}
double at(const Array& y) { return y.astype(f64).item<double>(); }
/// A density has the integral 1, and draws of it its mean.
TEST(Stats, DensitiesAreDensities) {
  auto x = rnd({40}, 3);
  auto k = gaussian_kde(x);
  EXPECT_NEAR(at(k.integrate_box_1d(-40, 40)), 1, 1e-12);
  auto draws = k.resample(random::key(1), {200, 100});
  EXPECT_EQ(draws.shape(), (Shape{1, 200, 100}));
  EXPECT_NEAR(at(mean(draws)), at(mean(x)), 0.02);
  auto single = gaussian_kde(x.astype(f32));
  EXPECT_EQ(single(x.astype(f32)).dtype(), f32);
  EXPECT_NEAR(at(sum(single(x.astype(f32)))), at(sum(k(x))), 1e-4);
}
}  // namespace
}  // namespace bora::laws::names_stats_test
