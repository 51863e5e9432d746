#include "bora/ops/creation.h"
#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct Inject {
  std::function<Transform(const Hyperparameters&)> make;
  Hyperparameters hyperparameters;
  static constexpr std::string_view name = "inject";
  struct State {
    Array count = {};
    optim::State hyperparams = {}, inner = {};
  };
  /// The transformation of a step whose hyperparameters have these values.
  Transform with(const optim::State& values) const {
    Hyperparameters now;
    for (auto& [hyperparameter, value] : values.entries)
      now.emplace(hyperparameter, Schedule([value = value](const Array&) { return value; }));
    return make(now);
  }
  State init(const Leaves& p) const {
    State s{zero_count()};
    for (auto& [hyperparameter, value] : hyperparameters) s.hyperparams.entries[hyperparameter] = value(s.count);
    s.inner = with(s.hyperparams).init_flat(p);
    return s;
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    State next{safe_increment(s.count)};
    for (auto& [hyperparameter, value] : hyperparameters) {
      auto kept = s.hyperparams.entries.find(hyperparameter);
      check<ValueError>(kept != s.hyperparams.entries.end(), "inject_hyperparams: the state has no '", hyperparameter,
                        "'; it was made for other hyperparameters");
      next.hyperparams.entries[hyperparameter] = value.number() ? kept->second : value(s.count);
    }
    auto [updates, inner] = with(next.hyperparams).update_flat(u, s.inner, p);
    next.inner = std::move(inner);
    return {std::move(updates), next};
  }
  static std::vector<Inject> samples() {
    auto sgd = [](const Hyperparameters& h) {
      return chain(trace(0.9), add_decayed_weights(h.at("weight_decay")),
                   scale_by_learning_rate(h.at("learning_rate")));
    };
    return {{sgd, {{"learning_rate", linear_schedule(0.1, 0.5, 3)}, {"weight_decay", 0.1}}}};
  }
};
}  // namespace
Transform inject_hyperparams(std::function<Transform(const Hyperparameters&)> make, Hyperparameters hyperparameters) {
  return Transform(Inject{std::move(make), std::move(hyperparameters)});
}
}  // namespace bora::optim
