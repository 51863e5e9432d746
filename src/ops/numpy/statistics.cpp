// Quantiles, averages, covariances.
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/api/weighed.h"
#include "ops/numpy/support.h"
#include "ops/primitives/dtype_checks.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/indexing.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
namespace {
Array between(const Array& low, const Array& high, const Array& t, Between method) {
  switch (method) {
    case Between::lower: return low;
    case Between::higher: return high;
    case Between::nearest: return where(t <= 0.5, low, high);
    case Between::midpoint: return where(t == 0, low, (low + high) * 0.5);
    case Between::linear: break;
  }
  // Equal neighbours are the result themselves: an infinity times a weight of 0 would be NaN.
  return where(t == 0 || low == high, low, low * (1 - t) + high * t);
}
Array quantiles(std::string_view what, const Array& x, const Array& q, const Dimensions& axes, const QuantileOptions& o,
                bool skip) {
  check<DtypeError>(is_numeric(x.dtype()), what, ": keys have no order");
  takes_ordered(what, x.dtype());
  auto dims = axes.resolve(what, x.ndim());
  auto rest = others(x.ndim(), dims);
  auto rows = pick(x.shape(), rest);
  auto n = product(pick(x.shape().dims(), dims), 0, static_cast<std::int64_t>(dims.size()));
  check<ShapeError>(n > 0, what, ": there are no elements along axes ", dims, " of ", x.shape());
  auto flat = rows;
  flat.push_back(n);
  // f32 does not hold every position from 2^24 elements on.
  auto position = n > (std::int64_t{1} << 24) ? f64 : x.dtype() == f64 ? f64 : f32;
  return in_f32(x, [&](const Array& v) {
    auto sorted = sort(reshape(transpose(v, joined(rest, dims)), flat), -1);
    auto nan = isnan(sorted);
    auto last = sum((!nan).astype(position), -1, kKeep) - 1;  // the position of the largest that is not NaN
    if (!skip) last = full_like(last, n - 1);
    auto wanted = ravel(q).astype(position);
    auto outside = !(wanted >= 0 && wanted <= 1);
    auto place = where(outside, 0, wanted) * maximum(last, 0);  // [rows.., Q]
    auto low = stop_gradient(floor(place)), high = stop_gradient(ceil(place));
    auto element = [&](const Array& i) { return take_along_axis(sorted, i.astype(i32), -1); };
    auto y = between(element(low), element(high), (place - low).astype(v.dtype()), o.method);
    auto slope_of_nan = [](const Array& z) { return z * stop_gradient(where(z == z, 1, z)); };
    y = where(outside, kNan, y);
    y = where(isnan(wanted), slope_of_nan(wanted).astype(y.dtype()), y);
    auto greatest = part(sorted, sorted.ndim() - 1, n - 1, n);  // NaN where there is one
    y = skip ? where(last < 0, kNan, y) : where(any(nan, -1, kKeep), slope_of_nan(greatest), y);
    auto shape = q.shape();
    shape.append(rows);
    y = reshape(moveaxis(y, -1, 0), shape);
    if (o.keepdims)
      for (auto d : dims) y = expand_dims(y, q.ndim() + d);
    return y;
  });
}
Array number(std::string_view what, double q, double most) {
  check<ValueError>(q >= 0 && q <= most, what, ": q = ", q, " does not lie in [0, ", most, "]");
  return constant(q / most, f64);
}
Array hundredth(const Array& q) { return q.astype(f64) / 100; }
}  // namespace

Array quantile(const Array& x, double q, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("quantile", x, number("quantile", q, 1), axes, o, false);
}
Array quantile(const Array& x, const Array& q, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("quantile", x, q, axes, o, false);
}
Array nanquantile(const Array& x, double q, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("nanquantile", x, number("nanquantile", q, 1), axes, o, true);
}
Array nanquantile(const Array& x, const Array& q, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("nanquantile", x, q, axes, o, true);
}
Array percentile(const Array& x, double q, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("percentile", x, number("percentile", q, 100), axes, o, false);
}
Array percentile(const Array& x, const Array& q, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("percentile", x, hundredth(q), axes, o, false);
}
Array nanpercentile(const Array& x, double q, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("nanpercentile", x, number("nanpercentile", q, 100), axes, o, true);
}
Array nanpercentile(const Array& x, const Array& q, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("nanpercentile", x, hundredth(q), axes, o, true);
}
Array median(const Array& x, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("median", x, constant(0.5, f64), axes, o, false);
}
Array nanmedian(const Array& x, const Dimensions& axes, const QuantileOptions& o) {
  return quantiles("nanmedian", x, constant(0.5, f64), axes, o, true);
}
Array average(const Array& x, const Array& weights, const Dimensions& axes, const ReduceOptions& o) {
  auto dims = axes.resolve("average", x.ndim());
  auto w = weights;
  if (w.shape() != x.shape()) {
    check<ShapeError>(dims.size() == 1 && w.ndim() == 1 && w.size() == x.shape(dims[0]), "average: weights of shape ",
                      w.shape(), " are neither of x's shape ", x.shape(), " nor one number for each element of axes ",
                      dims);
    w = broadcast_in_dim(w, x.shape(), dims);
  }
  auto result = promote(is_float(x.dtype()) ? x.dtype() : f32, w.dtype());
  auto in = result == f64 ? f64 : f32;
  ReduceOptions keep{.keepdims = o.keepdims};
  auto v = w.astype(in), y = weighed(x.astype(in), v);
  return (sum(y * v, dims, keep) / sum(v, dims, keep)).astype(o.dtype.value_or(result));
}
namespace {
/// The variables as rows.
Array variables(std::string_view what, std::string_view name, const Array& x, bool rowvar) {
  check<ShapeError>(x.ndim() <= 2, what, ": ", name, " must be variables [V, n] or a vector, got ", x.type());
  return x.ndim() < 2 ? reshape(x, {1, x.size()}) : rowvar ? x : transpose(x);
}
/// The variables of x, and of y where there is one.
Array variables(std::string_view what, const Array& x, const Array& y, const CovarianceOptions& o) {
  auto rows = variables(what, "x", x, o.rowvar);
  if (o.aweights.defined()) rows = rows.astype(promote(rows.dtype(), o.aweights.dtype()));
  if (!y.defined()) return rows;
  auto more = variables(what, "y", y, o.rowvar);
  check<ShapeError>(rows.shape(1) == more.shape(1), what, ": x ", x.type(), " has ", rows.shape(1),
                    " observations and y ", y.type(), " has ", more.shape(1), o.rowvar ? "" : " (.rowvar = false)");
  return concatenate({rows, more}, 0);
}
void check_weights(std::string_view what, std::string_view name, const Array& w, std::int64_t n) {
  check<ShapeError>(w.shape() == Shape{n}, what, ": .", name, " ", w.type(), " is not one number for each of the ", n,
                    " observations");
}
/// cov of the rows [V, n], in f32 or f64.
Array covariances(std::string_view what, const Array& rows, const CovarianceOptions& o) {
  auto n = rows.shape(1), ddof = o.ddof.value_or(o.bias ? 0 : 1);
  auto d = real_dtype(rows.dtype());
  Array w;
  if (o.fweights.defined()) {
    check_weights(what, "fweights", o.fweights, n);
    check<DtypeError>(is_integer(o.fweights.dtype()), what, ": .fweights say how often each observation occurs, which ",
                      "needs integers, got ", o.fweights.type(), "; use .aweights");
    w = abs(o.fweights).astype(d);
  }
  Array counts;
  if (o.aweights.defined()) {
    check_weights(what, "aweights", o.aweights, n);
    counts = abs(o.aweights).astype(d);
    w = w.defined() ? w * counts : counts;
  }
  if (!w.defined()) {
    auto centered = rows - mean(rows, 1, kKeep);
    auto over = static_cast<double>(std::max<std::int64_t>(n - ddof, 0));
    return squeeze(matmul(centered, transpose(conj(centered))) / over);
  }
  auto total = sum(w), counted = weighed(rows, w);
  auto centered = counted - sum(counted * w, 1, kKeep) / total;
  auto lost = static_cast<double>(ddof) * (counts.defined() ? sum(w * counts) / total : full_of({{}, d}, 1));
  return squeeze(matmul(centered, transpose(conj(centered * w))) / (total - lost));
}
}  // namespace

Array cov(const Array& x, const Array& y, const CovarianceOptions& o) {
  return in_f32(variables("cov", x, y, o), [&](const Array& rows) { return covariances("cov", rows, o); });
}
Array cov(const Array& x, const CovarianceOptions& o) { return cov(x, Array(), o); }
Array corrcoef(const Array& x, const CovarianceOptions& o) { return corrcoef(x, Array(), o); }
Array corrcoef(const Array& x, const Array& y, const CovarianceOptions& o) {
  return in_f32(variables("corrcoef", x, y, o), [&](const Array& rows) {
    auto c = covariances("corrcoef", rows, o);
    if (c.ndim() == 0) return c / c;
    auto n = c.shape(0);
    auto deviation = sqrt(sum(where(eye(n, boolean), real(c), 0), 1));
    auto r = c / expand_dims(deviation, 1) / expand_dims(deviation, 0);
    return is_complex(r.dtype()) ? complex(clip(real(r), -1, 1), clip(imag(r), -1, 1)) : clip(r, -1, 1);
  });
}
}  // namespace bora
