// Continuous distributions composed of uniform, normal and gamma draws. Algorithms: jax.random.
#include "bora/random/random.h"
#include <cmath>
#include <limits>
#include <numbers>
#include "bora/ops/creation.h"
#include "bora/ops/nn.h"
#include "random/draw.h"
#include "random/exact.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/transform.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace bora::random {
Array value_of(const Parameter& p, Dtype dtype) {
  return p.is_number ? constant(p.number, dtype) : p.array.astype(dtype);
}
Shape draw_shape(std::string_view what, const std::optional<Shape>& shape,
                 std::initializer_list<Parameter> parameters) {
  auto s = shape.value_or(Shape{});
  for (auto& p : parameters)
    if (!p.is_number) s = broadcast_shapes(what, s, p.array.shape());
  check<ShapeError>(!shape || s == *shape, what, ": the parameters broadcast with the shape ", shape.value_or(s),
                    " to ", s, "; it must be the shape itself");
  return s;
}
Array contracted(const Array& a, const Array& b, const Array& c) {
  return is_narrow(c.dtype()) ? a * b + c : fma(a, b, c);
}
namespace {
/// The layout of a draw with one more dimension in front.
DrawOptions behind_one(DrawOptions draw) {
  draw.spec.insert(0, {});
  return draw;
}
/// Two draws of uniform numbers, from one draw of twice as many.
std::array<Array, 2> two_uniform(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  auto both = shape;
  both.insert(0, 2);
  auto u = uniform(k, both, dtype, 0.0, 1.0, behind_one(draw));
  return {index_in_dim(u, 0, 0), index_in_dim(u, 0, 1)};
}
/// Whether an exact draw of this dtype is one of f64, rounded.
bool widened(Dtype dtype, const DrawOptions& draw) { return draw.exact && dtype != f64 && is_float(dtype); }
double resolution(Dtype dtype) { return std::ldexp(1, -info(dtype).fraction); }
/// hi and lo (u32) as a fraction hi lo / 2^64, rounded towards zero to f32. The top 24 bits come from hi alone if it
/// has as many, else from bits that f64 holds.
Array fraction(const Array& hi, const Array& lo) {
  auto h = hi.astype(f64), upper = h * 0x1p-32, lower = (h * 0x1p29 + (lo >> 3).astype(f64)) * 0x1p-61;
  auto x = where(hi >= (1 << 24), upper, where(hi == 0, lo.astype(f64) * 0x1p-64, lower));
  auto kept = bitcast(bitcast(x, i64) & ~((std::int64_t{1} << 29) - 1), f64);
  return maximum(kept, 0x1p-65).astype(f32);
}
Array gumbel_of_64_bits(const Array& k, const Shape& shape, const DrawOptions& draw) {
  auto both = shape;
  both.insert(0, 2);
  auto b = draw_bits(k, both, u32, behind_one(draw));
  auto hi = index_in_dim(b, 0, 0), lo = index_in_dim(b, 0, 1);
  auto low_half = hi < Scalar(std::int64_t{1} << 31);
  auto carry = (lo == 0).astype(u32);  // of the two's complement
  auto x = fraction(where(low_half, hi, ~hi + carry), where(low_half, lo, ~lo + 1));
  return where(low_half, -log(-log1p(-x)), -log(-log(x)));
}
}  // namespace

// ---- keys and modes -------------------------------------------------------------------------------------------------
Array split(const Array& k, const Shape& shape) { return reshape(random::split(k, volume(shape)), shape); }
Array clone(const Array& keys) {
  (void)key_data(keys);
  return keys;
}
Array bernoulli(const Array& k, Mode mode, const Parameter& p, const std::optional<Shape>& shape,
                const DrawOptions& draw) {
  check<ValueError>(mode != Mode::highest, "bernoulli: the mode is low or high, not highest");
  auto s = draw_shape("bernoulli", shape, {p});
  auto x = value_of(p, p.is_number ? (draw.exact ? f64 : f32) : p.array.dtype());
  if (mode == Mode::low || draw.exact) return bernoulli(k, broadcast_to(x, s), s, draw);
  one_key("bernoulli", k);
  floating("bernoulli", x.dtype());
  auto [coarse, fine] = two_uniform(k, s, x.dtype(), draw);
  return fine * resolution(x.dtype()) < x - coarse;
}
Array gumbel(const Array& k, Mode mode, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  if (mode == Mode::low || draw.exact) return gumbel(k, shape, dtype, draw);
  one_key("gumbel", k);
  floating("gumbel", dtype);
  if (mode == Mode::highest && dtype == f32) return gumbel_of_64_bits(k, shape, draw);
  auto [high, low] = two_uniform(k, shape, dtype, draw);
  auto x = where(high >= 0.5, high, high + low * resolution(dtype) + constant(tiny(dtype), dtype));
  return -log(-log1p(-x));
}

// ---- one draw an element --------------------------------------------------------------------------------------------
Array neighbour(const Array& x, bool up) {
  if (x.dtype() == bf16) {  // a step of bf16 is 2^16 steps of f32
    auto b = bitcast(x.astype(f32), i32);
    auto step = where((b >= 0) == up, 1 << 16, -(1 << 16));
    auto y = where(x == 0, bitcast(constant(up ? 1 << 16 : Scalar(std::int64_t{-2147418112}), i32), f32),
                   bitcast(b + step, f32));
    return where(isnan(x) || x == (up ? 1.0 : -1.0) * std::numeric_limits<double>::infinity(), x, y.astype(bf16));
  }
  auto bits = signed_integer(dtype_size(x.dtype()));
  auto b = bitcast(x, bits);
  auto lowest = std::numeric_limits<std::int64_t>::min() >> (64 - 8 * dtype_size(bits));
  auto first = constant(up ? Scalar(std::int64_t{1}) : Scalar(lowest + 1), bits);  // the smallest denormal of the sign
  auto next = where(x == 0, first, b + where((b >= 0) == up, 1, -1).astype(bits));
  return where(isnan(x) || x == (up ? 1.0 : -1.0) * std::numeric_limits<double>::infinity(), x,
               bitcast(next, x.dtype()));
}
Array truncated_normal(const Array& k, const Parameter& lower, const Parameter& upper,
                       const std::optional<Shape>& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("truncated_normal", k);
  floating("truncated_normal", dtype);
  auto s = draw_shape("truncated_normal", shape, {lower, upper});
  auto lo = value_of(lower, dtype), hi = value_of(upper, dtype);
  if (draw.exact) {  // rounding may give a bound; other numbers in its place would shift the distribution
    auto in_f64 = [&](const Array& bound) { return broadcast_to(bound.astype(f64), s); };
    return exact_truncated_normal(draw_bits(k, s, i64, draw), in_f64(lo), in_f64(hi)).astype(dtype);
  }
  auto root = rounded(std::numbers::sqrt2, dtype);
  auto x = erf_inv(uniform(k, s, dtype, erf(lo / root), erf(hi / root), draw)) * root;
  return minimum(maximum(x, stop_gradient(neighbour(lo, true))), stop_gradient(neighbour(hi, false)));
}
Array cauchy(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("cauchy", k);
  floating("cauchy", dtype);
  if (draw.exact) {
    auto quantile = [](const Array& p) {
      return where(p < 0.25, -1 / tan(p * std::numbers::pi), tan((p - 0.5) * std::numbers::pi));
    };
    return Fine(k, shape, draw).symmetric(quantile).astype(dtype);
  }
  auto u = uniform(k, shape, dtype, resolution(dtype), 1.0, draw);
  return tan((u - 0.5) * rounded(std::numbers::pi, dtype));
}
Array lognormal(const Array& k, const Parameter& sigma, const std::optional<Shape>& shape, Dtype dtype,
                const DrawOptions& draw) {
  floating("lognormal", dtype);
  if (widened(dtype, draw)) return lognormal(k, sigma, shape, f64, draw).astype(dtype);
  auto s = draw_shape("lognormal", shape, {sigma});
  return exp(normal(k, s, dtype, draw) * value_of(sigma, dtype));
}
Array maxwell(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  floating("maxwell", dtype);
  if (widened(dtype, draw)) return maxwell(k, shape, f64, draw).astype(dtype);
  auto s = shape;
  s.push_back(3);
  return sqrt(sum(square(normal(k, s, dtype, draw)), -1));
}
Array double_sided_maxwell(const Array& k, const Parameter& loc, const Parameter& scale, const Shape& shape,
                           Dtype dtype, const DrawOptions& draw) {
  one_key("double_sided_maxwell", k);
  floating("double_sided_maxwell", dtype);
  if (widened(dtype, draw)) return double_sided_maxwell(k, loc, scale, shape, f64, draw).astype(dtype);
  auto parameters = draw_shape("double_sided_maxwell", none, {loc, scale});
  auto s = shape.empty() ? parameters : shape;
  s.append(parameters);
  auto [a, b] = split<2>(k);
  auto x = rademacher(b, s, dtype, draw) * maxwell(a, s, dtype, draw);
  return contracted(x, broadcast_to(value_of(scale, dtype), s), broadcast_to(value_of(loc, dtype), s));
}
Array pareto(const Array& k, const Parameter& b, const std::optional<Shape>& shape, Dtype dtype,
             const DrawOptions& draw) {
  floating("pareto", dtype);
  if (widened(dtype, draw)) return pareto(k, b, shape, f64, draw).astype(dtype);
  auto s = draw_shape("pareto", shape, {b});
  return exp(exponential(k, s, dtype, draw) / value_of(b, dtype));
}
Array rayleigh(const Array& k, const Parameter& scale, const std::optional<Shape>& shape, Dtype dtype,
               const DrawOptions& draw) {
  floating("rayleigh", dtype);
  if (widened(dtype, draw)) return rayleigh(k, scale, shape, f64, draw).astype(dtype);
  auto s = draw_shape("rayleigh", shape, {scale});
  if (draw.exact) return value_of(scale, dtype) * sqrt(2 * Fine(k, s, draw).exponential());
  return value_of(scale, dtype) * sqrt(log(uniform(k, s, dtype, 0.0, 1.0, draw)) * -2);
}
Array triangular(const Array& k, const Parameter& left, const Parameter& mode, const Parameter& right,
                 const std::optional<Shape>& shape, Dtype dtype, const DrawOptions& draw) {
  floating("triangular", dtype);
  if (widened(dtype, draw)) return triangular(k, left, mode, right, shape, f64, draw).astype(dtype);
  auto s = draw_shape("triangular", shape, {left, mode, right});
  auto a = value_of(left, dtype), m = value_of(mode, dtype), b = value_of(right, dtype);
  auto of = [&](const Array& u, const Array& rest) {
    auto below = a + sqrt(u * (b - a) * (m - a)), above = b - sqrt(rest * (b - a) * (b - m));
    return where(u < (m - a) / (b - a), below, above);
  };
  if (draw.exact) {
    Fine fine(k, s, draw);
    return of(fine.u(), fine.rest());
  }
  auto u = uniform(k, s, dtype, 0.0, 1.0, draw);
  return of(u, 1 - u);
}
Array wald(const Array& k, const Parameter& mean, const std::optional<Shape>& shape, Dtype dtype,
           const DrawOptions& draw) {
  one_key("wald", k);
  floating("wald", dtype);
  if (widened(dtype, draw)) return wald(k, mean, shape, f64, draw).astype(dtype);
  auto s = draw_shape("wald", shape, {mean});
  auto m = broadcast_to(value_of(mean, dtype), s);
  auto [a, b] = split<2>(k);
  auto v = normal(a, s, dtype, draw), z = uniform(b, s, dtype, 0.0, 1.0, draw);
  if (draw.exact) {  // both roots without a difference
    auto half = m * (v * v) * 0.5, ratio = 1 + half + sqrt(half * (half + 2));
    return where(z <= ratio / (1 + ratio), m / ratio, m * ratio);
  }
  auto y = v * v, square_of_mean = m * m;
  auto root = sqrt(contracted(m * 4, y, square_of_mean * (y * y)));
  auto x = contracted(-(m * 0.5), root, contracted(square_of_mean * y, constant(0.5, dtype), m));
  return where(z <= m / (m + x), x, square_of_mean / x);
}
Array weibull_min(const Array& k, const Parameter& scale, const Parameter& concentration, const Shape& shape,
                  Dtype dtype, const DrawOptions& draw) {
  floating("weibull_min", dtype);
  if (widened(dtype, draw)) return weibull_min(k, scale, concentration, shape, f64, draw).astype(dtype);
  return pow(exponential(k, shape, dtype, draw), 1 / value_of(concentration, dtype)) * value_of(scale, dtype);
}
Array geometric(const Array& k, const Parameter& p, const std::optional<Shape>& shape, Dtype dtype,
                const DrawOptions& draw) {
  one_key("geometric", k);
  check<DtypeError>(is_integer(dtype), "geometric: the dtype must be an integer one, got ", dtype);
  auto s = draw_shape("geometric", shape, {p});
  if (draw.exact) return (floor(Fine(k, s, draw).exponential() / -log1p(-value_of(p, f64))) + 1).astype(dtype);
  auto x = value_of(p, p.is_number || !is_float(p.array.dtype()) ? f32 : p.array.dtype());
  auto u = uniform(k, s, x.dtype(), 0.0, 1.0, draw);
  return (floor(log(where(u == 0, 1.0, u)) / log1p(-x)) + 1).astype(dtype);
}

// ---- made of gamma draws --------------------------------------------------------------------------------------------
Array beta(const Array& k, const Parameter& a, const Parameter& b, const std::optional<Shape>& shape, Dtype dtype,
           const DrawOptions& draw) {
  one_key("beta", k);
  if (widened(dtype, draw)) return beta(k, a, b, shape, f64, draw).astype(dtype);
  auto s = draw_shape("beta", shape, {a, b});
  auto [key_a, key_b] = split<2>(k);
  auto x = bounded_loggamma("beta", key_a, value_of(a, dtype), s, dtype, draw);
  auto y = bounded_loggamma("beta", key_b, value_of(b, dtype), s, dtype, draw);
  auto top = maximum(x, y);
  auto p = exp(x - top), q = exp(y - top);
  return p / (p + q);
}
Array chisquare(const Array& k, const Parameter& df, const std::optional<Shape>& shape, Dtype dtype,
                const DrawOptions& draw) {
  if (widened(dtype, draw)) return chisquare(k, df, shape, f64, draw).astype(dtype);
  auto s = draw_shape("chisquare", shape, {df});
  return exp(loggamma(k, value_of(df, dtype) / 2, s, dtype, draw)) * 2;
}
Array f(const Array& k, const Parameter& dfnum, const Parameter& dfden, const std::optional<Shape>& shape, Dtype dtype,
        const DrawOptions& draw) {
  one_key("f", k);
  if (widened(dtype, draw)) return f(k, dfnum, dfden, shape, f64, draw).astype(dtype);
  auto s = draw_shape("f", shape, {dfnum, dfden});
  auto [den, num] = split<2>(k);
  if (draw.exact) {  // in logarithms, as each draw may underflow
    auto n = value_of(dfnum, dtype), d = value_of(dfden, dtype);
    auto of = [&](const Array& key, const Array& half) { return bounded_loggamma("f", key, half, s, dtype, draw); };
    return exp(of(num, n / 2) - of(den, d / 2)) * (d / n);
  }
  return chisquare(num, dfnum, s, dtype, draw) / value_of(dfnum, dtype) /
         (chisquare(den, dfden, s, dtype, draw) / value_of(dfden, dtype));
}
Array t(const Array& k, const Parameter& df, const std::optional<Shape>& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("t", k);
  if (widened(dtype, draw)) return t(k, df, shape, f64, draw).astype(dtype);
  auto s = draw_shape("t", shape, {df});
  auto [n, g] = split<2>(k);
  auto half = value_of(df, dtype) / 2;
  if (draw.exact) return normal(n, s, dtype, draw) * exp((log(half) - loggamma(g, half, s, dtype, draw)) * 0.5);
  return normal(n, s, dtype, draw) * sqrt(half / gamma(g, half, s, dtype, draw));
}
Array generalized_normal(const Array& k, const Parameter& p, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("generalized_normal", k);
  if (widened(dtype, draw)) return generalized_normal(k, p, shape, f64, draw).astype(dtype);
  auto s = draw_shape("generalized_normal", shape, {p});
  auto inverse = 1 / value_of(p, dtype);
  auto [g, r] = split<2>(k);
  if (draw.exact) return rademacher(r, s, dtype, draw) * exp(loggamma(g, inverse, s, dtype, draw) * inverse);
  return rademacher(r, s, dtype, draw) * pow(gamma(g, inverse, s, dtype, draw), inverse);
}
Array ball(const Array& k, std::int64_t d, const Parameter& p, const Shape& shape, Dtype dtype,
           const DrawOptions& draw) {
  one_key("ball", k);
  if (widened(dtype, draw)) return ball(k, d, p, shape, f64, draw).astype(dtype);
  check<ValueError>(d >= 0, "ball: the number of dimensions must not be negative, got ", d);
  auto s = shape;
  s.push_back(d);
  auto [a, b] = split<2>(k);
  auto g = generalized_normal(a, p, s, dtype, draw);
  auto e = exponential(b, shape, dtype, draw);
  auto x = value_of(p, dtype);
  return g / expand_dims(pow(sum(pow(abs(g), x), -1) + e, 1 / x), -1);
}
}  // namespace bora::random
