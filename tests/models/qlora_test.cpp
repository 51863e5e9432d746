// Adapters beside a base of integers (QLoRA): derivatives pass through the integers, on every layout.
#include <gtest/gtest.h>
#include <cmath>
#include "bora/models/lm.h"
#include "bora/named/axes.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"
#include "bora/nn/loss.h"
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "models/small.h"
#include "support/throws.h"

namespace qlora_test {
using namespace bora;
using namespace bora::models;
namespace {
using bora::test::error_of;
using test::kVocabulary;
constexpr std::int64_t kBatch = 6, kPositions = 8;
using Values = std::map<std::string, std::vector<float>>;
Values values(tree::Node t) {
  Values v;
  for (auto& slot : tree::slots(t))
    if (slot.leaf.defined()) v[slot.path] = gather(slot.leaf.get()).astype(f32).to_vector<float>();
  return v;
}
std::int64_t bytes(tree::Node t) {
  std::int64_t n = 0;
  for (auto& slot : tree::slots(t))
    if (slot.leaf.defined()) n += static_cast<std::int64_t>(slot.leaf.get().nbytes());
  return n;
}
double off(const NamedArray& got, const NamedArray& want) {
  auto d = aligned(got, want.axes()) - want;
  return std::sqrt(sum(d * d).item<double>() / sum(want * want).item<double>());
}
struct Result {
  Values before, after, base_before, base_after;
  std::vector<float> losses;
  std::int64_t base_bytes = 0;
};
config::Choice<Model> small(const std::string& type) {
  return test::model_of(type, {"layers=2", "embed=64", "heads=4", "positions=8"});
}
Result train(const std::string& type, const LoraSettings& lora, const std::string& layout = "dp", int data = 1,
             int parts = 1, std::int64_t accumulate = 1) {
  optim::AdamWConfig adamw{.lr = 1e-2, .clip = 0, .schedule = {.warmup = 0}};
  auto rate = adamw.schedule.make(adamw.lr, 10);
  Result result;
  local_mesh({{"data", data}, {"model", parts}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout(layout), mesh.shape());
    UseMapping split(mappings.compute);
    StepOptions step{
        .optimizer = adamw.make(rate), .learning_rate = rate, .accumulate = accumulate, .storage = mappings.storage};
    auto t = small(type)->trainable({.vocabulary = kVocabulary, .step = step, .tuning = {.lora = lora}});
    t->init(random::key(5));
    auto mine = rows_of_rank(kBatch, mesh);
    auto batch = make_batch(test::rows_of_tokens(mine.begin, mine.end, {kPositions}), kBatch, mesh);
    Result own{values(t->parameters()), {}, values(t->base()), {}, {}, bytes(t->base())};
    for (int i = 0; i < 4; ++i) own.losses.push_back(t->step(batch).to_vector<float>()[0]);
    own.losses.push_back(t->evaluate(batch).to_vector<float>()[0]);
    own.after = values(t->parameters()), own.base_after = values(t->base());
    if (mesh.rank() == 0) result = own;
  });
  return result;
}
nn::Linear linear(const nn::WeightFormat& f, const std::vector<Axis>& stacked = {}) {
  Axis in{"in", 70}, heads{"heads", 4}, size{"head_size", 5};
  auto keys = random::split<3>(random::key(1));
  auto l = nn::Linear::init(in, {heads, size}, keys[0]);
  if (!stacked.empty()) l.weight = random::normal(keys[0], Axes(concat_axes(stacked, l.weight.axes()))) * 0.1;
  nn::pack(l, f);
  nn::add_adapter(l, {.rank = 3, .alpha = 6}, keys[1]);
  l.lora->b = random::normal(keys[2], Axes(l.lora->b.axes())) * 0.1;
  return l;
}
}  // namespace

TEST(Qlora, DerivativesPassThroughTheIntegers) {
  Axis rows{"batch", 6}, in{"in", 70};
  auto x = random::normal(random::key(4), {rows, in});
  for (auto f : {nn::WeightFormat{8, 32}, nn::WeightFormat{4, 32}, nn::WeightFormat{4, 128}}) {
    SCOPED_TRACE(to_string(f));
    auto layer = linear(f), numbers = layer;
    EXPECT_EQ(layer.lora->a.dtype(), f32);
    numbers.weight = layer.packed->unpack(layer.weight), numbers.packed.reset();
    auto loss = [&](const nn::Linear& l, const NamedArray& x) { return sum(sin(l(x))); };
    EXPECT_LT(off(layer(x), numbers(x)), 0.01);  // x is rounded to 8 bits
    auto g = grad(loss)(layer, x), want = grad(loss)(numbers, x);
    EXPECT_FALSE(g.weight.array().defined());
    EXPECT_LT(off(g.lora->a, want.lora->a), 0.02);
    EXPECT_LT(off(g.lora->b, want.lora->b), 0.02);
    // Of a linear function of the outputs the derivative by x is that of the numbers.
    auto ct = random::normal(random::key(5), Axes(layer(x).axes()));
    auto by_x = [&](const nn::Linear& l) {
      return grad([&](const NamedArray& x) { return sum(l(x) * ct); })(x);
    };
    EXPECT_TRUE(allclose(by_x(layer).array(), by_x(numbers).array(), 1e-4, 1e-4));
    auto staged = jit([&](const nn::Linear& l, const NamedArray& x) {
      return grad([&](const NamedArray& x) { return sum(l(x) * ct); })(x);
    })(layer, x);
    EXPECT_TRUE(allclose(staged.array(), by_x(layer).array(), 1e-5, 1e-5));
  }
}
TEST(Qlora, MergedLayersHaveTheNumbersOfBoth) {
  Axis layers{"layers", 2}, rows{"batch", 4}, in{"in", 70};
  auto stacked = linear({4, 32}, {layers});
  EXPECT_EQ(stacked.lora->a.axes()[0], layers);
  auto layer = linear({4, 32}), merged = layer;
  nn::merge_adapter(merged);
  EXPECT_FALSE(merged.packed || merged.lora);
  auto x = random::normal(random::key(4), {rows, in});
  EXPECT_LT(off(layer(x), merged(x)), 0.01);
}
TEST(Qlora, BlocksOfScoresHaveTheGradientOfTheWhole) {
  Axis vocab{nn::kVocab, 40}, embed{nn::kEmbed, 32}, rows{nn::kBatch, 2}, positions{nn::kPosition, 7};
  auto words = nn::Embedding::init(vocab, embed, random::key(1));
  words.weight = random::normal(random::key(1), {vocab, embed});
  nn::pack(words, {8, 32});
  auto head = nn::Head::of(none, words);
  auto x = random::normal(random::key(2), {rows, positions, embed});
  auto targets = (arange(positions) * 3 % 40).astype(i32);
  auto weights = ones({rows, positions});
  auto of = [&](std::int64_t bytes) {
    return value_and_grad([&](const NamedArray& x) {
      return nn::linear_cross_entropy(head, x, targets, weights, {.block_bytes = bytes});
    })(x);
  };
  auto [whole, want] = of(1 << 30);
  auto [cut, got] = of(2 * 40 * 4 * 2);  // blocks of 2 positions, and a rest
  EXPECT_NEAR(cut.item<float>(), whole.item<float>(), 1e-4);
  EXPECT_TRUE(allclose(got.array(), want.array(), 1e-5, 1e-5));
}
TEST(Qlora, TheBaseIsHeldAsIntegersAndTrainsAdaptersOnEveryLayout) {
  for (std::string type : {"gpt2", "llama"})
    for (std::string base : {"int8", "int4"}) {
      SCOPED_TRACE(type + " " + base);
      LoraSettings lora{.rank = 3, .alpha = 6};
      auto plain = train(type, lora);
      lora.base = base;
      auto want = train(type, lora);
      EXPECT_LT(want.base_bytes, (base == "int8" ? 0.40 : 0.30) * static_cast<double>(plain.base_bytes));
      EXPECT_NEAR(want.losses[0], plain.losses[0], (base == "int8" ? 0.01 : 0.1) * plain.losses[0]);
      EXPECT_LT(want.losses[3], want.losses[0]);
      EXPECT_EQ(want.before, plain.before);
      EXPECT_EQ(want.base_after, want.base_before);
      struct Case {
        std::string layout;
        int data, parts;
        std::int64_t accumulate;
      };
      for (auto& c : {Case{"fsdp", 3, 1, 2}, Case{"fsdp+tp", 2, 2, 3}, Case{"tp", 1, 2, 1}}) {
        auto got = train(type, lora, c.layout, c.data, c.parts, c.accumulate);
        EXPECT_EQ(got.base_before, want.base_before) << c.layout;
        EXPECT_EQ(got.base_after, want.base_before) << c.layout;
        EXPECT_EQ(got.before, want.before) << c.layout;
        for (std::size_t i = 0; i < want.losses.size(); ++i)  // a last bit may round an input to another integer
          EXPECT_NEAR(got.losses[i], want.losses[i], 5e-3 * std::abs(want.losses[i])) << c.layout;
      }
    }
}
TEST(Qlora, ScoresWithTheAdaptersBeside) {
  LoraSettings lora{.rank = 3, .alpha = 6, .base = "int4"};
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    optim::AdamWConfig adamw{.lr = 1e-2};
    auto rate = adamw.schedule.make(adamw.lr, 10);
    StepOptions step{.optimizer = adamw.make(rate), .learning_rate = rate};
    ModelOptions options{.vocabulary = kVocabulary, .step = step, .tuning = {.lora = lora}};
    auto model = small("llama");
    auto t = model->trainable(options);
    t->init(random::key(5));
    auto batch = make_batch(test::rows_of_tokens(0, kBatch, {kPositions}), kBatch, mesh);
    for (int i = 0; i < 3; ++i) (void)t->step(batch);
    auto scorer = model->scorer(options, {}, training::parameter_key(random::key(5)));
    auto base = values(t->base()), mine = values(scorer->parameters());
    for (auto& [path, v] : base) EXPECT_EQ(mine.at(path), v) << path;
    for (auto& slot : tree::slots(scorer->parameters()))
      for (auto& from : tree::slots(t->parameters()))
        if (from.path == slot.path && from.leaf.defined()) slot.leaf.set(from.leaf.get());
    auto loss = scorer->loss(batch.example).item<float>();
    EXPECT_NEAR(loss, t->evaluate(batch).to_vector<float>()[0], 1e-4 * loss);
  });
}
TEST(Qlora, BadSettings) {
  auto wrong = [](const LoraSettings& lora) { return error_of<ConfigError>([&] { lora.check(); }); };
  EXPECT_EQ(wrong({.base = "int4"}), "base: there are no adapters; set lora.rank");
  EXPECT_EQ(wrong({.rank = 2, .base = "nf4"}), "base: 'nf4' is no form of integers; there are int8, int4 and int4:128");
  EXPECT_EQ(wrong({.rank = 2, .base = "int4:128"}), "no error");
}
}  // namespace qlora_test
