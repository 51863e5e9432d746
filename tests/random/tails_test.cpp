// The law of tails: draws of every sampler lie beyond the quantiles of its distribution as often as they should, exact
// ones and those of f64 down to 1e-6, JAX's of f32 down to what docs/random.md says.
#include <gtest/gtest.h>
#include <bit>
#include "bora/fx/transforms.h"
#include "bora/random/gamma_grad.h"
#include "bora/shard/mesh.h"
#include "laws/effort.h"
#include "random/exact.h"
#include "random/samplers_of_tails.h"
#include "support/golden.h"

namespace bora::tails_test {
namespace {
using laws::Effort;
using tails::Real;
using tails::Sampler;
namespace r = random;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Doubles in the order of their bits.
double double_at(std::int64_t i) {
  return std::bit_cast<double>(i >= 0 ? i : std::numeric_limits<std::int64_t>::min() - i);
}
/// The least number for which `yes` holds, which stays true from there on.
template <class F> double first_with(const F& yes) {
  std::int64_t high = std::bit_cast<std::int64_t>(std::numeric_limits<double>::max()), low = -high;
  while (low < high) {
    auto middle = (low >> 1) + (high >> 1) + (low & high & 1);
    if (yes(double_at(middle))) high = middle;
    else low = middle + 1;
  }
  return double_at(low);
}
double in(Dtype d, double x) { return full({}, x, f64).astype(d).astype(f64).item<double>(); }
/// Up to where numbers round to x or less.
Real end_of(Dtype d, double x) {
  if (d == f64) return x;
  return (Real(x) + r::neighbour(full({}, x, f64).astype(d), true).astype(f64).item<double>()) / 2;
}
/// Whether `seen` of n events of probability p is no surprise: 5 deviations of the square root of a count. None of 10
/// is one.
bool usual(double seen, double n, Real p) {
  auto root = [](double x) { return 2 * std::sqrt(x + 0.375); };
  return std::abs(root(seen) - root(n * static_cast<double>(p))) < 5;
}
/// Counts draws beyond the quantiles 0.45, 0.2, 1e-2, 1e-3 .. least on both sides.
void expect_tails(const Sampler& s, Dtype d, bool exact, double least, std::int64_t n) {
  auto x = s.draw(r::key(61), n, d, {.exact = exact});
  x = x.astype(f64);
  ASSERT_FALSE(any(isnan(x)).item<bool>()) << s.name << " draws NaN";
  for (double p : {0.45, 0.2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
    if (p < least * 0.99) break;
    auto low = in(d, first_with([&](double t) { return s.below(t) >= p; }));
    auto high = in(d, first_with([&](double t) { return s.above(t) <= p; }));
    if (std::isinf(low) || std::isinf(high)) break;  // beyond the dtype
    auto at_most = static_cast<double>(count_nonzero(x <= low).item<int>());
    auto more = static_cast<double>(count_nonzero(x > high).item<int>());
    auto below = s.below(s.whole ? low : end_of(d, low)), above = s.above(s.whole ? high : end_of(d, high));
    auto where = [&] {
      return s.name + " " + std::string(dtype_name(d)) + (exact ? " exact" : "") + " at the quantile " +
             std::to_string(p);
    };
    EXPECT_TRUE(usual(at_most, static_cast<double>(n), below))
        << where() << ": " << at_most << " of " << n << " draws are at most " << low << ", probable are "
        << static_cast<double>(below) * static_cast<double>(n);
    EXPECT_TRUE(usual(more, static_cast<double>(n), above))
        << where() << ": " << more << " of " << n << " draws are above " << high << ", probable are "
        << static_cast<double>(above) * static_cast<double>(n);
  }
}
void expect_law(const std::vector<Sampler>& samplers, bool counts) {
  bool full = laws::effort() == Effort::full;
  const std::int64_t n = full ? 10'000'000 : laws::effort() == Effort::thin ? 10'000 : 40'000;
  const double least = full ? 1e-6 : 1e-3;
  for (auto& s : samplers) {
    SCOPED_TRACE(s.name);
    expect_tails(s, f64, true, least, n);
    expect_tails(s, f32, true, least, n);
    if (s.f64 < 1) expect_tails(s, f64, false, std::max(least, s.f64), n);
    if (s.f32 < 1) expect_tails(s, f32, false, std::max(least, s.f32), n);
    if (counts) continue;
    expect_tails(s, bf16, true, least, n / 4);
    expect_tails(s, f16, true, least, n / 4);
  }
}
TEST(Tails, Continuous) { expect_law(tails::continuous_samplers(), false); }
TEST(Tails, MadeOfGamma) { expect_law(tails::gamma_samplers(), true); }
TEST(Tails, Counts) { expect_law(tails::count_samplers(), true); }

TEST(Tails, Choices) {
  const std::int64_t n = 200'000;
  auto k = r::key(5);
  auto share = [&](const Array& hits) { return static_cast<double>(count_nonzero(hits).item<int>()); };
  r::DrawOptions exact{.exact = true};
  // Of two categories one has 1e-4, and one that is impossible stays so.
  auto logits = array({0.0, std::log(1e-4), -kInf});
  auto c = r::categorical(k, logits, {.shape = Shape{n}}, exact);
  EXPECT_TRUE(usual(share(c == 1), n, 1e-4L / 1.0001L));
  EXPECT_EQ(share(c == 2), 0);
  auto p = array({0.5, 1e-4, 0.0, 0.4999});
  c = r::choice(k, 4, {n}, {.p = p, .exact = true});
  EXPECT_TRUE(usual(share(c == 1), n, 1e-4L));
  EXPECT_EQ(share(c == 2), 0);
  EXPECT_TRUE(usual(share(r::bernoulli(k, 1e-4, {n}, exact)), n, 1e-4L));
  EXPECT_TRUE(usual(share(!r::bernoulli(k, full({}, 1 - 0x1p-13, f32), Shape{n}, exact)), n, 0x1p-13L));
  // A probability below 2^-23: JAX's numbers of f32 take 0 as below it, at 2^-23.
  EXPECT_EQ(share(r::bernoulli(k, 1e-12, {n}, exact)), 0);
  auto m = r::multinomial(k, 1000, array({1e-4, 0.9999}), Shape{2000, 2}, f32, exact);
  EXPECT_TRUE(usual(sum(index_in_dim(m, -1, 0)).item<double>(), 2e6, 1e-4L));
  auto g = r::gumbel(k, r::Mode::high, {n}, f32, exact);
  EXPECT_EQ(g.to_vector<float>(), r::gumbel(k, {n}, f32, exact).to_vector<float>());
}

TEST(Tails, ATruncatedNormalFarOutHasItsMean) {
  auto k = r::key(0);
  auto jax = r::truncated_normal(k, 8, 9, {4000});
  EXPECT_NEAR(mean(jax).item<double>(), 9, 1e-3) << "JAX's numbers stay";
  struct Row {
    double lower, upper, mean;
  };
  // (density(lower) - density(upper)) / mass, by mpmath.
  for (auto [lower, upper, right] :
       {Row{8, 9, 8.1209}, Row{-9, -8, -8.1209}, Row{-40, -39, -39.02561}, Row{30, kInf, 30.03326}}) {
    for (auto d : {f32, f64, f16, bf16}) {
      auto x = r::truncated_normal(k, lower, upper, {4000}, d, {.exact = true});
      EXPECT_EQ(x.dtype(), d);
      auto y = x.astype(f64);
      auto step = d == bf16 ? 0.008 : d == f16 ? 0.001 : 0;
      EXPECT_NEAR(mean(y).item<double>(), right, 0.008 + step * std::abs(right)) << lower << " " << upper << " " << d;
      EXPECT_TRUE(all(y >= lower && y <= upper).item<bool>()) << lower << " " << upper << " " << d;
    }
  }
}
TEST(Tails, ATruncatedNormalIsItsQuantile) {
  auto one = [](double x) { return full({}, x, f64); };
  std::size_t tried = 0;
  for (auto& line : test::golden_lines("truncated_normal.txt")) {  // by mpmath; see make_truncated_normal.py
    auto lower = std::stod(line.parameters[0]), upper = std::stod(line.parameters[1]);
    for (std::size_t i = 0; i + 1 < line.values.size(); i += 2, ++tried) {
      auto bits = full({}, std::int64_t{std::stoll(line.values[i])}, i64);
      auto x = r::exact_truncated_normal(bits, one(lower), one(upper)).item<double>(),
           right = std::stod(line.values[i + 1]);
      EXPECT_NEAR(x, right, 3e-16 * std::abs(right) + 5e-19) << line.text << line.values[i];
    }
  }
  EXPECT_EQ(tried, 21 * 14u);
}
TEST(Tails, BoundsOfATruncatedNormal) {
  auto k = r::key(3);
  const r::DrawOptions exact{.exact = true};
  auto lower = asarray(std::vector<double>{-kInf, 1, 2, 5, -kInf, kInf}),
       upper = asarray(std::vector<double>{kInf, 1, 1, 5.0000001, -39, kInf});
  auto x = r::truncated_normal(k, lower, upper, Shape{100, 6}, f64, exact);
  EXPECT_TRUE(all(isfinite(index_in_dim(x, 1, 0))).item<bool>());
  EXPECT_NEAR(index_in_dim(x, 1, 1).to_vector<double>()[7], 1, 1e-15) << "nothing lies between";
  EXPECT_TRUE(all(isnan(index_in_dim(x, 1, 2))).item<bool>()) << "lower > upper";
  auto narrow = index_in_dim(x, 1, 3);
  EXPECT_NEAR((mean(narrow).item<double>() - 5) / 1e-7, 0.5, 0.15);
  EXPECT_LT(amax(index_in_dim(x, 1, 4)).item<double>(), -39);
  // A bound moves a draw as its density says: at the bound itself by 1, an infinite one not at all.
  auto f = [&](const Array& lo) { return sum(r::truncated_normal(k, lo, kInf, Shape{64}, f64, exact)); };
  auto step = 1e-5, slope = grad(f)(full({}, 9, f64)).item<double>();
  auto difference = (f(full({}, 9 + step, f64)) - f(full({}, 9 - step, f64))).item<double>() / (2 * step);
  EXPECT_NEAR(slope, difference, 1e-6 * std::abs(difference));
  auto second = grad([&](const Array& lo) { return grad(f)(lo); })(full({}, 9, f64)).item<double>();
  auto slopes = (grad(f)(full({}, 9 + step, f64)) - grad(f)(full({}, 9 - step, f64))).item<double>() / (2 * step);
  EXPECT_NEAR(second, slopes, 1e-5 * std::abs(slopes));
  auto by_infinite = grad([&](const Array& hi) { return sum(r::truncated_normal(k, 1, hi, Shape{8}, f64, exact)); });
  EXPECT_EQ(by_infinite(full({}, kInf, f64)).item<double>(), 0);
}
TEST(Tails, ExactDrawsAreTheSameEverywhere) {
  auto k = r::key(7);
  auto samplers = tails::continuous_samplers();
  for (auto& s : tails::gamma_samplers()) samplers.push_back(s);
  for (auto& s : tails::count_samplers()) samplers.push_back(s);
  const std::int64_t n = 24;
  std::vector<std::vector<double>> alone;
  for (auto& s : samplers) {
    SCOPED_TRACE(s.name);
    auto draw = [&](const Array& key) { return s.draw(key, n, f32, {.exact = true}).astype(f64); };
    alone.push_back(draw(k).to_vector<double>());
    EXPECT_EQ(jit(draw)(k).to_vector<double>(), alone.back());
    if (s.name.starts_with("poisson") || s.name.starts_with("binomial")) continue;  // depend on the whole draw
    auto many = vmap(draw)(r::split(k, 3));
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(index_in_dim(many, 0, i).to_vector<double>(), draw(r::fold_in(k, i)).to_vector<double>());
  }
  local_mesh({{"data", 2}, {"model", 2}}, [&](const Mesh&) {
    for (std::size_t i = 0; i < samplers.size(); ++i) {
      if (samplers[i].name == "dirichlet") continue;  // its Spec is of vectors; below
      auto x = samplers[i].draw(k, n, f32, {.spec = Spec{{"data", "model"}}, .exact = true}).astype(f64);
      EXPECT_EQ(x.to_vector<double>(), alone[i]) << samplers[i].name;
    }
  });
}

TEST(Tails, ExactDrawsAreDifferentiated) {
  using Draw = std::function<Array(const Array& parameter)>;
  auto k = r::key(9);
  const r::DrawOptions e{.exact = true};
  const Shape s{40};
  const std::pair<std::string, Draw> draws[] = {
      {"uniform", [&](const Array& p) { return r::uniform(k, s, f64, p, full({}, 3, f64), e); }},
      {"truncated_normal", [&](const Array& p) { return r::truncated_normal(k, p, 3, s, f64, e); }},
      {"truncated_normal from above", [&](const Array& p) { return r::truncated_normal(k, -2, p, s, f64, e); }},
      {"lognormal", [&](const Array& p) { return r::lognormal(k, p, s, f64, e); }},
      {"pareto", [&](const Array& p) { return r::pareto(k, p, s, f64, e); }},
      {"rayleigh", [&](const Array& p) { return r::rayleigh(k, p, s, f64, e); }},
      {"triangular", [&](const Array& p) { return r::triangular(k, p, 2, 4, s, f64, e); }},
      {"weibull_min", [&](const Array& p) { return r::weibull_min(k, 2, p, s, f64, e); }},
      {"double_sided_maxwell", [&](const Array& p) { return r::double_sided_maxwell(k, 0, p, s, f64, e); }},
      {"wald", [&](const Array& p) { return r::wald(k, p, s, f64, e); }},
  };
  for (auto& [name, draw] : draws) {
    auto loss = [&](const Array& p) { return sum(sin(draw(p))); };
    auto at = [&](double p) { return loss(full({}, p, f64)).item<double>(); };
    const double p = 1.2, step = 1e-6;
    auto slope = grad(loss)(full({}, p, f64)).item<double>(), right = (at(p + step) - at(p - step)) / (2 * step);
    EXPECT_NEAR(slope, right, 1e-6 * (1 + std::abs(right))) << name;
    EXPECT_NEAR(jvp(loss, full({}, p, f64), ones({}, f64)).second.item<double>(), slope, 1e-12 * (1 + std::abs(slope)));
    auto narrow = grad([&](const Array& q) { return loss(q.astype(f64)).astype(f32); })(full({}, p, f32));
    EXPECT_NEAR(narrow.item<double>(), right, 1e-5 * (1 + std::abs(right))) << name;
  }
  // Through gamma draws they are implicit, those of f32 in f64.
  auto a = full({}, 0.7, f32);
  auto of_gamma = [&](const Array& x, Dtype d) { return r::gamma(k, broadcast_to(x, s), s, d, e); };
  auto x = of_gamma(a.astype(f64), f64);
  auto want = sum(lax::random_gamma_grad(broadcast_to(a.astype(f64), s), x)).item<double>();
  EXPECT_NEAR(grad([&](const Array& v) { return sum(of_gamma(v, f32)); })(a).item<double>(), want, 1e-5 * want);
}
TEST(Tails, ParametersBelowTheNormalRange) {
  // Beta(a, b) with tiny a and b is 1 with probability a / (a + b), else 0; Dirichlet's alike.
  auto k = r::key(1);
  const std::int64_t n = 4000;
  auto hits = [](const Array& x) {
    EXPECT_TRUE(all(x == 0 || x == 1).item<bool>());
    return mean(x.astype(f64)).item<double>();
  };
  for (auto d : {f32, f64})
    for (bool exact : {false, true})
      for (double tiny : {1e-30, 1e-37, 1e-38, 1e-39, 1e-44, 1e-300, 1e-307, 1e-310, 4e-323}) {
        if (d == f32 && tiny < 1e-45) continue;
        SCOPED_TRACE(::testing::Message() << d << " " << exact << " " << tiny);
        r::DrawOptions o{.exact = exact};
        EXPECT_NEAR(hits(r::beta(k, tiny, tiny, Shape{n}, d, o)), 0.5, 0.04);
        auto a = full({}, tiny, f64).astype(d), b = 3 * a;
        auto chance = (a.astype(f64) / (a.astype(f64) + b.astype(f64))).item<double>();
        EXPECT_NEAR(hits(r::beta(k, a, b, Shape{n}, d, o)), chance, 0.04);
        auto x = r::dirichlet(k, stack({a, b, a}, 0), Shape{n}, d, o);
        EXPECT_NEAR(hits(index_in_dim(x, -1, 1)), 0.6, 0.06);
        EXPECT_TRUE(all(sum(x, -1) == 1).item<bool>());
        auto slope = grad([&](const Array& p) { return sum(r::beta(k, p, b, Shape{20}, d, o)); })(a);
        EXPECT_EQ(slope.item<double>(), 0);
        EXPECT_TRUE(all(r::beta(k, tiny, 2.0, Shape{20}, d, o) == 0).item<bool>());
        EXPECT_TRUE(all(r::beta(k, 2.0, tiny, Shape{20}, d, o) == 1).item<bool>());
        auto f = r::f(k, a, a, Shape{50}, d, {.exact = true});
        EXPECT_TRUE(all(f == 0 || isinf(f)).item<bool>()) << "no NaN";
      }
  EXPECT_TRUE(all(isnan(r::beta(k, -1.0, 2.0, Shape{3}))).item<bool>());
  // log X = log(U) / a below the range of f32 is -inf, as in JAX.
  EXPECT_TRUE(any(isinf(r::loggamma(k, full({}, 1e-40, f32), Shape{20}))).item<bool>());
}
}  // namespace
}  // namespace bora::tails_test
