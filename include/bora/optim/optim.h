// optim.h -- gradient transformations and optimizers with Optax's names and numerics (deepmind/optax). A
// transformation turns gradients into updates and carries a State; chain composes.
#pragma once
#include "bora/named/named.h"
#include "bora/optim/schedule.h"
#include "bora/optim/transform.h"

namespace bora::optim {
// ---- transformations ------------------------------------------------------------------------------------------------
/// Gradients scaled so that their global norm is at most max_norm.
Transform clip_by_global_norm(double max_norm);
Transform scale(double factor);
Transform scale_by_learning_rate(Schedule learning_rate);  // times -learning_rate
Transform add_decayed_weights(double weight_decay, Mask mask = {});
Transform trace(double decay, bool nesterov = false);
struct ScaleByAdam {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  static constexpr std::string_view name = "adam";
  struct State {
    Array count = {};
    Arrays mu = {}, nu = {};
  };
  State init(const Leaves& params) const;
  std::pair<Arrays, State> update(const Arrays& updates, const State&, const Leaves& params) const;
  static std::vector<ScaleByAdam> samples();
};
/// Kingma & Ba 2015. Moments have the parameters' dtype.
Transform scale_by_adam(ScaleByAdam options = {});
struct ScaleByLion {
  double b1 = 0.9, b2 = 0.99;
  static constexpr std::string_view name = "lion";
  struct State {
    Arrays mu = {};
  };
  State init(const Leaves& params) const;
  std::pair<Arrays, State> update(const Arrays& updates, const State&, const Leaves& params) const;
  static std::vector<ScaleByLion> samples();
};
/// The sign of a mean of gradients (Chen et al. 2023, arXiv:2302.06675). One moment, in the parameters' dtype.
Transform scale_by_lion(ScaleByLion options = {});

// ---- optimizers -----------------------------------------------------------------------------------------------------
struct AdamWOptions {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0, weight_decay = 1e-4;
  Mask mask = {};  // parameters that decay; default: all
};
/// Adam with decoupled weight decay (Loshchilov & Hutter 2019).
Transform adamw(AdamWOptions options = {});
struct AdamOptions {
  Schedule learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
};
Transform adam(AdamOptions options = {});
struct LionOptions {
  Schedule learning_rate = 1e-3;  // a third to a tenth of AdamW's
  double b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
  Mask mask = {};  // parameters that decay; default: all
};
/// Lion with decoupled weight decay: 3 to 10 times AdamW's, for a learning rate that is as much smaller.
Transform lion(LionOptions options = {});
struct SgdOptions {
  Schedule learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
};
Transform sgd(SgdOptions options = {});

// ---- updates --------------------------------------------------------------------------------------------------------
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
