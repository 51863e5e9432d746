// shape.h -- named arrays of other axes or of more elements: flattening, splitting, repeating, padding, broadcasting,
// and arrays made of positions. Errors are AxisErrors that name the axis and list the others.
#pragma once
#include <functional>
#include "bora/named/array.h"
#include "bora/ops/manipulation.h"

namespace bora {
// ---- fewer and other axes -------------------------------------------------------------------------------------------
/// All axes as one, row-major.
NamedArray ravel(const NamedArray& x, const std::string& into);
NamedArray flatten(const NamedArray& x, const std::string& into);  // ravel
// All axes but these as one axis in front, and the function that gives an array which has it the old axes back, in
// their old order as far as it still has them.
struct Flattened {
  NamedArray array;
  std::function<NamedArray(const NamedArray&)> unflatten;
};
Flattened flatten_all_axes_but(const NamedArray& x, const std::string& into, const AxisNames& kept);
/// x in parts along an axis: one for each of these axes, whose sizes add up to its size.
std::vector<NamedArray> split(const NamedArray& x, const AxisNames::One& axis, const Axes& parts);
/// x's elements along an axis, without it.
std::vector<NamedArray> unbind(const NamedArray& x, const AxisNames::One& axis);
/// The sum of the elements whose position along b is k more than their position along a.
NamedArray trace(const NamedArray& x, const AxisNames::One& a, const AxisNames::One& b, std::int64_t k = 0);
// x with zeros where the position along b is more (tril) or less (triu) than the one along a plus k. a and b come
// last.
NamedArray tril(const NamedArray& x, const AxisNames::One& a, const AxisNames::One& b, std::int64_t k = 0);
NamedArray triu(const NamedArray& x, const AxisNames::One& a, const AxisNames::One& b, std::int64_t k = 0);

// ---- the same axes --------------------------------------------------------------------------------------------------
/// x[i - shift] at position i, around the end; the shift may be an integer scalar.
NamedArray roll(const NamedArray& x, std::int64_t shift, const AxisNames::One& axis);
NamedArray roll(const NamedArray& x, const NamedArray& shift, const AxisNames::One& axis);
struct NamedPadding {  // elements beside one axis
  AxisNames::One axis;
  std::int64_t before = 0, after = 0;
};
struct NamedPadOptions {             // of pad
  PadMode mode = PadMode::constant;  // what is written beside an axis
  Scalar value = 0;                  // of the elements beside it, where the mode writes one number
};
/// pad(x, {{"position", 1, 2}, {Embed, 0, 8}}).
NamedArray pad(const NamedArray& x, std::initializer_list<NamedPadding> padding, const NamedPadOptions& options = {});
/// x with `value` before its elements along an axis, up to the size of `to`, which replaces it.
NamedArray pad_left(const NamedArray& x, const AxisNames::One& axis, const Axis& to, Scalar value = 0);
// x repeated n times along an axis, as a whole; an axis that x lacks is added in front.
struct Tiling {
  AxisNames::One axis;
  std::int64_t n;
};
NamedArray tile(const NamedArray& x, std::initializer_list<Tiling> tiling);
/// Each element along an axis n times; or element i as often as counts[i] says, `total` elements in all: further ones
/// repeat the last element, and more are cut off.
NamedArray repeat(const NamedArray& x, std::int64_t n, const AxisNames::One& axis);
NamedArray repeat(const NamedArray& x, const NamedArray& counts, const AxisNames::One& axis, std::int64_t total);

// ---- more axes ------------------------------------------------------------------------------------------------------
/// x with those of `axes` that it lacks in front.
NamedArray broadcast_axis(const NamedArray& x, const Axes& axes);
struct BroadcastArraysOptions {  // of broadcast_arrays
  bool require_subset = true;  // of any two arrays one must have all axes of the other; false: missing ones go in front
  bool ensure_order = true;    // all results have their axes in one order
};
/// Each array with all axes of all of them.
std::vector<NamedArray> broadcast_arrays(const std::vector<NamedArray>& xs, const BroadcastArraysOptions& options = {});

// ---- arrays of numbers ----------------------------------------------------------------------------------------------
/// `value` over x's axes; default dtype: x's.
NamedArray full_like(const NamedArray& x, Scalar value, std::optional<Dtype> dtype = none);
// Numbers from start to stop, both included: at equal distances; powers of 10 (base) with exponents at equal
// distances; with equal ratios.
NamedArray linspace(const Axis& axis, double start, double stop, Dtype dtype = default_float());
NamedArray logspace(const Axis& axis, double start, double stop, double base = 10, Dtype dtype = default_float());
NamedArray geomspace(const Axis& axis, double start, double stop, Dtype dtype = default_float());
}  // namespace bora
