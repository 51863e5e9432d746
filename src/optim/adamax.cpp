#include "bora/optim/optim.h"
#include "moments.h"

namespace bora::optim {
namespace {
struct Adamax {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8;
  static constexpr std::string_view name = "adamax";
  struct State {
    Array count = {};
    Arrays mu = {}, nu = {};
  };
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    auto correction = bias_correction(b1, next.count);
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], b1));
      auto& nu = next.nu.emplace_back(maximum(abs(u[i]) + eps, b2 * s.nu[i]));
      r.push_back(mu / correction.astype(mu.dtype()) / nu);
    }
    return {r, next};
  }
  static std::vector<Adamax> samples() { return {{}, {.b1 = 0.8, .b2 = 0.5, .eps = 1e-3}}; }
};
}  // namespace
Transform scale_by_adamax(double b1, double b2, double eps) { return Transform(Adamax{b1, b2, eps}); }
Transform adamax(AdamaxOptions o) {
  return chain(scale_by_adamax(o.b1, o.b2, o.eps), scale_by_learning_rate(o.learning_rate));
}
}  // namespace bora::optim
