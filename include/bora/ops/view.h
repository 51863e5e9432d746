// view.h -- reading and writing parts of an array in xtensor's slicing words. Results are values, never aliases.
//   view(x, all(), range(1, 5, 2), newaxis(), -1)       at(x, all(), 3).add(y)
#pragma once
#include <type_traits>
#include <vector>
#include "bora/array/array.h"

namespace bora {
struct All {};
struct NewAxis {};
struct Ellipsis {};
struct Range {
  std::optional<std::int64_t> start, stop, step;
};
/// The whole dimension.
inline All all() { return {}; }
/// A new dimension of size 1.
inline NewAxis newaxis() { return {}; }
/// As many all() as are missing.
inline Ellipsis ellipsis() { return {}; }
/// start, start + step, .. before stop, as Python's start:stop:step: negative positions count from the end, none is an
/// open end, a negative step goes backwards, and positions outside are cut off.
inline Range range(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                   std::optional<std::int64_t> step = none) {
  return {start, stop, step};
}
__attribute__((unavailable("write range(0, stop), or range(start, none) for an open end"))) Range
range(std::optional<std::int64_t> one);

/// The index of one dimension. An integer drops it (negative: from the end). An integer Array gathers.
struct Slice {
  enum class Kind : std::uint8_t { number, all, newaxis, ellipsis, range, array };
  Kind kind;
  std::int64_t number = 0;
  Range range = {};
  Array array = {};  // plain members: for a variant g++ 12 warns in users' code of uninitialized use
  template <std::integral T>
  requires(!std::same_as<T, bool>) Slice(T i) : kind(Kind::number), number(static_cast<std::int64_t>(i)) {}
  Slice(All) : kind(Kind::all) {}
  Slice(NewAxis) : kind(Kind::newaxis) {}
  Slice(Ellipsis) : kind(Kind::ellipsis) {}
  Slice(Range r) : kind(Kind::range), range(r) {}
  Slice(const Array& a) : kind(Kind::array), array(a) {}
};
using Slices = std::vector<Slice>;

/// Part of x; dimensions without a slice are whole. One index Array replaces its dimension by its own dimensions;
/// several broadcast against each other, and their dimensions stand where the first one stood if they are neighbours,
/// else in front (NumPy's rules; plain integers count as index Arrays where there is one). An index Array that points
/// outside reads the nearest element, which gets the derivative too (JAX drops it). Throws IndexError for an integer
/// outside, for too many slices and for boolean masks.
Array view_of(const Array& x, const Slices& slices);
/// Same template head as xt::view, but constrained: it wins overload resolution where an argument brings in namespace
/// xt, and its error names the mistake.
template <class A, class... S>
requires std::same_as<std::remove_cvref_t<A>, Array> Array view(A&& x, S&&... slices) {
  constexpr bool ok = (std::convertible_to<S, Slice> && ...);
  static_assert(ok, "view: slices are bora::all(), range(), newaxis(), ellipsis(), an integer or an integer Array");
  if constexpr (ok) return view_of(x, Slices{Slice(std::forward<S>(slices))...});
}

/// x with a part changed, as a new value. The update is broadcast to the shape of view(x, slices...); its dtype must
/// fit into x's. Updates at positions of an index Array that lie outside are dropped; where positions repeat, set keeps
/// the last and the others combine all of them. Throws view's errors, ShapeError, DtypeError.
class [[nodiscard]] At {
 public:
  At(Array x, Slices slices) : x_(std::move(x)), slices_(std::move(slices)) {}
  Array set(const Array& v) const;
  Array add(const Array& v) const;
  Array multiply(const Array& v) const;
  Array min(const Array& v) const;
  Array max(const Array& v) const;
  Array set(Scalar v) const;
  Array add(Scalar v) const;
  Array multiply(Scalar v) const;
  Array min(Scalar v) const;
  Array max(Scalar v) const;
 private:
  Array number(Scalar v) const;
  Array x_;  // by value: keeping an At is safe
  Slices slices_;
};
template <class A, class... S>
requires std::same_as<A, Array> At at(const A& x, const S&... slices) {
  constexpr bool ok = (std::convertible_to<const S&, Slice> && ...);
  static_assert(ok, "at: slices are bora::all(), range(), newaxis(), ellipsis(), an integer or an integer Array");
  if constexpr (ok) return At(x, Slices{Slice(slices)...});
}
}  // namespace bora
