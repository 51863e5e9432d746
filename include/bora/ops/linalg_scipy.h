// linalg_scipy.h -- what scipy.linalg adds to linalg_functions.h: factors as LAPACK keeps them, choices of the half
// that is read, kinds of systems, functions of matrices, special matrices. f32, f64, complex64 and complex128; leading
// dimensions are batches unless shapes say otherwise.
#pragma once
#include <functional>
#include "bora/ops/linalg_functions.h"

namespace bora::linalg {
// ---- reflections ----------------------------------------------------------------------------------------------------
/// a [.., m, n] = q r by k = min(m, n) Householder reflections, q = h_0 h_1 .. with h_i = I - factors[i] v_i v_i^H:
/// packed [.., m, n] has r on and above its diagonal, and below it, in column i, v_i without its 1. factors [.., k].
/// numpy.linalg.qr(mode="raw") (there packed is transposed), LAPACK's geqrf. No derivative.
struct QrRaw {
  Array packed, factors;
};
QrRaw qr_raw(const Array& a);
struct ReflectedOptions {
  bool turned = false;  // q^H x
};
/// q x, x [.., m, any], for the m x m matrix q of qr_raw; the columns below the diagonal of packed are read.
Array reflected(const QrRaw& f, const Array& x, const ReflectedOptions& options = {});
/// The first k columns of q, [.., m, k]; LAPACK's orgqr and ungqr.
Array householder_product(const Array& packed, const Array& factors);
struct QrMultiplyOptions {
  bool left = false;       // q c, c [.., k, any]; else c q, c [.., any, m]
  bool conjugate = false;  // of q the conjugate
};
/// q times c without q, and r [.., k, n]; a [.., m, n], k = min(m, n). No derivative.
struct QrMultiply {
  Array product, r;
};
QrMultiply qr_multiply(const Array& a, const Array& c, const QrMultiplyOptions& options = {});
/// a = q h q^H: h [.., n, n] is zero below its first subdiagonal, q unitary. No derivative.
struct Hessenberg {
  Array h, q;
};
Hessenberg hessenberg(const Array& a);

// ---- halves and kinds -----------------------------------------------------------------------------------------------
struct HalfOptions {
  bool lower = true;        // which half is read, and (cholesky) which factor is made
  bool symmetrize = false;  // (a + a^H) / 2 is taken, as cholesky(a) and eigh(a) do, and both halves are read
};
/// L with L L^H = a, or U with U^H U = a, of the half that is read.
Array cholesky(const Array& a, const HalfOptions& options);
Eigh eigh(const Array& a, const HalfOptions& options);
Array eigvalsh(const Array& a, const HalfOptions& options);
/// Cholesky's factor and which one it is; the upper one unless told, as SciPy.
struct ChoFactor {
  Array c;
  bool lower;
};
struct ChoFactorOptions {
  bool lower = false;
};
ChoFactor cho_factor(const Array& a, const ChoFactorOptions& options = {});
Array cho_solve(const ChoFactor& f, const Array& b);
/// What is known of a matrix: symmetric and hermitian are solved as general ones, of the half that is read.
enum class Assume : std::uint8_t {
  general,
  symmetric,
  hermitian,
  positive,
  lower_triangular,
  upper_triangular,
  diagonal
};
struct SolveOptions {
  Assume assume = Assume::general;
  bool lower = false;       // which half of a symmetric, Hermitian or positive matrix is read
  bool transposed = false;  // a^T x = b
};
Array solve(const Array& a, const Array& b, const SolveOptions& options);

// ---- functions of matrices ------------------------------------------------------------------------------------------
/// e^a and its derivative along e, both [.., n, n].
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
/// [m, n] with first column c and last row r (default: zeros), constant along antidiagonals; r[0] is not read.
Array hankel(const Array& c, const Array& r = {});
Array circulant(const Array& c);  // [n, n], column j is c moved down by j, around the end
enum class Triangle : std::uint8_t { symmetric, lower, upper };
/// Binomials: symmetric (i + j over i), or its factors. Exact as long as dtype holds them.
Array pascal(std::int64_t n, Triangle half = Triangle::symmetric, Dtype dtype = f32);
enum class DftScale : std::uint8_t { none, sqrtn, n };
/// e^(-2 pi i j k / n), divided by sqrt(n) or n where asked.
Array dft(std::int64_t n, DftScale scale = DftScale::none, Dtype dtype = complex64);
Array companion(const Array& a);  // [n - 1, n - 1] of the polynomial with coefficients a, highest first
Array hadamard(std::int64_t n, Dtype dtype = f32);  // n a power of two
}  // namespace bora::linalg
