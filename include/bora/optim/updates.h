// updates.h -- parameters and their updates as trees: their norm, their sum, the parameters to evaluate.
#pragma once
#include "bora/optim/transform.h"
#include "bora/optim/transforms.h"

namespace bora::optim {
// sqrt of the sum of squares of all numbers, f32.
Array global_norm_of(const Arrays& arrays);
template <class T> Array global_norm(const T& t) { return global_norm_of(tree::leaves(t)); }
/// The same of each array: f32 [arrays].
Array norms_of(const Arrays& arrays);
// params + updates, in the parameters' dtypes.
Arrays apply_updates_flat(const Arrays& params, const Arrays& updates);
template <class P> P apply_updates(P params, const P& updates) {
  Leaves before{tree::paths(params), tree::leaves(params)};
  auto by = tree::leaves(updates);
  check_shapes("apply_updates: the update", before, by);
  auto after = apply_updates_flat(before.arrays, by);
  return tree::unflatten(std::move(params), after);
}
/// The mean of the iterates of schedule_free, from its state. Throws ValueError for another state.
template <class P> P schedule_free_eval_params(const State& state, const P& params) {
  return tree::unflatten(params, schedule_free_eval_flat(state, tree::paths(params), tree::leaves(params)));
}
}  // namespace bora::optim
