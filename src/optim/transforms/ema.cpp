#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"
#include "bora/optim/optimizers.h"
#include "bora/optim/updates.h"

namespace bora::optim {
namespace {
struct Ema {
  double decay;
  bool debias = true;
  static constexpr std::string_view name = "ema";
  struct State {
    Array count = {};
    Arrays ema = {};
  };
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    auto correction = bias_correction(decay, next.count);
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mean = next.ema.emplace_back(update_moment(u[i], s.ema[i], decay));
      r.push_back(debias ? mean / correction.astype(mean.dtype()) : mean);
    }
    return {r, next};
  }
  static std::vector<Ema> samples() { return {{0.9}, {0.5, false}}; }
};
/// Updates pass; the state is the mean of the parameters that they lead to.
struct ParamsEma {
  double decay;
  static constexpr std::string_view name = "params_ema";
  using State = Ema::State;
  State init(const Leaves& p) const { return Ema{decay}.init(p); }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    return {u, Ema{decay}.update(apply_updates_flat(p.arrays, u), s, p).second};
  }
  static std::vector<ParamsEma> samples() { return {{0.9}}; }
};
}  // namespace
Transform ema(double decay, bool debias) { return Transform(Ema{decay, debias}); }
Transform params_ema(double decay) { return Transform(ParamsEma{decay}); }
}  // namespace bora::optim
