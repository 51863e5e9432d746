// xtensor_random.h -- draws as xtensor's containers: random::normal<xt::xtensor<float, 2>>(key, {3, 4}).
// The numbers are those of the function of the same name with the value type's dtype. Throws ShapeError for a result
// whose rank is not that of an xt::xtensor, DtypeError for a value type that the draw does not give.
#pragma once
#include "bora/random/random.h"
#include "bora/xtensor_transforms.h"

namespace bora::random {
namespace detail {
template <class X> concept Container = bora::detail::XtContainer<X>;
template <class X> consteval Dtype dtype_of_container() {
  constexpr auto d = dtype_or_none<typename X::value_type>();
  static_assert(d.has_value(), "a draw into a container whose value type no dtype stores; use float, double, int, ..");
  return d.value_or(Dtype::f32);
}
template <class X> inline constexpr Dtype of = dtype_of_container<X>();
template <class X> X drawn(const Array& a) {
  return fx::to_xt<X>(a, "draw into an xt::xarray of that value type, or an xt::xtensor of that rank");
}
}  // namespace detail

// ---- of a shape -----------------------------------------------------------------------------------------------------
// The sampler of the same name of random/random.h, as a container X.
template <detail::Container X> X bits(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::bits(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X uniform(const Array& k, const Shape& shape = {}, Scalar minval = 0.0,
                                         Scalar maxval = 1.0, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::uniform(k, shape, detail::of<X>, minval, maxval, draw));
}
template <detail::Container X> X normal(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::normal(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X gumbel(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::gumbel(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X exponential(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::exponential(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X laplace(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::laplace(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X logistic(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::logistic(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X rademacher(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::rademacher(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X cauchy(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::cauchy(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X maxwell(const Array& k, const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::maxwell(k, shape, detail::of<X>, draw));
}
template <detail::Container X> X randint(const Array& k, const Shape& shape, const Parameter& minval,
                                         const Parameter& maxval, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::randint(k, shape, minval, maxval, detail::of<X>, draw));
}

// ---- of parameters; the shape is theirs unless it is given ----------------------------------------------------------
// The sampler of the same name of random/random.h, as a container X.
template <detail::Container X> X bernoulli(const Array& k, const Parameter& p = 0.5,
                                           const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::bernoulli(k, Mode::low, p, shape, draw));
}
template <detail::Container X> X gamma(const Array& k, const Array& a,
                                       const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::gamma(k, a, shape, detail::of<X>, draw));
}
template <detail::Container X> X loggamma(const Array& k, const Array& a,
                                          const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::loggamma(k, a, shape, detail::of<X>, draw));
}
template <detail::Container X> X dirichlet(const Array& k, const Array& a,
                                           const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::dirichlet(k, a, shape, detail::of<X>, draw));
}
template <detail::Container X> X lognormal(const Array& k, const Parameter& sigma = 1,
                                           const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::lognormal(k, sigma, shape, detail::of<X>, draw));
}
template <detail::Container X> X pareto(const Array& k, const Parameter& b,
                                        const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::pareto(k, b, shape, detail::of<X>, draw));
}
template <detail::Container X> X rayleigh(const Array& k, const Parameter& scale,
                                          const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::rayleigh(k, scale, shape, detail::of<X>, draw));
}
template <detail::Container X> X wald(const Array& k, const Parameter& mean,
                                      const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::wald(k, mean, shape, detail::of<X>, draw));
}
template <detail::Container X> X geometric(const Array& k, const Parameter& p,
                                           const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::geometric(k, p, shape, detail::of<X>, draw));
}
template <detail::Container X> X chisquare(const Array& k, const Parameter& df,
                                           const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::chisquare(k, df, shape, detail::of<X>, draw));
}
template <detail::Container X> X t(const Array& k, const Parameter& df,
                                   const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::t(k, df, shape, detail::of<X>, draw));
}
template <detail::Container X> X poisson(const Array& k, const Parameter& lam,
                                         const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::poisson(k, lam, shape, detail::of<X>, draw));
}
template <detail::Container X> X generalized_normal(const Array& k, const Parameter& p,
                                                    const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::generalized_normal(k, p, shape, detail::of<X>, draw));
}
template <detail::Container X>
X truncated_normal(const Array& k, const Parameter& lower, const Parameter& upper,
                   const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::truncated_normal(k, lower, upper, shape, detail::of<X>, draw));
}
template <detail::Container X> X beta(const Array& k, const Parameter& a, const Parameter& b,
                                      const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::beta(k, a, b, shape, detail::of<X>, draw));
}
template <detail::Container X> X f(const Array& k, const Parameter& dfnum, const Parameter& dfden,
                                   const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::f(k, dfnum, dfden, shape, detail::of<X>, draw));
}
template <detail::Container X> X binomial(const Array& k, const Parameter& n, const Parameter& p,
                                          const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::binomial(k, n, p, shape, detail::of<X>, draw));
}
template <detail::Container X>
X double_sided_maxwell(const Array& k, const Parameter& loc, const Parameter& scale, const Shape& shape = {},
                       const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::double_sided_maxwell(k, loc, scale, shape, detail::of<X>, draw));
}
template <detail::Container X>
X weibull_min(const Array& k, const Parameter& scale, const Parameter& concentration, const Shape& shape = {},
              const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::weibull_min(k, scale, concentration, shape, detail::of<X>, draw));
}
template <detail::Container X>
X triangular(const Array& k, const Parameter& left, const Parameter& mode, const Parameter& right,
             const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::triangular(k, left, mode, right, shape, detail::of<X>, draw));
}
template <detail::Container X> X multinomial(const Array& k, const Parameter& n, const Array& p,
                                             const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::multinomial(k, n, p, shape, detail::of<X>, draw));
}

// ---- vectors, matrices, orders --------------------------------------------------------------------------------------
// The sampler of the same name of random/random.h, as a container X.
template <detail::Container X> X ball(const Array& k, std::int64_t d, const Parameter& p = 2,
                                      const Shape& shape = {}, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::ball(k, d, p, shape, detail::of<X>, draw));
}
template <detail::Container X>
X multivariate_normal(const Array& k, const Array& mean, const Array& cov, const std::optional<Shape>& shape = none,
                      const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::multivariate_normal(k, mean, cov, shape, detail::of<X>, draw));
}
template <detail::Container X> X orthogonal(const Array& k, std::int64_t n, const Shape& shape = {}) {
  return detail::drawn<X>(random::orthogonal(k, n, shape, detail::of<X>));
}
template <detail::Container X> X categorical(const Array& k, const Array& logits, std::int64_t axis = -1,
                                             const std::optional<Shape>& shape = none, const DrawOptions& draw = {}) {
  return detail::drawn<X>(random::categorical(k, logits, axis, shape, draw));
}
template <detail::Container X> X permutation(const Array& k, std::int64_t n) {
  return detail::drawn<X>(random::permutation(k, n));
}
}  // namespace bora::random
