// transform.h -- what a gradient transformation is. It is a plain aggregate: its fields are its configuration, its
// static `name` names its state, and its members are its behaviour.
//
//   struct Trace {
//     double decay;
//     static constexpr std::string_view name = "trace";
//     struct State { Arrays trace; };            // Array: one for all; Arrays: one per parameter, in its shape;
//                                                // Reduced: in other shapes; optim::State: of a transformation inside
//     State init(const Leaves& params) const;
//     std::pair<Arrays, State> update(const Arrays& updates, const State&, const Leaves& params) const;
//     static std::vector<Trace> samples();       // the configurations that tests/optim tries
//   };
//
// Without state it has only `Arrays update(const Arrays& updates, const Leaves& params) const`. Transform(Trace{..})
// makes it a value of the one type that users hold, and registers it for the tests.
//
// All typed states are stored in one State: an entry's name is the transformation, the field and the parameter's path
// ("adam.mu.blocks.layer.attn.q.weight"). It does not depend on other members of the chain, so a run can continue
// after a transformation without state was added or removed.
#pragma once
#include "bora/optim/transform_base.h"
#include "bora/tree/tree.h"

namespace bora::optim {
template <class P> Leaves Transform::leaves_of(const P& p) {
  return {tree::paths(p), accumulated(tree::leaves(p)), tree::decays(tree::node(p)), axis_names(tree::node(p))};
}
template <class P> State Transform::init(const P& params) const { return init_flat(leaves_of(params)); }
template <class P> Updated<P> Transform::update(const P& gradients, const State& state, const P& params) const {
  auto p = leaves_of(params);
  auto [u, next] = update_flat(settled(tree::leaves(gradients), p), state, p);
  return {tree::unflatten(params, u), std::move(next)};
}
}  // namespace bora::optim
