// Integrals of samples.
#include "bora/ops/calculus.h"
#include "bora/ops/integrate.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/reductions.h"

namespace bora::integrate {
using namespace ops;
namespace {
/// f(samples [.., n], distances of neighbours [n - 1] or [.., n - 1]), of which axis was moved to the end.
template <class F> Array of_samples(std::string_view what, const Array& y, const Array& coordinates, double distance,
                                    Index axis, const F& f) {
  check<ShapeError>(y.ndim() > 0, what, ": a scalar has no axis");
  axis = normalize_axis(what, axis, y.ndim());
  auto n = y.shape(axis);
  check<ShapeError>(n > 0, what, ": there are no samples along dimension ", axis, " of ", y.shape());
  bool given = coordinates.defined(), same = given && coordinates.shape() == y.shape();
  check<ShapeError>(!given || same || (coordinates.ndim() == 1 && coordinates.size() == n), what, ": coordinates ",
                    given ? coordinates.type() : y.type(), " are neither of y's shape ", y.shape(),
                    " nor one number for each element of dimension ", axis);
  return in_f32(y, [&](const Array& v) {
    Array width;
    if (!given) width = full({n - 1}, distance, v.dtype());
    else width = diff((same ? moveaxis(coordinates, axis, -1) : coordinates).astype(v.dtype()));
    return f(moveaxis(v, axis, -1), width);
  });
}
Array from(const Array& x, Index start, Index limit, Index step = 1) {
  return slice_in_dim(x, -1, start, std::max(start, limit), step);
}
Array running(const Array& y, const Array& coordinates, double distance, Index axis, std::optional<double> initial) {
  return of_samples("cumulative_trapezoid", y, coordinates, distance, axis, [&](const Array& v, const Array& width) {
    auto n = v.shape(-1);
    auto r = cumsum((from(v, 1, n) + from(v, 0, n - 1)) * width * 0.5, -1);
    if (initial) {
      Dims lo(at(v.ndim()), 0), hi = lo;
      lo.back() = 1;
      r = pad(r, lo, hi, *initial);
    }
    return moveaxis(r, -1, normalize_axis("cumulative_trapezoid", axis, v.ndim()));
  });
}
/// A pair of equal coordinates has no parabola: its quotients count as 0, as in SciPy.
Array over(const Array& a, const Array& b) { return where(b == 0, 0., a / where(b == 0, 1., b)); }
/// Parabolas through samples 0 .. 2 k of v.
Array parabolas(const Array& v, const Array& width, Index k) {
  auto y0 = from(v, 0, 2 * k, 2), y1 = from(v, 1, 2 * k, 2), y2 = from(v, 2, 2 * k + 1, 2);
  auto h0 = from(width, 0, 2 * k, 2), h1 = from(width, 1, 2 * k, 2);
  auto both = h0 + h1;
  auto q = over(h0, h1);
  return sum(both * (y0 * (2 - over(ones_like(q), q)) + y1 * (both * over(both, h0 * h1)) + y2 * (2 - q)), -1) / 6;
}
Array by_parabolas(const Array& y, const Array& coordinates, double distance, Index axis) {
  return of_samples("simpson", y, coordinates, distance, axis, [&](const Array& v, const Array& width) {
    auto n = v.shape(-1);
    if (n == 1) return sum(v * 0., -1);
    auto last = [&](const Array& a, Index k) { return index_in_dim(a, a.ndim() - 1, a.shape(-1) - k); };
    auto h1 = last(width, 1);
    if (n == 2) return (last(v, 1) + last(v, 2)) * h1 * 0.5;
    auto r = parabolas(v, width, (n - 1) / 2);
    if (n % 2 == 1) return r;
    auto h0 = last(width, 2);
    auto alpha = over(2 * square(h1) + 3 * h0 * h1, 6 * (h0 + h1)), beta = over(square(h1) + 3 * h0 * h1, 6 * h0),
         eta = over(power(h1, 3), 6 * h0 * (h0 + h1));
    return r + alpha * last(v, 1) + beta * last(v, 2) - eta * last(v, 3);
  });
}
}  // namespace

Array cumulative_trapezoid(const Array& y, double distance, Index axis, std::optional<double> initial) {
  return running(y, {}, distance, axis, initial);
}
Array cumulative_trapezoid(const Array& y, const Array& coordinates, Index axis, std::optional<double> initial) {
  return running(y, coordinates, 1, axis, initial);
}
Array simpson(const Array& y, double distance, Index axis) { return by_parabolas(y, {}, distance, axis); }
Array simpson(const Array& y, const Array& coordinates, Index axis) { return by_parabolas(y, coordinates, 1, axis); }
}  // namespace bora::integrate
