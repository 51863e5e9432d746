// The functions of jax.nn that are written with other operations.
#include "bora/ops/activations.h"
#include <numbers>
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "bora/ops/special.h"
#include "ops/composed.h"

namespace bora::nn {
using namespace ops;
namespace {
/// alpha (exp(x / scale) - 1) for negative x, x for the others; the argument of exp is guarded against overflow.
Array exponential_unit(A v, double alpha, double scale) {
  return where(v > 0, v, alpha * expm1(where(v > 0, 0, v) / scale));
}
Array between(A v, double low, double high) { return where(v > low && v < high, v, stop_gradient(clip(v, low, high))); }
}  // namespace
Array celu(const Array& x, double alpha) {
  check<ValueError>(alpha != 0, "celu: alpha must not be 0");
  return in_f32(x, [&](A v) { return exponential_unit(v, alpha, alpha); });
}
Array elu(const Array& x, double alpha) {
  return in_f32(x, [&](A v) { return exponential_unit(v, alpha, 1); });
}
Array selu(const Array& x) {
  return in_f32(x, [](A v) { return 1.0507009873554804934 * exponential_unit(v, 1.6732632423543772848, 1); });
}
Array glu(const Array& x, std::int64_t axis) {
  auto d = normalize_axis("glu", axis, x.ndim());
  check<ShapeError>(x.shape(d) % 2 == 0, "glu: dimension ", d, " of ", x.shape(), " has no two halves");
  auto half = x.shape(d) / 2;
  return in_f32(x, [&](A v) { return part(v, d, 0, half) * sigmoid(part(v, d, half, 2 * half)); });
}
Array relu6(const Array& x) { return between(x, 0, 6); }
Array hard_sigmoid(const Array& x) {
  return in_f32(x, [](A v) { return relu6(v + 3) / 6; });
}
Array hard_silu(const Array& x) {
  return in_f32(x, [](A v) { return v * (relu6(v + 3) / 6); });
}
Array hard_swish(const Array& x) { return hard_silu(x); }
Array hard_tanh(const Array& x) { return where(x > 1, 1, where(x < -1, -1, x)); }
Array leaky_relu(const Array& x, double negative_slope) {
  return in_f32(x, [&](A v) { return where(v >= 0, v, negative_slope * v); });
}
Array log_sigmoid(const Array& x) {
  return in_f32(x, [](A v) { return -softplus(-v); });
}
Array mish(const Array& x) {
  return in_f32(x, [](A v) { return v * tanh(softplus(v)); });
}
Array swish(const Array& x) { return silu(x); }
Array soft_sign(const Array& x) {
  return in_f32(x, [](A v) { return v / (abs(v) + 1); });
}
Array sparse_plus(const Array& x) {
  return in_f32(x, [](A v) {
    auto inside = where(v <= -1 || v >= 1, 0, v) + 1;
    return where(v <= -1, 0, where(v >= 1, v, inside * inside / 4));
  });
}
Array sparse_sigmoid(const Array& x) {
  return in_f32(x, [](A v) { return 0.5 * clip(v + 1, 0, 2); });
}
/// Left of 0 as b / (sqrt(x^2 + b) - x): the sum would cancel.
Array squareplus(const Array& x, double b) {
  check<ValueError>(b >= 0, "squareplus: b = ", b, " must not be negative");
  return in_f32(x, [&](A v) {
    auto root = sqrt(v * v + b);
    auto left = v < 0;
    return 0.5 * where(left, b / (root - where(left, v, -1)), where(left, 0, v) + root);
  });
}
/// Near 0 by expm1, elsewhere by log1p (Maechler 2012).
Array log1mexp(const Array& x) {
  return in_f32(x, [](A v) {
    auto near = v < std::numbers::ln2;
    return where(near, log(-expm1(-where(near, v, 0.5))), log1p(-exp(-where(near, 1, v))));
  });
}
Array logmeanexp(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  double n = 1;
  for (auto d : axes.resolve("logmeanexp", x.ndim())) n *= static_cast<double>(x.shape(d));
  auto r = in_f32(x, [&](A v) { return logsumexp(v, axes, {.keepdims = options.keepdims}) - std::log(n); });
  return options.dtype ? r.astype(*options.dtype) : r;
}
Array standardize(const Array& x, const Dimensions& axes, const StandardizeOptions& o) {
  return in_f32(x, [&](A v) {
    const ReduceOptions keep{.keepdims = true};
    auto m = o.mean.defined() ? o.mean.astype(v.dtype()) : mean(v, axes, keep);
    auto centered = v - m;
    auto variance = o.variance.defined() ? o.variance.astype(v.dtype()) : mean(centered * centered, axes, keep);
    return centered * rsqrt(variance + o.epsilon);
  });
}
Array softmax(const Array& x, const Dimensions& axes, const Array& where) {
  return in_f32(x, [&](A v) { return bora::where(where, softmax(bora::where(where, v, -kInf), axes), 0); });
}
Array log_softmax(const Array& x, const Dimensions& axes, const Array& where) {
  return in_f32(x, [&](A v) { return bora::where(where, log_softmax(bora::where(where, v, -kInf), axes), -kInf); });
}
}  // namespace bora::nn
