// The loss of a language model where ranks share the vocabulary, and an Mlp where they share hidden units: no rank sees
// scores or weights of all of them.
#include <gtest/gtest.h>
#include <sstream>
#include "bora/bora.h"
#include "bora/nn/loss.h"

namespace bora::loss_mesh_test {
namespace {
constexpr std::int64_t kTokens = 512, kRows = 4, kPositions = 12;
struct Inputs {
  nn::Head head;
  NamedArray x, weights;
};
Inputs inputs(bool vocab_first) {
  auto keys = random::split<3>(random::key(3));
  Axis batch{"batch", kRows}, position{"position", kPositions}, embed{"embed", 8}, vocab{"vocab", kTokens};
  return {{vocab_first ? random::normal(keys[0], {vocab, embed}) : random::normal(keys[0], {embed, vocab})},
          random::normal(keys[1], {batch, position, embed}),
          random::uniform(keys[2], {batch, position})};
}
NamedArray targets_of(const NamedArray& x) {
  std::vector<Axis> rows{x.axis("batch"), x.axis("position")};
  return (broadcast_to(arange(rows[1]) * 37, rows) + broadcast_to(arange(rows[0]) * 101, rows)) % kTokens;
}
float loss_and_gradient(const Inputs& in, std::int64_t block_bytes, std::string& program) {
  auto staged = jit([=](const Inputs& i) {
    return value_and_grad([&](const Inputs& j) {
      nn::Head head{auto_sharded(j.head.weight), none};
      return nn::linear_cross_entropy(head, auto_sharded(j.x), targets_of(j.x), j.weights,
                                      {.block_bytes = block_bytes});
    })(i);
  });
  auto [loss, g] = staged(in);
  std::ostringstream printed;
  if (here().mesh) printed << fx::local_program(program_of(staged, in), staged.inputs(in));
  program = printed.str();
  return loss.item<float>() + gather(sum(g.x.array() * 3)).item<float>() +
         gather(sum(square(g.head.weight.array()))).item<float>();
}
TEST(LinearCrossEntropy, TheVocabularyStaysSplit) {
  for (bool vocab_first : {false, true})
    for (std::int64_t block : {5, 100}) {
      auto in = inputs(vocab_first);
      std::string program;
      auto want = loss_and_gradient(in, block * kRows * kTokens * 4, program);
      for (auto& mapping : {AxisMapping{{"vocab", "model"}}, AxisMapping{{"vocab", "model"}, {"embed", "model"}}})
        local_mesh({{"model", 2}}, [&](const Mesh& mesh) {
          UseMapping split(mapping);
          std::string text;
          auto got = loss_and_gradient(sharded(in, mapping), block * kRows * kTokens * 2, text);
          if (mesh.rank() > 0) return;
          EXPECT_NEAR(got, want, 1e-4 * std::abs(want));
          EXPECT_NE(text.find(", " + std::to_string(kTokens / 2) + "]"), std::string::npos) << text;
          for (auto whole : {", " + std::to_string(kTokens) + "]", "[" + std::to_string(kTokens) + ", "})
            EXPECT_EQ(text.find(whole), std::string::npos) << whole << "\n" << text;
        });
    }
}
TEST(Mlp, HiddenUnitsStaySplit) {
  struct All {
    nn::Mlp mlp;
    NamedArray x;
  };
  Axis batch{"batch", kRows}, position{"position", kPositions}, embed{"embed", 8};
  auto keys = random::split<2>(random::key(3));
  All all{nn::Mlp::init(embed, {"mlp", kTokens}, keys[0]), random::normal(keys[1], {batch, position, embed})};
  auto loss = [](const All& a) { return sum(square(auto_sharded(a.x + a.mlp(auto_sharded(a.x))))).array(); };
  auto numbers_of = [](const All& g) {
    std::vector<std::vector<float>> r;
    for (auto& a : tree::leaves(g)) r.push_back(gather(a).to_vector<float>());
    return r;
  };
  auto want = numbers_of(grad(loss)(all));
  for (auto& mapping : {AxisMapping{{"mlp", "model"}}, AxisMapping{{"mlp", "model"}, {"embed", "model"}}})
    local_mesh({{"model", 2}}, [&](const Mesh& mesh) {
      UseMapping split(mapping);
      auto placed = sharded(all, mapping);
      auto staged = jit([=](const All& a) { return grad(loss)(a); });
      auto got = numbers_of(staged(placed));
      std::ostringstream printed;
      printed << fx::local_program(program_of(staged, placed), staged.inputs(placed));
      if (mesh.rank() > 0) return;
      for (std::size_t i = 0; i < want.size(); ++i)
        for (std::size_t k = 0; k < want[i].size(); ++k)
          ASSERT_NEAR(got[i][k], want[i][k], 2e-4 * (1 + std::abs(want[i][k]))) << i << " " << k;
      for (auto whole : {", " + std::to_string(kTokens) + "]", "[" + std::to_string(kTokens) + ", "})
        EXPECT_EQ(printed.str().find(whole), std::string::npos) << whole << "\n" << printed.str();
    });
}
TEST(CrossEntropy, DerivativesAndBatchesOfSplitScores) {
  auto keys = random::split<2>(random::key(1));
  auto scores = random::normal(keys[0], {3, 5, 8}), change = random::normal(keys[1], {3, 5, 8});
  auto labels = asarray(std::vector<std::int32_t>{1, 7, 0, 4, 3, 2, 6, 5, 1, 0, 7, 2, 3, 4, 6}, Shape{3, 5});
  auto loss = [&](const Array& x) { return sum(square(cross_entropy(x, labels))); };
  auto mapped = [&](const Array& x) {
    return sum(vmap([&](const Array& row) { return cross_entropy(row, view(labels, 0)); })(x), 0);
  };
  auto results = [&](const Array& x, const Array& v) {
    auto [y, dy] = jvp(loss, std::tuple{x}, std::tuple{v});
    Arrays all{y, dy, grad(loss)(x), mapped(x), jit([&](const Array& z) { return grad(loss)(z); })(x)};
    std::vector<std::vector<float>> r;
    for (auto& a : all) r.push_back(gather(a).to_vector<float>());
    return r;
  };
  auto want = results(scores, change);
  local_mesh({{"model", 2}}, [&](const Mesh& mesh) {
    Spec split{none, none, "model"};
    auto got = results(with_sharding_constraint(scores, split), with_sharding_constraint(change, split));
    for (std::size_t i = 0; i < want.size() && mesh.rank() == 0; ++i)
      for (std::size_t k = 0; k < want[i].size(); ++k) EXPECT_NEAR(got[i][k], want[i][k], 2e-5) << i << " " << k;
  });
}
}  // namespace
}  // namespace bora::loss_mesh_test
