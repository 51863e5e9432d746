// xtensor_mixed.h -- functions and operators of an Array and an xtensor expression: Bora's, with an Array as result.
// A function that only Bora has needs nothing: the expression becomes an Array. These are the names that xtensor has
// too; its templates take an Array for a number and would build a lazy expression of Arrays. Each overload has the form
// of xtensor's, and wins by its constraint. Calls with xtensor's arguments alone stay xtensor's.
#pragma once
#include "bora/ops/calculus.h"
#include "bora/ops/element_views.h"
#include "bora/ops/sets.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "bora/ops/ufuncs.h"
#include "bora/xtensor_array.h"

namespace bora {
class NamedArray;
namespace detail {
template <class T> concept BoraArray = std::same_as<T, Array> || std::same_as<T, NamedArray>;
template <class T> concept MixOperand = BoraArray<T> || XtExpression<T> || Number<T>;
}  // namespace detail
/// At least one argument is an Array, one an xtensor expression, and the others are these or numbers.
template <class... A> concept MixedWithXt = (detail::MixOperand<std::remove_cvref_t<A>> && ...) &&
    (detail::BoraArray<std::remove_cvref_t<A>> || ...) && (XtExpression<A> || ...);

namespace detail {
/// An argument of a mixed call as an Array, or the number that it is.
template <class X> decltype(auto) mixed(X&& x) {
  using T = std::remove_cvref_t<X>;
  static_assert(!std::same_as<T, NamedArray>,
                "a NamedArray beside an xtensor expression: name its axes, NamedArray(asarray(xs), {Batch, Embed})");
  if constexpr (std::same_as<T, Array>) return static_cast<const Array&>(x);
  else if constexpr (XtExpression<X>) return asarray(std::forward<X>(x));
  else if constexpr (Number<T>) return Scalar(x);
  else return Array();
}
/// The same where Bora's function takes no number: an Array of the promoted dtype of the others.
template <class X, class... Others> Array mixed_array(X&& x, const Others&... others) {
  decltype(auto) a = mixed(std::forward<X>(x));
  if constexpr (std::same_as<std::remove_cvref_t<decltype(a)>, Scalar>) {
    std::optional<Dtype> d;
    auto see = [&](const auto& o) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(o)>, Array>) d = d ? promote(*d, o.dtype()) : o.dtype();
      else if constexpr (XtExpression<decltype(o)>) {
        auto own = dtype_of<typename std::remove_cvref_t<decltype(o)>::value_type>;
        d = d ? promote(*d, own) : own;
      }
    };
    (see(others), ...);
    return full({}, a, d ? *d : a.dtype());
  } else return a;
}
}  // namespace detail

// ---- operators ------------------------------------------------------------------------------------------------------
template <class A, class B>
requires MixedWithXt<A, B> Array operator+(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) + detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator-(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) - detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator*(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) * detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator/(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) / detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator%(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) % detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator<(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) < detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator<=(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) <= detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator>(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) > detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator>=(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) >= detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator==(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) == detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator!=(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) != detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator&&(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) && detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator||(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) || detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator&(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) & detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator|(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) | detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator^(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) ^ detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator<<(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) << detail::mixed(std::forward<B>(b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array operator>>(A&& a, B&& b) {
  return detail::mixed(std::forward<A>(a)) >> detail::mixed(std::forward<B>(b));
}

// ---- elementwise functions ------------------------------------------------------------------------------------------
template <class A, class B>
requires MixedWithXt<A, B> Array fmod(A&& a, B&& b) {
  return bora::fmod(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array remainder(A&& a, B&& b) {
  return bora::remainder(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array fmax(A&& a, B&& b) {
  return bora::fmax(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array fmin(A&& a, B&& b) {
  return bora::fmin(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array hypot(A&& a, B&& b) {
  return bora::hypot(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array maximum(A&& a, B&& b) {
  return bora::maximum(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array minimum(A&& a, B&& b) {
  return bora::minimum(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array pow(A&& a, B&& b) {
  return bora::pow(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array atan2(A&& a, B&& b) {
  return bora::atan2(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array equal(A&& a, B&& b) {
  return bora::equal(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array not_equal(A&& a, B&& b) {
  return bora::not_equal(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array less(A&& a, B&& b) {
  return bora::less(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array less_equal(A&& a, B&& b) {
  return bora::less_equal(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array greater(A&& a, B&& b) {
  return bora::greater(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array greater_equal(A&& a, B&& b) {
  return bora::greater_equal(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array left_shift(A&& a, B&& b) {
  return bora::left_shift(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class A, class B>
requires MixedWithXt<A, B> Array right_shift(A&& a, B&& b) {
  return bora::right_shift(detail::mixed(std::forward<A>(a)), detail::mixed(std::forward<B>(b)));
}
template <class C, class A, class B>
requires MixedWithXt<C, A, B> Array where(C&& condition, A&& a, B&& b) {
  return bora::where(detail::mixed_array(std::forward<C>(condition)), detail::mixed(std::forward<A>(a)),
                     detail::mixed(std::forward<B>(b)));
}
template <class X, class A, class B>
requires MixedWithXt<X, A, B> Array clip(X&& x, A&& lo, B&& hi) {
  return bora::minimum(bora::maximum(detail::mixed_array(std::forward<X>(x), lo, hi), detail::mixed(lo)),
                       detail::mixed(hi));
}
template <class A, class B, class C>
requires MixedWithXt<A, B, C> Array fma(A&& a, B&& b, C&& c) {
  return bora::fma(detail::mixed_array(a, b, c), detail::mixed_array(b, a, c), detail::mixed_array(c, a, b));
}
template <class A, class B>
requires MixedWithXt<A, B> Array isclose(A&& a, B&& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) {
  return bora::isclose(detail::mixed(a), detail::mixed(b), CloseOptions{rtol, atol, equal_nan});
}
template <class A, class B>
requires MixedWithXt<A, B> bool allclose(A&& a, B&& b, double rtol = 1e-5, double atol = 1e-8) {
  return bora::allclose(detail::mixed(a), detail::mixed(b), rtol, atol);
}

// ---- others ---------------------------------------------------------------------------------------------------------
template <class A, class B, class C>
requires MixedWithXt<A, B, C> Array interp(const A& x, const B& xp, const C& fp) {
  return bora::interp(detail::mixed(x), detail::mixed(xp), detail::mixed(fp), InterpOptions{});
}
template <class A, class B>
requires MixedWithXt<A, B> Array convolve(A&& a, B&& v, Overlap mode) {
  return bora::convolve(detail::mixed(a), detail::mixed(v), mode);
}
template <class A, class B>
requires MixedWithXt<A, B> Array digitize(A&& x, B&& bins, bool right = false) {
  return bora::digitize(detail::mixed(x), detail::mixed(bins), right);
}
template <class A, class B>
requires MixedWithXt<A, B> Array searchsorted(A&& a, B&& v, bool right = false) {
  return bora::searchsorted(detail::mixed(a), detail::mixed(v), right ? Side::right : Side::left);
}
template <class A, class B, class = void>
requires MixedWithXt<A, B> Array isin(A&& x, B&& among) { return bora::isin(detail::mixed(x), detail::mixed(among)); }
template <class R = double, class A, class B>
requires MixedWithXt<A, B> auto histogram(A&& x, B&& edges, bool density = false) {
  return bora::histogram(detail::mixed(x), detail::mixed(edges), HistogramOptions{.density = density});
}
template <class T = void, class A, class B, class O = std::tuple<xt::evaluation_strategy::lazy_type>,
          XTL_REQUIRES(xt::is_reducer_options<O>)>
requires MixedWithXt<A, B> Array average(A&& x, B&& weights, O = O()) {
  return bora::average(detail::mixed(x), detail::mixed(weights), none, ReduceOptions{});
}
template <class T = void, class A, class B, class X, class O = std::tuple<xt::evaluation_strategy::lazy_type>,
          XTL_REQUIRES(xt::is_reducer_options<O>, xtl::is_integral<X>)>
requires MixedWithXt<A, B> Array average(A&& x, B&& weights, X axis, O = O()) {
  return bora::average(detail::mixed(x), detail::mixed(weights), axis, ReduceOptions{});
}
template <xt::layout_type L = xt::layout_type::row_major, class A, class B>
requires MixedWithXt<A, B> Array filter(A&& x, B&& condition) {
  return bora::filter(detail::mixed(x), detail::mixed(condition), SizeOptions{});
}
template <class A, class B>
requires MixedWithXt<A, B> auto filtration(A&& x, B&& condition) {
  return bora::filtration(detail::mixed(x), detail::mixed(condition));
}
template <class A, class B>
requires MixedWithXt<A, B> auto masked_view(A&& x, B&& mask) {
  return bora::masked_view(detail::mixed(x), detail::mixed(mask));
}
template <class A, class B>
requires MixedWithXt<A, B> Array index_view(A&& x, B&& positions) {
  return bora::index_view(detail::mixed(x), detail::mixed(positions));
}

// ---- slices ---------------------------------------------------------------------------------------------------------
namespace detail {
template <class S> concept BoraSlice = std::same_as<S, All> || std::same_as<S, NewAxis> || std::same_as<S, Ellipsis> ||
    std::same_as<S, Range> || std::same_as<S, Array>;
}  // namespace detail
/// An Array where a slice is one of Bora's words: view(xs, bora::all(), 1).
template <class E, class... S>
requires(XtExpression<E> && (detail::BoraSlice<std::remove_cvref_t<S>> || ...)) Array view(E&& x, S&&... slices) {
  return view(asarray(std::forward<E>(x)), std::forward<S>(slices)...);
}
// bora::view(xs, 1), by conversion, so that view(xs, 1) stays xt::view.
inline Array view(const Array& x, const DimSlice& a) { return view_of(x, {a}); }
inline Array view(const Array& x, const DimSlice& a, const DimSlice& b) { return view_of(x, {a, b}); }
inline Array view(const Array& x, const DimSlice& a, const DimSlice& b, const DimSlice& c) {
  return view_of(x, {a, b, c});
}
}  // namespace bora
