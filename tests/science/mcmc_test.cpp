// Monte Carlo: posteriors that are known within their standard errors, ArviZ's diagnostics, chains on ranks.
#include "bora/science/mcmc.h"
#include "laws/golden.h"
#include "science/adaptation.h"
#include "support/throws.h"

namespace bora::laws::mcmc_test {
namespace {
using namespace mcmc;
using test::says_line;
TEST(Diagnostics, AreArviZs) {
  GoldenCases cases;
  read_golden("science.txt", cases);
  int count = 0;
  for (auto& [name, g] : cases) {
    if (!name.starts_with("chains/")) continue;
    ++count;
    auto& x = g.in[0];
    if (x.shape(0) > 1) close({rhat(x)}, {g.out[0]}, 1e-9, name);
    close({ess(x), ess(x, Ess::tail), ess(x, Ess::mean)}, {g.out[1], g.out[2], g.out[3]}, 1e-8, name);
    auto both = stack({x, -x}, 2);
    close({rhat(both), ess(both, Ess::mean)}, {stack({rhat(x), rhat(-x)}), stack({g.out[3], g.out[3]})}, 1e-8,
          "of several parameters");
    close({jit([](const Array& y) { return ess(y); })(x)}, {ess(x)}, 1e-12, "staged");
  }
  EXPECT_EQ(count, 5);
  EXPECT_TRUE(std::isnan(rhat(ones({2, 3})).item<float>()));
  says_line<ShapeError>([] { return ess(ones({5})); }, "ess: draws are [chains, draws, ..], got f32[5]");
}
TEST(WarmUp, HasStansWindows) {
  auto ends = [](std::int64_t n) {
    std::vector<std::int64_t> r;
    auto w = core::windows(n);
    for (std::size_t i = 0; i < w.ends.size(); ++i)
      if (w.ends[i]) r.push_back(static_cast<std::int64_t>(i) + 1);
    return r;
  };
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(ends(1000), (List{100, 150, 250, 450, 950}));
  EXPECT_EQ(ends(100), (List{90}));
  EXPECT_EQ(ends(10), List{});
  EXPECT_FALSE(core::windows(1000).counts[74]);
  EXPECT_TRUE(core::windows(1000).counts[75]);
  EXPECT_FALSE(core::windows(1000).counts[950]);
}
/// mean [..] within `most` standard errors of `want`, and standard deviations within a tenth of theirs.
void agrees(const Array& draws, const Array& want, const Array& deviations, const std::string& what) {
  auto m = mean(draws, {0, 1}), s = stddev(draws, {0, 1});
  auto errors = s / sqrt(ess(draws, Ess::mean));
  EXPECT_LT(amax(abs(m - want) / errors).item<double>(), 4.) << what << " " << m << " for " << want;
  EXPECT_LT(amax(abs(s / deviations - 1.)).item<double>(), 0.15) << what << " " << s << " for " << deviations;
  EXPECT_LT(amax(rhat(draws)).item<double>(), 1.03) << what;
}
TEST(Sample, DrawsAGaussian) {
  auto centre = array({1., -2., 0.5}, f64);
  auto covariance = array({{1., 0.8, 0.}, {0.8, 2., -0.4}, {0., -0.4, 0.01 + 0.12}}, f64);
  auto precision = linalg::inv(covariance);
  auto density = [&](const Array& x) { return -0.5 * sum((x - centre) * matmul(precision, x - centre)); };
  for (auto sampler : {Sampler::nuts, Sampler::hmc})
    for (auto metric : {Metric::diagonal, Metric::dense}) {
      auto r = sample(random::key(1), density, zeros({3}, f64),
                      {.sampler = sampler, .metric = metric, .chains = 4, .warmup = 300, .samples = 400,
                       .max_depth = 7, .leaps = metric == Metric::dense ? 5 : 8});
      auto what = std::to_string(static_cast<int>(sampler)) + std::to_string(static_cast<int>(metric));
      agrees(r.q, centre, sqrt(diag(covariance)), what);
      EXPECT_NEAR(mean(r.acceptance).item<double>(), 0.87, 0.09) << what;  // averages of early steps are short
      EXPECT_FALSE(any(r.diverging).item<bool>()) << what;
      EXPECT_EQ(r.inverse_mass.ndim(), metric == Metric::dense ? 3 : 2);
      close({view(r.log_density, 1, 7)}, {density(view(r.q, 1, 7))}, 1e-12, "its density");
    }
}
/// The logarithm of normal numbers.
struct Schools {
  Array mu, log_tau, theta;
};
TEST(Sample, DrawsEightSchools) {
  auto y = array({28., 8., -3., 7., -1., 1., 18., 12.}, f64);
  auto sigma = array({15., 10., 16., 11., 9., 11., 10., 18.}, f64);
  auto density = [&](const Schools& s) {  // not centred: theta are the schools' normal scores
    auto tau = exp(s.log_tau);
    auto prior = -0.5 * square(s.mu / 5.) - log1p(square(tau / 5.)) + s.log_tau - 0.5 * sum(square(s.theta));
    return prior - 0.5 * sum(square((y - s.mu - tau * s.theta) / sigma));
  };
  auto r = sample(random::key(8), density, Schools{zeros({}, f64), zeros({}, f64), zeros({8}, f64)},
                  {.warmup = 500, .samples = 600, .target_accept = 0.9});
  // The reference posterior of posteriordb, eight_schools_noncentered: mu 4.4 (3.3), tau 3.6 (3.2).
  EXPECT_NEAR(mean(r.q.mu).item<double>(), 4.4, 0.4);
  EXPECT_NEAR(stddev(r.q.mu).item<double>(), 3.3, 0.4);
  EXPECT_NEAR(mean(exp(r.q.log_tau)).item<double>(), 3.6, 0.4);
  EXPECT_LT(rhat(r.q.mu).item<double>(), 1.02);
  EXPECT_GT(ess(r.q.mu).item<double>(), 500.);
}
TEST(Sample, DrawsALogisticRegression) {
  auto x = array({-2., -1.5, -1., -0.5, 0., 0.3, 0.8, 1.2, 1.9, 2.5}, f64);
  auto y = array({0., 0., 0., 1., 0., 1., 0., 1., 1., 1.}, f64);
  auto density = [&](const Array& q) {  // intercept and slope, each normal with deviation 2
    auto z = view(q, 0) + view(q, 1) * x;
    return sum(y * z - softplus(z)) - sum(square(q)) / 8.;
  };
  auto grid = linspace(-12., 12., 241, f64);  // the moments by a sum over a grid
  auto of_slope = [&](const Array& a) {
    return vmap([&](const Array& b) { return density(stack({a, b})); })(grid);
  };
  auto weights = softmax(ravel(vmap(of_slope)(grid)), 0);
  auto each = [&](const Array& w) {
    auto m = sum(w * grid);
    return std::pair{m, sqrt(sum(w * square(grid - m)))};
  };
  auto table = reshape(weights, {241, 241});
  auto [a, of_a] = each(sum(table, 1));
  auto [b, of_b] = each(sum(table, 0));
  auto r = sample(random::key(4), density, zeros({2}, f64), {.warmup = 300, .samples = 500, .max_depth = 6});
  agrees(r.q, stack({a, b}), stack({of_a, of_b}), "logistic regression");
}
TEST(Sample, ChainsDependOnKeyAndNumberAlone) {
  auto spread = array({1., 3.}, f64);
  auto density = [&](const Array& x) { return -0.5 * sum(square(x / spread)) - 0.1 * sum(power(x, 4)); };
  SampleOptions o{.chains = 4, .warmup = 40, .samples = 30, .max_depth = 5};
  auto all = sample(random::key(3), density, zeros({2}, f64), o);
  auto staged = jit([&](const Array& k) { return sample(k, density, zeros({2}, f64), o).q; })(random::key(3));
  EXPECT_TRUE(array_equal(staged, all.q));
  for (int ranks : {1, 2, 3})
    local_mesh({{"data", ranks}}, [&](const Mesh&) {
      auto split = o;
      split.over = "data";
      auto r = sample(random::key(3), density, zeros({2}, f64), split);
      EXPECT_EQ(to_string(r.q.spec()[0]), to_string(Spec{"data"}[0]));
      auto q = gather(r.q), steps = gather(r.steps);
      EXPECT_TRUE(array_equal(q, all.q)) << ranks;
      EXPECT_TRUE(array_equal(steps, all.steps)) << ranks;
    });
}
TEST(Sample, SaysWhatIsWrong) {
  auto density = [](const Array& x) { return -sum(square(x)); };
  auto key = random::key(0);
  auto v = zeros({2});
  says_line<DtypeError>([&] { return sample(v, density, v).q; }, "sample: needs one key, got f32[2]");
  says_line<DtypeError>([&] { return sample(key, density, array({1})).q; },
                        "sample: q0 must be f32 or f64, got i32[1]");
  says_line<ShapeError>([&] { return sample(key, [](const Array& x) { return -x; }, v).q; },
                        "sample: log_density must give a scalar, got f32[2]");
  says_line<ValueError>([&] { return sample(key, density, v, {.chains = 0}).q; }, "sample: chains = 0");
  says_line<ValueError>([&] { return sample(key, density, v, {.target_accept = 1}).q; }, "target_accept = 1");
  says_line<ValueError>([&] { return sample(key, density, v, {.max_depth = 40}).q; }, "max_depth = 40");
  says_line<ShardError>([&] { return sample(key, density, v, {.over = "data"}).q; },
                        "sample: .over = \"data\" needs a mesh in force");
}
}  // namespace
}  // namespace bora::laws::mcmc_test
