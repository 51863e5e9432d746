// moe.h -- a feed-forward layer of experts, of which each token passes a few.
#pragma once
#include "bora/nn/activation.h"
#include "bora/nn/linear.h"

namespace bora::nn {
inline constexpr const char* kExperts = "experts";  // the logical axis of the experts
/// How an expert's output is weighted. renormalized: by the softmax over the chosen experts' scores, which are the
/// chosen probabilities over their sum (Mixtral); probabilities: by the softmax over all experts (Switch Transformers).
enum class RouterWeights : std::uint8_t { renormalized, probabilities };
/// What an expert makes of its gate g and up u in place of activation(g) u (gpt-oss): (c(u) + 1) m sigmoid(slope m),
/// where m = min(g, limit) and c(u) is u within [-limit, limit].
struct ClampedGate {
  double slope = 1.702, limit = 7;
};
/// The options of Moe::init.
struct MoeInit {
  Init weight = Init::fan_in();                         // of the first weights
  RouterWeights weights = RouterWeights::renormalized;  // how experts' outputs are weighted
  Activation activation = Activation::silu;             // inside of each expert
  bool use_bias = false;                                // of the router and of the experts' layers; 0 at first
  std::optional<ClampedGate> clamped = none;            // in place of the activation
};
/// Statistics of a router: means over the tokens (0 if there are none), f32 (f64 for f64).
struct RouterReport {
  NamedArray load;         // [experts]: how often a token chose the expert; all add up to the number chosen
  NamedArray probability;  // [experts]: of the softmax over all experts
  NamedArray z;            // []: logsumexp(scores)^2
};
/// A router chooses for each token the `chosen` experts of the highest scores (of equal ones the lower number); each
/// expert is a gated Mlp. No token is dropped, whatever the experts' load: tokens are sorted by
/// expert, and ragged_dot multiplies each expert's (Jiang et al. 2024, "Mixtral of Experts"; Gale et al. 2022,
/// "MegaBlocks"). Scores and weights are computed in f32.
/// Sharded: tokens are sorted inside each row of a batch, so rows may be split. Where the mapping splits `experts`, a
/// rank computes its experts for all tokens that it sees, and the layer's result is the sum over the ranks; where it
/// splits the hidden units, each rank has its part of every expert.
struct Moe {
  Linear router;              // embed -> experts
  NamedArray gate, up, down;  // [experts, embed, mlp], the same, [experts, mlp, embed]
  std::int64_t chosen;
  RouterWeights weights = RouterWeights::renormalized;
  Activation activation = Activation::silu;
  std::optional<NamedArray> gate_bias = none, up_bias = none, down_bias = none;  // [experts, mlp], .., [experts, embed]
  std::optional<ClampedGate> clamped = none;
  static constexpr bool decays(std::string_view field) { return !field.ends_with("_bias"); }
  /// Throws ValueError unless 1 <= chosen <= experts.
  static Moe init(const Axis& experts, const Axis& embed, const Axis& hidden, std::int64_t chosen, const Array& key,
                  const MoeInit& options = {});
  /// x [..., embed] -> the same axes. Tokens are sorted along `position`, or along the last other axis.
  NamedArray operator()(const NamedArray& x) const;
  /// The same, and the router's report on the tokens for which `counts` (boolean, over some of x's axes) holds.
  std::pair<NamedArray, RouterReport> reported(const NamedArray& x, const NamedArray& counts = {}) const;
};
/// The number of experts * sum over experts of load * probability, a scalar: `chosen` if the load is even (Fedus et al.
/// 2021, eq. 4). Reports of several layers, along further axes: of their means, as transformers computes it.
NamedArray load_balancing_loss(const RouterReport& report);
/// The mean of logsumexp(scores)^2, a scalar (Zoph et al. 2022, eq. 5).
NamedArray router_z_loss(const RouterReport& report);
}  // namespace bora::nn
