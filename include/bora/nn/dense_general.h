// dense_general.h -- linear maps that differ along axes of x, as Flax's DenseGeneral with batch_dims has them.
#pragma once
#include "bora/nn/linear.h"

namespace bora::nn {
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
