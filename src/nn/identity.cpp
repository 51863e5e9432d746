#include "bora/nn/identity.h"
#include "nn/support.h"

namespace bora::nn {
namespace {
std::vector<LayerSample> identities() {
  auto init = [](const Array&) { return Identity{}; };
  return {sample("", init, example({Axis{kBatch, 4}, Axis{kEmbed, 8}}),
                 [](const Identity& l, const NamedArray& x) { return l(x); })};
}
std::vector<LayerSample> lambdas() {
  auto init = [](const Array&) { return lambda([](const NamedArray& x) { return tanh(x) * x; }); };
  return {sample("", init, example({Axis{kBatch, 4}, Axis{kEmbed, 8}}),
                 [](const auto& l, const NamedArray& x) { return l(x); })};
}
[[maybe_unused]] const bool registered = add_layer("Identity", identities) && add_layer("Lambda", lambdas);
}  // namespace
}  // namespace bora::nn
