#include "named/index_plan.h"
#include <limits>
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"
#include "bora/ops/indexing.h"
#include "bora/named/by_name.h"

namespace bora::named_index {
namespace {
std::vector<std::int64_t> dims_of(const std::vector<Axis>& order, const std::vector<Axis>& axes) {
  std::vector<std::int64_t> r;
  for (auto& a : order) r.push_back(find_axis(axes, a.name));
  return r;
}
void check_count(std::int64_t n) {
  check<ShapeError>(n <= std::numeric_limits<std::int32_t>::max(), "positions are i32, and the indexed axes have ", n,
                    " elements");
}
/// i32 positions; negative ones count from the end.
Array from_front(const Array& a, std::int64_t n) {
  check_count(n);
  auto i = a;
  if (i.dtype() == u32 || dtype_size(i.dtype()) > 4) {  // clipped before the cast drops bits
    if (i.dtype() == i64) i = maximum(i, Scalar(-n - 1));
    i = minimum(i, Scalar(n));
  }
  i = i.astype(i32);
  return where(i < 0, i + Scalar(n), i);
}
void check_integers(std::string_view what, const NamedSlice& p) {
  auto d = p.slice.array.dtype();
  check<IndexError>(d != boolean, what, ": axis '", p.axis.name, "' is indexed by a boolean mask, whose number of ",
                    "elements depends on data; use where(mask, x, other) or integers");
  check<DtypeError>(is_integer(d), what, ": axis '", p.axis.name, "' is indexed by integers, not ", d);
}
void add_window(std::string_view what, Plan& plan, std::size_t dim, const Axis& axis, const NamedSlice& p) {
  auto size = *p.window;
  check<IndexError>(size >= 0, what, ": dslice of axis '", axis.name, "' has ", size, " positions");
  Array start;
  if (p.slice.kind == DimSlice::Kind::number) {
    if (p.slice.number >= 0 && p.slice.number + size <= axis.size) {
      plan.plain[dim] = range(p.slice.number, p.slice.number + size);
      return;
    }
    start = constant(p.slice.number, i32);
  } else {
    check<IndexError>(p.slice.kind == DimSlice::Kind::array && p.slice.array.ndim() == 0, what, ": dslice of axis '",
                      axis.name, "' begins at an integer or an integer scalar");
    check_integers(what, p);
    start = p.slice.array.astype(i32);
  }
  plan.indices.push_back({dim, made(iota({size}, 0) + start, {axis.resize(size)}), true, true});
}
/// Axes of two indices together: those of the larger one, behind those that only the other one has.
std::vector<Axis> joint(std::string_view what, std::vector<Axis> a, std::vector<Axis> b) {
  for (auto& x : a)
    if (auto p = find_axis(b, x.name); p >= 0)
      check<AxisError>(b[static_cast<std::size_t>(p)].size == x.size, what, ": axis '", x.name, "' has size ", x.size,
                       " and size ", b[static_cast<std::size_t>(p)].size, " in the indices");
  if (a.empty()) return b;
  if (volume(shape_of(a)) < volume(shape_of(b)) && !b.empty()) std::swap(a, b);
  std::vector<Axis> r;
  for (auto& x : b)
    if (find_axis(a, x.name) < 0) r.push_back(x);
  r.insert(r.end(), a.begin(), a.end());
  return r;
}
}  // namespace

Plan plan_of(std::string_view what, const NamedArray& x, const std::vector<NamedSlice>& parts) {
  Plan plan{DimSlices(x.axes().size(), DimSlice(all())), {}};
  std::vector<bool> named(x.axes().size());
  for (auto& p : parts) {
    auto dim = static_cast<std::size_t>(require_axis(what, x.axes(), p.axis));
    auto& axis = x.axes()[dim];
    check<AxisError>(!named[dim], what, ": axis '", axis.name, "' is indexed twice");
    named[dim] = true;
    auto kind = p.slice.kind;
    check<AxisError>(kind != DimSlice::Kind::newaxis && kind != DimSlice::Kind::ellipsis, what, ": axis '", axis.name,
                     "': index it with an integer, a range or integers");
    if (p.window) {
      add_window(what, plan, dim, axis, p);
    } else if (kind == DimSlice::Kind::array) {
      check_integers(what, p);
      auto& a = p.slice.array;
      check<AxisError>(p.axes || a.ndim() <= 1, what, ": axis '", axis.name, "' is indexed by an Array of ", a.ndim(),
                       " dimensions, whose axes have no names; use named(indices, axes)");
      auto axes = p.axes ? *p.axes : a.ndim() == 1 ? std::vector<Axis>{axis.resize(a.size())} : std::vector<Axis>();
      plan.indices.push_back({dim, made(a, axes), false, !p.axes && a.ndim() == 1});
    } else {
      if (kind == DimSlice::Kind::number)
        check<IndexError>(-axis.size <= p.slice.number && p.slice.number < axis.size, what, ": index ",
                          p.slice.number, " is outside of axis '", axis.name, "', which has ", axis.size,
                          axis.size == 1 ? " element" : " elements");
      plan.plain[dim] = p.slice;
    }
  }
  // An index that others refer to by the name of its axis goes together with them.
  for (auto& i : plan.indices)
    for (auto& other : plan.indices)
      if (&i != &other && i.in_place && other.at.has_axis(i.at.axes()[0].name)) i.in_place = false;
  return plan;
}
NamedArray plain_part(const NamedArray& x, const Plan& plan) {
  auto y = view_of(x.array(), plan.plain);
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < plan.plain.size(); ++d)
    if (!plan.dropped(d)) axes.push_back(x.axes()[d].resize(y.shape()[axes.size()]));
  return made(y, axes);
}

Layout layout_of(std::string_view what, const NamedArray& y, const Plan& plan, const std::vector<Index>& indices) {
  auto& axes = y.axes();
  std::vector<std::size_t> own(plan.plain.size());  // the dimension in y of one of x
  for (std::size_t d = 0, next = 0; d < own.size(); ++d) own[d] = plan.dropped(d) ? axes.size() : next++;
  std::vector<bool> indexed(axes.size()), shared(axes.size());
  std::vector<Axis> all_axes;
  for (auto& i : indices) {
    indexed[own[i.dim]] = true;
    all_axes = joint(what, all_axes, i.at.axes());
  }
  Layout l;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    auto p = indexed[d] ? -1 : find_axis(all_axes, axes[d].name);
    if (p < 0) continue;
    shared[d] = true;
    check<AxisError>(all_axes[static_cast<std::size_t>(p)].size == axes[d].size, what, ": axis '", axes[d].name,
                     "' has size ", axes[d].size, " in the array and ", all_axes[static_cast<std::size_t>(p)].size,
                     " in an index");
    all_axes = joint(what, all_axes, {axes[d]});
    l.places.push_back(axes[d]);
  }
  l.batch = static_cast<std::int64_t>(l.places.size());
  std::vector<Axis> fresh, rest;
  for (auto& a : all_axes)
    if (find_axis(l.places, a.name) < 0) fresh.push_back(a);
  // NumPy's rule for the place of the new axes.
  std::vector<Axis> front, back;
  int groups = 0;
  bool inside = false;
  for (std::size_t d = 0; d < own.size(); ++d) {
    bool advanced = plan.dropped(d) || indexed[own[d]] || shared[own[d]];
    groups += advanced && !inside;
    inside = advanced;
    if (!advanced) (groups ? back : front).push_back(axes[own[d]]);
    if (!plan.dropped(d) && !indexed[own[d]] && !shared[own[d]]) rest.push_back(axes[own[d]]);
  }
  auto& first = groups > 1 ? l.result : front;
  first.insert(first.end(), all_axes.begin(), all_axes.end());
  l.result.insert(l.result.end(), front.begin(), front.end());
  l.result.insert(l.result.end(), back.begin(), back.end());

  auto batch = l.places;
  l.places.insert(l.places.end(), fresh.begin(), fresh.end());
  for (auto& i : indices) {
    auto n = axes[own[i.dim]].size;
    l.sizes.push_back(n);
    l.indices.push_back(spread_to(made(from_front(i.at.array(), n), i.at.axes()), l.places));
  }
  if (indices.size() == 1 && batch.empty()) {  // nothing has to move
    l.x = y.array();
    l.axis = static_cast<std::int64_t>(own[indices[0].dim]);
    l.before = l.taken = axes;
    l.taken.erase(l.taken.begin() + l.axis);
    l.taken.insert(l.taken.begin() + l.axis, fresh.begin(), fresh.end());
    return l;
  }
  l.before = batch;
  for (auto& i : indices) l.before.push_back(axes[own[i.dim]]);
  l.before.insert(l.before.end(), rest.begin(), rest.end());
  l.axis = l.batch;
  Shape flat = shape_of(batch);
  std::int64_t n = 1;
  for (auto s : l.sizes) n *= s;
  flat.push_back(n);
  flat.append(shape_of(rest));
  l.x = reshape(transpose(y.array(), dims_of(l.before, axes)), flat);
  l.taken = l.places;
  l.taken.insert(l.taken.end(), rest.begin(), rest.end());
  return l;
}
Array inside_of(const Layout& l) {
  Array r;
  for (std::size_t k = 0; k < l.indices.size(); ++k) {
    auto ok = l.indices[k] >= 0 && l.indices[k] < Scalar(l.sizes[k]);
    r = r.defined() ? r && ok : ok;
  }
  return r;
}
Array positions_of(const Layout& l, bool clip) {
  Array total;
  std::int64_t n = 1;
  for (std::size_t k = 0; k < l.indices.size(); ++k) {
    auto i = l.indices[k];
    check_count(n *= l.sizes[k]);
    if (clip) {
      check<IndexError>(l.sizes[k] > 0 || i.size() == 0, "an axis of no elements has none that is nearest");
      i = minimum(maximum(i, 0), Scalar(std::max<std::int64_t>(l.sizes[k] - 1, 0)));
    }
    total = total.defined() ? total * Scalar(l.sizes[k]) + i : i;
  }
  return clip ? total : where(inside_of(l), total, Scalar(n));
}
Array spread_over_elements(const Layout& l, const Array& over_places) {
  return spread_to(made(over_places, l.places), l.taken);
}
}  // namespace bora::named_index
