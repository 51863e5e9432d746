// least_squares.h -- sums of squares, minimised, with the name and the results of scipy.optimize.least_squares. A
// while_loop, so that it runs inside jit and vmap too.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include "bora/array/array.h"

namespace bora::optimize {
/// lm: Levenberg and Marquardt's damped steps (More 1978; the damping is Nielsen's, 1999); gn: Gauss and Newton's
/// steps, the shortest where many fit, halved until the cost falls.
enum class LeastSquaresMethod : std::uint8_t { lm, gn };
struct LeastSquaresOptions {                          // of least_squares
  LeastSquaresMethod method = LeastSquaresMethod::lm;  // gn: for residuals that are nearly 0 at the solution
  Array lower = {}, upper = {};                        // bounds of x: [n] or one number; empty: none
  double ftol = 1e-8;                                  // until a step gains less than this part of the cost
  double xtol = 1e-8;                                  // until a step is shorter than this part of x
  double gtol = 1e-8;                                  // until the optimality is below
  std::optional<std::int64_t> max_nfev = none;         // evaluations of f; default: 100 n
  std::function<Array(const Array&)> jac = {};         // f's Jacobian [m, n]; default: forward derivatives of f
};
struct LeastSquaresResult {  // the point, the function there, and why it stopped
  Array x, cost, fun, jac;   // [n]; sum(fun^2) / 2; f(x) [m]; its Jacobian [m, n]
  Array grad, optimality;    // jac^T fun [n]; the largest |grad| of variables that are not at an active bound
  Array active_mask;         // i32 [n]: -1 at a lower bound, 1 at an upper one, to which the gradient drives x; else 0
  Array nfev, njev, status, success;  // i32: evaluations of f and of its Jacobian, and what follows; boolean
  std::string message() const;        // of status; reads it
};
/// The x near x0 [n], within the bounds, at which sum(f(x)^2) is a local minimum, f: [n] -> [m], m >= 1. status, as in
/// SciPy: 0: max_nfev were not enough, 1: gtol, 2: ftol, 3: xtol, 4: both of them; success: above 0. x has the
/// derivative of the equation grad = 0 by what f and the bounds close over; f is differentiated forward, twice. An x0
/// out of bounds is moved to the nearest one. Throws ShapeError unless x0 and f(x0) are vectors and the bounds fit,
/// DtypeError for x0 other than f32 and f64, ValueError for options out of range.
LeastSquaresResult least_squares(const std::function<Array(const Array&)>& f, const Array& x0,
                                 const LeastSquaresOptions& options = {});
}  // namespace bora::optimize
