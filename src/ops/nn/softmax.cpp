// Softmax, its logarithm, and logarithms of sums of exponentials.
#include "bora/ops/nn.h"
#include "bora/ops/special.h"
#include "ops/numpy/support.h"
#include "bora/ops/creation.h"
#include "bora/ops/transform.h"
#include "bora/ops/reductions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
namespace {
/// The maximum to subtract before exp, against overflow; it carries no derivative. 0 for no elements: any number would
/// do.
Array top(std::string_view what, const Array& x, const Dimensions& axes) {
  auto dims = axes.resolve(what, x.ndim());
  auto shape = x.shape();
  for (auto d : dims) shape[static_cast<std::size_t>(d)] = 1;
  auto empty = std::any_of(dims.begin(), dims.end(), [&](auto d) { return x.shape(d) == 0; });
  return empty ? full_of({shape, x.dtype()}, 0) : amax(stop_gradient(x), dims, kKeep);
}
Array finite_or_zero(const Array& x) { return where(isfinite(x), x, 0); }
}  // namespace

Array softmax(const Array& x, const Dimensions& axes) {
  return in_f32(x, [&](const Array& v) {
    auto e = exp(v - top("softmax", v, axes));
    return e * (1 / sum(e, axes, kKeep));  // one division a row
  });
}
Array log_softmax(const Array& x, const Dimensions& axes) {
  return in_f32(x, [&](const Array& v) {
    auto shifted = v - top("log_softmax", v, axes);
    return shifted - log(sum(exp(shifted), axes, kKeep));
  });
}
Array logsumexp(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  auto r = in_f32(x, [&](const Array& v) {
    auto dims = axes.resolve("logsumexp", v.ndim());
    auto m = finite_or_zero(top("logsumexp", v, axes));
    auto y = log(sum(exp(v - m), axes, kKeep)) + m;
    return options.keepdims ? y : squeeze(y, dims);
  });
  return options.dtype ? r.astype(*options.dtype) : r;
}
}  // namespace bora
namespace bora::nn {
Array logmeanexp(const Array& x, const Dimensions& axes, const ReduceOptions& options) {
  double n = 1;
  for (auto d : axes.resolve("logmeanexp", x.ndim())) n *= static_cast<double>(x.shape(d));
  auto r = in_f32(x, [&](A v) { return logsumexp(v, axes, {.keepdims = options.keepdims}) - std::log(n); });
  return options.dtype ? r.astype(*options.dtype) : r;
}
Array softmax(const Array& x, const Dimensions& axes, const Array& where) {
  return in_f32(x, [&](A v) { return bora::where(where, softmax(bora::where(where, v, -kInf), axes), 0); });
}
Array log_softmax(const Array& x, const Dimensions& axes, const Array& where) {
  return in_f32(x, [&](A v) { return bora::where(where, log_softmax(bora::where(where, v, -kInf), axes), -kInf); });
}
}  // namespace bora::nn
