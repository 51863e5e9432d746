// general.h -- general matrices, real or complex, as Eigen's in f64. Private.
#pragma once
#include "ops/linalg/algorithms/eigen_maps.h"

namespace bora::linalg {
/// f(matrix, k) for each of the batch: a MatrixXd or MatrixXcd.
template <class F> void each_general(const InputView& in, F f) {
  each_of_numbers(in.type, [&](auto zero, Index k) {
    using T = decltype(zero);
    using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;
    f(Eigen::Matrix<Wide, -1, -1>(eigen_matrix<T>(in, k).template cast<Wide>()), k);
  });
}
/// Writes matrix (or vector) k of the batch of a real or complex result; of complex numbers the real parts where the
/// result is real.
template <class M> void put(const OutputView& out, Index k, const M& m) {
  auto write = [&](auto zero) {
    using T = decltype(zero);
    auto* to = out.as<T>() + k * m.size();
    for (Index i = 0; i < m.rows(); ++i)
      for (Index j = 0; j < m.cols(); ++j) {
        if constexpr (std::is_floating_point_v<T>) to[i * m.cols() + j] = static_cast<T>(std::real(m(i, j)));
        else to[i * m.cols() + j] = T(std::complex<double>(m(i, j)));
      }
  };
  switch (out.type.dtype) {
    case Dtype::f32: return write(float{});
    case Dtype::f64: return write(double{});
    case Dtype::complex64: return write(std::complex<float>{});
    default: return write(std::complex<double>{});
  }
}
}  // namespace bora::linalg
