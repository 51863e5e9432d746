// Transformations that keep a second point beside the parameters: lookahead and schedule_free.
#include "bora/optim/further.h"
#include "moments.h"

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
struct ScheduleFree {
  Transform base;
  Schedule learning_rate;
  ScheduleFreeOptions o;
  static constexpr std::string_view name = "schedule_free";
  struct State {
    Array b1 = {}, weight_sum = {}, step_count = {}, max_lr = {};
    optim::State base = {};
    Arrays z = {};
  };
  State init(const Leaves& p) const {
    return {constant(o.b1, f32), zeros({}), zero_count() + 1, zeros({}), base.init_flat(p), p.arrays};
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    State next{s.b1, {}, safe_increment(s.step_count), maximum(s.max_lr, learning_rate(s.step_count).astype(f32))};
    auto weight = pow(next.max_lr, constant(o.weight_lr_power, f32));
    next.weight_sum = s.weight_sum + weight;
    // 0 while no step has weight; a rate that is NaN is not hidden.
    auto part = where(next.weight_sum == 0, 0, weight / where(next.weight_sum == 0, 1, next.weight_sum));
    auto [updates, after] = base.update_flat(u, s.base, p);
    next.base = after;
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& z = next.z.emplace_back(s.z[i] + updates[i]);
      auto mean = (p.arrays[i] - (1 - o.b1) * s.z[i]) / o.b1, c = part.astype(mean.dtype());
      mean = (1 - c) * mean + c * z;
      r.push_back(o.b1 * mean + (1 - o.b1) * z - p.arrays[i]);
    }
    return {r, next};
  }
  static std::vector<ScheduleFree> samples() {
    return {{sgd({.learning_rate = 0.1}), 0.1, {}},
            {adam({.learning_rate = linear_schedule(0, 0.1, 3), .b1 = 0}), linear_schedule(0, 0.1, 3), {0.8, 1}}};
  }
};
}  // namespace
Transform lookahead(const Transform& fast, LookaheadOptions o) {
  check<ValueError>(o.sync_period >= 1, "lookahead: sync_period must be 1 or more, got ", o.sync_period);
  return Transform(Lookahead{fast, o});
}
Transform schedule_free(const Transform& base, Schedule learning_rate, ScheduleFreeOptions o) {
  check<ValueError>(o.b1 > 0 && o.b1 <= 1, "schedule_free: b1 must be in (0, 1], got ", o.b1);
  return Transform(ScheduleFree{base, std::move(learning_rate), o});
}
Arrays schedule_free_eval_flat(const State& state, const std::vector<std::string>& paths, const Arrays& params) {
  auto entry = [&](const std::string& name) {
    auto found = state.entries.find("schedule_free." + name);
    check<ValueError>(found != state.entries.end(), "schedule_free_eval_params: the state has no entry 'schedule_free.",
                      name, "'; give the state that schedule_free's init and update return for these parameters");
    return found->second;
  };
  auto b1 = entry("b1");
  Arrays r;
  for (std::size_t i = 0; i < params.size(); ++i) {
    auto z = entry("z." + paths[i]), b = b1.astype(z.dtype());
    r.push_back(((params[i] - (1 - b) * z) / b).astype(params[i].dtype()));
  }
  return r;
}
}  // namespace bora::optim
