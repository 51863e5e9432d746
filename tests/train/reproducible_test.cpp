// Laws of virtual ranks: how many ranks carry them changes no bit of losses, norms, evaluations and parameters.
#include "bora/train/reproducible.h"
#include <gtest/gtest.h>
#include <map>
#include "bora/bora.h"
#include "compile/api/executable.h"
#include "bora/train/placement.h"
#include "bora/train/trainer.h"
#include "laws/effort.h"
#include "support/throws.h"
#include "train/steps.h"

namespace reproducible_test {
using namespace bora;

namespace {
constexpr std::int64_t kRows = 32, kPositions = 5, kTokens = 11;
const Axis kVocab{"vocab", 601}, kEmbed{"embed", 16}, kMlp{"mlp", 24};
struct Model {
  NamedArray table;
  nn::LayerNorm norm;
  NamedArray up, bias, out;
};
TrainTask<Model> task(Dtype dtype) {
  return {[dtype](const Array& key) {
            auto k = random::split<3>(key);
            return tree::map([&](const Array& x) { return x.astype(dtype); },
                             Model{random::normal(k[0], {kVocab, kEmbed}), nn::LayerNorm::init(kEmbed),
                                   random::normal(k[1], {kEmbed, kMlp}) * 0.3, zeros({kMlp}),
                                   random::normal(k[2], {kMlp, Axis{"next", kTokens}}) * 0.3});
          },
          [](const Model& m, const training::Example& e, const std::optional<Array>& key) {
            auto x = auto_sharded(take(m.table, "vocab", e.tokens));
            auto h = tanh(dot(m.norm(x), m.up, "embed") + m.bias);
            if (key) h = h * (random::uniform(*key, h.axes()) + 0.5).astype(h.dtype());
            auto scores = dot(auto_sharded(h), m.out, "mlp").astype(f32);
            return sum(nn::cross_entropy(scores, "next", e.targets) * e.weights);
          }};
}
GlobalBatch batch_of(std::int64_t step, const Mesh& mesh) {
  return test::batch_of(step, mesh, kRows, kPositions, [](std::int64_t i) {
    return test::Place{static_cast<std::int32_t>(i * 7 % 5 + i % 7), static_cast<std::int32_t>(i * 5 % 7 + i % 5),
                       i % 9 == 0 ? 0.0F : 0.1F + static_cast<float>(i % 3)};
  });
}
/// Reports and evaluations of some steps, then the parameters.
std::vector<float> trained(std::int64_t ranks, std::int64_t parts, Dtype dtype = f32, bool dropout = true) {
  auto rate = optim::warmup_cosine_decay_schedule(0.01, 0.1, 2, 9);
  StepOptions options{.optimizer = optim::chain(optim::clip_by_global_norm(0.5), optim::adamw({.learning_rate = rate})),
                      .learning_rate = rate,
                      .dropout = dropout,
                      .virtual_ranks = parts};
  std::vector<float> numbers;
  local_mesh({{"data", static_cast<int>(ranks)}}, [&](const Mesh& mesh) {
    UseMapping split(AxisMapping{{"batch", "data"}});
    auto model = trainable(task(dtype), options);
    model->init(random::key(3));
    std::vector<float> mine;
    for (std::int64_t s = 0; s < 4; ++s) {
      auto report = model->step(batch_of(s, mesh)).to_vector<float>();
      mine.insert(mine.end(), report.begin(), report.begin() + 3);
      auto held_out = model->evaluate(batch_of(s + 10, mesh)).to_vector<float>();
      mine.insert(mine.end(), held_out.begin(), held_out.end());
    }
    for (float x : test::numbers_of(model->parameters())) mine.push_back(x);
    if (mesh.rank() == 0) numbers = mine;
  });
  return numbers;
}
}  // namespace

TEST(Reproducible, RanksChangeNoBit) {
  bool full = laws::effort() == laws::Effort::full;
  for (auto dtype : {f32, bf16})
    for (std::int64_t parts : {4, 8, 32}) {
      if (dtype == bf16 && parts != 8 && !full) continue;
      auto one = trained(1, parts, dtype);
      ASSERT_GT(one.size(), 10000U);
      for (std::int64_t ranks = 2; ranks <= std::min<std::int64_t>(parts, 8); ranks *= 2)
        if (full || ranks == 4 || (parts == 8 && dtype == f32)) {
          EXPECT_EQ(trained(ranks, parts, dtype), one) << ranks << " ranks, V = " << parts;
        }
    }
}
TEST(Reproducible, PartsOfARankSendNothing) {
  auto sent = [](std::int64_t parts) {
    std::map<std::string, std::size_t> uses;
    local_mesh({{"data", 2}}, [&](const Mesh& mesh) {
      UseMapping split(AxisMapping{{"batch", "data"}});
      StepOptions options{
          .optimizer = optim::sgd({.learning_rate = 0.1}), .learning_rate = 0.1, .virtual_ranks = parts};
      auto model = trainable(task(f32), options);
      model->init(random::key(3));
      auto batch = batch_of(0, mesh);
      auto program = fx::local_program(model->step_program(batch), model->step_arguments(batch));
      if (mesh.rank() == 0)
        for (auto& c : executable(program)->info().collective_uses) uses[c.what] += c.times;
    });
    return uses;
  };
  auto few = sent(4);
  EXPECT_FALSE(few.empty());
  EXPECT_EQ(few, sent(32)) << "each part of a rank has its gradients gathered";
}
TEST(Reproducible, TheSumIsTheBatchs) {
  auto whole = trained(1, 0, f32, false), parts = trained(2, 8, f32, false);
  ASSERT_EQ(whole.size(), parts.size());
  for (std::size_t i = 0; i < whole.size(); ++i)
    EXPECT_NEAR(parts[i], whole[i], 2e-3 * std::max(1.F, std::abs(whole[i])));
}
TEST(Reproducible, SumsKeepTheirDtype) {
  constexpr int big = 1 << 24;
  auto x = NamedArray(arange(8) + big, {{"batch", 8}});
  for (int ranks : {1, 2, 4})
    local_mesh({{"data", ranks}}, [&](const Mesh&) {
      auto zero = NamedArray(full_of({{}, i32}, 0), {});
      auto y = training::virtual_sum(4, x, zero, [](const NamedArray& rows, const Array&) { return sum(rows); });
      ASSERT_EQ(y.dtype(), i32);
      EXPECT_EQ(y.item<std::int32_t>(), 8 * big + 28) << ranks << " ranks";  // no number of f32
    });
}
TEST(Reproducible, WhatCannotHoldIsRefused) {
  auto says = [](const std::string& words, std::int64_t parts, const LayoutMappings& m, const MeshShape& mesh,
                 std::int64_t batch = 64, std::int64_t accumulate = 1) {
    test::says<ConfigError>([&] { training::check_virtual(parts, m, mesh, batch, accumulate); }, words);
  };
  LayoutMappings dp{{}, {{"batch", "data"}}}, fsdp{{{"embed", "data"}}, {{"batch", "data"}}};
  auto mesh = [](int data, int model = 1) {
    return MeshShape{{{AxisName("data"), data}, {AxisName("model"), model}}};
  };
  training::check_virtual(8, dp, mesh(4), 64, 1);
  says("3 ranks do not hold whole subtrees of 8", 8, dp, mesh(3), 72);
  says("16 ranks do not hold", 8, dp, mesh(16));
  says("batch 60 cannot be cut into 8 equal parts", 8, dp, mesh(2), 60);
  says("accumulate=1, not 2", 8, dp, mesh(2), 64, 2);
  says("set layout=dp", 8, fsdp, mesh(2));
  says("the mesh has 4 ranks, of which the batch is split over 2", 8, dp, mesh(2, 2));
  auto shares = mesh(2);
  shares.set_shares(AxisName("data"), {1, 3});
  says("has shares along data", 8, dp, shares);
  EXPECT_THROW(trained(1, 6), ShardError);
  auto of_step = [](const std::string& words, const std::function<void(StepOptions&)>& change) {
    StepOptions o{.optimizer = optim::sgd({.learning_rate = 0.1}), .learning_rate = 0.1, .virtual_ranks = 4};
    change(o);
    test::says<ValueError>([&] { trainable(task(f32), o)->init(random::key(1)); }, words);
  };
  of_step(".accumulate is 2", [](auto& o) { o.accumulate = 2; });
  of_step(".wire of int8", [](auto& o) { o.wire = Wire::int8(); });
  of_step(".replicas is 2", [](auto& o) { o.replicas = 2; });
}
}  // namespace reproducible_test
