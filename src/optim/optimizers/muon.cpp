#include <algorithm>
#include <cmath>
#include "bora/named/axes.h"
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/optim/optimizers.h"
#include "optim/optimizers/settings.h"
#include "optim/transforms/moments.h"

namespace bora::optim {
namespace {
bool is_matrix(const Leaves& p, std::size_t i, const FactorRules& rules) {
  auto d = factor_dims(p, i, rules);
  return d.ruled ? !d.rows.empty() : p.arrays[i].ndim() == 2;
}
/// A parameter as matrices: [batch.., rows.., columns..] is [batches, rows, columns].
struct Matrices {
  Dims order = {}, back = {};
  Shape ordered = {}, flat = {};
  double rows = 1, columns = 1;
};
Matrices matrices(const Leaves& p, std::size_t i, const FactorRules& rules) {
  auto d = factor_dims(p, i, rules);
  auto shape = p.arrays[i].shape();
  if (!d.ruled) d.rows = {0}, d.columns = {1};
  if (d.columns.front() < d.rows.front()) std::swap(d.rows, d.columns);  // as layers have them: inputs, then outputs
  Matrices m;
  std::int64_t batches = 1, rows = 1, columns = 1;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(shape.size()); ++k) {
    auto in = [&](const Dims& of) { return std::find(of.begin(), of.end(), k) != of.end(); };
    auto n = shape[static_cast<std::size_t>(k)];
    if (in(d.rows)) rows *= n;
    else if (in(d.columns)) columns *= n;
    else {
      batches *= n;
      m.order.push_back(k);
    }
  }
  m.order.insert(m.order.end(), d.rows.begin(), d.rows.end());
  m.order.insert(m.order.end(), d.columns.begin(), d.columns.end());
  m.back.resize(m.order.size());
  for (std::size_t k = 0; k < m.order.size(); ++k) {
    m.back[static_cast<std::size_t>(m.order[k])] = static_cast<std::int64_t>(k);
    m.ordered.push_back(shape[static_cast<std::size_t>(m.order[k])]);
  }
  m.flat = {batches, rows, columns};
  m.rows = static_cast<double>(rows);
  m.columns = static_cast<double>(columns);
  return m;
}
struct Muon {
  ScaleByMuon o;
  static constexpr std::string_view name = "muon";
  struct State {
    Array count = {};
    Arrays mu = {};
  };
  State init(const Leaves& p) const { return {zero_count(), zeros_beside(p)}; }
  /// Singular values near 1 by Newton-Schulz steps of degree 5, on the side with fewer rows.
  Array orthogonal(Array x, const Matrices& m) const {
    bool tall = m.rows > m.columns;
    if (tall) x = swapaxes(x, 1, 2);
    x = x / (sqrt(sum(square(x), {1, 2}, {.keepdims = true})) + o.eps);
    auto [c0, c1, c2] = o.coefficients;
    for (std::int64_t k = 0; k < o.steps; ++k) {
      auto a = matmul(x, swapaxes(x, 1, 2));
      x = c0 * x + matmul(c1 * a + matmul(c2 * a, a), x);
    }
    return tall ? swapaxes(x, 1, 2) : x;
  }
  std::pair<Arrays, State> update(const Arrays& u, const State& s, const Leaves& p) const {
    State next{safe_increment(s.count)};
    auto now = bias_correction(o.beta, next.count);
    auto ahead = o.nesterov ? bias_correction(o.beta, safe_increment(next.count)) : now;
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i) {
      if (!is_matrix(p, i, o.rules)) {
        r.push_back(u[i]);
        next.mu.push_back(s.mu[i]);
        continue;
      }
      auto& mu = next.mu.emplace_back(update_moment(u[i], s.mu[i], o.beta));
      auto hat = mu / ahead.astype(mu.dtype());
      if (o.nesterov) hat = o.beta * hat + (1 - o.beta) * (u[i] / now.astype(u[i].dtype()));
      auto m = matrices(p, i, o.rules);
      auto flat = reshape(transpose(hat, m.order), m.flat);
      auto y = orthogonal(flat, m);
      if (o.adaptive) y = sum(flat * y, {1, 2}, {.keepdims = true}) * y;
      y = transpose(reshape(y, m.ordered), m.back);
      auto scale = o.consistent_rms ? std::sqrt(std::max(m.rows, m.columns)) * *o.consistent_rms
                                    : std::sqrt(std::max(1.0, m.columns / m.rows));
      r.push_back(reshard_like(y * scale, p.arrays[i]));
    }
    return {r, next};
  }
  static std::vector<Muon> samples() {
    return {{{}},
            {{.steps = 3, .beta = 0.8, .nesterov = false, .adaptive = true, .consistent_rms = 0.2}},
            {{.rules = standard_factor_rules()}}};
  }
};
}  // namespace
Transform scale_by_muon(ScaleByMuon o) { return Transform(Muon{std::move(o)}); }
Transform muon(MuonOptions o) {
  auto orthogonal = [mask = o.orthogonal, rules = o.muon.rules](const Leaves& p, std::size_t i) {
    return is_matrix(p, i, rules) && mask(p, i);
  };
  auto matrices = chain(scale_by_muon(o.muon), add_decayed_weights(o.weight_decay, o.mask),
                        scale_by_learning_rate(o.learning_rate));
  auto others = chain(scale_by_adam({o.b1, o.b2, o.muon.eps, 0, o.muon.nesterov}),
                      add_decayed_weights(o.adam_weight_decay, o.adam_mask),
                      scale_by_learning_rate(o.adam_learning_rate.value_or(o.learning_rate)));
  return partition({{"muon", matrices, orthogonal}, {"adam", others}});
}
namespace {
/// Matrices of hidden layers: no table of tokens or positions, nothing that a factor rule calls no matrix.
bool is_hidden(const Leaves& p, std::size_t i, const FactorRules& rules) {
  bool known = i < p.axes.size() && !p.axes[i].empty(), row = false, column = false, other = false;
  for (auto& name : known ? p.axes[i] : std::vector<std::string>()) {
    auto rule = rules.find(name);
    if (name == "vocab" || name == "position") return false;
    if (rule == rules.end() && name == kAdapterRank) other = true;  // as factor_dims sees it
    else if (rule == rules.end()) known = false;
    else if (rule->second == FactorDim::none) return false;
    else {
      row = row || rule->second == FactorDim::row;
      column = column || rule->second == FactorDim::column;
    }
  }
  return !known || (row && column) || (other && (row || column));
}
struct MuonConfig {
  static constexpr std::string_view type = "muon";
  double lr = 0.02, adam_lr = 1e-3, beta = 0.95, consistent_rms = 0;
  std::int64_t steps = 5;
  bool nesterov = true, adaptive = false;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1, clip = 1;
  std::vector<std::string> factor_rules = {};
  ScheduleConfig schedule = {};
  static constexpr config::Meaning meanings[] = {
      {"lr", "largest learning rate of matrices of hidden layers"},
      {"adam_lr", "of all other parameters, which AdamW trains; 0: as lr"},
      {"beta", "decay of the mean of gradients of matrices"},
      {"consistent_rms", "size of a matrix update, such as 0.2; 0: by the shape of the matrix"},
      {"steps", "Newton-Schulz steps that make a mean orthogonal"},
      {"nesterov", "means look ahead by one gradient"},
      {"adaptive", "updates as large as the gradient along them"},
      {"beta1", "AdamW: decay of the mean of gradients"},
      {"beta2", "AdamW: decay of the mean of their squares"},
      {"eps", settings::kEps},
      {"weight_decay", settings::kDecay},
      {"clip", settings::kClip},
      {"factor_rules", settings::kFactorRules},
      {"schedule", ""}};
  void check() const {
    settings::check_numbers(*this);
    config::domain(steps >= 1 && steps <= 100, "steps", steps, "from 1 to 100");  // each is a part of the Program
    (void)settings::parse_factor_rules(factor_rules);
  }
  Transform make(const Schedule& rate, const Mask& decays = by_layer) const {
    auto rules = settings::parse_factor_rules(factor_rules);
    Schedule adam_rate = [rate, k = adam_lr / lr](const Array& step) { return k * rate(step); };
    auto hidden = [rules](const Leaves& p, std::size_t i) { return is_hidden(p, i, rules); };
    auto t = muon({.learning_rate = rate,
                   .muon = {.steps = steps,
                            .beta = beta,
                            .eps = eps,
                            .nesterov = nesterov,
                            .adaptive = adaptive,
                            .consistent_rms = settings::if_positive(consistent_rms),
                            .rules = rules},
                   .weight_decay = weight_decay,
                   .mask = decays,
                   .orthogonal = hidden,
                   .adam_learning_rate = adam_lr > 0 ? adam_rate : rate,
                   .b1 = beta1,
                   .b2 = beta2,
                   .adam_weight_decay = weight_decay,
                   .adam_mask = decays});
    return settings::with_factor_rules(settings::clipped(clip, t), factor_rules);
  }
};
}  // namespace
}  // namespace bora::optim
template const bool bora::config::added<bora::optim::KindOf<bora::optim::MuonConfig>>;
