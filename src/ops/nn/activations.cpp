// Activations.
#include <cmath>
#include <numbers>
#include "bora/ops/nn.h"
#include "ops/numpy/support.h"
#include "ops/primitives/dtype_checks.h"
#include "ops/primitives/quotients.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;

Array silu(const Array& x) {
  return in_f32(x, [](const Array& v) { return v * sigmoid(v); });
}
Array softplus(const Array& x) {
  takes_ordered("softplus", x.dtype());
  return in_f32(x, [](const Array& v) { return where(v >= 0, v, 0) + log1p(exp(-abs(v))); });
}
Array gelu(const Array& x, const GeluOptions& options) {
  takes_ordered("gelu", x.dtype());
  return in_f32(x, [&](const Array& v) {
    if (!options.approximate) return v * normal_cdf(v);
    // Hendrycks & Gimpel 2016, arXiv:1606.08415. (1 + tanh(u)) / 2 = sigmoid(2u), which keeps its digits where tanh is
    // nearly -1.
    // From 100 on, where it is 0 or 1, the cube could overflow and leave no derivative.
    const double scale = 2 * std::sqrt(2 * std::numbers::inv_pi);
    auto square = v * v, in_range = where(square < 1e4, square, 1e4);
    return v * sigmoid(v * fma(in_range, full_of(v.type(), scale * 0.044715), full_of(v.type(), scale)));
  });
}
}  // namespace bora
namespace bora::nn {
namespace {
/// x, whose derivative is NaN where x is: a choice between pieces would give one of their slopes.
Array with_nan_slope(const Array& x) {
  return is_float(x.dtype()) ? x * stop_gradient(where(x == x, 1, x)) : x;
}
/// alpha (exp(x / scale) - 1) for negative x, x for the others; the argument of exp is guarded against overflow.
Array exponential_unit(A v, double alpha, double scale) {
  return where(v > 0, v, alpha * expm1(where(v > 0, 0, v) / scale));
}
Array between(A v, double low, double high) {
  return where(v <= low || v >= high, stop_gradient(clip(v, low, high)), with_nan_slope(v));
}
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
Array hard_tanh(const Array& x) { return where(x > 1, 1, where(x < -1, -1, with_nan_slope(x))); }
Array leaky_relu(const Array& x, double negative_slope) {
  return in_f32(x, [&](A v) { return where(v >= 0, v, negative_slope * with_nan_slope(v)); });
}
Array log_sigmoid(const Array& x) {
  return in_f32(x, [](A v) { return -softplus(-v); });
}
Array mish(const Array& x) {
  return in_f32(x, [](A v) { return v * tanh(softplus(v)); });
}
Array swish(const Array& x) { return silu(x); }
/// From 1 on as 1 - 1 / (|x| + 1), whose derivatives do not cancel.
Array soft_sign(const Array& x) {
  return in_f32(x, [](A v) {
    auto size = abs(v), part = 1 / (size + 1);
    return where(size < 1, v * part, where(v < 0, part - 1, 1 - part));
  });
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
/// Left of 0 as b / (sqrt(x^2 + b) - x): the sum would cancel. Halves are summed, and only roots are squared, since
/// twice or the square of a number may overflow.
Array squareplus(const Array& x, double b) {
  check<ValueError>(b >= 0, "squareplus: b = ", b, " must not be negative");
  return in_f32(x, [&](A v) {
    auto half_root = 0.5 * length_of(v, std::sqrt(b));
    if (b == 0) return 0.5 * v + half_root;
    auto left = v < 0;
    return where(left, 0.25 * b / (half_root - 0.5 * where(left, v, -1)), 0.5 * where(left, 0, v) + half_root);
  });
}
/// Near 0 by expm1, elsewhere by log1p (Maechler 2012).
Array log1mexp(const Array& x) {
  return in_f32(x, [](A v) {
    auto near = v < std::numbers::ln2;
    return where(near, log(-expm1(-where(near, v, 0.5))), log1p(-exp(-where(near, 1, v))));
  });
}
}  // namespace bora::nn
