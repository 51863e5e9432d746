// eigen.h -- Eigen matrices as Arrays and back, and host functions written with Eigen. Names of Eigen stay qualified
// beside `using namespace bora` (both have Array and all). Sparse matrices are in bora/eigen_sparse.h.
#pragma once
#include <Eigen/Core>
#include "bora/ops/creation.h"
#include "bora/ops/custom.h"

namespace bora {
namespace detail {
/// The class D of an expression's EigenBase<D>: that of a block or a map is one of its bases.
template <class D> D eigen_base(const Eigen::EigenBase<D>&);
template <class E> using EigenBaseOf = decltype(eigen_base(std::declval<const E&>()));
template <class D> inline constexpr bool eigen_sparse = std::is_same_v<typename Eigen::EigenBase<D>::StorageKind,
                                                                       Eigen::Sparse>;
/// Permutations have no scalar type: their matrices hold ones of the type of an index.
template <class D> struct EigenScalarOf { using type = typename Eigen::internal::traits<D>::Scalar; };
template <class D>
requires(std::is_void_v<typename Eigen::internal::traits<D>::Scalar>) struct EigenScalarOf<D> {
  using type = typename Eigen::internal::traits<D>::StorageIndex;
};
template <class D> using EigenScalar = typename EigenScalarOf<D>::type;
/// Eigen's classes of 16 bits have the bits of Bora's.
template <class V> inline constexpr std::optional<Dtype> eigen_dtype =
    std::is_same_v<V, Eigen::half> ? f16 : std::is_same_v<V, Eigen::bfloat16> ? bf16 : dtype_or_none<V>();
template <class D> consteval bool eigen_vector() {
  if constexpr (std::is_base_of_v<Eigen::DenseBase<D>, D>) return D::IsVectorAtCompileTime;
  else return false;  // diagonals, triangles and permutations are matrices
}
/// The matrix of these sizes that lies row by row.
template <class V, int R, int C> using EigenRows =
    Eigen::Matrix<V, R, C, C == 1 ? Eigen::ColMajor : Eigen::RowMajor>;
template <class T> using RowMajorMatrix = EigenRows<T, Eigen::Dynamic, Eigen::Dynamic>;
}  // namespace detail

/// What Eigen computes a dense matrix from: matrices, arrays, blocks, maps, references, lazy expressions, diagonals,
/// triangles, permutations.
template <class E> concept EigenExpression = requires { typename detail::EigenBaseOf<E>; } &&
                                             !detail::eigen_sparse<detail::EigenBaseOf<E>>;
/// Eigen::Matrix and Eigen::Array, of fixed or dynamic sizes.
template <class M> concept EigenPlain = EigenExpression<M> &&
                                        std::is_base_of_v<Eigen::PlainObjectBase<M>, M>;

namespace detail {
/// A concrete array's memory as a matrix of M's scalar type and sizes.
template <class M> auto eigen_map(const Array& concrete, std::string_view what) {
  using V = typename M::Scalar;
  constexpr int R = M::RowsAtCompileTime, C = M::ColsAtCompileTime;
  static_assert(eigen_dtype<V>.has_value(), "as_eigen: no dtype stores this Eigen scalar type");
  constexpr Dtype dtype = *eigen_dtype<V>;
  check<DtypeError>(concrete.dtype() == dtype, what, ": the array holds ", concrete.dtype(), ", not ", dtype,
                    "; use astype(", dtype, ")");
  auto n = concrete.ndim();
  check<ShapeError>(n <= 2, what, ": a matrix has at most 2 dimensions, the array is ", concrete.type());
  auto rows = n > 0 ? concrete.shape(0) : 1, columns = n > 1 ? concrete.shape(1) : 1;
  if (n == 1 && R == 1 && C != 1) std::swap(rows, columns);
  auto fits = [&](std::string_view of, std::int64_t size, int fixed, int most) {
    check<ShapeError>(fixed == Eigen::Dynamic || size == fixed, what, ": the Eigen type has ", fixed, " ", of,
                      ", the array is ", concrete.type());
    check<ShapeError>(most == Eigen::Dynamic || size <= most, what, ": the Eigen type has at most ", most, " ", of,
                      ", the array is ", concrete.type());
  };
  fits("rows", rows, R, M::MaxRowsAtCompileTime);
  fits("columns", columns, C, M::MaxColsAtCompileTime);
  return Eigen::Map<const EigenRows<V, R, C>>(static_cast<const V*>(concrete.bytes()), rows, columns);
}
}  // namespace detail

/// The numbers of a dense Eigen expression: [rows, columns], or [size] for a vector. Copied (Eigen's default order is
/// column-major).
template <class D>
requires(!detail::eigen_sparse<D>) Array asarray(const Eigen::EigenBase<D>& e) {
  using V = detail::EigenScalar<D>;
  static_assert(detail::eigen_dtype<V>.has_value(),
                "asarray: no dtype stores this Eigen scalar type; use cast<float>() or cast<double>()");
  constexpr int R = Eigen::internal::traits<D>::RowsAtCompileTime, C = Eigen::internal::traits<D>::ColsAtCompileTime;
  auto to = new_buffer({detail::eigen_vector<D>() ? Shape{e.size()} : Shape{e.rows(), e.cols()},
                        *detail::eigen_dtype<V>});
  Eigen::Map<detail::EigenRows<V, R, C>>(static_cast<V*>(to.data), e.rows(), e.cols()) = e.derived();
  return to.done();
}
/// A matrix or an array of this Eigen type by value, so that nothing dangles: as_eigen<Eigen::Matrix3d>(x). A vector x
/// is one column, or the row of a type with one row; a scalar is [1, 1]. Throws DtypeError unless x holds M's scalar
/// type, ShapeError unless M can have x's sizes, TraceError inside transforms.
template <EigenPlain M> M as_eigen(const Array& x) {
  auto c = x.concrete();
  auto m = detail::eigen_map<M>(c, "as_eigen");
  if constexpr (std::is_base_of_v<Eigen::ArrayBase<M>, M>) return m.array();
  else return m;
}
/// The same as a matrix of T of dynamic sizes.
template <Number T> Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> as_eigen(const Array& x) {
  return as_eigen<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>>(x);
}
/// x's memory as an Eigen map, without a copy; valid as long as `x` lives. Row-major.
template <Number T> Eigen::Map<const detail::RowMajorMatrix<T>> map_eigen(const Array& x) {
  check<TraceError>(is_buffer(x), "map_eigen: ", x.type(),
                    " has no memory here: it is traced or sharded; use concrete() and keep the result");
  return detail::eigen_map<detail::RowMajorMatrix<T>>(x, "map_eigen");
}
template <Number T>
Eigen::Map<const detail::RowMajorMatrix<T>> map_eigen(Array&&) = delete;  // the map would outlive its memory

namespace detail {
template <class M> using EigenMap = decltype(eigen_map<M>(std::declval<const Array&>(), ""));
struct EigenKept { Array kept; };
/// A map that keeps its memory.
template <class M> struct EigenKeptMap : EigenKept, EigenMap<M> {
  explicit EigenKeptMap(Array a) : EigenKept{std::move(a)}, EigenMap<M>(eigen_map<M>(kept, "custom_op")) {}
};
template <class E> struct EigenParameter {
  static_assert(never<E>, "custom_op: a parameter is an Eigen::Matrix, an Eigen::Array, an Eigen::Ref of one, or an "
                          "Eigen::Map of a const vector or row-major matrix");
};
template <EigenPlain M> struct EigenParameter<M> { static M from(const Array& a) { return as_eigen<M>(a); } };
template <class M, int O, class S> struct EigenParameter<Eigen::Ref<M, O, S>> : EigenParameter<M> {};  // its own copy
template <class M, int O, class S> struct EigenParameter<Eigen::Ref<const M, O, S>> {
  static EigenKeptMap<M> from(Array a) { return EigenKeptMap<M>(std::move(a)); }
};
template <class M>
requires(std::same_as<Eigen::Map<const M>, EigenMap<M>>) struct EigenParameter<Eigen::Map<const M>> {
  static EigenKeptMap<M> from(Array a) { return EigenKeptMap<M>(std::move(a)); }
};
}  // namespace detail

/// Eigen parameters and results of host functions (custom_op): an Eigen::Ref or Map of const reads the array's memory
/// where the order allows, other parameters are copies; results may be lazy expressions over the parameters.
template <class E>
requires(EigenExpression<E>) struct host_arg<E> {
  using V = detail::EigenScalar<detail::EigenBaseOf<E>>;
  static constexpr std::optional<Dtype> dtype = detail::eigen_dtype<V>;
  static auto from(const Array& a) { return detail::EigenParameter<E>::from(a.astype(dtype.value()).concrete()); }
  static Array to(const E& e) { return asarray(e); }
};
}  // namespace bora
