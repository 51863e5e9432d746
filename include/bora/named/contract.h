// contract.h -- products of several named arrays, and moving, splitting and merging axes as a text describes it.
//   einsum("b h d, d e -> b h e", x, w)        axes by position: each operand's are named in their order
//   einsum("{H W D} -> H W", x, y)             by name: axes in braces and not on the right are summed, others stay
//   einsum("-> H W", x, y)                     by name: all axes but these are summed
//   rearrange(x, "B H W C -> B (E: H W C)")    by position; E is H, W and C as one axis
//   rearrange(x, "{B (H: h1 H)} -> (B: B h1) H ...", {{"H", 2}})     by name; axis H is split into h1 and H of size 2
// A word is bound to an axis by its place or its name, or beside the text: {"x", Embed}, {"x", "embed"}, {"x", 4} (a
// size). "..." stands for all axes that are not named. Names that are no words stand in quotes: "'my axis'". Errors are
// AxisErrors, or ValueErrors that quote the text and the column.
#pragma once
#include "bora/named/array.h"
#include "bora/named/reduce.h"

namespace bora {
/// What a word of a text stands for.
struct AxisBinding {
  std::string word;
  std::optional<std::string> axis = none;  // its name
  std::int64_t size = -1;                  // -1: any
  template <Text S> AxisBinding(const S& w, const Axis& a) : word(std::string_view(w)), axis(a.name), size(a.size) {}
  template <Text S, Text A> AxisBinding(const S& w, const A& a)
      : word(std::string_view(w)), axis(std::string(std::string_view(a))) {}
  template <Text S, std::integral N> AxisBinding(const S& w, N n)
      : word(std::string_view(w)), size(static_cast<std::int64_t>(n)) {}
};
using AxisBindings = std::vector<AxisBinding>;

struct NamedDotOptions {
  std::optional<AxisNames> out_axes = none;  // the result's axes in order, where "..." may stand for others
  std::optional<Dtype> dtype = none;         // to which operands are cast before: accumulate and return in it
};
/// dot({a, b, c}, "embed"): products summed over these axes (none: all; {}: no axis), which at least one operand must
/// have; axes that operands share go together. The result's axes are in the order in which they occur first.
NamedArray dot(const std::vector<NamedArray>& xs, const ReduceAxes& axes, const NamedDotOptions& options = {});

NamedArray einsum(std::string_view equation, const std::vector<NamedArray>& xs, const AxisBindings& bindings = {});
template <std::same_as<NamedArray>... A> NamedArray einsum(std::string_view equation, const NamedArray& first,
                                                           const A&... more) {
  return einsum(equation, std::vector<NamedArray>{first, more...}, AxisBindings{});
}
NamedArray rearrange(const NamedArray& x, std::string_view text, const AxisBindings& bindings);
}  // namespace bora
