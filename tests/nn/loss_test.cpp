// The blockwise loss of a language model against the loss over whole scores.
#include "bora/nn/loss.h"
#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include <sstream>
#include "bora/bora.h"
#include "nn/golden.h"
#include "support/golden.h"

namespace bora::loss_test {
namespace {
constexpr std::int64_t kVocabulary = 12, kEmbed = 6;
struct Inputs {
  nn::Head head;
  NamedArray x, weights;
};
struct Result {
  NamedArray loss;
  Inputs gradients;
};
Inputs inputs(std::int64_t positions, bool bias, bool vocab_first, Dtype dtype = f32) {
  auto keys = random::split<4>(random::key(3));
  Axis batch{"batch", 4}, position{"position", positions}, embed{"embed", kEmbed}, vocab{"vocab", kVocabulary};
  auto weight = vocab_first ? random::normal(keys[0], {vocab, embed}) : random::normal(keys[0], {embed, vocab});
  Inputs in{{weight.astype(dtype)},
            random::normal(keys[1], {batch, position, embed}).astype(dtype),
            random::uniform(keys[2], {batch, position})};
  if (bias) in.head.bias = random::normal(keys[3], vocab).astype(dtype);
  return in;
}
NamedArray targets_of(const NamedArray& x) {
  auto batch = x.axis("batch"), position = x.axis("position");
  return (broadcast_to(arange(position) * 5, {batch, position}) + broadcast_to(arange(batch) * 3, {batch, position})) %
         kVocabulary;
}
/// block_bytes for blocks of this many positions of the whole batch of 4 rows.
std::int64_t bytes_of(std::int64_t positions) { return positions * 4 * kVocabulary * 4; }
Result blockwise(const Inputs& in, std::int64_t block_bytes) {
  auto f = [=](const Inputs& i) {
    return nn::linear_cross_entropy(i.head, i.x, targets_of(i.x), i.weights, {.block_bytes = block_bytes}) / 7;
  };
  auto [loss, g] = jit([f](const Inputs& i) { return value_and_grad(f)(i); })(in);
  auto alone = jit([f](const Inputs& i) { return f(i); })(in);
  EXPECT_NEAR(alone.item<float>(), loss.item<float>(), 1e-6 * std::abs(loss.item<float>()));
  return {loss, g};
}
Result whole(const Inputs& in, const nn::CrossEntropyOptions& terms = {}) {
  auto f = [=](const Inputs& i) {
    auto scores = dot(i.x, i.head.weight, "embed");
    if (i.head.bias) scores = scores + *i.head.bias;
    if (i.head.soft_cap) scores = tanh(scores / *i.head.soft_cap) * *i.head.soft_cap;
    return sum(nn::cross_entropy(scores.astype(f32), "vocab", targets_of(i.x), terms) * i.weights) / 7;
  };
  auto [loss, g] = value_and_grad(f)(in);
  return {loss, g};
}
void expect_near(const Result& got, const Result& want, double tolerance, const std::string& what) {
  auto paths = tree::paths(want);
  auto a = tree::leaves(got), b = tree::leaves(want);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].dtype(), b[i].dtype()) << what << " " << paths[i];
    auto x = gather(a[i]).astype(f32).to_vector<float>(), y = gather(b[i]).astype(f32).to_vector<float>();
    ASSERT_EQ(x.size(), y.size()) << what << " " << paths[i];
    for (std::size_t k = 0; k < x.size(); ++k)
      ASSERT_NEAR(x[k], y[k], tolerance * (1 + std::abs(y[k]))) << what << " " << paths[i] << " " << k;
  }
}
TEST(LinearCrossEntropy, BlocksOfEveryLengthGiveTheWholeLossAndItsGradients) {
  for (bool bias : {false, true})
    for (bool vocab_first : {false, true}) {
      auto in = inputs(7, bias, vocab_first);
      auto want = whole(in);
      for (std::int64_t block : {1, 2, 3, 4, 6, 7, 9})
        expect_near(blockwise(in, bytes_of(block)), want, 2e-6, "block " + std::to_string(block));
      expect_near(blockwise(in, 1), want, 2e-6, "less than a position");
    }
}
TEST(LinearCrossEntropy, CapsTheScores) {
  auto in = inputs(7, true, true);
  in.head.soft_cap = 1.2;
  for (std::int64_t block : {2, 7}) expect_near(blockwise(in, bytes_of(block)), whole(in), 2e-6, "cap");
}
TEST(LinearCrossEntropy, RoundsGradientsOnceInReducedPrecision) {
  auto in = inputs(6, true, true, bf16);
  expect_near(blockwise(in, bytes_of(2)), whole(in), 1e-2, "bf16");
}
void same_on_every_mesh(const nn::CrossEntropyOptions& terms) {
  auto in = inputs(5, true, true);
  auto want = whole(in, terms);
  struct Case {
    AxisMapping storage, compute;
  };
  AxisMapping nothing;
  for (auto& c : {Case{nothing, {{"batch", "data"}}},
                  {{{"embed", "data"}}, {{"batch", "data"}}},
                  {{{"vocab", "model"}}, {{"batch", "data"}, {"vocab", "model"}}}})
    for (std::int64_t block : {1, 2}) {
      Result got;
      local_mesh({{"data", 2}, {"model", 2}}, [&](const Mesh& mesh) {
        auto placed = sharded(in, c.storage);
        UseMapping split(c.compute);
        auto f = [=](const Inputs& i) {
          nn::Head head{auto_sharded(i.head.weight), i.head.bias};
          // A rank has half of the rows, or half of the vocabulary as well.
          auto bytes = bytes_of(block) / (c.compute.rules().size() == 2 ? 4 : 2);
          return nn::linear_cross_entropy(head, auto_sharded(i.x), targets_of(i.x), i.weights,
                                          {.block_bytes = bytes, .loss = terms}) /
                 7;
        };
        auto [loss, g] = jit([f](const Inputs& i) { return value_and_grad(f)(i); })(placed);
        auto leaves = tree::leaves(Result{loss, g});
        for (auto& leaf : leaves) leaf = gather(leaf);
        if (mesh.rank() == 0) got = tree::unflatten(want, leaves);
      });
      expect_near(got, want, 2e-6, "mesh, block " + std::to_string(block));
    }
}
TEST(LinearCrossEntropy, TheSameOnEveryMesh) { same_on_every_mesh({}); }
TEST(LinearCrossEntropy, TermsAreTheSameOnEveryMesh) { same_on_every_mesh({.z_loss = 0.1, .label_smoothing = 0.2}); }
TEST(LinearCrossEntropy, ScoresAreNeverWholeAndNoProductIsComputedTwice) {
  auto in = inputs(6, false, true);
  auto f = [](const Inputs& i) {
    return nn::linear_cross_entropy(i.head, i.x, targets_of(i.x), i.weights, {.block_bytes = bytes_of(2)});
  };
  auto staged = jit([f](const Inputs& i) { return value_and_grad(f)(i); });
  std::ostringstream printed;
  printed << program_of(staged, in);
  auto text = printed.str();
  EXPECT_EQ(text.find("[4, 6, 12]"), std::string::npos) << text;
  EXPECT_NE(text.find("[4, 2, 12]"), std::string::npos) << text;
  std::size_t products = 0;
  for (auto at = text.find("dot"); at != std::string::npos; at = text.find("dot", at + 1)) ++products;
  EXPECT_EQ(products, 3U) << text;
}
// ---- T5X's terms (tests/golden/make_losses.py) ----------------------------------------------------------------------
std::vector<double> t5x(const std::string& name) { return test::golden_numbers("losses.txt", name); }
const Axis kRows{"batch", 2}, kPlaces{"position", 6}, kTokens{"vocab", 7};
NamedArray filled(const Axes& axes, const std::function<double(std::size_t)>& f) {
  std::vector<double> v(static_cast<std::size_t>(volume(shape_of(axes.list()))));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = f(i);
  return named(asarray(v, shape_of(axes.list())), axes);
}
NamedArray golden_scores() {
  return filled({kRows, kPlaces, kTokens}, [](std::size_t i) { return 3 * std::sin(0.37 * static_cast<double>(i)); });
}
NamedArray golden_targets() {
  return filled({kRows, kPlaces}, [](std::size_t i) { return (5 * (i % 6) + 3 * (i / 6)) % 7; }).astype(i32);
}
NamedArray golden_weights() {
  return filled({kRows, kPlaces}, [](std::size_t i) {
    return (i / 6 + i % 6) % 4 == 3 ? 0 : 1 + 0.5 * std::sin(static_cast<double>(i));
  });
}
void expect_golden(const std::string& name, const NamedArray& got, double tolerance) {
  near(got.to_vector<double>(), t5x(name), tolerance, name);
}
struct NamedTerms {
  std::string name;
  nn::CrossEntropyOptions terms;
};
const std::vector<NamedTerms> kTerms{{"plain", {}},
                                     {"z", {.z_loss = 0.05}},
                                     {"smooth", {.label_smoothing = 0.1}},
                                     {"both", {.z_loss = 0.02, .label_smoothing = 0.3}}};
TEST(CrossEntropy, ZLossAndLabelSmoothingAreThoseOfT5X) {
  for (auto& [name, terms] : kTerms)
    for (auto [dtype, tolerance] : {std::pair{f64, 1e-12}, {f32, 2e-6}}) {
      auto f = [terms = terms](const NamedArray& x) { return nn::cross_entropy(x, "vocab", golden_targets(), terms); };
      auto x = golden_scores().astype(dtype);
      expect_golden(name + ".loss", f(x), tolerance);
      auto weights = golden_weights().astype(dtype);
      expect_golden(name + ".gradient", grad([&](const NamedArray& s) { return sum(f(s) * weights); })(x), tolerance);
    }
}
TEST(CrossEntropy, SoftTargets) {
  auto soft =
      filled({kRows, kPlaces, kTokens}, [](std::size_t i) { return std::exp(std::cos(0.9 * static_cast<double>(i))); });
  soft = soft / broadcast_to(sum(soft, "vocab"), soft.axes());
  auto f = [&](const NamedArray& x) { return nn::soft_cross_entropy(x, "vocab", soft, 0.02); };
  expect_golden("soft.loss", f(golden_scores()), 1e-12);
  expect_golden("soft.gradient",
                grad([&](const NamedArray& s) { return sum(f(s) * golden_weights()); })(golden_scores()), 1e-12);
  auto x = golden_scores().astype(f32);
  EXPECT_THROW((void)nn::soft_cross_entropy(x, "vocab", golden_targets()), DtypeError);
  EXPECT_THROW((void)nn::soft_cross_entropy(x, "vocab", golden_weights()), AxisError);
}
TEST(LinearCrossEntropy, HasTheTermsOfT5XInBlocksOfEveryLength) {
  // The head is the identity, so that x is the scores.
  Axis embed{"embed", 7};
  auto eye = filled({embed, kTokens}, [](std::size_t i) { return i / 7 == i % 7 ? 1 : 0; }).astype(f32);
  auto x = NamedArray(golden_scores().astype(f32).array(), {kRows, kPlaces, embed});
  auto weights = golden_weights().astype(f32);
  for (auto& [name, terms] : kTerms)
    for (std::int64_t block : {1, 2, 4, 6}) {
      auto f = [&, terms = terms](const NamedArray& v) {
        return nn::linear_cross_entropy({eye}, v, golden_targets(), weights,
                                        {.block_bytes = block * 2 * 7 * 4, .loss = terms});
      };
      auto [loss, g] = value_and_grad(f)(x);
      expect_golden(name + ".gradient", g, 2e-6);
      auto each = t5x(name + ".loss"), w = golden_weights().to_vector<double>();
      double want = 0;
      for (std::size_t i = 0; i < each.size(); ++i) want += each[i] * w[i];
      EXPECT_NEAR(loss.item<float>(), want, 1e-5) << name << " block " << block;
    }
}
TEST(LinearCrossEntropy, WithoutTermsTheBitsAreThoseOfBefore) {
  auto x = golden_scores().astype(f32);
  auto plain = nn::cross_entropy(x, "vocab", golden_targets());
  EXPECT_EQ(nn::cross_entropy(x, "vocab", golden_targets(), {}).to_vector<float>(), plain.to_vector<float>());
}
TEST(LinearCrossEntropy, BadInput) {
  auto scores = golden_scores();
  for (nn::CrossEntropyOptions bad : {nn::CrossEntropyOptions{.z_loss = -1}, {.label_smoothing = 1}, {.z_loss = NAN}})
    EXPECT_THROW((void)nn::cross_entropy(scores, "vocab", golden_targets(), bad), ValueError);
  Axis one{"vocab", 1};
  EXPECT_THROW((void)nn::cross_entropy(zeros({kRows, one}), "vocab", zeros(kRows, i32), {.label_smoothing = 0.1}),
               ValueError);
  auto in = inputs(4, false, true);
  auto loss = [&](std::int64_t bytes) {
    return nn::linear_cross_entropy(in.head, in.x, targets_of(in.x), in.weights, {.block_bytes = bytes});
  };
  EXPECT_THROW((void)loss(0), ValueError);
  EXPECT_THROW((void)nn::linear_cross_entropy(in.head, in.x, targets_of(in.x).astype(f32), in.weights), DtypeError);
  auto outside = targets_of(in.x) + 7;  // beyond the vocabulary in some places
  for (auto bytes : {bytes_of(1), bytes_of(4)})
    EXPECT_TRUE(
        std::isnan(nn::linear_cross_entropy(in.head, in.x, outside, in.weights, {.block_bytes = bytes}).item<float>()));
}
}  // namespace
}  // namespace bora::loss_test
