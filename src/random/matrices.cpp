// multivariate_normal, orthogonal: normal draws and factors of matrices. Algorithms: jax.random.
#include "bora/ops/contractions.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "ops/api/same_everywhere.h"
#include "random/draw.h"
#include "bora/ops/ufuncs.h"

namespace bora::random {
namespace {
Array factor_of(const Array& cov, Factor factor) {
  if (factor == Factor::cholesky) return linalg::cholesky(cov);
  if (factor == Factor::eigh) {
    auto e = linalg::eigh(cov);
    return e.vectors * expand_dims(sqrt(e.values), -2);
  }
  auto d = linalg::svd(cov);
  return d.u * expand_dims(sqrt(d.s), -2);
}
void double_or_single(std::string_view what, Dtype dtype) {
  check<DtypeError>(dtype == f32 || dtype == f64, what, ": the dtype must be f32 or f64, got ", dtype);
}
}  // namespace
Array multivariate_normal(const Array& k, const Array& mean, const Array& cov, const std::optional<Shape>& shape,
                          Dtype dtype, const DrawOptions& draw, Factor factor) {
  one_key("multivariate_normal", k);
  double_or_single("multivariate_normal", dtype);
  check<ShapeError>(
      mean.ndim() > 0 && cov.ndim() > 1 && cov.shape(-1) == mean.shape(-1) && cov.shape(-2) == mean.shape(-1),
      "multivariate_normal: needs a mean [.., n] and a covariance [.., n, n], got ", mean.type(), " and ", cov.type());
  auto one = mean.shape(), many = cov.shape();
  one.pop_back();
  many.pop_back();
  many.pop_back();
  auto batch = broadcast_shapes("multivariate_normal", one, many);
  auto s = shape.value_or(batch);
  check<ShapeError>(broadcast_shapes("multivariate_normal", s, batch) == s, "multivariate_normal: the shape ", s,
                    " is not one that the batch dimensions ", batch, " of mean and covariance broadcast to");
  s.push_back(mean.shape(-1));
  auto x = normal(k, s, dtype, draw);
  return mean.astype(dtype) + matvec(factor_of(cov.astype(dtype), factor), x);
}
Array orthogonal(const Array& k, std::int64_t n, const Shape& shape, Dtype dtype, std::optional<std::int64_t> m,
                 const DrawOptions& draw) {
  double_or_single("orthogonal", dtype);
  auto columns = m.value_or(n);
  check<ValueError>(n >= 0 && columns >= 0, "orthogonal: sizes must not be negative, got ", n, " and ", columns);
  auto s = shape;
  s.push_back(std::max(n, columns));
  s.push_back(std::min(n, columns));
  auto [q, r] = linalg::qr(normal(k, s, dtype, draw));
  auto x = q * expand_dims(sign(diagonal(r, 0, -2, -1)), -2);
  if (n < columns) x = swapaxes(x, -1, -2);
  return draw.spec.trivial() ? x : ops::constrained(x, draw.spec);  // qr works on whole batches
}
}  // namespace bora::random
