// Positions, choices, numbers.
#include "bora/ops/arrange.h"
#include "ops/composed.h"
#include "ops/index_support.h"

namespace bora {
using namespace ops;
namespace {
Arrays triangle(std::string_view what, std::int64_t n, std::int64_t k, std::int64_t m, bool lower) {
  check<ShapeError>(n >= 0 && m >= 0, what, ": sizes must not be negative, got ", n, " and ", m);
  std::vector<std::int32_t> rows, columns;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = lower ? 0 : std::max<std::int64_t>(i + k, 0), end = lower ? std::min(m, i + k + 1) : m;
         j < end; ++j) {
      rows.push_back(static_cast<std::int32_t>(i));
      columns.push_back(static_cast<std::int32_t>(j));
    }
  return {asarray(rows), asarray(columns)};
}
}  // namespace
Arrays tril_indices(std::int64_t n, std::int64_t k, std::optional<std::int64_t> columns) {
  return triangle("tril_indices", n, k, columns.value_or(n), true);
}
Arrays triu_indices(std::int64_t n, std::int64_t k, std::optional<std::int64_t> columns) {
  return triangle("triu_indices", n, k, columns.value_or(n), false);
}
Arrays diag_indices(std::int64_t n, std::int64_t ndim) {
  check<ValueError>(n >= 0 && ndim >= 0, "diag_indices: n = ", n, " and ndim = ", ndim, " must not be negative");
  return Arrays(at(ndim), iota({n}, 0));
}
Array indices(const Shape& shape) {
  check<ShapeError>(!shape.empty(), "indices: a scalar has no positions");
  Arrays r;
  for (std::size_t d = 0; d < shape.size(); ++d) r.push_back(iota(shape, static_cast<std::int64_t>(d)));
  return stack(r);
}
Array ravel_multi_index(const Arrays& positions, const Shape& shape) {
  check<ShapeError>(positions.size() == shape.size() && !shape.empty(), "ravel_multi_index: ", positions.size(),
                    " arrays of positions in the shape ", shape);
  check<ShapeError>(volume(shape) <= std::numeric_limits<std::int32_t>::max(),
                    "ravel_multi_index: positions are i32, and the shape ", shape, " has ", volume(shape), " elements");
  Array r;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto i = clip(from_front("ravel_multi_index", positions[d], shape[d]), 0, std::max<std::int64_t>(shape[d] - 1, 0));
    r = r.defined() ? r * shape[d] + i : i;
  }
  return r;
}
Arrays unravel_index(const Array& positions, const Shape& shape) {
  auto n = volume(shape);
  auto i = clip(from_front("unravel_index", positions, n), 0, std::max<std::int64_t>(n - 1, 0));
  Arrays r;
  auto inner = std::max<std::int64_t>(n, 1);
  for (auto size : shape) {
    auto whole = std::max<std::int64_t>(size, 1);
    inner /= whole;
    r.push_back(floor_divide(i, inner) % whole);
  }
  return r;
}
Array put_along_axis(const Array& x, const Array& indices, const Array& values, std::int64_t axis) {
  check<ShapeError>(x.ndim() == indices.ndim(), "put_along_axis: ", x.shape(), " and the indices ", indices.shape(),
                    " must have equally many dimensions");
  axis = normalize_axis("put_along_axis", axis, x.ndim());
  auto rows = x.shape();
  rows[at(axis)] = indices.shape(axis);
  auto last = x.ndim() - 1;
  auto front = [&](const Array& a) { return moveaxis(broadcast_to(a, rows), axis, -1); };
  auto i = front(from_front("put_along_axis", indices, x.shape(axis)));
  auto v = front(values.astype(x.dtype()));
  return moveaxis(call_one(Scatter{kernels::ScatterMode::set, last, last}, {moveaxis(x, axis, -1), i, v}), -1, axis);
}
Array select(const Arrays& conditions, const Arrays& choices, Scalar otherwise) {
  check<ValueError>(conditions.size() == choices.size() && !choices.empty(), "select: ", conditions.size(),
                    " conditions and ", choices.size(), " choices; there must be equally many, and at least one");
  auto last = choices.size() - 1;
  auto y = where(conditions[last], choices[last], otherwise);
  for (auto i = last; i-- > 0;) y = where(conditions[i], choices[i], y);
  return y;
}
Array piecewise(const Array& x, const Arrays& conditions,
                const std::vector<std::function<Array(const Array&)>>& functions) {
  auto n = conditions.size();
  check<ValueError>(functions.size() == n || functions.size() == n + 1, "piecewise: ", n, " conditions need ", n,
                    " or ", n + 1, " functions, got ", functions.size());
  auto y = functions.size() > n ? broadcast_to(functions[n](x), x.shape()).astype(x.dtype()) : full_like(x, 0);
  for (std::size_t i = 0; i < n; ++i) y = where(conditions[i], functions[i](x).astype(x.dtype()), y);
  return y;
}
Array choose(const Array& which, const Arrays& choices) {
  check<ValueError>(!choices.empty(), "choose: there are no choices");
  check<DtypeError>(is_integer(which.dtype()) || which.dtype() == boolean, "choose: positions are integers, not ",
                    which.dtype());
  auto i = which.dtype() == boolean ? which.astype(i32) : which;
  auto y = choices.back();
  for (auto k = choices.size() - 1; k-- > 0;) y = where(i <= static_cast<std::int64_t>(k), choices[k], y);
  return broadcast_to(y, broadcast_shapes("choose", which.shape(), y.shape()));
}
Array logspace(double start, double stop, std::int64_t n, double base, Dtype dtype) {
  check<ValueError>(base > 0, "logspace: base = ", base, " must be positive");
  return exp(linspace(start, stop, n, f64) * std::log(base)).astype(dtype);
}
Array geomspace(double start, double stop, std::int64_t n, Dtype dtype) {
  check<ValueError>(start * stop > 0, "geomspace: from ", start, " to ", stop,
                    ": both must have one sign and not be 0");
  auto sign = start < 0 ? -1. : 1.;
  auto x = sign * exp(linspace(std::log(std::abs(start)), std::log(std::abs(stop)), n, f64));
  auto i = iota({n}, 0);
  if (n > 1) x = where(i == n - 1, stop, x);
  return where(i == 0, start, x).astype(dtype);
}
Array packbits(const Array& x, std::int64_t axis) {
  check<DtypeError>(is_integer(x.dtype()) || x.dtype() == boolean, "packbits: needs integers or booleans, got ",
                    x.dtype());
  axis = normalize_axis("packbits", axis, x.ndim());
  auto y = moveaxis(x.astype(boolean), axis, -1).astype(i32);
  auto n = y.shape(-1), bytes = (n + 7) / 8;
  Dims none_at(at(y.ndim()), 0), fill = none_at;
  fill.back() = bytes * 8 - n;
  auto shape = y.shape();
  shape[shape.size() - 1] = bytes;
  shape.push_back(8);
  auto bits = reshape(pad(y, none_at, fill), shape);
  return moveaxis(sum(bits << (7 - iota({8}, 0)), -1).astype(u8), -1, axis);
}
Array unpackbits(const Array& x, std::int64_t axis) {
  check<DtypeError>(x.dtype() == u8, "unpackbits: needs bytes u8, got ", x.dtype());
  axis = normalize_axis("unpackbits", axis, x.ndim());
  auto y = expand_dims(moveaxis(x, axis, -1).astype(i32), -1);
  auto shape = moveaxis(x, axis, -1).shape();
  shape[shape.size() - 1] *= 8;
  return moveaxis(reshape(((y >> (7 - iota({8}, 0))) & 1).astype(u8), shape), -1, axis);
}
}  // namespace bora
