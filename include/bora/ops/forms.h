// forms.h -- NumPy's further forms of arguments: lists of axes, numbers of repeats that are data, modes of padding.
// Composites of slices, concatenations and takes, so that derivatives, vmap, jit and sharding follow.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>
#include "bora/ops/shape.h"

namespace bora {
// ---- lists of axes --------------------------------------------------------------------------------------------------
/// The axes that tensordot sums over: {1, 0}, or {{1, 2}, {0, 1}}, those of a and, in the same order, those of b.
struct TensordotAxes {
  TensordotAxes(std::int64_t of_a, std::int64_t of_b) : a{of_a}, b{of_b} {}
  TensordotAxes(Dims of_a, Dims of_b) : a(std::move(of_a)), b(std::move(of_b)) {}
  Dims a, b;
};
/// The other dimensions of a, then those of b: tensordot(a, b, {{1, 2}, {0, 1}}). Negative axes count from the end.
/// Throws ShapeError for sizes that differ, ValueError for lists of different lengths or an axis given twice,
/// IndexError.
Array tensordot(const Array& a, const Array& b, const TensordotAxes& axes);
/// Axis from[i] becomes axis to[i]; the others keep their order. Throws ValueError for lists of different lengths or an
/// axis given twice, IndexError.
Array moveaxis(const Array& x, const Dims& from, const Dims& to);
/// Dimensions of size 1 that are `axes` of the result.
Array expand_dims(const Array& x, const Dims& axes);
/// x's elements moved by shifts[i] along axes[i], what leaves at one end enters at the other; an axis given twice moves
/// by the sum. Without axes ravel(x) is moved, in x's shape. Throws ValueError for lists of different lengths.
Array roll(const Array& x, const Dims& shifts, const Dims& axes);
Array roll(const Array& x, std::int64_t shift);

// ---- repeats --------------------------------------------------------------------------------------------------------
struct RepeatOptions {
  std::optional<std::int64_t> total = none;  // elements of the result along the axis; default: the sum, which is read
};
/// Element i of axis counts[i] times, one after the other: counts an integer vector, or one number for all. With .total
/// the rest is cut, or filled with the last element, as by jax.numpy.repeat(total_repeat_length). Throws ShapeError,
/// DtypeError, ValueError for a negative number that can be read, TraceError inside transforms without .total.
Array repeat(const Array& x, const Array& counts, std::int64_t axis = 0, const RepeatOptions& options = {});
/// Every element of ravel(x) n times.
Array repeat(const Array& x, std::int64_t n);

// ---- padding --------------------------------------------------------------------------------------------------------
/// What stands beside the elements: a number; the nearest one; those before the first (behind the last) mirrored
/// without it, mirrored with it; those of the other end; numbers from `value`, outermost, towards the first (last) one;
/// the extreme, mean or median of the whole line.
enum class PadMode : std::uint8_t {
  constant,
  edge,
  reflect,
  symmetric,
  wrap,
  linear_ramp,
  maximum,
  minimum,
  mean,
  median
};
/// Elements before and behind along each dimension: 2, {1, 2} (of every dimension), or {{1, 2}, {0, 0}}.
struct PadWidths {
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  PadWidths(std::int64_t both) : each{{both, both}}, of_every(true) {}
  PadWidths(std::int64_t before, std::int64_t behind) : each{{before, behind}}, of_every(true) {}
  PadWidths(std::initializer_list<std::pair<std::int64_t, std::int64_t>> pairs) : each(pairs) {}
  PadWidths(Pairs pairs) : each(std::move(pairs)) {}
  Pairs each;
  bool of_every = false;
};
/// x with elements around it, axis by axis: jax.numpy.pad. value: of constant, and the end of linear_ramp. Throws
/// ShapeError for another number of pairs than dimensions, ValueError for a negative width, and for elements of an axis
/// that has none in modes other than constant.
Array pad(const Array& x, const PadWidths& widths, PadMode mode = PadMode::constant, Scalar value = 0);
}  // namespace bora
