// hf_activation.h -- the words of config.json for the functions of a feed-forward layer.
#pragma once
#include "bora/models/hugging_face.h"
#include "bora/nn/activation.h"

namespace bora::models {
/// Refuses functions that are not supported.
inline nn::Activation hf_activation(HfConfig& c, std::string_view field, std::string_view absent) {
  using nn::Activation;
  auto word = c.word(field, absent);
  for (auto [name, f] : {std::pair{"relu", Activation::relu},
                         {"gelu", Activation::gelu},
                         {"gelu_new", Activation::gelu_new},
                         {"gelu_fast", Activation::gelu_new},
                         {"gelu_pytorch_tanh", Activation::gelu_new},
                         {"silu", Activation::silu},
                         {"swish", Activation::silu}})
    if (word == name) return f;
  c.refuse(field, "relu, gelu, gelu_new, gelu_pytorch_tanh and silu are");
}
inline std::string hf_word(nn::Activation f) {
  using nn::Activation;
  return f == Activation::relu       ? "relu"
         : f == Activation::gelu     ? "gelu"
         : f == Activation::gelu_new ? "gelu_new"
                                     : "silu";
}
}  // namespace bora::models
