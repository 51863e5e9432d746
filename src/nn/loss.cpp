#include "bora/nn/loss.h"
#include "bora/ops/functions.h"

namespace bora::nn {
NamedArray cross_entropy(const NamedArray& scores, const AxisNames::One& vocab, const NamedArray& targets) {
  auto rows = scores.axes();
  rows.erase(rows.begin() + scores.position(vocab));
  auto order = rows;
  order.push_back(scores.axis(vocab.name));
  return named(bora::cross_entropy(aligned(scores, order).array(), broadcast_to(targets, rows).array()), rows);
}
}  // namespace bora::nn
