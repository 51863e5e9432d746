#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"

namespace bora::optim {
namespace {
struct LearningRate {
  Schedule at;
  static constexpr std::string_view name = "learning_rate";
  struct State {
    Array count = {};
  };
  State init(const Leaves&) const { return {zero_count()}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    auto step = -at(s.count);
    Arrays r;
    for (auto& g : u) r.push_back(step.astype(g.dtype()) * g);
    return {r, {safe_increment(s.count)}};
  }
  static std::vector<LearningRate> samples() { return {{0.1}, {linear_schedule(0, 0.5, 3)}}; }
};
struct BySchedule {
  Schedule at;
  static constexpr std::string_view name = "schedule";
  using State = LearningRate::State;
  State init(const Leaves& p) const { return LearningRate{at}.init(p); }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    auto factor = at(s.count);
    Arrays r;
    for (auto& g : u) r.push_back(factor.astype(g.dtype()) * g);
    return {r, {safe_increment(s.count)}};
  }
  static std::vector<BySchedule> samples() { return {{linear_schedule(0, 0.5, 3)}}; }
};
}  // namespace
Transform scale_by_schedule(Schedule factor) { return Transform(BySchedule{std::move(factor)}); }
Transform scale_by_learning_rate(Schedule rate) { return Transform(LearningRate{std::move(rate)}); }
}  // namespace bora::optim
