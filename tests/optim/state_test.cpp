// State: names of its entries, continuing with another chain, checkpoints with the names of earlier versions, and
// which parameters decay.
#include <gtest/gtest.h>
#include <limits>
#include "bora/bora.h"
#include "bora/models/gpt2.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace bora::state_test {
namespace {
struct Params {
  Array weight, bias;
};
Params params() { return {array({1., -2., 3.}), array({0.5})}; }
Params gradients() { return {array({0.1, 0.2, -0.3}), array({4.})}; }
struct TrainState {
  Params params;
  optim::State optimizer;
};
TrainState begin(const optim::Transform& tx) { return {params(), tx.init(params())}; }
TrainState steps(const optim::Transform& tx, TrainState s, int n) {
  for (int i = 0; i < n; ++i) {
    auto [updates, next] = tx.update(gradients(), s.optimizer, s.params);
    s = {optim::apply_updates(s.params, updates), next};
  }
  return s;
}
std::vector<std::string> names(const optim::State& s) {
  std::vector<std::string> r;
  for (auto& [name, a] : s.entries) r.push_back(name);
  return r;
}
using Names = std::vector<std::string>;
void expect_same(const TrainState& a, const TrainState& b) {
  ASSERT_EQ(tree::paths(a), tree::paths(b));
  auto x = tree::leaves(a), y = tree::leaves(b);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i].to_vector<double>(), y[i].to_vector<double>());
}
struct OptimState : testing::Test {
  test::TempFolder temp;
  std::string folder = temp / "tree";
};
optim::Transform clipped(const optim::Transform& t) { return optim::chain(optim::clip_by_global_norm(1), t); }

TEST_F(OptimState, EntriesAreNamedByTransformationFieldAndParameter) {
  Names adamw{"adam.count", "adam.mu.bias", "adam.mu.weight", "adam.nu.bias", "adam.nu.weight", "learning_rate.count"};
  EXPECT_EQ(names(optim::adamw().init(params())), adamw);
  EXPECT_EQ(names(clipped(optim::adamw()).init(params())), adamw);
  EXPECT_EQ(names(optim::chain(clipped(optim::scale(2)), clipped(optim::adamw())).init(params())), adamw);
  EXPECT_EQ(names(optim::lion().init(params())), (Names{"learning_rate.count", "lion.mu.bias", "lion.mu.weight"}));
  EXPECT_TRUE(optim::identity().init(params()).entries.empty());
}
TEST_F(OptimState, TheSecondOfAChainHasANumber) {
  auto twice = optim::chain(optim::trace(0.5), optim::chain(optim::trace(0.9), optim::trace(0.1)));
  EXPECT_EQ(names(twice.init(params())), (Names{"trace.trace.bias", "trace.trace.weight", "trace2.trace.bias",
                                                "trace2.trace.weight", "trace3.trace.bias", "trace3.trace.weight"}));
  auto s = steps(twice, begin(twice), 2).optimizer;
  auto trace = [&](const std::string& name) { return s.entries.at(name + ".trace.bias").item<double>(); };
  EXPECT_NEAR(trace("trace"), 4 + 0.5 * 4, 1e-6);
  EXPECT_NEAR(trace("trace2"), 6 + 0.9 * 4, 1e-6);
  EXPECT_NEAR(trace("trace3"), 9.6 + 0.1 * 4, 1e-6);
}
TEST_F(OptimState, ClippingMayBeSwitchedOnBetweenRuns) {
  auto plain = optim::adamw({.learning_rate = 0.1});
  save_tree(folder, steps(plain, begin(plain), 2));
  auto continued = load_tree(folder, begin(clipped(plain)));
  expect_same(continued, steps(plain, begin(plain), 2));
  EXPECT_EQ(steps(clipped(plain), continued, 1).optimizer.entries.at("adam.count").item<int>(), 3);
}
TEST_F(OptimState, ATransformationWithStateThatIsNewIsAnError) {
  auto sgd = optim::sgd();
  save_tree(folder, begin(sgd));
  test::says<CheckpointError>([&] { (void)load_tree(folder, begin(optim::sgd({.momentum = 0.9}))); },
                              "it has no leaf 'optimizer.entries.trace.trace.bias' (f32[1] is wanted)");
  EXPECT_THROW(steps(optim::sgd({.momentum = 0.9}), begin(sgd), 1), ValueError);
}
TEST_F(OptimState, ACountStaysAtItsEnd) {
  constexpr auto last = std::numeric_limits<std::int32_t>::max();
  auto adam = optim::adam();
  auto s = begin(adam);
  for (auto name : {"adam.count", "learning_rate.count"}) s.optimizer.entries.at(name) = array(last - 1);
  for (int i = 0; i < 3; ++i) {
    s = steps(adam, s, 1);
    EXPECT_EQ(s.optimizer.entries.at("adam.count").item<int>(), last);
    EXPECT_EQ(s.optimizer.entries.at("learning_rate.count").item<int>(), last);
  }
}

TEST_F(OptimState, LayersSayWhichOfTheirParametersDecay) {
  struct Owner {
    nn::LayerNorm norm;
    std::vector<nn::Linear> linear;
    Array plain, bias;
    std::optional<NamedArray> absent = none;
  };
  struct Exempt {  // its word holds for what is inside, unless that says something itself
    std::vector<Array> tables;
    nn::Linear linear;
    Array free;
    static constexpr bool decays(std::string_view field) { return field == "free"; }
  };
  Axis in{"in", 2}, out{"out", 3};
  auto key = random::key(0);
  Owner owner{nn::LayerNorm::init(in), {nn::Linear::init(in, out, key)}, ones({2}), ones({2})};
  auto decaying = [](const auto& t) {
    Names r;
    auto flags = tree::decays(tree::node(t));
    auto paths = tree::paths(t);
    EXPECT_EQ(flags.size(), paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (flags[i]) r.push_back(paths[i]);
    return r;
  };
  EXPECT_EQ(decaying(owner), (Names{"linear.0.weight", "plain", "bias"}));
  EXPECT_EQ(decaying(Exempt{{ones({2})}, owner.linear[0], ones({2})}), (Names{"linear.weight", "free"}));

  const models::Gpt2Config config{.layers = 2, .embed = 8, .heads = 2, .positions = 4};
  auto model = models::Gpt2::init(config, 7, key);
  Names by_path;  // the rule that GPT-2 was trained with before its layers had a word
  for (auto& path : tree::paths(model))
    if (!path.ends_with("bias") && path.find("ln_") == std::string::npos) by_path.push_back(path);
  EXPECT_EQ(decaying(model), by_path);
}
TEST_F(OptimState, AMaskChoosesWhatDecays) {
  nn::Linear l{named(ones({2}), {{"in", 2}}), named(ones({1}), {{"out", 1}})};
  auto zero = tree::map([](const Array& a) { return zeros_like(a); }, l);
  auto decay = [&](const optim::Mask& mask) {
    auto u = optim::add_decayed_weights(0.5, mask).update(zero, {}, l).updates;
    return std::pair{u.weight.array().to_vector<float>()[0], u.bias->array().to_vector<float>()[0]};
  };
  EXPECT_EQ(decay({}), std::pair(0.5F, 0.5F));
  EXPECT_EQ(decay(optim::by_layer), std::pair(0.5F, 0.F));
  EXPECT_EQ(decay([](const std::string& path, const Array&) { return path == "bias"; }), std::pair(0.F, 0.5F));
}
}  // namespace
}  // namespace bora::state_test
