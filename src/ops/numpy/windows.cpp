// NumPy's windows.
#include "bora/ops/calculus.h"
#include "bora/ops/complex.h"
#include "bora/ops/indexing.h"
#include "bora/ops/special.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
namespace {
/// sum over k of weights[k] cos(2 pi k i / (n - 1)), i = 0 .. n - 1.
Array cosines(std::string_view what, std::int64_t n, std::initializer_list<double> weights, Dtype dtype) {
  check<ValueError>(n >= 0, what, ": n = ", n, " must not be negative");
  if (n == 1) return full_of({{1}, dtype}, 1);
  auto angle = iota({n}, 0, f64) * (2 * kPi / static_cast<double>(n - 1));
  auto y = full_of({{n}, f64}, 0);
  int k = 0;
  for (auto w : weights) y = y + w * cos(angle * static_cast<double>(k++));
  return y.astype(dtype);
}
}  // namespace

Array bartlett(std::int64_t n, Dtype dtype) {
  check<ValueError>(n >= 0, "bartlett: n = ", n, " must not be negative");
  if (n == 1) return full_of({{1}, dtype}, 1);
  return (1 - abs(iota({n}, 0, f64) * (2 / static_cast<double>(n - 1)) - 1)).astype(dtype);
}
Array blackman(std::int64_t n, Dtype dtype) { return cosines("blackman", n, {0.42, -0.5, 0.08}, dtype); }
Array hamming(std::int64_t n, Dtype dtype) { return cosines("hamming", n, {0.54, -0.46}, dtype); }
Array hanning(std::int64_t n, Dtype dtype) { return cosines("hanning", n, {0.5, -0.5}, dtype); }
Array kaiser(std::int64_t n, double beta, Dtype dtype) {
  check<ValueError>(n >= 0, "kaiser: n = ", n, " must not be negative");
  if (n == 1) return full_of({{1}, dtype}, 1);
  auto t = iota({n}, 0, f64) * (2 / static_cast<double>(n - 1)) - 1;
  auto inside = sqrt(maximum(1 - t * t, 0));
  return (special::i0(beta * inside) / special::i0(full_of({{}, f64}, beta))).astype(dtype);
}
}  // namespace bora
