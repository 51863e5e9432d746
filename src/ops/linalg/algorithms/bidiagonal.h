// bidiagonal.h -- singular values of real matrices with two diagonals, by divide and conquer. Private.
#pragma once
#include <vector>
#include "ops/linalg/algorithms/blocked.h"

namespace bora::linalg {
/// a = u diag(s) v', s descending.
struct SingularFactors {
  Owned<double> u;
  std::vector<double> s;
  Owned<double> v;
};
/// The factors of the matrix with this diagonal [n] and the numbers above it [n - 1], all finite and none far above 1.
/// The bits do not depend on threads. M. Gu, S. Eisenstat, "A divide-and-conquer algorithm for the bidiagonal SVD",
/// 1995, with parts that have one more column than rows, as LAPACK's dbdsdc; parts of a few rows by Jacobi rotations
/// from one side.
SingularFactors singular_of_bidiagonal(const std::vector<double>& diagonal, const std::vector<double>& above);
}  // namespace bora::linalg
