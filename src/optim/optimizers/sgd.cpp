#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Trace {
  double decay;
  bool nesterov = false;
  static constexpr std::string_view name = "trace";
  struct State {
    Arrays trace = {};
  };
  State init(const Leaves& p) const { return {zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next;
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto t = u[i] + decay * s.trace[i];
      r.push_back(nesterov ? u[i] + decay * t : t);
      next.trace.push_back(t);
    }
    return {r, next};
  }
  static std::vector<Trace> samples() { return {{0.9}, {0.8, true}}; }
};
}  // namespace
Transform trace(double decay, bool nesterov) { return Transform(Trace{decay, nesterov}); }
Transform sgd(SgdOptions o) {
  return o.momentum == 0 ? scale_by_learning_rate(o.learning_rate)
                         : chain(trace(o.momentum, o.nesterov), scale_by_learning_rate(o.learning_rate));
}
namespace {
struct SgdConfig {
  static constexpr std::string_view type = "sgd";
  double lr = 0.1, momentum = 0.9, weight_decay = 0, clip = 0;
  bool nesterov = false;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", settings::kLr},
                                                 {"momentum", "decay of the sum of gradients; 0: none is kept"},
                                                 {"weight_decay", settings::kDecay},
                                                 {"clip", settings::kClip},
                                                 {"nesterov", "the step looks ahead by one more"},
                                                 {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    auto rescale = momentum > 0 ? trace(momentum, nesterov) : identity();
    return settings::made(*this, rescale, rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::SgdConfig>>;
