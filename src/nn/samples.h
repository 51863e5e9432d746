// samples.h -- the registry of layers. Each layer's source adds examples of it, from which tests/nn/laws_test.cpp tests
// all layers: staged as run directly, sharded as local, gradients, dtypes, paths.
#pragma once
#include <functional>
#include "bora/named/mapping.h"
#include "bora/named/random.h"
#include "bora/nn/axes.h"

namespace bora::nn {
/// A layer and an input, without their types.
struct LayerSample {
  std::string what;
  std::vector<std::string> paths;  // of the parameters
  NamedArray x;
  std::function<Arrays(const Array& key)> init;  // the parameters, constrained by the current mapping
  std::function<NamedArray(const Arrays& parameters, const NamedArray& x)> call;
};
/// init(key) -> the layer; call(layer, x).
template <class Init, class Call> LayerSample sample(std::string what, Init init, NamedArray x, Call call) {
  auto like = init(random::key(0));
  return {std::move(what), tree::paths(like), std::move(x),
          [init](const Array& key) { return tree::leaves(sharded(init(key), current_mapping())); },
          [like, call](const Arrays& parameters, const NamedArray& v) {
            return call(tree::unflatten(like, parameters), v);
          }};
}
/// Fixed numbers in [-1, 1], f32.
NamedArray example(const Axes& axes);

struct LayerRow {
  std::string name;
  std::vector<LayerSample> (*samples)();
};
std::vector<LayerRow>& layer_rows();
/// Called by each layer's source when the program starts; `samples` runs later, in tests only.
bool add_layer(std::string_view name, std::vector<LayerSample> (*samples)());
}  // namespace bora::nn
