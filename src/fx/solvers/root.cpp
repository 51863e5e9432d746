// Zeros of functions.
#include "bora/fx/control.h"
#include "bora/fx/core.h"
#include "bora/fx/optimize.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"

namespace bora::optimize {
namespace {
using Function = std::function<Array(const Array&)>;
struct Checked {
  double tol;
  int maxiter;
};
Checked checked(std::string_view what, const Array& x, const RootOptions& o) {
  check<DtypeError>(x.dtype() == f32 || x.dtype() == f64, what, ": the start must be f32 or f64, got ", x.type());
  auto tol = o.tol.value_or(x.dtype() == f64 ? 1e-10 : 1e-5);
  check<ValueError>(tol >= 0 && o.maxiter >= 0 && o.maxiter < 1 << 30, what, ": tol = ", tol, " and maxiter = ",
                    o.maxiter, " must not be negative");
  return {tol, static_cast<int>(o.maxiter)};
}
Array value(std::string_view what, const Function& f, const Array& x) {
  auto y = f(x);
  check<ShapeError>(y.type() == x.type(), what, ": f gives ", y.type(), " for ", x.type(), "; they must be equal");
  return y;
}
Array solved(const Array& m, const Array& b) { return squeeze(linalg::solve(m, expand_dims(b, 1)), 1); }
/// f's Jacobian [n, n] at x.
Array jacobian(const FlatFn& push, const Array& x) {
  auto columns = fx::vmap_flat([&](const Arrays& v) { return push(v); }, {eye(x.size(), x.dtype())}, {.in = {0}});
  return transpose(columns[0]);
}
struct Estimate {
  Array x, f, k;
  Array busy;  // can x still become better? (of newton: each element)
};
/// The zero with the derivative of the equation; `solve` finds it, `converged` judges, `tangent` solves with f's
/// derivative.
RootResults by_equation(std::string_view what, const Function& f, const Array& x0,
                        const std::function<Estimate(const Function&, const Array&)>& solve,
                        const std::function<Array(const FlatFn&, const Array&)>& tangent,
                        const std::function<Array(const Estimate&)>& converged) {
  // The number of iterations and success are unknowns of the equation too: 0 = 0.
  auto equation = [&](const Arrays& v) -> Arrays { return {value(what, f, v[0]), v[1] * 0., v[2] * 0.}; };
  auto zero = constant(0., x0.dtype());
  auto found = [&](const FlatFn& g, const Arrays& guess) -> Arrays {
    auto s = solve([&](const Array& x) { return g({x, zero, zero})[0]; }, guess[0]);
    return {s.x, s.k.astype(x0.dtype()), converged(s).astype(x0.dtype())};
  };
  auto linear = [&](const FlatFn& g, const Arrays& y) -> Arrays {
    auto push = [&](const Arrays& v) -> Arrays { return {g({v[0], zero, zero})[0]}; };
    return {tangent(push, y[0]), y[1] * 0., y[2] * 0.};
  };
  auto r = fx::root_flat(equation, {stop_gradient(x0), zero, zero}, found, linear);
  return {r[0], stop_gradient(r[2]) != 0, stop_gradient(r[1]).astype(i32)};
}
Array by_element(const FlatFn& push, const Array& y) { return y / push({ones_like(y)})[0]; }
struct Try {
  Array a, x, f, n;
};
constexpr int kHalvings = 40;
/// A step of Newton's method, halved until |f| falls.
Estimate newton_step(const Function& g, const Estimate& s) {
  auto l = fx::linearize_flat([&](const Arrays& in) -> Arrays { return {g(in[0])}; }, {s.x});
  auto push = [&](const Arrays& v) -> Arrays {
    auto y = l.push(v)[0];
    return {y.defined() ? y : zeros_like(s.x)};
  };
  auto d = solved(jacobian(push, s.x), -s.f);
  auto size = sum(square(s.f));
  auto better = [&](const Try& t) { return sum(square(t.f)) < size; };
  auto at = [&](const Array& a, const Array& n) {
    auto x = s.x + a * d;
    return Try{a, x, g(x), n};
  };
  auto t = while_loop([&](const Try& t) { return !better(t) && t.n < kHalvings; },
                      [&](const Try& t) { return at(t.a * 0.5, t.n + 1); }, at(constant(1., s.x.dtype()), array(0)));
  auto good = better(t);
  return {where(good, t.x, s.x), where(good, t.f, s.f), s.k + 1, good};
}
struct Interval {
  Array low, high, k;
};
}  // namespace

RootResults root(const Function& f, const Array& x0, const RootOptions& o) {
  auto c = checked("root", x0, o);
  check<ShapeError>(x0.ndim() == 1 && x0.size() > 0, "root: x0 must be a vector, got ", x0.type(),
                    "; newton finds zeros of elementwise functions");
  auto converged = [&](const Estimate& s) { return all(abs(s.f) <= c.tol); };
  auto solve = [&](const Function& g, const Array& guess) {
    return while_loop([&](const Estimate& s) { return !converged(s) && s.busy && s.k < c.maxiter; },
                      [&](const Estimate& s) { return newton_step(g, s); },
                      Estimate{guess, g(guess), array(0), array(true)});
  };
  auto tangent = [](const FlatFn& push, const Array& y) { return solved(jacobian(push, y), y); };
  return by_equation("root", f, x0, solve, tangent, converged);
}
RootResults newton(const Function& f, const Array& x0, const RootOptions& o) {
  auto c = checked("newton", x0, o);
  auto solve = [&](const Function& g, const Array& guess) {
    auto body = [&](const Estimate& s) {
      auto [y, slope] = fx::jvp_flat([&](const Arrays& in) -> Arrays { return {g(in[0])}; }, {s.x}, {ones_like(s.x)});
      auto d = where(y[0] == 0, 0., y[0] / (slope[0].defined() ? slope[0] : zeros_like(s.x)));
      return Estimate{where(s.busy, s.x - d, s.x), y[0], s.k + 1, s.busy && !(abs(d) <= c.tol)};
    };
    return while_loop([&](const Estimate& s) { return any(s.busy) && s.k < c.maxiter; }, body,
                      Estimate{guess, guess, array(0), full_of({guess.shape(), boolean}, true)});
  };
  return by_equation("newton", f, x0, solve, by_element, [](const Estimate& s) { return !any(s.busy); });
}
RootResults bisect(const Function& f, const Array& a, const Array& b, const RootOptions& o) {
  check<ShapeError>(a.type() == b.type(), "bisect: a is ", a.type(), ", b is ", b.type(), "; they must be equal");
  auto c = checked("bisect", a, o);
  auto low = stop_gradient(a), high = stop_gradient(b);
  auto solve = [&](const Function& g, const Array&) {
    auto p = g(low), q = g(high);
    auto fits = sign(p) * sign(q) <= 0;
    auto rises = where(q == 0, p < 0, q > 0);
    double apart = a.dtype() == f64 ? 0x1p-50 : 0x1p-21;  // some neighbouring numbers
    auto wide = [&](const Interval& v) {
      auto least = maximum(c.tol, apart * maximum(abs(v.low), abs(v.high)));
      return fits && abs(v.high - v.low) > least && p != 0 && q != 0;
    };
    auto i = while_loop([&](const Interval& v) { return any(wide(v)) && v.k < c.maxiter; },
                        [&](const Interval& v) {
                          auto m = v.low + (v.high - v.low) * 0.5;
                          auto y = g(m);
                          auto above = where(rises, y > 0, y < 0), exact = y == 0;
                          return Interval{where(above, v.low, m), where(above || exact, m, v.high), v.k + 1};
                        },
                        Interval{low, high, array(0)});
    auto x = where(p == 0, low, where(q == 0, high, i.low + (i.high - i.low) * 0.5));
    x = where(fits, x, std::numeric_limits<double>::quiet_NaN());
    return Estimate{x, p, i.k, wide(i) || !fits};
  };
  return by_equation("bisect", f, low, solve, by_element, [](const Estimate& s) { return !any(s.busy); });
}
}  // namespace bora::optimize
