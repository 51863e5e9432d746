// Ordinary differential equations: Dormand & Prince's pair of orders 5 and 4, and the adjoint equation.
#include "bora/fx/ode.h"
#include "compile/api/control.h"
#include "bora/compile/stage.h"
#include "bora/fx/control.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/ravel.h"
#include "bora/ops/transform.h"
#include "fx/solvers/adjoint.h"

namespace bora::fx {
namespace {
using Weights = std::initializer_list<double>;
constexpr std::size_t kStages = 7;
struct OdeState {
  Array y, f, t, dt, last_t;
  Arrays polynomial;  // of the step from last_t to t, the highest power first
  Array steps;
};
/// sum of weights[i] k[i].
Array weighted(Weights weights, const Arrays& k) {
  Array s;
  auto at = weights.begin();
  for (std::size_t i = 0; i < weights.size(); ++i, ++at) {
    if (*at == 0) continue;
    auto term = k[i] * *at;
    s = s.defined() ? s + term : term;
  }
  return s;
}
Arrays stages(const Dynamics& f, const OdeState& s) {
  static const Weights rows[] = {{1. / 5},
                                 {3. / 40, 9. / 40},
                                 {44. / 45, -56. / 15, 32. / 9},
                                 {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                                 {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                                 {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
  static const double times[] = {1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
  Arrays k{s.f};
  for (std::size_t i = 0; i + 1 < kStages; ++i)
    k.push_back(f(s.y + s.dt.astype(s.y.dtype()) * weighted(rows[i], k), s.t + s.dt * times[i]));
  return k;
}
/// The first step: Hairer, Norsett & Wanner 1993, II.4.
Array first_step(const Dynamics& f, const Array& y, const Array& f0, const Array& t, const integrate::OdeOptions& o) {
  auto scale = abs(y) * o.rtol + o.atol;
  auto size = [&](const Array& v) { return linalg::vector_norm(v / scale); };
  auto d0 = size(y), d1 = size(f0);
  auto small = d0 < 1e-5 || d1 < 1e-5;
  auto h0 = where(small, 1e-6, 0.01 * d0 / where(small, 1., d1));
  auto d2 = size(f(y + h0 * f0, t + h0.astype(t.dtype())) - f0) / h0;
  auto flat = d1 <= 1e-15 && d2 <= 1e-15;
  auto h1 = where(flat, maximum(h0 * 1e-3, 1e-6), power(0.01 / where(flat, 1., maximum(d1, d2)), 0.2));
  return minimum(100 * h0, h1);
}
OdeState attempted(const Dynamics& f, const OdeState& s, const integrate::OdeOptions& o) {
  auto k = stages(f, s);
  auto dt = s.dt.astype(s.y.dtype());
  auto y = s.y + dt * weighted({35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}, k);
  auto error = dt * weighted({35. / 384 - 1951. / 21600, 0, 500. / 1113 - 22642. / 50085, 125. / 192 - 451. / 720,
                              -2187. / 6784 + 12231. / 42400, 11. / 84 - 649. / 6300, -1. / 60},
                             k);
  auto ratio = mean(square(error / (o.atol + o.rtol * maximum(abs(s.y), abs(y)))));
  auto middle = s.y + dt * weighted({6025192743. / 30085553152 / 2, 0, 51252292925. / 65400821598 / 2,
                                     -2691868925. / 45128329728 / 2, 187940372067. / 1594534317056 / 2,
                                     -1776094331. / 19743644256 / 2, 11237099. / 235043384 / 2},
                                    k);
  auto d0 = dt * k.front(), d1 = dt * k.back();
  Arrays polynomial{-2 * d0 + 2 * d1 - 8 * s.y - 8 * y + 16 * middle,
                    5 * d0 - 3 * d1 + 18 * s.y + 14 * y - 32 * middle,
                    -4 * d0 + d1 - 11 * s.y - 5 * y + 16 * middle, d0, s.y};
  // The step that would have had the error, with a margin; a step that was taken does not become shorter.
  auto r = stop_gradient(ratio).astype(s.dt.dtype());
  auto shortest = where(r < 1, 1., full({}, 0.2, r.dtype()));
  auto factor = maximum(minimum(power(sqrt(r), 0.2) / 0.9, 1 / shortest), 0.1);
  auto next_dt = clip(where(r == 0, s.dt * 10, s.dt / factor), 0., o.hmax);
  auto taken = ratio <= 1;
  OdeState next{where(taken, y, s.y),         where(taken, k.back(), s.f),  where(taken, s.t + s.dt, s.t), next_dt,
                where(taken, s.t, s.last_t), {},                           s.steps + 1};
  for (std::size_t i = 0; i < polynomial.size(); ++i)
    next.polynomial.push_back(where(taken, polynomial[i], s.polynomial[i]));
  return next;
}
/// y [T, n] at times t.
Array integrated(const Dynamics& f, const Array& y0, const Array& t, const integrate::OdeOptions& o) {
  auto times = t.shape(0);
  auto first = index_in_dim(t, 0, 0);
  auto f0 = f(y0, first);
  auto dt = clip(stop_gradient(first_step(f, y0, f0, first, o)).astype(t.dtype()), 0., o.hmax);
  OdeState s{y0, f0, first, dt, first, Arrays(5, y0), array(0)};
  for (std::size_t i = 0; i < 4; ++i) s.polynomial[i] = zeros_like(y0);
  auto to = [&](const OdeState& from, const Array& target) {
    auto begin = from;
    begin.steps = array(0);
    auto s = while_loop(
        [&](const OdeState& s) {
          return s.t < target && s.steps < static_cast<int>(o.mxstep) && isfinite(s.dt) && s.dt > 0;
        },
        [&](const OdeState& s) { return attempted(f, s, o); }, begin);
    auto width = s.t - s.last_t;
    auto u = where(width == 0, 0., (target - s.last_t) / where(width == 0, 1., width)).astype(y0.dtype());
    auto y = s.polynomial[0];
    for (std::size_t i = 1; i < 5; ++i) y = y * u + s.polynomial[i];
    return std::pair{s, where(s.t < target, std::numeric_limits<double>::quiet_NaN(), y)};
  };
  auto start = expand_dims(y0, 0);
  if (times == 1) return start;
  return concatenate({start, scan(to, s, slice_in_dim(t, 0, 1, times)).second});
}
}  // namespace

Arrays odeint_flat(const FlatFn& f, const Arrays& y0, const Array& t, const integrate::OdeOptions& o) {
  check<ShapeError>(t.ndim() == 1 && t.size() > 0, "odeint: the times must be a vector, got ", t.type());
  check<DtypeError>(t.dtype() == f32 || t.dtype() == f64, "odeint: the times must be f32 or f64, got ", t.type());
  check<ShapeError>(!y0.empty(), "odeint: y0 has no leaves");
  for (auto& y : y0)
    check<DtypeError>(y.dtype() == f32 || y.dtype() == f64, "odeint: y0 must be f32 or f64, got ", y.type());
  check<ValueError>(o.rtol >= 0 && o.atol >= 0 && o.rtol + o.atol > 0, "odeint: rtol = ", o.rtol, " and atol = ",
                    o.atol, " must not be negative, nor both 0");
  check<ValueError>(o.hmax > 0 && o.mxstep >= 1 && o.mxstep < 1 << 30, "odeint: hmax = ", o.hmax, " and mxstep = ",
                    o.mxstep, " must be positive");
  auto types = types_of(y0);
  auto start = tree::ravel_leaves(y0);
  auto n = y0.size();
  auto on_vector = [&](const Arrays& in) -> Arrays {
    auto all = tree::unravel_leaves(in[0], types);
    all.push_back(in[1]);
    auto r = f(all);
    check<ShapeError>(r.size() == n, "odeint: f gives ", r.size(), " arrays for the ", n, " of y0");
    for (std::size_t i = 0; i < n; ++i)
      check<ShapeError>(r[i].shape() == types[i].shape, "odeint: f gives ", r[i].type(), " for ", types[i],
                        "; they must have one shape");
    return {tree::ravel_leaves(r).flat.astype(in[0].dtype())};
  };
  auto staged = stage(on_vector, {start.flat.type(), {{}, t.dtype()}});
  Equation equation{staged.program};
  for (auto& c : staged.captures)
    check<DtypeError>(!is_complex(c.dtype()) || o.derivative == integrate::OdeDerivative::forward,
                      "odeint: f closes over ", c.type(),
                      ", for which there is no adjoint; give {.derivative = forward}");
  auto solve = [equation, o](const Arrays& in) {
    Arrays parameters(in.begin() + 2, in.end());
    return integrated([&](const Array& y, const Array& time) { return equation(y, time, parameters); }, in[0], in[1],
                      o);
  };
  Arrays in{start.flat, t};
  in.insert(in.end(), staged.captures.begin(), staged.captures.end());
  Array y;
  if (o.derivative == integrate::OdeDerivative::forward) y = solve(in);
  else {
    auto forward = [&](const Arrays& a) {
      Arrays r{solve(a)};
      r.push_back(r[0]);
      r.insert(r.end(), a.begin() + 1, a.end());
      return r;
    };
    auto backward = [&](const Arrays& a) {  // y, t, parameters, the cotangent
      Arrays parameters(a.begin() + 2, a.end() - 1), r;
      auto integrate = [&](const Dynamics& f, const Array& y0, const Array& times) {
        return integrated(f, y0, times, o);
      };
      for (auto& g : adjoint(equation, a[0], a[1], parameters, a.back(), integrate))
        if (g.defined()) r.push_back(g);
      return r;
    };
    y = custom_vjp_flat([&](const Arrays& a) -> Arrays { return {solve(a)}; }, forward, backward, in)[0];
  }
  Arrays r;
  std::int64_t from = 0;
  for (auto& type : types) {
    auto shape = type.shape;
    shape.insert(0, t.size());
    r.push_back(reshape(slice_in_dim(y, 1, from, from + type.size()), shape).astype(type.dtype));
    from += type.size();
  }
  return r;
}
}  // namespace bora::fx
