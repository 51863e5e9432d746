// activation.h -- the functions between the products of a feed-forward layer, as settings name them.
#pragma once
#include "bora/named/functions.h"

namespace bora::nn {
/// gelu is the exact one, gelu_new its tanh form (Hendrycks & Gimpel 2016), as transformers names them.
enum class Activation : std::uint8_t { relu, gelu, gelu_new, silu };
inline NamedArray activate(Activation f, const NamedArray& x) {
  switch (f) {
    case Activation::relu: return relu(x);
    case Activation::gelu: return gelu(x, {.approximate = false});
    case Activation::gelu_new: return gelu(x);
    case Activation::silu: return silu(x);
  }
  fail<ValueError>("activate: no function ", static_cast<int>(f));
}
}  // namespace bora::nn
