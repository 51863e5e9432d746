#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
struct MultiSteps {
  Transform inner;
  std::int64_t every = 1;
  static constexpr std::string_view name = "multi_steps";
  struct State {
    Array mini_step = {}, gradient_step = {};
    Arrays mean = {};
    optim::State inner = {};
  };
  State init(const Leaves& p) const { return {zero_count(), zero_count(), zeros_beside(p), inner.init_flat(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    auto full = s.mini_step == every - 1;
    auto n = s.mini_step + 1;
    Arrays mean;  // Welford's
    for (std::size_t i = 0; i < u.size(); ++i) mean.push_back(s.mean[i] + (u[i] - s.mean[i]) / n.astype(u[i].dtype()));
    auto [updates, after] = inner.update_flat(mean, s.inner, p);
    auto zero = zeros_beside(p);
    return {chosen(full, updates, zero),
            {where(full, 0, n), where(full, safe_increment(s.gradient_step), s.gradient_step), chosen(full, zero, mean),
             chosen(full, after, s.inner)}};
  }
  static std::vector<MultiSteps> samples() { return {{scale_by_adam(), 2}, {trace(0.9), 3}}; }
};
struct ApplyIfFinite {
  Transform inner;
  std::int64_t max_consecutive_errors = 0;
  static constexpr std::string_view name = "apply_if_finite";
  struct State {
    Array notfinite_count = {}, total_notfinite = {}, skipped = {};
    optim::State inner = {};
  };
  State init(const Leaves& p) const { return {zero_count(), zero_count(), zero_count(), inner.init_flat(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    auto finite = all_finite(u);
    State next{where(finite, 0, safe_increment(s.notfinite_count)),
               where(finite, s.total_notfinite, safe_increment(s.total_notfinite))};
    auto apply = logical_or(finite, next.notfinite_count > max_consecutive_errors);
    next.skipped = where(apply, s.skipped, safe_increment(s.skipped));
    auto [updates, after] = inner.update_flat(u, s.inner, p);
    next.inner = chosen(apply, after, s.inner);
    return {chosen(apply, updates, zeros_beside(p)), next};
  }
  static std::vector<ApplyIfFinite> samples() { return {{scale_by_adam(), 2}}; }
};
}  // namespace
Transform multi_steps(const Transform& inner, std::int64_t every) {
  check<ValueError>(every > 0, "multi_steps: every must be positive, got ", every);
  return Transform(MultiSteps{inner, every});
}
Transform apply_if_finite(const Transform& inner, std::int64_t max_consecutive_errors) {
  check<ValueError>(max_consecutive_errors >= 0, "apply_if_finite: max_consecutive_errors must not be negative, got ",
                    max_consecutive_errors);
  return Transform(ApplyIfFinite{inner, max_consecutive_errors});
}
}  // namespace bora::optim
