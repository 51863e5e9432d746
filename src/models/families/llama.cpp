// Llama (Touvron et al. 2023; Grattafiori et al. 2024), and models that differ from it by options: Mistral (Jiang et
// al. 2023), Qwen 2 and Qwen 3 (Yang et al. 2024, 2025).
#include "models/families/rotary_decoder.h"

namespace bora::models {
namespace {
enum class Biases : std::uint8_t { none, qkv, all };
struct LlamaConfig {
  static constexpr std::string_view type = "llama";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, hidden = 0, positions = 128;
  double theta = 10000;
  float eps = 1e-6F;
  bool tied = false;
  std::string checkpoint = "nothing";
  std::int64_t head_size = 0, window = 0;
  std::vector<LayerType> layer_types = {LayerType::sliding};
  RopeScaling scaling = {};
  Biases attention_bias = Biases::none;
  bool mlp_bias = false, qk_norm = false;
  nn::Activation activation = nn::Activation::silu;
  double attention_dropout = 0;
  static constexpr config::Meaning meanings[] = {
      {"layers", "number of blocks"},
      {"embed", "size of the vectors between blocks"},
      {"heads", "of queries in a block; embed is cut into as many equal parts"},
      {"kv_heads", "of keys and values, each shared by heads / kv_heads queries; 0: as many as heads"},
      {"hidden", "hidden units of a block's gated MLP; 0: 8/3 of embed, rounded up to a multiple of 64"},
      {"positions", "tokens that the model sees at once"},
      {"theta", "base of the rotary angles"},
      {"eps", "of norms"},
      {"tied", "the output layer is the table of the tokens' vectors"},
      {"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or values "
                     "by name: names(attn), everything_except(mlp) .. (docs/guide.md)"},
      {"head_size", "numbers of a head; 0: embed / heads"},
      {"window", "a sliding layer's queries attend to so many positions, their own included; 0: to all before them"},
      {"layer_types", kLayerTypes},
      {"scaling", "frequencies of the rotary angles for more positions than pre-training had"},
      {"attention_bias", "of attention's layers: none, qkv (as Qwen 2), all"},
      {"mlp_bias", "the MLP's layers have biases"},
      {"qk_norm", "each query and key passes an RMS norm (as Qwen 3)"},
      {"activation", "of the MLP's gate: relu, gelu (exact), gelu_new (its tanh form), silu ... (docs/models.md)"},
      {"attention_dropout", "fraction of attention's weights dropped in training"}};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return hidden ? hidden : (embed * 8 / 3 + 63) / 64 * 64; }
  bool draws() const { return attention_dropout > 0; }
  void check() const { check_decoder(*this); }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  DecoderOptions options() const {
    auto o = decoder_options(*this);
    o.activation = activation;
    o.qkv_bias = attention_bias != Biases::none;
    o.out_bias = attention_bias == Biases::all;
    o.mlp_bias = mlp_bias;
    if (qk_norm) o.qk_norm = QkNorm::each;
    return o;
  }
  static constexpr std::string_view hf_types[] = {"llama", "mistral", "qwen2", "qwen3"};
  static LlamaConfig from_hf(HfConfig& c);
  void to_hf(HfConfig& c) const;
};
LlamaConfig LlamaConfig::from_hf(HfConfig& c) {
  auto kind = c.word("model_type");
  bool qwen2 = kind == "qwen2", qwen3 = kind == "qwen3", mistral = kind == "mistral";
  LlamaConfig r;
  decoder_from_hf(r, c,
                  {.kv_heads = kind == "llama" || c.is_null("num_key_value_heads") ? 0 : mistral ? 8 : 32,
                   .positions = kind == "llama" ? 2048 : mistral ? 131072 : 32768,
                   .head_size = qwen3 ? 128 : 0});
  r.activation = hf_activation(c, "hidden_act", "silu");
  r.qk_norm = qwen3;
  if (qwen2) r.attention_bias = Biases::qkv;
  else if (!mistral && c.flag("attention_bias", false)) r.attention_bias = Biases::all;
  auto window = [&] { return hf_size(c, "sliding_window", c.is_null("sliding_window") ? 0 : 4096); };
  if (kind != "llama") c.expect("mlp_bias", false);
  if (qwen2) c.expect("attention_bias", true);
  if (mistral) {
    r.window = window();
    expect_window(c, r.window, r.positions, r.layers);
    c.expect("attention_bias", false);
  } else if (qwen2 || qwen3) {
    if (c.flag("use_sliding_window", false)) r.window = window();
    bool slides = r.window > 0;
    std::vector<LayerType> types;
    auto full = slides ? c.integer("max_window_layers", 28) : r.layers;
    for (std::int64_t i = 0; i < r.layers; ++i) types.push_back(i < full ? LayerType::full : LayerType::sliding);
    auto named = layer_types_from_hf(c, r.layers, types);
    if (slides) r.layer_types = named;
    else if (c.has("layer_types") && named != std::vector{LayerType::full})
      c.refuse("layer_types", "sliding layers need use_sliding_window and a sliding_window");
    c.ignore({"sliding_window", "max_window_layers"});
    c.expect("use_mrope", false);  // of Qwen 2.5's files
  } else {
    r.mlp_bias = c.flag("mlp_bias", false);
    c.expect("rope_interleaved", false);  // of SmolLM's files
    c.ignore({"is_llama_config"});
  }
  return r;
}
void LlamaConfig::to_hf(HfConfig& c) const {
  auto windows = layer_windows(window, layer_types, layers);
  bool slides = !windows.empty();
  std::string kind = qk_norm ? "qwen3" : attention_bias == Biases::qkv ? "qwen2" : slides ? "mistral" : "llama";
  auto need = [&](bool ok, std::string_view setting) {
    bora::check<ConfigError>(ok, "model.", setting, ": no architecture of Hugging Face's transformers has it beside ",
                             "the other settings, which are ", kind, "'s");
  };
  need(!mlp_bias || kind == "llama", "mlp_bias");
  need(kind != "mistral" || attention_bias == Biases::none, "attention_bias");
  need(kind != "qwen3" || attention_bias != Biases::qkv, "attention_bias");
  need(kind != "mistral" || std::all_of(windows.begin(), windows.end(), [&](auto w) { return w == window; }),
       "layer_types");
  need(kind != "llama" || embed % heads == 0, "head_size");
  auto name = kind == "llama" ? "Llama" : kind == "mistral" ? "Mistral" : kind == "qwen2" ? "Qwen2" : "Qwen3";
  decoder_to_hf(*this, c, name, kind);
  c.set("hidden_act", hf_word(activation));
  if (kind == "llama" || kind == "qwen3") c.set("attention_bias", attention_bias == Biases::all);
  if (kind == "llama") c.set("mlp_bias", mlp_bias);
  if (kind == "mistral") c.set("sliding_window", window);
  if (kind != "qwen2" && kind != "qwen3") return;
  c.set("use_sliding_window", slides);
  c.set("max_window_layers", layers);
  if (!slides) return;
  c.set("sliding_window", window);
  layer_types_to_hf(layer_types, layers, c);
}
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::RotaryDecoder<bora::models::LlamaConfig>>>;
