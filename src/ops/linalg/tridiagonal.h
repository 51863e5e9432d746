// tridiagonal.h -- eigenvalues and eigenvectors of symmetric tridiagonal matrices, by divide and conquer.
#pragma once
#include <Eigen/Core>

namespace bora::linalg {
struct TridiagonalEigen {
  Eigen::VectorXd values;   // ascending
  Eigen::MatrixXd vectors;  // in columns; the eigenvector of values(k) is column k
};
/// Of the matrix with this diagonal [n] and the entries below it [n - 1], all finite. The bits do not depend on
/// threads. J. Cuppen, "A divide and conquer method for the symmetric tridiagonal eigenproblem", 1981; vectors
/// as M. Gu and S. Eisenstat, "A stable and efficient algorithm for the rank-one modification of the symmetric
/// eigenproblem", 1994.
TridiagonalEigen eigen_of_tridiagonal(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& below);
}  // namespace bora::linalg
