// quantization.h -- quantized training of the linear layers of any tree, whose own code does not know of it, with
// Haliax's names:
//   model = nn::quantize_linear_layers(model, {.type = nn::Quantization::fp8, .targets = {"up", "down"}});
//   auto [overwrites, gradients] = optim::partition_for_grad_overwrite(grad(loss)(model));
//   auto [rest, trained] = optim::partition_for_grad_overwrite(model);
//   auto [updates, next] = optimizer.update(gradients, state, trained);
//   model = optim::apply_updates(model, updates, overwrites);
// Products in int8 have no state: they need the first line only.
#pragma once
#include "bora/nn/adapters.h"
#include "bora/random/random.h"

namespace bora::nn {
enum class Quantization : std::uint8_t { fp8, int8 };  // the kind of 8-bit numbers
/// Layers, chosen by their paths such as "blocks.layer.attn.q": all of them; those whose path a regular expression
/// matches from its beginning on, "blocks.*attn"; or a list of names {"q", "k"} (the last part of a path) and of
/// patterns of paths, in which * stands for any text.
class QuantizationTargets {
 public:
  QuantizationTargets() = default;
  template <TextLike S> QuantizationTargets(const S& expression) : expression_(std::string_view(expression)) {}
  QuantizationTargets(std::initializer_list<std::string> layers) : layers_(layers) {}
  QuantizationTargets(std::vector<std::string> layers) : layers_(std::move(layers)) {}
  /// Which of the paths are chosen. Throws ValueError for an expression that is none, for one that matches no path, and
  /// for a name in the list that matches none.
  std::vector<bool> chosen(const std::vector<std::string>& paths) const;

 private:
  std::string expression_ = {};
  std::vector<std::string> layers_ = {};
};
struct QuantizationConfig {               // of quantize_linear_layers
  Quantization type = Quantization::fp8;  // the kind of products
  QuantizationTargets targets = {};       // the layers that get them
  // Options of fp8 (dot_general.h):
  std::int64_t amax_history_length = 1024;
  std::optional<Dtype> compute_dtype = none;
};
/// Gives the layer a product of 8-bit numbers; a stacked layer gets a state for each layer.
void quantize(Linear&, const QuantizationConfig&);
/// t with quantized products in the linear layers that are its targets; others stay as they are.
template <class T> T quantize_linear_layers(T t, const QuantizationConfig& config = {}) {
  std::vector<std::string> paths;
  each_linear(t, [&](const std::string& path, Linear&) { paths.push_back(path); });
  auto chosen = config.targets.chosen(paths);
  std::size_t i = 0;
  each_linear(t, [&](const std::string&, Linear& l) {
    if (chosen[i++]) quantize(l, config);
  });
  return t;
}
/// Lets an int8 product round gradients by draws of this key, with one of its own for each stacked layer. A layer
/// without such a product stays as it is.
void set_rounding_key(Linear&, const Array& key);
/// t whose int8 products round gradients by draws of this key: for draws of its own in each step, call it inside the
/// loss.
template <class T> T draw_rounding(T t, const Array& key) {
  std::int64_t i = 0;
  each_linear(t, [&](const std::string&, Linear& l) { set_rounding_key(l, random::fold_in(key, i++)); });
  return t;
}
}  // namespace bora::nn
