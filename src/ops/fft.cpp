// Discrete Fourier transforms: one primitive over one axis; everything else is made of it.
#include "bora/ops/fft.h"
#include "bora/kernels/complex.h"
#include "bora/kernels/fft.h"
#include "bora/kernels/memory.h"
#include "bora/kernels/move.h"
#include "bora/ops/arrange.h"
#include "bora/ops/complex.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/shape.h"
#include "ops/dims.h"

namespace bora::ops {
namespace {
/// complex: exp(-..); inverse: exp(+..); real: real numbers to the first n/2 + 1; to_real: back from these.
enum class DftKind : std::uint8_t { complex, inverse, real, to_real };
/// A sum over `axis`, of length n on the side that is whole, times `scale`.
struct Dft {
  DftKind kind;
  std::int64_t axis, n;
  double scale;
  static constexpr std::string_view name = "fft";
  std::int64_t size_in() const { return kind == DftKind::to_real ? n / 2 + 1 : n; }
  std::int64_t size_out() const { return kind == DftKind::real ? n / 2 + 1 : n; }
  Type infer(const Types& in) const {
    const auto& x = in.at(0);
    check<ShapeError>(n >= 1 && axis >= 0 && axis < x.ndim() && x.shape[at(axis)] == size_in(), "fft: axis ", axis,
                      " of ", x, " must have ", size_in(), " elements");
    bool fits = kind == DftKind::real ? x.dtype == f32 || x.dtype == f64 : is_complex(x.dtype);
    check<DtypeError>(fits, "fft: takes ", kind == DftKind::real ? "f32 or f64" : "complex numbers", ", got ", x);
    Type out = x;
    out.shape[at(axis)] = size_out();
    if (kind == DftKind::real) out.dtype = complex_dtype(x.dtype);
    if (kind == DftKind::to_real) out.dtype = real_dtype(x.dtype);
    return out;
  }
  void eval(Inputs in, Outputs out) const {
    if (out[0].type.size() == 0) return;
    auto [outer, size, inner] = around(in[0].type.shape, axis);
    auto d = complex_dtype(in[0].type.dtype);
    bool inverse = kind == DftKind::inverse || kind == DftKind::to_real;
    if (kind == DftKind::complex || kind == DftKind::inverse)
      return kernels::fft(d, inverse, scale, in[0].data, out[0].data, outer, n, inner);
    auto whole = outer * n * inner;
    auto bytes = static_cast<std::size_t>(whole) * dtype_size(d);
    auto memory = kernels::allocate(2 * bytes);
    auto *x = static_cast<char*>(memory.get()), *y = x + bytes;
    Dims half{outer, n / 2 + 1, inner}, half_strides{(n / 2 + 1) * inner, inner, 1}, strides{n * inner, inner, 1};
    if (kind == DftKind::real) {
      kernels::join_parts(d, in[0].data, nullptr, x, whole);
      kernels::fft(d, inverse, scale, x, y, outer, n, inner);
      return kernels::copy(out[0].data, half_strides, y, strides, half, dtype_size(d));
    }
    // The missing numbers are conjugates of those on the other side of 0.
    kernels::conjugate(d, in[0].data, y, in[0].type.size());
    auto element = static_cast<std::int64_t>(dtype_size(d));
    kernels::copy(x, strides, in[0].data, half_strides, half, dtype_size(d));
    if (n > 2)
      kernels::copy(x + (n / 2 + 1) * inner * element, strides, y + ((n + 1) / 2 - 1) * inner * element,
                    {(n / 2 + 1) * inner, -inner, 1}, {outer, (n + 1) / 2 - 1, inner}, dtype_size(d));
    kernels::fft(d, inverse, scale, x, y, outer, n, inner);
    kernels::take_part(kernels::Part::real, d, y, out[0].data, whole);
  }
  /// The matrix of a transform is symmetric.
  Array vjp(const Vjp& v) const {
    auto& ct = v.ct[0];
    if (kind == DftKind::complex || kind == DftKind::inverse) return call_one(*this, {ct});
    if (kind == DftKind::real) return call_one(Dft{DftKind::to_real, axis, n, scale}, {weighted(conj(ct), 0.5)});
    return weighted(conj(call_one(Dft{DftKind::real, axis, n, scale}, {ct})), 2);
  }
  /// x with the numbers that stand for two, x[k] and conj(x[n - k]), multiplied.
  Array weighted(const Array& x, double factor) const {
    auto k = iota({n / 2 + 1}, 0, i32);
    auto w = where(k == 0 || k * 2 == n, 1., full({n / 2 + 1}, factor, real_dtype(x.dtype())));
    return x * broadcast_in_dim(w, x.shape(), {axis});
  }
  Factors factors(const Types& in) const {
    auto l = range_of(in[0].ndim());
    l[at(axis)] = kNone;
    return {{l}, {l}, {0}};
  }
  Dft lift(std::int64_t) const { return {kind, axis + 1, n, scale}; }
  Cost cost(const Types& in, const Types& out) const {
    auto size = static_cast<double>(std::max(in[0].size(), out[0].size()));
    return {5 * size * std::log2(static_cast<double>(std::max<std::int64_t>(n, 2))),
            static_cast<double>(in[0].nbytes() + out[0].nbytes())};
  }
  static Samples<Dft> samples() {
    auto x = [](const Shape& s, int seed) { return random_values(s, -1, 1, seed, complex128); };
    return {{{DftKind::complex, 1, 6, 1}, {x({2, 6}, 1)}},
            {{DftKind::inverse, 0, 5, 0.2}, {x({5, 3}, 2)}},
            {{DftKind::real, 1, 6, 1}, {random_values({2, 6}, -1, 1, 3)}},
            {{DftKind::real, 0, 5, 0.5}, {random_values({5, 2}, -1, 1, 4)}},
            {{DftKind::to_real, 1, 6, 1}, {x({2, 4}, 5)}},
            {{DftKind::to_real, 0, 5, 0.5}, {x({3, 2}, 6)}},
            {{DftKind::to_real, 0, 1, 1}, {x({1, 2}, 7)}}};
  }
};
}  // namespace
}  // namespace bora::ops

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
  return call_one(Dft{kind, axis, m, scale_of(norm, forward ? Direction::forward : Direction::inverse, m)}, {y});
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
