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
#include "bora/named/operations.h"

namespace bora {
/// Sums of products, as the equation says: its forms are above.
NamedArray einsum(std::string_view equation, const std::vector<NamedArray>& xs, const AxisBindings& bindings = {});
template <std::same_as<NamedArray>... A> NamedArray einsum(std::string_view equation, const NamedArray& first,
                                                           const A&... more) {
  return einsum(equation, std::vector<NamedArray>{first, more...}, AxisBindings{});
}
}  // namespace bora
