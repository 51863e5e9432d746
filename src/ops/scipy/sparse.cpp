// Sparse arrays as lists of coordinates: products are gathers, products of numbers, and scattered sums.
#include "bora/ops/sparse.h"
#include "bora/ops/contractions.h"
#include "bora/ops/sets.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/ufuncs.h"

namespace bora::sparse {
using namespace ops;
namespace {
void verify(std::string_view what, const BCOO& m) {
  check<ShapeError>(m.data.ndim() == 1 && m.indices.ndim() == 2 && m.indices.shape(0) == m.data.size() &&
                        m.indices.shape(1) == m.ndim(),
                    what, ": data ", m.data.type(), " and indices ", m.indices.type(), " do not fit the shape ",
                    m.shape, "; they are [nse] and [nse, ", m.ndim(), "]");
  check<DtypeError>(is_integer(m.indices.dtype()), what, ": indices are integers, not ", m.indices.dtype());
}
Array coordinate(const BCOO& m, Index d) { return index_in_dim(m.indices, 1, d).astype(i32); }
/// Row-major positions; those outside of the shape are its size, which no write reaches.
Array positions(const BCOO& m) {
  auto size = volume(m.shape);
  check<ShapeError>(size < std::numeric_limits<std::int32_t>::max(), "BCOO: the shape ", m.shape,
                    " has more elements than positions in 32 bits");
  Array place = full_of({{m.nse()}, i32}, 0), inside = full_of({{m.nse()}, boolean}, true);
  for (Index d = 0; d < m.ndim(); ++d) {
    auto i = coordinate(m, d);
    auto n = m.shape[at(d)];
    inside = inside && i >= 0 && i < n;
    place = place * n + i;
  }
  return where(inside, place, size);
}
/// The list of the elements of raveled x at positions; `size` stands for nothing.
BCOO at_positions(const Array& data, const Array& place, const Shape& shape) {
  auto size = volume(shape);
  Arrays columns;
  auto rest = place;
  auto below = Dims(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) below[d - 1] = below[d] * shape[d];
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto n = std::max<Index>(below[d], 1);
    columns.push_back(where(place >= size, shape[d], floor_divide(rest, n)));
    rest = rest % n;
  }
  for (auto& c : columns) c = c.astype(i32);
  auto indices = columns.empty() ? full_of({{data.size(), 0}, i32}, 0) : stack(columns, 1);
  return {where(place >= size, zeros_like(data), data), indices, shape};
}
}  // namespace

Array BCOO::todense() const {
  verify("todense", *this);
  auto flat = scatter_add(full_of({{volume(shape)}, data.dtype()}, 0), positions(*this), data);
  return reshape(flat, shape);
}
BCOO BCOO::transpose(const Dims& given) const {
  verify("transpose", *this);
  auto perm = given;
  if (perm.empty())
    for (auto d = ndim(); d-- > 0;) perm.push_back(d);
  perm = checked_permutation("transpose", perm, ndim());
  Arrays columns;
  for (auto d : perm) columns.push_back(coordinate(*this, d));
  return {data, columns.empty() ? indices : stack(columns, 1), pick(shape, perm)};
}
BCOO fromdense(const Array& x, const FromDenseOptions& o) {
  check<ValueError>(o.nse.value_or(0) >= 0, "fromdense: nse = ", o.nse.value_or(0), " must not be negative");
  auto size = x.size();
  auto place = flatnonzero(x, {.size = o.nse, .fill = Scalar(size)});
  auto n = place.size();
  if (size == 0) return {full_of({{n}, x.dtype()}, 0), full_of({{n, x.ndim()}, i32}, 0), x.shape()};
  return at_positions(take(ravel(x), place, 0, IndexMode::clamp), place, x.shape());
}
Array matmul(const BCOO& m, const Array& x) {
  detail::check_sparse_matrix("matmul", m);
  check<ShapeError>((x.ndim() == 1 || x.ndim() == 2) && x.shape(0) == m.shape[1], "matmul: a sparse matrix ", m.shape,
                    " does not fit ", x.type());
  auto d = promote(m.data.dtype(), x.dtype());
  auto data = m.data.astype(d);
  auto columns = coordinate(m, 1);
  // An element outside of the matrix in its column only must not be written either.
  auto rows = where(columns >= 0 && columns < m.shape[1], coordinate(m, 0), m.shape[0]);
  rows = where(rows >= 0, rows, m.shape[0]);
  auto result = x.shape();
  result[0] = m.shape[0];
  if (m.shape[1] == 0) return full_of({result, d}, 0);
  auto terms = take(x.astype(d), columns, 0, IndexMode::clamp) * (x.ndim() == 1 ? data : expand_dims(data, 1));
  return scatter_add(full_of({result, d}, 0), rows, terms);
}
Array matmul(const Array& x, const BCOO& m) {
  detail::check_sparse_matrix("matmul", m);
  check<ShapeError>((x.ndim() == 1 || x.ndim() == 2) && x.shape(-1) == m.shape[0], "matmul: ", x.type(),
                    " does not fit a sparse matrix ", m.shape);
  if (x.ndim() == 1) return matmul(m.transpose(), x);
  return bora::transpose(matmul(m.transpose(), bora::transpose(x)));
}
Array matvec(const BCOO& m, const Array& x) {
  check_vector("matvec", "x", x);
  return matmul(m, x);
}
BCOO operator*(const BCOO& m, Scalar factor) { return {m.data * factor, m.indices, m.shape}; }
BCOO operator+(const BCOO& a, const BCOO& b) {
  verify("operator+", a);
  verify("operator+", b);
  check<ShapeError>(a.shape == b.shape, "operator+: the shapes ", a.shape, " and ", b.shape, " differ");
  auto d = promote(a.data.dtype(), b.data.dtype());
  return {concatenate({a.data.astype(d), b.data.astype(d)}),
          concatenate({a.indices.astype(i32), b.indices.astype(i32)}), a.shape};
}
BCOO sum_duplicates(const BCOO& m, const FromDenseOptions& o) {
  verify("sum_duplicates", m);
  check<ValueError>(o.nse.value_or(0) >= 0, "sum_duplicates: nse = ", o.nse.value_or(0), " must not be negative");
  auto size = volume(m.shape);
  auto place = positions(m);
  auto distinct = unique(place, {.size = o.nse, .fill = Scalar(size)});
  if (!o.nse) distinct = compress(distinct < size, distinct);
  auto n = distinct.size();
  if (n == 0 || m.nse() == 0)
    return {full_of({{n}, m.data.dtype()}, 0), full_of({{n, m.ndim()}, i32}, 0), m.shape};
  auto slot = searchsorted(distinct, place);
  slot = where(take(distinct, slot, 0, IndexMode::clamp) == place && place < size, slot, n);
  return at_positions(scatter_add(full_of({{n}, m.data.dtype()}, 0), slot, m.data), distinct, m.shape);
}
}  // namespace bora::sparse

void bora::detail::check_sparse_matrix(std::string_view what, const sparse::BCOO& m) {
  sparse::verify(what, m);
  check<ShapeError>(m.ndim() == 2, what, ": the sparse array must be a matrix, its shape is ", m.shape);
}
