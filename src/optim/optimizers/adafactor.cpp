#include "bora/ops/accumulator.h"
#include "bora/ops/reductions.h"
#include "bora/optim/config.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
/// Matrices keep means of squares over rows and over columns (sizes of 1 there), other parameters a mean per number; in
/// f32 whatever the parameter.
struct FactoredRms {
  ScaleByFactoredRms o;
  static constexpr std::string_view name = "factored_rms";
  struct State {
    Array count = {};
    Reduced v_row = {}, v_col = {}, v = {};
  };
  FactorDims dims(const Leaves& p, std::size_t i) const {
    auto d = factor_dims(p, i, o.rules);
    auto shape = p.arrays[i].shape();
    bool large = !d.rows.empty() && (d.ruled || shape[static_cast<std::size_t>(d.rows[0])] >= o.min_dim_size_to_factor);
    if (!o.factored || !large) d.rows = d.columns = {};
    return d;
  }
  static Array mean_over(const Array& x, const Dims& dims) { return mean(x, dims, {.keepdims = true}); }
  State init(const Leaves& p) const {
    State s{zero_count()};
    auto zero = zeros_beside(p);
    for (std::size_t i = 0; i < zero.size(); ++i) {
      auto d = dims(p, i);
      auto z = in_real_accumulator(zero[i]);
      auto reduced = [&](const Dims& over) {
        auto m = mean_over(z, over);
        return complete_like(m, m);
      };
      s.v_row.of.push_back(d.rows.empty() ? Array() : reduced(d.columns));
      s.v_col.of.push_back(d.rows.empty() ? Array() : reduced(d.rows));
      s.v.of.push_back(d.rows.empty() ? z : Array());
    }
    return s;
  }
  /// The state's entry, which must be there and have the shape of the parameter without `over`.
  static const Array& entry(const Reduced& of, std::string_view field, const Leaves& p, std::size_t i,
                            const Dims& over) {
    auto shape = p.arrays[i].shape();
    for (auto d : over) shape[static_cast<std::size_t>(d)] = 1;
    check<ValueError>(of.of[i].defined(), "optim: the state has no entry '", name, ".", field, ".", p.paths[i],
                      "'; it was made for other parameters or another optimizer");
    check<ShapeError>(of.of[i].shape() == shape, "optim: the state's entry '", name, ".", field, ".", p.paths[i],
                      "' is ", of.of[i].type(), ", the parameter is ", p.arrays[i].type(),
                      "; the state was made for other parameters");
    return of.of[i];
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    State next{safe_increment(s.count)};
    auto step = s.count - o.step_offset + 1;
    if (o.step_offset > 0) step = maximum(step, 1);  // steps before it are as the first one behind it
    auto decay = 1 - pow(step.astype(f32), -o.decay_rate);
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto d = dims(p, i);
      auto g = in_real_accumulator(u[i]), squares = square(g) + o.eps;
      auto share = decay.astype(g.dtype());
      auto moved = [&](const Array& to, const Array& old) { return share * old + (1 - share) * to; };
      if (d.rows.empty()) {
        auto& v = next.v.of.emplace_back(moved(squares, entry(s.v, "v", p, i, {})));
        next.v_row.of.emplace_back();
        next.v_col.of.emplace_back();
        r.push_back((g * rsqrt(v)).astype(u[i].dtype()));
      } else {
        auto& row = entry(s.v_row, "v_row", p, i, d.columns);
        auto& col = entry(s.v_col, "v_col", p, i, d.rows);
        auto& v_row = next.v_row.of.emplace_back(moved(complete_like(mean_over(squares, d.columns), row), row));
        auto& v_col = next.v_col.of.emplace_back(moved(complete_like(mean_over(squares, d.rows), col), col));
        next.v.of.emplace_back();
        auto row_factor = rsqrt(v_row / mean_over(v_row, d.rows)), col_factor = rsqrt(v_col);
        r.push_back((g * row_factor * col_factor).astype(u[i].dtype()));
      }
    }
    return {r, next};
  }
  static std::vector<FactoredRms> samples() {
    return {{{}},
            {{.min_dim_size_to_factor = 3}},
            {{.decay_rate = 0.6, .step_offset = -2, .rules = standard_factor_rules()}}};
  }
};
}  // namespace
Transform scale_by_factored_rms(ScaleByFactoredRms o) { return Transform(FactoredRms{std::move(o)}); }

Transform adafactor(AdafactorOptions o) {
  auto decay = [rate = o.learning_rate, wd = o.weight_decay_rate, k = o.weight_decay_rate_lr_exponent]() -> Schedule {
    if (!k) return wd.value_or(0);
    return [=](const Array& step) { return wd.value_or(1) * pow(rate(step), *k); };
  };
  std::vector<Transform> parts{scale_by_factored_rms({.factored = o.factored,
                                                      .decay_rate = o.decay_rate,
                                                      .step_offset = o.decay_offset,
                                                      .min_dim_size_to_factor = o.min_dim_size_to_factor,
                                                      .eps = o.eps,
                                                      .rules = o.rules})};
  if (o.clipping_threshold) parts.push_back(clip_by_block_rms(*o.clipping_threshold, o.rules));
  parts.push_back(scale_by_schedule(o.learning_rate));
  if (o.multiply_by_parameter_scale)
    parts.push_back(scale_by_param_block_rms({o.min_parameter_scale, o.max_parameter_scale, o.rules}));
  if (o.momentum) parts.push_back(ema(*o.momentum, false));
  if (o.weight_decay_rate_lr_exponent) parts.push_back(add_decayed_weights(decay(), o.mask));
  else if (o.weight_decay_rate) parts.push_back(add_decayed_weights(*o.weight_decay_rate, o.mask));
  parts.push_back(scale(-1));
  return chain_of(parts);
}
void AdafactorConfig::check() const {
  settings::check_numbers(*this);
  (void)settings::parse_factor_rules(factor_rules);
  bora::check<ConfigError>(factor_by_axes || factor_rules.empty(), "factor_rules: needs factor_by_axes: true");
  config::domain(step_offset >= 0, "step_offset", step_offset, "0 or more");
  settings::check_steps("step_offset", step_offset);
  config::domain(min_dim_size_to_factor > 0, "min_dim_size_to_factor", min_dim_size_to_factor, "above 0");
}
Transform AdafactorConfig::make(const Schedule& rate, const Mask& decays) const {
  using settings::if_positive;
  auto t = adafactor({.learning_rate = rate,
                      .min_dim_size_to_factor = min_dim_size_to_factor,
                      .decay_rate = decay_rate,
                      .decay_offset = step_offset,
                      .multiply_by_parameter_scale = multiply_by_parameter_scale,
                      .clipping_threshold = if_positive(clipping_threshold),
                      .momentum = if_positive(beta1),
                      .weight_decay_rate = if_positive(weight_decay),
                      .mask = decays,
                      .rules = factor_by_axes ? settings::parse_factor_rules(factor_rules) : FactorRules()});
  return settings::with_factor_rules(settings::clipped(clip, t), factor_rules);
}
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::AdafactorConfig>>;
