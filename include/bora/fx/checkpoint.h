// checkpoint.h -- time for memory: the backward pass keeps some values of a function and computes the others again.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
namespace remat {
/// The values kept for the backward pass.
struct Policy {
  Saveable keep = Saveable::nothing;
  std::vector<std::string> names = {};
  bool operator==(const Policy&) const = default;
};
/// Policies: nothing, the results of matrix products (dots), those without batch dimensions, or everything is kept.
inline const Policy nothing{Saveable::nothing}, dots{Saveable::dots}, dots_no_batch{Saveable::dots_no_batch},
    everything{Saveable::everything};
struct Names {  // names given to checkpoint_name
  std::vector<std::string> v;
  Names(std::initializer_list<std::string_view> l) : v(l.begin(), l.end()) {}
};
/// Only values that went through checkpoint_name(x, name) with one of these names.
inline Policy names(const Names& n) { return {Saveable::names, n.v}; }
/// Everything but values that went through checkpoint_name(x, name) with one of these names.
inline Policy everything_except(const Names& n) { return {Saveable::everything, n.v}; }
/// "nothing", "dots", "dots_no_batch", "everything", "names(attn, mlp)", "everything_except(attn)", or T5X's words:
/// "full" (nothing), "minimal" (dots_no_batch). Throws ConfigError.
Policy parse(std::string_view);
std::string to_string(const Policy&);  // the text that parse reads
inline std::ostream& operator<<(std::ostream& o, const Policy& p) { return o << to_string(p); }
}  // namespace remat
template <> inline constexpr bool is_static<remat::Policy> = true;

namespace fx {
template <class F> struct Checkpointed {
  F f;
  remat::Policy policy;
  template <class... A> auto operator()(const A&... a) const {
    if constexpr (foreign<A...>) return ForeignCall<Gives::value, void, A...>::call(f, *this, a...);
    else if constexpr (takes_arrays<F, A...>) return run(arrays(a)...);
    else return run(a...);
  }
  template <class... A> auto run(const A&... a) const {
    static_assert(Callable<F, A...>,
                  "checkpoint: f cannot be called with these arguments; it takes them by value or const&, and may not "
                  "be a mutable lambda");
    check_trees<A...>();
    if constexpr (are_trees<A...> && Callable<F, A...>) {
      using R = result_t<F, A...>;
      static_assert(tree::Tree<R>, "checkpoint: f must return a tree");
      if constexpr (tree::Tree<R>) {
        std::optional<R> out;
        auto y = checkpoint_flat(flat_fn<R>(f, out, a...), pack(a...), policy.keep, policy.names);
        return tree::unflatten(std::move(*out), y);
      }
    }
  }
};
}  // namespace fx
/// f with the same values and gradients; when differentiated it keeps its inputs and the values that the policy
/// selects, and computes the others again.
template <class F> auto checkpoint(F f, remat::Policy policy = remat::nothing) {
  return fx::Checkpointed<F>{std::move(f), std::move(policy)};
}
}  // namespace bora
