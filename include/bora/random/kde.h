// kde.h -- estimates of densities from samples with normal kernels, with the names of jax.scipy.stats.
#pragma once
#include <functional>
#include "bora/ops/stats.h"
#include "bora/random/random.h"

namespace bora::stats {
/// A mixture of normal distributions, one about each of n points in d dimensions, all with one covariance. A tree:
/// derivatives by every part.
struct GaussianKde {
  Array neff;                  // the effective number of points: 1 / sum(weights^2)
  Array dataset;               // [d, n]
  Array weights;               // [n], with the sum 1
  Array covariance, inv_cov;   // the covariance of the kernels and its inverse, [d, d]
  std::int64_t d() const { return dataset.shape(0); }
  std::int64_t n() const { return dataset.shape(1); }
  /// The density [m] at points [d, m]; points [m] are m points of one dimension, or (m = d > 1) one point. Throws
  /// ShapeError for other shapes. evaluate and pdf are the same.
  Array operator()(const Array& points) const { return evaluate(points); }
  Array evaluate(const Array& points) const;
  Array pdf(const Array& points) const { return evaluate(points); }
  /// log(pdf(points)), without underflow far from all points.
  Array logpdf(const Array& points) const;
  /// The integral of the density times that of the normal distribution of mean [d] and covariance [d, d]; one number
  /// each for d = 1. A scalar.
  Array integrate_gaussian(const Array& mean, const Array& cov) const;
  /// The probability of [low, high], scalars. Throws ShapeError unless d = 1.
  Array integrate_box_1d(const special::Operand& low, const special::Operand& high) const;
  /// The integral of the product of both densities, a scalar.
  Array integrate_kde(const GaussianKde& other) const;
  /// Draws [d, shape..], the numbers of JAX for this key.
  Array resample(const Array& key, const Shape& shape = {}) const;
};
/// Rules for the width of the kernels: Scott's neff^(-1 / (d + 4)) and Silverman's (neff (d + 2) / 4)^(-1 / (d + 4)).
enum class Bandwidth : std::uint8_t { scott, silverman };
struct GaussianKdeOptions {                                 // of gaussian_kde
  Bandwidth bw_method = Bandwidth::scott;                   // the rule for the kernels' width
  Array factor = {};                                        // a number: instead of the rule's
  std::function<Array(const GaussianKde&)> rule = nullptr;  // or a function of neff, dataset and weights
  Array weights = {};                                       // [n]; default: equal ones
};
/// From points dataset [d, n] or [n], f32 or f64 (whole numbers: f32): kernels of the points' covariance times the
/// square of the bandwidth's factor. Throws ShapeError for fewer than two numbers or weights of another length,
/// ValueError for a factor and a rule at once. Source: Scott 1992; Silverman 1986.
GaussianKde gaussian_kde(const Array& dataset, const GaussianKdeOptions& options = {});
}  // namespace bora::stats
