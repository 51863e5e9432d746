// Lists of axes, repeats by data, modes of padding.
#include "bora/ops/forms.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/reduce.h"
#include "bora/ops/statistics.h"
#include "bora/ops/transform.h"
#include "ops/composed.h"

namespace bora {
using namespace ops;
namespace {
/// The axes as numbers of [0, ndim), all different.
Dims distinct(std::string_view what, Dims axes, std::int64_t ndim) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = normalize_axis(what, axes[i], ndim);
    check<ValueError>(position(axes, axes[i]) == static_cast<std::int64_t>(i), what, ": axis ", axes[i],
                      " is given twice");
  }
  return axes;
}
void check_lengths(std::string_view what, std::string_view these, const Dims& a, std::string_view those,
                   const Dims& b) {
  check<ValueError>(a.size() == b.size(), what, ": ", these, " ", a, " and ", those, " ", b,
                    " must be equally many");
}
}  // namespace

// ---- lists of axes --------------------------------------------------------------------------------------------------
Array tensordot(const Array& a, const Array& b, const TensordotAxes& axes) {
  check_lengths("tensordot", "the axes of a", axes.a, "those of b", axes.b);
  auto of_a = distinct("tensordot", axes.a, a.ndim()), of_b = distinct("tensordot", axes.b, b.ndim());
  for (std::size_t i = 0; i < of_a.size(); ++i)
    check<ShapeError>(a.shape(of_a[i]) == b.shape(of_b[i]), "tensordot: axis ", of_a[i], " of ", a.shape(), " has ",
                      a.shape(of_a[i]), " elements and axis ", of_b[i], " of ", b.shape(), " has ", b.shape(of_b[i]));
  return dot_general(a, b, {{}, {}, of_a, of_b});
}
Array moveaxis(const Array& x, const Dims& from, const Dims& to) {
  check_lengths("moveaxis", "from", from, "to", to);
  auto nd = x.ndim();
  auto sources = distinct("moveaxis", from, nd), targets = distinct("moveaxis", to, nd), rest = others(nd, sources);
  Dims perm;
  for (std::int64_t d = 0, next = 0; d < nd; ++d) {
    auto i = position(targets, d);
    perm.push_back(i < static_cast<std::int64_t>(targets.size()) ? sources[at(i)] : rest[at(next++)]);
  }
  return transpose(x, perm);
}
Array expand_dims(const Array& x, const Dims& axes) {
  auto nd = x.ndim() + static_cast<std::int64_t>(axes.size());
  auto sorted = distinct("expand_dims", axes, nd);
  std::sort(sorted.begin(), sorted.end());
  auto s = x.shape();
  for (auto d : sorted) s.insert(at(d), 1);
  return reshape(x, s);
}
Array roll(const Array& x, const Dims& shifts, const Dims& axes) {
  check_lengths("roll", "shifts", shifts, "axes", axes);
  auto y = x;
  for (std::size_t i = 0; i < axes.size(); ++i) y = roll(y, shifts[i], axes[i]);
  return y;
}
Array roll(const Array& x, std::int64_t shift) { return reshape(roll(ravel(x), shift, 0), x.shape()); }

// ---- numbers --------------------------------------------------------------------------------------------------------
Array linspace(double start, double stop, std::int64_t n, const LinspaceOptions& options) {
  check<ValueError>(n >= 0, "linspace: n must not be negative, got ", n);
  auto dtype = options.dtype.value_or(f32);
  if (options.endpoint) return linspace(start, stop, n, dtype);
  return slice_in_dim(linspace(start, stop, n + 1, dtype), 0, 0, n);
}
Array linspace(const Array& start, const Array& stop, std::int64_t n, const LinspaceOptions& options) {
  check<ValueError>(n >= 0, "linspace: n must not be negative, got ", n);
  auto common = promote(start.dtype(), stop.dtype());
  auto result = options.dtype.value_or(is_inexact(common) ? common : f32);
  bool whole = !is_inexact(result);  // rounded down, so every digit counts
  auto computed = whole || is_half(result) ? promote(common, whole ? f64 : f32) : promote(common, result);
  auto shape = broadcast_shapes("linspace", start.shape(), stop.shape());
  auto nd = static_cast<std::int64_t>(shape.size());
  auto axis = normalize_axis("linspace", options.axis, nd + 1);
  Shape along(Dims(at(nd + 1), 1));
  along[at(axis)] = n;
  auto i = iota(along, axis).astype(real_dtype(computed));
  auto intervals = static_cast<double>(std::max<std::int64_t>(options.endpoint ? n - 1 : n, 1));
  auto first = expand_dims(broadcast_to(start.astype(computed), shape), axis);
  auto last = expand_dims(broadcast_to(stop.astype(computed), shape), axis);
  if (!whole || is_complex(computed)) {
    auto part = i / intervals;
    return (first * (1 - part) + last * part).astype(result);
  }
  auto y = first + i * ((last - first) / intervals);
  return floor(options.endpoint && n > 1 ? where(i == intervals, last, y) : y).astype(result);
}
Array eye(std::int64_t rows, std::int64_t columns, std::int64_t k, Dtype dtype) {
  check<ValueError>(rows >= 0 && columns >= 0, "eye: sizes must not be negative, got ", rows, " and ", columns);
  return (iota({rows, columns}, 1) - iota({rows, columns}, 0) == k).astype(dtype);
}
Array full(const Shape& shape, const Array& value, std::optional<Dtype> dtype) {
  return broadcast_to(dtype ? value.astype(*dtype) : value, shape);
}

// ---- repeats --------------------------------------------------------------------------------------------------------
Array repeat(const Array& x, const Array& counts, std::int64_t axis, const RepeatOptions& options) {
  axis = normalize_axis("repeat", axis, x.ndim());
  auto n = x.shape(axis);
  check<DtypeError>(is_integer(counts.dtype()), "repeat: counts must be integers, got ", counts.type());
  check<ShapeError>(counts.ndim() == 0 || (counts.ndim() == 1 && (counts.shape(0) == n || counts.shape(0) == 1)),
                    "repeat: counts ", counts.type(), " are not one for each of the ", n, " elements of axis ", axis,
                    " of ", x.shape());
  auto each = broadcast_to(counts.astype(i32), {n});
  auto total = options.total.value_or(0);
  check<ValueError>(total >= 0, "repeat: .total must not be negative, got ", total);
  if (!options.total)
    for (auto c : known<std::int64_t>(each, "repeat", "give {.total = n}")) {
      check<ValueError>(c >= 0, "repeat: counts must not be negative, got ", c);
      total += c;
    }
  if (total == 0) return slice_in_dim(x, axis, 0, 0);
  check<ShapeError>(n > 0, "repeat: axis ", axis, " of ", x.shape(), " has no element to fill ", total, " places");
  return take(x, searchsorted(cumsum(each), iota({total}, 0), Side::right), axis, IndexMode::clamp);
}
Array repeat(const Array& x, std::int64_t n) { return repeat(ravel(x), n, 0); }

// ---- padding --------------------------------------------------------------------------------------------------------
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
