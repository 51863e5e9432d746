// samplers_of_tails.h -- every sampler with its distribution in closed form, for the law of tails.
#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <vector>
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/special.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"

namespace bora::tails {
using Real = long double;
using Draw = std::function<Array(const Array& k, std::int64_t n, Dtype dtype, const random::DrawOptions& o)>;
using Function = std::function<Real(Real)>;
struct Sampler {
  std::string name;
  Draw draw;
  Function below, above;  // P(X <= x) and P(X > x), each with all its digits where it is small
  bool whole = false;     // whole numbers
  double f32 = 1e-5;      // the quantile down to which JAX's draws of f32 are of the distribution (docs/random.md)
  double f64 = 1e-6;      // and those of f64
};

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
inline Real normal_tail(Real x) { return std::erfc(x / std::numbers::sqrt2_v<Real>) / 2; }
/// A function of Arrays at one number.
template <class F> Real at(const F& f, Real x) {
  return f(full({}, static_cast<double>(x), f64)).template item<double>();
}
inline Real gamma_below(double a, Real x) {
  return x <= 0 ? 0 : at([&](const Array& v) { return special::gammainc(a, v); }, x);
}
inline Real gamma_above(double a, Real x) {
  return x <= 0 ? 1 : at([&](const Array& v) { return special::gammaincc(a, v); }, x);
}
inline Real beta_below(double a, double b, Real x) {
  return x <= 0 ? 0 : x >= 1 ? 1 : at([&](const Array& v) { return special::betainc(a, b, v); }, x);
}
/// From the half of a symmetric distribution: upper(x) = P(X > x) for x >= 0.
inline Sampler symmetric(std::string name, Draw draw, Function upper, double f32 = 1e-5) {
  auto above = [upper](Real x) { return x >= 0 ? upper(x) : 1 - upper(-x); };
  return {std::move(name), std::move(draw), [above](Real x) { return above(-x); }, above, false, f32};
}
/// On x > 0, from the upper tail and the lower one.
inline Sampler positive(std::string name, Draw draw, Function below, Function above, double f32 = 1e-5) {
  return {std::move(name),
          std::move(draw),
          [below](Real x) { return x <= 0 ? 0 : below(x); },
          [above](Real x) { return x <= 0 ? 1 : above(x); },
          false,
          f32};
}
inline Sampler truncated(std::string name, double lower, double upper, double f32, double f64) {
  auto mass = [](Real a, Real b) {  // on the side where tails are small
    if (a >= 0) return normal_tail(a) - normal_tail(b);
    if (b <= 0) return normal_tail(-b) - normal_tail(-a);
    return 1 - normal_tail(-a) - normal_tail(b);
  };
  Real lo = lower, hi = upper, all = mass(lo, hi);
  Sampler s;
  s.name = std::move(name);
  s.draw = [=](const Array& k, std::int64_t n, Dtype d, const random::DrawOptions& o) {
    return random::truncated_normal(k, lower, upper, {n}, d, o);
  };
  s.below = [=](Real x) { return x <= lo ? 0 : x >= hi ? 1 : mass(lo, x) / all; };
  s.above = [=](Real x) { return x <= lo ? 1 : x >= hi ? 0 : mass(x, hi) / all; };
  s.f32 = f32, s.f64 = f64;
  return s;
}
/// Counts 0, 1, .. with P(X <= k) and P(X > k).
inline Sampler count(std::string name, Draw draw, Function below, Function above, double f32 = 1e-5) {
  return {std::move(name),
          std::move(draw),
          [below](Real x) { return x < 0 ? 0 : below(std::floor(x)); },
          [above](Real x) { return x < 0 ? 1 : above(std::floor(x)); },
          true,
          f32};
}
inline Function of_gamma(double a, bool upper, double power = 1, double scale = 1) {
  return [=](Real x) {
    auto y = std::pow(x, static_cast<Real>(power)) * scale;
    return upper ? gamma_above(a, y) : gamma_below(a, y);
  };
}

#define BORA_DRAW(call)                                                        \
  [=](const Array& k, std::int64_t n, Dtype d, const random::DrawOptions& o) { \
    (void)n, (void)d;                                                          \
    return call;                                                               \
  }
inline std::vector<Sampler> continuous_samplers() {
  using namespace random;
  std::vector<Sampler> s;
  s.push_back({"uniform", BORA_DRAW(uniform(k, {n}, d, 0, 1, o)), [](Real x) { return std::clamp<Real>(x, 0, 1); },
               [](Real x) { return std::clamp<Real>(1 - x, 0, 1); }});
  s.push_back({"uniform of arrays", BORA_DRAW(uniform(k, {n}, d, full({}, -3, d), full({}, 5, d), o)),
               [](Real x) { return std::clamp<Real>((x + 3) / 8, 0, 1); },
               [](Real x) { return std::clamp<Real>((5 - x) / 8, 0, 1); }});
  s.push_back(symmetric("normal", BORA_DRAW(normal(k, {n}, d, o)), normal_tail));
  s.push_back(truncated("truncated_normal (-1, 2)", -1, 2, 1e-5, 1e-6));
  s.push_back(truncated("truncated_normal (3, inf)", 3, kInfinity, 1e-2, 1e-6));
  s.push_back(truncated("truncated_normal (8, 9)", 8, 9, 1, 1));
  s.push_back(truncated("truncated_normal (-40, -39)", -40, -39, 1, 1));
  s.push_back(truncated("truncated_normal (30, inf)", 30, kInfinity, 1, 1));
  s.push_back(truncated("truncated_normal (-inf, -6)", -kInfinity, -6, 1, 1e-2));
  s.push_back(truncated("truncated_normal (-inf, 0.5)", -kInfinity, 0.5, 1e-5, 1e-6));
  s.push_back(truncated("truncated_normal (-12, 9)", -12, 9, 1e-5, 1e-6));
  s.push_back(truncated("truncated_normal (0.5, 0.5009765625)", 0.5, 0.5009765625, 1, 1e-6));
  s.push_back(positive(
      "exponential", BORA_DRAW(exponential(k, {n}, d, o)), [](Real x) { return -std::expm1(-x); },
      [](Real x) { return std::exp(-x); }));
  s.push_back({"gumbel", BORA_DRAW(gumbel(k, {n}, d, o)), [](Real x) { return std::exp(-std::exp(-x)); },
               [](Real x) { return -std::expm1(-std::exp(-x)); }});
  s.push_back(symmetric("laplace", BORA_DRAW(laplace(k, {n}, d, o)), [](Real x) { return std::exp(-x) / 2; }));
  s.push_back(symmetric("logistic", BORA_DRAW(logistic(k, {n}, d, o)), [](Real x) { return 1 / (1 + std::exp(x)); }));
  s.push_back(symmetric("cauchy", BORA_DRAW(cauchy(k, {n}, d, o)),
                        [](Real x) { return std::atan2(Real(1), x) / std::numbers::pi_v<Real>; }));
  s.push_back(positive(
      "pareto", BORA_DRAW(pareto(k, 2.5, Shape{n}, d, o)),
      [](Real x) { return x <= 1 ? 0 : -std::expm1(-2.5L * std::log(x)); },
      [](Real x) { return x <= 1 ? 1 : std::pow(x, -2.5L); }));
  s.push_back(positive(
      "rayleigh", BORA_DRAW(rayleigh(k, 2, Shape{n}, d, o)), [](Real x) { return -std::expm1(-x * x / 8); },
      [](Real x) { return std::exp(-x * x / 8); }));
  s.push_back(positive(
      "lognormal", BORA_DRAW(lognormal(k, 1.5, Shape{n}, d, o)),
      [](Real x) { return normal_tail(-std::log(x) / 1.5L); }, [](Real x) { return normal_tail(std::log(x) / 1.5L); }));
  s.push_back(positive(
      "weibull_min", BORA_DRAW(weibull_min(k, 2, 0.75, {n}, d, o)),
      [](Real x) { return -std::expm1(-std::pow(x / 2, 0.75L)); },
      [](Real x) { return std::exp(-std::pow(x / 2, 0.75L)); }));
  s.push_back(
      positive("maxwell", BORA_DRAW(maxwell(k, {n}, d, o)), of_gamma(1.5, false, 2, 0.5), of_gamma(1.5, true, 2, 0.5)));
  auto half_maxwell = of_gamma(1.5, true, 2, 0.5);
  s.push_back(symmetric("double_sided_maxwell", BORA_DRAW(double_sided_maxwell(k, 0, 1, {n}, d, o)),
                        [half_maxwell](Real x) { return half_maxwell(x) / 2; }));
  s.push_back({"triangular", BORA_DRAW(triangular(k, -1, 0.5, 2, Shape{n}, d, o)),
               [](Real x) {
                 return x <= -1 ? 0 : x >= 2 ? 1 : x < 0.5L ? (x + 1) * (x + 1) / 4.5L : 1 - (2 - x) * (2 - x) / 4.5L;
               },
               [](Real x) {
                 return x <= -1 ? 1 : x >= 2 ? 0 : x < 0.5L ? 1 - (x + 1) * (x + 1) / 4.5L : (2 - x) * (2 - x) / 4.5L;
               }});
  for (double m : {0.5, 2e4}) {
    auto other = [m](Real x) {
      Real z = (x / m + 1) / std::sqrt(x);
      return std::exp(2 / static_cast<Real>(m)) * normal_tail(z);
    };
    auto z = [m](Real x) { return (x / m - 1) / std::sqrt(x); };
    s.push_back(positive(
        "wald " + std::to_string(m), BORA_DRAW(wald(k, m, Shape{n}, d, o)),
        [=](Real x) { return normal_tail(-z(x)) + other(x); }, [=](Real x) { return normal_tail(z(x)) - other(x); },
        m > 1 ? 1 : 1e-4));
  }
  return s;
}
inline std::vector<Sampler> gamma_samplers() {
  using namespace random;
  std::vector<Sampler> s;
  for (double a : {0.01, 0.5, 3.0, 200.0}) {
    s.push_back(positive("gamma " + std::to_string(a), BORA_DRAW(gamma(k, full({}, a, d), Shape{n}, d, o)),
                         of_gamma(a, false), of_gamma(a, true)));
    auto lower = of_gamma(a, false), upper = of_gamma(a, true);
    s.push_back(
        {"loggamma " + std::to_string(a), BORA_DRAW(loggamma(k, full({}, a, d), Shape{n}, d, o)),
         [=](Real x) { return a < 0.1 && x < -500 ? std::exp(a * x - std::lgamma(Real(a) + 1)) : lower(std::exp(x)); },
         [=](Real x) { return upper(std::exp(x)); }});
  }
  s.push_back(positive("chisquare", BORA_DRAW(chisquare(k, 1.5, Shape{n}, d, o)), of_gamma(0.75, false, 1, 0.5),
                       of_gamma(0.75, true, 1, 0.5)));
  struct Pair {
    double a, b;
  };
  for (auto [a, b] : {Pair{0.5, 2}, Pair{7, 0.3}, Pair{40, 60}}) {
    auto below = [a = a, b = b](Real x) { return beta_below(a, b, x); };
    auto above = [a = a, b = b](Real x) { return beta_below(b, a, 1 - x); };
    s.push_back(positive(
        "beta " + std::to_string(a),
        [a = a, b = b](const Array& k, std::int64_t n, Dtype d, const DrawOptions& o) {
          return beta(k, a, b, Shape{n}, d, o);
        },
        below, above));
  }
  s.push_back(positive(
      "dirichlet",
      BORA_DRAW(index_in_dim(dirichlet(k, asarray(std::vector<double>{0.5, 1.5, 0.5}).astype(d), Shape{n}, d, o), -1,
                             0)),
      [](Real x) { return beta_below(0.5, 2, x); }, [](Real x) { return beta_below(2, 0.5, 1 - x); }));
  // a / (a + x) of the t distribution is beta distributed, as is a x / (a x + b) of the F distribution.
  for (double df : {0.25, 3.0}) {
    s.push_back(symmetric("t " + std::to_string(df), BORA_DRAW(t(k, df, Shape{n}, d, o)), [df](Real x) {
      return x == 0 ? Real(0.5) : beta_below(df / 2, 0.5, df / (df + x * x)) / 2;
    }));
  }
  s.push_back(positive(
      "f", BORA_DRAW(f(k, 3, 5, Shape{n}, d, o)), [](Real x) { return beta_below(1.5, 2.5, 3 * x / (3 * x + 5)); },
      [](Real x) { return beta_below(2.5, 1.5, 5 / (3 * x + 5)); }));
  for (double p : {0.7, 1.5, 400.0}) {
    s.push_back(symmetric("generalized_normal " + std::to_string(p), BORA_DRAW(generalized_normal(k, p, {n}, d, o)),
                          [p](Real x) {
                            auto y = std::pow(x, Real(p));
                            if (y < 1e-290L) return (1 - x / std::tgamma(1 + 1 / Real(p))) / 2;
                            return gamma_above(1 / p, y) / 2;
                          }));
    if (p > 100) s.back().f32 = s.back().f64 = 1;  // JAX's gamma draws underflow, which makes 0 of them
  }
  s.push_back(positive(
      "ball", BORA_DRAW(sqrt(sum(square(ball(k, 3, 2, {n}, d, o).astype(f64)), -1))),
      [](Real x) { return x >= 1 ? 1 : x * x * x; }, [](Real x) { return x >= 1 ? 0 : 1 - x * x * x; }));
  return s;
}
inline std::vector<Sampler> count_samplers() {
  using namespace random;
  std::vector<Sampler> s;
  for (double p : {0.3, 1e-4, 1e-9}) {
    s.push_back(count(
        "geometric " + std::to_string(p), BORA_DRAW(geometric(k, full({}, p, d), Shape{n}, i64, o)),
        [p](Real x) { return -std::expm1(x * std::log1p(-Real(p))); },
        [p](Real x) { return std::exp(x * std::log1p(-Real(p))); }));
  }
  for (double m : {0.25, 7.0, 40.0, 2e5, 1e10}) {
    s.push_back(count(
        "poisson " + std::to_string(m), BORA_DRAW(poisson(k, m, Shape{n}, i64, o)),
        [m](Real x) { return special::gammaincc(full({}, static_cast<double>(x) + 1, f64), m).item<double>(); },
        [m](Real x) { return special::gammainc(full({}, static_cast<double>(x) + 1, f64), m).item<double>(); }));
    if (m > 1e9) s.back().f32 = s.back().f64 = 1;  // JAX's steps are of f32, whatever the dtype
  }
  struct Trials {
    double n, p;
  };
  for (auto [trials, p] : {Trials{6, 0.3}, Trials{50, 0.5}, Trials{1000, 0.9}, Trials{1e6, 1e-3}}) {
    auto below = [t = trials, p = p](Real x) {
      return x >= t ? 1 : beta_below(t - static_cast<double>(x), static_cast<double>(x) + 1, 1 - p);
    };
    auto above = [t = trials, p = p](Real x) {
      return x >= t ? 0 : beta_below(static_cast<double>(x) + 1, t - static_cast<double>(x), p);
    };
    s.push_back(count(
        "binomial " + std::to_string(trials),
        [t = trials, p = p](const Array& k, std::int64_t n, Dtype d, const DrawOptions& o) {
          return binomial(k, t, full({}, p, d), Shape{n}, d, o);
        },
        below, above));
  }
  return s;
}
#undef BORA_DRAW
}  // namespace bora::tails
