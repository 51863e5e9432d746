// SmolLM3 (Bakouch et al. 2025): Llama in whose every fourth layer positions turn nothing (NoPE; Yang et al. 2025).
#include "models/families/rotary_decoder.h"

namespace bora::models {
namespace {
enum class Turn : std::uint8_t { rotary, plain };
struct SmolLm3Config {
  static constexpr std::string_view type = "smollm3";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, head_size = 0, hidden = 0, positions = 128;
  double theta = 2e6;
  RopeScaling scaling = {};
  std::vector<Turn> turns = {Turn::rotary, Turn::rotary, Turn::rotary, Turn::plain};
  float eps = 1e-6F;
  bool tied = true, attention_bias = false, mlp_bias = false;
  nn::Activation activation = nn::Activation::silu;
  double attention_dropout = 0;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed, said::heads, said::kv_heads, said::head_size, said::hidden, said::positions,
      said::theta, said::scaling,
      {"turns", "positions in the layers in turn, repeated: rotary, or plain, which turns no queries and keys"},
      said::eps, said::tied, said::attention_bias, {"mlp_bias", "the MLP's layers have biases"}, said::activation,
      said::attention_dropout, said::checkpoint};
  static constexpr std::int64_t window = 0;
  static inline const std::vector<LayerType> layer_types = {LayerType::full};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return gated_units(*this); }
  bool draws() const { return attention_dropout > 0; }
  bool turned(std::int64_t layer) const {
    return turns[static_cast<std::size_t>(layer) % turns.size()] == Turn::rotary;
  }
  bool has_plain() const { return std::find(turns.begin(), turns.end(), Turn::plain) != turns.end(); }
  void check() const {
    check_decoder(*this);
    bora::check<ConfigError>(!turns.empty(), "turns: there must be one or more");
    bora::check<ConfigError>(!has_plain() || scaling.kind != nn::RotaryScaling::Kind::yarn, "turns: model.scaling.kind",
                             " yarn scales the angles' cosines in all layers, also in plain ones");
  }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  DecoderOptions options() const {
    auto o = llama_options(*this);
    if (!has_plain()) return o;
    auto own = o.speeds_of(theta, o.scaling);
    for (std::int64_t i = 0; i < layers; ++i)
      for (auto speed : own) o.speeds.push_back(turned(i) ? speed : 0);  // an angle of 0 turns nothing
    return o;
  }
  static constexpr std::string_view hf_types[] = {"smollm3"};
  static SmolLm3Config from_hf(HfConfig& c) {
    SmolLm3Config r;
    decoder_from_hf(r, c, {.kv_heads = c.is_null("num_key_value_heads") ? 0 : 4, .positions = 32768, .tied = true,
                           .theta = 2e6});
    auto all = c.integers("no_rope_layers");  // 1: with angles
    auto every = hf_size(c, "no_rope_layer_interval", 4);
    if (!all.empty() && static_cast<std::int64_t>(all.size()) < r.layers)
      c.refuse("no_rope_layers", "there must be a number for each layer");
    r.turns.clear();
    for (std::int64_t i = 0; i < r.layers; ++i) {
      bool turns = all.empty() ? (i + 1) % every != 0 : all[static_cast<std::size_t>(i)] != 0;
      r.turns.push_back(turns ? Turn::rotary : Turn::plain);
    }
    c.expect("use_sliding_window", false);
    c.ignore({"sliding_window", "max_window_layers"});  // of windows that are switched off
    read_fields(r, c, llama_fields<SmolLm3Config>());
    return r;
  }
  void to_hf(HfConfig& c) const {
    decoder_to_hf(*this, c, "SmolLM3", "smollm3");
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < layers; ++i) all.push_back(turned(i));
    c.set("no_rope_layers", all);
    write_fields(*this, c, llama_fields<SmolLm3Config>());
  }
};
using SmolLm3 = RotaryDecoder<SmolLm3Config>;
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::SmolLm3>>;
