#include "bora/nn/init.h"
#include <cmath>
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "bora/named/operations.h"
#include "bora/named/random.h"
#include "bora/named/elementwise.h"

namespace bora::nn {
namespace {
using Kind = Init::Kind;
using Mode = Init::Mode;
using Distribution = Init::Distribution;
constexpr double kCut = 0.87962566103423978;  // the deviation of a normal distribution that is cut off at 2
/// The product of the sizes along axes.
double sizes(const Shape& shape, const Dims& axes) {
  double n = 1;
  for (auto a : axes) {
    auto d = normalize_axis("initializer", a, static_cast<std::int64_t>(shape.size()));
    n *= static_cast<double>(shape[static_cast<std::size_t>(d)]);
  }
  return n;
}
double fan_of(Mode mode, double in, double out) {
  switch (mode) {
    case Mode::fan_in: return in;
    case Mode::fan_out: return out;
    case Mode::fan_avg: return (in + out) / 2;
    case Mode::fan_geo_avg: break;
  }
  return std::sqrt(in * out);
}
double fan(const Init& init, Mode mode, const Shape& shape) {
  check<ShapeError>(shape.size() >= 2 || init.in_axis != Dims{-2}, "initializer: the shape ", shape,
                    " has no axis -2 of inputs; give it two dimensions or say .in_axis");
  double in = sizes(shape, init.in_axis), out = sizes(shape, init.out_axis);
  double window = static_cast<double>(volume(shape)) / in / out / sizes(shape, init.batch_axis);
  return fan_of(mode, in * window, out * window);
}
/// Widths are computed in the array's dtype, as JAX computes them: the same bits.
Array scaled(const Init& init, const Array& key, const Shape& shape, Dtype dtype, double fan) {
  auto variance = bora::constant(init.scale / fan, dtype);
  switch (init.distribution) {
    case Distribution::normal: return random::normal(key, shape, dtype) * sqrt(variance);
    case Distribution::uniform: return random::uniform(key, shape, dtype, -1.0, 1.0) * sqrt(3 * variance);
    case Distribution::truncated_normal: break;
  }
  return random::truncated_normal(key, -2, 2, shape, dtype) * (sqrt(variance) / bora::constant(kCut, dtype));
}
/// The Q of a normal matrix' decomposition with a positive diagonal of R (Mezzadri 2007).
Array orthogonal_matrix(const Array& key, std::int64_t rows, std::int64_t columns, Dtype dtype) {
  auto z = random::normal(key, {std::max(rows, columns), std::min(rows, columns)}, dtype);
  auto [q, r] = linalg::qr(z);
  auto x = q * sign(diagonal(r));
  return rows < columns ? transpose(x) : x;
}
Array orthogonal_array(const Init& init, const Array& key, const Shape& shape, Dtype dtype) {
  check<ShapeError>(shape.size() >= 2, "orthogonal: needs a shape of at least two dimensions, got ", shape);
  if (volume(shape) == 0) return bora::zeros(shape, dtype);
  auto axis = normalize_axis("orthogonal", init.column_axis, static_cast<std::int64_t>(shape.size()));
  auto columns = shape[static_cast<std::size_t>(axis)];
  auto x = orthogonal_matrix(key, volume(shape) / columns, columns, accumulator(dtype)).astype(dtype);
  Dims rest = shape.dims();
  rest.erase(rest.begin() + axis);
  rest.push_back(columns);
  return bora::constant(init.scale, dtype) * moveaxis(reshape(x, Shape(rest)), -1, axis);
}
Array delta_orthogonal_array(const Init& init, const Array& key, const Shape& shape, Dtype dtype) {
  auto n = shape.size();
  check<ShapeError>(n >= 3 && n <= 5, "delta_orthogonal: needs a shape [window.., in, out] of 3 to 5 dimensions, got ",
                    shape);
  check<ShapeError>(shape[n - 1] >= shape[n - 2], "delta_orthogonal: ", shape[n - 2], " inputs are more than ",
                    shape[n - 1], " outputs");
  auto x = orthogonal_array(init, key, Shape(Dims{shape[n - 2], shape[n - 1]}), dtype);
  Dims before(n, 0), after(n, 0);
  for (std::size_t d = 0; d + 2 < n; ++d) {
    x = expand_dims(x, 0);
    before[d] = (shape[d] - 1) / 2;
    after[d] = shape[d] - 1 - before[d];
  }
  return pad(x, before, after);
}
}  // namespace

Init Init::lecun_normal() { return {.scale = 1 / kCut, .lower = -2, .upper = 2}; }
Array Init::operator()(const Array& key, const Shape& shape, Dtype dtype) const {
  check<DtypeError>(is_float(dtype), "initializer: numbers of ", dtype, " are no fractions; take f32, f64, bf16, f16");
  auto truncated = [&](double stddev) {
    return random::truncated_normal(key, lower, upper, shape, dtype) * bora::constant(stddev, dtype);
  };
  switch (kind) {
    case Kind::constant: return full(shape, scale, dtype);
    case Kind::uniform: return random::uniform(key, shape, dtype) * bora::constant(scale, dtype);
    case Kind::normal: return random::normal(key, shape, dtype) * bora::constant(scale, dtype);
    case Kind::truncated_normal: return truncated(scale);
    case Kind::fan_in: return truncated(scale / std::sqrt(fan(*this, Mode::fan_in, shape)));
    case Kind::variance_scaling:
      if (volume(shape) == 0) return bora::zeros(shape, dtype);
      return scaled(*this, key, shape, dtype, fan(*this, mode, shape));
    case Kind::orthogonal: return orthogonal_array(*this, key, shape, dtype);
    case Kind::delta_orthogonal: break;
  }
  return delta_orthogonal_array(*this, key, shape, dtype);
}
NamedArray Init::operator()(const Array& key, const Axes& axes, std::int64_t fan_in) const {
  auto inputs = static_cast<double>(fan_in);
  auto truncated = [&](double stddev) { return random::truncated_normal(key, lower, upper, axes) * stddev; };
  switch (kind) {
    case Kind::constant: return full(axes, scale, f32);
    case Kind::uniform: return random::uniform(key, axes) * scale;
    case Kind::normal: return random::normal(key, axes) * scale;
    case Kind::truncated_normal: return truncated(scale);
    case Kind::fan_in: return truncated(scale / std::sqrt(inputs));
    case Kind::variance_scaling: {
      auto shape = shape_of(axes.list());
      auto size = static_cast<double>(volume(shape));
      if (size == 0) return bora::zeros(axes);
      return named(scaled(*this, key, shape, f32, fan_of(mode, inputs, size / inputs)), axes);
    }
    case Kind::orthogonal:
    case Kind::delta_orthogonal: break;
  }
  return named((*this)(key, shape_of(axes.list())), axes);
}
}  // namespace bora::nn

namespace bora::nn::initializers {
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer constant(double value) { return {.kind = Kind::constant, .scale = value}; }
Initializer uniform(double scale) { return {.kind = Kind::uniform, .scale = scale}; }
Initializer normal(double stddev) { return {.kind = Kind::normal, .scale = stddev}; }
Initializer truncated_normal(double stddev, double lower, double upper) {
  return {.kind = Kind::truncated_normal, .scale = stddev, .lower = lower, .upper = upper};
}
Initializer variance_scaling(double scale, Mode mode, Distribution distribution, const FanOptions& fan) {
  return {.kind = Kind::variance_scaling,
          .mode = mode,
          .distribution = distribution,
          .scale = scale,
          .in_axis = fan.in_axis,
          .out_axis = fan.out_axis,
          .batch_axis = fan.batch_axis};
}
Initializer glorot_uniform(const FanOptions& fan) {
  return variance_scaling(1, Mode::fan_avg, Distribution::uniform, fan);
}
Initializer glorot_normal(const FanOptions& fan) {
  return variance_scaling(1, Mode::fan_avg, Distribution::truncated_normal, fan);
}
Initializer xavier_uniform(const FanOptions& fan) { return glorot_uniform(fan); }
Initializer xavier_normal(const FanOptions& fan) { return glorot_normal(fan); }
Initializer lecun_uniform(const FanOptions& fan) {
  return variance_scaling(1, Mode::fan_in, Distribution::uniform, fan);
}
Initializer lecun_normal(const FanOptions& fan) {
  return variance_scaling(1, Mode::fan_in, Distribution::truncated_normal, fan);
}
Initializer he_uniform(const FanOptions& fan) { return variance_scaling(2, Mode::fan_in, Distribution::uniform, fan); }
Initializer he_normal(const FanOptions& fan) {
  return variance_scaling(2, Mode::fan_in, Distribution::truncated_normal, fan);
}
Initializer kaiming_uniform(const FanOptions& fan) { return he_uniform(fan); }
Initializer kaiming_normal(const FanOptions& fan) { return he_normal(fan); }
Initializer orthogonal(double scale, std::int64_t column_axis) {
  return {.kind = Kind::orthogonal, .scale = scale, .column_axis = column_axis};
}
Initializer delta_orthogonal(double scale, std::int64_t column_axis) {
  return {.kind = Kind::delta_orthogonal, .scale = scale, .column_axis = column_axis};
}
}  // namespace bora::nn::initializers
