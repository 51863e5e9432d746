// Reading and writing parts of named arrays.
#include "bora/named/index.h"
#include "bora/named/functions.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "ops/api/primitives.h"
#include "named/index_plan.h"

namespace bora {
using namespace named_index;
using kernels::ScatterMode;
namespace {
/// The value of a read outside: the nearest element, NaN (0 for integers), or this number.
struct Outside {
  bool clip = true;
  std::optional<Scalar> fill = none;
};
Array taken(const Layout& l, const Outside& o) {
  if (!o.clip && !o.fill) return call_one(ops::Take{l.axis, true, l.batch}, {l.x, positions_of(l, false)});
  if (!o.clip && l.x.size() == 0) return full_of({shape_of(l.taken), l.x.dtype()}, *o.fill);
  auto y = call_one(ops::Take{l.axis, false, l.batch}, {l.x, positions_of(l, true)});
  return o.clip ? y : where(spread_over_elements(l, inside_of(l)), y, *o.fill);
}
NamedArray read(std::string_view what, const NamedArray& x, const std::vector<NamedSlice>& parts, Outside outside) {
  auto plan = plan_of(what, x, parts);
  auto y = plain_part(x, plan);
  std::vector<Index> together;
  for (auto& i : plan.indices) {
    if (!i.in_place) {
      together.push_back(i);
      if (i.zero_outside) outside = {false, 0};
      continue;
    }
    auto l = layout_of(what, y, plan, {i});
    y = made(taken(l, i.zero_outside ? Outside{false, 0} : outside), l.taken);
  }
  if (together.empty()) return y;
  auto l = layout_of(what, y, plan, together);
  return aligned(made(taken(l, outside), l.taken), l.result);
}

using Combine = Array (*)(const Array&, const Array&);
struct Way {
  std::string_view what;
  Combine combine;     // null: the update itself
  ScatterMode mode;
  bool collect = false;  // the updates are multiplied, then combined with x: divide and power
};
Array operand(std::string_view what, const NamedArray& x, const NamedOperand& y) {
  if (y.array.defined()) {
    check<DtypeError>(promote(x.dtype(), y.array.dtype()) == x.dtype(), what, ": an update of ", y.array.dtype(),
                      " does not fit into ", x.dtype(), "; use astype()");
    return y.array.array().astype(x.dtype());
  }
  check<DtypeError>(is_inexact(x.dtype()) || y.number.integral(), what, ": the fraction ", y.number.value,
                    " does not fit into ", x.dtype(), "; use astype(f32)");
  return constant(y.number, x.dtype());
}
void check_axes(std::string_view what, const NamedArray& y, const std::vector<Axis>& chosen) {
  for (auto& a : y.axes()) {
    auto p = find_axis(chosen, a.name);
    check<AxisError>(p >= 0, what, ": the update has axis '", a.name, "', which the selected part ",
                     to_string(chosen), " has not");
    check<AxisError>(chosen[static_cast<std::size_t>(p)] == a, what, ": axis '", a.name, "' has size ", a.size,
                     " in the update and ", chosen[static_cast<std::size_t>(p)].size, " in the selected part");
  }
}
NamedArray update(const Way& way, const NamedArray& x, const std::vector<NamedSlice>& parts, const NamedOperand& y,
                  const NamedAtOptions& options) {
  auto plan = plan_of(way.what, x, parts);
  auto value = made(operand(way.what, x, y), y.array.defined() ? y.array.axes() : std::vector<Axis>());
  check<DtypeError>(!way.collect || is_inexact(x.dtype()), way.what, ": the result is a fraction, which does not fit ",
                    "into ", x.dtype(), "; use astype(f32)");
  auto write = [&](const Array& part) { return made(At(x.array(), plan.plain).set(part), x.axes()); };
  if (plan.indices.empty()) {
    auto part = plain_part(x, plan);
    check_axes(way.what, value, part.axes());
    auto v = spread_to(value, part.axes());
    return write(way.combine ? way.combine(part.array(), v) : v);
  }
  auto part = plain_part(x, plan);
  auto l = layout_of(way.what, part, plan, plan.indices);
  check_axes(way.what, value, l.taken);
  auto at = positions_of(l, options.mode == OutOfBounds::clip);
  auto scatter = [&](const Array& to) {
    return call_one(ops::Scatter{way.mode, l.axis, l.batch}, {to, at, spread_to(value, l.taken)});
  };
  auto flat = way.collect ? way.combine(l.x, scatter(ones_like(l.x))) : scatter(l.x);
  return write(aligned(made(reshape(flat, shape_of(l.before)), l.before), part.axes()).array());
}
}  // namespace

DynamicWindow dblock(const DimSlice& i, std::int64_t size) {
  if (i.kind == DimSlice::Kind::number) return {i.number * size, size};
  check<IndexError>(i.kind == DimSlice::Kind::array,
                    "dblock: the number of a block is an integer or an integer scalar");
  return {i.array * Scalar(size), size};
}
NamedArray NamedArray::operator[](const NamedSlice& s) const { return read("x[..]", *this, {s}, {}); }
NamedArray NamedArray::operator[](std::initializer_list<NamedSlice> l) const { return read("x[..]", *this, l, {}); }
NamedArray take(const NamedArray& table, const AxisNames::One& axis, const NamedArray& indices) {
  NamedSlice s(axis.name, indices);
  s.axis = axis;
  return read("take", table, {s}, {false, none});
}
NamedArray take(const NamedArray& table, const AxisNames::One& axis, std::int64_t i) {
  NamedSlice s(axis.name, i);
  s.axis = axis;
  return read("take", table, {s}, {});
}

NamedArray slice(const NamedArray& x, std::initializer_list<AxisWindow> windows) {
  auto axes = x.axes();
  Arrays starts(axes.size(), constant(0, i32));
  std::vector<bool> named(axes.size());
  for (auto& w : windows) {
    auto d = static_cast<std::size_t>(require_axis("slice", x.axes(), w.axis));
    check<AxisError>(!named[d], "slice: axis '", w.axis.name, "' is named twice");
    named[d] = true;
    auto n = axes[d].size;
    check<IndexError>(w.size >= 0 && w.size <= n, "slice: a window of ", w.size, " of axis '", axes[d].name,
                      "', which has ", n, " elements");
    if (w.start.kind == DimSlice::Kind::number) {
      auto start = w.start.number < 0 ? w.start.number + n : w.start.number;
      check<IndexError>(start >= 0 && start + w.size <= n, "slice: the window of ", w.size, " from ", w.start.number,
                        " is outside of axis '", axes[d].name, "', which has ", n, " elements");
      starts[d] = constant(start, i32);
    } else {
      check<IndexError>(w.start.kind == DimSlice::Kind::array && w.start.array.ndim() == 0,
                        "slice: the start of axis '", axes[d].name, "' is an integer or an integer scalar");
      starts[d] = w.start.array.astype(i32);
    }
    axes[d] = {w.name.empty() ? axes[d].name : w.name, w.size};
  }
  return {dynamic_slice(x.array(), starts, shape_of(axes)), axes};
}
namespace {
/// Positions of a window of `size` that begins at `start` (or nearer, where it would leave the axis).
NamedArray window_at(const NamedArray& start, const Axis& axis, std::int64_t size) {
  auto s = start.array().astype(i32);
  s = minimum(maximum(where(s < 0, s + Scalar(axis.size), s), 0), Scalar(axis.size - size));
  auto axes = start.axes();
  axes.push_back(axis.resize(size));
  return made(spread_to(made(s, start.axes()), axes) + iota(shape_of(axes), start.ndim()), axes);
}
}  // namespace
NamedArray updated_slice(const NamedArray& x, const std::vector<NamedSlice>& starts, const NamedArray& update) {
  constexpr std::string_view what = "updated_slice";
  for (auto& a : update.axes())
    check<AxisError>(x.has_axis(a.name), what, ": the update has axis '", a.name, "', which the array ",
                     to_string(x.axes()), " has not");
  auto size_of = [&](const Axis& a) { return update.has_axis(a.name) ? update.axis(a.name).size : 1; };
  std::vector<NamedSlice> where;
  auto axes = x.axes();  // of the update, with one position where it lacks an axis
  Arrays at(axes.size(), constant(0, i32));
  std::vector<bool> named(axes.size());
  bool ragged = false;
  for (auto& s : starts) {
    auto d = static_cast<std::size_t>(require_axis(what, x.axes(), s.axis));
    auto& axis = x.axes()[d];
    auto size = size_of(axis);
    check<AxisError>(!named[d], what, ": axis '", axis.name, "' is named twice");
    named[d] = true;
    check<IndexError>(size <= axis.size, what, ": the update has ", size, " positions along axis '", axis.name,
                      "', which has ", axis.size);
    check<IndexError>(!s.window && (s.slice.kind == DimSlice::Kind::number || s.slice.kind == DimSlice::Kind::array),
                      what, ": the start of axis '", axis.name,
                      "' is an integer, an integer scalar or a NamedArray of them");
    NamedArray start;
    if (s.slice.kind == DimSlice::Kind::number) {
      auto first = s.slice.number < 0 ? s.slice.number + axis.size : s.slice.number;
      check<IndexError>(first >= 0 && first + size <= axis.size, what, ": ", size, " positions from ", s.slice.number,
                        " on do not fit into axis '", axis.name, "', which has ", axis.size);
      start = made(constant(first, i32), {});
    } else {
      check<DtypeError>(is_integer(s.slice.array.dtype()), what, ": starts are integers, not ", s.slice.array.dtype());
      check<AxisError>(s.axes || s.slice.array.ndim() == 0, what, ": the start of axis '", axis.name,
                       "' is one integer; several need names: named(starts, axes)");
      start = made(s.slice.array, s.axes.value_or(std::vector<Axis>()));
      for (auto& a : start.axes())
        check<AxisError>(x.has_axis(a.name) && x.axis(a.name) == a && a.name != axis.name, what, ": starts along ",
                         to_string(start.axes()), " need these axes in the array ", to_string(x.axes()));
    }
    ragged = ragged || start.ndim() > 0;
    at[d] = start.array().astype(i32);
    axes[d].size = size;
    where.emplace_back(axis, window_at(start, axis, size));
  }
  for (std::size_t d = 0; d < axes.size(); ++d)
    check<AxisError>(named[d] || size_of(axes[d]) == axes[d].size || !update.has_axis(axes[d].name), what, ": axis '",
                     axes[d].name, "' has size ", size_of(axes[d]), " in the update and ", axes[d].size,
                     " in the array, and no start");
  check<DtypeError>(promote(x.dtype(), update.dtype()) == x.dtype(), what, ": an update of ", update.dtype(),
                    " does not fit into ", x.dtype(), "; use astype()");
  auto full = spread_to(update, axes).astype(x.dtype());
  if (ragged) return NamedAt(x, where).set(made(full, axes));
  return made(dynamic_update_slice(x.array(), full, at), x.axes());
}

NamedArray NamedAt::get(const NamedGetOptions& o) const {
  bool clip = o.mode == OutOfBounds::clip || o.mode == OutOfBounds::promise_in_bounds;
  return read("at", x_, where_, {clip, o.fill_value});
}
NamedArray NamedAt::set(const NamedOperand& y, const NamedAtOptions& o) const {
  return update({"at().set", nullptr, ScatterMode::set}, x_, where_, y, o);
}
NamedArray NamedAt::add(const NamedOperand& y, const NamedAtOptions& o) const {
  return update({"at().add", bora::add, ScatterMode::add}, x_, where_, y, o);
}
NamedArray NamedAt::multiply(const NamedOperand& y, const NamedAtOptions& o) const {
  return update({"at().multiply", bora::multiply, ScatterMode::multiply}, x_, where_, y, o);
}
NamedArray NamedAt::divide(const NamedOperand& y, const NamedAtOptions& o) const {
  return update({"at().divide", bora::divide, ScatterMode::multiply, true}, x_, where_, y, o);
}
NamedArray NamedAt::power(const NamedOperand& y, const NamedAtOptions& o) const {
  return update({"at().power", bora::power, ScatterMode::multiply, true}, x_, where_, y, o);
}
NamedArray NamedAt::min(const NamedOperand& y, const NamedAtOptions& o) const {
  return update({"at().min", bora::minimum, ScatterMode::min}, x_, where_, y, o);
}
NamedArray NamedAt::max(const NamedOperand& y, const NamedAtOptions& o) const {
  return update({"at().max", bora::maximum, ScatterMode::max}, x_, where_, y, o);
}
}  // namespace bora
