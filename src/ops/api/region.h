// region.h -- regions of arrays; for operations that compute each element from single elements, the regions of the
// operands that a region of the result needs.
#pragma once
#include <optional>
#include <vector>
#include "bora/array/array.h"

namespace bora::ops {
struct Concatenate;
struct Pad;
struct Rev;
struct StaticSlice;
struct Take;
/// Positions begin, begin + step, .. of one dimension.
struct Span {
  std::int64_t begin = 0, count = 0, step = 1;
  std::int64_t last() const { return begin + (count - 1) * step; }
  bool operator==(const Span&) const = default;
};
/// A span of each dimension, none of them empty.
using Region = std::vector<Span>;
Region whole(const Shape&);
Shape shape_of(const Region&);
/// The smallest span that has both.
Span hull(const Span& a, const Span& b);

/// The region of each operand (nullopt: nothing of it) that this region of the result, which is not empty, needs; no
/// elements where the primitive has no such rule. May widen the region to one that `region_of` can compute.
std::vector<std::optional<Region>> operand_regions(const Primitive&, const Types& in, Region& region);
/// The primitive that computes this region of its result from those regions of its operands; null: the operand that is
/// needed is the result.
PrimitivePtr region_of(const PrimitivePtr&, const Types& in, const Region& region);
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
const Rev* flip_of(const Primitive& p);
}  // namespace bora::ops
