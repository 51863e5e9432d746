// slice.h -- the index of one dimension in xtensor's words: all(), range(1, 5, 2), newaxis(), a number, an Array.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <vector>
#include "bora/array/array.h"

namespace bora {
struct All {};       // the index all()
struct NewAxis {};   // the index newaxis()
struct Ellipsis {};  // the index ellipsis()
struct Range {       // the index range(start, stop, step)
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
struct DimSlice {
  enum class Kind : std::uint8_t { number, all, newaxis, ellipsis, range, array };
  Kind kind;
  std::int64_t number = 0;
  Range range = {};
  Array array = {};  // plain members: for a variant g++ 12 warns in users' code of uninitialized use
  template <std::integral T>
  requires(!std::same_as<T, bool>) DimSlice(T i) : kind(Kind::number), number(static_cast<std::int64_t>(i)) {}
  DimSlice(All) : kind(Kind::all) {}
  DimSlice(NewAxis) : kind(Kind::newaxis) {}
  DimSlice(Ellipsis) : kind(Kind::ellipsis) {}
  DimSlice(Range r) : kind(Kind::range), range(r) {}
  DimSlice(const Array& a) : kind(Kind::array), array(a) {}
  template <class A>
  requires detail::becomes_array<A> DimSlice(const A& a) : DimSlice(Array(a)) {}
};
using DimSlices = std::vector<DimSlice>;  // one index for each dimension
}                                         // namespace bora
