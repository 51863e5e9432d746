// Discrete cosine transforms by Fourier transforms: type 2 by one of length n (Makhoul 1980).
#include "bora/ops/fft.h"
#include <numbers>
#include "bora/ops/complex.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora::fft {
using namespace ops;
namespace {
/// exp(i angle k) for k = 0 .. n - 1 plus `from`, complex.
Array turns(Index n, double angle, double from, Dtype real) {
  auto t = (iota({n}, 0, f64) + from) * angle;
  return complex(cos(t), sin(t)).astype(complex_dtype(real));
}
/// Numbers for the elements of the last axis: `first`, `inner` .. and `last`.
Array along_last(Index n, double first, double inner, double last, Dtype d) {
  auto k = iota({n}, 0);
  return where(k == 0, first, where(k == n - 1, last, full({n}, inner, d)));
}
/// The transforms as written in the header, of real x along its last axis, of length n.
Array type1(const Array& x, Index n) {
  return real(rfft(n == 2 ? x : concatenate({x, flip(slice_in_dim(x, -1, 1, n - 1), -1)}, -1)));
}
Array type2(const Array& x, Index n) {
  auto even = slice_in_dim(x, -1, 0, n, 2);
  auto v = n == 1 ? even : concatenate({even, flip(slice_in_dim(x, -1, 1, n, 2), -1)}, -1);
  auto angle = -std::numbers::pi / (2 * static_cast<double>(n));
  return 2 * real(fft(v) * turns(n, angle, 0, x.dtype()));
}
Array type3(const Array& x, Index n) {
  auto angle = std::numbers::pi / (2 * static_cast<double>(n));
  auto v = x * along_last(n, 1, 2, n == 1 ? 1 : 2, x.dtype());
  return slice_in_dim(real(ifft(v * turns(n, angle, 0, x.dtype()), {.n = 2 * n, .norm = Norm::forward})), -1, 0, n);
}
Array type4(const Array& x, Index n) {
  auto angle = -std::numbers::pi / (2 * static_cast<double>(n));
  auto v = slice_in_dim(fft(x * turns(n, angle, 0, x.dtype()), {.n = 2 * n}), -1, 0, n);
  return 2 * real(v * turns(n, angle, 0.5, x.dtype()));
}
Array plain(int type, const Array& x, Index n) {
  return type == 1 ? type1(x, n) : type == 2 ? type2(x, n) : type == 3 ? type3(x, n) : type4(x, n);
}
/// x times the diagonal matrix that makes type 1, 2 or 3 orthogonal from this side.
Array orthogonal(int type, bool result, const Array& x, Index n) {
  auto m = static_cast<double>(n), half = std::sqrt(0.5);
  if (type == 1) {
    auto end = result ? half : std::sqrt(2.), s = result ? std::sqrt(0.5 / (m - 1)) : 1.;
    return x * along_last(n, end * s, s, end * s, x.dtype());
  }
  if (type == 2 && result) {
    auto s = std::sqrt(0.5 / m);
    return x * along_last(n, half * s, s, n == 1 ? half * s : s, x.dtype());
  }
  if (type == 3 && !result) {
    auto s = std::sqrt(0.5 / m);
    return x * along_last(n, 2 * half * s, s, n == 1 ? 2 * half * s : s, x.dtype());
  }
  return type == 4 && result ? x * std::sqrt(0.5 / m) : x;
}
Array transformed(std::string_view what, bool inverse, const Array& x, const DctOptions& o) {
  check<ValueError>(o.type >= 1 && o.type <= 4, what, ": there is no type ", o.type, "; there are 1, 2, 3 and 4");
  check<DtypeError>(is_numeric(x.dtype()), what, ": keys are not numbers");
  check<ShapeError>(x.ndim() > 0, what, ": a scalar has no axis");
  auto axis = normalize_axis(what, o.axis, x.ndim()), n = o.n.value_or(x.shape(axis));
  check<ValueError>(n >= (o.type == 1 ? 2 : 1), what, ": the length must be at least ", o.type == 1 ? 2 : 1, ", got ",
                    n, " for ", x.type());
  if (is_complex(x.dtype()))
    return complex(transformed(what, inverse, real(x), o), transformed(what, inverse, imag(x), o));
  auto v = moveaxis(in_real_accumulator(x), axis, -1);
  Dims lo(at(x.ndim()), 0), hi = lo;
  hi.back() = n - v.shape(-1);
  if (hi.back() != 0) v = pad(v, lo, hi);
  auto type = !inverse || o.type == 1 || o.type == 4 ? o.type : 5 - o.type;
  if (o.norm == Norm::ortho) v = orthogonal(type, true, plain(type, orthogonal(type, false, v, n), n), n);
  else {
    v = plain(type, v, n);
    if (inverse == (o.norm == Norm::backward)) v = v * (0.5 / static_cast<double>(o.type == 1 ? n - 1 : n));
  }
  return moveaxis(v, -1, axis);
}
Array over_all(std::string_view what, bool inverse, const Array& x, const DctnOptions& o) {
  Dims axes;
  if (o.axes) axes = *o.axes;
  else if (o.s) axes = range_of(static_cast<Index>(o.s->size()), x.ndim() - static_cast<Index>(o.s->size()));
  else axes = range_of(x.ndim());
  check<ValueError>(!o.s || o.s->size() == axes.size(), what, ": s has ", o.s ? o.s->size() : 0, " lengths for ",
                    axes.size(), " axes");
  for (auto& a : axes) a = normalize_axis(what, a, x.ndim());
  for (std::size_t k = 0; k < axes.size(); ++k)
    check<ValueError>(std::count(axes.begin(), axes.end(), axes[k]) == 1, what, ": axis ", axes[k], " is given twice");
  auto y = is_inexact(x.dtype()) ? x : x.astype(f32);
  for (std::size_t k = 0; k < axes.size(); ++k)
    y = transformed(what, inverse, y,
                    {.type = o.type, .n = o.s ? std::optional((*o.s)[k]) : none, .axis = axes[k], .norm = o.norm});
  return y;
}
}  // namespace

Array dct(const Array& x, const DctOptions& o) { return transformed("dct", false, x, o); }
Array idct(const Array& x, const DctOptions& o) { return transformed("idct", true, x, o); }
Array dctn(const Array& x, const DctnOptions& o) { return over_all("dctn", false, x, o); }
Array idctn(const Array& x, const DctnOptions& o) { return over_all("idctn", true, x, o); }
}  // namespace bora::fft
