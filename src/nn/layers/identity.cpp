#include "bora/nn/identity.h"
#include "nn/core/support.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
template <> std::vector<LayerSample> samples<"Identity">() {
  auto init = [](const Array&) { return Identity{}; };
  return {sample("", init, example({Axis{kBatch, 4}, Axis{kEmbed, 8}}),
                 [](const Identity& l, const NamedArray& x) { return l(x); })};
}
template const bool added<"Identity">;
template <> std::vector<LayerSample> samples<"Lambda">() {
  auto init = [](const Array&) { return lambda([](const NamedArray& x) { return tanh(x) * x; }); };
  return {sample("", init, example({Axis{kBatch, 4}, Axis{kEmbed, 8}}),
                 [](const auto& l, const NamedArray& x) { return l(x); })};
}
template const bool added<"Lambda">;
}  // namespace bora::nn
