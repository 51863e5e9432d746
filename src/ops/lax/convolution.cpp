// Convolutions and pooling by slices.
#include "bora/ops/contractions.h"
#include "bora/ops/convolution.h"
#include "ops/api/extreme.h"
#include "ops/lax/convolved.h"
#include "ops/numpy/support.h"
#include "ops/primitives/elementwise_rules.h"
#include "ops/primitives/convolution.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/indexing.h"

namespace bora {
using namespace ops;
namespace {
Index last_place(Index window, Index dilation) { return (window - 1) * dilation; }
/// Windows over the spatial dimensions of [batch.., spatial.., channels].
struct Windows {
  std::string_view what;
  Index first;  // the first spatial dimension
  Dims sizes, window, stride, dilation;
  std::vector<std::pair<Index, Index>> pads = {};
  Dims positions = {};  // number of windows

  Windows(std::string_view what, const Array& x, Dims sizes_of_x, Dims window_sizes, Dims strides, Dims dilations,
          const Padding& padding)
      : what(what),
        first(x.ndim() - 1 - static_cast<Index>(window_sizes.size())),
        sizes(std::move(sizes_of_x)),
        window(std::move(window_sizes)),
        stride(std::move(strides)),
        dilation(std::move(dilations)) {
    bool given = padding.rule == Padding::pairs, same = padding.rule == Padding::same;
    check<ValueError>(!given || padding.given.size() == window.size(), what, ": the padding has ", padding.given.size(),
                      " pairs for ", window.size(), " spatial dimensions");
    for (std::size_t d = 0; d < window.size(); ++d) {
      check<ValueError>(window[d] > 0, what, ": the window's size ", window[d], " must be positive");
      auto reach = last_place(window[d], dilation[d]);
      auto wanted = (sizes[d] + stride[d] - 1) / stride[d];
      auto missing = std::max<Index>((wanted - 1) * stride[d] + reach + 1 - sizes[d], 0);
      pads.push_back(given  ? padding.given[d]
                     : same ? std::pair{missing / 2, missing - missing / 2}
                            : std::pair{Index{0}, Index{0}});
      auto whole = sizes[d] + pads[d].first + pads[d].second;
      check<ShapeError>(whole >= 0, what, ": the padding (", pads[d].first, ", ", pads[d].second,
                        ") cuts more than the ", sizes[d], " elements of spatial dimension ", d);
      positions.push_back(whole <= reach ? 0 : (whole - reach - 1) / stride[d] + 1);
    }
  }
  /// x with its padding, and `interior` values between its elements.
  Array padded(const Array& x, Scalar value, const Dims& interior = {}) const {
    Dims lo(at(x.ndim()), 0), hi = lo, between = lo;
    for (std::size_t d = 0; d < window.size(); ++d) {
      auto k = at(first) + d;
      lo[k] = pads[d].first, hi[k] = pads[d].second;
      if (!interior.empty()) between[k] = interior[d] - 1;
    }
    return pad(x, lo, hi, value, between);
  }
  /// f(slice) for each element of the window in row-major order: the elements that all windows have there.
  template <class F> void each(const Array& padded_x, const F& f) const {
    Dims place(window.size(), 0);
    Index n = 1;
    for (auto w : window) n *= w;
    const auto parts = tiles() ? split(padded_x) : Array();
    for (Index i = 0; i < n; ++i) {
      if (parts.defined()) f(of_tiles(parts, place));
      else f(strided(padded_x, place));
      for (auto d = window.size(); d-- > 0 && ++place[d] == window[d];) place[d] = 0;
    }
  }

 private:
  /// Do windows neither overlap nor leave gaps?
  bool tiles() const {
    bool r = stride == window;
    for (std::size_t d = 0; d < window.size(); ++d) r = r && dilation[d] == 1 && positions[d] > 0;
    return r;
  }
  /// [batch.., positions, window, positions, window, .., channels]: the gradients of parts of it lie side by side, not
  /// between each other, so that one loop writes them all.
  Array split(const Array& x) const {
    Dims start(at(x.ndim()), 0), limit = x.shape().dims(), shape(limit.begin(), limit.begin() + first);
    for (std::size_t d = 0; d < window.size(); ++d) {
      limit[at(first) + d] = positions[d] * window[d];
      shape.push_back(positions[d]);
      shape.push_back(window[d]);
    }
    shape.push_back(limit.back());
    return reshape(slice(x, start, limit), Shape(shape));
  }
  Array of_tiles(const Array& x, const Dims& place) const {
    Dims start(at(x.ndim()), 0), limit = x.shape().dims(), shape(limit.begin(), limit.begin() + first);
    for (std::size_t d = 0; d < window.size(); ++d) {
      auto k = at(first) + 2 * d + 1;
      start[k] = place[d], limit[k] = place[d] + 1;
      shape.push_back(positions[d]);
    }
    shape.push_back(limit.back());
    return reshape(slice(x, start, limit), Shape(shape));
  }
  Array strided(const Array& padded_x, const Dims& place) const {
    Dims start(at(padded_x.ndim()), 0), limit = padded_x.shape().dims(), step(start.size(), 1);
    for (std::size_t d = 0; d < window.size(); ++d) {
      auto k = at(first) + d;
      start[k] = positions[d] == 0 ? 0 : place[d] * dilation[d];
      limit[k] = positions[d] == 0 ? 0 : start[k] + (positions[d] - 1) * stride[d] + 1;
      step[k] = stride[d];
    }
    return slice(padded_x, start, limit, step);
  }
};
Dims filled(std::string_view what, std::string_view name, const Dims& given, std::size_t n, const Dims& usual) {
  if (given.empty()) return usual;
  check<ValueError>(given.size() == n, what, ": ", name, " has ", given.size(), " numbers for ", n,
                    " spatial dimensions");
  for (auto g : given) check<ValueError>(g > 0, what, ": ", name, " = ", g, " must be positive");
  return given;
}
template <class F> Array pooled(std::string_view what, const Array& x, const PoolOptions& o, Scalar nothing, F join) {
  auto n = o.window.size();
  check<ShapeError>(n > 0 && at(x.ndim()) > n, what, ": x ", x.type(), " does not fit a window of ", n,
                    " dimensions; it is [batch.., spatial.., channels]");
  auto sizes = x.shape().dims();
  sizes = Dims(sizes.end() - 1 - static_cast<std::ptrdiff_t>(n), sizes.end() - 1);
  Windows windows(what, x, sizes, o.window, filled(what, "stride", o.stride, n, o.window), Dims(n, 1), o.padding);
  Array y;
  windows.each(windows.padded(x, nothing), [&](const Array& part) { y = y.defined() ? join(y, part) : part; });
  return y;
}
/// No number of its dtype is less.
Scalar least(const Array& x) {
  if (is_float(x.dtype())) return -greatest(x.dtype());
  if (info(x.dtype()).kind != Kind::integer) return 0;
  return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * dtype_size(x.dtype()));
}
Array largest_of_windows(std::string_view what, const Array& x, const PoolOptions& o) {
  return pooled(what, x, o, least(x), [](auto& a, auto& b) { return maximum(a, b); });
}
Array sum_of_windows(std::string_view what, const Array& x, const PoolOptions& o) {
  auto sums = [&](const Array& v) { return pooled(what, v, o, 0, [](auto& a, auto& b) { return a + b; }); };
  return is_narrow(x.dtype()) ? in_f32(x, sums) : sums(x);
}
}  // namespace

Array ops::convolved(const ConvWords& words, const Array& x, const Array& w, const ConvOptions& o) {
  auto what = words.what;
  check<ShapeError>(w.ndim() >= 3 && x.ndim() >= w.ndim() - 1, what, ": x ", words.x, " does not fit w ", words.w,
                    "; x is [batch.., spatial.., in], w [window.., in / groups, out]");
  auto n = at(w.ndim() - 2);
  auto in = x.shape(-1), each = w.shape(-2), out = w.shape(-1), groups = o.groups;
  check<ValueError>(groups > 0 && out % groups == 0, what, ": the ", out, " output channels of w ", words.w,
                    " do not split into ", groups, " (", words.groups, ")");
  check<ShapeError>(in == each * groups, what, ": x ", words.x, " has ", in, " channels, and w ", words.w, " takes ",
                    each, groups == 1 ? "" : " in each of ", groups == 1 ? "" : std::to_string(groups) + " groups");
  auto window = w.shape().dims(), sizes = x.shape().dims();
  window.resize(n);
  sizes = Dims(sizes.end() - 1 - static_cast<std::ptrdiff_t>(n), sizes.end() - 1);
  Dims one(n, 1);
  auto apart = filled(what, words.input_dilation, o.input_dilation, n, one);
  for (std::size_t d = 0; d < n; ++d) sizes[d] = sizes[d] == 0 ? 0 : last_place(sizes[d], apart[d]) + 1;
  Windows windows(what, x, sizes, window, filled(what, words.stride, o.stride, n, one),
                  filled(what, words.dilation, o.dilation, n, one), o.padding);
  auto ones = [](const Dims& d) { return std::all_of(d.begin(), d.end(), [](Index i) { return i == 1; }); };
  if (groups == 1 && ones(window) && ones(windows.stride) && ones(apart) &&
      windows.pads == Padding::Pairs(n, {0, 0}))
    return matmul(x, reshape(w, {in, out}));
  if (each != 1 || groups == 1) {
    Dims lo, hi;
    for (auto& [before, behind] : windows.pads) lo.push_back(before), hi.push_back(behind);
    auto dtype = promote(x.dtype(), w.dtype()), computed = dtype == boolean ? i32 : dtype;
    Convolve p{windows.stride, lo, hi, windows.dilation, apart, groups, 0, false};
    return call_one(p, {x.astype(computed), w.astype(computed)}).astype(dtype);
  }
  // Each channel on its own: sums of products of slices fuse.
  if (auto dtype = promote(x.dtype(), w.dtype()); is_narrow(dtype))
    return convolved(words, x.astype(f32), w.astype(f32), o).astype(dtype);
  auto weights = reshape(w, {-1, groups, out / groups});
  Array y;
  Index element = 0;
  windows.each(windows.padded(x, 0, apart), [&](const Array& slice) {
    auto shape = slice.shape().dims();
    shape.back() = groups;
    shape.push_back(1);
    auto term = reshape(slice, Shape(shape)) * reshape(part(weights, 0, element, element + 1), {groups, out / groups});
    y = element++ == 0 ? term : y + term;
  });
  auto shape = y.shape().dims();
  shape.pop_back();
  shape.back() = out;
  return reshape(y, Shape(shape));
}
Array conv(const Array& x, const Array& w, const ConvOptions& o) {
  return convolved({"conv", x.type(), w.type()}, x, w, o);
}
Array conv_transpose(const Array& x, const Array& w, const ConvOptions& o) {
  check<ValueError>(o.input_dilation.empty(), "conv_transpose: takes stride, not input_dilation");
  auto n = at(std::max<Index>(w.ndim() - 2, 0));
  auto stride = filled("conv_transpose", "stride", o.stride, n, Dims(n, 1));
  auto dilation = filled("conv_transpose", "dilation", o.dilation, n, Dims(n, 1));
  auto inner = o;
  inner.stride = {};
  inner.input_dilation = stride;
  if (o.padding.rule != Padding::pairs) {
    Padding::Pairs pads;
    for (std::size_t d = 0; d < n; ++d) {
      auto k = last_place(w.shape(static_cast<Index>(d)), dilation[d]) + 1, s = stride[d];
      bool same = o.padding.rule == Padding::same;
      auto total = k + s - 2 + (same ? 0 : std::max<Index>(k - s, 0));
      auto before = same && s <= k - 1 ? (total + 1) / 2 : k - 1;
      pads.emplace_back(before, total - before);
    }
    inner.padding = pads;
  }
  return convolved({"conv_transpose", x.type(), w.type()}, x, w, inner);
}
Array max_pool(const Array& x, const PoolOptions& o) { return largest_of_windows("max_pool", x, o); }
Array min_pool(const Array& x, const PoolOptions& o) {
  if (is_integer(x.dtype())) return ~largest_of_windows("min_pool", ~x, o);  // the order of all bits is reversed
  return pooled("min_pool", x, o, greatest(x.dtype()), [](auto& a, auto& b) { return minimum(a, b); });
}
Array sum_pool(const Array& x, const PoolOptions& o) { return sum_of_windows("sum_pool", x, o); }
Array avg_pool(const Array& x, const PoolOptions& o, bool count_padding) {
  auto floats = is_float(x.dtype()) ? x : x.astype(f32);
  double n = 1;
  for (auto w : o.window) n *= static_cast<double>(w);
  return in_f32(floats, [&](const Array& v) {
    auto total = sum_of_windows("avg_pool", v, o);
    return count_padding ? total / n : total / sum_of_windows("avg_pool", ones_like(v), o);
  });
}
}  // namespace bora
