#include "bora/nn/ring_attention.h"
#include <cmath>
#include <limits>
#include "bora/fx/custom.h"
#include "bora/ops/collectives.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "bora/ops/transform.h"
#include "shard/api/shaped.h"
#include "nn/core/support.h"

namespace bora::nn {
namespace {
// Shape letters as in kernels/api/attention.h, S and T of this rank's block; n ranks
/// This rank's block of a sequence.
struct Mine {
  Array q, k, v;
  std::optional<Array> segments;
};
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
  /// Gradients of q, k and v from these queries and keys. of: d out [B.., S, K, G, E], the lse over all keys and
  /// sum(d out * out) [B.., K, G, S].
  struct Cotangent {
    Array d_out, lse, delta;
  };
  Arrays gradient(const Array& q, const std::optional<Array>& segments, const Keys& keys, const Cotangent& of,
                  bool causal) const {
    auto r = rule;
    if (causal) r.right = 0;
    Arrays in{q.astype(computed), keys.k.astype(computed), keys.v.astype(computed), of.d_out, of.lse, of.delta};
    if (segments) in.insert(in.end(), {*segments, *keys.segments});
    return call(ops::AttentionGrad{r, false}, in);
  }
  Cotangent half(const Cotangent& x, std::int64_t which) const {
    return {part(x.d_out, lead, which), part(x.lse, x.lse.ndim() - 1, which), part(x.delta, x.lse.ndim() - 1, which)};
  }
};
/// The ranks of a ring.
struct Way {
  MeshAxes axes;
  std::int64_t n;
};
Array passed_on(const Array& x, const Way& way) {
  std::vector<std::pair<int, int>> next;
  for (int i = 0; i < static_cast<int>(way.n); ++i) next.emplace_back(i, (i + 1) % static_cast<int>(way.n));
  return ppermute(x, way.axes, next);
}
Keys passed_on(const Keys& x, const Way& way) {
  return {passed_on(x.k, way), passed_on(x.v, way),
          x.segments ? std::optional(passed_on(*x.segments, way)) : std::nullopt};
}
Partial whole_ring(const Ring& ring, const Array& q, const Keys& mine, const Way& way) {
  auto all = ring.attend(q, mine.segments, mine, false);
  auto keys = mine;
  for (std::int64_t t = 1; t < way.n; ++t) {
    keys = passed_on(keys, way);
    all = merged(all, ring.attend(q, mine.segments, keys, false));
  }
  return all;
}
/// Chooses in step t: the first if the keys are of rank r - t, before this rank r; the second if of one after it.
class Either {
 public:
  Either(const Way& way, std::int64_t t) : before_(axis_index(way.axes) >= constant(t, i32)) {}
  Array operator()(const Array& a, const Array& b) const { return where(broadcast_to(before_, a.shape()), a, b); }
  std::optional<Array> operator()(const std::optional<Array>& a, const std::optional<Array>& b) const {
    return a ? std::optional((*this)(*a, *b)) : std::nullopt;
  }
  Keys operator()(const Keys& a, const Keys& b) const {
    return {(*this)(a.k, b.k), (*this)(a.v, b.v), (*this)(a.segments, b.segments)};
  }

 private:
  Array before_;
};
/// This rank r has chunks r and 2 n - 1 - r. Of the keys of rank s the second chunk's queries meet all of chunk s, and:
/// if s < r the first chunk's queries meet them too, else the second chunk's meet chunk 2 n - 1 - s. Both are one block
/// of the same size, so each rank computes as much, without a mask.
Partial causal_ring(const Ring& ring, const Array& q, const Keys& mine, const Way& way) {
  auto lead = ring.lead;
  auto own = ring.attend(q, mine.segments, mine, true);  // chunk r comes before 2 n - 1 - r: the order is natural here
  auto half_of = [&](const Partial& p, std::int64_t which) {
    return Partial{ring.part(p.out, lead, which), ring.part(p.lse, p.lse.ndim() - 1, which)};
  };
  auto first = half_of(own, 0), second = half_of(own, 1);
  auto q1 = ring.part(q, lead, 0), q2 = ring.part(q, lead, 1);
  std::optional<Array> s1, s2;
  if (mine.segments) s1 = ring.part(*mine.segments, lead, 0), s2 = ring.part(*mine.segments, lead, 1);
  auto keys = mine;
  for (std::int64_t t = 1; t < way.n; ++t) {
    keys = passed_on(keys, way);
    Either either(way, t);
    auto early = ring.half(keys, 0), late = ring.half(keys, 1);
    second = merged(second, ring.attend(q2, s2, early, false));
    auto other = ring.attend(either(q1, q2), either(s1, s2), either(early, late), false);
    auto nothing = full_of(other.lse.type(), -std::numeric_limits<double>::infinity());
    first = merged(first, {other.out, either(other.lse, nothing)});
    second = merged(second, {other.out, either(nothing, other.lse)});
  }
  return {concatenate({first.out, second.out}, lead), concatenate({first.lse, second.lse}, first.lse.ndim() - 1)};
}
// Backward passes: gradients of keys and values travel with them, and one step more, home. What a rank keeps of the
// forward pass is its own block.
Arrays whole_gradient(const Ring& ring, const Array& q, const Keys& mine, const Ring::Cotangent& of, const Way& way) {
  auto g = ring.gradient(q, mine.segments, mine, of, false);
  auto keys = mine;
  for (std::int64_t t = 1; t < way.n; ++t) {
    keys = passed_on(keys, way);
    auto more = ring.gradient(q, mine.segments, keys, of, false);
    g = {g[0] + more[0], passed_on(g[1], way) + more[1], passed_on(g[2], way) + more[2]};
  }
  return {g[0], passed_on(g[1], way), passed_on(g[2], way)};
}
Arrays causal_gradient(const Ring& ring, const Array& q, const Keys& mine, const Ring::Cotangent& of, const Way& way) {
  auto lead = ring.lead;
  auto g = ring.gradient(q, mine.segments, mine, of, true);
  auto q1 = ring.part(q, lead, 0), q2 = ring.part(q, lead, 1);
  auto of1 = ring.half(of, 0), of2 = ring.half(of, 1);
  std::optional<Array> s1, s2;
  if (mine.segments) s1 = ring.part(*mine.segments, lead, 0), s2 = ring.part(*mine.segments, lead, 1);
  auto keys = mine;
  for (std::int64_t t = 1; t < way.n; ++t) {
    keys = passed_on(keys, way);
    Either either(way, t);
    auto early = ring.half(keys, 0), late = ring.half(keys, 1);
    auto a = ring.gradient(q2, s2, early, of2, false);
    Ring::Cotangent of_it{either(of1.d_out, of2.d_out), either(of1.lse, of2.lse), either(of1.delta, of2.delta)};
    auto b = ring.gradient(either(q1, q2), either(s1, s2), either(early, late), of_it, false);
    // The second product gives its gradient to the first halves of queries and keys if the keys are of a rank before.
    auto both = [&](const Array& x, std::int64_t first) {
      auto nothing = zeros_like(x);
      auto lower = either(x, nothing), upper = either(nothing, x);
      auto& more = a[static_cast<std::size_t>(first)];
      return first == 0 ? concatenate({lower, upper + more}, lead) : concatenate({lower + more, upper}, lead);
    };
    g = {g[0] + both(b[0], 0), passed_on(g[1], way) + both(b[1], 1), passed_on(g[2], way) + both(b[2], 2)};
  }
  return {g[0], passed_on(g[1], way), passed_on(g[2], way)};
}
/// Attention over the whole sequence, out [B.., S, K, G, E] in f32 (f64). Its backward pass goes round again.
Array around_the_ring(const Ring& ring, const Mine& mine, bool causal, const Way& way) {
  struct Saved {
    Mine in;
    Array out, lse;
  };
  auto keys_of = [](const Mine& x) { return Keys{x.k, x.v, x.segments}; };
  auto forward = [=](const Mine& x) {
    auto y = (causal ? causal_ring : whole_ring)(ring, x.q, keys_of(x), way);
    return std::pair{y.out, Saved{x, y.out, y.lse}};
  };
  auto backward = [=](const Saved& s, const Array& d_out) {
    auto delta = moveaxis(sum(d_out * s.out, -1), ring.lead, -1);
    auto g = (causal ? causal_gradient : whole_gradient)(ring, s.in.q, keys_of(s.in), {d_out, s.lse, delta}, way);
    return Mine{g[0].astype(s.in.q.dtype()), g[1].astype(s.in.k.dtype()), g[2].astype(s.in.v.dtype()), s.in.segments};
  };
  return custom_vjp([=](const Mine& x) { return forward(x).first; }, forward, backward)(mine);
}
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
  auto queries =
      array_over(q, with(grouped ? AxisList{position, heads, group, size} : AxisList{position, heads, size}));
  if (!grouped) queries = expand_dims(queries, lead + 2);
  Arrays in{queries, array_over(k, with({position, heads, size})), array_over(v, with({position, heads, value_size}))};
  auto dtype = q.dtype();
  check<DtypeError>(is_float(dtype) && k.dtype() == dtype && v.dtype() == dtype,
                    "ring_attention: needs floating-point operands of one dtype, got ", dtype, ", ", k.dtype(), " and ",
                    v.dtype());
  check<ValueError>(!o.soft_cap || *o.soft_cap > 0, "ring_attention: .soft_cap must be positive, got ",
                    [&] { return *o.soft_cap; });
  if (o.segments) in.push_back(array_over(*o.segments, with({position})).astype(i32));
  Ring ring{{.scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(size.size))),
             .soft_cap = o.soft_cap.value_or(0),
             .segments = o.segments.has_value()},
            lead,
            real_accumulator(q.dtype())};

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
    Mine mine{x[0], x[1], x[2], x.size() > 3 ? std::optional(x[3]) : std::nullopt};
    if (n > 1) return Arrays{around_the_ring(ring, mine, o.causal, {around, n}).astype(dtype)};
    return Arrays{ring.attend(mine.q, mine.segments, {mine.k, mine.v, mine.segments}, o.causal).out.astype(dtype)};
  };
  Array out;
  if (n == 1) {
    out = local(in)[0];
  } else {
    auto parts = o.causal ? 2 * n : n;
    check<ShardError>(here().mesh->equal(around), "ring_attention: ", around, " of mesh ", to_string(*here().mesh),
                      " has shares, but keys go round in blocks of one size; leave its shares out");
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
  if (!mesh || !mesh->has(AxisName(mesh_axes::kContext))) return 1;
  auto spec = spec_for({{kBatch, 1}, {kPosition, 1}, {kHeads, 1}, {kHeadGroup, 1}}, current_mapping());
  return spec[1].has(AxisName(mesh_axes::kContext)) ? mesh->parts(spec[1]) : 1;
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
