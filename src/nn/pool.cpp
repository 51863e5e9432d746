#include "bora/nn/pool.h"
#include "bora/ops/shape.h"
#include "nn/support.h"
#include "nn/windows.h"

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
}  // namespace bora::nn
