// Steps that satisfy the strong Wolfe conditions.
#include "fx/solvers/line_search.h"
#include "bora/fx/control.h"
#include "bora/ops/creation.h"
#include "bora/ops/ufuncs.h"

namespace bora::fx {
namespace {
constexpr double kDecrease = 1e-4, kCurvature = 0.9;
constexpr int kZooms = 30;
Point chosen_point(const Array& first, const Point& a, const Point& b) {
  return {where(first, a.a, b.a), where(first, a.phi, b.phi), where(first, a.slope, b.slope), where(first, a.g, b.g)};
}
/// The minimum of the cubic polynomial through a (value and slope), b and c; NaN where it has none.
Array cubic_minimum(const Point& a, const Point& b, const Point& c) {
  auto db = b.a - a.a, dc = c.a - a.a;
  auto denominator = square(db * dc) * (db - dc);
  auto fb = b.phi - a.phi - a.slope * db, fc = c.phi - a.phi - a.slope * dc;
  auto p = (square(dc) * fb - square(db) * fc) / denominator;
  auto q = (power(db, 3) * fc - power(dc, 3) * fb) / denominator;
  return a.a + (sqrt(q * q - 3 * p * a.slope) - q) / (3 * p);
}
Array quadratic_minimum(const Point& a, const Point& b) {
  auto db = b.a - a.a;
  return a.a - a.slope / (2 * ((b.phi - a.phi - a.slope * db) / square(db)));
}
struct Wolfe {
  Point start;
  Array high(const Point& p) const { return !(p.phi <= start.phi + kDecrease * p.a * start.slope); }
  Array flat(const Point& p) const { return abs(p.slope) <= -kCurvature * start.slope; }
};
struct Zoom {
  Point low, high, other, found;
  Array done, failed, count;
};
/// A point between low and high, of which low is the better one. runs: false leaves everything as it is.
Zoom zoom(const std::function<Point(const Array&)>& phi, const Wolfe& wolfe, const Point& low, const Point& high,
          const Array& runs) {
  auto middle = low;
  middle.a = (low.a + high.a) / 2;
  middle.phi = (low.phi + high.phi) / 2;
  Zoom init{low, high, middle, wolfe.start, array(false), array(false), array(0)};
  auto least = low.a.dtype() == f64 ? 1e-10 : 1e-5;
  auto body = [&](const Zoom& z) {
    auto a = minimum(z.low.a, z.high.a), b = maximum(z.low.a, z.high.a), width = b - a;
    auto cubic = cubic_minimum(z.low, z.high, z.other), quadratic = quadratic_minimum(z.low, z.high);
    auto inside = [&](const Array& x, double part) { return x > a + part * width && x < b - part * width; };
    auto step = where(inside(cubic, 0.2) && z.count > 0, cubic,
                      where(inside(quadratic, 0.1), quadratic, (z.low.a + z.high.a) / 2));
    auto p = phi(step);
    auto above = wolfe.high(p) || p.phi >= z.low.phi;
    auto good = wolfe.flat(p) && !above;
    auto rises = p.slope * (z.high.a - z.low.a) >= 0;
    auto turned = rises && !above && !good;
    Zoom next;
    next.other = chosen_point(above || turned, z.high, z.low);
    next.high = chosen_point(above, p, chosen_point(turned, z.low, z.high));
    next.low = chosen_point(above, z.low, p);
    next.found = chosen_point(good, p, z.found);
    next.done = good;
    next.count = z.count + 1;
    next.failed = !good && (width <= least || next.count >= kZooms);
    return next;
  };
  return while_loop([&](const Zoom& z) { return runs && !z.done && !z.failed; }, body, init);
}
struct Search {
  Point last, found;
  Array done, failed, i, nfev;
};
}  // namespace

LineSearch line_search(const std::function<Point(const Array&)>& phi, const Point& start, const Array& first,
                       std::int64_t maxiter) {
  Wolfe wolfe{start};
  Search init{start, start, array(false), array(false), array(1), array(0)};
  auto body = [&](const Search& s) {
    auto p = phi(where(s.i == 1, first, s.last.a * 2));
    auto above = wolfe.high(p) || (p.phi >= s.last.phi && s.i > 1);
    auto good = wolfe.flat(p) && !above;
    auto beyond = p.slope >= 0 && !above && !good;
    // Either the minimum lies between the last point and this one, or it was passed: one zoom serves both.
    auto zooms = above || beyond;
    auto z = zoom(phi, wolfe, chosen_point(above, s.last, p), chosen_point(above, p, s.last), zooms);
    return Search{p,
                  chosen_point(good, p, chosen_point(zooms && z.done, z.found, s.found)),
                  good || zooms,
                  zooms && !z.done,
                  s.i + 1,
                  s.nfev + 1 + z.count};
  };
  auto s = while_loop([&](const Search& s) { return !s.done && s.i <= static_cast<int>(maxiter); }, body, init);
  return {s.found, s.failed || !s.done, s.nfev};
}
}  // namespace bora::fx
