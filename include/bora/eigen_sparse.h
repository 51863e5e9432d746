// eigen_sparse.h -- Eigen's sparse matrices as lists of coordinates (sparse::BCOO), and back.
#pragma once
#include <Eigen/SparseCore>
#include <limits>
#include "bora/eigen.h"
#include "bora/ops/sparse.h"

namespace bora {
/// Eigen::SparseMatrix, of either storage order.
template <class M> concept EigenSparse = std::is_base_of_v<Eigen::SparseMatrixBase<M>, M> &&
                                         requires(const M& m) { m.innerNonZeroPtr(); } &&
                                         std::same_as<M, typename M::PlainObject>;
namespace sparse {
/// The stored elements of an Eigen sparse matrix or expression, zeros among them, in row-major order: shape
/// [rows, columns], or [size] for a SparseVector. Compressed or not, of either order. Copied.
template <class D> BCOO from_eigen(const Eigen::SparseMatrixBase<D>& e) {
  using V = typename D::Scalar;
  static_assert(detail::eigen_dtype<V>.has_value(),
                "from_eigen: no dtype stores this Eigen scalar type; use cast<float>() or cast<double>()");
  constexpr bool vector = D::IsVectorAtCompileTime;
  check<ShapeError>(std::max<std::int64_t>(e.rows(), e.cols()) <= std::numeric_limits<std::int32_t>::max(),
                    "from_eigen: a matrix of ", e.rows(), " x ", e.cols(), " has more rows or columns than i32 counts");
  Eigen::SparseMatrix<V, Eigen::RowMajor, typename D::StorageIndex> rows = e.derived();
  auto nse = static_cast<std::int64_t>(rows.nonZeros());
  auto data = new_buffer({{nse}, *detail::eigen_dtype<V>}), indices = new_buffer({{nse, vector ? 1 : 2}, i32});
  auto* number = static_cast<V*>(data.data);
  auto* place = static_cast<std::int32_t*>(indices.data);
  for (Eigen::Index r = 0; r < rows.outerSize(); ++r)
    for (typename decltype(rows)::InnerIterator i(rows, r); i; ++i) {
      *number++ = i.value();
      if (!vector || D::ColsAtCompileTime == 1) *place++ = static_cast<std::int32_t>(i.row());
      if (!vector || D::ColsAtCompileTime != 1) *place++ = static_cast<std::int32_t>(i.col());
    }
  return {data.done(), indices.done(), vector ? Shape{e.size()} : Shape{e.rows(), e.cols()}};
}
}  // namespace sparse

/// m as a compressed Eigen matrix of this type, Eigen::SparseMatrix<double, Eigen::RowMajor> for one; equal indices are
/// added, those outside of the shape left out. Throws DtypeError unless m holds M's scalar type, ShapeError unless m is
/// a matrix, TraceError inside transforms.
template <EigenSparse M> M as_eigen(const sparse::BCOO& m) {
  using V = typename M::Scalar;
  using I = typename M::StorageIndex;
  static_assert(detail::eigen_dtype<V>.has_value(), "as_eigen: no dtype stores this Eigen scalar type");
  constexpr Dtype dtype = *detail::eigen_dtype<V>;
  detail::check_sparse_matrix("as_eigen", m);
  check<DtypeError>(m.data.dtype() == dtype, "as_eigen: the array holds ", m.data.dtype(), ", not ", dtype,
                    "; use astype(", dtype, ")");
  for (auto n : m.shape)
    check<ShapeError>(n <= std::numeric_limits<I>::max(), "as_eigen: the shape ", m.shape,
                      " has more rows or columns than the type's StorageIndex counts");
  auto data = m.data.concrete(), indices = m.indices.astype(i32).concrete();
  auto* number = static_cast<const V*>(data.bytes());
  auto* place = indices.template data<std::int32_t>();
  std::vector<Eigen::Triplet<V, I>> elements;
  elements.reserve(static_cast<std::size_t>(m.nse()));
  for (std::int64_t k = 0; k < m.nse(); ++k) {
    std::int64_t row = place[2 * k], column = place[2 * k + 1];
    if (row >= 0 && row < m.shape[0] && column >= 0 && column < m.shape[1])
      elements.emplace_back(static_cast<I>(row), static_cast<I>(column), number[k]);
  }
  M to(m.shape[0], m.shape[1]);
  to.setFromTriplets(elements.begin(), elements.end());
  return to;
}
/// The same as a matrix of T in Eigen's default order, by columns.
template <Number T> Eigen::SparseMatrix<T> as_eigen(const sparse::BCOO& m) {
  return as_eigen<Eigen::SparseMatrix<T>>(m);
}
}  // namespace bora
