// gated_mlp.h -- the feed-forward layer of Llama.
#pragma once
#include "bora/nn/linear.h"

namespace bora::nn {
/// SwiGLU (Shazeer 2020): down(silu(gate(x)) * up(x)), without biases unless the options ask for them.
struct GatedMlp {
  Linear gate, up, down;
  static GatedMlp init(const Axis& embed, const Axis& hidden, const Array& key,
                       const LinearOptions& up = {.use_bias = false}, const LinearOptions& down = {.use_bias = false});
  /// x [..., embed] -> the same axes.
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
