// Fourier transforms with lengths, norms and several axes.
#include "bora/ops/fft.h"
#include "kernels/api/complex.h"
#include "kernels/api/fft.h"
#include "kernels/api/memory.h"
#include "kernels/api/move.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/complex.h"
#include "ops/primitives/dft.h"
#include "ops/primitives/dims.h"

namespace bora::fft {
using namespace ops;
namespace {
enum class Direction : std::uint8_t { forward, inverse };
double scale_of(Norm norm, Direction d, std::int64_t n) {
  if (norm == Norm::ortho) return 1 / std::sqrt(static_cast<double>(n));
  bool scales = (norm == Norm::backward) == (d == Direction::inverse);
  return scales ? 1 / static_cast<double>(n) : 1;
}
Norm swapped(Norm n) { return n == Norm::ortho ? n : n == Norm::backward ? Norm::forward : Norm::backward; }
/// x cut or padded with zeros to n elements along axis.
Array fitted(const Array& x, std::int64_t axis, std::int64_t n) {
  auto size = x.shape(axis);
  if (size == n) return x;
  if (size > n) return slice_in_dim(x, axis, 0, n);
  Dims lo(at(x.ndim()), 0), hi = lo;
  hi[at(axis)] = n - size;
  return pad(x, lo, hi, 0);
}
Array as_complex(std::string_view what, const Array& x) {
  check<DtypeError>(is_numeric(x.dtype()), what, ": keys are not numbers");
  return x.astype(complex_dtype(x.dtype()));
}
std::int64_t length(std::string_view what, std::int64_t n, const Array& x) {
  check<ValueError>(n >= 1, what, ": the length must be at least 1, got ", n, " for ", x.type());
  return n;
}
Array along(std::string_view what, DftKind kind, const Array& x, std::optional<std::int64_t> n, std::int64_t axis,
            Norm norm) {
  check<ShapeError>(x.ndim() > 0, what, ": a scalar has no axis");
  axis = normalize_axis(what, axis, x.ndim());
  bool forward = kind == DftKind::complex || kind == DftKind::real;
  Array y = x;
  if (kind == DftKind::real) {
    check<DtypeError>(is_numeric(x.dtype()) && !is_complex(x.dtype()), what, ": takes real numbers, got ", x.type(),
                      "; fft takes complex ones, real(x) is their real part");
    y = x.astype(real_dtype(complex_dtype(x.dtype())));
  } else y = as_complex(what, x);
  auto m = length(what, n.value_or(kind == DftKind::to_real ? 2 * (x.shape(axis) - 1) : x.shape(axis)), x);
  y = fitted(y, axis, kind == DftKind::to_real ? m / 2 + 1 : m);
  return dft(kind, y, axis, m, scale_of(norm, forward ? Direction::forward : Direction::inverse, m));
}
/// Axes in the order of the transforms' lengths, and these.
struct Lengths {
  Dims axes;
  std::vector<std::optional<std::int64_t>> n;
};
Lengths lengths(std::string_view what, const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes) {
  Lengths r;
  auto named = s ? static_cast<std::int64_t>(s->size()) : x.ndim();
  check<ValueError>(named <= x.ndim(), what, ": ", named, " lengths for ", x.type());
  r.axes = axes ? *axes : range_of(named, x.ndim() - named);
  for (auto& a : r.axes) a = normalize_axis(what, a, x.ndim());
  for (std::size_t i = 0; i < r.axes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      check<ValueError>(r.axes[i] != r.axes[k], what, ": axis ", r.axes[i], " is given twice");
  check<ValueError>(!s || s->size() == r.axes.size(), what, ": ", named, " lengths for ", r.axes.size(), " axes");
  check<ValueError>(!r.axes.empty(), what, ": there are no axes to transform");
  for (std::size_t i = 0; i < r.axes.size(); ++i) r.n.push_back(s ? std::optional((*s)[i]) : none);
  return r;
}
/// Transforms the axes from `last` - 1 down to the first.
Array over(std::string_view what, DftKind kind, Array x, const Lengths& l, std::size_t last, Norm norm) {
  while (last-- > 0) x = along(what, kind, x, l.n[last], l.axes[last], norm);
  return x;
}
Array many(std::string_view what, DftKind kind, const Array& x, const ManyOptions& o) {
  auto l = lengths(what, x, o.s, o.axes);
  auto last = l.axes.size() - 1;
  if (kind == DftKind::real)
    return over(what, DftKind::complex, along(what, kind, x, l.n[last], l.axes[last], o.norm), l, last, o.norm);
  if (kind != DftKind::to_real) return over(what, kind, as_complex(what, x), l, last + 1, o.norm);
  auto y = over(what, DftKind::inverse, as_complex(what, x), l, last, o.norm);
  return along(what, kind, y, l.n[last], l.axes[last], o.norm);
}
Array plane(std::string_view what, DftKind kind, const Array& x, const PlaneOptions& o) {
  check<ValueError>(o.axes.size() == 2, what, ": needs two axes, got ", o.axes);
  return many(what, kind, x, {o.s, o.axes, o.norm});
}
Array shifted_by(const Array& x, const Dimensions& axes, std::string_view what, bool back) {
  Array y = x;
  for (auto d : axes.resolve(what, x.ndim())) {
    auto n = x.shape(d), at = back ? n / 2 : n - n / 2;
    y = concatenate({slice_in_dim(y, d, at, n), slice_in_dim(y, d, 0, at)}, d);
  }
  return y;
}
}  // namespace

Array fft(const Array& x, const Options& o) { return along("fft", DftKind::complex, x, o.n, o.axis, o.norm); }
Array ifft(const Array& x, const Options& o) { return along("ifft", DftKind::inverse, x, o.n, o.axis, o.norm); }
Array rfft(const Array& x, const Options& o) { return along("rfft", DftKind::real, x, o.n, o.axis, o.norm); }
Array irfft(const Array& x, const Options& o) { return along("irfft", DftKind::to_real, x, o.n, o.axis, o.norm); }
Array hfft(const Array& x, const Options& o) {
  return along("hfft", DftKind::to_real, conj(x), o.n, o.axis, swapped(o.norm));
}
Array ihfft(const Array& x, const Options& o) {
  return conj(along("ihfft", DftKind::real, x, o.n, o.axis, swapped(o.norm)));
}
Array fft2(const Array& x, const PlaneOptions& o) { return plane("fft2", DftKind::complex, x, o); }
Array ifft2(const Array& x, const PlaneOptions& o) { return plane("ifft2", DftKind::inverse, x, o); }
Array rfft2(const Array& x, const PlaneOptions& o) { return plane("rfft2", DftKind::real, x, o); }
Array irfft2(const Array& x, const PlaneOptions& o) { return plane("irfft2", DftKind::to_real, x, o); }
Array fftn(const Array& x, const ManyOptions& o) { return many("fftn", DftKind::complex, x, o); }
Array ifftn(const Array& x, const ManyOptions& o) { return many("ifftn", DftKind::inverse, x, o); }
Array rfftn(const Array& x, const ManyOptions& o) { return many("rfftn", DftKind::real, x, o); }
Array irfftn(const Array& x, const ManyOptions& o) { return many("irfftn", DftKind::to_real, x, o); }
namespace {
void check_samples(std::string_view what, std::int64_t n, double d) {
  check<ValueError>(n >= 1 && d != 0, what, ": needs at least 1 sample at a distance other than 0, got ", n, " at ", d);
}
}  // namespace

Array fftfreq(std::int64_t n, double d, Dtype dtype) {
  check_samples("fftfreq", n, d);
  auto k = iota({n}, 0, f64);
  auto m = static_cast<double>(n);
  return (where(k < static_cast<double>((n + 1) / 2), k, k - m) / (m * d)).astype(dtype);
}
Array rfftfreq(std::int64_t n, double d, Dtype dtype) {
  check_samples("rfftfreq", n, d);
  return (iota({n / 2 + 1}, 0, f64) / (static_cast<double>(n) * d)).astype(dtype);
}
Array fftshift(const Array& x, const Dimensions& axes) { return shifted_by(x, axes, "fftshift", false); }
Array ifftshift(const Array& x, const Dimensions& axes) { return shifted_by(x, axes, "ifftshift", true); }
}  // namespace bora::fft
