// Statistics of samples: ranks, modes, the error of the mean.
#include "bora/ops/sorting.h"
#include "ops/scipy/stats/distribution.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/indexing.h"

namespace bora::stats {
namespace {
/// Running maximum of integers along the last axis, by doubling: log2(n) passes (Hillis & Steele 1986).
Array running_max(Array x) {
  auto n = x.shape(-1), axis = x.ndim() - 1;
  for (std::int64_t step = 1; step < n; step *= 2)
    x = concatenate({part(x, axis, 0, step), maximum(part(x, axis, step, n), part(x, axis, 0, n - step))}, axis);
  return x;
}
/// Marks the places at which a new value begins in lines sorted along the last axis; NaN equals NaN.
Array beginnings(const Array& x) {
  auto n = x.shape(-1), axis = x.ndim() - 1;
  auto later = part(x, axis, 1, n), earlier = part(x, axis, 0, n - 1);
  auto differ = later != earlier;
  if (is_float(x.dtype())) differ = differ && !(isnan(later) && isnan(earlier));
  return concatenate({full_of({part(x, axis, 0, 1).shape(), boolean}, true), differ}, axis);
}
Array positions_in(const Array& x) { return broadcast_to(iota({x.shape(-1)}, 0, i32), x.shape()); }
}  // namespace

Mode mode(const Array& x, std::int64_t axis, const SampleOptions& options) {
  auto d = normalize_axis("mode", axis, x.ndim());
  check<ShapeError>(x.shape(d) > 0, "mode: dimension ", d, " of ", x.shape(), " is empty");
  auto sorted = sort(moveaxis(x, d, -1), -1);
  auto i = positions_in(sorted);
  auto repeated = i - running_max(where(beginnings(stop_gradient(sorted)), i, 0)) + 1;
  auto best = expand_dims(argmax(repeated, -1), -1);
  auto value = moveaxis(take_along_axis(sorted, best, -1), -1, d);
  auto count = moveaxis(take_along_axis(repeated, best, -1), -1, d);
  if (options.keepdims) return {value, count};
  return {squeeze(value, d), squeeze(count, d)};
}
Array sem(const Array& x, const Dimensions& axes, const SampleOptions& options) {
  return in_f32(x, [&](A v) {
    auto dims = axes.resolve("sem", v.ndim());
    double n = 1;
    for (auto d : dims) n *= static_cast<double>(v.shape(d));
    auto centered = v - mean(v, dims, {.keepdims = true});
    auto variance =
        sum(centered * centered, dims, {.keepdims = options.keepdims}) / (n - static_cast<double>(options.ddof));
    return sqrt(variance) / std::sqrt(n);
  });
}
Array rankdata(const Array& x, Ties ties, const std::optional<std::int64_t>& axis) {
  if (!axis) return rankdata(reshape(x, {x.size()}), ties, 0);
  auto d = normalize_axis("rankdata", *axis, x.ndim());
  auto result = real_accumulator(x.dtype());
  auto lines = stop_gradient(moveaxis(x, d, -1));
  if (lines.size() == 0) return x.astype(result);
  auto order = argsort(lines, -1), back = argsort(order, -1);
  auto sorted = take_along_axis(lines, order, -1);
  auto n = static_cast<std::int32_t>(lines.shape(-1));
  auto i = positions_in(lines), begins = beginnings(sorted);
  auto first = [&] { return running_max(where(begins, i, 0)) + 1; };
  auto last = [&] {  // the same from behind
    auto ends = concatenate({part(begins, begins.ndim() - 1, 1, n),
                             full_of({part(begins, begins.ndim() - 1, 0, 1).shape(), boolean}, true)},
                            -1);
    return n - flip(running_max(flip(where(ends, n - 1 - i, 0), -1)), -1);
  };
  Array rank;
  switch (ties) {
    case Ties::ordinal: rank = (i + 1).astype(result); break;
    case Ties::dense: rank = cumsum(begins.astype(i32), -1).astype(result); break;
    case Ties::min: rank = first().astype(result); break;
    case Ties::max: rank = last().astype(result); break;
    case Ties::average: rank = (first() + last()).astype(result) * 0.5; break;
  }
  rank = take_along_axis(rank, back, -1);
  if (is_float(x.dtype())) rank = where(any(isnan(lines), -1, {.keepdims = true}), kNan, rank);
  return moveaxis(rank, -1, d);
}
}  // namespace bora::stats
