// A model whose layers are in stages against the same model on one rank: what the mapping alone changes.
#include "bora/models/gpt2.h"
#include "bora/nn/adapters.h"
#include "bora/nn/pipeline.h"
#include "laws/laws.h"

namespace bora::laws::stages_test {
namespace {
using models::Gpt2, models::Gpt2Config;
const Axis kRows{nn::kBatch, 8}, kPlaces{nn::kPosition, 6};
NamedArray numbers(std::int32_t below) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < 48; ++i) all.push_back(i * 7 % below);
  return {asarray(all, Shape{8, 6}), {kRows, kPlaces}};
}
training::Example example() {
  training::Example e{.tokens = numbers(13)};
  e.segments = numbers(2);
  e.positions = numbers(6);
  return e;
}
/// The scores, and the gradients of all parameters.
Arrays result_of(const Gpt2& model, const std::optional<Array>& key, std::int64_t microbatches = 0) {
  auto scores = [&](const Gpt2& m) {
    return m.head()(m.hidden(example(), key, {.microbatches = microbatches})).array();
  };
  auto loss = [&](const Gpt2& m) { return mean(square(scores(m) - 1.0)); };
  return joined({scores(model)}, tree::leaves(grad(loss)(model)));
}
TEST(Stages, AreALayoutOfTheSameModel) {
  for (double dropout : {0.0, 0.2}) {
    auto model = Gpt2::init({.layers = 4, .embed = 12, .heads = 3, .positions = 8, .dropout = dropout,
                             .scale_by_layer = true}, 13, random::key(2));
    std::optional<Array> key;
    if (dropout > 0) key = random::key(5);
    auto want = result_of(model, key);
    Rule layers{nn::kLayers, "stage"}, rows{nn::kBatch, {"data", "stage"}}, embed{nn::kEmbed, "data"},
        heads{nn::kHeads, "model"}, hidden{nn::kMlp, "model"};
    struct Case {
      std::vector<MeshAxis> mesh;
      AxisMapping storage, compute;
    };
    for (auto& c : {Case{{{"stage", 2}}, {layers}, {layers, rows}},
                    Case{{{"stage", 4}}, {layers}, {layers}},
                    Case{{{"stage", 2}, {"data", 2}}, {layers, embed}, {layers, rows}},
                    Case{{{"stage", 2}, {"model", 2}}, {layers, heads, hidden}, {layers, heads, hidden, rows}}})
      for (std::int64_t parts : {1, 4}) {
        if (dropout > 0 && parts > 1) continue;  // each part has draws of its own
        local_mesh(c.mesh, [&](const Mesh&) {
          UseMapping split(c.compute);
          auto f = jit([&](const Gpt2& m) { return result_of(m, key, parts); });
          close(gathered(f(sharded(model, c.storage))), want, 1e-5,
                name(c.mesh) + ", microbatches " + std::to_string(parts) + (key ? ", dropout" : ""));
        });
      }
  }
}
/// Also those of adapters, whose keys are in the layers: equal rows in different microbatches become different ones.
TEST(Stages, MicrobatchesHaveDrawsOfTheirOwn) {
  auto model = Gpt2::init({.layers = 4, .embed = 12, .heads = 3, .positions = 8}, 13, random::key(2));
  nn::each_linear(model.blocks, [](const std::string&, nn::Linear& l) {
    nn::add_adapter(l, {.rank = 4, .dropout = 0.5}, random::key(3));
    l.lora->b = random::normal(random::key(4), l.lora->b.axes());
    nn::drop_inputs(l, random::key(5));
  });
  training::Example e{.tokens = zeros({kRows, kPlaces}, i32)};
  local_mesh({{"stage", 2}}, [&](const Mesh&) {
    UseMapping split({{nn::kLayers, "stage"}});
    for (std::int64_t parts : {2, 4, 8}) {
      auto scores = [&](const Gpt2& m) {
        return reshape(m.head()(m.hidden(e, none, {.microbatches = parts})).array(), {8, -1});
      };
      auto rows = gathered({jit(scores)(model)})[0];
      for (std::int64_t i = 0; i + 1 < parts; ++i)
        EXPECT_FALSE(array_equal(view(rows, i), view(rows, i + 1))) << "rows " << i << " of " << parts;
    }
  });
}
}  // namespace
}  // namespace bora::laws::stages_test
