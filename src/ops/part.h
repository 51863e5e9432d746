// part.h -- parts of arrays, and for operations that compute each element from single elements: which parts of the
// operands a part of the result needs.
#pragma once
#include <optional>
#include <vector>
#include "bora/ops/primitives.h"

namespace bora::ops {
/// Positions begin, begin + step, .. of one dimension.
struct Span {
  std::int64_t begin = 0, count = 0, step = 1;
  std::int64_t last() const { return begin + (count - 1) * step; }
  bool operator==(const Span&) const = default;
};
/// A span of each dimension, none of them empty.
using Part = std::vector<Span>;
Part whole(const Shape&);
Shape shape_of(const Part&);
/// The smallest span that has both.
Span hull(const Span& a, const Span& b);

/// The part of each operand (nullopt: nothing of it) that this part of the result, which is not empty, needs; no
/// elements where the primitive has no such rule. May widen the part to one that `of_part` can compute.
std::vector<std::optional<Part>> operand_parts(const Primitive&, const Types& in, Part& part);
/// The primitive that computes this part of its result from those parts of its operands; null: the operand that is
/// needed is the result.
PrimitivePtr of_part(const PrimitivePtr&, const Types& in, const Part& part);
/// Is its result a selection from its first operand: a slice or a take?
bool selects(const Primitive&);
/// A take along one axis with the same indices everywhere; null: it is none.
const Take* simple_take(const Primitive&);
/// The slice, pad, concatenation or flip that a primitive is: at most one is not null.
struct Movement {
  const StaticSlice* slice = nullptr;
  const Pad* pad = nullptr;
  const Concatenate* joint = nullptr;
  const Rev* flip = nullptr;
  explicit operator bool() const { return slice || pad || joint || flip; }
};
Movement movement(const Primitive&);
/// The reversal of dimensions that this primitive is, or null.
inline const Rev* flip_of(const Primitive& p) { return as<Rev>(p); }
}  // namespace bora::ops
