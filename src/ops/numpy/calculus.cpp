// Differences, gradients, integrals and interpolation of samples.
#include "bora/ops/calculus.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/indexing.h"

namespace bora {
using namespace ops;
namespace {
/// A vector along dimension `axis` of `ndim`.
Array along_axis(const Array& v, std::int64_t axis, std::int64_t ndim) {
  Shape s(Dims(at(ndim), 1));
  s[at(axis)] = v.size();
  return reshape(v, s);
}
/// x with what stands before and behind it along axis; a number is one more place.
Array with_ends(const Array& x, std::int64_t axis, const DiffOptions& o) {
  Arrays all;
  auto add = [&](const std::optional<special::Operand>& end, std::string_view name) {
    if (!end) return;
    auto place = x.shape();
    place[at(axis)] = 1;
    if (!end->is_array()) {
      all.push_back(full_of({place, weak_dtype(x.dtype(), end->number())}, end->number()));
      return;
    }
    auto& v = end->array();
    if (v.ndim() > 0 && v.ndim() == x.ndim()) place[at(axis)] = v.shape(axis);
    check<ShapeError>(v.ndim() == 0 || v.shape() == place, "diff: .", name, " ", v.type(), " does not fit x ", x.type(),
                      " along axis ", axis, ": its other dimensions must be x's, or it is a scalar");
    all.push_back(broadcast_to(v, place));
  };
  add(o.prepend, "prepend");
  all.push_back(x);
  add(o.append, "append");
  return concatenate(all, axis);
}
}  // namespace

Array diff(const Array& x, std::int64_t n, std::int64_t axis, const DiffOptions& o) {
  check<ValueError>(n >= 0, "diff: n = ", n, " must not be negative");
  axis = normalize_axis("diff", axis, x.ndim());
  if (n == 0) return x;
  auto y = with_ends(x, axis, o);
  for (; n > 0 && y.shape(axis) > 0; --n) {
    auto size = y.shape(axis);
    auto next = part(y, axis, 1, size), before = part(y, axis, 0, size - 1);
    y = y.dtype() == boolean ? next ^ before : next - before;
  }
  return y;
}
Array ediff1d(const Array& x, const Array& after, const Array& before) {
  Arrays all;
  if (before.defined()) all.push_back(ravel(before).astype(x.dtype()));
  all.push_back(diff(ravel(x)));
  if (after.defined()) all.push_back(ravel(after).astype(x.dtype()));
  return all.size() == 1 ? all[0] : concatenate(all);
}
namespace {
std::int64_t check_gradient(const Array& x, std::int64_t axis) {
  axis = normalize_axis("gradient", axis, x.ndim());
  check<ShapeError>(x.shape(axis) >= 2, "gradient: dimension ", axis, " of ", x.shape(),
                    " has fewer than two elements, which have no difference");
  return axis;
}
}  // namespace

Array gradient(const Array& x, double distance, std::int64_t axis) {
  axis = check_gradient(x, axis);
  return in_f32(x, [&](const Array& v) {
    auto n = v.shape(axis);
    auto d = diff(v, 1, axis);
    auto first = part(d, axis, 0, 1), last = part(d, axis, n - 2, n - 1);
    if (n == 2) return concatenate({first, last}, axis) / distance;
    auto middle = (part(v, axis, 2, n) - part(v, axis, 0, n - 2)) * 0.5;
    return concatenate({first, middle, last}, axis) / distance;
  });
}
Array gradient(const Array& x, const Array& coordinates, std::int64_t axis) {
  axis = check_gradient(x, axis);
  check<ShapeError>(coordinates.ndim() == 1 && coordinates.size() == x.shape(axis), "gradient: coordinates ",
                    coordinates.type(), " are not one number for each element of dimension ", axis, " of ", x.shape());
  return in_f32(x, [&](const Array& v) {
    auto n = v.shape(axis);
    auto h = along_axis(diff(coordinates.astype(v.dtype())), axis, v.ndim());
    auto slope = diff(v, 1, axis) / h;
    auto first = part(slope, axis, 0, 1), last = part(slope, axis, n - 2, n - 1);
    if (n == 2) return concatenate({first, last}, axis);
    auto h0 = part(h, axis, 0, n - 2), h1 = part(h, axis, 1, n - 1);
    auto middle = (h1 * part(slope, axis, 0, n - 2) + h0 * part(slope, axis, 1, n - 1)) / (h0 + h1);
    return concatenate({first, middle, last}, axis);
  });
}
namespace {
Array trapezoids(const Array& v, const Array& width, std::int64_t axis) {
  auto n = std::max<std::int64_t>(v.shape(axis), 1);
  return sum((part(v, axis, 1, std::max(n, v.shape(axis))) + part(v, axis, 0, n - 1)) * width, axis) * 0.5;
}
}  // namespace

Array trapezoid(const Array& y, double distance, std::int64_t axis) {
  axis = normalize_axis("trapezoid", axis, y.ndim());
  if (y.shape(axis) == 0) return sum(inexact(y), axis);
  return in_f32(y, [&](const Array& v) { return trapezoids(v, constant(distance, v.dtype()), axis); });
}
Array trapezoid(const Array& y, const Array& coordinates, std::int64_t axis) {
  axis = normalize_axis("trapezoid", axis, y.ndim());
  auto same = coordinates.shape() == y.shape();
  check<ShapeError>(same || (coordinates.ndim() == 1 && coordinates.size() == y.shape(axis)), "trapezoid: coordinates ",
                    coordinates.type(), " are neither of y's shape ", y.shape(),
                    " nor one number for each element of dimension ", axis);
  if (y.shape(axis) == 0) return sum(inexact(y), axis);
  return in_f32(y, [&](const Array& v) {
    auto c = coordinates.astype(v.dtype());
    return trapezoids(v, same ? diff(c, 1, axis) : along_axis(diff(c), axis, v.ndim()), axis);
  });
}
Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& o) {
  check_vector("interp", "xp", xp);
  auto n = xp.size();
  check<ShapeError>(fp.shape() == xp.shape(), "interp: xp of shape ", xp.shape(), " and fp of shape ", fp.shape(),
                    " are not points");
  check<ShapeError>(n > 0, "interp: there are no points");
  auto d = promote(promote(x.dtype(), xp.dtype()), promote(fp.dtype(), f32));
  auto in = accumulator(d);
  auto at_x = x.astype(in), p = xp.astype(in), f = fp.astype(in);
  auto first = index_in_dim(p, 0, 0), last = index_in_dim(p, 0, n - 1);
  auto low = index_in_dim(f, 0, 0), high = index_in_dim(f, 0, n - 1);
  auto left = o.left ? constant(*o.left, in) : low, right = o.right ? constant(*o.right, in) : high;
  auto y = broadcast_to(low, x.shape());
  if (n > 1) {
    auto i = clip(searchsorted(p, at_x, Side::right), 1, n - 1);
    auto p0 = take(p, i - 1), f0 = take(f, i - 1), width = take(p, i) - p0;
    auto jump = width == 0;
    y = where(jump, f0, f0 + (at_x - p0) / where(jump, 1, width) * (take(f, i) - f0));
  }
  y = where(at_x < first, left, where(at_x > last, right, y));
  auto number = at_x == at_x;  // the slope at NaN is NaN too
  return where(number, y, at_x * stop_gradient(where(number, 1, at_x))).astype(d);
}
Array unwrap(const Array& x, std::int64_t axis, const UnwrapOptions& o) {
  axis = normalize_axis("unwrap", axis, x.ndim());
  check<ValueError>(o.period > 0, "unwrap: period = ", o.period, " must be positive");
  if (x.shape(axis) < 2) return inexact(x);
  return in_f32(x, [&](const Array& v) {
    auto half = o.period / 2;
    auto step = diff(v, 1, axis);
    auto wrapped = (step + half) % o.period - half;
    wrapped = where(wrapped == -half && step > 0, half, wrapped);
    auto more = where(abs(step) < o.discont.value_or(half), 0, wrapped - step);
    return concatenate({part(v, axis, 0, 1), part(v, axis, 1, v.shape(axis)) + cumsum(more, axis)}, axis);
  });
}
}  // namespace bora
