// named.h -- operations on NamedArrays, which match axes by name, never by position: creation, moving axes,
// contraction, updates, and those of functions.h.
#pragma once
#include "bora/named/functions.h"
#include "bora/named/index.h"

namespace bora {
/// a with names. Throws AxisError.
inline NamedArray named(const Array& a, const Axes& axes) { return {a, axes.list()}; }
NamedArray zeros(const Axes& axes, Dtype dtype = f32);
NamedArray ones(const Axes& axes, Dtype dtype = f32);
NamedArray full(const Axes& axes, Scalar value, std::optional<Dtype> dtype = none);
NamedArray arange(const Axis& axis, Dtype dtype = i32);
NamedArray zeros_like(const NamedArray& x);
NamedArray ones_like(const NamedArray& x);
NamedArray one_hot(const NamedArray& indices, const Axis& axis, Dtype dtype = f32);

// ---- axes -----------------------------------------------------------------------------------------------------------
/// The same numbers with axes renamed; sizes stay.
struct Renaming {
  std::string from, to;
  template <Text A, Text B> Renaming(const A& a, const B& b) : from(std::string_view(a)), to(std::string_view(b)) {}
  template <Text B> Renaming(const Axis& a, const B& b) : from(a.name), to(std::string_view(b)) {}
  template <Text A> Renaming(const A& a, const Axis& b) : from(std::string_view(a)), to(b.name) {}
  Renaming(const Axis& a, const Axis& b) : from(a.name), to(b.name) {}
};
NamedArray rename(const NamedArray& x, const std::vector<Renaming>& names);
/// The same array with its axes in this order; "..." stands for those that are not named, else all must be. A text
/// with "->" moves, splits and merges axes as contract.h says.
NamedArray rearrange(const NamedArray& x, const AxisNames& order);
/// x repeated along axes it lacks; the result has exactly `axes`, in that order.
NamedArray broadcast_to(const NamedArray& x, const Axes& axes);
/// These axes as one, where the first of them stood (of no axes: one of size 1 in front); and back.
NamedArray flatten_axes(const NamedArray& x, const AxisNames& axes, const Axis& into);
NamedArray unflatten_axis(const NamedArray& x, const AxisNames::One& axis, const Axes& into);
NamedArray concatenate(const Axis& into, const std::vector<NamedArray>& xs);
NamedArray stack(const Axis& axis, const std::vector<NamedArray>& xs);

// ---- contraction ----------------------------------------------------------------------------------------------------
/// Products summed over `axes`; other shared axes are batch axes. Result axes: batch, then a's own, then b's own.
NamedArray dot(const NamedArray& a, const NamedArray& b, const AxisNames& axes);
template <Number T> T item(const NamedArray& x) { return x.template item<T>(); }

/// x with its axes in `order`, which must be the same set: for carries and results whose order matters.
NamedArray aligned(const NamedArray& x, const std::vector<Axis>& order);
}  // namespace bora
