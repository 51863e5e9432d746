// schur_form.h -- Schur's form of general matrices: reduction to Hessenberg's form, then QR iterations with many shifts
// whose reflections are gathered into products, and early deflation. K. Braman, R. Byers, R. Mathias, "The multishift
// QR algorithm", parts I and II, 2002. The bits do not depend on threads. Private.
#pragma once
#include "ops/linalg/algorithms/schur_window.h"

namespace bora::linalg {
/// The dtype of eigenvalues.
inline Dtype complex_of(Dtype d) { return d == f64 || d == complex128 ? complex128 : complex64; }

/// a = z t z^H with a unitary z; t is triangular, of real numbers with blocks [a b; c a], b c < 0, for pairs of
/// conjugate eigenvalues. Where the iteration did not converge (no case is known) `found` is false.
template <class T> struct SchurForm {
  Owned<T> t, z;
  bool found;
};
/// The form of a finite matrix; T is double or Complex.
template <class T> SchurForm<T> schur_form(Owned<T> a);

/// Eigenvalues and right eigenvectors of a finite matrix, each with length 1 and a positive largest number; nothing
/// where the iteration did not converge. The matrix is balanced first: R. James, J. Langou, B. Lowery, "On matrix
/// balancing and eigenvector computation", 2014.
struct GeneralEigenpairs {
  std::vector<Complex> values;
  Owned<Complex> vectors;
};
template <class T> GeneralEigenpairs eigenpairs(Owned<T> a);
/// The eigenvectors of a Schur form t in the columns of x [n, n], upper triangular; of a pair of conjugate eigenvalues
/// of a real matrix the real part and the imaginary part of the first.
template <class T> void vectors_of_triangle(Reads<T> t, Block<T> x);
}  // namespace bora::linalg
