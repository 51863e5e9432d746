// line_search.h -- a step that satisfies the strong Wolfe conditions. Private.
#pragma once
#include <functional>
#include "bora/array/array.h"

namespace bora::fx {
struct Point {
  Array a, phi, slope, g;  // a step along the direction, the value, its derivative by the step, the gradient
};
struct LineSearch {
  Point at;  // without success: the start
  Array failed, nfev;
};
/// phi(step): the function at x + step * p. From `start` (a = 0), the first step is `first`. Source: Nocedal & Wright
/// 2006, algorithms 3.5 and 3.6, with the constants of SciPy and JAX.
LineSearch line_search(const std::function<Point(const Array& step)>& phi, const Point& start, const Array& first,
                       std::int64_t maxiter);
}  // namespace bora::fx
