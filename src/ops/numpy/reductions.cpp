// Sums, extremes, means and running sums; those that skip NaN.
#include <algorithm>
#include "kernels/api/reduce.h"
#include "bora/ops/arguments.h"
#include "bora/ops/complex.h"
#include "bora/ops/indexing.h"
#include "bora/ops/statistics.h"
#include "ops/api/extreme.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/accumulator.h"
#include "bora/array/primitive_base.h"
#include "ops/api/primitives.h"
#include "ops/api/running.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
Dims Dimensions::in_order(std::string_view what, std::int64_t ndim) const {
  if (!axes_) return range_of(ndim);
  Dims r;
  for (auto a : *axes_) r.push_back(normalize_axis(what, a, ndim));
  return r;
}
Dims Dimensions::resolve(std::string_view what, std::int64_t ndim) const {
  auto r = in_order(what, ndim);
  std::sort(r.begin(), r.end());
  auto twice = std::adjacent_find(r.begin(), r.end());
  check<ValueError>(twice == r.end(), what, ": axis ", twice == r.end() ? 0 : *twice, " is given twice in ",
                    in_order(what, ndim));
  return r;
}
namespace {
Array reduced(Reduction kind, const Array& x, const Dims& dims, const ReduceOptions& options) {
  Array y = dims.empty() ? x : call_one(Reduce{kind, dims}, {x});
  if (options.keepdims && !dims.empty()) {
    auto s = x.shape();
    for (auto d : dims) s[at(d)] = 1;
    y = reshape(y, s);
  }
  return y;
}
Array extreme(Reduction kind, std::string_view what, const Array& x, const Dimensions& axes,
              const ReduceOptions& options) {
  auto dims = axes.resolve(what, x.ndim());
  for (auto d : dims)
    check<ShapeError>(x.shape(d) > 0, what, ": dimension ", d, " of ", x.shape(),
                      " is empty, and the extreme of nothing does not exist");
  return reduced(kind, x.astype(options.dtype.value_or(x.dtype())), dims, options);
}
/// The dtype means are computed in, and that of their result.
std::pair<Dtype, Dtype> mean_dtypes(std::string_view what, const Array& x, const ReduceOptions& options) {
  auto result = options.dtype.value_or(is_inexact(x.dtype()) ? x.dtype() : f32);
  check<DtypeError>(is_inexact(result), what, ": the dtype must be a floating one, got ", result);
  if (is_complex(x.dtype()) || is_complex(result)) return {promote(x.dtype(), result), result};
  auto in = x.dtype() == f64 || result == f64 ? f64 : f32;
  return {in, result};
}
double count_of(const Array& x, const Dims& dims) {
  double n = 1;
  for (auto d : dims) n *= static_cast<double>(x.shape(d));
  return n;
}
}  // namespace

Array sum(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  return reduced(Reduction::sum, for_sums(x, options.dtype), axes.resolve("sum", x.ndim()), options);
}
Array prod(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  return reduced(Reduction::prod, for_sums(x, options.dtype), axes.resolve("prod", x.ndim()), options);
}
Array amax(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  return extreme(Reduction::max, "amax", x, axes, options);
}
Array amin(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  return extreme(Reduction::min, "amin", x, axes, options);
}
Array all(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  return reduced(Reduction::all, x.astype(boolean), axes.resolve("all", x.ndim()), options)
      .astype(options.dtype.value_or(boolean));
}
Array any(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  return reduced(Reduction::any, x.astype(boolean), axes.resolve("any", x.ndim()), options)
      .astype(options.dtype.value_or(boolean));
}
Array mean(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  auto [in, result] = mean_dtypes("mean", x, options);
  auto dims = axes.resolve("mean", x.ndim());
  return (reduced(Reduction::sum, x.astype(in), dims, options) / count_of(x, dims)).astype(result);
}
Array var(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  auto [in, result] = mean_dtypes("var", x, options);
  auto dims = axes.resolve("var", x.ndim());
  auto y = x.astype(in);
  auto centered = y - mean(y, dims, {.keepdims = true});
  auto squares = is_complex(in) ? real(centered * conj(centered)) : centered * centered;
  return (reduced(Reduction::sum, squares, dims, options) / count_of(x, dims)).astype(real_dtype(result));
}
Array stddev(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  auto [in, result] = mean_dtypes("stddev", x, options);
  return sqrt(var(x, axes, {.keepdims = options.keepdims, .dtype = in})).astype(real_dtype(result));
}
namespace {
Array without_nan(const Array& x, double in_place) { return is_inexact(x.dtype()) ? where(isnan(x), in_place, x) : x; }
/// The numbers of elements that are not NaN, f32 or f64.
Array present(const Array& x, const Dims& dims, bool keepdims) {
  return sum((x == x).astype(real_accumulator(x.dtype())), dims, {.keepdims = keepdims});
}
Array nan_extreme(std::string_view what, const Array& x, const Dimensions& axes, const ReduceOptions& o, bool largest) {
  auto dims = axes.resolve(what, x.ndim());
  for (auto d : dims)
    check<ShapeError>(x.shape(d) > 0, what, ": dimension ", d, " of ", x.shape(),
                      " is empty, and the extreme of nothing does not exist");
  auto y = without_nan(x, largest ? -greatest(x.dtype()) : greatest(x.dtype()));
  y = largest ? amax(y, dims, o) : amin(y, dims, o);
  return is_float(x.dtype()) ? where(all(isnan(x), dims, {.keepdims = o.keepdims}), kNan, y) : y;
}
Array nan_position(const Array& x, std::int64_t axis, bool largest) {
  auto y = without_nan(x, largest ? -greatest(x.dtype()) : greatest(x.dtype()));
  auto r = largest ? argmax(y, axis) : argmin(y, axis);
  return is_float(x.dtype()) ? where(all(isnan(x), axis), -1, r) : r;
}
Dtype mean_dtype(const Array& x, const ReduceOptions& o) {
  return o.dtype.value_or(is_inexact(x.dtype()) ? x.dtype() : f32);
}
}  // namespace

Array nansum(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  return sum(without_nan(x, 0), axes.resolve("nansum", x.ndim()), o);
}
Array nanprod(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  return prod(without_nan(x, 1), axes.resolve("nanprod", x.ndim()), o);
}
Array nanmean(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  auto dims = axes.resolve("nanmean", x.ndim());
  auto result = mean_dtype(x, o);
  check<DtypeError>(is_float(result), "nanmean: the dtype must be a floating one, got ", result);
  auto y = x.astype(x.dtype() == f64 || result == f64 ? f64 : f32);
  return (sum(without_nan(y, 0), dims, {.keepdims = o.keepdims}) / present(y, dims, o.keepdims)).astype(result);
}
Array nanvar(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  auto dims = axes.resolve("nanvar", x.ndim());
  auto result = mean_dtype(x, o);
  check<DtypeError>(is_float(result), "nanvar: the dtype must be a floating one, got ", result);
  auto y = x.astype(x.dtype() == f64 || result == f64 ? f64 : f32);
  auto far = where(isnan(y), 0, y - nanmean(y, dims, kKeep));
  return (sum(far * far, dims, {.keepdims = o.keepdims}) / present(y, dims, o.keepdims)).astype(result);
}
Array nanstd(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  auto result = mean_dtype(x, o);
  auto in = x.dtype() == f64 || result == f64 ? f64 : f32;
  return sqrt(nanvar(x, axes.resolve("nanstd", x.ndim()), {.keepdims = o.keepdims, .dtype = in})).astype(result);
}
Array nanmax(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  return nan_extreme("nanmax", x, axes, o, true);
}
Array nanmin(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  return nan_extreme("nanmin", x, axes, o, false);
}
Array nanargmax(const Array& x, std::int64_t axis) {
  return nan_position(x, normalize_axis("nanargmax", axis, x.ndim()), true);
}
Array nanargmin(const Array& x, std::int64_t axis) {
  return nan_position(x, normalize_axis("nanargmin", axis, x.ndim()), false);
}
Array count_nonzero(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  auto dims = axes.resolve("count_nonzero", x.ndim());
  return sum(x.astype(boolean).astype(i32), dims, {.keepdims = o.keepdims}).astype(o.dtype.value_or(i32));
}
Array ptp(const Array& x, const Dimensions& axes, const ReduceOptions& o) {
  auto dims = axes.resolve("ptp", x.ndim());
  for (auto d : dims) check<ShapeError>(x.shape(d) > 0, "ptp: dimension ", d, " of ", x.shape(), " is empty");
  return amax(x, dims, o) - amin(x, dims, o);
}
Array nancumsum(const Array& x, std::int64_t axis) {
  return cumsum(without_nan(x, 0), normalize_axis("nancumsum", axis, x.ndim()));
}
Array nancumprod(const Array& x, std::int64_t axis) {
  return cumprod(without_nan(x, 1), normalize_axis("nancumprod", axis, x.ndim()));
}
Array cumprod(const Array& x, std::int64_t axis) {
  axis = normalize_axis("cumprod", axis, x.ndim());
  return ops::running(ops::RunningKind::prod, ops::for_sums(x), axis, false);
}
namespace {
Array with_initial(const Array& y, std::int64_t axis, bool include, Scalar initial) {
  if (!include) return y;
  auto s = y.shape();
  s[at(axis)] = 1;
  return concatenate({full_of({s, y.dtype()}, initial), y}, axis);
}
}  // namespace

Array cumulative_sum(const Array& x, std::int64_t axis, bool include_initial) {
  axis = normalize_axis("cumulative_sum", axis, x.ndim());
  return with_initial(cumsum(x, axis), axis, include_initial, 0);
}
Array cumulative_prod(const Array& x, std::int64_t axis, bool include_initial) {
  axis = normalize_axis("cumulative_prod", axis, x.ndim());
  return with_initial(cumprod(x, axis), axis, include_initial, 1);
}
}  // namespace bora
