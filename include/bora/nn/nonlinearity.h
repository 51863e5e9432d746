// nonlinearity.h -- functions of each element by name.
#pragma once
#include "bora/named/named.h"

namespace bora::nn {
enum class Nonlinearity : std::uint8_t {
  identity, relu, gelu, gelu_exact, silu, tanh, sigmoid, elu, celu, selu, leaky_relu, relu6, relu_squared, softplus,
  soft_sign, squareplus, mish, quick_gelu, hard_tanh, hard_sigmoid, hard_silu, log_sigmoid, sparse_plus, sparse_sigmoid
};
/// The function of this name, in jax.nn's words and those of torch and transformers: "gelu" and "gelu_new" (the tanh
/// form), "gelu_exact", "silu" or "swish", "hard_silu" or "hard_swish", "sigmoid" or "logistic", "soft_sign" or
/// "softsign", "identity" or "linear". Throws ValueError, which lists all.
Nonlinearity nonlinearity(std::string_view name);
std::string_view to_string(Nonlinearity f);
/// f of each element, with the functions' default options; x's axes and dtype.
NamedArray apply(Nonlinearity f, const NamedArray& x);
}  // namespace bora::nn
