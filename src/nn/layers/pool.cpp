#include "bora/nn/pool.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/creation.h"
#include "nn/core/support.h"
#include "nn/layers/windows.h"
#include "bora/named/index.h"
#include "bora/ops/indexing.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"

namespace bora::nn {
namespace {
template <class F> NamedArray pooled(std::string_view what, const NamedArray& x, const std::vector<Axis>& window,
                                     const Dims& stride, const Padding& padding, const F& f) {
  PoolOptions o{.window = {}, .stride = stride, .padding = padding};
  for (auto& w : window) o.window.push_back(w.size);
  return over_windows(what, x, window, {}, {}, [&](const Array& a) { return f(a, o); });
}
}  // namespace

NamedArray MaxPool::operator()(const NamedArray& x) const {
  return pooled("MaxPool", x, window, stride, padding, max_pool);
}
NamedArray AvgPool::operator()(const NamedArray& x) const {
  return pooled("AvgPool", x, window, stride, padding,
                [this](const Array& a, const PoolOptions& o) { return avg_pool(a, o, count_padding); });
}

namespace {
template <class Layer> std::vector<LayerSample> pool_samples() {
  Axis batch{kBatch, 4}, height{"height", 5}, width{"width", 4}, in{kEmbed, 3};
  std::vector<Axis> window{{"height", 3}, {"width", 2}};
  auto plain = [=](const Array&) { return Layer{.window = window}; };
  auto same = [=](const Array&) { return Layer{.window = window, .stride = {2, 2}, .padding = Padding::same}; };
  auto call = [](const Layer& l, const NamedArray& x) { return l(x); };
  return {sample("windows side by side", plain, example({batch, height, width, in}), call),
          sample("stride, padding, channels first", same, example({batch, in, height, width}), call)};
}
}  // namespace
template const bool added<"MaxPool", pool_samples<MaxPool>>;
template const bool added<"AvgPool", pool_samples<AvgPool>>;

namespace {
constexpr const char* kElement = "element_of_window";
struct Windows {
  std::vector<std::int64_t> begin, end;
  std::int64_t longest = 0;
};
Windows windows_of(std::string_view what, std::int64_t n, const Axis& to, AdaptiveWindows kind) {
  auto m = to.size;
  check<ShapeError>(m >= 1 && n >= 1, what, ": axis '", to.name, "' of ", n, " elements in ", m, " windows");
  check<ShapeError>(kind == AdaptiveWindows::overlapping || n >= m, what, ": axis '", to.name, "' has ", n,
                    " elements, fewer than ", m, " windows side by side; use AdaptiveWindows::overlapping");
  Windows w;
  for (std::int64_t i = 0; i < m; ++i) {
    bool side_by_side = kind == AdaptiveWindows::split;
    w.begin.push_back(side_by_side ? i * (n / m) + std::min(i, n % m) : i * n / m);
    w.end.push_back(side_by_side ? w.begin.back() + n / m + (i < n % m) : ((i + 1) * n + m - 1) / m);
    w.longest = std::max(w.longest, w.end.back() - w.begin.back());
  }
  return w;
}
/// f(elements, present, sizes) of each axis in turn: elements [.., to, element_of_window], where shorter windows repeat
/// their last element, present [to, element_of_window], sizes [to]. Windows of several axes are products of windows.
template <class F>
NamedArray adaptively_pooled(std::string_view what, const NamedArray& x, const std::vector<Axis>& result,
                             AdaptiveWindows kind, const F& f) {
  auto y = x;
  for (auto& to : result) {
    check<AxisError>(x.has_axis(to.name), what, ": the input ", to_string(x.axes()), " has no axis '", to.name,
                     "' for the result ", to_string(result));
    auto w = windows_of(what, x.axis(to.name).size, to, kind);
    std::vector<std::int32_t> from;
    std::vector<std::uint8_t> present;
    std::vector<double> sizes;
    for (std::size_t i = 0; i < w.begin.size(); ++i) {
      for (std::int64_t j = 0; j < w.longest; ++j) {
        from.push_back(static_cast<std::int32_t>(std::min(w.begin[i] + j, w.end[i] - 1)));
        present.push_back(w.begin[i] + j < w.end[i]);
      }
      sizes.push_back(static_cast<double>(w.end[i] - w.begin[i]));
    }
    std::vector<Axis> both{to, {kElement, w.longest}};
    auto axes = y.axes();
    axes[static_cast<std::size_t>(y.position(std::string_view(to.name)))] = to;
    auto elements = take(y, std::string_view(to.name), named(asarray(from, shape_of(both)), both));
    auto here = named(asarray(present, shape_of(both)).astype(boolean), both);
    y = aligned(f(elements, here, named(asarray(sizes).astype(elements.dtype()), to)), axes);
  }
  return y;
}
}  // namespace

NamedArray AdaptiveAvgPool::operator()(const NamedArray& x) const {
  auto mean_of = [](const NamedArray& elements, const NamedArray& present, const NamedArray& sizes) {
    return sum(elements, kElement, {.where = present}) / sizes;
  };
  return adaptively_pooled("AdaptiveAvgPool", in_real_accumulator(x), result, windows, mean_of).astype(x.dtype());
}
NamedArray AdaptiveMaxPool::operator()(const NamedArray& x) const {
  auto largest = [](const NamedArray& elements, const NamedArray&, const NamedArray&) {
    return amax(elements, kElement);
  };
  return adaptively_pooled("AdaptiveMaxPool", x, result, windows, largest);
}

namespace {
template <class Layer> std::vector<LayerSample> adaptive_samples() {
  Axis batch{kBatch, 4}, height{"height", 5}, width{"width", 7}, in{kEmbed, 3};
  std::vector<Axis> result{{"height", 2}, {"width", 3}};
  auto torchs = [=](const Array&) { return Layer{.result = result}; };
  auto split = [=](const Array&) { return Layer{.result = result, .windows = AdaptiveWindows::split}; };
  auto call = [](const Layer& l, const NamedArray& x) { return l(x); };
  return {sample("overlapping", torchs, example({batch, height, width, in}), call),
          sample("side by side, channels first", split, example({batch, in, height, width}), call)};
}
}  // namespace
template const bool added<"AdaptiveAvgPool", adaptive_samples<AdaptiveAvgPool>>;
template const bool added<"AdaptiveMaxPool", adaptive_samples<AdaptiveMaxPool>>;
}  // namespace bora::nn
