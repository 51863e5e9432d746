// linalg_functions.h -- functions of matrices [.., m, n] that are composites of the factorisations in linalg.h, so that
// derivatives, vmap, jit and sharding follow. f32, f64, complex64 and complex128.
// Names are those of numpy.linalg and scipy.linalg.
#pragma once
#include <string_view>
#include "bora/ops/axes.h"
#include "bora/ops/linalg.h"

namespace bora::linalg {
// ---- LU -------------------------------------------------------------------------------------------------------------
/// a[permutation] = l u by Gaussian elimination with partial pivoting, a [.., m, n], k = min(m, n). lu [.., m, n]: u in
/// its upper half, l below it, whose diagonal is 1. Row i was swapped with pivots[i] (i32 [.., k]), one after the
/// other, which gave permutation (i32 [.., m]).
struct LuFactor {
  Array lu, pivots, permutation;
};
LuFactor lu_factor(const Array& a);
/// a = p l u: p [.., m, m], l [.., m, k], u [.., k, n].
struct Lu {
  Array p, l, u;
};
Lu lu(const Array& a);
/// x with a x = b (transposed: a^T x = b), a [.., n, n] as lu_factor gives it, b [.., n, k] or a vector [n].
Array lu_solve(const LuFactor& f, const Array& b, bool transposed = false);
/// The determinants [..] of a [.., n, n]. From n = 4 on the derivative is not finite where a is singular.
Array det(const Array& a);
/// sign * exp(logabsdet) is the determinant; of a singular matrix 0 and -inf. Both [..].
struct Slogdet {
  Array sign, logabsdet;
};
Slogdet slogdet(const Array& a);

// ---- systems --------------------------------------------------------------------------------------------------------
/// The inverse; inf or NaN where a [.., n, n] is singular.
Array inv(const Array& a);
/// x with a x = b, a = L L^H as cholesky gives L [.., n, n], b [.., n, k] or a vector [n].
Array cho_solve(const Array& l, const Array& b);
struct SolveTriangularOptions {
  bool lower = false, transposed = false;
  bool unit_diagonal = false;  // the diagonal is taken as 1
};
/// triangular_solve as SciPy says it: reads the upper half unless told.
Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& options = {});
/// The x of least squares |a x - b|, of those the smallest: a [m, n], b [m] or [m, k]. Singular values of at most
/// rcond (default: epsilon * max(m, n)) times the largest count as 0; rank, i32, is the number of the others. residuals
/// [k]: the squares of |a x - b|.
struct Lstsq {
  Array x, residuals, rank, singular_values;
};
Lstsq lstsq(const Array& a, const Array& b, std::optional<double> rcond = none);
/// The Moore-Penrose inverse [.., n, m]: singular values of at most rcond (default: 10 max(m, n) epsilon) times the
/// largest count as 0.
Array pinv(const Array& a, std::optional<double> rcond = none);
/// x with tensordot(a, x, x.ndim()) = b; the inverse of such an a, whose first `dims` dimensions are the rows.
Array tensorsolve(const Array& a, const Array& b);
Array tensorinv(const Array& a, std::int64_t dims = 2);

// ---- numbers of matrices --------------------------------------------------------------------------------------------
Array svdvals(const Array& a);   // descending [.., k]
Array eigvalsh(const Array& a);  // ascending [.., n], of (a + a^H) / 2
/// Which norm: a number p, or the words "fro", "nuc". 2 and -2 of a matrix are its largest and smallest singular value,
/// 1 and inf the largest sums of magnitudes of a column and a row, -1 and -inf the smallest.
struct Order {
  Order(double p) : p(p) {}
  Order(const char* w) : p(0), word(w) {}
  double p;
  std::string_view word = {};
};
Array vector_norm(const Array& x, double p = 2, const Dimensions& axes = none, bool keepdims = false);
Array matrix_norm(const Array& a, Order order = "fro", bool keepdims = false);
/// numpy.linalg.norm: without an order the square root of the sum of squares over the axes; with one that of a vector
/// (x has one dimension, or one axis is given) or of a matrix.
Array norm(const Array& x, std::optional<Order> order = none, const Dimensions& axes = none, bool keepdims = false);
/// norm(a) * norm(inv(a)); 2 and -2 (default 2) by singular values.
Array cond(const Array& a, std::optional<Order> order = none);
/// Singular values above rtol (default: max(m, n) * epsilon) times the largest, i32 [..].
Array matrix_rank(const Array& a, std::optional<double> rtol = none);

// ---- general matrices -----------------------------------------------------------------------------------------------
/// Eigenvalues [.., n] and right eigenvectors (columns of length 1, their largest component real) [.., n, n] of a
/// [.., n, n], complex64 or complex128. By Schur's form in f64; NaN where a is not finite. The derivative of the values
/// is infinite for a matrix without n independent eigenvectors, that of the vectors where values are equal.
struct Eig {
  Array values, vectors;
};
Eig eig(const Array& a);
Array eigvals(const Array& a);
/// a = z t z^H with unitary z: t is upper triangular, or of a real a (complex: false) has 2 x 2 blocks on its diagonal
/// for pairs of complex eigenvalues. No derivative.
struct Schur {
  Array t, z;
};
struct SchurOptions {
  bool complex = false;  // the complex form of a real matrix
};
Schur schur(const Array& a, const SchurOptions& options = {});
/// The complex form from the real one.
Schur rsf2csf(const Schur& real);
/// x with a x + x b = q: a [.., m, m], b [.., n, n], q [.., m, n]. Not finite where a and -b share an eigenvalue.
Array solve_sylvester(const Array& a, const Array& b, const Array& q);
/// The x with x x = a whose eigenvalues have positive real parts, complex; a [.., n, n].
Array sqrtm(const Array& a);
/// Eigenvalues and vectors of a x = w b x, with Hermitian a and positive definite b.
Eigh eigh(const Array& a, const Array& b);
/// Eigenvalues, ascending, of the symmetric matrix with diagonal d [.., n] and d's neighbours e [.., n - 1].
Array eigh_tridiagonal(const Array& d, const Array& e);
/// qr and svd with all columns: q [.., m, m], r [.., m, n]; u [.., m, m], vt [.., n, n]. Where columns are added the
/// derivative does not exist (NaN): differentiate qr and svd.
Qr full_qr(const Array& a);
Svd full_svd(const Array& a);

// ---- functions of matrices ------------------------------------------------------------------------------------------
Array matrix_power(const Array& a, std::int64_t n);  // a [.., n, n]; negative: of the inverse
/// The product of all, in the order with the fewest multiplications; the first and the last may be vectors.
Array multi_dot(const Arrays& matrices);
/// e^a by scaling and squaring with Pade's approximant of degree 13 (N. Higham, 2005), a [.., n, n], 1-norms up to
/// 5.4 * 2^16: NaN above.
Array expm(const Array& a);
/// a = u p (left: p u) with orthonormal u [m, n] and Hermitian, not negative p. For left m <= n, else m >= n.
struct Polar {
  Array u, p;
};
Polar polar(const Array& a, bool left = false);
/// Matrices one after the other on the diagonal, zeros around them. Vectors are rows.
Array block_diag(const Arrays& matrices);
/// [m, n] with first column c and first row r (default: conj(c)), constant along diagonals; r[0] is not read.
Array toeplitz(const Array& c, const Array& r = {});
Array hilbert(std::int64_t n, Dtype dtype = f32);  // 1 / (i + j + 1)
}  // namespace bora::linalg
