// init.h -- the distributions of parameters' first values, as values: options of layers name one.
#pragma once
#include "bora/named/random.h"

namespace bora::nn {
/// The distribution of a parameter's first values.
struct Init {
  enum class Kind : std::uint8_t { constant, normal, truncated_normal, fan_in, lecun_normal } kind = Kind::fan_in;
  double scale = 1;
  static constexpr Init zeros() { return {Kind::constant, 0}; }
  static constexpr Init ones() { return {Kind::constant, 1}; }
  static constexpr Init normal(double stddev) { return {Kind::normal, stddev}; }
  /// A normal distribution cut off at three times stddev.
  static constexpr Init truncated_normal(double stddev) { return {Kind::truncated_normal, stddev}; }
  /// truncated_normal(scale / sqrt(fan-in)): the layers' default, as Haliax's. The fan-in is the number of inputs that
  /// are summed for one output.
  static constexpr Init fan_in(double scale = 1) { return {Kind::fan_in, scale}; }
  /// A normal distribution of variance 1 / fan-in that is cut off at two deviations: the default of Flax's layers.
  static constexpr Init lecun_normal() { return {Kind::lecun_normal}; }
  /// A parameter with these axes, f32.
  NamedArray operator()(const Array& key, const Axes& axes, std::int64_t fan_in) const;
};
}  // namespace bora::nn
