// Grids, positions as data, choices by position, diagonals.
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sets.h"
#include "ops/numpy/support.h"
#include "ops/primitives/indexing.h"
#include "bora/ops/creation.h"
#include "bora/array/primitive_base.h"
#include "kernels/api/index.h"
#include "ops/api/primitives.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/reductions.h"

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
namespace {
Array numbers_of(std::string_view what, const bora::Range& r) {
  auto step = r.step.value_or(1);
  check<ValueError>(r.stop.has_value() && step != 0, what, ": a range needs an end and a step that is not 0");
  return arange(r.start.value_or(0), *r.stop, step);
}
}  // namespace

Arrays ogrid(const std::vector<bora::Range>& ranges) {
  Arrays r;
  auto n = static_cast<std::int64_t>(ranges.size());
  for (std::int64_t d = 0; d < n; ++d) {
    auto v = numbers_of("ogrid", ranges[at(d)]);
    Shape s(Dims(at(n), 1));
    s[at(d)] = v.size();
    r.push_back(reshape(v, s));
  }
  return r;
}
Array mgrid(const std::vector<bora::Range>& ranges) {
  check<ValueError>(!ranges.empty(), "mgrid: there are no ranges");
  return stack(broadcast_arrays(ogrid(ranges)));
}
Arrays ix_(const Arrays& vectors) {
  Arrays r;
  auto n = static_cast<std::int64_t>(vectors.size());
  for (std::int64_t d = 0; d < n; ++d) {
    auto v = vectors[at(d)];
    check_vector("ix_", "each list of positions", v);
    if (v.dtype() == boolean) v = flatnonzero(v);
    check<DtypeError>(is_integer(v.dtype()), "ix_: positions are integers or booleans, got ", v.type());
    Shape s(Dims(at(n), 1));
    s[at(d)] = v.size();
    r.push_back(reshape(v, s));
  }
  return r;
}
namespace {
void check_matrix(std::string_view what, const Array& x) {
  check<ShapeError>(x.ndim() == 2, what, ": needs a matrix, got ", x.type());
}
}  // namespace

Arrays tril_indices_from(const Array& x, std::int64_t k) {
  check_matrix("tril_indices_from", x);
  return tril_indices(x.shape(0), k, x.shape(1));
}
Arrays triu_indices_from(const Array& x, std::int64_t k) {
  check_matrix("triu_indices_from", x);
  return triu_indices(x.shape(0), k, x.shape(1));
}
Arrays diag_indices_from(const Array& x) {
  check<ShapeError>(x.ndim() >= 2, "diag_indices_from: needs two dimensions or more, got ", x.type());
  for (auto n : x.shape())
    check<ShapeError>(n == x.shape(0), "diag_indices_from: the dimensions of ", x.shape(), " must be equal");
  return diag_indices(x.shape(0), x.ndim());
}
Arrays mask_indices(std::int64_t n, const std::function<Array(const Array&, std::int64_t)>& mask, std::int64_t k) {
  return nonzero(mask(ones({n, n}, i32), k));
}

Array place(const Array& x, const Array& mask, const Array& values) {
  check<ShapeError>(mask.size() == x.size(), "place: a mask of shape ", mask.shape(), " and x of shape ", x.shape(),
                    " must have equally many elements");
  check<ShapeError>(values.size() > 0, "place: there are no values");
  auto m = ravel(mask).astype(boolean);
  auto rank = cumsum(m.astype(i32)) - 1;
  auto chosen = take(ravel(values).astype(x.dtype()), maximum(rank, 0) % values.size(), 0, IndexMode::clamp);
  return reshape(select(m, chosen, ravel(x)), x.shape());
}
Array put(const Array& x, const Array& positions, const Array& values) {
  auto n = positions.size();
  if (n == 0) return x;
  check<ShapeError>(values.size() > 0, "put: there are no values");
  return reshape(scatter_set(ravel(x), ravel(positions), resize(ravel(values).astype(x.dtype()), {n})), x.shape());
}
Array diagonal(const Array& x, std::int64_t k, std::int64_t a, std::int64_t b) {
  check<ShapeError>(x.ndim() >= 2, "diagonal: needs a matrix, got ", x.type());
  a = normalize_axis("diagonal", a, x.ndim()), b = normalize_axis("diagonal", b, x.ndim());
  check<ValueError>(a != b, "diagonal: dimension ", a, " is given twice");
  auto m = x.shape(a), n = x.shape(b);
  auto row = std::max<std::int64_t>(-k, 0), column = std::max<std::int64_t>(k, 0);
  auto size = std::max<std::int64_t>(std::min(m - row, n - column), 0);
  auto y = transpose(x, joined(others(x.ndim(), {a, b}), {a, b}));
  auto rest = pick(x.shape(), others(x.ndim(), {a, b}));
  auto flat = rest, shape = rest;
  flat.push_back(m * n);
  shape.push_back(size);
  if (size == 0) return full_of({shape, x.dtype()}, 0);
  auto first = row * n + column;
  return slice_in_dim(reshape(y, flat), -1, first, first + (size - 1) * (n + 1) + 1, n + 1);
}
Array trace(const Array& x, std::int64_t k, std::int64_t a, std::int64_t b) { return sum(diagonal(x, k, a, b), -1); }
Array diag(const Array& x, std::int64_t k) {
  check<ShapeError>(x.ndim() == 1 || x.ndim() == 2, "diag: needs a vector or a matrix, got ", x.type());
  if (x.ndim() == 2) return diagonal(x, k);
  auto size = x.size(), n = size + std::abs(k);
  auto place = iota({n, n}, 1) - iota({n, n}, 0) == k;
  auto row = pad(x, {std::max<std::int64_t>(k, 0)}, {std::max<std::int64_t>(-k, 0)});  // x's element of each column
  return where(place, broadcast_in_dim(row, {n, n}, {1}), full_of({{n, n}, x.dtype()}, 0));
}
Array diagflat(const Array& x, std::int64_t k) { return diag(ravel(x), k); }
Array fill_diagonal(const Array& x, const Array& value) {
  check<ShapeError>(x.ndim() >= 2, "fill_diagonal: needs a matrix, got ", x.type());
  auto m = x.shape(-2), n = x.shape(-1), size = std::min(m, n);
  check<ShapeError>(value.size() == 1 || (value.ndim() == 1 && value.size() == size), "fill_diagonal: ", value.type(),
                    " is neither one number nor the ", size, " of the diagonal of ", x.shape());
  auto v = value.size() == 1 ? reshape(value, {}) : pad(value, {0}, {n - size});
  return where(iota({m, n}, 0) == iota({m, n}, 1), broadcast_to(v.astype(x.dtype()), x.shape()), x);
}
}  // namespace bora
