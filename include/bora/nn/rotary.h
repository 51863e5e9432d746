// rotary.h -- rotary position embedding.
#pragma once
#include "bora/named/array.h"

namespace bora::nn {
/// Frequencies for more positions than pre-training had.
struct RotaryScaling {
  /// none: theta^(-2i/D). linear: divided by `factor` (Chen et al. 2023). llama3 (Grattafiori et al. 2024) and yarn
  /// (Peng et al. 2023): divided where fewer than `low` turns fit in `original_positions`, kept where more than `high`
  /// do; between them llama3 blends by the number of turns, yarn by that of the pair. yarn also scales cosines and
  /// sines by `amplitude`.
  enum class Kind : std::uint8_t { none, linear, llama3, yarn } kind = Kind::none;
  double factor = 1, low = 1, high = 4;
  std::int64_t original_positions = 0;
  std::optional<double> amplitude = none;  // by default 0.1 ln(factor) + 1
  bool whole_pairs = true;                 // yarn's ramp begins and ends at whole pairs
};
struct RotaryOptions {         // of Rotary
  std::int64_t dims = 0;       // only the first so many numbers turn, the others stay; 0: all
  bool interleaved = false;    // pairs (x[2i], x[2i + 1]), as GPT-J, instead of (x[i], x[i + D/2])
  RotaryScaling scaling = {};  // of the angles, for longer texts than a model was trained on
};
/// Rotates the pairs (x[i], x[i + D/2]) of each vector along `head_size` (D, even) by the angle
/// position * theta^(-2i/D): Su et al. 2021, with the halves of GPT-NeoX and Llama. Angles and products in f32, rounded
/// once. D is options.dims if that is given.
struct Rotary {
  Axis head_size;
  double theta = 10000;
  RotaryOptions options = {};
  std::optional<Array> speeds = none;  // frequencies() as a value, where stacked layers differ; none: theta's
  /// Throws ValueError if D is odd or more than the head's size, or for a scaling without sense.
  static Rotary init(const Axis& head_size, double theta = 10000, const RotaryOptions& options = {});
  /// x [..., position, ..., head_size] -> the same axes. positions: i32 [position] (and axes of the batch); by default
  /// 0, 1, ...
  NamedArray operator()(const NamedArray& x, const std::optional<NamedArray>& positions = none) const;
  /// Radians per position of each pair.
  std::vector<double> frequencies() const;
};
}  // namespace bora::nn
