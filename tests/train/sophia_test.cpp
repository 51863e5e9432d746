// Sophia: the estimate of the Hessian's diagonal that a step makes, its updates by the formula in f64, and meshes.
#include "bigram.h"
#include "bora/models/gpt2.h"
#include "bora/models/lm.h"
#include "steps.h"

namespace sophia_test {
using namespace bora;
namespace {
struct Pair {
  Array x, y;
};
TEST(Sophia, TheEstimateIsExactWhereTheHessianIsDiagonal) {
  Pair p{array({1.0F, 2.0F, -3.0F}), array({{0.5F, -1.0F}})};
  auto f = [](const Pair& p) { return sum(p.x * p.x * p.x) + sum(cos(p.y)); };
  auto h = jit([f](const Pair& p, const Array& key) { return training::hessian_diagonal(f, p, key); })(p,
                                                                                                 random::key(3));
  EXPECT_EQ(h.x.to_vector<float>(), (std::vector<float>{6, 12, -18}));
  auto y = h.y.to_vector<float>();
  EXPECT_NEAR(static_cast<double>(y[0]), -std::cos(0.5), 1e-6);
  EXPECT_NEAR(static_cast<double>(y[1]), -std::cos(1.0), 1e-6);
}
TEST(Sophia, TheEstimatesMeanIsTheDiagonal) {
  auto x = array({0.3F, -0.8F, 0.5F});
  auto f = [](const Array& x) { return exp(sum(x * array({1.0F, 2.0F, -1.0F}))); };  // H = e * c c^T
  std::vector<double> mean(3);
  auto one = jit([f](const Array& x, const Array& key) { return training::hessian_diagonal(f, x, key); });
  for (int k = 0; k < 400; ++k) {
    auto h = one(x, random::key(k)).to_vector<double>();
    for (std::size_t i = 0; i < 3; ++i) mean[i] += h[i] / 400;
  }
  auto e = std::exp(0.3 - 1.6 - 0.5);
  EXPECT_NEAR(mean[0], e, 0.2 * e);
  EXPECT_NEAR(mean[1], 4 * e, 0.2 * 4 * e);
  EXPECT_NEAR(mean[2], e, 0.2 * e);
}

constexpr std::int64_t kBatch = 8;
const optim::ScaleBySophia kOptions{.b1 = 0.9, .b2 = 0.5, .gamma = 0.3, .every = 2};
struct Trained {
  std::vector<float> numbers;
  std::map<std::string, std::vector<double>> last;  // of the optimizer and the parameters
};
GlobalBatch rows(std::int64_t step, const Mesh& mesh) {
  return test::batch_of(step, mesh, kBatch, kPositions, [](std::int64_t i) {
    return test::Place{static_cast<std::int32_t>((7 * i) % 256), static_cast<std::int32_t>((3 * i + 1) % 256), 1};
  });
}
Trained train(int ranks, const std::string& layout, std::int64_t accumulate) {
  Trained r;
  local_mesh({{"data", ranks}, {"model", 1}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout(layout), mesh.shape());
    UseMapping split(mappings.compute);
    auto model = trainable(bigram(), {.optimizer = optim::sophia({.learning_rate = 0.01, .moments = kOptions}),
                                      .learning_rate = 0.01,
                                      .accumulate = accumulate,
                                      .storage = mappings.storage});
    model->init(random::key(1));
    std::vector<float> losses;
    for (int i = 0; i < 4; ++i) losses.push_back(model->step(rows(i, mesh)).to_vector<float>()[0]);
    std::map<std::string, std::vector<double>> last;
    for (auto& slot : tree::slots(model->state()))
      if (slot.leaf.defined() && slot.leaf.get().dtype() == f32)
        last[slot.path] = gather(slot.leaf.get()).to_vector<double>();
    if (mesh.rank() == 0) r = {losses, last};
  });
  return r;
}
TEST(Sophia, AStepTakesItsEstimateEveryFewUpdates) {
  std::vector<std::vector<double>> h;
  std::vector<float> losses;
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    auto task = bigram();
    auto model = trainable(task, {.optimizer = optim::sophia({.learning_rate = 0.01, .moments = kOptions}),
                                  .learning_rate = 0.01});
    model->init(random::key(1));
    auto of = [&](tree::Node t, const std::string& path) {
      for (auto& slot : tree::slots(t))
        if (slot.path.ends_with(path)) return slot.leaf.get();
      throw std::runtime_error(path);
    };
    for (int i = 0; i < 3; ++i) {
      Bigram p{NamedArray(of(model->parameters(), "table"), {{"vocab", 256}, {"embed", 6}}),
               NamedArray(of(model->parameters(), "out"), {{"embed", 6}, {"next", 256}})};
      auto key = of(model->state(), "key");
      auto batch = rows(i, mesh);
      auto estimate = training::hessian_diagonal(
          [&](const Bigram& q) { return task.loss(q, batch.example, none) / sum(batch.example.weights); }, p,
          random::fold_in(random::fold_in(key, i), 0x68657373));
      auto before = i == 0 ? std::vector<double>(6 * 256) : of(model->optimizer_state(), "h.out").to_vector<double>();
      (void)model->step(batch);
      auto after = of(model->optimizer_state(), "h.out").to_vector<double>();
      auto e = estimate.out.array().to_vector<double>();
      for (std::size_t k = 0; k < e.size(); ++k)
        ASSERT_NEAR(after[k], i == 1 ? before[k] : 0.5 * e[k] + 0.5 * before[k], 1e-7) << i << " " << k;
    }
  });
}
TEST(Sophia, IsTheSameOnEveryMesh) {
  for (std::int64_t parts : {1, 2}) {
    auto one = train(1, "dp", parts);
    for (auto& [ranks, layout] : std::vector<std::pair<int, std::string>>{{2, "dp"}, {2, "fsdp"}}) {
      auto many = train(ranks, layout, parts);
      ASSERT_EQ(many.last.size(), one.last.size());
      // Of one part: that of two is, on two ranks, another half of the rows.
      if (parts > 1) continue;
      for (auto& [path, x] : one.last)
        for (std::size_t k = 0; k < x.size(); ++k)
          ASSERT_NEAR(many.last.at(path)[k], x[k], 2e-4 + 1e-3 * std::abs(x[k])) << path << " " << k;
    }
  }
}
TEST(Sophia, TrainsAModelWithAttentionAndBlocksOfScores) {
  auto config = config::Choice<models::Model>("gpt2");
  auto given = config::parse_yaml("{type: gpt2, layers: 2, embed: 8, heads: 2, positions: 8}", "model");
  config.read(given, "model", {});
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    StepOptions step{.optimizer = optim::sophia({.learning_rate = 0.01}), .learning_rate = 0.01};
    auto model = config->trainable({.vocabulary = 256, .step = step});
    model->init(random::key(0));
    std::vector<float> losses;
    for (int i = 0; i < 12; ++i) losses.push_back(model->step(rows(0, mesh)).to_vector<float>()[0]);
    EXPECT_LT(losses.back(), losses.front() - 0.02F);
  });
}
}  // namespace
}  // namespace sophia_test
