// mlp.h -- the feed-forward layer of GPT-2.
#pragma once
#include "bora/nn/activation.h"
#include "bora/nn/linear.h"

namespace bora::nn {
/// down(activation(up(x))).
struct Mlp {
  Linear up, down;
  Activation activation = Activation::gelu_new;
  static Mlp init(const Axis& embed, const Axis& hidden, const Array& key, const LinearOptions& up = {},
                  const LinearOptions& down = {}, Activation activation = Activation::gelu_new);
  /// x [..., embed] -> the same axes.
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
