// stats.h -- distributions with the names and parameters of jax.scipy.stats, one namespace each. x may be any number:
// outside of the support densities are 0 and their logarithms -inf; parameters that are no parameters give NaN where
// they do in JAX. NaN of any argument gives NaN. Slopes at an end of the support are those of its inside. f64 is
// computed in f64, all else in f32, and rounded once.
//   logpdf, pdf: density; logpmf, pmf: probability of a whole number; cdf: probability of at most x; sf: of more than
//   x; ppf, isf: their inverses, NaN outside of [0, 1], the ends of the support at 0 and 1
// loc shifts x, scale divides it.
#pragma once
#include "bora/ops/special.h"

namespace bora::stats {
using special::Operand;
}  // namespace bora::stats

// The normal distribution.
namespace bora::stats::norm {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
Array isf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::norm
// The normal distribution that is cut off at loc + a scale and loc + b scale.
namespace bora::stats::truncnorm {
Array logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::truncnorm
// The normal distribution of vectors x [.., n] with a mean [.., n] and covariances [.., n, n], or one variance.
namespace bora::stats::multivariate_normal {
Array logpdf(const Array& x, const Array& mean, const Array& cov);
Array pdf(const Array& x, const Array& mean, const Array& cov);
}  // namespace bora::stats::multivariate_normal
// exp(-|x|^beta), normalised.
namespace bora::stats::gennorm {
Array logpdf(const Operand& x, const Operand& beta);
Array pdf(const Operand& x, const Operand& beta);
Array cdf(const Operand& x, const Operand& beta);
}  // namespace bora::stats::gennorm
// The uniform distribution on [loc, loc + scale].
namespace bora::stats::uniform {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::uniform
// The exponential distribution: x >= loc.
namespace bora::stats::expon {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::expon
// The double exponential distribution.
namespace bora::stats::laplace {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::laplace
// The logistic distribution: its cdf is 1 / (1 + exp(-x)).
namespace bora::stats::logistic {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
Array isf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::logistic
// Cauchy's distribution: the density 1 / (pi (1 + x^2)).
namespace bora::stats::cauchy {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
Array isf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::cauchy
// Gumbel's distribution of smallest values.
namespace bora::stats::gumbel_l {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::gumbel_l
// Gumbel's distribution of largest values.
namespace bora::stats::gumbel_r {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::gumbel_r
// Student's distribution with df degrees of freedom.
namespace bora::stats::t {
Array logpdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::t
// The gamma distribution: the density x^(a - 1) exp(-x) / gamma(a), x >= 0.
namespace bora::stats::gamma {
Array logpdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& a, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::gamma
// The sum of df squares of normal numbers.
namespace bora::stats::chi2 {
Array logpdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& df, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::chi2
// The beta distribution on [0, 1]: a density proportional to x^(a - 1) (1 - x)^(b - 1).
namespace bora::stats::beta {
Array logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::beta
// Vectors x along the first axis, [n, ..] or without the last number [n - 1, ..], that are positive and have the sum 1;
// alpha [n].
namespace bora::stats::dirichlet {
Array logpdf(const Array& x, const Array& alpha);
Array pdf(const Array& x, const Array& alpha);
}  // namespace bora::stats::dirichlet
// The power b of loc + scale / (x - loc), x >= loc + scale.
namespace bora::stats::pareto {
Array logpdf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array logcdf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& b, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace bora::stats::pareto
// Angles x around 0 with concentration kappa.
namespace bora::stats::vonmises {
Array logpdf(const Operand& x, const Operand& kappa);
Array pdf(const Operand& x, const Operand& kappa);
}  // namespace bora::stats::vonmises
// Angles x in [0, 2 pi] with concentration c in (0, 1).
namespace bora::stats::wrapcauchy {
Array logpdf(const Operand& x, const Operand& c);
Array pdf(const Operand& x, const Operand& c);
}  // namespace bora::stats::wrapcauchy

// ---- whole numbers --------------------------------------------------------------------------------------------------
// 1 with probability p, else 0.
namespace bora::stats::bernoulli {
Array logpmf(const Operand& k, const Operand& p, const Operand& loc = 0);
Array pmf(const Operand& k, const Operand& p, const Operand& loc = 0);
Array cdf(const Operand& k, const Operand& p);
Array ppf(const Operand& q, const Operand& p);
}  // namespace bora::stats::bernoulli
// Successes in n trials.
namespace bora::stats::binom {
Array logpmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc = 0);
Array pmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc = 0);
}  // namespace bora::stats::binom
// Successes in n trials whose probability is beta distributed.
namespace bora::stats::betabinom {
Array logpmf(const Operand& k, const Operand& n, const Operand& a, const Operand& b, const Operand& loc = 0);
Array pmf(const Operand& k, const Operand& n, const Operand& a, const Operand& b, const Operand& loc = 0);
}  // namespace bora::stats::betabinom
// Failures before the n-th success.
namespace bora::stats::nbinom {
Array logpmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc = 0);
Array pmf(const Operand& k, const Operand& n, const Operand& p, const Operand& loc = 0);
}  // namespace bora::stats::nbinom
// Trials up to the first success.
namespace bora::stats::geom {
Array logpmf(const Operand& k, const Operand& p, const Operand& loc = 0);
Array pmf(const Operand& k, const Operand& p, const Operand& loc = 0);
}  // namespace bora::stats::geom
// Poisson's distribution: the number of independent events of which mu are expected.
namespace bora::stats::poisson {
Array logpmf(const Operand& k, const Operand& mu, const Operand& loc = 0);
Array pmf(const Operand& k, const Operand& mu, const Operand& loc = 0);
Array cdf(const Operand& k, const Operand& mu, const Operand& loc = 0);
}  // namespace bora::stats::poisson
// Counts x [.., n], integers, of n trials whose outcomes have the probabilities p [.., n].
namespace bora::stats::multinomial {
Array logpmf(const Array& x, const Array& n, const Array& p);
Array pmf(const Array& x, const Array& n, const Array& p);
}  // namespace bora::stats::multinomial

// ---- statistics of samples ------------------------------------------------------------------------------------------
namespace bora::stats {
struct SampleOptions {    // of mode and sem
  bool keepdims = false;  // reduced dimensions stay, with size 1
  std::int64_t ddof = 1;  // of sem: divided by n - ddof
};
struct Mode {         // of mode: the value, and how often it occurs
  Array mode, count;  // x's dtype and i32
};
/// The value that occurs most often along axis, the smallest of several. NaN counts as the largest value.
Mode mode(const Array& x, std::int64_t axis = 0, const SampleOptions& options = {});
/// The standard error of the mean over axes: std / sqrt(n).
Array sem(const Array& x, const Dimensions& axes = 0, const SampleOptions& options = {});
/// Equal elements get the mean, the smallest or the largest of their positions; dense: numbered without gaps; ordinal:
/// their positions.
enum class Ties : std::uint8_t { average, min, max, dense, ordinal };
/// The ranks 1, 2, .. of x's elements along axis (default: of ravel(x)), f32 or x's f64. NaN anywhere in a line makes
/// its ranks NaN.
Array rankdata(const Array& x, Ties ties = Ties::average, const std::optional<std::int64_t>& axis = none);
}  // namespace bora::stats
