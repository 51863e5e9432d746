// Llama, Gemma and their kin from Hugging Face's folders: token by token against the scores of transformers
// (tests/golden/models), and the fields of config.json that are honoured or refused.
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include <fstream>
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/ops/reductions.h"
#include "models/small.h"
#include "ops/checks.h"
#include "support/places.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace rotary_decoder_test {
using namespace bora;
using namespace bora::models;
namespace {
std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}
/// The model that reads such a file.
config::Choice<Model> model_of(const std::string& json) {
  auto c = HfConfig::parse(json, "config.json");
  config::Choice<Model> model(c.word("model_type").starts_with("gemma") ? "gemma" : "llama");
  model.edit().from_hf(c);
  c.done();
  model.check("model");
  return model;
}
std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  for (auto& entry : fs::directory_iterator(test::source_dir() + "/tests/golden/models"))
    for (auto kind : {"llama", "mistral", "qwen", "gemma"})
      if (entry.is_directory() && entry.path().filename().string().starts_with(kind) &&
          entry.path().filename().string().find("moe") == std::string::npos)
        all.push_back(entry.path());
  return all;
}
/// The parts of the files that hold a leaf.
std::vector<TensorPart> parts_of(const std::vector<HfWeight>& table, const std::string& leaf, const Type& type) {
  for (auto& w : table) {
    if (w.leaf != leaf) continue;
    auto at = w.tensor.find("{}");
    std::vector<TensorPart> parts;
    for (std::int64_t i = 0; i < (at == w.tensor.npos ? 1 : type.shape[0]); ++i) {
      auto name = w.tensor;
      if (at != name.npos) name.replace(at, 2, std::to_string(i));
      parts.push_back({name, w.view, w.begin, w.end, w.order});
    }
    return parts;
  }
  ADD_FAILURE() << "no tensor for " << leaf;
  return {};
}
TEST(RotaryDecoder, HasTheScoresOfTransformers) {
  auto all = folders();
  EXPECT_GE(all.size(), 10u);
  for (auto& folder : all) {
    SCOPED_TRACE(folder.filename().string());
    auto model = model_of(text_of(folder / "config.json"));
    auto golden = Safetensors::open(folder / "golden.safetensors");
    auto logits = golden.read("logits");
    auto ids = golden.read("ids").to_vector<std::int32_t>();
    auto length = logits.shape(1), vocabulary = logits.shape(2);
    auto g = model->generator({.vocabulary = vocabulary}, {}, random::key(0),
                              [](const Array& scores, const Array&) { return scores; });
    auto table = model->hf_weights();
    io::load_tensors(g->parameters(), Safetensors::open(folder),
                     {.from = [&](const std::string& leaf, const Type& t) { return parts_of(table, leaf, t); }});
    auto want = logits.to_vector<float>();
    for (auto parts : std::vector<std::vector<std::int64_t>>{{1, 1, 1, 1, 1, 1, 1, 1}, {5, 3}}) {
      g->restart();
      std::int64_t end = 0;
      for (auto n : parts) {
        auto got = g->next({ids.begin() + end, ids.begin() + end + n}, random::key(0)).to_vector<float>();
        end += n;
        for (std::int64_t v = 0; v < vocabulary; ++v)
          ASSERT_NEAR(got.at(static_cast<std::size_t>(v)),
                      want.at(static_cast<std::size_t>((end - 1) * vocabulary + v)), 1e-4)
              << "position " << end - 1 << ", token " << v;
      }
      EXPECT_EQ(end, length);
    }
  }
}
TEST(RotaryDecoder, WritesTheFieldsThatItReads) {
  for (auto& folder : folders()) {
    auto model = model_of(text_of(folder / "config.json"));
    HfConfig c;
    model->to_hf(c);
    auto again = model_of(c.text());
    EXPECT_EQ(config::to_yaml(model->write_fields()), config::to_yaml(again->write_fields())) << folder.filename();
    EXPECT_EQ(HfConfig::parse(c.text(), "").word("model_type"),
              HfConfig::parse(text_of(folder / "config.json"), "").word("model_type"));
  }
}
/// A config.json of this type with more fields.
std::string json_of(const std::string& type, const std::string& more) {
  return R"({"model_type": ")" + type + R"(", "num_hidden_layers": 4, "hidden_size": 16, "num_attention_heads": 4,
    "num_key_value_heads": 4, "head_dim": 4, "intermediate_size": 24, "vocab_size": 96)" +
         (more.empty() ? "" : ", " + more) + "}";
}
/// A setting of the model that reads such a file, as text.
std::string setting(const std::string& type, const std::string& more, const std::string& name) {
  auto d = model_of(json_of(type, more))->write_fields();
  for (std::size_t dot = 0; dot != name.npos;) {
    auto end = name.find('.', dot);
    auto found = d.find(name.substr(dot, end - dot));
    if (!found) return "no " + name;
    d = config::Document(*found);
    dot = end == name.npos ? end : end + 1;
  }
  return d.form == config::Document::Form::scalar ? d.text : config::to_yaml(d);
}
TEST(RotaryDecoder, HonoursOlderAndNewerForms) {
  EXPECT_EQ(setting("llama", "", "theta"), "10000");
  EXPECT_EQ(setting("llama", R"("rope_theta": 500000.0)", "theta"), "5e+05");
  auto both = R"("rope_theta": 1, "rope_parameters": {"rope_theta": 7, "rope_type": "default"})";
  EXPECT_EQ(setting("llama", both, "theta"), "7");
  EXPECT_EQ(setting("llama", R"("rope_scaling": null, "pretraining_tp": 2, "initializer_range": 0.1)", "scaling.kind"),
            "none");
  auto linear = R"("rope_scaling": {"type": "linear", "factor": 2})";
  EXPECT_EQ(setting("llama", linear, "scaling.kind"), "linear");
  EXPECT_EQ(setting("llama", linear, "scaling.factor"), "2");
  auto yarn = R"("max_position_embeddings": 64, "rope_scaling": {"rope_type": "yarn", "factor": 4, "beta_fast": null,
                 "mscale": 2, "mscale_all_dim": 1})";
  EXPECT_EQ(setting("llama", yarn, "scaling.original_positions"), "64");
  EXPECT_NEAR(std::stod(setting("llama", yarn, "scaling.amplitude")),
              (0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1), 1e-12);
  EXPECT_EQ(setting("mistral", R"("sliding_window": 9)", "window"), "9");
  EXPECT_EQ(setting("mistral", R"("sliding_window": null)", "window"), "0");
  EXPECT_EQ(setting("mistral", "", "window"), "4096");
  EXPECT_EQ(setting("qwen2", R"("use_sliding_window": false, "sliding_window": 9, "max_window_layers": 1)", "window"),
            "0");
  EXPECT_EQ(setting("qwen3", R"("attention_bias": true)", "attention_bias"), "all");
  EXPECT_EQ(setting("qwen2", "", "attention_bias"), "qkv");
  EXPECT_EQ(setting("gemma", R"("hidden_act": "gelu", "hidden_activation": null)", "post_norms"), "false");
  EXPECT_EQ(setting("gemma2", R"("attn_logit_softcapping": null, "final_logit_softcapping": 7.0)", "final_cap"), "7");
  EXPECT_EQ(setting("gemma2", R"("attn_logit_softcapping": null)", "attention_cap"), "0");
  EXPECT_EQ(setting("gemma2", "", "attention_cap"), "50");
  EXPECT_EQ(setting("gemma3_text", "", "attention_cap"), "0");
  EXPECT_EQ(setting("gemma3_text", "", "theta"), "1e+06");
  EXPECT_EQ(setting("gemma3_text", "", "local_theta"), "10000");
  auto old = R"("rope_theta": 7.0, "rope_local_base_freq": 5.0,
                "rope_scaling": {"rope_type": "linear", "factor": 8.0})";
  EXPECT_EQ(setting("gemma3_text", old, "theta"), "7");
  EXPECT_EQ(setting("gemma3_text", old, "local_theta"), "5");
  EXPECT_EQ(setting("gemma3_text", old, "scaling.factor"), "8");
}
TEST(RotaryDecoder, RefusesWhatItDoesNotCompute) {
  auto refused = [](const std::string& type, const std::string& more, const std::string& words) {
    EXPECT_MESSAGE(IoError, (void)model_of(json_of(type, more)), words);
  };
  refused("llama", R"("rope_scaling": {"type": "dynamic", "factor": 2})",
          "rope_scaling.type: dynamic is not supported");
  refused("llama", R"("rope_parameters": {"rope_type": "longrope", "factor": 2})",
          "rope_parameters.rope_type: longrope is not supported");
  refused("llama", R"("rope_scaling": {"type": "linear"})", "rope_scaling.factor");
  refused("llama", R"("rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5})",
          "partial_rotary_factor: 0.5 is not supported");
  refused("llama", R"("hidden_act": "gelu_10")", "hidden_act: gelu_10 is not supported");
  refused("llama", R"("sliding_window": 4)", "sliding_window: 4 is not supported");
  refused("mistral", R"("mlp_bias": true)", "mlp_bias: true is not supported");
  refused("qwen2", R"("layer_types": ["full_attention", "sliding_attention", "full_attention", "full_attention"])",
          "need use_sliding_window");
  refused("qwen3", R"("layer_types": ["full_attention"])", "one for each layer");
  refused("qwen3", R"("layer_types": ["full_attention", "linear_attention", "full_attention", "full_attention"])",
          "full_attention and sliding_attention are");
  refused("gemma", R"("use_bidirectional_attention": true)", "use_bidirectional_attention: true is not supported");
  refused("gemma2", R"("hidden_activation": "relu")", "hidden_activation: relu is not supported");
  refused("gemma3_text", R"("attn_logit_softcapping": 7.0)", "attn_logit_softcapping: 7.0 is not supported");
  refused("gemma3_text", R"("rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 2}})",
          "rope_parameters.sliding_attention.rope_type: linear is not supported; only default is");
  refused("gemma2", R"("query_pre_attn_scalar": 0)", "query_pre_attn_scalar: 0 is not supported");
}
/// Rows that are longer than those of pre-training, by the long factors.
TEST(RotaryDecoder, LongRopeIsThatOfTransformers) {
  auto folder = test::source_dir() + "/tests/golden/models/phi3_long";
  auto p = Pretrained::open(folder);
  EXPECT_EQ(p.model->positions(), 8) << "those of pre-training";
  auto golden = Safetensors::open(folder + "/longer.safetensors");
  auto ids = golden.read("ids"), want = golden.read("logits");
  auto off = [&](const std::string& positions) {
    auto d = p.model.write();
    d.at("positions") = config::scalar(positions);
    auto model = p.model;
    model.read(d, "model", config::schema(model));
    auto s = model->scorer({p.vocabulary}, {}, random::key(1));
    load_pretrained(s->parameters(), folder, *model, p.vocabulary);
    training::Example e{.tokens = named(ids, {Axis{nn::kBatch, 1}, Axis{nn::kPosition, ids.shape(1)}})};
    return amax(abs(s->scores(e).array() - want)).item<float>();
  };
  EXPECT_LT(off("32"), 1e-4F);
  EXPECT_GT(off("8"), 1e-2F) << "the short factors";
  auto problem = [](const std::vector<std::string>& more) {
    std::vector<std::string> items{"heads=4", "embed=16", "positions=8", "longer.positions=8",
                                   "longer.pretrained_positions=4", "longer.short_factors=[1, 2]",
                                   "longer.long_factors=[1, 2]"};
    items.insert(items.end(), more.begin(), more.end());
    return test::error_of<ConfigError>([&] { (void)test::model_of("phi3", items); });
  };
  EXPECT_EQ(problem({}), "no error");
  EXPECT_NE(problem({"positions=9"}).find("positions"), std::string::npos);
  EXPECT_NE(problem({"longer.long_factors=[1]"}).find("longer.long_factors: 1 of them for 2 pairs"), std::string::npos);
  EXPECT_NE(problem({"longer.short_factors=[1, 0]"}).find("short_factors"), std::string::npos);
  EXPECT_NE(problem({"longer.pretrained_positions=9"}).find("pretrained_positions"), std::string::npos);
  EXPECT_NE(problem({"scaling.kind=linear"}).find("scaling.kind: model.longer.positions 8"), std::string::npos);
}
TEST(RotaryDecoder, ExportNeedsAnArchitecture) {
  auto refused = [](std::string_view type, std::vector<std::string> items, const std::string& words) {
    auto d = config::parse_items(items);
    d.at("type") = config::scalar(std::string(type));
    config::Choice<Model> model;
    model.read(d, "model", {});
    HfConfig c;
    EXPECT_MESSAGE(ConfigError, model->to_hf(c), words);
  };
  refused("llama", {"attention_bias=qkv", "mlp_bias=true"}, "model.mlp_bias: no architecture");
  refused("llama", {"window=4", "layer_types=[full, sliding]"}, "model.layer_types: no architecture");
  refused("llama", {"window=4", "attention_bias=all"}, "model.attention_bias: no architecture");
  refused("gemma", {"final_cap=4"}, "model.final_cap: no architecture");
  refused("gemma", {"qk_norm=true", "local_theta=7"}, "model.qk_norm: no architecture");
  refused("gemma", {"post_norms=true", "qk_norm=true"}, "model.local_theta: Hugging Face's Gemma 3");
  refused("phi3", {"scaling.kind=linear"}, "model.scaling.kind: transformers' Phi3");
  refused("falcon", {"kv_heads=2", "parallel=false"}, "model.parallel: Hugging Face's Falcon");
}
}  // namespace
}  // namespace rotary_decoder_test
