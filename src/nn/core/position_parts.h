// position_parts.h -- positions cut where the ranks of the current mapping are, for work along a rank's own. Private.
#pragma once
#include "bora/named/sharded.h"
#include "bora/nn/axes.h"
#include "bora/array/communicator.h"
#include "bora/named/operations.h"

namespace bora::nn {
inline constexpr const char* kWithin = "within";  // a rank's own positions
/// The ranks that the current mapping splits x's `position` over, if they cut it into equal parts; else 1. 1 too for
/// what cut_at_ranks() gave.
inline std::int64_t position_parts(const NamedArray& x) {
  auto* mesh = here().mesh;
  if (!mesh || !x.has_axis(kPosition) || x.has_axis(kWithin)) return 1;
  auto split = spec_for(x.axes(), current_mapping())[static_cast<std::size_t>(x.position(kPosition))];
  return mesh->cuts_evenly(x.axis(kPosition).size, split) ? mesh->parts(split) : 1;
}
/// x [.., position, ..] -> [.., position: parts, within, ..], of which every rank keeps what it has; others unchanged.
inline NamedArray cut_at_ranks(const NamedArray& x, std::int64_t parts) {
  if (!x.has_axis(kPosition)) return x;
  Axis outer{kPosition, parts}, inner{kWithin, x.axis(kPosition).size / parts};
  return auto_sharded(unflatten_axis(x, kPosition, {outer, inner}));
}
}  // namespace bora::nn
