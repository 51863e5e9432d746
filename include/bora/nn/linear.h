// linear.h -- linear layers.
#pragma once
#include "bora/nn/dot_general.h"
#include "bora/nn/init.h"
#include "bora/nn/weight_format.h"

namespace bora::nn {
/// The options of Linear::init.
struct LinearOptions {
  Init weight = Init::fan_in();  // of the first weights
  bool use_bias = true;          // starts at zero
  bool out_first = false;        // the weight's axes are [out..., in...]
};
/// A trained product of low rank beside a weight: scale * (x a) b (adapters.h). With a magnitude each output of the sum
/// of weight and product is scaled to it.
struct Adapter {
  NamedArray a, b;                             // [in..., lora_rank], [lora_rank, out...]
  float scale = 1, rate = 0;                   // rate: of dropout of x, where there is a key
  std::optional<NamedArray> key = none;        // a scalar
  std::optional<NamedArray> magnitude = none;  // [out...]
};
/// y = dot(x, weight, in) + bias, and the adapter's product if there is one.
struct Linear {
  NamedArray weight;               // [in..., out...], or out first
  std::optional<NamedArray> bias;  // [out...]
  std::vector<Axis> in = {}, out = {};
  std::optional<Adapter> lora = none;
  std::optional<DotGeneralOp> dot_general = none;  // the product of x and weight (quantization.h); none: dot
  std::optional<PackedWeight> packed = none;       // weight has integers (weight_format.h); none: numbers
  static constexpr bool decays(std::string_view field) { return field != "bias"; }
  static Linear init(const Axes& in, const Axes& out, const Array& key, const LinearOptions& options = {});
  /// x [..., in...] -> [..., out...]. Throws AxisError if x lacks an axis of `in` or has one of `out`.
  NamedArray operator()(const NamedArray& x) const;
  /// The dtype of results for inputs of the weight's dtype.
  Dtype dtype() const { return packed ? f32 : weight.dtype(); }
};
/// A linear map of its own for each position along `each`; Linear is the one without such axes.
struct DenseGeneral {
  NamedArray weight;               // [each..., in..., out...]
  std::optional<NamedArray> bias;  // [each..., out...]
  std::vector<Axis> each = {}, in = {}, out = {};
  static constexpr bool decays(std::string_view field) { return field != "bias"; }
  /// options.out_first: the weight's axes are [each..., out..., in...].
  static DenseGeneral init(const Axes& each, const Axes& in, const Axes& out, const Array& key,
                           const LinearOptions& options = {});
  /// x [..., each..., in...] -> [..., out...] in the order of x's other axes. Throws AxisError if x lacks an axis of
  /// `each` or `in` or has one of `out`.
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
