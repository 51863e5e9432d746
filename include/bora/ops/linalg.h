// linalg.h -- dense linear algebra on the last two dimensions; leading dimensions are batches. f32, f64, complex64 and
// complex128: ^H conjugates. One thread per matrix; small ones of a batch side by side in vectors.
#pragma once
#include "bora/array/array.h"

namespace bora::linalg {
/// The lower triangular L with L L^H = (a + a^H) / 2, a [.., n, n]; NaN where that is not positive definite. Throws
/// ShapeError, DtypeError.
Array cholesky(const Array& a);
struct TriangularSolveOptions {
  bool lower = true;        // which half of a is read
  bool transposed = false;  // solve a^T x = b
};
/// x with a x = b, a [.., n, n] triangular, b [.., n, k], whose batches broadcast, or a vector [n].
Array triangular_solve(const Array& a, const Array& b, const TriangularSolveOptions& options = {});
/// x with a x = b, a [.., n, n], b as above (by LU with partial pivoting); inf or NaN where a is singular.
Array solve(const Array& a, const Array& b);
/// a [.., m, n] = q r with k = min(m, n): q [.., m, k] with orthonormal columns, r [.., k, n] upper triangular with a
/// real diagonal. The derivative needs linearly independent first k columns.
struct Qr {
  Array q, r;
};
Qr qr(const Array& a);
/// a [.., m, n] = u diag(s) vt with k = min(m, n): u [.., m, k], s [.., k] real, descending, vt [.., k, n]. The
/// derivative of the vectors is infinite where singular values are equal, or 0 and m differs from n.
struct Svd {
  Array u, s, vt;
};
Svd svd(const Array& a);
/// Eigenvalues [.., n], real, ascending, and eigenvectors (columns) of (a + a^H) / 2, a [.., n, n]. The derivative of
/// the vectors is infinite where eigenvalues are equal, and takes the phase of complex ones as constant.
struct Eigh {
  Array values, vectors;
};
Eigh eigh(const Array& a);
}  // namespace bora::linalg
