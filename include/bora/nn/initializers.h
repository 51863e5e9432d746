// initializers.h -- the initialisers of jax.nn.initializers, as values: a distribution of a positional array's first
// numbers, whose width comes from its shape. JAX's numbers for the same key: exactly for constants and uniform ones,
// normal ones within 1e-6, relative. Layers take nn::Init, which knows axes by name.
#pragma once
#include <optional>
#include "bora/ops/axes.h"

namespace bora::nn {
struct Initializer {
  enum class Kind : std::uint8_t {
    constant,
    uniform,
    normal,
    truncated_normal,
    variance_scaling,
    orthogonal,
    delta_orthogonal
  } kind = Kind::constant;
  enum class Mode : std::uint8_t { fan_in, fan_out, fan_avg, fan_geo_avg } mode = Mode::fan_in;
  enum class Distribution : std::uint8_t { truncated_normal, normal, uniform } distribution = Distribution::normal;
  double scale = 0;              // the constant, the uniform width, the deviation, the variance's or matrix' factor
  double lower = -2, upper = 2;  // of truncated_normal, in deviations
  Dims in_axis = {-2}, out_axis = {-1}, batch_axis = {};  // of variance_scaling
  std::int64_t column_axis = -1;                          // of orthogonal and delta_orthogonal
  /// The first numbers of an array. Throws ShapeError for a shape without the axes, DtypeError for integers.
  Array operator()(const Array& key, const Shape& shape, Dtype dtype = f32) const;
};
/// The axes of a weight that inputs and outputs are counted along, and those that are counted by neither.
struct FanOptions {
  Dims in_axis = {-2}, out_axis = {-1}, batch_axis = {};
};
}  // namespace bora::nn

namespace bora::nn::initializers {
Initializer zeros();
Initializer ones();
Initializer constant(double value);
Initializer uniform(double scale = 0.01);  // in [0, scale)
Initializer normal(double stddev = 0.01);
/// A normal distribution that is cut off at lower and upper times stddev.
Initializer truncated_normal(double stddev = 0.01, double lower = -2, double upper = 2);
/// Numbers of mean 0 and variance scale / fan: the number of inputs of an output, of outputs of an input, or the
/// arithmetic or geometric mean of both. All axes that are none of the options' multiply both numbers (the window of a
/// convolution).
Initializer variance_scaling(double scale, Initializer::Mode mode, Initializer::Distribution distribution,
                             const FanOptions& fan = {});
Initializer glorot_uniform(const FanOptions& fan = {});  // Glorot & Bengio 2010
Initializer glorot_normal(const FanOptions& fan = {});
Initializer xavier_uniform(const FanOptions& fan = {});  // glorot_uniform
Initializer xavier_normal(const FanOptions& fan = {});
Initializer lecun_uniform(const FanOptions& fan = {});  // LeCun et al. 1998
Initializer lecun_normal(const FanOptions& fan = {});
Initializer he_uniform(const FanOptions& fan = {});  // He et al. 2015
Initializer he_normal(const FanOptions& fan = {});
Initializer kaiming_uniform(const FanOptions& fan = {});  // he_uniform
Initializer kaiming_normal(const FanOptions& fan = {});
/// A random matrix with orthonormal rows or columns, whichever are fewer, times scale: the columns along column_axis,
/// all other axes together the rows (Saxe et al. 2013).
Initializer orthogonal(double scale = 1, std::int64_t column_axis = -1);
/// Convolutions [window.., in, out] with in <= out that are an orthogonal matrix in the window's middle and 0 elsewhere
/// (Xiao et al. 2018).
Initializer delta_orthogonal(double scale = 1, std::int64_t column_axis = -1);
}  // namespace bora::nn::initializers
