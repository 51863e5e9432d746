// The named forms of reductions, running sums, orders and searches.
#include "bora/named/reduce.h"
#include <limits>
#include "bora/named/by_name.h"
#include "bora/named/elementwise.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sets.h"
#include "bora/ops/sorting.h"
#include "named/api/registry.h"
#include "named/api/support.h"
#include "ops/api/extreme.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using ops::extreme;
namespace {
/// A mask over x's axes.
Array mask_over(std::string_view what, const NamedArray& x, const NamedArray& mask) {
  check<DtypeError>(mask.dtype() == boolean, what, ": where is boolean, not ", mask.dtype());
  for (auto& a : mask.axes())
    check<AxisError>(x.has_axis(a.name) && x.axis(a.name) == a, what, ": axis '", a.name, "' (", a.size,
                     ") of where is not in ", to_string(x.axes()));
  return spread_to(mask, x.axes());
}
template <class T>
NamedArray kept(std::string_view what, const NamedArray& x, const NamedArray& mask, const T& otherwise) {
  return mask.defined() ? made(where(mask_over(what, x, mask), x.array(), otherwise), x.axes()) : x;
}
using Reduction = Array (*)(const Array&, const Dimensions&, const ReduceOptions&);
NamedArray reduced(std::string_view what, Reduction f, const NamedArray& x, const ReduceAxes& axes,
                   std::optional<Dtype> dtype = none) {
  auto along = axes.names() ? positions(what, x, *axes.names()) : Dims();
  auto y = f(x.array(), axes.names() ? Dimensions(along) : Dimensions(none), {.dtype = dtype});
  return made(std::move(y), axes.names() ? without(x.axes(), along) : std::vector<Axis>());
}
const Scalar kNan = std::numeric_limits<double>::quiet_NaN();
/// How many elements count for each result; NaN elements of x do not, where they are skipped.
NamedArray number_of(std::string_view what, const NamedArray& x, const ReduceAxes& axes, const NamedArray& mask,
                     bool skip_nan) {
  auto counts = mask.defined() ? made(mask_over(what, x, mask), x.axes()) : made(full_of({x.array().shape(), boolean},
                                                                                        true), x.axes());
  if (skip_nan && is_inexact(x.dtype())) counts = counts && !isnan(x);
  return reduced(what, bora::sum, counts.astype(real_accumulator(x.dtype())), axes);
}
NamedArray mean_of(std::string_view what, const NamedArray& x, const ReduceAxes& axes, const NamedReduceOptions& o,
                   bool skip_nan) {
  auto to = o.dtype.value_or(inexact_dtype(x.dtype()));
  auto v = x.astype(accumulator(inexact_dtype(to)));
  auto total = skip_nan ? nansum(v, axes, {.where = o.where}) : sum(v, axes, {.where = o.where});
  return (total / number_of(what, v, axes, o.where, skip_nan)).astype(to);
}
NamedArray var_of(std::string_view what, const NamedArray& x, const ReduceAxes& axes, const NamedVarOptions& o,
                  bool skip_nan) {
  auto to = real_dtype(inexact_dtype(x.dtype()));
  auto v = x.astype(accumulator(inexact_dtype(x.dtype())));
  auto mean = mean_of(what, v, axes, {.where = o.where}, skip_nan);
  // Masked before the square, whose derivative would be 0 times what is excluded.
  auto far = kept(what, v - mean, o.where, 0);
  if (skip_nan) far = where(isnan(v), 0, far);
  auto total = sum(is_complex(far.dtype()) ? real(far * conj(far)) : square(far), axes);
  return (total / (number_of(what, v, axes, o.where, skip_nan) - o.ddof)).astype(to);
}
bool plain(const NamedVarOptions& o) { return !o.where.defined() && o.ddof == 0; }
}  // namespace

// name, and what elements count as where they do not count
#define BORA_REDUCTIONS(F)                                                                                    \
  F(sum, 0) F(prod, 1) F(amax, extreme(x.dtype(), true)) F(amin, extreme(x.dtype(), false)) F(all, true)      \
  F(any, false) F(nansum, 0) F(nanprod, 1) F(count_nonzero, 0)
#define REDUCTION(f, otherwise)                                                                               \
  NamedArray f(const NamedArray& x, const ReduceAxes& axes, const NamedReduceOptions& o) {                    \
    return reduced(#f, f, kept(#f, x, o.where, otherwise), axes, o.dtype);                                    \
  }
BORA_REDUCTIONS(REDUCTION)
NamedArray nanmax(const NamedArray& x, const ReduceAxes& axes, const NamedReduceOptions& o) {
  return reduced("nanmax", nanmax, is_float(x.dtype()) ? kept("nanmax", x, o.where, kNan)
                                                       : kept("nanmax", x, o.where, extreme(x.dtype(), true)), axes);
}
NamedArray nanmin(const NamedArray& x, const ReduceAxes& axes, const NamedReduceOptions& o) {
  return reduced("nanmin", nanmin, is_float(x.dtype()) ? kept("nanmin", x, o.where, kNan)
                                                       : kept("nanmin", x, o.where, extreme(x.dtype(), false)), axes);
}
NamedArray ptp(const NamedArray& x, const ReduceAxes& axes, const NamedReduceOptions& o) {
  return amax(x, axes, o) - amin(x, axes, o);
}
NamedArray mean(const NamedArray& x, const ReduceAxes& axes, const NamedReduceOptions& o) {
  return o.where.defined() ? mean_of("mean", x, axes, o, false) : reduced("mean", mean, x, axes, o.dtype);
}
NamedArray nanmean(const NamedArray& x, const ReduceAxes& axes, const NamedReduceOptions& o) {
  return o.where.defined() ? mean_of("nanmean", x, axes, o, true) : reduced("nanmean", nanmean, x, axes, o.dtype);
}
NamedArray var(const NamedArray& x, const ReduceAxes& axes, const NamedVarOptions& o) {
  return plain(o) ? reduced("var", var, x, axes) : var_of("var", x, axes, o, false);
}
NamedArray stddev(const NamedArray& x, const ReduceAxes& axes, const NamedVarOptions& o) {
  return plain(o) ? reduced("stddev", stddev, x, axes) : sqrt(var_of("stddev", x, axes, o, false));
}
NamedArray nanvar(const NamedArray& x, const ReduceAxes& axes, const NamedVarOptions& o) {
  return plain(o) ? reduced("nanvar", nanvar, x, axes) : var_of("nanvar", x, axes, o, true);
}
NamedArray nanstd(const NamedArray& x, const ReduceAxes& axes, const NamedVarOptions& o) {
  return plain(o) ? reduced("nanstd", nanstd, x, axes) : sqrt(var_of("nanstd", x, axes, o, true));
}
NamedArray logsumexp(const NamedArray& x, const ReduceAxes& axes, const NamedReduceOptions& o) {
  auto v = is_inexact(x.dtype()) ? x : x.astype(f32);
  return reduced("logsumexp", logsumexp, kept("logsumexp", v, o.where, extreme(v.dtype(), true)), axes, o.dtype);
}

#define POSITION(f)                                                                                           \
  NamedArray f(const NamedArray& x) { return made(f(ravel(x.array()), 0), {}); }                              \
  NamedArray f(const NamedArray& x, const AxisNames::One& axis) { return by_name(#f, f, x, AxisNames{axis}); }
POSITION(argmax)
POSITION(argmin)
POSITION(nanargmax)
POSITION(nanargmin)
#define BORA_ALONG(F) F(cumsum) F(cumprod) F(nancumsum) F(nancumprod) F(sort) F(argsort)
#define ALONG(f)                                                                                              \
  NamedArray f(const NamedArray& x, const AxisNames::One& axis) { return by_name(#f, f, x, AxisNames{axis}); }
BORA_ALONG(ALONG)
NamedArray softmax(const NamedArray& x, const AxisNames& axes) {
  return made(softmax(x.array(), positions("softmax", x, axes)), x.axes());
}
NamedArray log_softmax(const NamedArray& x, const AxisNames& axes) {
  return made(log_softmax(x.array(), positions("log_softmax", x, axes)), x.axes());
}
NamedTopK top_k(const NamedArray& x, const AxisNames::One& axis, std::int64_t k, const std::string& into) {
  auto p = require_axis("top_k", x.axes(), axis);
  auto axes = x.axes();
  axes[static_cast<std::size_t>(p)] = {into.empty() ? axis.name : into, k};
  auto r = top_k(moveaxis(x.array(), p, -1), k);
  return {NamedArray(moveaxis(r.values, -1, p), axes), NamedArray(moveaxis(r.indices, -1, p), axes)};
}

NamedArray searchsorted(const NamedArray& sorted, const NamedArray& values, Side side) {
  check<AxisError>(sorted.ndim() == 1, "searchsorted: the sorted array has one axis, not ", to_string(sorted.axes()));
  return made(searchsorted(sorted.array(), values.array(), side), values.axes());
}
NamedArray bincount(const NamedArray& x, const Axis& counts, const NamedArray& weights) {
  BincountOptions o{.length = counts.size};
  if (weights.defined()) o.weights = ravel(aligned(weights, x.axes()).array());
  return {bincount(ravel(x.array()), o), {counts}};
}
NamedArray unique(const NamedArray& x, const Axis& values, std::optional<Scalar> fill) {
  return {unique(x.array(), {.size = values.size, .fill = fill}), {values}};
}
NamedUnique unique_all(const NamedArray& x, const Axis& values) {
  auto u = unique_all(x.array(), {.size = values.size});
  return {NamedArray(u.values, {values}), NamedArray(u.indices, {values}), made(u.inverse, x.axes()),
          NamedArray(u.counts, {values})};
}
std::vector<NamedArray> nonzero(const NamedArray& x, const Axis& size, std::int64_t fill) {
  check<AxisError>(x.ndim() > 0, "nonzero: the array has no axis whose positions it could give");
  std::vector<NamedArray> r;
  for (auto& i : nonzero(x.array(), {.size = size.size, .fill = Scalar(fill)})) r.push_back(NamedArray(i, {size}));
  return r;
}
NamedArray packbits(const NamedArray& x, const AxisNames::One& axis) {
  auto p = require_axis("packbits", x.axes(), axis);
  auto y = packbits(x.array(), p);
  auto axes = x.axes();
  axes[static_cast<std::size_t>(p)].size = y.shape(p);
  return {y, axes};
}
NamedArray unpackbits(const NamedArray& x, const AxisNames::One& axis) {
  auto p = require_axis("unpackbits", x.axes(), axis);
  auto y = unpackbits(x.array(), p);
  auto axes = x.axes();
  axes[static_cast<std::size_t>(p)].size = y.shape(p);
  return {y, axes};
}

namespace {
#define OVER_ROW(f, otherwise) OVER(f)
#define OVER(f)                                                                                               \
  {#f, NamedKind::over, [](const NamedArrays& x) { return f(x[0], "b"); },                                    \
   [](const Arrays& x) { return f(x[0], 1); }, f32, 0.5, 2},                                                  \
      {#f " of all", NamedKind::whole, [](const NamedArrays& x) { return f(x[0]); },                          \
       [](const Arrays& x) { return f(x[0]); }, f32, 0.5, 2},
#define AT_ROW(f)                                                                                             \
  {#f, NamedKind::over, [](const NamedArrays& x) { return f(x[0], "b"); },                                    \
   [](const Arrays& x) { return f(x[0], 1); }, f32, -2, 2},
#define ALONG_ROW(f)                                                                                          \
  {#f, NamedKind::along, [](const NamedArrays& x) { return f(x[0], "b"); },                                   \
   [](const Arrays& x) { return f(x[0], 1); }, f32, -2, 2},
[[maybe_unused]] const bool reductions_registered = add_named(
    {BORA_REDUCTIONS(OVER_ROW) OVER(mean) OVER(nanmean) OVER(nanmax) OVER(nanmin) OVER(ptp) OVER(var) OVER(stddev)
         OVER(nanvar) OVER(nanstd) OVER(logsumexp) AT_ROW(argmax) AT_ROW(argmin) AT_ROW(nanargmax) AT_ROW(nanargmin)
             BORA_ALONG(ALONG_ROW) ALONG_ROW(softmax) ALONG_ROW(log_softmax)});
}  // namespace
}  // namespace bora
#undef BORA_REDUCTIONS
#undef REDUCTION
#undef POSITION
#undef BORA_ALONG
#undef ALONG
#undef OVER_ROW
#undef OVER
#undef AT_ROW
#undef ALONG_ROW
