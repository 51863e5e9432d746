#include "bora/nn/spectral_norm.h"
#include "bora/named/axes.h"
#include "bora/named/random.h"
#include "bora/nn/conv.h"
#include "bora/nn/linear.h"
#include "nn/core/support.h"
#include "bora/named/elementwise.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/transform.h"

namespace bora::nn {
namespace {
NamedArray normalized(const NamedArray& v, float eps) { return v / maximum(sqrt(sum(square(v))), eps); }
AxisNames axes_of(const NamedArray& v) { return names_of(v.axes()); }
}  // namespace

SpectralState power_iterations(const NamedArray& weight, const SpectralState& state, int iterations, float eps) {
  check<ValueError>(iterations >= 0, "SpectralNorm: ", iterations, " iterations");
  auto w = in_real_accumulator(stop_gradient(auto_sharded(weight)));
  SpectralState s{stop_gradient(state.left).astype(w.dtype()), stop_gradient(state.right).astype(w.dtype())};
  for (int i = 0; i < iterations; ++i) {
    s.left = aligned(normalized(dot(w, s.right, axes_of(s.right)), eps), s.left.axes());
    s.right = aligned(normalized(dot(w, s.left, axes_of(s.left)), eps), s.right.axes());
  }
  return {s.left.astype(state.left.dtype()), s.right.astype(state.right.dtype())};
}
NamedArray weight_of_spectrum(const NamedArray& weight, const SpectralState& state) {
  auto w = in_real_accumulator(auto_sharded(weight));
  auto left = stop_gradient(state.left).astype(w.dtype()), right = stop_gradient(state.right).astype(w.dtype());
  auto value = dot(dot(w, left, axes_of(left)), right, axes_of(right));
  return aligned(w / value, weight.axes()).astype(weight.dtype());
}
SpectralState first_spectrum(const NamedArray& weight, const Axes& rows, const Array& key, int iterations, float eps) {
  auto columns = eliminate_axes(weight.axes(), names_of(rows.list()));
  check<AxisError>(rows.size() > 0 && !columns.empty(), "SpectralNorm: the weight ", to_string(weight.axes()),
                   " needs axes of rows and others, got the rows ", to_string(rows.list()));
  auto keys = random::split<2>(key);
  auto left = normalized(random::normal(keys[0], rows, real_accumulator(weight.dtype())), eps);
  auto right = normalized(random::normal(keys[1], columns, real_accumulator(weight.dtype())), eps);
  return power_iterations(weight, {left, right}, iterations, eps);
}

template <> std::vector<LayerSample> samples<"SpectralNorm">() {
  Axis batch{kBatch, 4}, height{"height", 5}, embed{kEmbed, 6}, out{kMlp, 8};
  auto linear = [=](const Array& k) { return SpectralNorm<Linear>::init(Linear::init(embed, out, k), out); };
  auto conv = [=](const Array& k) {
    return SpectralNorm<Conv>::init(Conv::init(Axis{"height", 3}, embed, out, k), out);
  };
  // A fixed state: one that depends on the weight would have a derivative by differences, which is not the layer's.
  auto infer = [=](const auto& l, const NamedArray& x) {
    auto columns = eliminate_axes(l.layer.weight.axes(), names_of(l.rows));
    return l(x, {example(l.rows), example(columns) + 0.5}, SpectralNormMode::infer).first;
  };
  return {sample("of a linear layer", linear, example({batch, embed}), infer),
          sample("of a convolution", conv, example({batch, height, embed}), infer)};
}
template const bool added<"SpectralNorm">;
}  // namespace bora::nn
