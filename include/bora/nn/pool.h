// pool.h -- the largest number and the mean of windows along named axes.
#pragma once
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
}  // namespace bora::nn
