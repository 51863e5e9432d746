#include "bora/nn/functions.h"
#include <cmath>
#include <limits>
#include "bora/named/axes.h"
#include "bora/named/functions.h"
#include "bora/named/shape.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "named/api/registry.h"
#include "nn/core/attention_dims.h"
#include "bora/named/index.h"

namespace bora::nn {
// name, and the range of its samples
#define BORA_ACTIVATIONS(F)                                                                                     \
  F(selu, -3, 3) F(relu6, -2, 8) F(hard_sigmoid, -5, 5) F(hard_silu, -5, 5) F(hard_swish, -5, 5)                \
  F(hard_tanh, -2, 2) F(log_sigmoid, -3, 3) F(mish, -3, 3) F(swish, -3, 3) F(soft_sign, -3, 3)                  \
  F(sparse_plus, -2, 2) F(sparse_sigmoid, -2, 2) F(log1mexp, 0.1, 3)
#define ACTIVATION(f, lo, hi) \
  NamedArray f(const NamedArray& x) { return by_name(#f, f, x); }
BORA_ACTIVATIONS(ACTIVATION)
#undef ACTIVATION
NamedArray celu(const NamedArray& x, double alpha) { return named(celu(x.array(), alpha), x.axes()); }
NamedArray elu(const NamedArray& x, double alpha) { return named(elu(x.array(), alpha), x.axes()); }
NamedArray leaky_relu(const NamedArray& x, double slope) { return named(leaky_relu(x.array(), slope), x.axes()); }
NamedArray squareplus(const NamedArray& x, double b) { return named(squareplus(x.array(), b), x.axes()); }
NamedArray relu_squared(const NamedArray& x) { return square(relu(x)); }
NamedArray quick_gelu(const NamedArray& x) {
  auto v = in_real_accumulator(x);
  return (v * sigmoid(v * 1.702)).astype(inexact_dtype(x.dtype()));
}
NamedArray glu(const NamedArray& x, const AxisNames::One& axis) {
  auto p = require_axis("glu", x.axes(), axis);
  auto y = glu(x.array(), p);
  auto axes = x.axes();
  axes[static_cast<std::size_t>(p)].size = y.shape(p);
  return {y, axes};
}
NamedArray softmax(const NamedArray& x, const AxisNames& axes, const NamedArray& where) {
  auto dims = bora::detail::positions("softmax", x, axes);
  return named(softmax(x.array(), dims, broadcast_to(where, x.axes()).array()), x.axes());
}
NamedArray log_softmax(const NamedArray& x, const AxisNames& axes, const NamedArray& where) {
  auto dims = bora::detail::positions("log_softmax", x, axes);
  return named(log_softmax(x.array(), dims, broadcast_to(where, x.axes()).array()), x.axes());
}
NamedArray standardize(const NamedArray& x, const AxisNames& axes, const NamedStandardize& o) {
  auto v = in_real_accumulator(x);
  auto mean = o.mean.defined() ? o.mean : bora::mean(v, axes, {.where = o.where});
  auto far = v - mean, counted = far;
  NamedArray regular;
  if (o.where.defined()) {
    auto mask = broadcast_to(o.where, far.axes());
    counted = where(mask, far, 0);
    // What does not count and is no number must not meet the derivative of the deviation: 0 times it is NaN.
    regular = mask || isfinite(far);
    far = where(regular, far, 0);
  }
  auto variance = o.variance.defined() ? o.variance : bora::mean(square(counted), axes, {.where = o.where});
  auto y = far * rsqrt(variance + o.epsilon);
  if (regular.defined()) y = where(regular, y, v);
  return aligned(y, x.axes()).astype(inexact_dtype(x.dtype()));
}

NamedArray reduce_loss(const NamedArray& losses, const LossOptions& o) {
  switch (o.reduction) {
    case Reduction::mean: return mean(losses, o.axes, {.where = o.where});
    case Reduction::sum: return sum(losses, o.axes, {.where = o.where});
    case Reduction::none: return o.where.defined() ? where(o.where, losses, 0) : losses;
  }
  fail<ValueError>("reduce_loss: no reduction ", static_cast<int>(o.reduction));
}
namespace {
/// An operand of a loss, with 0 where the loss does not count: the derivative there is 0, whatever it is. `other`: the
/// loss's other operand. A mask that does not fit is left to reduce_loss, which throws.
NamedArray counted_part(const NamedArray& x, const NamedArray& other, const NamedArray& mask) {
  if (!mask.defined()) return x;
  auto axes = x.axes();
  for (auto& a : mask.axes()) {
    if (!x.has_axis(a.name) && !other.has_axis(a.name)) return x;
    if (!x.has_axis(a.name)) axes.push_back(a);
  }
  return where(broadcast_to(mask, axes), broadcast_to(x, axes), 0);
}
}  // namespace
LossAndNormalizer cross_entropy_loss_and_log_normalizers(const NamedArray& logits, const AxisNames::One& label,
                                                         const NamedArray& targets) {
  check<DtypeError>(is_float(targets.dtype()), "cross_entropy_loss: targets are probabilities, not ", targets.dtype(),
                    "; for labels use one_hot(labels, axis), or nn::cross_entropy");
  (void)require_axis("cross_entropy_loss: logits", logits.axes(), label);
  (void)require_axis("cross_entropy_loss: targets", targets.axes(), label);
  auto x = in_real_accumulator(logits);
  auto normalizer = logsumexp(x, AxisNames{label});
  return {sum((normalizer - x) * targets.astype(x.dtype()), AxisNames{label}), normalizer};
}
NamedArray cross_entropy_loss(const NamedArray& logits, const AxisNames::One& label, const NamedArray& targets,
                              const LossOptions& o) {
  auto rows = counted_part(logits, targets, o.where), labels = counted_part(targets, logits, o.where);
  return reduce_loss(cross_entropy_loss_and_log_normalizers(rows, label, labels).loss, o);
}
NamedArray binary_cross_entropy_loss(const NamedArray& logits, const NamedArray& targets, const LossOptions& o) {
  auto all = in_real_accumulator(logits), x = counted_part(all, targets, o.where),
       y = counted_part(targets, logits, o.where).astype(x.dtype());
  return reduce_loss(-(y * log_sigmoid(x) + (1 - y) * log_sigmoid(-x)), o);
}

namespace {
struct DotProductAxes {
  AxisList batch, rows, keys, own;  // shared by q and k; of q alone; attended to; of v alone
  double scale;
};
DotProductAxes parts_of(const AxisNames::One& head, const AxisNames& keys, const NamedArray& q, const NamedArray& k,
                        const NamedArray* v, const NamedAttentionOptions& o) {
  constexpr std::string_view what = "dot_product_attention";
  DotProductAxes p;
  auto& size = q.axes()[static_cast<std::size_t>(require_axis("dot_product_attention: q", q.axes(), head))];
  (void)require_axis("dot_product_attention: k", k.axes(), size);
  for (auto& n : keys) {
    auto at = require_axis("dot_product_attention: k", k.axes(), n);
    p.keys.push_back(k.axes()[static_cast<std::size_t>(at)]);
    check<AxisError>(n.name != head.name, what, ": axis '", n.name, "' is both attended to and a head's vectors");
    check<AxisError>(!q.has_axis(n.name), what, ": axis '", n.name, "' is attended to, but q has it too; rename one");
    if (v) (void)require_axis("dot_product_attention: v", v->axes(), p.keys.back());
  }
  auto is_key = [&](const std::string& name) { return find_axis(p.keys, name) >= 0; };
  for (auto& a : q.axes()) {
    if (a.name == head.name) continue;
    bool shared = k.has_axis(a.name) || (v && v->has_axis(a.name));
    for (auto* x : {&k, v})
      check<AxisError>(!x || !x->has_axis(a.name) || x->axis(a.name) == a, what, ": axis '", a.name, "' has size ",
                       a.size, " in q and another one in k or v");
    (shared ? p.batch : p.rows).push_back(a);
  }
  for (auto& a : k.axes())
    check<AxisError>(is_key(a.name) || q.has_axis(a.name), what, ": q lacks axis '", a.name, "' of k, which is not ",
                     "attended to");
  if (v)
    for (auto& a : v->axes())
      if (!is_key(a.name) && (a.name == head.name || !q.has_axis(a.name))) p.own.push_back(a);
  p.scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(size.size, 1))));
  return p;
}
}  // namespace
NamedArray dot_product_attention_weights(const AxisNames::One& head, const AxisNames& keys, const NamedArray& q,
                                         const NamedArray& k, const NamedAttentionOptions& o) {
  auto p = parts_of(head, keys, q, k, nullptr, o);
  auto d = real_accumulator(q.dtype());
  auto query = q.astype(d), key = k.astype(d);
  NamedArray of_query, of_key;  // 0, or NaN for vectors that are not finite
  if (o.mask.defined()) {
    // Of masked pairs the derivative is 0 times the other operand, which may be NaN: products are of the finite parts,
    // and pairs with more become NaN.
    auto parted = [&](NamedArray& x) {
      auto finite = isfinite(x);
      x = where(finite, x, 0);
      auto whole = all(finite, AxisNames{head});
      return where(whole, zeros_like(whole).astype(d), std::numeric_limits<double>::quiet_NaN());
    };
    of_query = parted(query), of_key = parted(key);
  }
  auto scores = dot(query * p.scale, key, AxisNames{head});
  if (o.bias.defined()) scores = scores + o.bias.astype(d);
  if (of_query.defined()) scores = scores + of_query + of_key;
  AxisList along;
  for (auto& a : p.keys) along.push_back(a);
  auto weights = o.mask.defined() ? softmax(scores, names_of(along), o.mask) : softmax(scores, names_of(along));
  if (o.mask.defined()) weights = where(any(broadcast_axis(o.mask, along), names_of(along)), weights, 0);
  auto order = without_axes(q.axes(), AxisNames{head});
  order.insert(order.end(), along.begin(), along.end());
  return aligned(weights, order).astype(q.dtype());
}
NamedArray dot_product_attention(const AxisNames& keys, const AxisNames::One& head, const NamedArray& q,
                                 const NamedArray& k, const NamedArray& v, const NamedAttentionOptions& o) {
  auto p = parts_of(head, keys, q, k, &v, o);
  auto size = q.axis(head.name);
  AttentionOptions options{.scale = p.scale};
  // [batch.., heads = 1, queries, keys]
  if (o.mask.defined()) options.mask = with_dims(o.mask, p.batch, {{}, p.rows, p.keys});
  if (o.bias.defined()) options.bias = with_dims(o.bias, p.batch, {{}, p.rows, p.keys});
  auto y = attention(with_whole_dims(q, p.batch, {p.rows, {}, {size}}),
                     with_whole_dims(k, p.batch, {p.keys, {}, {size}}),
                     with_whole_dims(v, p.batch, {p.keys, {}, p.own}), options);
  auto axes = concat_axes(concat_axes(p.batch, p.rows), p.own), order = without_axes(q.axes(), AxisNames{head});
  order.insert(order.end(), p.own.begin(), p.own.end());
  return aligned(named(reshape(y, shape_of(axes)), axes), order);
}

namespace {
NamedArray positions_from(const Axis& axis, const NamedOperand& start) {
  if (!start.array.defined()) return arange(axis) + start.number;
  auto axes = start.array.axes();
  axes.push_back(axis);
  return broadcast_to(start.array.astype(i32), axes) + arange(axis);
}
NamedArray starts_of(const NamedOperand& start) {
  return start.array.defined() ? start.array.astype(i32) : named(constant(start.number, i32), AxisList{});
}
/// Both with the axes of either, those of `last` last.
std::pair<NamedArray, NamedArray> together(const NamedArray& a, const NamedArray& b, const AxisList& last) {
  auto all = without_axes(union_axes(a.axes(), b.axes()), names_of(last));
  all.insert(all.end(), last.begin(), last.end());
  return {broadcast_to(a, all), broadcast_to(b, all)};
}
}  // namespace
NamedArray causal_mask(const Axis& query, const Axis& key, const NamedOperand& query_start,
                       const NamedOperand& key_start) {
  check<AxisError>(query.name != key.name, "causal_mask: queries and keys have different axes, not both '", query.name,
                   "'; rename one");
  auto [q, k] = together(positions_from(query, query_start), positions_from(key, key_start), {query, key});
  return q >= k;
}
NamedArray prefix_lm_mask(const Axis& query, const Axis& key, const NamedOperand& prefix,
                          const NamedOperand& query_start, const NamedOperand& key_start) {
  check<ValueError>(prefix.array.defined() || prefix.number.integer >= 0, "prefix_lm_mask: a prefix of ",
                    prefix.number.integer, " keys");
  auto causal = causal_mask(query, key, query_start, key_start);
  auto end = starts_of(prefix);
  auto [place, limit] = together(arange(key), end, {key});
  auto [a, b] = together(causal, place < limit, {query, key});
  return a || b;
}
namespace {
template <class F> std::optional<NamedArray> combined(const std::optional<NamedArray>& a,
                                                      const std::optional<NamedArray>& b, F f) {
  if (!a) return b;
  if (!b) return a;
  auto [x, y] = together(*a, *b, {});
  return f(x, y);
}
}  // namespace
std::optional<NamedArray> combine_masks_and(const std::optional<NamedArray>& a, const std::optional<NamedArray>& b) {
  return combined(a, b, [](auto& x, auto& y) { return x && y; });
}
std::optional<NamedArray> combine_masks_or(const std::optional<NamedArray>& a, const std::optional<NamedArray>& b) {
  return combined(a, b, [](auto& x, auto& y) { return x || y; });
}
NamedArray dropout_mask(const Axes& axes, double rate, const Array& key) {
  return random::bernoulli(key, 1 - rate, axes);
}
NamedArray forgetful_causal_mask(const Axis& key, double rate, const Array& random_key, bool sample_rate) {
  check<ValueError>(rate >= 0 && rate <= 1, "forgetful_causal_mask: the probability ", rate, " is outside of [0, 1]");
  auto first = arange(key) == 0;
  if (rate == 0) return ones({key}, boolean);
  if (rate == 1) return first;
  if (!sample_rate) return random::bernoulli(random_key, 1 - rate, key) || first;
  auto keys = random::split<2>(random_key);
  auto drawn = random::uniform(keys[1], Axes(AxisList{}), f32, 0, rate);
  return random::bernoulli(keys[0], 1 - drawn, key) || first;
}
NamedArray mask_to_bias(const NamedArray& mask, double value, Dtype dtype) {
  return where(mask, zeros_like(mask).astype(dtype), value);
}
NamedArray alibi_attention_bias(const Axis& heads, const Axis& key, double bias_max, Dtype dtype) {
  check<ValueError>(heads.size > 0 && bias_max > 0, "alibi_attention_bias: needs heads and a positive bias_max, got ",
                    heads.size, " and ", bias_max);
  auto n = heads.size;
  std::int64_t power = 1;
  while (2 * power <= n) power *= 2;
  auto slope = [&](std::int64_t of, std::int64_t i) {
    return std::exp2(-bias_max / static_cast<double>(of) * static_cast<double>(i + 1));
  };
  std::vector<double> slopes;
  for (std::int64_t i = 0; i < power; ++i) slopes.push_back(slope(power, i));
  for (std::int64_t i = 0; i < n - power; ++i) slopes.push_back(slope(2 * power, 2 * i));  // between those
  AxisList axes{heads, key};
  auto by_head = named(asarray(slopes).astype(real_accumulator(dtype)), heads);
  return (broadcast_to(by_head, axes) * arange(key).astype(by_head.dtype())).astype(dtype);
}

namespace {
#define ROW(f, lo, hi)                                                                                              \
  {"nn " #f, NamedKind::unary, [](const NamedArrays& x) { return f(x[0]); }, [](const Arrays& x) { return f(x[0]); }, \
   f32, lo, hi},
[[maybe_unused]] const bool activations_registered = add_named(
    {BORA_ACTIVATIONS(ROW) ROW(celu, -2, 2) ROW(elu, -2, 2) ROW(leaky_relu, -2, 2) ROW(squareplus, -2, 2)});
#undef ROW
#undef BORA_ACTIVATIONS
}  // namespace
}  // namespace bora::nn
