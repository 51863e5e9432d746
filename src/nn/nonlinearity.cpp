#include "bora/nn/nonlinearity.h"
#include "bora/nn/functions.h"

namespace bora::nn {
namespace {
struct Row {
  std::string_view name;
  Nonlinearity f;
  NamedArray (*call)(const NamedArray&);
};
/// The first row of a function has its own name, further ones are other words for it.
constexpr Row kRows[] = {
    {"identity", Nonlinearity::identity, [](const NamedArray& x) { return x; }},
    {"relu", Nonlinearity::relu, [](const NamedArray& x) { return relu(x); }},
    {"gelu", Nonlinearity::gelu, [](const NamedArray& x) { return gelu(x); }},
    {"gelu_exact", Nonlinearity::gelu_exact, [](const NamedArray& x) { return gelu(x, {.approximate = false}); }},
    {"silu", Nonlinearity::silu, [](const NamedArray& x) { return silu(x); }},
    {"tanh", Nonlinearity::tanh, [](const NamedArray& x) { return tanh(x); }},
    {"sigmoid", Nonlinearity::sigmoid, [](const NamedArray& x) { return sigmoid(x); }},
    {"elu", Nonlinearity::elu, [](const NamedArray& x) { return elu(x); }},
    {"celu", Nonlinearity::celu, [](const NamedArray& x) { return celu(x); }},
    {"selu", Nonlinearity::selu, [](const NamedArray& x) { return selu(x); }},
    {"leaky_relu", Nonlinearity::leaky_relu, [](const NamedArray& x) { return leaky_relu(x); }},
    {"relu6", Nonlinearity::relu6, [](const NamedArray& x) { return relu6(x); }},
    {"relu_squared", Nonlinearity::relu_squared, [](const NamedArray& x) { return relu_squared(x); }},
    {"softplus", Nonlinearity::softplus, [](const NamedArray& x) { return softplus(x); }},
    {"soft_sign", Nonlinearity::soft_sign, [](const NamedArray& x) { return soft_sign(x); }},
    {"squareplus", Nonlinearity::squareplus, [](const NamedArray& x) { return squareplus(x); }},
    {"mish", Nonlinearity::mish, [](const NamedArray& x) { return mish(x); }},
    {"quick_gelu", Nonlinearity::quick_gelu, [](const NamedArray& x) { return quick_gelu(x); }},
    {"hard_tanh", Nonlinearity::hard_tanh, [](const NamedArray& x) { return hard_tanh(x); }},
    {"hard_sigmoid", Nonlinearity::hard_sigmoid, [](const NamedArray& x) { return hard_sigmoid(x); }},
    {"hard_silu", Nonlinearity::hard_silu, [](const NamedArray& x) { return hard_silu(x); }},
    {"log_sigmoid", Nonlinearity::log_sigmoid, [](const NamedArray& x) { return log_sigmoid(x); }},
    {"sparse_plus", Nonlinearity::sparse_plus, [](const NamedArray& x) { return sparse_plus(x); }},
    {"sparse_sigmoid", Nonlinearity::sparse_sigmoid, [](const NamedArray& x) { return sparse_sigmoid(x); }},
    {"linear", Nonlinearity::identity, nullptr},
    {"gelu_new", Nonlinearity::gelu, nullptr},
    {"swish", Nonlinearity::silu, nullptr},
    {"hard_swish", Nonlinearity::hard_silu, nullptr},
    {"logistic", Nonlinearity::sigmoid, nullptr},
    {"softsign", Nonlinearity::soft_sign, nullptr},
};
const Row& row_of(Nonlinearity f) {
  for (auto& row : kRows)
    if (row.f == f) return row;
  fail<ValueError>("apply: no function ", static_cast<int>(f));
}
}  // namespace

Nonlinearity nonlinearity(std::string_view name) {
  std::string all;
  for (auto& row : kRows) {
    if (row.name == name) return row.f;
    all += (all.empty() ? "" : ", ") + std::string(row.name);
  }
  fail<ValueError>("nonlinearity: no function '", name, "'; there are ", all);
}
std::string_view to_string(Nonlinearity f) { return row_of(f).name; }
NamedArray apply(Nonlinearity f, const NamedArray& x) { return row_of(f).call(x); }
}  // namespace bora::nn
