// Relatives of Adam and small transformations.
#include "bora/optim/further.h"
#include "moments.h"

namespace bora::optim {
namespace {
/// A moment that began with 0, as a mean.
Array corrected(const Array& moment, double decay, const Array& count) {
  return moment / bias_correction(decay, count).astype(moment.dtype());
}
/// The mean gradient, with Nesterov's look ahead: Dozat 2016.
Array mean_gradient(const Array& mu, const Array& u, double b1, const Array& count, bool nesterov) {
  if (!nesterov) return corrected(mu, b1, count);
  return b1 * corrected(mu, b1, safe_increment(count)) + (1 - b1) * corrected(u, b1, count);
}
struct Moments {
  Array count = {};
  Arrays mu = {}, nu = {};
};
struct Amsgrad {
  ScaleByAmsgrad o;
  static constexpr std::string_view name = "amsgrad";
  struct State {
    Array count = {};
    Arrays mu = {}, nu = {}, nu_max = {};
  };
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p), zeros_beside(p), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i]), s.nu[i], o.b2));
      auto& most = next.nu_max.emplace_back(maximum(s.nu_max[i], corrected(nu, o.b2, next.count)));
      r.push_back(corrected(mu, o.b1, next.count) / (sqrt(most + o.eps_root) + o.eps));
    }
    return {r, next};
  }
  static std::vector<Amsgrad> samples() { return {{{}}, {{.b1 = 0.8, .b2 = 0.5, .eps = 1e-4, .eps_root = 1e-3}}}; }
};
struct Belief {
  ScaleByBelief o;
  static constexpr std::string_view name = "belief";
  using State = Moments;
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i] - mu), s.nu[i], o.b2) + o.eps_root);
      auto mean = mean_gradient(mu, u[i], o.b1, next.count, o.nesterov);
      r.push_back(mean / (sqrt(corrected(nu, o.b2, next.count)) + o.eps));
    }
    return {r, next};
  }
  static std::vector<Belief> samples() {  // the error of a first step is rounding unless eps is larger
    return {{{.eps = 1e-3, .eps_root = 1e-4}}, {{.b1 = 0.8, .b2 = 0.95, .eps = 1e-2, .nesterov = true}}};
  }
};
struct Yogi {
  ScaleByYogi o;
  static constexpr std::string_view name = "yogi";
  using State = Moments;
  State init(const Leaves& p) const {
    return {zero_count(), full_beside(p, o.initial_accumulator_value), full_beside(p, o.initial_accumulator_value)};
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto square = absolute_square(u[i]);
      auto& nu = next.nu.emplace_back(s.nu[i] - (1 - o.b2) * sign(s.nu[i] - square) * square);
      r.push_back(corrected(mu, o.b1, next.count) /
                  (sqrt(corrected(nu, o.b2, next.count) + o.eps_root) + o.eps));
    }
    return {r, next};
  }
  static std::vector<Yogi> samples() { return {{{}}, {{.b1 = 0.8, .b2 = 0.9, .eps_root = 1e-3}}}; }
};
struct Radam {
  ScaleByRadam o;
  static constexpr std::string_view name = "radam";
  using State = Moments;
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next{safe_increment(s.count)};
    auto longest = 2 / (1 - o.b2) - 1;
    auto n = next.count.astype(f64), power = pow(constant(o.b2, f64), n);  // f32 would lose a hundredth of 1999 - 1997
    auto length = longest - 2 * n * power / (1 - power);
    auto known = length >= o.threshold;
    auto safe = where(known, length, longest);  // the root of a negative number would spoil derivatives
    auto factor = sqrt((safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe));
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.b1));
      auto& nu = next.nu.emplace_back(update_moment(absolute_square(u[i]), s.nu[i], o.b2));
      auto mean = mean_gradient(mu, u[i], o.b1, next.count, o.nesterov);
      auto scaled = factor.astype(mean.dtype()) * mean / (sqrt(corrected(nu, o.b2, next.count) + o.eps_root) + o.eps);
      r.push_back(where(known, scaled, mean));
    }
    return {r, next};
  }
  static std::vector<Radam> samples() {
    return {{{}}, {{.b1 = 0.8, .b2 = 0.9, .eps_root = 1e-3, .nesterov = true}}};
  }
};
struct Adadelta {
  double rho = 0.9, eps = 1e-6;
  static constexpr std::string_view name = "adadelta";
  struct State {
    Arrays e_g = {}, e_x = {};
  };
  State init(const Leaves& p) const { return {zeros_beside(p), zeros_beside(p)}; }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves&) const {
    State next;
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      auto& g = next.e_g.emplace_back(update_moment(absolute_square(u[i]), s.e_g[i], rho));
      auto& step = r.emplace_back(sqrt(s.e_x[i] + eps) / sqrt(g + eps) * u[i]);
      next.e_x.push_back(update_moment(absolute_square(step), s.e_x[i], rho));
    }
    return {r, next};
  }
  static std::vector<Adadelta> samples() { return {{}, {0.5, 1e-3}}; }
};
struct Sign {
  static constexpr std::string_view name = "sign";
  Arrays update(const Arrays& u, const Leaves&) const {
    Arrays r;
    for (auto& x : u) r.push_back(sign(x));
    return r;
  }
  static std::vector<Sign> samples() { return {{}}; }
};
struct Centralize {
  static constexpr std::string_view name = "centralize";
  Arrays update(const Arrays& u, const Leaves&) const {
    Arrays r;
    for (auto& x : u) {
      Dims rest;
      for (std::int64_t d = 1; d < x.ndim(); ++d) rest.push_back(d);
      r.push_back(rest.empty() ? x : x - mean(x, rest, {.keepdims = true}));
    }
    return r;
  }
  static std::vector<Centralize> samples() { return {{}}; }
};
struct ZeroNans {
  static constexpr std::string_view name = "zero_nans";
  Arrays update(const Arrays& u, const Leaves&) const {
    Arrays r;
    for (auto& x : u) r.push_back(where(isnan(x), 0, x));
    return r;
  }
  static std::vector<ZeroNans> samples() { return {{}}; }
};
struct SetToZero {
  static constexpr std::string_view name = "set_to_zero";
  Arrays update(const Arrays&, const Leaves& p) const { return zeros_beside(p); }
  static std::vector<SetToZero> samples() { return {{}}; }
};
struct KeepNonnegative {
  static constexpr std::string_view name = "keep_params_nonnegative";
  Arrays update(const Arrays& u, const Leaves& p) const {
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) r.push_back(where(p.arrays[i] + u[i] < 0, -p.arrays[i], u[i]));
    return r;
  }
  static std::vector<KeepNonnegative> samples() { return {{}}; }
};
}  // namespace
Transform scale_by_amsgrad(ScaleByAmsgrad o) { return Transform(Amsgrad{o}); }
Transform scale_by_belief(ScaleByBelief o) { return Transform(Belief{o}); }
Transform scale_by_yogi(ScaleByYogi o) { return Transform(Yogi{o}); }
Transform scale_by_radam(ScaleByRadam o) {
  check<ValueError>(o.threshold >= 4, "scale_by_radam: threshold must be 4 or more, got ", o.threshold,
                    ": below it the variance is not known");
  return Transform(Radam{o});
}
Transform scale_by_adadelta(double rho, double eps) { return Transform(Adadelta{rho, eps}); }
Transform scale_by_sign() { return Transform(Sign{}); }
Transform centralize() { return Transform(Centralize{}); }
Transform zero_nans() { return Transform(ZeroNans{}); }
Transform set_to_zero() { return Transform(SetToZero{}); }
Transform keep_params_nonnegative() { return Transform(KeepNonnegative{}); }

Transform amsgrad(AmsgradOptions o) {
  return chain(scale_by_amsgrad(o.moments), scale_by_learning_rate(o.learning_rate));
}
Transform adabelief(AdabeliefOptions o) {
  return chain(scale_by_belief(o.moments), scale_by_learning_rate(o.learning_rate));
}
Transform yogi(YogiOptions o) { return chain(scale_by_yogi(o.moments), scale_by_learning_rate(o.learning_rate)); }
Transform radam(RadamOptions o) { return chain(scale_by_radam(o.moments), scale_by_learning_rate(o.learning_rate)); }
Transform adadelta(AdadeltaOptions o) {
  return chain(add_decayed_weights(o.weight_decay, o.mask), scale_by_adadelta(o.rho, o.eps),
               scale_by_learning_rate(o.learning_rate));
}
Transform sign_sgd(SignSgdOptions o) { return chain(scale_by_sign(), scale_by_learning_rate(o.learning_rate)); }
Transform lars(LarsOptions o) {
  return chain(add_decayed_weights(o.weight_decay, o.weight_decay_mask),
               masked(scale_by_trust_ratio(0, o.trust_coefficient, o.eps), o.trust_ratio_mask),
               scale_by_learning_rate(o.learning_rate), trace(o.momentum, o.nesterov));
}
}  // namespace bora::optim
