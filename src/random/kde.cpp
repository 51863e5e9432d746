// gaussian_kde: densities are sums over all pairs of points, whitened by the factor of the inverse covariance.
#include "bora/ops/contractions.h"
#include "bora/random/kde.h"
#include <cmath>
#include <numbers>
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "ops/api/weighed.h"

namespace bora::stats {
namespace {
Array real_of(std::string_view what, const Array& x) {
  check<DtypeError>(!is_complex(x.dtype()), what, ": takes real numbers, got ", x.type());
  return in_real_accumulator(x);
}
/// [d, m] of what evaluate takes.
Array as_points(std::string_view what, const GaussianKde& kde, const Array& points) {
  auto x = real_of(what, points);
  check<ShapeError>(x.ndim() <= 2, what, ": points must be [d, m] or [m], got ", points.type());
  if (x.ndim() < 2) x = reshape(x, x.ndim() == 1 && kde.d() > 1 && x.shape(0) == kde.d() ? Shape{kde.d(), 1}
                                                                                       : Shape{1, x.size()});
  check<ShapeError>(x.shape(0) == kde.d(), what, ": points ", points.type(), " have ", x.shape(0),
                    " dimensions, and the dataset ", kde.dataset.type(), " has ", kde.d());
  return x.astype(promote(x.dtype(), kde.dataset.dtype()));
}
/// The squared distances of points [d, m] from points [d, n]: [m, n].
Array squared_distances(const Array& points, const Array& from) {
  Array distance;
  for (std::int64_t i = 0; i < points.shape(0); ++i) {  // d is small, and [d, m, n] need not be held
    auto part = square(expand_dims(index_in_dim(points, 0, i), 1) - index_in_dim(from, 0, i));
    distance = distance.defined() ? distance + part : part;
  }
  return distance;
}
/// The logarithm of the kernel about every point of the dataset at every point, [m, n].
Array log_kernels(std::string_view what, const GaussianKde& kde, const Array& points) {
  auto x = as_points(what, kde, points);
  auto whitening = linalg::cholesky(kde.inv_cov.astype(x.dtype()));
  auto turned = matrix_transpose(whitening);
  auto at = matmul(turned, x), from = matmul(turned, kde.dataset.astype(x.dtype()));
  auto norm = sum(log(diagonal(whitening))) - 0.5 * static_cast<double>(kde.d()) * std::log(2 * std::numbers::pi);
  return norm - 0.5 * squared_distances(at, from);
}
/// The integral of the products of the kernels about dataset [d, n] and [d, m], whose covariances add to cov: [m, n].
Array convolved(const Array& cov, const Array& dataset, const Array& means) {
  auto l = linalg::cholesky(cov);
  auto at = linalg::solve_triangular(l, means, {.lower = true});
  auto from = linalg::solve_triangular(l, dataset, {.lower = true});
  auto norm = std::pow(2 * std::numbers::pi, -0.5 * static_cast<double>(cov.shape(0))) / prod(diagonal(l));
  return norm * exp(-0.5 * squared_distances(at, from));
}
}  // namespace

GaussianKde gaussian_kde(const Array& dataset, const GaussianKdeOptions& options) {
  check<ShapeError>(dataset.ndim() <= 2 && dataset.size() > 1,
                    "gaussian_kde: the dataset must be [d, n] or [n] with more than one number, got ", dataset.type());
  check<ValueError>(!options.factor.defined() || !options.rule,
                    "gaussian_kde: a factor and a rule are given; the bandwidth takes one of them");
  auto x = real_of("gaussian_kde", dataset);
  if (x.ndim() == 1) x = expand_dims(x, 0);
  auto d = x.shape(0), n = x.shape(1);
  Array w;
  if (options.weights.defined()) {
    check<ShapeError>(options.weights.shape() == Shape{n}, "gaussian_kde: weights ", options.weights.type(),
                      " do not fit the dataset ", dataset.type(), ": give one for each of ", n, " points");
    w = real_of("gaussian_kde", options.weights);
    auto both = promote(w.dtype(), x.dtype());
    w = w.astype(both), x = ops::weighed(x.astype(both), w);
    w = w / sum(w);
  } else w = full({n}, 1.0 / static_cast<double>(n), x.dtype());
  auto squares = sum(square(w));
  GaussianKde kde{1 / squares, x, w, {}, {}};
  auto dimensions = static_cast<double>(d);
  Array factor;
  if (options.factor.defined()) factor = options.factor.astype(x.dtype());
  else if (options.rule) factor = options.rule(kde).astype(x.dtype());
  else if (options.bw_method == Bandwidth::scott) factor = power(kde.neff, -1 / (dimensions + 4));
  else factor = power(kde.neff * (dimensions + 2) / 4, -1 / (dimensions + 4));
  check<ShapeError>(factor.ndim() == 0, "gaussian_kde: the factor of the bandwidth must be one number, got ",
                    factor.type());
  auto centered = x - sum(x * w, 1, {.keepdims = true});
  auto covariance = matmul(centered * w, matrix_transpose(centered)) / (1 - squares);
  kde.covariance = covariance * square(factor);
  kde.inv_cov = linalg::inv(covariance) / square(factor);
  return kde;
}
Array GaussianKde::evaluate(const Array& points) const {
  return sum(exp(log_kernels("gaussian_kde.evaluate", *this, points)) * weights, 1);
}
Array GaussianKde::logpdf(const Array& points) const {
  return special::logsumexp(log_kernels("gaussian_kde.logpdf", *this, points), 1, {.b = weights});
}
Array GaussianKde::integrate_gaussian(const Array& mean, const Array& cov) const {
  check<ShapeError>(mean.size() == d() && cov.size() == d() * d(), "gaussian_kde.integrate_gaussian: mean ",
                    mean.type(), " and covariance ", cov.type(), " must be [", d(), "] and [", d(), ", ", d(), "]");
  auto c = reshape(real_of("gaussian_kde.integrate_gaussian", cov), {d(), d()});
  auto m = reshape(real_of("gaussian_kde.integrate_gaussian", mean), {d(), 1});
  return sum(convolved(covariance + c, dataset, m) * weights);
}
Array GaussianKde::integrate_box_1d(const special::Operand& low, const special::Operand& high) const {
  check<ShapeError>(d() == 1, "gaussian_kde.integrate_box_1d: needs data of one dimension, not ", d());
  auto x = index_in_dim(dataset, 0, 0), sigma = sqrt(reshape(covariance, {}));
  auto at = [&](const special::Operand& o) {
    auto limit = o.is_array() ? real_of("gaussian_kde.integrate_box_1d", o.array())
                              : full({}, o.number(), x.dtype());
    check<ShapeError>(limit.ndim() == 0, "gaussian_kde.integrate_box_1d: the limits are scalars, got ", limit.type());
    return special::ndtr((limit - x) / sigma);
  };
  return sum(weights * (at(high) - at(low)));
}
Array GaussianKde::integrate_kde(const GaussianKde& other) const {
  check<ShapeError>(other.d() == d(), "gaussian_kde.integrate_kde: the datasets ", dataset.type(), " and ",
                    other.dataset.type(), " have different dimensions");
  auto products = convolved(covariance + other.covariance, dataset, other.dataset);
  return sum(products * weights * expand_dims(other.weights, 1));
}
Array GaussianKde::resample(const Array& key, const Shape& shape) const {
  auto [of_points, of_noise] = random::split<2>(key);
  auto chosen = random::choice(of_points, n(), shape, {.p = weights});
  auto mean = zeros({d()}, covariance.dtype());
  auto noise = random::multivariate_normal(of_noise, mean, covariance, shape, dataset.dtype());
  return take(dataset, chosen, 1) + moveaxis(noise, -1, 0);
}
}  // namespace bora::stats
