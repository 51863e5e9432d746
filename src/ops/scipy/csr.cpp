// Matrices by rows: products by way of coordinates, and systems by Eigen's sparse LU.
#include <Eigen/SparseLU>
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/custom.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/sparse.h"
#include "bora/ops/ufuncs.h"
#include "ops/numpy/support.h"

namespace bora::sparse {
using namespace ops;
namespace {
void verify_rows(std::string_view what, const CSR& m) {
  check<ShapeError>(m.shape.size() == 2 && m.data.ndim() == 1 && m.indices.shape() == m.data.shape() &&
                        m.indptr.ndim() == 1 && m.indptr.size() == m.shape[0] + 1,
                    what, ": data ", m.data.type(), ", indices ", m.indices.type(), " and indptr ", m.indptr.type(),
                    " do not fit the shape ", m.shape, "; they are [nse], [nse] and [rows + 1] of a matrix");
  check<DtypeError>(is_integer(m.indices.dtype()) && is_integer(m.indptr.dtype()), what,
                    ": indices and indptr are integers, not ", m.indices.dtype(), " and ", m.indptr.dtype());
}
/// The row of each element; of those behind the last row the number of rows.
Array rows_of(const CSR& m) {
  return searchsorted(m.indptr.astype(i32), arange(m.nse()), Side::right).astype(i32) - 1;
}
template <class V> Array solved_by_lu(const Arrays& in, bool transposed) {
  auto data = in[0].concrete(), columns = in[1].astype(i32).concrete(), starts = in[2].astype(i32).concrete();
  auto right = in[3].concrete();
  auto n = right.shape(0), k = right.ndim() == 2 ? right.shape(1) : 1;
  auto* number = static_cast<const V*>(data.bytes());
  auto* column = columns.data<std::int32_t>();
  auto* start = starts.data<std::int32_t>();
  std::vector<Eigen::Triplet<V>> elements;
  for (std::int64_t r = 0; r < n; ++r)
    for (auto e = std::max(start[r], 0); e < start[r + 1] && e < data.size(); ++e) {
      auto row = static_cast<int>(r);
      if (column[e] < 0 || column[e] >= n) continue;
      if (transposed) elements.emplace_back(column[e], row, number[e]);
      else elements.emplace_back(row, column[e], number[e]);
    }
  Eigen::SparseMatrix<V> matrix(n, n);
  matrix.setFromTriplets(elements.begin(), elements.end());
  auto result = new_buffer(right.type());
  using Rows = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Columns = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic>;
  Eigen::Map<Rows> x(static_cast<V*>(result.data), n, k);
  const Columns b = Eigen::Map<const Rows>(static_cast<const V*>(right.bytes()), n, k);
  Eigen::SparseLU<Eigen::SparseMatrix<V>> lu;
  lu.compute(matrix);
  if (lu.info() == Eigen::Success) x = Columns(lu.solve(b));
  else x.setConstant(V(std::numeric_limits<double>::quiet_NaN()));
  return result.done();
}
Array solved_on_host(const Arrays& in, bool transposed) {
  switch (in[0].dtype()) {
    case f32: return solved_by_lu<float>(in, transposed);
    case f64: return solved_by_lu<double>(in, transposed);
    case complex64: return solved_by_lu<std::complex<float>>(in, transposed);
    default: return solved_by_lu<std::complex<double>>(in, transposed);
  }
}
/// data, columns, indptr, b -> x.
const HostOp& solver(bool transposed) {
  auto make = [](bool transposed) {
    auto shape = [](const std::vector<Shape>& in) { return in[3]; };
    auto eval = [transposed](const Array& data, const Array& columns, const Array& starts, const Array& b) {
      return solved_on_host({data, columns, starts, b}, transposed);
    };
    auto slope = [transposed](const Array& ct, const Array& data, const Array& columns, const Array& starts,
                              const Array& b) -> Arrays {
      auto x = solver(transposed)(data, columns, starts, b), y = solver(!transposed)(data, columns, starts, ct);
      auto n = b.shape(0);
      auto rows = rows_of({data, columns, starts, {n, n}});
      auto of_y = take(y, transposed ? columns : rows, 0, IndexMode::clamp);
      auto of_x = take(x, transposed ? rows : columns, 0, IndexMode::clamp);
      auto both = of_y * of_x;
      auto inside = rows < n && columns >= 0 && columns < n;
      return {where(inside, both.ndim() == 2 ? -sum(both, 1) : -both, 0), {}, {}, y};
    };
    return custom_op(transposed ? "spsolve_transposed" : "spsolve", {.eval = eval, .vjp = slope, .shape = shape});
  };
  static const HostOp plain = make(false), turned = make(true);
  return transposed ? turned : plain;
}
}  // namespace

Array CSR::todense() const {
  verify_rows("todense", *this);
  return to_bcoo(*this).todense();
}
CSR to_csr(const BCOO& m) {
  detail::check_sparse_matrix("to_csr", m);
  auto r = index_in_dim(m.indices, 1, 0).astype(i32), c = index_in_dim(m.indices, 1, 1).astype(i32);
  auto inside = r >= 0 && r < m.shape[0] && c >= 0 && c < m.shape[1];
  auto rows = where(inside, r, m.shape[0]);
  auto order = argsort(rows, 0);
  auto sorted = take(rows, order);
  return {take(m.data, order), take(c, order), searchsorted(sorted, arange(m.shape[0] + 1)).astype(i32), m.shape};
}
BCOO to_bcoo(const CSR& m) {
  verify_rows("to_bcoo", m);
  return {m.data, stack({rows_of(m), m.indices.astype(i32)}, 1), m.shape};
}
Array matmul(const CSR& m, const Array& x) {
  verify_rows("matmul", m);
  return matmul(to_bcoo(m), x);
}
Array matmul(const Array& x, const CSR& m) {
  verify_rows("matmul", m);
  return matmul(x, to_bcoo(m));
}
Array matvec(const CSR& m, const Array& x) {
  verify_rows("matvec", m);
  return matvec(to_bcoo(m), x);
}
CSR operator*(const CSR& m, Scalar factor) { return {m.data * factor, m.indices, m.indptr, m.shape}; }
}  // namespace bora::sparse

bora::Array bora::sparse::linalg::spsolve(const CSR& a, const Array& b) {
  verify_rows("spsolve", a);
  auto d = promote(a.data.dtype(), b.dtype());
  check<DtypeError>(d == f32 || d == f64 || is_complex(d), "spsolve: takes f32, f64 and complex numbers, not ",
                    a.data.dtype(), " and ", b.dtype());
  check<ShapeError>(a.shape[0] == a.shape[1] && (b.ndim() == 1 || b.ndim() == 2) && b.shape(0) == a.shape[0],
                    "spsolve: a matrix ", a.shape, " does not fit ", b.type());
  return solver(false)(a.data.astype(d), a.indices.astype(i32), a.indptr.astype(i32), b.astype(d));
}
