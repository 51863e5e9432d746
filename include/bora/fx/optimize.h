// optimize.h -- minima and zeros of functions, with the names of scipy.optimize and jax.scipy.optimize. Everything is a
// while_loop, so that it runs inside jit and vmap too.
#pragma once
#include <cmath>
#include <functional>
#include "bora/array/array.h"

namespace bora::optimize {
/// bfgs: an approximate inverse Hessian [n, n] (Nocedal & Wright 2006, algorithm 6.1); lbfgs: the last `history` steps
/// instead (algorithm 7.5).
enum class Method : std::uint8_t { bfgs, lbfgs };
struct MinimizeOptions {                       // of minimize
  Method method = Method::bfgs;                // lbfgs for many parameters
  double gtol = 1e-5;                          // until the norm of the gradient is below
  double norm = HUGE_VAL;                      // its order; infinity: the largest element
  double ftol = 2.220446049250313e-9;          // lbfgs: until a step gains less
  std::optional<std::int64_t> maxiter = none;  // default: 200 n
  std::int64_t line_search_maxiter = 20;       // steps of a line search
  std::int64_t history = 10;                   // lbfgs
};
struct OptimizeResults {  // the point, whether and why it stopped there, the function and its gradient
  Array x, success, status, fun, jac;
  Array hess_inv;                // [n, n]; empty for lbfgs
  Array nfev, njev, nit;         // i32
  std::string message() const;   // of status; reads values
};
/// A local minimum of fun, a scalar function of a vector x [n], near x0. status: 0 where the gradient is small enough,
/// 1 after maxiter steps, 2: the line search found no point that satisfies the strong Wolfe conditions (also: fun is
/// not finite), 4 where steps gain less than ftol (lbfgs). success: status 0. The result has no derivative: of a
/// minimum take the derivative of its equation, custom_root. Throws ShapeError unless x0 is a vector and fun gives a
/// scalar, DtypeError for integers, ValueError for options out of range.
OptimizeResults minimize(const std::function<Array(const Array&)>& fun, const Array& x0,
                         const MinimizeOptions& options = {});

struct RootOptions {                 // of root, newton and bisect
  std::optional<double> tol = none;  // default: 1e-10 for f64, 1e-5 for others
  std::int64_t maxiter = 100;        // most steps
};
/// x: the zero; converged, boolean; iterations, i32.
struct RootResults {
  Array x, converged, iterations;
};
/// A zero x [n] of f: [n] -> [n] near x0, by Newton's method with steps halved until |f| falls; until all |f| are at
/// most tol. x has the derivative of the equation by what f closes over. Throws as minimize.
RootResults root(const std::function<Array(const Array&)>& f, const Array& x0, const RootOptions& options = {});
/// Newton's method for each element by itself: f is elementwise, of any shape. Until a step is at most tol.
RootResults newton(const std::function<Array(const Array&)>& f, const Array& x0, const RootOptions& options = {});
/// The zeros between a and b, element by element, by halving: f(a) and f(b) have opposite signs (else converged is
/// false there). Until b - a is at most tol.
RootResults bisect(const std::function<Array(const Array&)>& f, const Array& a, const Array& b,
                   const RootOptions& options = {});
}  // namespace bora::optimize
