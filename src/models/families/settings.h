// settings.h -- what the settings of decoders with rotary positions share: meanings of fields, sizes, axes. Private.
#pragma once
#include "bora/config/config.h"
#include "bora/nn/axes.h"
#include "models/hf/rope.h"
#include "models/lm/config_check.h"

namespace bora::models {
/// The meanings of fields that these models' settings share.
namespace said {
using M = config::Meaning;
inline constexpr M layers{"layers", "number of blocks"}, embed{"embed", "size of the vectors between blocks"},
    heads{"heads", "of queries in a block; embed is cut into as many equal parts"},
    kv_heads{"kv_heads", "of keys and values, each shared by heads / kv_heads queries; 0: as many as heads"},
    head_size{"head_size", "numbers of a head; 0: embed / heads"},
    hidden{"hidden", "hidden units of a block's gated MLP; 0: 8/3 of embed, rounded up to a multiple of 64"},
    positions{"positions", "tokens that the model sees at once"}, theta{"theta", "base of the rotary angles"},
    scaling{"scaling", "frequencies of the rotary angles for more positions than pre-training had"},
    rotary{"rotary", "numbers of each head that positions turn, in pairs; 0: all"}, eps{"eps", "of norms"},
    tied{"tied", "the output layer is the table of the tokens' vectors"},
    attention_bias{"attention_bias", "attention's layers have biases"},
    window{"window",
           "a sliding layer's queries attend to so many positions, their own included; 0: to all before them"},
    layer_types{"layer_types", kLayerTypes},
    activation{"activation",
               "of the MLP's gate: relu, gelu (exact), gelu_new (its tanh form), silu ... (docs/models.md)"},
    attention_dropout{"attention_dropout", "fraction of attention's weights dropped in training"},
    checkpoint{"checkpoint", "what a block saves for its backward pass: nothing, dots, dots_no_batch, everything, or "
                             "values by name: names(attn), everything_except(mlp) .. (docs/guide.md)"};
}  // namespace said
/// By default a gated MLP has 8/3 of embed units, rounded up to a multiple of 64.
template <class C> std::int64_t gated_units(const C& c) {
  return c.hidden ? c.hidden : (c.embed * 8 / 3 + 63) / 64 * 64;
}
template <class C> std::vector<AxisSize> decoder_axes(const C& c) {
  return {{nn::kHeads, "model.kv_heads", c.key_heads(), "head", " of keys"},
          {nn::kHeadGroup, "model.heads", c.heads / c.key_heads(), "head", " of queries for each head of keys"},
          {nn::kMlp, "model.hidden", c.hidden_units(), "hidden unit"},
          {nn::kEmbed, "model.embed", c.embed, "number", " of a vector"}};
}
}  // namespace bora::models
