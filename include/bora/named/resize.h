// resize.h -- named arrays whose axes have other sizes: vocabularies that grow, tables that are cut.
#pragma once
#include "bora/named/array.h"
#include "bora/tree/tree.h"

namespace bora {
/// x with `n` positions along an axis: the first n, or all and new ones, whose numbers are drawn from a normal
/// distribution with the mean and deviation of x's, cut off at three deviations; 0 without a key.
NamedArray resize_axis(const NamedArray& x, const AxisNames::One& axis, std::int64_t n,
                       const std::optional<Array>& key = none);
namespace named_detail {
void resize_axes(tree::Node t, const AxisNames::One& axis, std::int64_t n, const std::optional<Array>& key);
}  // namespace named_detail
/// The same for every NamedArray of a tree that has the axis; each draws with a key of its own.
template <class T>
requires(!std::same_as<T, NamedArray>) T resize_axis(T t, const AxisNames::One& axis, std::int64_t n,
                                                     const std::optional<Array>& key = none) {
  named_detail::resize_axes(tree::node(t), axis, n, key);
  return t;
}
}  // namespace bora
