// Samplers whose numbers depend only on (key, position): compositions of random bits and elementwise operations, so
// that they fuse. Algorithms and constants: jax/_src/random.py.
#include <cmath>
#include <limits>
#include "base/api/complex.h"
#include "bora/ops/creation.h"
#include "random/draw.h"
#include "random/exact.h"
#include "bora/ops/special.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "bora/ops/manipulation.h"
#include "bora/array/primitive_base.h"
#include "ops/api/primitives.h"

namespace bora::random {
void floating(std::string_view what, Dtype dtype) {
  check<DtypeError>(is_float(dtype), what, ": the dtype must be a floating one, got ", dtype);
}
double rounded(double x, Dtype dtype) {
  if (!is_float(dtype)) return x;
  return dispatch_real(dtype, "a number", [&](auto zero) { return converted<double>(converted<decltype(zero)>(x)); });
}
double next_after(double x, double to, Dtype dtype) {
  return dispatch_real(dtype, "a number", [&](auto zero) -> double {
    using T = decltype(zero);
    if constexpr (is_float_class<T>) {
      using Bits = decltype(zero.bits);
      constexpr int sign = 1 << (8 * sizeof(Bits) - 1);
      if (x == to) return x;
      T b(static_cast<float>(x));
      if (x == 0) b.bits = static_cast<Bits>(to > 0 ? 1 : sign | 1);
      else b.bits = static_cast<Bits>(b.bits + ((to > x) == (x > 0) ? 1 : -1));
      return static_cast<float>(b);
    } else if constexpr (std::is_floating_point_v<T>) return std::nextafter(static_cast<T>(x), static_cast<T>(to));
    else return x;
  });
}
double tiny(Dtype dtype) { return info(dtype).least; }

Array draw_bits(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  return call_one(ops::RandomBits{shape, dtype, draw.spec, shape}, {k});
}
Array bits(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("bits", k);
  if (dtype == u16) return draw_bits(k, shape, u32, draw).astype(u16);
  if (dtype == u64) return bitcast(draw_bits(k, shape, i64, draw), u64);
  return draw_bits(k, shape, dtype, draw);
}

namespace {
/// Multiples of 2^-23 (f32), 2^-52 (f64), 2^-10 (f16), 2^-7 (bf16) in [0, 1), exact.
Array unit(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  if (dtype == f32) return bitcast((draw_bits(k, shape, u32, draw) >> 9) | 0x3F800000, f32) - 1.0;
  if (dtype == f64) {  // the shift keeps the sign, the mask drops it
    auto mantissa = (draw_bits(k, shape, i64, draw) >> 12) & 0x000FFFFFFFFFFFFFll;
    return bitcast(mantissa | 0x3FF0000000000000ll, f64) - 1.0;
  }
  auto fraction = info(dtype).fraction;
  auto drawn = fraction < 8 ? draw_bits(k, shape, u8, draw) >> (8 - fraction)
                            : (draw_bits(k, shape, u32, draw) & 0xFFFF) >> (16 - fraction);
  return drawn.astype(dtype) * std::ldexp(1, -fraction);
}
/// XLA contracts product and sum into one fma for f32 and f64; bf16 rounds each.
Array stretched(const Array& u, const Array& span, const Array& minval) {
  auto y = is_narrow(u.dtype()) ? u * span + minval : fma(u, span, minval);
  return maximum(minval, y);
}
Array uniform_in(const Array& k, const Shape& shape, Dtype dtype, double minval, double maxval,
                 const DrawOptions& draw) {
  auto u = unit(k, shape, dtype, draw);
  minval = rounded(minval, dtype);
  maxval = rounded(maxval, dtype);
  auto span = rounded(maxval - minval, dtype);
  if (minval == 0 && span == 1) return u;
  return stretched(u, constant(span, dtype), constant(minval, dtype));
}
/// In [minval, maxval), with all digits near both; f64 bounds.
Array exact_uniform(const Array& k, const Shape& shape, Dtype dtype, const Array& minval, const Array& maxval,
                    const DrawOptions& draw) {
  Fine fine(k, shape, draw);
  auto lo = minval.astype(f64), hi = maxval.astype(f64);
  auto way = hi * fine.small - lo * fine.small;  // the span itself may overflow
  auto x = where(fine.low, lo + way, hi - way).astype(dtype);
  auto least = minval.astype(dtype), last = stop_gradient(neighbour(maxval.astype(dtype), false));
  return maximum(least, minimum(x, last));
}
Array logarithm_of_uniform(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  return log(uniform_in(k, shape, dtype, tiny(dtype), 1, draw));
}
}  // namespace
Array uniform(const Array& k, const Shape& shape, Dtype dtype, Scalar minval, Scalar maxval, const DrawOptions& draw) {
  one_key("uniform", k);
  floating("uniform", dtype);
  if (draw.exact) {
    auto bound = [&](double x) { return constant(rounded(x, dtype), f64); };
    return exact_uniform(k, shape, dtype, bound(minval.value), bound(maxval.value), draw);
  }
  return uniform_in(k, shape, dtype, minval.value, maxval.value, draw);
}
Array uniform(const Array& k, const Shape& shape, Dtype dtype, const Array& minval, const Array& maxval,
              const DrawOptions& draw) {
  one_key("uniform", k);
  floating("uniform", dtype);
  if (draw.exact) {
    auto bound = [&](const Array& x) { return broadcast_to(x.astype(dtype), shape); };
    return exact_uniform(k, shape, dtype, bound(minval), bound(maxval), draw);
  }
  auto lo = broadcast_to(minval.astype(dtype), shape), hi = broadcast_to(maxval.astype(dtype), shape);
  return stretched(unit(k, shape, dtype, draw), hi - lo, lo);
}
Array normal(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("normal", k);
  floating("normal", dtype);
  if (draw.exact) return Fine(k, shape, draw).symmetric(special::ndtri).astype(dtype);
  return erf_inv(uniform_in(k, shape, dtype, next_after(-1, 0, dtype), 1, draw)) * rounded(std::sqrt(2.0), dtype);
}
Array truncated_normal(const Array& k, double lower, double upper, const Shape& shape, Dtype dtype,
                       const DrawOptions& draw) {
  one_key("truncated_normal", k);
  floating("truncated_normal", dtype);
  if (draw.exact) return truncated_normal(k, Parameter(lower), Parameter(upper), shape, dtype, draw);
  auto root = rounded(std::sqrt(2.0), dtype), lo = rounded(lower, dtype), hi = rounded(upper, dtype);
  auto erf_of = [&](double x) { return rounded(std::erf(rounded(x / root, dtype)), dtype); };
  auto x = erf_inv(uniform_in(k, shape, dtype, erf_of(lo), erf_of(hi), draw)) * root;
  auto infinity = std::numeric_limits<double>::infinity();
  return clip(x, next_after(lo, infinity, dtype), next_after(hi, -infinity, dtype));
}
Array bernoulli(const Array& k, double p, const Shape& shape, const DrawOptions& draw) {
  one_key("bernoulli", k);
  if (draw.exact) return Fine(k, shape, draw).below(constant(p, f64));
  return unit(k, shape, f32, draw) < rounded(p, f32);
}
Array bernoulli(const Array& k, const Array& p, const std::optional<Shape>& shape, const DrawOptions& draw) {
  one_key("bernoulli", k);
  floating("bernoulli", p.dtype());
  auto s = shape.value_or(p.shape());
  if (draw.exact) return Fine(k, s, draw).below(broadcast_to(p.astype(f64), s));
  return unit(k, s, p.dtype(), draw) < broadcast_to(p, s);
}
Array gumbel(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("gumbel", k);
  floating("gumbel", dtype);
  if (draw.exact) return (-log(Fine(k, shape, draw).exponential())).astype(dtype);
  return -log(-logarithm_of_uniform(k, shape, dtype, draw));
}
Array exponential(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("exponential", k);
  floating("exponential", dtype);
  if (draw.exact) return Fine(k, shape, draw).exponential().astype(dtype);
  return -log1p(-unit(k, shape, dtype, draw));
}
Array laplace(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("laplace", k);
  floating("laplace", dtype);
  if (draw.exact) return Fine(k, shape, draw).symmetric([](const Array& p) { return log(2 * p); }).astype(dtype);
  auto u = uniform_in(k, shape, dtype, next_after(-1, 0, dtype), 1, draw);
  return sign(u) * log1p(-abs(u));
}
Array logistic(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("logistic", k);
  floating("logistic", dtype);
  if (draw.exact)
    return Fine(k, shape, draw).symmetric([](const Array& p) { return log(p) - log1p(-p); }).astype(dtype);
  auto u = uniform_in(k, shape, dtype, tiny(dtype), 1, draw);
  return log(u) - log1p(-u);
}
Array rademacher(const Array& k, const Shape& shape, Dtype dtype, const DrawOptions& draw) {
  one_key("rademacher", k);
  return bernoulli(k, 0.5, shape, draw).astype(dtype) * 2 - 1;
}

// ---- randint --------------------------------------------------------------------------------------------------------
namespace {
/// x mod m for an unsigned 64-bit x held as i64. Halving first keeps every step within i64.
Array unsigned_remainder(const Array& x, std::uint64_t m) {
  if (m == 0) return x;
  if (m >> 63) {  // x holds m at most once
    auto s = static_cast<std::int64_t>(m);
    return where(x < 0 && x >= s, x - Scalar(s), x);
  }
  auto s = static_cast<std::int64_t>(m);
  auto half = (x >> 1) & std::numeric_limits<std::int64_t>::max(), bit = x & 1;
  auto q = half % s;
  auto room = Scalar(s) - q;
  return where(q + bit >= room, q - room + bit, q + q + bit);
}
template <class U, class F>
Array offset_in(const Array& k, const Shape& shape, Dtype bits_dtype, U span, const DrawOptions& draw, F&& remainder) {
  auto [high, low] = split<2>(k);
  U m = span ? static_cast<U>((U(1) << (4 * sizeof(U))) % span) : static_cast<U>(U(1) << (4 * sizeof(U)));
  m = static_cast<U>(m * m);
  if (span) m = static_cast<U>(m % span);
  auto off = remainder(draw_bits(low, shape, bits_dtype, draw), span);
  if (m == 0) return off;  // the upper bits do not matter
  return remainder(remainder(draw_bits(high, shape, bits_dtype, draw), span) *
                           constant(Scalar(static_cast<std::int64_t>(m)), bits_dtype) +
                       off,
                   span);
}
}  // namespace
Array randint(const Array& k, const Shape& shape, std::int64_t minval, std::int64_t maxval, Dtype dtype,
              const DrawOptions& draw) {
  one_key("randint", k);
  check<DtypeError>(is_integer(dtype), "randint: the dtype must be an integer one, got ", dtype);
  if (dtype_size(dtype) < 4) {  // small integers are drawn as i32
    auto n = std::int64_t{1} << (8 * dtype_size(dtype)), low = info(dtype).kind == Kind::integer ? -n / 2 : 0;
    return randint(k, shape, std::clamp(minval, low, low + n - 1), std::clamp(maxval, low, low + n), i32, draw)
        .astype(dtype);
  }
  if (dtype == u64)
    return bitcast(randint(k, shape, std::max<std::int64_t>(minval, 0), std::max<std::int64_t>(maxval, 0), i64, draw),
                   u64);
  if (dtype == i64) {
    auto span = maxval <= minval ? 1 : static_cast<std::uint64_t>(maxval) - static_cast<std::uint64_t>(minval);
    return offset_in<std::uint64_t>(k, shape, i64, span, draw, unsigned_remainder) + Scalar(minval);
  }
  auto lowest = dtype == i32 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} : 0;
  auto highest = dtype == i32 ? std::int64_t{std::numeric_limits<std::int32_t>::max()}
                              : std::int64_t{std::numeric_limits<std::uint32_t>::max()};
  bool beyond = maxval > highest;
  minval = std::clamp(minval, lowest, highest);
  maxval = std::clamp(maxval, lowest, highest);
  auto span = maxval <= minval ? 1u : static_cast<std::uint32_t>(maxval - minval);
  if (beyond && maxval > minval) ++span;  // 0: the full range
  auto off = offset_in<std::uint32_t>(k, shape, u32, span, draw, [](const Array& x, std::uint32_t m) {
    return m == 0 ? x : x % Scalar(std::int64_t{m});
  });
  auto y = off + Scalar(std::int64_t{static_cast<std::uint32_t>(minval)});
  return dtype == u32 ? y : bitcast(y, i32);
}
namespace {
/// x mod m of unsigned 64-bit numbers held as i64; x where m is 0.
Array unsigned_remainder(const Array& x, const Array& m) {
  constexpr auto sign = std::numeric_limits<std::int64_t>::min();
  auto s = where(m > 0, m, 1);
  auto half = (x >> 1) & std::numeric_limits<std::int64_t>::max(), bit = x & 1;
  auto q = half % s, room = s - q;
  auto small = where(q + bit >= room, q - room + bit, q + q + bit);
  auto large = where((x ^ Scalar(sign)) >= (m ^ Scalar(sign)), x - m, x);  // x holds m at most once
  return where(m > 0, small, where(m == 0, x, large));
}
/// Uniform in [0, span) of 32 (from u32 bits held as i64, span up to 2^32) or 64 bits (span 0: all).
template <class F>
Array offset_in(const Array& high, const Array& low, const Array& span, int width, const F& remainder) {
  auto mask = [&](const Array& x) { return width == 32 ? x & Scalar(std::int64_t{0xffffffff}) : x; };
  auto m = remainder(constant(Scalar(std::int64_t{1} << (width / 2)), i64), span);
  m = remainder(mask(m * m), span);
  return remainder(mask(remainder(high, span) * m + remainder(low, span)), span);
}
}  // namespace
Array randint(const Array& k, const Shape& shape, const Parameter& minval, const Parameter& maxval, Dtype dtype,
              const DrawOptions& draw) {
  one_key("randint", k);
  check<DtypeError>(is_integer(dtype), "randint: the dtype must be an integer one, got ", dtype);
  auto bound = [](const Parameter& p) {
    if (p.is_number) {
      check<DtypeError>(p.number.integral(), "randint: the bounds must be integers, got ", p.number.value);
      return constant(p.number.integer, i64);
    }
    check<DtypeError>(is_integer(p.array.dtype()), "randint: the bounds must be integers, got ", p.array.type());
    return p.array.astype(i64);
  };
  auto least_of_all = bound(minval), end = bound(maxval);
  draw_shape("randint", shape, {minval, maxval});
  auto lo = broadcast_to(least_of_all, shape), hi = broadcast_to(end, shape);
  auto [a, b] = split<2>(k);
  if (dtype == u64) return bitcast(randint(k, shape, maximum(lo, 0), maximum(hi, 0), i64, draw), u64);
  if (dtype == i64) {
    auto span = where(hi <= lo, 1, hi - lo);
    return lo + offset_in(draw_bits(a, shape, i64, draw), draw_bits(b, shape, i64, draw), span, 64,
                          [](const Array& x, const Array& m) { return unsigned_remainder(x, m); });
  }
  auto limits = dispatch_real(dtype, "randint", [](auto x) {
    using L = std::numeric_limits<decltype(x)>;
    return std::array<double, 2>{static_cast<double>(L::min()), static_cast<double>(L::max())};
  });
  auto least = static_cast<std::int64_t>(limits[0]), most = static_cast<std::int64_t>(limits[1]);
  lo = clip(lo, Scalar(least), Scalar(most));
  hi = clip(hi, Scalar(least), Scalar(most + 1));
  auto span = where(hi <= lo, 1, hi - lo);
  auto bits = [&](const Array& key) { return draw_bits(key, shape, u32, draw).astype(i64); };
  return (lo + offset_in(bits(a), bits(b), span, 32, [](const Array& x, const Array& m) { return x % m; }))
      .astype(dtype);
}
}  // namespace bora::random

namespace bora {
Array dropout(const Array& key, const Array& x, double rate, const random::DrawOptions& draw) {
  check<ValueError>(rate >= 0 && rate <= 1, "dropout: the rate is a probability, got ", rate);
  if (rate == 0) return x;
  if (rate == 1) return zeros_like(x);
  return where(random::bernoulli(key, 1 - rate, x.shape(), draw), x / (1 - rate), 0);
}
}  // namespace bora
