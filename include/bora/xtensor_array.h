// xtensor_array.h -- xtensor expressions as Arrays, Arrays as xtensor adaptors, host functions written with xtensor.
#pragma once
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xeval.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#include "bora/ops/creation.h"
#include "bora/ops/custom.h"

namespace bora {
/// A container or expression of xtensor.
template <class E> concept XtExpression = xt::is_xexpression<std::remove_cvref_t<E>>::value;
namespace detail {
/// Containers that own their memory (an adaptor does not): xarray, xtensor, xtensor_fixed.
template <class E> inline constexpr bool is_xarray = false;
template <class E> inline constexpr bool is_xtensor = false;
template <class E> inline constexpr bool is_xfixed = false;
template <class C, xt::layout_type L, class S, class Tag>
inline constexpr bool is_xarray<xt::xarray_container<C, L, S, Tag>> = true;
template <class C, std::size_t N, xt::layout_type L, class Tag>
inline constexpr bool is_xtensor<xt::xtensor_container<C, N, L, Tag>> = true;
template <class T, class S, xt::layout_type L, bool Sharable, class Tag>
inline constexpr bool is_xfixed<xt::xfixed_container<T, S, L, Sharable, Tag>> = true;
template <class E> concept XtContainer = is_xarray<E> || is_xtensor<E> || is_xfixed<E>;
/// Its memory may become an Array's.
template <class E> concept XtAdoptable = (is_xarray<E> || is_xtensor<E>) && requires(E& e) {
  { e.storage().data() } -> std::same_as<typename E::value_type*>;
  requires E::static_layout == xt::layout_type::row_major;
};
template <class S> Shape shape_of(const S& s) {
  Shape r;
  for (auto n : s) r.push_back(static_cast<std::int64_t>(n));
  return r;
}
template <class V> consteval bool storable() { return dtype_or_none<V>().has_value(); }
/// This process's memory of x as T; the numbers of a value that is not a buffer yet (sharded) are gathered. The owner's
/// type is void: an Array there would make namespace bora an associated one of all expressions of adaptors.
template <class T> std::shared_ptr<const void> held(const Array& x) {
  check<DtypeError>(x.dtype() == dtype_of<T>, "as_xtensor: the array holds ", x.dtype(), ", not ", dtype_of<T>,
                    "; use astype(", dtype_of<T>, ")");
  auto keep = std::make_shared<const Array>(x.concrete());
  auto* memory = keep->bytes();
  return {std::move(keep), memory};
}
template <class T> using XtBuffer = xt::xbuffer_adaptor<const T*, xt::smart_ownership, std::shared_ptr<const void>>;
}  // namespace detail

/// The numbers of any xtensor expression, of its value type. An lvalue or a lazy expression is copied; the memory of an
/// rvalue container (row-major) is adopted.
template <XtExpression E> Array asarray(E&& e) {
  using X = std::remove_cvref_t<E>;
  using V = typename X::value_type;
  static_assert(
      detail::storable<V>(),
      "asarray: no dtype stores this xtensor value type; use xt::cast<float>, double, std::int32_t, std::int64_t, ..");
  if constexpr (detail::XtAdoptable<X> && !std::is_lvalue_reference_v<E> &&
                !std::is_const_v<std::remove_reference_t<E>>) {
    Type type{detail::shape_of(e.shape()), dtype_of<V>};
    auto keep = std::make_shared<X>(std::move(e));
    auto* memory = static_cast<void*>(keep->storage().data());
    return adopt(type, std::shared_ptr<void>(std::move(keep), memory));
  } else {
    auto to = new_buffer({detail::shape_of(e.shape()), dtype_of<V>});
    auto n = static_cast<std::size_t>(xt::compute_size(e.shape()));
    if constexpr (detail::XtAdoptable<X>) std::copy_n(e.data(), n, static_cast<V*>(to.data));
    else std::copy_n(e.template begin<xt::layout_type::row_major>(), n, static_cast<V*>(to.data));
    return to.done();
  }
}
namespace detail {
template <XtExpression E> inline constexpr bool becomes_array<E> = true;
template <XtExpression E> struct ArrayFrom<E> {
  template <class X> static Array make(X&& e) { return asarray(std::forward<X>(e)); }
};
}  // namespace detail

/// A const N-dimensional xtensor adaptor over x's memory, which it keeps alive: as_xtensor<float, 2>(a + b) is safe.
/// Throws DtypeError unless x holds T, ShapeError unless it has N dimensions, TraceError inside transforms.
template <Number T, std::size_t N> auto as_xtensor(const Array& x) {
  check<ShapeError>(x.ndim() == static_cast<std::int64_t>(N), "as_xtensor: the array has ", x.ndim(),
                    " dimensions, not ", N);
  auto keep = detail::held<T>(x);
  const T* data = static_cast<const T*>(keep.get());
  std::array<std::size_t, N> shape;
  for (std::size_t d = 0; d < N; ++d) shape[d] = static_cast<std::size_t>(x.shape(static_cast<std::int64_t>(d)));
  auto n = static_cast<std::size_t>(x.size());
  return xt::xtensor_adaptor<detail::XtBuffer<T>, N, xt::layout_type::row_major>(
      detail::XtBuffer<T>(data, n, std::move(keep)), shape);
}
/// The same for any number of dimensions: an xarray adaptor.
template <Number T> auto as_xarray(const Array& x) {
  auto keep = detail::held<T>(x);
  const T* data = static_cast<const T*>(keep.get());
  std::vector<std::size_t> shape;
  for (auto n : x.shape()) shape.push_back(static_cast<std::size_t>(n));
  auto n = static_cast<std::size_t>(x.size());
  return xt::xarray_adaptor<detail::XtBuffer<T>, xt::layout_type::row_major, std::vector<std::size_t>>(
      detail::XtBuffer<T>(data, n, std::move(keep)), shape);
}

/// xtensor parameters and results of host functions (custom_op): parameters are copies of views, results may be lazy
/// expressions over the parameters.
template <class E>
requires(XtExpression<E>) struct host_arg<E> {
  using V = typename E::value_type;
  static constexpr std::optional<Dtype> dtype = dtype_or_none<V>();
  static E from(const Array& a) { return E(as_xarray<V>(a.astype(dtype_of<V>))); }
  static Array to(const E& e) { return asarray(e); }
};
}  // namespace bora
