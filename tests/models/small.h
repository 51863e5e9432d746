// small.h -- small models, and rows to try them with.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>
#include "bora/config/choice.h"
#include "bora/data/dataset.h"
#include "bora/models/lm.h"

namespace bora::test {
inline constexpr std::int64_t kVocabulary = 13;
/// The model of this type with these settings.
inline config::Choice<models::Model> model_of(std::string_view type, const std::vector<std::string>& settings) {
  auto d = config::parse_items(settings);
  d.at("type") = config::scalar(std::string(type));
  config::Choice<models::Model> model;
  model.read(d, "model", {});
  model.check("model");
  return model;
}
/// Small models of every type.
inline std::vector<config::Choice<models::Model>> small_models() {
  std::vector<config::Choice<models::Model>> all;
  for (auto& row : config::rows<models::Model>()) {
    std::vector<std::vector<std::string>> variants{{}};
    if (row.type == "llama")
      variants = {{"heads=4", "kv_heads=2", "hidden=10"},
                  {"tied=true", "hidden=6"},
                  {"heads=4", "kv_heads=2", "hidden=10", "head_size=6", "window=3", "layer_types=[full, sliding]",
                   "attention_bias=qkv", "mlp_bias=true", "qk_norm=true", "attention_dropout=0.1", "theta=100",
                   "scaling.kind=yarn", "scaling.factor=4", "scaling.original_positions=8", "scaling.high=8"}};
    if (row.type == "gemma")
      variants = {{"hidden=10"},
                  {"heads=4", "kv_heads=2", "hidden=10", "head_size=6", "post_norms=true", "window=2",
                   "attention_cap=0.5", "final_cap=0.4", "query_scalar=3", "attention_bias=true", "tied=false"},
                  {"heads=4", "kv_heads=2", "hidden=10", "head_size=6", "post_norms=true", "qk_norm=true", "window=2",
                   "local_theta=100", "scaling.kind=linear", "scaling.factor=2"}};
    if (row.type == "olmo2")
      variants = {{"kv_heads=2", "hidden=10"}, {"tied=true", "hidden=6", "attention_bias=true", "head_size=6"}};
    if (row.type == "phi3")
      variants = {{"kv_heads=2", "hidden=10", "window=3", "rotary=2"},
                  {"tied=true", "hidden=6", "head_size=6", "longer.positions=128", "longer.pretrained_positions=4",
                   "longer.short_factors=[1, 1, 2]", "longer.long_factors=[1, 1.5, 4]"}};
    if (row.type == "granite")
      variants = {{"kv_heads=2", "hidden=10", "words_scale=3", "residual_scale=0.5", "attention_scale=0.4",
                   "score_divisor=2"},
                  {"tied=true", "hidden=6", "attention_bias=true", "mlp_bias=true"}};
    if (row.type == "smollm3")
      variants = {{"kv_heads=2", "hidden=10", "turns=[rotary, plain]"},
                  {"hidden=6", "turns=[rotary]", "attention_bias=true", "mlp_bias=true", "tied=false"}};
    if (row.type == "qwen3_moe")
      variants = {{"kv_heads=2", "hidden=10", "experts=4"},
                  {"hidden=12", "experts=3", "renormalized=false", "router_loss=0.1", "window=3", "tied=true",
                   "head_size=6", "attention_bias=true"}};
    if (row.type == "gpt_oss")
      variants = {{"kv_heads=2", "hidden=10", "experts=4", "window=3", "scaling.kind=yarn", "scaling.factor=4",
                   "scaling.original_positions=8", "scaling.high=8"},
                  {"hidden=12", "experts=3", "chosen=1", "router_loss=0.1", "gate_limit=0.5", "tied=true",
                   "head_size=6", "attention_bias=false"}};
    if (row.type == "stablelm")
      variants = {{"kv_heads=2", "hidden=10", "rotary=2", "dropout=0.1", "attention_dropout=0.1"},
                  {"parallel=true", "tied=true", "hidden=24", "qkv_bias=true", "theta=100"}};
    if (row.type == "falcon")
      variants = {{"hidden=24"},
                  {"kv_heads=2", "two_norms=true", "hidden=10", "tied=false"},
                  {"kv_heads=0", "parallel=false", "bias=true", "activation=relu"}};
    if (row.type == "cohere")
      variants = {{"kv_heads=2", "hidden=10"},
                  {"tied=false", "hidden=24", "attention_bias=true", "score_factor=0.5", "attention_dropout=0.1"}};
    if (row.type == "mixtral")
      variants = {{"kv_heads=2", "hidden=10", "experts=4"},
                  {"hidden=12", "experts=3", "chosen=1", "router_loss=0.1", "router_z_loss=0.01", "window=3",
                   "tied=true", "attention_dropout=0.1", "theta=100"}};
    if (row.type == "gpt2") variants.push_back({"dropout=0.2", "accumulate"});
    if (row.type == "opt")
      variants = {{"dropout=0.1", "attention_dropout=0.1", "layer_dropout=0.1", "padding=3"},
                  {"norm_first=false", "word_embed=8", "hidden=24", "activation=gelu"},
                  {"norm_weights=false", "bias=false", "tied=false", "word_embed=24", "norm_last=false"}};
    if (row.type == "t5")
      variants = {{"activation=relu", "gated=false", "tied=true", "scale_scores=true", "buckets=8", "max_distance=6",
                   "head_size=6"},
                  {"dropout=0.2", "bias=per_layer", "decoder_layers=3", "checkpoint=minimal"}};
    if (row.type == "bert")
      variants = {{"padding=0"},
                  {"form=roberta", "padding=12", "types=1", "hidden=24", "activation=relu", "dropout=0.1",
                   "attention_dropout=0.1"},
                  {"form=distilbert", "types=0"}};
    if (row.type == "modernbert")
      variants = {{"hidden=10", "window=4", "layer_types=[full, sliding]", "padding=0"},
                  {"layer_types=[sliding]", "window=2", "dropout=0.1", "attention_dropout=0.1", "activation=relu"}};
    if (row.type == "gptj")
      variants = {{"dropout=0.1", "embed_dropout=0.1", "attention_dropout=0.1"},
                  {"rotary=2", "tied=true", "hidden=24", "activation=relu"}};
    if (row.type == "gpt_neox")
      variants = {{"rotary=2", "dropout=0.1", "attention_dropout=0.1"},
                  {"parallel=false", "tied=true", "hidden=24", "attention_bias=false", "activation=relu", "theta=100",
                   "scaling.kind=linear", "scaling.factor=4"}};
    for (auto items : variants) {
      std::erase(items, "accumulate");
      for (auto common : {"layers=2", "embed=16", "positions=8"}) items.emplace_back(common);
      if (std::none_of(items.begin(), items.end(), [](auto& i) { return i.starts_with("heads="); }))
        items.emplace_back("heads=4");
      all.push_back(model_of(row.type, items));
    }
  }
  return all;
}
/// Rows [begin, end) of one sequence of tokens; a fifth of the targets do not count. Other columns are zeros.
inline data::Rows rows_of_tokens(std::int64_t begin, std::int64_t end, const data::RowShape& shape) {
  auto r = data::Rows::zeros(begin, end, shape);
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    auto at = begin * shape.positions + static_cast<std::int64_t>(i);
    r.tokens[i] = static_cast<std::int32_t>(at * 7 % kVocabulary);
    r.targets[i] = static_cast<std::int32_t>((at + 1) * 7 % kVocabulary);
    r.weights[i] = at % 5 == 4 ? 0 : 1;
  }
  return r;
}
}  // namespace bora::test
