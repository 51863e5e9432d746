// Products of numbers rounded to 8-bit integers.
#include "bora/fx/custom.h"
#include "bora/named/axes.h"
#include "bora/named/random.h"
#include "bora/nn/dot_general.h"
#include "nn/core/support.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
namespace {
struct Quantized {
  NamedArray integers, scale;  // the scale lacks the axes that share one
};
/// x in integers from -127 to 127; `noise` in [-1/2, 1/2) is added before they are rounded.
Quantized quantized(const NamedArray& x, const AxisNames& shared, const std::optional<NamedArray>& noise = none) {
  auto amax = bora::amax(abs(x), shared);
  auto scale = where(amax == 0, 1, amax) / 127.5;
  auto inverse = reciprocal(scale);
  auto v = x * where(isinf(inverse), 1, inverse);
  if (noise) v = (v.astype(promote(v.dtype(), noise->dtype())) + *noise).astype(x.dtype());
  return {rint(clip(v, -127, 127)), scale};
}
/// The sum over `axes` of products of integers. A float holds the integers up to 2^24 (f64: 2^53), and every partial
/// sum is one of them, so this is the sum in i32, in whatever order it is made, at the speed of a product of floats.
NamedArray exact_dot(const NamedArray& a, const NamedArray& b, const AxisNames& axes) {
  std::int64_t terms = 1;
  for (auto& axis : axes) terms *= a.axis(axis.name).size;
  auto dtype = terms * 127 * 127 <= std::int64_t(1) << 24 ? f32 : f64;
  return dot(a.astype(dtype), b.astype(dtype), axes);
}
NamedArray scaled_dot(const Quantized& a, const Quantized& b, const AxisNames& axes, Dtype dtype) {
  return exact_dot(a.integers, b.integers, axes).astype(dtype) * a.scale * b.scale;
}
/// The axes of `x` that `others` lacks.
AxisNames only_in(const NamedArray& x, const NamedArray& others) {
  return names_of(without_axes(x.axes(), names_of(others.axes())));
}
}  // namespace

NamedArray Int8DotGeneralOp::operator()(const NamedArray& input, const NamedArray& weight,
                                        const AxisNames& axes) const {
  auto dtype = promote(input.dtype(), weight.dtype());
  check<DtypeError>(is_float(dtype), "Int8DotGeneralOp: takes fractions, got ", input.dtype(), " and ", weight.dtype());
  auto value = [=](const NamedArray& x, const NamedArray& w, const NamedArray&) {
    return scaled_dot(quantized(x, axes), quantized(w, axes), axes, dtype);
  };
  auto forward = [=](const NamedArray& x, const NamedArray& w, const NamedArray& k) {
    return std::pair{value(x, w, k), std::tuple{x, w, k}};
  };
  auto backward = [=, rounds = quantize_gradient](const std::tuple<NamedArray, NamedArray, NamedArray>& in,
                                                  const NamedArray& ct) {
    auto &x = std::get<0>(in), &w = std::get<1>(in), &k = std::get<2>(in);
    auto outputs = only_in(w, x);
    auto dx = [&] {
      if (!rounds) return dot(ct, w, outputs);
      // AQT's key for the gradient of the left operand.
      auto mine = random::split<2>(random::split<3>(k.array())[1])[0];
      auto noise = random::uniform(mine, ct.axes()) - 0.5;
      return scaled_dot(quantized(ct, outputs, noise), quantized(w, outputs), outputs, dtype);
    }();
    auto dw = dot(x, ct, only_in(x, w));
    return std::tuple{aligned(dx, x.axes()), aligned(dw, w.axes()), none};
  };
  return custom_vjp(value, forward, backward)(input.astype(dtype), weight.astype(dtype),
                                              key.value_or(NamedArray(random::key(42), {})));
}
}  // namespace bora::nn
