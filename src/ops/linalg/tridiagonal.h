// tridiagonal.h -- eigenvalues and eigenvectors of symmetric tridiagonal matrices, by divide and conquer.
#pragma once
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

namespace bora::linalg {
struct Eigenpairs {
  Eigen::VectorXd values;   // ascending
  Eigen::MatrixXd vectors;  // in columns; the eigenvector of values(k) is column k
};
/// Of the matrix with this diagonal [n] and the entries below it [n - 1], all finite. The bits do not depend on
/// threads. J. Cuppen, "A divide and conquer method for the symmetric tridiagonal eigenproblem", 1981; vectors
/// as M. Gu and S. Eisenstat, "A stable and efficient algorithm for the rank-one modification of the symmetric
/// eigenproblem", 1994.
Eigenpairs eigen_of_tridiagonal(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& below);
/// Of a finite symmetric matrix, by QL iterations.
Eigenpairs eigen_of_small(const Eigen::MatrixXd& a);
/// A symmetric matrix as q t q', where t is tridiagonal.
struct Reduced {
  Eigen::VectorXd diagonal, below;
  Eigen::MatrixXd reflections;  // column k below the entry under its diagonal: of the vector v of I - factor(k) v v'
  Eigen::VectorXd factors;
  /// q * x, in place. x is [n, any].
  void apply_q(Eigen::MatrixXd& x) const;
};
/// Of a finite matrix, whose part on and below the diagonal is read. By panels of columns, so that the rest is read
/// once for each column and written once for each panel: J. Dongarra, S. Hammarling, D. Sorensen, "Block reduction of
/// matrices to condensed forms for eigenvalue computations", 1989.
Reduced reduced(Eigen::MatrixXd matrix);
}  // namespace bora::linalg
