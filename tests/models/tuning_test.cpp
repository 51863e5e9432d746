// Training a part of a model: frozen parameters and adapters, on every layout.
#include <gtest/gtest.h>
#include <unistd.h>
#include <cmath>
#include <filesystem>
#include <set>
#include "compile/api/executable.h"
#include "bora/models/gpt2.h"
#include "bora/models/lm.h"
#include "bora/models/peft.h"
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "laws/effort.h"
#include "models/api/weights.h"
#include "models/small.h"
#include "support/temp_folder.h"
#include "support/throws.h"
#include "train/api/resume.h"

namespace tuning_test {
using namespace bora;
using namespace bora::models;
namespace {
using test::kVocabulary;
constexpr std::int64_t kBatch = 12, kPositions = 8;
config::Choice<Model> small(const std::string& type) {
  std::vector<std::string> items{"layers=2", "embed=16", "heads=4", "positions=8"};
  if (type == "llama") items.emplace_back("kv_heads=2");
  return test::model_of(type, items);
}
const std::vector<std::string> kTypes{"gpt2", "llama"};
data::Rows rows(std::int64_t begin, std::int64_t end) { return test::rows_of_tokens(begin, end, {kPositions}); }
using Values = std::map<std::string, std::vector<float>>;
/// The numbers of all leaves, whole.
Values values(tree::Node t, const std::string& below = "") {
  Values v;
  for (auto& slot : tree::slots(t))
    if (slot.leaf.defined()) v[below + slot.path] = gather(slot.leaf.get()).astype(f32).to_vector<float>();
  return v;
}
struct Result {
  Values before, after, optimizer, base_before, base_after;
  std::vector<float> losses;
  double flops = 0;
};
struct Case {
  std::string layout;
  int data, parts;
  std::int64_t accumulate;
};
/// All for GPT-2, two for others, unless BORA_LAWS=full.
std::vector<Case> layouts_for(const std::string& type) {
  std::vector<Case> all{{"fsdp", 3, 1, 2}, {"fsdp+tp", 2, 2, 3}, {"dp", 2, 1, 1}, {"fsdp", 2, 1, 1},
                        {"tp", 1, 2, 1},   {"dp", 1, 1, 1}};
  if (type != "gpt2" && laws::effort() != laws::Effort::full) all.resize(2);
  return all;
}
Result train(const std::string& type, const Tuning& tuning, const Case& c = {"dp", 1, 1, 1}, int steps = 3) {
  optim::AdamWConfig adamw{.lr = 1e-2, .clip = 0, .schedule = {.warmup = 0}};
  auto rate = adamw.schedule.make(adamw.lr, 10);
  auto model = small(type);
  Result result;
  local_mesh({{"data", c.data}, {"model", c.parts}}, [&](const Mesh& mesh) {
    auto mappings = layout_mappings(parse_layout(c.layout), mesh.shape());
    UseMapping split(mappings.compute);
    StepOptions step{
        .optimizer = adamw.make(rate), .learning_rate = rate, .accumulate = c.accumulate, .storage = mappings.storage};
    auto t = model->trainable({.vocabulary = kVocabulary, .step = step, .tuning = tuning});
    t->init(random::key(5));
    auto mine = rows_of_rank(kBatch, mesh);
    auto batch = make_batch(rows(mine.begin, mine.end), kBatch, mesh);
    Result own;
    own.flops = executable(fx::local_program(t->step_program(batch), t->step_arguments(batch)), {})->info().flops;
    own.before = values(t->parameters());
    own.base_before = values(t->base());
    for (int i = 0; i < steps; ++i) own.losses.push_back(t->step(batch).to_vector<float>()[0]);
    own.losses.push_back(t->evaluate(batch).to_vector<float>()[0]);
    own.after = values(t->parameters());
    own.base_after = values(t->base());
    own.optimizer = values(t->optimizer_state());
    if (mesh.rank() == 0) result = own;
  });
  return result;
}
void expect_near(const Values& got, const Values& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (auto& [path, v] : want) {
    ASSERT_TRUE(got.contains(path)) << what << " " << path;
    for (std::size_t i = 0; i < v.size(); ++i)
      ASSERT_NEAR(got.at(path)[i], v[i], tolerance) << what << " " << path << " " << i;
  }
}
using bora::test::error_of;
}  // namespace

TEST(Freeze, FrozenParametersKeepTheirBitsOnEveryLayoutAndCostNothing) {
  for (auto& type : kTypes) {
    Tuning tuning{.freeze = {"wte", "blocks.attn.*"}};
    auto frozen = [](const std::string& path) {
      return path.starts_with("wte.") || path.starts_with("blocks.layer.attn.");
    };
    auto want = train(type, tuning), whole = train(type, {});
    double products = 0;  // of the gradients of frozen matrices in blocks
    for (auto& [path, v] : whole.before)
      if (frozen(path) && path.starts_with("blocks.") && path.ends_with(".weight"))
        products += 2.0 * kBatch * kPositions * static_cast<double>(v.size());
    EXPECT_LT(want.flops, whole.flops - products) << type;
    for (auto& c : layouts_for(type)) {
      auto got = train(type, tuning, c);
      auto name = type + " " + c.layout;
      for (auto& [path, v] : got.before) {
        bool stays = got.after.at(path) == v;
        EXPECT_EQ(stays, frozen(path)) << name << " " << path;
      }
      for (auto& [path, v] : got.optimizer)
        EXPECT_TRUE(path.find(".wte.") == path.npos && path.find(".attn.") == path.npos) << name << " " << path;
      expect_near(got.after, want.after, 1e-4, name);
      for (std::size_t i = 0; i < want.losses.size(); ++i) EXPECT_NEAR(got.losses[i], want.losses[i], 1e-3) << name;
    }
    // The others go as they would alone, since nothing before them is frozen out.
    auto one = train(type, tuning, {"dp", 1, 1, 1}, 1), all = train(type, {}, {"dp", 1, 1, 1}, 1);
    for (auto& [path, v] : one.after) {
      if (frozen(path)) continue;
      for (std::size_t i = 0; i < v.size(); ++i) EXPECT_NEAR(v[i], all.after.at(path)[i], 2e-4) << path;
    }
  }
}
TEST(Freeze, PatternsThatMatchNothingNameWhatIsNear) {
  auto wrong = [](std::vector<std::string> patterns) {
    return error_of<ConfigError>([&] { train("gpt2", {.freeze = std::move(patterns)}); });
  };
  auto e = wrong({"wte", "block.atn.*"});
  EXPECT_TRUE(e.starts_with("freeze: nothing matches 'block.atn.*'; near it are ")) << e;
  EXPECT_NE(e.find("blocks.layer.attn.q.weight"), e.npos) << e;
  EXPECT_NE(wrong({"*"}).find("nothing is left to train"), e.npos);
  EXPECT_EQ(wrong({"*.bias", "blocks.layer.ln_1", "wpe"}), "no error");
}

TEST(Lora, OnlyAdaptersAreTrainedAndStoredOnEveryLayout) {
  for (auto& type : kTypes)
    for (bool some : {false, true}) {
      Tuning tuning{.lora = {.rank = 3, .alpha = 6}};
      if (some) tuning.lora.layers = {"blocks.attn.q", "*.v"};
      auto want = train(type, tuning), whole = train(type, {});
      EXPECT_NEAR(want.losses[0], whole.losses[0], 1e-5);  // b begins with zeros
      EXPECT_LT(want.losses[2], want.losses[0]);
      EXPECT_LT(train(type, {.lora = {.rank = 1}}, {"dp", 1, 1, 1}, 0).flops, whole.flops);
      EXPECT_EQ(want.base_before, whole.before);  // adapters do not change how a model is born
      std::set<std::string> names;
      for (auto& [path, v] : want.after) names.insert(path);
      EXPECT_EQ(names.contains("blocks.layer.attn.q.lora.a"), true);
      EXPECT_EQ(names.contains("blocks.layer.attn.k.lora.a"), !some);
      for (auto& name : names) EXPECT_TRUE(nn::in_adapter(name)) << name;
      for (auto& c : layouts_for(type)) {
        auto got = train(type, tuning, c);
        auto name = type + " " + c.layout;
        EXPECT_EQ(got.base_before, whole.before) << name;
        EXPECT_EQ(got.base_after, got.base_before) << name;
        EXPECT_EQ(got.before, want.before) << name;
        for (auto& [path, v] : got.after) EXPECT_NE(got.before.at(path), v) << name << " " << path;
        for (auto& [path, v] : got.optimizer)
          EXPECT_TRUE(path.find("lora.") != path.npos || v.size() == 1) << name << " " << path;
        expect_near(got.after, want.after, 2e-4, name);
        for (std::size_t i = 0; i < want.losses.size(); ++i) EXPECT_NEAR(got.losses[i], want.losses[i], 1e-3) << name;
      }
    }
}
/// Queries are multiplied to scale the scores; an adapter's part of them is too.
TEST(Lora, IsScaledAsTheWeightIs) {
  for (bool by_layer : {false, true})
    for (bool by_size : {false, true}) {
      Gpt2Config c{.layers = 3, .embed = 16, .heads = 2, .positions = 8};
      c.scale_by_layer = by_layer, c.scale_attention = by_size;
      auto m = Gpt2::init(c, 13, random::key(1));
      for (auto* l : {&m.blocks.layer.attn.q, &m.blocks.layer.attn.k}) {
        nn::add_adapter(*l, {.rank = 2, .alpha = 4}, random::key(2));
        l->lora->b = random::normal(random::key(3), Axes(l->lora->b.axes()));
      }
      auto whole = m;
      for (auto* l : {&whole.blocks.layer.attn.q, &whole.blocks.layer.attn.k}) nn::merge_adapter(*l);
      auto tokens = named(reshape(arange(12) % 13, {2, 6}), {Axis{"batch", 2}, Axis{"position", 6}});
      EXPECT_TRUE(allclose(m(tokens).array(), whole(tokens).array(), 1e-4, 1e-4)) << by_layer << by_size;
    }
}
TEST(Lora, GradientsAreThoseOfTheChangedWeight) {
  // y = x (W + s a b): with G the gradient of the whole weight, that of b is s a' G and that of a is s G b'.
  Axis in{"in", 5}, heads{"heads", 2}, size{"head_size", 3}, layers{"layers", 2}, rows{"batch", 4};
  for (bool rslora : {false, true}) {
    auto keys = random::split<4>(random::key(1));
    auto layer = nn::Linear::init(in, {heads, size}, keys[0]);
    nn::add_adapter(layer, {.rank = 5, .alpha = 3, .rslora = rslora}, keys[1]);
    layer.lora->b = random::normal(keys[2], Axes(layer.lora->b.axes()));
    auto s = rslora ? 3 / std::sqrt(5.0) : 3 / 5.0;
    auto x = random::normal(keys[3], {rows, in});
    auto loss = [&](const nn::Linear& l) { return sum(square(l(x))); };
    auto g = grad(loss)(layer);
    auto plain = layer;
    nn::merge_adapter(plain);
    EXPECT_FALSE(plain.lora.has_value());
    EXPECT_TRUE(allclose(plain(x).array(), layer(x).array(), 1e-5, 1e-5));
    auto whole = grad(loss)(plain).weight;
    auto b = dot(layer.lora->a, whole, "in") * s, a = dot(whole, layer.lora->b, {"heads", "head_size"}) * s;
    EXPECT_TRUE(allclose(g.lora->b.array(), aligned(b, layer.lora->b.axes()).array(), 1e-4, 1e-4));
    EXPECT_TRUE(allclose(g.lora->a.array(), aligned(a, layer.lora->a.axes()).array(), 1e-4, 1e-4));
  }
}
TEST(Lora, StackedLayersMergeAndDropInputsLayerByLayer) {
  Axis in{"in", 6}, out{"out", 4}, layers{"layers", 3};
  auto keys = random::split<3>(random::key(2));
  auto layer = nn::Linear::init({in}, {out}, keys[0], {.use_bias = false});
  layer.weight = random::normal(keys[0], {layers, in, out});
  nn::add_adapter(layer, {.rank = 2, .dropout = 0.5}, keys[1]);
  EXPECT_EQ(layer.lora->a.axes(), (std::vector<Axis>{layers, in, {nn::kRank, 2}}));
  EXPECT_EQ(layer.lora->b.axes(), (std::vector<Axis>{layers, {nn::kRank, 2}, out}));
  for (auto v : layer.lora->a.to_vector<float>()) EXPECT_LE(std::abs(v), 1 / std::sqrt(6.0));
  layer.lora->b = random::normal(keys[2], Axes(layer.lora->b.axes()));
  auto want = layer.weight + dot(layer.lora->a, layer.lora->b, nn::kRank) * 8.0;
  auto merged = layer;
  nn::merge_adapter(merged);
  EXPECT_TRUE(allclose(merged.weight.array(), want.array()));
  nn::drop_inputs(layer, keys[0]);
  ASSERT_TRUE(layer.lora->key.has_value());
  EXPECT_EQ(layer.lora->key->axes(), (std::vector<Axis>{layers}));
}
TEST(Lora, DropoutIsOfTrainingAndOfItsOwnKeyInEachStep) {
  Tuning tuning{.lora = {.rank = 3, .dropout = 0.4}}, none{.lora = {.rank = 3}};
  for (auto& type : kTypes) {
    auto with = train(type, tuning), again = train(type, tuning), without = train(type, none);
    EXPECT_EQ(with.losses, again.losses);
    EXPECT_EQ(with.losses[0], without.losses[0]);  // the products are still zero
    EXPECT_NE(with.losses[2], without.losses[2]);
    expect_near(train(type, tuning, {"fsdp+tp", 2, 2, 1}).after, with.after, 2e-4, type);
  }
}
TEST(Dora, BeginsAsTheBaseAndIsTrainedOnEveryLayout) {
  for (auto& type : kTypes) {
    Tuning tuning{.lora = {.rank = 3, .alpha = 6, .dora = true}};
    auto want = train(type, tuning), whole = train(type, {});
    EXPECT_NEAR(want.losses[0], whole.losses[0], 1e-5);
    EXPECT_LT(want.losses[2], want.losses[0]);
    int magnitudes = 0;
    for (auto& [path, v] : want.after) {
      EXPECT_TRUE(nn::in_adapter(path)) << path;
      EXPECT_NE(want.before.at(path), v) << path;
      magnitudes += path.ends_with(".lora.magnitude");
    }
    EXPECT_GT(magnitudes, 3);
    for (auto& c : layouts_for(type)) {
      auto got = train(type, tuning, c);
      expect_near(got.before, want.before, 1e-6, type + " " + c.layout);
      expect_near(got.after, want.after, 5e-4, type + " " + c.layout);
    }
    tuning.lora.dropout = 0.2;
    auto drops = train(type, tuning);
    EXPECT_NE(drops.losses, want.losses);
    expect_near(train(type, tuning, {"fsdp+tp", 2, 2, 1}).after, drops.after, 5e-4, type);
  }
}
TEST(Dora, MergesAndBeginsAnewAroundOtherWeights) {
  Axis in{"in", 6}, out{"out", 4}, layers{"layers", 3}, rows{"batch", 5};
  auto keys = random::split<4>(random::key(2));
  auto layer = nn::Linear::init({in}, {out}, keys[0]);
  nn::add_adapter(layer, {.rank = 2, .dora = true}, keys[1]);
  layer.lora->b = random::normal(keys[2], Axes(layer.lora->b.axes()));
  layer.lora->magnitude = *layer.lora->magnitude * 1.5;
  auto x = random::normal(keys[3], {rows, in});
  auto merged = layer;
  nn::merge_adapter(merged);
  EXPECT_TRUE(allclose(merged(x).array(), layer(x).array(), 1e-5, 1e-5));
  auto norms = nn::magnitudes(merged.weight, none, {out});
  EXPECT_TRUE(allclose(norms.array(), layer.lora->magnitude->array(), 1e-5, 1e-5));
  // Stacked ones have theirs for each layer.
  layer = nn::Linear::init({in}, {out}, keys[0]);
  layer.weight = random::normal(keys[0], {layers, in, out});
  nn::add_adapter(layer, {.rank = 2, .dora = true}, keys[1]);
  EXPECT_EQ(layer.lora->magnitude->axes(), (std::vector<Axis>{layers, out}));
  struct One {
    nn::Linear layer;
  } base{layer}, adapters{layer};
  base.layer.weight = layer.weight * 2.0, base.layer.lora.reset();
  begin_magnitudes(tree::node(base), tree::node(adapters), {});
  EXPECT_TRUE(allclose(adapters.layer.lora->magnitude->array(), layer.lora->magnitude->array() * 2.0, 1e-6, 1e-6));
}
TEST(Neftune, IsNoiseOfTrainingAlone) {
  Axis vocab{nn::kVocab, 5}, embed{nn::kEmbed, 8}, rows{nn::kBatch, 3}, positions{nn::kPosition, 4};
  auto words = nn::Embedding::init(vocab, embed, random::key(1));
  auto ids = broadcast_to(arange(positions).astype(i32), {rows, positions});
  auto plain = words.embed(ids);
  words.noise = nn::EmbeddingNoise{NamedArray(random::key(2), {}), 5};
  auto noise = (words.embed(ids) - plain).to_vector<float>();
  auto most = 5 / std::sqrt(4.0F * 8);
  EXPECT_LE(*std::max_element(noise.begin(), noise.end()), most + 1e-6);
  EXPECT_GT(*std::max_element(noise.begin(), noise.end()), 0.8F * most);
  EXPECT_GE(*std::min_element(noise.begin(), noise.end()), -most - 1e-6);
  EXPECT_LT(*std::min_element(noise.begin(), noise.end()), -0.8F * most);
  for (auto& type : kTypes) {
    Tuning tuning{.neftune = 1};
    auto with = train(type, tuning), again = train(type, tuning), without = train(type, {});
    EXPECT_EQ(with.losses, again.losses);
    EXPECT_NE(with.losses[0], without.losses[0]);
    EXPECT_EQ(train(type, tuning, {"dp", 1, 1, 1}, 0).losses, train(type, {}, {"dp", 1, 1, 1}, 0).losses);
    expect_near(train(type, tuning, {"fsdp+tp", 2, 2, 1}).after, with.after, 2e-4, type);
  }
}
TEST(Lora, BadSettings) {
  auto wrong = [](const LoraSettings& lora, std::vector<std::string> freeze = {}) {
    return error_of<ConfigError>([&] {
      lora.check();
      train("llama", {.freeze = std::move(freeze), .lora = lora});
    });
  };
  EXPECT_EQ(wrong({.rank = -1}), "rank: must be from 1 to 2^20 (or 0 for no adapters), got -1");
  EXPECT_EQ(wrong({.rank = 2, .alpha = 0}), "alpha: must be above 0, got 0");
  EXPECT_EQ(wrong({.rank = 2, .dropout = 1}), "dropout: must be at least 0 and below 1, got 1");
  EXPECT_EQ(wrong({.layers = {"*"}}), "layers: there are no adapters; set lora.rank");
  EXPECT_TRUE(wrong({.rank = 2, .layers = {"*.qq"}}).starts_with("lora.layers: nothing matches '*.qq'; near it are "));
  EXPECT_TRUE(wrong({.rank = 2, .layers = {"lm_head"}}).starts_with("lora.layers: lm_head gives the scores"));
  EXPECT_NE(wrong({.rank = 2}, {"*.lora.*"}).find("nothing is left to train"), std::string::npos);
  EXPECT_EQ(wrong({.rank = 2}, {"*.lora.a", "wte"}), "no error");
}
TEST(Lora, ACheckpointKnowsItsBaseAndContinuesBitForBit) {
  test::TempFolder temp;
  auto folder = temp / "run";
  Tuning tuning{.lora = {.rank = 2, .dropout = 0.1}};
  optim::AdamWConfig adamw{.lr = 1e-2};
  auto rate = adamw.schedule.make(adamw.lr, 10);
  auto model = small("llama");
  std::vector<float> want;
  Values trained;
  std::string saved, base;
  auto make = [&](const Mesh& mesh, std::int64_t seed, const Tuning& how) {
    auto mappings = layout_mappings(parse_layout("fsdp"), mesh.shape());
    StepOptions step{.optimizer = adamw.make(rate), .learning_rate = rate, .storage = mappings.storage};
    auto t = model->trainable({.vocabulary = kVocabulary, .step = step, .tuning = how});
    t->init(random::key(seed));
    return t;
  };
  for (bool first : {true, false})
    local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout("fsdp"), mesh.shape()).compute);
      auto mine = rows_of_rank(kBatch, mesh);
      auto batch = make_batch(rows(mine.begin, mine.end), kBatch, mesh);
      auto t = make(mesh, 5, tuning);
      auto digest = training::base_digest(t->base(), mesh);
      if (first) {
        for (int i = 0; i < 2; ++i) (void)t->step(batch);
        Arrays keep;
        auto leaves = io::leaves_of(t->state(), "", keep);
        auto at = io::save_checkpoint(folder, 2, leaves, place_of(mesh), {{"base", digest}});
        auto l = t->step(batch).to_vector<float>();
        auto v = values(t->parameters());
        if (mesh.rank() == 0) saved = at, base = digest, want = l, trained = v;
      } else {
        EXPECT_EQ(digest, base);
        training::check_base(mesh, saved, digest);
        io::restore_leaves(t->state(), saved, place_of(mesh));
        auto l = t->step(batch).to_vector<float>();
        auto v = values(t->parameters());
        EXPECT_EQ(l, want);
        EXPECT_EQ(v, trained);
      }
    });
  for (auto& leaf : io::read_manifest(saved).leaves) EXPECT_EQ(leaf.path.find("wte"), leaf.path.npos) << leaf.path;
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {  // any mesh
    auto refused = [&](std::int64_t seed, const Tuning& how) -> std::string {
      return error_of<CheckpointError>([&] {
        training::check_base(mesh, saved, training::base_digest(make(mesh, seed, how)->base(), mesh));
      });
    };
    EXPECT_EQ(refused(5, tuning), "no error");
    EXPECT_NE(refused(6, tuning).find("was trained beside another model"), std::string::npos);
    EXPECT_NE(refused(5, {}).find("holds adapters only"), std::string::npos);
  });
  // Tokens chosen by the generator are those of the model with adapters.
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh& mesh) {
    auto t = make(mesh, 5, tuning);
    io::restore_leaves(t->parameters(), saved, place_of(mesh), "params");
    for (auto& slot : tree::slots(t->parameters()))  // adapters that make a difference
      if (slot.leaf.defined()) slot.leaf.set(slot.leaf.get() * 4.0 + 0.1);
    auto row = rows(0, 1);
    auto last = [](const Array& scores, const Array&) { return scores; };
    auto g = model->generator({.vocabulary = kVocabulary}, {}, training::parameter_key(random::key(5)), last);
    EXPECT_EQ(values(g->parameters()), values(t->base()));
    merge_adapters(g->parameters(), t->parameters(), tuning.lora);
    // The loss of the last position alone, by the scores of a generator that has seen the row.
    std::fill(row.weights.begin(), row.weights.end(), 0.0F);
    row.weights.back() = 1;
    auto loss = t->evaluate(make_batch(row, 1, mesh)).to_vector<float>()[0];
    auto scores = g->next({row.tokens.begin(), row.tokens.end()}, random::key(0));
    auto want_loss = cross_entropy(scores, array(row.targets.back())).item<float>();
    EXPECT_NEAR(loss, want_loss, 1e-5);
  });
}
}  // namespace tuning_test
