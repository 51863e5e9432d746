// Discrete Fourier transforms over one axis.
#include "ops/primitives/dft.h"
#include "kernels/api/complex.h"
#include "kernels/api/fft.h"
#include "kernels/api/memory.h"
#include "kernels/api/move.h"
#include "bora/ops/complex.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/dims.h"
#include "bora/array/primitive.h"

namespace bora::ops {
namespace {
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
  void eval(InputViews in, OutputViews out) const {
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
  DimFactors factors(const Types& in) const {
    auto l = range_of(in[0].ndim());
    l[at(axis)] = kNone;
    return {{l}, {l}, {0}};
  }
  Dft lift(std::int64_t) const { return {kind, axis + 1, n, scale}; }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    constexpr double few = 1000;  // of which it costs less to gather the numbers
    const Types types{in[0].type};
    if (s.mesh().parts(in[0].spec[at(axis)]) == 1 || cost(types, {infer(types)}).flops <= few ||
        s.turns(primitive(*this), factors(types), in))
      return std::nullopt;
    auto y = dft_in_steps(kind, in[0], axis, n, scale, s);
    return y ? std::optional(std::vector<Sharded>{*y}) : std::nullopt;
  }
  Cost cost(const Types& in, const Types& out) const {
    auto size = static_cast<double>(std::max(in[0].size(), out[0].size()));
    return {5 * size * std::log2(static_cast<double>(std::max<std::int64_t>(n, 2))),
            static_cast<double>(in[0].nbytes() + out[0].nbytes())};
  }
  static SamplesOf<Dft> samples() {
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

Array dft(DftKind kind, const Array& x, std::int64_t axis, std::int64_t n, double scale) {
  return call_one(Dft{kind, axis, n, scale}, {x});
}
}  // namespace bora::ops
