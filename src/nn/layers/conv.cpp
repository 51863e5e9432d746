#include "bora/nn/conv.h"
#include "bora/ops/manipulation.h"
#include "nn/core/support.h"
#include "nn/layers/windows.h"
#include "bora/named/elementwise.h"
#include "bora/named/operations.h"

namespace bora::nn {
namespace {
template <class Layer> Layer conv_layer(std::string_view what, const Axes& window, const Axis& in, const Axis& out,
                                        const Array& key, const ConvInit& o) {
  auto groups = o.conv.groups;
  check<ValueError>(groups > 0 && in.size % groups == 0 && out.size % groups == 0, what, ": ", groups,
                    " groups do not divide ", bora::to_string({in, out}));
  std::vector<Axis> axes;
  std::int64_t fan_in = in.size / groups;
  for (auto& w : window) {
    check<AxisError>(find_axis(axes, w.name + "_window") < 0 && w.name != in.name && w.name != out.name, what,
                     ": axis '", w.name, "' is named twice");
    axes.push_back(w.alias(w.name + "_window"));
    fan_in *= w.size;
  }
  axes.push_back({in.name == out.name ? in.name + "_in" : in.name, in.size / groups});
  axes.push_back(out);
  Layer l{o.weight(key, axes, fan_in), none, window.list(), in, out, o.conv};
  if (o.use_bias) l.bias = zeros(out);
  return l;
}
template <class Layer>
NamedArray called(std::string_view what, const Layer& l, const NamedArray& input,
                  Array (*f)(const Array&, const Array&, const ConvOptions&)) {
  auto x = gathered(input, l.weight);
  check<AxisError>(x.has_axis(l.in.name) && x.axis(l.in.name) == l.in, what, ": the input ", to_string(x.axes()),
                   " has no axis ", l.in.name, ":", l.in.size, "; this layer maps it to ", l.out.name);
  check<AxisError>(l.in.name == l.out.name || !x.has_axis(l.out.name), what, ": the input ", to_string(x.axes()),
                   " has axis '", l.out.name, "' already");
  auto weight = auto_sharded(l.weight).array();
  auto y = over_windows(what, x, l.window, l.in.name, l.out,
                        [&](const Array& a) { return f(a, weight, l.options); });
  y = scattered(y, l.weight);
  return l.bias ? y + auto_sharded(*l.bias) : y;
}
}  // namespace

Conv Conv::init(const Axes& window, const Axis& in, const Axis& out, const Array& key, const ConvInit& o) {
  return conv_layer<Conv>("Conv", window, in, out, key, o);
}
NamedArray Conv::operator()(const NamedArray& x) const { return called("Conv", *this, x, conv); }
ConvTranspose ConvTranspose::init(const Axes& window, const Axis& in, const Axis& out, const Array& key,
                                  const ConvInit& o) {
  return conv_layer<ConvTranspose>("ConvTranspose", window, in, out, key, o);
}
NamedArray ConvTranspose::operator()(const NamedArray& x) const {
  return called("ConvTranspose", *this, x, conv_transpose);
}

namespace {
template <class Layer> std::vector<LayerSample> conv_samples() {
  Axis batch{kBatch, 4}, height{"height", 5}, width{"width", 4}, in{kEmbed, 4}, out{kMlp, 6};
  auto make = [=](const Axes& window, const Axis& to, const ConvInit& o) {
    return [=](const Array& k) { return Layer::init(window, in, to, k, o); };
  };
  auto call = [](const Layer& l, const NamedArray& x) { return l(x); };
  Axes square{Axis{"height", 3}, Axis{"width", 2}};
  ConvInit strided{.conv = {.stride = {2, 1}, .padding = Padding::same, .groups = 2}, .use_bias = false};
  return {sample("two axes", make(square, out, {}), example({batch, height, width, in}), call),
          sample("groups, channels first", make(square, out, strided), example({batch, in, height, width}), call),
          sample("to the same name", make(Axis{"height", 2}, in, {.conv = {.dilation = {2}}}),
                 example({height, batch, in}), call)};
}
}  // namespace
template const bool added<"Conv", conv_samples<Conv>>;
template const bool added<"ConvTranspose", conv_samples<ConvTranspose>>;
}  // namespace bora::nn
