#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct WeightDecay {
  double weight_decay;
  Mask mask = {};
  static constexpr std::string_view name = "weight_decay";
  Arrays update(const Arrays& u, const Leaves& p) const {
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) r.push_back(mask(p, i) ? u[i] + weight_decay * p.arrays[i] : u[i]);
    return r;
  }
  static std::vector<WeightDecay> samples() { return {{0.1}, {0.1, by_layer}}; }
};
struct ScheduledWeightDecay {
  Schedule weight_decay;
  Mask mask = {};
  static constexpr std::string_view name = "scheduled_weight_decay";
  struct State {
    Array count = {};
  };
  State init(const Leaves&) const { return {zero_count()}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    auto decay = weight_decay(s.count);
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i)
      r.push_back(mask(p, i) ? u[i] + decay.astype(u[i].dtype()) * p.arrays[i] : u[i]);
    return {r, {safe_increment(s.count)}};
  }
  static std::vector<ScheduledWeightDecay> samples() { return {{linear_schedule(0, 0.5, 3)}}; }
};
}  // namespace
Transform add_decayed_weights(Schedule weight_decay, Mask mask) {
  if (auto number = weight_decay.number()) return add_decayed_weights(*number, std::move(mask));
  return Transform(ScheduledWeightDecay{std::move(weight_decay), std::move(mask)});
}
Transform add_decayed_weights(double weight_decay, Mask mask) {
  return Transform(WeightDecay{weight_decay, std::move(mask)});
}
}  // namespace bora::optim
