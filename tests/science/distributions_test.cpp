// Distributions: SciPy's densities, moments of draws, and transforms whose derivatives are those of their determinants.
#include "bora/science/distributions.h"
#include "laws/golden.h"
#include "support/throws.h"

namespace bora::laws::distributions_test {
namespace {
using namespace distributions;
Array num(double x) { return array(x, f64); }
/// f of every distribution, with the parameters of tests/golden/make_science.py.
template <class F> void each(const F& f) {
  f("Normal", Normal{num(0.3), num(1.7)});
  f("LogNormal", LogNormal{num(0.2), num(0.6)});
  f("HalfNormal", HalfNormal{num(1.3)});
  f("StudentT", StudentT{num(5.), num(0.2), num(1.4)});
  f("Cauchy", Cauchy{num(0.2), num(1.4)});
  f("HalfCauchy", HalfCauchy{num(1.4)});
  f("Laplace", Laplace{num(0.2), num(1.4)});
  f("Logistic", Logistic{num(0.2), num(1.4)});
  f("Exponential", Exponential{num(1.6)});
  f("Gamma", Gamma{num(2.5), num(1.6)});
  f("InverseGamma", InverseGamma{num(6.5), num(1.6)});
  f("Beta", Beta{num(2.5), num(1.2)});
  f("Uniform", Uniform{num(-2.), num(3.)});
  f("Bernoulli", Bernoulli{num(0.3)});
  f("Poisson", Poisson{num(2.4)});
  f("Dirichlet", Dirichlet{array({1.5, 2., 3.}, f64)});
  f("MultivariateNormal",
    MultivariateNormal{array({0.1, 0.2, 0.3}, f64), array({{1.2, 0., 0.}, {0.5, 0.8, 0.}, {-0.3, 0.2, 0.6}}, f64)});
}
TEST(Distributions, HaveSciPysDensitiesAndMoments) {
  GoldenCases all;
  read_golden("science.txt", all);
  std::map<std::string, Golden> cases(all.begin(), all.end());
  each([&](const std::string& name, const auto& d) {
    auto& g = cases.at("distribution/" + name);
    close({d.log_prob(g.in[0])}, {g.out[0]}, 1e-12, name);
    close({jit([&](const Array& x) { return d.log_prob(x); })(g.in[0])}, {g.out[0]}, 1e-12, name + " staged");
    auto draws = d.sample(random::key(3), {20000}).astype(f64);
    EXPECT_TRUE(array_equal(view(d.sample(random::key(3), {5}), 2), view(d.sample(random::key(3), {5}), 2)));
    if (name.ends_with("Cauchy")) return;  // no moments
    Array off = amax(abs(mean(draws, 0) - g.out[1]) / g.out[2]), wide = amax(abs(stddev(draws, 0) / g.out[2] - 1.));
    EXPECT_LT(item<double>(off), 0.03) << name << mean(draws, 0) << g.out[1];
    EXPECT_LT(item<double>(wide), 0.06) << name;
  });
}
TEST(Distributions, AreZeroOutsideAndTakeShapes) {
  auto outside = [](const Array& a) { return std::isinf(a.item<double>()); };
  EXPECT_TRUE(outside(Gamma{num(2.), num(1.)}.log_prob(num(-1.))));
  EXPECT_TRUE(outside(HalfNormal{num(2.)}.log_prob(num(-1.))));
  EXPECT_TRUE(outside(Uniform{num(0.), num(1.)}.log_prob(num(1.5))));
  Normal many{zeros({3}), ones({2, 1})};
  EXPECT_EQ(many.sample(random::key(1), {4}).type(), (Type{{4, 2, 3}, f32}));
  EXPECT_EQ(Normal{}.sample(random::key(1)).type(), (Type{{}, f32}));
  EXPECT_EQ((Gamma{num(2.), num(1.)}.sample(random::key(1), {2}).type()), (Type{{2}, f64}));
  auto total = [](const Array& scale) { return sum(Normal{num(1.), scale}.sample(random::key(2), {6})); };
  auto slope = grad(total)(num(2.));
  close({slope}, {sum(random::normal(random::key(2), {6}, f64))}, 1e-12, "through the draw");
}
TEST(Distributions, TransformsAreOneToOneWithTheirDeterminants) {
  auto check_one = [](const std::string& name, const Transform& t, const Array& u, std::int64_t used) {
    auto [x, log_det] = t.with_log_det(u);
    close({t.inverse(x)}, {u}, 1e-11, name + " back");
    close({t.forward(u)}, {x}, 0, name);
    auto j = jacfwd([&](const Array& v) { return slice_in_dim(t.forward(v), -1, 0, used); })(u);
    close({sum(log_det)}, {linalg::slogdet(j).logabsdet}, 1e-11, name + " determinant");
    auto many = stack({u, u * 0.5});
    close({t.forward(many)}, {stack({t.forward(u), t.forward(u * 0.5)})}, 1e-14, name + " of many");
  };
  auto u = array({0.3, -1.2, 2.}, f64);
  each([&](const std::string& name, const auto& d) {
    auto t = d.transform();
    if (t.support == Support::whole) {
      EXPECT_THROW((void)t.forward(u), ValueError);
      return;
    }
    if (name == "MultivariateNormal") return;
    check_one(name, t, u, 3);
    if (t.support != Support::simplex) {
      EXPECT_TRUE(item<bool>(all(isfinite(d.log_prob(t.forward(u)))))) << name;
    }
  });
  check_one("ordered", {Support::ordered}, u, 3);
  check_one("simplex", {Support::simplex}, u, 3);
  close({Transform{Support::simplex}.forward(zeros({3}, f64))}, {full({4}, 0.25, f64)}, 1e-14, "the middle");
  // A density of u integrates to 1.
  auto grid = linspace(-30., 30., 20001, f64);
  Gamma g{num(2.5), num(1.6)};
  auto [x, log_det] = g.transform().with_log_det(grid);
  close({sum(exp(g.log_prob(x) + log_det)) * 0.003}, {num(1.)}, 1e-8, "of u");
}
}  // namespace
}  // namespace bora::laws::distributions_test
