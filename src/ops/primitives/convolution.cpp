// Primitives of convolutions: a product of a matrix of patches, which is not made, and one of weights.
#include "ops/primitives/convolution.h"
#include <numeric>
#include "kernels/api/memory.h"
#include "kernels/api/move.h"
#include "kernels/api/patches.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/array/primitive.h"

namespace bora::ops {
namespace {
Index dilated(Index n, Index by) { return n == 0 ? 0 : (n - 1) * by + 1; }
/// Dimensions [from, from + n) of s.
Dims sizes_from(const Shape& s, Index from, Index n) {
  auto b = s.begin() + static_cast<std::ptrdiff_t>(from);
  return Dims(b, b + static_cast<std::ptrdiff_t>(n));
}
/// [stack.., batch.., spatial.., channels] of n spatial dimensions.
struct Image {
  Dims stack, batch, spatial;
  Index channels;
  Image(const Shape& s, Index stacks, Index n)
      : stack(sizes_from(s, 0, stacks)),
        batch(sizes_from(s, stacks, static_cast<Index>(s.size()) - 1 - n - stacks)),
        spatial(sizes_from(s, static_cast<Index>(s.size()) - 1 - n, n)),
        channels(s[s.size() - 1]) {}
  Index images() const { return product(batch, 0, static_cast<Index>(batch.size())); }
  Index pixels() const { return product(spatial, 0, static_cast<Index>(spatial.size())); }
};
Index extent_of(const Dims& d) { return product(d, 0, static_cast<Index>(d.size())); }
/// x with `by` - 1 zeros between the elements of the spatial dimensions.
std::shared_ptr<void> spread_out(const Image& x, const Dims& by, const void* from, std::size_t size) {
  auto shape = x.spatial;
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = dilated(shape[d], by[d]);
  auto whole = joined(prepend(x.images(), shape), {x.channels}),
       there = joined(prepend(x.images(), x.spatial), {x.channels});
  auto bytes = static_cast<std::size_t>(extent_of(whole)) * size;
  auto memory = kernels::allocate(bytes);
  const char zero[16] = {};
  kernels::fill(memory.get(), extent_of(whole), size, zero);
  auto strides = strides_of(Shape(whole));
  for (std::size_t d = 0; d < shape.size(); ++d) strides[d + 1] *= by[d];
  kernels::copy(memory.get(), strides, from, strides_of(Shape(there)), there, size);
  return memory;
}
const char* offset_by(const void* p, Index elements, std::size_t size) {
  return static_cast<const char*>(p) + elements * static_cast<Index>(size);
}
char* offset_by(void* p, Index elements, std::size_t size) {
  return static_cast<char*>(p) + elements * static_cast<Index>(size);
}
}  // namespace

Index WindowPlaces::windows(std::size_t d, Index size, Index taps) const {
  auto whole = dilated(size, input_dilation[d]) + lo[d] + hi[d], reach = (taps - 1) * dilation[d];
  return whole <= reach ? 0 : (whole - reach - 1) / stride[d] + 1;
}
WindowPlaces WindowPlaces::turned(const Dims& sizes, const Dims& taps) const {
  WindowPlaces p{input_dilation, lo, hi, dilation, stride};
  for (std::size_t d = 0; d < stride.size(); ++d) {
    auto reach = (taps[d] - 1) * dilation[d];
    p.lo[d] = reach - lo[d];
    p.hi[d] = dilated(sizes[d], input_dilation[d]) + lo[d] - dilated(windows(d, sizes[d], taps[d]), stride[d]);
  }
  return p;
}

// ---- images -> images -----------------------------------------------------------------------------------------------
bool Convolve::saved(Saveable keep, const std::vector<std::string>&) const {
  return keep == Saveable::dots || keep == Saveable::everything || keep == Saveable::dots_no_batch;
}
Type Convolve::infer(const Types& in) const {
  const auto &x = in.at(0), &w = in.at(1);
  auto n = places().ndim();
  check<DtypeError>(x.dtype == w.dtype && is_numeric(x.dtype) && x.dtype != boolean,
                    "conv: needs two operands of one numeric dtype, got ", x.dtype, " and ", w.dtype);
  check<ShapeError>(w.ndim() == stacks + n + 2 && x.ndim() >= stacks + n + 1, "conv: x ", x, " does not fit w ", w);
  auto in_channels = turned ? w.shape[at(w.ndim() - 1)] : w.shape[at(w.ndim() - 2)] * groups;
  bool same_stacks = sizes_from(x.shape, 0, stacks) == sizes_from(w.shape, 0, stacks);
  check<ShapeError>(x.shape[at(x.ndim() - 1)] == in_channels && same_stacks, "conv: x ", x, " does not fit w ", w,
                    " in ", groups, " groups");
  auto shape = x.shape.dims();
  shape.back() = turned ? w.shape[at(w.ndim() - 2)] * groups : w.shape[at(w.ndim() - 1)];
  auto first = at(x.ndim() - 1 - n);
  for (std::size_t d = 0; d < at(n); ++d)
    shape[first + d] = places().windows(d, shape[first + d], w.shape[at(stacks) + d]);
  return with_shape(x, Shape(shape));
}
namespace {
/// The part of a convolution whose windows see the same taps: along each dimension, windows `phase`, phase + every, ..
/// and taps first_tap, first_tap + tap_step, ..
struct Phase {
  Index phase, every, windows, first_tap, tap_step, taps;
  kernels::Patches::Along along;
};
std::vector<Phase> phases_of(const WindowPlaces& p, std::size_t d, Index size, Index windows, Index taps, Index pixel) {
  const auto s = p.stride[d], by = p.input_dilation[d], dilation = p.dilation[d];
  const auto every = by / std::gcd(s, by), tap_step = by / std::gcd(dilation, by);
  std::vector<Phase> r;
  for (Index f = 0; f < every; ++f) {
    Phase ph{f, every, f < windows ? (windows - f - 1) / every + 1 : 0, 0, tap_step, 0, {}};
    auto u = Index{0};
    while (u < std::min(taps, tap_step) && (f * s + dilation * u - p.lo[d]) % by != 0) ++u;
    if (u < std::min(taps, tap_step)) ph.first_tap = u, ph.taps = (taps - 1 - u) / tap_step + 1;
    ph.along = {size, pixel, ph.windows, ph.taps, s * every / by, dilation * tap_step / by,
                ph.taps > 0 ? (f * s + dilation * u - p.lo[d]) / by : 0};
    r.push_back(ph);
  }
  return r;
}
/// The strides of a contiguous image's spatial dimensions.
Dims pixel_strides(const Image& x) {
  Dims r(x.spatial.size());
  auto s = x.channels;
  for (auto d = r.size(); d-- > 0;) r[d] = s, s *= x.spatial[d];
  return r;
}
}  // namespace

void Convolve::eval(InputViews in, OutputViews out) const {
  if (out[0].type.size() == 0) return;
  const auto n = places().ndim();
  const auto size = dtype_size(out[0].type.dtype);
  const Image x(in[0].type.shape, stacks, n), y(out[0].type.shape, stacks, n);
  const auto& w = in[1].type.shape;
  const auto taps = sizes_from(w, stacks, n);
  const Index w_rows = w[w.size() - 2], w_columns = w[w.size() - 1], w_each = w_rows * w_columns,
              in_each = x.channels / groups, out_each = y.channels / groups;
  const auto strides = pixel_strides(x), out_strides = pixel_strides(y);
  std::vector<std::vector<Phase>> of(at(n));
  Dims counts;
  for (std::size_t d = 0; d < at(n); ++d) {
    of[d] = phases_of(places(), d, x.spatial[d], y.spatial[d], taps[d], strides[d]);
    counts.push_back(static_cast<Index>(of[d].size()));
  }
  const bool one = extent_of(counts) == 1;
  for_each_index(Shape(counts), [&](Index, const Dims& which) {
    kernels::Patches p{{}, x.images(), x.pixels() * x.channels, in_each, false};
    Dims windows, used, origin_strides = {y.pixels() * y.channels};
    Index first = 0;
    for (std::size_t d = 0; d < at(n); ++d) {
      const auto& ph = of[d][at(which[d])];
      p.dims.push_back(ph.along);
      windows.push_back(ph.windows), used.push_back(ph.taps);
      origin_strides.push_back(out_strides[d] * ph.every);
      first += out_strides[d] * ph.phase;
    }
    if (extent_of(windows) == 0) return;
    Dims parts;  // of w, for each tap
    if (turned || used != taps)
      for_each_index(Shape(used), [&](Index, const Dims& u) {
        Index tap = 0;
        for (std::size_t d = 0; d < at(n); ++d) {
          const auto& ph = of[d][at(which[d])];
          tap = tap * taps[d] + ph.first_tap + u[d] * ph.tap_step;
        }
        parts.push_back((turned ? extent_of(taps) - 1 - tap : tap) * w_each);
      });
    kernels::Gemm g{.dtype = out[0].type.dtype, .m = p.windows(), .n = out_each, .k = p.elements()};
    g.b_row = turned ? 1 : w_columns, g.b_col = turned ? w_columns : 1;
    const auto whole = joined(prepend(x.images(), windows), {out_each});
    auto block = one ? nullptr : kernels::allocate(static_cast<std::size_t>(extent_of(whole)) * size);
    g.ldc = one ? y.channels : out_each;
    for (Index s = 0; s < extent_of(x.stack); ++s)
      for (Index k = 0; k < groups; ++k) {
        const auto from_y = s * y.images() * y.pixels() * y.channels + k * out_each;
        g.a = offset_by(in[0].data, s * x.images() * p.image_stride + k * in_each, size);
        g.b = offset_by(in[1].data, s * extent_of(taps) * w_each + k * (turned ? in_each : out_each), size);
        g.c = one ? offset_by(out[0].data, from_y, size) : block.get();
        kernels::gemm_patches(g, p, parts.empty() ? nullptr : parts.data(), in_each);
        if (!one)
          kernels::copy(offset_by(out[0].data, from_y + first, size), joined(origin_strides, {1}), block.get(),
                        strides_of(Shape(whole)), whole, size);
      }
  });
}
Arrays Convolve::vjp(const Vjp& v) const {
  const auto n = places().ndim();
  const auto& w = v.in[1].shape();
  const auto taps = sizes_from(w, stacks, n), sizes = Image(v.in[0].shape(), stacks, n).spatial;
  const auto back = places().turned(sizes, taps);
  Arrays r(2);
  if (v.needs[0])
    r[0] = call_one(
        Convolve{back.stride, back.lo, back.hi, back.dilation, back.input_dilation, groups, stacks, !turned},
        {v.ct[0], v.in[1]});
  if (!v.needs[1]) return r;
  auto filter = [&](const WindowPlaces& p, const Array& image, const Array& windows) {
    return call_one(ConvolveFilter{p.stride, p.lo, p.hi, p.dilation, p.input_dilation, taps, groups, stacks},
                    {image, windows});
  };
  r[1] = turned ? filter(back, v.ct[0], v.in[0]) : filter(places(), v.in[0], v.ct[0]);
  return r;
}
DimFactors Convolve::factors(const Types& in) const {
  const auto n = places().ndim(), batch = in[0].ndim() - 1 - n;
  Dims none(at(n), kNone), lx = range_of(batch), stack = range_of(stacks);
  const auto from = groups == 1 ? batch : kNone, to = groups == 1 ? batch + 1 : kNone;
  return {{joined(joined(lx, none), {from}), joined(joined(stack, none), turned ? Dims{to, from} : Dims{from, to})},
          {joined(joined(lx, none), {to})},
          {0, 1}};
}
Convolve Convolve::lift(Index) const {
  auto p = *this;
  ++p.stacks;
  return p;
}
/// A mapped image alone is one more batch dimension.
std::vector<Mapped> Convolve::batch(const std::vector<Mapped>& in, const BatchRules& b) const {
  if (in[1].axis >= 0) return b.lifted(primitive(lift(b.size)), in);
  return {{call_one(*this, {moveaxis(in[0].value, in[0].axis, stacks), in[1].value}), stacks}};
}
Cost Convolve::cost(const Types& in, const Types& out) const {
  Cost c;
  for (auto* t : {&in[0], &in[1], &out[0]}) c.bytes += static_cast<double>(t->nbytes());
  auto pixels = std::max<Index>(1, out[0].shape[at(out[0].ndim() - 1)]);
  auto n = places().ndim();
  double taps = 1;  // that are on an element
  for (std::size_t d = 0; d < at(n); ++d)
    taps *= static_cast<double>(in[1].shape[at(stacks) + d]) / static_cast<double>(input_dilation[d]);
  auto each = in[1].shape[at(in[1].ndim() - 2)] * in[1].shape[at(in[1].ndim() - 1)];
  c.flops = 2 * static_cast<double>(out[0].size() / pixels) * taps * static_cast<double>(each);
  return c;
}
SamplesOf<Convolve> Convolve::samples() {
  auto x = [](const Shape& s, int seed) { return random_values(s, -1, 1, seed); };
  return {{{{1, 1}, {1, 1}, {1, 0}, {1, 1}, {1, 1}, 1, 0, false}, {x({2, 4, 3, 2}, 1), x({3, 2, 2, 4}, 2)}},
          {{{2, 1}, {1, -1}, {0, 2}, {1, 2}, {1, 1}, 1, 0, false}, {x({2, 5, 4, 2}, 3), x({3, 2, 2, 3}, 4)}},
          {{{2}, {2}, {1}, {2}, {3}, 2, 0, false}, {x({3, 4, 4}, 5), x({3, 2, 6}, 6)}},
          {{{1, 1}, {2, 1}, {2, 1}, {1, 1}, {2, 2}, 1, 0, true}, {x({2, 3, 2, 4}, 7), x({3, 2, 2, 4}, 8)}},
          {{{1}, {2}, {1}, {2}, {1}, 2, 1, true}, {x({2, 2, 4, 4}, 9), x({2, 2, 3, 4}, 10)}},
          {{{2}, {1}, {2}, {1}, {2}, 1, 0, false}, {x({2, 3, 2}, 11), x({3, 2, 2}, 12)}},
          {{{1}, {0}, {0}, {1}, {1}, 1, 0, false}, {x({2, 1, 2}, 13), x({3, 2, 2}, 14)}}};
}

// ---- images, results -> weights -------------------------------------------------------------------------------------
bool ConvolveFilter::saved(Saveable keep, const std::vector<std::string>& names) const {
  return forward().saved(keep, names);
}
Type ConvolveFilter::infer(const Types& in) const {
  const auto &x = in.at(0), &y = in.at(1);
  auto n = places().ndim();
  check<DtypeError>(x.dtype == y.dtype && is_numeric(x.dtype) && x.dtype != boolean,
                    "conv_filter: needs two operands of one numeric dtype, got ", x.dtype, " and ", y.dtype);
  check<ShapeError>(x.ndim() == y.ndim() && x.ndim() >= stacks + n + 1 && static_cast<Index>(taps.size()) == n,
                    "conv_filter: x ", x, " does not fit the results ", y);
  Image image(x.shape, stacks, n), result(y.shape, stacks, n);
  bool fits = image.stack == result.stack && image.batch == result.batch && image.channels % groups == 0 &&
              result.channels % groups == 0;
  for (std::size_t d = 0; d < at(n); ++d)
    fits = fits && result.spatial[d] == places().windows(d, image.spatial[d], taps[d]);
  check<ShapeError>(fits, "conv_filter: x ", x, " does not fit the results ", y, " of windows ", taps);
  return with_shape(x, Shape(joined(joined(image.stack, taps), {image.channels / groups, result.channels})));
}
void ConvolveFilter::eval(InputViews in, OutputViews out) const {
  if (out[0].type.size() == 0) return;
  const auto n = places().ndim();
  const auto size = dtype_size(out[0].type.dtype);
  const Image x(in[0].type.shape, stacks, n), y(in[1].type.shape, stacks, n);
  const Index in_each = x.channels / groups, out_each = y.channels / groups, tap_count = extent_of(taps);
  const auto x_size = x.images() * x.pixels() * x.channels, y_size = y.images() * y.pixels() * y.channels;
  const bool apart = extent_of(input_dilation) != 1;
  auto wide = x;  // with zeros between its elements
  for (std::size_t d = 0; d < at(n); ++d) wide.spatial[d] = dilated(x.spatial[d], input_dilation[d]);
  const auto strides = pixel_strides(wide);
  kernels::Patches p{{}, x.images(), wide.pixels() * x.channels, in_each, true};
  for (std::size_t d = 0; d < at(n); ++d)
    p.dims.push_back({wide.spatial[d], strides[d], y.spatial[d], taps[d], stride[d], dilation[d], -lo[d]});
  kernels::Gemm g{.dtype = out[0].type.dtype, .m = p.elements(), .n = out_each, .k = p.windows()};
  g.b_row = y.channels, g.ldc = y.channels;
  for (Index s = 0; s < extent_of(x.stack); ++s) {
    const auto* image = offset_by(in[0].data, s * x_size, size);
    std::shared_ptr<void> memory;
    if (apart) memory = spread_out(x, input_dilation, image, size), image = static_cast<const char*>(memory.get());
    for (Index k = 0; k < groups; ++k) {
      g.a = offset_by(image, k * in_each, size);
      g.b = offset_by(in[1].data, s * y_size + k * out_each, size);
      g.c = offset_by(out[0].data, s * tap_count * in_each * y.channels + k * out_each, size);
      kernels::gemm_patches(g, p);
    }
  }
}
Arrays ConvolveFilter::vjp(const Vjp& v) const {
  Arrays r(2);
  const auto back = places().turned(Image(v.in[0].shape(), stacks, places().ndim()).spatial, taps);
  if (v.needs[0])
    r[0] = call_one(Convolve{back.stride, back.lo, back.hi, back.dilation, back.input_dilation, groups, stacks, true},
                    {v.in[1], v.ct[0]});
  if (v.needs[1]) r[1] = call_one(forward(), {v.in[0], v.ct[0]});
  return r;
}
DimFactors ConvolveFilter::factors(const Types& in) const {
  const auto n = places().ndim(), batch = in[0].ndim() - 1 - n;
  Dims none(at(n), kNone), l = joined(range_of(batch), none);
  const auto from = groups == 1 ? batch : kNone, to = groups == 1 ? batch + 1 : kNone;
  return {{joined(l, {from}), joined(l, {to})}, {joined(joined(range_of(stacks), none), {from, to})}, {0, 1}};
}
ConvolveFilter ConvolveFilter::lift(Index) const {
  auto p = *this;
  ++p.stacks;
  return p;
}
Cost ConvolveFilter::cost(const Types& in, const Types& out) const {
  Cost c;
  for (auto* t : {&in[0], &in[1], &out[0]}) c.bytes += static_cast<double>(t->nbytes());
  auto channels = std::max<Index>(1, in[1].shape[at(in[1].ndim() - 1)]);
  c.flops = 2 * static_cast<double>(in[1].size() / channels) *
            static_cast<double>(out[0].size() / std::max<Index>(1, extent_of(sizes_from(out[0].shape, 0, stacks))));
  return c;
}
SamplesOf<ConvolveFilter> ConvolveFilter::samples() {
  auto x = [](const Shape& s, int seed) { return random_values(s, -1, 1, seed); };
  return {{{{1, 1}, {1, 1}, {1, 0}, {1, 1}, {1, 1}, {3, 2}, 1, 0}, {x({2, 4, 3, 2}, 1), x({2, 4, 3, 4}, 2)}},
          {{{2}, {1}, {0}, {2}, {1}, {2}, 2, 0}, {x({3, 6, 4}, 3), x({3, 3, 6}, 4)}},
          {{{1}, {1}, {1}, {1}, {2}, {2}, 1, 1}, {x({2, 2, 3, 2}, 5), x({2, 2, 6, 3}, 6)}}};
}
}  // namespace bora::ops

namespace bora {
template PrimitivePtr primitive<ops::Convolve>(ops::Convolve);
template PrimitivePtr primitive<ops::ConvolveFilter>(ops::ConvolveFilter);
}  // namespace bora
