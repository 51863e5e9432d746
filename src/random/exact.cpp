// Fine uniform numbers, and the truncated normal distribution by its hazard.
#include "random/exact.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include "bora/array/primitive.h"
#include "bora/base/parallel.h"
#include "bora/ops/creation.h"

namespace bora::random {
namespace {
constexpr std::int64_t kMagnitude = std::numeric_limits<std::int64_t>::max();
/// Of 64 bits the first says which half, the others how far from its end.
Array half_of(const Array& bits) { return ((bits & Scalar(kMagnitude)).astype(f64) + 0.5) * 0x1p-64; }

// Numbers are long double, whose functions do not depend on the instruction set.
using Real = long double;
/// (1 - cdf) / density at x >= 0 of the standard normal distribution: Mills' ratio.
Real mills(Real x) {
  constexpr Real root = 1.2533141373155002512078826424055226L;  // of pi / 2
  if (x < 4) return std::exp(x * x / 2) * std::erfc(x / std::numbers::sqrt2_v<Real>) * root;
  if (x > 1e9L) return 1 / x;
  Real tail = x;  // Laplace's continued fraction, whose terms beyond these do not matter
  for (int i = x < 8 ? 60 : 24; i > 0; --i) tail = x + i / tail;
  return 1 / tail;
}
/// How far above `base` >= 0 the logarithm of the upper tail has fallen by `fall`, by Newton's method: its slope, the
/// hazard, rises, so that steps that begin above come down until they meet rounding.
Real rise(Real base, Real at_base, Real fall) {
  if (!(fall > 0)) return 0;
  Real t = std::min(fall * at_base, 2 * fall / (base + std::sqrt(base * base + 2 * fall)));
  for (int i = 0; i < 50; ++i) {
    Real here = mills(base + t), next = t - ((base + t / 2) * t - std::log(here / at_base) - fall) * here;
    if (!(next < t)) break;
    t = std::max(next, Real(0));
  }
  return t;
}
/// log of upper tail at base over that at base + t.
Real fall_between(Real base, Real at_base, Real t) {
  if (std::isinf(t)) return t;
  return (base + t / 2) * t - std::log(mills(base + t) / at_base);
}
/// The upper tail of the standard normal distribution, with all digits for x > 0.
Real upper_tail(Real x) { return std::erfc(x / std::numbers::sqrt2_v<Real>) / 2; }

/// u from below, rest = 1 - u: the number that has u of the mass of (lower, upper) below it.
double truncated(Real u, Real rest, Real lower, Real upper) {
  if (!(lower <= upper)) return std::numeric_limits<double>::quiet_NaN();
  if (lower == upper) return static_cast<double>(lower);
  bool turned = -lower > upper;  // so that the upper end is the farther one
  if (turned) {
    std::swap(lower, upper);
    std::swap(u, rest);
    lower = -lower, upper = -upper;
  }
  Real x;
  if (lower >= 0) {
    Real at = mills(lower), all = fall_between(lower, at, upper - lower), left = rest + u * std::exp(-all);
    x = lower + rise(lower, at, left < 0.5L ? -std::log(left) : -std::log1p(u * std::expm1(-all)));
  } else {
    Real above = rest * upper_tail(lower) + u * upper_tail(upper);
    Real below = rest * upper_tail(-lower) + u * upper_tail(-upper);
    bool low = below < above;
    Real y = rise(0, mills(0), -std::log(2 * (low ? below : above)));
    x = low ? -y : y;
  }
  x = std::clamp(x, lower, upper);
  return static_cast<double>(turned ? -x : x);
}
/// 64 bits, lower and upper bounds, all alike -> one draw each.
struct TruncatedNormal {
  static constexpr std::string_view name = "truncated_normal";
  static constexpr bool random = true;
  Type infer(const Types& in) const {
    check<DtypeError>(in.at(0).dtype == i64 && in.at(1).dtype == f64 && in.at(2).dtype == f64,
                      "truncated_normal: needs 64 bits and bounds of f64, got ", in[0], ", ", in[1], " and ", in[2]);
    check<ShapeError>(in[0].shape == in[1].shape && in[0].shape == in[2].shape,
                      "truncated_normal: needs operands of one shape, got ", in[0], ", ", in[1], " and ", in[2]);
    return in[1];
  }
  void eval(InputViews in, OutputViews out) const {
    auto* bits = in[0].as<std::int64_t>();
    auto *lower = in[1].as<double>(), *upper = in[2].as<double>();
    parallel_for(out[0].type.size(), grain_for(2000), [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        Real small = (static_cast<Real>(bits[i] & kMagnitude) + 0.5L) * 0x1p-64L;
        bool low = bits[i] < 0;
        out[0].as<double>()[i] = truncated(low ? small : 1 - small, low ? 1 - small : small, lower[i], upper[i]);
      }
    });
  }
  /// By a bound: its density, times the share of the draw's place that it moves, over that of the draw.
  Arrays vjp(const Vjp& v) const {
    const auto &bits = v.in[0], &x = v.out[0];
    auto small = half_of(bits);
    auto low = bits < 0;
    auto by = [&](const Array& bound, const Array& share) {
      auto finite = isfinite(bound);
      auto b = where(finite, bound, 0);
      return v.ct[0] * where(finite, share * exp(0.5 * ((x - b) * (x + b))), 0);
    };
    return {{},
            v.needs[1] ? by(v.in[1], where(low, 1 - small, small)) : Array{},
            v.needs[2] ? by(v.in[2], where(low, small, 1 - small)) : Array{}};
  }
  DimFactors factors(const Types& in) const { return elementwise_factors(in); }
  TruncatedNormal lift(std::int64_t) const { return *this; }
  static SamplesOf<TruncatedNormal> samples() {
    auto bits = draw_bits(key(3), {3}, i64, {});
    auto lower = asarray(std::vector<double>{-1, 8, -3}), upper = asarray(std::vector<double>{2, 9, -2.5});
    return {{{}, {bits, lower, upper}}};
  }
};
}  // namespace

Fine::Fine(const Array& k, const Shape& shape, const DrawOptions& draw) {
  auto bits = draw_bits(k, shape, i64, draw);
  low = bits < 0;
  small = half_of(bits);
}
Array exact_truncated_normal(const Array& bits, const Array& lower, const Array& upper) {
  return call_one(TruncatedNormal{}, {bits, lower, upper});
}
}  // namespace bora::random
