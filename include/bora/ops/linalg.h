// linalg.h -- dense linear algebra on the last two dimensions, with the names of numpy.linalg and scipy.linalg; leading
// dimensions are batches unless shapes say otherwise. f32, f64, complex64 and complex128: ^H conjugates. One thread per
// matrix; small ones of a batch side by side in vectors. All but the factorisations are composites of them, so that
// derivatives, vmap, jit and sharding follow.
#pragma once
#include <functional>
#include <string_view>
#include "bora/ops/arguments.h"

namespace bora::linalg {
// ---- factorisations and systems -------------------------------------------------------------------------------------
/// The lower triangular L with L L^H = (a + a^H) / 2, a [.., n, n]; NaN where that is not positive definite. Throws
/// ShapeError, DtypeError.
Array cholesky(const Array& a);
struct TriangularSolveOptions {  // of triangular_solve
  bool lower = true;             // which half of a is read
  bool transposed = false;       // solve a^T x = b
};
/// x with a x = b, a [.., n, n] triangular, b [.., n, k], whose batches broadcast, or a vector [n].
Array triangular_solve(const Array& a, const Array& b, const TriangularSolveOptions& options = {});
/// x with a x = b, a [.., n, n], b as above (by LU with partial pivoting); inf or NaN where a is singular.
Array solve(const Array& a, const Array& b);
// a [.., m, n] = q r with k = min(m, n): q [.., m, k] with orthonormal columns, r [.., k, n] upper triangular with a
// real diagonal. The derivative needs linearly independent first k columns.
struct Qr {
  Array q, r;
};
Qr qr(const Array& a);
// a [.., m, n] = u diag(s) vt with k = min(m, n): u [.., m, k], s [.., k] real, descending, vt [.., k, n]. The
// derivative of the vectors is infinite where singular values are equal, or 0 and m differs from n.
struct Svd {
  Array u, s, vt;
};
Svd svd(const Array& a);
// Eigenvalues [.., n], real, ascending, and eigenvectors (columns) of (a + a^H) / 2, a [.., n, n]. The derivative of
// the vectors is infinite where eigenvalues are equal, and takes the phase of complex ones as constant.
struct Eigh {
  Array values, vectors;
};
Eigh eigh(const Array& a);

// a[permutation] = l u by Gaussian elimination with partial pivoting, a [.., m, n], k = min(m, n). lu [.., m, n]: u in
// its upper half, l below it, whose diagonal is 1. Row i was swapped with pivots[i] (i32 [.., k]), one after the
// other, which gave permutation (i32 [.., m]).
struct LuFactor {
  Array lu, pivots, permutation;
};
LuFactor lu_factor(const Array& a);
// a = p l u: p [.., m, m], l [.., m, k], u [.., k, n].
struct Lu {
  Array p, l, u;
};
Lu lu(const Array& a);
/// x with a x = b (transposed: a^T x = b), a [.., n, n] as lu_factor gives it, b [.., n, k] or a vector [n].
Array lu_solve(const LuFactor& f, const Array& b, bool transposed = false);
/// The determinants [..] of a [.., n, n]. From n = 4 on the derivative is not finite where a is singular.
Array det(const Array& a);
// sign * exp(logabsdet) is the determinant; of a singular matrix 0 and -inf. Both [..].
struct Slogdet {
  Array sign, logabsdet;
};
Slogdet slogdet(const Array& a);

// ---- systems --------------------------------------------------------------------------------------------------------
/// The inverse; inf or NaN where a [.., n, n] is singular.
Array inv(const Array& a);
/// x with a x = b, a = L L^H as cholesky gives L [.., n, n], b [.., n, k] or a vector [n].
Array cho_solve(const Array& l, const Array& b);
struct SolveTriangularOptions {            // of solve_triangular
  bool lower = false, transposed = false;  // the half that is read; a^T x = b is solved
  bool unit_diagonal = false;              // the diagonal is taken as 1
};
/// triangular_solve as SciPy says it: reads the upper half unless told.
Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& options = {});
// The x of least squares |a x - b|, of those the smallest: a [m, n], b [m] or [m, k]. Singular values of at most
// rcond (default: epsilon * max(m, n)) times the largest count as 0; rank, i32, is the number of the others. residuals
// [k]: the squares of |a x - b|.
struct Lstsq {
  Array x, residuals, rank, singular_values;
};
Lstsq lstsq(const Array& a, const Array& b, std::optional<double> rcond = none);
/// The Moore-Penrose inverse [.., n, m]: singular values of at most rcond (default: 10 max(m, n) epsilon) times the
/// largest count as 0.
Array pinv(const Array& a, std::optional<double> rcond = none);
/// x with tensordot(a, x, x.ndim()) = b; the inverse of such an a, whose first `dims` dimensions are the rows.
Array tensorsolve(const Array& a, const Array& b);
Array tensorinv(const Array& a, std::int64_t dims = 2);  // the inverse of such an a

// ---- numbers of matrices --------------------------------------------------------------------------------------------
Array svdvals(const Array& a);   // singular values, descending [.., k]
Array eigvalsh(const Array& a);  // eigenvalues, ascending [.., n], of (a + a^H) / 2
/// A norm: a number p, or the words "fro", "nuc". 2 and -2 of a matrix are its largest and smallest singular value,
/// 1 and inf the largest sums of magnitudes of a column and a row, -1 and -inf the smallest.
struct Order {
  Order(double p) : p(p) {}
  Order(const char* w) : p(0), word(w) {}
  double p;
  std::string_view word = {};
};
/// The sum of |x|^p over axes to the power 1 / p; for inf and -inf the largest and the smallest |x|, for 0 the number
/// of elements other than 0.
Array vector_norm(const Array& x, double p = 2, const Dimensions& axes = none, bool keepdims = false);
Array matrix_norm(const Array& a, Order order = "fro", bool keepdims = false);  // [..] of a [.., m, n]
/// numpy.linalg.norm: without an order the square root of the sum of squares over the axes; with one that of a vector
/// (x has one dimension, or one axis is given) or of a matrix.
Array norm(const Array& x, std::optional<Order> order = none, const Dimensions& axes = none, bool keepdims = false);
/// norm(a) * norm(inv(a)); 2 and -2 (default 2) by singular values.
Array cond(const Array& a, std::optional<Order> order = none);
/// Singular values above rtol (default: max(m, n) * epsilon) times the largest, i32 [..].
Array matrix_rank(const Array& a, std::optional<double> rtol = none);

// ---- general matrices -----------------------------------------------------------------------------------------------
// Eigenvalues [.., n] and right eigenvectors (columns of length 1, their largest component real) [.., n, n] of a
// [.., n, n], complex64 or complex128. By Schur's form in f64; NaN where a is not finite. The derivative of the values
// is infinite for a matrix without n independent eigenvectors, that of the vectors where values are equal.
struct Eig {
  Array values, vectors;
};
Eig eig(const Array& a);
Array eigvals(const Array& a);  // the values alone [.., n]
// a = z t z^H with unitary z: t is upper triangular, or of a real a (complex: false) has 2 x 2 blocks on its diagonal
// for pairs of complex eigenvalues. No derivative.
struct Schur {
  Array t, z;
};
struct SchurOptions {    // of schur
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
// qr and svd with all columns: q [.., m, m], r [.., m, n]; u [.., m, m], vt [.., n, n]. Where columns are added the
// derivative does not exist (NaN): differentiate qr and svd.
Qr full_qr(const Array& a);
Svd full_svd(const Array& a);

// ---- reflections ----------------------------------------------------------------------------------------------------
// a [.., m, n] = q r by k = min(m, n) Householder reflections, q = h_0 h_1 .. with h_i = I - factors[i] v_i v_i^H:
// packed [.., m, n] has r on and above its diagonal, and below it, in column i, v_i without its 1. factors [.., k].
// numpy.linalg.qr(mode="raw") (there packed is transposed), LAPACK's geqrf. No derivative.
struct QrRaw {
  Array packed, factors;
};
QrRaw qr_raw(const Array& a);
struct ReflectedOptions {  // of reflected
  bool turned = false;     // q^H x
};
/// q x, x [.., m, any], for the m x m matrix q of qr_raw; the columns below the diagonal of packed are read.
Array reflected(const QrRaw& f, const Array& x, const ReflectedOptions& options = {});
/// The first k columns of q, [.., m, k]; LAPACK's orgqr and ungqr.
Array householder_product(const Array& packed, const Array& factors);
struct QrMultiplyOptions {  // of qr_multiply
  bool left = false;        // q c, c [.., k, any]; else c q, c [.., any, m]
  bool conjugate = false;   // of q the conjugate
};
// q times c without q, and r [.., k, n]; a [.., m, n], k = min(m, n). No derivative.
struct QrMultiply {
  Array product, r;
};
QrMultiply qr_multiply(const Array& a, const Array& c, const QrMultiplyOptions& options = {});
// a = q h q^H: h [.., n, n] is zero below its first subdiagonal, q unitary. No derivative.
struct Hessenberg {
  Array h, q;
};
Hessenberg hessenberg(const Array& a);

// ---- halves and kinds -----------------------------------------------------------------------------------------------
struct HalfOptions {        // of cholesky, eigh and eigvalsh
  bool lower = true;        // which half is read, and (cholesky) which factor is made
  bool symmetrize = false;  // (a + a^H) / 2 is taken, as cholesky(a) and eigh(a) do, and both halves are read
};
/// L with L L^H = a, or U with U^H U = a, of the half that is read.
Array cholesky(const Array& a, const HalfOptions& options);
Eigh eigh(const Array& a, const HalfOptions& options);
Array eigvalsh(const Array& a, const HalfOptions& options);
// Cholesky's factor and which one it is; the upper one unless told, as SciPy.
struct ChoFactor {
  Array c;
  bool lower;
};
struct ChoFactorOptions {  // of cho_factor
  bool lower = false;      // which factor is made
};
ChoFactor cho_factor(const Array& a, const ChoFactorOptions& options = {});
Array cho_solve(const ChoFactor& f, const Array& b);
/// The kind of a matrix: symmetric and hermitian are solved as general ones, of the half that is read.
enum class Assume : std::uint8_t {
  general,
  symmetric,
  hermitian,
  positive,
  lower_triangular,
  upper_triangular,
  diagonal
};
struct SolveOptions {               // of solve
  Assume assume = Assume::general;  // what a is known to be
  bool lower = false;               // which half of a symmetric, Hermitian or positive matrix is read
  bool transposed = false;          // a^T x = b
};
Array solve(const Array& a, const Array& b, const SolveOptions& options);

// ---- functions of matrices ------------------------------------------------------------------------------------------
Array matrix_power(const Array& a, std::int64_t n);  // a [.., n, n]; negative: of the inverse
/// The product of all, in the order with the fewest multiplications; the first and the last may be vectors.
Array multi_dot(const Arrays& matrices);
/// e^a by scaling and squaring with Pade's approximant of degree 13 (N. Higham, 2005), a [.., n, n], 1-norms up to
/// 5.4 * 2^16: NaN above.
Array expm(const Array& a);
// a = u p (left: p u) with orthonormal u [m, n] and Hermitian, not negative p. For left m <= n, else m >= n.
struct Polar {
  Array u, p;
};
Polar polar(const Array& a, bool left = false);
// e^a and its derivative along e, both [.., n, n].
struct ExpmFrechet {
  Array expm, frechet;
};
ExpmFrechet expm_frechet(const Array& a, const Array& e);
/// The x with e^x = a whose eigenvalues have imaginary parts in (-pi, pi], complex; by square roots and Pade's
/// approximant (A. Al-Mohy, N. Higham, 2012). Not finite where a is singular.
Array logm(const Array& a);
/// f(a) = v f(w) v^-1 by eigenvalues w and vectors v of a [.., n, n], complex: f takes and returns [.., n]. Loses
/// digits where a has hardly n independent eigenvectors.
Array funm(const Array& a, const std::function<Array(const Array&)>& f);

// ---- special matrices -----------------------------------------------------------------------------------------------
/// Matrices one after the other on the diagonal, zeros around them. Vectors are rows.
Array block_diag(const Arrays& matrices);
/// [m, n] with first column c and first row r (default: conj(c)), constant along diagonals; r[0] is not read.
Array toeplitz(const Array& c, const Array& r = {});
Array hilbert(std::int64_t n, Dtype dtype = default_float());  // [n, n], 1 / (i + j + 1)
/// [m, n] with first column c and last row r (default: zeros), constant along antidiagonals; r[0] is not read.
Array hankel(const Array& c, const Array& r = {});
Array circulant(const Array& c);  // [n, n], column j is c moved down by j, around the end
enum class Triangle : std::uint8_t { symmetric, lower, upper };  // pascal's matrix itself, or one of its factors
/// Binomials: symmetric (i + j over i), or its factors. Exact as long as dtype holds them.
Array pascal(std::int64_t n, Triangle half = Triangle::symmetric, Dtype dtype = default_float());
enum class DftScale : std::uint8_t { none, sqrtn, n };  // the divisor of dft
/// e^(-2 pi i j k / n), divided by sqrt(n) or n where asked.
Array dft(std::int64_t n, DftScale scale = DftScale::none, Dtype dtype = complex64);
Array companion(const Array& a);  // [n - 1, n - 1] of the polynomial with coefficients a, highest first
/// [n, n] of 1 and -1 with orthogonal rows, n a power of two.
Array hadamard(std::int64_t n, Dtype dtype = default_float());
/// The matrix [.., n] that convolves a vector [n] with a: matmul(.., v) = convolve(a, v, mode).
Array convolution_matrix(const Array& a, std::int64_t n, Overlap mode = Overlap::full);
Array fiedler(const Array& a);  // [n, n], |a_i - a_j|
/// Five diagonals with the eigenvalues of companion(a), a [n + 1] with n >= 1 and a_0 other than 0.
Array fiedler_companion(const Array& a);
/// The orthogonal matrix of Helmert without its first, constant row: [n - 1, n]; full: with it.
Array helmert(std::int64_t n, bool full = false, Dtype dtype = default_float());
// The inverses of hilbert(n) and pascal(n, half): whole numbers, exact as long as f64 holds them.
Array invhilbert(std::int64_t n, Dtype dtype = default_float());
Array invpascal(std::int64_t n, Triangle half = Triangle::symmetric, Dtype dtype = default_float());
/// [n, n] with first row f [n] and s [n - 1] below the diagonal.
Array leslie(const Array& f, const Array& s);
}  // namespace bora::linalg
