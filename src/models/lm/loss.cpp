#include "bora/models/loss.h"
#include "bora/named/operations.h"
#include "bora/nn/axes.h"
#include "bora/ops/ufuncs.h"
#include "bora/named/elementwise.h"

namespace bora::models {
void LossSettings::check() const {
  config::domain(config::finite(z_loss) && z_loss >= 0, "z_loss", z_loss, "0 or more");
  config::domain(label_smoothing >= 0 && label_smoothing < 1, "label_smoothing", label_smoothing,
                 "at least 0 and below 1");
}
nn::CrossEntropyOptions LossSettings::terms() const { return {z_loss, label_smoothing}; }
namespace {
/// The sum of the weights of each position's own sequence.
NamedArray weight_of_sequence(const training::Example& e) {
  if (!e.segments) return sum(e.weights, nn::kPosition);
  auto other = [](const NamedArray& x) { return rename(x, {{nn::kPosition, nn::kKeyPosition}}); };
  auto both = e.segments->axes();
  both.push_back(e.segments->axis(nn::kPosition).alias(nn::kKeyPosition));
  auto mine = broadcast_to(*e.segments, both), theirs = broadcast_to(other(*e.segments), both);
  return sum(where(mine == theirs, broadcast_to(other(e.weights), both), 0.0), nn::kKeyPosition);
}
}  // namespace
NamedArray loss_weights(const training::Example& e, Normalize how) {
  if (how != Normalize::average_per_sequence) return e.weights;
  auto total = broadcast_to(weight_of_sequence(e), e.weights.axes());
  return where(total == 0.0, 0.0, e.weights / where(total == 0.0, 1.0, total));
}
NamedArray loss_divisor(const training::Example& e, Normalize how) {
  return how == Normalize::total_target_tokens ? ones_like(e.weights) : loss_weights(e, how);
}
}  // namespace bora::models
