#include "bora/nn/activation.h"
#include "bora/nn/functions.h"
#include "bora/named/elementwise.h"
#include "bora/ops/nn.h"
#include "bora/ops/ufuncs.h"

namespace bora::nn {
namespace {
/// The rows of names, in the order of the enum, then those of other words.
constexpr ActivationWord kActivations[] = {
    {"relu", Activation::relu, [](const NamedArray& x) { return relu(x); }, true},
    {"gelu", Activation::gelu, [](const NamedArray& x) { return gelu(x, {.approximate = false}); }, true},
    {"gelu_new", Activation::gelu_new, [](const NamedArray& x) { return gelu(x); }, true},
    {"silu", Activation::silu, [](const NamedArray& x) { return silu(x); }, true},
    {"identity", Activation::identity, [](const NamedArray& x) { return x; }, false},
    {"tanh", Activation::tanh, [](const NamedArray& x) { return tanh(x); }, true},
    {"sigmoid", Activation::sigmoid, [](const NamedArray& x) { return sigmoid(x); }, true},
    {"elu", Activation::elu, [](const NamedArray& x) { return elu(x); }, false},
    {"celu", Activation::celu, [](const NamedArray& x) { return celu(x); }, false},
    {"selu", Activation::selu, [](const NamedArray& x) { return selu(x); }, false},
    {"leaky_relu", Activation::leaky_relu, [](const NamedArray& x) { return leaky_relu(x); }, true},
    {"relu6", Activation::relu6, [](const NamedArray& x) { return relu6(x); }, true},
    {"relu_squared", Activation::relu_squared, [](const NamedArray& x) { return relu_squared(x); }, false},
    {"softplus", Activation::softplus, [](const NamedArray& x) { return softplus(x); }, false},
    {"soft_sign", Activation::soft_sign, [](const NamedArray& x) { return soft_sign(x); }, false},
    {"squareplus", Activation::squareplus, [](const NamedArray& x) { return squareplus(x); }, false},
    {"mish", Activation::mish, [](const NamedArray& x) { return mish(x); }, true},
    {"quick_gelu", Activation::quick_gelu, [](const NamedArray& x) { return quick_gelu(x); }, true},
    {"hard_tanh", Activation::hard_tanh, [](const NamedArray& x) { return hard_tanh(x); }, false},
    {"hard_sigmoid", Activation::hard_sigmoid, [](const NamedArray& x) { return hard_sigmoid(x); }, false},
    {"hard_silu", Activation::hard_silu, [](const NamedArray& x) { return hard_silu(x); }, false},
    {"log_sigmoid", Activation::log_sigmoid, [](const NamedArray& x) { return log_sigmoid(x); }, false},
    {"sparse_plus", Activation::sparse_plus, [](const NamedArray& x) { return sparse_plus(x); }, false},
    {"sparse_sigmoid", Activation::sparse_sigmoid, [](const NamedArray& x) { return sparse_sigmoid(x); }, false},
    {"linear", Activation::identity, nullptr, true},
    {"gelu_exact", Activation::gelu, nullptr, false},
    {"gelu_fast", Activation::gelu_new, nullptr, true},
    {"gelu_pytorch_tanh", Activation::gelu_new, nullptr, true},
    {"swish", Activation::silu, nullptr, true},
    {"relu2", Activation::relu_squared, nullptr, true},
    {"hard_swish", Activation::hard_silu, nullptr, false},
    {"logistic", Activation::sigmoid, nullptr, false},
    {"softsign", Activation::soft_sign, nullptr, false},
};
const ActivationWord& row_of(Activation f) {
  for (auto& row : kActivations)
    if (row.value == f) return row;
  fail<ValueError>("activate: no function ", static_cast<int>(f));
}
}  // namespace

std::span<const ActivationWord> words_of(Activation) { return kActivations; }
Activation activation(std::string_view word) {
  std::string all;
  for (auto& row : kActivations) {
    if (row.word == word) return row.value;
    all += (all.empty() ? "" : ", ") + std::string(row.word);
  }
  fail<ValueError>("activation: no function '", word, "'; there are ", all);
}
std::string_view to_string(Activation f) { return row_of(f).word; }
NamedArray activate(Activation f, const NamedArray& x) { return row_of(f).call(x); }
}  // namespace bora::nn
