#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"
#include "bora/optim/optimizers.h"

namespace bora::optim {
namespace {
struct Lookahead {
  Transform fast;
  LookaheadOptions o;
  static constexpr std::string_view name = "lookahead";
  struct State {
    Array steps_since_sync = {};
    Arrays slow = {};
    optim::State fast = {};
  };
  State init(const Leaves& p) const { return {zero_count(), p.arrays, fast.init_flat(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    auto [updates, after] = fast.update_flat(u, s.fast, p);
    auto meet = s.steps_since_sync == o.sync_period - 1;
    State next{where(meet, 0, s.steps_since_sync + 1)};
    Arrays back;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto away = p.arrays[i] + updates[i] - s.slow[i];
      next.slow.push_back(where(meet, s.slow[i] + o.slow_step_size * away, s.slow[i]));
      back.push_back(updates[i] - (1 - o.slow_step_size) * away);
    }
    next.fast = o.reset_state ? chosen(meet, fast.init_flat(p), after) : after;
    return {chosen(meet, back, updates), next};
  }
  static std::vector<Lookahead> samples() {
    return {{scale_by_learning_rate(0.1), {2, 0.5}}, {adam({.learning_rate = 0.1}), {3, 0.8, true}}};
  }
};
}  // namespace
Transform lookahead(const Transform& fast, LookaheadOptions o) {
  check<ValueError>(o.sync_period >= 1, "lookahead: sync_period must be 1 or more, got ", o.sync_period);
  return Transform(Lookahead{fast, o});
}
}  // namespace bora::optim
