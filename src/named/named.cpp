#include "bora/named/operations.h"
#include "bora/named/axes.h"
#include "bora/named/contract.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "named/api/support.h"
#include "bora/named/by_name.h"
#include "bora/named/elementwise.h"
#include "bora/ops/nn.h"

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
  return axes_[static_cast<std::size_t>(require_axis({}, axes_, AxisNames::One(name)))];
}
std::int64_t NamedArray::position(const AxisNames::One& a) const { return require_axis({}, axes_, a); }
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
  if (order.size() == 1 && order.begin()->name.find("->") != std::string::npos)
    return rearrange(x, order.begin()->name, AxisBindings{});
  return aligned(x, rearrange_for_partial_order(order, x.axes()));
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
  std::int64_t n = 1;
  for (auto i : p) n *= x.axes()[static_cast<std::size_t>(i)].size;
  check<AxisError>(n == into.size, "flatten_axes: the axes have ", n, " elements together, but '", into.name,
                   "' has size ", into.size);
  if (p.empty()) {
    auto axes = x.axes();
    axes.insert(axes.begin(), into);
    return {reshape(x.array(), shape_of(axes)), axes};
  }
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
}  // namespace bora
