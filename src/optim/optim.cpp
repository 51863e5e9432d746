#include "bora/optim/optim.h"
#include <algorithm>
#include <numbers>
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"

namespace bora::optim {
namespace {
/// Zeros laid out as the parameter.
Array zeros_beside(const Array& p) { return reshard_like(zeros_like(p), p); }
const Array& entry(const State& s, const std::string& name) {
  auto it = s.entries.find(name);
  check<ValueError>(it != s.entries.end(), "optim: the state has no entry '", name,
                    "'; it was made for other parameters or another optimizer");
  return it->second;
}
/// The entry of parameter i.
const Array& entry(const State& s, const std::string& kind, const Leaves& p, std::size_t i) {
  auto& a = entry(s, kind + "." + p.paths[i]);
  check<ShapeError>(a.shape() == p.arrays[i].shape(), "optim: the state's entry '", kind, ".", p.paths[i], "' is ",
                    a.type(), ", the parameter is ", p.arrays[i].type(), "; the state was made for other parameters");
  return a;
}
Transform stateless(std::function<Arrays(const Arrays&, const Leaves&)> f) {
  return Transform({[](const Leaves&) { return State{}; },
                    [f = std::move(f)](const Arrays& u, const State& s, const Leaves& p) {
                      return std::pair{f(u, p), s};
                    }});
}
Array next_count(const Array& count) { return count + 1; }
}  // namespace

void check_shapes(std::string_view what, const Leaves& p, const Arrays& given) {
  for (std::size_t i = 0; i < std::min(p.arrays.size(), given.size()); ++i)
    check<ShapeError>(given[i].shape() == p.arrays[i].shape(), what, " of '", p.paths[i], "' is ", given[i].type(),
                      ", the parameter is ", p.arrays[i].type());
  check<ValueError>(given.size() == p.arrays.size(), what, ": ", given.size(), " arrays for ", p.arrays.size(),
                    " parameters");
}
Arrays Transform::settled(Arrays g, const Leaves& params) {
  check_shapes("optim: the gradient", params, g);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = complete_like(g[i], params.arrays[i]);
  return g;
}
Array Schedule::constant_value(Scalar v) { return constant(v, f32); }
Schedule constant_schedule(double value) { return Schedule(value); }
Schedule linear_schedule(double init, double end, std::int64_t steps) {
  check<ValueError>(steps >= 0, "linear_schedule: steps must not be negative, got ", steps);
  if (steps == 0) return Schedule(end);
  return Schedule([=](const Array& step) {
    auto done = clip(step.astype(f32), 0, static_cast<double>(steps)) / static_cast<double>(steps);
    return (init - end) * (1 - done) + end;
  });
}
Schedule cosine_decay_schedule(double init, std::int64_t decay_steps, double alpha) {
  check<ValueError>(decay_steps > 0, "cosine_decay_schedule: decay_steps must be positive, got ", decay_steps);
  return Schedule([=](const Array& step) {
    auto done = minimum(step.astype(f32), static_cast<double>(decay_steps)) / static_cast<double>(decay_steps);
    return init * ((1 - alpha) * (0.5 * (1 + cos(std::numbers::pi * done))) + alpha);
  });
}
Schedule warmup_cosine_decay_schedule(double init, double peak, std::int64_t warmup_steps, std::int64_t decay_steps,
                                      double end) {
  check<ValueError>(0 <= warmup_steps && warmup_steps < decay_steps,
                    "warmup_cosine_decay_schedule: needs 0 <= warmup_steps < decay_steps, got ", warmup_steps, " and ",
                    decay_steps);
  auto warmup = linear_schedule(init, peak, warmup_steps),
       decay = cosine_decay_schedule(peak, decay_steps - warmup_steps, peak == 0 ? 0 : end / peak);
  return Schedule([=](const Array& step) {
    return where(step < warmup_steps, warmup(step), decay(maximum(step - warmup_steps, 0)));
  });
}

Transform chain_of(const std::vector<Transform>& parts) {
  auto prefix = [](std::size_t i) { return std::to_string(i) + "."; };
  return Transform({[=](const Leaves& p) {
                      State all;
                      for (std::size_t i = 0; i < parts.size(); ++i)
                        for (auto& [name, a] : parts[i].rule().init(p).entries) all.entries[prefix(i) + name] = a;
                      return all;
                    },
                    [=](const Arrays& updates, const State& s, const Leaves& p) {
                      State next;
                      auto u = updates;
                      for (std::size_t i = 0; i < parts.size(); ++i) {
                        State mine;
                        for (auto& [name, a] : s.entries)
                          if (name.starts_with(prefix(i))) mine.entries[name.substr(prefix(i).size())] = a;
                        auto r = parts[i].rule().update(u, mine, p);
                        u = std::move(r.first);
                        for (auto& [name, a] : r.second.entries) next.entries[prefix(i) + name] = a;
                      }
                      return std::pair{u, next};
                    }});
}
Transform identity() {
  return stateless([](const Arrays& u, const Leaves&) { return u; });
}
Array global_norm_of(const Arrays& arrays) {
  Array total = constant(0.0, f32);
  for (auto& a : arrays) total = total + sum(square(a.astype(f32)));
  return sqrt(total);
}
Transform clip_by_global_norm(double max_norm) {
  check<ValueError>(max_norm > 0, "clip_by_global_norm: max_norm must be positive, got ", max_norm);
  return stateless([=](const Arrays& u, const Leaves&) {
    auto norm = global_norm_of(u);
    auto small = norm < max_norm;
    Arrays r;
    for (auto& g : u) r.push_back(where(small, g, (g / norm.astype(g.dtype())) * max_norm));
    return r;
  });
}
Transform scale(double factor) {
  return stateless([=](const Arrays& u, const Leaves&) {
    Arrays r;
    for (auto& g : u) r.push_back(g * factor);
    return r;
  });
}
Transform scale_by_learning_rate(Schedule rate) {
  return Transform({[](const Leaves&) {
                      return State{{{"count", zeros({}, i32)}}};
                    },
                    [rate](const Arrays& u, const State& s, const Leaves&) {
                      auto& count = entry(s, "count");
                      auto step = -rate(count);
                      Arrays r;
                      for (auto& g : u) r.push_back(step.astype(g.dtype()) * g);
                      return std::pair{r, State{{{"count", next_count(count)}}}};
                    }});
}
Transform add_decayed_weights(double weight_decay, Mask mask) {
  return stateless([=](const Arrays& u, const Leaves& p) {
    Arrays r;
    for (std::size_t i = 0; i < u.size(); ++i)
      r.push_back(!mask || mask(p.paths[i], p.arrays[i]) ? u[i] + weight_decay * p.arrays[i] : u[i]);
    return r;
  });
}
Transform scale_by_adam(ScaleByAdam o) {
  return Transform({[](const Leaves& p) {
                      State s{{{"count", zeros({}, i32)}}};
                      for (std::size_t i = 0; i < p.paths.size(); ++i) {
                        s.entries["mu." + p.paths[i]] = zeros_beside(p.arrays[i]);
                        s.entries["nu." + p.paths[i]] = zeros_beside(p.arrays[i]);
                      }
                      return s;
                    },
                    [o](const Arrays& u, const State& s, const Leaves& p) {
                      auto count = next_count(entry(s, "count"));
                      auto t = count.astype(f32);
                      auto correction1 = 1 - pow(constant(o.b1, f32), t), correction2 = 1 - pow(constant(o.b2, f32), t);
                      State next{{{"count", count}}};
                      Arrays r;
                      for (std::size_t i = 0; i < u.size(); ++i) {
                        auto& g = u[i];
                        auto mu = (1 - o.b1) * g + o.b1 * entry(s, "mu", p, i),
                             nu = (1 - o.b2) * (g * g) + o.b2 * entry(s, "nu", p, i);
                        auto mu_hat = mu / correction1.astype(mu.dtype()), nu_hat = nu / correction2.astype(nu.dtype());
                        r.push_back(mu_hat / (sqrt(o.eps_root == 0 ? nu_hat : nu_hat + o.eps_root) + o.eps));
                        next.entries["mu." + p.paths[i]] = mu;
                        next.entries["nu." + p.paths[i]] = nu;
                      }
                      return std::pair{r, next};
                    }});
}
Transform trace(double decay, bool nesterov) {
  return Transform({[](const Leaves& p) {
                      State s;
                      for (std::size_t i = 0; i < p.paths.size(); ++i)
                        s.entries["trace." + p.paths[i]] = zeros_beside(p.arrays[i]);
                      return s;
                    },
                    [=](const Arrays& u, const State& s, const Leaves& p) {
                      State next;
                      Arrays r;
                      for (std::size_t i = 0; i < u.size(); ++i) {
                        auto t = u[i] + decay * entry(s, "trace", p, i);
                        r.push_back(nesterov ? u[i] + decay * t : t);
                        next.entries["trace." + p.paths[i]] = t;
                      }
                      return std::pair{r, next};
                    }});
}
Transform adamw(AdamW o) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}), add_decayed_weights(o.weight_decay, o.mask),
               scale_by_learning_rate(o.learning_rate));
}
Transform adam(Adam o) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}), scale_by_learning_rate(o.learning_rate));
}
Transform sgd(Sgd o) {
  return o.momentum == 0 ? scale_by_learning_rate(o.learning_rate)
                         : chain(trace(o.momentum, o.nesterov), scale_by_learning_rate(o.learning_rate));
}
Arrays apply_updates_flat(const Arrays& params, const Arrays& updates) {
  Arrays r;
  for (std::size_t i = 0; i < params.size(); ++i) r.push_back(params[i] + updates.at(i).astype(params[i].dtype()));
  return r;
}
}  // namespace bora::optim
