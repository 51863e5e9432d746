#include "bora/optim/config.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
ScaleByLion::State ScaleByLion::init(const Leaves& p) const { return {zeros_beside(p)}; }
std::pair<Arrays, ScaleByLion::State> ScaleByLion::update(const Arrays& u, const State& s, const Leaves&) const {
  State next;
  Arrays r;
  for (std::size_t i = 0; i < u.size(); ++i) {
    r.push_back(sign(update_moment(u[i], s.mu[i], b1)));
    next.mu.push_back(update_moment(u[i], s.mu[i], b2));
  }
  return {r, next};
}
std::vector<ScaleByLion> ScaleByLion::samples() { return {{}, {.b1 = 0.5, .b2 = 0.7}}; }

Transform scale_by_lion(ScaleByLion o) { return Transform(o); }
Transform lion(LionOptions o) {
  return chain(scale_by_lion({o.b1, o.b2}), add_decayed_weights(o.weight_decay, o.mask),
               scale_by_learning_rate(o.learning_rate));
}
void LionConfig::check() const { settings::check_numbers(*this); }
Transform LionConfig::make(const Schedule& rate, const Mask& decays) const {
  return settings::clipped(
      clip, lion({.learning_rate = rate, .b1 = beta1, .b2 = beta2, .weight_decay = weight_decay, .mask = decays}));
}
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::LionConfig>>;
