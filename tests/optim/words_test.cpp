// Words of the settings whose optimizers are functions of optim.h: each read from YAML makes the updates of its
// function with the same numbers.
#include <gtest/gtest.h>
#include <string>
#include <vector>
#include "bora/bora.h"
#include "bora/optim/config.h"
#include "bora/optim/optim.h"

namespace bora::words_test {
namespace {
struct Params {
  Array weight, bias;
};
Params numbers(int seed) {
  auto keys = random::split<2>(random::key(seed));
  return {random::normal(keys[0], {4, 3}), random::normal(keys[1], {3})};
}
config::Choice<optim::Kind> kind_of(const std::string& yaml) {
  config::Choice<optim::Kind> kind;
  auto d = config::parse_yaml(yaml, "test");
  kind.read(d, "optimizer", config::schema(kind, "optimizer"));
  kind.check("optimizer");
  return kind;
}
/// Updates of four steps.
std::vector<float> updates(const optim::Transform& tx) {
  auto p = numbers(1);
  auto s = tx.init(p);
  std::vector<float> all;
  for (int i = 0; i < 4; ++i) {
    auto [u, next] = tx.update(numbers(2 + i), s, p);
    p = optim::apply_updates(p, u);
    s = next;
    for (auto& x : tree::leaves(u))
      for (auto number : x.to_vector<float>()) all.push_back(number);
  }
  return all;
}
const std::string kConstant = "schedule: {shape: constant, warmup: 0}";
/// `yaml`: of the type and its keys.
void expect_word(const std::string& yaml, const optim::Transform& function) {
  auto kind = kind_of("{type: " + yaml + ", clip: 0, " + kConstant + "}");
  EXPECT_EQ(updates(kind->build(4).transform), updates(function)) << yaml;
}
TEST(OptimWords, ATypeWithoutKeysHasOptaxsDefaults) {
  expect_word("amsgrad", optim::amsgrad());
  expect_word("adabelief", optim::adabelief());
  expect_word("yogi", optim::yogi());
  expect_word("radam", optim::radam());
  expect_word("adan", optim::adan());
  expect_word("adadelta", optim::adadelta());
  expect_word("sign_sgd", optim::sign_sgd());
  expect_word("lars", optim::lars());
  auto base = chain(optim::scale_by_rms({.decay = 0.999, .eps_in_sqrt = false, .bias_correction = true}),
                    optim::scale_by_learning_rate(0.0025));
  expect_word("schedule_free", optim::schedule_free(base, 0.0025));
}
TEST(OptimWords, KeysAreTheFunctionsOptions) {
  expect_word("amsgrad, lr: 0.1, beta1: 0.8, beta2: 0.5, eps: 1e-3",
              optim::amsgrad({.learning_rate = 0.1, .moments = {.b1 = 0.8, .b2 = 0.5, .eps = 1e-3}}));
  expect_word("adabelief, lr: 0.1, beta1: 0.8, beta2: 0.5, eps: 1e-3, eps_root: 1e-2, nesterov: true",
              optim::adabelief({.learning_rate = 0.1, .moments = {0.8, 0.5, 1e-3, 1e-2, true}}));
  expect_word("yogi, lr: 0.1, beta1: 0.8, beta2: 0.5, eps: 0.01, initial_accumulator_value: 0.5",
              optim::yogi({.learning_rate = 0.1, .moments = {0.8, 0.5, 0.01, 0, 0.5}}));
  expect_word("radam, lr: 0.1, beta1: 0.8, beta2: 0.9, eps: 0.01, threshold: 4, nesterov: true",
              optim::radam({.learning_rate = 0.1, .moments = {0.8, 0.9, 0.01, 0, 4, true}}));
  expect_word("adan, lr: 0.1, beta1: 0.8, beta2: 0.5, beta3: 0.9, eps: 0.01, eps_root: 1e-3, weight_decay: 0.2",
              optim::adan({.learning_rate = 0.1, .moments = {0.8, 0.5, 0.9, 0.01, 1e-3}, .weight_decay = 0.2}));
  expect_word("sophia, lr: 0.1, beta1: 0.8, beta2: 0.5, gamma: 0.7, eps: 0.01, every: 2, weight_decay: 0.2",
              optim::sophia({.learning_rate = 0.1, .moments = {0.8, 0.5, 0.7, 0.01, 2}, .weight_decay = 0.2}));
  expect_word("adadelta, lr: 0.5, rho: 0.5, eps: 1e-3, weight_decay: 0.1",
              optim::adadelta({.learning_rate = 0.5, .rho = 0.5, .eps = 1e-3, .weight_decay = 0.1}));
  expect_word("sign_sgd, lr: 0.1, weight_decay: 0.5",
              chain(optim::scale_by_sign(), optim::add_decayed_weights(0.5), optim::scale_by_learning_rate(0.1)));
  expect_word("lars, lr: 0.1, momentum: 0.5, trust_coefficient: 0.1, weight_decay: 0.2, nesterov: true",
              optim::lars({.learning_rate = 0.1,
                           .weight_decay = 0.2,
                           .trust_coefficient = 0.1,
                           .momentum = 0.5,
                           .nesterov = true}));
  auto base = chain(optim::scale_by_rms({.decay = 0.5, .eps = 1e-3, .eps_in_sqrt = false, .bias_correction = true}),
                    optim::add_decayed_weights(0.1), optim::scale_by_learning_rate(0.1));
  expect_word("schedule_free, lr: 0.1, beta1: 0.8, beta2: 0.5, eps: 1e-3, weight_lr_power: 1, weight_decay: 0.1",
              optim::schedule_free(base, 0.1, {.b1 = 0.8, .weight_lr_power = 1}));
}
TEST(OptimWords, DecayAndClippingAreThoseOfEveryType) {
  for (std::string word : {"amsgrad", "adabelief", "yogi", "radam", "adan", "adadelta", "lars",
                           "schedule_free"}) {
    auto of = [&](const std::string& keys) {
      return updates(kind_of("{type: " + word + ", " + keys + ", " + kConstant + "}")->build(4).transform);
    };
    EXPECT_NE(of("clip: 0, weight_decay: 0.5"), of("clip: 0")) << word;
    EXPECT_EQ(of("clip: 0, weight_decay: 0.5, no_decay: [weight, bias]"), of("clip: 0")) << word;
    EXPECT_NE(of("clip: 1e-4"), of("clip: 0")) << word;
  }
}
TEST(OptimWords, NumbersOutsideOfTheirDomainsAreRefused) {
  for (std::string bad : {"adadelta, rho: 1", "adadelta, rho: -0.1", "radam, threshold: 3", "schedule_free, beta1: 0",
                          "schedule_free, weight_lr_power: -1", "lars, momentum: 1", "lars, trust_coefficient: -1",
                          "adabelief, eps: 0", "yogi, initial_accumulator_value: -1", "amsgrad, beta2: 1",
                          "sign_sgd, lr: 0", "adan, beta3: 1", "adan, eps_root: -1", "sophia, gamma: 0",
                          "sophia, every: 0"})
    EXPECT_THROW((void)kind_of("{type: " + bad + "}"), ConfigError) << bad;
}
}  // namespace
}  // namespace bora::words_test
