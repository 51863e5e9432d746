#include "bora/nn/loss.h"
#include <limits>

namespace bora::nn {
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets) {
  auto s = scores.astype(f32);
  auto& axis = s.axes()[static_cast<std::size_t>(s.position(vocab))];
  // The target's score as a masked sum: one pass over the row together with logsumexp, forward and backward, and split
  // rows stay split.
  auto hit = broadcast_to(arange(axis), Axes(s.axes())) == broadcast_to(targets.astype(i32), Axes(s.axes()));
  auto loss = logsumexp(s, vocab) - sum(where(hit, s, 0), AxisNames(axis));
  auto valid = targets >= 0 && targets < axis.size;
  return where(aligned(valid, loss.axes()), loss, std::numeric_limits<double>::quiet_NaN());
}
}  // namespace bora::nn
