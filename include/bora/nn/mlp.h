// mlp.h -- the feed-forward layer of GPT-2.
#pragma once
#include "bora/nn/linear.h"

namespace bora::nn {
/// down(gelu(up(x))), with the tanh form of GELU (Hendrycks & Gimpel 2016).
struct Mlp {
  Linear up, down;
  static Mlp init(const Axis& embed, const Axis& hidden, const Array& key, const LinearOptions& up = {},
                  const LinearOptions& down = {});
  /// x [..., embed] -> the same axes.
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
