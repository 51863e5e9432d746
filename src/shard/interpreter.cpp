// Shard: local block + Spec + pending partial sums. Decisions read only global shapes and Specs, never a rank's own
// sizes, so that every rank decides alike and emits the same instructions: the rank is a value (axis_index,
// block_start), a local size only a type.
#include "shard/interpreter.h"
#include <algorithm>
#include "array/api/splits.h"
#include "compile/api/control.h"
#include "ops/api/exchange.h"
#include "bora/ops/collectives.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "shard/splits.h"

namespace bora {
namespace {
struct ShardValue final : ArrayValue {
  mutable Sharded x;  // an eager symbolic value stays made once its reader needs it whole
  const Shard* shard;
  struct Made {
    Spec target;
    MeshAxes keep;
    Sharded block;
  };
  // a pending sum is completed, a symbolic value stretched, once per target, not once per use
  mutable std::vector<Made> made;
  const OriginPtr origin;
  ShardValue(Sharded s, const Shard* i, OriginPtr o)
      : ArrayValue(s.type, i->id), x(std::move(s)), shard(i), origin(std::move(o)) {}
  bool sole() const override { return made.empty() && x.local.sole(); }
  std::string describe() const override { return bora::describe(x); }
  Array concrete() const override {
    auto* alive = nearest<Shard>();
    check<TraceError>(alive && alive->id == owner, describe(),
                      " is a sharded value that was used after its mesh had ended");
    Within w(shard->parent);
    if (x.symbolic) x = shard->real(x);
    About about([this] { return Origin::joined({origin, Origin::of({bora::describe(x)})}); });
    return shard->reshard(x, Spec::replicated(x.spec.size())).local.concrete();
  }
};
std::size_t common_prefix(const MeshAxes& a, const MeshAxes& b) {
  std::size_t k = 0;
  while (k < a.size() && k < b.size() && a[k] == b[k]) ++k;
  return k;
}
}  // namespace

Sharded Shard::view(const Array& a) const {
  if (owns(a)) return static_cast<const ShardValue*>(a.get())->x;
  return {a, a.type(), Spec::replicated(static_cast<std::size_t>(a.ndim()))};
}
OriginPtr Shard::origin(const Array& a) const {
  return owns(a) ? static_cast<const ShardValue*>(a.get())->origin : nullptr;
}
Array Shard::wrap(const Sharded& x, OriginPtr origin) const {
  if (x.spec.trivial() && x.partial.empty() && !x.symbolic && !x.moved) return x.local;
  return Array(std::make_shared<ShardValue>(x, this, std::move(origin)));
}
Dims Shard::part_sizes(std::int64_t n, const MeshAxes& prefix, const MeshAxes& suffix) const {
  return bora::part_sizes(n, prefix, suffix, mesh_, rank_);
}
Sharded Shard::to_partial(const Sharded& x, const MeshAxes& axes) const {
  Sharded y = real(x);
  y.partial.append(axes);
  if (mesh_.parts(axes) == 1) return y;
  auto first = ops::part_index(axes) == 0;
  y.local = select(broadcast_to(first, y.local.shape()), y.local, zeros_like(y.local));
  return y;
}
Array Shard::coded(const Array& x, const Wire& wire, const std::function<Array(const Array&, const Wire&)>& sum) {
  check<DtypeError>(x.dtype() == Dtype::f32 || is_narrow(x.dtype()), "a sum of ", dtype_name(x.dtype()),
                    " gradients cannot travel as ", word(wire), "; only those of f32, bf16 and f16 can: leave the wire "
                    "f32");
  if (x.dtype() == Dtype::f32) return sum(x, wire);
  if (!wire.blocks()) return sum(x, {});  // halves are 16 bits on the wire already
  return sum(x.astype(f32), wire).astype(x.dtype());
}
Sharded Shard::reshard_over(const Sharded& x, const Spec& want, const MeshAxes& keep, const Wire& wire,
                            const MeshAxes& over) const {
  Spec target = want;
  target.resize(x.spec.size());
  auto block = local_shape(x.type.shape, target);
  Sharded y = x.moved ? real(x) : x;
  if (x.symbolic && (wire.exact() || x.partial.empty())) {  // simply make the wanted block
    y.spec = target;
    y.partial = {};
    for (auto& a : x.partial)
      if (keep.has(a) && !target.uses(a)) y.partial.push_back(a);
    return real(y);
  }
  if (x.symbolic) y = real(x);
  if (auto* made = as_made(y); made && y.spec != target && only_sliced(*made, target)) y = *made;
  sum_pending(y, target, keep, wire, over);
  hand_axes_over(y, target);
  gather(y, target);
  slice_to(y, target, block);
  return y;
}
/// Sums that may not stay pending: scattered where the target splits a dimension by their axis, else over all ranks.
void Shard::sum_pending(Sharded& y, const Spec& target, const MeshAxes& keep, const Wire& wire,
                        const MeshAxes& over) const {
  auto all = std::exchange(y.partial, {});
  MeshAxes pending;
  auto stays = [&](const AxisName& a) { return keep.has(a) && !target.uses(a); };
  // Terms that may be larger than their sum are not rounded: exact sums are made first, also those that could wait.
  bool rounds = !wire.exact() &&
                std::any_of(all.begin(), all.end(), [&](auto& a) { return over.has(a) && !stays(a); });
  for (auto& a : all) (stays(a) && (over.has(a) || !rounds) ? y.partial : pending).push_back(a);
  auto complete = [&](const std::function<bool(const AxisName&)>& which) {
    MeshAxes axes;
    for (auto& a : pending)
      if (which(a)) axes.push_back(a);
    for (auto& a : axes) pending.remove(a);
    if (mesh_.parts(axes) > 1) y.local = ops::all_reduce(y.local, axes, Reduction::sum, y.type.shape);
  };
  if (rounds) complete([&](auto& a) { return !over.has(a) && !target.uses(a); });
  for (bool progress = true; progress && !pending.empty();) {
    progress = false;
    for (std::size_t d = 0; d < target.size(); ++d) {
      auto k = y.spec[d].size();
      if (common_prefix(y.spec[d], target[d]) != k || target[d].size() == k || !pending.has(target[d][k])) continue;
      auto axis = target[d][k];
      MeshAxes one(std::vector<AxisName>{axis});
      auto scattered = [&](const Array& a, const Wire& w) {
        return ops::reduce_scatter(a, one, static_cast<std::int64_t>(d), part_sizes(y.type.shape[d], y.spec[d], one),
                                   y.type.shape, w);
      };
      if (mesh_.parts(one) > 1)
        y.local = wire.exact() || !over.has(axis) ? scattered(y.local, {}) : coded(y.local, wire, scattered);
      y.spec[d].push_back(axis);
      pending.remove(axis);
      progress = true;
    }
  }
  MeshAxes by_wire;
  if (!wire.exact())
    for (auto& a : over)
      if (pending.has(a)) by_wire.push_back(a);
  complete([&](auto& a) { return !by_wire.has(a); });
  if (mesh_.parts(by_wire) > 1)
    y.local = coded(y.local, wire, [&](const Array& a, const Wire& w) {
      return ops::all_reduce(a, by_wire, Reduction::sum, y.type.shape, w);
    });
}
/// Dimensions hand their innermost axes to others.
void Shard::hand_axes_over(Sharded& y, const Spec& target) const {
  auto wanted = [&](std::size_t e) {
    auto has = y.spec[e].size();
    return common_prefix(y.spec[e], target[e]) == has ? target[e].tail(has) : MeshAxes{};
  };
  for (std::size_t e = 0; e < target.size(); ++e) {  // what is sliced first travels less
    auto more = wanted(e);
    std::size_t k = 0;
    while (k < more.size() && !y.spec.uses(more[k])) ++k;
    if (k == 0 || k == more.size()) continue;
    auto first = y.spec;
    first[e].append(more.head(k));
    slice_to(y, first, local_shape(y.type.shape, first));
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t d = 0; d < target.size(); ++d)
      for (std::size_t e = 0; e < target.size(); ++e) {
        auto gone = y.spec[d].tail(common_prefix(y.spec[d], target[d])), more = wanted(e);
        auto k = std::min(gone.size(), more.size());
        while (k > 0 && gone.tail(gone.size() - k) != more.head(k)) --k;
        if (d == e || k == 0) continue;
        auto moved = more.head(k), rest = y.spec[d].head(y.spec[d].size() - k);
        if (mesh_.parts(moved) > 1)
          y.local = ops::all_to_all(y.local, moved, static_cast<std::int64_t>(e), static_cast<std::int64_t>(d),
                                    part_sizes(y.type.shape[e], y.spec[e], moved),
                                    part_sizes(y.type.shape[d], rest, moved), y.type.shape);
        y.spec[d] = rest;
        y.spec[e].append(moved);
        progress = true;
      }
  }
}
/// Gathers dimensions over axes that the target does not split them by.
void Shard::gather(Sharded& y, const Spec& target) const {
  for (std::size_t d = 0; d < target.size(); ++d) {
    auto k = common_prefix(y.spec[d], target[d]);
    if (k == y.spec[d].size()) continue;
    auto kept = y.spec[d].head(k), gone = y.spec[d].tail(k);
    if (mesh_.parts(gone) > 1)
      y.local = ops::all_gather(y.local, gone, static_cast<std::int64_t>(d), part_sizes(y.type.shape[d], kept, gone),
                                y.type.shape);
    y.spec[d] = kept;
  }
}
/// Slices dimensions that are split further in the target; `block` is this rank's shape there.
void Shard::slice_to(Sharded& y, const Spec& target, const Shape& block) const {
  bool smaller = false;  // axes of size 1 split nothing
  for (std::size_t d = 0; d < target.size(); ++d) smaller = smaller || mesh_.parts(y.spec[d]) != mesh_.parts(target[d]);
  if (smaller) {
    Arrays operands{y.local};  // the primitive itself: the public function looks at sizes, which differ by rank
    for (std::size_t d = 0; d < target.size(); ++d)
      operands.push_back(y.spec[d] == target[d] ? constant(0, i32)
                                                : ops::block_start(y.type.shape[d], target[d], y.spec[d]));
    y.local = call_one(ops::DynamicSlice{block}, operands);
  }
  y.spec = target;
}

bool Shard::turns(const PrimitivePtr& p, const DimFactors& f, const std::vector<Sharded>& in) const {
  return !turns_of(*p, f, in, splits_of(f, in), mesh_).empty();
}
std::vector<Sharded> Shard::by_factors(const PrimitivePtr& p, const DimFactors& f, const std::vector<Sharded>& in) {
  return by_factors_of(p, f, in, nullptr);
}
std::vector<Sharded> Shard::by_factors(const PrimitivePtr& p, const DimFactors& f, const std::vector<Sharded>& in,
                                       const LocalRule& rule) {
  return by_factors_of(p, f, in, nullptr, &rule);
}

namespace {
bool contains(const Dims& d, std::int64_t label) { return std::find(d.begin(), d.end(), label) != d.end(); }
/// Pending sums that may stay pending: in one operand of a product, or in all operands of a sum.
struct Kept {
  MeshAxes axes = {};
  std::size_t operand;  // of a product
};
Kept kept_pending(const DimFactors& f, const std::vector<Sharded>& in, const MeshAxes& used) {
  Kept r{.operand = in.size()};
  if (f.joint) {
    for (auto& a : in[f.linear.at(0)].partial)
      if (!used.has(a) && std::all_of(f.linear.begin(), f.linear.end(), [&](auto i) { return in[i].partial.has(a); }))
        r.axes.push_back(a);
    return r;
  }
  for (auto i : f.linear) {
    if (!r.axes.empty()) break;
    // A stretched sum is smaller before it is stretched, and the product would be pending in all of its elements.
    if (in.size() > 1 && in[i].symbolic && in[i].symbolic->size < in[i].type.size()) continue;
    for (auto& a : in[i].partial)
      if (!used.has(a)) r.axes.push_back(a);
    if (!r.axes.empty()) r.operand = i;
  }
  return r;
}
}  // namespace

/// Propagation from the dimension map. See Factors.
std::vector<Sharded> Shard::by_factors_of(const PrimitivePtr& p, const DimFactors& f, const std::vector<Sharded>& in,
                                          const Arrays* sources, const LocalRule* rule) {
  const auto before = splits_of(f, in);
  auto split = before;
  const auto turns = turns_of(*p, f, in, before, mesh_);
  for (auto& t : turns) split.of[t.label].append(t.axes), split.used.append(t.axes);
  MeshAxes reduced;  // labels that are split and not in the result: pending sums
  for (auto& [label, axes] : split.of)
    if (std::none_of(f.out.begin(), f.out.end(), [&](auto& o) { return contains(o, label); })) reduced.append(axes);
  auto keep = kept_pending(f, in, split.used);
  Arrays locals;
  Types global, local;
  std::vector<Sharded> ready, r;
  for (std::size_t i = 0; i < in.size(); ++i) {
    bool linear = std::find(f.linear.begin(), f.linear.end(), i) != f.linear.end();
    auto want = split.spec(f.in[i]);
    auto may_stay = linear && (f.joint || i == keep.operand) ? keep.axes : MeshAxes{};
    Sharded y;
    if ((in[i].partial.empty() && !in[i].symbolic) || !sources || !owns((*sources)[i])) {
      y = reshard(in[i], want, may_stay);
    } else {
      auto& made = static_cast<const ShardValue*>((*sources)[i].get())->made;
      auto it = std::find_if(made.begin(), made.end(), [&](auto& m) { return m.target == want && m.keep == may_stay; });
      if (it == made.end()) it = made.insert(it, {want, may_stay, reshard(in[i], want, may_stay)});
      y = it->block;
    }
    if (f.joint && linear) {  // scatter_add over split updates: the operand must be counted once
      MeshAxes lacking;
      for (auto& [l, axes] : split.of)
        if (std::any_of(axes.begin(), axes.end(), [&](auto& a) { return reduced.has(a); }) && !contains(f.in[i], l))
          lacking.append(axes);
      if (!lacking.empty()) y = to_partial(y, lacking);
    }
    locals.push_back(y.local);
    global.push_back(y.type);
    local.push_back(y.local.type());
    ready.push_back(std::move(y));
  }
  auto out = p->infer(global);
  Types out_local;
  for (std::size_t o = 0; o < out.size(); ++o) {
    out_local.push_back({local_shape(out[o].shape, split.spec(f.out[o])), out[o].dtype});
    r.push_back({{}, out[o], split.spec(f.out[o]), keep.axes});
  }
  auto results = rule ? (*rule)(ready, r) : call(p->resized(local, out_local), locals);
  for (std::size_t o = 0; o < out.size(); ++o) {
    auto& y = r[o];
    y.local = results[o];
    if (f.reduce == Reduction::sum) y.partial.append(reduced);
    else if (mesh_.parts(reduced) > 1)
      y.local = ops::all_reduce(y.local, reduced, f.reduce, out[o].shape);
    if (turns.empty()) continue;
    auto made = y;
    y = reshard(y, turned_back(turns, f, o, out[o].shape, in, before, split), y.partial);
    keep_as_made(y, made);
  }
  if (turns.empty() && !rule && reduced.empty() && r.size() == 1) also_as_made(p, in, ready, r[0]);
  return r;
}

Arrays Shard::process(const PrimitivePtr& p, const Arrays& in) {
  // Derivatives have been taken, so nothing asks for the name, and a sum that softmax reads twice is completed once.
  if (ops::checkpoint_name_of(*p) || (p->traits.view && p->traits.flat)) return in;
  Within w(parent);
  if (auto y = deferred(p, in); y.symbolic) return {wrap(y)};
  if (!owns_any(in) && !p->traits.enters_shard) return parent->process(p, in);
  p->infer(types_of(in));  // throws the user's error: the rules below read only operands that fit together
  std::vector<Sharded> v;
  for (auto& a : in) v.push_back(view(a));
  if (p->traits.collective) {  // inside shard_map: blocks are plain values
    Arrays blocks;
    for (auto& x : v) {
      check<ShardError>(x.spec.trivial() && x.partial.empty(), p->name(), ": ", describe(x),
                        " is a global array; collectives act on blocks, inside shard_map");
      blocks.push_back(real(x).local);
    }
    return parent->process(p, blocks);
  }
  // Eagerly there is no Program to compare between the ranks: every collective compares its operands' types. Values
  // that are not split are not compared: they may be a rank's own blocks.
  bool compares = parent == eval_interpreter() && mesh_.size() > 1;
  bool agreed = compares && p->traits.holds;  // on all its arguments: see note()
  auto origin = [&](const Type* result) {
    std::vector<OriginPtr> from{noted_};
    std::vector<std::string> lost;  // types that the result does not show itself
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!owns(in[i])) continue;
      from.push_back(this->origin(in[i]));
      if (!agreed && !v[i].type.shape.empty() && !(result && v[i].type == *result)) lost.push_back(describe(v[i]));
    }
    if (!lost.empty()) from.push_back(Origin::of(std::move(lost)));
    return Origin::joined(from);
  };
  std::optional<About> about;
  if (compares) {
    noted_ = nullptr;
    about.emplace([&origin] { return origin(nullptr); });
  }
  std::optional<std::vector<Sharded>> out;
  if (p->traits.has_shard) {
    auto operands = v;
    auto& t = p->traits;
    for (std::size_t i = 0; i < in.size(); ++i) {
      // What a jitted function or a loop is given again and again is made once.
      if (eager() && v[i].symbolic && (t.holds || t.blocks || !t.takes_symbolic))
        operands[i] = static_cast<const ShardValue*>(in[i].get())->x = real(v[i]);
      else if (!t.takes_symbolic) operands[i] = real(v[i]);
    }
    out = p->shard(operands, *this);
  }
  if (!out) {
    auto f = p->factors(types_of(in));
    if (!f) {  // no rule: it needs whole operands
      f = DimFactors{};
      for (auto& x : v) f->in.emplace_back(x.type.shape.size(), kNone);
      for (auto& t : p->infer(types_of(in))) f->out.emplace_back(t.shape.size(), kNone);
    }
    out = by_factors_of(p, *f, v, &in);
  }
  Arrays r;
  OriginPtr from = compares ? origin(out->size() == 1 ? &out->front().type : nullptr) : nullptr;
  for (auto& y : *out) r.push_back(wrap(y, from));
  return r;
}
}  // namespace bora
