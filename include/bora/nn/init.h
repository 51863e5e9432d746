// init.h -- the distributions of parameters' first values, as values: options of layers name one. nn::initializers has
// those of jax.nn.initializers, with JAX's numbers for the same key: exact for constants and uniform ones, within 1e-6
// (relative) for normal ones.
#pragma once
#include <optional>
#include "bora/named/array.h"
#include "bora/ops/arguments.h"

namespace bora::nn {
/// The distribution of a parameter's first values.
struct Init {
  enum class Kind : std::uint8_t {
    constant,
    uniform,
    normal,
    truncated_normal,
    fan_in,  // a truncated normal distribution of deviation scale / sqrt(fan-in)
    variance_scaling,
    orthogonal,
    delta_orthogonal
  } kind = Kind::fan_in;
  enum class Mode : std::uint8_t { fan_in, fan_out, fan_avg, fan_geo_avg } mode = Mode::fan_in;
  enum class Distribution : std::uint8_t { truncated_normal, normal, uniform } distribution = Distribution::normal;
  double scale = 1;              // the constant, the uniform width, the deviation, the variance's or matrix' factor
  double lower = -3, upper = 3;  // of truncated_normal and fan_in, in deviations
  Dims in_axis = {-2}, out_axis = {-1}, batch_axis = {};  // of fan_in and variance_scaling by position
  std::int64_t column_axis = -1;                          // of orthogonal and delta_orthogonal
  static Init zeros() { return {.kind = Kind::constant, .scale = 0}; }
  static Init ones() { return {.kind = Kind::constant}; }
  static Init normal(double stddev) { return {.kind = Kind::normal, .scale = stddev}; }
  /// A normal distribution cut off at three times stddev.
  static Init truncated_normal(double stddev) {
    return {.kind = Kind::truncated_normal, .scale = stddev};
  }
  /// truncated_normal(scale / sqrt(fan-in)): the layers' default, as Haliax's. The fan-in is the number of inputs that
  /// are summed for one output.
  static Init fan_in(double scale = 1) { return {.scale = scale}; }
  /// A normal distribution of variance 1 / fan-in that is cut off at two deviations: the default of Flax's layers.
  static Init lecun_normal();
  /// A parameter with these axes, f32. variance_scaling takes the size / fan-in as fan-out; orthogonal ones go by the
  /// axes' positions.
  NamedArray operator()(const Array& key, const Axes& axes, std::int64_t fan_in) const;
  /// The first numbers of an array; in_axis and out_axis say what fans are. Throws ShapeError for a shape without the
  /// axes, DtypeError for integers.
  Array operator()(const Array& key, const Shape& shape, Dtype dtype = default_float()) const;
};
using Initializer = Init;  // jax.nn's word for it
/// The axes of a weight that inputs and outputs are counted along, and those that are counted by neither.
struct FanOptions {
  Dims in_axis = {-2}, out_axis = {-1}, batch_axis = {};  // the axes of inputs, of outputs, and of neither
};
}  // namespace bora::nn

namespace bora::nn::initializers {
Initializer zeros();                       // 0 everywhere
Initializer ones();                        // 1 everywhere
Initializer constant(double value);        // the value everywhere
Initializer uniform(double scale = 0.01);  // in [0, scale)
Initializer normal(double stddev = 0.01);  // numbers of mean 0 and this deviation
/// A normal distribution that is cut off at lower and upper times stddev.
Initializer truncated_normal(double stddev = 0.01, double lower = -2, double upper = 2);
/// Numbers of mean 0 and variance scale / fan: the number of inputs of an output, of outputs of an input, or the
/// arithmetic or geometric mean of both. All axes that are none of the options' multiply both numbers (the window of a
/// convolution).
Initializer variance_scaling(double scale, Initializer::Mode mode, Initializer::Distribution distribution,
                             const FanOptions& fan = {});
Initializer glorot_uniform(const FanOptions& fan = {});   // Glorot & Bengio 2010
Initializer glorot_normal(const FanOptions& fan = {});    // truncated normal
Initializer xavier_uniform(const FanOptions& fan = {});   // glorot_uniform
Initializer xavier_normal(const FanOptions& fan = {});    // glorot_normal
Initializer lecun_uniform(const FanOptions& fan = {});    // LeCun et al. 1998
Initializer lecun_normal(const FanOptions& fan = {});     // truncated normal
Initializer he_uniform(const FanOptions& fan = {});       // He et al. 2015
Initializer he_normal(const FanOptions& fan = {});        // truncated normal
Initializer kaiming_uniform(const FanOptions& fan = {});  // he_uniform
Initializer kaiming_normal(const FanOptions& fan = {});   // he_normal
/// A random matrix with orthonormal rows or columns, whichever are fewer, times scale: the columns along column_axis,
/// all other axes together the rows (Saxe et al. 2013).
Initializer orthogonal(double scale = 1, std::int64_t column_axis = -1);
/// Convolutions [window.., in, out] with in <= out that are an orthogonal matrix in the window's middle and 0 elsewhere
/// (Xiao et al. 2018).
Initializer delta_orthogonal(double scale = 1, std::int64_t column_axis = -1);
}  // namespace bora::nn::initializers
