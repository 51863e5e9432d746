// masked.h -- reductions of the elements for which a condition holds: NumPy's where=, initial= and ddof=.
//
// where: boolean (or numbers, of which 0 is false), broadcastable to x; an empty Array stands for all elements. Dtypes
// are those of the reductions in reduce.h.
#pragma once
#include "bora/ops/axes.h"

namespace bora::masked {
struct Options {
  bool keepdims = false;
  std::optional<Scalar> initial = none;  // one more element of every sum, product or extreme
  double ddof = 0;                       // var and stddev divide by n - ddof
};
Array sum(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array prod(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
/// Extremes. Throw ValueError for a condition without .initial, as the extreme of nothing does not exist.
Array amax(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array amin(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array all(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array any(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
// NaN where the condition holds nowhere.
Array mean(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array var(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
Array stddev(const Array& x, const Array& where, const Dimensions& axes = none, const Options& options = {});
}  // namespace bora::masked
