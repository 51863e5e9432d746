// T5 in Hugging Face's folders.
#include "models/hf/fields.h"
#include "models/families/t5.h"
#include "bora/ops/nn.h"

namespace bora::models {
namespace {
using nn::Activation;
/// "relu", "gated-silu". gated-gelu is the tanh form.
void read_activation(HfConfig& c, T5Config& t, std::string_view absent) {
  auto words = c.word("feed_forward_proj", absent), word = words;
  t.gated = word.starts_with("gated-");
  if (t.gated) word = word.substr(6);
  if (t.gated && word == "gelu") word = "gelu_new";
  auto activation = hf_activation_of(word);
  if (!activation) refuse_activation(c, "feed_forward_proj", ", also behind gated-");
  t.activation = *activation;
  if (c.word("dense_act_fn", word) != word) c.refuse("dense_act_fn", "feed_forward_proj: " + words + " differs");
  c.expect("is_gated_act", t.gated);
}
std::string activation_words(const T5Config& t) {
  if (t.gated && t.activation == Activation::gelu_new) return "gated-gelu";
  check<ConfigError>(!t.gated || t.activation != Activation::gelu,
                     "model.activation: transformers' T5 has no gated units with the exact gelu");
  return (t.gated ? "gated-" : "") + hf_word(t.activation);
}
/// other: of mT5 and umT5, whose classes have other numbers where a file lacks them.
HfFields<T5Config> t5_fields(bool other) {
  auto absent = [&](std::int64_t of_t5, std::int64_t theirs) { return other ? theirs : of_t5; };
  using C = T5Config;
  return {{"num_layers", &C::layers, absent(6, 8)},
          {"num_decoder_layers", &C::decoder_layers, [](const C& t) { return t.layers; }, &C::decoder_blocks},
          {"d_model", &C::embed, 512},
          {"num_heads", &C::heads, absent(8, 6)},
          {"d_kv", &C::head_size, 64, &C::size_of_head},
          {"d_ff", &C::hidden, absent(2048, 1024), &C::hidden_units},
          {"n_positions", &C::positions, 512},  // no limit of the model
          {"tie_word_embeddings", &C::tied, true},
          {"dropout_rate", &C::dropout, 0.1},
          {"layer_norm_epsilon", &C::eps, 1e-6}};
}
}  // namespace

T5Config T5::from_hf(HfConfig& c) {
  T5Config t;
  // mT5 (Xue et al. 2021) is version 1.1 with other sizes; umT5 (Chung et al. 2023) has a table in each block.
  auto kind = c.word("model_type");
  bool other = kind != "t5";
  read_fields(t, c, t5_fields(other));
  if (kind == "umt5") t.bias = T5Config::Bias::per_layer;
  read_activation(c, t, other ? "gated-gelu" : "relu");
  // Version 1.1 has tie_word_embeddings: false, by which transformers means that scores are not scaled too. From
  // version 5 on transformers writes true for all, scale_decoder_outputs beside it, and ties what the files lack.
  t.scale_scores = c.flag("scale_decoder_outputs", t.tied) && kind != "mt5";  // whose class never does
  if (t.tied && !t.scale_scores) t.tied = !c.has_tensor("lm_head.weight");
  t.buckets = c.integer("relative_attention_num_buckets", 32);
  t.max_distance = c.integer("relative_attention_max_distance", 128);
  t.decoder_start = c.integer("decoder_start_token_id", 0);
  c.expect("pad_token_id", t.decoder_start);  // stands where labels are ignored
  c.expect("is_encoder_decoder", true);
  c.expect("is_decoder", false);
  c.ignore({"initializer_factor"});
  return t;
}
void T5::to_hf(const T5Config& t, HfConfig& c) {
  bool own = t.bias == T5Config::Bias::per_layer;
  write_type(c, own ? "UMT5ForConditionalGeneration" : "T5ForConditionalGeneration", own ? "umt5" : "t5");
  write_fields(t, c, t5_fields(own));
  c.set("feed_forward_proj", activation_words(t));
  c.set("scale_decoder_outputs", t.scale_scores);
  c.set("relative_attention_num_buckets", t.buckets);
  c.set("relative_attention_max_distance", t.max_distance);
  c.set("decoder_start_token_id", t.decoder_start);
  c.set("pad_token_id", t.decoder_start);
  c.set("is_encoder_decoder", true);
}
std::vector<HfWeight> T5::hf_weights(const T5Config& t) {
  auto e = t.embed, h = t.heads, d = t.size_of_head();
  std::vector<HfWeight> all{{"shared.weight", "shared.weight"}};
  for (auto name : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"})
    all.push_back({.leaf = "shared.weight", .tensor = name, .copy = true});
  auto turned = [&](const std::string& leaf, const std::string& tensor) {  // a product's matrix is [out, in] there
    all.push_back({.leaf = leaf, .tensor = tensor, .order = {1, 0}});
  };
  for (bool decoder : {false, true}) {
    std::string stack = decoder ? "decoder." : "encoder.", leaf = stack + "blocks.layer.";
    auto layer = [&](int n) { return stack + "block.{}.layer." + std::to_string(n) + "."; };
    auto norm = [&](const std::string& to, int n) {
      all.push_back({leaf + to + ".weight", layer(n) + "layer_norm.weight"});
    };
    auto attention = [&](const std::string& to, const std::string& from) {
      for (std::string part : {"q", "k", "v"})
        all.push_back({leaf + to + "." + part + ".weight", from + part + ".weight", Shape{h, d, e}, {}, {}, {2, 0, 1}});
      all.push_back({leaf + to + ".out.weight", from + "o.weight", Shape{e, h, d}, {}, {}, {1, 2, 0}});
    };
    norm("norm_1", 0);
    attention("attn", layer(0) + "SelfAttention.");
    if (decoder) {
      norm("norm_2", 1);
      attention("cross", layer(1) + "EncDecAttention.");
    }
    int last = decoder ? 2 : 1;
    norm("norm_3", last);
    auto dense = layer(last) + "DenseReluDense.";
    if (t.gated) turned(leaf + "mlp.gate.weight", dense + "wi_0.weight");
    turned(leaf + "mlp.up.weight", dense + (t.gated ? "wi_1.weight" : "wi.weight"));
    turned(leaf + "mlp.down.weight", dense + "wo.weight");
    std::string table = "SelfAttention.relative_attention_bias.weight";
    if (t.bias == T5Config::Bias::per_layer) turned(leaf + "bias.weight", layer(0) + table);
    else turned(stack + "bias.weight", stack + "block.0.layer.0." + table);
    all.push_back({stack + "norm.weight", stack + "final_layer_norm.weight"});
  }
  if (t.tied) all.push_back({.leaf = "shared.weight", .tensor = "lm_head.weight", .copy = true});
  else turned("lm_head.weight", "lm_head.weight");
  return all;
}
}  // namespace bora::models
