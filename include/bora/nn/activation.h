// activation.h -- functions of each element by name, as layers, settings and config.json choose them.
#pragma once
#include <span>
#include "bora/named/array.h"

namespace bora::nn {
/// As transformers names them: gelu is the exact one (erf), gelu_new its tanh form (Hendrycks & Gimpel 2016), which is
/// what the function gelu(x) computes by default.
enum class Activation : std::uint8_t {
  relu, gelu, gelu_new, silu, identity, tanh, sigmoid, elu, celu, selu, leaky_relu, relu6, relu_squared, softplus,
  soft_sign, squareplus, mish, quick_gelu, hard_tanh, hard_sigmoid, hard_silu, log_sigmoid, sparse_plus, sparse_sigmoid
};
/// A word for a function. The first word of a function is its name, which settings are written with; the others are
/// read too.
struct ActivationWord {
  std::string_view word;
  Activation value;
  NamedArray (*call)(const NamedArray&);
  bool hugging_face;  // transformers has the word, with this meaning
};
/// All words; config::read and config::write find this table by its name.
std::span<const ActivationWord> words_of(Activation = {});
/// The function of this word: jax.nn's, torch's or transformers', in which "gelu" is the exact one. Throws ValueError,
/// which lists all words.
Activation activation(std::string_view word);
std::string_view to_string(Activation f);  // the first word of f
/// f of each element, with the functions' default options; x's axes and dtype.
NamedArray activate(Activation f, const NamedArray& x);
}  // namespace bora::nn
