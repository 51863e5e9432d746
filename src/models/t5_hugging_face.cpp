// T5 in Hugging Face's folders.
#include "models/hf_activation.h"
#include "models/hf_size.h"
#include "models/t5.h"

namespace bora::models {
namespace {
using nn::Activation;
/// "relu", "gated-silu". gated-gelu is the tanh form.
void read_activation(HfConfig& c, T5Config& t) {
  auto words = c.word("feed_forward_proj", "relu"), word = words;
  t.gated = word.starts_with("gated-");
  if (t.gated) word = word.substr(6);
  if (t.gated && word == "gelu") word = "gelu_new";
  auto activation = hf_activation_of(word);
  if (!activation) refuse_activation(c, "feed_forward_proj", ", also behind gated-");
  t.activation = *activation;
  c.expect("dense_act_fn", word);
  c.expect("is_gated_act", t.gated);
}
std::string activation_words(const T5Config& t) {
  if (t.gated && t.activation == Activation::gelu_new) return "gated-gelu";
  check<ConfigError>(!t.gated || t.activation != Activation::gelu,
                     "model.activation: transformers' T5 has no gated units with the exact gelu");
  return (t.gated ? "gated-" : "") + hf_word(t.activation);
}
}  // namespace

T5Config T5::from_hf(HfConfig& c) {
  T5Config t;
  t.layers = hf_size(c, "num_layers", 6);
  t.decoder_layers = hf_size(c, "num_decoder_layers", t.layers);
  t.embed = hf_size(c, "d_model", 512);
  t.heads = hf_size(c, "num_heads", 8);
  t.head_size = hf_size(c, "d_kv", 64);
  t.hidden = hf_size(c, "d_ff", 2048);
  t.positions = hf_size(c, "n_positions", 512);  // no limit of the model
  read_activation(c, t);
  // Version 1.1 has tie_word_embeddings: false, by which transformers means that scores are not scaled too. From
  // version 5 on transformers writes true for all, scale_decoder_outputs beside it, and ties what the files lack.
  t.tied = c.flag("tie_word_embeddings", true);
  t.scale_scores = c.flag("scale_decoder_outputs", t.tied);
  if (t.tied && !t.scale_scores) t.tied = !c.has_tensor("lm_head.weight");
  t.buckets = c.integer("relative_attention_num_buckets", 32);
  t.max_distance = c.integer("relative_attention_max_distance", 128);
  t.dropout = c.number("dropout_rate", 0.1);
  t.eps = static_cast<float>(c.number("layer_norm_epsilon", 1e-6));
  t.decoder_start = c.integer("decoder_start_token_id", 0);
  c.expect("pad_token_id", t.decoder_start);  // stands where labels are ignored
  c.expect("is_encoder_decoder", true);
  c.expect("is_decoder", false);
  c.ignore({"initializer_factor"});
  return t;
}
void T5::to_hf(const T5Config& t, HfConfig& c) {
  check<ConfigError>(t.bias == T5Config::Bias::shared,
                     "model.bias: per_layer: transformers' T5 has one table for the encoder and one for the decoder");
  c.set("architectures", std::vector<std::string>{"T5ForConditionalGeneration"});
  c.set("model_type", "t5");
  c.set("num_layers", t.layers);
  c.set("num_decoder_layers", t.decoder_blocks());
  c.set("d_model", t.embed);
  c.set("num_heads", t.heads);
  c.set("d_kv", t.size_of_head());
  c.set("d_ff", t.hidden_units());
  c.set("n_positions", t.positions);
  c.set("feed_forward_proj", activation_words(t));
  c.set("tie_word_embeddings", t.tied);
  c.set("scale_decoder_outputs", t.scale_scores);
  c.set("relative_attention_num_buckets", t.buckets);
  c.set("relative_attention_max_distance", t.max_distance);
  c.set("dropout_rate", t.dropout);
  c.set("layer_norm_epsilon", t.eps);
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
    turned(stack + "bias.weight", stack + "block.0.layer.0.SelfAttention.relative_attention_bias.weight");
    all.push_back({stack + "norm.weight", stack + "final_layer_norm.weight"});
  }
  if (t.tied) all.push_back({.leaf = "shared.weight", .tensor = "lm_head.weight", .copy = true});
  else turned("lm_head.weight", "lm_head.weight");
  return all;
}
}  // namespace bora::models
