// grad.h -- derivatives of functions of trees: grad, value_and_grad, vjp, jvp.
// Outside of jit the function runs eagerly, and may read numbers (item, to_vector, gather, as_xtensor ..) on which no
// derivative depends: those of stop_gradient(x), of integers and booleans: `if ((x > 0).item<bool>())`. Reading x
// itself throws TraceError: the number would silently be a constant.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
/// For grad, value_and_grad, jacrev, jacfwd, hessian. holomorphic: f is a holomorphic function of complex numbers, and
/// its complex derivative f'(z) is meant (of what is not holomorphic, half a derivative). DtypeError then unless
/// arguments and results are complex. Source: JAX's holomorphic=True.
struct GradOptions {
  bool holomorphic = false;
};
namespace fx {
template <class R> struct Loss { static constexpr bool ok = tree::IsLeaf<R>, aux = false; };
template <class L, class A> struct Loss<std::pair<L, A>> { static constexpr bool ok = tree::IsLeaf<L>, aux = true; };
/// Derivative with respect to the first n of `in`. Throws DtypeError if none of them is floating.
VjpFlat vjp_of_loss(const FlatFn& f, const Arrays& in, std::size_t n, const GradOptions& options);
/// Gradients of the first n inputs. Throws ShapeError unless the first output is a scalar.
Arrays gradients_of_loss(const VjpFlat&, std::size_t n, const GradOptions& options);
/// Cotangents (tangents) in the order of the leaves of `out` (the arguments), checked against their types; empty leaves
/// of `given` are zero. what: the transform, for messages.
Arrays cotangents(tree::Node out, tree::Node given, const Types& types, std::string_view what = "vjp");
Arrays tangents(tree::Node arguments, tree::Node given, std::string_view what = "jvp");
/// Outputs and their tangents, zeros where none flows (empty for outputs that are not floating).
std::pair<Arrays, Arrays> jvp_shell(const FlatFn& f, const Arrays& primals, const Arrays& tangents);

template <class F> struct ValueAndGrad {
  static constexpr auto gives = Gives::value_and_gradient;
  F f;
  GradOptions options = {};
  template <class P, class... Rest> auto operator()(const P& p, const Rest&... rest) const {
    check_trees<P, Rest...>();
    if constexpr (foreign<P, Rest...>) return ForeignCall<gives, P, P, Rest...>::call(f, *this, p, rest...);
    else if constexpr (Number<P>) return (*this)(number(p), rest...);
    else if constexpr (takes_arrays<F, P, Rest...>) return run(arrays(p), arrays(rest)...);
    else if constexpr (are_trees<P, Rest...>) return run(p, rest...);
  }
  template <class P, class... Rest> auto run(const P& p, const Rest&... rest) const {
    static_assert(Callable<F, P, Rest...>,
                  "grad: f cannot be called with these arguments; it takes them by value or const&, and may not be a "
                  "mutable lambda");
    if constexpr (Callable<F, P, Rest...>) {
      using R = result_t<F, P, Rest...>;
      static_assert(Loss<R>::ok, "grad: f must return a scalar Array, or std::pair{Array, aux}");
      if constexpr (Loss<R>::ok) {
        std::optional<R> out;
        auto n = tree::count_leaves(tree::node(p));
        auto v = vjp_of_loss(flat_fn<R>(f, out, p, rest...), pack(p, rest...), n, options);
        P g = tree::unflatten(p, gradients_of_loss(v, n, options));
        R r = tree::unflatten(std::move(*out), v.out);
        if constexpr (Loss<R>::aux) return std::tuple{std::move(r.first), std::move(r.second), std::move(g)};
        else return std::pair{std::move(r), std::move(g)};
      }
    }
  }
};
template <class F> struct Grad {
  static constexpr auto gives = Gives::gradient;
  ValueAndGrad<F> both;
  template <class P, class... Rest> auto operator()(const P& p, const Rest&... rest) const {
    if constexpr (foreign<P, Rest...>) return ForeignCall<gives, P, P, Rest...>::call(both.f, *this, p, rest...);
    else return run(p, rest...);
  }
  template <class P, class... Rest> auto run(const P& p, const Rest&... rest) const {
    using V = decltype(both(p, rest...));
    if constexpr (!std::is_void_v<V>) {  // otherwise a static_assert has reported it
      V r = both(p, rest...);
      if constexpr (std::tuple_size_v<V> == 3) return std::pair{std::move(std::get<2>(r)), std::move(std::get<1>(r))};
      else return std::move(std::get<1>(r));
    }
  }
};
template <class X> X jvp_arguments(const X& x) { return x; }
template <class R, class F, class... A> auto jvp_of(const F& f, const std::tuple<A...>& x, const std::tuple<A...>& dx) {
  std::optional<R> out;
  auto run = [&](const A&... a) {
    return jvp_shell(flat_fn<R>(f, out, a...), pack(a...), tangents(tree::node(x), tree::node(dx)));
  };
  auto [y, dy] = std::apply(run, x);
  return std::pair{tree::unflatten(*out, y), tree::unflatten(*out, dy)};
}
template <class F, class... A> auto vjp_of(const F& f, const A&... a) {
  static_assert(Callable<F, A...>,
                "vjp: f cannot be called with these arguments; it takes them by value or const&, and may not be a "
                "mutable lambda");
  check_trees<A...>();
  if constexpr (are_trees<A...> && Callable<F, A...>) {
    using R = result_t<F, A...>;
    std::optional<R> out;
    auto in = pack(a...);
    auto v = vjp_flat(flat_fn<R>(f, out, a...), in, Mask(in.size(), true));
    auto pull = [pull = std::move(v.pullback), like = abstract(*out), types = types_of(v.out),
                 args = std::tuple<A...>{abstract(a)...}](const R& ct) {
      auto g = tree::unflatten(args, pull(cotangents(tree::node(like), tree::node(ct), types)));
      if constexpr (sizeof...(A) == 1) return std::get<0>(std::move(g));
      else return g;
    };
    return std::pair{tree::unflatten(std::move(*out), v.out), std::move(pull)};
  }
}
}  // namespace fx

/// A function of the same arguments that returns {f's loss, its gradient}: the gradient has the type of the first
/// argument, with respect to its floating leaves (others are empty Arrays). Where f returns std::pair{loss, aux}:
/// {loss, aux, gradient}. The loss is a scalar, real unless {.holomorphic = true}.
template <class F> auto value_and_grad(F f, const GradOptions& options = {}) {
  return fx::ValueAndGrad<F>{std::move(f), options};
}
/// As value_and_grad, without the value: the gradient, or std::pair{gradient, aux}.
template <class F> auto grad(F f, const GradOptions& options = {}) { return fx::Grad<F>{{std::move(f), options}}; }
template <class F, class X, class... More>
__attribute__((unavailable("write grad(f)(x, ..); it is by the first argument, which may be a tuple or struct"))) void
grad(F f, const X& x, const More&... more);
template <class F, class X, class... More>
__attribute__((unavailable("write value_and_grad(f)(x, ..); it is by the first argument"))) void
value_and_grad(F f, const X& x, const More&... more);
/// {f(args...), pull}: pull maps a tree like f's result (its cotangent; empty leaves are zero) to the gradient of the
/// argument, or to a tuple of them. Fractions among the arguments are Arrays.
template <class F, class X, class... More> auto vjp(const F& f, const X& x, const More&... more) {
  if constexpr (fx::takes_fractions<F, X, More...>) return vjp(f, fx::fractions(x), fx::fractions(more)...);
  else if constexpr (fx::takes_arrays<F, X, More...>) return vjp(f, fx::arrays(x), fx::arrays(more)...);
  else return fx::vjp_of(f, x, more...);
}
/// {f(x), its derivative along dx}. Several arguments are tuples: jvp(f, std::tuple{m, x}, std::tuple{dm, dx}). Leaves
/// of dx that are empty are zero.
template <class F, class X> auto jvp(const F& f, const X& x, const X& dx) {
  if constexpr (Number<X>) return jvp(f, fx::number(x), fx::number(dx));
  else if constexpr (fx::tuple_takes_fractions<F, X>) {
    auto with_arrays = [](const auto&... a) { return std::tuple{fx::fractions(a)...}; };
    return jvp(f, std::apply(with_arrays, x), std::apply(with_arrays, dx));
  } else if constexpr (fx::Callable<F, X>)
    return fx::jvp_of<fx::result_t<F, X>>(f, std::tuple<X>{x}, std::tuple<X>{dx});
  else {
    static_assert(
        requires { std::apply(f, x); },
        "jvp: f cannot be called with these arguments; several arguments are std::tuple{..}, their tangents "
        "a tuple of the same types");
    if constexpr (requires { std::apply(f, x); }) {
      std::tuple args(x), tangents(dx);  // a pair is a tuple too
      return fx::jvp_of<std::remove_cvref_t<decltype(std::apply(f, args))>>(f, args, tangents);
    }
  }
}
}  // namespace bora
