// rotary.h -- rotary position embedding.
#pragma once
#include "bora/named/named.h"

namespace bora::nn {
/// Rotates the pairs (x[i], x[i + D/2]) of each vector along `head_size` (D, even) by the angle
/// position * theta^(-2i/D): Su et al. 2021, with the halves of GPT-NeoX and Llama. Angles and products in f32, rounded
/// once.
struct Rotary {
  Axis head_size;
  double theta = 10000;
  /// Throws ValueError if D is odd.
  static Rotary init(const Axis& head_size, double theta = 10000);
  /// x [..., position, ..., head_size] -> the same axes. positions: i32 [position] (and axes of the batch); by default
  /// 0, 1, ...
  NamedArray operator()(const NamedArray& x, const std::optional<NamedArray>& positions = none) const;
};
}  // namespace bora::nn
