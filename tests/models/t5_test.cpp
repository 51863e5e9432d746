// T5 beyond the laws of models: padding on either side of the inputs, packed inputs, distances, dropout.
#include <gtest/gtest.h>
#include "bora/models/lm.h"
#include "bora/nn/dropout.h"
#include "bora/nn/relative_bias.h"
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "models/small.h"
#include "models/families/t5.h"

namespace t5_test {
using namespace bora;
using namespace bora::models;
namespace {
constexpr std::int64_t kVocabulary = 13;
using Ids = std::vector<std::int32_t>;
std::unique_ptr<Trainable> small(const std::vector<std::string>& more) {
  std::vector<std::string> items{"layers=2", "embed=16", "heads=4", "buckets=8", "max_distance=6"};
  items.insert(items.end(), more.begin(), more.end());
  auto model = test::model_of("t5", items);
  optim::AdamWConfig adamw;
  auto rate = adamw.schedule.make(adamw.lr, 10);
  auto t = model->trainable({kVocabulary, {}, StepOptions{.optimizer = adamw.make(rate), .learning_rate = rate}});
  t->init(random::key(5));
  return t;
}
/// One row. Columns that are empty are absent.
struct Row {
  Ids inputs = {}, mask = {}, input_segments = {}, tokens = {}, segments = {};
};
double loss(Trainable& t, const Row& row) {
  auto column = [](const Ids& v, const char* axis) {
    auto n = static_cast<std::int64_t>(v.size());
    return NamedArray(asarray(v, Shape{1, n}), {{"batch", 1}, {axis, n}});
  };
  auto optional = [&](const Ids& v, const char* axis) {
    return v.empty() ? std::optional<NamedArray>() : column(v, axis);
  };
  auto targets = row.tokens;
  for (auto& id : targets) id = (id * 5 + 3) % kVocabulary;
  training::Example e{.tokens = column(row.tokens, "position"), .targets = column(targets, "position")};
  e.weights = ones_like(e.tokens).astype(f32);
  e.segments = optional(row.segments, "position");
  e.inputs = optional(row.inputs, "input");
  e.input_mask = optional(row.mask, "input");
  e.input_segments = optional(row.input_segments, "input");
  return t.evaluate({e, zeros({1, 1})}).to_vector<float>()[0];
}
/// On a mesh of one rank, which the trainer needs.
void alone(const std::function<void()>& f) {
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh&) { f(); });
}
}  // namespace

TEST(T5, PaddingOnEitherSideChangesNothing) {
  alone([] {
    for (auto bias : {"bias=shared", "bias=per_layer"}) {
      auto t = small({bias});
      Ids tokens{0, 4, 9, 2};
      auto want = loss(*t, {.inputs = {3, 1, 7, 5}, .tokens = tokens});
      auto near = [&](const Row& row) { EXPECT_NEAR(loss(*t, row), want, 1e-5 * want) << bias; };
      near({.inputs = {3, 1, 7, 5}, .mask = {1, 1, 1, 1}, .tokens = tokens});
      near({.inputs = {3, 1, 7, 5, 8, 8}, .mask = {1, 1, 1, 1, 0, 0}, .tokens = tokens});
      near({.inputs = {8, 6, 8, 3, 1, 7, 5}, .mask = {0, 0, 0, 1, 1, 1, 1}, .tokens = tokens});
      EXPECT_GT(std::abs(loss(*t, {.inputs = {3, 1, 7, 5, 8}, .tokens = tokens}) - want), 1e-4);
      EXPECT_GT(std::abs(loss(*t, {.inputs = {1, 3, 7, 5}, .tokens = tokens}) - want), 1e-4) << "order counts";
    }
  });
}
TEST(T5, PackedInputsAreThoseOfTheirDocuments) {
  alone([] {
    for (auto bias : {"bias=shared", "bias=per_layer"}) {
      auto t = small({bias, "activation=relu", "gated=false", "tied=true", "scale_scores=true"});
      auto first = loss(*t, {.inputs = {3, 1, 7}, .tokens = {0, 4}}),
           second = loss(*t, {.inputs = {5, 2}, .tokens = {0, 9, 6}});
      Row packed{.inputs = {3, 1, 7, 5, 2},
                 .input_segments = {1, 1, 1, 2, 2},
                 .tokens = {0, 4, 0, 9, 6},
                 .segments = {1, 1, 2, 2, 2}};
      EXPECT_NEAR(loss(*t, packed), first + second, 1e-5 * (first + second)) << bias;
      packed.inputs.insert(packed.inputs.end(), {8, 11});
      packed.input_segments.insert(packed.input_segments.end(), {2, 0});
      packed.mask = {1, 1, 1, 1, 1, 0, 0};
      EXPECT_NEAR(loss(*t, packed), first + second, 1e-5 * (first + second)) << bias << ", padded";
      packed.input_segments.clear();
      EXPECT_GT(std::abs(loss(*t, packed) - first - second), 1e-4) << "all inputs are everyone's";
    }
  });
}
TEST(T5, SaysWhatRowsLack) {
  alone([] {
    auto t = small({});
    EXPECT_THROW((void)loss(*t, {.tokens = {0, 4}}), ValueError);
    EXPECT_THROW((void)loss(*t, {.inputs = {3}, .input_segments = {1}, .tokens = {0, 4}}), ValueError);
  });
}
/// Those of transformers 5.23: T5Attention._relative_position_bucket.
TEST(T5, DistancesHaveTheBucketsOfTransformers) {
  auto buckets = [](const nn::RelativeBiasOptions& o) {
    Ids all;
    for (int d : {-200, -128, -127, -64, -63, -32, -16, -15, -9, -8, -7, -1, 0, 1, 7, 8, 12, 16, 32, 90, 91, 128, 999})
      all.push_back(static_cast<std::int32_t>(nn::relative_bucket(d, o)));
    return all;
  };
  EXPECT_EQ(buckets({}), (Ids{15, 15, 15, 14, 13, 12, 10, 9, 8, 8, 7, 1, 0, 17, 23, 24, 25, 26, 28, 30, 31, 31, 31}));
  EXPECT_EQ(buckets({.bidirectional = false}),
            (Ids{31, 31, 31, 26, 26, 21, 16, 15, 9, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(buckets({.buckets = 8, .max_distance = 20}),
            (Ids{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 0, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7}));
  Axis heads{"heads", 2};
  EXPECT_THROW((void)nn::RelativeBias::init(heads, random::key(0), {.buckets = 5}), ValueError);
  EXPECT_THROW((void)nn::RelativeBias::init(heads, random::key(0), {.max_distance = 8}), ValueError);
}
TEST(T5, DropoutIsTheSameInAllPositions) {
  Axis batch{"batch", 3}, position{"position", 5}, embed{"embed", 40};
  auto x = ones({batch, position, embed});
  auto y = nn::Dropout{0.5F}.along(x, "position", random::key(1));
  auto kept = y[{"position", 0}];
  for (int i = 1; i < 5; ++i) EXPECT_TRUE(array_equal(y[{"position", i}].array(), kept.array()));
  auto share = mean(kept).item<float>();  // kept numbers are doubled
  EXPECT_GT(share, 0.6F);
  EXPECT_LT(share, 1.4F);
  EXPECT_FALSE(array_equal(y[{"batch", 0}].array(), y[{"batch", 1}].array()));
}
TEST(T5, AcceptsTheWordsOfT5X) {
  EXPECT_EQ(remat::parse("full"), remat::nothing);
  EXPECT_EQ(remat::parse("minimal"), remat::dots_no_batch);
}
/// T5X: normal attention of fan-in, queries / sqrt(head size) too; truncated normal MLPs; a uniform bias.
TEST(T5, FirstValuesAreThoseOfT5X) {
  auto m = T5::init({.layers = 3, .embed = 96, .heads = 4, .head_size = 16, .hidden = 200}, 300, random::key(2));
  auto near = [](const NamedArray& x, double deviation, double most) {
    EXPECT_NEAR(sqrt(mean(x * x)).item<float>() / deviation, 1, 0.05) << x.axes()[0].name;
    EXPECT_LT(amax(abs(x)).item<float>(), most * deviation) << x.axes()[0].name;
    EXPECT_GT(amax(abs(x)).item<float>(), 0.95 * std::min(most, 3.) * deviation) << x.axes()[0].name;
  };
  auto& block = m.decoder.blocks.layer;
  near(m.shared.weight, 1, 6);
  for (auto* attention : {&block.attn, &*block.cross, &m.encoder.blocks.layer.attn}) {
    near(attention->q.weight, 1 / std::sqrt(96. * 16), 6);
    near(attention->k.weight, 1 / std::sqrt(96.), 6);
    near(attention->v.weight, 1 / std::sqrt(96.), 6);
    near(attention->out.weight, 1 / std::sqrt(64.), 6);
  }
  constexpr double cut = 2 / 0.8796;
  near(block.mlp.gate->weight, 1 / std::sqrt(96.), cut);
  near(block.mlp.up.weight, 1 / std::sqrt(96.), cut);
  near(block.mlp.down.weight, 1 / std::sqrt(200.), cut);
  near(m.lm_head->weight, 1 / std::sqrt(96.), cut);
  EXPECT_LT(amax(abs(m.encoder.bias->weight)).item<float>(), std::sqrt(6. / 36));
  EXPECT_GT(amax(abs(m.encoder.bias->weight)).item<float>(), 0.9 * std::sqrt(6. / 36));
}
}  // namespace t5_test
