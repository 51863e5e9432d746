// ivp_steps.h -- the steps of an initial value problem of one vector, and the same steps again. Private. Times ascend
// here: an equation whose times descend is one of -t.
#pragma once
#include "fx/solvers/runge_kutta.h"

namespace bora::fx {
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
/// What does not change from step to step.
struct Ivp {
  Dynamics f;
  Dynamics g;  // (y, t) -> the values [E] of all events
  std::vector<IvpEvent> events;
  integrate::IvpOptions o;
  bool differentiable;
  Array times;  // [T]
  RungeKutta method() const { return {tableau(o.method), o.rtol, o.atol, differentiable}; }
  std::int64_t powers() const { return static_cast<std::int64_t>(tableau(o.method).dense[0].size()) + 1; }
  std::int64_t count() const { return static_cast<std::int64_t>(events.size()); }
};
/// The step in which each event happened: its ends, polynomials, and number (below 0: it did not).
struct Crossings {
  Array from, to, c, step;  // [E], [E], [E, powers, n], [E]
};
struct IvpState {
  Array t, y, f, dt, tried, kept;
  Array ys;  // [T, n]
  Array ts;  // [max_steps + 1] where they are recorded
  Array g;   // [E]
  Crossings crossings;
  Array stopped;
};
/// All steps. record: ts too.
IvpState all_steps(const Ivp& p, const Array& y0, bool record);
struct Repeated {
  Array ys;
  Crossings crossings;
  Array c;  // [max_steps, powers, n]
};
/// The same steps again, for derivatives: those between ts, `kept` of them; steps: of the events.
Repeated repeated(const Ivp& p, const Array& y0, const Array& ts, const Array& kept, const Array& steps);
/// [E]: whether f holds for each event.
Array flags(const Ivp& p, const std::function<bool(const IvpEvent&)>& f);
}  // namespace bora::fx
