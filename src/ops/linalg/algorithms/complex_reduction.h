// complex_reduction.h -- matrices become real ones with two diagonals by reflections, so that what is written for
// those finds their eigenvalues and singular values. By panels of columns, as in reduction.cpp: the rest is read once
// for each column (twice for the bidiagonal form of complex numbers) and written once for each panel. The bits do not
// depend on threads. Private.
#pragma once
#include <complex>
#include <vector>
#include "ops/linalg/algorithms/reflections.h"

namespace bora::linalg {
/// a = left b right^H, where b is real with this diagonal and the numbers beside it: below it (and above) for the form
/// of a Hermitian matrix, for which left and right are the same and only left is given, else above it.
template <class T> struct RealForm {
  std::vector<double> diagonal, beside;
  ReflectionProduct<T> left, right;
};
/// The form of a finite Hermitian matrix, whose part on and below the diagonal is read.
RealForm<Complex> tridiagonal_form(Owned<Complex> a);
RealForm<double> tridiagonal_form(Owned<double> a);
/// The form of a finite square matrix. G. Golub, W. Kahan, "Calculating the singular values and pseudo-inverse of a
/// matrix", 1965; panels as J. Dongarra, S. Hammarling, D. Sorensen, 1989.
RealForm<Complex> bidiagonal_form(Owned<Complex> a);
/// The same of real numbers, where the rest is read once for each column: G. Howell, J. Demmel, C. Fulton, S.
/// Hammarling, K. Marmol, "Cache efficient bidiagonalization using BLAS 2.5 operators", 2008.
RealForm<double> bidiagonal_form(Owned<double> a);
}  // namespace bora::linalg
