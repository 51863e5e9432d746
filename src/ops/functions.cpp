#include "bora/ops/functions.h"
#include <cmath>
#include <limits>
#include "bora/ops/elementwise.h"
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "ops/elementwise_rules.h"

namespace bora {
using ops::in_f32;
namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Reduce kKeep{.keepdims = true};
/// exp(x - max): overflow free, and the maximum carries no derivative.
Array top(const Array& x, const Dimensions& axes) { return amax(stop_gradient(x), axes, kKeep); }
Array finite_or_zero(const Array& x) { return where(isfinite(x), x, 0); }
Array wide(const Array& x) { return x.dtype() == f64 ? x : x.astype(f32); }
}  // namespace

Array softmax(const Array& x, const Dimensions& axes) {
  return in_f32(x, [&](const Array& v) {
    auto e = exp(v - top(v, axes));
    return e / sum(e, axes, kKeep);
  });
}
Array log_softmax(const Array& x, const Dimensions& axes) {
  return in_f32(x, [&](const Array& v) {
    auto shifted = v - top(v, axes);
    return shifted - log(sum(exp(shifted), axes, kKeep));
  });
}
Array logsumexp(const Array& x, const Dimensions& axes, const Reduce& options) {
  auto r = in_f32(x, [&](const Array& v) {
    auto dims = axes.resolve("logsumexp", v.ndim());
    auto empty = std::any_of(dims.begin(), dims.end(), [&](auto d) { return v.shape(d) == 0; });
    if (empty) return log(sum(exp(v), dims, {.keepdims = options.keepdims}));  // nothing has a sum, 0
    auto m = finite_or_zero(top(v, axes));
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
  return (standardized(wide(x), options) * wide(weight) + wide(bias)).astype(dtype);
}
Array rms_norm(const Array& x, const NormOptions& options) {
  return in_f32(x, [&](const Array& v) { return scaled_by_rms(v, options); });
}
Array rms_norm(const Array& x, const Array& weight, const NormOptions& options) {
  auto dtype = is_float(x.dtype()) ? x.dtype() : f32;
  return (scaled_by_rms(wide(x), options) * wide(weight)).astype(dtype);
}

Array cross_entropy(const Array& logits, const Array& labels) {
  check<DtypeError>(is_integer(labels.dtype()), "cross_entropy: labels are integers, not ", labels.dtype());
  check<ShapeError>(logits.ndim() >= 1, "cross_entropy: logits need a last dimension of classes, got ", logits.type());
  auto rows = logits.shape();
  rows.pop_back();
  check<ShapeError>(labels.shape() == rows, "cross_entropy: logits ", logits.shape(), " want labels of shape ", rows,
                    ", got ", labels.shape());
  auto x = wide(logits);
  // The label's logit as a masked sum: unlike a gather it fuses with the softmax in both directions, and it splits over
  // classes.
  auto classes = logits.shape(-1);
  auto index = promote(labels.dtype(), i32);  // u8 does not count to all classes
  auto spread = broadcast_in_dim(labels.astype(index), logits.shape(), ops::range_of(labels.ndim()));
  auto hit = spread == iota(logits.shape(), labels.ndim(), index);
  auto chosen = sum(where(hit, x, 0), -1);
  auto loss = logsumexp(x, -1) - chosen;
  return where(labels >= 0 && labels < constant(classes, i64), loss, kNan);
}

Array attention(const Array& q, const Array& k, const Array& v, const AttentionOptions& options) {
  check<ShapeError>(q.ndim() >= 3 && k.ndim() == q.ndim() && v.ndim() == q.ndim(),
                    "attention: q, k, v are [B.., S, H, D] and [B.., T, H, D], got ", q.shape(), ", ", k.shape(), ", ",
                    v.shape());
  auto lead = q.ndim() - 3;
  auto S = q.shape(-3), T = k.shape(-3), H = q.shape(-2), D = q.shape(-1);
  for (std::int64_t d = 0; d < lead; ++d)
    check<ShapeError>(q.shape(d) == k.shape(d) && q.shape(d) == v.shape(d), "attention: batch dimension ", d,
                      " differs: ", q.shape(), ", ", k.shape(), ", ", v.shape());
  check<ShapeError>(v.shape(-3) == T, "attention: ", T, " keys and ", v.shape(-3), " values");
  check<ShapeError>(k.shape(-1) == D, "attention: head size ", D, " of q and ", k.shape(-1), " of k");
  check<ShapeError>(k.shape(-2) == v.shape(-2) && k.shape(-2) > 0 && H % k.shape(-2) == 0, "attention: ", H,
                    " heads of q do not share ", k.shape(-2), " of k and ", v.shape(-2), " of v evenly");
  check<DtypeError>(is_float(q.dtype()), "attention: needs floating-point operands, got ", q.type());
  auto group = H / k.shape(-2);
  auto keys = group == 1 ? k : repeat(k, group, lead + 1), values = group == 1 ? v : repeat(v, group, lead + 1);
  auto batch = ops::range_of(lead);
  batch.push_back(lead + 1);
  auto scores = wide(dot_general(q, keys, {batch, batch, {lead + 2}, {lead + 2}}));  // [B.., H, S, T]
  scores = scores * options.scale.value_or(1 / std::sqrt(static_cast<double>(D)));
  if (options.bias.defined()) scores = scores + wide(options.bias);
  Array attends = options.mask;
  check<DtypeError>(!attends.defined() || attends.dtype() == boolean,
                    "attention: a mask is boolean; numbers to add go into .bias");
  if (options.causal) {
    auto past = iota({S, T}, 0) >= iota({S, T}, 1);
    attends = attends.defined() ? attends && past : past;
  }
  if (attends.defined()) scores = where(attends, scores, -kInf);
  auto e = exp(scores - finite_or_zero(top(scores, -1)));
  auto total = sum(e, -1, kKeep);
  auto weights = (e / where(total == 0, 1, total)).astype(q.dtype());
  auto batch_w = ops::range_of(lead + 1);
  auto out = dot_general(weights, values, {batch_w, batch, {lead + 2}, {lead}});  // [B.., H, S, D]
  return swapaxes(out, lead, lead + 1);
}

bool allclose(const Array& a, const Array& b, double rtol, double atol) {
  auto s = broadcast_shapes("allclose", a.shape(), b.shape());
  auto x = broadcast_to(a.concrete(), s).to_vector<double>(), y = broadcast_to(b.concrete(), s).to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i]) && std::isfinite(y[i]))) return false;
  return true;
}
bool array_equal(const Array& a, const Array& b) {
  return a.shape() == b.shape() && all(a.concrete() == b.concrete()).item<bool>();
}
}  // namespace bora
