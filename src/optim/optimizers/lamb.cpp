#include "bora/ops/accumulator.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct TrustRatio {
  double min_norm = 0, trust_coefficient = 1, eps = 0;
  static constexpr std::string_view name = "trust_ratio";
  Arrays update(const Arrays& u, const Leaves& p) const {
    auto norm = [&](const Array& x) {
      auto squares = is_complex(x.dtype()) ? absolute_square(x) : square(in_real_accumulator(x));
      return maximum(sqrt(sum(squares)), min_norm);
    };
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto of_param = norm(p.arrays[i]), of_update = norm(u[i]);
      auto zero = logical_or(of_param == 0, of_update == 0);
      auto ratio = where(zero, 1, trust_coefficient * of_param / (of_update + eps));
      r.push_back(u[i] * ratio.astype(u[i].dtype()));
    }
    return r;
  }
  static std::vector<TrustRatio> samples() {
    return {{.trust_coefficient = 0.1}, {.min_norm = 3, .trust_coefficient = 0.5, .eps = 0.1}};
  }
};
}  // namespace
Transform scale_by_trust_ratio(double min_norm, double trust_coefficient, double eps) {
  return Transform(TrustRatio{min_norm, trust_coefficient, eps});
}
Transform lamb(LambOptions o) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}), add_decayed_weights(o.weight_decay, o.mask),
               scale_by_trust_ratio(), scale_by_learning_rate(o.learning_rate));
}
namespace {
struct LambConfig {
  static constexpr std::string_view type = "lamb";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0.01, clip = 1;
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {{"lr", "largest learning rate; relative to the norms of parameters"},
                                                 {"beta1", settings::kBeta1},
                                                 {"beta2", settings::kBeta2},
                                                 {"eps", settings::kEps},
                                                 {"weight_decay", settings::kDecay},
                                                 {"clip", settings::kClip},
                                                 {"schedule", ""}};
  void check() const { settings::check_numbers(*this); }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    return settings::clipped(clip, lamb({rate, beta1, beta2, eps, 0, weight_decay, decays}));
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::LambConfig>>;
