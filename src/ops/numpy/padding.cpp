// Modes of padding.
#include "bora/ops/manipulation.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
namespace {
/// The position in [0, n) of the element that stands at i, outside of it.
std::int64_t source_of(std::int64_t i, std::int64_t n, PadMode mode) {
  auto turn = [](std::int64_t v, std::int64_t period) { return (v % period + period) % period; };
  switch (mode) {
    case PadMode::wrap: return turn(i, n);
    case PadMode::symmetric: return i = turn(i, 2 * n), i < n ? i : 2 * n - 1 - i;
    case PadMode::reflect:
      if (n == 1) return 0;
      return i = turn(i, 2 * n - 2), i < n ? i : 2 * n - 2 - i;
    default: return std::clamp<std::int64_t>(i, 0, n - 1);
  }
}
/// The elements at positions begin .. end - 1 of the endless continuation of x: slices, forwards and backwards.
void append_continued(Arrays& parts, const Array& x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                      PadMode mode) {
  auto n = x.shape(axis);
  for (auto i = begin; i < end;) {
    auto first = source_of(i, n, mode), step = i + 1 < end ? source_of(i + 1, n, mode) - first : 0;
    if (step > 1 || step < -1) step = 0;
    auto last = first, stop = i + 1;
    for (; stop < end && source_of(stop, n, mode) - last == step; ++stop) last += step;
    auto part = slice_in_dim(x, axis, std::min(first, last), std::max(first, last) + 1);
    if (step < 0) part = flip(part, axis);
    if (step == 0) part = repeat(part, stop - i, axis);
    parts.push_back(part);
    i = stop;
  }
}
/// f + (edge - f) k / count for k = 0 .. count - 1, as x's dtype; whole numbers are rounded down.
Array ramp(const Array& edge, std::int64_t axis, std::int64_t count, Scalar from) {
  Shape s(Dims(at(edge.ndim()), 1));
  s[at(axis)] = count;
  auto wide = is_inexact(edge.dtype()) ? edge : edge.astype(f32);
  auto part = iota(s, axis).astype(real_dtype(wide.dtype())) / static_cast<double>(std::max<std::int64_t>(count, 1));
  auto y = from + (wide - from) * part;
  return is_inexact(edge.dtype()) ? y : floor(y).astype(edge.dtype());
}
Array statistic(const Array& x, std::int64_t axis, PadMode mode) {
  switch (mode) {
    case PadMode::maximum: return amax(x, axis, {.keepdims = true});
    case PadMode::minimum: return amin(x, axis, {.keepdims = true});
    default: break;
  }
  auto y = mode == PadMode::mean ? mean(x, axis, {.keepdims = true}) : median(x, axis, {.keepdims = true});
  return (is_inexact(x.dtype()) ? y : round(y)).astype(x.dtype());
}
Array padded(const Array& x, std::int64_t axis, std::int64_t before, std::int64_t behind, PadMode mode, Scalar value) {
  auto n = x.shape(axis);
  check<ValueError>(n > 0, "pad: axis ", axis, " of ", x.shape(), " has no elements to continue; use constant");
  switch (mode) {
    case PadMode::linear_ramp: {
      auto first = ramp(slice_in_dim(x, axis, 0, 1), axis, before, value);
      auto last = ramp(slice_in_dim(x, axis, n - 1, n), axis, behind, value);
      return concatenate({first, x, flip(last, axis)}, axis);
    }
    case PadMode::maximum:
    case PadMode::minimum:
    case PadMode::mean:
    case PadMode::median: {
      auto beside = statistic(x, axis, mode);
      return concatenate({repeat(beside, before, axis), x, repeat(beside, behind, axis)}, axis);
    }
    default: {
      Arrays parts;
      append_continued(parts, x, axis, -before, 0, mode);
      parts.push_back(x);
      append_continued(parts, x, axis, n, n + behind, mode);
      return concatenate(parts, axis);
    }
  }
}
}  // namespace

Array pad(const Array& x, const PadWidths& widths, PadMode mode, Scalar value) {
  auto each = widths.each;
  if (widths.of_every) each.assign(at(x.ndim()), widths.each[0]);
  check<ShapeError>(static_cast<std::int64_t>(each.size()) == x.ndim(), "pad: ", each.size(), " pairs of widths for ",
                    x.shape(), "; give one for each dimension");
  Dims lo, hi;
  for (auto [before, behind] : each) {
    check<ValueError>(before >= 0 && behind >= 0, "pad: widths must not be negative, got ", before, " and ", behind,
                      "; pad(x, lo, hi) cuts");
    lo.push_back(before), hi.push_back(behind);
  }
  if (mode == PadMode::constant) return pad(x, lo, hi, value);
  auto y = x;
  for (std::int64_t d = 0; d < x.ndim(); ++d)
    if (lo[at(d)] + hi[at(d)] > 0) y = padded(y, d, lo[at(d)], hi[at(d)], mode, value);
  return y;
}
}  // namespace bora
