// experts_block.h -- a block whose feed-forward layer is experts, of which each token passes a few, and the settings of
// its router.
#pragma once
#include "bora/nn/moe.h"
#include "models/families/rotary_decoder.h"

namespace bora::models {
struct ExpertsBlock {
  nn::RmsNorm norm_1;
  nn::Attention attn;
  nn::RmsNorm norm_2;
  nn::Moe moe;
  using Report = nn::RouterReport;
  static ExpertsBlock init(const DecoderOptions& c, const Array& key) {
    auto keys = random::split<2>(key);
    std::optional<nn::ClampedGate> clamped;
    if (c.gate_limit > 0) clamped = {c.gate_slope, c.gate_limit};
    auto weights = c.renormalized ? nn::RouterWeights::renormalized : nn::RouterWeights::probabilities;
    return {c.norm(), decoder_attention(c, keys[0]), c.norm(),
            nn::Moe::init({nn::kExperts, c.experts}, c.embed_axis(), {nn::kMlp, c.hidden}, c.chosen, keys[1],
                          {.weight = nn::Init::normal(0.02),
                           .weights = weights,
                           .activation = c.activation,
                           .use_bias = c.expert_bias,
                           .clamped = clamped})};
  }
  /// x after attention, whose result is a.
  std::pair<NamedArray, Report> rest(const NamedArray& x, const NamedArray& a, const NamedArray& counts = {}) const {
    auto y = auto_sharded(x + a);
    auto [m, report] = moe.reported(norm_2(y), counts);
    return {auto_sharded(y + m), report};
  }
  std::pair<NamedArray, Report> reported(const NamedArray& x, nn::AttentionMask mask, const std::optional<Array>& key,
                                         const std::optional<NamedArray>& positions, const LayerValues& own,
                                         const std::optional<NamedArray>& counts) const {
    mask.window_value = own.window;
    auto a = own.turning(attn)(norm_1(x), mask, positions, key);
    return rest(x, a, counts ? *counts : NamedArray());
  }
  NamedArray operator()(const NamedArray& x, const nn::AttentionMask& mask, const std::optional<Array>& key,
                        const std::optional<NamedArray>& positions, const LayerValues& own) const {
    return reported(x, mask, key, positions, own, none).first;
  }
  std::pair<NamedArray, nn::KeyValues> decode(const NamedArray& x, const nn::KeyValues& pages, const nn::PagePlaces& at,
                                              const LayerValues& own) const {
    auto [a, kv] = own.turning(attn).decode(norm_1(x), pages, at, {.window_value = own.window});
    return {rest(x, a).first, kv};
  }
};
/// Throws ConfigError for a setting of the experts.
template <class C> void check_experts(const C& c) {
  config::domain(c.experts >= 1 && c.experts <= 1 << 20, "experts", c.experts, "from 1 to 2^20");
  bora::check<ConfigError>(c.chosen >= 1 && c.chosen <= c.experts, "chosen: a token passes ", c.chosen,
                           " of model.experts ", c.experts, "; it must be from 1 to all of them");
  for (auto [name, x] : {std::pair{"router_loss", c.router_loss}, {"router_z_loss", c.router_z_loss}})
    config::domain(std::isfinite(x) && x >= 0, name, x, "0 or more");
}
/// What training's loss gets of a report, by the settings.
template <class C> bool has_router_loss(const C& c) { return c.router_loss > 0 || c.router_z_loss > 0; }
template <class C> NamedArray router_losses(const C& c, const nn::RouterReport& report) {
  return nn::load_balancing_loss(report) * c.router_loss + nn::router_z_loss(report) * c.router_z_loss;
}
/// router_aux_loss_coef, which transformers adds only with output_router_logits.
template <class C> void router_loss_from_hf(C& r, HfConfig& c) {
  auto rate = c.number("router_aux_loss_coef", 1e-3);
  r.router_loss = c.flag("output_router_logits", false) ? rate : 0;
}
template <class C> void router_loss_to_hf(const C& m, HfConfig& c) {
  c.set("output_router_logits", m.router_loss > 0);
  if (m.router_loss > 0) c.set("router_aux_loss_coef", m.router_loss);
}
template <class C> std::vector<AxisSize> expert_axes(const C& c) {
  auto all = decoder_axes(c);
  all.push_back({nn::kExperts, "model.experts", c.experts, "expert"});
  return all;
}
namespace said {
inline constexpr M experts{"experts", "in a block; a mapping may split them over ranks (axis experts)"},
    chosen{"chosen", "experts that a token passes"},
    router_loss{"router_loss", "times the load-balancing loss of the routers is added to training's loss; 0: none"},
    router_z_loss{"router_z_loss", "times the mean of the routers' logsumexp(scores)^2 is added; ST-MoE: 1e-3"};
}  // namespace said
}  // namespace bora::models
