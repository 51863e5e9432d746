#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/optim/transforms.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
constexpr std::string_view kScale = "loss_scale.scale";
struct LossScale {
  Transform inner;
  LossScaleOptions o = {};
  static constexpr std::string_view name = "loss_scale";
  struct State {
    Array scale = {}, finite_steps = {}, skipped = {};  // f32; i32: in a row since the scale last changed; i32: in all
    optim::State inner = {};
  };
  State init(const Leaves& p) const {
    return {constant(o.initial, f32), zero_count(), zero_count(), inner.init_flat(p)};
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    Arrays gradients;
    auto inverse = 1 / s.scale;
    for (auto& g : u) gradients.push_back(g * inverse.astype(g.dtype()));
    auto [updates, after] = inner.update_flat(gradients, s.inner, p);
    if (!o.dynamic) return {updates, {s.scale, s.finite_steps, s.skipped, after}};
    auto finite = all_finite(u);
    auto skip = logical_and(logical_not(finite), s.scale > o.min);
    auto grown = s.scale * o.factor;
    auto full = s.finite_steps == o.period - 1;
    State next{
        where(finite, where(logical_and(full, isfinite(grown)), grown, s.scale), maximum(s.scale / o.factor, o.min)),
        where(finite, where(full, 0, s.finite_steps + 1), 0), where(skip, safe_increment(s.skipped), s.skipped),
        chosen(skip, s.inner, after)};
    return {chosen(skip, zeros_beside(p), updates), next};
  }
  static std::vector<LossScale> samples() {
    return {{scale_by_adam(), {.initial = 4, .dynamic = false}}, {trace(0.9), {.initial = 8, .period = 2}}};
  }
};
}  // namespace
Transform loss_scale(const Transform& inner, LossScaleOptions o) {
  check<ValueError>(o.initial > 0 && o.min > 0 && o.factor > 1 && o.period > 0,
                    "loss_scale: initial and min must be positive, factor above 1 and period at least 1, got ",
                    o.initial, ", ", o.min, ", ", o.factor, " and ", o.period);
  return Transform(LossScale{inner, o});
}
std::optional<Array> loss_scale_of(const State& s) {
  auto it = s.entries.find(std::string(kScale));
  return it == s.entries.end() ? none : std::optional(it->second);
}
std::string metric_of(std::string_view entry) {
  constexpr std::string_view injected = ".hyperparams.";
  if (auto at = entry.find(injected); at != entry.npos) return std::string(entry.substr(at + injected.size()));
  if (entry.ends_with("apply_if_finite.skipped") || entry.ends_with("loss_scale.skipped")) return "skipped_steps";
  return entry.ends_with(kScale) ? "loss_scale" : "";
}
}  // namespace bora::optim
