#include "bora/named/shape.h"
#include "bora/named/axes.h"
#include "bora/named/by_name.h"
#include "bora/named/elementwise.h"
#include "bora/named/reduce.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "named/api/support.h"
#include "bora/ops/ufuncs.h"

namespace bora {
namespace {
std::size_t at(std::int64_t p) { return static_cast<std::size_t>(p); }
/// x with another axis in place of axis p.
NamedArray replaced(const NamedArray& x, std::int64_t p, Array y) {
  auto axes = x.axes();
  axes[at(p)].size = y.shape(p);
  return made(std::move(y), axes);
}
/// The two axes last.
NamedArray last(std::string_view what, const NamedArray& x, const AxisNames::One& a, const AxisNames::One& b) {
  check<AxisError>(a.name != b.name, what, ": axis '", a.name, "' is named twice");
  std::vector<Axis> pair{x.axes()[at(require_axis(what, x.axes(), a))], x.axes()[at(require_axis(what, x.axes(), b))]};
  auto order = without_axes(x.axes(), names_of(pair));
  order.insert(order.end(), pair.begin(), pair.end());
  return aligned(x, order);
}
}  // namespace

NamedArray ravel(const NamedArray& x, const std::string& into) {
  return made(ravel(x.array()), {{into, x.size()}});
}
NamedArray flatten(const NamedArray& x, const std::string& into) { return ravel(x, into); }
Flattened flatten_all_axes_but(const NamedArray& x, const std::string& into, const AxisNames& kept) {
  auto rest = eliminate_axes(x.axes(), kept), keep = resolve_axes(x.axes(), kept);
  check<AxisError>(find_axis(keep, into) < 0, "flatten_all_axes_but: '", into,
                   "' is an axis that is kept; give another name");
  auto order = rest;
  for (auto& a : x.axes())
    if (find_axis(keep, a.name) >= 0) order.push_back(a);
  std::vector<Axis> axes(order.begin() + static_cast<std::ptrdiff_t>(rest.size()), order.end());
  axes.insert(axes.begin(), Axis{into, volume(shape_of(rest))});
  auto flat = made(reshape(aligned(x, order).array(), shape_of(axes)), axes);
  auto restore = [rest, old = x.axes(), into](const NamedArray& y) {
    auto z = unflatten_axis(y, into, rest);
    std::vector<AxisNames::One> names;  // axes that are new stand where old ones are gone, or last
    for (auto& a : old)
      if (z.has_axis(a.name) || names.empty() || names.back().name != "...")
        names.emplace_back(z.has_axis(a.name) ? a.name : "...");
    if (names.empty() || names.back().name != "...") names.emplace_back("...");
    return aligned(z, rearrange_for_partial_order(AxisNames(names), z.axes()));
  };
  return {flat, restore};
}
std::vector<NamedArray> split(const NamedArray& x, const AxisNames::One& axis, const Axes& parts) {
  auto p = require_axis("split", x.axes(), axis);
  std::int64_t total = 0;
  for (auto& a : parts) total += a.size;
  check<AxisError>(total == x.axes()[at(p)].size, "split: the parts ", to_string(parts.list()), " have ", total,
                   " elements together, but axis '", axis.name, "' has size ", x.axes()[at(p)].size);
  std::vector<NamedArray> r;
  std::int64_t start = 0;
  for (auto& a : parts) {
    auto axes = x.axes();
    axes[at(p)] = a;
    r.push_back(NamedArray(slice_in_dim(x.array(), p, start, start + a.size), axes));
    start += a.size;
  }
  return r;
}
std::vector<NamedArray> unbind(const NamedArray& x, const AxisNames::One& axis) {
  auto p = require_axis("unbind", x.axes(), axis);
  std::vector<NamedArray> r;
  for (auto& y : unstack(x.array(), p)) r.push_back(made(y, without(x.axes(), {p})));
  return r;
}
NamedArray trace(const NamedArray& x, const AxisNames::One& a, const AxisNames::One& b, std::int64_t k) {
  auto y = last("trace", x, a, b);
  auto n = y.ndim();
  return made(trace(y.array(), k, n - 2, n - 1), without(y.axes(), {n - 2, n - 1}));
}
NamedArray tril(const NamedArray& x, const AxisNames::One& a, const AxisNames::One& b, std::int64_t k) {
  auto y = last("tril", x, a, b);
  return made(tril(y.array(), k), y.axes());
}
NamedArray triu(const NamedArray& x, const AxisNames::One& a, const AxisNames::One& b, std::int64_t k) {
  auto y = last("triu", x, a, b);
  return made(triu(y.array(), k), y.axes());
}

NamedArray roll(const NamedArray& x, std::int64_t shift, const AxisNames::One& axis) {
  return made(roll(x.array(), shift, require_axis("roll", x.axes(), axis)), x.axes());
}
NamedArray roll(const NamedArray& x, const NamedArray& shift, const AxisNames::One& axis) {
  check<AxisError>(shift.ndim() == 0, "roll: the shift is one integer, not one for each of ", to_string(shift.axes()));
  check<DtypeError>(is_integer(shift.dtype()), "roll: the shift is an integer, not ", shift.dtype());
  auto p = require_axis("roll", x.axes(), axis);
  auto n = x.axes()[at(p)].size;
  if (n == 0) return x;
  auto from = remainder(iota({n}, 0) - remainder(shift.array().astype(i32), Scalar(n)), Scalar(n));
  return made(take(x.array(), from, p, IndexMode::clamp), x.axes());
}
NamedArray pad(const NamedArray& x, std::initializer_list<NamedPadding> padding, const NamedPadOptions& o) {
  PadWidths::Pairs widths(x.axes().size());
  std::vector<bool> named(x.axes().size());
  for (auto& a : padding) {
    auto p = require_axis("pad", x.axes(), a.axis);
    check<AxisError>(!named[at(p)], "pad: axis '", a.axis.name, "' is named twice");
    named[at(p)] = true;
    check<ValueError>(a.before >= 0 && a.after >= 0, "pad: axis '", a.axis.name, "' gets ", a.before, " and ", a.after,
                      " elements, which must be 0 or more");
    bool none = x.axes()[at(p)].size == 0 && a.before + a.after > 0 && o.mode != PadMode::constant;
    check<ValueError>(!none, "pad: axis '", a.axis.name, "' has no elements to repeat");
    widths[at(p)] = {a.before, a.after};
  }
  auto z = pad(x.array(), widths, o.mode, o.value);
  auto axes = x.axes();
  for (std::size_t d = 0; d < axes.size(); ++d) axes[d].size = z.shape()[d];
  return made(z, axes);
}
NamedArray pad_left(const NamedArray& x, const AxisNames::One& axis, const Axis& to, Scalar value) {
  auto p = require_axis("pad_left", x.axes(), axis);
  auto n = x.axes()[at(p)].size;
  check<AxisError>(to.size >= n, "pad_left: axis '", axis.name, "' has size ", n, ", more than the ", to.size,
                   " of '", to.name, "'");
  auto axes = x.axes();
  axes[at(p)] = to;
  Dims lo(axes.size()), hi(axes.size());
  lo[at(p)] = to.size - n;
  return {pad(x.array(), lo, hi, value), axes};
}
NamedArray tile(const NamedArray& x, std::initializer_list<Tiling> tiling) {
  auto axes = x.axes();
  std::vector<Axis> fresh;
  Dims n(axes.size(), 1);
  for (auto& t : tiling) {
    check<ValueError>(t.n >= 0, "tile: ", t.n, " repetitions of axis '", t.axis.name, "'");
    auto p = find_axis(axes, t.axis.name);
    if (p < 0) {
      check<AxisError>(find_axis(fresh, t.axis.name) < 0, "tile: axis '", t.axis.name, "' is named twice");
      fresh.push_back({t.axis.name, t.n});
    } else {
      check<AxisError>(n[at(p)] == 1, "tile: axis '", t.axis.name, "' is named twice");
      n[at(p)] = t.n;
      axes[at(p)].size *= t.n;
    }
  }
  auto y = made(tile(x.array(), n), axes);
  return fresh.empty() ? y : broadcast_axis(y, fresh);
}
NamedArray repeat(const NamedArray& x, std::int64_t n, const AxisNames::One& axis) {
  auto p = require_axis("repeat", x.axes(), axis);
  return replaced(x, p, repeat(x.array(), n, p));
}
NamedArray repeat(const NamedArray& x, const NamedArray& counts, const AxisNames::One& axis, std::int64_t total) {
  auto p = require_axis("repeat", x.axes(), axis);
  auto& a = x.axes()[at(p)];
  check<AxisError>(counts.axes() == std::vector<Axis>{a}, "repeat: the counts ", to_string(counts.axes()),
                   " have one number for each position of ", a.name, ":", a.size);
  check<DtypeError>(is_integer(counts.dtype()), "repeat: counts are integers, not ", counts.dtype());
  check<ValueError>(a.size > 0 || total == 0, "repeat: axis '", a.name, "' has no elements to repeat");
  auto ends = cumsum(counts.array().astype(i32), 0);
  return replaced(x, p, take(x.array(), searchsorted(ends, iota({total}, 0), Side::right), p, IndexMode::clamp));
}

NamedArray broadcast_axis(const NamedArray& x, const Axes& axes) {
  std::vector<Axis> all;
  for (auto& a : axes) {
    auto p = find_axis(x.axes(), a.name);
    if (p < 0) all.push_back(a);
    else
      check<AxisError>(x.axes()[at(p)] == a, "broadcast_axis: axis '", a.name, "' has size ", x.axes()[at(p)].size,
                       " in the array and ", a.size, " as given");
  }
  all.insert(all.end(), x.axes().begin(), x.axes().end());
  return broadcast_to(x, all);
}
std::vector<NamedArray> broadcast_arrays(const std::vector<NamedArray>& xs, const BroadcastArraysOptions& o) {
  std::vector<Axis> all;
  for (auto& x : xs) {
    if (o.require_subset) {
      auto so_far = made(full_of({shape_of(all), boolean}, false), all);  // symbolic: never made
      all = &x == &xs[0] ? x.axes() : detail::common_axes("broadcast_arrays", {&so_far, &x});
    } else {
      (void)union_axes(all, x.axes());  // sizes agree
      auto more = x.axes(), less = all;
      if (volume(shape_of(less)) >= volume(shape_of(more))) std::swap(more, less);
      all = concat_axes(without_axes(less, names_of(more)), more);
    }
  }
  std::vector<NamedArray> r;
  for (auto& x : xs) {
    auto y = broadcast_to(x, all);
    bool has_all = x.axes().size() == all.size();
    r.push_back(o.ensure_order || !has_all ? y : x);
  }
  return r;
}

NamedArray full_like(const NamedArray& x, Scalar value, std::optional<Dtype> dtype) {
  return made(full_like(x.array(), value, dtype), x.axes());
}
NamedArray arange(const Axes& axes, Scalar start, Scalar step, std::optional<Dtype> dtype) {
  auto shape = shape_of(axes.list());
  bool whole = start.integral() && step.integral();
  auto d = dtype.value_or(whole ? i32 : f32);
  auto n = volume(shape);
  auto y = whole ? detail::from_integers(start.integer, start.integer + n * step.integer, step.integer, d)
                 : (iota({n}, 0, real_accumulator(d)) * Scalar(step.value) + Scalar(start.value)).astype(d);
  return made(reshape(y, shape), axes.list());
}
NamedArray linspace(const Axis& a, double start, double stop, Dtype d) {
  return made(linspace(start, stop, a.size, d), {a});
}
NamedArray logspace(const Axis& a, double start, double stop, double base, Dtype d) {
  return made(logspace(start, stop, a.size, base, d), {a});
}
NamedArray geomspace(const Axis& a, double start, double stop, Dtype d) {
  return made(geomspace(start, stop, a.size, d), {a});
}
}  // namespace bora
