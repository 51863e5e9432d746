// A convolution for functions that have other names, layouts and options than conv.
#pragma once
#include "bora/ops/convolution.h"

namespace bora::ops {
/// What messages say: the user's function, operands as the user gave them, and names of the options.
struct ConvWords {
  std::string_view what;
  Type x, w;
  std::string_view stride = "stride", dilation = "dilation", input_dilation = "input_dilation", groups = "groups";
};
/// conv(x, w, options).
Array convolved(const ConvWords& words, const Array& x, const Array& w, const ConvOptions& options);
}  // namespace bora::ops
