#include "bora/nn/ring_attention.h"
#include <cmath>
#include <limits>
#include "bora/ops/collectives.h"
#include "bora/ops/creation.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/primitives.h"
#include "bora/ops/reduce.h"
#include "bora/ops/shape.h"
#include "bora/ops/transform.h"
#include "bora/shard/shaped.h"
#include "nn/support.h"

namespace bora::nn {
namespace {
// Shape letters as in kernels/attention.h, S and T of this rank's block; n ranks
using AxisList = std::vector<Axis>;
/// Results over some of the keys: out [B.., S, K, G, E] and the log of the sum of exp(score) [B.., K, G, S], in f32
/// (f64).
struct Partial {
  Array out, lse;
};
/// Over both sets of keys. A query without keys in a set has -inf and 0 there.
Partial merged(const Partial& a, const Partial& b) {
  auto top = stop_gradient(maximum(a.lse, b.lse));  // cancels: any number gives the same
  top = where(top == constant(-std::numeric_limits<double>::infinity(), top.dtype()), zeros_like(top), top);
  auto wa = exp(a.lse - top), wb = exp(b.lse - top), total = wa + wb;
  auto none_at_all = total == constant(0, total.dtype());
  auto divisor = where(none_at_all, ones_like(total), total);
  auto lead = a.out.ndim() - 4;
  auto beside = [&](const Array& w) { return expand_dims(moveaxis(w / divisor, -1, lead), -1); };
  return {a.out * beside(wa) + b.out * beside(wb),
          where(none_at_all, full_of(total.type(), -std::numeric_limits<double>::infinity()), top + log(divisor))};
}
/// One rank's block of keys, which goes round.
struct Keys {
  Array k, v;
  std::optional<Array> segments;
};
struct Ring {
  ops::Attention rule;
  std::int64_t lead;
  Dtype computed;
  Array part(const Array& x, std::int64_t axis, std::int64_t half) const {
    auto n = x.shape(axis) / 2;
    return slice_in_dim(x, axis, half * n, (half + 1) * n);
  }
  Keys half(const Keys& x, std::int64_t which) const {
    return {part(x.k, lead, which), part(x.v, lead, which),
            x.segments ? std::optional(part(*x.segments, lead, which)) : std::nullopt};
  }
  Partial attend(const Array& q, const std::optional<Array>& segments, const Keys& keys, bool causal) const {
    auto r = rule;
    if (causal) r.right = 0;
    Arrays in{q.astype(computed), keys.k.astype(computed), keys.v.astype(computed)};
    if (segments) in.insert(in.end(), {*segments, *keys.segments});
    auto y = call(r, in);
    return {y[0], y[1]};
  }
};
Keys passed_on(const Keys& x, const MeshAxes& axes, std::int64_t n) {
  std::vector<std::pair<int, int>> next;
  for (int i = 0; i < static_cast<int>(n); ++i) next.emplace_back(i, (i + 1) % static_cast<int>(n));
  auto on = [&](const Array& a) { return ppermute(a, axes, next); };
  return {on(x.k), on(x.v), x.segments ? std::optional(on(*x.segments)) : std::nullopt};
}
Array whole_ring(const Ring& ring, const Array& q, const Keys& mine, const MeshAxes& axes, std::int64_t n) {
  auto all = ring.attend(q, mine.segments, mine, false);
  auto keys = mine;
  for (std::int64_t t = 1; t < n; ++t) {
    keys = passed_on(keys, axes, n);
    all = merged(all, ring.attend(q, mine.segments, keys, false));
  }
  return all.out;
}
/// This rank r has chunks r and 2 n - 1 - r. Of the keys of rank s the second chunk's queries meet all of chunk s, and:
/// if s < r the first chunk's queries meet them too, else the second chunk's meet chunk 2 n - 1 - s. Both are one block
/// of the same size, so each rank computes as much, without a mask.
Array causal_ring(const Ring& ring, const Array& q, const Keys& mine, const MeshAxes& axes, std::int64_t n) {
  auto lead = ring.lead;
  auto own = ring.attend(q, mine.segments, mine, true);  // chunk r comes before 2 n - 1 - r: the order is natural here
  auto half_of = [&](const Partial& p, std::int64_t which) {
    return Partial{ring.part(p.out, lead, which), ring.part(p.lse, p.lse.ndim() - 1, which)};
  };
  auto first = half_of(own, 0), second = half_of(own, 1);
  auto q1 = ring.part(q, lead, 0), q2 = ring.part(q, lead, 1);
  std::optional<Array> s1, s2;
  if (mine.segments) s1 = ring.part(*mine.segments, lead, 0), s2 = ring.part(*mine.segments, lead, 1);
  auto rank = axis_index(axes);
  auto keys = mine;
  for (std::int64_t t = 1; t < n; ++t) {
    keys = passed_on(keys, axes, n);
    auto early = ring.half(keys, 0), late = ring.half(keys, 1);
    second = merged(second, ring.attend(q2, s2, early, false));
    auto before = rank >= constant(t, i32);  // the keys are of rank r - t, else of one after r
    auto either = [&](const Array& a, const Array& b) { return where(broadcast_to(before, a.shape()), a, b); };
    Keys chosen{either(early.k, late.k), either(early.v, late.v), none};
    std::optional<Array> s;
    if (s1) s = either(*s1, *s2), chosen.segments = either(*early.segments, *late.segments);
    auto other = ring.attend(either(q1, q2), s, chosen, false);
    auto nothing = full_of(other.lse.type(), -std::numeric_limits<double>::infinity());
    first = merged(first, {other.out, either(other.lse, nothing)});
    second = merged(second, {other.out, either(nothing, other.lse)});
  }
  return concatenate({first.out, second.out}, lead);
}
/// x as an array with these axes in this order, repeated along those that it lacks.
Array arranged(const NamedArray& x, const AxisList& axes) { return broadcast_to(x, Axes(axes)).array(); }
}  // namespace

NamedArray ring_attention(const NamedArray& q, const NamedArray& k, const NamedArray& v,
                          const RingAttentionOptions& o) {
  auto position = q.axis(kPosition), heads = q.axis(kHeads), size = q.axis(kHeadSize);
  for (auto* x : {&k, &v})
    check<AxisError>(x->has_axis(kPosition) && x->axis(kPosition) == position && x->has_axis(kHeads) &&
                         x->axis(kHeads) == heads && x->has_axis(kHeadSize) && !x->has_axis(kHeadGroup),
                     "ring_attention: keys and values need axes ", position, ", ", heads, " and ", kHeadSize,
                     " and no ", kHeadGroup, "; got ", x->axes());
  auto value_size = v.axis(kHeadSize);
  AxisList batch;
  for (auto& a : q.axes())
    if (a.name != kPosition && a.name != kHeads && a.name != kHeadGroup && a.name != kHeadSize) batch.push_back(a);
  bool grouped = q.has_axis(kHeadGroup);
  auto group = grouped ? q.axis(kHeadGroup) : Axis{kHeadGroup, 1};
  auto with = [&](const AxisList& more) {
    auto axes = batch;
    axes.insert(axes.end(), more.begin(), more.end());
    return axes;
  };
  auto lead = static_cast<std::int64_t>(batch.size());
  auto queries = arranged(q, with(grouped ? AxisList{position, heads, group, size} : AxisList{position, heads, size}));
  if (!grouped) queries = expand_dims(queries, lead + 2);
  Arrays in{queries, arranged(k, with({position, heads, size})), arranged(v, with({position, heads, value_size}))};
  auto dtype = q.dtype();
  check<DtypeError>(is_float(dtype) && k.dtype() == dtype && v.dtype() == dtype,
                    "ring_attention: needs floating-point operands of one dtype, got ", dtype, ", ", k.dtype(), " and ",
                    v.dtype());
  check<ValueError>(!o.soft_cap || *o.soft_cap > 0, "ring_attention: .soft_cap must be positive, got ",
                    [&] { return *o.soft_cap; });
  if (o.segments) in.push_back(arranged(*o.segments, with({position})).astype(i32));
  Ring ring{{.scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(size.size))),
             .soft_cap = o.soft_cap.value_or(0),
             .segments = o.segments.has_value()},
            lead,
            wide(q)};

  MeshAxes around;
  std::int64_t n = 1;
  Spec spec;
  if (here().mesh) {
    spec = spec_for(with({position, heads, group}), current_mapping());
    around = spec[batch.size()];
    n = here().mesh->parts(around);
  }
  check<ShardError>(!o.ranks || *o.ranks == n, "ring_attention: the rows are in the zigzag order of ",
                    [&] { return *o.ranks; }, " ranks, but the current mapping splits ", position, " over ", n);
  auto local = [&](const Arrays& x) {
    Keys mine{x[1], x[2], x.size() > 3 ? std::optional(x[3]) : std::nullopt};
    if (n == 1) return Arrays{ring.attend(x[0], mine.segments, mine, o.causal).out.astype(dtype)};
    return Arrays{(o.causal ? causal_ring : whole_ring)(ring, x[0], mine, around, n).astype(dtype)};
  };
  Array out;
  if (n == 1) {
    out = local(in)[0];
  } else {
    auto parts = o.causal ? 2 * n : n;
    check<ValueError>(position.size % parts == 0, "ring_attention: ", position.size, " positions cannot be cut into ",
                      parts, " equal parts, ", parts / n, " for each of the ", n, " ranks of ", around,
                      "; pad the sequence");
    auto q_spec = spec;
    q_spec.push_back({});
    auto k_spec = q_spec;
    k_spec.erase(batch.size() + 2);
    auto s_spec = spec;
    s_spec.resize(batch.size() + 1);
    std::vector<Spec> specs{q_spec, k_spec, k_spec};
    if (o.segments) specs.push_back(s_spec);
    auto shape = queries.shape();
    shape[shape.size() - 1] = value_size.size;
    out = fx::shard_map_shaped(local, in, specs, {shape}, {q_spec})[0];
  }
  if (!grouped) out = squeeze(out, lead + 2);
  auto axes = with(grouped ? AxisList{position, heads, group, value_size} : AxisList{position, heads, value_size});
  auto wanted = q.axes();
  for (auto& a : wanted)
    if (a.name == kHeadSize) a = value_size;
  return broadcast_to(NamedArray(out, axes), Axes(wanted));
}
std::int64_t context_ranks() {
  auto* mesh = here().mesh;
  if (!mesh || !mesh->has(AxisName("context"))) return 1;
  auto spec = spec_for({{kBatch, 1}, {kPosition, 1}}, current_mapping());
  return spec[1].has(AxisName("context")) ? mesh->parts(spec[1]) : 1;
}
std::vector<std::int32_t> zigzag_order(std::int64_t positions, std::int64_t ranks) {
  check<ValueError>(ranks >= 1 && positions % (2 * ranks) == 0, "zigzag: ", positions,
                    " positions cannot be cut into 2 equal chunks for each of ", ranks, " ranks; pad the sequence");
  auto chunk = positions / (2 * ranks);
  std::vector<std::int32_t> order;
  for (std::int64_t r = 0; r < ranks; ++r)
    for (auto c : {r, 2 * ranks - 1 - r})
      for (std::int64_t i = 0; i < chunk; ++i) order.push_back(static_cast<std::int32_t>(c * chunk + i));
  return order;
}
NamedArray zigzag(const NamedArray& x, std::int64_t ranks) {
  auto order = asarray(zigzag_order(x.axis(kPosition).size, ranks));
  return {take(x.array(), order, x.position(kPosition)), x.axes()};
}
NamedArray from_zigzag(const NamedArray& x, std::int64_t ranks) {
  auto order = zigzag_order(x.axis(kPosition).size, ranks);
  std::vector<std::int32_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  return {take(x.array(), asarray(back), x.position(kPosition)), x.axes()};
}
}  // namespace bora::nn
