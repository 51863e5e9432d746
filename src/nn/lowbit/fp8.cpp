// Products of numbers rounded to fp8.
#include "bora/nn/dot_general.h"
#include "bora/fx/custom.h"
#include "bora/named/axes.h"
#include "bora/named/index.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "nn/core/support.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"

namespace bora::nn {
namespace {
constexpr const char* kHistory = "amax_history";
struct Format {
  double largest, least_normal, least;  // the numbers below least_normal are multiples of the least one
  std::int64_t mantissa_bits;
};
Format format_of(Float8 f) {
  if (f == Float8::e4m3fn) return {448, 0x1p-6, 0x1p-9, 3};
  return {57344, 0x1p-14, 0x1p-16, 2};
}
/// A scale, and the largest magnitudes that the next one follows from.
struct Delayed {
  NamedArray scale, history;
};
/// The scale of this call: that of the largest magnitude of calls before. It stays while that is 0 or not finite.
NamedArray next_scale(Float8 f, const Delayed& d) {
  auto amax = bora::amax(d.history, kHistory).astype(d.scale.dtype());
  auto inverse = 1 / d.scale;
  auto wanted = where(amax > 0, largest(f) / amax, inverse);
  return 1 / where(isfinite(amax), wanted, inverse);
}
/// The history of the next call: x's largest magnitude in front of those before, of which the oldest is gone. (The one
/// before stands last, as Flax rolls it; their order has no effect.)
NamedArray next_history(const NamedArray& x, const NamedArray& history) {
  auto axis = history.axis(kHistory);
  auto stacked = eliminate_axes(history.axes(), kHistory);
  auto now = bora::amax(abs(x), names_of(without_axes(x.axes(), names_of(stacked))));
  auto first = history.axes();
  first[static_cast<std::size_t>(history.position(kHistory))].size = 1;
  std::vector<NamedArray> parts{broadcast_to(now.astype(history.dtype()), first)};
  if (axis.size > 2) parts.push_back(history[{kHistory, range(2, axis.size)}]);
  if (axis.size > 1) parts.push_back(history[{kHistory, range(0, 1)}]);
  return concatenate(axis, parts);
}
/// x rounded; the gradients of the scale and the history are their next values.
NamedArray rounded_operand(const NamedArray& x, const Delayed& d) {
  constexpr auto f = Float8::e4m3fn;
  auto value = [](const NamedArray& v, const NamedArray& scale, const NamedArray& history) {
    return quantize_dequantize(f, v, next_scale(f, {scale, history}));
  };
  auto forward = [](const NamedArray& v, const NamedArray& scale, const NamedArray& history) {
    auto next = next_scale(f, {scale, history});
    return std::pair{quantize_dequantize(f, v, next), Delayed{next, next_history(v, history)}};
  };
  auto backward = [](const Delayed& next, const NamedArray& ct) { return std::tuple{ct, next.scale, next.history}; };
  return custom_vjp(value, forward, backward)(x, d.scale, d.history);
}
/// y, whose gradient is rounded.
NamedArray rounded_gradient(const NamedArray& y, const Delayed& d) {
  constexpr auto f = Float8::e5m2;
  auto value = [](const NamedArray& v, const NamedArray&, const NamedArray&) { return v; };
  auto forward = [](const NamedArray& v, const NamedArray& scale, const NamedArray& history) {
    return std::pair{v, Delayed{scale, history}};
  };
  auto backward = [](const Delayed& before, const NamedArray& ct) {
    auto next = next_scale(f, before);
    return std::tuple{quantize_dequantize(f, ct, next), next, next_history(ct, before.history)};
  };
  return custom_vjp(value, forward, backward)(y, d.scale, d.history);
}
}  // namespace

double largest(Float8 f) { return format_of(f).largest; }
Array round_to(Float8 f, const Array& x) {
  check<DtypeError>(is_float(x.dtype()), "round_to: takes fractions, got ", x.type());
  auto [largest, least_normal, least, mantissa_bits] = format_of(f);
  auto wide = real_accumulator(x.dtype());  // f16 has no 1 / least
  auto v = clip(stop_gradient(x).astype(wide), -largest, largest);
  auto few = reduce_precision(v, wide == f64 ? 11 : 8, mantissa_bits);
  auto small = round(v * (1 / least)) * least;
  return where(abs(v) < least_normal, small, few).astype(x.dtype());
}
NamedArray quantize_dequantize(Float8 f, const NamedArray& x, const NamedArray& scale) {
  auto s = scale.astype(x.dtype());
  auto scaled = x / s;
  return aligned(named(round_to(f, scaled.array()), scaled.axes()) * s, x.axes());
}
Fp8DotGeneralOp Fp8DotGeneralOp::init(std::int64_t length, std::optional<Dtype> compute_dtype,
                                      const std::vector<Axis>& stacked) {
  check<ValueError>(length >= 1, "Fp8DotGeneralOp: amax_history_length must be 1 or more, got ", length);
  check<DtypeError>(!compute_dtype || is_float(*compute_dtype), "Fp8DotGeneralOp: compute_dtype must be floating, got ",
                    compute_dtype.value_or(f32));
  auto axes = stacked;
  axes.push_back({kHistory, length});
  auto scale = ones(Axes(stacked)), history = zeros(Axes(axes));
  return {scale, scale, scale, history, history, history, compute_dtype};
}
NamedArray Fp8DotGeneralOp::operator()(const NamedArray& x, const NamedArray& kernel, const AxisNames& axes) const {
  auto dtype = compute_dtype.value_or(kernel.dtype());
  auto a = rounded_operand(x.astype(dtype), {input_scale, input_amax_history});
  auto b = rounded_operand(kernel.astype(dtype), {kernel_scale, kernel_amax_history});
  return rounded_gradient(dot(a, b, axes), {output_grad_scale, output_grad_amax_history});
}
}  // namespace bora::nn
