// tridiagonal.h -- eigenvalues and eigenvectors of symmetric tridiagonal matrices, by divide and conquer. Private.
#pragma once
#include <vector>
#include "ops/linalg/algorithms/blocked.h"

namespace bora::linalg {
struct Eigenpairs {
  std::vector<double> values;  // ascending
  Owned<double> vectors;       // in columns; the eigenvector of values[k] is column k
};
/// Those of the matrix with this diagonal [n] and the entries below it [n - 1], all finite. The bits do not depend on
/// threads. J. Cuppen, "A divide and conquer method for the symmetric tridiagonal eigenproblem", 1981; vectors
/// as M. Gu and S. Eisenstat, "A stable and efficient algorithm for the rank-one modification of the symmetric
/// eigenproblem", 1994.
Eigenpairs eigen_of_tridiagonal(const std::vector<double>& diagonal, const std::vector<double>& below);
/// Those of a finite symmetric matrix, by QL iterations.
Eigenpairs eigen_of_small(const Owned<double>& a);
}  // namespace bora::linalg
