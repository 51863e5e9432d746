// A draw with a Spec is born split, and its numbers are those of one rank.
#include <gtest/gtest.h>
#include <functional>
#include "bora/fx/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "bora/shard/mesh.h"

namespace bora::sharded_test {
namespace {
TEST(Sharded, DrawsAreThoseOfOneRank) {
  auto k = random::key(11);
  auto alone = random::normal(k, {5, 4, 3}).to_vector<float>();
  auto wide = random::bits(k, {5, 7}, i64).to_vector<std::int64_t>();
  auto gammas = random::gamma(k, random::uniform(k, {7}, f32, 0.5, 3.0)).to_vector<float>();
  for (auto& axes : std::vector<std::vector<MeshAxis>>{{{"data", 2}}, {{"data", 4}}, {{"data", 3}, {"model", 2}}}) {
    local_mesh(axes, [&](const Mesh& mesh) {
      std::vector<Spec> specs{Spec{"data"}, Spec{none, "data"}, Spec{none, none, "data"}};
      if (mesh.shape().has(AxisName("model")))
        specs.insert(specs.end(), {Spec{"data", "model"}, Spec{{"model", "data"}}, Spec{"model", none, "data"}});
      for (auto& spec : specs) {
        auto x = random::normal(k, {5, 4, 3}, f32, {.spec = spec});
        EXPECT_FALSE(is_buffer(x)) << "not split: " << spec;
        EXPECT_EQ(x.to_vector<float>(), alone) << spec;
      }
      EXPECT_EQ(random::bits(k, {5, 7}, i64, {.spec = Spec{"data"}}).to_vector<std::int64_t>(), wide);
      EXPECT_EQ(random::gamma(k, random::uniform(k, {7}, f32, 0.5, 3.0), none, f32, {.spec = Spec{"data"}})
                    .to_vector<float>(),
                gammas);
      EXPECT_THROW((void)random::bits(k, {5}, u32, {.spec = Spec{none, "data"}}), ShardError);
    });
  }
}
/// Samplers with parameters: {5, 4} numbers (or more dimensions) with parameters of one row.
using Sampler = std::function<Array(const Array& k, const random::DrawOptions& draw)>;
std::vector<std::pair<std::string, Sampler>> samplers() {
  namespace r = random;
  const Shape s{5, 4};
  auto a = array({0.4, 1.0, 3.0, 20.0}), b = array({2.0, 0.5, 1.0, 6.0}), p = array({0.1, 0.4, 0.6, 0.9});
  return {
      {"beta", [=](auto& k, auto& d) { return r::beta(k, a, b, s, f32, d); }},
      {"cauchy", [=](auto& k, auto& d) { return r::cauchy(k, s, f32, d); }},
      {"chisquare", [=](auto& k, auto& d) { return r::chisquare(k, a, s, f32, d); }},
      {"f", [=](auto& k, auto& d) { return r::f(k, a, b, s, f32, d); }},
      {"lognormal", [=](auto& k, auto& d) { return r::lognormal(k, a, s, f32, d); }},
      {"maxwell", [=](auto& k, auto& d) { return r::maxwell(k, s, f32, d); }},
      {"double_sided_maxwell", [=](auto& k, auto& d) { return r::double_sided_maxwell(k, 1, 2, s, f32, d); }},
      {"pareto", [=](auto& k, auto& d) { return r::pareto(k, a, s, f32, d); }},
      {"rayleigh", [=](auto& k, auto& d) { return r::rayleigh(k, a, s, f32, d); }},
      {"t", [=](auto& k, auto& d) { return r::t(k, a, s, f32, d); }},
      {"triangular", [=](auto& k, auto& d) { return r::triangular(k, -a, 0, b, s, f32, d); }},
      {"wald", [=](auto& k, auto& d) { return r::wald(k, a, s, f32, d); }},
      {"weibull_min", [=](auto& k, auto& d) { return r::weibull_min(k, a, b, s, f32, d); }},
      {"truncated_normal", [=](auto& k, auto& d) { return r::truncated_normal(k, -a, b, s, f32, d); }},
      {"gumbel high", [=](auto& k, auto& d) { return r::gumbel(k, r::Mode::high, s, f32, d); }},
      {"gumbel highest", [=](auto& k, auto& d) { return r::gumbel(k, r::Mode::highest, s, f32, d); }},
      {"bernoulli high", [=](auto& k, auto& d) { return r::bernoulli(k, r::Mode::high, p, s, d); }},
      {"generalized_normal", [=](auto& k, auto& d) { return r::generalized_normal(k, 1.5, s, f32, d); }},
      {"ball", [=](auto& k, auto& d) { return r::ball(k, 3, 2, s, f32, d); }},
      {"gamma", [=](auto& k, auto& d) { return r::gamma(k, a, s, f32, d); }},
      {"dirichlet", [=](auto& k, auto& d) { return r::dirichlet(k, a, Shape{5}, f32, d); }},
      {"geometric", [=](auto& k, auto& d) { return r::geometric(k, p, s, i32, d); }},
      {"poisson", [=](auto& k, auto& d) { return r::poisson(k, a, s, i32, d); }},
      {"poisson of few", [=](auto& k, auto& d) { return r::poisson(k, 3, s, i32, d); }},
      {"binomial", [=](auto& k, auto& d) { return r::binomial(k, array({4, 30, 90, 1000}), p, s, f32, d); }},
      {"multinomial", [=](auto& k, auto& d) { return r::multinomial(k, 60, p / 2, Shape{5, 4}, f32, d); }},
      {"randint", [=](auto& k, auto& d) { return r::randint(k, s, array(-3), array({4, 9, 70000, 1}), i32, d); }},
      {"randint i64", [=](auto& k, auto& d) { return r::randint(k, s, array(-3), array({4, 9, 70000, 1}), i64, d); }},
      {"multivariate_normal",
       [=](auto& k, auto& d) { return r::multivariate_normal(k, a, eye(4) * 2 + 1, s, f32, d); }},
      {"orthogonal", [=](auto& k, auto& d) { return r::orthogonal(k, 3, s, f32, none, d); }},
  };
}
TEST(Sharded, EverySamplerDrawsWhatOneRankDraws) {
  auto k = random::key(12);
  for (auto& [name, sampler] : samplers()) {
    SCOPED_TRACE(name);
    auto alone = sampler(k, {}).to_vector<double>();
    for (auto& axes : std::vector<std::vector<MeshAxis>>{{{"data", 3}}, {{"data", 2}, {"model", 2}}})
      local_mesh(axes, [&](const Mesh& mesh) {
        std::vector<Spec> specs{Spec{"data"}, Spec{none, "data"}};
        if (mesh.shape().has(AxisName("model")))
          specs.insert(specs.end(), {Spec{"model", "data"}, Spec{{"data", "model"}}});
        if (name == "dirichlet" || name == "multinomial") specs = {Spec{"data"}};
        for (auto& spec : specs) {
          auto x = sampler(k, {.spec = spec});
          EXPECT_FALSE(is_buffer(x)) << name << " is not split: " << spec;
          EXPECT_EQ(x.to_vector<double>(), alone) << name << " " << spec;
        }
      });
  }
}
TEST(Transformed, JitIsEagerAndVmapIsOneKeyAfterAnother) {
  auto keys = random::split(random::key(13), 3);
  for (auto& [name, sampler] : samplers()) {
    SCOPED_TRACE(name);
    auto draw = [&](const Array& k) { return sampler(k, {}); };
    Arrays each;
    for (std::int64_t i = 0; i < 3; ++i) each.push_back(draw(index_in_dim(keys, 0, i)));
    EXPECT_EQ(jit(draw)(index_in_dim(keys, 0, 1)).to_vector<double>(), each[1].to_vector<double>());
    EXPECT_EQ(vmap(draw)(keys).to_vector<double>(), stack(each).to_vector<double>());
  }
}
}  // namespace
}  // namespace bora::sharded_test
