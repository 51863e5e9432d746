// deep_mlp.h -- a feed-forward network of any depth, as Haliax's and Equinox's MLP.
#pragma once
#include "bora/nn/activation.h"
#include "bora/nn/linear.h"

namespace bora::nn {
/// The options of DeepMlp::init.
struct DeepMlpInit {
  Activation activation = Activation::relu;            // behind each hidden layer
  Activation final_activation = Activation::identity;  // of the result
  LinearOptions linear = {};                           // of all layers
  std::optional<bool> use_final_bias = none;           // default: as the others
};
/// final_activation(layers[depth](.. activation(layers[1](activation(layers[0](x)))))).
struct DeepMlp {
  std::vector<Linear> layers;
  Activation activation = Activation::relu, final_activation = Activation::identity;
  /// `depth` hidden layers along the axis `width`, named width and <width>2 in turn, as Haliax; of none it is one
  /// linear layer. Throws ValueError for a negative depth, AxisError where names collide.
  static DeepMlp init(const Axes& in, const Axes& out, const Axis& width, std::int64_t depth, const Array& key,
                      const DeepMlpInit& options = {});
  /// x [..., in...] -> [..., out...].
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
