// jacobian.h -- all derivatives of a function of trees: jacrev, jacfwd, hessian, and hvp, which needs no Jacobian.
#pragma once
#include <map>
#include "bora/fx/linear.h"

namespace bora {
namespace fx {
/// The derivatives of a result R by an argument X: an X for each leaf of R.
template <class R, class X> struct JacobianType {
  using type = std::map<std::string, X>;
};
template <class R, class X>
  requires tree::IsLeaf<R>
struct JacobianType<R, X> {
  using type = X;
};
/// The blocks of each leaf of the result (the first of f's outputs, as many as `results` says once f has run) by the
/// first n inputs, empty for inputs that are not floating: one X after the other.
struct Blocks {
  Arrays out, blocks;
};
Blocks jacrev_flat(const FlatFn& f, const Arrays& in, std::size_t n, const std::function<std::size_t()>& results,
                   const GradOptions& options);
Blocks jacfwd_flat(const FlatFn& f, const Arrays& in, std::size_t n, const std::function<std::size_t()>& results,
                   const GradOptions& options);
using BlocksOf = Blocks (*)(const FlatFn&, const Arrays&, std::size_t, const std::function<std::size_t()>&,
                            const GradOptions&);

template <class F> inline constexpr bool is_jacobian = false;
template <BlocksOf blocks_of, class F> struct Jacobian {
  static constexpr auto gives = is_jacobian<F> ? Gives::hessian : Gives::jacobian;
  F f;
  GradOptions options = {};
  template <class X, class... Rest> auto operator()(const X& x, const Rest&... rest) const {
    if constexpr (foreign<X, Rest...>) return ForeignCall<gives, X, X, Rest...>::call(f, *this, x, rest...);
    else if constexpr (Number<X>) return (*this)(number(x), rest...);
    else if constexpr (takes_arrays<F, X, Rest...>) return run(arrays(x), arrays(rest)...);
    else return run(x, rest...);
  }
  template <class X, class... Rest> auto run(const X& x, const Rest&... rest) const {
    check_trees<X, Rest...>();
    static_assert(Callable<F, X, Rest...>,
                  "jacobian: f cannot be called with these arguments; it takes them by value or const&, and may not be "
                  "a mutable lambda");
    static_assert(tree::positional<X>, "jacobian: the argument holds NamedArrays; differentiate by their Arrays");
    if constexpr (are_trees<X, Rest...> && Callable<F, X, Rest...> && tree::positional<X>) {
      using R = result_t<F, X, Rest...>;
      using P = Parts<F, R>;
      using Y = typename P::Result;
      static_assert(tree::Tree<Y> && tree::positional<Y>, "jacobian: f must return a tree of Arrays");
      std::optional<R> out;
      auto n = tree::count_leaves(tree::node(x));
      auto b = blocks_of(flat_fn<R>(f, out, x, rest...), pack(x, rest...), n,
                         [&] { return tree::count_leaves(tree::node(P::result(*out))); }, options);
      R y = tree::unflatten(std::move(*out), b.out);
      typename JacobianType<Y, X>::type j;
      auto at = b.blocks.begin();
      auto next = [&] {
        X block = tree::unflatten(x, Arrays(at, at + static_cast<std::ptrdiff_t>(n)));
        at += static_cast<std::ptrdiff_t>(n);
        return block;
      };
      if constexpr (tree::IsLeaf<Y>) j = next();
      else
        for (auto& path : tree::paths(P::result(y))) j.emplace(path, next());
      if constexpr (marked_aux<F>) return std::pair{std::move(j), std::move(y.second)};
      else return j;
    }
  }
};
template <BlocksOf blocks_of, class F> inline constexpr bool is_jacobian<Jacobian<blocks_of, F>> = true;
}  // namespace fx

// A function of the same arguments: the derivative of every number of f's result by every number of the first
// argument. For a result that is one Array: a tree like the argument, each leaf [result's shape..., leaf's shape...];
// for a tree: a std::map from the path of each of its leaves to such a tree. Leaves of the argument that are not
// floating are left empty. f may be has_aux(..): std::pair{derivatives, aux}. Throws DtypeError for a result that is
// not floating; jacfwd also takes a complex result, jacrev a complex argument, and {.holomorphic = true} both.
// jacrev: one pullback per number of the result; jacfwd: one push-forward per number of the argument.
template <class F> auto jacrev(F f, const GradOptions& options = {}) {
  return fx::Jacobian<&fx::jacrev_flat, F>{std::move(f), options};
}
template <class F> auto jacfwd(F f, const GradOptions& options = {}) {
  return fx::Jacobian<&fx::jacfwd_flat, F>{std::move(f), options};
}
/// Second derivatives: jacfwd(jacrev(f)). Array -> Array: [f(x)'s shape..., x's shape..., x's shape...]. For a struct x
/// and one result: hessian(f)(x)["w"].b is the block of the leaves w and b.
template <class F> auto hessian(F f, const GradOptions& options = {}) {
  if constexpr (fx::marked_aux<F>) return jacfwd(has_aux(jacrev(std::move(f), options)), options);
  else return jacfwd(jacrev(std::move(f), options), options);
}
/// The Hessian of a scalar loss f by its first argument, times v: as much work as a few gradients. f may return
/// std::pair{loss, aux}. Source: Pearlmutter 1994.
template <class F, class X, class... Rest> X hvp(const F& f, const X& x, const X& v, const Rest&... rest) {
  auto gradient = [&](const X& at) -> X {
    auto g = grad(f)(at, rest...);
    if constexpr (std::is_same_v<decltype(g), X>) return g;
    else return std::move(g.first);
  };
  return jvp(gradient, x, v).second;
}
}  // namespace bora
