// adaptive_pool.h -- pools whose result has a given size, whatever the size of x.
#pragma once
#include "bora/named/named.h"

namespace bora::nn {
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
