// mlp.h -- feed-forward layers: one hidden layer, gated or not, as models have it; and a network of any depth.
#pragma once
#include "bora/nn/activation.h"
#include "bora/nn/dropout.h"
#include "bora/nn/linear.h"

namespace bora::nn {
/// down(activation(up(x))), as GPT-2 has it; with a gate down(activation(gate(x)) * up(x)), Llama's SwiGLU and its kin
/// (Shazeer 2020).
struct Mlp {
  std::optional<Linear> gate;
  Linear up, down;
  Activation activation = Activation::gelu_new;
  Dropout dropout = {};  // of hidden units, the same along `position`, as T5X drops out; where there is a key
  static Mlp init(const Axis& embed, const Axis& hidden, const Array& key, const LinearOptions& up = {},
                  const LinearOptions& down = {}, Activation activation = Activation::gelu_new);
  /// With a gate, which has the options of `up`; without biases unless the options ask for them.
  static Mlp gated(const Axis& embed, const Axis& hidden, const Array& key,
                   const LinearOptions& up = {.use_bias = false}, const LinearOptions& down = {.use_bias = false},
                   Activation activation = Activation::silu);
  /// x [..., embed] -> the same axes.
  NamedArray operator()(const NamedArray& x, const std::optional<Array>& key = none) const;
};

/// The options of DeepMlp::init.
struct DeepMlpInit {
  Activation activation = Activation::relu;            // behind each hidden layer
  Activation final_activation = Activation::identity;  // of the result
  LinearOptions linear = {};                           // of all layers
  std::optional<bool> use_final_bias = none;           // default: as the others
};
/// Haliax's and Equinox's MLP: final_activation(layers[depth](.. activation(layers[1](activation(layers[0](x)))))).
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
