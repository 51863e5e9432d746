// sparse.h -- arrays of which few elements are not 0, as lists of coordinates: jax.experimental.sparse.BCOO without
// batch and dense dimensions. Solvers for linear systems are in fx/krylov.h.
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
}  // namespace bora::sparse

namespace bora::detail {
void check_sparse_matrix(std::string_view what, const sparse::BCOO& m);
}
