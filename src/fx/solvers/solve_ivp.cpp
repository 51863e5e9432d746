// Ordinary differential equations: steps chosen by the error, events, dense output and derivatives.
#include "bora/fx/solve_ivp.h"
#include "bora/compile/stage.h"
#include "bora/fx/control.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ravel.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sorting.h"
#include "bora/ops/statistics.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "fx/retrace.h"
#include "fx/solvers/ivp_steps.h"

namespace bora::fx {
namespace {
/// The times [E] of the events, without a derivative: by halving.
Array found_times(const Ivp& p, const Crossings& c) {
  if (p.count() == 0) return c.from;
  auto from = stop_gradient(c.from), to = stop_gradient(c.to);
  auto curve = stop_gradient(c.c);
  auto value = [&](const Array& u) {  // [E]: each event at its own fraction
    Arrays r;
    for (std::int64_t e = 0; e < p.count(); ++e) {
      auto own = index_in_dim(curve, 0, e), at = index_in_dim(u, 0, e);
      Arrays powers;
      for (std::int64_t k = 0; k < own.shape(0); ++k) powers.push_back(index_in_dim(own, 0, k));
      auto t = index_in_dim(from, 0, e) + at * (index_in_dim(to, 0, e) - index_in_dim(from, 0, e));
      r.push_back(index_in_dim(p.g(polynomial_at(powers, at.astype(own.dtype())), t), 0, e));
    }
    return stack(r);
  };
  auto low = zeros_like(from), high = ones_like(from);
  auto falls = value(low) > 0;
  auto halved = [&](const Array&, const Arrays& s) -> Arrays {
    auto middle = (s[0] + s[1]) * 0.5, v = value(middle);
    auto before = where(falls, v > 0, v < 0);
    return {where(before, middle, s[0]), where(before, s[1], middle)};
  };
  auto u = fori_loop(0, 54, halved, Arrays{low, high})[1];
  return stop_gradient(from + u * (to - from));
}
struct Found {
  Array times, y;  // [E], [E, n]; NaN where there is none
};
/// Those times and the values there, with derivatives: of each event's equation g(y(t), t) = 0.
Found at_events(const Ivp& p, const Crossings& c, const Array& times) {
  Arrays t, y;
  Array stop = constant(HUGE_VAL, p.times.dtype());
  for (std::int64_t e = 0; e < p.count(); ++e) {
    auto own = index_in_dim(c.c, 0, e), from = index_in_dim(c.from, 0, e), to = index_in_dim(c.to, 0, e);
    auto happened = index_in_dim(c.step, 0, e) >= 0;
    auto width = where(happened, to - from, 1.);
    auto curve = [&](const Array& time) {
      Arrays powers;
      for (std::int64_t k = 0; k < own.shape(0); ++k) powers.push_back(index_in_dim(own, 0, k));
      return polynomial_at(powers, ((time - from) / width).astype(own.dtype()));
    };
    auto g = [&](const Arrays& time) -> Arrays { return {index_in_dim(p.g(curve(time[0]), time[0]), 0, e)}; };
    auto at = index_in_dim(times, 0, e);
    auto [value, push] = jvp_flat(g, {at}, {ones_like(at)});
    auto slope = push[0].defined() ? stop_gradient(push[0]) : ones_like(value[0]);
    slope = where(happened && slope != 0, slope, 1.);
    auto exact = at - ((value[0] - stop_gradient(value[0])) / slope).astype(at.dtype());
    t.push_back(where(happened, exact, kNan));
    y.push_back(where(happened, curve(exact), kNan));
    if (p.events[static_cast<std::size_t>(e)].terminal) stop = where(happened, minimum(stop, at), stop);
  }
  if (t.empty()) return {zeros({0}, p.times.dtype()), zeros({0, c.c.shape(2)}, c.c.dtype())};
  auto in_time = times <= stop;
  return {where(in_time, stack(t), kNan), where(expand_dims(in_time, 1), stack(y), kNan)};
}
/// ys without rows behind the first terminal event.
Array until_stop(const Ivp& p, const Array& ys, const Crossings& c, const Array& times) {
  if (p.count() == 0) return ys;
  auto ends = c.step >= 0 && flags(p, [](const IvpEvent& e) { return e.terminal; });
  auto stop = amin(where(ends, times, HUGE_VAL));
  return where(expand_dims(p.times <= stop, 1), ys, kNan);
}
/// Floating results: ys, times of events, values there and, if they are wanted, ts and c; then three counts.
struct Solved {
  Arrays floating, counts;
  Array ts, steps, event_times;  // what repeated needs
};
Solved solved(const Ivp& p, const Array& y0) {
  bool record = p.o.dense || p.o.adjoint == integrate::OdeAdjoint::direct;
  auto s = all_steps(p, y0, record);
  auto times = found_times(p, s.crossings);
  auto events = at_events(p, s.crossings, times);
  auto end = index_in_dim(p.times, 0, p.times.size() - 1);
  auto status = where(s.stopped, 1, where(s.t < end, -1, full({}, 0, i32)));
  Solved r{{until_stop(p, s.ys, s.crossings, times), events.times, events.y}, {status, s.tried, s.kept}, s.ts,
           s.crossings.step, times};
  if (p.o.dense) append(r.floating, {s.ts, repeated(p, y0, s.ts, s.kept, s.crossings.step).c});
  return r;
}
/// The floating results again, as a function that can be differentiated.
Arrays solved_again(const Ivp& p, const Array& y0, const Array& ts, const Array& kept, const Array& steps,
                    const Array& event_times) {
  auto s = repeated(p, y0, ts, kept, steps);
  auto events = at_events(p, s.crossings, event_times);
  Arrays r{until_stop(p, s.ys, s.crossings, event_times), events.times, events.y};
  if (p.o.dense) append(r, {ts * 1., s.c});
  return r;
}
void check_options(const Array& t, const Arrays& y0, const std::vector<IvpEvent>& events,
                   const integrate::IvpOptions& o) {
  check<ShapeError>(t.ndim() == 1 && t.size() > 0, "solve_ivp: the times must be a vector, got ", t.type());
  check<DtypeError>(t.dtype() == f32 || t.dtype() == f64, "solve_ivp: the times must be f32 or f64, got ", t.type());
  check<ShapeError>(!y0.empty(), "solve_ivp: y0 has no leaves");
  for (auto& y : y0)
    check<DtypeError>(y.dtype() == f32 || y.dtype() == f64, "solve_ivp: y0 must be f32 or f64, got ", y.type());
  check<ValueError>(o.rtol >= 0 && o.atol >= 0 && o.rtol + o.atol > 0, "solve_ivp: rtol = ", o.rtol,
                    " and atol = ", o.atol, " must not be negative, nor both 0");
  check<ValueError>(o.max_step > 0 && o.first_step.value_or(1) > 0 && o.max_steps >= 1 && o.max_steps < 1 << 24,
                    "solve_ivp: max_step = ", o.max_step, ", first_step = ", o.first_step.value_or(1),
                    " and max_steps = ", o.max_steps, " must be positive, and there are at most 2^24 steps");
  check<ValueError>(o.adjoint != integrate::OdeAdjoint::backsolve || (events.empty() && !o.dense),
                    "solve_ivp: events and .dense have no derivative by .adjoint = backsolve; use direct or forward");
}
}  // namespace

IvpFlat solve_ivp_flat(const FlatFn& f, const Array& t, const Arrays& y0, const std::vector<IvpEvent>& events,
                       const integrate::IvpOptions& o) {
  check_options(t, y0, events, o);
  auto types = types_of(y0);
  auto start = tree::ravel_leaves(y0).flat;
  auto last = index_in_dim(t, 0, t.size() - 1);
  Array direction = where(last < index_in_dim(t, 0, 0), -1., ones_like(last));
  auto with_time = [&](const Arrays& in) {  // y, t -> t, leaves
    Arrays all{in[1] * direction};
    append(all, tree::unravel_leaves(in[0], types));
    return all;
  };
  auto on_vector = [&](const Arrays& in) -> Arrays {
    auto r = f(with_time(in));
    check<ShapeError>(r.size() == types.size(), "solve_ivp: f gives ", r.size(), " arrays for the ", types.size(),
                      " of y0");
    for (std::size_t i = 0; i < types.size(); ++i)
      check<ShapeError>(r[i].shape() == types[i].shape, "solve_ivp: f gives ", r[i].type(), " for ", types[i],
                        "; they must have one shape");
    auto flat = tree::ravel_leaves(r).flat.astype(in[0].dtype());
    return {flat * direction.astype(flat.dtype())};
  };
  auto of_events = [&](const Arrays& in) -> Arrays {
    Arrays r;
    for (auto& e : events) {
      auto v = e.g(with_time(in));
      check<ShapeError>(v.size() == 1 && v[0].ndim() == 0, "solve_ivp: an event gives a scalar, not ",
                        v.empty() ? Type{} : v[0].type());
      r.push_back(v[0].astype(in[0].dtype()));
    }
    return {r.empty() ? zeros({0}, in[0].dtype()) : stack(r)};
  };
  const Types in_types{start.type(), {{}, t.dtype()}};
  auto field = stage(on_vector, in_types), values = stage(of_events, in_types);
  for (auto& list : {field.captures, values.captures})
    for (auto& c : list)
      check<DtypeError>(!is_complex(c.dtype()) || o.adjoint == integrate::OdeAdjoint::forward,
                        "solve_ivp: f or an event closes over ", c.type(), "; give {.adjoint = forward}");
  Equation equation{field.program}, event_values{values.program};
  auto n = field.captures.size();
  Arrays in{start, t * direction};
  append(in, field.captures);
  append(in, values.captures);
  using integrate::OdeAdjoint;
  // The problem of inputs like `in`.
  auto problem = [&, n](const Arrays& a, bool differentiable) {
    Arrays of_f(a.begin() + 2, a.begin() + 2 + static_cast<std::ptrdiff_t>(n)),
        of_g(a.begin() + 2 + static_cast<std::ptrdiff_t>(n), a.end());
    return Ivp{[equation, of_f](const Array& y, const Array& time) { return equation(y, time, of_f); },
               [event_values, of_g](const Array& y, const Array& time) { return event_values(y, time, of_g); },
               events, o, differentiable, a[1]};
  };
  auto results = [](const Solved& s) {
    auto r = s.floating;
    append(r, s.counts);
    return r;
  };
  Arrays r;
  if (o.adjoint == OdeAdjoint::forward) r = results(solved(problem(in, true), start));
  else {
    auto primal = [&](const Arrays& a) { return results(solved(problem(a, false), a[0])); };
    auto forward = [&](const Arrays& a) {
      auto s = solved(problem(a, false), a[0]);
      auto out = results(s);
      append(out, a);
      if (o.adjoint == OdeAdjoint::direct) append(out, {s.ts, s.counts[2], s.steps, s.event_times});
      else out.push_back(s.floating[0]);
      return out;
    };
    auto of_direct = [&](const Arrays& a) {  // inputs, what solved_again takes, cotangents
      Arrays inputs(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(in.size()));
      Arrays rest(a.begin() + static_cast<std::ptrdiff_t>(in.size()), a.end());
      Mask wrt;
      for (auto& x : inputs) wrt.push_back(is_float(x.dtype()));
      auto v = vjp_flat(
          [&](const Arrays& x) { return solved_again(problem(x, true), x[0], rest[0], rest[1], rest[2], rest[3]); },
          inputs, wrt);
      auto g = v.pullback(Arrays(rest.begin() + 4, rest.end()));
      Arrays gradients;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (wrt[i]) gradients.push_back(g[i].defined() ? g[i] : zeros_like(inputs[i]));
      return gradients;
    };
    auto of_backsolve = [&](const Arrays& a) {  // y0, t, parameters, ys, cotangents of ys and of the empty events
      Arrays parameters(a.begin() + 2, a.begin() + 2 + static_cast<std::ptrdiff_t>(n)), gradients;
      auto solve = [&](const Dynamics& f, const Array& y, const Array& times) {
        Ivp p{f, {}, {}, o, false, times};
        return all_steps(p, y, false).ys;
      };
      auto at = in.size();
      for (auto& g : adjoint(equation, a[at], a[1], parameters, a[at + 1], solve))
        if (g.defined()) gradients.push_back(g);
      return gradients;
    };
    FlatFn backward = of_direct;
    if (o.adjoint == OdeAdjoint::backsolve) backward = of_backsolve;
    r = custom_vjp_flat(primal, forward, backward, in);
  }
  auto rows = [&](const Array& y) {
    Arrays leaves;
    std::int64_t from = 0;
    for (auto& type : types) {
      auto shape = type.shape;
      shape.insert(0, y.shape(0));
      leaves.push_back(reshape(slice_in_dim(y, 1, from, from + type.size()), shape).astype(type.dtype));
      from += type.size();
    }
    return leaves;
  };
  auto counts = r.size() - 3;
  IvpFlat result{rows(r[0]), rows(r[2]), r[counts] >= 0, r[counts], r[counts + 1], r[counts + 2], r[1] * direction,
                 {}, direction, {}};
  if (o.dense) result.ts = r[3], result.c = r[4];
  return result;
}
Arrays dense_flat(const Array& ts, const Array& direction, const Array& c, const Array& t, const Types& types) {
  auto at = ravel(t).astype(ts.dtype()) * direction;
  auto steps = c.shape(0);
  auto i = clip(searchsorted(stop_gradient(ts), stop_gradient(at)) - 1, 0, steps - 1);
  auto from = take(ts, i, 0), to = take(ts, i + 1, 0), curve = take(c, i, 0);  // [Q], [Q], [Q, powers, n]
  auto inside = at >= index_in_dim(ts, 0, 0) && at <= index_in_dim(ts, 0, steps);
  auto u = where(inside, (at - from) / where(to == from, 1., to - from), 0.).astype(c.dtype());
  Arrays powers;
  for (std::int64_t k = 0; k < c.shape(1); ++k) powers.push_back(index_in_dim(curve, 1, k));
  auto y = where(expand_dims(inside, 1), polynomial_at(powers, u), kNan);
  Arrays leaves;
  std::int64_t place = 0;
  for (auto& type : types) {
    auto shape = t.shape();
    for (auto n : type.shape) shape.push_back(n);
    leaves.push_back(reshape(slice_in_dim(y, 1, place, place + type.size()), shape).astype(type.dtype));
    place += type.size();
  }
  return leaves;
}
}  // namespace bora::fx

std::string bora::integrate::ivp_message(const Array& status) {
  switch (status.item<int>()) {
    case 0: return "The solver successfully reached the end of the integration interval.";
    case 1: return "A termination event occurred.";
    default: return "The step size became too small, or max_steps were not enough.";
  }
}
