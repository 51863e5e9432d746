#include "bora/nn/dropout.h"
#include "nn/support.h"

namespace bora::nn {
NamedArray Dropout::operator()(const NamedArray& x, const std::optional<Array>& key) const {
  return key ? dropout(*key, x, static_cast<double>(rate)) : x;
}

namespace {
std::vector<LayerSample> samples() {
  auto init = [](const Array&) { return Dropout{0.25F}; };
  auto call = [](const Dropout& d, const NamedArray& x) { return d(x, random::key(3)); };
  return {sample("with a key", init, example({Axis{kBatch, 4}, Axis{kEmbed, 8}}), call)};
}
[[maybe_unused]] const bool registered = add_layer("Dropout", samples);
}  // namespace
}  // namespace bora::nn
