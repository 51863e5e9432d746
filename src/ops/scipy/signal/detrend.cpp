// Trends and analytic signals.
#include "bora/ops/complex.h"
#include "bora/ops/fft.h"
#include "bora/ops/signal.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora::signal {
using namespace ops;
namespace {
Array without_mean(const Array& x, std::int64_t axis) { return x - mean(x, axis, {.keepdims = true}); }
/// Along the last axis: positions are centered, so that mean and slope do not depend on each other.
Array without_line(const Array& x) {
  auto n = x.shape(-1);
  auto rest = without_mean(x, -1);
  if (n == 1) return rest;
  auto m = static_cast<double>(n);
  auto t = (iota({n}, 0, f64) - (m - 1) / 2).astype(real_dtype(x.dtype()));
  auto slope = sum(rest * t, -1, {.keepdims = true}) * (12 / (m * (m * m - 1)));
  return rest - slope * t;
}
}  // namespace

Array detrend(const Array& x, const DetrendOptions& o) {
  check<ShapeError>(x.ndim() > 0, "detrend: a scalar has no axis");
  auto axis = normalize_axis("detrend", o.axis, x.ndim()), n = x.shape(axis);
  check<ShapeError>(x.size() > 0, "detrend: the signal must not be empty, got ", x.type());
  auto ends = o.breakpoints;
  for (auto b : ends)
    check<ValueError>(b >= 0 && b <= n, "detrend: breakpoint ", b, " does not lie in [0, ", n, "]");
  if (o.type == Trend::none) return inexact(x);
  return in_f32(x, [&](const Array& v) {
    if (o.type == Trend::constant) return without_mean(v, axis);
    ends.push_back(0), ends.push_back(n);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    auto last = moveaxis(v, axis, -1);
    Arrays parts;
    for (std::size_t k = 0; k + 1 < ends.size(); ++k)
      parts.push_back(without_line(slice_in_dim(last, -1, ends[k], ends[k + 1])));
    return moveaxis(parts.size() == 1 ? parts[0] : concatenate(parts, -1), -1, axis);
  });
}
Array hilbert(const Array& x, const HilbertOptions& o) {
  check<DtypeError>(is_numeric(x.dtype()) && !is_complex(x.dtype()), "hilbert: takes real numbers, got ", x.type());
  check<ShapeError>(x.ndim() > 0, "hilbert: a scalar has no axis");
  auto axis = normalize_axis("hilbert", o.axis, x.ndim());
  auto n = o.n.value_or(x.shape(axis));
  auto y = fft::fft(x, {.n = n, .axis = axis});
  auto k = iota({n}, 0);
  auto twice = where(k == 0 || k * 2 == n, 1., where(k * 2 < n, full({n}, 2., real_dtype(y.dtype())), 0.));
  return fft::ifft(y * broadcast_in_dim(twice, y.shape(), {axis}), {.axis = axis});
}
}  // namespace bora::signal
