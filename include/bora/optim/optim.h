// optim.h -- gradient transformations with Optax's names and numerics (deepmind/optax). A transformation turns
// gradients into updates and carries a State; chain composes. One State type serves all, so that a user's struct can
// name it: its entries are named by the place in the chain and the parameter's path
// ("1.0.mu.blocks.layer.attn.q.weight") and split as the parameters are.
#pragma once
#include <functional>
#include <map>
#include "bora/named/named.h"

namespace bora::optim {
struct State {
  std::map<std::string, Array> entries = {};
};
/// A number for each step: a constant, or a function of the step's number (an i32 scalar) that can be staged.
class Schedule {
 public:
  template <Number T> Schedule(T v) : at_([v](const Array&) { return constant_value(v); }) {}
  template <std::invocable<const Array&> F> Schedule(F f) : at_(std::move(f)) {}
  /// f32 scalar.
  Array operator()(const Array& step) const { return at_(step); }
 private:
  static Array constant_value(Scalar v);
  std::function<Array(const Array&)> at_;
};
Schedule constant_schedule(double value);
/// From init to end in `steps` steps, then end.
Schedule linear_schedule(double init, double end, std::int64_t steps);
/// init * (alpha + (1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2), then init * alpha (Loshchilov & Hutter 2017).
Schedule cosine_decay_schedule(double init, std::int64_t decay_steps, double alpha = 0);
/// Linear from init to peak in warmup_steps, then cosine to end at decay_steps (counted from the start, as in Optax).
Schedule warmup_cosine_decay_schedule(double init, double peak, std::int64_t warmup_steps, std::int64_t decay_steps,
                                      double end = 0);

/// Selects the parameters that a transformation applies to.
using Mask = std::function<bool(const std::string& path, const Array& parameter)>;

/// Leaves of a tree with their paths: the input of a transformation.
struct Leaves {
  std::vector<std::string> paths;
  Arrays arrays;
};
/// ShapeError with the path of the first parameter whose shape `given` does not match; what: "optim: the gradient".
void check_shapes(std::string_view what, const Leaves& params, const Arrays& given);
template <class P> struct Updated {
  P updates;
  State state;
};
/// A gradient transformation: a value; composes with chain.
class Transform {
 public:
  struct Rule {
    std::function<State(const Leaves& params)> init;
    std::function<std::pair<Arrays, State>(const Arrays& updates, const State&, const Leaves& params)> update;
  };
  explicit Transform(Rule r) : rule_(std::make_shared<const Rule>(std::move(r))) {}
  const Rule& rule() const { return *rule_; }
  template <class P> State init(const P& params) const { return rule_->init(leaves_of(params)); }
  /// {updates like params, next state}. params may be any tree with the structure of the gradients.
  template <class P> Updated<P> update(const P& gradients, const State& state, const P& params) const {
    auto p = leaves_of(params);
    auto [u, next] = rule_->update(settled(tree::leaves(gradients), p), state, p);
    return {tree::unflatten(params, u), std::move(next)};
  }
 private:
  /// Gradients laid out as their parameters, pending sums completed once. Throws as check_shapes.
  static Arrays settled(Arrays gradients, const Leaves& params);
  template <class P> static Leaves leaves_of(const P& p) { return {tree::paths(p), tree::leaves(p)}; }
  std::shared_ptr<const Rule> rule_;
};
Transform chain_of(const std::vector<Transform>& parts);
template <std::same_as<Transform>... T> Transform chain(const T&... parts) { return chain_of({parts...}); }
Transform identity();
/// Gradients scaled so that their global norm is at most max_norm.
Transform clip_by_global_norm(double max_norm);
Transform scale(double factor);
Transform scale_by_learning_rate(Schedule learning_rate);  // times -learning_rate
Transform add_decayed_weights(double weight_decay, Mask mask = {});
struct ScaleByAdam {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
};
/// Kingma & Ba 2015. Moments have the parameters' dtype.
Transform scale_by_adam(ScaleByAdam options = {});
Transform trace(double decay, bool nesterov = false);
struct AdamW {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0, weight_decay = 1e-4;
  Mask mask = {};  // parameters that decay; default: all
};
/// Adam with decoupled weight decay (Loshchilov & Hutter 2019).
Transform adamw(AdamW options = {});
struct Adam {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
};
Transform adam(Adam options = {});
struct Sgd {
  Schedule learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
};
Transform sgd(Sgd options = {});
/// sqrt of the sum of squares of all numbers, f32.
Array global_norm_of(const Arrays& arrays);
template <class T> Array global_norm(const T& t) { return global_norm_of(tree::leaves(t)); }
/// params + updates, in the parameters' dtypes.
Arrays apply_updates_flat(const Arrays& params, const Arrays& updates);
template <class P> P apply_updates(P params, const P& updates) {
  Leaves before{tree::paths(params), tree::leaves(params)};
  auto by = tree::leaves(updates);
  check_shapes("apply_updates: the update", before, by);
  auto after = apply_updates_flat(before.arrays, by);
  return tree::unflatten(std::move(params), after);
}
}  // namespace bora::optim
