// svd_square.h -- singular values of real square matrices. Private.
#pragma once
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

namespace bora::linalg {
/// a = u diag(s) v'.
struct SvdFactors {
  Eigen::MatrixXd u;
  Eigen::VectorXd s;
  Eigen::MatrixXd v;
};
/// Of a finite matrix whose largest number is 1 or near it, or that is 0: by divide and conquer (M. Gu, S. Eisenstat,
/// "A divide-and-conquer algorithm for the bidiagonal SVD", 1995), and by Jacobi rotations where that result does not
/// hold.
SvdFactors square_svd(const Eigen::MatrixXd& a);
}  // namespace bora::linalg
