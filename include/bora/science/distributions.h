// distributions.h -- distributions with their supports, and the transforms that map all real numbers onto a support, so
// that a density of bounded parameters can be sampled, or minimised, as one of parameters without bounds. Densities are
// those of ops/stats.h, draws those of random/random.h.
//   auto prior = Gamma{.concentration = array(2.), .rate = array(1.)};
//   auto [x, log_det] = prior.transform().with_log_det(u);     // x > 0 for any u
//   auto log_density = prior.log_prob(x) + log_det;            // of u
#pragma once
#include <cmath>
#include <numbers>
#include <utility>
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/stats.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"

namespace bora::distributions {
/// Where a density is not 0: all numbers, those above low, those between low and high, vectors along the last dimension
/// that are positive with the sum 1 or that ascend, whole numbers from 0 on.
enum class Support : std::uint8_t { real, above, interval, simplex, ordered, whole };

/// A function of all real numbers u onto a support, one to one. simplex: [.., n - 1] onto [.., n] (Stan's sticks, whose
/// middle is u = 0).
struct Transform {
  Support support = Support::real;
  Array low = {}, high = {};  // of above and interval
  Array forward(const Array& u) const { return with_log_det(u).first; }
  /// {x, the logarithm of |dx / du|}: of each element, or of each vector [..].
  std::pair<Array, Array> with_log_det(const Array& u) const;
  /// The u of an x inside of the support.
  Array inverse(const Array& x) const;
};
inline std::pair<Array, Array> Transform::with_log_det(const Array& u) const {
  switch (support) {
    case Support::above: return {low + exp(u), u};
    case Support::interval: {
      auto width = high - low;
      return {low + width * sigmoid(u), log(width) + nn::log_sigmoid(u) + nn::log_sigmoid(-u)};
    }
    case Support::ordered: {
      auto n = u.shape(-1);
      auto first = slice_in_dim(u, -1, 0, 1), others = slice_in_dim(u, -1, 1, n);
      return {cumsum(concatenate({first, exp(others)}, -1), -1), sum(others, -1)};
    }
    case Support::simplex: {
      auto n = u.shape(-1);
      auto shifted = u - log(arange(n, 0, -1).astype(u.dtype()));
      // rest: the logarithms of what is left of the stick before each break, and at the end.
      auto rest = concatenate({zeros_like(slice_in_dim(u, -1, 0, 1)), cumsum(nn::log_sigmoid(-shifted), -1)}, -1);
      auto before = slice_in_dim(rest, -1, 0, n), last = slice_in_dim(rest, -1, n, n + 1);
      auto parts = before + nn::log_sigmoid(shifted);
      return {exp(concatenate({parts, last}, -1)), sum(parts + nn::log_sigmoid(-shifted), -1)};
    }
    case Support::whole: fail<ValueError>("transform: whole numbers are no image of the real ones"); break;
    default: break;
  }
  return {u, zeros_like(u)};
}
inline Array Transform::inverse(const Array& x) const {
  switch (support) {
    case Support::above: return log(x - low);
    case Support::interval: return log(x - low) - log(high - x);
    case Support::ordered: {
      auto n = x.shape(-1);
      auto gaps = slice_in_dim(x, -1, 1, n) - slice_in_dim(x, -1, 0, n - 1);
      return concatenate({slice_in_dim(x, -1, 0, 1), log(gaps)}, -1);
    }
    case Support::simplex: {
      auto n = x.shape(-1) - 1;
      auto head = slice_in_dim(x, -1, 0, n);
      auto rest = flip(cumsum(flip(x, -1), -1), -1);  // what is left before each break
      return log(head) - log(slice_in_dim(rest, -1, 1, n + 1)) + log(arange(n, 0, -1).astype(x.dtype()));
    }
    case Support::whole: fail<ValueError>("transform: whole numbers are no image of the real ones"); break;
    default: break;
  }
  return x;
}

// Each distribution is a tree of its parameters, which broadcast. log_prob: the logarithm of the density (of the
// probability of whole numbers) at x, -inf outside of the support; sample: draws of shape [shape.., parameters..] in
// the parameters' dtype, which depend on (key, position) alone; transform: onto the support.
namespace detail {
inline Array number(double x) { return constant(x, f32); }
/// The shape of draws, and their dtype.
template <class... P> Shape draw_shape(const Shape& outer, const P&... parameters) {
  Shape inner, r = outer;
  ((inner = broadcast_shapes("sample", inner, parameters.shape())), ...);
  r.append(inner);
  return r;
}
template <class... P> Dtype draw_dtype(const P&... parameters) {
  Dtype d = f32;
  ((d = promote(d, parameters.dtype())), ...);
  return d;
}
}  // namespace detail
/// The normal distribution.
struct Normal {
  Array loc = detail::number(0);    // the mean
  Array scale = detail::number(1);  // the standard deviation
  Array log_prob(const Array& x) const { return stats::norm::logpdf(x, loc, scale); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, loc, scale);
    auto d = detail::draw_dtype(loc, scale);
    return loc + scale * random::normal(key, s, d);
  }
  Transform transform() const { return {}; }
};
/// The exponential of a normal number.
struct LogNormal {
  Array loc = detail::number(0);    // the mean of the logarithm
  Array scale = detail::number(1);  // its standard deviation
  Array log_prob(const Array& x) const { return stats::norm::logpdf(log(x), loc, scale) - log(x); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, loc, scale);
    auto d = detail::draw_dtype(loc, scale);
    return exp(loc + scale * random::normal(key, s, d));
  }
  Transform transform() const { return {Support::above, detail::number(0)}; }
};
/// The size of a normal number with mean 0.
struct HalfNormal {
  Array scale = detail::number(1);  // the standard deviation of that number
  Array log_prob(const Array& x) const {
    return where(x >= 0, stats::norm::logpdf(x, 0, scale) + std::log(2.), -HUGE_VAL);
  }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, scale);
    auto d = detail::draw_dtype(scale);
    return abs(scale * random::normal(key, s, d));
  }
  Transform transform() const { return {Support::above, detail::number(0)}; }
};
/// Student's distribution.
struct StudentT {
  Array df = detail::number(1);     // degrees of freedom
  Array loc = detail::number(0);    // its middle
  Array scale = detail::number(1);  // its width
  Array log_prob(const Array& x) const { return stats::t::logpdf(x, df, loc, scale); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, df, loc, scale);
    auto d = detail::draw_dtype(df, loc, scale);
    return loc + scale * random::t(key, df, s, d);
  }
  Transform transform() const { return {}; }
};
/// Cauchy's distribution.
struct Cauchy {
  Array loc = detail::number(0);    // its middle
  Array scale = detail::number(1);  // its width
  Array log_prob(const Array& x) const { return stats::cauchy::logpdf(x, loc, scale); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, loc, scale);
    auto d = detail::draw_dtype(loc, scale);
    return loc + scale * random::cauchy(key, s, d);
  }
  Transform transform() const { return {}; }
};
/// The size of a Cauchy number about 0.
struct HalfCauchy {
  Array scale = detail::number(1);  // its width
  Array log_prob(const Array& x) const {
    return where(x >= 0, stats::cauchy::logpdf(x, 0, scale) + std::log(2.), -HUGE_VAL);
  }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, scale);
    auto d = detail::draw_dtype(scale);
    return abs(scale * random::cauchy(key, s, d));
  }
  Transform transform() const { return {Support::above, detail::number(0)}; }
};
/// The double exponential distribution.
struct Laplace {
  Array loc = detail::number(0);    // its middle
  Array scale = detail::number(1);  // its width
  Array log_prob(const Array& x) const { return stats::laplace::logpdf(x, loc, scale); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, loc, scale);
    auto d = detail::draw_dtype(loc, scale);
    return loc + scale * random::laplace(key, s, d);
  }
  Transform transform() const { return {}; }
};
/// The logistic distribution.
struct Logistic {
  Array loc = detail::number(0);    // its middle
  Array scale = detail::number(1);  // its width
  Array log_prob(const Array& x) const { return stats::logistic::logpdf(x, loc, scale); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, loc, scale);
    auto d = detail::draw_dtype(loc, scale);
    return loc + scale * random::logistic(key, s, d);
  }
  Transform transform() const { return {}; }
};
/// The exponential distribution.
struct Exponential {
  Array rate = detail::number(1);  // 1 / mean
  Array log_prob(const Array& x) const { return stats::expon::logpdf(x, 0, 1 / rate); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, rate);
    auto d = detail::draw_dtype(rate);
    return random::exponential(key, s, d) / rate;
  }
  Transform transform() const { return {Support::above, detail::number(0)}; }
};
/// The gamma distribution.
struct Gamma {
  Array concentration = detail::number(1);  // the exponent of x, and 1
  Array rate = detail::number(1);           // of its exponential fall
  Array log_prob(const Array& x) const { return stats::gamma::logpdf(x, concentration, 0, 1 / rate); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, concentration, rate);
    auto d = detail::draw_dtype(concentration, rate);
    return random::gamma(key, concentration, s, d) / rate;
  }
  Transform transform() const { return {Support::above, detail::number(0)}; }
};
/// One over a gamma number.
struct InverseGamma {
  Array concentration = detail::number(1);  // that number's
  Array scale = detail::number(1);          // its rate
  Array log_prob(const Array& x) const { return stats::gamma::logpdf(1 / x, concentration, 0, 1 / scale) - 2 * log(x); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, concentration, scale);
    auto d = detail::draw_dtype(concentration, scale);
    return scale / random::gamma(key, concentration, s, d);
  }
  Transform transform() const { return {Support::above, detail::number(0)}; }
};
/// The beta distribution on [0, 1].
struct Beta {
  Array a = detail::number(1);  // the exponent of x, and 1
  Array b = detail::number(1);  // the exponent of 1 - x, and 1
  Array log_prob(const Array& x) const { return stats::beta::logpdf(x, a, b); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, a, b);
    auto d = detail::draw_dtype(a, b);
    return random::beta(key, a, b, s, d);
  }
  Transform transform() const { return {Support::interval, detail::number(0), detail::number(1)}; }
};
/// The uniform distribution on [low, high].
struct Uniform {
  Array low = detail::number(0);   // the smallest number
  Array high = detail::number(1);  // the largest one
  Array log_prob(const Array& x) const { return stats::uniform::logpdf(x, low, high - low); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, low, high);
    auto d = detail::draw_dtype(low, high);
    return low + (high - low) * random::uniform(key, s, d);
  }
  Transform transform() const { return {Support::interval, low, high}; }
};
/// 1 with probability p, else 0; i32.
struct Bernoulli {
  Array p = detail::number(0.5);  // the probability of 1
  Array log_prob(const Array& x) const { return stats::bernoulli::logpmf(x, p); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, p);
    auto d = detail::draw_dtype(p);
    return (random::uniform(key, s, d) < p).astype(i32);
  }
  Transform transform() const { return {Support::whole}; }
};
/// Counts of independent events, i32.
struct Poisson {
  Array rate = detail::number(1);  // the expected number
  Array log_prob(const Array& x) const { return stats::poisson::logpmf(x, rate); }
  Array sample(const Array& key, const Shape& shape = {}) const {
    auto s = detail::draw_shape(shape, rate);
    return random::poisson(key, rate, s);
  }
  Transform transform() const { return {Support::whole}; }
};
/// Positive vectors [.., n] with the sum 1.
struct Dirichlet {
  Array concentration = ones({2}, f32);  // [n]
  Array log_prob(const Array& x) const {
    return stats::dirichlet::logpdf(moveaxis(x, -1, 0), concentration);
  }
  Array sample(const Array& key, const Shape& shape = {}) const {
    return random::dirichlet(key, concentration, shape, detail::draw_dtype(concentration));
  }
  Transform transform() const { return {Support::simplex}; }
};
/// Normal vectors [.., n] with a mean [n] and the covariance scale_tril scale_tril^T, scale_tril [n, n].
struct MultivariateNormal {
  Array loc = zeros({1}, f32), scale_tril = ones({1, 1}, f32);  // the mean; a lower triangle
  Array log_prob(const Array& x) const {
    auto n = loc.shape(0);
    auto apart = reshape(x - loc, {-1, n});
    auto z = transpose(linalg::solve_triangular(scale_tril, transpose(apart), {.lower = true}));
    auto half = 0.5 * static_cast<double>(n) * std::log(2 * std::numbers::pi) + sum(log(diagonal(scale_tril)));
    Shape outer = x.shape();
    outer.pop_back();
    return reshape(-0.5 * sum(square(z), -1) - half, outer);
  }
  Array sample(const Array& key, const Shape& shape = {}) const {
    Shape s = shape;
    s.push_back(loc.shape(0));
    return loc + matmul(random::normal(key, s, detail::draw_dtype(loc, scale_tril)), transpose(scale_tril));
  }
  Transform transform() const { return {}; }
};
}  // namespace bora::distributions
