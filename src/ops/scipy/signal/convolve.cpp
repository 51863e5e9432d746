// Convolutions of any number of dimensions, directly and by transforms.
#include "bora/ops/complex.h"
#include "bora/ops/contractions.h"
#include "bora/ops/fft.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/signal.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/ufuncs.h"

namespace bora::signal {
using namespace ops;
namespace {
constexpr Index kDirect = Index{1} << 20;  // numbers in windows up to which sums of products are taken
/// The part of the full convolution that a mode wants, for each dimension. Of an even size there are two middles.
struct Wanted {
  Dims start, size;
};
enum class Middle : std::uint8_t { before, behind };
Wanted wanted(std::string_view what, const Shape& a, const Shape& b, Overlap mode, Middle middle = Middle::before) {
  bool over = true, under = true;
  for (std::size_t d = 0; d < a.size(); ++d) over = over && a[d] >= b[d], under = under && a[d] <= b[d];
  check<ShapeError>(mode != Overlap::valid || over || under, what, ": mode valid needs one signal that is the larger "
                    "in every dimension, got ", a, " and ", b);
  Wanted w;
  for (std::size_t d = 0; d < a.size(); ++d) {
    auto n = a[d], m = b[d], less = std::min(n, m);
    auto center = middle == Middle::before ? (m - 1) / 2 : m / 2;
    w.start.push_back(mode == Overlap::full ? 0 : mode == Overlap::same ? center : less - 1);
    w.size.push_back(mode == Overlap::full ? n + m - 1 : mode == Overlap::same ? n : std::max(n, m) - less + 1);
  }
  return w;
}
void check_signals(std::string_view what, const Array& a, const Array& b) {
  check<ShapeError>(a.ndim() == b.ndim(), what, ": ", a.type(), " and ", b.type(),
                    " have different numbers of dimensions");
  check<ShapeError>(a.size() > 0 && b.size() > 0, what, ": signals must not be empty, got ", a.type(), " and ",
                    b.type());
  check<DtypeError>(is_numeric(a.dtype()) && is_numeric(b.dtype()), what, ": keys are not numbers");
}
/// a's windows along every dimension, times the kernel b.
Array direct(const Array& a, const Array& b, const Wanted& w) {
  if (a.size() < b.size()) return direct(b, a, w);
  Dims lo, hi;
  for (std::size_t d = 0; d < w.size.size(); ++d) {
    auto m = b.shape()[d];
    lo.push_back(m - 1 - w.start[d]);
    hi.push_back(w.start[d] + w.size[d] - a.shape()[d]);
  }
  auto x = pad(a, lo, hi);
  DotDims dims;
  for (std::size_t d = 0; d < w.size.size(); ++d) {
    auto n = w.size[d], m = b.shape()[d], axis = static_cast<Index>(2 * d);
    x = take(x, iota({n, m}, 0) + iota({n, m}, 1), axis, IndexMode::clamp);
    dims.contract_a.push_back(axis + 1);
    dims.contract_b.push_back(static_cast<Index>(d));
  }
  return dot_general(x, flip(b), dims);
}
/// The smallest length from n on whose prime factors are 2, 3 and 5.
Index fast_length(Index n) {
  for (;; ++n) {
    auto rest = n;
    for (auto p : {2, 3, 5})
      while (rest % p == 0) rest /= p;
    if (rest == 1) return n;
  }
}
/// The wanted part of the convolution along `axes`; the other dimensions broadcast.
Array by_transforms(const Array& a, const Array& b, const Wanted& w, const Dims& axes) {
  bool whole = is_complex(a.dtype()) || is_complex(b.dtype());
  auto d = promote(promote(a.dtype(), b.dtype()), f32);
  if (!is_complex(d) && d != f64) d = f32;
  fft::ManyOptions o{.s = Dims{}, .axes = axes};
  for (auto k : axes) o.s->push_back(fast_length(a.shape(k) + b.shape(k) - 1));
  auto p = a.astype(d), q = b.astype(d);
  auto y = whole ? fft::ifftn(fft::fftn(p, o) * fft::fftn(q, o), o)
                 : fft::irfftn(fft::rfftn(p, o) * fft::rfftn(q, o), o);
  for (auto k : axes) y = slice_in_dim(y, k, w.start[at(k)], w.start[at(k)] + w.size[at(k)]);
  return y;
}
Array convolved(std::string_view what, const Array& a, const Array& b, const ConvolveOptions& o) {
  check_signals(what, a, b);
  if (a.ndim() == 0) return a * b;
  auto w = wanted(what, a.shape(), b.shape(), o.mode);
  auto d = promote(a.dtype(), b.dtype());
  auto numbers = static_cast<double>(volume(Shape(w.size))) * static_cast<double>(std::min(a.size(), b.size()));
  bool sums = o.method == Method::direct ||
              (o.method == Method::automatic && (!is_inexact(d) || numbers <= static_cast<double>(kDirect)));
  if (sums) return direct(a, b, w);
  auto y = by_transforms(a, b, w, range_of(a.ndim()));
  return is_inexact(d) ? y.astype(d) : round(y).astype(d);
}
/// x with `around` elements on both sides of axis.
Array extended(const Array& x, Index axis, Index around, const Convolve2dOptions& o) {
  auto n = x.shape(axis);
  if (o.boundary == Boundary::fill) {
    Dims lo(2, 0);
    lo[at(axis)] = around;
    return pad(x, lo, lo, is_inexact(x.dtype()) ? Scalar(o.fill) : Scalar(static_cast<Index>(o.fill)));
  }
  auto i = iota({n + 2 * around}, 0) - around;
  if (o.boundary == Boundary::wrap) return take(x, i % n, axis, IndexMode::clamp);
  auto j = i % (2 * n);
  return take(x, minimum(j, 2 * n - 1 - j), axis, IndexMode::clamp);
}
Array convolved2d(std::string_view what, const Array& a, const Array& b, const Convolve2dOptions& o, Middle middle) {
  check<ShapeError>(a.ndim() == 2 && b.ndim() == 2, what, ": needs matrices, got ", a.type(), " and ", b.type());
  check_signals(what, a, b);
  auto d = promote(a.dtype(), b.dtype());
  check<ValueError>(is_inexact(d) || o.fill == std::floor(o.fill), what, ": fill = ", o.fill, " is no number of ", d);
  auto w = wanted(what, a.shape(), b.shape(), o.mode, middle);
  if (o.mode == Overlap::valid) return direct(a, b, w);
  auto x = a.astype(d);
  for (Index k : {0, 1}) {
    auto around = b.shape(k) - 1;
    if (around > 0) x = extended(x, k, around, o);
    w.start[at(k)] += around;
  }
  return direct(x, b, w);
}
}  // namespace

Array convolve(const Array& a, const Array& b, const ConvolveOptions& o) { return convolved("convolve", a, b, o); }
Array correlate(const Array& a, const Array& b, const ConvolveOptions& o) {
  return convolved("correlate", a, conj(flip(b)), o);
}
Array convolve2d(const Array& a, const Array& b, const Convolve2dOptions& o) {
  return convolved2d("convolve2d", a, b, o, Middle::before);
}
Array correlate2d(const Array& a, const Array& b, const Convolve2dOptions& o) {
  return convolved2d("correlate2d", a, conj(flip(b)), o, Middle::behind);
}
Array fftconvolve(const Array& a, const Array& b, Overlap mode, const Dimensions& axes) {
  check_signals("fftconvolve", a, b);
  auto along = axes.resolve("fftconvolve", a.ndim());
  auto p = a.shape(), q = b.shape();
  for (Index k = 0; k < a.ndim(); ++k) {
    if (contains(along, k)) continue;
    check<ShapeError>(p[at(k)] == q[at(k)] || p[at(k)] == 1 || q[at(k)] == 1, "fftconvolve: dimension ", k, " of ", p,
                      " and ", q, " is not transformed and does not broadcast");
    p[at(k)] = q[at(k)] = 1;
  }
  if (along.empty()) return a * b;
  return by_transforms(a, b, wanted("fftconvolve", p, q, mode), along);
}
}  // namespace bora::signal
