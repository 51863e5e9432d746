// Gemma (Gemma Team 2024): Llama with weights of norms around 0, tokens' vectors times sqrt(embed) and a GELU gate;
// Gemma 2 adds norms after attention and MLP, soft caps and windows in every other layer; Gemma 3 (2025) norms of each
// query and key, five layers with windows for one without, whose angles have another base, and no cap of attention.
#include "models/families/rotary_decoder.h"

namespace bora::models {
namespace {
struct GemmaConfig {
  static constexpr std::string_view type = "gemma";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, head_size = 0, hidden = 0, positions = 128;
  double theta = 10000;
  RopeScaling scaling = {};
  float eps = 1e-6F;
  bool tied = true, attention_bias = false, post_norms = false, qk_norm = false;
  std::int64_t window = 0;
  std::vector<LayerType> layer_types = {LayerType::sliding, LayerType::full};
  double local_theta = 0, query_scalar = 0, attention_cap = 0, final_cap = 0, attention_dropout = 0;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of queries in a block"},
      {"kv_heads", "of keys and values, each shared by heads / kv_heads queries; 0: as many as heads"},
      {"head_size", "numbers of a head; 0: embed / heads"},
      {"hidden", "hidden units of a block's gated MLP; 0: 8 * embed"},
      {"positions", "tokens that the model sees at once"},
      {"theta", "base of the rotary angles"},
      {"scaling", "frequencies of the rotary angles for more positions than pre-training had"},
      {"eps", "of norms"},
      {"tied", "the output layer is the table of the tokens' vectors"},
      {"attention_bias", "attention's layers have biases"},
      {"post_norms", "attention and MLP pass a norm once more before they are added (Gemma 2)"},
      {"qk_norm", "each query and key passes an RMS norm (Gemma 3)"},
      {"window", "a sliding layer's queries attend to so many positions, their own included; 0: to all before them"},
      {"layer_types", kLayerTypes},
      {"local_theta", "base of sliding layers' angles, which are not scaled (Gemma 3); 0: as all layers'"},
      {"query_scalar", "scores of attention are divided by its root; 0: the head's size"},
      {"attention_cap", "scores s of attention become cap * tanh(s / cap); 0: they stay"},
      {"final_cap", "the same for the scores of tokens"},
      {"attention_dropout", "fraction of attention's weights dropped in training"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or values "
                     "by name: names(attn), everything_except(mlp) .. (docs/guide.md)"}};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return hidden ? hidden : 8 * embed; }
  bool draws() const { return attention_dropout > 0; }
  void check() const {
    check_decoder(*this);
    for (auto [name, x] :
         {std::pair{"query_scalar", query_scalar}, {"attention_cap", attention_cap}, {"final_cap", final_cap},
          {"local_theta", local_theta}})
      config::domain(std::isfinite(x) && x >= 0, name, x, "above 0 (or 0)");
    bora::check<ConfigError>(local_theta == 0 || scaling.kind != nn::RotaryScaling::Kind::yarn, "local_theta: ",
                             local_theta, ": model.scaling.kind yarn scales the angles' cosines in all layers");
  }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  DecoderOptions options() const {
    auto given = [](double x) { return x > 0 ? std::optional(x) : std::nullopt; };
    auto o = decoder_options(*this);
    o.norm_offset = 1;
    o.activation = nn::Activation::gelu_new;
    o.qkv_bias = o.out_bias = attention_bias;
    o.post_norms = post_norms;
    if (qk_norm) o.qk_norm = QkNorm::each;
    for (std::int64_t i = 0; i < layers && local_theta > 0 && !layer_types.empty(); ++i) {
      bool local = layer_types[static_cast<std::size_t>(i) % layer_types.size()] == LayerType::sliding;
      auto one = local ? o.speeds_of(local_theta, {}) : o.speeds_of(theta, o.scaling);
      o.speeds.insert(o.speeds.end(), one.begin(), one.end());
    }
    o.words_scale = std::sqrt(static_cast<double>(embed));
    if (query_scalar > 0) o.scale = 1 / std::sqrt(query_scalar);
    o.soft_cap = given(attention_cap);
    o.final_soft_cap = given(final_cap);
    return o;
  }
  static constexpr std::string_view hf_types[] = {"gemma", "gemma2", "gemma3_text"};
  static GemmaConfig from_hf(HfConfig& c);
  void to_hf(HfConfig& c) const;
};
GemmaConfig GemmaConfig::from_hf(HfConfig& c) {
  auto kind = c.word("model_type");
  bool third = kind == "gemma3_text", second = third || kind == "gemma2";
  GemmaConfig r;
  decoder_from_hf(r, c, {.kv_heads = second ? 4 : 16, .positions = third ? 131072 : 8192, .head_size = 256,
                         .tied = true, .theta = third ? 1e6 : 1e4});
  r.attention_bias = c.flag("attention_bias", false);
  c.expect("use_bidirectional_attention", false);
  c.expect("mlp_bias", false);
  c.expect("hidden_activation", "gelu_pytorch_tanh");
  if (auto word = c.word("hidden_act", "gelu"); !second && word != "gelu" && word != "gelu_pytorch_tanh")
    c.refuse("hidden_act", "gelu_pytorch_tanh, for which transformers takes gelu, is");
  if (!second) return r;
  r.post_norms = true;
  r.query_scalar = c.number("query_pre_attn_scalar", 256);
  if (r.query_scalar <= 0) c.refuse("query_pre_attn_scalar", "numbers above 0 are");
  auto cap = [&](std::string_view field, double absent) {
    if (c.has(field) && c.number(field) <= 0) c.refuse(field, "numbers above 0 are");
    return c.is_null(field) ? 0 : c.number(field, absent);
  };
  if (third) c.expect("attn_logit_softcapping", HfConfig::Value());
  else r.attention_cap = cap("attn_logit_softcapping", 50);
  r.final_cap = cap("final_logit_softcapping", third ? 0 : 30);
  r.window = c.is_null("sliding_window") ? 0 : hf_size(c, "sliding_window", 4096);
  auto period = third ? hf_size(c, "sliding_window_pattern", 6) : 2;
  std::vector<LayerType> types;
  for (std::int64_t i = 0; i < r.layers; ++i)
    types.push_back((i + 1) % period != 0 ? LayerType::sliding : LayerType::full);
  r.layer_types = layer_types_from_hf(c, r.layers, types);
  c.expect("use_sliding_window", r.window > 0);
  if (!third && !c.has("layer_types")) c.expect("sliding_window_pattern", std::int64_t{2});
  c.ignore({"sliding_window_size", "sliding_window_pattern", "_sliding_window_pattern"});
  if (!third) return r;
  r.qk_norm = true;
  r.local_theta = c.number("rope_local_base_freq", 1e4);
  if (!c.has("rope_parameters")) return r;
  auto parameters = c.group("rope_parameters");
  if (parameters.has("full_attention")) {
    auto group = parameters.group("full_attention");
    auto rope = rope_from_group(group, r.positions, 1e6);
    r.theta = rope.theta;
    r.scaling = rope.scaling;
  }
  if (parameters.has("sliding_attention")) {
    auto group = parameters.group("sliding_attention");
    r.local_theta = rope_from_group(group, r.positions, r.local_theta).theta;
    group.expect("rope_type", "default");
  }
  return r;
}
void GemmaConfig::to_hf(HfConfig& c) const {
  auto windows = layer_windows(window, layer_types, layers);
  bora::check<ConfigError>(!qk_norm || (post_norms && attention_cap == 0), "model.qk_norm: no architecture of Hugging ",
                           "Face's transformers has it without model.post_norms or with model.attention_cap");
  bora::check<ConfigError>(qk_norm == (local_theta > 0), "model.local_theta: Hugging Face's Gemma 3 has it, and ",
                           "model.qk_norm with it");
  if (!post_norms)
    for (auto [absent, setting] : {std::pair{windows.empty(), "window"},
                                   {attention_cap == 0, "attention_cap"},
                                   {final_cap == 0, "final_cap"},
                                   {query_scalar == 0, "query_scalar"}})
      bora::check<ConfigError>(absent, "model.", setting,
                               ": no architecture of Hugging Face's transformers has it without model.post_norms");
  if (qk_norm) decoder_to_hf(*this, c, "Gemma3", "gemma3_text");
  else decoder_to_hf(*this, c, post_norms ? "Gemma2" : "Gemma", post_norms ? "gemma2" : "gemma");
  c.set("attention_bias", attention_bias);
  c.set("hidden_act", "gelu_pytorch_tanh");
  c.set("hidden_activation", "gelu_pytorch_tanh");
  if (!post_norms) return;
  auto scalar = query_scalar > 0 ? query_scalar : static_cast<double>(decoder_head_size(*this));
  bora::check<ConfigError>(scalar == std::floor(scalar), "model.query_scalar: Hugging Face's Gemmas have an integer, ",
                           "not ", scalar);
  c.set("query_pre_attn_scalar", static_cast<std::int64_t>(scalar));
  for (auto [field, cap] : {std::pair{"attn_logit_softcapping", attention_cap}, {"final_logit_softcapping", final_cap}})
    c.set(field, cap > 0 ? HfConfig::Value(cap) : HfConfig::Value());
  if (window > 0) c.set("sliding_window", window);
  if (qk_norm) c.set("rope_local_base_freq", local_theta);
  layer_types_to_hf(windows.empty() ? std::vector{LayerType::full} : layer_types, layers, c);
}
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::RotaryDecoder<bora::models::GemmaConfig>>>;
