// weight_norm.h -- a layer whose weight is a direction and a length.
#pragma once
#include "bora/named/array.h"

namespace bora::nn {
/// direction / |direction| * length, norms over the axes that `length` lacks, computed in f32 and rounded once; the
/// direction's axes and dtype. Throws AxisError if the direction lacks an axis of the length.
NamedArray weight_of_norm(const NamedArray& direction, const NamedArray& length);
/// The norms of a weight over all axes but `kept`.
NamedArray norms_of(const NamedArray& weight, const Axes& kept);

/// A layer with a NamedArray `weight`.
template <class L> concept HasWeight = requires(L& l) {
  { l.weight } -> std::same_as<NamedArray&>;
};
/// A layer with another parametrization of its weight (Salimans & Kingma 2016): weight / |weight| * length. The result
/// depends on the weight's direction only. Linear, Conv, Embedding, any struct with a NamedArray `weight`.
template <HasWeight Layer> struct WeightNorm {
  Layer layer;
  NamedArray length;
  static constexpr bool decays(std::string_view field) { return field != "length"; }
  /// The layer as it is; it has one length for each position along `kept`: torch's and Equinox's default is {Out}.
  static WeightNorm init(Layer layer, const Axes& kept) {
    auto length = norms_of(layer.weight, kept);
    return {std::move(layer), std::move(length)};
  }
  /// The layer with the weight of this direction and length.
  Layer merged() const {
    auto l = layer;
    l.weight = weight_of_norm(layer.weight, length);
    return l;
  }
  template <class... A> auto operator()(const A&... args) const { return merged()(args...); }
};
}  // namespace bora::nn
