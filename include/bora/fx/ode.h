// ode.h -- ordinary differential equations, with the name of scipy.integrate and jax.experimental.ode.
#pragma once
#include <limits>
#include "bora/fx/tree_call.h"

namespace bora::integrate {
/// reverse: grad and vjp integrate the adjoint equation backwards and keep no steps (Chen et al. 2018); forward: jvp
/// and jacfwd differentiate the steps.
enum class OdeDerivative : std::uint8_t { reverse, forward };
struct OdeOptions {                     // of odeint
  double rtol = 1.4e-8, atol = 1.4e-8;  // a step's error is at most atol + rtol |y|, in the mean square
  std::int64_t mxstep = 100000;         // steps between two times; more give NaN
  double hmax = std::numeric_limits<double>::infinity();  // the longest step
  OdeDerivative derivative = OdeDerivative::reverse;      // how the result is differentiated
};
}  // namespace bora::integrate

namespace bora::fx {
/// f: (leaves of y, t) -> their derivatives. Returns leaves with a leading dimension of times.
Arrays odeint_flat(const FlatFn& f, const Arrays& y0, const Array& t, const integrate::OdeOptions& options);
}  // namespace bora::fx

namespace bora::integrate {
/// y at times t [T], ascending, with y(t[0]) = y0 and dy/dt = f(y, t): a tree like y0, [T, ..] each. By Dormand and
/// Prince's method of order 5 with steps chosen by the error, and a polynomial of degree 4 between them. Derivatives by
/// y0, t and what f closes over. A value that is not finite gives NaN from there on. Throws ShapeError where f gives
/// other shapes, DtypeError for leaves other than f32 and f64, ValueError for options out of range. Source:
/// jax.experimental.ode.odeint.
template <class F, class Y>
Y odeint(const F& f, const Y& y0, const Array& t, const OdeOptions& options = {}) {
  static_assert(fx::Callable<F, Y, Array> && std::is_same_v<fx::result_t<F, Y, Array>, Y>,
                "odeint: f is called with (y, t) and returns a value like y0");
  std::optional<Y> out;
  auto flat = fx::flat_fn<Y>(f, out, y0, t);
  auto checked = [&](const Arrays& in) {
    auto r = flat(in);
    fx::check_same("odeint: f must give a value like y0", tree::node(y0), tree::node(*out));
    return r;
  };
  return tree::unflatten(y0, fx::odeint_flat(checked, fx::pack(y0), t, options));
}
}  // namespace bora::integrate
