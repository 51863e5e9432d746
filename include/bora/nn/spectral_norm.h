// spectral_norm.h -- a layer whose weight is divided by its largest singular value.
#pragma once
#include "bora/nn/weight_norm.h"

namespace bora::nn {
/// Estimates of the first singular vectors of a weight, the part of a training state that the caller carries.
struct SpectralState {
  NamedArray left, right;  // [rows...], [the weight's other axes...], of norm 1
};
enum class SpectralNormMode : std::uint8_t { train, infer };  // whether a call improves the estimates
struct SpectralNormOptions {                                  // of SpectralNorm
  int iterations = 1;                                         // of the power method in each call of training
  int first_iterations = 15;                                  // from a random vector to the first state
  float eps = 1e-12F;                                         // the least norm that is divided by
};
/// The state after `iterations` steps of the power method, left = w right / |w right|, then right = w'left / |w'left|,
/// as torch and Equinox iterate. Computed in f32; no derivative.
SpectralState power_iterations(const NamedArray& weight, const SpectralState& state, int iterations, float eps);
/// weight / (left' weight right): the derivative takes the vectors for constants. The weight's axes and dtype.
NamedArray weight_of_spectrum(const NamedArray& weight, const SpectralState& state);
/// Random vectors after `iterations` steps.
SpectralState first_spectrum(const NamedArray& weight, const Axes& rows, const Array& key, int iterations, float eps);

/// A layer with weight / its largest singular value (Miyato et al. 2018), as a matrix from the other axes to `rows`.
template <HasWeight Layer> struct SpectralNorm {
  Layer layer;
  std::vector<Axis> rows;
  SpectralNormOptions options = {};
  /// rows: the weight's axes of outputs, {Out}.
  static SpectralNorm init(Layer layer, const Axes& rows, const SpectralNormOptions& options = {}) {
    return {std::move(layer), rows.list(), options};
  }
  SpectralState first_state(const Array& key) const {
    return first_spectrum(layer.weight, rows, key, options.first_iterations, options.eps);
  }
  /// train: the state after more iterations, and the layer's result with it. infer: the state as it is.
  template <class X> auto operator()(const X& x, const SpectralState& state,
                                     SpectralNormMode mode = SpectralNormMode::train) const {
    auto next = mode == SpectralNormMode::train
                    ? power_iterations(layer.weight, state, options.iterations, options.eps)
                    : state;
    auto l = layer;
    l.weight = weight_of_spectrum(layer.weight, next);
    return std::pair{l(x), next};
  }
};
}  // namespace bora::nn
