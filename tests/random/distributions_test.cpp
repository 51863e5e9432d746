// Every line of tests/golden/distributions.txt (made by JAX, see make_distributions.py), drawn again; moments, errors.
#include "bora/random/random.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include "bora/fx/transforms.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/product.h"
#include "support/golden.h"
#include "support/throws.h"

namespace bora::distributions_test {
namespace {
namespace r = random;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
struct Line {
  std::string name;
  std::int64_t seed = 0;
  Dtype dtype = f32;
  Shape shape;
  std::vector<std::uint64_t> bits;
};
std::vector<Line> lines() {
  std::vector<Line> all;
  for (auto& g : test::golden_lines("distributions.txt")) {
    Line l;
    l.name = g.name;
    l.seed = std::stoll(g.parameters[0]);
    l.dtype = parse_dtype(g.parameters[1]);
    for (auto n : test::numbers(g.parameters[2])) l.shape.push_back(n);
    for (auto& word : g.values) l.bits.push_back(std::stoull(word, nullptr, 16));
    all.push_back(std::move(l));
  }
  return all;
}
Array numbers(const std::vector<double>& v, Dtype d) { return asarray(v).astype(d); }
Array integers(const std::vector<std::int64_t>& v) { return asarray(v); }
const Shape S{3, 6};
using Case = std::function<Array(const Array& k, Dtype d)>;
/// The cases of make_distributions.py.
std::map<std::string, Case> cases() {
  auto a = [](Dtype d) { return numbers({0.1, 0.5, 1.0, 2.5, 30.0, 0.9}, d); };
  auto b = [](Dtype d) { return numbers({2.0, 0.3, 1.0, 7.0, 5.0, 0.05}, d); };
  std::map<std::string, Case> c;
  c["beta"] = [=](auto& k, auto d) { return r::beta(k, a(d), b(d), S, d); };
  c["cauchy"] = [=](auto& k, auto d) { return r::cauchy(k, S, d); };
  c["chisquare"] = [=](auto& k, auto d) { return r::chisquare(k, a(d), S, d); };
  c["f"] = [=](auto& k, auto d) { return r::f(k, a(d), maximum(b(d), 0.3), S, d); };
  c["lognormal"] = [=](auto& k, auto d) { return r::lognormal(k, b(d), S, d); };
  c["maxwell"] = [=](auto& k, auto d) { return r::maxwell(k, S, d); };
  c["pareto"] = [=](auto& k, auto d) { return r::pareto(k, b(d), S, d); };
  c["rayleigh"] = [=](auto& k, auto d) { return r::rayleigh(k, a(d), S, d); };
  c["t"] = [=](auto& k, auto d) { return r::t(k, a(d), S, d); };
  c["triangular"] = [=](auto& k, auto d) { return r::triangular(k, -a(d), b(d) - a(d), b(d), S, d); };
  c["wald"] = [=](auto& k, auto d) { return r::wald(k, a(d), S, d); };
  c["weibull_min"] = [=](auto& k, auto d) { return r::weibull_min(k, a(d), b(d), S, d); };
  c["weibull_min_wide"] = [=](auto& k, auto d) { return r::weibull_min(k, a(d), b(d), {}, d); };
  c["truncated_normal_arrays"] = [=](auto& k, auto d) {
    return r::truncated_normal(k, -a(d), numbers({0, 1, 9, 0.1, 2, -0.05}, d), S, d);
  };
  c["gumbel_high"] = [=](auto& k, auto d) { return r::gumbel(k, r::Mode::high, S, d); };
  c["gumbel_highest"] = [=](auto& k, auto d) { return r::gumbel(k, r::Mode::highest, S, d); };
  c["multivariate_normal"] = [=](auto& k, auto d) {
    auto cov = reshape(numbers({2, .3, .1, .3, 1, -.2, .1, -.2, .5}, d), {3, 3});
    return r::multivariate_normal(k, numbers({1, 2, -3}, d), cov, Shape{4}, d);
  };
  c["orthogonal"] = [=](auto& k, auto d) { return r::orthogonal(k, 4, {2}, d); };
  c["orthogonal_wide"] = [=](auto& k, auto d) { return r::orthogonal(k, 2, {}, d, 5); };
  c["orthogonal_tall"] = [=](auto& k, auto d) { return r::orthogonal(k, 5, {}, d, 2); };
  c["generalized_normal"] = [=](auto& k, auto d) { return r::generalized_normal(k, 1.5, S, d); };
  c["ball"] = [=](auto& k, auto d) { return r::ball(k, 3, 2, {5}, d); };
  c["ball_1"] = [=](auto& k, auto d) { return r::ball(k, 4, 1.0, {2, 2}, d); };
  c["double_sided_maxwell"] = [=](auto& k, auto d) {
    return r::double_sided_maxwell(k, numbers({1, 2}, d), numbers({0.5, 3}, d), {4}, d);
  };
  c["double_sided_maxwell_default"] = [=](auto& k, auto d) {
    return r::double_sided_maxwell(k, numbers({1, 2}, d), numbers({0.5, 3}, d), {}, d);
  };
  return c;
}
/// Those that draw with probabilities of dtype p.
std::map<std::string, Case> cases_of(Dtype p) {
  std::map<std::string, Case> c;
  c["geometric"] = [=](auto& k, auto) { return r::geometric(k, numbers({0.02, 0.3, 0.5, 0.9, 0.999, 1.0}, p), S); };
  c["binomial"] = [=](auto& k, auto d) {
    return r::binomial(k, numbers({3, 20, 90, 1000, 0, 7.9}, p), numbers({0.1, 0.9, 0.4, 0.7, 0.5, 1.0}, p), S, d);
  };
  c["binomial_few"] = [=](auto& k, auto d) { return r::binomial(k, 3, numbers({0.1}, p), Shape{20}, d); };
  c["binomial_odd"] = [=](auto& k, auto d) {
    return r::binomial(k, numbers({kNaN, -1, 30, 30, kInf, 40}, p), numbers({.5, .5, kNaN, 1.5, .2, .5}, p), S, d);
  };
  c["multinomial"] = [=](auto& k, auto d) { return r::multinomial(k, 99, numbers({.1, .2, 0, .3, .4}, p), none, d); };
  c["bernoulli_high"] = [=](auto& k, auto) {
    return r::bernoulli(k, r::Mode::high, numbers({0.001, .2, .5, .7, .9, .9999}, p), S);
  };
  c["poisson"] = [](auto& k, auto) { return r::poisson(k, array({0.3, 2., 9.5, 11., 150., 3000.}), S); };
  c["poisson_many"] = [](auto& k, auto) { return r::poisson(k, 40, Shape{64}); };
  c["poisson_few"] = [](auto& k, auto) { return r::poisson(k, 4, Shape{32}); };
  c["poisson_odd"] = [](auto& k, auto) { return r::poisson(k, numbers({kNaN, -1, 0, 12, kInf}, f32), Shape{2, 5}); };
  c["binomial_many"] = [](auto& k, auto) { return r::binomial(k, 500, 0.3, Shape{64}); };
  return c;
}
std::map<std::string, Case> integer_cases() {
  auto logits = [] { return reshape(sin(arange(12).astype(f32)), {4, 3}); };
  std::int64_t i = 1;
  std::map<std::string, Case> c;
  c["randint_arrays"] = [=](auto& k, auto) {
    return r::randint(k, S, integers({0, -5, 3, -(i << 31), -(i << 31), (i << 31) - 2}),
                      integers({10, 70000, 3, (i << 31) - 1, i << 31, (i << 31) + 5}));
  };
  c["randint_arrays_u32"] = [=](auto& k, auto) {
    return r::randint(k, S, array(0), integers({1, 5, i << 31, (i << 32) - 1, i << 32, 9}), u32);
  };
  c["randint_arrays_i64"] = [=](auto& k, auto) {
    auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
    return r::randint(k, S, integers({0, -(i << 40), least, -(i << 62), 7, -3}),
                      integers({10, i << 50, most, (i << 62) + 5, 7, i << 31}), i64);
  };
  c["randint_arrays_u8"] = [=](auto& k, auto) {
    return r::randint(k, S, array({0, 0, 5, 250, -9, 300}), array({256, 1, 200, 400, 3, 400}), u8);
  };
  c["split_shape"] = [](auto& k, auto) { return r::key_data(r::split(k, Shape{2, 3})); };
  c["categorical_once"] = [=](auto& k, auto) {
    return r::categorical(k, logits(), {.shape = Shape{2, 4}, .replace = false});
  };
  c["categorical_once_axis0"] = [=](auto& k, auto) {
    return r::categorical(k, logits(), {.axis = 0, .shape = Shape{4, 3}, .replace = false});
  };
  c["categorical_high"] = [=](auto& k, auto) {
    return r::categorical(k, logits(), {.shape = Shape{5, 4}, .mode = r::Mode::high});
  };
  return c;
}
std::map<std::string, Case> gradient_cases() {
  auto a = numbers({0.1, 0.5, 1.0, 2.5, 30.0, 0.9}, f64), b = numbers({2.0, 0.3, 1.0, 7.0, 5.0, 0.05}, f64);
  auto of = [](auto f, Array x) -> Case {
    return [=](const Array& k, Dtype) { return grad([&](const Array& y) { return sum(f(k, y)); })(x); };
  };
  std::map<std::string, Case> c;
  c["grad_gamma"] = of([](auto& k, auto& x) { return r::gamma(k, x, S, f64); }, a);
  c["grad_loggamma"] = of([](auto& k, auto& x) { return r::loggamma(k, x, S, f64); }, a);
  c["grad_beta"] = of([=](auto& k, auto& x) { return r::beta(k, x, b, S, f64); }, a);
  c["grad_t"] = of([](auto& k, auto& x) { return r::t(k, x, S, f64); }, a);
  c["grad_dirichlet"] = of([=](auto& k, auto& x) { return r::dirichlet(k, x, Shape{3}, f64) * b; }, a);
  c["grad_truncated_normal"] = of([](auto& k, auto& x) { return r::truncated_normal(k, x, x + 2, S, f64); }, b);
  c["grad_lognormal"] = of([](auto& k, auto& x) { return r::lognormal(k, x, S, f64); }, a / 10);
  c["grad_wald"] = of([](auto& k, auto& x) { return r::wald(k, x, S, f64); }, b);
  return c;
}
double value_of(std::uint64_t bits, Dtype d) {
  if (d == f64) return std::bit_cast<double>(bits);
  if (d == f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (d == bf16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  return d == i64   ? static_cast<double>(static_cast<std::int64_t>(bits))
         : d == i32 ? static_cast<std::int32_t>(bits)
                    : static_cast<double>(bits);
}
/// Counts and bits are exact. Draws of f32 differ where logarithms of nearly 1 or differences of nearly equal numbers
/// (wald) are taken.
double tolerance(const Line& l) {
  if (l.dtype == bf16) return 0x1p-6;
  if (l.name.starts_with("grad_")) return 1e-9;
  if (l.dtype == f64) return l.name == "wald" ? 1e-11 : 1e-12;
  return l.name == "wald" ? 1e-4 : 2e-5;
}

TEST(Distributions, EveryLineOfJax) {
  auto all = lines();
  ASSERT_GT(all.size(), 200u);
  std::map<std::string, Case> plain = cases(), others = integer_cases(), gradients = gradient_cases();
  plain.insert(others.begin(), others.end());
  plain.insert(gradients.begin(), gradients.end());
  std::map<std::string, int> seen;
  for (auto& l : all) {
    SCOPED_TRACE(l.name + " " + std::to_string(l.seed) + " " + std::string(dtype_name(l.dtype)));
    auto at = plain.find(l.name);
    // Lines of geometric and bernoulli with f64 probabilities follow those with f32 ones.
    bool single = is_float(l.dtype) ? l.dtype != f64 : ++seen[l.name + std::to_string(l.seed)] == 1;
    auto counted = cases_of(single ? f32 : f64);
    auto& draw = at != plain.end() ? at->second : counted.at(l.name);
    Array x;
    ASSERT_NO_THROW(x = draw(r::key(l.seed), l.dtype));
    ASSERT_EQ(x.dtype(), l.dtype);
    ASSERT_EQ(x.shape(), l.shape);
    auto got = x.astype(f64).to_vector<double>();
    bool exact = !is_float(l.dtype) || l.name.starts_with("binomial") || l.name == "multinomial";
    for (std::size_t i = 0; i < got.size(); ++i) {
      auto want = value_of(l.bits[i], l.dtype);
      if (want != want) EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
      else if (exact || std::isinf(want)) EXPECT_EQ(got[i], want) << i;
      else EXPECT_NEAR(got[i], want, tolerance(l) * std::max(std::abs(want), 1e-3)) << i;
    }
  }
}

/// The greatest distance of the distribution of many draws from the distribution function.
double distance(const Array& draws, const std::function<double(double)>& cdf) {
  auto x = draws.astype(f64).to_vector<double>();
  std::sort(x.begin(), x.end());
  double d = 0, n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto p = cdf(x[i]);
    d = std::max({d, std::abs(p - static_cast<double>(i) / n), std::abs(p - static_cast<double>(i + 1) / n)});
  }
  return d;
}
TEST(Distributions, FollowTheirDistributionFunctions) {
  constexpr std::int64_t n = 20000;
  constexpr double limit = 0.0138;  // Kolmogorov: exceeded once in a thousand draws of this size
  auto k = r::key(5);
  Shape s{n};
  EXPECT_LT(distance(r::cauchy(k, s), [](double x) { return 0.5 + std::atan(x) / M_PI; }), limit);
  EXPECT_LT(distance(r::pareto(k, 3, s), [](double x) { return 1 - std::pow(x, -3); }), limit);
  EXPECT_LT(distance(r::rayleigh(k, 2, s), [](double x) { return 1 - std::exp(-x * x / 8); }), limit);
  EXPECT_LT(distance(r::weibull_min(k, 2, 1.5, s), [](double x) { return 1 - std::exp(-std::pow(x / 2, 1.5)); }),
            limit);
  EXPECT_LT(distance(r::lognormal(k, 0.5, s), [](double x) { return std::erfc(-std::log(x) * M_SQRT2) / 2; }), limit);
  EXPECT_LT(
      distance(r::triangular(k, 0, 1, 3, s), [](double x) { return x < 1 ? x * x / 3 : 1 - (3 - x) * (3 - x) / 6; }),
      limit);
  EXPECT_LT(distance(r::maxwell(k, s),
                     [](double x) { return std::erf(x / M_SQRT2) - x * std::exp(-x * x / 2) * std::sqrt(2 / M_PI); }),
            limit);
  EXPECT_LT(distance(r::wald(k, 1, s),
                     [](double x) {
                       auto phi = [](double z) { return std::erfc(-z / M_SQRT2) / 2; };
                       return phi((x - 1) / std::sqrt(x)) + std::exp(2.0) * phi(-(x + 1) / std::sqrt(x));
                     }),
            limit);
  EXPECT_LT(distance(r::beta(k, 2, 1, s), [](double x) { return x * x; }), limit);
  EXPECT_LT(distance(r::chisquare(k, 2, s), [](double x) { return 1 - std::exp(-x / 2); }), limit);
  EXPECT_LT(distance(r::f(k, 2, 4, s), [](double x) { return 1 - std::pow(1 + x / 2, -2); }), limit);
  EXPECT_LT(distance(r::t(k, 2, s), [](double x) { return 0.5 + x / (2 * std::sqrt(2 + x * x)); }), limit);
  EXPECT_LT(distance(r::generalized_normal(k, 2, s), [](double x) { return std::erfc(-x) / 2; }), limit);
  auto radius = sqrt(sum(square(r::ball(k, 3, 2, s)), -1));
  EXPECT_LT(distance(radius, [](double x) { return x * x * x; }), limit);
  auto moments = [](const Array& x, double mean_of, double variance) {
    auto y = x.astype(f64);
    auto size = static_cast<double>(x.size());
    EXPECT_NEAR(mean(y).item<double>(), mean_of, 5 * std::sqrt(variance / size));
    EXPECT_NEAR(mean(square(y - mean_of)).item<double>(), variance, 0.08 * variance);
  };
  moments(r::poisson(k, 3.5, s), 3.5, 3.5);
  moments(r::poisson(k, 200, s), 200, 200);
  moments(r::binomial(k, 10, 0.3, s), 3, 2.1);
  moments(r::binomial(k, 1000, 0.75, s), 750, 187.5);
  moments(r::geometric(k, 0.25, s), 4, 12);
  auto counts = r::multinomial(k, 20, array({0.5, 0.2, 0.3}), Shape{n, 3});
  EXPECT_TRUE(array_equal(sum(counts, -1), full({n}, 20.0)));
  moments(squeeze(slice_in_dim(counts, -1, 1, 2)), 4, 3.2);
}
TEST(Distributions, Matrices) {
  auto k = r::key(9);
  auto cov = array({{2.0, 0.3}, {0.3, 1.0}});
  for (auto factor : {r::Factor::cholesky, r::Factor::eigh, r::Factor::svd}) {
    auto x = r::multivariate_normal(k, array({1.0, -2.0}), cov, Shape{20000}, f32, {}, factor) - array({1.0, -2.0});
    EXPECT_TRUE(allclose(matmul(swapaxes(x, 0, 1), x) / 20000, cov, 0, 0.06));
  }
  EXPECT_EQ(r::multivariate_normal(k, zeros({4, 1, 2}), broadcast_to(cov, {3, 2, 2})).shape(), (Shape{4, 3, 2}));
  auto bad = r::multivariate_normal(k, zeros({2}), array({{1.0, 2.0}, {2.0, 1.0}}));
  for (auto v : bad.to_vector<float>()) EXPECT_TRUE(std::isnan(v));
  auto q = r::orthogonal(k, 3, {2}, f64, 5);
  EXPECT_TRUE(allclose(matmul(q, swapaxes(q, -1, -2)), broadcast_to(eye(3, f64), {2, 3, 3}), 0, 1e-12));
  EXPECT_EQ(r::orthogonal(k, 0).shape(), (Shape{0, 0}));
}
TEST(Distributions, EmptyDrawsAndKeys) {
  auto k = r::key(1);
  EXPECT_EQ(r::poisson(k, 50, Shape{0, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(r::binomial(k, 50, 0.5, Shape{0}).shape(), Shape{0});
  EXPECT_EQ(r::multinomial(k, 50, zeros({0})).shape(), Shape{0});
  EXPECT_EQ(r::ball(k, 0, 2, {3}).shape(), (Shape{3, 0}));
  EXPECT_EQ(r::cauchy(k, {0}).shape(), Shape{0});
  EXPECT_TRUE(array_equal(r::key_data(r::clone(k)), r::key_data(k)));
  EXPECT_EQ(r::binomial(k, kInf, 0.0).item<double>(), kInf);  // JAX does not end here
}
TEST(Distributions, ErrorsNameTheSamplerAndTheValues) {
  auto k = r::key(0);
  test::says<ShapeError>([&] { return r::poisson(k, ones({3}), Shape{2}); }, "poisson");
  test::says<ShapeError>([&] { return r::beta(k, ones({3}), 1, Shape{}); }, "beta: the parameters broadcast");
  test::says<ShapeError>([&] { return r::t(r::split(k, 2), 1); }, "t: takes one key");
  test::says<DtypeError>([&] { return r::poisson(k, 2, none, f32); }, "poisson: the dtype must be an integer");
  test::says<DtypeError>([&] { return r::binomial(k, 2, 0.5, none, i32); }, "binomial: the dtype must be a floating");
  test::says<DtypeError>([&] { return r::binomial(k, 2, array(0.5, bf16)); }, "binomial: p must be f32 or f64");
  test::says<DtypeError>([&] { return r::cauchy(k, {}, i32); }, "cauchy: the dtype must be a floating one, got i32");
  test::says<DtypeError>([&] { return r::orthogonal(k, 2, {}, bf16); }, "orthogonal: the dtype must be f32 or f64");
  test::says<ValueError>([&] { return r::orthogonal(k, -2); }, "orthogonal: sizes must not be negative, got -2");
  test::says<ValueError>([&] { return r::ball(k, -1); }, "ball: the number of dimensions");
  test::says<ValueError>([&] { return r::bernoulli(k, r::Mode::highest, 0.5); }, "bernoulli: the mode");
  test::says<ShapeError>([&] { return r::multivariate_normal(k, zeros({3}), zeros({2, 2})); }, "[3]");
  test::says<DtypeError>([&] { return r::randint(k, {2}, array(0.5), array(3)); }, "randint: the bounds");
  test::says<DtypeError>([&] { return r::randint(k, {2}, array(0), 3.5); }, "bounds must be integers, got 3.5");
  EXPECT_EQ(r::randint(k, {9}, array(-2), 7).to_vector<int>(), r::randint(k, {9}, -2, array(7)).to_vector<int>());
  EXPECT_EQ(r::randint(k, {9}, 0, array(7)).to_vector<int>(), r::randint(k, {9}, array(0), array(7)).to_vector<int>());
  EXPECT_EQ(r::truncated_normal(k, array(-1.), 2, Shape{5}).to_vector<float>(),
            r::truncated_normal(k, array(-1.), array(2.), Shape{5}).to_vector<float>());
  test::says<ValueError>([&] { return r::categorical(k, zeros({2}), {.shape = Shape{3}, .replace = false}); },
                         "cannot take 3 of 2 categories");
  test::says<ShardError>([&] { return r::poisson(k, 2, Shape{2}, i32, {.spec = Spec{none, "data"}}); }, "[2]");
  for (auto x : {r::chisquare(k, -1), r::rayleigh(k, array(kNaN)), r::lognormal(k, array(kNaN)), r::beta(k, -1, 1)})
    EXPECT_TRUE(std::isnan(x.item<double>()));
}
}  // namespace
}  // namespace bora::distributions_test
