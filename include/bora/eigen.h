// eigen.h -- Eigen matrices as Arrays and back, and host functions written with Eigen. Names of Eigen stay qualified
// beside `using namespace bora` (both have Array and all).
#pragma once
#include <Eigen/Core>
#include "bora/ops/creation.h"
#include "bora/ops/custom.h"

namespace bora {
template <class E> concept EigenExpression =
    std::is_base_of_v<Eigen::DenseBase<std::remove_cvref_t<E>>, std::remove_cvref_t<E>>;
namespace detail {
template <class T> using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> Eigen::Map<const RowMajorMatrix<T>> eigen_map(const Array& concrete, std::string_view what) {
  check<DtypeError>(concrete.dtype() == dtype_of<T>, what, ": the array holds ", concrete.dtype(), ", not ",
                    dtype_of<T>, "; use astype(", dtype_of<T>, ")");
  auto n = concrete.ndim();
  check<ShapeError>(n <= 2, what, ": a matrix has at most 2 dimensions, the array is ", concrete.type());
  return {static_cast<const T*>(concrete.bytes()), n > 0 ? concrete.shape(0) : 1, n > 1 ? concrete.shape(1) : 1};
}
}  // namespace detail

/// The numbers of an Eigen matrix or expression: [rows, columns], or [size] for a vector. Copied (Eigen's default order
/// is column-major).
template <EigenExpression E> Array asarray(const E& e) {
  using V = typename E::Scalar;
  static_assert(dtype_or_none<V>().has_value(),
                "asarray: no dtype stores this Eigen scalar type; use cast<float>() or cast<double>()");
  constexpr bool vector = E::IsVectorAtCompileTime;
  auto to = new_buffer({vector ? Shape{e.size()} : Shape{e.rows(), e.cols()}, dtype_of<V>});
  if constexpr (E::IsVectorAtCompileTime && E::RowsAtCompileTime == 1)
    Eigen::Map<Eigen::Matrix<V, 1, Eigen::Dynamic, Eigen::RowMajor>>(static_cast<V*>(to.data), e.size()) = e.derived();
  else if constexpr (vector)
    Eigen::Map<Eigen::Matrix<V, Eigen::Dynamic, 1>>(static_cast<V*>(to.data), e.size()) = e.derived();
  else Eigen::Map<detail::RowMajorMatrix<V>>(static_cast<V*>(to.data), e.rows(), e.cols()) = e.derived();
  return to.done();
}
/// A matrix [rows, columns] ([n, 1] for a vector, [1, 1] for a scalar) by value, so that nothing dangles. Throws
/// DtypeError unless x holds T, ShapeError for more than two dimensions, TraceError inside transforms.
template <Number T> Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> as_eigen(const Array& x) {
  return detail::eigen_map<T>(x.concrete(), "as_eigen");
}
/// x's memory as an Eigen map, without a copy; valid as long as `x` lives. Row-major.
template <Number T> Eigen::Map<const detail::RowMajorMatrix<T>> map_eigen(const Array& x) {
  check<TraceError>(is_buffer(x), "map_eigen: ", x.type(),
                    " has no memory here: it is traced or sharded; use concrete() and keep the result");
  return detail::eigen_map<T>(x, "map_eigen");
}
template <Number T>
Eigen::Map<const detail::RowMajorMatrix<T>> map_eigen(Array&&) = delete;  // the map would outlive its memory

template <class T, int R, int C, int O, int MR, int MC> struct host_arg<Eigen::Matrix<T, R, C, O, MR, MC>> {
  using M = Eigen::Matrix<T, R, C, O, MR, MC>;
  static constexpr std::optional<Dtype> dtype = dtype_or_none<T>();
  static M from(const Array& a) {
    Array c = a.astype(dtype_of<T>).concrete();
    auto m = detail::eigen_map<T>(c, "custom_op");
    if constexpr (R == 1 && C != 1) return m.transpose();
    else return m;
  }
  static Array to(const M& m) { return asarray(m); }
};
}  // namespace bora
