// operations.h -- operations on NamedArrays, which match axes by name, never by position: creation, moving axes,
// contraction. functions.h has the named forms of functions.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "bora/named/reduce.h"

namespace bora {
/// a with names. Throws AxisError.
inline NamedArray named(const Array& a, const Axes& axes) { return {a, axes.list()}; }
NamedArray zeros(const Axes& axes, Dtype dtype = default_float());                   // 0 everywhere
NamedArray ones(const Axes& axes, Dtype dtype = default_float());                    // 1 everywhere
NamedArray full(const Axes& axes, Scalar value, std::optional<Dtype> dtype = none);  // `value` everywhere
NamedArray arange(const Axis& axis, Dtype dtype = i32);
/// start, start + step, .., row by row where there are several axes; i32 for whole numbers, else f32.
NamedArray arange(const Axes& axes, Scalar start, Scalar step = 1, std::optional<Dtype> dtype = none);
NamedArray zeros_like(const NamedArray& x);  // 0, over x's axes, in its dtype
NamedArray ones_like(const NamedArray& x);   // 1, over x's axes, in its dtype
/// 1 at position indices[..] of the axis, which comes last, else 0.
NamedArray one_hot(const NamedArray& indices, const Axis& axis, Dtype dtype = default_float());

// ---- axes -----------------------------------------------------------------------------------------------------------
// The same numbers with axes renamed; sizes stay.
struct Renaming {
  std::string from, to;
  template <TextLike A, TextLike B>
  Renaming(const A& a, const B& b) : from(std::string_view(a)), to(std::string_view(b)) {}
  template <TextLike B> Renaming(const Axis& a, const B& b) : from(a.name), to(std::string_view(b)) {}
  template <TextLike A> Renaming(const A& a, const Axis& b) : from(std::string_view(a)), to(b.name) {}
  Renaming(const Axis& a, const Axis& b) : from(a.name), to(b.name) {}
};
NamedArray rename(const NamedArray& x, const std::vector<Renaming>& names);
/// The meaning of a word of a text: an axis by its name, or a size (contract.h).
struct AxisBinding {
  std::string word;
  std::optional<std::string> axis = none;  // its name
  std::int64_t size = -1;                  // -1: any
  template <TextLike S>
  AxisBinding(const S& w, const Axis& a) : word(std::string_view(w)), axis(a.name), size(a.size) {}
  template <TextLike S, TextLike A> AxisBinding(const S& w, const A& a)
      : word(std::string_view(w)), axis(std::string(std::string_view(a))) {}
  template <TextLike S, std::integral N> AxisBinding(const S& w, N n)
      : word(std::string_view(w)), size(static_cast<std::int64_t>(n)) {}
};
using AxisBindings = std::vector<AxisBinding>;  // the meanings of a text's words
/// The same array with its axes in this order; "..." stands for those that are not named, else all must be. A text
/// with "->" moves, splits and merges axes as contract.h says.
NamedArray rearrange(const NamedArray& x, const AxisNames& order);
NamedArray rearrange(const NamedArray& x, std::string_view text, const AxisBindings& bindings);
/// x repeated along axes it lacks; the result has exactly `axes`, in that order.
NamedArray broadcast_to(const NamedArray& x, const Axes& axes);
// These axes as one, where the first of them stood (of no axes: one of size 1 in front); and back.
NamedArray flatten_axes(const NamedArray& x, const AxisNames& axes, const Axis& into);
NamedArray unflatten_axis(const NamedArray& x, const AxisNames::One& axis, const Axes& into);
/// Joined along the axis with into's name, whose size it has.
NamedArray concatenate(const Axis& into, const std::vector<NamedArray>& xs);
/// Arrays with the same axes, along a new one in front.
NamedArray stack(const Axis& axis, const std::vector<NamedArray>& xs);

// ---- contraction ----------------------------------------------------------------------------------------------------
/// Products summed over `axes`; other shared axes are batch axes. Result axes: batch, then a's own, then b's own.
NamedArray dot(const NamedArray& a, const NamedArray& b, const AxisNames& axes);
struct NamedDotOptions {                     // of dot
  std::optional<AxisNames> out_axes = none;  // the result's axes in order, where "..." may stand for others
  std::optional<Dtype> dtype = none;         // to which operands are cast before: accumulate and return in it
};
/// dot({a, b, c}, "embed"): products summed over these axes (none: all; {}: no axis), which at least one operand must
/// have; axes that operands share go together. The result's axes are in the order in which they occur first.
NamedArray dot(const std::vector<NamedArray>& xs, const ReduceAxes& axes, const NamedDotOptions& options = {});
template <Number T> T item(const NamedArray& x) { return x.template item<T>(); }  // the only element

/// x with its axes in `order`, which must be the same set: for carries and results whose order matters.
NamedArray aligned(const NamedArray& x, const std::vector<Axis>& order);
}  // namespace bora
