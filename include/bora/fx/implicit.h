// implicit.h -- functions given by equations, and functions without captures.
#pragma once
#include "bora/compile/stage.h"
#include "bora/fx/linear.h"

namespace bora {
namespace fx {
/// f(x) = y on trees of one type, for the user's solvers; x may come from any transform in force.
template <class X> struct OnTrees {
  FlatFn f;
  X like;
  X operator()(const X& x) const { return tree::unflatten(like, f(tree::leaves(x))); }
};
/// solve(function, x) -> X as a LinearSolver.
template <class S, class X> LinearSolver solver(const S& solve, const X& like, std::string_view what) {
  return [&solve, &like, what](const FlatFn& f, const Arrays& x) {
    X r = std::invoke(solve, OnTrees<X>{f, like}, tree::unflatten(like, x));
    check_same(what, tree::node(like), tree::node(r));
    return tree::leaves(r);
  };
}
/// f on trees like x, checked to give one.
template <class F, class X> FlatFn endomorphism(const F& f, std::optional<X>& out, const X& x, std::string_view what) {
  return [flat = flat_fn<X>(f, out, x), &out, &x, what](const Arrays& in) {
    auto r = flat(in);
    check_same(what, tree::node(x), tree::node(*out));
    return r;
  };
}
template <class X> struct Converted {
  ProgramPtr program;
  X like;
  template <class... A> X operator()(const A&... a) const {
    return tree::unflatten(like, run_jit(program, pack(a...)));
  }
};
}  // namespace fx

/// Properties of matvec that custom_linear_solve may use.
struct LinearSolveOptions {
  bool symmetric = false;  // matvec is its own transpose: solve serves derivatives too
};
/// {converted, consts}: converted(args..., consts) = f(args...) for arguments of these types, where consts is the
/// std::vector of the Arrays that f closes over, values of transforms in force too, so that they can be differentiated.
template <class F, class... A> auto closure_convert(const F& f, const A&... example) {
  static_assert(fx::Callable<F, A...>,
                "closure_convert: f cannot be called with these arguments; it takes them by value or const&");
  using R = fx::result_t<F, A...>;
  std::optional<R> out;
  auto s = stage(fx::flat_fn<R>(f, out, example...), types_of(fx::pack(example...)));
  return std::pair{fx::Converted<R>{s.program, fx::abstract(std::move(*out))}, std::move(s.captures)};
}
/// An x with f(x) = 0, which solve(f, guess) finds by any means, while_loop included. f is X -> X. The derivative by
/// the values that f closes over is that of the equation: tangent_solve(g, y) gives the z with g(z) = y, where g is f's
/// derivative at x, a linear function; it must be linear in y: `return y / g(ones_like(y))` for numbers,
/// `linalg::solve(jacfwd(g)(y), ..)` for vectors. The guess has no derivative. Throws ShapeError where a result has
/// another shape than the guess. Source: lax.custom_root (implicit function theorem).
template <class F, class X, class S, class T>
X custom_root(const F& f, const X& guess, const S& solve, const T& tangent_solve) {
  static_assert(fx::Callable<F, X> && std::is_same_v<fx::result_t<F, X>, X>,
                "custom_root: f takes a value like the guess and returns one");
  static_assert(std::is_invocable_r_v<X, const S&, fx::OnTrees<X>, const X&>,
                "custom_root: solve is called with (f, guess) and returns a value like the guess");
  static_assert(std::is_invocable_r_v<X, const T&, fx::OnTrees<X>, const X&>,
                "custom_root: tangent_solve is called with (g, y) and returns a value like the guess");
  std::optional<X> out;
  return tree::unflatten(
      guess,
      fx::root_flat(fx::endomorphism(f, out, guess, "custom_root: f must give a value like the guess"), fx::pack(guess),
                    fx::solver(solve, guess, "custom_root: solve must give a value like the guess"),
                    fx::solver(tangent_solve, guess, "custom_root: tangent_solve must give a value like the guess")));
}
/// The x with matvec(x) = b, for a linear matvec: solve(matvec, b) gives it by any means, while_loop included.
/// Derivatives by b and by the values that matvec closes over are those of the equation, of any order; they need
/// .symmetric = true, or transpose_solve(transposed matvec, b) as the last argument. Throws ShapeError where a result
/// has another shape than b, TraceError for a derivative without the transpose. Source: lax.custom_linear_solve.
template <class F, class X, class S>
X custom_linear_solve(const F& matvec, const X& b, const S& solve, const LinearSolveOptions& options = {}) {
  static_assert(fx::Callable<F, X> && std::is_same_v<fx::result_t<F, X>, X>,
                "custom_linear_solve: matvec takes a value like b and returns one");
  static_assert(std::is_invocable_r_v<X, const S&, fx::OnTrees<X>, const X&>,
                "custom_linear_solve: solve is called with (matvec, b) and returns a value like b");
  std::optional<X> out;
  constexpr std::string_view like = "custom_linear_solve: matvec must give a value like b",
                             solved = "custom_linear_solve: solve must give a value like b";
  return tree::unflatten(b, fx::linear_solve_flat(fx::endomorphism(matvec, out, b, like), fx::pack(b),
                                                  fx::solver(solve, b, solved), {}, options.symmetric));
}
template <class F, class X, class S, class T>
  requires std::is_invocable_r_v<X, const T&, fx::OnTrees<X>, const X&>
X custom_linear_solve(const F& matvec, const X& b, const S& solve, const T& transpose_solve) {
  static_assert(fx::Callable<F, X> && std::is_same_v<fx::result_t<F, X>, X>,
                "custom_linear_solve: matvec takes a value like b and returns one");
  std::optional<X> out;
  constexpr std::string_view like = "custom_linear_solve: matvec must give a value like b",
                             solved = "custom_linear_solve: solve must give a value like b",
                             back = "custom_linear_solve: transpose_solve must give a value like b";
  return tree::unflatten(
      b, fx::linear_solve_flat(fx::endomorphism(matvec, out, b, like), fx::pack(b), fx::solver(solve, b, solved),
                               fx::solver(transpose_solve, b, back), false));
}
}  // namespace bora
