// pool.h -- the largest number and the mean of windows along named axes, of a given size or number.
#pragma once
#include "bora/named/array.h"
#include "bora/nn/conv.h"

namespace bora::nn {
/// The largest number of each window: MaxPool{{{"height", 2}, {"width", 2}}}(x). The other axes of x stay.
struct MaxPool {
  std::vector<Axis> window;  // the axes' names in x, and the window's sizes
  Dims stride = {};          // default: as the window
  Padding padding = Padding::valid;
  NamedArray operator()(const NamedArray& x) const;
};
/// The mean of each window; padded elements are counted as zeros, or not at all.
struct AvgPool {
  std::vector<Axis> window;
  Dims stride = {};
  Padding padding = Padding::valid;
  bool count_padding = true;
  NamedArray operator()(const NamedArray& x) const;
};
/// How n elements are cut into m windows. overlapping: window i is [floor(i n / m), ceil((i + 1) n / m)), as torch;
/// split: windows side by side, of which the first n mod m have one element more, as Equinox. Both are equal where m
/// divides n.
enum class AdaptiveWindows : std::uint8_t { overlapping, split };
/// The mean of each window: AdaptiveAvgPool{{{"height", 2}, {"width", 2}}}(x). The other axes of x stay; computed in
/// f32 and rounded once. Any number of axes. Throws AxisError if x lacks one, ShapeError where x is shorter than
/// `split` has windows, or empty.
struct AdaptiveAvgPool {
  std::vector<Axis> result;  // the axes' names in x, and the result's sizes
  AdaptiveWindows windows = AdaptiveWindows::overlapping;
  NamedArray operator()(const NamedArray& x) const;
};
/// The largest number of each window.
struct AdaptiveMaxPool {
  std::vector<Axis> result;
  AdaptiveWindows windows = AdaptiveWindows::overlapping;
  NamedArray operator()(const NamedArray& x) const;
};
}  // namespace bora::nn
