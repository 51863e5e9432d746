// conv.h -- convolutions over named axes, any number of them.
#pragma once
#include "bora/nn/init.h"
#include "bora/ops/convolution.h"

namespace bora {
inline bool operator==(const Padding& a, const Padding& b) { return a.rule == b.rule && a.given == b.given; }
template <> inline constexpr bool is_static<Padding> = true;
}  // namespace bora
template <> struct std::hash<bora::Padding> {
  std::size_t operator()(const bora::Padding& p) const { return p.rule * 31U + p.given.size(); }
};

namespace bora::nn {
/// The options of Conv::init and ConvTranspose::init. Numbers of `conv` are in the order of the window's axes.
struct ConvInit {
  ConvOptions conv = {};
  Init weight = Init::fan_in();  // of the first weights
  bool use_bias = true;          // starts at zero
};
/// A convolution along the axes of its window; every other axis of x but `in` is one of the batch, in any place. The
/// weight's axes are those of the window, named "<axis>_window", then in (of one group; "<in>_in" if `out` has its
/// name) and out. Throws AxisError where x lacks an axis.
struct Conv {
  NamedArray weight;               // [window..., in / groups, out]
  std::optional<NamedArray> bias;  // [out]
  std::vector<Axis> window = {};   // the axes' names in x, and the window's sizes
  Axis in = {}, out = {};
  ConvOptions options = {};
  static constexpr bool decays(std::string_view field) { return field != "bias"; }
  /// Conv::init({{"height", 3}, {"width", 3}}, In, Out, key, {.conv = {.stride = {2, 2}}}).
  static Conv init(const Axes& window, const Axis& in, const Axis& out, const Array& key, const ConvInit& = {});
  /// x [..., in] with the window's axes -> the same axes with `out` for `in` and the numbers of windows.
  NamedArray operator()(const NamedArray& x) const;
};
/// The convolution whose windows are `stride` apart in the result (bora::conv_transpose): it enlarges the axes.
struct ConvTranspose {
  NamedArray weight;               // [window..., in / groups, out]
  std::optional<NamedArray> bias;  // [out]
  std::vector<Axis> window = {};
  Axis in = {}, out = {};
  ConvOptions options = {};
  static constexpr bool decays(std::string_view field) { return field != "bias"; }
  static ConvTranspose init(const Axes& window, const Axis& in, const Axis& out, const Array& key,
                            const ConvInit& = {});
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
