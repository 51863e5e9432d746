// sparse.h -- arrays of which few elements are not 0, as lists of coordinates, jax.experimental.sparse.BCOO without
// batch and dense dimensions, and matrices by rows, CSR. Iterative solvers for linear systems are in fx/krylov.h.
#pragma once
#include "bora/ops/arguments.h"

namespace bora::sparse {
/// The array of `shape` that is 0 but for data [nse] at indices [nse, ndim] (i32). Equal indices add; indices outside
/// of the shape stand for nothing, and fill up lists of a fixed length. A tree: derivatives by data, of which the
/// others are parameters. Every function throws ShapeError unless data and indices fit the shape.
struct BCOO {
  Array data, indices;
  Shape shape;
  std::int64_t nse() const { return data.size(); }  // number of specified elements
  std::int64_t ndim() const { return static_cast<std::int64_t>(shape.size()); }
  /// The whole array.
  Array todense() const;
  /// Dimensions in another order; without perm reversed.
  BCOO transpose(const Dims& perm = {}) const;
};
struct FromDenseOptions {                  // of fromdense and sum_duplicates
  std::optional<std::int64_t> nse = none;  // length of the lists; default: as many as there are, which reads values
};
/// The elements of x that are not 0, in row-major order, of which the first nse; missing ones are filled up. Throws
/// TraceError inside transforms without nse.
BCOO fromdense(const Array& x, const FromDenseOptions& options = {});
/// The matrix m [R, C] times x [C] or [C, K], and x [R] or [K, R] times m: one product for each element of m.
Array matmul(const BCOO& m, const Array& x);
Array matmul(const Array& x, const BCOO& m);
Array matvec(const BCOO& m, const Array& x);  // m times the vector x
BCOO operator*(const BCOO& m, Scalar factor);
/// a + b: both lists, one behind the other.
BCOO operator+(const BCOO& a, const BCOO& b);
/// The same array with every index once and in row-major order, in lists of nse elements (default: as many as there
/// are, which reads values).
BCOO sum_duplicates(const BCOO& m, const FromDenseOptions& options = {});

/// A matrix of `shape` [R, C] by rows: data [nse], their columns indices [nse] (i32), and indptr [R + 1] (i32): row r
/// has the elements indptr[r] to indptr[r + 1]. Equal places add; elements behind indptr[R] stand for nothing. A tree,
/// as BCOO; every function throws ShapeError unless its parts fit. scipy.sparse.csr_array, jax.experimental.sparse.CSR.
struct CSR {
  Array data, indices, indptr;
  Shape shape;
  std::int64_t nse() const { return data.size(); }  // number of specified elements
  /// The whole matrix.
  Array todense() const;
};
/// The same matrix; elements in the order of rows, each row's in their old order. Throws ShapeError unless m is a
/// matrix.
CSR to_csr(const BCOO& m);
BCOO to_bcoo(const CSR& m);  // the same matrix with the row of each element, in the same order
/// m [R, C] times x [C] or [C, K], and x [R] or [K, R] times m: one product for each element of m.
Array matmul(const CSR& m, const Array& x);
Array matmul(const Array& x, const CSR& m);
Array matvec(const CSR& m, const Array& x);  // m times the vector x
CSR operator*(const CSR& m, Scalar factor);
}  // namespace bora::sparse
namespace bora::sparse::linalg {
/// The x with a x = b, a [n, n], b [n] or [n, k]: Eigen's LU with columns ordered for few elements (COLAMD), on the
/// host. Derivatives by b and a's data solve once more, with a's transpose. NaN where a is singular. f32, f64,
/// complex64 and complex128. Throws ShapeError unless a is square and fits b, DtypeError for other dtypes. Source:
/// scipy.sparse.linalg.spsolve.
Array spsolve(const CSR& a, const Array& b);
}  // namespace bora::sparse::linalg

namespace bora::detail {
void check_sparse_matrix(std::string_view what, const sparse::BCOO& m);
}
