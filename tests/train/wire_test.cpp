// Training with sums of gradients in fewer bits: the same bits on all ranks, fewer bytes, and nearly the loss of f32.
#include <gtest/gtest.h>
#include "bora/bora.h"
#include "bora/train/trainer.h"
#include "bora/transport/transport.h"
#include "laws/effort.h"
#include "support/bits.h"
#include "train/steps.h"

namespace wire_test {
using namespace bora;

namespace {
constexpr std::int64_t kRows = 12, kPositions = 6, kTokens = 50, kSteps = 25;
const Axis kVocab{"vocab", kTokens}, kEmbed{"embed", 48}, kMlp{"mlp", 130}, kNext{"next", kTokens};
struct Model {
  NamedArray table;
  nn::LayerNorm norm;
  NamedArray up, bias, out;
};
TrainTask<Model> task(const Policy& policy) {
  return {[policy](const Array& key) {
            auto k = random::split<3>(key);
            Model m{random::normal(k[0], {kVocab, kEmbed}), nn::LayerNorm::init(kEmbed),
                    random::normal(k[1], {kEmbed, kMlp}) * 0.1, zeros({kMlp}),
                    random::normal(k[2], {kMlp, kNext}) * 0.1};
            return policy.cast_to_parameter(m);
          },
          [policy](const Model& stored, const training::Example& e, const std::optional<Array>&) {
            auto m = policy.cast_to_compute(stored);
            auto x = auto_sharded(take(auto_sharded(m.table), "vocab", e.tokens));
            auto h = tanh(dot(m.norm(x), auto_sharded(m.up), "embed") + auto_sharded(m.bias));
            auto scores = policy.cast_to_output(dot(auto_sharded(h), auto_sharded(m.out), "mlp"));
            return sum(nn::cross_entropy(scores, "next", e.targets) * e.weights);
          }};
}
struct Spread {
  std::string name;
  std::vector<MeshAxis> axes;
  bool fsdp = false;
  std::int64_t accumulate = 1;
};
const Spread kLayouts[] = {{"dp", {{"data", 2}}},
                           {"fsdp", {{"data", 2}}, true},
                           {"dp on 3", {{"data", 3}}},
                           {"fsdp with replicas", {{"replica", 2}, {"data", 2}}, true},
                           {"dp in parts", {{"data", 2}}, false, 2}};
struct Outcome {
  std::vector<std::vector<float>> of_rank;  // losses, norms, then all parameters
  double loss = 0;                          // the last one
  std::uint64_t sent = 0;                   // bytes of rank 0 in all steps
};
Outcome trained(const Spread& layout, const Wire& wire, const Policy& policy = {}) {
  Outcome r;
  int ranks = 1;
  for (auto& a : layout.axes) ranks *= a.size;
  r.of_rank.resize(static_cast<std::size_t>(ranks));
  local_mesh(layout.axes, [&](const Mesh& mesh) {
    UseMapping split(AxisMapping{{"batch", {"replica", "data"}}});
    auto model = trainable(task(policy), {.optimizer = optim::adamw({.learning_rate = 0.01}),
                                    .learning_rate = 0.01,
                                    .accumulate = layout.accumulate,
                                    .wire = wire,
                                    .storage = layout.fsdp ? AxisMapping{{"embed", "data"}, {"mlp", "data"}}
                                                           : AxisMapping{}});
    model->init(random::key(3));
    auto& mine = r.of_rank[static_cast<std::size_t>(mesh.rank())];
    auto before = mesh.context().traffic().bytes_sent;
    for (std::int64_t s = 0; s < kSteps; ++s) {
      auto batch = test::batch_of(s, mesh, kRows, kPositions, [](std::int64_t i) {
        return test::Place{static_cast<std::int32_t>(i * 7 % kTokens),
                           static_cast<std::int32_t>(i * 7 % kTokens * 3 % 11), i % 9 == 0 ? 0.0F : 1.0F};
      });
      auto report = model->step(batch).to_vector<float>();
      mine.insert(mine.end(), report.begin(), report.begin() + 2);
      if (mesh.rank() == 0) r.loss = report[0];
    }
    if (mesh.rank() == 0) r.sent = mesh.context().traffic().bytes_sent - before;
    for (float x : test::numbers_of(model->parameters())) mine.push_back(x);
  });
  return r;
}
using test::same_bits;
}  // namespace

TEST(WireOfTraining, AllRanksHaveTheSameBitsAndNearlyTheLossOfF32) {
  struct Row {
    Wire wire;
    double loss, bytes;  // bounds of the loss's relative difference, and of the bytes' share
  };
  std::size_t turn = 0;
  for (auto& layout : kLayouts) {
    auto exact = trained(layout, {});
    EXPECT_LT(exact.loss, 0.7 * exact.of_rank[0][0]) << layout.name;  // it learns
    for (auto& row : {Row{Wire::bf16(), 0.02, 0.6}, {Wire::int8(), 0.02, 0.4}, {Wire::int4(), 0.1, 0.3}}) {
      auto r = trained(layout, row.wire);
      SCOPED_TRACE(layout.name + " " + word(row.wire));
      for (auto& numbers : r.of_rank) EXPECT_TRUE(same_bits(numbers, r.of_rank[0]));
      EXPECT_FALSE(same_bits(r.of_rank[0], exact.of_rank[0]));  // it was in force
      EXPECT_NEAR(r.loss, exact.loss, row.loss * exact.loss);
      if (laws::tried(turn++, 4)) {  // each wire once
        auto again = trained(layout, row.wire);
        EXPECT_TRUE(same_bits(again.of_rank[0], r.of_rank[0]));
      }
      // Under FSDP parameters are gathered as they are; of three ranks small sums take an algorithm of fewer hops.
      auto share = layout.name == "dp" ? row.bytes : 1;
      EXPECT_LT(static_cast<double>(r.sent), share * static_cast<double>(exact.sent));
      std::printf("%s %s: loss %.5f (f32 %.5f), %.3f of the bytes\n", layout.name.c_str(), word(row.wire).c_str(),
                  r.loss, exact.loss, static_cast<double>(r.sent) / static_cast<double>(exact.sent));
    }
  }
}
/// Wherever the gradient changes its dtype on its way.
TEST(WireOfTraining, HoldsForEveryPolicy) {
  for (auto text : {"p=f32,c=bf16,o=f32", "p=f32,c=f16,o=f32", "p=bf16,c=f32,o=f32"})
    for (auto& layout : {kLayouts[0], kLayouts[1]}) {
      auto policy = Policy::parse(text);
      auto exact = trained(layout, {}, policy), r = trained(layout, Wire::int4(), policy);
      SCOPED_TRACE(layout.name + " " + text);
      EXPECT_TRUE(same_bits(r.of_rank[0], r.of_rank[1]));
      EXPECT_FALSE(same_bits(r.of_rank[0], exact.of_rank[0]));
      EXPECT_NEAR(r.loss, exact.loss, 0.2 * exact.loss);
      auto share = static_cast<double>(r.sent) / static_cast<double>(exact.sent);
      EXPECT_LT(share, layout.fsdp ? 0.9 : 0.45);
    }
}
TEST(WireOfTraining, OneRankSendsNothingAndRoundsNothing) {
  Spread alone{"one rank", {{"data", 1}}};
  EXPECT_TRUE(same_bits(trained(alone, Wire::int4()).of_rank[0], trained(alone, {}).of_rank[0]));
}
TEST(WireOfTraining, SumsThatAreSentTogetherHaveTheBitsOfEachAlone) {
  local_mesh({{"data", 3}}, [](const Mesh&) {
    for (auto wire : {Wire::int8(), Wire::int4(), Wire::bf16()})
      for (bool split : {false, true}) {
        Arrays x, like;
        for (std::int64_t n : {5, 100, 333, 64}) {
          auto scale = n % 2 ? 1.0 : 1e-3;
          x.push_back(shard(random::normal(random::key(n), {6, n}) * scale, Spec{"data"}));
          like.push_back(shard(zeros({n}), split ? Spec{"data"} : Spec{}));
        }
        auto f = [wire](const Arrays& x, const Arrays& like) {
          Arrays y;
          for (std::size_t i = 0; i < x.size(); ++i)
            y.push_back(complete_gradient_like(sum(x[i], 0), like[i], {wire, "data"}));
          return y;
        };
        auto alone = f(x, like), together = jit(f)(x, like);
        for (std::size_t i = 0; i < x.size(); ++i) {
          EXPECT_TRUE(same_bits(alone[i].to_vector<float>(), together[i].to_vector<float>())) << word(wire) << i;
          EXPECT_FALSE(same_bits(alone[i].to_vector<float>(), sum(x[i], 0).to_vector<float>())) << word(wire) << i;
        }
      }
  });
}
/// Terms of a sum over another axis may be larger than it: that sum is exact, and made before numbers are rounded.
TEST(WireOfTraining, ExactSumsComeBeforeThoseThatRound) {
  local_mesh({{"data", 2}, {"model", 2}}, [](const Mesh&) {
    auto small = random::normal(random::key(1), {6, 300}), large = random::normal(random::key(2), {6, 300}) * 100;
    auto x = shard(stack({large, small - large}), Spec{"model", "data"});
    for (bool split : {false, true}) {
      auto like = shard(zeros({300}), split ? Spec{"data"} : Spec{});
      GradientWire wire(Wire::int4(), "data");
      auto got = complete_gradient_like(sum(x, {0, 1}), like, wire).to_vector<float>();
      auto exact = sum(small, 0).to_vector<float>();
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], exact[i], 5) << split;
      // Those of what a layer gathers (FSDP), too, though the exact sum could wait.
      auto of = grad([&](const Array& w) { return sum(x * with_sharding_constraint(w, Spec{}, wire)); })(like);
      got = complete_gradient_like(of, like, wire).to_vector<float>();
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], exact[i], 5) << split;
    }
  });
}
TEST(WireOfTraining, ASumInShardMapTravelsByItsWire) {
  local_mesh({{"data", 3}}, [](const Mesh& mesh) {
    auto x = random::normal(random::key(1), {3, 1000});
    auto f = [](const Wire& wire) {
      return [wire](const Array& block) { return psum(block, "data", {.wire = wire}); };
    };
    auto sum_by = [&](const Wire& wire) {
      return shard_map(f(wire), mesh, {Spec{"data"}}, Spec{})(x).to_vector<float>();
    };
    auto exact = sum_by({});
    for (auto [wire, bound] : {std::pair{Wire::bf16(), 0.05F}, {Wire::int8(), 0.1F}, {Wire::int4(), 1.5F}}) {
      auto y = sum_by(wire);
      EXPECT_NE(y, exact) << word(wire);
      for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], exact[i], bound) << word(wire);
    }
    auto refused = [&](const Array& in, const Wire& wire) {
      (void)shard_map(f(wire), mesh, {Spec{"data"}}, Spec{})(in);
    };
    EXPECT_THROW(refused(x.astype(i32), Wire::int8()), DtypeError);
    EXPECT_THROW(refused(x.astype(f64), Wire::bf16()), DtypeError);
    EXPECT_THROW(refused(x, Wire::int8({100})), ValueError);
  });
}
}  // namespace wire_test
