// Numbers with mean 0 and deviation 1, or with root mean square 1.
#include "bora/ops/nn.h"
#include "ops/numpy/support.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
namespace {
Array standardized(const Array& v, const NormOptions& o) {
  auto centered = v - mean(v, o.axes, kKeep);
  return centered * rsqrt(mean(square(centered), o.axes, kKeep) + o.eps);
}
Array scaled_by_rms(const Array& v, const NormOptions& o) { return v * rsqrt(mean(square(v), o.axes, kKeep) + o.eps); }
}  // namespace

Array layer_norm(const Array& x, const NormOptions& options) {
  return in_f32(x, [&](const Array& v) { return standardized(v, options); });
}
Array layer_norm(const Array& x, const Array& weight, const Array& bias, const NormOptions& options) {
  auto dtype = is_float(x.dtype()) ? x.dtype() : f32;
  auto y = standardized(in_real_accumulator(x), options) * in_real_accumulator(weight) + in_real_accumulator(bias);
  return y.astype(dtype);
}
Array rms_norm(const Array& x, const NormOptions& options) {
  return in_f32(x, [&](const Array& v) { return scaled_by_rms(v, options); });
}
Array rms_norm(const Array& x, const Array& weight, const NormOptions& options) {
  auto dtype = is_float(x.dtype()) ? x.dtype() : f32;
  return (scaled_by_rms(in_real_accumulator(x), options) * in_real_accumulator(weight)).astype(dtype);
}
}  // namespace bora
namespace bora::nn {
Array standardize(const Array& x, const Dimensions& axes, const StandardizeOptions& o) {
  return in_f32(x, [&](A v) {
    const ReduceOptions keep{.keepdims = true};
    auto m = o.mean.defined() ? o.mean.astype(v.dtype()) : mean(v, axes, keep);
    auto centered = v - m;
    auto variance = o.variance.defined() ? o.variance.astype(v.dtype()) : mean(centered * centered, axes, keep);
    return centered * rsqrt(variance + o.epsilon);
  });
}
}  // namespace bora::nn
