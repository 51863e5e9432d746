// Least squares by damped and by undamped steps.
#include "bora/fx/least_squares.h"
#include "bora/fx/control.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"

namespace bora::optimize {
namespace {
using Residuals = std::function<Array(const Array&)>;
struct Fit {
  Array x, f, j;         // [n], [m], [m, n]
  Array lambda, growth;  // the damping, and what a rejected step multiplies it with
  Array scale;           // [n]: the largest squares of the columns of j seen
  Array nfev, njev, status;
};
struct Within {  // the bounds
  Array lower, upper;
  Array clipped(const Array& x) const { return minimum(maximum(x, lower), upper); }
  Array at_lower(const Array& x, const Array& gradient) const { return x <= lower && gradient > 0; }
  Array at_upper(const Array& x, const Array& gradient) const { return x >= upper && gradient < 0; }
  Array active(const Array& x, const Array& gradient) const {
    return at_lower(x, gradient) || at_upper(x, gradient);
  }
};
Array half_square(const Array& f) { return 0.5 * sum(square(f)); }
Array slope_of(const Array& j, const Array& f) { return matmul(transpose(j), f); }
Array forward_jacobian(const Residuals& f, const Array& x) {
  auto l = fx::linearize_flat([&](const Arrays& in) -> Arrays { return {f(in[0])}; }, {x});
  auto like = l.out[0];
  auto push = [&](const Arrays& v) -> Arrays {
    auto y = l.push(v)[0];
    return {y.defined() ? y : zeros_like(like)};
  };
  return transpose(fx::vmap_flat(push, {eye(x.size(), x.dtype())}, {.in = {0}})[0]);
}
/// The p of least |j p + f|^2 + lambda |scale^(1/2) p|^2.
Array damped(const Array& j, const Array& f, const Array& lambda, const Array& scale) {
  auto rows = concatenate({j, diag(sqrt(lambda * scale))});
  auto q = linalg::qr(rows);
  auto right = concatenate({-f, zeros_like(scale)});
  return linalg::solve_triangular(q.r, matmul(transpose(q.q), right));
}
struct Problem {
  Residuals f, jac;
  Within bounds;
  LeastSquaresOptions o;
  std::int64_t most;
  Array optimality(const Array& x, const Array& gradient) const {
    return amax(where(bounds.active(x, gradient), 0., abs(gradient)));
  }
  Fit step(const Fit& s) const;
};
Fit Problem::step(const Fit& s) const {
  auto gradient = slope_of(s.j, s.f), cost = half_square(s.f);
  auto fixed = bounds.active(s.x, gradient);
  auto j = where(expand_dims(fixed, 0), 0., s.j);
  bool marquardt = o.method == LeastSquaresMethod::lm;
  Array x, f, tries;
  if (marquardt) {
    auto p = damped(j, s.f, s.lambda, where(fixed, 1., s.scale));
    x = bounds.clipped(s.x + p);
    f = this->f(x);
    tries = array(1);
  } else {
    struct Try {
      Array x, f, part, n;
    };
    auto p = linalg::lstsq(j, -s.f).x;
    auto at = [&](const Array& part, const Array& n) {
      auto x = bounds.clipped(s.x + part * p);
      return Try{x, this->f(x), part, n};
    };
    auto t = while_loop([&](const Try& t) { return !(half_square(t.f) < cost) && t.n < 40; },
                        [&](const Try& t) { return at(t.part * 0.5, t.n + 1); }, at(ones_like(s.lambda), array(1)));
    x = t.x, f = t.f, tries = t.n;
  }
  auto d = x - s.x;
  auto gained = cost - half_square(f), expected = -(dot(gradient, d) + half_square(matmul(s.j, d)));
  auto ratio = gained / where(expected > 0, expected, 1.);
  auto taken = gained > 0 && isfinite(gained) && (expected > 0 || !marquardt);
  auto next = s;
  next.nfev = s.nfev + tries;
  next.x = where(taken, x, s.x);
  next.f = where(taken, f, s.f);
  next.j = cond(taken, [&](const Array& v, const Array&) { return jac(v); },
                [](const Array&, const Array& old) { return old; }, next.x, s.j);
  next.njev = s.njev + taken.astype(i32);
  auto shrunk = maximum(1 - power(2 * ratio - 1, 3), 1. / 3);
  next.lambda = where(taken, s.lambda * shrunk, s.lambda * s.growth);
  next.growth = where(taken, 2., s.growth * 2);
  next.scale = maximum(s.scale, sum(square(next.j), 0));
  auto length = sqrt(sum(square(d))), of_x = sqrt(sum(square(s.x)));
  auto little_gain = taken && gained < o.ftol * cost && (ratio > 0.25 || !marquardt);
  auto short_step = length < o.xtol * (o.xtol + of_x);
  auto status = where(little_gain && short_step, 4, where(little_gain, 2, where(short_step, 3, full({}, -1, i32))));
  status = where(optimality(next.x, slope_of(next.j, next.f)) < o.gtol, 1, status);
  next.status = where(status == -1 && next.nfev >= static_cast<int>(most), 0, status);
  return next;
}
Array bound(const Array& given, const Array& x, double otherwise, std::string_view what) {
  if (!given.defined()) return full_of(x.type(), otherwise);
  check<ShapeError>(given.ndim() == 0 || given.shape() == x.shape(), "least_squares: .", what, " is ", given.type(),
                    ", x0 is ", x.type(), "; they must be equal, or the bound one number");
  return broadcast_to(given.astype(x.dtype()), x.shape());
}
}  // namespace

LeastSquaresResult least_squares(const std::function<Array(const Array&)>& f, const Array& x0,
                                 const LeastSquaresOptions& o) {
  check<ShapeError>(x0.ndim() == 1 && x0.size() > 0, "least_squares: x0 must be a vector, got ", x0.type(),
                    "; tree::ravel makes one of a tree");
  check<DtypeError>(x0.dtype() == f32 || x0.dtype() == f64, "least_squares: x0 must be f32 or f64, got ", x0.type());
  auto n = x0.size(), most = o.max_nfev.value_or(100 * n);
  check<ValueError>(o.ftol >= 0 && o.xtol >= 0 && o.gtol >= 0 && most >= 1, "least_squares: ftol = ", o.ftol,
                    ", xtol = ", o.xtol, ", gtol = ", o.gtol, " must not be negative, max_nfev = ", most,
                    " must be positive");
  auto d = x0.dtype();
  auto checked_f = [&](const Array& x) {
    auto y = f(x);
    check<ShapeError>(y.ndim() == 1 && y.size() > 0, "least_squares: f must give a vector, got ", y.type());
    return y.astype(d);
  };
  auto jacobian = [&](const Residuals& g, const Array& x) {
    if (!o.jac) return forward_jacobian(g, x);
    auto j = o.jac(x);
    check<ShapeError>(j.ndim() == 2 && j.shape(1) == n, "least_squares: .jac gives ", j.type(), " for x ", x.type());
    return j.astype(d);
  };
  Within bounds{bound(o.lower, x0, -HUGE_VAL, "lower"), bound(o.upper, x0, HUGE_VAL, "upper")};
  // The unknowns: x, and three counts, of which 0 = 0. Where x is at an active bound it is that bound, else grad = 0.
  auto zero = constant(0., d);
  auto residuals_and_slope = [&](const Array& x) {
    auto y = checked_f(x), j = jacobian(checked_f, x);
    return std::pair{y, j};
  };
  auto equation = [&](const Arrays& v) -> Arrays {
    auto [y, j] = residuals_and_slope(v[0]);
    auto g = slope_of(j, y), fixed = stop_gradient(g);
    auto low = bounds.at_lower(v[0], fixed), high = bounds.at_upper(v[0], fixed);
    return {where(low, v[0] - bounds.lower, where(high, v[0] - bounds.upper, g)), v[1] * 0., v[2] * 0., v[3] * 0.};
  };
  auto solve = [&](const FlatFn&, const Arrays& guess) -> Arrays {
    Problem p{checked_f, [&](const Array& x) { return jacobian(checked_f, x); }, bounds, o, most};
    auto x = bounds.clipped(guess[0]);
    auto y = checked_f(x), j = p.jac(x);
    auto squares = sum(square(j), 0);
    Fit s{x, y, j, constant(1e-3, d), constant(2., d), where(squares == 0, 1., squares), array(1), array(1),
          full({}, -1, i32)};
    s.status = where(p.optimality(x, slope_of(j, y)) < o.gtol, 1, s.status);
    s = while_loop([](const Fit& s) { return s.status == -1; }, [&](const Fit& s) { return p.step(s); }, s);
    return {s.x, s.nfev.astype(d), s.njev.astype(d), s.status.astype(d)};
  };
  auto tangent = [&](const FlatFn& g, const Arrays& v) -> Arrays {
    auto alone = [&](const Array& x) { return g({x, zero, zero, zero})[0]; };
    auto m = forward_jacobian(alone, v[0]);
    return {squeeze(linalg::solve(m, expand_dims(v[0], 1)), 1), v[1] * 0., v[2] * 0., v[3] * 0.};
  };
  auto r = fx::root_flat(equation, {stop_gradient(x0), zero, zero, zero}, solve, tangent);
  auto whole = [](const Array& x) { return stop_gradient(x).astype(i32); };
  auto [y, j] = residuals_and_slope(r[0]);
  auto g = slope_of(j, y), status = whole(r[3]);
  auto low = bounds.at_lower(r[0], g), high = bounds.at_upper(r[0], g);
  return {r[0], half_square(y), y, j, g, amax(where(low || high, 0., abs(g))),
          where(low, -1, high.astype(i32)), whole(r[1]), whole(r[2]), status, status > 0};
}
std::string LeastSquaresResult::message() const {
  switch (status.item<int>()) {
    case 0: return "The maximum number of function evaluations is exceeded.";
    case 1: return "`gtol` termination condition is satisfied.";
    case 2: return "`ftol` termination condition is satisfied.";
    case 3: return "`xtol` termination condition is satisfied.";
    case 4: return "Both `ftol` and `xtol` termination conditions are satisfied.";
    default: return "Unknown status.";
  }
}
}  // namespace bora::optimize
