// eigen_maps.h -- the matrices of a batch as Eigen sees them. Private.
#pragma once
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include "ops/linalg/algorithms/matrix.h"

namespace bora::linalg {
template <class T> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using In = Eigen::Map<const Matrix<T>>;
template <class T> using Out = Eigen::Map<Matrix<T>>;
template <class T> In<T> eigen_matrix(const InputView& in, Index k) {
  auto r = rows(in.type), c = columns(in.type);
  return {in.as<T>() + k * r * c, r, c};
}
template <class T> Out<T> eigen_matrix(const OutputView& out, Index k) {
  auto r = rows(out.type), c = columns(out.type);
  return {out.as<T>() + k * r * c, r, c};
}
}  // namespace bora::linalg
