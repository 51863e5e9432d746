// dot_general.h -- products of 8-bit numbers in the place of a linear layer's product, as Haliax injects them, for
// studies of numerics and for training that is aware of quantization. 8-bit numbers are stored as f32 (f64): on a CPU
// these products are slower than those that they stand for, and take no less memory.
#pragma once
#include <variant>
#include "bora/named/array.h"

namespace bora::nn {
/// Formats of 8 bits (Micikevicius et al. 2022, arXiv:2209.05433): e4m3fn has 3 bits of mantissa and numbers from 2^-9
/// to 448, e5m2 has 2 bits and numbers from 2^-16 to 57344.
enum class Float8 : std::uint8_t { e4m3fn, e5m2 };
/// The largest finite number of the format.
double largest(Float8 format);
/// x within +- largest(format), rounded to the nearest number of the format, halves to even, in x's dtype: what a
/// conversion to 8 bits and back gives. NaN stays. No derivative. Throws DtypeError unless x is floating.
Array round_to(Float8 format, const Array& x);
/// round_to(format, x / scale) * scale. The scale's axes are some of x's; computed in x's dtype.
NamedArray quantize_dequantize(Float8 format, const NamedArray& x, const NamedArray& scale);

/// A product of two operands rounded to e4m3fn, whose backward products take the gradient of the result rounded to
/// e5m2. Before it is rounded, each of the three is divided by a scale: the largest magnitude in its history over the
/// format's largest number ("delayed scaling", as NVIDIA's Transformer Engine, Flax and Haliax). Gradients pass the
/// rounding as if it were not there.
///
/// The gradient of a scale or history is its next value, which replaces it: optim/overwrite.h. So an op serves one
/// product in a step; of several the next values would be summed.
struct Fp8DotGeneralOp {
  NamedArray input_scale, output_grad_scale, kernel_scale;                       // [stacked...]
  NamedArray input_amax_history, output_grad_amax_history, kernel_amax_history;  // [stacked..., amax_history]
  std::optional<Dtype> compute_dtype = none;                                     // none: the kernel's
  static constexpr bool overwrite_with_gradient = true;
  static constexpr bool decays(std::string_view) { return false; }
  /// Scales 1 and histories 0, f32, for each of the stacked layers. ValueError unless 1 <= amax_history_length.
  static Fp8DotGeneralOp init(std::int64_t amax_history_length = 1024, std::optional<Dtype> compute_dtype = none,
                              const std::vector<Axis>& stacked = {});
  /// dot(x, kernel, axes) in the compute dtype.
  NamedArray operator()(const NamedArray& x, const NamedArray& kernel, const AxisNames& axes) const;
};
/// A product of two operands rounded to integers from -127 to 127 times a scale: the largest magnitude over 127.5 along
/// the axes that are summed, of this call ("AQT", Abdolrashidi et al. 2021, as its config_v3 and Haliax). Sums of
/// products of integers are exact. Backward the gradient of x is such a product too, of the kernel and the result's
/// gradient, which is rounded at random so that its mean is right; the gradient of the kernel is the product of x and
/// the result's gradient as they are.
struct Int8DotGeneralOp {
  bool quantize_gradient = true;         // false: the gradient of x is the product of numbers as they are
  std::optional<NamedArray> key = none;  // of the random rounding [stacked...]; none: the same one in every call
  static Int8DotGeneralOp init(bool quantize_gradient = true) { return {quantize_gradient}; }
  /// dot(x, kernel, axes) in the promoted dtype of both.
  NamedArray operator()(const NamedArray& x, const NamedArray& kernel, const AxisNames& axes) const;
};
using DotGeneralOp = std::variant<Fp8DotGeneralOp, Int8DotGeneralOp>;  // a product of 8-bit numbers
}                                                                      // namespace bora::nn
