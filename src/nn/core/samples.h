// samples.h -- the registry of layers. Each layer's source adds examples of it, from which tests/nn/laws_test.cpp tests
// all layers: staged as run directly, sharded as local, gradients, dtypes, paths.
#pragma once
#include <algorithm>
#include <functional>
#include "bora/named/sharded.h"
#include "bora/random/random.h"
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

/// rounds: the layer rounds as it computes. It is constant between steps, so that gradients, which pass the rounding,
/// are no differences.
enum class LayerKind : std::uint8_t { smooth, rounds };
struct LayerRow {
  std::string name;
  std::vector<LayerSample> (*samples)();
  LayerKind kind;
};
std::vector<LayerRow>& layer_rows();
bool add_layer(LayerRow row);
/// A layer's name as a template argument.
template <std::size_t N> struct LayerName {
  char text[N];
  constexpr LayerName(const char (&s)[N]) { std::copy_n(s, N, text); }
};
/// Each layer's source specializes it. It runs in tests only.
template <LayerName name> std::vector<LayerSample> samples();
/// An explicit instantiation adds the layer at start-up. It needs no name of its own, so that files can be compiled
/// together:
///   template const bool added<"Linear">;
template <LayerName name, std::vector<LayerSample> (*samples_of)() = samples<name>, LayerKind kind = LayerKind::smooth>
inline const bool added = add_layer({name.text, samples_of, kind});
}  // namespace bora::nn
