// Reads and writes at slices: numbers, ranges, new dimensions and positions as data.
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/dims.h"
#include "ops/primitives/indexing.h"
#include "ops/primitives/dtype_checks.h"
#include "bora/ops/creation.h"
#include "kernels/api/index.h"

namespace bora {
namespace {
using ops::at;
/// One slice, resolved against its dimension of x.
struct Item {
  enum class Kind : std::uint8_t { range, number, array, fresh } kind;
  std::int64_t dim = -1;                        // of x; -1: fresh
  std::int64_t first = 0, count = 1, step = 1;  // positions first, first + step, ..; number: count 1
  Array index = {};
};

Item resolve(const Range& r, std::int64_t dim, std::int64_t n, std::string_view what) {
  auto step = r.step.value_or(1);
  check<ValueError>(step != 0, what, ": the step of a range is 0");
  auto lowest = step > 0 ? std::int64_t{0} : std::int64_t{-1}, highest = step > 0 ? n : n - 1;
  auto position = [&](std::optional<std::int64_t> p, std::int64_t open) {
    if (!p) return open;
    return std::clamp(*p < 0 ? *p + n : *p, lowest, highest);
  };
  auto start = position(r.start, step > 0 ? 0 : n - 1), stop = position(r.stop, step > 0 ? n : -1);
  auto distance = step > 0 ? stop - start : start - stop;
  auto pace = step > 0 ? step : -step;
  return {Item::Kind::range, dim, start, std::max<std::int64_t>(0, (distance + pace - 1) / pace), step};
}
std::vector<Item> resolve(std::string_view what, const Array& x, const DimSlices& slices) {
  std::int64_t used = 0, ellipses = 0;
  for (auto& s : slices) {
    ellipses += s.kind == DimSlice::Kind::ellipsis;
    used += s.kind != DimSlice::Kind::ellipsis && s.kind != DimSlice::Kind::newaxis;
  }
  check<IndexError>(used <= x.ndim(), what, ": ", used, " slices for an array with ", x.ndim(), " dimension",
                    x.ndim() == 1 ? "" : "s", ", ", x.type());
  check<IndexError>(ellipses <= 1, what, ": more than one ellipsis()");
  std::vector<Item> items;
  std::int64_t dim = 0;
  auto whole = [&] {
    items.push_back({Item::Kind::range, dim, 0, x.shape(dim), 1});
    ++dim;
  };
  for (auto& slice : slices) {
    if (slice.kind == DimSlice::Kind::ellipsis) {
      for (auto missing = x.ndim() - used; missing > 0; --missing) whole();
    } else if (slice.kind == DimSlice::Kind::newaxis) {
      items.push_back({Item::Kind::fresh});
    } else if (slice.kind == DimSlice::Kind::all) {
      whole();
    } else if (slice.kind == DimSlice::Kind::range) {
      items.push_back(resolve(slice.range, dim, x.shape(dim), what));
      ++dim;
    } else if (slice.kind == DimSlice::Kind::number) {
      auto n = x.shape(dim), i = slice.number;
      check<IndexError>(-n <= i && i < n, what, ": index ", i, " is outside of dimension ", dim, ", which has ", n,
                        " elements");
      items.push_back({Item::Kind::number, dim, i < 0 ? i + n : i});
      ++dim;
    } else {
      auto& a = slice.array;
      check<IndexError>(
          a.dtype() != boolean, what, ": a boolean mask ", a.type(),
          " would give a shape that depends on data; use where(mask, x, other), or take() with integer positions");
      check<DtypeError>(is_integer(a.dtype()), what, ": an index Array holds integers, not ", a.dtype());
      items.push_back({Item::Kind::array, dim, 0, x.shape(dim), 1, a});
      ++dim;
    }
  }
  while (dim < x.ndim()) whole();
  return items;
}

/// The part of a view that is known without data: a box of x with steps, its reversed dimensions, and its shape without
/// integer-indexed dimensions and with new ones (dimensions of index Arrays still whole).
struct Box {
  Dims start, limit, stride, reversed;
  Shape sliced, shape;
  bool whole = true, steps = false;
};
Box box_of(const Array& x, const std::vector<Item>& items) {
  Box b;
  for (auto& i : items) {
    if (i.kind != Item::Kind::number) b.shape.push_back(i.kind == Item::Kind::fresh ? 1 : i.count);
    if (i.kind == Item::Kind::fresh) continue;
    auto pace = i.step > 0 ? i.step : -i.step, last = i.first + (i.count - 1) * i.step,
         low = i.count == 0 ? 0 : std::min(i.first, last);
    b.start.push_back(low);
    b.limit.push_back(i.count == 0 ? 0 : std::max(i.first, last) + 1);
    b.stride.push_back(pace);
    if (i.step < 0 && i.count > 1) b.reversed.push_back(i.dim);
    b.sliced.push_back(i.count);
    b.whole = b.whole && i.count == x.shape(i.dim);
    b.steps = b.steps || (pace != 1 && i.count > 1);
  }
  return b;
}
Array read(const Array& x, const Box& b) {
  auto y = b.whole ? x : slice(x, b.start, b.limit, b.stride);
  if (!b.reversed.empty()) y = flip(y, b.reversed);
  return b.shape == y.shape() ? y : reshape(y, b.shape);
}
Array write(const Array& x, const Box& b, const Array& part) {
  auto y = part.shape() == b.sliced ? part : reshape(part, b.sliced);
  if (!b.reversed.empty()) y = flip(y, b.reversed);
  if (b.whole) return y;
  if (y.size() == 0) return x;
  if (!b.steps) {
    Arrays starts;
    for (auto s : b.start) starts.push_back(constant(s, i32));
    return dynamic_update_slice(x, y, starts);
  }
  Dims hi, interior;
  for (std::size_t d = 0; d < b.start.size(); ++d) {
    auto covered = b.start[d] + (b.sliced[d] - 1) * b.stride[d] + 1;
    hi.push_back(x.shape(static_cast<std::int64_t>(d)) - covered);
    interior.push_back(b.sliced[d] > 1 ? b.stride[d] - 1 : 0);
  }
  auto hit = pad(full_of({y.shape(), boolean}, true), b.start, hi, false, interior);
  return select(hit, pad(y, b.start, hi, 0, interior), x);
}

/// The index Arrays of a view, and where their dimensions go.
struct Gathering {
  Dims dims;       // of the box's shape
  Arrays indices;  // counted from the front
  Shape common;
  std::int64_t place = 0;  // where `common` begins in the result
};
Gathering gathering_of(std::string_view what, const std::vector<Item>& items) {
  Gathering g;
  std::int64_t position = 0, groups = 0;
  bool inside = false;
  for (auto& i : items) {
    bool advanced = i.kind == Item::Kind::number || i.kind == Item::Kind::array;
    if (advanced && !inside && groups++ == 0) g.place = position - static_cast<std::int64_t>(g.dims.size());
    inside = advanced;
    if (i.kind == Item::Kind::array) {
      g.dims.push_back(position);
      g.indices.push_back(ops::from_front(what, i.index, i.count));
      g.common = broadcast_shapes(what, g.common, i.index.shape());
    }
    if (i.kind != Item::Kind::number) ++position;
  }
  if (groups > 1) g.place = 0;
  return g;
}
/// [common.., rest..] with `common` moved to its place, and back.
Dims placed(const Gathering& g, std::int64_t ndim) {
  auto k = static_cast<std::int64_t>(g.common.size());
  Dims perm = ops::range_of(g.place, k);
  for (auto d : ops::range_of(k)) perm.push_back(d);
  for (auto d : ops::range_of(ndim - k - g.place, k + g.place)) perm.push_back(d);
  return perm;
}
Array transposed_to(const Array& x, const Dims& perm) { return ops::identity(perm) ? x : transpose(x, perm); }
/// The indexed dimensions in front, merged into one.
struct Flat {
  Dims perm;
  Shape moved, flat;
};
Flat flat_of(const Array& x, const Gathering& g) {
  Flat f{ops::joined(g.dims, ops::others(x.ndim(), g.dims)), {}, {}};
  f.moved = ops::pick(x.shape(), f.perm);
  f.flat = Shape{ops::product(f.moved, 0, static_cast<std::int64_t>(g.dims.size()))};
  for (auto d = g.dims.size(); d < f.moved.size(); ++d) f.flat.push_back(f.moved[d]);
  return f;
}
/// One position for each element of `common`; outside of any dimension: clamped, or one past the end.
Array positions(const Gathering& g, const Flat& f, IndexMode mode) {
  Array total, inside;
  for (std::size_t d = 0; d < g.indices.size(); ++d) {
    auto n = f.moved[d];
    auto i = broadcast_to(g.indices[d], g.common);
    if (mode == IndexMode::clamp) i = ops::clamped(i, n);
    else {
      auto ok = i >= 0 && i < n;
      inside = inside.defined() ? inside & ok : ok;
    }
    total = total.defined() ? total * n + i : i;
  }
  return mode == IndexMode::clamp ? total : where(inside, total, f.flat[0]);
}
Array gathered(const Array& x, const Gathering& g) {
  if (g.dims.size() == 1 && (g.common.empty() || g.dims[0] == g.place)) {
    // counted from the front: negative ones are outside by now
    auto i = ops::clamped(g.indices[0], x.shape(g.dims[0]));
    return g.common.empty() ? dynamic_index_in_dim(x, i, g.dims[0]) : take(x, i, g.place, IndexMode::clamp);
  }
  auto f = flat_of(x, g);
  auto y = take(reshape(transposed_to(x, f.perm), f.flat), positions(g, f, IndexMode::clamp), 0, IndexMode::clamp);
  return transposed_to(y, placed(g, y.ndim()));
}
using ScatterFunction = Array (*)(const Array&, const Array&, const Array&, std::int64_t);
using Combine = Array (*)(const Array&, const Array&);
struct Update {
  Combine combine;
  ScatterFunction scatter;
};
Array scattered(const Array& x, const Gathering& g, const Array& v, ScatterFunction scatter) {
  auto f = flat_of(x, g);
  auto updates = transposed_to(v, ops::inverse(placed(g, v.ndim())));
  auto flat = scatter(reshape(transposed_to(x, f.perm), f.flat), positions(g, f, IndexMode::fill), updates, 0);
  return transposed_to(reshape(flat, f.moved), ops::inverse(f.perm));
}
Shape shape_of_view(const Box& b, const Gathering& g) {
  if (g.dims.empty()) return b.shape;
  Shape s;
  auto rest = ops::others(static_cast<std::int64_t>(b.shape.size()), g.dims);
  for (std::int64_t d = 0; d < g.place; ++d) s.push_back(b.shape[at(rest[at(d)])]);
  s.append(g.common);
  for (auto d = at(g.place); d < rest.size(); ++d) s.push_back(b.shape[at(rest[d])]);
  return s;
}
Array update(const Array& x, const DimSlices& slices, const Array& mask, Array v, const Update& way,
             std::string_view what) {
  if (mask.defined()) what = "masked_view";
  check<DtypeError>(ops::promoted(what, x.dtype(), v.dtype()) == x.dtype(), what, ": an update of ", v.dtype(),
                    " does not fit into ", x.dtype(), "; use astype()");
  if (mask.defined()) {
    v = broadcast_to(v.astype(x.dtype()), x.shape());
    return where(mask, way.combine ? way.combine(x, v) : v, x);
  }
  auto items = resolve(what, x, slices);
  auto box = box_of(x, items);
  auto g = gathering_of(what, items);
  auto shape = shape_of_view(box, g);
  check<ShapeError>(v.shape() == shape || broadcast_shapes(what, v.shape(), shape) == shape, what, ": an update of ",
                    v.shape(), " does not stretch to the part of shape ", shape);
  v = broadcast_to(v.astype(x.dtype()), shape);
  if (!g.dims.empty()) return write(x, box, scattered(read(x, box), g, v, way.scatter));
  return write(x, box, way.combine ? way.combine(read(x, box), v) : v);
}
}  // namespace

Array view_of(const Array& x, const DimSlices& slices) {
  auto items = resolve("view", x, slices);
  auto g = gathering_of("view", items);
  auto y = read(x, box_of(x, items));
  return g.dims.empty() ? y : gathered(y, g);
}
Array At::set(const Array& v) const { return update(x_, slices_, mask_, v, {nullptr, scatter_set}, "at().set"); }
Array At::add(const Array& v) const { return update(x_, slices_, mask_, v, {bora::add, scatter_add}, "at().add"); }
Array At::multiply(const Array& v) const {
  return update(x_, slices_, mask_, v, {bora::multiply, scatter_multiply}, "at().multiply");
}
Array At::min(const Array& v) const { return update(x_, slices_, mask_, v, {minimum, scatter_min}, "at().min"); }
Array At::max(const Array& v) const { return update(x_, slices_, mask_, v, {maximum, scatter_max}, "at().max"); }
Array At::set(Scalar v) const { return set(number(v)); }
Array At::add(Scalar v) const { return add(number(v)); }
Array At::multiply(Scalar v) const { return multiply(number(v)); }
Array At::min(Scalar v) const { return min(number(v)); }
Array At::max(Scalar v) const { return max(number(v)); }
Array At::number(Scalar v) const {
  check<DtypeError>(is_inexact(x_.dtype()) || v.integral(), mask_.defined() ? "masked_view" : "at", ": the fraction ",
                    v.value, " does not fit into ", x_.dtype(), "; use x.astype(f32)");
  return constant(v, x_.dtype());
}
}  // namespace bora
