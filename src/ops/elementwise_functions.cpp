// Elementwise functions written with other operations.
#include <cmath>
#include <numbers>
#include "bora/ops/complex.h"
#include "bora/ops/elementwise.h"
#include "ops/elementwise_rules.h"
#include "ops/takes.h"

namespace bora {
using namespace ops;
namespace {
/// log(x) / number. Both parts are divided, as a complex quotient makes inf + i y a NaN.
Array log_over(const Array& x, double number) {
  auto y = log(x);
  return is_complex(y.dtype()) ? complex(real(y) / number, imag(y) / number) : y / number;
}
}  // namespace
Array square(const Array& x) { return x * x; }
Array reciprocal(const Array& x) { return 1 / x; }
Array exp2(const Array& x) { return power(2, inexact(x)); }
Array log2(const Array& x) { return log_over(x, std::numbers::ln2); }
Array log10(const Array& x) { return log_over(x, std::numbers::ln10); }
Array tan(const Array& x) {
  if (!is_complex(x.dtype())) return sin(x) / cos(x);
  auto y = tanh(complex(-imag(x), real(x)));  // tanh(i x) = i tan(x): sine and cosine of large imaginary parts overflow
  return complex(imag(y), -real(y));
}
Array trunc(const Array& x) {
  takes_ordered("trunc", x.dtype());
  return is_inexact(x.dtype()) ? where(x < 0, ceil(x), floor(x)) : x;
}
Array isnan(const Array& x) { return x != x; }
Array isinf(const Array& x) { return is_inexact(x.dtype()) ? abs(x) == kInf : full_of({x.shape(), boolean}, false); }
Array logical_not(const Array& x) { return x.dtype() == boolean ? bitwise_not(x) : x == 0; }

Array relu(const Array& x) {
  takes_reals("relu", x.dtype());
  return where(x > 0, x, stop_gradient(maximum(x, 0)));  // NaN stays; derivative 0 at 0
}
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
    return v * sigmoid(2 * std::sqrt(2 * std::numbers::inv_pi) * (v + 0.044715 * (v * v * v)));
  });
}
}  // namespace bora
