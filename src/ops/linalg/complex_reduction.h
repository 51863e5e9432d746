// complex_reduction.h -- complex matrices become real ones with two diagonals by reflections, so that what is written
// for real numbers finds their eigenvalues and singular values. By panels of columns, as in reduction.cpp: the rest is
// read once for each column (twice for the bidiagonal form) and written once for each panel. The bits do not depend on
// threads. Private.
#pragma once
#include <complex>
#include <vector>
#include "ops/linalg/blocked.h"

namespace bora::linalg {
using Complex = std::complex<double>;
/// q, a product of reflections: number k has its vector in column k of `columns`, a 1 in row k + shift, and what
/// follows below it.
struct ReflectionProduct {
  Owned<Complex> columns;
  std::vector<Complex> factors;
  Index shift;
  /// x [n, any] becomes q x.
  void apply(Block<Complex> x) const;
};
/// a = left b right^H, where b is real with this diagonal and the numbers beside it: below it (and above) for the form
/// of a Hermitian matrix, for which left and right are the same and only left is given, else above it.
struct RealForm {
  std::vector<double> diagonal, beside;
  ReflectionProduct left, right;
};
/// Of a finite Hermitian matrix, whose part on and below the diagonal is read.
RealForm tridiagonal_form(Owned<Complex> a);
/// Of a finite square matrix. G. Golub, W. Kahan, "Calculating the singular values and pseudo-inverse of a matrix",
/// 1965; panels as J. Dongarra, S. Hammarling, D. Sorensen, 1989.
RealForm bidiagonal_form(Owned<Complex> a);
}  // namespace bora::linalg
