#include <algorithm>
#include <cmath>
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "bora/optim/optim.h"
#include "moments.h"

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
  if (!d.ruled) {
    d.rows = {0};
    d.columns = {1};
  }
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
      auto y = orthogonal(reshape(transpose(hat, m.order), m.flat), m);
      y = transpose(reshape(y, m.ordered), m.back);
      if (o.adaptive) y = sum(hat * y) * y;
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
  auto others =
      chain(scale_by_adam({o.b1, o.b2, o.muon.eps, 0, o.muon.nesterov}), add_decayed_weights(o.adam_weight_decay),
            scale_by_learning_rate(o.adam_learning_rate.value_or(o.learning_rate)));
  return partition({{"muon", matrices, orthogonal}, {"adam", others}});
}
}  // namespace bora::optim
