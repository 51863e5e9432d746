// gated_mlp.h -- the feed-forward layer of Llama.
#pragma once
#include "bora/nn/activation.h"
#include "bora/nn/linear.h"

namespace bora::nn {
/// SwiGLU (Shazeer 2020): down(silu(gate(x)) * up(x)), or its kin with another activation; without biases unless the
/// options ask for them.
struct GatedMlp {
  Linear gate, up, down;
  Activation activation = Activation::silu;
  static GatedMlp init(const Axis& embed, const Axis& hidden, const Array& key,
                       const LinearOptions& up = {.use_bias = false}, const LinearOptions& down = {.use_bias = false},
                       Activation activation = Activation::silu);
  /// x [..., embed] -> the same axes.
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
