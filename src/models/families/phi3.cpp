// Phi-3 and Phi-4 (Abdin et al. 2024): Llama whose files have queries, keys and values as one tensor, gate and up as
// another, with a window, and positions that turn a part of each head, by factors of their own for more positions than
// pre-training had.
#include "models/families/rotary_decoder.h"
#include "models/hf/long_rope.h"

namespace bora::models {
namespace {
struct Phi3Config {
  static constexpr std::string_view type = "phi3";
  std::int64_t layers = 4, embed = 128, heads = 4, kv_heads = 0, head_size = 0, hidden = 0, positions = 128;
  std::int64_t rotary = 0, window = 0;
  double theta = 10000;
  RopeScaling scaling = {};
  LongRope longer = {};
  float eps = 1e-5F;
  bool tied = false;
  nn::Activation activation = nn::Activation::silu;
  double attention_dropout = 0;
  std::string checkpoint = "nothing";
  static constexpr config::Meaning meanings[] = {
      said::layers, said::embed, said::heads,      said::kv_heads, said::head_size, said::hidden, said::positions,
      said::rotary, {"window", "queries attend to so many positions, their own included; 0: to all before them"},
      said::theta,  said::scaling, {"longer", "factors of the angles for more positions than pre-training had"},
      said::eps,      said::tied,     said::activation, said::attention_dropout,
      said::checkpoint};
  static inline const std::vector<LayerType> layer_types = {LayerType::sliding};
  std::int64_t key_heads() const { return kv_heads ? kv_heads : heads; }
  std::int64_t hidden_units() const { return gated_units(*this); }
  bool draws() const { return attention_dropout > 0; }
  void check() const {
    check_decoder(*this);
    check_rotary(rotary, decoder_head_size(*this));
    if (!longer.given()) return;
    bora::check<ConfigError>(scaling.kind == nn::RotaryScaling::Kind::none, "scaling.kind: model.longer.positions ",
                             longer.positions, " is a scaling of its own; set one of both");
    config::domain(positions <= longer.positions, "positions", positions, "at most model.longer.positions");
    auto pairs = static_cast<std::size_t>(rotary ? rotary : decoder_head_size(*this)) / 2;
    for (auto [name, all] : {std::pair{"short", &longer.short_factors}, {"long", &longer.long_factors}})
      bora::check<ConfigError>(all->size() == pairs, "longer.", name, "_factors: ", all->size(), " of them for ", pairs,
                               " pairs");
  }
  std::vector<AxisSize> axes() const { return decoder_axes(*this); }
  DecoderOptions options() const {
    auto o = decoder_options(*this);
    o.rotary = rotary;
    o.activation = activation;
    o.joined = true;
    if (!longer.given()) return o;
    auto own = o.speeds_of(theta, {});
    for (std::size_t i = 0; i < own.size(); ++i) own[i] /= longer.factors(positions)[i];
    for (std::int64_t i = 0; i < layers; ++i) o.speeds.insert(o.speeds.end(), own.begin(), own.end());
    o.scaling = {.kind = nn::RotaryScaling::Kind::yarn,  // by 1, for its amplitude
                 .original_positions = longer.pretrained_positions,
                 .amplitude = longer.amplitude_or_default()};
    return o;
  }
  static constexpr std::string_view hf_types[] = {"phi3"};
  static Phi3Config from_hf(HfConfig& c) {
    Phi3Config r;
    decoder_from_hf(r, c, {.positions = 4096, .eps = 1e-5, .part = 1});
    auto scaled = c.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
    if (r.scaling.kind != nn::RotaryScaling::Kind::none) c.refuse(scaled, "angles without scaling and longrope are");
    // Rows that pre-training had turn by the short factors; more positions are the user's choice.
    if (r.longer.given()) r.positions = std::min(r.positions, r.longer.pretrained_positions);
    r.activation = hf_activation(c, "hidden_act", "silu");
    for (auto rate : {"resid_pdrop", "embd_pdrop"}) c.expect(rate, 0.0);
    r.window = hf_size(c, "sliding_window", 0);
    expect_window(c, r.window, r.positions, r.layers);
    c.expect("attention_bias", false);
    c.expect("mlp_bias", false);
    return r;
  }
  void to_hf(HfConfig& c) const {
    bora::check<ConfigError>(scaling.kind == nn::RotaryScaling::Kind::none, "model.scaling.kind: transformers' Phi3 ",
                             "has longrope alone, model.longer; set it to none");
    decoder_to_hf(*this, c, "Phi3", "phi3");
    if (longer.given()) long_rope_to_hf(longer, c);
    c.set("hidden_act", hf_word(activation));
    c.set("sliding_window", window > 0 ? HfConfig::Value(window) : HfConfig::Value());
  }
};
}  // namespace
}  // namespace bora::models
template const bool bora::config::added<bora::models::ModelOf<bora::models::RotaryDecoder<bora::models::Phi3Config>>>;
