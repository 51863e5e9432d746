// Products with logarithms, entropies, logits, for numbers.
#include <cmath>
#include <limits>
#include "ops/scipy/special/scalar.h"
#include "ops/scipy/special/scalar_parts.h"

namespace bora::ops::scalar {
template <class T> T xlogy(T x, T y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }
template <class T> T xlog1py(T x, T y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log1p(y); }
template <class T> T xlogx(T x) { return xlogy(x, x); }
template <class T> T rel_entr(T p, T q) {
  if (std::isnan(p) || std::isnan(q)) return kNan;
  if (!(p > 0 && q > 0)) return p == 0 && q >= 0 ? 0 : kInf;
  return p < 2 * q && q < 2 * p ? p * std::log1p((p - q) / q) : p * (std::log(p) - std::log(q));
}
template <class T> T kl_div(T p, T q) {
  if (std::isnan(p) || std::isnan(q)) return kNan;
  if (!(p > 0 && q > 0)) return p == 0 && q >= 0 ? q : kInf;
  return p * deviance((q - p) / p, q / p);
}
template <class T> T logit(T x) {
  if (x > 0.3 && x < 0.65) return std::log1p((2 * x - 1) / (1 - x));  // 2 x - 1 is exact
  return std::log(x) - std::log1p(-x);
}
template <class T> T boxcox(T x, T lambda) {
  T y = std::log(x);
  return lambda == 0 ? y : std::expm1(lambda * y) / lambda;
}
template <class T> T boxcox1p(T x, T lambda) {
  T y = std::log1p(x);
  return lambda == 0 ? y : std::expm1(lambda * y) / lambda;
}
#define BORA_SCALAR(T) \
  template T xlogy(T, T); template T xlog1py(T, T); template T xlogx(T); template T rel_entr(T, T); \
  template T kl_div(T, T); template T logit(T); template T boxcox(T, T); template T boxcox1p(T, T);
BORA_SCALAR(double)
BORA_SCALAR(long double)
#undef BORA_SCALAR
}  // namespace bora::ops::scalar
