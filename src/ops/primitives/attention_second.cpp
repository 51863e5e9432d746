// The derivative of attention's gradient: a composite with the scores in memory.
#include <limits>
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/attention_inputs.h"

namespace bora::ops {
namespace {
/// Products with the scores in memory: [B.., K, G, S, T].
struct Dense {
  std::int64_t lead;
  Dims batch(std::int64_t head) const { return joined(range_of(lead), {head}); }
  /// q [B.., S, K, G, D], k [B.., T, K, D] -> [B.., K, G, S, T].
  Array scores(const Array& q, const Array& k) const {
    return swapaxes(dot_general(q, k, {batch(lead + 1), batch(lead + 1), {lead + 3}, {lead + 2}}), lead + 1, lead + 2);
  }
  /// Numbers of queries [B.., S, K, G, 1] plus those of keys [B.., T, K, 1], as scores.
  Array sums(const Array& q, const Array& k) const {
    return moveaxis(q, lead, lead + 2) + expand_dims(moveaxis(swapaxes(k, lead, lead + 1), lead + 1, -1), lead + 1);
  }
  /// Summed over keys: [B.., S, K, G, D].
  Array to_queries(const Array& w, const Array& k) const {
    return moveaxis(dot_general(w, k, {batch(lead), batch(lead + 1), {lead + 3}, {lead}}), lead + 2, lead);
  }
  /// Summed over queries: [B.., T, K, D].
  Array to_keys(const Array& w, const Array& q) const {
    return swapaxes(dot_general(w, q, {batch(lead), batch(lead + 1), {lead + 1, lead + 2}, {lead + 2, lead}}), lead,
                    lead + 1);
  }
};
/// a + b; an undefined operand is zero.
Array plus(const Array& a, const Array& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }
Array summed_to(Array x, const Shape& shape) {
  Dims over;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1 && x.shape()[d] != 1) over.push_back(static_cast<std::int64_t>(d));
  return over.empty() ? x : sum(x, over, {.keepdims = true});
}
}  // namespace

/// The gradient is <d_out, tangent of the output> differentiated by the inputs, lse and delta being inputs of their
/// own. With a = the tangent of the scores, h = d (weights), ds = w (h - delta): L = <a, ds> + <dropped w, d_out cv>.
Arrays AttentionGrad::vjp(const Vjp& v) const {
  Extras x(of, 6);
  AttentionSizes s(v.in[0].type(), v.in[1].type(), v.in[2].type());
  Dense m{s.lead};
  auto type = v.in[4].dtype();
  auto wide = [&](const Array& a) { return a.defined() ? a.astype(type) : a; };
  auto q = wide(v.in[0]), k = wide(v.in[1]), val = wide(v.in[2]), d_out = wide(v.in[3]), lse = expand_dims(v.in[4], -1),
       delta = expand_dims(v.in[5], -1);
  auto cq = wide(v.ct[0]), ck = wide(v.ct[1]), cv = wide(v.ct[2]), cb = v.ct.size() > 3 ? v.ct[3] : Array();
  const bool masks = of.left || of.right || x.window || x.mask || x.query_segments;
  // A pair that is masked must not meet NaN, as 0 times it is NaN: products are of the finite parts of the operands,
  // and the weights of pairs that meet become NaN.
  Array spoils, spoils_d;
  if (masks) {
    auto parted = [&](Array& a) {
      auto finite = isfinite(a);
      a = where(finite, a, 0);
      return where(all(finite, -1, {.keepdims = true}), zeros({}, type), kNan);
    };
    spoils = m.sums(parted(q), parted(k)), spoils_d = m.sums(parted(d_out), parted(val));
  }
  Array attends;
  auto also = [&](const Array& c) { attends = attends.defined() ? attends && c : c; };
  auto from = iota({s.S, s.T}, 0), to = iota({s.S, s.T}, 1);
  if (of.left) also(to >= from - Scalar(std::clamp(*of.left, -s.S - s.T, s.S + s.T)));
  if (of.right) also(to <= from + Scalar(std::clamp(*of.right, -s.S - s.T, s.S + s.T)));
  if (x.window) also(to > from - reshape(v.in[x.window], AttentionSizes::with(v.in[x.window].shape(), {1, 1, 1, 1})));
  if (x.mask) also(v.in[x.mask]);
  if (x.query_segments) {
    auto lift = [&](const Array& a, std::int64_t axis) {
      return expand_dims(expand_dims(expand_dims(a, axis), s.lead), s.lead);
    };
    also(lift(v.in[x.query_segments], -1) == lift(v.in[x.key_segments], -2));
  }
  // What overflows is masked too.
  auto masked = [&](const Array& w) { return attends.defined() && w.defined() ? where(attends, w, 0) : w; };
  auto score = masked(m.scores(q, k) * of.scale);
  Array slope, curve, t = score;
  if (of.soft_cap != 0) {
    auto y = tanh(score / of.soft_cap);
    t = y * of.soft_cap;
    slope = 1 - y * y;
    curve = y * slope * (-2 / of.soft_cap);
  }
  if (x.bias) t = t + v.in[x.bias];
  // masked before exp: for scores above lse exp is inf, which the derivative of where does not hide
  auto below = t - where(lse == -kInf, 0, lse);
  auto w = exp(attends.defined() ? where(attends, below + spoils, -kInf) : below);
  Array drop;
  if (x.key) {  // recovers attention's own draw: equal weights, and one-hot values
    auto unit = eye(s.T, type);
    auto one = broadcast_to(reshape(unit, {s.T, 1, s.T}), AttentionSizes::with(s.batch, {s.T, s.K, s.T}));
    Attention plain{.scale = 0, .keep = of.keep};
    auto drawn = call(plain, {q, k, one, v.in[x.key], v.in[x.row]})[0];  // [B.., S, K, G, T]
    drop = where(moveaxis(drawn, s.lead, -2) > 0, constant(1 / static_cast<double>(of.keep), type), 0);
  }
  auto dropped = [&](const Array& a) { return drop.defined() ? a * drop : a; };
  auto gap = dropped(m.scores(d_out, val)) - delta;
  if (attends.defined()) gap = masked(gap + spoils_d);
  auto ds = w * gap;
  // scores of the tangents
  auto product = plus(cq.defined() ? m.scores(cq, k) : Array(), ck.defined() ? m.scores(q, ck) : Array());
  if (product.defined()) product = masked(product * of.scale);
  auto a = product.defined() && slope.defined() ? product * slope : product;
  if (cb.defined()) a = plus(a, broadcast_to(cb, score.shape()));
  Arrays r(v.in.size());
  Array gw;
  if (a.defined()) {
    gw = a * gap;
    auto gh = dropped(w * a);
    r[2] = m.to_keys(gh, d_out);
    r[3] = m.to_queries(gh, val);
    r[5] = -sum(w * a, -1);
  }
  if (cv.defined()) {
    gw = plus(gw, masked(dropped(m.scores(d_out, cv))));
    r[3] = plus(r[3], m.to_queries(dropped(w), cv));
  }
  if (!gw.defined()) return r;
  auto gs = w * gw, gx = slope.defined() ? gs * slope : gs, gy = slope.defined() ? ds * slope : ds;
  if (curve.defined() && product.defined()) gx = gx + curve * product * ds;
  r[0] = m.to_queries(gx, k);
  r[1] = m.to_keys(gx, q);
  if (ck.defined()) r[0] = r[0] + m.to_queries(gy, ck);
  if (cq.defined()) r[1] = r[1] + m.to_keys(gy, cq);
  r[0] = r[0] * of.scale;
  r[1] = r[1] * of.scale;
  r[4] = -sum(gs, -1);
  if (x.bias) r[x.bias] = summed_to(gs, v.in[x.bias].shape());
  for (std::size_t i = 0; i < r.size(); ++i)
    if (r[i].defined()) r[i] = r[i].astype(v.in[i].dtype());
  return r;
}
}  // namespace bora::ops
