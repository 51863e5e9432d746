// Reductions of the elements for which a condition holds.
#include "bora/ops/reductions.h"
#include "bora/ops/accumulator.h"
#include "ops/api/extreme.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/indexing.h"

namespace bora::masked {
using namespace ops;
namespace {
Array mask_of(std::string_view what, const Array& x, const Array& where) {
  if (!where.defined()) return {};
  check<ShapeError>(broadcast_shapes(what, x.shape(), where.shape()) == x.shape(), what, ": a condition of shape ",
                    where.shape(), " does not stretch to x's ", x.shape());
  return broadcast_to(where.astype(boolean), x.shape());
}
/// x, with `other` where the condition does not hold.
Array masked(std::string_view what, const Array& x, const Array& where, Scalar other) {
  auto mask = mask_of(what, x, where);
  return mask.defined() ? select(mask, x, full_like(x, other)) : x;
}
Array counted(const Array& x, const Array& mask, const Dims& dims, bool keepdims) {
  return bora::sum(mask.defined() ? mask.astype(x.dtype()) : ones_like(x), dims, {.keepdims = keepdims});
}
Array extreme_of(std::string_view what, const Array& x, const Array& where, const Dimensions& axes, const Options& o,
              bool largest) {
  check<ValueError>(!where.defined() || o.initial, what, ": the extreme of nothing does not exist; give .initial");
  auto dims = axes.resolve(what, x.ndim());
  ReduceOptions keep{.keepdims = o.keepdims};
  // Excluded elements tie with none: those that equal .initial would take a share of its gradient.
  auto mask = mask_of(what, x, where);
  auto y = mask.defined() ? bora::where(mask, x, ops::extreme(x.dtype(), largest)) : x;
  if (!o.initial) return largest ? bora::amax(y, dims, keep) : bora::amin(y, dims, keep);
  // One more element, so that there is always one.
  auto moved = y;
  for (auto d : dims) {
    Dims lo(at(x.ndim()), 0), hi = lo;
    hi[at(d)] = 1;
    moved = pad(moved, lo, hi, *o.initial);
  }
  if (dims.empty()) moved = largest ? maximum(y, *o.initial) : minimum(y, *o.initial);
  return largest ? bora::amax(moved, dims, keep) : bora::amin(moved, dims, keep);
}
Array spread(std::string_view what, const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  check<DtypeError>(!is_complex(x.dtype()), what, ": takes real numbers, got ", x.type());
  auto dims = axes.resolve(what, x.ndim());
  auto v = in_accumulator(inexact(x));
  auto mask = mask_of(what, v, where);
  auto n = counted(v, mask, dims, true);
  auto centre = bora::sum(masked(what, v, where, 0), dims, {.keepdims = true}) / n;
  // Masked before the square, whose derivative would be 0 times what is excluded.
  auto far = masked(what, v - centre, where, 0);
  auto total = bora::sum(far * far, dims, {.keepdims = o.keepdims});
  auto freedom = counted(v, mask, dims, o.keepdims) - o.ddof;
  return bora::where(freedom > 0, total / freedom, kNan);
}
}  // namespace

Array sum(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  auto y = bora::sum(masked("masked::sum", x, where, x.dtype() == boolean ? Scalar(false) : Scalar(0)),
                     axes.resolve("masked::sum", x.ndim()), {.keepdims = o.keepdims});
  return o.initial ? y + *o.initial : y;
}
Array prod(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  auto y = bora::prod(masked("masked::prod", x, where, x.dtype() == boolean ? Scalar(true) : Scalar(1)),
                      axes.resolve("masked::prod", x.ndim()), {.keepdims = o.keepdims});
  return o.initial ? y * *o.initial : y;
}
Array amax(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  return extreme_of("masked::amax", x, where, axes, o, true);
}
Array amin(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  return extreme_of("masked::amin", x, where, axes, o, false);
}
Array all(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  return bora::all(masked("masked::all", x.astype(boolean), where, true), axes.resolve("masked::all", x.ndim()),
                   {.keepdims = o.keepdims});
}
Array any(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  return bora::any(masked("masked::any", x.astype(boolean), where, false), axes.resolve("masked::any", x.ndim()),
                   {.keepdims = o.keepdims});
}
Array mean(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  auto what = "masked::mean";
  auto dims = axes.resolve(what, x.ndim());
  auto v = in_accumulator(inexact(x));
  auto n = counted(v, mask_of(what, v, where), dims, o.keepdims);
  return (bora::sum(masked(what, v, where, 0), dims, {.keepdims = o.keepdims}) / n).astype(inexact_dtype(x.dtype()));
}
Array var(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  return spread("masked::var", x, where, axes, o).astype(inexact_dtype(x.dtype()));
}
Array stddev(const Array& x, const Array& where, const Dimensions& axes, const Options& o) {
  return sqrt(spread("masked::stddev", x, where, axes, o)).astype(inexact_dtype(x.dtype()));
}
}  // namespace bora::masked
