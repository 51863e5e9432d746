// overwrite.h -- state in a model whose gradient is its next value: a struct that says
// `static constexpr bool overwrite_with_gradient = true` (nn::Fp8DotGeneralOp) holds such leaves. They are split from
// gradients before an optimizer sees these. Haliax's OverwriteWithGradient.
#pragma once
#include "bora/optim/optimizers.h"
#include "bora/tree/tree.h"
#include "bora/optim/transform.h"
#include "bora/optim/updates.h"

namespace bora::optim {
/// A struct whose gradient is its next value.
template <class T> concept OverwriteWithGradient = requires {
  requires T::overwrite_with_gradient;
};
namespace detail {
/// Calls f(place) for each leaf that is overwritten by its gradient.
template <class T, class F> void each_overwritten(T& t, const F& f, bool inside = false) {
  if constexpr (tree::IsLeaf<T>) {
    if (inside) f(static_cast<const void*>(&t));
  } else if constexpr (is_static<T>) return;
  else if constexpr (tree::Container<T>)
    tree::Children<T>::each(t, [&](const tree::Name&, auto& part) { each_overwritten(part, f, inside); });
  else
    fields::for_each(t, [&](std::string_view, auto& part) {
      each_overwritten(part, f, inside || OverwriteWithGradient<T>);
    });
}
/// Empties all leaves but these, or these.
enum class Keep : std::uint8_t { these, others };
void keep(tree::Node, const std::vector<const void*>& places, Keep);
void check_overwrites(tree::Node state, tree::Node overwrites);
template <class T> std::vector<const void*> overwritten(T& t) {
  std::vector<const void*> r;
  each_overwritten(t, [&](const void* place) { r.push_back(place); });
  return r;
}
}  // namespace detail
/// {the leaves that are overwritten by their gradient, the others}, of a model or its gradients; in each of the two the
/// other's leaves are empty.
template <class T> std::pair<T, T> partition_for_grad_overwrite(const T& t) {
  std::pair<T, T> r{tree::clone(t), tree::clone(t)};
  detail::keep(tree::node(r.first), detail::overwritten(r.first), detail::Keep::these);
  detail::keep(tree::node(r.second), detail::overwritten(r.second), detail::Keep::others);
  return r;
}
/// model + updates, with the overwrites in their places. `updates` and `overwrites` are parts as
/// partition_for_grad_overwrite gives them. Throws ValueError naming a leaf of the model's state that has no overwrite,
/// and as apply_updates.
template <class T> T apply_updates(const T& model, const T& updates, const T& overwrites) {
  auto [state, trained] = partition_for_grad_overwrite(model);
  detail::check_overwrites(tree::node(state), tree::node(overwrites));
  return tree::combine(apply_updates(std::move(trained), updates), overwrites);
}
}  // namespace bora::optim
