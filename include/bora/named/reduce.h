// reduce.h -- the named forms of reductions, running sums, orders and searches. Axes are an Axis, a name, several of
// them, or none for all; reduced axes disappear. NaN, dtypes and ties are those of the positional functions.
#pragma once
#include "bora/named/array.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"

namespace bora {
/// The axes of a reduction: Embed, "embed", {Batch, "embed"}, or none for all of them; {} is no axis.
class ReduceAxes {
 public:
  ReduceAxes(std::nullopt_t) {}
  template <class T>
  requires(std::convertible_to<const T&, AxisNames>) ReduceAxes(const T& axes) : names_(AxisNames(axes)) {}
  ReduceAxes(std::initializer_list<AxisNames::One> axes) : names_(AxisNames(axes)) {}
  const std::optional<AxisNames>& names() const { return names_; }
 private:
  std::optional<AxisNames> names_;
};
struct NamedReduceOptions {           // of reductions over axes
  NamedArray where = {};              // boolean, over some of x's axes: only elements where it holds count
  std::optional<Dtype> dtype = none;  // accumulate and return in this dtype
};
// The reduction of the same name of ops/reductions.h or ops/nn.h over axes (default: all), which disappear.
// If no element counts, sum gives 0, prod 1, all true, any false, amax and amin the lowest and the highest number
// of the dtype, the others NaN. Throws AxisError.
NamedArray sum(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray mean(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray prod(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray amax(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray amin(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray all(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray any(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray nansum(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray nanprod(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray nanmean(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray nanmax(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray nanmin(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray ptp(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
NamedArray count_nonzero(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});
struct NamedVarOptions {  // of variances and deviations
  NamedArray where = {};  // boolean: only elements where it holds count
  double ddof = 0;        // divided by n - ddof
};
NamedArray var(const NamedArray& x, const ReduceAxes& axes = none, const NamedVarOptions& options = {});
NamedArray stddev(const NamedArray& x, const ReduceAxes& axes = none, const NamedVarOptions& options = {});
NamedArray nanvar(const NamedArray& x, const ReduceAxes& axes = none, const NamedVarOptions& options = {});
NamedArray nanstd(const NamedArray& x, const ReduceAxes& axes = none, const NamedVarOptions& options = {});
NamedArray logsumexp(const NamedArray& x, const ReduceAxes& axes = none, const NamedReduceOptions& options = {});

// i32 position of the largest (smallest) element along an axis; without one, in the elements of all axes in their
// order.
NamedArray argmax(const NamedArray& x);
NamedArray argmax(const NamedArray& x, const AxisNames::One& axis);
NamedArray argmin(const NamedArray& x);
NamedArray argmin(const NamedArray& x, const AxisNames::One& axis);
NamedArray nanargmax(const NamedArray& x);
NamedArray nanargmax(const NamedArray& x, const AxisNames::One& axis);
NamedArray nanargmin(const NamedArray& x);
NamedArray nanargmin(const NamedArray& x, const AxisNames::One& axis);

// ---- along an axis, which stays -------------------------------------------------------------------------------------
// The function of the same name of ops/reductions.h, ops/sorting.h or ops/nn.h along an axis, which stays.
NamedArray cumsum(const NamedArray& x, const AxisNames::One& axis);
NamedArray cumprod(const NamedArray& x, const AxisNames::One& axis);
NamedArray nancumsum(const NamedArray& x, const AxisNames::One& axis);
NamedArray nancumprod(const NamedArray& x, const AxisNames::One& axis);
NamedArray sort(const NamedArray& x, const AxisNames::One& axis);
NamedArray argsort(const NamedArray& x, const AxisNames::One& axis);
NamedArray softmax(const NamedArray& x, const AxisNames& axes);
NamedArray log_softmax(const NamedArray& x, const AxisNames& axes);
// The `k` largest elements along an axis, descending, as axis `into` (default: the same name), and their i32
// positions.
struct NamedTopK {
  NamedArray values, indices;
};
NamedTopK top_k(const NamedArray& x, const AxisNames::One& axis, std::int64_t k, const std::string& into = {});

// ---- searches -------------------------------------------------------------------------------------------------------
/// i32 positions at which values would be inserted into `sorted`, which has one axis, ascending. values' axes.
NamedArray searchsorted(const NamedArray& sorted, const NamedArray& values, Side side = Side::left);
/// How often each of 0, 1, .. occurs in x, along `counts`, i32; or the sums of weights, which have x's axes.
NamedArray bincount(const NamedArray& x, const Axis& counts, const NamedArray& weights = {});
// The distinct elements of x, ascending, along `values`; fewer are filled up (default: with the smallest), more are
// cut off. unique_all: also the i32 position of each one's first occurrence in x's elements, for each element of x the
// position of its value, and how often each occurs.
NamedArray unique(const NamedArray& x, const Axis& values, std::optional<Scalar> fill_value = none);
struct NamedUnique {
  NamedArray values, indices, inverse, counts;
};
NamedUnique unique_all(const NamedArray& x, const Axis& values);
/// For each of x's axes the i32 positions along it of the elements that are not 0, along `size`; fewer are filled up
/// with `fill_value`.
std::vector<NamedArray> nonzero(const NamedArray& x, const Axis& size, std::int64_t fill_value = 0);
/// Bits (elements that are not 0) along an axis in bytes u8, the first the highest, the last byte filled up with 0; and
/// back.
NamedArray packbits(const NamedArray& x, const AxisNames::One& axis);
NamedArray unpackbits(const NamedArray& x, const AxisNames::One& axis);  // the bits of bytes, u8
}                                                                        // namespace bora
