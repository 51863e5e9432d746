// Reductions with a function, running reductions, order by several keys.
#include "bora/ops/lax.h"
#include "bora/ops/sets.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/api/running.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/reductions.h"

namespace bora::lax {
using namespace ops;
namespace {
Array joined_by(std::string_view what, const Combine& f, const Array& a, const Array& b) {
  auto y = f(a, b);
  check<ShapeError>(y.type() == a.type(), what, ": the function must return ", a.type(), ", got ", y.type());
  return y;
}
Dims sizes_for(std::string_view name, const Dims& given, const Array& x) {
  if (given.empty()) return Dims(at(x.ndim()), 1);
  check<ValueError>(static_cast<std::int64_t>(given.size()) == x.ndim(), "reduce_window: ", name, " has ", given.size(),
                    " numbers for ", x.ndim(), " dimensions");
  for (auto g : given) check<ValueError>(g > 0, "reduce_window: ", name, " = ", g, " must be positive");
  return given;
}
}  // namespace

Array reduce(const Array& x, Scalar init, const Combine& f, const Dims& dims) {
  auto gone = Dimensions(dims).resolve("reduce", x.ndim());
  auto kept = others(x.ndim(), gone);
  auto shape = pick(x.shape(), kept);
  std::int64_t n = product(pick(x.shape(), gone), 0, static_cast<std::int64_t>(gone.size()));
  auto flat = shape;
  flat.push_back(n);
  auto y = reshape(transpose(x, joined(kept, gone)), flat);
  auto last = y.ndim() - 1;
  if (n == 0) return full_of({shape, x.dtype()}, init);
  for (; n > 1; n = (n + 1) / 2) {
    auto half = n / 2;
    auto pairs = joined_by("reduce", f, part(y, last, 0, half), part(y, last, half, 2 * half));
    y = n % 2 == 0 ? pairs : concatenate({pairs, part(y, last, n - 1, n)}, last);
  }
  return index_in_dim(y, last, 0);
}
Array reduce_window(const Array& x, Scalar init, const Combine& f, const Dims& window, const WindowOptions& o) {
  auto w = sizes_for("window", window, x), stride = sizes_for("window_strides", o.window_strides, x);
  auto base = sizes_for("base_dilation", o.base_dilation, x);
  auto dilation = sizes_for("window_dilation", o.window_dilation, x);
  auto n = w.size();
  bool given = o.padding.rule == Padding::pairs, same = o.padding.rule == Padding::same;
  check<ValueError>(!given || o.padding.given.size() == n, "reduce_window: the padding has ", o.padding.given.size(),
                    " pairs for ", n, " dimensions");
  Dims lo(n, 0), hi(n, 0), between(n, 0), count(n, 0);
  for (std::size_t d = 0; d < n; ++d) {
    auto size = x.shape(static_cast<std::int64_t>(d));
    auto wide = size == 0 ? 0 : (size - 1) * base[d] + 1, reach = (w[d] - 1) * dilation[d] + 1;
    if (given) lo[d] = o.padding.given[d].first, hi[d] = o.padding.given[d].second;
    if (same) {
      auto wanted = (wide + stride[d] - 1) / stride[d];
      auto missing = std::max<std::int64_t>((wanted - 1) * stride[d] + reach - wide, 0);
      lo[d] = missing / 2, hi[d] = missing - missing / 2;
    }
    between[d] = base[d] - 1;
    auto whole = wide + lo[d] + hi[d];
    count[d] = whole < reach ? 0 : (whole - reach) / stride[d] + 1;
  }
  auto y = pad(x, lo, hi, init, between);
  for (std::size_t d = 0; d < n; ++d) {  // one dimension at a time: f is associative
    auto axis = static_cast<std::int64_t>(d);
    Array total;
    for (std::int64_t k = 0; k < w[d]; ++k) {
      auto from = k * dilation[d], to = from + (count[d] - 1) * stride[d] + 1;
      auto one = count[d] == 0 ? part(y, axis, 0, 0) : slice_in_dim(y, axis, from, to, stride[d]);
      total = total.defined() ? joined_by("reduce_window", f, total, one) : one;
    }
    y = total;
  }
  return y;
}
Array cumsum(const Array& x, std::int64_t axis, bool reverse) {
  return reverse ? flip(bora::cumsum(flip(x, axis), axis), axis) : bora::cumsum(x, axis);
}
Array cumprod(const Array& x, std::int64_t axis, bool reverse) {
  return running(RunningKind::prod, for_sums(x), normalize_axis("cumprod", axis, x.ndim()), reverse);
}
Array cummax(const Array& x, std::int64_t axis, bool reverse) {
  return running(RunningKind::max, x, normalize_axis("cummax", axis, x.ndim()), reverse);
}
Array cummin(const Array& x, std::int64_t axis, bool reverse) {
  return running(RunningKind::min, x, normalize_axis("cummin", axis, x.ndim()), reverse);
}
Array cumlogsumexp(const Array& x, std::int64_t axis, bool reverse) {
  return in_f32(x, [&](const Array& v) {
    return running(RunningKind::logsumexp, v, normalize_axis("cumlogsumexp", axis, v.ndim()), reverse);
  });
}

Arrays sort(const Arrays& operands, std::int64_t dimension, std::int64_t num_keys) {
  check<ValueError>(num_keys >= 1 && num_keys <= static_cast<std::int64_t>(operands.size()), "sort: num_keys = ",
                    num_keys, " for ", operands.size(), " operands");
  for (auto& x : operands)
    check<ShapeError>(x.shape() == operands[0].shape(), "sort: operands of shapes ", operands[0].shape(), " and ",
                      x.shape(), " differ");
  auto axis = normalize_axis("sort", dimension, operands[0].ndim());
  Arrays keys(operands.begin(), operands.begin() + num_keys);
  auto order = lexsort(Arrays(keys.rbegin(), keys.rend()), axis);
  Arrays r;
  for (auto& x : operands) r.push_back(take_along_axis(x, order, axis));
  return r;
}
namespace {
TopKResult largest(std::string_view what, const Array& x, std::int64_t k, std::int64_t dimension) {
  auto axis = normalize_axis(what, dimension, x.ndim());
  auto r = top_k(moveaxis(x, axis, -1), k);
  return {moveaxis(r.values, -1, axis), moveaxis(r.indices, -1, axis)};
}
}  // namespace
TopKResult approx_max_k(const Array& x, std::int64_t k, std::int64_t d) { return largest("approx_max_k", x, k, d); }
TopKResult approx_min_k(const Array& x, std::int64_t k, std::int64_t d) {
  check<DtypeError>(is_float(x.dtype()), "approx_min_k: takes fractions, got ", x.type());
  auto r = largest("approx_min_k", -x, k, d);
  return {-r.values, r.indices};
}
}  // namespace bora::lax
