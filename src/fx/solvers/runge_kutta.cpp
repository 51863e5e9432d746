// One step of a Runge-Kutta method.
#include "fx/solvers/runge_kutta.h"
#include "bora/fx/control.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"

namespace bora::fx {
namespace {
Array combined(const std::vector<double>& weights, const Arrays& k) {
  Array s;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    auto term = weights[i] == 1 ? k[i] : k[i] * weights[i];
    s = s.defined() ? s + term : term;
  }
  return s;
}
using Residual = std::function<Array(const Array&)>;
/// The Jacobian [n, n] of g at x.
Array matrix_of(const Residual& g, const Array& x) {
  auto l = linearize_flat([&](const Arrays& in) -> Arrays { return {g(in[0])}; }, {x});
  auto push = [&](const Arrays& v) -> Arrays {
    auto y = l.push(v)[0];
    return {y.defined() ? y : zeros_like(x)};
  };
  return transpose(vmap_flat(push, {eye(x.size(), x.dtype())}, {.in = {0}})[0]);
}
struct Chord {
  Array z, size, before, rounds;
};
constexpr int kMostRounds = 10;
/// z with g(z) = 0, by Newton's method with one matrix; weight: of a change of z, whose mean square shall be small.
std::pair<Array, Array> newton(const Residual& g, const linalg::LuFactor& matrix, const Array& z, const Array& weight,
                               double tolerance) {
  auto infinite = constant(HUGE_VAL, z.dtype());
  auto open = [&](const Chord& s) {
    auto grows = s.rounds >= 2 && !(s.size <= 2 * s.before);
    return s.rounds < kMostRounds && s.size > tolerance && !grows;
  };
  auto s = while_loop(open,
                      [&](const Chord& s) {
                        auto d = linalg::lu_solve(matrix, g(s.z));
                        return Chord{s.z - d, sqrt(mean(square(d * weight))), s.size, s.rounds + 1};
                      },
                      Chord{z, infinite, infinite, array(0)});
  return {s.z, s.size <= tolerance};
}
}  // namespace

RungeKuttaStep RungeKutta::operator()(const Dynamics& f, const Array& y, const Array& f0, const Array& t,
                                      const Array& dt) const {
  auto h = dt.astype(y.dtype());
  Arrays k{f0};
  Array solved = array(true);
  bool implicit = table.diagonal != 0;
  auto hd = h * table.diagonal;
  linalg::LuFactor matrix;
  auto weight = stop_gradient(hd / (atol + rtol * abs(y)));
  auto least = 10 * (y.dtype() == f64 ? 0x1p-52 : 0x1p-23) / std::max(rtol, 1e-300);
  auto tolerance = std::max(least, 1e-3);
  if (implicit && !differentiable) {
    auto j = matrix_of([&](const Array& x) { return f(x, t); }, y);
    matrix = linalg::lu_factor(eye(y.size(), y.dtype()) - hd * j);
  }
  Array last;
  for (std::size_t i = 0; i < table.a.size(); ++i) {
    auto base = y + h * combined(table.a[i], k);
    auto time = t + dt * table.c[i];
    if (!implicit) {
      k.push_back(f(base, time));
      last = base;
      continue;
    }
    auto equation = [&](const Array& z) { return z - f(base + hd * z, time); };
    auto guess = combined(table.guess[i], k);
    if (differentiable) {
      auto unknowns = [&](const Arrays& v) -> Arrays { return {equation(v[0]), v[1] * 0.}; };
      auto zero = constant(0., y.dtype());
      auto solve = [&](const FlatFn& g, const Arrays& v) -> Arrays {
        auto alone = [&](const Array& z) { return g({z, zero})[0]; };
        auto [z, found] = newton(alone, linalg::lu_factor(matrix_of(alone, v[0])), v[0], weight, tolerance);
        return {z, found.astype(y.dtype())};
      };
      auto tangent = [&](const FlatFn& g, const Arrays& v) -> Arrays {
        auto alone = [&](const Array& z) { return g({z, zero})[0]; };
        auto x = linalg::solve(matrix_of(alone, v[0]), expand_dims(v[0], 1));
        return {squeeze(x, 1), v[1] * 0.};
      };
      auto r = root_flat(unknowns, {stop_gradient(guess), zero}, solve, tangent);
      k.push_back(r[0]);
      solved = solved && stop_gradient(r[1]) != 0;
    } else {
      auto [z, found] = newton(equation, matrix, guess, weight, tolerance);
      k.push_back(z);
      solved = solved && found;
    }
    last = base + hd * k.back();
  }
  RungeKuttaStep r{last, k.back(), h * combined(table.error, k), {y}, solved};
  for (std::size_t p = 0; p < table.dense[0].size(); ++p) {
    std::vector<double> weights;
    for (auto& stage : table.dense) weights.push_back(stage[p]);
    r.powers.push_back(h * combined(weights, k));
  }
  return r;
}
Array polynomial_at(const Arrays& powers, const Array& u) {
  auto at = expand_dims(u, u.ndim());
  auto y = powers.back() * ones_like(at);
  for (auto p = powers.size() - 1; p-- > 0;) y = y * at + powers[p];
  return y;
}
}  // namespace bora::fx
