// adapters.h -- LoRA (Hu et al. 2021): trained products of low rank beside the fixed weights of linear layers, in any
// tree, whose own code does not know of them. DoRA (Liu et al. 2024, arXiv:2402.09353): these give the direction of a
// weight, and its magnitude is trained beside them.
#pragma once
#include <tuple>
#include "bora/nn/adapter_options.h"
#include "bora/nn/linear.h"
#include "bora/tree/tree.h"

namespace bora::nn {
/// Gives the layer an adapter whose product is zero: b begins with zeros. Its axes are the weight's, and so is its
/// placement; a stacked layer gets one for each layer. ValueError unless 1 <= rank.
void add_adapter(Linear&, const AdapterOptions&, const Array& key);
/// The weight plus the adapter's product, summed in f32; the adapter is gone. Integers become numbers, f32.
void merge_adapter(Linear&);
/// The norm of each output's numbers in `weight` + `product`, in f32: [stacked.., out..], which are of_outputs. Without
/// a product: of the weight's own.
NamedArray magnitudes(const NamedArray& weight, const std::optional<NamedArray>& product,
                      const std::vector<Axis>& of_outputs);
/// The numbers that a layer's weight has with its adapter, [the weight's axes], f32.
NamedArray with_adapter(const NamedArray& weight, const Adapter&);
/// Lets the adapter drop parts of its inputs, with a key of its own for each stacked layer.
void drop_inputs(Linear&, const Array& key);
/// Whether the path of a parameter is that of an adapter's.
bool in_adapter(std::string_view path);

/// Calls f(path, layer) for each Layer of a tree.
template <class Layer, class T, class F> void each_layer(T& t, const F& f, const std::string& path = {}) {
  auto at = [&](std::string_view name) { return path.empty() ? std::string(name) : path + "." + std::string(name); };
  if constexpr (std::is_same_v<T, Layer>) f(path, t);
  else if constexpr (tree::IsLeaf<T> || is_static<T> || std::is_same_v<T, std::nullopt_t> || std::is_same_v<T, Linear>)
    return;
  else if constexpr (requires {
                       t.has_value();
                       *t;
                     }) {
    if (t) each_layer<Layer>(*t, f, path);
  } else if constexpr (requires { typename T::mapped_type; }) {
    for (auto& [name, x] : t) each_layer<Layer>(x, f, at(name));
  } else if constexpr (requires {
                         t.begin();
                         t.size();
                       }) {
    std::size_t i = 0;
    for (auto& x : t) each_layer<Layer>(x, f, at(std::to_string(i++)));
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply([&, i = std::size_t(0)](auto&... x) mutable { (each_layer<Layer>(x, f, at(std::to_string(i++))), ...); },
               t);
  } else fields::for_each(t, [&](std::string_view name, auto& x) { each_layer<Layer>(x, f, at(name)); });
}
/// Calls f(path, linear) for each Linear of a tree.
template <class T, class F> void each_linear(T& t, const F& f) { each_layer<Linear>(t, f); }
/// t with the weights of its linear layers merged.
template <class T> T merged(T t) {
  each_linear(t, [](const std::string&, Linear& l) { merge_adapter(l); });
  return t;
}
}  // namespace bora::nn
