#include "bora/ops/functions.h"
#include <cmath>
#include "bora/array/communicator.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/sharding.h"
#include "ops/composed.h"

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
/// x's numbers, even under a derivative: for results that have none.
Array numbers(const Array& x) {
  return x.defined() && x.get()->primal_value() ? stop_gradient(x).concrete() : x.concrete();
}
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

namespace {
Array standardized(const Array& v, const NormOptions& o) {
  auto centered = v - mean(v, o.axes, kKeep);
  return centered * rsqrt(mean(square(centered), o.axes, kKeep) + o.eps);
}
Array scaled_by_rms(const Array& v, const NormOptions& o) { return v * rsqrt(mean(square(v), o.axes, kKeep) + o.eps); }
}  // namespace
Array layer_norm(const Array& x, const NormOptions& options) {
  return in_f32(x, [&](const Array& v) { return standardized(v, options); });
}
Array layer_norm(const Array& x, const Array& weight, const Array& bias, const NormOptions& options) {
  auto dtype = is_float(x.dtype()) ? x.dtype() : f32;
  auto y = standardized(in_real_accumulator(x), options) * in_real_accumulator(weight) + in_real_accumulator(bias);
  return y.astype(dtype);
}
Array rms_norm(const Array& x, const NormOptions& options) {
  return in_f32(x, [&](const Array& v) { return scaled_by_rms(v, options); });
}
Array rms_norm(const Array& x, const Array& weight, const NormOptions& options) {
  auto dtype = is_float(x.dtype()) ? x.dtype() : f32;
  return (scaled_by_rms(in_real_accumulator(x), options) * in_real_accumulator(weight)).astype(dtype);
}

Array cross_entropy(const Array& logits, const Array& labels) {
  check<DtypeError>(is_integer(labels.dtype()), "cross_entropy: labels are integers, not ", labels.dtype());
  check<ShapeError>(logits.ndim() >= 1, "cross_entropy: logits need a last dimension of classes, got ", logits.type());
  auto rows = logits.shape();
  rows.pop_back();
  check<ShapeError>(labels.shape() == rows, "cross_entropy: logits ", logits.shape(), " want labels of shape ", rows,
                    ", got ", labels.shape());
  auto x = in_real_accumulator(logits);
  // The label's logit as a masked sum: unlike a gather it fuses with the softmax in both directions, and it splits over
  // classes.
  auto classes = logits.shape(-1);
  auto index = promote(labels.dtype(), i32);  // u8 does not count to all classes
  auto spread = [&](const Array& v, const Dims& dims) { return broadcast_in_dim(v, logits.shape(), dims); };
  auto number = spread(iota({classes}, 0, index), {labels.ndim()});
  if (here().mesh) number = reshard_like(number, logits);  // labels and classes alone say nothing of a split
  auto hit = spread(labels.astype(index), range_of(labels.ndim())) == number;
  auto chosen = sum(where(hit, x, 0), -1);
  auto loss = logsumexp(x, -1) - chosen;
  return where(labels >= 0 && labels.astype(index) < constant(classes, index), loss, kNan);
}

bool allclose(const Array& a, const Array& b, double rtol, double atol) {
  auto s = broadcast_shapes("allclose", a.shape(), b.shape());
  if (is_complex(a.dtype()) || is_complex(b.dtype())) {
    auto near = abs(a - b) <= atol + rtol * abs(b) && isfinite(b);
    return all(a == b || near).item<bool>();
  }
  auto x = broadcast_to(numbers(a), s).to_vector<double>(), y = broadcast_to(numbers(b), s).to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i]) && std::isfinite(y[i]))) return false;
  return true;
}
bool array_equal(const Array& a, const Array& b) {
  return a.shape() == b.shape() && all(numbers(a) == numbers(b)).item<bool>();
}
}  // namespace bora
