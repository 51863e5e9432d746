// named.h -- operations on NamedArrays, which match axes by name, never by position: creation, moving axes,
// contraction, updates, and those of functions.h.
#pragma once
#include "bora/named/functions.h"

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
/// The same array with its axes in this order; all must be named.
NamedArray rearrange(const NamedArray& x, const AxisNames& order);
/// x repeated along axes it lacks; the result has exactly `axes`, in that order.
NamedArray broadcast_to(const NamedArray& x, const Axes& axes);
NamedArray flatten_axes(const NamedArray& x, const AxisNames& axes, const Axis& into);
NamedArray unflatten_axis(const NamedArray& x, const AxisNames::One& axis, const Axes& into);
NamedArray concatenate(const Axis& into, const std::vector<NamedArray>& xs);
NamedArray stack(const Axis& axis, const std::vector<NamedArray>& xs);

// ---- contraction ----------------------------------------------------------------------------------------------------
/// Products summed over `axes`; other shared axes are batch axes. Result axes: batch, then a's own, then b's own.
NamedArray dot(const NamedArray& a, const NamedArray& b, const AxisNames& axes);
/// table indexed along `axis`, which the axes of `indices` replace.
NamedArray take(const NamedArray& table, const AxisNames::One& axis, const NamedArray& indices);

template <Number T> T item(const NamedArray& x) { return x.template item<T>(); }

/// at(x, {Batch, 3}).set(0): a new array with some positions changed. The update is broadcast to the positions by name.
class NamedAt {
 public:
  NamedAt(NamedArray x, std::vector<NamedSlice> where) : x_(std::move(x)), where_(std::move(where)) {}
  NamedArray set(const NamedArray& y) const;
  NamedArray set(Scalar y) const;
  NamedArray add(const NamedArray& y) const;
  NamedArray add(Scalar y) const;
  NamedArray multiply(const NamedArray& y) const;
  NamedArray multiply(Scalar y) const;
  NamedArray min(const NamedArray& y) const;
  NamedArray min(Scalar y) const;
  NamedArray max(const NamedArray& y) const;
  NamedArray max(Scalar y) const;
 private:
  NamedArray x_;
  std::vector<NamedSlice> where_;
};
inline NamedAt at(const NamedArray& x, const NamedSlice& s) { return {x, {s}}; }
inline NamedAt at(const NamedArray& x, std::initializer_list<NamedSlice> s) { return {x, std::vector<NamedSlice>(s)}; }
/// x with its axes in `order`, which must be the same set: for carries and results whose order matters.
NamedArray aligned(const NamedArray& x, const std::vector<Axis>& order);
}  // namespace bora
