// Differences, integrals, interpolation, products, polynomials, convolution.
#include "bora/ops/numeric.h"
#include "bora/ops/complex.h"
#include "bora/ops/statistics.h"
#include "ops/composed.h"

namespace bora {
using namespace ops;
namespace {
/// A vector along dimension `axis` of `ndim`.
Array along_axis(const Array& v, std::int64_t axis, std::int64_t ndim) {
  Shape s(Dims(at(ndim), 1));
  s[at(axis)] = v.size();
  return reshape(v, s);
}
}  // namespace

namespace {
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
  return where(isnan(at_x), at_x, y).astype(d);
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

// ---- products -------------------------------------------------------------------------------------------------------
Array cross(const Array& a, const Array& b, const CrossAxes& axes) {
  auto i = normalize_axis("cross", axes.a, a.ndim()), j = normalize_axis("cross", axes.b, b.ndim());
  auto m = a.shape(i), n = b.shape(j);
  auto fits = [](std::int64_t size) { return size == 2 || size == 3; };
  check<ShapeError>(fits(m) && fits(n), "cross: needs vectors of two or three numbers, got ", m, " along axis ", i,
                    " of ", a.shape(), " and ", n, " along axis ", j, " of ", b.shape());
  auto x = moveaxis(a, i, -1), y = moveaxis(b, j, -1);
  if (m == 2 && n == 2) {
    auto number = [](const Array& v, std::int64_t k) { return index_in_dim(v, v.ndim() - 1, k); };
    return number(x, 0) * number(y, 1) - number(x, 1) * number(y, 0);
  }
  auto in_space = [](const Array& v) {
    Dims none_before(at(v.ndim()), 0), behind = none_before;
    behind.back() = 3 - v.shape(-1);
    return behind.back() == 0 ? v : pad(v, none_before, behind);
  };
  auto [p, q] = promoted_pair("cross", in_space(x), in_space(y));
  auto next = [](const Array& v, std::int64_t by) { return roll(v, -by, -1); };
  auto r = next(p, 1) * next(q, 2) - next(p, 2) * next(q, 1);
  return moveaxis(r, -1, normalize_axis("cross", axes.result, r.ndim()));
}
Array cross(const Array& a, const Array& b, std::int64_t axis) { return cross(a, b, CrossAxes{axis, axis, axis}); }
Array kron(const Array& a, const Array& b) {
  auto n = std::max(a.ndim(), b.ndim());
  Shape sa, sb, result;
  auto size = [n](const Array& x, std::int64_t d) { return d < n - x.ndim() ? 1 : x.shape(d - (n - x.ndim())); };
  for (std::int64_t d = 0; d < n; ++d) {
    sa.push_back(size(a, d)), sa.push_back(1);
    sb.push_back(1), sb.push_back(size(b, d));
    result.push_back(size(a, d) * size(b, d));
  }
  return reshape(reshape(a, sa) * reshape(b, sb), result);
}
Array inner(const Array& a, const Array& b) {
  if (a.ndim() == 0 || b.ndim() == 0) return a * b;
  check<ShapeError>(a.shape(-1) == b.shape(-1), "inner: the last dimensions of ", a.shape(), " and ", b.shape(),
                    " differ");
  return dot_general(a, b, {.contract_a = {a.ndim() - 1}, .contract_b = {b.ndim() - 1}});
}
Array vdot(const Array& a, const Array& b) {
  check<ShapeError>(a.size() == b.size(), "vdot: ", a.shape(), " and ", b.shape(),
                    " have different numbers of elements");
  return inner(conj(ravel(a)), ravel(b));
}
Array vecdot(const Array& a, const Array& b, std::int64_t axis) {
  auto i = normalize_axis("vecdot", axis, a.ndim()), j = normalize_axis("vecdot", axis, b.ndim());
  check<ShapeError>(a.shape(i) == b.shape(j), "vecdot: ", a.shape(), " and ", b.shape(), " differ along axis ", axis);
  return squeeze(matmul(expand_dims(moveaxis(conj(a), i, -1), -2), expand_dims(moveaxis(b, j, -1), -1)), {-2, -1});
}
Array matvec(const Array& a, const Array& x) {
  check<ShapeError>(a.ndim() >= 2 && x.ndim() >= 1, "matvec: needs a matrix and a vector, got ", a.type(), " and ",
                    x.type());
  return squeeze(matmul(a, expand_dims(x, -1)), -1);
}
Array vecmat(const Array& x, const Array& a) {
  check<ShapeError>(a.ndim() >= 2 && x.ndim() >= 1, "vecmat: needs a vector and a matrix, got ", x.type(), " and ",
                    a.type());
  return squeeze(matmul(expand_dims(conj(x), -2), a), -2);
}
Array vander(const Array& x, std::optional<std::int64_t> columns, bool increasing) {
  check_vector("vander", "x", x);
  auto n = columns.value_or(x.size());
  check<ValueError>(n >= 0, "vander: ", n, " columns");
  if (n == 0) return full_of({{x.size(), 0}, x.dtype()}, 0);
  auto factors = pad(broadcast_in_dim(x, {x.size(), n - 1}, {0}), {0, 1}, {0, 0}, 1);
  auto powers = cumprod(factors, 1).astype(x.dtype() == boolean ? i32 : x.dtype());
  return increasing ? powers : flip(powers, 1);
}

// ---- polynomials ----------------------------------------------------------------------------------------------------
Array polyval(const Array& p, const Array& x) {
  check_vector("polyval", "the coefficients p", p);
  auto d = promote(p.dtype(), x.dtype());
  auto y = full_of({x.shape(), d}, 0);
  for (std::int64_t i = 0; i < p.size(); ++i) y = y * x.astype(d) + index_in_dim(p, 0, i).astype(d);
  return y;
}
namespace {
/// Both with as many coefficients as the longer one.
std::pair<Array, Array> equally_long(std::string_view what, const Array& p, const Array& q) {
  check_vector(what, "p", p);
  check_vector(what, "q", q);
  auto n = std::max(p.size(), q.size());
  return {pad(p, {n - p.size()}, {0}), pad(q, {n - q.size()}, {0})};
}
}  // namespace
Array polyadd(const Array& p, const Array& q) {
  auto [a, b] = equally_long("polyadd", p, q);
  return a + b;
}
Array polysub(const Array& p, const Array& q) {
  auto [a, b] = equally_long("polysub", p, q);
  return a - b;
}
Array polymul(const Array& p, const Array& q) {
  check_vector("polymul", "p", p);
  check_vector("polymul", "q", q);
  return convolve(p, q);
}
Array polyder(const Array& p, std::int64_t m) {
  check_vector("polyder", "p", p);
  check<ValueError>(m >= 0, "polyder: m = ", m, " must not be negative");
  auto y = p;
  for (; m > 0 && y.size() > 0; --m) {
    auto n = y.size() - 1;
    y = part(y, 0, 0, n) * flip(iota({n}, 0) + 1).astype(is_float(p.dtype()) ? p.dtype() : i32);
  }
  return y;
}
Array polyint(const Array& p, std::int64_t m) {
  check_vector("polyint", "p", p);
  check<ValueError>(m >= 0, "polyint: m = ", m, " must not be negative");
  auto y = inexact(p);
  for (; m > 0; --m) y = pad(y / flip(iota({y.size()}, 0) + 1).astype(y.dtype()), {0}, {1});
  return y;
}
Array poly(const Array& zeros) {
  check_vector("poly", "the zeros", zeros);
  auto x = inexact(zeros);
  auto p = full_of({{1}, x.dtype()}, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) p = pad(p, {0}, {1}) - pad(p, {1}, {0}) * index_in_dim(x, 0, i);
  return p;
}

// ---- signals --------------------------------------------------------------------------------------------------------
namespace {
void check_signals(std::string_view what, const Array& a, const Array& v) {
  check_vector(what, "a", a);
  check_vector(what, "v", v);
  check<ShapeError>(a.size() > 0 && v.size() > 0, what, ": vectors must not be empty, got ", a.shape(), " and ",
                    v.shape());
}
/// sum over n of a[n + k] v[n] with v no longer than a, for k from -before to size(a) - size(v) + behind.
Array correlated(const Array& a, const Array& v, std::int64_t before, std::int64_t behind) {
  auto m = v.size();
  auto padded = pad(a, {before}, {behind});
  auto n = padded.size() - m + 1;
  return matmul(take(padded, iota({n, m}, 0) + iota({n, m}, 1)), v);
}
}  // namespace
Array convolve(const Array& a, const Array& v, Overlap mode) {
  check_signals("convolve", a, v);
  if (a.size() < v.size()) return convolve(v, a, mode);
  auto m = v.size() - 1;
  switch (mode) {
    case Overlap::full: return correlated(a, flip(v), m, m);
    case Overlap::same: return correlated(a, flip(v), m - m / 2, m / 2);
    case Overlap::valid: break;
  }
  return correlated(a, flip(v), 0, 0);
}
Array correlate(const Array& a, const Array& v, Overlap mode) {
  check_signals("correlate", a, v);
  if (a.size() < v.size()) return flip(conj(correlate(v, a, mode)));
  return convolve(a, conj(flip(v)), mode);
}
namespace {
/// sum over k of weights[k] cos(2 pi k i / (n - 1)), i = 0 .. n - 1.
Array cosines(std::string_view what, std::int64_t n, std::initializer_list<double> weights, Dtype dtype) {
  check<ValueError>(n >= 0, what, ": n = ", n, " must not be negative");
  if (n == 1) return full_of({{1}, dtype}, 1);
  auto angle = iota({n}, 0, f64) * (2 * kPi / static_cast<double>(n - 1));
  auto y = full_of({{n}, f64}, 0);
  int k = 0;
  for (auto w : weights) y = y + w * cos(angle * static_cast<double>(k++));
  return y.astype(dtype);
}
}  // namespace
Array bartlett(std::int64_t n, Dtype dtype) {
  check<ValueError>(n >= 0, "bartlett: n = ", n, " must not be negative");
  if (n == 1) return full_of({{1}, dtype}, 1);
  return (1 - abs(iota({n}, 0, f64) * (2 / static_cast<double>(n - 1)) - 1)).astype(dtype);
}
Array blackman(std::int64_t n, Dtype dtype) { return cosines("blackman", n, {0.42, -0.5, 0.08}, dtype); }
Array hamming(std::int64_t n, Dtype dtype) { return cosines("hamming", n, {0.54, -0.46}, dtype); }
Array hanning(std::int64_t n, Dtype dtype) { return cosines("hanning", n, {0.5, -0.5}, dtype); }
}  // namespace bora
