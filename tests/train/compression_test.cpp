// Sums of gradients that carry over what they lose: equal bits on all ranks, nothing lost but what is kept, PowerSGD of
// full rank is the sum, runs that continue have the bits of one that was not cut.
#include "bora/train/compression.h"
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include "bora/bora.h"
#include "bora/ops/sharding.h"
#include "bora/train/trainer.h"
#include "laws/effort.h"
#include "support/bits.h"
#include "support/temp_folder.h"
#include "train/api/resume.h"
#include "train/steps.h"

namespace compression_test {
using namespace bora;
using training::Compression;

namespace {
constexpr std::int64_t kRows = 12, kPositions = 6, kTokens = 50, kSteps = 20;
const Axis kVocab{"vocab", kTokens}, kEmbed{"embed", 48}, kMlp{"mlp", 130}, kNext{"next", kTokens},
    kLayers{"layers", 2}, kMlpAgain{"again", 130};
struct Model {
  NamedArray table;
  nn::LayerNorm norm;
  NamedArray up, bias, stack, out;
};
TrainTask<Model> task() {
  return {[](const Array& key) {
            auto k = random::split<4>(key);
            return Model{random::normal(k[0], {kVocab, kEmbed}),
                         nn::LayerNorm::init(kEmbed),
                         random::normal(k[1], {kEmbed, kMlp}) * 0.1,
                         zeros({kMlp}),
                         random::normal(k[2], {kLayers, kMlp, kMlpAgain}) * 0.05,
                         random::normal(k[3], {kMlpAgain, kNext}) * 0.1};
          },
          [](const Model& m, const training::Example& e, const std::optional<Array>&) {
            auto x = take(m.table, "vocab", e.tokens);
            auto h = tanh(dot(m.norm(x), m.up, "embed") + m.bias);
            h = tanh(dot(h, sum(m.stack, "layers"), "mlp"));
            return sum(nn::cross_entropy(dot(h, m.out, "again"), "next", e.targets) * e.weights);
          }};
}
struct Case {
  std::string name;
  Wire wire;
  Compression compression;
  std::int64_t accumulate = 1;
};
const Case kCases[] = {{"int4 with feedback", Wire::int4(), {.error_feedback = true}},
                       {"int8 with feedback", Wire::int8(), {.error_feedback = true}},
                       {"bf16 with feedback", Wire::bf16(), {.error_feedback = true}},
                       {"int4 with feedback in parts", Wire::int4(), {.error_feedback = true}, 2},
                       {"PowerSGD of rank 1", {}, {.rank = 1}},
                       {"PowerSGD of rank 4", {}, {.rank = 4}}};
std::unique_ptr<Trainable> model_of(const Case& c) {
  return trainable(task(), {.optimizer = optim::adamw({.learning_rate = 0.01}),
                            .learning_rate = 0.01,
                            .accumulate = c.accumulate,
                            .wire = c.wire,
                            .compression = c.compression});
}
GlobalBatch batch_of(std::int64_t step, const Mesh& mesh) {
  return test::batch_of(step, mesh, kRows, kPositions, [](std::int64_t i) {
    return test::Place{static_cast<std::int32_t>(i * 7 % kTokens), static_cast<std::int32_t>(i * 7 % kTokens * 3 % 11),
                       i % 9 == 0 ? 0.0F : 1.0F};
  });
}
using Numbers = std::vector<float>;
using test::append;
using test::same_bits;
/// Steps from `begin`: losses and norms, then all parameters, and what is carried.
void make_steps(Trainable& model, std::int64_t begin, std::int64_t end, const Mesh& mesh, Numbers& reports) {
  for (auto s = begin; s < end; ++s) {
    auto report = model.step(batch_of(s, mesh)).to_vector<float>();
    reports.insert(reports.end(), report.begin(), report.begin() + 2);
  }
}
Numbers numbers_of(tree::Node t) {
  Numbers r;
  for (auto& slot : tree::slots(t))
    if (slot.leaf.defined() && slot.leaf.get().dtype() == Dtype::f32) append(r, slot.leaf.get());
  return r;
}
std::vector<MeshAxis> axes_of(int ranks) { return {{"data", ranks}}; }
}  // namespace

TEST(Compression, TheTermsOfAPendingSumAddUpToIt) {
  for (auto& axes : {std::vector<MeshAxis>{{"data", 1}}, {{"data", 3}}, {{"replica", 2}, {"data", 2}}})
    local_mesh(axes, [&](const Mesh& mesh) {
      MeshAxes over;
      for (auto& a : axes) over.push_back(AxisName(a.name));
      auto x = random::normal(random::key(5), {12, 7, 3});
      auto f = [&](const Array& x) {
        auto pending = sum(x, 0);
        auto terms = terms_of_sum(pending, over);
        return std::vector<Array>{terms, sum(terms, 0), terms_of_sum(complete_like(pending, pending), over)};
      };
      auto split = shard(x, Spec{over});
      for (auto& y : {f(split), jit(f)(split)}) {
        ASSERT_EQ(y[0].shape(), (Shape{mesh.size(), 7, 3}));
        auto terms = y[0].to_vector<float>(), whole = y[1].to_vector<float>();
        auto rows = x.to_vector<float>();
        for (int r = 0; r < mesh.size(); ++r)  // each rank's own rows
          for (std::size_t i = 0; i < 21; ++i) {
            double term = 0;
            auto b = equal_block(12, mesh.size(), r);
            for (auto k = b.begin; k < b.end; ++k) term += rows[static_cast<std::size_t>(k) * 21 + i];
            EXPECT_NEAR(terms[static_cast<std::size_t>(r) * 21 + i], term, 1e-5);
          }
        auto again = sum(y[2], 0).to_vector<float>();
        for (std::size_t i = 0; i < 21; ++i) EXPECT_NEAR(again[i], whole[i], 1e-5);
      }
    });
}
TEST(Compression, WhatIsSentAndWhatIsKeptAreTheGradient) {
  for (int n : {1, 2, 3})
    local_mesh(axes_of(n), [&](const Mesh&) {
      UseMapping split(AxisMapping{{"batch", {"data"}}});
      auto x = shard(random::normal(random::key(1), {6, 20, 70}), Spec{"data"});
      for (auto& c : kCases) {
        auto f = [&](const Array& x, const optim::State& s) {
          auto g = NamedArray(sum(x, 0), {{"rows", 20}, {"columns", 70}});
          auto like = NamedArray(zeros({20, 70}), g.axes());
          auto next = training::sum_carried(tree::node(g), tree::node(like), s, c.wire, c.compression, none);
          return std::pair{g.array(), next};
        };
        auto first = NamedArray(zeros({20, 70}), {{"rows", 20}, {"columns", 70}});
        auto s = training::first_carried(c.wire, c.compression, tree::node(first), random::key(3));
        auto exact = sum(x, 0).to_vector<float>();
        Numbers sent(exact.size());
        constexpr int steps = 3;
        // After any number of steps: what was received and what all ranks keep are all gradients. The sum's own
        // rounding, by its owner, is not fed back.
        for (int step = 0; step < steps; ++step) {
          auto before = s;
          auto [g, next] = f(x, s);
          auto got = g.to_vector<float>();
          Array kept = before.entries.begin()->second, keeps;
          for (auto& [name, e] : next.entries)
            if (name.starts_with("residual.")) kept = sum(before.entries.at(name), 0), keeps = sum(e, 0);
          auto had = kept.to_vector<float>(), has = keeps.to_vector<float>();
          double largest = 0;
          for (auto v : got) largest = std::max(largest, std::abs(static_cast<double>(v)));
          double again = n == 1 || c.compression.rank > 0 ? 0
                         : c.wire.codec == Codec::bf16    ? largest / 256
                                                          : largest / (c.wire.codec == Codec::int8 ? 250 : 6.4);
          for (std::size_t i = 0; i < exact.size(); ++i)
            ASSERT_NEAR(got[i] + has[i], exact[i] + had[i], again + 2e-5) << c.name << " on " << n << " at " << i;
          double moved = 0;
          for (auto v : has) moved += std::abs(static_cast<double>(v));
          EXPECT_EQ(moved > 0, n > 1) << c.name;
          s = next;
        }
      }
    });
}
TEST(Compression, PowerSgdOfFullRankIsTheSum) {
  local_mesh(axes_of(3), [](const Mesh&) {
    UseMapping split(AxisMapping{{"batch", {"data"}}});
    auto rows = shard(random::normal(random::key(2), {6, 2, 12, 20}), Spec{"data"});
    auto q = random::normal(random::key(9), Shape{2, 20, 12});
    auto f = [&](const Array& x, const Array& q) {
      auto y = training::low_rank_sums({terms_of_sum(sum(x, 0), "data")}, {q})[0];
      return std::vector<Array>{y.sum, y.residuals};
    };
    for (auto& y : {f(rows, q), jit(f)(rows, q)}) {
      auto exact = sum(rows, 0).to_vector<float>(), got = y[0].to_vector<float>();
      for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(got[i], exact[i], 1e-5);
      for (auto e : y[1].to_vector<float>()) EXPECT_NEAR(e, 0, 1e-5);
    }
    // A matrix of rank 2 is found by factors of rank 2 in two steps.
    auto low = einsum("xmr,xnr->xmn", shard(random::normal(random::key(3), {6, 30, 2}), Spec{"data"}),
                      shard(broadcast_to(random::normal(random::key(4), {1, 40, 2}), {6, 40, 2}), Spec{"data"}));
    auto r = random::normal(random::key(8), Shape{1, 40, 2});
    for (int step = 0; step < 2; ++step) {
      auto y = training::low_rank_sums({expand_dims(terms_of_sum(sum(low, 0), "data"), 1)}, {r})[0];
      auto exact = sum(low, 0).to_vector<float>(), got = y.sum.to_vector<float>();
      for (std::size_t i = 0; i < exact.size() && step == 1; ++i) EXPECT_NEAR(got[i], exact[i], 1e-4);
      r = y.q;
    }
  });
}
TEST(Compression, MatricesAreCutWhereFactorsAreSmallest) {
  auto v = training::matrix_view({2, 768, 12, 64}, true);
  EXPECT_EQ((std::vector{v.layers, v.rows, v.columns}), (std::vector<std::int64_t>{2, 768, 768}));
  v = training::matrix_view({768, 3072}, false);
  EXPECT_EQ((std::vector{v.layers, v.rows, v.columns}), (std::vector<std::int64_t>{1, 768, 3072}));
  EXPECT_TRUE(v.gains(4));
  EXPECT_FALSE(v.gains(768));
  for (auto& shape : {Shape{}, Shape{768}, Shape{1, 5}}) EXPECT_FALSE(training::matrix_view(shape, false).gains(1));
  EXPECT_FALSE(training::matrix_view({12, 768}, true).gains(1));  // biases of stacked layers
  EXPECT_FALSE(training::matrix_view({0, 3}, false).gains(1));
}
TEST(Compression, AllRanksHaveTheSameBitsAndNearlyTheLossOfF32) {
  std::size_t turn = 0;
  for (auto& axes : {axes_of(2), axes_of(3), {{"replica", 2}, {"data", 2}}}) {
    ++turn;
    std::size_t ranks = 1;
    for (auto& a : axes) ranks *= static_cast<std::size_t>(a.size);
    auto trained = [&](const Case& c) {
      std::vector<Numbers> of_rank(ranks);
      local_mesh(axes, [&](const Mesh& mesh) {
        UseMapping split(AxisMapping{{"batch", {"replica", "data"}}});
        auto model = model_of(c);
        model->init(random::key(3));
        auto& mine = of_rank[static_cast<std::size_t>(mesh.rank())];
        make_steps(*model, 0, kSteps, mesh, mine);
        auto all = numbers_of(model->state());
        mine.insert(mine.end(), all.begin(), all.end());
      });
      return of_rank;
    };
    auto exact = trained({"f32", {}, {}})[0];
    for (auto& c : kCases) {
      SCOPED_TRACE(c.name + " on " + std::to_string(ranks));
      if (!laws::tried(turn++, 2)) continue;  // of three meshes, each way on one or two
      auto r = trained(c);
      for (auto& numbers : r) EXPECT_TRUE(same_bits(numbers, r[0]));
      if (laws::tried(turn / 2, 2)) { EXPECT_TRUE(same_bits(trained(c)[0], r[0])); }
      auto last = 2 * kSteps - 2;
      EXPECT_NE(r[0][last], exact[last]);  // it was in force
      if (c.compression.rank == 0) {
        EXPECT_NEAR(r[0][last], exact[last], 0.15 * exact[last]);
      }
      EXPECT_LT(r[0][last], 0.5 * r[0][0]);
      std::printf("%s: loss %.5f (f32 %.5f)\n", c.name.c_str(), static_cast<double>(r[0][last]),
                  static_cast<double>(exact[last]));
    }
  }
}
TEST(Compression, OneRankLosesNothing) {
  local_mesh(axes_of(1), [](const Mesh& mesh) {
    Numbers exact;
    auto plain = model_of({"f32", {}, {}});
    plain->init(random::key(3));
    make_steps(*plain, 0, 3, mesh, exact);
    for (auto& c : kCases) {
      if (c.accumulate > 1) continue;
      auto model = model_of(c);
      model->init(random::key(3));
      Numbers reports;
      make_steps(*model, 0, 3, mesh, reports);
      EXPECT_TRUE(same_bits(reports, exact)) << c.name;
    }
  });
}
TEST(Compression, ARunThatContinuesHasTheBitsOfOneThatWasNotCut) {
  test::TempFolder temp;
  auto folder = temp / "compression";
  for (auto& c : kCases) {
    SCOPED_TRACE(c.name);
    std::filesystem::remove_all(folder);
    local_mesh(axes_of(2), [&](const Mesh& mesh) {
      Numbers whole, cut;
      auto model = model_of(c);
      model->init(random::key(3));
      make_steps(*model, 0, 3, mesh, whole);
      io::save_tree(model->state(), none, folder);
      make_steps(*model, 3, 6, mesh, whole);
      auto other = model_of(c);
      other->init(random::key(4));
      EXPECT_FALSE(training::restore_state(mesh, folder + "/step-0", other->state()));
      make_steps(*other, 3, 6, mesh, cut);
      whole.erase(whole.begin(), whole.begin() + 6);
      EXPECT_TRUE(same_bits(whole, cut));
      EXPECT_TRUE(same_bits(numbers_of(model->state()), numbers_of(other->state())));
    });
  }
}
TEST(Compression, ResidualsOfOtherRanksKeepTheirSum) {
  for (std::int64_t before : {1, 2, 3, 5})
    for (int now : {1, 2, 3})
      local_mesh(axes_of(now), [&](const Mesh&) {
        UseMapping split(AxisMapping{{"batch", {"data"}}});
        auto e = random::normal(random::key(before), {before, 4, 5});
        auto y = training::regrouped_residuals(shard(e, Spec{training::gradient_axes()}));
        EXPECT_EQ(y.shape(), (Shape{now, 4, 5}));
        auto want = sum(e, 0).to_vector<float>(), got = sum(y, 0).to_vector<float>();
        for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5);
      });
}
TEST(Compression, ACheckpointOfOtherRanksGivesThemItsResiduals) {
  test::TempFolder temp;
  auto folder = temp / "residuals";
  auto residuals = [](Trainable& model) {
    Numbers all;
    for (auto& slot : tree::slots(model.state()))
      if (slot.path.starts_with("carried.entries.residual.")) append(all, sum(slot.leaf.get(), 0));
    return all;
  };
  auto step = folder + "/step-0";
  for (auto& c : {kCases[0], kCases[5]}) {
    SCOPED_TRACE(c.name);
    Numbers kept, parameters;
    local_mesh(axes_of(2), [&](const Mesh& mesh) {
      auto model = model_of(c);
      model->init(random::key(3));
      Numbers reports;
      make_steps(*model, 0, 2, mesh, reports);
      io::save_tree(model->state(), none, folder);
      auto all = residuals(*model), p = numbers_of(model->parameters());
      if (mesh.rank() == 0) kept = all, parameters = p;
    });
    for (int n : {1, 3})
      local_mesh(axes_of(n), [&](const Mesh& mesh) {
        auto model = model_of(c), plain = model_of({"f32", {}, {}});
        model->init(random::key(4));
        plain->init(random::key(4));
        EXPECT_TRUE(training::restore_state(mesh, step, model->state()));
        EXPECT_TRUE(same_bits(numbers_of(model->parameters()), parameters));
        auto now = residuals(*model);
        ASSERT_EQ(now.size(), kept.size());
        for (std::size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], kept[i], 1e-6);
        Numbers reports;
        make_steps(*model, 2, 3, mesh, reports);
        for (auto e : residuals(*model)) EXPECT_TRUE(n > 1 || e == 0);  // nothing is sent: all of it is in the sum
        EXPECT_THROW(training::restore_state(mesh, step, plain->state()), CheckpointError);
        io::save_tree(plain->state(), none, folder + "_plain");
        EXPECT_THROW(training::restore_state(mesh, folder + "_plain/step-0", model->state()), CheckpointError);
      });
  }
}
TEST(Compression, WhatHasNoPlaceIsRefused) {
  auto refused = [](const Wire& wire, const Compression& c, const std::function<void(StepOptions&)>& change = {}) {
    StepOptions o{.optimizer = optim::sgd({.learning_rate = 0.1}), .learning_rate = 0.1};
    o.wire = wire, o.compression = c;
    if (change) change(o);
    auto model = trainable(task(), o);
    model->init(random::key(1));
  };
  EXPECT_THROW(refused({}, {.error_feedback = true}), ValueError);
  EXPECT_THROW(refused({}, {.rank = -1}), ValueError);
  EXPECT_THROW(refused(Wire::int8(), {.rank = 2}), ValueError);
  EXPECT_THROW(refused({}, {.rank = 2}, [](auto& o) { o.virtual_ranks = 4; }), ValueError);
  EXPECT_THROW(refused({}, {.rank = 2}, [](auto& o) { o.storage = AxisMapping{{"embed", "data"}}; }), ValueError);
  EXPECT_THROW(refused({}, {.rank = 2}, [](auto& o) { o.replicas = 2; }), ValueError);
  local_mesh({{"data", 2}, {"model", 2}}, [&](const Mesh& mesh) {
    UseMapping split(AxisMapping{{"batch", {"data"}}});
    auto model = model_of({"", {}, {.rank = 2}});
    model->init(random::key(1));
    EXPECT_THROW(model->step(batch_of(0, mesh)), ShardError);
  });
}
}  // namespace compression_test
