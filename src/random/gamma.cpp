// gamma, loggamma, dirichlet. Rejection takes a different number of draws for each element, so it runs as one operation
// on the host, with one key per element; the elementary functions are the same as everywhere else.
#include <algorithm>
#include "bora/base/parallel.h"
#include "bora/ops/creation.h"
#include "bora/random/gamma_grad.h"
#include "ops/api/one_type.h"
#include "random/draw.h"
#include "random/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/reductions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora::random {
namespace {
/// Marsaglia and Tsang, A simple method for generating gamma variables (2000), with draws ordered as JAX's _gamma_one.
/// boost / a <= -max / 2, which may overflow: below that numbers go on by their logarithm, so that they stay in order.
template <class T> T bounded_quotient(T boost, T a) {
  constexpr T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::denorm_min();
  T beyond = log_of(-boost) - log_of(a) - log_of(most / 2), all = log_of(T(64)) - log_of(least) - log_of(most / 2);
  return -most * (T(0.5) + T(0.5) * std::clamp(beyond / all, T(0), T(1)));
}
template <class T> T gamma_scalar(Words key, T a, bool log_space, bool bounded) {
  if (!(a >= 0)) return std::numeric_limits<T>::quiet_NaN();  // of 0 it is 0, as in JAX
  const T third = static_cast<T>(1.0 / 3.0);
  T d = (a >= 1 ? a : a + 1) - third, c = third / std::sqrt(d);
  auto k = kernels::threefry(key, 0), boost_key = kernels::threefry(key, 1);
  T x2 = 0, v = 1, u = 2;
  while (u >= T(1) - static_cast<T>(0.0331) * (x2 * x2) && log_of(u) >= x2 * T(0.5) + d * ((T(1) - v) + log_of(v))) {
    auto kx = kernels::threefry(k, 1), ku = kernels::threefry(k, 2);
    k = kernels::threefry(k, 0);
    T x, w;
    do {
      auto sub = kernels::threefry(kx, 1);
      kx = kernels::threefry(kx, 0);
      x = normal_scalar<T>(sub);
      w = T(1) + x * c;
    } while (w <= 0);
    x2 = x * x;
    v = w * w * w;
    u = unit_scalar<T>(ku);
  }
  if (log_space) {
    T log_boost = log1p_of(-unit_scalar<T>(boost_key));
    T inverse = T(1) / a, boost = T(0);  // of a denormal a the inverse overflows sooner than the quotient
    if (a < 1 && log_boost != 0) boost = std::isinf(inverse) && a > 0 ? log_boost / a : log_boost * inverse;
    if (bounded && a > 0 && boost < -std::numeric_limits<T>::max() / 2) return bounded_quotient(log_boost, a);
    return (log_of(d) + log_of(v)) + boost;
  }
  return (d * v) * (a >= 1 ? T(1) : std::pow(T(1) - unit_scalar<T>(boost_key), T(1) / a));
}
template <class T> T digamma_scalar(T x) {
  T y = 0;
  for (; x < 10; x += 1) y -= 1 / x;
  T r = 1 / (x * x);
  T tail = r * (T(1) / 12 - r * (T(1) / 120 - r * (T(1) / 252 - r * (T(1) / 240 - r * (T(1) / 132)))));
  return y + (std::log(x) - T(0.5) / x - tail);
}
/// The derivative of a draw x of Gamma(a) by a with its place in the distribution kept: -(dP/da) / (dP/dx) of the
/// distribution function P(a, x), by its series, or its continued fraction for x > max(1, a), with the recurrences of
/// both for the derivative by a (JAX's random_gamma_grad). Steps in f64.
double gamma_slope(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 0;
  if (std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();
  if (a > 1e8) {  // as Temme's expansion begins; the series would have some sqrt(a) terms
    double u = (x - a) / a;
    return (u == 0 ? 1 : (1 + u) * std::log1p(u) / u) + 1 / (6 * a);
  }
  constexpr double eps = std::numeric_limits<double>::epsilon();
  if (!(x > 1 && x > a)) {
    double r = a, c = 1, sum = 1, dc = 0, dsum = 0;
    do {
      r += 1;
      dc = dc * (x / r) - c * x / (r * r);
      dsum += dc;
      c *= x / r;
      sum += c;
    } while (std::abs(dc) > eps * std::abs(dsum));
    return -(dsum + sum * (std::log(x) - digamma_scalar(a + 1))) * x / a;
  }
  double y = 1 - a, z = x + y + 1, p2 = 1, q2 = x, p1 = x + 1, q1 = z * x, value = p1 / q1;
  double dp2 = 0, dq2 = 0, dp1 = 0, dq1 = -x, slope = (dp1 - value * dq1) / q1;
  for (int c = 1; c <= 2000; ++c) {
    y += 1;
    z += 2;
    double yc = y * c, p = p1 * z - p2 * yc, q = q1 * z - q2 * yc;
    double dp = dp1 * z - p1 - dp2 * yc + p2 * c, dq = dq1 * z - q1 - dq2 * yc + q2 * c, change = 1;
    if (q != 0) {
      value = p / q;
      change = std::abs((dp - value * dq) / q - slope);
      slope = (dp - value * dq) / q;
    }
    double scale = std::abs(p) > 1 / eps ? eps : 1;
    p2 = p1 * scale, q2 = q1 * scale, dp2 = dp1 * scale, dq2 = dq1 * scale;
    p1 = p * scale, q1 = q * scale, dp1 = dp * scale, dq1 = dq * scale;
    if (!(change > eps)) break;
  }
  return (slope + value * (std::log(x) - digamma_scalar(a))) * x;
}
/// Draws x and a, alike -> dx / da; with log_space, draws log x -> d log x / da.
struct GammaSlope {
  bool log_space, bounded = false;  // bounded: finite, as the draw is
  static constexpr std::string_view name = "gamma_slope";
  Type infer(const Types& in) const {
    check<DtypeError>(in.at(0).dtype == f32 || in[0].dtype == f64, "gamma: needs f32 or f64, got ", in[0]);
    return in[0];
  }
  void eval(InputViews in, OutputViews out) const {
    auto run = [&](auto t) {
      using T = decltype(t);
      parallel_for(out[0].type.size(), grain_for(400), [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) {
          double x = in[0].as<T>()[i], a = in[1].as<T>()[i];
          if (log_space) x = std::max(std::exp(x), static_cast<double>(std::numeric_limits<T>::min()));
          auto slope = gamma_slope(a, x) / (log_space ? x : 1);
          if (bounded) slope = std::min(slope, static_cast<double>(std::numeric_limits<T>::max()));
          out[0].as<T>()[i] = static_cast<T>(slope);
        }
      });
    };
    if (out[0].type.dtype == f32) run(float{});
    else run(double{});
  }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  GammaSlope lift(std::int64_t) const { return *this; }
  static SamplesOf<GammaSlope> samples() {
    auto x = asarray(std::vector<double>{0.2, 3, 4}), a = asarray(std::vector<double>{0.5, 1, 4});
    return {{{false}, {x, a}}, {{true}, {log(x), a}}};
  }
};
/// The 64 random bits of each element, which are the words of its key, and a, alike -> one draw each.
struct Gamma {
  bool log_space, bounded = false;  // bounded: a logarithm below the range is a finite number, of the right order
  static constexpr std::string_view name = "gamma";
  static constexpr bool random = true;
  Type infer(const Types& in) const {
    check<DtypeError>(in.at(0).dtype == i64 && (in.at(1).dtype == f32 || in[1].dtype == f64),
                      "gamma: needs 64 bits and f32 or f64, got ", in[0], " and ", in[1]);
    check<ShapeError>(in[0].shape == in[1].shape, "gamma: needs one key an element, got ", in[0], " and ", in[1]);
    return in[1];
  }
  void eval(InputViews in, OutputViews out) const {
    auto* bits = in[0].as<std::int64_t>();
    auto run = [&](auto t) {
      using T = decltype(t);
      parallel_for(out[0].type.size(), grain_for(250), [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) {
          auto w = static_cast<std::uint64_t>(bits[i]);
          Words key{static_cast<std::uint32_t>(w >> 32), static_cast<std::uint32_t>(w)};
          out[0].as<T>()[i] = gamma_scalar<T>(key, in[1].as<T>()[i], log_space, bounded);
        }
      });
    };
    if (out[0].type.dtype == f32) run(float{});
    else run(double{});
  }
  Arrays vjp(const Vjp& v) const {
    return {{}, v.ct[0] * call_one(GammaSlope{log_space, bounded}, {v.out[0], v.in[1]})};
  }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  Gamma lift(std::int64_t) const { return *this; }
  // In f32, as the derivative is not that of the steps at fixed bits, which finite differences would give.
  static SamplesOf<Gamma> samples() { return {{{false}, {draw_bits(key(3), {3}, i64, {}), array({0.5, 1.0, 4.0})}}}; }
};
Array gamma_of(std::string_view what, const Array& k, const Array& a, const std::optional<Shape>& shape, Dtype dtype,
               const DrawOptions& draw, Gamma form) {
  one_key(what, k);
  check<DtypeError>(dtype == f32 || dtype == f64 || (draw.exact && is_float(dtype)), what,
                    ": the dtype must be f32 or f64, got ", dtype);
  auto s = shape.value_or(a.shape());
  if (draw.exact && dtype != f64) return gamma_of(what, k, a, s, f64, draw, form).astype(dtype);
  return call_one(form, {draw_bits(k, s, i64, draw), broadcast_to(a.astype(dtype), s)});
}
}  // namespace
}  // namespace bora::random
namespace bora::lax {
Array random_gamma_grad(const special::Operand& a, const special::Operand& sample) {
  auto t = ops::one_type("random_gamma_grad", {a, sample});
  return call_one(random::GammaSlope{false}, {t.x[1], t.x[0]}).astype(t.dtype);
}
}  // namespace bora::lax
namespace bora::random {
Array gamma(const Array& k, const Array& a, const std::optional<Shape>& shape, Dtype dtype, const DrawOptions& draw) {
  return gamma_of("gamma", k, a, shape, dtype, draw, {.log_space = false});
}
Array loggamma(const Array& k, const Array& a, const std::optional<Shape>& shape, Dtype dtype,
               const DrawOptions& draw) {
  return gamma_of("loggamma", k, a, shape, dtype, draw, {.log_space = true});
}
Array bounded_loggamma(std::string_view what, const Array& k, const Array& a, const Shape& shape, Dtype dtype,
                       const DrawOptions& draw) {
  return gamma_of(what, k, a, shape, dtype, draw, {.log_space = true, .bounded = true});
}
Array dirichlet(const Array& k, const Array& alpha, const std::optional<Shape>& shape, Dtype dtype,
                const DrawOptions& draw) {
  check<ShapeError>(alpha.ndim() > 0, "dirichlet: alpha needs at least one dimension");
  auto s = alpha.shape();
  if (shape) {
    s = *shape;
    s.push_back(alpha.shape(-1));
  }
  if (draw.exact && dtype != f64 && is_float(dtype)) return dirichlet(k, alpha, shape, f64, draw).astype(dtype);
  auto x = bounded_loggamma("dirichlet", k, alpha, s, dtype, draw);
  auto e = exp(x - amax(x, -1, {.keepdims = true}));
  return e / sum(e, -1, {.keepdims = true});
}
}  // namespace bora::random
