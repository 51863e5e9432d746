// polynomials.h -- polynomials: vectors of coefficients, the highest power first.
#pragma once
#include "bora/ops/arguments.h"

namespace bora {
Array polyval(const Array& p, const Array& x);      // the polynomial's value at x, by Horner's rule
Array polyadd(const Array& p, const Array& q);      // p + q
Array polysub(const Array& p, const Array& q);      // p - q
Array polymul(const Array& p, const Array& q);      // p times q
Array polyder(const Array& p, std::int64_t m = 1);  // the m-th derivative
Array polyint(const Array& p, std::int64_t m = 1);  // the m-th integral with constants 0
/// The coefficients [n + 1] of the polynomial with these zeros [n].
Array poly(const Array& zeros);
/// Powers of a vector x [n] as columns: x^(columns - 1), .., x, 1 (increasing: 1, x, ..); default n columns.
Array vander(const Array& x, std::optional<std::int64_t> columns = none, bool increasing = false);
struct PolyfitOptions {                // of polyfit
  std::optional<double> rcond = none;  // singular values below it times the largest count as 0; n epsilon
  Array weights = {};                  // [n] of the residuals, not of their squares
};
/// The coefficients [degree + 1] of the polynomial that is nearest to y [n] at x [n] (least squares); y [n, k] gives
/// [degree + 1, k]. Throws ValueError for a negative degree, ShapeError.
Array polyfit(const Array& x, const Array& y, std::int64_t degree, const PolyfitOptions& options = {});
/// u = quotient v + remainder, by long division; both at least one number long. The leading coefficient of v is not 0.
/// The remainder has u's length, with zeros in front (JAX).
struct Polydiv {
  Array quotient, remainder;
};
Polydiv polydiv(const Array& u, const Array& v);  // u divided by v
/// The zeros of the polynomial, complex: eigenvalues of the companion matrix. Zeros in front of p are cut, which reads
/// values; inside transforms the first coefficient must not be 0: strip_zeros = false.
Array roots(const Array& p, bool strip_zeros = true);
}  // namespace bora
