// Minima by quasi-Newton methods.
#include "bora/fx/control.h"
#include "bora/fx/core.h"
#include "bora/fx/optimize.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "fx/solvers/line_search.h"

namespace bora::optimize {
namespace {
/// fun and its gradient at x.
std::pair<Array, Array> both(const std::function<Array(const Array&)>& fun, const Array& x) {
  auto v = fx::vjp_flat([&](const Arrays& in) -> Arrays { return {fun(in[0])}; }, {x}, {true});
  check<ShapeError>(v.out[0].ndim() == 0, "minimize: fun must give a scalar, got ", v.out[0].type());
  check<DtypeError>(is_float(v.out[0].dtype()), "minimize: fun must give a floating number, got ", v.out[0].type());
  auto g = v.pullback({ones_like(v.out[0])})[0];
  return {v.out[0].astype(x.dtype()), g.defined() ? g : zeros_like(x)};
}
struct Iterate {
  Array x, f, g;
  Array matrix;              // bfgs: the inverse Hessian
  Array steps, changes, rho;  // lbfgs: [history, n] and [history], the last one at the end
  Array scale, before;       // lbfgs: of the first inverse Hessian; bfgs: the value before f
  Array status, k, nfev;
};
Array small(const Array& g, const MinimizeOptions& o) { return linalg::vector_norm(g, o.norm) < o.gtol; }
Array direction(const Iterate& s, const MinimizeOptions& o) {
  if (o.method == Method::bfgs) return -matmul(s.matrix, s.g);
  // Two loops over the history; steps that are not there yet have rho = 0.
  auto q = -s.g;
  auto n = o.history;
  std::vector<Array> alpha(static_cast<std::size_t>(n));
  auto row = [](const Array& m, std::int64_t i) { return index_in_dim(m, 0, i); };
  for (auto i = n; i-- > 0;) {
    auto a = row(s.rho, i) * dot(row(s.steps, i), q);
    alpha[static_cast<std::size_t>(i)] = a;
    q = q - a * row(s.changes, i);
  }
  q = q * s.scale;
  for (std::int64_t i = 0; i < n; ++i) {
    auto b = row(s.rho, i) * dot(row(s.changes, i), q);
    q = q + (alpha[static_cast<std::size_t>(i)] - b) * row(s.steps, i);
  }
  return q;
}
Array shifted_in(const Array& history, const Array& last) {
  return concatenate({slice_in_dim(history, 0, 1, history.shape(0)), expand_dims(last, 0)});
}
Iterate step(const std::function<Array(const Array&)>& fun, const Iterate& s, const MinimizeOptions& o,
             std::int64_t maxiter) {
  auto p = direction(s, o);
  auto phi = [&](const Array& a) {
    auto [f, g] = both(fun, s.x + a * p);
    return fx::Point{a, f, dot(g, p), g};
  };
  fx::Point start{zeros_like(s.f), s.f, dot(s.g, p), s.g};
  Array first = ones_like(s.f);
  if (o.method == Method::bfgs) {  // as far as the last step gained
    auto guess = 1.01 * 2 * (s.f - s.before) / start.slope;
    first = where(guess > 0 && guess < 1, guess, 1.);
  }
  auto found = fx::line_search(phi, start, first, o.line_search_maxiter);
  auto ds = found.at.a * p, y = found.at.g - s.g;
  auto sy = dot(y, ds);
  auto rho = 1 / sy, known = isfinite(rho);
  rho = where(known, rho, 0.);
  auto next = s;
  next.x = s.x + ds;
  next.f = found.at.phi;
  next.g = found.at.g;
  next.before = s.f;
  next.k = s.k + 1;
  next.nfev = s.nfev + found.nfev;
  if (o.method == Method::bfgs) {
    auto w = eye(s.x.size(), s.x.dtype()) - rho * outer(ds, y);
    auto m = matmul(matmul(w, s.matrix), transpose(w)) + rho * outer(ds, ds);
    next.matrix = where(known, m, s.matrix);
  } else {
    next.steps = shifted_in(s.steps, ds);
    next.changes = shifted_in(s.changes, y);
    next.rho = shifted_in(s.rho, rho);
    next.scale = where(known, sy / dot(y, y), s.scale);
  }
  auto status = where(found.failed, 2, where(next.k >= static_cast<int>(maxiter), 1, -1));
  if (o.method == Method::lbfgs)
    status = where(status == -1 && s.f - next.f < o.ftol, 4, status);
  next.status = where(small(next.g, o), 0, status);
  return next;
}
}  // namespace

OptimizeResults minimize(const std::function<Array(const Array&)>& fun, const Array& x0, const MinimizeOptions& o) {
  check<ShapeError>(x0.ndim() == 1 && x0.size() > 0, "minimize: x0 must be a vector, got ", x0.type(),
                    "; tree::ravel makes one of a tree");
  check<DtypeError>(x0.dtype() == f32 || x0.dtype() == f64, "minimize: x0 must be f32 or f64, got ", x0.type());
  check<ValueError>(o.gtol >= 0 && o.ftol >= 0, "minimize: gtol = ", o.gtol, " and ftol = ", o.ftol,
                    " must not be negative");
  check<ValueError>(o.history >= 1 && o.line_search_maxiter >= 1, "minimize: history = ", o.history,
                    " and line_search_maxiter = ", o.line_search_maxiter, " must be positive");
  auto n = x0.size(), maxiter = o.maxiter.value_or(200 * n);
  check<ValueError>(maxiter >= 0, "minimize: maxiter = ", maxiter, " must not be negative");
  auto d = x0.dtype();
  auto x = stop_gradient(x0);
  Iterate s;
  s.x = x;
  std::tie(s.f, s.g) = both(fun, x);
  bool dense = o.method == Method::bfgs;
  s.matrix = dense ? eye(n, d) : zeros({0}, d);
  s.steps = s.changes = zeros({dense ? 0 : o.history, n}, d);
  s.rho = zeros({dense ? 0 : o.history}, d);
  s.scale = ones_like(s.f);
  s.before = s.f + linalg::vector_norm(s.g) / 2;
  s.status = where(small(s.g, o), 0, maxiter == 0 ? 1 : -1);
  s.k = array(0);
  s.nfev = array(1);
  s = while_loop([](const Iterate& s) { return s.status == -1; },
                 [&](const Iterate& s) { return step(fun, s, o, maxiter); }, s);
  return {s.x, s.status == 0, s.status, s.f, s.g, dense ? s.matrix : Array(), s.nfev, s.nfev, s.k};
}
std::string OptimizeResults::message() const {
  switch (status.item<int>()) {
    case 0: return "The gradient is small enough.";
    case 1: return "The maximum number of iterations has been reached.";
    case 2: return "The line search found no point that satisfies the Wolfe conditions.";
    case 4: return "Steps gain less than ftol.";
    default: return "Unknown status.";
  }
}
}  // namespace bora::optimize
