// solve_ivp.h -- ordinary differential equations by order and stiffness, with the name of scipy.integrate and the
// methods of Diffrax; ode.h has odeint, whose f is called with (y, t).
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>
#include "bora/fx/tree_call.h"

namespace bora::integrate {
/// tsit5: order 5, for most equations (Tsitouras 2011); dopri8: order 8, for tolerances below 1e-8 (Prince & Dormand
/// 1981); kvaerno5: implicit, order 5, for stiff equations: it solves with f's Jacobian [n, n], and calls f up to a
/// quarter of a step behind t's end (Kvaerno 2004).
enum class OdeMethod : std::uint8_t { tsit5, dopri8, kvaerno5 };
/// How the solution is differentiated. direct: grad and vjp go through the same steps again, in reverse, of which they
/// keep the square root of max_steps; exact for the numbers computed. backsolve: grad and vjp integrate the adjoint
/// equation backwards and keep no steps (Chen et al. 2018). Both once: a second grad throws TraceError. forward: jvp
/// and jacfwd differentiate the steps, as often as they nest.
enum class OdeAdjoint : std::uint8_t { direct, backsolve, forward };
struct IvpOptions {                                // of solve_ivp
  OdeMethod method = OdeMethod::tsit5;             // order and stiffness
  double rtol = 1e-6, atol = 1e-9;                 // a step's error is at most atol + rtol |y|, in the mean square
  std::optional<double> first_step = none;         // default: Hairer, Norsett & Wanner 1993, II.4
  double max_step = std::numeric_limits<double>::infinity();  // the longest step
  std::int64_t max_steps = 4096;                   // steps tried in all; more end with status -1
  OdeAdjoint adjoint = OdeAdjoint::direct;         // how the result is differentiated
  bool dense = false;                              // the result has .sol, a function of any time
};
/// A function g(t, y) whose zeros are sought: the first one after t[0] that it crosses.
template <class Y> struct OdeEvent {
  std::function<Array(const Array& t, const Y& y)> g = {};  // gives a scalar
  int direction = 0;                                        // 1: where g rises, -1: where it falls, 0: both
  bool terminal = true;                                     // the solution ends there
};
/// The polynomials of all steps: a function of time with the solver's accuracy. Between t[0] and the last time reached;
/// NaN elsewhere.
template <class Y> struct DenseSolution {
  Array ts;         // [max_steps + 1], ascending times of steps (-t where time runs backwards), the last one repeated
  Array direction;  // 1, or -1 where time runs backwards
  Array c;          // [max_steps, powers, n] coefficients, the constant first
  Y like;           // a value's structure, shapes and dtypes
  /// The values at times t: leaves [t's shape, ..].
  Y operator()(const Array& t) const;
};
/// y: leaves [T, ..], NaN for times that were not reached. status, i32: 0 at the end, 1 at a terminal event, -1 where a
/// step became too short or max_steps were not enough; success: status >= 0. t_events [E] and y_events, leaves [E, ..],
/// are NaN where an event did not happen. num_steps, num_accepted, i32: steps tried, and kept.
template <class Y> struct IvpResult {
  Array t;  // the times given
  Y y;
  Array success, status, num_steps, num_accepted, t_events;
  Y y_events;
  std::optional<DenseSolution<Y>> sol = none;
  std::string message() const;  // of status; reads it
};
/// SciPy's words for a status.
std::string ivp_message(const Array& status);
}  // namespace bora::integrate

namespace bora::fx {
struct IvpEvent {  // of leaves
  FlatFn g;        // (t, leaves of y) -> a scalar
  int direction;
  bool terminal;
};
struct IvpFlat {
  Arrays y, y_events;
  Array success, status, num_steps, num_accepted, t_events, ts, direction, c;
};
/// f: (t, leaves of y) -> their derivatives.
IvpFlat solve_ivp_flat(const FlatFn& f, const Array& t, const Arrays& y0, const std::vector<IvpEvent>& events,
                       const integrate::IvpOptions& options);
/// The leaves [t's shape, ..] of a dense solution.
Arrays dense_flat(const Array& ts, const Array& direction, const Array& c, const Array& t, const Types& types);
}  // namespace bora::fx

namespace bora::integrate {
/// The solution of dy/dt = f(t, y), y(t[0]) = y0, at times t [T], ascending or descending: SciPy's t_eval, whose ends
/// are its t_span. y0 is any tree of f32 or f64. Steps are Diffrax's: chosen by the error (factor 0.9, from 0.2 to 10),
/// the last one ends at t[T - 1]. Derivatives by y0, t, and what f and events close over (.adjoint; backsolve has
/// neither events nor .sol). Throws ShapeError where f gives other shapes or an event no scalar, DtypeError for
/// leaves other than f32 and f64, ValueError for options out of range.
template <class F, class Y>
IvpResult<Y> solve_ivp(const F& f, const Array& t, const Y& y0, const IvpOptions& options = {},
                       const std::vector<OdeEvent<std::type_identity_t<Y>>>& events = {}) {
  static_assert(fx::Callable<F, Array, Y> && std::is_same_v<fx::result_t<F, Array, Y>, Y>,
                "solve_ivp: f is called with (t, y), in this order, and returns a value like y0");
  std::optional<Y> out;
  Array time = fx::abstract_array({{}, t.dtype()});
  auto flat = fx::flat_fn<Y>(f, out, time, y0);
  auto checked = [&](const Arrays& in) {
    auto r = flat(in);
    fx::check_same("solve_ivp: f must give a value like y0", tree::node(y0), tree::node(*out));
    return r;
  };
  std::vector<fx::IvpEvent> flat_events;
  std::vector<std::optional<Array>> values(events.size());
  for (std::size_t i = 0; i < events.size(); ++i)
    flat_events.push_back({fx::flat_fn<Array>(events[i].g, values[i], time, y0), events[i].direction,
                           events[i].terminal});
  auto r = fx::solve_ivp_flat(checked, t, fx::pack(y0), flat_events, options);
  IvpResult<Y> result{t, tree::unflatten(y0, r.y), r.success, r.status, r.num_steps, r.num_accepted, r.t_events,
                      tree::unflatten(y0, r.y_events)};
  if (options.dense) result.sol = DenseSolution<Y>{r.ts, r.direction, r.c, tree::clone(y0)};
  return result;
}
template <class Y> Y DenseSolution<Y>::operator()(const Array& t) const {
  return tree::unflatten(like, fx::dense_flat(ts, direction, c, t, types_of(fx::pack(like))));
}
template <class Y> std::string IvpResult<Y>::message() const { return ivp_message(status); }
}  // namespace bora::integrate
