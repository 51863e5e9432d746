#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Sign {
  static constexpr std::string_view name = "sign";
  Arrays update(const Arrays& u, const Leaves&) const {
    Arrays r;
    for (auto& x : u) r.push_back(sign(x));
    return r;
  }
  static std::vector<Sign> samples() { return {{}}; }
};
}  // namespace
Transform scale_by_sign() { return Transform(Sign{}); }
Transform sign_sgd(SignSgdOptions o) { return chain(scale_by_sign(), scale_by_learning_rate(o.learning_rate)); }
namespace {
struct SignSgdConfig {
  static constexpr std::string_view type = "sign_sgd";
  double lr = 1e-3, weight_decay = 0, clip = 0;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", "largest learning rate: what a number moves by"},
                                                 {"weight_decay", settings::kDecay},
                                                 {"clip", "no effect: clipping keeps the signs of a gradient"},
                                                 {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::made(*this, scale_by_sign(), rate, decays);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::SignSgdConfig>>;
