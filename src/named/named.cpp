#include "bora/named/named.h"
#include "bora/ops/creation.h"
#include "bora/ops/index.h"
#include "named/support.h"

namespace bora {
std::string to_string(const std::vector<Axis>& axes) {
  std::string r = "{";
  for (auto& a : axes) r += (r.size() > 1 ? ", " : "") + a.name + ":" + std::to_string(a.size);
  return r + "}";
}
Shape shape_of(const std::vector<Axis>& axes) {
  Shape s;
  for (auto& a : axes) s.push_back(a.size);
  return s;
}
std::int64_t find_axis(const std::vector<Axis>& axes, std::string_view name) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name) return static_cast<std::int64_t>(i);
  return -1;
}
NamedArray::NamedArray(Array a, std::vector<Axis> axes) : array_(std::move(a)), axes_(std::move(axes)) {
  check<AxisError>(array_.shape() == shape_of(axes_), "named: an array of shape ", array_.shape(),
                   " cannot have the axes ", axes_);
  for (std::size_t i = 0; i < axes_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      check<AxisError>(axes_[i].name != axes_[j].name, "named: axis '", axes_[i].name, "' occurs twice in ", axes_);
}
const Axis& NamedArray::axis(std::string_view name) const {
  auto p = find_axis(axes_, name);
  check<AxisError>(p >= 0, "no axis '", name, "'; the array has ", axes_);
  return axes_[static_cast<std::size_t>(p)];
}
std::int64_t NamedArray::position(const AxisNames::One& a) const {
  auto& found = axis(a.name);
  check<AxisError>(a.size < 0 || a.size == found.size, "axis '", a.name, "' has size ", found.size, " in the array ",
                   axes_, " and ", a.size, " as given");
  return find_axis(axes_, a.name);
}
NamedArray NamedArray::astype(Dtype d) const { return made(array_.astype(d), axes_); }
NamedArray& NamedArray::operator+=(const NamedArray& o) { return *this = *this + o; }
NamedArray& NamedArray::operator*=(Scalar s) { return *this = *this * s; }

NamedArray zeros(const Axes& a, Dtype d) { return made(zeros(shape_of(a.list()), d), a.list()); }
NamedArray ones(const Axes& a, Dtype d) { return made(ones(shape_of(a.list()), d), a.list()); }
NamedArray full(const Axes& a, Scalar v, std::optional<Dtype> d) {
  return made(full(shape_of(a.list()), v, d), a.list());
}
NamedArray arange(const Axis& a, Dtype d) { return made(iota({a.size}, 0, d), {a}); }
NamedArray zeros_like(const NamedArray& x) { return made(zeros_like(x.array()), x.axes()); }
NamedArray ones_like(const NamedArray& x) { return made(ones_like(x.array()), x.axes()); }
NamedArray one_hot(const NamedArray& i, const Axis& a, Dtype d) {
  auto axes = i.axes();
  axes.push_back(a);
  return made(one_hot(i.array(), a.size, d), axes);
}
NamedArray rename(const NamedArray& x, const std::vector<Renaming>& names) {
  auto axes = x.axes();
  for (auto& n : names) axes[static_cast<std::size_t>(x.position(AxisNames::One(n.from)))].name = n.to;
  return {x.array(), axes};
}
NamedArray aligned(const NamedArray& x, const std::vector<Axis>& order) {
  if (x.axes() == order) return x;
  check<AxisError>(order.size() == x.axes().size(), "the array has the axes ", x.axes(), ", wanted are ", order);
  Dims perm;
  for (auto& a : order) perm.push_back(x.position(AxisNames::One(a)));
  return made(transpose(x.array(), perm), order);
}
NamedArray rearrange(const NamedArray& x, const AxisNames& order) {
  std::vector<Axis> axes;
  for (auto p : positions("rearrange", x, order)) axes.push_back(x.axes()[static_cast<std::size_t>(p)]);
  return aligned(x, axes);
}
NamedArray broadcast_to(const NamedArray& x, const Axes& axes) {
  for (auto& a : x.axes()) {
    auto p = find_axis(axes.list(), a.name);
    check<AxisError>(p >= 0 && axes.list()[static_cast<std::size_t>(p)] == a, "broadcast_to: axis '", a.name, "' (",
                     a.size, ") of the array is not in ", axes.list());
  }
  return made(spread_to(x, axes.list()), axes.list());
}
NamedArray flatten_axes(const NamedArray& x, const AxisNames& names, const Axis& into) {
  auto p = positions("flatten_axes", x, names);
  check<AxisError>(!p.empty(), "flatten_axes: name at least one axis");
  std::int64_t n = 1;
  for (auto i : p) n *= x.axes()[static_cast<std::size_t>(i)].size;
  check<AxisError>(n == into.size, "flatten_axes: the axes have ", n, " elements together, but '", into.name,
                   "' has size ", into.size);
  auto first = *std::min_element(p.begin(), p.end());
  std::vector<Axis> order, axes;
  for (std::size_t i = 0; i < x.axes().size(); ++i) {
    if (static_cast<std::int64_t>(i) == first) {
      for (auto q : p) order.push_back(x.axes()[static_cast<std::size_t>(q)]);
      axes.push_back(into);
    } else if (std::find(p.begin(), p.end(), static_cast<std::int64_t>(i)) == p.end()) {
      order.push_back(x.axes()[i]);
      axes.push_back(x.axes()[i]);
    }
  }
  return {reshape(aligned(x, order).array(), shape_of(axes)), axes};
}
NamedArray unflatten_axis(const NamedArray& x, const AxisNames::One& axis, const Axes& into) {
  auto p = x.position(axis);
  std::int64_t n = 1;
  for (auto& a : into) n *= a.size;
  auto& old = x.axes()[static_cast<std::size_t>(p)];
  check<AxisError>(n == old.size, "unflatten_axis: ", into.list(), " has ", n, " elements, but axis '", old.name,
                   "' has size ", old.size);
  auto axes = x.axes();
  axes.erase(axes.begin() + p);
  axes.insert(axes.begin() + p, into.begin(), into.end());
  return {reshape(x.array(), shape_of(axes)), axes};
}
NamedArray concatenate(const Axis& into, const std::vector<NamedArray>& xs) {
  check<AxisError>(!xs.empty(), "concatenate: needs at least one array");
  Arrays parts;
  auto axes = xs[0].axes();
  auto p = xs[0].position(AxisNames::One(std::string_view(into.name)));
  for (auto& x : xs) {
    auto want = axes;
    want[static_cast<std::size_t>(p)].size = x.axis(into.name).size;
    parts.push_back(aligned(x, want).array());
  }
  axes[static_cast<std::size_t>(p)] = into;
  return {concatenate(parts, p), axes};
}
NamedArray stack(const Axis& axis, const std::vector<NamedArray>& xs) {
  check<AxisError>(static_cast<std::int64_t>(xs.size()) == axis.size && !xs.empty(), "stack: ", xs.size(),
                   " arrays along axis '", axis.name, "' of size ", axis.size);
  Arrays parts;
  for (auto& x : xs) parts.push_back(aligned(x, xs[0].axes()).array());
  auto axes = xs[0].axes();
  axes.insert(axes.begin(), axis);
  return {stack(parts), axes};
}

NamedArray dot(const NamedArray& a, const NamedArray& b, const AxisNames& names) {
  DotDims d;
  d.contract_a = positions("dot", a, names);
  std::vector<Axis> batch, free;
  for (auto& n : names) {
    check<AxisError>(b.has_axis(n.name), "dot: the right operand has no axis '", n.name, "', it has ", b.axes());
    check<AxisError>(a.axis(n.name) == b.axis(n.name), "dot: axis '", n.name, "' has size ", a.axis(n.name).size,
                     " on the left and ", b.axis(n.name).size, " on the right");
    d.contract_b.push_back(b.position(AxisNames::One(std::string_view(n.name))));
  }
  auto contracted = [&](const Axis& x) {
    return std::any_of(names.begin(), names.end(), [&](auto& n) { return n.name == x.name; });
  };
  for (auto& x : a.axes()) {
    if (contracted(x)) continue;
    auto p = find_axis(b.axes(), x.name);
    if (p < 0) {
      free.push_back(x);
      continue;
    }
    check<AxisError>(b.axes()[static_cast<std::size_t>(p)] == x, "dot: axis '", x.name, "' has size ", x.size,
                     " on the left and ", b.axes()[static_cast<std::size_t>(p)].size, " on the right");
    d.batch_a.push_back(find_axis(a.axes(), x.name));
    d.batch_b.push_back(p);
    batch.push_back(x);
  }
  for (auto& x : b.axes())
    if (!contracted(x) && find_axis(a.axes(), x.name) < 0) free.push_back(x);
  batch.insert(batch.end(), free.begin(), free.end());
  return made(dot_general(a.array(), b.array(), d), batch);
}
NamedArray take(const NamedArray& table, const AxisNames::One& axis, const NamedArray& indices) {
  auto p = table.position(axis);
  auto axes = table.axes();
  axes.erase(axes.begin() + p);
  for (auto& a : indices.axes())
    check<AxisError>(find_axis(axes, a.name) < 0, "take: axis '", a.name,
                     "' of the indices is an axis of the table too; rename one");
  axes.insert(axes.begin() + p, indices.axes().begin(), indices.axes().end());
  return made(take(table.array(), indices.array(), p), axes);
}
namespace {
const std::int64_t* number(const Slice& s) { return s.kind == Slice::Kind::number ? &s.number : nullptr; }
const Array* index_of(const Slice& s) { return s.kind == Slice::Kind::array ? &s.array : nullptr; }
/// One slice for each axis.
Slices slices_of(std::string_view what, const NamedArray& x, const std::vector<NamedSlice>& parts) {
  Slices r(x.axes().size(), Slice(all()));
  std::vector<bool> named(r.size());
  for (auto& p : parts) {
    auto i = static_cast<std::size_t>(x.position(AxisNames::One(std::string_view(p.axis))));
    check<AxisError>(!named[i], "axis '", p.axis, "' is indexed twice");
    named[i] = true;
    check<AxisError>(p.slice.kind != Slice::Kind::newaxis && p.slice.kind != Slice::Kind::ellipsis,
                     "axis '", p.axis, "': index it with an integer, a range or integers");
    auto size = x.axes()[i].size;
    auto* n = number(p.slice);
    check<IndexError>(!n || (-size <= *n && *n < size), what, "index ", n ? *n : 0, " is outside of axis '", p.axis,
                      "', which has ", size, size == 1 ? " element" : " elements");
    auto* a = index_of(p.slice);
    check<AxisError>(!a || a->ndim() <= 1, "axis '", p.axis, "' is indexed by an array of ", a ? a->ndim() : 0,
                     " dimensions; use take with named indices");
    r[i] = p.slice;
  }
  return r;
}
/// Applies integers and ranges first, then one index Array after another: each axis is indexed on its own.
NamedArray selected(const NamedArray& x, const Slices& slices) {
  auto plain = slices;
  for (auto& s : plain)
    if (index_of(s)) s = all();
  auto y = view_of(x.array(), plain);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (number(slices[i])) continue;
    auto* index = index_of(slices[i]);
    if (index) {
      Slices one(axes.size(), Slice(all()));
      one.emplace_back(*index);
      y = view_of(y, one);
    }
    if (!index || index->ndim() == 1) axes.push_back(x.axes()[i].resize(y.shape()[axes.size()]));
  }
  return made(y, axes);
}
/// The positions that an update writes to.
struct Target {
  Slices slices;
  std::vector<Axis> axes;
  /// The sizes of `axes`, and a 1 where an integer stands beside a list of positions, to keep the order of axes.
  Shape shape;
};
Target target_of(const NamedArray& x, const std::vector<NamedSlice>& where) {
  Target t{slices_of("at: ", x, where), {}, {}};
  std::size_t indices = 0, lists = 0;
  for (auto& s : t.slices) {
    indices += index_of(s) != nullptr;
    lists += index_of(s) && index_of(s)->ndim() == 1;
  }
  check<AxisError>(lists == 0 || indices == 1,
                   "at: a list of positions must be the only index Array of an update; write along one axis at a time");
  for (std::size_t i = 0; i < t.slices.size(); ++i) {
    auto axis = x.axes()[i];
    auto& s = t.slices[i];
    if (auto* n = number(s)) {
      if (lists == 0) continue;
      auto k = *n < 0 ? *n + axis.size : *n;
      s = range(k, k + 1);
      t.shape.push_back(1);
      continue;
    }
    if (s.kind == Slice::Kind::range) axis.size = view_of(iota({axis.size}, 0), {Slice(s.range)}).size();
    if (auto* a = index_of(s)) {
      if (a->ndim() == 0) continue;
      axis.size = a->size();
    }
    t.axes.push_back(axis);
    t.shape.push_back(axis.size);
  }
  return t;
}
NamedArray update(const NamedArray& x, const std::vector<NamedSlice>& where, const NamedArray& y,
                  Array (At::*f)(const Array&) const) {
  auto t = target_of(x, where);
  for (auto& a : y.axes())
    check<AxisError>(find_axis(t.axes, a.name) >= 0, "at: the update has axis '", a.name, "', which the selected part ",
                     t.axes, " has not");
  return made((At(x.array(), t.slices).*f)(reshape(spread_to(y, t.axes), t.shape)), x.axes());
}
NamedArray update(const NamedArray& x, const std::vector<NamedSlice>& where, Scalar y, Array (At::*f)(Scalar) const) {
  return made((At(x.array(), target_of(x, where).slices).*f)(y), x.axes());
}
}  // namespace
NamedArray NamedArray::operator[](const NamedSlice& s) const { return (*this)[{s}]; }
NamedArray NamedArray::operator[](std::initializer_list<NamedSlice> l) const {
  return selected(*this, slices_of("", *this, l));
}
NamedArray NamedAt::set(const NamedArray& y) const { return update(x_, where_, y, &At::set); }
NamedArray NamedAt::set(Scalar y) const { return update(x_, where_, y, &At::set); }
NamedArray NamedAt::add(const NamedArray& y) const { return update(x_, where_, y, &At::add); }
NamedArray NamedAt::add(Scalar y) const { return update(x_, where_, y, &At::add); }
NamedArray NamedAt::multiply(const NamedArray& y) const { return update(x_, where_, y, &At::multiply); }
NamedArray NamedAt::multiply(Scalar y) const { return update(x_, where_, y, &At::multiply); }
NamedArray NamedAt::min(const NamedArray& y) const { return update(x_, where_, y, &At::min); }
NamedArray NamedAt::min(Scalar y) const { return update(x_, where_, y, &At::min); }
NamedArray NamedAt::max(const NamedArray& y) const { return update(x_, where_, y, &At::max); }
NamedArray NamedAt::max(Scalar y) const { return update(x_, where_, y, &At::max); }
}  // namespace bora
